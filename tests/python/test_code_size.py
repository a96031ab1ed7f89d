"""What array programs become: no more loops than their statements need, where shapes follow from each other."""

import ingot
import numpy as np


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


def test_a_loop_of_one_turn_is_its_body():
    def f(x):
        for i in range(1):
            x = x[i:] * 2
        return x + 1

    assert loops(f, np.ones(9)) == 1
