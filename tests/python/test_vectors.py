"""Whole programs in every kind of code (INGOT_VECTORS), on several threads too: the bits of their results are those of the interpreter."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from support import KINDS, need_vectors

import ingot

LENGTHS = (0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1023, 1025, 2600)


def chain(x, y):
    a = x * x + y
    b = np.where(a > y, a, -a) * x
    return b + a


def sums(x, y):
    return np.sum(x * y), np.sum(x), np.prod(y)


def extremes(x, y):
    return np.max(x - y), np.min(x), np.any(x > y), np.all(x == x)


def compare(x, y):
    return (x < y) | (x == y)


def loop(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > y[i]:
            out[i] = x[i] - y[i]
        else:
            out[i] = 2 * y[i]
    return out


def neighbours(x, y):
    out = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        out[i] = (x[i - 1] + y[i + 1]) / 2
    return out


def rows(x, y):
    s = np.zeros(len(x))
    for i in range(len(x)):
        t = 0.0
        for j in range(5):
            t += x[i] * y[j % len(y)]
        s[i] = t
    return s


def divide(x, y):
    return x // y, x % y


def outer(x, y):
    return np.sum((x * 2)[:, None] + y[None, :], axis=1)


PROGRAMS = (chain, sums, extremes, compare, loop, neighbours, rows, divide, outer)
DTYPES = ("float64", "float32", "float16", "int8", "uint16", "int32", "int64", "complex128")
ORDERED = ("float64", "float32", "float16", "int8", "uint16", "int32", "int64")


def arguments(dtype, length, step):
    random = np.random.default_rng(length)
    both = []
    for _ in range(2):
        x = random.integers(1, 100, (max(length, 1) - 1) * abs(step) + 1).astype(dtype)
        if dtype in ("float64", "float32", "complex128"):
            x = x / np.array(7, dtype)
        both.append(x[::step][:length])
    return both


def bits(result):
    parts = result if isinstance(result, tuple) else (result,)
    return hashlib.sha256(b"".join(np.asarray(p).dtype.str.encode() + np.asarray(p).tobytes() for p in parts)).hexdigest()


def all_results(mode):
    results = {}
    for program in PROGRAMS:
        for dtype in DTYPES:
            if dtype not in ORDERED and program in (divide, loop, compare, extremes, rows, neighbours):
                continue
            function = ingot.jit(program) if mode is None else ingot._calls.function.Function(program, mode=mode)
            for length in LENGTHS:
                if (length > 100 and program in (outer, rows)) or (length == 0 and program in (extremes, rows)):
                    continue
                for step in (1, 2, -1):
                    x, y = arguments(dtype, length, step)
                    results[f"{program.__name__} {dtype} {length} {step}"] = bits(function(x, y))
    return results


@pytest.fixture(scope="module")
def expected():
    return all_results("interpreted")


@pytest.mark.rotated(5)
@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "kind, threads, streams",
    [*((kind, 1, "") for kind in KINDS), ("avx2", 3, ""), ("scalar", 2, ""), ("sse", 1, "always"), ("avx2", 2, "always"), ("avx512", 1, "always")],
)
def test_results_have_the_same_bits(kind, threads, streams, expected):
    need_vectors(kind)
    environment = {**os.environ, "INGOT_VECTORS": kind, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"INGOT_NUM_THREADS": str(threads), "INGOT_THREADS": "always" if threads > 1 else ""}
    environment |= {"INGOT_STREAMS": streams}
    run = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    got = json.loads(run.stdout)
    assert got.keys() == expected.keys()
    different = [name for name in expected if got[name] != expected[name]]
    assert not different, f"{len(different)} differ: {different[:10]}"


def scaled(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2 + 1


def stepped(x, out):
    for i in range(len(out)):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] + i


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", ["sse", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "complex64", "complex128"])
def test_stores_past_the_caches(kind, dtype, monkeypatch):
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)
    monkeypatch.setenv("INGOT_STREAMS", "always")
    by_element, by_row = ingot.jit(scaled), ingot.jit(stepped)
    for offset in (0, 1, 2, 3, 4, 8, 16, 24, 32):  # bytes
        for length in (0, 1, 15, 64, 333):
            x = np.arange(length).astype(dtype)
            memory = np.zeros(length * x.itemsize + 64, np.int8)
            out = memory[offset:][: length * x.itemsize].view(dtype)
            by_element(x, out)
            assert np.array_equal(out, (x * 2 + 1).astype(dtype))
            assert not memory[:offset].any()
            assert not memory[offset + length * x.itemsize :].any()
            by_element(out, out)  # reads what it writes
            assert np.array_equal(out, ((x * 2 + 1) * 2 + 1).astype(dtype))
        for columns in (1, 63, 64, 65):
            x = np.arange(5 * columns).reshape(5, columns).astype(dtype)
            memory = np.zeros(5 * (columns + 3) * x.itemsize + 64, np.int8)
            out = memory[offset:][: 5 * (columns + 3) * x.itemsize].view(dtype).reshape(5, columns + 3)
            by_row(x, out)
            assert np.array_equal(out[:, :columns], (x + np.arange(5)[:, None]).astype(dtype))
            assert not out[:, columns:].any()


@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays(threads):
    def several(x, y):
        return x + y, x * y - 1

    x = np.arange(3_000_000) / 3
    before = ingot.get_num_threads()
    ingot.set_num_threads(threads)
    try:
        for a, b in ((x, x[::-1]), (x[1:], x[:-1]), (x.reshape(3, -1), x.reshape(3, -1)[::-1])):
            for got, wanted in zip(ingot.jit(several)(a, b), several(a, b), strict=True):
                assert np.array_equal(got, wanted)
    finally:
        ingot.set_num_threads(before)


if __name__ == "__main__":
    print(json.dumps(all_results(None)))
