"""`ingot.numpy`: its names, each function compared with NumPy's, and the special cases of the array API standard."""

import importlib
import inspect
import pickle
import re
import subprocess
import sys
import warnings

import ingot
import ingot.numpy as inp
import numpy as np
import pytest
from support import difference

MODULES = {"": (inp, np), "linalg": (inp.linalg, np.linalg), "fft": (inp.fft, np.fft)}
LINE = np.array([3.5, -1.0, 2.0, 0.5])
GRID = np.arange(12.0).reshape(3, 4)
INTS = np.array([5, -2, 7, 0, 5])
BITS = np.array([1, 6, 3], np.uint8)
FLAGS = np.array([True, False, True, True])
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
COMPLEX = np.array([1 + 2j, -0.5j, 3.0])
HOLES = np.array([[1.0, np.nan, 2.0], [4.0, 0.5, np.nan]])

# One or more calls of each function that is no ufunc; `x` is the namespace.
CALLS = """
all(GRID) all(FLAGS.reshape(2, 2), axis=1, keepdims=True) allclose(LINE, LINE + 1e-9) amax(GRID, axis=0) amin(GRID)
angle(COMPLEX) any(GRID, axis=(0, 1)) append(LINE, INTS) append(GRID, GRID, axis=1) arange(5) arange(2, 9.5, 2, dtype=np.float32)
arange(1, stop=7, step=3) argmax(INTS) argmax(GRID, axis=1, keepdims=True) argmin(INTS) argpartition(LINE, 3) argsort(INTS)
argsort(GRID, axis=0) argwhere(GRID > 5) around(LINE, 1) array_equal(LINE, LINE) array_split(LINE, 3) ascontiguousarray(GRID.T)
asfortranarray(GRID) astype(LINE, np.int32) astype(LINE, np.float64, copy=False) atleast_1d(2.0) atleast_2d(LINE) atleast_3d(LINE)
average(LINE, weights=np.arange(4.0)) bartlett(5) bincount(BITS) blackman(5) block([[SQUARE, SQUARE]])
broadcast_arrays(LINE, GRID) broadcast_to(LINE, (2, 4)) choose(np.array([1, 0]), (INTS[:2], INTS[2:4])) clip(LINE, 0, 2)
clip(LINE, min=0.0) clip(LINE, max=1.0) clip(LINE, a_min=0, a_max=1) column_stack((LINE, LINE)) compress(FLAGS, LINE) concat((LINE, LINE))
concatenate((GRID, GRID), axis=1) convolve(LINE, [1.0, 0.5]) copy(GRID) copy(GRID.T, order="C") copy(GRID, order="F") corrcoef(GRID + SQUARE[0, 0] * np.eye(3, 4)) correlate(LINE, LINE) count_nonzero(INTS)
count_nonzero(GRID, axis=0) cov(GRID) cross(SQUARE, SQUARE[0]) cumprod(GRID, axis=1) cumsum(INTS)
cumulative_prod(LINE) cumulative_sum(GRID, axis=1, include_initial=True) delete(LINE, 1) diag(SQUARE) diag_indices(3)
diag_indices_from(SQUARE) diagflat(LINE) diagonal(SQUARE, 1) diff(LINE) diff(GRID, axis=0, n=2) digitize(LINE, np.array([0.0, 1.0]))
dot(SQUARE, SQUARE[0]) dsplit(np.zeros((1, 2, 4)), 2) dstack((LINE, LINE)) ediff1d(LINE) einsum("ij,jk", SQUARE, SQUARE) empty((2, 3)).shape
empty_like(GRID).dtype expand_dims(LINE, 1) extract(FLAGS, LINE) eye(3, k=1, dtype=np.int8) fix(LINE) flatnonzero(INTS) flip(GRID)
flip(GRID, axis=0) fliplr(GRID) flipud(GRID) full((2, 2), 7) full_like(INTS, 3) geomspace(1.0, 8.0, 4) gradient(LINE) hamming(4)
hanning(4) histogram(LINE, 3) histogram2d(LINE, LINE, 2) histogram_bin_edges(LINE, 4) hsplit(GRID, 2) hstack((LINE, LINE)) i0(LINE)
identity(2) imag(COMPLEX) indices((2, 3)) inner(LINE, LINE) insert(LINE, 1, 9.0) interp(0.5, LINE[:2] * 0 + [0.0, 1.0], LINE[:2])
intersect1d(INTS, BITS) isclose(LINE, LINE + 1e-12) iscomplex(COMPLEX) isin(INTS, BITS) isneginf(LINE) isposinf(LINE / 0) isreal(COMPLEX)
ix_(np.array([0, 1]), np.array([2])) kaiser(4, 2.0) kron(LINE, LINE) lexsort((INTS, INTS[::-1].copy())) linspace(0, 1, 5) linspace(0, 1, 4, endpoint=False)
logspace(0.0, 2.0, 3) matrix_transpose(GRID) max(GRID) max(INTS, initial=50) mean(GRID, axis=1) mean(INTS) median(LINE)
meshgrid(LINE, INTS, indexing="ij") mgrid[0:3, 0:2] min(GRID, axis=1) moveaxis(np.zeros((2, 3, 4)), 0, -1) nan_to_num(HOLES) real_if_close(LINE + 0j)
nanargmax(HOLES) nanargmin(HOLES) nancumprod(HOLES) nancumsum(HOLES) nanmax(HOLES) nanmean(HOLES) nanmedian(HOLES) nanmin(HOLES)
nanprod(HOLES) nanstd(HOLES) nansum(HOLES, axis=0) nanvar(HOLES) nonzero(GRID > 7) ogrid[0:3, 0:2] ones(3) ones((2, 2), dtype=np.complex64)
ones_like(INTS) outer(LINE, LINE) pad(LINE, 2) partition(LINE, 2) percentile(LINE, 30.0) permute_dims(GRID, (1, 0)) polyadd(LINE, LINE[:2])
polyder(LINE) polyfit(LINE, LINE * 2, 1) polymul(LINE, LINE) polysub(LINE, LINE[:2]) polyval(LINE, 2.0) prod(INTS[:3]) ptp(LINE)
quantile(LINE, 0.4) ravel(GRID) ravel_multi_index((np.array([1, 0]), np.array([2, 3])), (3, 4)) real(COMPLEX) repeat(LINE, 2) repeat(GRID, 2, axis=1)
reshape(GRID, (4, 3)) reshape(GRID, (-1,)) resize(LINE, (2, 3)) roll(LINE, 1) roll(GRID, (1, 2), axis=(0, 1)) rollaxis(GRID, 1) rot90(GRID)
round(LINE) searchsorted(np.sort(LINE), 1.0) searchsorted(LINE, LINE, sorter=np.argsort(LINE), side="right") select([LINE > 1, LINE < 0], [LINE, -LINE], 0.5)
setdiff1d(INTS, BITS) setxor1d(INTS, BITS) sinc(LINE) sort(LINE) sort(GRID, axis=None) split(LINE, 2) split(LINE, [1, 3]) squeeze(GRID[None])
squeeze(GRID[:, None], axis=1) stack((LINE, LINE), axis=1) std(GRID, axis=0) std(LINE, correction=1) sum(GRID) sum(GRID, axis=(0, 1)) sum(BITS)
sum(GRID, axis=-1, keepdims=True) sum(BITS, dtype=np.float32) swapaxes(GRID, 0, 1) take(GRID, np.array([1, 0]), axis=1)
take_along_axis(GRID, np.zeros((3, 1), np.int64), axis=1) tensordot(SQUARE, SQUARE) tensordot(SQUARE, SQUARE, axes=((0,), (1,))) tile(LINE, 2) trace(SQUARE)
transpose(GRID) trapezoid(LINE) tri(3) tril(SQUARE) tril_indices(3) tril_indices_from(SQUARE) trim_zeros(INTS * FLAGS[0]) triu(SQUARE, 1)
triu_indices(3) triu_indices_from(SQUARE) union1d(INTS, BITS) unique(INTS) unique(INTS, return_counts=True) unique_all(INTS) unique_counts(INTS)
unique_inverse(INTS) unravel_index(5, (3, 4)) unstack(GRID) unstack(GRID, axis=-1) unwrap(LINE) vander(LINE) var(GRID) var(INTS, mean=2.0) vdot(COMPLEX, COMPLEX)
vsplit(GRID, 3) vstack((LINE, LINE)) where(LINE > 0, LINE, 0.0) where(FLAGS) zeros(3) zeros((2, 3), dtype=np.int16) zeros((2, 2), device="cpu")
zeros_like(GRID) divmod(INTS, 3) frexp(LINE) modf(LINE) matmul(SQUARE, SQUARE) matmul(GRID, LINE) matvec(SQUARE, SQUARE[0]) vecmat(SQUARE[0], SQUARE)
vecdot(GRID, GRID) vecdot(COMPLEX, COMPLEX) vecdot(GRID, GRID, axis=0)
linalg.cholesky(SQUARE) linalg.cond(SQUARE) linalg.cross(SQUARE, SQUARE[0]) linalg.det(SQUARE) linalg.diagonal(GRID) linalg.eigh(SQUARE)
linalg.eigvalsh(SQUARE) linalg.inv(SQUARE) linalg.lstsq(SQUARE, SQUARE[0])[0] linalg.matmul(SQUARE, SQUARE) linalg.matrix_norm(SQUARE)
linalg.matrix_norm(SQUARE, ord=1, keepdims=True) linalg.matrix_power(SQUARE, 3) linalg.matrix_rank(SQUARE) linalg.matrix_transpose(GRID)
linalg.multi_dot((SQUARE, SQUARE, SQUARE)) linalg.norm(LINE) linalg.norm(SQUARE, 2) linalg.outer(LINE, LINE) linalg.pinv(SQUARE) linalg.qr(SQUARE)
linalg.slogdet(SQUARE) linalg.solve(SQUARE, SQUARE[0]) linalg.svd(SQUARE)[1] linalg.svdvals(SQUARE) linalg.tensordot(SQUARE, SQUARE, axes=1)
linalg.trace(SQUARE) linalg.vecdot(LINE, LINE) linalg.vector_norm(GRID) linalg.vector_norm(INTS, ord=1) linalg.vector_norm(GRID, axis=(0, 1), keepdims=True)
linalg.vector_norm(np.zeros((2, 3, 4)), axis=(2, 0)) linalg.vector_norm(np.float64(-2.0))
fft.fft(LINE) fft.fft(COMPLEX, 5, norm="ortho") fft.fft2(GRID) fft.fftfreq(5) fft.fftfreq(4, d=0.5) fft.fftn(GRID, axes=(0,)) fft.fftshift(LINE)
fft.fftshift(GRID, axes=[1]) fft.hfft(COMPLEX) fft.ifft(COMPLEX) fft.ifft2(GRID) fft.ifftn(GRID) fft.ifftshift(GRID, axes=0) fft.ihfft(LINE)
fft.irfft(COMPLEX) fft.irfft2(GRID) fft.irfftn(GRID) fft.rfft(LINE) fft.rfft2(GRID) fft.rfftfreq(5) fft.rfftn(GRID)
"""
CALLS += """
apply_along_axis(np.sum, 0, GRID) apply_along_axis(np.sort, 1, -GRID) apply_over_axes(np.max, GRID, (0, 1)) array_equiv(GRID, GRID[:1]) asarray_chkfinite(LINE)
c_[LINE, INTS[:4]] r_[LINE, 1:3, 0.5] fromiter([1, 2, 3], np.float32) frombuffer(LINE, np.uint8, 9, 3) histogramdd((LINE, LINE), 3) isfortran(GRID) mask_indices(3, np.triu) nanpercentile(HOLES, 30.0)
nanquantile(HOLES, 0.5, axis=1) packbits(FLAGS) packbits(BITS, bitorder="little") piecewise(LINE, [LINE < 1], [0, 2.5]) poly(LINE) polydiv(LINE, LINE[:2]) polyint(LINE)
roots(np.array([1.0, 0.0, 4.0])) row_stack((LINE, LINE)) sort_complex(INTS) unpackbits(BITS)
linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]])) linalg.eigvals(SQUARE + 1j) linalg.tensorinv(np.eye(4).reshape(4, 2, 2), 1) linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), GRID[:2, :2])
"""
# What changes its argument.
CHANGES = """
copyto(a, 2.0) fill_diagonal(a, 5.0) matmul(SQUARE, GRID, out=a) place(a, a > 3, 1.5) put(a, INTS[2:4], 8.0) put_along_axis(a, np.zeros((3, 1), np.int64), 4.0, 1) putmask(a, a > 3, 0.0)
add(a, 1, out=a) sum(a, axis=1, out=a[:, 0]) exp(a, where=a < 2, out=a) clip(a, 1, 2, out=a)
"""


