"""NumPy's reductions and scans: keywords, dtypes, shapes and layouts."""

import signal

import numpy as np
import pytest
from support import DTYPES, MODES, check, jitted, raises

QUICK = ("interpreted",)
"""Where the library is in question, not what compiled code makes of it."""

SHAPES = [(), (0,), (1,), (7,), (3, 4), (0, 3), (2, 1, 3)]


def numbers(shape, dtype, seed=0):
    """Small numbers, of both signs where there are some, fractions where there are some."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    values = generator.integers(0 if dtype.kind in "bu" else -4, 5, shape)
    x = values.astype(dtype)
    if dtype.kind in "fc":
        x = (x + dtype.type(0.25)).astype(dtype)
    if dtype.kind == "c":
        x = (x + dtype.type(1j) * generator.integers(-3, 4, shape)).astype(dtype)
    return x


def layouts(x):
    yield x
    if x.ndim > 1:
        yield np.asfortranarray(x)
        yield np.repeat(x, 2, axis=-1)[..., ::2]
    if x.ndim == 1:
        yield x[::-1]


def bound(dtype):
    return {"e": 4e-3, "f": 1e-5, "F": 1e-5, "d": 1e-13, "D": 1e-13}.get(np.dtype(dtype).char, 1e-13)


def sums(x):
    return np.sum(x), x.sum(axis=-1), np.prod(x, axis=-1, keepdims=True), x.sum(keepdims=True), np.add.reduce(x)


def extremes(x):
    return np.max(x, axis=-1), x.min(axis=0, keepdims=True), np.amax(x), np.ptp(x, axis=0)


def flags(x):
    return np.any(x), x.all(axis=-1), np.all(x, axis=0, keepdims=True), np.count_nonzero(x), np.count_nonzero(x, axis=-1)


def means(x):
    return np.mean(x), x.mean(axis=-1), np.var(x, axis=0), x.std(axis=-1, keepdims=True), np.std(x)


def scans(x):
    return np.cumsum(x), x.cumprod(axis=-1), np.add.accumulate(x), np.maximum.accumulate(x, axis=-1)


def without_nan(x):
    return np.nansum(x), np.nanprod(x, axis=-1), np.nancumsum(x), np.nanmean(x, axis=0), np.nanstd(x, axis=-1), np.nanvar(x)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [sums, extremes, flags, means, scans, without_nan], ids=lambda f: f.__name__)
def test_dtypes_and_layouts(function, dtype):
    exact = function in (sums, extremes, flags) and np.dtype(dtype).kind not in "fc"
    for shape in ((7,), (3, 4)):
        for i, x in enumerate(layouts(numbers(shape, dtype))):
            compiled = i == 0 and len(shape) == 2 and dtype in ("bool", "uint16", "float32", "complex128")
            check(function, x, bound=0.0 if exact else bound(dtype), modes=MODES if compiled else QUICK)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape):
    x = numbers(shape, np.float64)
    check(lambda x: (np.sum(x), np.prod(x), np.any(x), np.all(x), np.count_nonzero(x)), x)
    check(lambda x: np.max(x), x)
    check(lambda x: (np.mean(x), np.var(x), np.std(x, ddof=1)), x, bound=1e-14)
    check(lambda x: (np.cumsum(x), np.cumprod(x), np.nancumsum(x)), x, bound=1e-14)
    check(lambda x: (x.sum(axis=()), x.max(axis=()), x.sum(0), x.sum(-1)), x, modes=QUICK)
    check(lambda x: (x.sum(0, keepdims=True), x.sum(keepdims=True), x.mean(-1, keepdims=True)), x, bound=1e-14)
    for axis in (0, -1, 1, (0, 1), (1, 0), (0, 0), 2, -3):
        check(lambda x: np.sum(x, axis=axis), x, bound=1e-14, modes=QUICK)
        check(lambda x: np.min(x, axis=axis), x, modes=QUICK)
        check(lambda x: np.var(x, axis=axis, keepdims=True), x, bound=1e-13, modes=QUICK)
        if not isinstance(axis, tuple):
            check(lambda x: np.cumsum(x, axis=axis), x, bound=1e-14, modes=QUICK)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0), (0, 1, 0), (1, 0, 2)])
def test_extremes_of_nothing(shape):
    def extremes(x):
        return x.max(axis=1), np.min(x, axis=-1)

    check(extremes, np.ones(shape))
    check(lambda x: np.max(x, axis=0, keepdims=True), np.ones(shape))
    check(lambda x: np.max(x, axis=(0, 1)), np.ones(shape))


def test_three_axes():
    x = numbers((3, 4, 5), np.float32)
    for axis in (0, 1, 2, (0, 2), (2, 1), None):
        for y in (x, x.T, x[:, ::2]):
            check(lambda x: (np.sum(x, axis), np.max(x, axis), np.mean(x, axis), np.std(x, axis), np.any(x > 3, axis)), y, bound=1e-5, modes=QUICK)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "uint8", "complex128"])
@pytest.mark.parametrize("columns", [2, 3, 4, 7])
@pytest.mark.sampled(9)
def test_few_columns(dtype, columns):
    """Blocks of rows two at a time, the columns in lanes: the values are the interpreter's, bit for bit."""

    def of_rows(x):
        return np.sum(x, axis=0), np.max(x, axis=0)

    def given(x):
        return np.sum(x * np.sum(x, axis=1)[:, None], axis=0), np.prod(x, axis=0)

    for function in (of_rows, given):
        modes = [jitted(function, mode) for mode in MODES]
        for rows in (1, 17, 128, 129, 256, 300, 385, 1000):
            x = numbers((rows, columns), dtype, rows)
            wide = numbers((2 * rows, 2 * columns), dtype, rows)
            for y in (x, wide[::2, ::2], wide[rows - 1 :: -1, :columns]):
                with np.errstate(all="ignore"):
                    results = [compiled(y) for compiled in modes]
                for one, two in zip(*results, strict=True):
                    assert one.dtype == two.dtype and one.tobytes() == two.tobytes()
    with_nan = numbers((300, columns), dtype)
    if with_nan.dtype.kind in "fc":
        with_nan[257, -1] = np.nan
        check(lambda x: np.sum(x, axis=0), with_nan, bound=bound(dtype))
    check(lambda x: np.sum(x, axis=0), np.zeros((0, columns), dtype))
    check(lambda x: np.sum(x, axis=0), numbers((130, 3, columns), dtype), bound=bound(dtype))


