"""Callers' lists of more elements than are described one by one, and those that grow: each program against CPython."""

import gc
import os
import subprocess
import sys
import threading
from typing import NamedTuple

import ingot
import numpy as np
import pytest
from support import DTYPES, MODES, check, jitted, raises, refused

FLOATS = [0.5 * i - 3.0 for i in range(40)]
INTS = [(7 * i) % 23 - 5 for i in range(40)]
PAIRS = [(i, 0.25 * i) for i in range(40)]


class Point(NamedTuple):
    x: float
    y: float


def total(xs):
    s = 0.0
    for x in xs:
        s += x
    return s


def test_elements_are_read():
    check(total, FLOATS)
    check(total, [float("nan"), *FLOATS])

    def by_index(xs, i):
        return xs[i], xs[-1], len(xs)

    check(by_index, FLOATS, 30)
    check(by_index, INTS, -2)
    check(by_index, [x > 3 for x in INTS], 4)
    check(by_index, [complex(x, 1) for x in FLOATS], 4)
    assert raises(by_index, FLOATS, 40) == (IndexError, "list index out of range")

    def by_slices(xs):
        return xs[3:20:2], xs[::-1], xs[5:], xs[:-30]

    check(by_slices, FLOATS)

    def by_builtins(xs):
        return sum(xs), min(xs), max(xs), sorted(xs), 3 in xs, xs.index(3), xs.count(3), list(xs), xs + [1], any(xs), bool(xs)

    check(by_builtins, INTS)

    def as_array(xs):
        return np.array(xs), np.asarray(xs).mean()

    check(as_array, FLOATS)
    check(as_array, INTS)

    def beside(xs, ys):
        return [x * y for x, y in zip(xs, ys)], [i for i, x in enumerate(xs) if x > 0]

    check(beside, FLOATS, INTS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_numpy(dtype):
    numbers = list((np.arange(20) % 5).astype(dtype))

    def first(xs):
        return xs[0], xs[19]

    def turn(xs):
        xs[0], xs[19] = xs[19], xs[0]
        xs.append(xs[3])

    check(first, numbers)
    check(turn, numbers)


def test_tuples():
    def sums(pairs):
        a, b = 0, 0.0
        for i, x in pairs:
            a += i
            b += x
        return a, b, pairs[4], pairs[-1][1]

    check(sums, PAIRS)

    def change(pairs):
        pairs[2] = (7, 1.5)
        pairs.append((1, pairs[0][1]))
        pairs.pop(1)
        return pairs

    check(change, PAIRS)

    def farthest(points):
        best = points[0]
        for p in points:
            if p.x * p.x + p.y * p.y > best.x * best.x + best.y * best.y:
                best = p
        points[3] = Point(best.y, best.x)
        return best

    check(farthest, [Point(0.5 * i, 2.0 - i) for i in range(30)])

    def nested(rows):
        rows[0] = (1, (rows[1][1][0], rows[2][1][1]))

    check(nested, [(i, (0.5 * i, i > 3)) for i in range(20)])


@pytest.mark.rotated(4)
def test_changes_are_seen_by_the_caller():
    def scale(xs):
        for i in range(len(xs)):
            xs[i] = xs[i] * 2.0 + 1.0

    check(scale, FLOATS)

    def by_methods(xs):
        xs.append(2)
        xs.insert(3, 9)
        last = xs.pop()
        first = xs.pop(0)
        xs.remove(9)
        xs.extend([4, 5])
        xs += [6]
        del xs[2]
        xs.reverse()
        return last, first

    check(by_methods, INTS)

    def by_sort(xs):
        xs.sort()
        xs.sort(reverse=True)
        xs.sort(key=abs)

    check(by_sort, INTS)

    def by_slices(xs):
        xs[2:5] = [1, 2, 3, 4, 5]
        xs[1:3] = []

    check(by_slices, INTS)

    def empty(xs):
        xs.clear()

    check(empty, INTS)

    def take_all(xs):
        s = 0
        while xs:
            s += xs.pop()
        return s

    check(take_all, INTS)

    def grow(xs, n):
        for i in range(n):
            xs.append(0.5 * i)
        return len(xs)

    check(grow, FLOATS, 1000)
    check(grow, FLOATS, 0)


def test_the_list_stays_itself():
    def same(xs):
        xs[0] = 1.0
        return xs

    for mode in MODES:
        xs = list(FLOATS)
        kept = xs[5]
        assert jitted(same, mode)(xs) is xs and xs[0] == 1.0
        assert xs[5] is kept

    def both(xs, ys):
        xs[0] = 1.0
        ys.append(ys[0] + 1.0)
        return xs is ys, len(xs), len(ys)

    check(both, FLOATS, [9.0] * 20)
    for mode in MODES:
        xs = list(FLOATS)
        assert jitted(both, mode)(xs, xs) == (True, 41, 41) and xs[-1] == 2.0 and xs[0] == 1.0


def test_what_is_not_changed_is_not_written():
    changes = jitted(lambda xs, ys: ys.append(xs[0]))
    xs, ys = [1000 + i for i in range(20)], [1] * 20
    elements = list(xs)
    changes(xs, ys)
    assert ys[-1] == 1000 and all(a is b for a, b in zip(xs, elements))


def test_changes_before_an_exception_stay():
    def fails(xs, n):
        for i in range(n):
            xs[i] = 1.0
            xs.append(2.0)
            if i == 5:
                raise ValueError("five")
        return xs[1000]

    check(fails, FLOATS, 10)
    check(fails, FLOATS, 3)

    def caught(xs):
        try:
            xs[0] = 7.0
            xs.append(xs[1000])
        except IndexError:
            xs[1] = 8.0
        finally:
            xs.append(9.0)

    check(caught, FLOATS)

    def divides(xs):
        for i in range(len(xs)):
            xs[i] = 10 // xs[i]

    check(divides, [1, 2, 3, 0, *INTS])


def test_what_is_called_sees_changes():
    seen = []

    @ingot.host(result=None)
    def look():
        seen.append((len(LISTED), LISTED[0]))

    def changes(xs):
        xs[0] = 1.0
        xs.append(2.0)
        look()
        xs[0] = 3.0

    for mode in MODES:
        LISTED[:] = FLOATS
        jitted(changes, mode)(LISTED)
        assert seen.pop() == (41, 1.0) and LISTED[0] == 3.0

    def shows(xs):
        xs[0] = 1.0
        print(len(xs), xs[0])
        xs.pop()

    check(shows, FLOATS)


LISTED = []


def test_outside():
    def use():
        LISTED[1] = LISTED[0] + 1.0
        LISTED.append(5.0)
        return len(LISTED)

    for mode in MODES:
        LISTED[:] = FLOATS
        assert jitted(use, mode)() == 41
        assert LISTED == [FLOATS[0], FLOATS[0] + 1.0, *FLOATS[2:], 5.0]

    def also(xs):
        xs[0] = 4.0
        LISTED.append(xs[0])
        return LISTED[0]

    for mode in MODES:
        LISTED[:] = FLOATS
        assert jitted(also, mode)(LISTED) == 4.0 and LISTED[-1] == 4.0


def test_lengths_are_not_compiled():
    f = ingot.jit(total)
    for n in (17, 18, 100, 1000, 20):
        assert f([0.5] * n) == 0.5 * n
    assert len(f.specialisations) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 18, 39, 40])
