"""Arrays and NumPy's numbers together with lists, tuples and ranges, of which NumPy makes arrays."""

import numpy as np
import pytest
from support import check, refused

X = np.array([1.0, 2.0])
OPERATORS = {
    "arithmetic": lambda p, q: (p + q, q - p, p * q, q / p, p // q, q % p, p**q, divmod(p, q)),
    "comparisons": lambda p, q: (p == q, q != p, p < q, q <= p, p > q, q >= p),
}


@pytest.mark.rotated(3)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_arrays_and_sequences(name):
    operate = OPERATORS[name]
    for dtype in ("int32", "float32", "float64", "uint8"):
        check(lambda p: operate(p, [2.0, 3.0]), X.astype(dtype))  # noqa: B023
        check(lambda p, i: operate(p, (i, 3)), X.astype(dtype), 2)  # noqa: B023
    check(lambda p, i: operate(p, [[1, 2], [i, 4]]), X, 3)
    check(lambda p, i: operate(p, [i, np.float32(2.5)]), X, 3)
    check(lambda p: operate(p, range(1, 3)), X)
    check(lambda p: operate(p, [p, (3, 4)]), X)
    check(lambda n: operate(X, [float(i) for i in range(1, n + 1)]), 2)


def test_operators_of_numbers_and_sequences():
    check(lambda x: (x + [1, 2], [1, 2] - x, x ** (1, 2), [3, 4] // x, x == [1, 2.5], (2, 1) < x, x * range(3)), np.float64(2.5))
    check(lambda x: (x + [1, 2], (1, 2) / x, x != (2, 3)), np.int8(2))
    check(lambda i: (i * [1, 2], [1, 2] * i, [i] * i), np.int64(2))
    for wrong in (lambda x: x * [1, 2], lambda x: (1, 2) * x, lambda x: x @ [1, 2]):
        check(wrong, np.float32(2))


def test_bits_and_products_of_sequences():
    i = np.arange(4)
    check(lambda i: (i & [1, 2, 3, 4], [1, 2, 3, 4] | i, i ^ (1, 1, 1, 1), i << [1, 2, 3, 4], (64, 64, 64, 64) >> i), i)
    check(lambda p: (p @ [1.0, 2.0], [3, 4] @ p, p @ [[1, 2], [3, 4]]), X)
    check(lambda p: [1.0, 2.0, 3.0] @ p, X)


def test_shapes_of_sequences():
    for wrong in (lambda p: p * [1.0, 2.0, 3.0], lambda p: p == [1, 2, 3], lambda p: p + [], lambda p: p * [[1, 2], [3]]):
        check(wrong, X)
    check(lambda p: p + [], X[:1])
    check(lambda p: (p * [[1], [2]], p == [[1], [2], [3]]), X)
    refused(lambda p: p == [None, 1], X)
    check(lambda p: p + ["a", "b"], X)


def test_sequences_change_arrays_in_place():
    def changes(p, i):
        p += [1, 2]
        p[:] *= (2, i)
        p[0:2] -= [1, 1]
        return p

    check(changes, X, 3)

    def narrows(p):
        p += [0.5, 1.5]

    check(narrows, np.arange(2))

    def becomes_array(p):
        values = [1, 2]
        values += p
        return values

    check(becomes_array, X)


def test_ufuncs_of_sequences():
    check(lambda p, i: (np.add(p, [1, 2]), np.maximum([i, 1], p), np.hypot((i, 1), [1, 2]), np.power([1, 2], 2), np.add([1, 2], [3, i])), X, 2)
    check(lambda i: (np.sqrt([1.0, i]), np.negative((1, i)), np.isnan([1.0, np.nan]), np.logical_not([0, i])), 4)
    check(lambda i: (np.divmod([7, i], 3), np.modf([1.5, i]), np.frexp([1.5, i]), np.ldexp([1.5, i], [1, 2])), 4)
    check(lambda i: (np.add.reduce([1, i]), np.multiply.outer([1, i], (2, 3)), np.add.accumulate([1, i, 3])), 4)
