"""What NumPy's functions raise, by dtypes, shapes, outputs and masks that they do not take, and what they do take."""

import numpy as np
import pytest
from support import DTYPES, GRID, LINE, check, with_each

BOOLS = np.array([True, False, True])
INTS = np.array([3, -1, 2])
COMPLEX = np.array([1 + 2j, 0.5j, -1])
ZERO = np.array(2.5)
FIXED = np.arange(6.0)
FIXED.flags.writeable = False


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [*DTYPES])
def test_methods_of_ufuncs_raise_by_dtypes(dtype):
    x = np.ones(3, dtype)
    check(lambda x: np.bitwise_or.reduce(x), x)
    check(lambda x: np.gcd.accumulate(x), x)
    check(lambda x: np.hypot.reduceat(x, [0, 1]), x)
    check(lambda x: np.bitwise_xor.at(x, [0, 0], x[:2]), x)
    check(lambda x: np.negative.at(x, 1), x)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64", "bool"])
def test_methods_of_ufuncs_compute_at_dtypes(dtype):
    check(lambda x: np.copysign.reduce(x, dtype=dtype), INTS)
    check(lambda x: np.arctan2.accumulate(x, dtype=dtype), INTS)
    check(lambda x: np.add.reduce(x, dtype=dtype), INTS)
    check(lambda x, out: np.multiply.reduce(x, out=out), INTS, np.zeros((), dtype))
    check(lambda x, out: np.subtract.reduce(x, out=out), COMPLEX, np.zeros((), dtype))


def test_methods_of_ufuncs_on_scalars():
    check(lambda x: np.add.reduceat(x, [0]), ZERO)
    check(lambda x: np.add.reduceat(x, [0], axis=-1), ZERO)
    check(lambda x: np.add.accumulate(x), ZERO)
    check(lambda x: np.add.reduce(x), ZERO)
    check(lambda x: np.add.at(x, 0, 1), 3.0)
    check(lambda x: np.negative.at(x, 0), np.float32(3))


def test_methods_of_ufuncs_raise_by_indices_and_axes():
    check(lambda x: np.add.reduceat(x, [0, 9]), LINE)
    check(lambda x, i: np.add.reduceat(x, i), LINE, np.array([0.0, 1.0]))
    check(lambda x: np.add.accumulate(x, axis=(0, 1)), GRID)
    check(lambda x: np.add.accumulate(x, axis=()), GRID)
    check(lambda x: np.cumsum(x, axis=(0, 1)), GRID)
    check(lambda x: np.subtract.reduce(x, axis=None), GRID)
    check(lambda x: np.add.at(x, [0, 1], x[:3]), LINE)
    check(lambda x: np.arccos.at(x, [0, 1]), INTS)


def test_masks_of_reductions_must_fit():
    check(lambda x, m: np.sum(x, where=m), LINE, np.zeros(3, bool))
    check(lambda x, m: np.sum(x, where=m), LINE, np.zeros(6, int))
    check(lambda x, m: np.mean(x, where=m), LINE, np.zeros(3, bool))
    check(lambda x, m: np.std(x, where=m), LINE, np.zeros((2, 6), bool))
    check(lambda x, m: np.max(x, where=m), LINE, np.zeros(3, bool))
    check(lambda x, m: np.sum(x, axis=1, where=m), GRID, np.arange(4) > 1)
    check(lambda x, m, out: np.any(x, out=out, where=m), np.array(3), np.array(True), np.array(False))


