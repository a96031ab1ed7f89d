"""Rows of docs/language.md about generators: each program under Ingot against CPython, in its order."""

import numpy as np

import ingot
from support import check, jitted, refused

X = np.arange(6.0)


def doubled(x):
    for i in range(len(x)):
        yield x[i] * 2
    yield np.float64(100.0)


def three(x):
    for i in range(3):
        yield i * x
    yield x


def evens(n, *, start=0):
    i = start
    while i < n:
        if i % 2 == 0:
            yield i
        i += 1


def leaves(t):
    if isinstance(t, tuple):
        for part in t:
            yield from leaves(part)
    else:
        yield t


def windows(x, n):
    for i in range(len(x) - n + 1):
        yield x[i : i + n]


def total(iterable):
    s = 0
    for v in iterable:
        s = s * 3 + v
    return s


def test_generators_are_iterated():
    def sums(x):
        s = 0.0
        for v in doubled(x):
            s += v
        return s

    def leaving(x):
        s = np.float64(0.0)
        for v in doubled(x):
            if v > 4:
                break
            if v == 2:
                continue
            s += v
        else:
            s += 1000
        return s

    def nested(n):
        out = 0
        for k in evens(n):
            for j in evens(k, start=3):
                out += j
            if out > 50:
                return out
        return -out

    def twice(x):
        r = 0.0
        for a in doubled(x):
            for b in doubled(x):
                if a < b:
                    break
                r += a * b
            else:
                continue
            r += 1
        return r

    def returns(x):
        def g():
            for v in x:
                if v > 3:
                    return
                yield v

        s = 0.0
        for v in g():
            s += v
        return s

    def both_change(x):
        def g():
            for i in range(len(x)):
                x[i] += 1
                yield i

        for i in g():
            x[i] *= 2
        return x

    def shared(x):
        def g():
            nonlocal k
            for v in x:
                k += 1
                yield v

        k = 0
        s = 0.0
        for v in g():
            s += v * k
        return s, k

    def windowed(x):
        s = 0.0
        for w in windows(x, 3):
            s += w.sum()
            w[0] = s
        return s

    def in_a_loop(x):
        s = 0.0
        for i in range(len(x)):
            g = doubled(x[i:])
            if x[i] > 1:
                for v in g:
                    s = s / 2 + v
        return s

    def by_arguments(x):
        def g(a, b=2, *c, d=4, **e):
            yield a
            yield b
            yield from c
            yield d + e["f"]

        return list(g(x, f=1)), list(g(x, x, x, 7, d=x, f=x))

    def matched(x):
        def g(n):
            for i in range(n):
                match i:
                    case 0 | 3:
                        yield 1.0
                    case k if k > 3:
                        got = yield x * k
                        assert got is None

        return sum(g(3)), sum(g(6))

    check(sums, X)
    for n in range(7):
        check(leaving, X[:n])
    for n in (0, 1, 10, 30):
        check(nested, n)
    for function in (twice, returns, both_change, shared, windowed, in_a_loop):
        check(function, X)
    check(by_arguments, 2.5)
    check(matched, 2.5)
    check(lambda t: (sum(leaves(t)), list(leaves(t))), ((1, 2.5), (3, (4,))))
    inside = ingot.jit(three)
    assert jitted(lambda x: total(inside(x)))(2.5) == total(three(2.5))


def test_generators_are_consumed():
    def whole(x):
        a, b, c, d = three(x)
        e, *f = three(-x)
        kept = list(three(x)), tuple(three(x)), [v * 2 for v in three(x)], np.array(list(three(x)))
        pairs = {i: v for i, v in enumerate(three(x))}, dict(zip("abcd", three(x)))
        out = [x]
        out.extend(three(x))
        out[1:2] = three(-x)
        return kept, pairs, out, (a, b, c, d, e, f), (*three(x), 3), min(9.0, *three(x)), sorted(three(3))

    def reduced(x):
        return sum(doubled(x)), max(doubled(x)), min(doubled(x)), any(doubled(x)), all(doubled(x)), sum(three(2.5), x[0])

    def beside(x):
        r = 0.0
        for i, v in enumerate(doubled(x)):
            r += i * v
        for v, w in zip(doubled(x), x):
            r += v * w
        for v, w in zip(x, doubled(x)):
            r += v * w
        for i, (v, w) in enumerate(zip((1, 2, 3), doubled(x)), 5):
            r += i * v * w
        for v, (i, w) in zip(doubled(x), enumerate(x, -2)):
            r += i * v * w
        return r

    def inside(x):
        return 4.0 in doubled(x), 5.0 in doubled(x), 5.0 not in doubled(x), 3 in three(1), 3 not in three(1)

    def steps(l, n):
        def g():
            for i in range(n):
                print("yields", i)
                yield i
            print("ends")

        for a, b in zip(l, g()):
            print(a, b)
        for b, a in zip(g(), l):
            print(b, a)

    check(whole, 2.5)
    check(reduced, X)
    for n in (0, 1, 6):
        check(beside, X[:n])
    check(inside, X)
    for n in (0, 1, 2, 3):
        check(steps, [1.5, 2.5], n)
        check(lambda l: steps(l, 2), [1.5, 2.5, 3.0, 4.0][:n])

    def too_many(x):
        def g():
            for i in range(3):
                print(i)
                yield i

        a, b = g()

    def too_few(x):
        a, b, c, d, e = three(x)

    for wrong in (too_many, too_few, lambda x: len(three(x)), lambda x: three(x)[0], lambda x: three(x) + 1):
        check(wrong, 2.5)


