"""Loops, branches and handlers: what they bind, and what one path knows of another."""

import runpy

import numpy as np
import pytest

from support import MODES, check, jitted


def leaves_the_outer_loop(x):
    for e in x:
        for _ in range(len(x) - 2):
            break
        else:
            x[0] = 7
            break
        x[1] += e
    return x


@pytest.mark.parametrize("n", [0, 2, 3])
def test_a_break_after_a_loop_leaves_the_loop_around(n):
    check(leaves_the_outer_loop, np.ones(n))


def test_names_of_a_pattern_have_the_types_of_their_case():
    def f(a, n):
        match (a, np.negative(n)):
            case [0, k]:
                pass
            case [k, 0 | 1]:
                return k
            case [k, *rest] if rest[0] > 2:
                rest.append(k)
                return len(rest) + k
        return 5

    for a, n in ((0, 0), (1, 0), (2, -1), (2, 1), (2, -3)):
        check(f, a, n)

    def exchanged(n, m):
        r = m
        match (n, 1.0):
            case [k, 0 | 1] if n:
                r, k = k, r
        return r

    check(exchanged, np.uint8(3), np.uint8(1))

    def changed_by_guard(n, m):
        def add():
            nonlocal j
            j += 10
            return j > 0

        j = 0
        match (n, m):
            case [k, i] if (k := i + 1) > 2:
                return k, i
            case [j, i] if add() and i < 2:
                return j, i
        return j, 7

    for n in range(-12, 4, 3):
        check(changed_by_guard, n, n + 1)


def test_numbers_that_may_be_unbound_are_joined():
    def f(c, x):
        if c > 0:
            if c > 1:
                k = x
        else:
            k = np.float64(2.5)
        return k

    check(f, 0, np.float32(1.5))
    check(f, 2, np.float64(1.5))
    for mode in MODES:
        assert jitted(f, mode)(2, np.float32(1.5)) == 1.5
        with pytest.raises(UnboundLocalError):
            jitted(f, mode)(1, np.float32(1.5))


def test_loops_of_no_iterations_bind_nothing():
    def joined(n):
        v = n
        for _ in range(0):
            v = 1.5
        else:
            v += 2
        return v ^ 5

    def unbound(n):
        for i in range(3, 3):
            x = i
        return x + n

    for function in (joined, unbound):
        check(function, 4)


def test_a_loop_of_one_iteration_is_its_body():
    def changes_kind():
        v = 1.0
        for _ in range(1):
            v = 0
            v ^= 0
        return v

    def leaves(x):
        v = 1.0
        for i in range(5, 6):
            if x > 0:
                break
            v = i
        else:
            v = 7.0
        return v, i

    check(changes_kind)
    for x in (-1, 0, 1, 3):
        check(leaves, x)


class Pair:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __lt__(self, other):
        return self.a


def test_loops_that_always_raise_are_not_split():
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


def test_what_many_steps_share_is_looked_at_once(tmp_path):
    # Each array of a chain is used by the next two: the number of paths to the first is a Fibonacci number.
    steps = "    a, b = np.where(a > b, b * 0.5, a + 0.25), a\n" * 60
    path = tmp_path / "chain.py"
    path.write_text(f"import numpy as np\n\n\ndef f(n):\n    a = np.arange(n) * 1e-3\n    b = a * 0.5\n{steps}    return a, b\n")
    check(runpy.run_path(str(path))["f"], 9)