def test_outputs_of_reductions_must_fit():
    for out in (np.zeros(()), np.zeros(3), np.zeros(4), np.zeros((1, 4)), np.zeros((3, 1))):
        check(lambda x, out: np.sum(x, axis=0, out=out), GRID, out)
        check(lambda x, out: np.max(x, axis=1, keepdims=True, out=out), GRID, out)
    check(lambda x, out: np.median(x, out=out), LINE, np.zeros(3))
    check(lambda x, out: np.max(x, out=out), np.zeros(0), np.zeros(3))
    check(lambda x, out: np.sum(x, out=out), LINE, np.zeros((), np.int8))
    check(lambda x, out: np.sum(x, axis=0, out=out), GRID[:, :3], FIXED[:3])
    check(lambda x, out: np.ptp(x, out=out), BOOLS, np.zeros(()))
    check(lambda x, out: np.ptp(x, out=out), LINE, np.zeros((), bool))


def test_deviations_have_the_dtype_of_their_squares():
    check(lambda x: np.std(x, dtype=np.int8), INTS)
    check(lambda x: np.std(x, axis=0, dtype=np.int8), np.ones((3, 2)))
    check(lambda x: np.nanvar(x, dtype=np.int32), LINE)
    check(lambda x, out: np.nanmean(x, out=out), LINE, np.zeros((), int))


def test_elements_are_taken_from_numbers():
    with_each(
        [
            lambda x: np.take(x, [0, 0], axis=0),
            lambda x: np.take(x, 0, axis=-1),
            lambda x: np.take(x, [0, 1], axis=1),
            lambda x: np.compress([True], x, axis=0),
            lambda x: np.compress([False, True], x, axis=0),
        ],
        ZERO,
    )
    check(lambda x, out: np.take(x, [0, 9], out=out), LINE, np.zeros(3))
    check(lambda x: np.take(x, [0]), np.zeros(0))
    check(lambda c, x: np.extract(c, x), BOOLS, np.zeros(0))


def test_functions_of_floats_raise_for_other_dtypes():
    check(lambda x: np.gradient(x), BOOLS)
    check(lambda x: np.fabs(x), COMPLEX)
    check(lambda x: np.positive(x), BOOLS)
    check(lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0]), COMPLEX)
    check(lambda x: np.interp([0.5], x, [2.0, 3.0, 4.0]), COMPLEX)
    check(lambda x: np.choose(x, (1, 2)), np.array([0.0, 1.0]))
    check(lambda x: np.choose([0, 1], (2, x)), np.arange(2, dtype=np.float32))
    check(lambda x: np.cov(x, dtype=np.int64), GRID)
    check(lambda x: np.cov(x, ddof=0.5), GRID)
    check(lambda x, y: np.cov(x, y), LINE[:3], COMPLEX, bound=1e-12)


def test_ends_of_differences():
    check(lambda x: np.diff(x, append=[1, 2]), INTS)
    check(lambda x: np.diff(x, prepend=[1.5], append=7), INTS)
    check(lambda x: np.diff(x, append=[1, 2]), GRID)
    check(lambda x: np.ediff1d(x, to_end=0), INTS)
    check(lambda x: np.ediff1d(x, to_begin=[1.5]), INTS)
    check(lambda x: np.ediff1d(x, to_end=[1, 2], to_begin=1), LINE)
    check(lambda x: np.ediff1d(x, to_end=1), np.arange(3, dtype=np.uint8))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_numbers_are_rounded_and_copied_as_casting_allows(dtype):
    for x in (np.array([1.5, 2.5]), np.array([1, 25]), np.array([True, False])):
        check(lambda x, out: np.round(x, out=out), x, np.zeros(2, dtype))
        check(lambda x, out: np.round(x, 1, out=out), x, np.zeros(2, dtype))
        check(lambda x, out: np.round(x, -1, out=out), x, np.zeros(2, dtype))
        check(lambda x, out: np.clip(x, 1, 2, out=out), x, np.zeros(2, dtype))
        check(lambda x, out: np.copyto(out, x), x, np.zeros(2, dtype))


