"""Outputs, masks and dtypes of NumPy's elementwise functions: the rules of docs/semantics.md on them."""

import numpy as np
import pytest
from support import ARRAYS, GRID, LINE, check, refused


def test_outputs():
    def by_name(x, y):
        z = np.add(x, 1, out=y)
        z[0] = 9
        return z

    def by_place(x, y):
        return np.sqrt(x, y), np.multiply(x, x, y[:])

    def in_a_tuple(x, y):
        return np.negative(x, out=(y,))

    def onto_an_operand(x, y):
        np.add(x[1:], x[:-1], out=x[1:])
        return np.subtract(y, x, out=None)

    for function in (by_name, by_place, in_a_tuple, onto_an_operand):
        check(function, LINE, np.zeros(6))
        check(function, LINE[::-1], np.zeros(12)[::2])
    check(in_a_tuple, GRID, np.zeros((4, 3)).T)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 4), (2, 3, 4), (3, 1), (3, 5)])
def test_outputs_take_what_broadcasts_to_them(shape):
    check(lambda x, y: np.add(x, 1.5, out=y), GRID, np.zeros(shape))
    check(lambda x, y: np.add(x[0], x[1:], y), GRID, np.zeros(shape))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("out", ARRAYS, ids=lambda a: str(a.dtype))
def test_outputs_are_cast(out):
    def into(x, i, out):
        return np.add(x, i, out=out)

    for x in ARRAYS:
        check(into, x, np.int8(1), out)
    check(lambda out: np.add(out, 1, out=out), out)
    check(lambda out: np.equal(out, 1, out=out), out)


def test_outputs_that_cannot_be_written():
    fixed = np.zeros(6)
    fixed.flags.writeable = False
    check(lambda x, y: np.add(x, 1, out=y), LINE, fixed)
    check(lambda x: np.add(x, 1, out=3), LINE)


def test_masks():
    def with_output(x, m, y):
        return np.multiply(x, 2, out=y, where=m), np.add(y, x, y, where=x > 2)

    def of_all_or_none(x, y):
        np.exp(x, out=y, where=True)
        return np.sqrt(x, out=y, where=False)

    check(with_output, LINE, np.arange(6) % 2 == 0, np.full(6, 9.0))
    check(with_output, GRID, np.array([True, False, True, True]), np.full((3, 4), 9, np.float32))
    check(with_output, GRID, np.array([[True], [False], [True]]), np.full((3, 4), 9.0).T.copy().T)
    check(with_output, GRID, np.bool_(True), np.full((3, 4), 9.0))
    check(with_output, GRID, np.arange(4), np.full((3, 4), 9.0))
    check(of_all_or_none, LINE, np.zeros(6), bound=1e-15)


def test_elements_that_a_mask_leaves_out():
    def chosen(x, m):
        return np.add(x, 1, where=m)[m]

    check(chosen, LINE, np.arange(6) % 2 == 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "uint8"])
def test_a_dtype_to_compute_at(dtype):
    names = {"float32": np.float32, "float64": np.float64, "complex128": np.complex128, "int64": np.int64, "uint8": np.uint8}
    at = names[dtype]

    def computed(x):
        return np.add(x, 1, dtype=at)

    def into(x, y):
        return np.multiply(x, x, y, dtype=at)

    for x in ARRAYS:
        check(computed, x)
        check(into, x, np.zeros(5, at))


def test_casting_order_and_signature():
    refused(lambda x: np.equal(x, 1, dtype=object), LINE)
    refused(lambda x: np.add(x, 1, signature="gg->g"), LINE)
    check(lambda x: np.add(x, 1, dtype=np.int64, casting="unsafe"), LINE)
    check(lambda x: np.add(x, 1, dtype=np.float32, casting="safe"), LINE)
    check(lambda x: np.add(x, x, order="F").strides, np.ones((2, 3)))
    check(lambda x: np.add(x, 1, signature="ff->f", subok=False), LINE)
    check(lambda x: np.add(x, 1, casting="same_kind", order="K", subok=True), LINE)
    check(lambda x: np.greater(x, 1, dtype=np.float64), LINE)
    check(lambda x: np.add(x, 1.5, dtype=np.int64), np.arange(4))
    check(lambda x: np.add(x, 1, out=(x, x)), LINE)
    check(lambda x: np.add(x, 1, x, out=x), LINE)
    check(lambda x, w: (np.add(x, 1, out=x, where=1), np.add(x, 1, out=x, where=w)), LINE, 0)
    check(lambda x: np.add(x), LINE)
    check(lambda x: np.add(x, x, x, x), LINE)
