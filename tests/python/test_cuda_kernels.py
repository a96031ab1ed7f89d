"""Kernels: what they know of themselves, what they are given, and how they are launched."""

import dataclasses
import math
import re
from pathlib import Path
from typing import NamedTuple

import ingot
import numpy as np
import pytest
from ingot import cuda, float32, float64, int32, void


@pytest.fixture(params=["interpreted", "emulated"], autouse=True)
def machine(request, monkeypatch):
    """The interpreter, and the software device."""
    if request.param == "interpreted":
        monkeypatch.setenv("INGOT_KERNELS", "interpreted")
        yield
    else:
        with ingot.device("emulated"):
            yield


@pytest.mark.parametrize("blocks, threads, n", [(1, 1, 1), (1, 32, 20), (3, 7, 21), (2, 16, 40), (4, 8, 0)])
def test_grid_of_one_axis(blocks, threads, n):
    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    x, y, out = np.arange(n) * 1.5, np.arange(n, 2 * n) * 1.0, np.zeros(n)
    add[blocks, threads](x, y, out)
    ran = min(n, blocks * threads)
    np.testing.assert_array_equal(out[:ran], (x + y)[:ran])
    assert not out[ran:].any()


@pytest.mark.parametrize("blocks, threads", [((2, 3), (4, 2)), ((1, 1), (3, 5)), ((3,), (2, 2)), (2, (1, 6))])
def test_grid_of_two_axes(blocks, threads):
    @cuda.jit
    def places(out):
        x, y = cuda.grid(2)
        out[x, y] = 1000 * x + y + 1

    blocks_, threads_ = [(*np.atleast_1d(e), 1)[:2] for e in (blocks, threads)]
    shape = blocks_[0] * threads_[0], blocks_[1] * threads_[1]
    out = np.zeros(shape, np.int64)
    places[blocks, threads](out)
    np.testing.assert_array_equal(out, 1000 * np.arange(shape[0])[:, None] + np.arange(shape[1]) + 1)


def test_grid_of_three_axes():
    @cuda.jit
    def places(out):
        x, y, z = cuda.grid(3)
        out[x, y, z] = cuda.gridsize(3)[0] * 100 + cuda.gridsize(3)[1] * 10 + cuda.gridsize(3)[2]

    out = np.zeros((4, 3, 2), np.int64)
    places[(2, 1, 1), (2, 3, 2)](out)
    assert (out == 432).all()


def test_names_of_places():
    @cuda.jit
    def places(out):
        t, b = cuda.threadIdx, cuda.blockIdx
        thread = t.x + cuda.blockDim.x * (t.y + cuda.blockDim.y * t.z)
        block = b.x + cuda.gridDim.x * (b.y + cuda.gridDim.y * b.z)
        size = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
        out[block * size + thread] = (b.x, b.y, b.z, t.x, t.y, t.z, cuda.laneid, cuda.warpsize)

    out = np.zeros((2 * 2 * 36, 8), np.int64)
    places[(2, 1, 2), (4, 3, 3)](out)
    expected = [
        (bx, by, bz, tx, ty, tz, (tx + 4 * (ty + 3 * tz)) % 32, 32)
        for bz in range(2)
        for by in range(1)
        for bx in range(2)
        for tz in range(3)
        for ty in range(3)
        for tx in range(4)
    ]
    np.testing.assert_array_equal(out, expected)


def test_names_that_are_imported():
    from ingot.cuda import blockDim, blockIdx, grid, gridsize, threadIdx

    @cuda.jit
    def places(out):
        i = grid(1)
        out[i] = threadIdx.x + blockIdx.x * blockDim.x == i and gridsize(1) == 6

    out = np.zeros(6, bool)
    places[2, 3](out)
    assert out.all()


@pytest.mark.parametrize("n", [0, 1, 100])
def test_strides_of_the_grid(n):
    @cuda.jit
    def double(x):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            x[i] *= 2

    x = np.arange(n)
    double[2, 8](x)
    np.testing.assert_array_equal(x, 2 * np.arange(n))


@pytest.mark.parametrize("n", [0, 1, 7, 130])
def test_forall(n):
    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i

    out = np.full(n, -1)
    fill.forall(n)(out)
    np.testing.assert_array_equal(out, np.arange(n))
    fill.forall(n, tpb=4)(out)


DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_arrays(dtype):
    @cuda.jit
    def copy(x, out):
        i = cuda.grid(1)
        out[i] = x[i]

    x = np.arange(8).astype(dtype)
    out = np.zeros_like(x)
    copy[1, 8](x, out)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("value", [3, 2.5, True, 1j, np.float32(1.5), np.int16(7), np.uint64(9)])
