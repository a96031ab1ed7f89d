"""Devices that take OpenCL C, on PoCL: what runs there has the host's bits, and what cannot run is refused."""

import copy
import math
import os
import subprocess
import sys
import threading

import ingot
import numpy as np
import pytest
from ingot import cuda

DEVICE = ingot.device("opencl")
rng = np.random.default_rng(11)


def put(x):
    return ingot.device_put(x, DEVICE)


def home(value):
    """A result with NumPy arrays instead of the device's."""
    if isinstance(value, ingot.Array):
        return value.to_host()
    return type(value)(home(v) for v in value) if type(value) in (tuple, list) else value


def same(a, b):
    """Whether two results are of the same types and bits."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes(), (a, b)
    elif type(a) in (tuple, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


def as_on_the_host(function, *arguments):
    """Calls a function with arrays on the host and on the device: results, and arguments afterwards, are one."""
    compiled = ingot.jit(function)
    mine = copy.deepcopy(arguments)
    moved = tuple(put(x) if isinstance(x, np.ndarray) else x for x in mine)
    expected = compiled(*mine)
    got = compiled(*moved)
    same(home(got), expected)
    same(home(moved), mine)


def test_the_device():
    assert DEVICE.kind == DEVICE.code == "opencl" and DEVICE.capability == 0
    assert ingot.devices("opencl")[0] is DEVICE
    assert repr(put(np.array([1.5, 2]))) == "Array([1.5, 2. ], device=opencl:0)"
    assert DEVICE.memory > 1 << 20 and DEVICE.processors >= 1 and DEVICE.block_threads <= 1024


def test_arrays_go_there_and_back():
    x = rng.standard_normal((6, 7, 3))
    a = put(x)
    same((a[1:4, ::-2].to_host(), a.T.to_host(), a[2, 3, 1]), (x[1:4, ::-2], x.T, x[2, 3, 1]))
    a[::2, 1] = 5
    x[::2, 1] = 5
    same(a.to_host(), x)
    before = ingot.memory("opencl")["in_use"]
    more = put(np.zeros(1 << 20))
    assert ingot.memory("opencl")["in_use"] == before + (8 << 20)
    del more
    assert ingot.memory("opencl")["in_use"] == before


@pytest.mark.rotated(3)
def test_arrays_and_loops():
    def f(a, b, n):
        c = a * 2 + b
        for _ in range(n):
            for i in range(1, b.shape[0] - 1):
                b[i] = (b[i - 1] + b[i] + b[i + 1]) / 3
        for i in ingot.prange(c.shape[0]):
            c[i] = c[i] * i
        return c, a.sum(axis=0), a.mean(), b[n:].max(), np.sort(a[0])

    as_on_the_host(f, *rng.standard_normal((2, 9, 7)), 2)


DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.rotated(3)
def test_dtypes():
    def f(b1, i1, u1, i2, u2, i4, u4, i8, u8, f2, f4, f8, c8, c16):
        integers = (i1 * i1 + u1, i2 // 7, u2 % 5, i4 >> 3, u4 * u4, i8 * i8, u8 // 3, -i8, i1 < u8, np.gcd(i4, i8))
        floats = (f2 + f2, f2 * i1, f4 / f2, f8.astype("f2"), f4.astype("f2"), i8.astype("f4"), u8.astype("f8"))
        more = (c8 * c8, c16 / c8, abs(c16), b1 & (i4 > 0), f8.astype("i4"), f4.astype("i8"), f8 % 3, f4 // f2, f8**i1)
        return integers + floats + more

    x = rng.standard_normal(40) * 20
    x[:4] = 1, 2, 100, 0.5
    as_on_the_host(f, *(np.abs(x).astype(d) if d[0] == "u" else (x + 1j * x[::-1]).astype(d) if d[0] == "c" else x.astype(d) for d in DTYPES))


NAMES = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p cbrt sqrt floor ceil trunc rint"
).split()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_mathematics_has_the_hosts_bits(dtype):
    source = f"def f(x, y):\n    return ({', '.join(f'np.{n}(x)' for n in NAMES)}, np.arctan2(x, y), x**y, np.hypot(x, y), x / y, np.fmod(x, y))\n"
    names = {"np": np}
    exec(source, names)
    info = np.finfo(dtype)
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, math.inf, -math.inf, math.nan, info.tiny, -info.tiny, info.smallest_subnormal, info.max, -info.max]
    special += [math.pi, math.pi / 2, 1e5, 1e10, 1e22, 3e38, 710, -745, 88.7, -103, 1e-8, info.eps]
    spread = rng.standard_normal(200) * 10.0 ** rng.integers(-30, 30, 200)
    with np.errstate(all="ignore"):
        x = np.concatenate([special, spread, rng.standard_normal(200) * 3]).astype(dtype)
    with np.errstate(all="ignore"):
        compiled = ingot.jit(names["f"])
        expected = compiled(x, x[::-1].copy())
        got = compiled(put(x), put(x[::-1].copy()))
    for name, mine, theirs in zip([*NAMES, "arctan2", "power", "hypot", "divide", "fmod"], expected, home(got), strict=True):
        is_nan = np.isnan(mine)
        assert (is_nan == np.isnan(theirs)).all(), name
        assert mine[~is_nan].tobytes() == theirs[~is_nan].tobytes(), name


def test_exceptions_are_the_hosts():
    @ingot.jit
    def f(a, i):
        a[0] = 1
        return a[i] + 1

    a, x = put(np.zeros(3)), np.zeros(3)
    with pytest.raises(IndexError) as expected:
        f(x, 5)
    with pytest.raises(IndexError) as got:
        f(a, 5)
    assert str(got.value) == str(expected.value) and a.tolist() == [1, 0, 0]

    @ingot.jit
    def raises(a):
        for i in ingot.prange(a.shape[0]):
            if a[i] == 0:
                raise ValueError("nothing", i)
        return a

    with pytest.raises(ValueError, match="nothing") as error:
        raises(a)
    assert error.value.args == ("nothing", 1)


def test_kernels_with_memory_of_blocks_and_threads():
    @cuda.jit
    def turned(x, out):
        held = cuda.shared.array(64, np.float64)
        own = cuda.local.array(4, np.int64)
        i = cuda.threadIdx.x
        held[i] = x[cuda.grid(1)]
        for k in range(4):
            own[k] = i * k
        cuda.syncthreads()
        out[cuda.grid(1)] = held[63 - i] + own[i % 4]

    @cuda.jit
    def summed(x, out):
        held = cuda.shared.array(0, np.float32)
        i = cuda.threadIdx.x
        held[i] = x[cuda.grid(1)]
        cuda.syncthreads()
        step = cuda.blockDim.x // 2
        while step > 0:
            if i < step:
                held[i] += held[i + step]
            cuda.syncthreads()
            step //= 2
        if i == 0:
            cuda.atomic.add(out, 0, held[0])

    x, out = rng.standard_normal(256), put(np.zeros(256))
    turned[4, 64](put(x), out)
    i = np.arange(256) % 64
    same(out.to_host(), x.reshape(4, 64)[:, ::-1].ravel() + (i * (i % 4)))
    total = put(np.zeros(1, "f4"))
    summed[2, 128, 0, 512](put(np.arange(256, dtype="f4")), total)
    assert total.tolist() == [255 * 128]


def test_kernels_with_atomics():
    @cuda.jit
    def count(i4, u4, i8, f4, f8, most, last):
        i = cuda.grid(1)
        cuda.atomic.add(i4, i % 3, 1)
        cuda.atomic.sub(u4, 0, 1)
        cuda.atomic.add(i8, 0, i)
        cuda.atomic.add(f4, 0, 0.5)
        cuda.atomic.add(f8, 0, 0.25)
        cuda.atomic.max(most, 0, i * 7 % 97)
        cuda.atomic.min(most, 1, -(i * 7 % 97))
        cuda.atomic.cas(last, 0, 5, i)

    shapes = {"i4": 3, "u4": 1, "i8": 1, "f4": 1, "f8": 1}
    given = [put(np.zeros(n, d)) for d, n in shapes.items()] + [put(np.zeros(2)), put(np.array([5]))]
    count[4, 64](*given)
    got = [a.tolist() for a in given]
    assert got[:5] == [[86, 85, 85], [2**32 - 256], [255 * 128], [128], [64]]
    assert got[5] == [96, -96] and 0 <= got[6][0] < 256


def test_what_opencl_cannot_do_is_refused():
    @cuda.jit
    def shuffled(x):
        x[cuda.threadIdx.x] = cuda.shfl_sync(0xFFFFFFFF, x[cuda.threadIdx.x], 0)

    @cuda.jit
    def met(x):
        cuda.cg.this_grid().sync()
        x[0] = 1

    @cuda.jit
    def counted(x):
        x[0] = cuda.syncthreads_count(x[1])

    for kernel, words in ((shuffled, "operation of a warp"), (met, "barrier of the grid"), (counted, "barrier that counts")):
        with pytest.raises(ingot.UnsupportedError, match=f"{words}.* in a kernel for an OpenCL device"):
            kernel[1, 32](put(np.zeros(32, "i4")))


def test_memory_that_has_run_out():
    held = put(np.zeros(10))
    try:
        ingot.set_memory_limit("opencl", 1 << 20)
        with pytest.raises(MemoryError, match=r"shape \(1024, 2048\) and data type float64 on opencl:0"):
            put(np.zeros((1024, 2048)))
    finally:
        ingot.set_memory_limit("opencl", 0)
    assert held.tolist() == [0] * 10 and put(np.zeros((1024, 2048))).nbytes == 16 << 20


def run(code, **environment):
    """What a program prints."""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_where_there_is_no_driver():
    code = """
import ingot
assert ingot.devices("opencl") == []
try:
    ingot.device("opencl")
except RuntimeError as error:
    print(error)
"""
    assert "there is no device opencl:0: no driver of OpenCL's has a device" in run(code, OCL_ICD_VENDORS="/nowhere")


def test_a_forked_child_is_refused():
    code = """
import os, ingot, numpy as np
a = ingot.device_put(np.arange(3.0), "opencl") + 1
print(a.tolist(), flush=True)
child = os.fork()
if child == 0:
    try:
        a.to_host()
    except ingot.DeviceError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), a.tolist())
"""
    assert run(code).split("\n") == ["[1.0, 2.0, 3.0]", "7 [1.0, 2.0, 3.0]", ""]


def test_threads():
    add = ingot.jit(lambda a, b: (a + b * 2, a.sum()))
    wrong = []

    def work(k):
        x = np.arange(1000.0) + k
        a = put(x)
        for _ in range(20):
            total, one = add(a, a)
            if total.to_host().tobytes() != (x * 3).tobytes() or one != x.sum():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
