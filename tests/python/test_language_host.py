"""Calls out of compiled code - ingot.host, ctypes - and into it as C pointers."""

import contextlib
import ctypes
import ctypes.util
import io
import pickle
import re
import subprocess
import sys
import types

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, refused

X = np.arange(4.0)
SEEN = []


def plain(x, y):
    SEEN.append((x, y))
    return x * 10 + y


as_float = ingot.host(plain, result=float)
as_float64 = ingot.host(plain, result="float64")
as_int = ingot.host(plain, result="int")


@ingot.host(result="float64[:]")
def doubled(x):
    return x * 2


@ingot.host(result="int64[:, :]")
def table(n):
    return np.arange(n * 2).reshape(n, 2)


@ingot.host(result=None)
def noted(*values):
    SEEN.append(values)


@ingot.host(result=None)
def filled(x, value):
    x[:] = value


@ingot.host(result=float)
def fails(x):
    if x > 2:
        raise LookupError("too large", x)
    return x


@ingot.host(result=float)
def misdeclared(x):
    return "text"


def in_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        s += as_float(x[i], i) * 2
    return s


def arrays(x, n):
    y = doubled(x)
    y[0] = 100.0
    return y, doubled(doubled(x)[1:]), table(n).sum(axis=0), table(n).shape


def effects(x, text):
    x[0] = 5.0
    noted(x.copy(), text, None, (1, 2.5))
    filled(x, x[0] + 1)
    y = np.zeros(3)
    filled(y, 7.0)
    x[1] = 8.0
    return x, y.sum()


def test_results_have_the_declared_types():
    with pytest.raises(TypeError, match="plain.. returned a float, not int"):
        as_int(1.5, 1)
    check(lambda x, n: (as_float(x, n), as_float64(x, n), as_int(n, n)), 1.5, 3)
    check(in_a_loop, X)
    assert type(ingot.jit(lambda: as_float64(1.0, 2))()) is np.float64


def test_arrays_are_passed_and_returned():
    check(arrays, X, 3)
    check(effects, X, "text")


def test_calls_are_in_the_order_of_the_program():
    def f(x):
        print("a")
        noted(x)
        print("b", x)
        return as_float(x, 1)

    SEEN.clear()
    check(f, 2.0)
    assert SEEN == [(2.0,), (2.0, 1)] * 4  # compiled code is called twice


@pytest.mark.parametrize("mode", MODES)
def test_exceptions_leave_compiled_code(mode):
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += fails(x[i])
        return s

    compiled = jitted(f, mode)
    assert compiled(X[:3]) == 3.0
    with pytest.raises(LookupError, match="too large") as caught:
        compiled(X)
    names = [entry.name for entry in caught.traceback]
    assert names[1] == "f" and names[-1] == "fails"
    with pytest.raises(TypeError, match="misdeclared.. returned a str, not float"):
        jitted(lambda x: misdeclared(x), mode)(1.0)


def test_another_function_under_the_name_is_called():
    space = {"h": ingot.host(lambda x: x + 1, result=float)}
    exec(compile("def f(x):\n    return h(x)\n", __file__, "exec"), space)
    space["f"].__ingot_source__ = "def f(x):\n    return h(x)\n"
    compiled = ingot.jit(space["f"])
    assert compiled(1.0) == 2.0
    space["h"] = ingot.host(lambda x: x + 10, result="int")
    assert compiled(1) == 11 and type(compiled(1)) is int


def test_memory_of_results_is_given_back():
    def f(n):
        s = 0.0
        for i in range(n):
            s += as_float64(1.0, i)
        return s

    compiled = ingot.jit(f)
    compiled(10)
    SEEN.clear()
    before = ingot.memory()["in_use"]
    compiled(20000)
    SEEN.clear()
    assert ingot.memory()["in_use"] <= before + 2**16


def test_what_host_functions_do_not_take_is_refused():
    def parallel(x):
        for i in ingot.prange(len(x)):
            x[i] = as_float64(x[i], i)
        return x

    def caught(x):
        try:
            return fails(x)
        except LookupError:
            return 0.0

    refused(parallel, X, words="prange loop whose iterations may depend on each other")
    refused(caught, 1.0, words="a call of a host function inside a `try`")
    refused(lambda x: noted([x]), 1.0, words="a list as an argument of a host function")
    refused(lambda x: as_float(x=x, y=1), 1.0, words="a keyword of a host function")
    with pytest.raises(TypeError, match="the result of a host function is a type"):
        ingot.host(plain, result=3)


