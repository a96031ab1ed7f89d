"""Kernels whose threads do several iterations, and kernels in tiles: values are the CPU's, bit for bit."""

import copy

import numpy as np
import pytest

import ingot
from ingot._arrays.array import DTYPES

DEVICE = ingot.device("emulated")
NAMES = [dtype.name for dtype in DTYPES]
rng = np.random.default_rng(11)


def put(x):
    return ingot.device_put(x, DEVICE) if isinstance(x, np.ndarray) else x


def home(x):
    return x.to_host() if isinstance(x, ingot.Array) else x


def values(dtype, *shape):
    x = rng.standard_normal(shape) * 50
    return ((x + 1j * rng.standard_normal(shape)) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    else:
        assert a == b


def as_on_the_host(function, *arguments, views=None):
    """Calls a function with arrays on the host and on the device; `views` makes its arguments of them there."""
    compiled = ingot.jit(function)
    mine = copy.deepcopy(arguments)
    moved = tuple(map(put, mine))
    view = views or (lambda *given: given)
    expected = compiled(*view(*mine))
    got = compiled(*view(*moved))
    if isinstance(got, tuple):
        got = tuple(map(home, got))
    same(home(got), expected)
    for on_device, on_host in zip(moved, mine, strict=True):
        same(home(on_device), on_host)


def kernels(function, *arguments):
    """The loop IR and the text of the kernels."""
    text = str(ingot.jit(function).explain(*map(put, arguments)))
    return text.split("=== loop IR ===")[1].split("=== LLVM IR ===")[0], text.split("=== kernels ===")[1]


# Several iterations of a thread.


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.sampled(6)
def test_neighbours_are_loaded_together(dtype):
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 31, 257, 1030):
        as_on_the_host(lambda x, y: (x + y, x == y), values(dtype, n), values(dtype, n))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"])
def test_what_is_not_aligned_is_loaded_separately(dtype):
    x, y = values(dtype, 41), values(dtype, 41)
    for a in range(4):
        for b in (0, 1, 2):
            as_on_the_host(lambda x, y: x + y, x, y, views=lambda x, y, a=a, b=b: (x[a : a + 37], y[b : b + 37]))
    as_on_the_host(lambda x, y: x + y, x, y, views=lambda x, y: (x[::2], y[:21]))
    as_on_the_host(lambda x, y: x + y, x, y, views=lambda x, y: (x[::-1], y))


def store_between(x, y, a, b):
    y[a : a + 30] = x[b : b + 30]
    return y.shape[0]


@pytest.mark.rotated(4)
def test_stores_that_are_not_aligned():
    for dtype in ("int8", "float32", "float64", "complex128"):
        for a in range(5):
            for b in (0, 1, 3):
                as_on_the_host(store_between, values(dtype, 40), values(dtype, 40), a, b)


def stencil(u, v, c):
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + c * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])


def written_stencil(u, v, c):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


@pytest.mark.rotated(3)
@pytest.mark.parametrize("program", [stencil, written_stencil])
def test_neighbours_of_rows(program):
    for shape in ((3, 3), (5, 8), (6, 9), (9, 70), (4, 1100)):
        for dtype in ("float32", "float64"):
            as_on_the_host(program, values(dtype, *shape), values(dtype, *shape), 0.1)


def test_iterations_that_change_what_they_load():
    def f(x, y, s):
        y += s * x
        x *= 2

    for n in (1, 6, 37):
        as_on_the_host(f, values("float32", n), values("float32", n), np.float32(3))
        as_on_the_host(f, values("complex128", n), values("complex128", n), 2j)

    def moved(x):
        x[1:] = x[:-1] * 2

    as_on_the_host(moved, values("float64", 33))


def test_gathers_and_scatters_next_to_neighbours():
    def f(x, index, y):
        for i in ingot.prange(index.shape[0]):
            y[i] = x[index[i]] + y[i]

    as_on_the_host(f, values("float32", 50), rng.integers(0, 50, 43), values("float32", 43))


def add_to(x, y):
    y += x


