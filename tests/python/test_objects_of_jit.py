"""What a jitted function is for other tools: pickle, inspect, functools, documentation; and `ingot.implements`."""

import copy
import functools
import gc
import inspect
import io
import json
import marshal
import pickle
import pydoc
import re
import subprocess
import sys
import types

import ingot
import numpy as np
import pytest
from ingot._calls.specialisation import Specialisation
from support import check, jitted, refused

X = np.arange(4.0)


def with_text_in_the_first_column(x):
    text = """
first
"""
    return x + len(text)


@ingot.jit
def at_module_level(x: float, n: int = 2, *, scale=1.0) -> float:
    """Documents what it does."""
    return x * n * scale


def made(k):
    @ingot.jit
    def inner(x):
        return x * k

    return inner


def rebuilt(code, closure, module, name):
    cells = tuple(types.CellType(c) for c in closure)
    return types.FunctionType(marshal.loads(code), {"__name__": module, "np": np, "ingot": ingot}, name, None, cells)


ByValue = type(
    "ByValue",
    (pickle.Pickler,),
    {
        "__module__": "some_cloudpickle",
        "reducer_override": lambda self, f: (
            (rebuilt, (marshal.dumps(f.__code__), [c.cell_contents for c in f.__closure__ or ()], f.__module__, f.__name__))
            if isinstance(f, types.FunctionType) and ("<" in f.__qualname__ or f.__module__ == "__main__")
            else NotImplemented
        ),
    },
)


def by_value(value):
    """Through a pickler that takes functions by value, as cloudpickle does."""
    file = io.BytesIO()
    ByValue(file).dump(value)
    return pickle.loads(file.getvalue())


def test_functions_of_modules_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.deepcopy(at_module_level) is at_module_level


def test_other_functions_are_pickled_as_plain_ones():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made(3.0))


def test_closures_and_lambdas_are_pickled_by_value():
    again = by_value(made(3.0))
    assert again(X).tolist() == [0.0, 3.0, 6.0, 9.0]
    double = by_value(ingot.jit(lambda x: x + x))
    assert double(2.0) == 4.0
    assert by_value(again)(1.0) == 3.0  # the source has travelled


def test_signatures_and_options_are_pickled():
    f = by_value(ingot.jit("float64(float64)", fastmath="contract")(lambda x: x + 1))
    assert f(1) == 2.0 and type(f(1)) is np.float64
    with pytest.raises(TypeError, match="no signature"):
        f(1j)


def test_functions_of_main_are_pickled(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import pickle, multiprocessing, ingot\n"
        "@ingot.jit\n"
        "def f(x):\n    return x + 1\n"
        "if __name__ == '__main__':\n"
        "    assert pickle.loads(pickle.dumps(f)) is f\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(f, [1.0, 2.0]))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2.0, 3.0]\n", done.stderr


def test_cloudpickle_takes_functions_by_value():
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(made(3.0)))(2.0) == 6.0
    assert pickle.loads(cloudpickle.dumps(ingot.jit(lambda x: x + 1)))(2.0) == 3.0


def cubed(x):
    return np.sum(x**3)


