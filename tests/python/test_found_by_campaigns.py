"""Programs that were once wrong, found by long campaigns of random ones."""

import runpy

import ingot
import numpy as np
import pytest
from support import check, refused


class Pair:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __lt__(self, other):
        return self.a


def test_loops_that_always_raise_are_not_taken_apart():
    def in_place(x, n):
        r = x >> n
        for _ in range(2):
            r |= r
            x[:] += x

    def caught(x):
        v = np.concatenate((x, x))
        try:
            for _ in v:
                x //= x
        finally:
            v &= 2

    def of_broadcast(x):
        v = np.broadcast_to(x, 2)
        for _ in x:
            np.subtract(x, x, out=x, where=False)
            np.negative(v, out=v)

    locked = np.ones((1, 4), np.int8)
    locked.flags.writeable = False
    check(in_place, locked, np.uint8(1))
    check(caught, locked[0])
    check(of_broadcast, np.ones(2, np.uint16))


@pytest.mark.parametrize("length", [0, 1, 3])
def test_arrays_put_into_containers_have_memory_of_their_own(length):
    def puts(x, numbers):
        numbers[1] += x

    def puts_two(x, numbers):
        numbers[0] = x + 1
        numbers[1] = x + 2

    check(puts, np.ones(length, np.int16), [0.0, 4])
    check(puts_two, np.ones(length, np.int16), [0.0, 4])
    given = [0, 0]
    ingot.jit(puts_two)(np.ones(length, np.int16), given)
    assert given[0] is not given[1]


def test_loads_of_one_arm_are_not_used_in_the_other():
    def largest(n):
        first = Pair(n, n)
        if first.a:
            first.b = 0.0
            first < first
        else:
            assert first.a, "odd"
        second = Pair(max(0.0, first.b), 0.0)
        return max(second, first).b

    for n in (1.0, -2.0):
        check(largest, n)


def test_setdefault_gives_what_it_puts():
    def f(x):
        d = {}
        first = d.setdefault(x, 1.5)
        return first, len(d), d.setdefault(2.0, 3.5)

    for key in (1.0, 2.0, float("nan"), np.float16("nan")):
        check(f, key)


def test_names_of_the_function_around_are_free_in_generators():
    def generator(x):
        for i, _ in x:
            pass
        return sum(i for _ in range(2))

    def first_iterable(x):
        for i, _ in x:
            pass
        return sum(j for j in i)

    def nested_list(x):
        for i, _ in x:
            pass
        return [[i for _ in range(2)] for _ in range(3)]

    for function in (generator, first_iterable, nested_list):
        check(function, np.zeros((0, 2)))
    check(generator, np.ones((3, 2)))


def test_handlers_know_nothing_of_what_was_being_called():
    def masked(x):
        try:
            np.floor_divide(x, x[:0], out=x)
        except ValueError:
            x[x <= 2] = x[x <= 2]

    def added(x):
        try:
            np.add(x, np.ones(7), out=np.ones((2, 3)))
        except ValueError:
            return x + np.ones(4)
        return x

    check(masked, np.array([[5, 0, 0, 4]], np.uint16))
    check(added, np.ones((1, 4)))
    check(added, np.ones((3, 4)))


def test_instances_that_move_into_pools_know_no_handlers():
    class Node:
        def __init__(self, key):
            pass

    def insert(t, key):
        if t is None:
            return Node(key)
        t.left = t

    def f(n, m):
        r = m // m
        try:
            for i in range(4):
                q = None
                for _ in range(3):
                    q = insert(q, i)
        finally:
            n = (lambda a, b=2: m)(m, b=1)
        return n, r

    check(f, 1.0, 2.0)
    check(f, 1.0, 0.0)


def test_type_errors_of_numbers_of_several_kinds_are_refused():
    def by_and(x):
        v = 0
        for e in x:
            v = e
        v &= 2
        return v

    def by_floor(n):
        total = 0
        for _ in range(n):
            total += 1j
        return 0.0 // total**total

    def by_out(x):
        v = 3
        for _ in x:
            v -= 1.0
        x[x] *= v

    def by_index(n, x):
        i = 0
        if n > 2:
            i = 0.5
        return x[i]

    def derived(n):
        v = 1.0
        if n > 2:
            v = 1
        w = v + 1
        return w << 1

    def beside_minus_one(x):
        v = 0
        for e in x:
            v = e if e > 1 else v
        return np.maximum(v, -1)

    words = "on different paths"
    refused(by_and, np.ones(2), words=words)
    refused(by_floor, 3, words=words)
    refused(by_out, np.zeros(2, np.int64), words=words)
    refused(by_index, 3, np.ones(3), words=words)
    refused(derived, 3, words=words)
    refused(beside_minus_one, np.zeros(1, np.uint32), words=words)


def test_index_errors_of_what_holds_such_numbers_are_raised():
    def of_tuple(x):
        total = 0
        for e in x:
            total += e
        parts = (total, 1)
        try:
            return parts[2]
        except IndexError:
            return total

    def chosen(n):
        v = 0
        if n > 2:
            v = 1.0
        w = 2.5 if v > 0 else 3.5
        return w & 1

    check(of_tuple, np.ones(2))
    check(chosen, 3)


def test_type_errors_of_numbers_of_one_kind_are_raised():
    def plain(n):
        total = 0
        for _ in range(n):
            total += 1.5
        if n > 100:
            return total
        return n & 1.5

    def beside_minus_one(x):
        return np.maximum(x[0], -1)

    check(plain, 3)
    check(beside_minus_one, np.zeros(1, np.uint32))


def test_what_many_steps_share_is_looked_at_once(tmp_path):
    # Each array of a chain is used by the next two: there are as many ways to the first as rabbits.
    steps = "    a, b = np.where(a > b, b * 0.5, a + 0.25), a\n" * 60
    path = tmp_path / "chain.py"
    path.write_text(f"import numpy as np\n\n\ndef f(n):\n    a = np.arange(n) * 1e-3\n    b = a * 0.5\n{steps}    return a, b\n")
    check(runpy.run_path(str(path))["f"], 9)


def test_index_arrays_beside_empty_ones_are_not_looked_at():
    def gets(x, i, j):
        return x[i, j], x[[1], j]

    def sets(x, i, j):
        x[i, j] = 0
        x[[1], j] += 1
        np.add.at(x, (i, j), 1)

    def of_number(x, j):
        return x[1, j]

    x = np.ones((1, 2))
    none = np.zeros(0, int)
    for i, j in (([1], none), ([[5], [0]], none.reshape(1, 0)), ([0], [1]), ([1], [0]), ([0], [2])):
        check(gets, x, np.array(i), np.array(j))
        check(sets, x, np.array(i), np.array(j))
    check(of_number, x, none)


def test_index_arrays_beside_empty_ones_are_not_looked_at():
    def gets(x, i, j):
        return x[i, j], x[[1], j]

    def sets(x, i, j):
        x[i, j] = 0
        x[[1], j] += 1
        np.add.at(x, (i, j), 1)

    def of_number(x, j):
        return x[1, j]

    x = np.ones((1, 2))
    none = np.zeros(0, int)
    for i, j in (([1], none), ([[5], [0]], none.reshape(1, 0)), ([0], [1]), ([1], [0]), ([0], [2])):
        check(gets, x, np.array(i), np.array(j))
        check(sets, x, np.array(i), np.array(j))
    check(of_number, x, none)
