"""Calls of compiled functions with arrays on devices: what runs where, what results are, and what is copied."""

import copy
import ctypes
import gc
import linecache
import pickle
import subprocess
import sys
import threading

import ingot
import numpy as np
import pytest
from ingot._calls.function import Function

DEVICE = ingot.device("emulated")
rng = np.random.default_rng(7)


def put(x):
    return ingot.device_put(x, DEVICE)


def home(value):
    """A result with NumPy arrays instead of the device's."""
    if isinstance(value, ingot.Array):
        return value.to_host()
    if type(value) in (tuple, list):
        return type(value)(home(v) for v in value)
    return {k: home(v) for k, v in value.items()} if type(value) is dict else value


def same(a, b):
    """Whether two results are of the same types and bits."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    elif type(a) in (tuple, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif type(a) is dict:
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    else:
        assert np.array_equal(a, b) if isinstance(a, np.generic) else a == b


def as_on_the_host(function, *arguments):
    """Calls a function with arrays on the host and on the device, twice: results, and arguments afterwards, are one."""
    compiled = ingot.jit(function)
    for _ in range(2):
        mine = copy.deepcopy(arguments)
        moved = tuple(put(x) if isinstance(x, np.ndarray) else x for x in mine)
        expected = compiled(*mine)
        got = compiled(*moved)
        same(home(got), expected)
        same(home(moved), mine)
    return got


@pytest.mark.rotated(3)
def test_results_are_the_hosts_bit_for_bit():
    x, y = rng.standard_normal((2, 5, 7))
    as_on_the_host(lambda a, b: a * 2 + b, x, y)
    as_on_the_host(lambda a, b: (a * b, a.sum(axis=0), a.mean()), x, y)
    as_on_the_host(lambda a, b: a[0, 0] + a[1, 1] * b[2, 2] + a.sum(), x, y)
    as_on_the_host(lambda a: np.sin(a) + np.exp(a), x)
    as_on_the_host(lambda a, n: a[n:] - a[:-n], x, 2)
    as_on_the_host(lambda a: (np.sort(a, axis=0), np.sort(a[:0].ravel())), x * 1j)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split())
def test_dtypes(dtype):
    x = (rng.standard_normal((3, 4)) * 20).astype(dtype)
    assert as_on_the_host(lambda a: (a + a, a.sum(), a[1, 2], a == a.T[0, 0]), x)[0].dtype == dtype


def test_loops_write_into_arguments():
    def smooth(a, n):
        for _ in range(n):
            for i in range(1, a.shape[0] - 1):
                a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3
        return a[0]

    as_on_the_host(smooth, rng.standard_normal(20), 3)

    def scaled(a, b):
        for i in ingot.prange(a.shape[0]):
            b[i] = a[i] * i
        return b

    as_on_the_host(scaled, np.arange(10.0), np.zeros(10))


def test_rows_that_change_what_their_threads_have_loaded():
    def f(a, b):
        for i in ingot.prange(a.shape[0]):
            t = b[i]
            b[i] = t + 1
            b[i] = (a[i] * t).sum()

    for n in (60, 1000, 3000):
        as_on_the_host(f, rng.standard_normal((3, n)), np.arange(3.0))


@pytest.mark.rotated(5)
def test_more_reductions_than_a_block_has_memory_for():
    def sums(n):
        lines = [f"    s{i} = 0j\n" for i in range(n)] + ["    for i in ingot.prange(a.shape[0]):\n"]
        lines += [f"        s{i} += a[i] * {i}\n" for i in range(n)]
        return lines + ["    return " + ", ".join(f"s{i}" for i in range(n)) + "\n"]

    def rows(n):
        return ["    for i in range(a.shape[0]):\n"] + [f"        o[i, {k}] = (a[i] * {k}).sum()\n" for k in range(n)]

    for n in (12, 13):
        as_on_the_host(written("sums", "def sums(a):\n", sums(n)), rng.standard_normal(2000) + 1j)
        rows_of = written("rows", "def rows(a, o):\n", rows(n))
        as_on_the_host(rows_of, rng.standard_normal((3, 3000)) + 1j, np.zeros((3, n), complex))


def test_more_arrays_than_a_thread_has_memory_for():
    lines = ["    for i in ingot.prange(a.shape[0]):\n"]
    lines += [f"        b{k} = np.zeros(2000)\n" for k in range(33)] + ["        for j in range(2000):\n"]
    lines += [f"            b{k}[j] = a[i] * j + {k} + b{max(k - 1, 0)}[1999 - j]\n" for k in range(33)]
    lines += ["        a[i] = " + " + ".join(f"b{k}[3] * b{k}[{k % 7}]" for k in range(33)) + "\n"]
    as_on_the_host(written("arrays", "def arrays(a):\n", lines), np.arange(3.0))


def written(name, head, lines):
    """A function whose text is made here."""
    text = head + "".join(lines)
    file = f"<{name} {len(lines)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"ingot": ingot, "np": np}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def test_views_of_arguments_are_views():
    @ingot.jit
    def f(a):
        a[0] += 1
        return a[1:], a.T, a

    a = put(np.arange(12.0).reshape(3, 4))
    part, turned, whole = f(a)
    assert whole is a
    assert part._address == a._address + 32 and turned.strides == (8, 32)
    part[0, 0] = -1
    assert a[1, 0] == -1 == turned[0, 1] and a[0, 0] == 1


def test_arrays_that_share_memory():
    def f(a, b):
        for i in range(a.shape[0]):
            a[i] = b[i] + 1
        return a

    x, y = np.zeros(10), np.zeros(10)
    compiled = ingot.jit(f)
    a = put(x)
    for one, other in [((1, None), (None, -1)), ((None, -1), (1, None)), ((None, None), (None, None))]:
        x[:] = y[:] = np.arange(10)
        a[...] = x
        f(x[slice(*one)], x[slice(*other)])
        compiled(a[slice(*one)], a[slice(*other)])
        assert a.tolist() == x.tolist()


def test_results_that_share_memory():
    @ingot.jit
    def f(n):
        a = np.zeros(n)
        return a, a[1:], (a, a)

    @ingot.jit
    def g(x):
        a = x + 1
        return a, a[1:], (a, a)

    whole, part, (one, two) = g(put(np.zeros(4)))
    assert whole is one is two
    part[0] = 5
    assert whole.tolist() == [1, 5, 1, 1]
    assert type(f(3)[0]) is np.ndarray


def test_containers_of_arrays():
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    @ingot.jit
    def f(items, table, point):
        items[0][0] = 7
        return [table["k"] + items[0], (items[1],)], {"p": point.x * point.y}

    a, b = put(np.arange(3.0)), np.arange(3.0)
    for _ in range(2):
        (total, (second,)), table = f([a, b], {"k": a}, Point(a, 2))
        assert second is b
        assert total.tolist() == [14, 2, 4] and table["p"].tolist() == [14, 2, 4]
        assert total.device is DEVICE


CAPTURED = np.arange(4.0)


def test_captured_arrays():
    inner = put(np.ones(3))

    @ingot.jit
    def f(n):
        return inner * n

    assert f(2).tolist() == [2, 2, 2]
    inner[0] = 5
    assert f(2).tolist() == [10, 2, 2]
    inner = np.ones(2)
    assert type(f(3)) is np.ndarray
    inner = put(np.ones(2))
    assert f(3).tolist() == [3, 3]

    @ingot.jit
    def g(a):
        CAPTURED[0] += 1
        return a + CAPTURED

    assert g(put(np.zeros(4))).tolist() == [1, 1, 2, 3]
    assert CAPTURED.tolist() == [1, 1, 2, 3]


def test_arrays_of_numpys_next_to_arrays_of_a_device_are_copied_there_and_back():
    @ingot.jit
    def f(a, x, y):
        x[1:, ::2] += a[0]
        return a + y, x, x[0]

    x, y = np.zeros((3, 4)), np.arange(4)
    a = put(np.ones(4))
    for count in (1, 2):
        total, same_x, row = f(a, x, y)
        assert type(total) is ingot.Array and total.tolist() == [1, 2, 3, 4]
        assert same_x is x and np.shares_memory(row, x)
        assert x.tolist() == [[0] * 4, [count, 0, count, 0], [count, 0, count, 0]]
        assert y.tolist() == [0, 1, 2, 3]


def test_copies_of_arrays_that_overlap_overlap():
    def f(a, x, y):
        for i in range(x.shape[0]):
            x[i] = y[i] + a[0]

    first, second = np.arange(10.0), np.arange(10.0)
    f(np.ones(1), first[1:], first[:-1])
    for view in (lambda x: (x[1:], x[:-1]), lambda x: (x[:0:-1], x[-2::-1])):
        second = np.arange(10.0)
        first = np.arange(10.0)
        f(np.ones(1), *view(first))
        ingot.jit(f)(put(np.ones(1)), *view(second))
        assert second.tolist() == first.tolist()


def test_copies_of_arrays_that_overlap_with_an_empty_one_between_overlap():
    def f(a, x, nothing, y):
        x[:] = x + a[0]
        return y.sum() + nothing.shape[0]

    first, second = np.arange(100.0), np.arange(100.0)
    expected = f(np.ones(1), first[:80], first[40:40], first[60:])
    assert ingot.jit(f)(put(np.ones(1)), second[:80], second[40:40], second[60:]) == expected
    assert second.tolist() == first.tolist()


def test_arrays_that_are_read_only_are_not_copied_back():
    x = np.arange(3.0)
    x.flags.writeable = False
    a = put(np.ones(3))
    assert ingot.jit(lambda a, x: a + x)(a, x).tolist() == [1, 2, 3]

    @ingot.jit
    def f(a, x):
        x[0] = 1
        return a

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        f(a, x)
    b = put(np.arange(3.0))
    b.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        f(a, b)


def test_arrays_that_are_not_aligned_are_refused():
    packed = np.zeros(3, "i1,f8")["f1"]
    with pytest.raises(ingot.UnsupportedError, match="not aligned.*\n.*pass a copy"):
        ingot.jit(lambda a, x: a + x)(put(np.ones(3)), packed)
    shifted = np.zeros(25, np.uint8)[1:].view(np.float64)
    with pytest.raises(ingot.UnsupportedError, match="not aligned"):
        ingot.jit(lambda a, x: a + x)(put(np.ones(3)), shifted)


def test_streams_are_made_on_a_device():
    def f(a, seed):
        g = np.random.default_rng(seed)
        a += g.random(3)
        k = g.integers(0, 100, dtype=np.uint32)
        for i in range(3):
            a[i] += g.normal(a[i], 0.5) + k
        h = np.random.default_rng(np.array([seed, 1]))
        return g.integers(0, 9, 5, dtype=np.uint8), h.permutation(7), g.standard_exponential(4)

    as_on_the_host(f, np.ones(3), 5)
    draw = ingot.jit(lambda a, g: a + g.random(3))
    assert draw(put(np.ones(3)), np.random.default_rng(5)).tolist() == (1 + np.random.default_rng(5).random(3)).tolist()


def test_arrays_of_numpys_may_begin_anywhere():
    x = np.arange(11, dtype="float32")[1:]
    assert ingot.jit(lambda a, x: a + x)(put(np.zeros(10, "f4")), x).tolist() == list(range(1, 11))


def test_exceptions_are_the_hosts():
    def f(a, i):
        a[0] = 1
        return a[i] + 1

    def shapes(a, b):
        return a + b

    a, x = put(np.zeros(3)), np.zeros(3)
    compiled = ingot.jit(f)
    for _ in range(2):
        with pytest.raises(IndexError) as expected:
            compiled(x, 5)
        with pytest.raises(IndexError) as got:
            compiled(a, 5)
        assert str(got.value) == str(expected.value)
        assert got.traceback[-1].lineno == expected.traceback[-1].lineno
    assert a.tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="could not be broadcast"):
        ingot.jit(shapes)(a, put(np.zeros(2)))

    @ingot.jit
    def raises(a):
        for i in range(a.shape[0]):
            if a[i] == 0:
                raise ValueError("nothing", i)
        return a

    with pytest.raises(ValueError) as error:
        raises(a)
    assert error.value.args == ("nothing", 1)


@pytest.mark.rotated(4)
def test_the_first_of_many_exceptions_is_raised():
    def raised(f, *arguments):
        with pytest.raises((ValueError, KeyError)) as error:
            ingot.jit(f)(*arguments)
        return error.value.args

    def summed(a, o, k):
        s = 0.0
        for i in ingot.prange(a.shape[0]):
            if a[i, 0] >= k:
                raise ValueError("sum", i)
            s += a[i, 0]
        return s

    def rows(a, o, k):
        for i in ingot.prange(a.shape[0]):
            s = 0.0
            for j in ingot.prange(a.shape[1]):
                if a[i, j] >= k:
                    raise ValueError("row", i, j)
                s += a[i, j]
            o[i] = s

    def elements(a, o, k):
        for i in ingot.prange(a.shape[0]):
            for j in ingot.prange(a.shape[1]):
                if a[i, j] >= k:
                    raise ValueError("element", i, j)

    def written(a, o, k):
        s = 0.0
        for i in ingot.prange(a.shape[0]):
            if o[i] < 0:
                raise ValueError("written")
            o[i] += 1
            s += a[i, 0]
        return s

    # So many rows that threads take several of them.
    many = np.zeros((66000, 70), np.int8)
    many[[10, 65545, 65540], [60, 0, 3]] = 1
    for f, a, k in [(summed, rng.random((9000, 1)), 0.5), (rows, rng.random((3, 3000)), 0.999), (elements, many, 1)]:
        o = np.zeros(len(a))
        assert raised(f, put(a), put(o), k) == raised(f, a, o, k)
        as_on_the_host(f, a, o, 2.0)
    as_on_the_host(written, rng.random((3000, 1)), np.zeros(3000), 0.0)


def test_writes_before_an_exception_are_copied_back():
    @ingot.jit
    def f(a, x):
        x[0] = 1
        return a[x.shape[0]]

    x = np.zeros(5)
    with pytest.raises(IndexError):
        f(put(np.zeros(3)), x)
    assert x[0] == 1


def test_functions_of_a_device():
    @ingot.jit(device="emulated")
    def f(x, n):
        x[0] = n
        y = x * 2
        return y, y[1:], x, x[1:], y.sum(), [y]

    x = np.arange(4.0)
    for _ in range(2):
        y, tail, whole, part, total, (again,) = f(x, 5)
        assert type(y) is np.ndarray and y.tolist() == [10, 2, 4, 6] and again is y
        assert np.shares_memory(tail, y) and tail.tolist() == [2, 4, 6]
        assert whole is x and np.shares_memory(part, x) and x[0] == 5
        assert total == 22 and type(total) is np.float64
    a = put(np.arange(4.0))
    assert type(f(a, 5)[0]) is ingot.Array and f(a, 5)[2] is a
    made = ingot.jit(lambda n: np.arange(n) * 2, device=DEVICE)(3)
    assert type(made) is np.ndarray and made.tolist() == [0, 2, 4]
    assert [s.device for s in f.specialisations] == [DEVICE] * len(f.specialisations)
    assert pickle.loads(pickle.dumps(placed))(np.ones(2)).tolist() == [2, 2]


@ingot.jit(device="emulated")
def placed(x):
    return x + 1


def test_where_functions_of_a_device_cannot_be():
    with pytest.raises(ValueError, match="leave `device` out"):
        ingot.jit(device="cpu")
    with pytest.raises(ValueError, match="the kinds of devices are gpu, emulated, opencl, amd, cpu, not 'tpu'"):
        ingot.jit(device="tpu")
    with pytest.raises(TypeError):
        ingot.jit(device=3)
    with pytest.raises(RuntimeError, match="there is no device emulated:9"):
        ingot.jit(lambda: 1, device="emulated:9")()


def test_signatures_take_arrays_of_devices():
    @ingot.jit("float64[:](float64[::1], float64)")
    def f(a, n):
        return a * n

    assert f(put(np.ones(3)), 2).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match=r"takes \(float64\[:\] on emulated:0, int\)"):
        f(put(np.ones(6))[::2], 2)


def test_lists_of_a_length_that_is_not_known():
    @ingot.jit
    def f(a):
        found = []
        for i in range(a.shape[0]):
            if a[i] > 1:
                found.append(i)
        return found

    x = np.array([0.0, 2, 3, 1, 5])
    assert f(put(x)) == f(x) == [1, 2, 4]
    assert f(put(x)) == [1, 2, 4]


def test_lists_of_arrays():
    @ingot.jit
    def f(a, n):
        found = []
        for i in range(n):
            found.append(a[i:] * 2)
        return found

    x = np.arange(4.0)
    for _ in range(2):
        parts = f(put(x), 3)
        assert [type(part) for part in parts] == [ingot.Array] * 3
        assert [part.tolist() for part in parts] == [part.tolist() for part in f(x, 3)]
    parts = ingot.jit(lambda a, n: np.array_split(a, n), device="emulated")
    for _ in range(2):
        assert [part.tolist() for part in parts(x, 2)] == [[0, 1], [2, 3]]
        assert all(np.shares_memory(part, x) for part in parts(x, 2))
    placed = ingot.jit(f.__ingot_function__, device="emulated")
    assert [(type(part), part.tolist()) for part in placed(x, 3)] == [(np.ndarray, part.tolist()) for part in f(x, 3)]


def test_derivatives():
    def f(x):
        return (x * x).sum()

    x = np.arange(3.0)
    g = ingot.grad(f)(put(x))
    assert type(g) is ingot.Array and g.tolist() == [0, 2, 4]
    value, g = ingot.value_and_grad(f)(put(x))
    assert value == 5 and g.tolist() == [0, 2, 4]
    a = put(x)
    value, pull = ingot.vjp(f, a)
    a[0] = 100
    assert value == 5 and pull(1.0)[0].tolist() == [0, 2, 4]
    with pytest.raises(ingot.UnsupportedError, match="arrays that share memory on a device"):
        ingot.vjp(lambda a, b: (a * b).sum(), a, a[1:])
    batch = ingot.vmap(lambda row: row.sum())(put(np.ones((2, 3))))
    assert type(batch) is ingot.Array and batch.tolist() == [3, 3]


def test_vectorized_functions():
    @ingot.vectorize
    def f(x, y):
        return x + y if x > y else x * y

    a, b = put(np.arange(4.0)), put(np.array([1.0, 1, 3, 1]))
    assert f(a, b).tolist() == [0, 1, 6, 4]
    assert ingot.jit(lambda a, b: f(a, b))(a, b).tolist() == [0, 1, 6, 4]
    with pytest.raises(ingot.UnsupportedError, match="the keyword `where`"):
        f(a, b, where=True)

    @ingot.vectorize
    def of_captured(x):
        return x + a[1]

    assert of_captured(np.arange(2.0)).tolist() == [1, 2]
    assert of_captured(b).tolist() == [2, 2, 4, 2]


def test_functions_as_pointers_of_c():
    pointer = placed_sum.c_pointer("float64(float64[:])")
    x = (ctypes.c_double * 3)(1, 2, 3)
    assert pointer(x, 3) == 6


@ingot.jit(device="emulated")
def placed_sum(x):
    return x.sum()


def test_what_is_the_hosts_alone(tmp_path):
    def f(a):
        return a + 1

    a = put(np.ones(3))
    with pytest.raises(ingot.UnsupportedError, match="recording a call of `f` on emulated:0"):
        ingot.jit(f).record(a, path=tmp_path)
    with pytest.raises(ingot.UnsupportedError, match="interpreting a call of `f` on emulated:0"):
        Function(f, mode="interpreted")(a)
    assert "=== assembly ===" in ingot.jit(f).explain(a)


@pytest.mark.parametrize("is_placed", [False, True])
def test_what_the_callers_containers_get(is_placed):
    def f(a, items, table):
        items[0] = items[0] + 1
        items.append(a.sum())
        made = a * 2
        table["made"] = made
        table["part"] = made[1:]
        table["argument"] = a
        made[1] = 9
        return made

    x = np.arange(3.0)
    a = x if is_placed else put(x)
    items, table = [1], {}
    for _ in range(2):
        made = ingot.jit(f, device="emulated" if is_placed else None)(a, items, table)
        assert table["argument"] is a and table["made"] is made
        assert type(table["part"]) is (np.ndarray if is_placed else ingot.Array)
        assert table["part"].tolist() == [9, 4] and made.tolist() == [0, 9, 4]
        table["part"][0] = 1
        assert made[1] == 1
    assert items == [3, 3, 3]


@pytest.mark.parametrize("is_placed", [False, True])
def test_host_functions(is_placed):
    seen = []

    @ingot.host(result="float64[:]")
    def on_the_host(a, n):
        seen.append(a)
        a[0] = 8
        return a * n

    @ingot.host(result=float)
    def changing(n):
        beside[0] += n
        return beside[1]

    beside = np.zeros(2)

    def f(a, x):
        x[1] = 5
        made = a[1:] + x[0]
        b = on_the_host(made, 2)
        c = changing(3)
        return b + c + x[0], made

    x = np.arange(3.0)
    result, made = ingot.jit(f, device="emulated" if is_placed else None)(x if is_placed else put(x), beside)
    assert result.tolist() == [16 + 5 + 3, 4 + 5 + 3] and made.tolist() == [8, 2]
    assert beside.tolist() == [3, 5]
    assert [type(a) for a in seen] == [type(made)] == [np.ndarray if is_placed else ingot.Array]


def test_threads():
    f = ingot.jit(lambda a, n: a * n + 1)
    a = put(np.arange(100.0))
    f(a, 1)
    wrong = []

    def work(n):
        for _ in range(20):
            if f(a, n).tolist() != (np.arange(100.0) * n + 1).tolist():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_that_runs_stays_when_another_thread_has_compiled_it_too():
    f = ingot.jit(lambda a: a + 1)
    f(put(np.zeros(3)))
    (specialisation,) = f.specialisations
    first = specialisation.loaded
    specialisation.loaded = type(first).load(specialisation.compile()["object"])
    assert specialisation.loaded is first


@pytest.mark.rotated(4)
def test_memory_of_results_goes_with_them():
    f = ingot.jit(lambda a: (a + 1, a[1:]))
    ingot.release_memory(DEVICE)  # what is kept may have larger blocks
    a = put(np.zeros(1 << 16))
    f(a)
    gc.collect()
    before = ingot.memory(DEVICE)["in_use"]
    result = f(a)
    assert ingot.memory(DEVICE)["in_use"] == before + (8 << 16)
    del result
    assert ingot.memory(DEVICE)["in_use"] == before
    for _ in range(10):
        f(a)
    with pytest.raises(IndexError):
        ingot.jit(lambda a: (a + 1)[a.shape[0]])(a)
    assert ingot.memory(DEVICE)["in_use"] == before


def test_memory_that_runs_out_in_a_call():
    f = ingot.jit(lambda a: a + 1.0)
    a = put(np.zeros((512, 1024)))
    f(a[:2])
    ingot.release_memory(DEVICE)
    ingot.set_memory_limit(DEVICE, ingot.memory(DEVICE)["in_use"] + (1 << 20))
    try:
        with pytest.raises(MemoryError, match=r"shape \(512, 1024\) and data type float64"):
            f(a)
        with pytest.raises(MemoryError):
            ingot.jit(lambda a, x: x + 1)(a, np.zeros(1 << 20))
    finally:
        ingot.set_memory_limit(DEVICE, 0)
    assert f(a).shape == (512, 1024)


def test_calls_that_are_known_run_no_python():
    f = ingot.jit(lambda a, b: a + b)
    a = put(np.ones(3))
    f(a, a)
    seen = []
    f._call = lambda *given: seen.append(given)
    f(a, a)
    assert not seen


def test_a_fault_of_a_kernel():
    text = """
import os
os.environ["INGOT_EMULATOR_LIMIT"] = "100000"
import ingot, numpy as np
a = ingot.device_put(np.zeros(3), "emulated")
@ingot.jit
def f(a):
    while a[0] < 1e9:
        a[0] += 1
    return a
try:
    f(a).to_host()
except ingot.DeviceError as error:
    print(type(error).__mro__[1].__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("RuntimeError"), done.stdout + done.stderr
