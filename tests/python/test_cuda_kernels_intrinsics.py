"""What threads of a kernel ask of each other and of their memory."""

import math
from fractions import Fraction

import ingot
import numpy as np
import pytest
from ingot import cuda, float32, int64


@pytest.fixture(params=["interpreted", "emulated"], autouse=True)
def machine(request, monkeypatch):
    """The interpreter, and the software device."""
    if request.param == "interpreted":
        monkeypatch.setenv("INGOT_KERNELS", "interpreted")
        yield
    else:
        with ingot.device("emulated"):
            yield


ATOMIC = [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]
INTEGERS = ATOMIC[:4]
FOLDS = {
    "add": (cuda.atomic.add, lambda old, x: old + x),
    "sub": (cuda.atomic.sub, lambda old, x: old - x),
    "max": (cuda.atomic.max, np.maximum),
    "min": (cuda.atomic.min, np.minimum),
    "nanmax": (cuda.atomic.nanmax, np.fmax),
    "nanmin": (cuda.atomic.nanmin, np.fmin),
    "exch": (cuda.atomic.exch, lambda old, x: x),
    "and_": (cuda.atomic.and_, lambda old, x: old & x),
    "or_": (cuda.atomic.or_, lambda old, x: old | x),
    "xor": (cuda.atomic.xor, lambda old, x: old ^ x),
    "inc": (cuda.atomic.inc, lambda old, x: old * 0 if old >= x else old + old.dtype.type(1)),
    "dec": (cuda.atomic.dec, lambda old, x: x if old == 0 or old > x else old - old.dtype.type(1)),
}


OF_INTEGERS = ("and_", "or_", "xor", "inc", "dec")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name, dtype", [(n, t) for n in FOLDS for t in (INTEGERS if n in OF_INTEGERS else ATOMIC)])
def test_atomics_of_one_thread(name, dtype):
    """Each gives what the element was; what it becomes is NumPy's."""
    atomic, fold = FOLDS[name]

    @cuda.jit
    def change(x, values, was):
        for k in range(values.size):
            was[k] = atomic(x, 0, values[k])

    values = np.array([5, 9, 0, 3, 3, 200], dtype)
    x, was = np.array([6], dtype), np.zeros(values.size, dtype)
    expected, before = dtype(6), []
    for value in values:
        before.append(expected)
        with np.errstate(over="ignore"):
            expected = dtype(fold(expected, value))
    change[1, 1](x, values, was)
    assert x[0] == expected
    np.testing.assert_array_equal(was, before)


@pytest.mark.parametrize("dtype", ATOMIC)
def test_atomics_of_many_threads(dtype):
    @cuda.jit
    def change(x):
        i = cuda.grid(1)
        cuda.atomic.add(x, 0, 1)
        cuda.atomic.max(x, 1, i)
        cuda.atomic.min(x, 2, i)
        cuda.atomic.sub(x, 3, 2)

    x = np.array([0, 3, 5, 100], dtype)
    change[2, 16](x)
    np.testing.assert_array_equal(x, [32, 31, 0, 36])


def test_atomics_and_nan():
    @cuda.jit
    def change(x, value):
        cuda.atomic.max(x, 0, value)
        cuda.atomic.min(x, 1, value)
        cuda.atomic.nanmax(x, 2, value)
        cuda.atomic.nanmin(x, 3, value)

    x = np.array([1.0, np.nan, 1.0, np.nan])
    change[1, 1](x, np.nan)
    np.testing.assert_array_equal(x, [np.nan, np.nan, 1, np.nan])
    change[1, 1](x, 3.0)
    np.testing.assert_array_equal(x, [np.nan, np.nan, 3, 3])