libm = ctypes.CDLL(ctypes.util.find_library("m"))
cosh = libm.cosh
cosh.argtypes, cosh.restype = [ctypes.c_double], ctypes.c_double
ldexp = libm.ldexp
ldexp.argtypes, ldexp.restype = [ctypes.c_double, ctypes.c_int], ctypes.c_double
untyped = libm.sinh


def test_functions_of_ctypes_are_called():
    check(lambda x, n: (cosh(x), ldexp(x, n)), 1.5, 3)
    check(lambda x: np.array([cosh(v) for v in x]), X)
    refused(lambda x: untyped(x), 1.0, words="`untyped`, a _FuncPtr from outside the function,")


def test_compiled_functions_are_c_pointers():
    @ingot.jit
    def f(x, n):
        return x * n + 0.5

    pointer = f.c_pointer("float64(float64, int32)")
    assert pointer(1.5, 2) == 3.5
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    again = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int32)(address)
    assert again(2.0, 3) == 6.5

    @ingot.jit
    def order(a, b):
        return np.int32(a) - np.int32(b)

    assert order.c_pointer("int32(int32, int32)")(7, 4) == 3
    for wrong in ("float64(complex128)", "float64(float64[n] x)", "float64[:](float64)", "float64(void*[3] x)"):
        with pytest.raises(TypeError, match="numbers of C's"):
            f.c_pointer(wrong)


def test_arrays_are_passed_by_pointers():
    @ingot.jit
    def f(x, y):
        x[0] = y
        return x.sum()

    data = np.arange(6.0)
    address = data.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    assert f.c_pointer("float64(float64[:], float32)")(address, 6, 1.5) == 16.5 and data[0] == 1.5
    assert f.c_pointer("float64(float64[:, :], float64)")(address, 2, 2, 0.5) == 6.0
    named = f.c_pointer("float64(int16 n, float64 y, float64[n, 2] x, void* user)")
    assert named(3, 2.5, address, None) == 19.0
    assert f.c_pointer("float64(float64[3] x, float64 y)")(address, 0.0) == 4.5
    assert f.c_pointer("void(float64[:], float64)")(address, 1, 9.0) is None and data[0] == 9.0
    with pytest.raises(TypeError, match="all parameters"):
        f.c_pointer("float64(float64[2] x, float64)")

    @ingot.jit
    def many(a, b, c, d, e, f, g, h, i, j):
        return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10

    numbers = list(range(1, 11))
    wanted = sum(k * k for k in numbers)
    for kind in ("float64", "int64", "float32", "int32"):
        assert many.c_pointer(f"float64({', '.join([kind] * 10)})")(*numbers) == wanted
    mixed = ", ".join(["float64", "int8"] * 5)
    assert many.c_pointer(f"int64({mixed})")(*numbers) == wanted
    assert ingot.jit(lambda x: x > 1).c_pointer("bool(float32)")(2.0) is True
    assert ingot.jit(lambda x: -x).c_pointer("int8(int8)")(5) == -5
    assert ingot.jit(lambda x: x / 3).c_pointer("float32(float32)")(1.0) == np.float32(1) / np.float32(3)


def test_what_a_c_pointer_raises_is_shown(monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)
    pointer = ingot.jit(lambda x: [1.0, 2.0][int(x)]).c_pointer("float64(float64)")
    assert pointer(1.0) == 2.0 and pointer(7.0) == 0.0
    assert [type(each.exc_value) for each in shown] == [IndexError]