def test_lengths_around_the_limit(n):
    def change(xs):
        s = 0.0
        for i in range(len(xs)):
            s += xs[i]
            xs[i] = s
        return s

    check(change, FLOATS[:n])

    def grow(xs):
        for i in range(20):
            xs.append(i * 0.5)
        return len(xs)

    check(grow, FLOATS[:n])
    if n > 2:

        def shrink(xs):
            while len(xs) > 2:
                xs.pop()
            return xs[0]

        check(shrink, FLOATS[:n])


def test_empty_lists_take_their_first_elements():
    def fill(out, n):
        for i in range(n):
            out.append(i * 0.5)

    check(fill, [], 0)
    check(fill, [], 3)
    check(fill, [], 100)

    def pairs(out, xs):
        for i in range(len(xs)):
            out.append((i, xs[i]))
        return out[0]

    check(pairs, [], np.arange(5.0))
    check(pairs, [], np.arange(0.0))

    def where(out, xs):
        for i in range(len(xs)):
            if xs[i] > 1:
                out.append(i)
        return len(out)

    check(where, [], np.arange(30.0))
    check(where, [4, 5], np.arange(30.0))

    def extend(out, xs):
        out.extend(range(len(xs)))
        out.extend([x for x in range(len(xs)) if x > 3])

    check(extend, [], np.arange(30.0))


def test_calls_of_other_functions():
    def put(xs, i, x):
        xs[i] = x
        return xs

    def inlined(xs):
        put(xs, 0, 1.0).append(2.0)
        return put(xs, 1, 3.0) is xs

    check(inlined, FLOATS)

    def down(xs, n):
        if n > 0:
            xs.append(xs[n] * 2.0)
            down(xs, n - 1)

    def recursive(xs):
        down(xs, 10)
        return len(xs)

    check(recursive, FLOATS)