def test_atomics_of_several_axes_and_of_shared_memory():
    @cuda.jit
    def change(x):
        s = cuda.shared.array((2, 2), np.int64)
        t = cuda.threadIdx.x
        if t < 4:
            s[t // 2, t % 2] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, (t % 2, -1), t)
        cuda.syncthreads()
        if t < 4:
            cuda.atomic.add(x, (t // 2, t % 2), s[t // 2, t % 2])

    x = np.zeros((2, 2), np.int64)
    change[2, 8](x)
    np.testing.assert_array_equal(x, [[0, 24], [0, 32]])


@pytest.mark.parametrize("dtype", ATOMIC)
def test_compare_and_swap(dtype):
    @cuda.jit
    def swap(x, was):
        was[0] = cuda.atomic.cas(x, 1, 5, 7)
        was[1] = cuda.atomic.cas(x, 1, 5, 9)
        was[2] = cuda.atomic.compare_and_swap(x, 1, 2)
        was[3] = cuda.atomic.compare_and_swap(x[1:], 7, 8)

    x, was = np.array([1, 5], dtype), np.zeros(4, dtype)
    swap[1, 1](x, was)
    np.testing.assert_array_equal(x, [2, 8])
    np.testing.assert_array_equal(was, [5, 7, 1, 7])


def test_compare_and_swap_compares_bits():
    @cuda.jit
    def swap(x):
        cuda.atomic.cas(x, 0, 0.0, 1.0)
        cuda.atomic.cas(x, 1, 0.0, 1.0)

    x = np.array([-0.0, 0.0])
    swap[1, 1](x)
    np.testing.assert_array_equal(x, [0, 1])
    assert np.signbit(x[0])


def test_a_maximum_by_compare_and_swap():
    @cuda.jit(device=True)
    def largest(x, i, value):
        old = cuda.atomic.add(x, i, 0)
        while value > old:
            seen = cuda.atomic.cas(x, i, old, value)
            if seen == old:
                break
            old = seen

    @cuda.jit
    def extreme(values, x):
        largest(x, 0, values[cuda.grid(1)])

    values = np.random.default_rng(1).integers(-50, 50, 32)
    x = np.full(1, -1000)
    extreme[2, 16](values, x)
    assert x[0] == values.max()


FULL = 0xFFFFFFFF


def of_warp(kernel, threads=32, dtype=np.int64, *more):
    out = np.zeros(threads, dtype)
    kernel[1, threads](out, *more)
    return out


LANES = np.arange(32)


@pytest.mark.parametrize("mask", [FULL, -1, np.uint32(FULL), np.int64(FULL)], ids=["hex", "int", "uint32", "int64"])
def test_shuffles(mask):
    @cuda.jit
    def shuffle(out, mask):
        t = cuda.threadIdx.x
        out[t, 0] = cuda.shfl_sync(mask, t, 5)
        out[t, 1] = cuda.shfl_sync(mask, t, t + 1)
        out[t, 2] = cuda.shfl_up_sync(mask, t, 3)
        out[t, 3] = cuda.shfl_down_sync(mask, t, 3)
        out[t, 4] = cuda.shfl_xor_sync(mask, t, 9)
        out[t, 5] = cuda.shfl_xor_sync(mask, t, 3, width=8)
        out[t, 6] = cuda.shfl_down_sync(mask, t, 1, 4)

    out = np.zeros((32, 7), np.int64)
    shuffle[1, 32](out, mask)
    expected = [
        0 * LANES + 5,
        (LANES + 1) % 32,
        np.where(LANES < 3, LANES, LANES - 3),
        np.where(LANES > 28, LANES, LANES + 3),
        LANES ^ 9,
        LANES ^ 3,
        np.where(LANES % 4 == 3, LANES, LANES + 1),
    ]
    np.testing.assert_array_equal(out, np.stack(expected, 1))


SHUFFLED = "bool int8 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64".split()


@pytest.mark.parametrize("dtype", SHUFFLED)
def test_dtypes_of_shuffles(dtype):
    @cuda.jit
    def reverse(x, out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_xor_sync(FULL, x[t], 31)

    x = (np.arange(32) * 3).astype(dtype)
    out = np.zeros_like(x)
    reverse[1, 32](x, out)
    np.testing.assert_array_equal(out, x[::-1])


def test_numbers_of_python_keep_their_kind_in_shuffles():
    @cuda.jit
    def kinds(out):
        t = cuda.threadIdx.x
        whole = cuda.shfl_sync(FULL, t, 7)
        real = cuda.shfl_sync(FULL, t / 2, 7)
        out[t] = whole // 2 + real * 2

    np.testing.assert_array_equal(of_warp(kinds, 32, np.float64), [10.0] * 32)


def test_votes():
    @cuda.jit
    def vote(out):
        t = cuda.threadIdx.x
        out[t, 0] = cuda.all_sync(FULL, t < 40)
        out[t, 1] = cuda.all_sync(FULL, t != 40)
        out[t, 2] = cuda.any_sync(FULL, t == 40)
        out[t, 3] = cuda.eq_sync(FULL, t < 32)
        out[t, 4] = cuda.ballot_sync(FULL, t % 3 == 0)
        out[t, 5] = cuda.ballot_sync(FULL, 2)

    out = np.zeros((64, 6), np.int64)
    vote[1, 64](out)
    t = np.arange(64)
    ballots = [sum(1 << lane for lane in range(32) if (lane + 32 * w) % 3 == 0) for w in range(2)]
    expected = [t < 32, t < 32, t >= 32, t < 64, np.repeat(ballots, 32), 0 * t + FULL]
    np.testing.assert_array_equal(out, np.stack(expected, 1))


def test_votes_of_blocks():
    @cuda.jit
    def vote(out):
        i = cuda.grid(1)
        out[i, 0] = cuda.syncthreads_count(i % 3 == 0)
        out[i, 1] = cuda.syncthreads_and(i < 40)
        out[i, 2] = cuda.syncthreads_or(i == 45)

    out = np.zeros((80, 3), np.int64)
    vote[2, 40](out)
    i, first = np.arange(80), np.arange(80) < 40
    expected = [np.where(first, 14, 13), first, ~first]
    np.testing.assert_array_equal(out, np.stack(expected, 1))
    assert i.size == 80


def test_matches():
    @cuda.jit
    def match(x, out, all_out):
        t = cuda.threadIdx.x
        out[t] = cuda.match_any_sync(FULL, x[t])
        lanes, is_one = cuda.match_all_sync(FULL, x[t])
        all_out[t, 0], all_out[t, 1] = lanes, is_one

    x = np.arange(32) % 5
    out, all_out = np.zeros(32, np.uint32), np.zeros((32, 2), np.int64)
    match[1, 32](x, out, all_out)
    np.testing.assert_array_equal(out, [sum(1 << k for k in range(32) if x[k] == value) for value in x])
    assert not all_out.any()
    match[1, 32](np.full(32, 2.5), out, all_out)
    np.testing.assert_array_equal(all_out, [(FULL, 1)] * 32)


def test_groups_of_a_warp_that_part():
    """Each side of a branch exchanges among its own lanes."""

    @cuda.jit
    def part(out):
        t = cuda.threadIdx.x
        if t < 12:
            mask = 0xFFF
            value = cuda.shfl_sync(mask, t, 11)
            cuda.syncwarp(mask)
        else:
            mask = FULL ^ 0xFFF
            value = cuda.shfl_sync(mask, t, 12)
        out[t] = value + cuda.popc(cuda.activemask()) * 100

    np.testing.assert_array_equal(of_warp(part), np.where(LANES < 12, 11, 12) + 3200)


def test_active_lanes():
    @cuda.jit
    def active(out):
        t = cuda.threadIdx.x
        if t % 2:
            out[t] = cuda.activemask()
        else:
            out[t] = cuda.activemask() & cuda.lanemask_lt()

    even = np.array([0x55555555 & (1 << t) - 1 for t in range(32)])
    np.testing.assert_array_equal(of_warp(active), np.where(LANES % 2, 0xAAAAAAAA, even))


def test_one_addition_for_all_lanes():
    """Opportunistic aggregation: the lowest active lane adds for all."""

    @cuda.jit
    def take(x, counter, out):
        t = cuda.threadIdx.x
        if x[t] > 0:
            mask = cuda.activemask()
            leader = cuda.ffs(mask) - 1
            before = 0
            if cuda.laneid == leader:
                before = int(cuda.atomic.add(counter, 0, cuda.popc(mask)))
            before = cuda.shfl_sync(mask, before, leader)
            out[before + cuda.popc(mask & cuda.lanemask_lt())] = t

    x = np.random.default_rng(3).integers(-5, 5, 32)
    counter, out = np.zeros(1, np.int64), np.full(32, -1)
    take[1, 32](x, counter, out)
    kept = np.flatnonzero(x > 0)
    assert counter[0] == kept.size
    np.testing.assert_array_equal(out[: kept.size], kept)


def test_warp_barriers_order_a_warp():
    @cuda.jit
    def exchange(out):
        s = cuda.shared.array(32, np.int64)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.syncwarp()
        out[t] = s[t ^ 1]

    np.testing.assert_array_equal(of_warp(exchange), LANES ^ 1)


BITS = [np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("dtype", BITS)
def test_bits(dtype):
    @cuda.jit
    def bits(x, out):
        t = cuda.threadIdx.x
        out[t, 0] = cuda.popc(x[t])
        out[t, 1] = cuda.clz(x[t])
        out[t, 2] = cuda.ffs(x[t])
        out[t, 3] = cuda.brev(x[t])

    info = np.iinfo(dtype)
    x = np.array([0, 1, 2, 3, 40, 100, info.max, info.min, info.max - 5], dtype)
    out = np.zeros((x.size, 4), np.uint64)
    bits[1, x.size](x, out)
    width = info.bits
    for value, found in zip(x, out):
        text = format(int(value) % 2**width, f"0{width}b")
        expected = (
            text.count("1"),
            width - len(text.lstrip("0")),
            (text[::-1].find("1") + 1),
            int(text[::-1], 2),
        )
        assert tuple(int(f) for f in found) == expected


def test_bits_of_python_ints_are_64():
    @cuda.jit
    def bits(x, out):
        out[0] = cuda.popc(x)
        out[1] = cuda.clz(x)
        out[2] = cuda.ffs(x)

    out = np.zeros(3, np.int64)
    bits[1, 1](12, out)
    np.testing.assert_array_equal(out, [2, 60, 3])
    bits[1, 1](-1, out)
    np.testing.assert_array_equal(out, [64, 0, 1])


def test_mathematics():
    @cuda.jit
    def compute(x, out):
        t = cuda.threadIdx.x
        out[t, 0] = cuda.cbrt(x[t])
        out[t, 1] = cuda.selp(x[t] > 0, x[t], -1.0)
        out[t, 2] = math.exp(x[t]) + np.log1p(x[t] * x[t])

    x = np.linspace(-2, 2, 8)
    out = np.zeros((8, 3))
    compute[1, 8](x, out)
    expected = [np.cbrt(x), np.where(x > 0, x, -1), np.exp(x) + np.log1p(x * x)]
    np.testing.assert_allclose(out, np.stack(expected, 1), rtol=1e-15)


def exactly(a, b, c, dtype):
    """a * b + c, rounded once: Python's conversion of a fraction to float64 is right."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if dtype == np.float64:
        return float(exact)
    near = np.float32(float(exact))
    candidates = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    return min(candidates, key=lambda f: (abs(Fraction(float(f)) - exact), int(f.view(np.uint32)) & 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma(dtype):
    @cuda.jit
    def compute(a, b, c, out):
        t = cuda.grid(1)
        out[t] = cuda.fma(a[t], b[t], c[t])

    g = np.random.default_rng(11)
    n = 256
    a, b = (g.standard_normal(n) * 2.0 ** g.integers(-20, 20, n) for _ in range(2))
    a, b = a.astype(dtype), b.astype(dtype)
    c = (-(a * b) * (1 + g.integers(-2, 3, n) * np.finfo(dtype).eps)).astype(dtype)
    c[::3] = g.standard_normal(n)[::3] * 2.0 ** g.integers(-60, 60, n)[::3]
    out = np.zeros(n, dtype)
    compute[8, 32](a, b, c, out)
    np.testing.assert_array_equal(out, [exactly(*abc, dtype) for abc in zip(a, b, c)])


def test_fma_of_results_that_are_not_normal():
    @cuda.jit
    def compute(a, b, c, out):
        t = cuda.grid(1)
        out[t] = cuda.fma(a[t], b[t], c[t])

    g = np.random.default_rng(12)
    n = 256
    a = g.standard_normal(n) * 2.0 ** g.integers(-530, -500, n)
    b = g.standard_normal(n) * 2.0 ** g.integers(-560, -500, n)
    c = g.standard_normal(n) * 2.0 ** g.integers(-1074, -1015, n)
    out = np.zeros(n)
    compute[8, 32](a, b, c, out)
    np.testing.assert_array_equal(out, [exactly(*abc, np.float64) for abc in zip(a, b, c)])


def test_fma_of_what_is_not_finite():
    @cuda.jit
    def compute(a, b, c, out):
        t = cuda.grid(1)
        out[t] = cuda.fma(a[t], b[t], c[t])

    a = np.array([np.inf, np.inf, np.nan, 0.0, 1e308, -0.0, 2.0, 1e200])
    b = np.array([2.0, 0.0, 1.0, 5.0, 10.0, 1.0, 3.0, 1e200])
    c = np.array([-np.inf, 1.0, 1.0, -0.0, 0.0, -0.0, np.inf, -np.inf])
    out = np.zeros(a.size)
    compute[1, a.size](a, b, c, out)
    np.testing.assert_array_equal(out, [np.nan, np.nan, np.nan, 0.0, np.inf, -0.0, np.inf, -np.inf])
    assert not np.signbit(out[3]) and np.signbit(out[5])


@pytest.mark.parametrize("dtype", [float32, np.float32, "float32", int64, np.dtype("int16"), np.complex128], ids=str)
def test_dtypes_of_shared_and_local_memory(dtype):
    @cuda.jit
    def copy(out):
        s = cuda.shared.array((2, 4), dtype)
        own = cuda.local.array(3, dtype)
        t = cuda.threadIdx.x
        for k in range(3):
            own[k] = t * k
        s[t // 4, t % 4] = own[2] + own[1]
        cuda.syncthreads()
        out[t] = s[1 - t // 4, 3 - t % 4]
        out[t] += s.size + s.shape[0] + s.ndim + len(own)

    out = np.zeros(8, np.complex128)
    copy[1, 8](out)
    np.testing.assert_array_equal(out, 3 * np.arange(8)[::-1] + 8 + 2 + 2 + 3)


def test_shared_memory_is_one_for_each_place_that_asks_for_it():
    @cuda.jit(device=True)
    def turned(t, value, n):
        s = cuda.shared.array(8, np.int64)
        s[t] = value
        cuda.syncthreads()
        return s[(t + 1) % n]

    @cuda.jit
    def exchange(out):
        t = cuda.threadIdx.x
        if t >= 8:
            return
        out[t] = turned(t, turned(t, t, 8), 8)
        for k in range(2):
            out[t] += turned(t, k, 8)
            cuda.syncthreads()

    out = np.zeros(8, np.int64)
    exchange[1, 12](out)
    np.testing.assert_array_equal(out, (np.arange(8) + 2) % 8 + 1)


def test_local_memory_is_the_threads_own():
    @cuda.jit
    def polynomial(x, out):
        i = cuda.grid(1)
        powers = cuda.local.array(4, np.float64)
        powers[0] = 1.0
        for k in range(1, 4):
            powers[k] = powers[k - 1] * x[i]
        total = 0.0
        for k in range(4):
            total += k * powers[k]
        out[i] = total

    x, out = np.linspace(0, 1, 8), np.zeros(8)
    polynomial[2, 4](x, out)
    np.testing.assert_allclose(out, x + 2 * x**2 + 3 * x**3, rtol=1e-15)


def test_whole_shared_arrays():
    @cuda.jit
    def total(x, out):
        s = cuda.shared.array(8, np.float64)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        if t == 0:
            out[0] = np.sum(s) + s[2:5].max() + (s * 2)[1]

    x, out = np.arange(8.0), np.zeros(1)
    total[1, 8](x, out)
    assert out[0] == x.sum() + 4 + 2