@pytest.mark.rotated(3)
def test_what_meets_short_rows():
    """Rows that are combined with rows known to be short are known to be short, too."""

    def distances(points, centres):
        return np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)

    for columns in (1, 2, 3, 4, 8, 9):
        points = numbers((37, columns), "float64", 1)
        check(distances, points, numbers((5, columns), "float64", 2), bound=1e-13)
        check(distances, points, numbers((5, 2 * columns), "float64", 2)[:, ::2], bound=1e-13)
        check(distances, points, numbers((5, 1), "float64", 2), bound=1e-13)
        check(distances, points, numbers((0, columns), "float64", 2), bound=1e-13)
    text = str(jitted(distances).explain(np.ones((9, 4)), np.ones((3, 4))))
    assert text.split("=== array IR ===")[1].split("->")[0].count("lengths (n, 4)") == 2
    assert raises(distances, np.ones((9, 4)), np.ones((3, 5)))[0] is ValueError


def test_axes_that_are_arguments():
    check(lambda x, axis: x.sum(axis=axis), numbers((3, 4), np.float64), 1)
    check(lambda x, axis: x.cumsum(axis), numbers((3, 4), np.float64), -1)
    check(lambda x: [x.max(axis=i) for i in range(2)], numbers((3, 4), np.int8))


def test_axes_that_are_no_ints():
    x = numbers((3, 4), np.float64)
    check(lambda x: np.sum(x, axis=1.0), x)
    check(lambda x: np.sum(x, axis=[0]), x)
    check(lambda x: np.sum(x, axis=(0.5,)), x)