slope = ingot.grad(cubed)
MADE_BY_TRANSFORMS = {
    "grad": slope,
    "value_and_grad": ingot.value_and_grad(cubed, has_aux=False),
    "jacfwd": ingot.jacfwd(cubed),
    "hessian": ingot.hessian(ingot.jit(cubed)),
    "vmap": ingot.vmap(cubed, in_axes=1),
    "vmap of grad": ingot.vmap(ingot.grad(cubed)),
    "jit of grad": ingot.jit(ingot.grad(cubed), fastmath="contract", cache=False),
    "grad of a partial": ingot.grad(functools.partial(cubed)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MADE_BY_TRANSFORMS)
def test_what_transforms_make_is_pickled(name):
    x = np.arange(4.0) if "vmap" not in name else np.arange(12.0).reshape(3, 4)
    made = MADE_BY_TRANSFORMS[name]
    again = pickle.loads(pickle.dumps(made))
    assert repr(again) == repr(made).replace(hex(id(made)), hex(id(again))) or "partial" in name
    assert again._relaxed == made._relaxed and again._is_stored == made._is_stored
    for got, wanted in zip(ingot.tree.leaves(again(x)), ingot.tree.leaves(made(x)), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert copy.deepcopy(made) is made


def test_what_transforms_make_of_closures_is_pickled_by_value():
    k = 3.0
    for transform, wanted in ((ingot.grad, 3.0), (ingot.value_and_grad, (6.0, 3.0)), (ingot.jacrev, 3.0)):
        assert by_value(transform(lambda x: x * k))(2.0) == wanted
        assert by_value(transform(ingot.jit(lambda x: x * k)))(2.0) == wanted
    assert by_value(ingot.vmap(lambda x: x * k))(X).tolist() == [0.0, 3.0, 6.0, 9.0]
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(ingot.grad(lambda x: x * k)))(2.0) == 3.0


@pytest.mark.rotated(3)
def test_transforms_of_main_travel_to_other_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, ingot\n"
        "def f(x):\n    return x * x\n"
        "df, both = ingot.grad(f), ingot.vmap(ingot.value_and_grad(f))\n"
        "@ingot.vectorize\n"
        "def plus(x):\n    return x + 1\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(df, [1.0, 2.0]), float(pool.map(plus, [1.0])[0]), pool.apply(len, ([df, both, plus.ufunc],)))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2.0, 4.0] 2.0 3\n", done.stderr
    cloudpickle = pytest.importorskip("cloudpickle")
    program.write_text(
        "import cloudpickle, ingot, sys\n"
        "def f(x):\n    return x * x\n"
        "open(sys.argv[1], 'wb').write(cloudpickle.dumps([ingot.grad(f), ingot.vmap(ingot.jit(f))]))\n"
    )
    subprocess.run([sys.executable, program, tmp_path / "made"], check=True, timeout=120)
    df, squares = cloudpickle.loads((tmp_path / "made").read_bytes())
    assert df(3.0) == 6.0 and squares(X).tolist() == [0.0, 1.0, 4.0, 9.0]


def test_inspect_and_documentation_see_through():
    plain = at_module_level.__wrapped__
    assert inspect.signature(at_module_level) == inspect.signature(plain)
    assert inspect.unwrap(at_module_level) is plain and inspect.isfunction(plain)
    assert inspect.getdoc(at_module_level) == "Documents what it does."
    assert inspect.getsource(at_module_level).startswith("@ingot.jit\n")
    assert inspect.getmodule(at_module_level) is sys.modules[__name__]
    assert at_module_level.__annotations__ == plain.__annotations__
    assert (at_module_level.__name__, at_module_level.__module__) == (plain.__name__, __name__)
    assert callable(at_module_level) and "Documents what it does." in pydoc.plain(pydoc.render_doc(at_module_level.__wrapped__))


def shifted(f):
    @functools.wraps(f)
    def wrapper(x):
        return f(x) + 100

    return wrapper


base = ingot.jit(lambda x: x * 2)
around = shifted(base)


class Measure:
    def __init__(self, x):
        self.x = x

    @shifted
    @ingot.jit
    def method(self):
        return self.x * 2


def test_wrappers_of_jitted_functions_are_not_those():
    """functools.wraps copies the attributes of what it wraps."""
    assert inspect.signature(around) == inspect.signature(base)
    check(lambda x: around(x), 1.5)
    assert ingot.jit(around)(1.5) == 103.0
    check(lambda m: m.method(), Measure(2.0))


class Table:
    def __init__(self, values):
        self.values = values

    def find(self, x):
        return int(np.flatnonzero(self.values > x)[0]) if isinstance(x, float) else open(x)


class Celsius:
    def __new__(cls, degrees):
        return np.float64(degrees)


def opaque(x):
    return [v for v in {x}][0] if open else None


class TestImplements:
    @pytest.fixture(autouse=True)
    def forgets(self):
        from ingot.library import registry

        before = dict(registry.users)
        yield
        registry.users.clear()
        registry.users.update(before)

    def test_of_a_method_of_a_users_class(self):
        @ingot.implements(Table.find)
        def find(self, x):
            for k in range(len(self.values)):
                if self.values[k] > x:
                    return k
            raise IndexError("index 0 is out of bounds for axis 0 with size 0")

        check(lambda table, x: table.find(x), Table(X), 1.5)
        check(lambda table, x: table.find(x), Table(X), 9.5)

    def test_of_a_users_class(self):
        refused(lambda x: Celsius(x), 1.5, words="Celsius")

        @ingot.implements(Celsius)
        def celsius(degrees):
            return np.float64(degrees)

        check(lambda x: Celsius(x) * 2, 1.5)

    def test_of_a_function_of_another_package(self):
        special = pytest.importorskip("scipy.special")

        @ingot.implements(special.expit)
        def expit(x):
            return 1 / (1 + np.exp(-x))

        check(lambda x: special.expit(x), X, bound=1e-15)

    def test_another_registration_compiles_anew(self):
        @ingot.implements(opaque)
        def first(x):
            return x + 1

        f = ingot.jit(lambda x: opaque(x))
        assert f(1.0) == 2.0
        ingot.implements(opaque)(lambda x: x + 2)
        assert f(1.0) == 3.0

    def test_wrong_arguments_raise_as_python(self):
        @ingot.implements(opaque)
        def stand_in(x):
            return x

        for mode in ("interpreted", "compiled"):
            with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
                jitted(lambda x: opaque(x, y=1), mode)(1.0)


def test_a_function_ends_where_its_code_does():
    check(with_text_in_the_first_column, X)


def test_repr_names_the_function():
    assert repr(at_module_level) == f"<ingot.jit function {__name__}.at_module_level>"
    assert repr(made(2)) == f"<ingot.jit function {__name__}.made.<locals>.inner>"


def of_array(x, n: int = 2):
    """The sum of squares."""
    return (x * x).sum() * n


class Squares:
    """Sums squares."""

    def __call__(self, x):
        return (x * x).sum()

    def method(self, x):
        return (x * x).sum()


TRANSFORMS = [ingot.grad, ingot.value_and_grad, ingot.jacfwd, ingot.jacrev, ingot.hessian, ingot.vmap]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda transform: transform.__name__)
def test_transforms_keep_what_functions_state_of_themselves(transform):
    door = transform.__name__
    for made in (transform(of_array), transform(of_array)):  # anew, and known
        assert (made.__name__, made.__qualname__, made.__module__) == ("of_array", "of_array", __name__)
        assert made.__doc__ == "The sum of squares." and made.__wrapped__ is of_array
        assert inspect.signature(made) == inspect.signature(of_array) and type(made) is type(at_module_level)
        assert repr(made) == f"<ingot.{door} of {__name__}.of_array>"
    assert repr(transform(ingot.jit(of_array))) == f"<ingot.{door} of ingot.jit function {__name__}.of_array>"
    if transform is not ingot.vmap:
        assert repr(ingot.grad(transform(of_array))) == f"<ingot.grad of ingot.{door} of {__name__}.of_array>"


