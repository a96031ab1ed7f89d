"""`ingot.parallel` on a device, on the CPU with one thread and with two: the same bits."""

import ingot
import numpy as np
import pytest
from ingot import parallel


@pytest.fixture
def one_thread_at_first():
    before = ingot.get_num_threads()
    yield
    ingot.set_num_threads(before)


def bits(result):
    """Dtypes, shapes and bytes of results, wherever they are. NumPy's sorts change the bits of a NaN."""
    if isinstance(result, tuple):
        return tuple(map(bits, result))
    array = result.copy_to_host() if isinstance(result, ingot.Array) else np.array(result)
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return str(array.dtype), array.shape, array.tobytes()


def everywhere(f, *arguments):
    """What a function gives: the same bits with one thread and two, compiled for the device, and called with its arrays."""
    ingot.set_num_threads(1)
    result = ingot.jit(f)(*map(copied, arguments))
    ingot.set_num_threads(2)
    assert bits(ingot.jit(f)(*map(copied, arguments))) == bits(result)
    assert bits(ingot.jit(f, device="emulated")(*map(copied, arguments))) == bits(result)
    there = [ingot.device_put(a, "emulated") if isinstance(a, np.ndarray) else a for a in map(copied, arguments)]
    with ingot.device("emulated"):
        assert bits(f(*there)) == bits(result)
    return result


def copied(x):
    return x.copy() if isinstance(x, np.ndarray) else x


def numbers(dtype, count, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (rng.normal(size=count) + 1j * rng.normal(size=count)).astype(dtype)
    if kind == "f":
        return rng.normal(size=count).astype(dtype)
    return rng.integers(0, 2 if kind == "b" else 100, count).astype(dtype)


def with_nan(x):
    x[::7] = np.nan
    return x


ELEMENTWISE = {
    "map": lambda x: parallel.map(lambda a: a * a + a, x),
    "map to tuples": lambda x: parallel.map(lambda a: (a, a + a), x),
    "reduce": lambda x: parallel.reduce(lambda a, b: a + b, x),
    "reduce with an initial value": lambda x: parallel.reduce(lambda a, b: a + b, x, x[-1]),
    "scan": lambda x: parallel.scan(lambda a, b: a + b, x),
    "exclusive scan": lambda x: parallel.scan(lambda a, b: a + b, x, x[-1], exclusive=True),
    "scan of pairs": lambda x: parallel.scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (x, x)),
    "segmented reduce": lambda x: parallel.segmented_reduce(lambda a, b: a + b, x, np.array([0, 3, 3, len(x)]), x[0]),
    "segmented scan": lambda x: parallel.segmented_scan(lambda a, b: a + b, x, np.array([0, 3, 3, len(x)])),
    "compact": lambda x: parallel.compact(x, x != x[0]),
    "partition": lambda x: parallel.partition(x, x != x[0]),
}
ORDERS = {
    "reduce by max": lambda x: parallel.reduce(lambda a, b: max(a, b), x),
    "scan by max": lambda x: parallel.scan(lambda a, b: max(a, b), x),
    "sort": lambda x: parallel.sort(x),
    "argsort": lambda x: parallel.argsort(x),
    "sort_by_key": lambda x: parallel.sort_by_key(x, x, np.arange(len(x))),
    "k_select": lambda x: parallel.k_select(x, len(x) // 2),
    "top_k": lambda x: parallel.top_k(x, 17),
    "unique": lambda x: parallel.unique(x),
    "unique_by_key": lambda x: parallel.unique_by_key(parallel.sort(x), np.arange(len(x))),
    "merge": lambda x: parallel.merge(parallel.sort(x), parallel.sort(x[::2])),
    "searchsorted": lambda x: parallel.searchsorted(parallel.sort(x), x),
    "searchsorted right": lambda x: parallel.searchsorted(parallel.sort(x[::2]), x, "right"),
    "group_by_reduce": lambda x: parallel.group_by_reduce(lambda a, b: a + b, x, np.arange(len(x)) * 0.1),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elements_in_order(name, dtype, one_thread_at_first):
    everywhere(ELEMENTWISE[name], numbers(dtype, 4500))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", ORDERS)
def test_orders(name, dtype, one_thread_at_first):
    x = numbers(dtype, 3000)
    everywhere(ORDERS[name], with_nan(x) if np.dtype(dtype).kind == "f" and "max" not in name else x)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 2047, 2049, 20000])