def test_numbers_and_lists():
    check(lambda: (np.sum(3.0), np.sum([1, 2]), np.max((1.5, 2)), np.mean([[1, 2], [3, 4]], axis=0), np.any(0)))
    check(lambda s: (np.sum(s), s.sum(), s.max(), s.mean(), s.any(), s.std(), s.cumsum()), np.float32(1.5))
    check(lambda: (np.float32(1).sum(), np.int8(3).prod()))
    check(lambda: np.cumsum([1, 2, 3], dtype=np.float32))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64", "complex64", "bool"])
def test_dtypes_to_compute_at(dtype):
    at = np.dtype(dtype)
    for own in ("int8", "bool", "float64"):
        x = numbers((3, 4), own)
        check(lambda x: (np.sum(x, dtype=at), x.prod(axis=0, dtype=at), np.cumsum(x, dtype=at)), x, bound=1e-6, modes=QUICK)
        check(lambda x: np.add.reduce(x, dtype=at), x, bound=1e-6, modes=QUICK)
        if at.kind == "f":
            check(lambda x: (np.mean(x, dtype=at), x.var(axis=1, dtype=at)), x, bound=1e-5, modes=QUICK)


@pytest.mark.rotated(3)
def test_outputs():
    x = numbers((3, 4), np.int8)
    for out in (np.zeros(4), np.zeros(4, np.float32), np.zeros(4, np.int8), np.zeros(4, bool), np.zeros(8)[::2], np.zeros((1, 4))):
        check(lambda x, out: np.sum(x, axis=0, out=out), x, out)
        check(lambda x, out: np.max(x, 0, out), x, out)
        check(lambda x, out: np.any(x, axis=0, out=out), x, out)
    check(lambda x, out: x.sum(0, keepdims=True, out=out), x, np.zeros((1, 4)))
    check(lambda x, out: x.sum(0, keepdims=True, out=out), x, np.zeros(4))
    check(lambda x, out: x.sum(out=out), x, np.zeros(()))
    check(lambda x: x.sum(out=3), x)
    check(lambda x, out: np.cumsum(x, 1, out=out), x, np.zeros((3, 4), np.int16))
    check(lambda x, out: np.std(x, axis=0, out=out), x, np.zeros(4), bound=1e-14)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
def test_masks_and_initial_values(dtype):
    x = numbers((3, 4), dtype)
    modes = MODES if dtype == "float64" else QUICK
    mask = np.array([[True, False, True, True], [False] * 4, [True] * 4])
    row = np.array([True, False, True, True])
    check(lambda x, m: (np.sum(x, where=m), x.prod(axis=1, where=m), np.any(x, where=m), x.all(axis=0, where=m)), x, mask, bound=1e-3, modes=modes)
    check(lambda x, m: (np.max(x, where=m, initial=1), x.min(axis=1, where=m, initial=1)), x, mask, modes=modes)
    check(lambda x, m: (np.max(x, axis=0, where=m, initial=1), x.sum(0, where=m, initial=1)), x, row, bound=1e-3, modes=modes)
    check(lambda x, m: (np.mean(x, where=m), x.std(axis=1, where=m), x.var(axis=0, where=m, keepdims=True)), x, mask, bound=5e-3, modes=modes)
    check(lambda x: (np.sum(x, initial=1), x.max(initial=1), np.min(x, axis=0, initial=1), np.prod(x, initial=1)), x, bound=1e-3, modes=modes)
    check(lambda x: (np.max(x[:0], initial=1), np.min(x[:0], axis=0, initial=1), np.sum(x[:0], axis=0, initial=1)), x, modes=modes)


def test_masks_that_do_not_fit():
    x = numbers((3, 4), np.float64)
    check(lambda x: np.min(x, where=x > 0), x)
    check(lambda x: np.sum(x, where=np.array([1, 0, 1, 0])), x)
    check(lambda x, m: np.sum(x, where=m), x, np.ones((2, 3, 4), bool))
    check(lambda x: (np.sum(x, where=True), np.sum(x, where=False), np.sum(x, initial=None)), x)