def test_compiled_functions_are_integrated_by_scipy():
    scipy = pytest.importorskip("scipy")
    integrate = pytest.importorskip("scipy.integrate")

    @ingot.jit
    def f(x):
        return np.exp(-x) * x

    callable = scipy.LowLevelCallable(f.c_pointer("float64(float64)"))
    assert abs(integrate.quad(callable, 0, 50)[0] - 1.0) < 1e-8

    @ingot.jit
    def g(xx):
        return xx[0] * xx[1]

    callable = scipy.LowLevelCallable(g.c_pointer("float64(int32 n, float64[n] xx)"))
    assert abs(integrate.quad(callable, 0, 2, args=(3.0,))[0] - 6.0) < 1e-12
    ndimage = pytest.importorskip("scipy.ndimage")

    @ingot.jit
    def middle(buffer, result):
        result[0] = np.median(buffer)
        return 1

    filtering = middle.c_pointer("int32(float64[n] buffer, int64 n, float64[1] result, void* data)")
    image = np.random.default_rng(0).random((6, 7))
    assert np.array_equal(ndimage.generic_filter(image, scipy.LowLevelCallable(filtering), 3), ndimage.median_filter(image, 3))


def test_a_host_function_works_in_threads(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import threading, ingot\n"
        "@ingot.host(result='float64[:]')\n"
        "def g(x):\n    return x + 1\n"
        "@ingot.jit\n"
        "def f(x):\n    s = 0.0\n    for i in range(200):\n        s += g(x)[0]\n    return s\n"
        "import numpy as np\n"
        "results = []\n"
        "def run(k):\n    results.append((k, f(np.full(3, float(k)))))\n"
        "threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(sorted(results) == [(k, 200.0 * (k + 1)) for k in range(4)])\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


def printed_twice(x):
    r = x / 1
    r[1] = 2
    print(1, r)
    r[1] = 3
    print(1, r)
    return r


def test_what_is_printed_is_as_it_is_now():
    check(printed_twice, np.ones(3))


def test_classes_whose_text_is_in_no_file():
    space = {}
    exec("class Point:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, o):\n        return True", space)
    point = space["Point"]
    check(lambda x: point(x).x, 1.5)
    check(lambda p: p == 1, point(1.5))


def _changed(act, pure=False, result=None):
    """A host function, and what compiled code has read and reads again: `act` is given what is outside."""
    space = {"np": np, "number": 1.5, "items": [1, 2], "names": {"a": 1}, "grid": np.zeros(3), "state": types.SimpleNamespace(n=1)}
    exec("class Point:\n    def __init__(self): self.x = 1.0\n", space)
    space["point"] = space["Point"]()
    space["step"] = ingot.host(lambda: act(space), result=result, pure=pure)
    return space


READS = {
    "number": "def f():\n    a = number\n    step()\n    return a, number\n",
    "items": "def f():\n    a = items[0]\n    step()\n    return a, items[0], len(items)\n",
    "names": "def f():\n    a = names['a']\n    step()\n    return a, names['a'], len(names)\n",
    "point": "def f():\n    a = point.x\n    step()\n    return a, point.x\n",
    "grid": "def f():\n    a = grid[0]\n    step()\n    return a, grid[-1], grid.shape\n",
}


def _function(space, source):
    exec(source, space)
    space["f"].__ingot_source__ = source
    return space["f"]


CHANGES = {
    "number": lambda space: space.update(number=2.5),
    "items": lambda space: space["items"].append(3),
    "names": lambda space: space["names"].update(a=2),
    "point": lambda space: setattr(space["point"], "x", 2.0),
    "grid": lambda space: space.update(grid=np.ones(4)),
}


@pytest.mark.parametrize("name", READS)
def test_changes_by_host_functions_are_refused(name):
    for mode in MODES:
        space = _changed(CHANGES[name])
        with pytest.raises(ingot.UnsupportedError, match=r"(?s)a change of .* by the host function .*instead:"):
            jitted(_function(space, READS[name]), mode)()
        # What the function did before stays, and a call that finds it so goes on.
        same = _changed(lambda space: None)
        f = _function(same, READS[name])
        assert jitted(f, mode)() == f()


def test_a_host_function_may_change_what_compiled_code_does_not_hold():
    for mode in MODES:
        space = _changed(lambda space: (space["items"].append(3), space["state"].__dict__.update(n=2), space["grid"].fill(7.0)) and None)
        f = _function(space, "def f():\n    a = grid[0]\n    step()\n    return a, grid[0], number\n")
        assert jitted(f, mode)() == (0.0, 7.0, 1.5) and space["items"] == [1, 2, 3]


def test_pure_host_functions_are_not_looked_after():
    for mode in MODES:
        space = _changed(lambda space: space.update(number=2.5), pure=True)
        f = jitted(_function(space, READS["number"]), mode)
        assert f()[0] == 1.5
    again = pickle.loads(pickle.dumps(ingot.host(plain, result=float, pure=True)))
    assert again.pure and not as_float.pure


def test_variables_that_a_host_function_changes():
    n = 1

    def change():
        nonlocal n
        n = 5

    step = ingot.host(change, result=None)

    def f(x):
        nonlocal n
        n = x
        step()
        return n

    for mode in MODES:
        with pytest.raises(ingot.UnsupportedError, match="a change of a cell of the caller"):
            jitted(f, mode)(3)
        assert n == 5


@pytest.mark.parametrize("change", ["resize", "shape", "view"])
def test_arrays_that_a_host_function_resizes(change):
    for mode in MODES:
        x = np.arange(4.0)
        base = x
        if change == "view":
            x = base[:2]

        def act():
            if change == "shape":
                x.shape = (2, 2)
            else:
                base.resize(2_000_000, refcheck=False)

        step = ingot.host(act, result=None)

        def f(y):
            a = y[0]
            step()
            return a + y[1]

        with pytest.raises((ValueError, ingot.UnsupportedError), match="resize|the shape or dtype of an array"):
            jitted(f, mode)(x)
        assert x.size == (2 if change == "view" else 4)


@ingot.host(result=float)
def plus_one(x):
    return float(x) + 1


@ingot.host(result="float64[:]")
def three(x):
    return np.full(3, x)


def test_host_functions_are_arguments_as_functions_are():
    def applied(x, h, d):
        return h(x) + d["h"](x)

    def by_default(x, h=plus_one):
        return h(x)

    f = ingot.jit(applied)
    assert f(1.0, plus_one, {"h": plus_one}) == 4.0 and f(1.0, three, {"h": plus_one}).tolist() == [3.0] * 3
    assert len(f.specialisations) == 2 and all(s.hosts for s in f.specialisations)
    assert ingot.jit(by_default)(2.0) == 3.0 and ingot.jit(by_default)(2.0, three).tolist() == [2.0] * 3
    for function in (lambda x, h: h(x=x), lambda x, h: h([x])):
        message = refused(function, 1.0, plus_one, words="host function")
        assert re.search(rf"{re.escape(__file__)}:\d+, in <lambda>", message.splitlines()[1]), message


def prints(i, x, z, flag):
    print("a", i, x, z, flag, None, (1, "b"))
    print(f"{i:>5}|{x:.3f}|{x!r}|{flag}|{i:{'>'}4}|{{}}", i, sep=";")
    print(i, end="")
    print()
    print("%d and %5.1f" % (i, x), flush=True)
    print(np.float32(x), np.int8(i), f"{np.float32(x):.2f} {np.int16(i)!s:>4}")


class Output:
    """What a program may have as `sys.stdout`."""

    def __init__(self, breaks_at=None):
        self.texts, self.flushed, self.breaks_at = [], 0, breaks_at

    def write(self, text):
        if self.breaks_at is not None and len(self.texts) == self.breaks_at:
            raise OSError("the disk is full")
        self.texts.append(text)

    def flush(self):
        self.flushed += 1


def printed_by(function, *arguments, out=None):
    out = out or Output()
    with contextlib.redirect_stdout(out):
        function(*arguments)
    return out


@pytest.mark.parametrize("mode", MODES)
def test_each_call_prints_what_pythons_does(mode):
    """The first call is made by way of Python, the next ones by C++ alone."""
    compiled = jitted(prints, mode)
    for i in range(3):
        arguments = (i, i / 3, complex(i, -1), i % 2 == 0)
        found, expected = printed_by(compiled, *arguments), printed_by(prints, *arguments)
        assert found.texts == expected.texts and found.flushed == expected.flushed == 1


def test_prints_go_where_python_prints_now(capsys):
    compiled = ingot.jit(lambda i: print(i, file=None))
    for i in range(3):
        compiled(i)
        print("between")
    assert capsys.readouterr().out == "0\nbetween\n1\nbetween\n2\nbetween\n"


def printing_twice(i):
    print("first", i)
    print("second", i)


def test_what_writing_raises_leaves_compiled_code():
    compiled = ingot.jit(printing_twice)
    for breaks_at in (0, 1, 5, 7):
        lines = []
        for function in (printing_twice, compiled, compiled):
            out = Output(breaks_at)
            with pytest.raises(OSError, match="the disk is full") as caught:
                printed_by(function, 3, out=out)
            names = [entry.name for entry in caught.traceback][-2:]
            lines.append((out.texts, names, caught.traceback[-2].lineno))
        assert lines[0] == lines[1] == lines[2] and lines[0][1] == ["printing_twice", "write"]


def wrong_format(x):
    print(f"{x:d}")


def test_what_formats_raise_is_seen_at_its_place():
    compiled = ingot.jit(wrong_format)
    for _ in range(3):
        with pytest.raises(ValueError, match="Unknown format code 'd'") as caught:
            compiled(1.5)
        assert caught.traceback[-1].name == "wrong_format"


class Account:
    def __init__(self):
        self.total, self.count, self.items = 0.0, 0, [0.0, 1, True]

    def add(self, amount):
        self.total += amount
        print(self.total)
        self.count += 1
        self.items[1] = self.count
        print("count", self.count)


def test_what_is_printed_sees_what_was_put_before():
    class Watching(Output):
        def write(self, text):
            super().write((text, account.total, account.count, list(account.items)))

    seen = []
    for function in (Account.add, ingot.jit(Account.add)):
        account = Account()
        for amount in (1.5, 2.5, 4.0):
            seen.append(printed_by(function, account, amount, out=Watching()).texts)
    assert seen[:3] == seen[3:]


KINDS = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64,
         np.complex64, np.complex128, bool, int, float, complex]  # fmt: skip


