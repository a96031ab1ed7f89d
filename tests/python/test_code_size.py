"""What array programs become: no more loops than their statements need, where shapes follow from each other."""

import numpy as np
import pytest

import ingot
from support import check


def section(function, name, *arguments):
    text = ingot.jit(function).explain(*arguments)
    start = text.index(f"=== {name} ===")
    return text[start : text.index("\n===", start + 1)]


def loops(function, *arguments):
    return section(function, "loop IR", *arguments).count(" for %")


def test_parts_of_a_padded_array_have_its_shape():
    def neighbours(x):
        p = np.pad(x, 1)
        near = np.zeros_like(x)
        for i in (0, 1, 2):
            for j in (0, 1, 2):
                near |= p[i : i + x.shape[0], j : j + x.shape[1]]
        return near

    assert loops(neighbours, np.ones((20, 30), bool)) <= 28  # two for each of nine statements, pad's and the zeros


def test_rolled_arrays_have_their_shape():
    def sums(x):
        return np.roll(x, 1, 0) + np.roll(x, -1, 1) + x

    assert loops(sums, np.ones((20, 30))) <= 9  # two for each of four parts, and the sum


def test_statements_that_do_the_same_share_their_code():
    def once(x, y):
        for _ in range(100):
            x += y
        return x

    def repeated(x, y):
        for _ in range(100):
            x += y
            y += x
            x += y
            y += x
        return x

    x = np.ones((20, 30))
    functions = [section(f, "LLVM IR", x, x + 1).count("define internal") for f in (once, repeated)]
    assert 0 < functions[1] <= 2 * functions[0]


def test_a_loop_of_one_iteration_is_its_body():
    def f(x):
        for i in range(1):
            x = x[i:] * 2
        return x + 1

    assert loops(f, np.ones(9)) == 1


def much_glue(x, places, most):
    """Steps of many nests; in each, and around them, loops that carry values, raise and are left."""
    found = -1
    for step in range(3):
        for i in range(len(places)):
            x[places[i]] += x[places[i] - 1] * 0.5
            if x[places[i]] > most:
                found = step * 10 + i
                break
        x[1:-1] = (x[:-2] + x[2:]) * 0.5 - np.roll(x, 1)[1:-1]
        x[::2] += np.cumsum(x)[::2]
        x -= x.mean() / (x.max() - x.min() + 1.0)
    total, k = x[0] * 0, 0
    while k < len(x) and total < most:
        total += x[k]
        k += 1
    y = np.concatenate([x[:k], x[k:] * 2, np.outer(x, x[:2]).sum(axis=1)])
    return y, found, total, k, np.sort(y)[::-1].copy()


@pytest.mark.rotated(4)
def test_what_is_left_of_an_entry_without_its_loops_is_compiled_with_little_effort():
    x, places = np.sin(np.arange(12.0)), np.array([1, 5, 3])
    code = section(much_glue, "LLVM IR", x, places, 1e9)
    entry = next(line for line in code.splitlines() if "@ingot_entry_much_glue(" in line)
    marked = [line.split()[1] for line in code.splitlines() if line.startswith("attributes") and "optnone" in line]
    assert marked and any(f" {mark} " in entry for mark in marked)
    assert "@ingot_entry_much_glue.loop" in code
    for most in (1e9, 0.7, -1.0):
        check(much_glue, x.copy(), places, most, bound=1e-9)
    check(much_glue, x.copy(), np.array([1, 40]), 1e9, bound=1e-9)


@pytest.mark.slow
def test_functions_of_more_than_a_thousand_branches_are_right(tmp_path, monkeypatch):
    lines = [f"    v = v * 3 - n // {k % 7 + 2} if 0 <= v < {10**6 + k} else -(v // 5)" for k in range(600)]
    (tmp_path / "many_branches.py").write_text("\n".join(["def many(n, v):", *lines, "    return v"]) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    from many_branches import many

    text = section(many, "LLVM IR", 7, 1)
    assert text.count("br i1 ") > 1000
    check(many, 7, 1)
    check(many, -2, 5)
    check(many, 2**63 - 1, 2**62)


def mixed(key, count):
    """Two arrays whose lengths the compiler does not see to be equal, each of which becomes part of the other 24 times."""
    x = np.zeros(count, np.uint64) + key[0]
    y = np.arange(count).astype(np.uint64) + key[1]
    for iteration in range(24):
        x = x + y
        y = (y << np.uint64(13) | y >> np.uint64(51)) ^ x
        x = x + key[iteration % 2]
    return x, y


def test_lengths_that_depend_on_many_others_are_looked_at_once():
    """Compiling took 10 times as long for each 4 iterations."""
    with np.errstate(over="ignore"):
        check(mixed, np.array([3, 2**63 + 5], np.uint64), 1000)
