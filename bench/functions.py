"""Single functions of NumPy, compiled and not: `python -m bench.functions [--only NAME ...] [--sizes N ...] [--json FILE]`."""

from __future__ import annotations

import argparse
import inspect
import json
import math
import statistics
import sys
import time
import timeit
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot.tour.peers import difference

SIZES = (10, 1_000, 1_000_000)
WRONG = "wrong"
# One call is timed as often as takes so many seconds; the least of so many rounds counts.
SECONDS, ROUNDS = 0.02, 5

# The names of the parameters determine what the arguments are: see `argument`.
FUNCTIONS: dict[str, Callable] = {
    "add": lambda x, y: np.add(x, y),
    "multiply_scalar": lambda x: x * 3.0,
    "divide": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "square": lambda x: np.square(x),
    "square_complex": lambda z: z**2,
    "cube": lambda x: x**3,
    "sqrt": lambda x: np.sqrt(x),
    "cbrt": lambda x: np.cbrt(x),
    "exp": lambda x: np.exp(x),
    "expm1": lambda x: np.expm1(x),
    "log": lambda x: np.log(x),
    "log1p": lambda x: np.log1p(x),
    "sin": lambda x: np.sin(x),
    "cos": lambda x: np.cos(x),
    "tan": lambda x: np.tan(x),
    "arcsin": lambda x: np.arcsin(x),
    "arctan": lambda x: np.arctan(x),
    "arctan2": lambda x, y: np.arctan2(x, y),
    "hypot": lambda x, y: np.hypot(x, y),
    "sinh": lambda x: np.sinh(x),
    "tanh": lambda x: np.tanh(x),
    "abs": lambda x: np.abs(x),
    "abs_complex": lambda z: np.abs(z),
    "angle": lambda z: np.angle(z),
    "conj": lambda z: np.conj(z),
    "real_copy": lambda z: z.real.copy(),
    "sign": lambda x: np.sign(x),
    "floor": lambda x: np.floor(x),
    "rint": lambda x: np.rint(x),
    "round_2": lambda x: np.round(x, 2),
    "floor_divide": lambda k: k // 7,
    "remainder": lambda k: k % 7,
    "remainder_float": lambda x, y: x % y,
    "gcd": lambda k: np.gcd(k, 12),
    "maximum": lambda x, y: np.maximum(x, y),
    "clip": lambda x: np.clip(x, 0.25, 0.75),
    "where": lambda m, x, y: np.where(m, x, y),
    "select": lambda x: np.select([x < 0.3, x < 0.6], [x, 2 * x], 0.0),
    "piecewise_where": lambda x: np.where(x < 0.5, x * x, 1 - x),
    "isnan": lambda x: np.isnan(x),
    "isclose": lambda x, y: np.isclose(x, y),
    "allclose": lambda x: np.allclose(x, x),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "logical_and": lambda x, y: np.logical_and(x > 0.5, y > 0.5),
    "greater": lambda x, y: x > y,
    "left_shift": lambda k: k << 3,
    "bitwise_count": lambda k: np.bitwise_count(k),
    "astype_float32": lambda x: x.astype(np.float32),
    "astype_int": lambda x: x.astype(np.int64),
    "deg2rad": lambda x: np.deg2rad(x),
    "sinc": lambda x: np.sinc(x),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "logaddexp": lambda x, y: np.logaddexp(x, y),
    "copysign": lambda x, y: np.copysign(x, y),
    "frexp": lambda x: np.frexp(x),
    "modf": lambda x: np.modf(x),
    "sum": lambda x: np.sum(x),
    "sum_int": lambda k: np.sum(k),
    "sum_rows": lambda a: np.sum(a, axis=1),
    "sum_columns": lambda a: np.sum(a, axis=0),
    "prod": lambda x: np.prod(x),
    "mean": lambda x: np.mean(x),
    "mean_columns": lambda a: np.mean(a, axis=0),
    "std": lambda x: np.std(x),
    "var_rows": lambda a: np.var(a, axis=1),
    "min": lambda x: np.min(x),
    "max_columns": lambda a: np.max(a, axis=0),
    "max_rows": lambda a: np.max(a, axis=1),
    "ptp": lambda x: np.ptp(x),
    "argmax": lambda x: np.argmax(x),
    "argmin_rows": lambda a: np.argmin(a, axis=1),
    "argmax_columns": lambda a: np.argmax(a, axis=0),
    "any": lambda m: np.any(m),
    "all": lambda x: np.all(x >= 0),
    "count_nonzero": lambda m: np.count_nonzero(m),
    "nansum": lambda x: np.nansum(x),
    "nanmean": lambda x: np.nanmean(x),
    "nanmax": lambda x: np.nanmax(x),
    "cumsum": lambda x: np.cumsum(x),
    "cumsum_rows": lambda a: np.cumsum(a, axis=1),
    "cumsum_columns": lambda a: np.cumsum(a, axis=0),
    "cumprod": lambda x: np.cumprod(x),
    "diff": lambda x: np.diff(x),
    "ediff1d": lambda x: np.ediff1d(x),
    "average": lambda x, y: np.average(x, weights=y),
    "median": lambda x: np.median(x),
    "median_rows": lambda a: np.median(a, axis=1),
    "percentile": lambda x: np.percentile(x, [5, 50, 95]),
    "quantile_columns": lambda a: np.quantile(a, 0.9, axis=0),
    "histogram": lambda x: np.histogram(x, 50),
    "bincount": lambda k: np.bincount(k),
    "digitize": lambda x, t: np.digitize(x, t[:10]),
    "cov": lambda x, y: np.cov(x, y),
    "corrcoef": lambda x, y: np.corrcoef(x, y),
    "gradient": lambda x: np.gradient(x),
    "trapezoid": lambda x: np.trapezoid(x),
    "interp": lambda x, t: np.interp(x, t, t),
    "unwrap": lambda x: np.unwrap(x),
    "convolve": lambda x: np.convolve(x, np.ones(9) / 9, "same"),
    "correlate": lambda x: np.correlate(x, np.ones(9), "valid"),
    "polyval": lambda x: np.polyval([1.0, -2.0, 0.5, 3.0], x),
    "sort": lambda x: np.sort(x),
    "sort_int": lambda k: np.sort(k),
    "sort_rows": lambda a: np.sort(a, axis=1),
    "sort_columns": lambda a: np.sort(a, axis=0),
    "argsort": lambda x: np.argsort(x),
    "argsort_stable": lambda x: np.argsort(x, kind="stable"),
    "partition": lambda x: np.partition(x, 3)[3],
    "lexsort": lambda k, x: np.lexsort((x, k)),
    "searchsorted": lambda x, t: np.searchsorted(t, x),
    "unique": lambda k: np.unique(k),
    "unique_counts": lambda k: np.unique(k, return_counts=True),
    "isin": lambda k: np.isin(k, [1, 5, 7]),
    "intersect1d": lambda k: np.intersect1d(k, k[::2]),
    "union1d": lambda k: np.union1d(k, k[::2]),
    "nonzero": lambda m: np.nonzero(m),
    "nonzero_2d": lambda a: np.nonzero(a > 0.5),
    "flatnonzero": lambda m: np.flatnonzero(m),
    "argwhere": lambda a: np.argwhere(a > 0.5),
    "mask": lambda x, m: x[m],
    "mask_rows": lambda a: a[a[:, 0] > 0.5],
    "compress": lambda m, x: np.compress(m, x),
    "extract": lambda m, x: np.extract(m, x),
    "masked_assignment": lambda x: _masked(x),
    "masked_update_2d": lambda a: _updated(a),
    "window_sums": lambda a: _window_sums(a[:33, :33]),
    "take": lambda x, p: np.take(x, p),
    "gather": lambda x, p: x[p],
    "gather_rows": lambda a: a[::-1][np.arange(len(a)) % 3],
    "take_along_axis": lambda a: np.take_along_axis(a, np.argsort(a, axis=1), axis=1),
    "put": lambda x, p: _put(x, p),
    "add_at": lambda x, k: _add_at(x, k),
    "choose": lambda k, x, y: np.choose(k % 2, [x, y]),
    "concatenate": lambda x, y: np.concatenate((x, y)),
    "stack": lambda x, y: np.stack((x, y)),
    "stack_last": lambda x, y: np.stack((x, y), axis=-1),
    "hstack": lambda a: np.hstack((a, a)),
    "vstack": lambda a: np.vstack((a, a)),
    "block": lambda a: np.block([[a, a], [a, a]]),
    "append": lambda x: np.append(x, 1.0),
    "insert": lambda x: np.insert(x, 3, 1.0),
    "delete": lambda x: np.delete(x, 3),
    "tile": lambda x: np.tile(x, 3),
    "repeat": lambda x: np.repeat(x, 3),
    "repeat_counts": lambda x, k: np.repeat(x, k % 3),
    "pad": lambda a: np.pad(a, 2),
    "pad_edge": lambda a: np.pad(a, 2, mode="edge"),
    "roll": lambda x: np.roll(x, 5),
    "roll_columns": lambda a: np.roll(a, 3, axis=1),
    "flip_copy": lambda x: np.flip(x).copy(),
    "rot90_copy": lambda a: np.rot90(a).copy(),
    "transpose_copy": lambda a: a.T.copy(),
    "ravel_transposed": lambda a: np.ravel(a.T),
    "swapaxes_sum": lambda a: np.swapaxes(a, 0, 1).sum(axis=0),
    "broadcast_add": lambda a: a + a[0],
    "broadcast_column": lambda a: a * a[:, :1],
    "outer": lambda t: np.outer(t[: int(len(t) ** 0.5)], t[: int(len(t) ** 0.5)]),
    "meshgrid": lambda t: np.meshgrid(t[: int(len(t) ** 0.5)], t[: int(len(t) ** 0.5)]),
    "zeros": lambda x: np.zeros(len(x)),
    "ones": lambda x: np.ones(len(x)),
    "full": lambda x: np.full(len(x), 2.5),
    "arange": lambda x: np.arange(len(x)),
    "linspace": lambda x: np.linspace(0.0, 1.0, len(x)),
    "logspace": lambda x: np.logspace(0.0, 1.0, len(x)),
    "eye": lambda a: np.eye(len(a)),
    "tri": lambda a: np.tri(len(a)),
    "triu": lambda a: np.triu(a),
    "diag": lambda a: np.diag(a).copy(),
    "indices": lambda a: np.indices((len(a), len(a))),
    "copy": lambda x: x.copy(),
    "dot": lambda x, y: np.dot(x, y),
    "vdot": lambda z: np.vdot(z, z),
    "inner_rows": lambda a: np.sum(a * a, axis=1),
    "matvec": lambda a: a @ a[0],
    "vecmat": lambda a: a[:, 0] @ a,
    "matmul": lambda a: a @ a.T,
    "einsum": lambda a: np.einsum("ij,ij->i", a, a),
    "trace": lambda a: np.trace(a),
    "norm": lambda x: np.linalg.norm(x),
    "norm_rows": lambda a: np.linalg.norm(a, axis=1),
    "cross": lambda c: np.cross(c, c[::-1]),
    "kron": lambda t: np.kron(t[: int(len(t) ** 0.5)], t[: int(len(t) ** 0.5)]),
    "fft": lambda z: np.fft.fft(z),
    "rfft": lambda x: np.fft.rfft(x),
    "fftshift": lambda x: np.fft.fftshift(x),
    "hanning": lambda x: np.hanning(len(x)),
    "vander": lambda t: np.vander(t, 3),
}