class Held:
    pass


def put_everywhere(value, items, table, held):
    items[1] = value
    table["b"] = value
    held.value = value
    held.again = held.value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_numbers_of_each_kind_are_put_into_containers(kind):
    compiled = ingot.jit(put_everywhere)
    for number in (1, 0, 1):
        results = []
        for function in (put_everywhere, compiled, compiled):
            items, table, held = [0, 1, 2], {"a": 0, "b": 1}, Held()
            held.value, held.again = 5.0, 2
            function(kind(number), items, table, held)
            results.append([(type(v), v) for v in (*items, *table.values(), held.value, held.again)])
        assert results[0] == results[1] == results[2]


def put_then_fail(items, x):
    items[0] = x
    if x > 1:
        raise ValueError("large")
    items[1] = x


def test_numbers_that_were_put_stay_where_a_call_fails():
    compiled = ingot.jit(put_then_fail)
    for function in (put_then_fail, compiled, compiled):
        items = [0.0, 0.0]
        function(items, 1.0)
        with pytest.raises(ValueError, match="large"):
            function(items, 2.0)
        assert items == [2.0, 1.0]


def appended(items, x):
    items.append(x)
    items[0] += x
    items.append(items[0])
    return items.pop()


def test_lists_of_the_caller_grow_in_each_call():
    lists = []
    compiled = ingot.jit(appended)
    for function in (appended, compiled):
        items = [1.0]
        lists.append((items, [function(items, float(k)) for k in range(5)]))
    assert lists[0] == lists[1]


