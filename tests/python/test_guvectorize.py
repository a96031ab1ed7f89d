"""`ingot.guvectorize`: generalised ufuncs of NumPy's, whose loops are compiled code."""

import copy
import itertools
import pickle
import subprocess
import sys
import threading

import ingot
import numpy as np
import pytest

DTYPES = "int8 uint16 int32 int64 uint64 float16 float32 float64 complex64 complex128".split()
SIGNATURES = [f"({t}[:], {t}[:])" for t in DTYPES]


@ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
def doubled(a, out):
    for i in range(len(a)):
        out[i] = 2 * a[i]


@ingot.guvectorize(["(float32[:, :], float32[:], float32[:])", "(float64[:, :], float64[:], float64[:])"], "(m,n),(n)->(m)")
def times(a, x, out):
    for i in range(a.shape[0]):
        out[i] = 0
        for j in range(a.shape[1]):
            out[i] += a[i, j] * x[j]


@ingot.guvectorize(["(float64[:], float64, float64[:])"], "(n),()->()")
def weighted(x, k, out):
    out[0] = 0
    for value in x:
        out[0] += value * k


@ingot.guvectorize(["(int64[:], int64[:], int64[:])"], "(n)->(),()")
def extremes(x, low, high):
    low[0], high[0] = min(x), max(x)


def same(got, wanted):
    assert type(got) is type(wanted)
    np.testing.assert_array_equal(got, wanted, strict=True)


def test_it_is_a_generalised_ufunc():
    assert isinstance(times.ufunc, np.ufunc) and times.ufunc.__name__ == "times"
    assert (times.nin, times.nout, times.nargs, times.ntypes) == (2, 1, 3, 2)
    assert times.types == ["ff->f", "dd->d"] and times.identity is None and times.signature == "(m,n),(n)->(m)"
    assert times.resolve_dtypes((np.dtype("f4"), np.dtype("f8"), None))[2] == np.float64


