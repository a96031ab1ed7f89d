"""Assignments to variables of functions around the compiled one (`nonlocal`), and to globals, which are refused."""

import inspect
import linecache
import types

import ingot
import numpy as np
import pytest
from support import MODES, difference, jitted


def outcomes(outer, *calls):
    """What calls of the function that `outer()` returns give, and after each what it reports of the variables: plainly and in each mode."""

    def run(wrap):
        function, state = outer()
        function = wrap(function)
        seen = []
        for arguments in calls:
            try:
                given = function(*arguments)
            except ingot.UnsupportedError:
                raise
            except Exception as error:
                given = (type(error).__name__, str(error))
            try:
                after = state()
            except NameError as error:
                after = str(error)
            seen.append((given, after))
        return seen

    expected = run(lambda function: function)
    for mode in MODES:
        problem = difference(run(lambda function: jitted(function, mode)), expected)
        assert problem is None, f"{mode}: {problem}"
    return expected


def counter():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x + n

    return f, lambda: n


def of_each_kind():
    a = b = c = d = e = g = None

    def f(x, array):
        nonlocal a, b, c, d, e, g
        a = x * 2
        b = "text"
        c = [x, (1, 2.5)]
        d = {"k": x}
        e = array * 2
        g = array
        return g is array

    return f, lambda: (a, b, c, d, e, g)


def raises():
    n = 1

    def f(x):
        nonlocal n
        n = n * 10
        if x > 2:
            raise ValueError(x)
        n += 1
        return n

    return f, lambda: n


def kinds_by_path():
    n = 1

    def f(x):
        nonlocal n
        if x > 2:
            n = 2.5
        else:
            n = x
        return x

    return f, lambda: n


def loops():
    total = 0
    last = -1

    def f(x):
        nonlocal total, last
        for last in range(len(x)):
            total = total + int(x[last])
        while total > 100:
            total -= 7
        return total

    return f, lambda: (total, last)


def shared_by_inner_functions():
    n = 0

    def f(x):
        def add(y):
            nonlocal n
            n += y
            return n

        def read():
            return n

        def deeper():
            def most():
                nonlocal n
                n = n * 2

            most()
            return n

        add(x)
        before = read()
        return before, deeper(), [add(i) for i in range(3)], n

    return f, lambda: n


def callees():
    n = 5

    def bump(k):
        nonlocal n
        n += k
        return n

    def reads():
        return n * 2

    def f(x):
        first = reads()
        bump(x)
        return first, reads(), bump(1)

    return f, lambda: n


def only_callees_write():
    n = 5

    def bump(k):
        nonlocal n
        n += k

    def f(x):
        for i in range(x):
            bump(i)
        return n

    return f, lambda: n


def generators():
    n = 0

    def counted(k):
        nonlocal n
        for i in range(k):
            n += i
            yield n

    def f(k):
        total = 0
        for value in counted(k):
            total += value
        return total, n, list(counted(2)), sum(n + i for i in range(2))

    return f, lambda: n


def deleted():
    n = 1

    def f(x):
        nonlocal n
        if x:
            n = 2
        else:
            del n
        return x

    return f, lambda: n


def deleted_and_read():
    n = 1

    def f(x):
        nonlocal n
        del n
        if x > 2:
            n = x
        return n

    return f, lambda: n


def bound_first_here():
    def f(x):
        nonlocal n
        n = x
        return n

    def state():
        return n

    if False:
        n = 1
    return f, state


def recursion():
    calls = 0

    def f(k):
        nonlocal calls
        calls += 1
        return 1 if k < 2 else f(k - 1) + f(k - 2)

    return f, lambda: calls


def targets():
    a = b = c = d = 0

    def f(x):
        nonlocal a, b, c, d
        a, (b, *c) = x
        for a, d in ((1, 2), (3, x[0])):
            pass
        y = (b := b + 1)
        _ = [(a := i) for i in range(4)]
        match (x[0], 7):
            case (d, 7):
                pass
        return y

    return f, lambda: (a, b, c, d)


def callers_containers():
    kept = []

    def f(x):
        nonlocal kept
        kept.append(x)
        if len(kept) > 2:
            kept = [x]
        return len(kept)

    return f, lambda: kept


def caught():
    n = 0

    def f(x):
        nonlocal n
        try:
            n = 1
            y = x[5]
            n = 2
        except IndexError:
            n += 10
        finally:
            n += 100
        return n

    return f, lambda: n