def test_transforms_of_objects_name_what_they_are_of():
    partial, squares = functools.partial(of_array, n=3), Squares()
    for of, name, text in (
        (partial, "of_array", "The sum of squares."),
        (squares, "Squares", "Sums squares."),
        (squares.method, "method", None),
    ):
        made = ingot.grad(of)
        assert (made.__name__, made.__module__, made.__doc__) == (name, __name__, text)
        assert made.__wrapped__ == of and repr(made) == f"<ingot.grad of {of!r}>"
    assert ingot.grad(partial)(X).tolist() == [0.0, 6.0, 12.0, 18.0]
    for rule in (ingot.checkpoint, ingot.custom_jvp, ingot.custom_vjp):
        made = rule(of_array)
        assert made.__wrapped__ is of_array and made.__name__ == "of_array" and inspect.signature(made) == inspect.signature(of_array)


def test_what_is_made_has_a_repr_of_its_own():
    @ingot.guvectorize("(float64[:], float64[:])", "(n)->(n)")
    def copied(x, out):
        out[:] = x

    @ingot.cuda.jit
    def kernel(x):
        x[0] = 1

    plus = ingot.cuda.reduce(lambda a, b: a + b)
    here = f"{__name__}.test_what_is_made_has_a_repr_of_its_own.<locals>"
    assert repr(copied) == f"<ingot.guvectorize function {here}.copied>"
    assert repr(kernel[1, (4, 2)]) == f"<ingot.cuda kernel {here}.kernel[(1, 1, 1), (4, 2, 1)]>"
    assert repr(plus) == f"<ingot.cuda reduction {here}.<lambda>>"