def test_copies_into_what_cannot_be_written():
    check(lambda x: np.copyto(x, 1.0, where=False), FIXED)
    check(lambda x, y: np.copyto(x, y), np.array(1.0), np.ones((1, 1)))
    check(lambda x, y: np.copyto(x, y), np.array(1.0), np.ones(2))
    check(lambda x: np.put(x, [0], 1), FIXED)
    check(lambda x: np.put(x, [0], 1), np.zeros(0))
    check(lambda x, i: np.put(x, i, 1), LINE, np.array([1.0]))
    check(lambda x: np.putmask(x, x > 9, 1), FIXED)
    check(lambda x: np.place(x, x > 9, [1]), FIXED)
    check(lambda x, v: np.place(x, x > 1, v), INTS, np.array([1.5]))


def test_clip_names_all_shapes():
    check(lambda x: np.clip(x, [0, 1], [2, 3]), np.ones(3))
    check(lambda x, low: np.clip(x, low, 2.0), np.ones((2, 3)), np.ones(2))
    check(lambda x, high: np.clip(x, 1, high), np.ones(3, int), np.ones(2, int))
    check(lambda x, out: np.clip(x, 1, 2, out=out), np.ones(3), np.ones(2))


def test_clip_wants_both_bounds_or_none():
    check(lambda x: np.clip(x, a_min=0), LINE)
    check(lambda x: np.clip(x, a_min=0, min=1), LINE)
    check(lambda x: np.clip(x, 0, 1, max=1), LINE)
    check(lambda x: np.clip(x), LINE)


def test_arrays_of_no_parts_cannot_be_joined():
    none = np.zeros((0, 3))
    with_each([lambda x: np.hstack(x), lambda x: np.vstack(x), lambda x: np.stack(x), lambda x: np.concatenate(x)], none)
    check(lambda x, y: np.cov(x, y), np.zeros((2, 0)), np.zeros(9))
    check(lambda x, y: np.concatenate((x, 0.5, y), axis=None), np.zeros(2, np.float32), np.zeros(2, np.float16))


def test_orders_of_fields_are_none():
    with_each(
        [
            lambda x: np.sort(x, order="a"),
            lambda x: np.argsort(x, order="a"),
            lambda x: np.partition(x, 1, order="a"),
            lambda x: np.argpartition(x, 1, kind="stable"),
            lambda x: np.partition(x, 1, kind=None),
        ],
        LINE,
    )


def test_functions_of_scalars_give_scalars():
    with_each([lambda x: np.squeeze(x), lambda x: np.squeeze(x, 0), lambda x: np.transpose(x)], np.float32(2))
    check(lambda x: np.flip(x), ZERO)
    check(lambda x, y: np.lexsort((x, y)), ZERO, ZERO)
    check(lambda x: np.roll(x, 1, axis=()), GRID)


def test_places_of_bools_and_floats():
    check(lambda i: np.unravel_index(i, (3, 3)), BOOLS)
    check(lambda i: np.ravel_multi_index(i, (3, 3)), np.zeros((3, 2), int))
    check(lambda i: np.ravel_multi_index((i, i), (3, 3)), LINE)
    check(lambda i: np.ravel_multi_index((i, i), (3, 3), order="A"), INTS)
    check(lambda x: np.correlate(x, 2), LINE)
    check(lambda x: np.convolve(x, x), GRID)


def test_quantiles_that_are_elements():
    for x in (np.arange(3), np.arange(3, dtype=np.float32)):
        check(lambda x: (np.quantile(x, 1), np.quantile(x, [0, 1]), np.quantile(x, 0.5), np.percentile(x, 100)), x)


def test_polynomials_of_numbers_and_grids():
    check(lambda p, q: (np.polyadd(p, q), np.polysub(q, p)), GRID[:2, :2], GRID[1:, :2])
    check(lambda p: np.polyadd(p, 1), LINE)
    check(lambda p, x: np.polyval(p, x), LINE, ZERO)
    check(lambda x, y: np.polyfit(x, y, 1), COMPLEX, LINE[:3], bound=1e-9)