def through_a_host(x):
    return as_float(x, 1) + as_float(x, 2)


def test_host_functions_are_called_in_each_call():
    compiled = ingot.jit(through_a_host)
    results, seen = [], []
    for function in (through_a_host, compiled, compiled):
        SEEN.clear()
        results.append((function(2.0), function(3.5)))
        seen.append(list(SEEN))
    assert results[0] == results[1] == results[2] and seen[0] == seen[1] == seen[2]


def failing_later(x):
    return fails(x) + 1


def test_what_host_functions_raise_leaves_each_call():
    compiled = ingot.jit(failing_later)
    for _ in range(3):
        assert compiled(1.0) == 2.0
        with pytest.raises(LookupError, match="too large") as caught:
            compiled(3.0)
        assert [entry.name for entry in caught.traceback][-2:] == ["failing_later", "fails"]


FACTOR = 2.0


@ingot.host(result=float)
def shifts_factor(x):
    global FACTOR
    if x > 5:
        FACTOR = x
    return x


def with_a_factor(x):
    return shifts_factor(x) * FACTOR


def test_changes_by_host_functions_are_refused_in_later_calls():
    global FACTOR
    compiled = ingot.jit(with_a_factor)
    assert [compiled(1.0), compiled(2.0)] == [2.0, 4.0]
    with pytest.raises(ingot.UnsupportedError, match="a change of `FACTOR` by the host function `shifts_factor`"):
        compiled(6.0)
    FACTOR = 2.0