def test_in_other_containers():
    def change(d, pair):
        d["a"][0] = 5.0
        pair[1].append(pair[0])
        return d["n"]

    check(change, {"a": list(FLOATS), "n": 3}, (1, list(INTS)))

    class Holder:
        def __init__(self, items):
            self.items = items

    def of_instance(holder):
        holder.items[0] += 1.0
        holder.items.append(2.0)
        return len(holder.items)

    check(of_instance, Holder(list(FLOATS)))

    def of_lists(rows):
        rows[0][0] = 7.0
        rows[1].append(8.0)
        return rows[2][3]

    check(of_lists, [list(FLOATS), list(FLOATS), list(FLOATS)])


def test_numbers_are_of_the_kind_of_the_list():
    def put(xs, x):
        xs[0] = x
        xs.append(x)

    for mode in MODES:
        xs = list(FLOATS)
        jitted(put, mode)(xs, 1)
        assert type(xs[0]) is float and xs[0] == xs[-1] == 1.0 and xs[1:-1] == FLOATS[1:]
        singles = [np.float32(x) for x in FLOATS]
        jitted(put, mode)(singles, 1.5)
        assert type(singles[0]) is np.float32 and singles[0] == singles[-1] == 1.5


def test_two_threads():
    @ingot.jit
    def work(xs, n):
        for _ in range(n):
            for i in range(len(xs)):
                xs[i] = xs[i] + 1.0

    lists = [[float(k)] * 1000 for k in range(4)]
    work([0.0] * 20, 1)
    threads = [threading.Thread(target=work, args=(xs, 50)) for xs in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lists == [[k + 50.0] * 1000 for k in range(4)]


def test_large_lists_on_a_device():
    on_device = ingot.device_put(np.arange(3.0), "emulated:0")

    @ingot.jit
    def read(xs, a):
        return xs[20] + a[1], a * xs[3]

    number, array = read(FLOATS, on_device)
    assert float(number) == FLOATS[20] + 1.0 and np.array_equal(array.to_host(), np.arange(3.0) * FLOATS[3])

    def change(xs, a):
        xs[0] = 1.0
        return a + 1.0

    assert "changing a list of the caller's in a call on a device" in refused_as_is(change, list(FLOATS), on_device)


def refused_as_is(function, *arguments):
    with pytest.raises(ingot.UnsupportedError) as error:
        jitted(function)(*arguments)
    return str(error.value)


def test_other_elements_are_refused():
    def put(xs, x):
        xs[0] = x

    assert "a float in a list of the caller's" in refused(put, INTS, 1.5)
    assert "a numpy.float64 in a list of the caller's" in refused(put, FLOATS, np.float64(1.5))
    assert "a tuple in a list whose length" in refused(put, FLOATS, (1.0, 2.0))

    def first(xs):
        return xs[0]

    message = refused(first, [*FLOATS, 1] * 2)
    assert "a list of more than 64 elements" in message
    assert "a list of more than 64 elements" in refused(first, [2**70] * 70)
    assert "a list of more than 64 elements" in refused(first, [np.zeros(2)] * 70)


def test_elements_of_several_kinds():
    def change(xs):
        xs[0] = xs[1] + 1
        xs.append(None)
        return xs[20], xs[-2]

    check(change, [1, 2.5, "text", None, *range(30)])
    check(change, [np.arange(3.0) + i for i in range(30)])

    def settings(d):
        d["a3"] = d["a2"] + d["x"]
        return d["name"]

    check(settings, {**{f"a{i}": 0.5 * i for i in range(40)}, "x": 2, "name": "text"})


def test_dicts_are_read():
    def look_up(d, k):
        return d[k], d.get(k), d.get(1000, -1.0), k in d, 1000 in d, len(d)

    check(look_up, {i: 0.5 * i for i in range(30)}, 7)
    check(look_up, {3 * i: i for i in range(30)}, 9)

    def missing(d, k):
        return d[k]

    check(missing, {i: 0.5 * i for i in range(30)}, 70)

    def by_loops(d):
        a, b, keys = 0.0, 0.0, []
        for k in d:
            a += k * d[k]
            keys.append(k)
        for k, v in d.items():
            b += k - v
        for v in d.values():
            b += v
        return a, b, keys

    check(by_loops, {(5 * i) % 31: 0.5 * i for i in range(30)})
    check(by_loops, {0.5 * i: i for i in range(30)})
    check(by_loops, {0.5: 1.0, 2.5: 3.0})

    def by_pairs(d, i):
        return d[i, i + 1]

    check(by_pairs, {(i, i + 1): 2 * i for i in range(20)}, 5)
    check(by_pairs, {(i, i + 1): (i, 0.5) for i in range(3)}, 1)


def test_large_dicts_change():
    def change(d):
        d[3] = 7.5
        d[100] = 1.0
        del d[5]
        d[5] = 2.0
        a = d.pop(7)
        b = d.pop(777, 0.0)
        d.setdefault(9, 1.0)
        d.setdefault(999, 1.0)
        k, v = d.popitem()
        return a, b, k, v, len(d)

    check(change, {i: 0.5 * i for i in range(30)})

    def only_values(d):
        for k in d:
            d[k] = d[k] + 1.0

    check(only_values, {(7 * i) % 31: 0.5 * i for i in range(30)})

    def emptied(d):
        d.clear()
        d[1] = 2.0

    check(emptied, {i: 0.5 * i for i in range(30)})

    def fails(d, k):
        d[k] = 1.0
        d[-1] = d[k] + 1.0
        return d[1000]

    check(fails, {i: 0.5 * i for i in range(30)}, 50)

    def updated(d, e):
        d.update(e)
        return d is e

    check(updated, {i: i for i in range(20)}, {i: 2 * i for i in range(10, 30)})
    for mode in MODES:
        d = {i: i for i in range(20)}
        assert jitted(lambda d, e: d is e and e.get(3), mode)(d, d) == 3


def test_small_dicts_grow():
    def count(d, xs):
        for x in xs:
            d[x] = d.get(x, 0) + 1

    check(count, {}, np.array([3, 1, 3, 2, 1, 3]))
    check(count, {}, INTS)
    check(count, {}, np.arange(0))

    def group(d, n):
        for i in range(n):
            k = i % 7
            if k in d:
                d[k] += i
            else:
                d[k] = i
        return len(d)

    check(group, {}, 50)
    check(group, {2: 100, 90: 1}, 50)
    check(group, {}, 0)


def test_dicts_that_are_refused():
    def first(d):
        return d[1]

    assert "a dict of more than 64 elements" in refused(first, {**{i: 1 for i in range(70)}, 80: 2.5})
    assert "a dict of more than 64 elements" in refused(first, {str(i): 1 for i in range(70)})
    assert "a dict of more than 64 elements" in refused(first, {float("nan"): 1, **{0.5 * i: i for i in range(70)}})


STORED = """
import ingot

@ingot.jit
def fill(out, n):
    for i in range(n):
        out.append(i * 0.5)

@ingot.jit
def count(d, xs):
    for x in xs:
        d[x] = d.get(x, 0) + 1

out, d = [], {}
fill(out, 3)
count(d, list(range(20)) * 2)
assert out == [0.0, 0.5, 1.0] and d == dict.fromkeys(range(20), 2)
print(*(each.specialisations[0].cause == "cache" for each in (fill, count)))
"""


def test_calls_are_taken_from_the_cache(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(STORED)
    environment = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path / "cache"), "INGOT_CACHE": "on"}
    shown = [subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, timeout=120) for _ in range(2)]
    assert [each.stdout for each in shown] == ["False False\n", "True True\n"], shown


