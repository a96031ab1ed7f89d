"""Operators, methods and NumPy's functions on arrays of devices, outside of compiled functions: NumPy is the judge."""

import warnings

import ingot
import ingot.numpy as inp
import numpy as np
import pytest

DEVICE = ingot.device("emulated")
FLOATS = np.random.default_rng(0).standard_normal((8, 6))
INTS = np.random.default_rng(0).integers(-50, 50, (8, 6))


def put(x):
    return ingot.device_put(x, DEVICE)


def agree(got, expected):
    """Whether two results are of the same types, dtypes and shapes, and of the same values up to the order of sums."""
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for g, e in zip(got, expected):
            agree(g, e)
    elif isinstance(expected, np.ndarray):
        assert type(got) is ingot.Array and got.device is DEVICE
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got.to_host(), expected, rtol=1e-13, atol=1e-14)
    elif isinstance(expected, (float, np.inexact)):
        assert type(got) is type(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-6 if type(got) is np.float32 else 1e-13)
    else:
        assert type(got) is type(expected) and got == expected


def compare(function, x):
    """Calls a function with an array of NumPy's, and with the same on the device: results, and the array afterwards, agree."""
    host, moved = x.copy("K"), put(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(host)
        except Exception as error:
            kind = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
            with pytest.raises(kind):
                function(moved)
        else:
            got = function(moved)
            agree(got, expected)
            assert (got is moved) == (expected is host)
    agree(moved, host)


def with_item(key, value):
    def stored(a):
        a[key] = value(a) if callable(value) else value
        return a

    return stored


def with_method(name, *arguments, **keywords):
    def changed(a):
        getattr(a, name)(*arguments, **keywords)
        return a

    return changed


OPERATORS = {
    "add": lambda a: a + a,
    "number on the left": lambda a: 2 - a,
    "divide": lambda a: a / 3,
    "floor": lambda a: a // 2,
    "remainder": lambda a: a % 3,
    "power": lambda a: (a * 1.0) ** 2,
    "matmul": lambda a: a @ a.T,
    "less": lambda a: a < 0,
    "equal": lambda a: a == a,
    "not equal": lambda a: a != 1,
    "equal to None": lambda a: a == None,  # noqa: E711
    "equal to a text": lambda a: (a == "x", a != "x"),
    "negative": lambda a: -a,
    "absolute": lambda a: abs(a),
    "divmod": lambda a: divmod(a, 2),
    "shift": lambda a: (a << 1) + (a >> 1),
    "bits": lambda a: (a & 3) | (~a ^ 5),
    "text": lambda a: a + "x",
    "list": lambda a: a + [1, 2, 3, 4, 5, 6],
    "shapes": lambda a: a + a[0, :2],
    "NumPy's number": lambda a: np.float64(2) * a,
    "NumPy's array": lambda a: np.arange(6) + a,
    "by zero": lambda a: a / 0,
    "in": lambda a: (5 in a, a[0, 0] in a),
    "in place": lambda a: a.__iadd__(2),
    "in place by itself": lambda a: a.__imul__(a),
    "in place with another dtype": lambda a: a.astype("i8").__iadd__(0.5),
}
METHODS = {
    "sum": lambda a: (a.sum(), a.sum(0), a.sum(axis=1, keepdims=True), a.sum(dtype="f4")),
    "mean": lambda a: (a.mean(), a.mean(axis=1)),
    "std": lambda a: (a.std(), a.var(axis=0), a.std(ddof=1)),
    "extremes": lambda a: (a.max(), a.min(axis=1)),
    "prod": lambda a: (a * 0.25).prod(axis=0),
    "all": lambda a: (a.all(), a.any(axis=1)),
    "places": lambda a: (a.argmax(), a.argmin(axis=0)),
    "running": lambda a: (a.cumsum(), a.cumsum(0), (a * 0.5).cumprod(1)),
    "clip": lambda a: (a.clip(-1, 1), a.clip(min=0)),
    "dot": lambda a: a.dot(a.T),
    "round": lambda a: (a * 1.0).round(1),
    "take": lambda a: (a.take([1, 2]), a.repeat(2)),
    "argsort": lambda a: a.argsort(axis=1),
    "nonzero": lambda a: a.nonzero(),
    "trace": lambda a: (a.trace(), a.conj()),
    "sort": with_method("sort", axis=0),
    "fill": with_method("fill", 3),
    "astype": lambda a: (a.astype("i4"), a.T.astype("f4"), a.astype(complex)),
    "copies": lambda a: (a.copy("F"), a.T.reshape(-1), a[:, ::2].flatten(), a.T.ravel("K"), a[::2].copy()),
}
FUNCTIONS = {
    "ufuncs": lambda a: (np.add(a, a), np.sin(a), np.maximum(a, 0), np.isfinite(a)),
    "methods of ufuncs": lambda a: (np.add.reduce(a), np.multiply.outer(a[0], a[1]), np.add.accumulate(a, axis=1)),
    "out": lambda a: np.add(a, a, out=a),
    "where": lambda a: np.where(a > 0, a, -a),
    "joining": lambda a: (np.concatenate([a, a]), np.stack([a, a])),
    "reductions": lambda a: (np.sum(a, axis=0), np.median(a)),
    "products": lambda a: (np.dot(a, a.T), np.einsum("ij,ij->i", a, a)),
    "sorting": lambda a: (np.sort(a, axis=0), np.unique(a)),
    "types and shapes": lambda a: (np.shape(a), np.ndim(a), np.size(a), np.size(a, 0), np.iscomplexobj(a)),
    "result types": lambda a: np.result_type(a, np.float32),
    "like": lambda a: (np.zeros_like(a), np.full_like(a, 2)),
    "linalg": lambda a: (np.linalg.norm(a), np.linalg.solve(a[:6] * 1.0, a[0])),
    "fft": lambda a: np.fft.fft(a[0] * 1.0),
    "interp": lambda a: np.interp(a[0], [0, 1], [0, 1]),
    "copyto": lambda a: (np.copyto(a, 1), a)[1],
    "copyto with a mask": lambda a: (np.copyto(a, 1, where=a > 0), a)[1],
    "views": lambda a: (np.transpose(a), np.reshape(a, (6, 8)), np.expand_dims(a, 0)),
}
INDICES = {
    "mask": lambda a: a[a > 0],
    "places": lambda a: (a[[1, 2, 1]], a[[0, 1], [1, 2]], a[:, [0, -1]]),
    "wrong place": lambda a: a[[0, 99]],
    "wrong kind": lambda a: a[1.5],
    "by mask": with_item(INTS > 0, 0),
    "by places": with_item([0, 2], 5),
    "row": with_item((slice(None), 1), lambda a: a[:, 0]),
    "overlap": with_item(slice(1, None), lambda a: a[:-1]),
    "every second": with_item((slice(None, None, 2), slice(1, None, 2)), 7),
    "large": lambda a: with_item(slice(None, None, 2), 7)(np.resize(a, (300, 300)) if type(a) is np.ndarray else put(np.resize(a.to_host(), (300, 300)))),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("x", [FLOATS, INTS], ids=["floats", "ints"])
def test_operators(name, x):
    compare(OPERATORS[name], x)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("x", [FLOATS, INTS], ids=["floats", "ints"])
def test_methods(name, x):
    compare(METHODS[name], x)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpys(name):
    compare(FUNCTIONS[name], FLOATS)


@pytest.mark.parametrize("name", INDICES)
def test_indices(name):
    compare(INDICES[name], FLOATS)


def test_in_place_operators_keep_the_array():
    a = b = put(np.arange(3.0))
    a += 1
    a *= b
    assert a is b and b.tolist() == [1, 4, 9]
    c = a[1:]
    c -= 1
    assert a.tolist() == [1, 3, 8]


def test_the_namespace_takes_arrays_of_devices():
    a = put(FLOATS)
    agree(inp.sum(a, axis=0), FLOATS.sum(0))
    agree(inp.add(a, 1), FLOATS + 1)
    assert a.__array_namespace__() is inp


def test_functions_that_make_arrays_take_a_device():
    host = ingot.device("cpu")
    for make in (
        lambda device: inp.zeros(3, device=device),
        lambda device: inp.empty((2, 0), device=device),
        lambda device: inp.full((2, 2), 3, np.int16, device=device),
        lambda device: inp.arange(4, device=device),
        lambda device: inp.linspace(0, 1, 3, device=device),
        lambda device: inp.eye(2, device=device),
        lambda device: inp.ones_like(put(FLOATS), device=device),
        lambda device: inp.zeros_like(FLOATS, device=device),
        lambda device: inp.astype(FLOATS, np.int32, device=device),
        lambda device: inp.fft.rfftfreq(4, device=device),
    ):
        agree(make(DEVICE), make("cpu"))
        assert type(make(host)) is type(make("cpu")) is np.ndarray
    with pytest.raises(ValueError, match="Device not understood"):
        inp.zeros(3, device="odd")


def test_functions_that_are_not_compiled_are_refused():
    with pytest.raises(ingot.UnsupportedError, match="numpy.savetxt of an ingot.Array is not supported\n.*to_host"):
        np.savetxt("none", put(FLOATS))


def test_operators_leave_it_to_others():
    class Other:
        def __radd__(self, other):
            return "other"

    assert put(FLOATS) + Other() == "other"
    with pytest.raises(TypeError, match="unsupported operand"):
        put(FLOATS) + object()