def test_order_of_effects_in_generators():
    def printing(x):
        def g():
            print("start")
            for i in range(2):
                print("before", i)
                yield i
                print("after", i)
            print("end")

        made = g()
        print("made")
        for v in made:
            print("body", v)
        print(sum(g()), [print("element", v) for v in g()])
        for v in (w + 1 for w in g()):
            print("body", v)
        return x

    def shown(x):
        for v in doubled(x):
            print(v)
            if v == 4:
                return v

    check(printing, 1)
    check(shown, X)


def test_delegation():
    def delegates(x):
        def g():
            yield 1
            r = yield from h()
            yield r
            yield from x
            yield from enumerate((4, 5))
            yield from ()
            n = yield from [3, 4]
            assert n is None

        def h():
            yield 2
            return 7

        s = 0.0
        for i, v in enumerate(g()):
            s = s * 2 + i + (v if not isinstance(v, tuple) else v[0] - v[1])
            if s > 1e6:
                break
        return s

    check(delegates, X)
    check(delegates, [1.5, 2])


def test_exceptions_and_generators():
    def handled_inside(x):
        def g():
            try:
                yield x[1]
                yield x[7]
            except IndexError:
                yield x[3]
            raise ValueError("end")

        s = np.float64(0.0)
        try:
            for v in g():
                s += v
        except ValueError:
            s += 100
        return s

    def consumer_raises(x):
        def g():
            try:
                yield 1
            except ValueError:
                yield 3

        for v in g():
            raise ValueError("here")

    def stops(x):
        def g():
            yield 1
            raise StopIteration

        for v in g():
            pass

    def stops_inside(x):
        def g():
            try:
                yield 1
                raise StopIteration
            except StopIteration:
                yield 2

        return list(g())

    def both_handle(x):
        def g():
            for v in x:
                try:
                    yield v
                    if v == 4:
                        raise KeyError(v)
                except KeyError:
                    yield -v
                except ValueError:
                    yield 1000.0

        s = 0.0
        for v in g():
            try:
                if v == 3:
                    raise ValueError("3")
                s += v
            except ValueError:
                s -= 0.5
                continue
            s *= 2
        return s

    def closes(x):
        def g():
            try:
                for v in x:
                    yield v
            finally:
                print("closed")

        s = 0.0
        for v in g():
            if v > 2:
                break
            s += v
        print("left")
        for v in g():
            s += v
        print("left")
        try:
            for v in g():
                if v > 3:
                    raise ValueError("x")
        except ValueError:
            print("caught")
        for i, v in enumerate(g()):
            if i > 3:
                return s

    def closes_all(x):
        def inner(k):
            try:
                yield k
                yield x[k]
            finally:
                print("inner", k)

        def outer():
            try:
                for k in range(3):
                    yield from inner(k)
            finally:
                print("outer")

        for n in range(7):
            i = 0
            for v in outer():
                i += 1
                if i == n:
                    break
            print(n)
        try:
            for v in outer():
                x[int(v) + 5]
        finally:
            print("last")

    def delayed(x):
        def g():
            try:
                yield 1
            finally:
                yield 2

        return list(g())

    def in_a_clause(x):
        s = 0
        for i in range(5):
            s += 1
            try:
                for j in range(3):
                    if j == 2:
                        break
                    if x[j] > i:
                        raise ValueError
                    s += 10
            except ValueError:
                if i == 3:
                    break
                s += 1000
                continue
            finally:
                s += 7
            s += 5
        return s

    for function in (handled_inside, consumer_raises, stops, stops_inside, both_handle, closes, closes_all, delayed):
        check(function, X)
    for x in (X, X[::-1], X[1:]):
        check(in_a_clause, x)


def test_generators_as_values():
    def late(x):
        k = 3
        g = (v * k for v in x if v > 1)
        k = 5
        s = 0.0
        for v in g:
            s += v
            k += 1
        return s

    def handed_on(x):
        k = 3
        return total(v * k for v in x), total(doubled(x)), total(a * b for a in x for b in (1, 2)), total((v for v in (u + k for u in x)))

    def made(x, n):
        def make(a):
            k = a
            return doubled(x[k:])

        g = make(n)
        s = 0.0
        for v in g:
            s += v
        return s

    def of_a_lambda(x):
        g = (lambda a: (yield a))(x)
        fs = list((lambda: i * v) for i, v in enumerate((x, 2)))
        return list(g), [f() for f in fs]

    def chosen(x, c):
        def first(n):
            yield n

        def second(n):
            yield n + 1

        return sum((first if c else second)(x))

    check(late, X)
    check(handed_on, X)
    check(made, X, 2)
    check(of_a_lambda, 2.5)
    check(chosen, 2.5, True)