def test_numbers_as_arguments(value):
    @cuda.jit
    def scale(x, value, out):
        i = cuda.grid(1)
        out[i] = x[i] * value

    x = np.arange(4, dtype=np.float32)
    out = np.zeros(4, np.result_type(x.dtype, value))
    scale[1, 4](x, value, out)
    np.testing.assert_array_equal(out, x * value)


class Pair(NamedTuple):
    first: np.ndarray
    factor: float


@dataclasses.dataclass
class Parameters:
    factor: float
    shift: int


def test_structures_as_arguments():
    @cuda.jit
    def of_tuple(both, out):
        i = cuda.grid(1)
        out[i] = both[0][i] * both[1]

    @cuda.jit
    def of_named(pair, out):
        i = cuda.grid(1)
        out[i] = pair.first[i] * pair.factor

    @cuda.jit
    def of_instance(x, p, out):
        i = cuda.grid(1)
        out[i] = x[i] * p.factor + p.shift

    x, out = np.arange(5.0), np.zeros(5)
    of_tuple[1, 5]((x, 2.0), out)
    np.testing.assert_array_equal(out, x * 2)
    of_named[1, 5](Pair(x, 3.0), out)
    np.testing.assert_array_equal(out, x * 3)
    of_instance[1, 5](x, Parameters(4.0, 1), out)
    np.testing.assert_array_equal(out, x * 4 + 1)


def test_views_and_slices_as_arguments():
    @cuda.jit
    def negate(x):
        i, j = cuda.grid(2)
        x[i, j] = -x[i, j]

    x = np.arange(24.0).reshape(4, 6)
    expected = x.copy()
    expected[::2, 1::2] *= -1
    negate[1, (2, 3)](x[::2, 1::2])
    np.testing.assert_array_equal(x, expected)


def test_names_and_defaults_of_arguments():
    @cuda.jit
    def fill(out, value=2.0, shift=1.0):
        out[cuda.grid(1)] = value + shift

    out = np.zeros(2)
    fill[1, 2](out)
    assert (out == 3).all()
    fill[1, 2](out=out, value=5.0)
    assert (out == 6).all()
    fill[1, 2](out, 1.0, shift=0.5)
    assert (out == 1.5).all()
    with pytest.raises(TypeError, match="given by name alone"):
        cuda.jit(lambda out, *, shift: None)


TABLE = np.arange(10.0) ** 2
FACTOR = 3


def test_globals_are_those_of_the_launch():
    global FACTOR

    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        out[i] = TABLE[i] * FACTOR

    out = np.zeros(10)
    fill[1, 10](out)
    np.testing.assert_array_equal(out, TABLE * 3)
    FACTOR = 5
    fill[1, 10](out)
    np.testing.assert_array_equal(out, TABLE * 5)
    FACTOR = 3


def test_constant_arrays_are_read_only():
    @cuda.jit
    def fill(out):
        table = cuda.const.array_like(TABLE)
        i = cuda.grid(1)
        out[i] = table[i] + table.size

    @cuda.jit
    def write():
        table = cuda.const.array_like(TABLE)
        table[0] = 1

    out = np.zeros(10)
    fill[1, 10](out)
    np.testing.assert_array_equal(out, TABLE + 10)
    with pytest.raises(ValueError, match="read-only"):
        write[1, 1]()


@cuda.jit(device=True)
def wave(x, k):
    if k == 0:
        return 1.0
    return math.sin(k * x)


@cuda.jit("float64(float64, float64)", device=True)
def root_of_sum(x, y):
    return math.sqrt(x * x + y * y)


@ingot.jit
def shared_by_host(x):
    return x + 1


def test_device_functions():
    def plain(x):
        return 2 * x

    @cuda.jit
    def apply(x, out):
        i = cuda.grid(1)
        out[i] = root_of_sum(wave(x[i], i), plain(shared_by_host(x[i])))

    x, out = np.linspace(0, 1, 6), np.zeros(6)
    apply[2, 3](x, out)
    waves = np.where(np.arange(6) == 0, 1.0, np.sin(np.arange(6) * x))
    np.testing.assert_allclose(out, np.sqrt(waves**2 + (2 * (x + 1)) ** 2), rtol=1e-15)
    assert shared_by_host(1) == 2
    with pytest.raises(ingot.UnsupportedError, match="device function, outside of a kernel"):
        wave(1.0, 1)


