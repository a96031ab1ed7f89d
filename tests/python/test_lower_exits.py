"""Python functions that leave loops and return early, without exits after the pass `lower_exits`: the same bits."""

import re

import numpy as np
import pytest

from test_replay import opt, recorded


def early(x, n):
    if n < 0:
        return -1.0
    if n == 0:
        raise ValueError("none")
    if x > 2.0:
        if n == 1:
            return x
        x = x / n
    return x * n


def find(a, x):
    for i in range(len(a)):
        if a[i] == x:
            return i
    return -1


def position(a, x):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] == x:
                return i, j
            if a[i, j] < 0.0:
                break
    return -1, -1


def sum_of_good(a, bound):
    total = 0.0
    for x in a:
        if x < 0.0:
            continue
        if x > bound:
            break
        total += x
    else:
        total = -total
    return total


def newton(x, steps):
    y = x
    while True:
        if steps == 0:
            return y, False
        steps -= 1
        new = 0.5 * (y + x / y)
        if abs(new - y) < 1e-12:
            break
        y = new
    return new, True


def collatz(n):
    steps = 0
    while n != 1:
        if n <= 0:
            raise ValueError("not positive")
        steps += 1
        if n % 2 == 0:
            n //= 2
            continue
        n = 3 * n + 1
    else:
        steps += 1000
    return steps


def scaled(a, n):
    b = np.zeros(3)
    for k in range(n):
        b = b + a * k
        if b[0] > 4.0:
            return b
        if b[1] < -4.0:
            b = -b
            break
        a[2] += 1.0
    return b * 2.0


def maybe(a, bound):
    for x in a:
        if x > bound:
            return x
    return None


def checked(a, n):
    total = 0.0
    try:
        for k in range(n):
            if a[k] < 0.0:
                raise ValueError("negative")
            if a[k] == 0.0:
                return total
            total += a[k]
    except IndexError:
        return -total
    finally:
        a[0] = 7.0
    return 2.0 * total


def inner(a, k):
    while k < len(a):
        if a[k] > 1.0:
            return k
        k += 1
    return -1


def outer(a):
    count = 0
    for k in range(len(a)):
        at = inner(a, k)
        if at < 0:
            break
        count += at
    return count


A = np.array([1.0, 3.0, -2.0, 0.0, 5.0])
CALLS = [
    *((early, (x, n)) for x in (1.0, 3.0) for n in (-1, 0, 1, 2)),
    *((find, (A, x)) for x in (1.0, 5.0, 6.0)),
    *((position, (np.array([[1.0, 2.0], [-1.0, 3.0], [4.0, 5.0]]), x)) for x in (2.0, 3.0, 5.0)),
    *((sum_of_good, (A, bound)) for bound in (0.5, 4.0, 9.0)),
    *((newton, (2.0, n)) for n in (0, 2, 100)),
    *((collatz, (n,)) for n in (-3, 1, 6, 7)),
    *((scaled, (a * A[:3], n)) for a in (1.0, -2.0, 0.1) for n in (0, 2, 6)),
    *((maybe, (A, bound)) for bound in (0.0, 4.0, 9.0)),
    *((checked, (np.array(a), n)) for a in ([1.0, 2.0], [1.0, -2.0], [1.0, 0.0]) for n in (1, 2, 4)),
    *((outer, (a,)) for a in (A, A[2:4], -A)),
]


@pytest.mark.parametrize("function, arguments", CALLS, ids=lambda v: v.__name__ if callable(v) else "")
@pytest.mark.sampled(4)
def test_the_same_bits_without_exits(function, arguments, tmp_path):
    recorded(function, *arguments, path=tmp_path)
    source, call = tmp_path / "1-frontend.ir", tmp_path / "call.txt"
    compared = opt("--passes", "lower_exits", "--verify", "--interpret", "--run", "--call", call, "--expect", call, source)
    assert compared[0] == 0, compared
    status, text, error = opt("--passes", "lower_exits", "--print", source)
    assert status == 0, error
    assert re.search(r"^ +(%\S+ = )?(block|exit)\b", text, re.M) is None, text
