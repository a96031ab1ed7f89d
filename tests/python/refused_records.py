"""Refusals of records (structured dtypes), with a function and arguments each: examples for refusals.py."""

import ingot
import numpy as np

RECORDS = np.zeros(4, [("x", "f8"), ("n", "i8")])
OTHERS = np.zeros(4, [("x", "f8"), ("n", "i4")])
ARRAYS = np.zeros(4, [("x", "f8", (2,)), ("n", "i8")])
LONGER = np.zeros(4, [("x", "f8", (3,)), ("n", "i8")])
INNER = np.zeros(4, [("x", [("y", "f8")]), ("n", "i8")])
RECARRAY = RECORDS.view(np.recarray)


def assigned(a, b):
    a[:] = b


def assigned_by_mask(a, m):
    a[0][m] = 1


def named(a):
    a.new = 1


EXAMPLES = [
    (lambda a: np.sort(a), RECORDS),
    (lambda a: a.tolist(), RECORDS),
    (lambda a: a.flags, RECORDS),
    (lambda a: a[f"x{len(a)}"], RECORDS),
    (lambda a: 1.5 in a[0], RECORDS),
    (lambda a: a == a, RECARRAY),
    (lambda a, b: a == b, ARRAYS, LONGER),
    (assigned, ARRAYS, LONGER),
    (assigned, RECORDS, INNER),
    (assigned_by_mask, RECORDS, np.ones(1, bool)),
    (named, RECARRAY),
    (lambda a: np.zeros(2, a.dtype, order="F"), RECORDS),
    (lambda a: np.full(2, (1, 2), a.dtype), RECORDS),
    (lambda a: np.array([a[0], 1]), RECORDS),
    (lambda a, b: np.array([a[0], b[0]]), RECORDS, OTHERS),
    (lambda a: np.array([[(1, 2), (3, 4)], [(1, 2)]], a.dtype), RECORDS),
    (lambda a: np.array(a, ndmin=2), RECORDS),
    (lambda a: a.view("u1"), RECORDS),
    (lambda a: np.expand_dims(a, (0, 1)), RECORDS),
    (lambda a, b: np.concatenate((a, b)), RECORDS, OTHERS),
    (lambda a: a.reshape(2, 2).item(3), RECORDS),
    (lambda a: np.array_equal(a, a, equal_nan=True), RECORDS),
    (lambda a, b: a is b, RECORDS, RECORDS),
    (lambda a: a.dtype is np.dtype([("x", "f8"), ("n", "i8")]), RECORDS),
    (lambda a: ingot.vmap(lambda r: r["x"])(a), RECORDS),
    (lambda n: np.zeros(n, [("a", "U3"), ("b", "f8")]), 3),
]
