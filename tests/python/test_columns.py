"""Lanes that step from row to row, and take neighbours of each: the bits are those of one number after the other."""

import re

import numpy as np
import pytest

import ingot
from support import KINDS, need_vectors

ROW = 12
LANES = 16


def totals(x, row):
    """Of blocks of rows, each summed from the left."""
    out = np.zeros(len(x) // row, x.dtype)
    for b in range(len(x) // (LANES * row)):
        now = np.zeros(LANES, x.dtype)
        for j in range(ROW):
            for k in range(LANES):
                now[k] += x[(b * LANES + k) * row + j]
        for k in range(LANES):
            out[b * LANES + k] = now[k]
    return out


def scans(x, row):
    """The sums on the way, too."""
    out = np.zeros(len(x), x.dtype)
    for b in range(len(x) // (LANES * row)):
        now = np.zeros(LANES, x.dtype)
        for j in range(ROW):
            for k in range(LANES):
                now[k] += x[(b * LANES + k) * row + j]
                out[(b * LANES + k) * row + j] = now[k]
    return out


def four_of_each(x, row):
    """In place: what is stored is read again."""
    y = x.copy()
    for i in range(len(x) // row):
        y[i * row + 3] = y[i * row] + y[i * row + 1]
        y[i * row + 2] = y[i * row + 1] - y[i * row + 3]
        y[i * row + 1] = y[i * row + 2] + y[i * row]
        y[i * row] = y[i * row + 1] + y[i * row + 4]
    return y


def neighbours(x, row):
    """Loads and stores of other arrays in turn, some of them twice."""
    y = np.zeros(len(x), x.dtype)
    z = np.zeros(len(x), x.dtype)
    for i in range(len(x) // row):
        y[i * row + 1] = x[i * row]
        y[i * row + 2] = x[i * row + 1] + x[i * row]
        z[i * row + 5] = y[i * row + 1]
        y[i * row + 3] = x[i * row + 3]
        y[i * row + 4] = x[i * row + 2]
        y[i * row + 2] = x[i * row + 1] + x[i * row + 4]
        z[i * row + 6] = x[i * row + 5]
        z[i * row + 4] = x[i * row + 7]
        z[i * row + 7] = x[i * row + 6]
    return y, z


def of_matrix(x, row):
    """Along the axes of a matrix."""
    a = x[: len(x) // row * row].reshape(-1, row)
    out = np.zeros(a.shape, x.dtype)
    for i in range(a.shape[0]):
        out[i, 0] = a[i, 3]
        out[i, 1] = a[i, 2]
        out[i, 2] = a[i, 1]
        out[i, 3] = a[i, 0]
    return out


FUNCTIONS = (totals, scans, four_of_each, neighbours, of_matrix)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ("float64", "float32", "int64", "int32", "int16", "complex128", "bool"))
def test_columns_have_the_bits_of_single_elements(dtype, kind, monkeypatch):
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)
    for function in FUNCTIONS:
        if dtype == "bool" and function is four_of_each:
            continue  # NumPy refuses to subtract bools
        compiled = ingot.jit(function)
        for n, row in ((0, ROW), (700, ROW), (4 * LANES * ROW + 5, ROW), (2 * LANES * 21, 21)):
            x = (1000 * np.random.default_rng(n).standard_normal(n)).astype(dtype)
            for found, expected in zip(np.atleast_1d(compiled(x, row)), np.atleast_1d(function(x, row)), strict=True):
                np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("kind", ("avx2", "avx512"))
def test_columns_are_not_gathered(kind, monkeypatch):
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)

    def total_of_runs(x):
        out = np.empty(len(x) // 64)
        for b in range(len(x) // 1024):
            now = np.zeros(16)
            for j in range(64):
                for k in range(16):
                    now[k] += x[b * 1024 + k * 64 + j]
            for k in range(16):
                out[b * 16 + k] = now[k]
        return out

    x = np.random.default_rng(0).random(4096)
    text = str(ingot.jit(total_of_runs).explain(x)).split("=== assembly")[1]
    assert "unpck" in text and "gather" not in text


@pytest.mark.parametrize("kind", ("avx2", "avx512"))
@pytest.mark.parametrize("dtype", ("float64", "float32", "int64", "int32"))
def test_columns_are_not_scattered(dtype, kind, monkeypatch):
    """What lanes store to four neighbours of their rows is transposed: their loop stores pieces of rows, and no element by itself."""
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)

    def fill(x):
        out = np.zeros(8 * len(x), x.dtype)
        for i in range(len(x)):
            v = x[i]
            out[i * 8 + 1] = v
            out[i * 8 + 2] = v + v
            out[i * 8 + 3] = v - v
            out[i * 8 + 4] = v * v
        return out

    x = np.arange(100).astype(dtype)
    text = str(ingot.jit(fill).explain(x)).split("=== assembly")[1]
    loops = [block for block in text.split("\n.LBB") if re.search(r"\tv\w*mul\w*\t.*[yz]mm", block)]
    pieces, elements = (r"\tv(mov[au]p[sd]|movdq[au]\w*|extract[if]\w+)\t.*\)$", r"\tv(p?scatter\w+|mov[lh]p[sd]|movs[sd]|mov[qd]|p?extr[a-z]*[sdq])\t.*\)$")
    assert any(len(re.findall(pieces, loop, re.M)) >= 4 and not re.search(elements, loop, re.M) for loop in loops)