def test_arrays_reshaped_by_host_functions_are_refused_in_later_calls():
    @ingot.host(result=float)
    def reshapes(x):
        if x > 5:
            array.shape = (2, 2)
        return x

    def use(x, y):
        return reshapes(x) + y[0]

    array = np.arange(4.0)
    compiled = ingot.jit(use)
    assert [compiled(1.0, array), compiled(2.0, array)] == [1.0, 2.0]
    with pytest.raises(ingot.UnsupportedError, match="a change of the shape or dtype of an array by the host function `reshapes`"):
        compiled(6.0, array)


def calling_itself(n):
    return again(n)


@ingot.host(result=float)
def again(n):
    return 1.0 if n == 0 else 1.0 + compiled_itself(n - 1)


compiled_itself = ingot.jit(calling_itself)


def test_host_functions_may_call_the_function():
    assert [compiled_itself(3), compiled_itself(4)] == [4.0, 5.0]


@ingot.host(result=float)
def halved(x):
    if x[0] > 5:
        raise LookupError("too large")
    x[0] /= 2
    return float(x[0])


class Bag:
    def __init__(self):
        self.items, self.array, self.total = [3.0, 1.0], np.ones(2), 0.0

    def take(self, x):
        self.total += halved(x)
        self.array = x * 2
        print((self.total, x[0]), None if x[0] > 1 else x[0], x)
        self.items.extend([2.0, float(x[0])])
        self.items.sort()
        self.items.pop()


def test_arrays_leave_and_are_kept_in_each_call():
    """What C++ does not know how to give is given by Python, amid a call that C++ makes."""
    seen = []
    for function in (Bag.take, ingot.jit(Bag.take)):
        bag, texts, kept = Bag(), [], []
        for x in (np.array([4.0, 1.0]), np.array([1.0, 2.0]), np.array([2.0, 7.0])):
            texts.append(printed_by(function, bag, x).texts)
            kept.append(bag.array)
            with pytest.raises(LookupError, match="too large") as caught:
                function(bag, np.array([6.0, 1.0]))
            texts.append([entry.name for entry in caught.traceback][-2:])
        seen.append((texts, [array.tolist() for array in kept], bag.items, bag.total))
    assert seen[0] == seen[1]


def test_containers_changed_by_host_functions_are_refused_in_later_calls():
    @ingot.host(result=float)
    def changes(x):
        if x > 5:
            items.append(x)
        return x

    def use(x, y):
        return changes(x) + y[0]

    items = [1.0]
    compiled = ingot.jit(use)
    assert [compiled(1.0, items), compiled(2.0, items)] == [2.0, 3.0]
    with pytest.raises(ingot.UnsupportedError, match="a change of a list of the caller by the host function `changes`"):
        compiled(6.0, items)


class Writer(io.StringIO):
    """A standard output that does something when it is written to."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def write(self, text):
        self.act()
        return super().write(text)


def test_what_standard_output_changes_is_refused():
    array = np.arange(3.0)

    def total(x):
        print("x")
        return x.sum()

    f = ingot.jit(total)
    assert f(array) == 3.0
    with contextlib.redirect_stdout(Writer(lambda: None)):
        assert f(array) == 3.0
    with contextlib.redirect_stdout(Writer(lambda: array.resize(5, refcheck=False))), pytest.raises(ValueError, match="cannot resize"):
        f(array)
    with contextlib.redirect_stdout(Writer(lambda: setattr(array, "shape", (3, 1)))):
        with pytest.raises(ingot.UnsupportedError, match="the shape or dtype of an array by the host function `print`"):
            f(array)