@pytest.mark.parametrize("name", ["reduce", "scan", "exclusive scan", "compact", "sort", "argsort", "unique", "group_by_reduce"])
def test_sizes(name, n, one_thread_at_first):
    everywhere({**ELEMENTWISE, **ORDERS}[name], numbers("float64", n))


@pytest.mark.parametrize("combine", [None, lambda a, b: a + b, lambda a, b: max(a, b)], ids=["set", "add", "max"])
def test_places(combine, one_thread_at_first):
    x, index = numbers("float64", 3000), np.random.default_rng(1).integers(0, 500, 3000)
    everywhere(lambda x, index: parallel.scatter(x, index, np.zeros(500), combine), x, index)
    everywhere(lambda x, index: parallel.gather(x, index), x, index)


@pytest.mark.rotated(4)
def test_counts(one_thread_at_first):
    weights, index = numbers("float64", 3000), np.random.default_rng(2).integers(0, 40, 3000)
    everywhere(lambda index: parallel.histogram(index, 40), index)
    everywhere(lambda index, w: parallel.histogram(index, 40, w), index, weights)
    everywhere(lambda index, w: parallel.group_by_reduce(lambda a, b: max(a, b), index, w), index, weights)


@pytest.mark.rotated(4)
def test_nothing(one_thread_at_first):
    empty = np.zeros(0)
    for f in (
        lambda x: parallel.map(lambda a: a + 1, x),
        lambda x: parallel.reduce(lambda a, b: a + b, x, 3.0),
        lambda x: parallel.scan(lambda a, b: a + b, x),
        lambda x: parallel.sort(x),
        lambda x: parallel.unique(x),
        lambda x: parallel.compact(x, x > 0),
        lambda x: parallel.histogram(x.astype(np.int64), 3),
    ):
        everywhere(f, empty)


@pytest.mark.rotated(4)
def test_iterators(one_thread_at_first):
    x, index = numbers("float64", 3000), np.random.default_rng(3).integers(0, 3000, 3000)
    everywhere(lambda x: parallel.map(lambda a, k, c: a * k + c, x, parallel.counting(5), parallel.constant(0.5)), x)
    everywhere(lambda x: parallel.reduce(lambda a, b: a + b, parallel.transformed(lambda a: a * a, x)), x)
    everywhere(lambda x, index: parallel.scan(lambda a, b: a + b, parallel.permuted(x, index)), x, index)


def test_exceptions_of_functions(one_thread_at_first):
    def checked(a):
        if a == 77:
            raise ValueError("77 is not allowed")
        return a + 1

    x = np.arange(3000)
    for call in (ingot.jit(lambda x: parallel.map(checked, x)), ingot.jit(lambda x: parallel.map(checked, x), device="emulated")):
        with pytest.raises(ValueError, match="77 is not allowed"):
            call(x)


def test_indices_that_are_wrong(one_thread_at_first):
    x = np.arange(100.0)
    for device in (None, "emulated"):
        with pytest.raises(IndexError):
            ingot.jit(lambda x, index: parallel.gather(x, index), device=device)(x, np.array([3, 100]))
        with pytest.raises(IndexError):
            ingot.jit(lambda index: parallel.histogram(index, 4), device=device)(np.array([3, 4]))
        with pytest.raises(IndexError):
            ingot.jit(lambda x: parallel.k_select(x, 100), device=device)(x)
