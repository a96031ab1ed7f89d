"""Containers of the caller: the rules of docs/semantics.md under "Write-back", in its order."""

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, refused


def test_containers_of_the_caller_are_written():
    def numbers(d, l, x):
        d["n"] = d["n"] + 1
        l[0] += x
        l[-1] = x > 1
        d["x"] = np.float32(x) * d["x"]
        return d["n"], l[0]

    check(numbers, {"n": 1, "x": np.float32(2)}, [0, 0, 0], 1.5)
    check(numbers, {"n": np.uint64(2**64 - 2), "x": 3}, [1j, True], np.int8(3))

    def loop(l, a):
        for i in range(len(a)):
            l[0] += a[i]
            if a[i] > 1:
                l[1] = i

    check(loop, [0.0, -1], np.arange(4.0))
    check(loop, [0, -1], np.arange(4))
    check(loop, [0, -1], np.zeros(0))

    def structure(l, d, a):
        l.append(a[0])
        l.append("text")
        l[0] = None
        d["new"] = (1, a)
        d["inner"]["k"] = l
        d["inner"]["m"] += 1
        a[0] = 7
        return len(l), len(d)

    check(structure, [1], {"inner": {"m": 1}}, np.arange(3.0))

    def staged(l, n):
        for i in range(n):
            l.append(i * 0.5)

    check(staged, [1, "a"], 5)

    def prints(l):
        l[0] += 1
        print(l)
        l[0] += 1

    check(prints, [1, 2.0])


def test_containers_are_written_when_an_exception_leaves():
    def f(l, d, a, n):
        l[0] = 1.5
        d["k"] = n
        l.append(n)
        a[n] = 1
        l[0] = 2
        return l

    check(f, [0], {"k": 0}, np.zeros(3), 1)
    check(f, [0], {"k": 0}, np.zeros(3), 3)

    def g(l, a):
        for i in range(4):
            l[0] += a[i]

    check(g, [0.0], np.ones(3))
    check(lambda d: d["missing"], {})

    def h(l):
        l[0] = 5
        l[7] = 1

    check(h, [1, 2])
    for key in ([1], {}, np.arange(2)):
        check(lambda d, k: d[k], {"a": 1}, key)


def test_a_returned_container_is_the_callers():
    def f(d, l):
        d["x"] = 2
        print(l, d)
        return d, [l, d["inner"]]

    for mode in MODES:
        d, l = {"x": 1, "inner": [3]}, [1, np.arange(2)]
        a, (b, c) = jitted(f, mode)(d, l)
        assert a is d and b is l and c is d["inner"] and d["x"] == 2
    check(f, {"x": 1, "inner": [3]}, [1, np.arange(2)])


def test_the_same_container_twice_is_one():
    def f(a, b):
        a[0] = 5
        b.append(a[0])
        return b[0], len(a), a is b

    check(f, [1], [1])
    for mode in MODES:
        one = [1]
        function = jitted(f, mode)
        assert function(one, one) == (5, 2, True) and one == [5, 5]
        assert function([1], [2]) == (2, 1, False)
        pair = {"p": one, "q": one}
        jitted(lambda d: d["p"].append(d["q"][0]), mode)(pair)
        assert one == [5, 5, 5]


def test_arrays_put_into_containers_are_the_functions():
    def f(d, l):
        d["x"] = d["x"] + 1
        y = d["x"] * 2
        l[0] = y
        l.append([y, 3])
        y[0] = -1
        d["x"][1] = -2
        return y

    check(f, {"x": np.arange(3.0)}, [0])
    for mode in MODES:
        l = [0]
        y = jitted(f, mode)({"x": np.arange(3.0)}, l)
        l[0][1] = 9
        assert y[1] == 9

    def g(d, a):
        d["x"] = a
        a[0] = 5
        return a[9]

    check(g, {"x": 0}, np.arange(3.0))

    def h(d, c):
        x = np.ones(3)
        if c[0]:
            d["x"] = x
        d["y"] = x[1:]
        x += 1
        x[2] = 9
        return x[5]

    check(h, {"x": 0, "y": 0}, np.array([True]))
    check(h, {"x": 0, "y": 0}, np.array([False]))

    def many(l, m, n):
        for i in range(n):
            l[0] = np.full(2, i)
            m.append(l[0])
        return m

    check(many, [0], [0], 5)


def test_nan_is_no_key():
    def f(x, y):
        d = {x: 1, y: 2}
        d[x] = 3
        return len(d), x in d, d.get(x, 5), d.setdefault(x, 6), d[y]

    check(f, 1.0, 2.0)
    for mode in MODES:
        assert jitted(f, mode)(float("nan"), 2.0) == (3, False, 5, 6, 2)


def test_structures_that_paths_disagree_about_are_refused():
    def f(l, c):
        if c:
            l.append(1)
        return len(l)

    refused(f, [1, "two"], np.True_, words="grows or shrinks on one path only")

    def g(d, i):
        d["y"] = 1
        return d[i]

    check(g, {"x": 1}, "y")

    def h(l):
        l.append(l)

    refused(h, [1], words="holds itself")
    itself = []
    itself.append(itself)
    with pytest.raises(ingot.UnsupportedError, match="holds itself"):
        jitted(lambda l: l[0])(itself)

    def given(l, how):
        m = [l[0]]
        l.append(m)
        if how == "0":
            m[0] = 5
        elif how == "1":
            m.append(5)
        elif how == "2":
            return m
        elif how == "3":
            l.append((m, 1))
        elif how == "4":
            l[1][0] = 5
        else:
            return l[1][0]

    for how in "01234":
        refused(given, [1], how, words="after it was put into a container of the caller")
    check(given, [1], "5")
    for change in (lambda l: l.pop(), lambda l: l.extend(l), lambda l: l.clear()):
        check(change, [1])

    def shrinks(l, c):
        if c:
            l.pop()
        return l[0]

    refused(shrinks, [1, "two"], True, words="grows or shrinks on one path only")