def calls(text):
    """The calls in a text; the next one begins where brackets are closed."""
    found, depth, start = [], 0, 0
    text = " ".join(text.split())
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == " " and depth == 0:
            found.append(text[start:place])
            start = place + 1
    return [*found, text[start:]]


def compare(call, bound=1e-13, **more):
    """Evaluates a call with NumPy's namespace and with Ingot's."""
    names = globals() | more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = eval(f"x.{call}", names | {"x": np})
        got = eval(f"x.{call}", names | {"x": inp})
    problem = difference(got, expected, bound)
    assert problem is None, f"{call}: {problem}"


@pytest.mark.parametrize("call", calls(CALLS))
@pytest.mark.sampled(15)
def test_functions_are_numpys(call):
    compare(call)


@pytest.mark.parametrize("call", calls(CHANGES))
def test_arguments_are_changed_as_numpys_functions_do(call):
    expected, got = GRID.copy(), GRID.copy()
    results = [eval(f"x.{call}", globals() | {"x": x, "a": a}) for x, a in ((np, expected), (inp, got))]
    assert difference(got, expected, 1e-15) is None
    assert difference(results[1], results[0], 1e-15) is None


def compiled(module, original):
    """The names of a module whose functions are compiled."""
    return [n for n in dir(module) if isinstance(getattr(module, n), ingot._calls.function.Function) and hasattr(original, n)]