DOORS = {
    ingot.jit: {"fastmath", "static_argnums", "static_argnames", "device", "cache", "tier", "parallel", "nopython", "nogil", "boundscheck"},
    ingot.vectorize: {"identity", "target", "fastmath", "nopython", "cache"},
    ingot.guvectorize: {"target", "fastmath", "nopython", "cache"},
    ingot.cuda.jit: {"device", "link", "fastmath", "max_registers", "launch_bounds", "debug", "opt", "cache", "inline", "lineinfo"},
    ingot.grad: {"argnums", "has_aux", "holomorphic", "allow_int"},
    ingot.vmap: {"in_axes", "out_axes", "axis_size", "axis_name"},
    ingot.export: {"name"},
    ingot.host: {"result", "pure"},
    ingot.custom_vjp: {"nondiff_argnums"},
    ingot.cuda.declare_device: {"link", "abi"},
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_help_shows_the_keywords(door):
    parameters = inspect.signature(door).parameters
    assert DOORS[door] <= set(parameters)
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    text = pydoc.plain(pydoc.render_doc(door))
    assert all(f"{name}:" in text for name in DOORS[door])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: ingot.jit(fastmat=True), "'fastmat': did you mean 'fastmath'?"),
        (lambda: ingot.jit(of_array, static_argnum=0), "'static_argnum': did you mean 'static_argnums'?"),
        (lambda: ingot.jit(looplift=True), "'looplift': there is no object mode; `ingot.host` has compiled code call"),
        (lambda: ingot.vectorize(of_array, nogil=True), "'nogil': calls that take long let go of the GIL by themselves; leave it out"),
        (lambda: ingot.jit(donate_argnums=0), "'donate_argnums': memory is used again by itself"),
        (lambda: ingot.jit(zzz=0), "'zzz': it takes signatures, fastmath, "),
        (lambda: ingot.grad(of_array, argnum=0), "'argnum': did you mean 'argnums'?"),
        (lambda: ingot.grad(of_array, fastmath=True), "'fastmath': it is a keyword of `ingot.jit`"),
        (lambda: ingot.vmap(of_array, in_axis=0), "'in_axis': did you mean 'in_axes'?"),
        (lambda: ingot.vectorize(of_array, nopyhton=True), "'nopyhton': did you mean 'nopython'?"),
        (lambda: ingot.guvectorize("(float64[:],)", "(n)", writable_args=0), "'writable_args': functions write into"),
        (lambda: ingot.cuda.jit(max_register=32), "'max_register': did you mean 'max_registers'?"),
        (lambda: ingot.cuda.declare_device("a", "int32()", links="a.cu"), "'links': did you mean 'link'?"),
        (lambda: ingot.export("float64(float64)", names="a"), "'names': did you mean 'name'?"),
        (lambda: ingot.host(of_array, results=float), "'results': did you mean 'result'?"),
        (lambda: ingot.pmap(of_array, devices=2), "'devices': batch elements run on the device of the arrays"),
    ],
)
def test_unknown_keywords_suggest_what_was_meant(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert f"got an unexpected keyword argument {words}" in str(caught.value)


def test_options_of_guvectorize_are_those_of_jit():
    def summed(x, out):
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        out[0] = total

    made = ingot.guvectorize("(float64[:], float64[:])", "(n)->()", fastmath="reassoc", cache=False)(summed)
    assert made(np.ones((2, 5))).tolist() == [5.0, 5.0]
    assert made._core._relaxed == ("reassoc",) and not made._core._is_stored


COMPLETED = """
import json
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import ingot\\n@ingot.jit\\ndef f(x): return x + 1\\ng = ingot.grad(f)")
found = {}
for shell.Completer.use_jedi in (True, False):
    for text in ("ingot.", "ingot.cuda.", "ingot.cuda.blas.", "ingot.cuda.atomic.", "ingot.tree.", "ingot.lax.", "ingot.random.", "f.", "g.", "ingot.jit(f, "):
        with provisionalcompleter():
            found.setdefault(text, []).append([each.text.lstrip(".") for each in shell.Completer.completions(text, len(text))])
print(json.dumps(found))
"""


@pytest.mark.rotated(4)
def test_completion_shows_public_names():
    done = subprocess.run([sys.executable, "-c", COMPLETED], capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    methods = {"c_pointer", "compile", "compile_async", "explain", "record", "specialisations"}
    for text, both in found.items():
        module = {"ingot.": ingot, "f.": methods, "g.": methods}.get(text)
        if text.startswith("ingot.") and text.endswith(".") and module is None:
            module = functools.reduce(getattr, text[6:-1].split("."), ingot)
        for names in both:
            if module is None:
                assert {f"{name}=" for name in DOORS[ingot.jit]} <= set(names)
            elif module is methods:
                assert set(names) == methods
            else:
                assert set(names) == {*module.__all__, *(["numpy"] if module is ingot else [])}, text
    assert not [name for name in dir(at_module_level) if name.startswith("_") and not name.startswith("__")]
    assert not [name for name in dir(ingot) if name.startswith("_") and not name.startswith("__")]


def test_explanations_show_themselves():
    explained = at_module_level.explain(1.0)
    assert isinstance(explained, str) and repr(explained) == str(explained) and "\n" in repr(explained)
    assert str(explained) == "\n".join(f"=== {name} ===\n{text}" for name, text in explained.sections)
    page = explained._repr_html_()
    assert re.search("<details open><summary>loops</summary><pre[^>]*>none</pre>", page) and page.count("<details>") == len(explained.sections) - 1
    assert "-&gt; float" in page and pickle.loads(pickle.dumps(explained)).sections == explained.sections
    printer = types.SimpleNamespace(text=lambda text: shown.append(text))
    shown = []
    explained._repr_pretty_(printer, False)
    assert shown == [str(explained)]


@pytest.mark.rotated(3)
def test_specialisations_that_were_never_made_are_collected():
    class Unmade(Specialisation):
        def __init__(self):
            self.me = self

    for _ in range(1000):
        Unmade()
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Unmade)]


