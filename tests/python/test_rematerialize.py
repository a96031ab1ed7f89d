"""Arrays that are computed where they are read (the pass `rematerialize`): what is not stored, what is, and that values stay."""

import ingot
import numpy as np
import pytest
from ingot import parallel

N = 100_000


def add(a, b):
    return a + b


def buffers(function, *arguments):
    """The bytes of the arrays that a call makes, with those of its result; and the bytes that it moves at least."""
    compiled = ingot.jit(function)
    specialisation, given = compiled._prepare(arguments, {})
    found = specialisation.program.compile(texts=True)["nests"].fusion(specialisation.program.interface[0], given.leaves)
    made = compiled(*arguments)
    rounding = 1e-13 if "exp" in function.__code__.co_names else 0.0  # exponentials are not NumPy's
    np.testing.assert_allclose(np.asarray(made), np.asarray(function(*arguments)), rtol=rounding)
    return [buffer.bytes for buffer in found.buffers if buffer.kind != "argument"], found


def stored(function, *arguments):
    """How many arrays as long as the arguments a call makes."""
    return sum(1 for size in buffers(function, *arguments)[0] if size is None or size >= arguments[0].nbytes // 2)


X, Y = np.random.default_rng(0).standard_normal((2, N))


@pytest.mark.parametrize(
    "law",
    (
        lambda x, y: parallel.reduce(add, parallel.map(lambda a: a * a, x)),
        lambda x, y: parallel.reduce(add, parallel.map(lambda a: a + 1, parallel.map(lambda a: a * a, x))),
        lambda x, y: parallel.reduce(add, parallel.zip_with(lambda a, b: a * b, x, y)),
        lambda x, y: parallel.reduce(max, x * y + 1.0),
        lambda x, y: parallel.reduce(add, np.exp(x)),
        lambda x, y: parallel.reduce(lambda a, b: (a[0] + b[0], max(a[1], b[1])), parallel.map(lambda a, b: (a * b, a + b), x, y)),
        lambda x, y: parallel.reduce(add, parallel.map(lambda a: a * a, x[::-1])),
    ),
)
def test_reductions_store_nothing(law):
    """Of 100 000 elements, a number for each run of 128, a run, and what combines 16 runs are all that is stored; of sums nothing."""
    sizes, _ = buffers(law, X, Y)
    assert max(sizes, default=0) in (0, (N + 127) // 128 * 8)


@pytest.mark.parametrize(
    "law",
    (
        lambda x, y: parallel.map(lambda a: a * 2, parallel.map(lambda a: a * a, x)),
        lambda x, y: parallel.map(lambda a: a * 2, parallel.zip_with(lambda a, b: a * b, x, y)),
    ),
)
def test_maps_store_their_result(law):
    assert stored(law, X, Y) == 1


@pytest.mark.parametrize(
    "law",
    (
        lambda x, y: parallel.scan(add, parallel.map(lambda a: a * a, x)),
        lambda x, y: parallel.scan(add, x * y),
        lambda x, y: parallel.scan(max, parallel.zip_with(lambda a, b: a - b, x, y), 0.0, exclusive=True),
    ),
)
def test_scans_store_their_result(law):
    """Elements are read twice, a part of them at a time, and cheap ones are computed twice."""
    assert stored(law, X, Y) == 1


def test_bytes_moved_are_the_least():
    for law in (
        lambda x: parallel.map(lambda a: a * 2, parallel.map(lambda a: a * a, x)),
        lambda x: parallel.map(lambda a: a + 1, parallel.map(lambda a: a * 2, parallel.map(lambda a: -a, x))),
    ):
        _, found = buffers(law, X)
        assert found.moved == found.least == 2 * X.nbytes


def test_loops_of_users():
    def weighted(x, y):
        t = x * y
        s = 0.0
        for i in range(len(t)):
            s = s * 0.5 + t[i]
        return s

    def twice(x, y):
        t = x + y
        s, most = 0.0, 0.0
        for i in range(len(t)):
            s += t[i]
        for i in range(len(t)):
            most = max(most, t[len(t) - 1 - i])
        return s - most

    assert stored(weighted, X, Y) == stored(twice, X, Y) == 0


def test_what_is_stored():
    def changed(x, y):
        z = x + 0.0
        t = z * y
        z[5] = 100.0
        return parallel.reduce(add, t) + z[5]

    def read_again(x, y):
        t = x * y
        s = 0.0
        for _ in range(3):
            for i in range(len(t)):
                s = s * 0.5 + t[i]
        return s

    def costly_in_order(x, y):
        t = np.exp(x)
        s = 0.0
        for i in range(len(t)):
            s = s * 0.5 + t[i]
        return s

    def by_index(x, y):
        t = x * y
        s = 0.0
        for i in range(len(t)):
            s = s * 0.5 + t[(i * 7919) % len(t)]
        return s

    assert stored(lambda x, y: parallel.scan(add, np.exp(x)), X, Y) == 2
    assert stored(changed, X, Y) >= 1
    assert stored(read_again, X, Y) == stored(costly_in_order, X, Y) == stored(by_index, X, Y) == 1


def test_in_place():
    """What is read is computed before it is written."""

    def shifted(x):
        t = x * 2.0
        for i in range(len(t) - 1):
            x[i + 1] = t[i]
        return x

    def reversed_in_place(x):
        t = x + 1.0
        for i in range(len(t)):
            x[len(x) - 1 - i] = t[i]
        return x

    def interleaved(x, out):
        t = x + 1.0
        s = 0.0
        for i in range(len(t)):
            s += t[i]
            out[i] = s
        return out

    for f in (shifted, reversed_in_place):
        np.testing.assert_array_equal(ingot.jit(f)(X[:300].copy()), f(X[:300].copy()))
    whole, plain = X[:301].copy(), X[:301].copy()
    np.testing.assert_array_equal(ingot.jit(interleaved)(whole[:-1], whole[1:]), interleaved(plain[:-1], plain[1:]))
    np.testing.assert_array_equal(ingot.jit(interleaved)(whole, whole), interleaved(plain, plain))


def test_rows():
    def f(x):
        t = x * 2.0
        s = 0.0
        for i in range(t.shape[0]):
            for j in range(t.shape[1]):
                s = s * 0.5 + t[i, j]
        return s

    def columns_first(x):
        t = np.sqrt(abs(x)) + 1.0
        s = 0.0
        for j in range(t.shape[1]):
            for i in range(t.shape[0]):
                s = s * 0.5 + t[i, j]
        return s

    rows = X[:3000].reshape(50, 60)
    for g in (f, columns_first):
        for layout in (rows, np.asfortranarray(rows), rows[::2, ::-1], rows[:0]):
            assert ingot.jit(g)(layout) == g(layout)


def test_exceptions_come_first():
    """An array that may raise is computed before what reads it."""

    def checked(a):
        if a > 100.0:
            raise ValueError("too large")
        return a * 2.0

    def f(x, out):
        t = parallel.map(checked, x)
        for i in range(len(t)):
            out[i] = t[i]

    x, out = X[:500].copy(), np.zeros(500)
    x[400] = 1000.0
    with pytest.raises(ValueError, match="too large"):
        ingot.jit(f)(x, out)
    assert (out == 0.0).all()


def test_of_records_and_dtypes():
    for dtype in (np.int8, np.uint32, np.float16, np.float32, np.complex128, np.bool_):
        x = (np.arange(5000) % 7).astype(dtype)
        f = lambda x: parallel.reduce(lambda a, b: a + b, parallel.map(lambda a: a * a, x))  # noqa: E731
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(ingot.jit(f)(x), f(x))




def test_costly_elements_that_are_read_again_are_stored():
    """A reduction in blocks reads each once, and a loop that is nested less some of them often."""
    index = np.random.default_rng(1).integers(0, N, 3 * N)

    def gathered(x, index):
        t = np.exp(x) + np.tanh(x)
        largest = parallel.reduce(max, t)
        total = 0.0
        for i in range(len(index)):
            total = total * 0.5 + t[index[i]]
        return largest + total

    assert stored(gathered, X, index) == 1