def _updated(a):
    out = a.copy()
    out[out > 0.5] = out[out > 0.5] - 1
    return out


def _window_sums(a):
    out = np.zeros_like(a)
    for y in range(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            out[y, x] = a[y - 1 : y + 2, x - 1 : x + 2].sum()
    return out


def _masked(x):
    out = x.copy()
    out[x > 0.5] = 0.0
    return out


def _put(x, p):
    out = np.empty_like(x)
    out[p] = x
    return out


def _add_at(x, k):
    out = np.zeros(100)
    np.add.at(out, k, x)
    return out


def argument(name: str, n: int) -> np.ndarray:
    """An array of n elements: floats x and y, sorted t, ints k below 100, flags m, complex z, a permutation p, a matrix a
    that is about square, rows of three numbers c."""
    g = np.random.default_rng(ord(name))
    rows = math.isqrt(n)
    make: dict[str, Callable[[], np.ndarray]] = {
        "x": lambda: g.random(n),
        "y": lambda: g.random(n) + 0.5,
        "t": lambda: np.sort(g.random(n)),
        "k": lambda: g.integers(0, 100, n),
        "m": lambda: g.random(n) > 0.5,
        "z": lambda: g.random(n) + 1j * g.random(n),
        "p": lambda: g.permutation(n),
        "a": lambda: g.random((rows, rows)),
        "c": lambda: g.random((n // 3, 3)),
    }
    return make[name]()


def _least(calls: Iterable[Callable], arguments: list) -> list[float]:
    """Seconds of one call of each, alternately."""
    timers = [timeit.Timer(lambda call=call: call(*arguments)) for call in calls]
    once = max(timer.timeit(1) for timer in timers)
    count = max(1, int(SECONDS / once))
    least = [math.inf] * len(timers)
    for _ in range(ROUNDS):
        for i, timer in enumerate(timers):
            least[i] = min(least[i], timer.timeit(count) / count)
    return least


def measure(name: str, n: int) -> dict[str, Any]:
    """The seconds of a function and of its compiled form, and of the latter's first call; or what is wrong with it."""
    function = FUNCTIONS[name]
    arguments = [argument(p, n) for p in inspect.signature(function).parameters]
    compiled = ingot.jit(function)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            start = time.perf_counter()
            result = compiled(*arguments)
            first = time.perf_counter() - start
            fault = difference(result, function(*arguments), 1e-9)
        except Exception as error:
            fault = str(error).splitlines()[0]
        if fault is not None:
            return {WRONG: fault}
        numpy, own = _least((function, compiled), arguments)
    return {"numpy": numpy, "ingot": own, "first": first}


def row(name: str, found: list[dict[str, Any]]) -> str:
    """A line of the table: of each size the compiled form's time and how many times as long NumPy takes."""
    cells = (f"{f[WRONG]:>22.22}" if WRONG in f else f"{f['ingot'] * 1e6:12.2f} {f['numpy'] / f['ingot']:8.2f}x" for f in found)
    return f"{name:20}" + " ".join(cells)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.functions", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these functions")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="numbers of elements")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    names = [n for n in FUNCTIONS if not options.only or n in options.only]
    print(f"{'microseconds, and as many times as long NumPy takes':20}\n{'':20}" + " ".join(f"{n:>22}" for n in options.sizes))
    table = {}
    for name in names:
        table[name] = [measure(name, n) for n in options.sizes]
        print(row(name, table[name]), flush=True)
    for i, n in enumerate(options.sizes):
        good = [r[i] for r in table.values() if WRONG not in r[i]]
        ratios = sorted(f["numpy"] / f["ingot"] for f in good)
        if not ratios:
            continue
        first = statistics.median(f["first"] for f in good)
        print(
            f"{n}: median {statistics.median(ratios):.2f}x, {sum(r < 0.95 for r in ratios)} of {len(ratios)} slower than NumPy,"
            f" first call {first * 1e3:.0f} ms in the median"
        )
    wrong = [name for name, found in table.items() if any(WRONG in f for f in found)]
    print(f"{len(names)} functions, {len(wrong)} refused or wrong", *wrong)
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