def test_one_access_for_neighbours():
    x = values("float64", 100)
    assert "ld.global.nc.v2.f64" in kernels(lambda x, y: x + y, x, x.copy())[1]
    assert "st.global.v2.f64" in kernels(lambda x, y: x + y, x, x.copy())[1]
    assert "ld.global.nc.v4.f32" in kernels(lambda x: x * x, x.astype("f4"))[1]
    # What is stored there is not taken for constant.
    ptx = kernels(add_to, x, x.copy())[1]
    assert "ld.global.nc.v2.f64" in ptx and "ld.global.v2.f64" in ptx


# Tiles.


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = a.dtype.type(0)
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def product_in_memory(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


SHAPES = [(32, 32, 16), (33, 65, 20), (64, 40, 31), (70, 32, 33), (31, 40, 40), (40, 40, 3), (0, 40, 40), (40, 40, 0)]


@pytest.mark.rotated(3)
@pytest.mark.parametrize("program", [product, product_in_memory])
def test_products_of_any_shape(program):
    for m, n, k in SHAPES:
        as_on_the_host(program, values("float64", m, k), values("float64", k, n), values("float64", m, n))


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.sampled(6)
def test_products_of_any_dtype(dtype):
    as_on_the_host(product_in_memory, values(dtype, 36, 21), values(dtype, 21, 35), values(dtype, 36, 35))
    if dtype != "bool":
        as_on_the_host(product, values(dtype, 36, 21), values(dtype, 21, 35), values(dtype, 36, 35))


@pytest.mark.rotated(3)
def test_products_are_in_tiles():
    x = values("float32", 40, 40)
    for program in (product, product_in_memory):
        loops, ptx = kernels(program, x, x.copy(), x.copy())
        assert "buffer<shared>" in loops and "bar.sync" in ptx
        assert "ld.shared.f32" in ptx


LAYOUTS = [
    lambda a, b, c: (a.T, b, c),
    lambda a, b, c: (a, b.T, c),
    lambda a, b, c: (a.T, b.T, c.T),
    lambda a, b, c: (a[::-1], b[:, ::-1], c),
    lambda a, b, c: (a[:33, ::2], b[:20], c[:33]),
    lambda a, b, c: (a, b[:, 1:36], c[:, 3:38]),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(len(LAYOUTS)))
def test_products_of_any_layout(number):
    for dtype in ("float32", "complex64"):
        given = [values(dtype, 40, 40) for _ in range(3)]
        as_on_the_host(product, *given, views=LAYOUTS[number])


def test_products_of_operands_that_are_one_array():
    def f(a, c):
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * a[j, k]
                c[i, j] = s

    as_on_the_host(f, values("float64", 45, 20), values("float64", 45, 45))


@pytest.mark.rotated(4)
def test_products_of_many_matrices():
    def f(a, b, c):
        for n in range(a.shape[0]):
            for i in range(a.shape[1]):
                for j in range(b.shape[1]):
                    s = c[n, i, j] * 2
                    for k in range(a.shape[2]):
                        s += a[n, i, k] * b[k, j]
                    c[n, i, j] = s

    as_on_the_host(f, values("float64", 3, 33, 18), values("float64", 18, 35), values("float64", 3, 33, 35))
    # So many that tiles are large ones.
    as_on_the_host(f, values("float32", 64, 130, 17), values("float32", 17, 129), values("float32", 64, 130, 129))
    as_on_the_host(f, values("complex128", 130, 64, 17), values("complex128", 17, 64), values("complex128", 130, 64, 64))


@pytest.mark.rotated(3)
def test_what_is_like_a_product():
    def distances(x, y, d):
        for i in range(x.shape[0]):
            for j in range(y.shape[0]):
                s = 0.0
                most = -1.0
                for k in range(x.shape[1]):
                    t = x[i, k] - y[j, k]
                    s += t * t
                    most = max(most, abs(t))
                d[i, j] = np.sqrt(s) + most

    as_on_the_host(distances, values("float64", 50, 20), values("float64", 40, 20), values("float64", 50, 40))

    def weighted(a, w, b, c, alpha):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * w[k] * b[k, j]
                c[i, j] = alpha * s + c[i, j]

    given = values("float64", 40, 30), values("float64", 30), values("float64", 30, 40), values("float64", 40, 40)
    as_on_the_host(weighted, *given, 0.5)

    def shortest(a, c):
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                s = a[i, j]
                for k in range(a.shape[0]):
                    s = min(s, a[i, k] + a[k, j])
                c[i, j] = s

    as_on_the_host(shortest, values("int64", 40, 40), values("int64", 40, 40))


def chained_product(a, b, c, r):
    for i in range(a.shape[0]):
        s = r[i]
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        s = s * s
        for j in range(b.shape[1]):
            t = s
            for k in range(a.shape[1]):
                t += a[i, k] * b[k, j]
            c[i, j] = t


def test_long_chains_before_products_are_compiled_once():
    """Each value of the chain is both operands of the next one: who visits operands again and again does not come to an end."""
    g = np.random.default_rng(4)
    a, b, r = g.normal(size=(40, 33)), g.normal(size=(33, 35)), np.where(g.random(40) < 0.5, 0.0, 1.0)
    expected, c = np.zeros((40, 35)), ingot.device_put(np.zeros((40, 35)), "emulated")
    chained_product(a, b, expected, r)
    ingot.jit(chained_product)(*(ingot.device_put(x, "emulated") for x in (a, b)), c, ingot.device_put(r, "emulated"))
    np.testing.assert_array_equal(c.to_host(), expected)


def test_special_values_of_products():
    a, b = values("float64", 40, 40), values("float64", 40, 40)
    a[3, 4], a[5, 6], a[7] = np.inf, np.nan, 0
    b[4], b[:, 2] = 0, -0.0
    a[8] = -0.0
    compiled = ingot.jit(product)
    x, y = np.empty((40, 40)), put(np.empty((40, 40)))
    compiled(a, b, x)
    compiled(put(a), put(b), y)
    np.testing.assert_array_equal(y.to_host(), x)
    is_number = ~np.isnan(x)
    assert (np.signbit(x) == np.signbit(y.to_host()))[is_number].all()


@pytest.mark.rotated(2)
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.sampled(6)
def test_matmul_has_the_order_of_loops(dtype):
    def loops(a, b):
        wide = np.zeros((a.shape[0], b.shape[1]), np.float32 if a.dtype == np.float16 else a.dtype)
        product_in_memory(a.astype(wide.dtype), b.astype(wide.dtype), wide)
        return wide.astype(a.dtype)

    for m, n, k in ((37, 33, 20), (33, 38, 40), (5, 6, 7)):
        a, b = values(dtype, m, k), values(dtype, k, n)
        same((ingot.jit(lambda a, b: a @ b)(put(a), put(b))).to_host(), ingot.jit(loops)(a, b))
    a, b = values(dtype, 2, 3, 32, 18), values(dtype, 2, 3, 18, 33)
    got = ingot.jit(lambda a, b: a @ b)(put(a), put(b)).to_host()
    for i in range(2):
        for j in range(3):
            same(np.ascontiguousarray(got[i, j]), ingot.jit(loops)(a[i, j].copy(), b[i, j].copy()))


def test_loops_that_are_no_products():
    """What the depth stores where it loads, counts that iterations have of their own, and orders that tiles would change."""

    def triangle(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for k in range(i):
                    s += a[i, k] * b[k, j]
                c[i, j] = s

    def running(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * b[k, j]
                    c[i, j] = s

    def gathered(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * b[int(a[i, k]) % 40, j]
                c[i, j] = s

    for program in (triangle, running, gathered):
        as_on_the_host(program, values("float64", 40, 40), values("float64", 40, 40), values("float64", 40, 40))


def test_views_that_are_made_in_an_iteration():
    def stepped(o, a):
        for i in range(o.shape[0]):
            b = a[::2]
            o[i] = b[i]

    def later(o, a):
        for i in range(o.shape[0]):
            o[i] = a[1:][i] + 1

    def moving(o, a):
        for i in range(o.shape[0]):
            o[i] = a[i:][i]

    def transposed(o, a):
        for i in range(o.shape[0]):
            for j in range(o.shape[1]):
                o[i, j] = a.T[j, i] + a[::-1][i, j]

    for f, o, a in ((stepped, np.zeros(333), np.arange(1000.0)), (later, np.zeros(333), np.arange(1000.0)),
                    (moving, np.zeros(333), np.arange(1000.0)), (transposed, np.zeros((30, 41)), np.arange(1230.0).reshape(30, 41))):  # fmt: skip
        out, there = o.copy(), put(o)
        f(out, a)
        ingot.jit(f)(there, put(a))
        assert there.to_host().tolist() == out.tolist()