@pytest.mark.parametrize("lead", [(), (5,), (2, 3), (0,), (3, 0, 2)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_leading_axes(lead, dtype):
    rng = np.random.default_rng(1)
    a, x = rng.integers(0, 9, (*lead, 3, 4)).astype(dtype), rng.integers(0, 9, (*lead, 4)).astype(dtype)
    same(times(a, x), np.matvec(a, x) if hasattr(np, "matvec") else (a @ x[..., None])[..., 0])
    for one in (x[(0,) * len(lead)],) if x.size else ():
        same(times(a, one), a @ one)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_cores(dtype):
    @ingot.guvectorize(SIGNATURES, "(n)->(n)")
    def reversed_(x, out):
        for i in range(len(x)):
            out[i] = x[len(x) - 1 - i]

    x = np.arange(12).reshape(3, 4).astype(dtype)
    same(reversed_(x), x[:, ::-1].copy())
    swapped = x.astype(x.dtype.newbyteorder())
    same(reversed_(swapped), x[:, ::-1].copy())


LAYOUTS = {
    "contiguous": lambda x: x,
    "every second row": lambda x: np.repeat(x, 2, 0)[::2],
    "every second column": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "columns": np.asfortranarray,
    "misaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "one for all": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (5, 1), (3, 3000)])
def test_layouts_of_operands(layout, shape):
    x = LAYOUTS[layout](np.arange(float(np.prod(shape))).reshape(shape))
    same(doubled(x), 2 * np.array(x))
    out = LAYOUTS[layout](np.zeros(shape))
    if out.flags.writeable and layout != "one for all":
        assert doubled(x, out=out) is out
        same(np.array(out), 2 * np.array(x))


def test_lengths_of_1_are_broadcast_in_the_core():
    @ingot.guvectorize(["(float64[:], float64[:], float64[:], float64[:])"], "(n),(m),(k)->(k)")
    def added(a, b, c, out):
        out[:] = a + b

    a, b = np.arange(6.0).reshape(2, 3), np.arange(2.0).reshape(2, 1)
    for x, y in ((a, a), (a, b), (b, a)):
        same(added(x, y, np.zeros(3)), x + y)
    with pytest.raises(ValueError, match="shape"):
        added(a, np.ones((2, 2)), np.zeros(3))


def test_numbers_and_outputs_without_axes():
    x = np.arange(12.0).reshape(3, 4)
    same(weighted(x, 2.0), 2 * x.sum(1))
    same(weighted(x, [1.0, 2.0, 3.0]), x.sum(1) * [1, 2, 3])
    same(weighted(x[0], np.ones((2, 2))), np.full((2, 2), 6.0))
    assert type(weighted(x[0], 1)) is np.float64
    low, high = extremes(np.array([[3, 1, 2], [7, 9, 8]]))
    same(low, np.array([1, 7]))
    same(high, np.array([3, 9]))


def test_keywords_are_numpys():
    x = np.arange(24.0).reshape(2, 3, 4)
    same(doubled(x, axis=0), 2 * x)
    same(weighted(x, 1.0, axis=1), x.sum(1))
    total = ingot.guvectorize(["(float64[:], float64[:])"], "(n)->()")(lambda x, out: out.fill(np.sum(x)))
    same(total(x, keepdims=True), x.sum(2, keepdims=True))
    same(times(x, np.ones(2), axes=[(1, 0), 0, -1]), np.einsum("mnk->kn", x))
    out = np.zeros((2, 3), "f4")
    with pytest.raises(TypeError, match="casting"):
        times(x, np.ones(4), out=out, casting="safe")
    assert times(x, np.ones(4), out=out) is out
    same(out, x.sum(2).astype("f4"))
    same(times(x, np.ones(4), dtype=np.float32, casting="same_kind"), x.sum(2).astype("f4"))
    same(times(x.astype("f4"), np.ones(4, "f4"), signature="dd->d"), x.sum(2))
    with pytest.raises(TypeError, match="where"):
        doubled(x, where=x > 1)


def test_what_does_not_fit_raises_as_numpys():
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        times(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        times(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="not supported for the input types"):
        doubled(np.ones(3, complex))
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments"):
        times(np.ones((3, 4)))
    with pytest.raises(ValueError, match="read-only"):
        doubled(np.ones(3), out=np.broadcast_to(np.zeros(3), (3,)))


def test_inputs_are_converted_to_the_first_signature_that_is_safe():
    same(doubled(np.arange(3, dtype="f4")), np.arange(0, 6, 2.0))
    same(doubled([1, 2, 3]), np.array([2.0, 4.0, 6.0]))
    same(times(np.ones((2, 3), "i2"), np.ones(3, "i2")), np.full(2, 3, "f4"))


def test_outputs_of_cores_that_share_memory_with_inputs():
    x = np.arange(10.0)
    same(doubled(x[:-1], out=x[1:]), 2 * np.arange(9.0))

    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def reversed_(x, out):
        for i in range(len(x)):
            out[i] = x[len(x) - 1 - i]

    for of, n in ((reversed_, 4), (reversed_, 50), (reversed_.ufunc, 50), (reversed_.ufunc, 3000)):
        x = np.arange(float(n))
        same(of(x, out=x), np.arange(float(n))[::-1].copy())
        x = np.arange(2.0 * n).reshape(2, n)
        of(x, x)
        same(x, np.arange(2.0 * n).reshape(2, n)[:, ::-1].copy())
        x = np.arange(2.0 * n).reshape(n, 2).T  # rows with gaps
        of(x, out=x)
        same(x, np.arange(2.0 * n).reshape(n, 2).T[:, ::-1])
        x = np.arange(4.0 * n)[::-2]
        of(x, out=x)
        same(x, np.arange(4.0 * n)[::-2][::-1].copy())
        x = np.arange(float(n + 1))
        of(x[1:], out=x[:-1])
        same(x[:-1].copy(), np.arange(1.0, n + 1)[::-1].copy())

    def both(a, b, plus, minus):
        for i in range(len(a)):
            plus[i] = a[i] + b[i]
            minus[i] = a[i] - b[i]

    for signatures in ((), (["(float64[:], float64[:], float64[:], float64[:])"],)):
        of = ingot.guvectorize(*signatures, "(n),(n)->(n),(n)")(both)
        u, v = np.array([1.0, 2.0]), np.array([10.0, 20.0])
        of(u, v, u, v)
        assert (u.tolist(), v.tolist()) == ([11.0, 22.0], [-9.0, -18.0])


@pytest.mark.parametrize("signatures", [["(float64[:], float64[:])"], None])
def test_outputs_by_axes_that_share_memory_with_inputs(signatures):
    def reversed_(x, out):
        for i in range(len(x)):
            out[i] = x[len(x) - 1 - i]

    f = ingot.guvectorize(signatures, "(n)->(n)")(reversed_) if signatures else ingot.guvectorize("(n)->(n)")(reversed_)
    for axes in itertools.product(range(3), repeat=2):
        x = np.arange(27.0).reshape(3, 3, 3)
        expected = np.moveaxis(np.flip(np.moveaxis(x, axes[0], -1), -1), -1, axes[1]).copy()
        for call in (lambda y: f(y, out=y, axes=list(axes)), lambda y: f(y, y, axes=list(axes)), lambda y: f(y, out=(y,), axes=list(axes))):
            y = x.copy()
            call(y)
            same(y, expected)
    x = np.arange(27.0).reshape(3, 3, 3)
    f(x, out=x, axis=0)
    same(x, np.arange(27.0).reshape(3, 3, 3)[::-1].copy())


def test_outputs_of_other_cores_that_share_memory_with_inputs():
    @ingot.guvectorize(["(float64[:], float64, float64[:])"], "(n),()->()")
    def add(x, y, out):
        out[0] = x.sum() + y

    for shape in ((5,), (3, 3, 3)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        expected = x.sum(axis=-1) + x
        add(x, x, out=x)
        same(x, expected)


def test_outputs_without_axes_that_share_memory_with_inputs():
    @ingot.guvectorize(["(float64[:], float64[:], float64[:])"], "(),()->()")
    def late(x, y, out):  # reads its inputs when it has written
        out[0] = 1
        out[0] = x[0] + 10 * y[0]

    for of in (late, late.ufunc):
        x, y = np.arange(6.0), np.arange(6.0) + 1
        same(of(x, y, out=x), np.arange(6.0) * 11 + 10)
        same(of(y, y, y), (np.arange(6.0) + 1) * 11)
        x = np.arange(12.0).reshape(3, 4)
        of(x[:, ::-2], 1.0, out=x[:, ::-2])
        same(x, np.where(np.arange(4) % 2, np.arange(12.0).reshape(3, 4) + 10, np.arange(12.0).reshape(3, 4)))
        x = np.arange(7.0)
        of(x[:-1], x[1:], out=x[1:])
        same(x, np.array([0.0, *(np.arange(6.0) + 10 * np.arange(1.0, 7.0))]))


def test_the_core_may_not_write_into_inputs():
    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def spoils(x, out):
        x[0] = 1
        out[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        spoils(np.zeros(3))


def test_lengths_that_are_numbers():
    @ingot.guvectorize(["(float64[:], float64[:], float64[:])"], "(3),(3)->(3)")
    def cross(a, b, out):
        for i in range(3):
            out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]

    a, b = np.random.default_rng(0).normal(size=(2, 5, 3))
    same(cross(a, b), np.stack([a[:, (i + 1) % 3] * b[:, (i + 2) % 3] - a[:, (i + 2) % 3] * b[:, (i + 1) % 3] for i in range(3)], 1))
    with pytest.raises(ValueError, match="core dimension"):
        cross(np.ones(2), np.ones(2))

    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(2)")
    def ends(x, out):
        out[0], out[1] = x[0], x[-1]

    same(ends(np.arange(6.0).reshape(2, 3)), np.array([[0.0, 2.0], [3.0, 5.0]]))


@pytest.mark.rotated(4)
def test_a_core_of_five_axes_and_no_more():
    @ingot.guvectorize(["(float64[:,:,:,:,:], float64[:])"], "(a,b,c,d,e)->(e)")
    def total(x, out):
        out[:] = x.sum(axis=0).sum(axis=0).sum(axis=0).sum(axis=0)

    x = np.arange(2 * 3 * 32.0).reshape(2, 3, 2, 2, 2, 4)
    same(total(x), x.sum(axis=(1, 2, 3, 4)))
    same(total(x[..., ::2]), x[..., ::2].sum(axis=(1, 2, 3, 4)))
    with pytest.raises(TypeError, match="more than 5 axes: join some"):
        ingot.guvectorize(["(float64[:,:,:,:,:,:], float64[:])"], "(a,b,c,d,e,f)->(a)")(lambda x, out: None)


def test_lengths_that_only_outputs_have():
    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(m)")
    def spread(x, out):
        for i in range(len(out)):
            out[i] = x[i % len(x)]

    with pytest.raises(ValueError, match="core dimension"):
        spread(np.ones(2))
    same(spread(np.arange(2.0), np.zeros(5)), np.array([0.0, 1, 0, 1, 0]))


def test_exceptions_of_cores_leave_the_call():
    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->()")
    def first(x, out):
        if x[0] < 0:
            raise ValueError(f"below zero: {x[0]}")
        out[0] = x[len(x)] if x[0] == 7 else x[0]

    same(first(np.ones((3, 2))), np.ones(3))
    with pytest.raises(ValueError, match="below zero: -1.0") as error:
        first(np.array([[1.0], [-1.0]]))
    assert [entry.name for entry in error.traceback][-1] == "first"
    with pytest.raises(IndexError, match="index 1 is out of bounds"):
        first(np.array([[1.0], [7.0]]))


scale = 2.0


def test_what_cores_read_outside_is_guarded():
    global scale

    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def scaled(x, out):
        out[:] = x * scale

    x = np.arange(6.0).reshape(2, 3)
    for scale in (2.0, 3.0, 5.0, 7.0):
        same(scaled(x), x * scale)


def test_arrays_outside_are_read_and_python_is_called():
    table, seen = np.array([10.0, 20.0]), []
    note = ingot.host(lambda n: seen.append(n), result=None)

    @ingot.guvectorize(["(int64[:], float64[:])"], "(n)->(n)")
    def looked_up(x, out):
        for i in range(len(x)):
            out[i] = table[x[i]]
        note(len(x))

    same(looked_up(np.array([[0, 1], [1, 1]])), np.array([[10.0, 20.0], [20.0, 20.0]]))
    table[1] = 5.0
    same(looked_up(np.array([1, 1])), np.array([5.0, 5.0]))
    assert seen == [2, 2, 2]


def test_without_outputs_it_writes_into_arguments():
    @ingot.guvectorize(["(float64[:], float64[:])"], "(n),(n)")
    def swap(p, q):
        for i in range(len(p)):
            p[i], q[i] = q[i], p[i]

    for lead in ((), (2,), (2, 3), (0,), (2, 1, 2, 1, 2)):
        p, q = np.full((*lead, 4), 1.0), np.full((*lead, 4), 2.0)
        assert swap(p, q) is None
        assert (p == 2).all() and (q == 1).all()
    wide = np.zeros((2, 8))
    swap(wide[:, ::2], np.ones((2, 4)))
    assert wide.sum() == 8
    with pytest.raises(ValueError, match="read-only"):
        swap(np.ones((2, 4)), np.zeros(4))
    with pytest.raises(TypeError, match="no signature of `swap`"):
        swap(np.ones(4, "f4"), np.ones(4, "f4"))
    with pytest.raises(ValueError, match="the axis n has lengths"):
        swap(np.ones(4), np.ones(3))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        swap(np.ones(4))


def test_without_signatures_the_arguments_decide_the_dtypes():
    @ingot.guvectorize("(n),()->(n)")
    def plus(x, k, out):
        for i in range(len(x)):
            out[i] = x[i] + k

    for dtype in ("f8", "i4", "c8"):
        x, out = np.arange(6).reshape(2, 3).astype(dtype), np.zeros((2, 3), dtype)
        assert plus(x, 2, out) is out
        same(out, x + x.dtype.type(2))
        assert plus(x, x[:, 0].copy(), out=out) is out
        same(out, x + x[:, :1])
    with pytest.raises(TypeError, match="has no signatures: it takes 3 arguments, with arrays for the outputs, 2 given"):
        plus(np.ones(3), 1.0)
    with pytest.raises(TypeError, match="arrays of numbers"):
        plus(np.array(["a"]), 1.0, np.zeros(1))
    for wrong in ("(n),(n)", ["(n)->(n)"]):
        with pytest.raises(TypeError, match="layout"):
            ingot.guvectorize(wrong)(lambda x, y: None)


@pytest.mark.parametrize(
    "signature, layout, words",
    [
        ("(float64[:], float64)", "(n)->()", r"an output is written into: float64 in the signature .* is float64\[:\]"),
        ("(float64[:], float64[:])", "(m,n)->(n)", "they differ in axes"),
        ("(float64, float64[:])", "(n)->(n)", "they differ in axes"),
        ("(float64[:],)", "(n)->(n)", "differ in length"),
        ("(float64[:], float64[:], float64[:])", "(n),(n)->(n)", "has 3 arguments"),
    ],
)
def test_signatures_that_do_not_fit_the_layout(signature, layout, words):
    with pytest.raises(TypeError, match=words):
        ingot.guvectorize(signature, layout)(lambda x, out: None)


class Marked:
    """Takes ufuncs over, as arrays of Dask do."""

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return ufunc, method, len(inputs), sorted(keywords)


def test_arguments_may_take_the_call_over():
    assert doubled(Marked(), out=Marked()) == (doubled.ufunc, "__call__", 1, ["out"])
    assert times(np.ones((2, 2)), Marked())[2] == 2


def test_it_is_pickled_and_copied():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.deepcopy(doubled) is doubled is copy.copy(doubled)
    assert pickle.loads(pickle.dumps(doubled.ufunc)) is doubled.ufunc
    assert pickle.loads(pickle.dumps(np.add)) is np.add
    cloudpickle = pytest.importorskip("cloudpickle")
    factor = 3.0

    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)", fastmath="contract")
    def local(x, out):
        out[:] = x * factor

    again = pickle.loads(cloudpickle.dumps(local))
    same(again(np.ones((2, 3))), np.full((2, 3), 3.0))
    assert again._relaxed == ("contract",) and again.signatures == local.signatures


@pytest.mark.rotated(3)
def test_functions_of_main_travel_to_other_processes(tmp_path):
    pytest.importorskip("cloudpickle")
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, cloudpickle, ingot, pickle, numpy as np\n"
        "@ingot.guvectorize('(float64[:], float64[:])', '(n)->(n)')\n"
        "def f(x, out):\n    out[:] = x + 1\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(f, [np.zeros(2)]))\n"
        "    open('f.pickle', 'wb').write(cloudpickle.dumps((f, f.ufunc)))\n"
    )
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[array([1., 1.])]\n", done.stderr
    reader = "import pickle, numpy as np; f, u = pickle.load(open('f.pickle', 'rb')); print(f(np.ones(2)), u is f.ufunc)"
    done = subprocess.run([sys.executable, "-c", reader], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2. 2.] True\n", done.stderr


def test_threads_call_it_at_once():
    x = np.arange(40_000.0).reshape(-1, 8)
    wrong = []

    def work():
        for _ in range(20):
            if not (doubled(x) == 2 * x).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_function_that_is_not_compiled_is_refused_where_it_asks_for_it():
    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def bad(x, out):
        out[:] = [eval("1") for _ in x]

    with pytest.raises(ingot.UnsupportedError, match="eval") as error:
        bad(np.ones(3))
    assert 'eval("1")' in str(error.value)


def test_arrays_on_devices_are_refused():
    with pytest.raises(ingot.UnsupportedError, match='target="cuda"'):
        doubled(ingot.device_put(np.ones(3), "emulated"))


@ingot.guvectorize(["void(float64[:], float64[:], float64[:])", "void(int64[:], int64[:], int64[:])"], "(n)->(),()")
def ends(x, first, last):
    first[0], last[0] = x[0], x[-1]


@ingot.guvectorize(["void(float32[:], float32, float32[:])", "void(float64[:], float64, float64[:])"], "(n),()->(n)")
def raised(x, by, out):
    for i in range(len(x)):
        out[i] = x[i] + by


@ingot.guvectorize("(n),()->(n)")
def raised_in_place(x, by, out):
    for i in range(len(x)):
        out[i] = x[i] + by


@ingot.guvectorize("void(float64[:, :], float64[:, :], float64[:, :])", "(m,n),(n,p)->(m,p)")
def matmul(a, b, c):
    c[:] = a @ b


GRID = np.arange(12.0).reshape(3, 4)
CALLS = [
    (lambda x: raised(x, 2), (GRID,)),
    (lambda x: raised(x, np.arange(3.0)), (GRID,)),
    (lambda x, y: raised(x, y), (GRID[0], np.arange(3.0))),
    (lambda x: raised(x, 1.5), (GRID.astype(np.float32),)),
    (lambda x: raised(x, 1), (GRID.astype(np.int32).T,)),
    (lambda x: ends(x), (GRID,)),
    (lambda x: ends(x), (GRID[0],)),
    (lambda x: ends(x), (GRID.astype(int),)),
    (lambda x: ends(x)[1], (GRID.reshape(2, 3, 2),)),
    (lambda a, b: matmul(a, b), (np.arange(24.0).reshape(2, 3, 4), GRID.reshape(4, 3))),
    (lambda x, out: raised(x, 1.0, out), (GRID, np.zeros((3, 4)))),
    (lambda x, out: raised(x, 1.0, out=out), (GRID, np.zeros((3, 4), np.float32))),
    (lambda x: raised(x, 1.0, out=x), (GRID.copy(),)),
    (lambda x, out: raised_in_place(x, 2, out), (GRID, np.zeros((3, 4)))),
    (lambda x: raised(x, 1.0), (np.zeros((0, 4)),)),
]


@pytest.mark.parametrize("function, args", CALLS, ids=range(len(CALLS)))
def test_calls_in_compiled_functions(function, args):
    given = [x.copy() for x in args]
    found, expected = ingot.jit(function)(*args), function(*given)
    for x, y in zip(found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,)):
        assert type(x) is type(y) and x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    for x, y in zip(args, given):
        np.testing.assert_array_equal(x, y)


@ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def added(x, out):
    for i in range(len(x)):
        out[i] += x[i]


@ingot.guvectorize("(n)->(n)")
def added_in_place(x, out):
    for i in range(len(x)):
        out[i] += x[i]


@ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def first_only(x, out):
    out[0] = x[0]


@ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def first_if_positive(x, out):
    if x[0] > 0:
        out[0] = x[0]


@pytest.mark.parametrize(
    "function, x, out, expected",
    [
        (added, np.arange(3.0), np.full(3, 100.0), [100.0, 101.0, 102.0]),
        (added_in_place, np.arange(3.0), np.full(3, 100.0), [100.0, 101.0, 102.0]),
        (added, np.arange(3.0), np.full(3, 100.0, np.float32), [100.0, 101.0, 102.0]),
        (added, GRID, np.full((3, 4), 100.0), (GRID + 100).tolist()),
        (first_only, GRID, np.full((3, 4), 7.0), [[0.0, 7.0, 7.0, 7.0], [4.0, 7.0, 7.0, 7.0], [8.0, 7.0, 7.0, 7.0]]),
        (first_if_positive, GRID, np.full(3, 7.0), [7.0, 4.0, 8.0]),
    ],
    ids=range(6),
)
def test_outputs_keep_what_the_function_does_not_write_in_compiled_functions(function, x, out, expected):
    for call in (lambda x, out: function(x, out), lambda x, out: function(x, out=out)):
        given = out.copy()
        assert ingot.jit(call)(x, given).tolist() == given.tolist() == expected
        if out.dtype == x.dtype:
            assert call(x, out.copy()).tolist() == expected


def test_derivatives_and_batches_of_calls():
    np.testing.assert_array_equal(ingot.grad(lambda x: (ends(x)[1] ** 2).sum())(GRID)[:, 3], 2 * GRID[:, 3])
    np.testing.assert_array_equal(ingot.vmap(lambda x: raised(x, 1.0))(GRID), GRID + 1)


def test_wrong_calls_in_compiled_functions():
    for function, error, words in (
        (lambda x: raised(x), TypeError, "takes from 2 to 3 positional arguments but 1 were given"),
        (lambda x: raised_in_place(x, 2), TypeError, "takes 2 arguments"),
        (lambda x: raised(x * 1j, 2), TypeError, "not supported for the input types"),
        (lambda x: matmul(x, x), ValueError, "core dimension"),
        (lambda x: matmul(x[0], x), ValueError, "enough dimensions"),
        (lambda x: raised(x, 1.0, out=x[:2]), ValueError, "another shape"),
        (lambda x: raised(x, 1.0, out=x.astype(np.int64)), TypeError, "Cannot cast ufunc 'raised' output from"),
        (lambda x: ends(x, where=True), ingot.UnsupportedError, "the keyword `where`"),
    ):
        with pytest.raises(error, match=words):
            ingot.jit(function)(GRID)


@ingot.guvectorize(
    ["void(float32[:], float32[:], float32[:])", "void(float64[:], float64[:], float64[:])", "void(int64[:], int64[:], int64[:])"], "(n),(n)->()"
)
def vecdot(x, y, out):
    out[0] = 0
    for i in range(len(x)):
        out[0] += x[i] * y[i]


@ingot.guvectorize(["void(float64[:, :], float64[:])"], "(m,n)->()")
def corner(x, out):
    out[0] = x[0, 0] + 10 * x[-1, -1]


CUBE = np.arange(24.0).reshape(2, 3, 4)
KEYWORDS = [
    lambda x: vecdot(x, x, axis=1),
    lambda x: vecdot(x, x, axis=-3),
    lambda x: vecdot(x, x[0, 0], axes=[-1, 0]),
    lambda x: vecdot(x, x.transpose(1, 0, 2), axes=[1, (0,)]),
    lambda x: vecdot(x, x, axes=[1, 1, ()]),
    lambda x: vecdot(x, x, keepdims=True),
    lambda x: vecdot(x, x, axis=1, keepdims=True),
    lambda x: vecdot(x, x, axes=[1, 1], keepdims=True),
    lambda x: vecdot(x, x, axes=[1, 1, 0], keepdims=True),
    lambda x: vecdot(x, x, dtype=np.float32),
    lambda x: vecdot(x, x, dtype="i8", casting="unsafe"),
    lambda x: vecdot(x.astype(np.int16), x[0], dtype=float),
    lambda x: raised(x.astype(np.int16), 2, dtype=float),
    lambda x: vecdot(x, x, casting="no"),
    lambda x: vecdot(x, x, out=np.zeros((2, 3), np.int32), casting="unsafe"),
    lambda x: vecdot(x, x, out=(np.zeros((2, 3)),), axis=2),
    lambda x: vecdot(x, x, out=np.zeros((2, 1, 4)), axis=1, keepdims=True),
    lambda x: vecdot(x[0], x[0], out=np.zeros((5, 3))),
    lambda x: vecdot(x, x, out=None, dtype=None),
    lambda x: corner(x, axes=[(0, 1)]),
    lambda x: corner(x, axes=[(2, 0)], keepdims=True),
    lambda x: corner(x, keepdims=True),
    lambda x: corner(x, axes=[(0, 2), (0, 1)], keepdims=True),
    lambda x: matmul(x, x, axes=[(0, 1), (1, 0), (0, 1)]),
    lambda x: matmul(x, x.transpose(0, 2, 1), axes=[(1, 2), (1, 2), (0, 2)]),
    lambda x: matmul(x[0], x[0].T, out=np.zeros((3, 3)).T, axes=[(0, 1), (0, 1), (1, 0)]),
    lambda x: ends(x, axis=0),
    lambda x: ends(x, axis=1, keepdims=True),
    lambda x: ends(x, out=(None, np.zeros((2, 3))))[0],
    lambda x: raised(x, 2.0, axis=1),
    lambda x: raised(x, np.arange(8.0).reshape(2, 4), axis=1),
    lambda x: raised(x, 2.0, axes=[0, (), 2]),
]


@pytest.mark.parametrize("number", range(len(KEYWORDS)))
def test_keywords_in_compiled_functions(number):
    found, expected = ingot.jit(KEYWORDS[number])(CUBE), KEYWORDS[number](CUBE)
    for x, y in zip(found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert type(x) is type(y) and x.dtype == y.dtype
        np.testing.assert_array_equal(x, y, strict=True)


def test_outputs_in_compiled_functions_are_those_given():
    out = np.zeros((2, 1, 4))
    assert ingot.jit(lambda x, out: vecdot(x, x, out=out, axis=1, keepdims=True))(CUBE, out) is out
    np.testing.assert_array_equal(out, (CUBE * CUBE).sum(1, keepdims=True))
    out = np.full((3, 2, 4), -1.0)
    ingot.jit(lambda x, out: raised(x, 1.0, out=out.transpose(1, 0, 2), axes=[1, (), 1]))(CUBE, out)
    np.testing.assert_array_equal(out.transpose(1, 0, 2), CUBE + 1)


WRONG = [
    lambda x: vecdot(x, x, axis=5),
    lambda x: vecdot(x, x, axes=(1, 1)),
    lambda x: vecdot(x, x, axes=[1]),
    lambda x: vecdot(x, x, axes=[(1, 2), 1]),
    lambda x: vecdot(x, x, axes=[1, 1, 1]),
    lambda x: vecdot(x, x, axes=[7, 1]),
    lambda x: vecdot(x, x, axis=0, axes=[1, 1]),
    lambda x: vecdot(x, x, keepdims=2),
    lambda x: vecdot(x, x, casting="foo"),
    lambda x: vecdot(x, x, dtype=np.int32),
    lambda x: vecdot(x, x, dtype=np.int64),
    lambda x: vecdot(x.astype(np.int16), x, casting="no"),
    lambda x: vecdot(x * 1j, x),
    lambda x: vecdot(x, x, out=np.zeros((2, 3), np.int32)),
    lambda x: vecdot(x, x, out=np.zeros((2, 3), np.float32), casting="safe"),
    lambda x: vecdot(x, x, out=[np.zeros((2, 3))]),
    lambda x: vecdot(x, x, out=3.0),
    lambda x: vecdot(x, x, out=()),
    lambda x: vecdot(x, x, np.zeros((2, 3)), out=np.zeros((2, 3))),
    lambda x: matmul(x, x, axis=1),
    lambda x: matmul(x, x, axes=[(0, 0), (0, 1), (0, 1)]),
    lambda x: matmul(x, x, axes=[(0, 1), (0, 1)]),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_keywords_in_compiled_functions_raise_as_numpys(number):
    with pytest.raises((TypeError, ValueError)) as expected:
        WRONG[number](CUBE)
    with pytest.raises((TypeError, ValueError)) as found:
        ingot.jit(WRONG[number])(CUBE)
    assert isinstance(expected.value, type(found.value))
    assert str(found.value) == str(expected.value)


def test_keywords_in_compiled_functions_that_differ_in_words():
    """NumPy's messages have what is not known when compiling."""
    for function, error, words in (
        (lambda x: matmul(x, x.transpose(0, 2, 1), keepdims=True), TypeError, "matmul does not support keepdims: its signature"),
        (lambda x: vecdot(x, x, out=np.zeros((2, 4)), axis=1, keepdims=True), ValueError, "another shape"),
        (lambda x: vecdot(x, x, axis=1.0), TypeError, "cannot be interpreted as an integer"),
        (lambda x: vecdot(x, x, casting=None), TypeError, "casting must be str"),
    ):
        with pytest.raises(error):
            function(CUBE)
        with pytest.raises(error, match=words):
            ingot.jit(function)(CUBE)
    with pytest.raises(ingot.UnsupportedError, match="an axis of a generalised ufunc that is not known"):
        ingot.jit(lambda x, k: vecdot(x, x, axis=k))(CUBE, 1)


def test_arguments_that_numpy_refuses_in_compiled_code():
    @ingot.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
    def same_(x, out):
        out[:] = x

    @ingot.guvectorize(["(float64[:], float64[:], float64[:])"], "(n)->(n),(n)")
    def both(x, a, b):
        a[:], b[:] = x, -x

    @ingot.guvectorize(["(float64[:,:], float64[:], float64[:])"], "(m,n),()->(m)")
    def rows(x, y, out):
        out[:] = x[:, 0] * y

    @ingot.guvectorize("(n)->(n)")
    def any_dtype(x, out):
        out[:] = x

    x = np.arange(6.0).reshape(2, 3)
    calls = [
        lambda x: same_(x, axis=()),
        lambda x: same_(x, axes=()),
        lambda x: same_(x, axes=None),
        lambda x: same_(),
        lambda x: same_(x, x, x),
        lambda x: both(x, out=None),
        lambda x: both(x, out=x.copy()),
        lambda x: both(x, out=[x.copy(), x.copy()]),
        lambda x: rows(x, 1.0, axes=[(0, 1), None, 0]),
        lambda x: rows(x, 1.0, axes=[(1, -1), (), 0]),
        lambda x: any_dtype(x, x.copy(), dtype=float),
    ]
    words = [
        "tuple|integer",
        "list",
        "list",
        "takes from 1 to 2",
        "takes from 1 to 2",
        *["'out' must be a tuple of arrays"] * 3,
        "axes item 1 should be a tuple",
    ]
    words += ["axes item 0 has value 1 repeated", "cannot specify both 'signature' and 'dtype'"]
    for call, word in zip(calls, words, strict=True):
        with pytest.raises((TypeError, ValueError), match=word) as interpreted:
            call(x)
        with pytest.raises(interpreted.type, match=word):
            ingot.jit(call)(x)
    same(ingot.jit(lambda x: same_(x, out=None))(x), x)