def test_they_are_shown():
    call = ingot.jit(total)
    call(FLOATS)
    assert "xs: list[float]" in repr(call.specialisations[0])
    read = ingot.jit(lambda d: d[1])
    read({i: 0.5 for i in range(20)})
    assert "d: dict[int, float]" in repr(read.specialisations[0])


def test_what_other_threads_add_has_no_other_memory_in_it():
    def sums(xs):
        xs[0] = 1.0
        total = 0.0
        for x in xs:
            total += x * x + 1.0
        return total

    xs = [0.5] * 40
    stop = threading.Event()

    def add():
        while not stop.is_set() and len(xs) < 4_000_000:
            xs.extend([0.25] * 100_000)

    thread = threading.Thread(target=add)
    thread.start()
    jitted(sums)(xs)
    stop.set()
    thread.join()
    assert set(xs) <= {0.5, 0.25, 1.0}


@pytest.mark.rotated(5)
def test_finalisers_that_change_a_dict():
    class Cycle:
        def __del__(self):
            table.update({key: 0.5 for key in range(len(table), len(table) + 50)})

    def changed(d):
        d[5] = 3.0
        d[-1] = 2.0
        return len(d)

    call = jitted(changed)
    threshold = gc.get_threshold()
    try:
        for first in range(1, 12):
            table = {key: 0.5 for key in range(20)}
            cycle = Cycle()
            cycle.own = cycle
            del cycle
            gc.set_threshold(first)
            call(table)
            gc.set_threshold(*threshold)
            gc.collect()
            assert set(table.values()) <= {0.5, 2.0, 3.0} and all(-1 <= key < 200 for key in table)
    finally:
        gc.set_threshold(*threshold)