def test_device_functions_know_the_thread():
    @cuda.jit(device=True)
    def own():
        return cuda.grid(1)

    @cuda.jit
    def fill(out):
        out[own()] = own() + cuda.threadIdx.x

    out = np.zeros(6, np.int64)
    fill[2, 3](out)
    np.testing.assert_array_equal(out, np.arange(6) + np.arange(6) % 3)


def test_inner_functions_and_containers_of_the_thread():
    @cuda.jit
    def fill(out):
        i = cuda.grid(1)

        def squared(x):
            return x * x

        values = [squared(i + k) for k in range(3)]
        total = {"sum": 0}
        for v in values:
            total["sum"] += v
        out[i] = total["sum"]

    out = np.zeros(4, np.int64)
    fill[1, 4](out)
    np.testing.assert_array_equal(out, [sum((i + k) ** 2 for k in range(3)) for i in range(4)])


def test_whole_arrays_in_each_thread():
    @cuda.jit
    def rows(x, y, out):
        i = cuda.grid(1)
        out[i] = x[i] * 2 + y
        out[i, 0] = np.sum(x[i]) + np.max(y)

    x, y, out = np.arange(12.0).reshape(3, 4), np.arange(4.0), np.zeros((3, 4))
    rows[1, 3](x, y, out)
    expected = x * 2 + y
    expected[:, 0] = x.sum(1) + y.max()
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    "signature",
    [
        "void(float64[:], float64[:])",
        "void(float64[:,], float64[:,])",
        "(float64[:], float64[:])",
        void(float64[:], float64[::1]),
        ["void(float32[:], float32[:])", "void(float64[:], float64[:])"],
        (float64[:], float64[:]),
    ],
    ids=str,
)
def test_signatures(signature):
    @cuda.jit(signature)
    def copy(lhs, rhs):
        i = cuda.grid(1)
        if i < lhs.shape[0]:
            lhs[i] = rhs[i]

    rhs, lhs = np.arange(5.0), np.zeros(5)
    copy[1, 8](lhs, rhs)
    np.testing.assert_array_equal(lhs, rhs)
    with pytest.raises(TypeError, match="no signature of `copy` takes"):
        copy[1, 8](lhs.astype(np.int8), rhs)


def test_signatures_convert_numbers():
    @cuda.jit(void(float32[:], float32, int32))
    def fill(out, value, n):
        i = cuda.grid(1)
        out[i] = value / n

    out = np.zeros(2, np.float32)
    fill[1, 2](out, 1, 3)
    assert (out == np.float32(1) / np.float32(3)).all()


def test_a_signature_with_a_result_is_no_kernels():
    with pytest.raises(TypeError, match="a kernel gives nothing"):
        cuda.jit("float64(float64[:])")(lambda x: None)


def test_options_are_kept():
    @cuda.jit(max_registers=32, launch_bounds=(128, 2), debug=True, opt=False, fastmath=True, cache=True)
    def nothing(x):
        pass

    nothing[1, 1](np.zeros(1))
    assert nothing.max_registers == 32 and nothing.launch_bounds == (128, 2)
    assert nothing.debug and not nothing.opt and nothing.py_func.__name__ == "nothing"
    assert repr(nothing).endswith("nothing>") and len(nothing.specialisations) == 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'registers'"):
        cuda.jit(registers=1)


def test_launches_of_one_kernel_share_its_code():
    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i

    out = np.zeros(12)
    for blocks, threads in [(1, 12), (2, 6), (3, 4), ((3, 1), (4, 1, 1))]:
        fill[blocks, threads](out)
    fill.configure(4, 4)(out)
    assert len(fill.specialisations) == 1
    fill[1, 1](np.zeros(3, np.int8))
    assert len(fill.specialisations) == 2


@pytest.mark.parametrize(
    "configuration, error, message",
    [
        ((0, 1), ValueError, "the grid has at least 1"),
        ((1, 0), ValueError, "a block has at least 1"),
        ((-1, 1), ValueError, "at least 1"),
        ((1, 1025), ValueError, "a block has at most 1024 along x"),
        ((1, (32, 33)), ValueError, "a block has at most 1024 threads, not 1056"),
        ((1, (1, 1, 65)), ValueError, "a block has at most 64 along z"),
        (((1, 65536), 1), ValueError, "the grid has at most 65535 along y"),
        ((2**31, 1), ValueError, "the grid has at most 2147483647 along x"),
        (((1, 1, 1, 1), 1), ValueError, "1 to 3 extents, not 4"),
        (((), 1), ValueError, "1 to 3 extents, not 0"),
        ((1.5, 1), TypeError, "the grid is an int or a tuple of ints"),
        ((1, (2, "x")), TypeError, "a block is an int or a tuple of ints"),
        ((1, 1, 0, -8), ValueError, "not negative"),
        ((1, 1, 0, 1.5), TypeError, "integer"),
        ((1,), ValueError, "a launch is written"),
        ((1, 1, 0, 0, 0), ValueError, "a launch is written"),
    ],
)
def test_bad_configurations(configuration, error, message):
    @cuda.jit
    def nothing():
        pass

    with pytest.raises(error, match=message):
        nothing[configuration]()