@pytest.mark.parametrize(
    "given, advice",
    [
        (functools.partial(of_array), "not partial: write a function that calls it"),
        (Squares().method, "not method: decorate the function in its class, or write one that calls the method"),
        (Squares(), "not Squares: decorate the function `__call__` of its class, or write one that calls it"),
        (Squares, "not type: write a function that makes an instance"),
        (np.sin, "not ufunc: write a function that calls it"),
        (ingot.host(abs, result=float), "not HostFunction: write a function that calls it"),
        (len, "not builtin_function_or_method: write a function that calls it"),
    ],
)
def test_what_is_no_function_reports_what_to_decorate(given, advice):
    takes_bound = isinstance(given, (functools.partial, types.MethodType))
    for door in (*(() if takes_bound else (ingot.jit,)), ingot.vectorize, ingot.cuda.jit, ingot.export("float64(float64)")):
        with pytest.raises(TypeError, match=re.escape(advice)):
            door(given)
    with pytest.raises(TypeError, match="vmap\\(\\) takes a function, not int"):
        ingot.vmap(3)


def centre(x, shift=0.0):
    return x - np.mean(x) + shift


@pytest.mark.parametrize("decorator", [ingot.jit, ingot.jit(fastmath="contract")])
def test_it_is_an_engine_of_pandas(decorator):
    engine, table = decorator.__pandas_udf__, np.arange(12.0).reshape(4, 3) ** 2
    for axis, name in ((0, "index"), (1, "columns")):
        for given in (axis, name):
            summed = engine.apply(table, lambda x: x.sum(), (), {}, decorator, given)
            np.testing.assert_array_equal(summed, table.sum(axis))
            centred = engine.apply(table, centre, (), {"shift": 1.0}, decorator, given)
            np.testing.assert_array_equal(centred, np.apply_along_axis(centre, axis, table, 1.0))
    with pytest.raises(ValueError, match="pass raw=True"):
        engine.apply([[1.0]], centre, (), {}, decorator, 0)
    assert engine.map(np.array([1, 2]), lambda x, y: x + y, (3,), {}, decorator, False) == [4, 5]
    got = engine.map(np.array([[1.0, np.nan]]), lambda x: x + 1 if x == x else 7.0, (), {}, decorator, True)
    np.testing.assert_array_equal(got, [[2.0, np.nan]])


def test_pandas_takes_it_as_an_engine():
    pandas = pytest.importorskip("pandas", minversion="3.0")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}, index=["x", "y"])
    for axis in (0, 1):
        pandas.testing.assert_series_equal(
            table.apply(lambda x: x.max() - x.min(), axis=axis, raw=True, engine=ingot.jit), table.max(axis=axis) - table.min(axis=axis)
        )
    pandas.testing.assert_frame_equal(table.apply(centre, raw=True, engine=ingot.jit), table - table.mean())
    pandas.testing.assert_series_equal(table["a"].map(lambda x: x + 1, engine=ingot.jit), table["a"] + 1)