def test_transforms_of_complex_numbers_that_should_be_real():
    for x in (np.arange(4) * (1 + 1j), np.arange(3) * (1 + 1j)):
        with_each([lambda x: np.fft.rfft(x), lambda x: np.fft.rfftn(x), lambda x: np.fft.ihfft(x)], x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["int64", "float64", "complex64", "complex128"])
def test_outputs_of_transforms_are_cast_and_must_fit(dtype):
    for shape in ((6,), (4,), (2, 6)):
        check(lambda x, out: np.fft.fft(x, out=out), LINE, np.zeros(shape, dtype), bound=1e-6)
        check(lambda x, out: np.fft.rfft(x, out=out), LINE, np.zeros(shape, dtype), bound=1e-6)
    check(lambda x, out: np.fft.ifft2(x, out=out), GRID, np.zeros((3, 4), dtype), bound=1e-6)
    check(lambda x, out: np.fft.ifft2(x, s=(2, 2), out=out), GRID, np.zeros((2, 2), dtype))
    check(lambda x, out: np.fft.hfft(x, out=out), LINE, np.zeros(10, dtype), bound=1e-6)


def test_shifts_of_numbers():
    check(lambda x: np.fft.fftshift(x), ZERO)


def test_matrices_that_are_none():
    check(lambda x: np.linalg.cond(x), np.zeros((0, 0)))
    check(lambda x, y: np.linalg.multi_dot([x, y, x]), np.zeros((2, 2)), np.zeros((2, 2, 2)))
    check(lambda x, y: np.matvec(x, y), LINE, LINE)
    check(lambda x, y: np.vecmat(x, y), LINE, LINE)


def test_several_outputs_are_written_together():
    check(lambda x, y, a, b: np.divmod(x, y, out=(a, b)), INTS, INTS, np.zeros(3, int), np.zeros((2, 3), int))
    check(lambda x, a, b: np.frexp(x, out=(a, b)), LINE, np.zeros(6), np.zeros(3, int))
    check(lambda x, a, b: np.modf(x, out=(a, b)), LINE, np.zeros((2, 6)), np.zeros((2, 6)))


def test_numbers_of_other_dtypes():
    check(lambda: np.fromiter(range(3), None))
    check(lambda x: np.poly(x), np.ones(2, np.float16))
    check(lambda x: np.polydiv(x, [1, 2]), np.zeros(0))
    check(lambda x: np.apply_over_axes(np.sum, x, 0), ZERO)
    check(lambda x: np.nanquantile(x, 0.5), np.zeros(0, int))
    check(lambda x: np.nanquantile(x, 0.5, keepdims=True), np.zeros((2, 0)))
    check(lambda y, x: np.trapezoid(y, x), LINE[:3], np.arange(12.0).reshape(2, 3, 2))


def test_modes_of_padding_take_their_own_keywords():
    with_each(
        [
            lambda x: np.pad(x, 1, end_values=2),
            lambda x: np.pad(x, 1, mode="edge", stat_length=None),
            lambda x: np.pad(x, 1, mode="linear_ramp", end_values=2),
            lambda x: np.pad(x, 1, mode="odd", end_values=2),
        ],
        LINE,
    )
    check(lambda x: np.pad(x, -1), ZERO)


def test_cross_products_want_vectors_of_three():
    for shape in ((3,), (4,), (2, 3), ()):
        check(lambda x, y: np.cross(x, y), np.ones(3), np.ones(shape))
        check(lambda x, y: np.linalg.cross(x, y), np.ones(3), np.ones(shape))
    check(lambda x: np.cross(x, x, axis=-3), GRID)


def test_elements_alone_are_added_to_zero():
    for x in (np.array(-0.0), np.array([-0.0, 1.0]), np.array([-0.0], np.complex64)):
        check(lambda x: (np.sum(x, axis=()), np.add.reduce(x, axis=(), keepdims=True), np.nansum(x, axis=())), x)
    check(lambda x: (np.sum(x), np.mean(x), np.prod(x), np.average(x)), np.array(-0.0))