UFUNCS = [name for name in compiled(inp, np) if isinstance(getattr(np, name), np.ufunc)]
OTHER_ARGUMENTS = {  # ufuncs that do not take floats
    name: (INTS,) if name in ("invert", "bitwise_not", "bitwise_invert", "bitwise_count") else (BITS, BITS)
    for name in UFUNCS
    if name.startswith(("bitwise", "left", "right", "gcd", "lcm", "invert"))
} | {"ldexp": (LINE, BITS.max())}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [n for n in UFUNCS if np.__dict__[n].signature is None])
def test_ufuncs_are_numpys(name):
    ufunc = getattr(np, name)
    arguments = OTHER_ARGUMENTS.get(name, (LINE, LINE[::-1] + 2)[: ufunc.nin])
    with np.errstate(all="ignore"):
        expected = ufunc(*arguments)
    problem = difference(getattr(inp, name)(*arguments), expected, 1e-15)
    assert problem is None, problem


@pytest.mark.parametrize("part", MODULES)
def test_every_function_is_tried(part):
    module, original = MODULES[part]
    prefix = f"{part}." if part else ""
    tried = {re.split(r"[(\[]", c)[0] for c in calls(CALLS) + calls(CHANGES)}
    tried |= {name for name in UFUNCS if not part}
    untried = {prefix + name for name in compiled(module, original)} - tried
    assert untried <= {"fromfunction", "unique_values"}, untried