def test_launches_without_a_grid():
    @cuda.jit
    def nothing():
        pass

    with pytest.raises(ValueError, match=r"nothing\[griddim, blockdim\]"):
        nothing()
    with pytest.raises(ValueError, match="a launch is written"):
        nothing[4]()
    with pytest.raises(TypeError, match="a stream is what"):
        nothing[1, 1, object()]()
    with pytest.raises(ValueError, match="-1 tasks"):
        nothing.forall(-1)


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3)])
def test_wrong_numbers_of_arguments(arguments):
    @cuda.jit
    def two(x, y):
        pass

    with pytest.raises(TypeError, match=r"two\(\) (missing|takes)"):
        two[1, 1](*arguments)


@pytest.mark.parametrize("size", [8, np.int32(8)], ids=str)
def test_extents_are_any_integers(size):
    @cuda.jit
    def fill(out):
        out[cuda.grid(1)] = 1

    out = np.zeros(8)
    fill[[1, 1], size](out)
    assert out.all()


def test_in_the_middle_of_a_program():
    """A kernel next to compiled functions, which call each other's helpers."""

    @ingot.jit
    def total(x):
        return x.sum()

    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        out[i] = shared_by_host(i)

    out = np.zeros(4)
    fill[1, 4](out)
    assert total(out) == 10


def test_the_rules_have_their_tests():
    here = Path(__file__).parent
    tests = "".join(file.read_text() for file in here.glob("test_cuda_*.py"))
    named = re.findall(r"`(test_\w+)`", (here.parent.parent / "docs" / "cuda.md").read_text())
    assert len(named) > 80 and [name for name in named if f"def {name}(" not in tests] == []


def test_kernels_take_records_of_the_host():
    @cuda.jit
    def kernel(records, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = records[i]["x"] + records["n"][i]
            records[i]["x"] = 9.0

    for holder in (np.ndarray, np.recarray):
        records, out = np.zeros(5, [("x", "f8"), ("n", "i8")]).view(holder), np.zeros(5)
        records["x"], records["n"] = np.arange(5), np.arange(5) * 10
        kernel[1, 8](records, out)
        assert np.array_equal(out, np.arange(5) * 11) and (records["x"] == 9).all() and np.array_equal(records["n"], np.arange(5) * 10)


def test_arguments_that_are_refused_are_shown_at_the_kernels_parameters():
    """Records with objects in them among them."""

    @cuda.jit
    def kernel(x, records, *rest):
        x[0] = 1

    records = np.zeros(3, [("x", "f4"), ("y", "O")])
    with pytest.raises(ingot.UnsupportedError, match=r"`records`, an array of dtype \[\('x', '<f4'\), .*is not supported\n.*test_cuda_kernels.py") as caught:
        kernel[1, 1](np.zeros(3), records)
    assert "def kernel(x, records, *rest):" in str(caught.value)
    with pytest.raises(ingot.UnsupportedError, match="`records`, a scalar of dtype"):
        kernel[1, 1](np.zeros(3), records[0])
    with pytest.raises(ingot.UnsupportedError, match="`rest`, an array of dtype"):
        kernel[1, 1](np.zeros(3), 1, 2, records)


def test_grids_that_are_kept_are_those_of_exact_ints():
    @cuda.jit
    def add(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] += x[i]

    x, out = np.arange(4.0), np.zeros(4)
    for grid, block in [(2, 2), ((2,), (2, 1)), (np.int64(2), 2), (True, 4)] * 2:
        add[grid, block](x, out)
    np.testing.assert_array_equal(out, 8 * x)
    for wrong in [(2.0, 2), (2, 2.0), ((2.0,), 2), ((2,), (2.0, 1))]:
        with pytest.raises(TypeError, match="is an int or a tuple of ints"):
            add[wrong]
    changed = add[2, 2]
    changed.blockdim = (4, 1, 1)
    assert add[2, 2].blockdim == (2, 1, 1) and len(add._configured) == 2
    for count in range(1, 200):  # more than are kept
        add[count, 4](x, out)
    np.testing.assert_array_equal(out, (8 + 199) * x)