CALLS = {
    counter: ((1,), (2,), (2.5,), (np.float32(1),)),
    of_each_kind: ((1, np.arange(3.0)), (2.5, np.arange(2)), (True, np.ones((2, 2)))),
    raises: ((1,), (3,), (3,), (1.5,)),
    kinds_by_path: ((1,), (3,), (1,)),
    loops: ((np.arange(5),), (np.arange(30),), (np.arange(0),)),
    shared_by_inner_functions: ((1,), (2,)),
    callees: ((1,), (2,), (2.5,)),
    only_callees_write: ((3,), (4,)),
    generators: ((3,), (2,)),
    deleted: ((1,), (0,), (1,), (0,)),
    deleted_and_read: ((1,), (3,), (1,)),
    bound_first_here: ((1,), (2.5,)),
    recursion: ((5,), (6,)),
    targets: (((1, (2, 3, 4)),), ((5.5, (2, 3)),)),
    callers_containers: ((1,), (2,), (3,), (4,)),
    caught: ((np.arange(3.0),), (np.arange(9.0),)),
}


@pytest.mark.parametrize("outer", CALLS, ids=lambda outer: outer.__name__)
def test_nonlocal_variables_of_the_caller(outer):
    assert outcomes(outer, *CALLS[outer])


def test_arrays_in_the_variable_are_shared():
    def outer():
        kept = np.zeros(2)

        def f(x):
            nonlocal kept
            kept[0] += 1
            kept = x
            kept[1] = 7.0
            return x.sum()

        return f, lambda: kept

    x = np.arange(3.0)
    for mode in MODES:
        f, state = outer()
        assert jitted(f, mode)(x) == 9.0 and state() is x and x[1] == 7.0


def test_a_host_function_sees_the_variable():
    for mode in MODES:
        n = 0
        seen = []

        @ingot.host(result=None)
        def note():
            seen.append(n)

        def f(x):
            nonlocal n
            n = x
            note()
            n = x + 1

        jitted(f, mode)(3)
        assert (n, seen) == (4, [3])


def test_functions_that_share_the_variable_see_what_calls_leave():
    n = 1

    def write(x):
        nonlocal n
        n = x

    def read():
        return n

    compiled, reading = ingot.jit(write), ingot.jit(read)
    for value in (2, 3, 4, 2.5, "text"):
        compiled(value)
        assert reading() == value == n
    n = 9
    assert reading() == 9


def test_what_a_nonlocal_variable_cannot_be():
    def function():
        n = 0

        def f(x):
            nonlocal n
            n = lambda: x

        return f

    def in_part():
        n = 0

        def f(x):
            nonlocal n
            y = None if x > 2 else x
            n = y

        return f

    def a_set():
        n = 0

        def f(x):
            nonlocal n
            n = {1, 2}

        return f

    for outer in (function, in_part, a_set):
        with pytest.raises(ingot.UnsupportedError, match="(?s)nonlocal` name `n`.*instead:"):
            ingot.jit(outer())(1)


GLOBALS = """
from math import *
import contextlib
n = 1
def plain():
    global n
    n = 2
def augmented():
    global n
    n += 1
def target():
    global n
    for n in range(3): pass
def unpacked():
    global n
    a, n = 1, 2
def walrus():
    global n
    return (n := 3)
def comprehended():
    global n
    return [n := i for i in range(2)]
def handler():
    global n
    try:
        raise ValueError
    except ValueError as n:
        pass
def deletes():
    global n
    del n
def inner():
    global n
    def n(): pass
def in_a_branch(x=0):
    if x:
        global n
    n = 2
def matched():
    global n
    match 3:
        case n: pass
def imports():
    global math
    import math
def defines():
    global n
    class n: pass
def manages():
    global n
    with contextlib.nullcontext(1) as n: pass
"""


def test_assignments_to_globals_are_refused():
    space = {"__name__": "globals_here"}
    linecache.cache["<globals here>"] = (len(GLOBALS), None, GLOBALS.splitlines(True), "<globals here>")
    exec(compile(GLOBALS, "<globals here>", "exec"), space)
    functions = [f for f in space.values() if isinstance(f, types.FunctionType) and f.__module__ == "globals_here"]
    assert len(functions) == 14
    for function in functions:
        calls = {"function": function}
        exec("def caller(): return function()", calls)
        for each in (function, calls["caller"]):
            if each is not function:
                each.__ingot_source__ = "def caller(): return function()"
            with pytest.raises(ingot.UnsupportedError, match="instead:"):
                ingot.jit(each)()
    assert space["n"] == 1 and inspect.ismodule(space["contextlib"])


def test_attributes_that_a_module_makes():
    module = types.ModuleType("made_of_names")
    source = 'scale = 2\ndef __getattr__(name):\n    if name == "made":\n        return scale * 10\n    raise AttributeError("no " + name)\n'
    file = "<made of names>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), vars(module))

    def f(x):
        return x + module.made

    def missing():
        return module.other

    for mode in MODES:
        module.scale = 2
        vars(module).pop("made", None)
        g = jitted(f, mode)
        assert g(1) == 21 and g(1) == 21
        module.scale = 3
        assert g(1) == 31
        module.made = 5
        assert g(1) == 6
        del module.made
        assert g(1) == 31
        with pytest.raises(AttributeError, match="no other"):
            jitted(missing, mode)()