def test_functions_of_functions():
    def value(i, j):
        return i + 2 * j

    assert difference(inp.fromfunction(value, (2, 3)), np.fromfunction(value, (2, 3))) is None


def test_unique_values_are_sorted():
    # NumPy leaves the order open.
    assert inp.unique_values(INTS).tolist() == [-2, 0, 5, 7]


def test_names():
    for module, original in MODULES.values():
        names = dir(module)
        assert names == sorted(set(names)) and names == list(module.__all__)
        for name in names:
            assert getattr(module, name) is getattr(module, name)
            assert hasattr(original, name)
    assert inp.float32 is np.float32 and inp.pi is np.pi and inp.newaxis is None and inp.ndarray is np.ndarray
    assert inp.asarray is np.asarray and inp.result_type is np.result_type and inp.linalg.LinAlgError is np.linalg.LinAlgError
    assert inp.__array_api_version__ == "2024.12" and inp.__array_namespace_info__ is np.__array_namespace_info__


def test_every_name_of_the_standard_is_there():
    names = """abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
        bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_to
        can_cast ceil clip complex128 complex64 concat conj copysign cos cosh count_nonzero cumulative_prod
        cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64 floor
        floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype
        isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
        logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis
        nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat
        reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum
        take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts
        unique_inverse unique_values unstack var vecdot where zeros zeros_like"""
    linalg = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
        matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"""
    fft = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn"
    assert set(names.split()) <= set(dir(inp))
    assert set(linalg.split()) <= set(dir(inp.linalg))
    assert set(fft.split()) <= set(dir(inp.fft))


def test_what_is_missing():
    with pytest.raises(AttributeError, match="does not compile numpy.fromstring"):
        inp.fromstring  # noqa: B018
    with pytest.raises(AttributeError, match="module 'ingot.numpy' has no attribute 'nonsense'"):
        inp.nonsense  # noqa: B018
    with pytest.raises(np.exceptions.AxisError):
        inp.matmul(GRID, GRID.T, axes=[(0, 3), (0, 1), (0, 1)])
    with pytest.raises(TypeError, match="matmul does not support keepdims"):
        inp.matmul(GRID, GRID.T, keepdims=False)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        inp.add(1, 2, foo=1)
    with pytest.raises(ingot.UnsupportedError):
        inp.sum(np.array(["a"]))
    with pytest.raises(ValueError, match='Only "cpu" is allowed, but received: gpu'):
        inp.zeros(3, device="gpu")


def test_exceptions_are_numpys():
    for call in ("sum(GRID, axis=2)", "add(LINE, INTS)", "reshape(LINE, (3, 5))", "linalg.inv(GRID)", "zeros(-1)", "linalg.outer(GRID, LINE)",
                 "vecdot(LINE, LINE[:2])", "take(LINE, 9)", "astype([1], int)"):  # fmt: skip
        with pytest.raises(Exception) as ours:
            eval(f"inp.{call}")
        with pytest.raises(Exception) as theirs:
            eval(f"np.{call}")
        assert ours.type is theirs.type and str(ours.value) == str(theirs.value), call


def test_functions_look_like_numpys():
    assert inp.sum.__name__ == "sum" and inp.sum.__module__ == "ingot.numpy" and inp.sum.__doc__ == np.sum.__doc__
    assert repr(inp.linalg.inv) == "<compiled function ingot.numpy.linalg.inv>"
    assert pickle.loads(pickle.dumps(inp.sum)) is inp.sum and pickle.loads(pickle.dumps(inp.fft.fft)) is inp.fft.fft
    assert list(inspect.signature(inp.sum).parameters) == list(inspect.signature(np.sum).parameters)
    assert str(inspect.signature(inp.add)) == str(inspect.signature(np.add))
    space = {}
    exec("from ingot.numpy import *", space)
    assert space["sum"] is inp.sum and space["linalg"] is inp.linalg


def test_functions_are_called_in_compiled_functions():
    @ingot.jit
    def f(x):
        return inp.sum(x, axis=0) + inp.sort(x, descending=True)[0] * inp.linalg.norm(x) + inp.fft.rfft(x).real[0]

    expected = LINE.sum() + LINE.max() * np.linalg.norm(LINE) + LINE.sum()
    assert difference(f(LINE), expected, 1e-14) is None


METHODS = """
add.reduce(GRID) add.reduce(GRID, axis=1, keepdims=True) maximum.reduce(LINE) multiply.reduce(INTS, initial=2) add.reduce(GRID, (0, 1), where=GRID > 2)
logical_and.reduce(FLAGS) add.accumulate(GRID, 1) maximum.accumulate(INTS) subtract.outer(LINE, INTS) less.outer(INTS, LINE) bitwise_or.reduce(BITS)
add.outer(LINE, INTS, dtype=np.float32, casting='unsafe') add.outer(INTS, INTS, order='F') add.reduceat(LINE, np.array([0, 2])) add.reduce(GRID, dtype=np.float32) minimum.reduce(GRID, axis=None)
"""


@pytest.mark.parametrize("call", calls(METHODS))
def test_methods_of_ufuncs(call):
    compare(call)


def test_methods_of_ufuncs_change_their_arguments():
    for x in (np, inp):
        a, b = np.zeros(4), np.arange(4.0)
        x.add.at(a, np.array([1, 1, 3]), 2.5)
        x.negative.at(b, np.array([0, 2, 2]))
        out = np.zeros(4)
        assert x.add.reduce(GRID, 0, None, out) is out
        assert a.tolist() == [0, 5, 0, 2.5] and b.tolist() == [0, 1, 2, 3] and out.tolist() == GRID.sum(0).tolist()
    assert inp.add.reduce is inp.add.reduce and inp.add.reduce.__name__ == "add.reduce"
    with pytest.raises(AttributeError):
        inp.add.nonsense  # noqa: B018
    with pytest.raises(AttributeError):
        inp.sum.reduce  # noqa: B018
    with pytest.raises(ValueError, match="only supported for binary functions"):
        inp.sin.reduce(LINE)


def test_values_that_decide_are_any_number():
    for n in range(1, 40):
        assert inp.fft.fft(LINE, n).shape == (n,)
        assert inp.linalg.matrix_power(np.ones((1, 1)), n) == 1
    for axes in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0), (2, 0, 1)] * 4:
        assert inp.permute_dims(np.zeros((2, 3, 4)), axes).shape == tuple((2, 3, 4)[a] for a in axes)


def test_importing_ingot_does_not_import_it():
    code = "import sys, ingot; a = 'ingot.numpy' in sys.modules; import ingot.numpy; print(a, 'ingot._core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False False\n", done.stderr


def test_what_the_standard_adds():
    assert inp.sort(LINE, descending=True).tolist() == sorted(LINE, reverse=True)
    assert inp.sort(GRID, axis=0, descending=True).tolist() == GRID[::-1].tolist()
    assert inp.argsort(INTS, descending=True, stable=True).tolist() == [2, 0, 4, 3, 1]
    assert inp.clip(LINE, 0.0).tolist() == [3.5, 0.0, 2.0, 0.5] and inp.clip(LINE, None, 1).max() == 1
    assert inp.fft.fftfreq(5, dtype=np.float32).dtype == np.float32
    assert inp.fft.rfftfreq(4, d=2.0).tolist() == np.fft.rfftfreq(4, d=2.0).tolist()
    assert inp.iinfo(BITS).max == 255 and inp.iinfo(np.int8).min == -128
    single = inp.finfo(np.ones(2, np.complex64))
    assert type(single.eps) is float and single.eps == np.finfo(np.float32).eps and single.dtype == np.float32 and single.bits == 32
    assert inp.finfo(np.float64).max == sys.float_info.max


INF, NAN = float("inf"), float("nan")
# The standard's special cases: a function, its arguments, its value. Where NumPy's differ, NumPy's are kept.
SPECIAL = [
    *[(name, (NAN,), NAN) for name in "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh".split()],
    *[(name, (v,), v) for name in "asin asinh atan atanh expm1 log1p sin sinh sqrt tan tanh ceil floor trunc round".split() for v in (0.0, -0.0)],
    *[(name, (INF,), INF) for name in "acosh asinh cosh exp expm1 log log1p log2 log10 sinh sqrt ceil floor trunc round abs square".split()],
    *[(name, (-INF,), -INF) for name in "asinh sinh ceil floor trunc round".split()],
    *[(name, (v,), NAN) for name in "sin cos tan acos asin atanh".split() for v in (INF, -INF)],
    *[(name, (v,), NAN) for name in "acos asin atanh".split() for v in (1.5, -1.5)],
    *[(name, (v,), -INF) for name in "log log2 log10".split() for v in (0.0, -0.0)],
    *[(name, (-1.0,), NAN) for name in "log log2 log10 sqrt".split()],
    ("acos", (1.0,), 0.0), ("acosh", (1.0,), 0.0), ("acosh", (0.5,), NAN), ("atan", (INF,), np.pi / 2), ("atan", (-INF,), -np.pi / 2),
    ("atanh", (1.0,), INF), ("atanh", (-1.0,), -INF), ("cosh", (-INF,), INF), ("cosh", (-0.0,), 1.0), ("cos", (-0.0,), 1.0),
    ("exp", (-INF,), 0.0), ("exp", (-0.0,), 1.0), ("expm1", (-INF,), -1.0), ("log", (1.0,), 0.0), ("log1p", (-1.0,), -INF), ("log1p", (-2.0,), NAN),
    ("tanh", (INF,), 1.0), ("tanh", (-INF,), -1.0), ("round", (2.5,), 2.0), ("round", (-0.5,), -0.0), ("ceil", (-0.5,), -0.0),
    ("abs", (-0.0,), 0.0), ("abs", (-INF,), INF), ("abs", (NAN,), NAN), ("sign", (-0.0,), 0.0), ("sign", (NAN,), NAN), ("signbit", (-0.0,), True),
    ("isfinite", (INF,), False), ("isinf", (-INF,), True), ("isnan", (NAN,), True), ("logical_not", (-0.0,), True),
    ("atan2", (0.0, -0.0), np.pi), ("atan2", (-0.0, -0.0), -np.pi), ("atan2", (0.0, 0.0), 0.0), ("atan2", (-0.0, 0.0), -0.0),
    ("atan2", (1.0, 0.0), np.pi / 2), ("atan2", (-1.0, -0.0), -np.pi / 2), ("atan2", (INF, INF), np.pi / 4), ("atan2", (INF, -INF), 3 * np.pi / 4),
    ("atan2", (-INF, INF), -np.pi / 4), ("atan2", (1.0, -INF), np.pi), ("atan2", (-1.0, INF), -0.0), ("atan2", (NAN, 1.0), NAN),
    ("add", (INF, -INF), NAN), ("add", (-0.0, -0.0), -0.0), ("add", (-0.0, 0.0), 0.0), ("add", (1.0, -1.0), 0.0), ("subtract", (0.0, 0.0), 0.0),
    ("multiply", (INF, 0.0), NAN), ("multiply", (-1.0, 0.0), -0.0), ("multiply", (-INF, INF), -INF), ("divide", (0.0, -0.0), NAN),
    ("divide", (1.0, -0.0), -INF), ("divide", (-1.0, INF), -0.0), ("divide", (INF, INF), NAN), ("reciprocal", (-0.0,), -INF),
    ("floor_divide", (0.0, 0.0), NAN), ("floor_divide", (1.0, 0.0), INF), ("floor_divide", (-1.0, 0.0), -INF), ("floor_divide", (1.0, INF), 0.0),
    ("remainder", (1.0, 0.0), NAN), ("remainder", (INF, 1.0), NAN), ("remainder", (-0.0, 1.0), 0.0), ("remainder", (-1.0, INF), INF),
    ("pow", (NAN, 0.0), 1.0), ("pow", (1.0, NAN), 1.0), ("pow", (NAN, 1.0), NAN), ("pow", (2.0, INF), INF), ("pow", (2.0, -INF), 0.0),
    ("pow", (-1.0, INF), 1.0), ("pow", (0.5, INF), 0.0), ("pow", (0.5, -INF), INF), ("pow", (INF, -1.0), 0.0), ("pow", (-INF, 3.0), -INF),
    ("pow", (-INF, 2.0), INF), ("pow", (-INF, -3.0), -0.0), ("pow", (-0.0, 3.0), -0.0), ("pow", (-0.0, -3.0), -INF), ("pow", (-0.0, 0.5), 0.0),
    ("pow", (-2.0, 0.5), NAN), ("copysign", (1.0, -0.0), -1.0), ("copysign", (-INF, 1.0), INF), ("nextafter", (0.0, 1.0), 5e-324),
    ("nextafter", (1.0, NAN), NAN), ("hypot", (INF, NAN), INF), ("hypot", (-0.0, -3.0), 3.0), ("logaddexp", (NAN, 1.0), NAN),
    ("logaddexp", (INF, 1.0), INF), ("maximum", (NAN, 1.0), NAN), ("minimum", (1.0, NAN), NAN), ("equal", (NAN, NAN), False),
    ("not_equal", (NAN, NAN), True), ("equal", (0.0, -0.0), True), ("less", (NAN, 1.0), False), ("logical_and", (NAN, 1.0), True),
]  # fmt: skip
# The same for functions of one complex number.
SPECIAL_COMPLEX = [
    ("sqrt", complex(0, 0), 0j), ("sqrt", complex(1, INF), complex(INF, INF)), ("sqrt", complex(-INF, 1), complex(0, INF)),
    ("exp", complex(0, 0), 1 + 0j), ("exp", complex(INF, 0), complex(INF, 0)), ("exp", complex(1, INF), complex(NAN, NAN)),
    ("exp", complex(-INF, 1), 0j), ("log", complex(-0.0, 0), complex(-INF, np.pi)), ("log", complex(0, 0), complex(-INF, 0)),
    ("log", complex(1, INF), complex(INF, np.pi / 2)), ("log", complex(-INF, INF), complex(INF, 3 * np.pi / 4)),
    ("tanh", complex(INF, 1), 1 + 0j), ("tanh", complex(INF, INF), 1 + 0j), ("tanh", complex(0, 0), 0j),
    ("sinh", complex(0, 0), 0j), ("sinh", complex(INF, 0), complex(INF, 0)), ("cosh", complex(0, 0), 1 + 0j), ("cosh", complex(INF, 0), complex(INF, 0)),
    ("acos", complex(0, 0), complex(np.pi / 2, -0.0)), ("acosh", complex(0, 0), complex(0, np.pi / 2)), ("asinh", complex(0, 0), 0j),
    ("atanh", complex(0, 0), 0j), ("atanh", complex(1, 0), complex(INF, 0)), ("asinh", complex(INF, 1), complex(INF, 0)),
    ("abs", complex(INF, NAN), INF), ("abs", complex(NAN, -INF), INF), ("abs", complex(-0.0, -0.0), 0.0),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_cases_of_the_standard(dtype):
    wrong = []
    for name, given, expected in SPECIAL:
        arguments = [np.array([v], dtype) for v in given]
        if name == "nextafter" and expected == 5e-324:
            expected = np.finfo(dtype).smallest_subnormal
        got = getattr(inp, name)(*arguments)
        bound = np.finfo(dtype).eps if isinstance(expected, float) and np.isfinite(expected) and expected % 1 else 0.0
        if problem := difference(got, np.array([expected]).astype(got.dtype), bound):
            wrong.append(f"{name}{given}: {problem}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_special_cases_of_complex_numbers(dtype):
    wrong = []
    for name, given, expected in SPECIAL_COMPLEX:
        got = getattr(inp, name)(np.array([given], dtype))
        for part, wanted in (("real", np.real(expected)), ("imag", np.imag(expected))):
            if problem := difference(getattr(got, part), np.array([wanted]).astype(got.real.dtype), np.finfo(dtype).eps):
                wrong.append(f"{name}({given}).{part}: {problem}")
    assert not wrong, "\n".join(wrong)


def test_special_cases_of_reductions():
    none = np.empty(0)
    for name, expected in (("sum", 0.0), ("prod", 1.0), ("mean", NAN), ("std", NAN), ("var", NAN)):
        assert difference(getattr(inp, name)(none), np.float64(expected)) is None, name
    assert inp.all(none) and not inp.any(none)
    assert difference(inp.max(np.array([1.0, NAN])), np.float64(NAN)) is None
    with pytest.raises(ValueError, match="zero-size array"):
        inp.max(none)
    assert importlib.import_module("ingot.numpy") is inp


def test_names_that_another_version_of_numpy_has(monkeypatch):
    names = importlib.import_module("ingot.numpy._namespace")
    monkeypatch.setattr(names, "INDEX", (*names.INDEX, ("numpy", "of_another_version", "joining")))
    assert names.registered.__wrapped__() == names.registered()


def test_parameters_are_numpys():
    """Before NumPy 2.4 ufuncs and some others do not state them."""
    signature_of = importlib.import_module("ingot.numpy._namespace").signature_of
    ufuncs = [f for f in vars(np).values() if isinstance(f, np.ufunc)]
    assert len(ufuncs) > 100
    for function in (*ufuncs, np.arange, np.dot, np.empty, np.empty_like, np.zeros):
        assert signature_of(function) == inspect.signature(function)


def test_numpy_without_row_stack():
    """NumPy 2.5 has none."""
    code = "import numpy as np; del np.row_stack; import ingot.numpy as inp; print(inp.vstack((np.ones(2), np.ones(2))).shape, hasattr(inp, 'row_stack'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "(2, 2) False\n", done.stderr