class Shelf:
    def __init__(self, parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def times(self, k):
        for part in self.parts:
            yield part * k

    def __iter__(self):
        yield from self.parts


class Reversed(Shelf):
    def times(self, k):
        for part in super().times(k):
            yield -part


class Odd:
    def __iter__(self):
        return [1, 2]


def test_generators_of_instances():
    def iterates(shelf):
        s = 0.0
        for v in shelf.times(3):
            s = s * 2 + v
        for v in shelf:
            s += v
        a, *b = shelf
        return s, sum(shelf), list(shelf), max(v for v in shelf), list(enumerate(shelf)), a, b, 2.0 in iter(shelf)

    check(iterates, Shelf([1.0, 2.0, 3.5]))
    check(iterates, Reversed([1.0, 2.0, 3.5]))
    check(lambda x: sum(Shelf((x, 2)).times(2)), 2.5)
    check(lambda x: list(Odd()), 1)


def test_iterators_are_taken_from():
    def several(x):
        it = iter(x)
        a = next(it)
        b = next(it)
        s = 0.0
        for v in it:
            s += v
        return a, b, s, next(iter(()), 4), next((v for v in x if v > 2), x[0]), next((v for v in x if v > 20), x[0])

    def none_left(x):
        return next(v for v in x if v > 20)

    def in_a_loop(x):
        it = iter(x)
        s = 0.0
        for i in range(len(x)):
            s = s * 2 + next(it)
        return s, next(it, None)

    def rests(x, l, d):
        pairs = zip(l, "abcd", range(3, 9, 2))
        places = enumerate(l, 2)
        back = reversed(l)
        keys = iter(d)
        return next(pairs), next(places), next(back), next(keys), list(pairs), list(places), list(back), list(keys), next(iter("xy"))

    def live(l):
        it = iter(l)
        next(it)
        l.append(7.0)
        return list(it), next(iter(l))

    def stops(x):
        it = iter((x,))
        try:
            while True:
                next(it)
        except StopIteration:
            return 1

    def same(x):
        it = iter((x, 2))
        return iter(it) is it, list(it)

    check(several, X)
    check(several, [1.0, 2.0, 3.0])
    check(none_left, X)
    check(in_a_loop, X)
    check(rests, 1, [1.5, 2, 3], {"k": 1, "l": 2})
    check(live, [1.0, 2.0])
    check(same, 2.5)
    for wrong in (lambda x: next(x), lambda x: next([x]), lambda x: iter(x), lambda x: iter(), lambda x: next(iter((x,)), 1, 2), lambda x: next(iter(()))):
        check(wrong, 2.5)


def test_generators_that_are_refused():
    def held(x):
        def g():
            try:
                for v in x:
                    yield v
            finally:
                print("closed")

        kept = g()
        for v in kept:
            if v > 3:
                break

    def catches_all(x):
        def g():
            try:
                for v in x:
                    yield v
            except BaseException:
                yield x[0]

        for v in g():
            if v > 3:
                break

    def yields_while_closed(x):
        def g():
            try:
                for v in x:
                    yield v
            finally:
                yield x[0]

        for v in g():
            if v > 3:
                break

    def again(x):
        g = doubled(x)
        for v in g:
            break
        return sum(g)

    def in_step(x):
        s = 0.0
        for a, b in zip(doubled(x), doubled(x)):
            s += a * b
        return s

    def outlives(x):
        def make(k):
            return (v * k for v in x)

        return sum(make(3))

    def sends(x):
        g = doubled(x)
        return g.send(None)

    def beside_several_kinds(x):
        return list(zip(doubled(x), [1, "a", None], x))

    refused(beside_several_kinds, X)
    refused(held, X, words="that something else holds")
    refused(catches_all, X, words="GeneratorExit")
    refused(yields_while_closed, X, words="that its consumer has left")
    refused(again, X, words="iterated over already")
    refused(in_step, X, words="in step")
    refused(outlives, X, words="outside the function that made it")
    refused(sends, X, words="send")
    check(lambda x: (list(doubled(x)), sorted(doubled(x))), X)
    refused(lambda x: doubled(x), X, words="generator")
    refused(doubled, X, words="generator")


apart = 5


def of_globals():
    yield apart
    yield apart + 1


def test_a_generator_does_not_see_variables_of_what_iterates_it():
    def iterates(x):
        apart = x
        total = 0
        for value in of_globals():
            total += value * apart
        return list(of_globals()), total, [v + apart for v in of_globals()], sum(v for v in of_globals())

    check(iterates, 7)
