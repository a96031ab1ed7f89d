"""The rules of docs/semantics.md on guards and refusals, in its order; the others: test_semantics.py."""

import copy
import functools
import linecache
import re
import sys
import types
from collections import namedtuple

import ingot
import numpy as np
import pytest
from support import MODES, check, difference, jitted, refused


# ---- Guards: never stale

FACTOR = 2
Both = namedtuple("Both", "b c")


def scaled(x):
    return x * FACTOR


def scaled_by_nan(x):
    return x * FACTOR


def helper(x):
    return x + 1


def calls_helper(x):
    return helper(x)


def test_globals_are_guarded(monkeypatch):
    compiled = jitted(scaled)
    for factor in (2, 3, 2.5, True, 0.0, -0.0, np.float32(1.5), 2):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert difference(compiled(1.5), scaled(1.5)) is None


def test_the_bits_of_nan_are_guarded(monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", float("nan"))
    compiled = jitted(scaled_by_nan)  # its number outside changes once, so it stays known
    compiled(1.5), compiled(1.5)
    assert len(compiled.specialisations) == 1
    monkeypatch.setitem(globals(), "FACTOR", -float("nan"))  # other bits, and a constant of other code
    compiled(1.5)
    assert len(compiled.specialisations) == 2


TABLE = np.arange(4.0)


def fills_table(x):
    TABLE[1:] = x
    return TABLE


def test_arrays_from_outside_are_hidden_arguments(monkeypatch):
    for mode in MODES:
        compiled = jitted(fills_table, mode)
        for table in (np.arange(4.0), np.ones((3, 2), np.float32), np.arange(8)[::2]):
            monkeypatch.setitem(globals(), "TABLE", table)
            for x in (5.0, table[:-1]):  # also memory that it shares with an argument
                expected = table.copy()
                expected[1:] = x
                assert compiled(x) is table and difference(table, expected) is None
        assert len(compiled.specialisations) <= 7


RATES = [1, 2.5]
NAMES = {"low": 1, "high": np.arange(3.0)}


def changes_containers(x):
    RATES.append(x)
    NAMES["low"] += 1
    NAMES["high"][0] = x
    return RATES, sum(RATES), NAMES["low"], NAMES["high"].sum()


def test_containers_from_outside_are_hidden_arguments(monkeypatch):
    for mode in MODES:
        compiled = jitted(changes_containers, mode)
        for rates in ([], [1], [2], [3.5, 2]):
            for names in ({"low": 2, "high": np.ones(2)}, {"high": np.zeros(4), "low": 0.5}):
                results = []
                for call in (changes_containers, compiled):
                    monkeypatch.setitem(globals(), "RATES", list(rates))
                    monkeypatch.setitem(globals(), "NAMES", {k: np.copy(v) if k == "high" else v for k, v in names.items()})
                    result = call(3)
                    assert result[0] is RATES
                    results.append((result, RATES, NAMES))
                assert difference(results[1], results[0]) is None
        monkeypatch.setitem(globals(), "RATES", (1, 2))
        with pytest.raises(AttributeError, match="'tuple' object has no attribute 'append'"):
            compiled(3)

    table = [np.arange(3.0), [1, 2]]

    def inner():
        table[0][1] += table[1][0]
        return table[0]

    for mode in MODES:
        compiled = jitted(inner, mode)
        before = table[0][1]
        assert compiled() is table[0] and table[0][1] == before + 1
        table[1][0] = 1.0
        assert compiled() is table[0] and table[0][1] == before + 2
        table[1][0] = 1


PAIR = (np.arange(3.0), 2)


def sums_pair(x, axis=None):
    PAIR[0][0] += x
    return PAIR[0].sum(axis=axis) * PAIR[1], PAIR[0]


def test_tuples_of_arrays_from_outside_are_hidden_arguments(monkeypatch):
    """So are those in other tuples, named tuples, lists and dicts; tuples of numbers are guarded by value."""
    for mode in MODES:
        compiled = jitted(sums_pair, mode)
        for pair in ((np.arange(3.0), 2), (np.arange(3.0), 3), (np.ones((2, 2)), 2.5), Both(np.arange(4), 1), ([1, 2], 3)):
            results = []
            for call in (sums_pair, compiled):
                monkeypatch.setitem(globals(), "PAIR", copy.deepcopy(pair))
                try:
                    results.append((call(1), PAIR))
                except (TypeError, AttributeError) as error:
                    results.append(type(error))
            assert difference(results[1], results[0]) is None
        array, row = np.arange(3.0), [np.ones(2)]
        pair = (array, (row, {"k": (array[1:],)}), Both(array, "text"))

        def reads():
            pair[2].b[0] = 7.0
            return array.sum() + pair[1][0][0].sum() + pair[1][1]["k"][0][0] if pair[2].c == "text" else 0.0  # noqa: B023

        inside = jitted(reads, mode)
        assert inside() == reads()
        array[...], row[0] = 5.0, np.zeros(3)
        assert inside() == reads() == 22.0
        row.append(1)
        assert inside() == reads()
        pair = (array, (row, {"k": (array[1:],)}), Both(array, "other"))
        assert inside() == reads() == 0.0
        shared = (array, array)

        def writes():
            shared[0][1] = 3.0
            return shared[1][1] * 2

        assert jitted(writes, mode)() == writes() == 6.0


def test_arrays_and_containers_that_are_defaults(monkeypatch):
    array, rows = np.arange(3.0), [np.ones(2), 2]

    def inner(x, n=2, a=array, rows=rows, *, pair=(array, 1), more={"k": [array]}):  # noqa: B006
        a[0] += x
        return a.sum() * n + rows[0].sum() * rows[1] + pair[0][0] + more["k"][0][2]

    def outer(x):
        return inner(x) + inner(x, n=1)

    for mode in MODES:
        compiled = jitted(outer, mode)
        for _ in range(2):
            before = array.copy()
            expected = outer(0.5)
            array[...] = before
            assert compiled(0.5) == expected
        rows[0] = np.zeros(3)
        assert compiled(0.0) == outer(0.0)
        inner.__defaults__ = (3, array + 1, rows)
        assert compiled(0.0) == outer(0.0)
        inner.__kwdefaults__["pair"] = (array * 2, 1)
        assert compiled(0.0) == outer(0.0)
        inner.__kwdefaults__["pair"] = (array, 1)
        inner.__defaults__ = (2, array, rows)
        rows[0] = np.ones(2)


class Scales:
    rows = (np.ones(2), 3)

    def __init__(self, by):
        self.by = by

    def method(self, x, n=1):
        return np.sum(x * self.by) * n + self.rows[0][0] * self.rows[1]

    @classmethod
    def made(cls, x):
        return x * cls.rows[1]


def test_methods_and_partials_from_outside():
    scales = Scales(np.arange(3.0))
    bound = scales.method
    table = [np.ones(3)]
    part = functools.partial(lambda a, rows, x, n, *, scale: np.sum(a * rows[0] * x) * n * scale, scales.by, table, n=2, scale=1.5)
    nested = functools.partial(bound, n=3)

    def calls(x, f=part, g=bound):
        made = Scales.made
        return bound(x) + part(x) + part(x, scale=2) + nested(x, n=4) + nested(x) + f(x) + g(x) + made(1.0)

    def inner(x):
        return calls(x)

    for mode in MODES:
        compiled = jitted(inner, mode)
        x = np.arange(3.0)
        for change in (lambda: None, lambda: scales.by.fill(2.0), lambda: table.__setitem__(0, np.arange(3)), lambda: setattr(scales, "by", 2.0)):
            change()
            assert compiled(x) == inner(x)
        part.keywords["n"] = 5
        assert compiled(x) == inner(x)
        part.keywords["scale"] = 2
        assert compiled(x) == inner(x)
        scales.by = np.arange(3.0)
        bound = Scales(np.ones(3)).method
        assert compiled(x) == inner(x)
        part.keywords["y"] = 1
        with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
            inner(x)
        with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
            compiled(x)
        del part.keywords["y"]


def test_numbers_next_to_arrays_outside_may_have_to_be_known():
    pair = (np.arange(6.0).reshape(2, 3), 1)
    rows = [np.arange(6.0).reshape(2, 3), 1]

    def along():
        return pair[0].sum(axis=pair[1]), rows[0].sum(axis=rows[1])

    for mode in MODES:
        compiled = jitted(along, mode)
        assert difference(compiled(), along()) is None
        pair, rows[1] = (pair[0], 0), 0
        assert difference(compiled(), along()) is None
        pair, rows[1] = (pair[0], 1), 1


def scaled_table(x):
    return x * FACTOR


def test_numbers_that_keep_changing_become_hidden_arguments(monkeypatch):
    compiled = jitted(scaled_table)
    for factor in range(20):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert compiled(3) == 3 * factor
    assert len(compiled.specialisations) == 3
    monkeypatch.setitem(globals(), "FACTOR", 0.5)
    assert compiled(3) == 1.5


class Settings:
    width = 2


def test_attributes_are_guarded(monkeypatch):
    module = types.ModuleType("settings")
    module.height = 3

    def f():
        return Settings.width * module.height

    compiled = jitted(f)
    assert compiled() == 6
    monkeypatch.setattr(Settings, "width", 4)
    assert compiled() == 12
    module.height = np.arange(3)
    assert difference(compiled(), f()) is None


def uses_names_of_others(x):
    return abs(x) + float(np.sqrt(x))


def test_names_of_python_and_numpy_are_guarded(monkeypatch):
    compiled = jitted(uses_names_of_others)
    assert compiled(4.0) == 6.0
    monkeypatch.setattr("builtins.abs", helper)
    assert compiled(4.0) == 7.0
    monkeypatch.setattr(np, "sqrt", helper)
    assert compiled(4.0) == 10.0
    monkeypatch.undo()
    assert compiled(4.0) == 6.0 and len(compiled.specialisations) == 3


def test_names_of_python_that_a_program_replaces():
    """In functions whose globals have `__builtins__` of their own, names have to be Python's."""
    scope = {"np": np, "__builtins__": {"abs": lambda x: x * 2, "len": len}}
    exec("f = lambda x: abs(x)\ng = lambda x: x + len([x])\nh = lambda x: max(x, 1)", scope)
    for name in ("f", "h"):
        with pytest.raises(ingot.UnsupportedError, match="a name in `__builtins__` that is not Python's"):
            jitted(scope[name])(-4.0)
    compiled = jitted(scope["g"])
    assert compiled(-4.0) == -3.0
    scope["__builtins__"]["len"] = lambda x: 7
    with pytest.raises(ingot.UnsupportedError):
        compiled(-4.0)
    made = {"np": np}
    exec("f = lambda x: abs(x)", made)
    made["__builtins__"] = {"abs": lambda x: x * 100}
    with pytest.raises(ingot.UnsupportedError, match="other `__builtins__` since it was made"):
        jitted(made["f"])(-4.0)


def test_callees_are_guarded(monkeypatch):
    compiled = jitted(calls_helper)
    assert compiled(1) == 2
    monkeypatch.setitem(globals(), "helper", lambda x: x + 100)
    assert compiled(1) == 101


def test_cells_are_guarded():
    k = 1

    def f(x):
        return x + k

    compiled = jitted(f)
    assert compiled(1) == 2
    k = 5
    assert compiled(1) == 6


def test_defaults_are_guarded():
    def f(a, b=2, *rest, c=3, **more):
        return a + b + c + len(rest) + len(more)

    compiled = jitted(f)
    for arguments, keywords in (((1,), {}), ((1, 5, 7), {}), ((1,), {"c": 9, "z": 1})):
        assert compiled(*arguments, **keywords) == f(*arguments, **keywords)
    f.__defaults__ = (10,)
    f.__kwdefaults__ = {"c": 20}
    assert compiled(1) == f(1) == 31


def test_code_of_other_parameters():
    def f(x):
        return x + 1

    def same(x):
        return x * 5

    def other(x, y=5):
        return x * y

    compiled = jitted(f)
    assert compiled(1) == 2
    f.__code__ = same.__code__
    assert compiled(1) == compiled(x=1) == 5
    f.__code__, f.__defaults__ = other.__code__, other.__defaults__
    assert f(1, 7) == 7
    assert compiled(1) == 5 and compiled(1, 7) == compiled(1, y=7) == 7


def test_one_of_two_lambdas():
    a, b = ingot.jit(lambda x: x + 1), ingot.jit(lambda x: x * 10)
    assert (a(3), b(3)) == (4, 30)
    a, b = [ingot.jit(lambda x, k=k: x + k) for k in (1, 2)]
    assert (a(3), b(3)) == (4, 5)


def test_source_that_is_gone(tmp_path, monkeypatch):
    file = tmp_path / "edited_later.py"
    file.write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited_later

    file.write_text("def f(x):\n    return x + 2000\n")
    linecache.checkcache()
    with pytest.raises(ingot.UnsupportedError, match="has changed since it was defined"):
        jitted(edited_later.f)(1)
    sys.modules.pop("edited_later")


# ---- Raise or refuse


def test_refusals_show_the_place():
    def f(x):
        return len(f"{x}")

    message = refused(f, 1)
    shown = r'test_semantics_guards.py:\d+(, in f)?\n +return len\(f"\{x\}"\)\n +\^+\n(.*\n)? +instead: '
    assert re.search(shown, message)


@pytest.mark.parametrize(
    "statement",
    [
        "async def g(): pass",
        "with open(x) as f:\n  return f",
        "yield x",
        "return {str(v) for v in (x, x + 1)}",
        "import antigravity",
        "global x_\n x_ = x",
        "class A: pass",
    ],
)
def test_what_is_not_compiled_is_refused(statement, tmp_path, monkeypatch):
    (tmp_path / "refused_module.py").write_text(f"def f(x):\n {statement}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import refused_module

    refused(refused_module.f, 1)
    sys.modules.pop("refused_module")
    linecache.checkcache()


BAD = {
    "byte-swapped": np.arange(3.0).astype(">f8"),
    "object": np.array([1, None], object),
    "records of objects": np.zeros(2, [("a", "i4"), ("b", "O")]),
    "byte-swapped records": np.zeros(2, [("a", ">i4")]),
    "text": np.array(["a"]),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "longdouble": np.zeros(2, np.longdouble),
    "matrix": np.matrix([[1.0, 2.0]]),
    "masked": np.ma.array([1.0, 2.0]),
    "17 axes": np.zeros((1,) * 17),
    "set": {1, frozenset({2})},
    "long list": list("ab" * 50),
    "object()": object(),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_arguments_are_refused(bad):
    def f(a):
        return a

    with pytest.raises(ingot.UnsupportedError, match="instead: "):
        jitted(f)(BAD[bad])


def test_types_of_bad_arguments_decide():
    for use, bad in (
        (lambda a: -a, BAD["dates"]),
        (lambda a: a + 1.5, BAD["set"]),
        (lambda a: a.shape, BAD["set"]),
        (lambda a: a[0] * 2.0, BAD["text"]),
        (lambda a: a > 1.5, {1.5: 2.0}),
        (lambda a: a.shape, "text"),
        (lambda a: a[0], np.int8(1)),
    ):
        check(use, bad)
    refused(lambda x, a: x + a, 1.0, BAD["byte-swapped"], words="byte-swapped dtype >f8")


def test_bad_arguments_that_are_not_used_do_no_harm():
    for bad in BAD.values():
        for mode in MODES:
            assert jitted(lambda x, a: x + 1, mode)(2, bad) == 3


def test_lists_become_arrays():
    check(lambda a: np.sqrt(a), [1.0, 2.0])
    check(lambda a: np.add(a, 1, dtype=np.float32), [1, 2])
    check(lambda a: np.sum(a), [1.0, 2.0])
    check(lambda a: np.sqrt(a), [])
    check(lambda a, b: np.add(a, b), [1, 2], [1, 2, 3])
    refused(lambda a: np.float64(a), [1.0, 2.0])


def test_wrong_arguments_raise_as_python():
    def f(a, b=1, *, c=2):
        return a + b + c

    for arguments, keywords in (((), {}), ((1, 2, 3), {}), ((1,), {"d": 2}), ((1,), {"a": 2})):
        with pytest.raises(TypeError) as expected:
            f(*arguments, **keywords)
        with pytest.raises(TypeError) as raised:
            jitted(f)(*arguments, **keywords)
        assert str(raised.value) == str(expected.value)
    for what in (3, len, "float64(floa64)"):
        with pytest.raises(TypeError):
            ingot.jit(what)(f)


def test_type_errors_are_pythons():
    for function in (
        lambda x: x + None,
        lambda x: x // 1j,
        lambda x: x < 1j,
        lambda x: ~x,
        lambda x: len(x),
        lambda x: x[0],
        lambda x: x(),
    ):
        check(function, 1.5)
    with pytest.raises(ingot.UnsupportedError):  # Python repeats the text here
        jitted(lambda x: x * "a")(2)


def test_dead_branches_do_no_harm():
    def f(s, x):
        if s == "text":
            return x
        return s + x

    check(f, "text", 1)


def test_modules_named_like_numpy_are_guarded(monkeypatch):
    module = types.ModuleType("numpy_helpers")
    exec("SCALE = 2.0\nclass C:\n    K = 3", vars(module))
    monkeypatch.setitem(sys.modules, "numpy_helpers", module)
    f = ingot.jit(lambda x: (x * module.SCALE, module.C.K))
    assert f(1.0) == (2.0, 3)
    module.SCALE, module.C.K = 5.0, 7
    assert f(1.0) == (5.0, 7)
    made = {}
    exec("class C:\n    L = (1,)", made)  # of no module: builtins
    own = made["C"]
    h = ingot.jit(lambda: own.L)
    assert h() == (1,)
    own.L = (4, 5)
    assert h() == (4, 5)


AXES = [0, 2]
ORDER = (2, [0, 1])
SETTINGS = {"axis": 1, "scale": 2.0}


class Config:
    axes = [1, 2]

    def __init__(self, axis):
        self.axis = axis
        self.rest = [0, 1]


CONFIG = Config(1)
PICKED = [1]
FUNCTIONS = (helper, scaled)


def sums_along(x):
    return np.sum(x, axis=AXES[0])


def transforms(x):
    return np.fft.fftn(x, axes=AXES).real.shape, np.transpose(x, (AXES[1], 0, 1))


def calls_picked(x):
    return FUNCTIONS[PICKED[0]](x)


def sums_by_key(x):
    return np.sum(x, axis=SETTINGS["axis"]) * SETTINGS["scale"]


def sums_by_attribute(x):
    return np.sum(x, axis=CONFIG.axis), np.sum(x, axis=CONFIG.rest[1])


def sums_by_default(x, axes=AXES):
    return np.sum(x, axis=axes[1])


def sums_by_class(x):
    return np.sum(x, axis=Config.axes[0])


def sums_in_a_loop(x):
    total = 0.0
    for axis in AXES:
        total += np.sum(x, axis=axis)[0, 0]
    return total


def test_elements_of_values_outside_are_known_on_demand(monkeypatch):
    """And make one specialisation a value, as those of arguments."""
    x = np.arange(24.0).reshape(2, 3, 4)
    places = [2]

    def sums_by_cell(x):
        return np.sum(x, axis=places[0])

    functions = [sums_along, transforms, calls_picked, sums_by_key, sums_by_attribute, sums_by_default, sums_by_class]
    for function in (*functions, sums_by_cell, sums_in_a_loop):
        for mode in MODES:
            compiled = jitted(function, mode)
            assert difference(compiled(x), function(x)) is None
            for container, key, value in (
                (AXES, 0, 1),
                (SETTINGS, "axis", 2),
                (SETTINGS, "scale", 3.0),
                (CONFIG.rest, 1, 0),
                (Config.axes, 0, 0),
                (PICKED, 0, 0),
                (places, 0, 1),
            ):
                container[key], before = value, container[key]
                try:
                    assert difference(compiled(x), function(x)) is None, (function, key)
                finally:
                    container[key] = before
                assert difference(compiled(x), function(x)) is None
            with monkeypatch.context() as changed:
                changed.setattr(CONFIG, "axis", 2)
                assert difference(compiled(x), function(x)) is None
            assert len(compiled.specialisations) <= 6  # the length of a short axis is another kind


def test_what_is_known_already_is_not_asked_for_again():
    def repeated(x):
        return np.transpose(x, [AXES[0], AXES[1], 3 - AXES[0] - AXES[1]]), np.sum(x, axis=AXES[1])

    check(repeated, np.arange(24.0).reshape(2, 3, 4))