def test_degrees_of_freedom():
    x = numbers((3, 4), np.float64)
    check(lambda x: (np.var(x, ddof=1), np.std(x, 0, ddof=2), np.var(x, axis=1, correction=1)), x, bound=1e-14)
    check(lambda x: np.var(x, ddof=1, correction=1), x)
    check(lambda x: np.var(x, axis=0, ddof=5), x)
    check(lambda x: np.std(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), x, bound=1e-14)
    large = 1e8 + numbers((1000,), np.float64)
    check(lambda x: (np.var(x), np.std(x)), large, bound=1e-12)


def test_averages():
    x = numbers((3, 4), np.float64)
    w = np.arange(1.0, 5)
    check(lambda x: np.average(x), x, bound=1e-14)
    check(lambda x, w: (np.average(x, 1, w), np.average(x[0], weights=w)), x, w, bound=1e-14)
    check(lambda x, w: np.average(x, axis=1, weights=w, returned=True), x, w, bound=1e-14)
    check(lambda x: np.average(x, axis=0, returned=True, keepdims=True), x, bound=1e-14)
    check(lambda x, w: np.average(x, weights=w), x, w)
    check(lambda x, w: np.average(x, 0, w), x, w)
    check(lambda x, w: np.average(x, 1, w), x, w - w)
    check(lambda: np.average([1, 2, 3], weights=[3, 2, 1]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_nan(dtype):
    x = numbers((4, 5), dtype)
    x[1, 2] = x[3, 3] = np.nan
    x[2] = np.nan
    modes = MODES if dtype == "float64" else QUICK
    check(lambda x: (np.nansum(x, axis=1), np.nanmean(x, 1), np.nanstd(x, 1), np.nanvar(x, 0, ddof=1)), x, bound=bound(dtype), modes=modes)
    check(lambda x: (np.nanmax(x), np.nanmin(x, axis=1), np.nanmax(x, 0, keepdims=True), np.max(x, axis=0)), x, modes=modes)
    check(lambda x: (np.nancumsum(x, axis=1), np.nancumprod(x, axis=0)), x, bound=bound(dtype), modes=modes)


def test_cumulative():
    x = numbers((3, 4), np.int8)
    check(lambda x: np.cumulative_sum(x, axis=0, include_initial=True), x)
    check(lambda x: np.cumulative_prod(x, axis=-1, dtype=np.float64), x)
    check(lambda x: np.cumulative_sum(x[0], include_initial=True), x)
    check(lambda x: np.cumulative_sum(x), x)


UFUNCS = [np.add, np.multiply, np.maximum, np.fmin, np.subtract, np.divide, np.hypot, np.fmod]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_methods_of_ufuncs(ufunc):
    x = np.abs(numbers((3, 4), np.float64)) + 0.5
    modes = MODES if ufunc in (np.add, np.subtract) else QUICK
    check(lambda x: (ufunc.reduce(x), ufunc.reduce(x, axis=1), ufunc.reduce(x[0]), ufunc.reduce(x, 0, keepdims=True)), x, bound=1e-13, modes=modes)
    check(lambda x: (ufunc.accumulate(x), ufunc.accumulate(x, axis=1), ufunc.accumulate(x[0])), x, bound=1e-13, modes=modes)
    check(lambda x: (ufunc.outer(x[0], x[1]), ufunc.outer(x, x[0]), ufunc.outer(2.0, x[0])), x, bound=1e-13, modes=modes)
    check(lambda x: ufunc.reduceat(x, [0, 2, 1, 1], axis=1), x, bound=1e-13, modes=modes)
    check(lambda x: ufunc.reduce(x[:0]), x, modes=modes)
    check(lambda x: ufunc.reduce(x, axis=None), x, bound=1e-13, modes=modes)


@pytest.mark.parametrize("ufunc", [np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm], ids=lambda u: u.__name__)
def test_methods_of_integer_ufuncs(ufunc):
    x = np.abs(numbers((3, 4), np.int16))
    check(lambda x: (ufunc.reduce(x), ufunc.reduce(x, axis=None), ufunc.accumulate(x, axis=1), ufunc.reduce(x[:0])), x)


def test_logical_reductions():
    x = numbers((3, 4), np.float32)
    check(lambda x: (np.logical_and.reduce(x), np.logical_or.reduce(x, axis=1), np.logical_xor.reduce(x, axis=None)), x)


def test_calls_that_raise():
    x = numbers((3, 4), np.float64)
    check(lambda x: np.sqrt.reduce(x), x)
    check(lambda x: np.add.accumulate(x[0, 0]), x)
    check(lambda x: np.add.reduceat(x, [0, 3]), x)
    check(lambda x: np.sum(x, 0, None, None, False, 0, True, 3), x)


def with_masks(x, mask):
    return np.sum(x, where=mask), np.prod(x, where=mask), np.any(x, where=mask), np.all(x, where=mask), np.max(x, where=mask, initial=0)


def means_with_masks(x, mask):
    return np.mean(x, where=mask), np.std(x, where=mask), np.var(x, where=mask, keepdims=True)


def without_nans(x):
    return np.nansum(x), np.nanmax(x), np.nanmean(x), np.nanvar(x), np.nanstd(x, where=x > 1), np.nanmedian(x)


def places(x):
    return np.argmax(x, keepdims=True), np.argmin(x, axis=0), np.argsort(x), np.argsort(x, axis=None), x.argsort(axis=0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("value", [2.0, 0.5, np.nan, 3, True, 2 + 1j, np.float32(1.5)], ids=repr)
def test_arrays_without_axes(value):
    x = np.array(value)
    for mask in (np.array(True), np.array(False), np.True_, True):
        if x.dtype.kind != "c":
            check(with_masks, x, mask)
            check(means_with_masks, x, mask, bound=1e-7)
    check(lambda x: np.sum(x, where=x == x), x)
    check(places, x)
    check(lambda x: np.argsort(x, axis=1), x)
    check(lambda x: np.trapezoid(x), x)
    if x.dtype.kind == "f":
        check(without_nans, x)


@pytest.mark.rotated(4)
def test_cumsum_along_axes():
    def f(a, axis):
        return np.cumsum(a), a.cumsum(), np.cumsum(a, axis), a.cumsum(axis=axis), np.cumsum(a, axis=None)

    for dtype in ("bool", "uint16", "float32"):
        for shape in ((3, 4), (2, 3, 2), (0, 3), (1, 1)):
            a = (np.arange(np.prod(shape)) % 5).astype(dtype).reshape(shape)
            for axis in (0, 1, -1):
                check(f, a, axis)
            check(f, a.T, 0)
            check(f, a[::-1], -1)
    check(f, np.ones((2, 2)), 2)


@pytest.mark.parametrize("shape", [(2**40, 0), (0, 2**40), (2**40, 3, 0), (2**31, 0, 2)])
def test_arrays_of_many_rows_of_nothing(shape):
    """Loops over what has no elements end at once, however long they are."""

    def stop(*_):
        raise TimeoutError("a loop over nothing does not end")

    around = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        x = np.zeros(shape)
        check(lambda x: (x.sum(), x.any(), np.all(x), x.prod(), np.linalg.norm(x), np.count_nonzero(x), x.min(initial=3)), x, modes=("compiled",))
        check(lambda x: [y.shape for y in (x + 1, x.copy(), x.astype(np.int32), np.sort(x, 0), np.cumsum(x, 0), np.isnan(x), np.where(x > 0, x, 1))], x, modes=("compiled",))
        check(lambda x: [y.shape for y in (np.concatenate((x, x)), np.roll(x, 1, 0), np.diff(x, axis=0), x[x > 0], np.round(x, 1))], x, modes=("compiled",))
        check(lambda x: x.max(), x, modes=("compiled",))
        check(lambda x: x.fill(2), x, modes=("compiled",))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, around)


@pytest.mark.parametrize("value", [-0.7, 0.7, 0.0, -0.0, np.nan])
def test_extremes_of_sizes_that_begin_with_zero(value):
    def largest(x):
        size = np.max(np.abs(np.asarray(x)), initial=0.0)
        return size, bool(size <= 0.0), np.min(-np.abs(np.asarray(x)), initial=0.0)

    np.testing.assert_array_equal(jitted(largest)(value), largest(value))
