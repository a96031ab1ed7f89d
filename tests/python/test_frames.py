"""Frames of compiled functions in tracebacks are those of the plain functions: lines, carets, parameters, what is global."""

import bdb
import inspect
import io
import linecache
import pdb
import traceback

import ingot
import numpy as np
import pytest

ABOVE = 1.5


def over_lines(x, i, *rest, k=1, **more):
    """A location that goes on in other lines."""
    y = x[
        i + 7
    ]
    return (y
            + k)


def inlined(x, n):
    total = 0.0
    for i in range(n):
        total += element(x, i)
    return total


def element(x, i):
    return x[i] * ABOVE


def generated(x):
    total = 0.0
    for a in (x[i] for i in range(5)):
        total += a
    return total


def listed(x, *, k):
    return sum([x[j + k] for j in range(4)])


def assigned(x):
    x[0] += 1
    x[
        5] = 2
    return x


def in_place(x):
    x[1] += 1
    x[7] += 2


def divided(x):
    n = len(x) - 3
    return 1 // n + 5


def raising(x):
    if x[0] < 1:
        raise ValueError("small", int(x[0]))
    return 1


def with_é(é):
    return "ü", é[9]


def enclosing(k):
    n = 0

    def inner(x):
        nonlocal n
        n = n + 1
        return x[n + k]

    return inner


class Owner:
    @staticmethod
    def still(x):
        return (lambda v: v[3])(x)

    def method(self, x): return x[
        4]


FAILING = [over_lines, inlined, generated, listed, assigned, in_place, divided, raising, with_é, enclosing, Owner.still]
FAILING.append(lambda x: x[8])
WIDER = (listed, in_place)  # a list has a frame of its own in Python 3.11; the statement is what fails in place
ARGUMENTS = {"over_lines": (1,), "inlined": (4,)}


def _failure(function, *arguments, **keywords):
    with pytest.raises(Exception) as caught:
        function(*arguments, **keywords)
    return caught.value.with_traceback(caught.value.__traceback__.tb_next)


def _entries(error):
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


@pytest.mark.parametrize("function", FAILING, ids=lambda f: f.__name__)
def test_tracebacks_are_those_of_the_plain_function(function):
    arguments = (np.zeros(3), *ARGUMENTS.get(function.__name__, ()))
    keywords = {"k": 0} if function is listed else {}
    plain, other = (enclosing(5), enclosing(5)) if function is enclosing else (function, function)
    expected = _failure(plain, *arguments, **keywords)
    got = _failure(ingot.jit(other), *arguments, **keywords)
    if function not in WIDER:
        assert traceback.format_exception(got) == traceback.format_exception(expected)
    frames = [entry for entry in _entries(expected) if entry.tb_frame.f_code.co_name != "<listcomp>"]
    for plain, made in zip(frames, _entries(got), strict=True):
        codes = plain.tb_frame.f_code, made.tb_frame.f_code
        assert codes[0].co_firstlineno == codes[1].co_firstlineno
        assert (plain.tb_lineno, plain.tb_frame.f_lineno) == (made.tb_lineno, made.tb_frame.f_lineno)
        assert made.tb_frame.f_globals is globals()
        if not codes[0].co_name.startswith("<gen"):
            assert inspect.getargs(codes[0]) == inspect.getargs(codes[1])
            assert set(inspect.getargs(codes[1]).args) <= set(made.tb_frame.f_locals)


def test_frames_have_the_arguments_of_the_call():
    """Those that stay what they are: what the others have become is not known. Inlined calls have none."""

    def f(x, n, *rest, k=2, **more):
        n = n + 1
        return element(x, n + 5)

    x = np.zeros(3)
    compiled = ingot.jit(f)
    for _ in range(2):
        entries = [*_entries(_failure(compiled, x, 1, 2.5, z=3))]
        shown = entries[0].tb_frame.f_locals
        assert shown["x"] is x and (shown["rest"], shown["k"], shown["more"]) == ((2.5,), 2, {"z": 3})
        assert repr(shown["n"]) == "<not kept by compiled code>"
        assert {*map(repr, entries[1].tb_frame.f_locals.values())} == {"<not kept by compiled code>"}
    error = _failure(ingot.jit(divided), x=x)
    assert next(_entries(error)).tb_frame.f_locals["x"] is x


def test_debugger_after_the_fact():
    """`pdb.pm` lists the whole function, points at the line, and knows what is global."""
    error = _failure(ingot.jit(inlined), np.zeros(3), 4)
    shown = io.StringIO()
    commands = io.StringIO("where\nlonglist\np ABOVE\np x\nup\nlist\nargs\nquit\n")
    debugger = pdb.Pdb(stdin=commands, stdout=shown, nosigint=True, readrc=False)
    debugger.reset()
    with pytest.raises(bdb.BdbQuit):
        debugger.interaction(None, error.__traceback__)
        raise bdb.BdbQuit
    text = shown.getvalue()
    assert "def element(x, i):" in text and ">>" not in text
    assert "->\t    return x[i] * ABOVE" in text and "->\t        total += element(x, i)" in text
    assert "1.5" in text and "<not kept by compiled code>" in text


def test_text_that_is_gone():
    """The frame of a function whose source is not there, or has changed, still has name and line."""
    text = "def f(x):\n    return x[5]\n"
    later = ["", "def f(x:\n", "x = 1\n", "def f(x):\n    nonlocal x\n    return 1\n", "async def f(x):\n    return await x[5]\n"]
    for now in later:
        file = f"<gone {len(now)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict = {}
        exec(compile(text, file, "exec"), scope)
        compiled = ingot.jit(scope["f"])
        compiled.compile(np.zeros(3))
        linecache.cache[file] = (len(now), None, now.splitlines(keepends=True), file)
        (frame,) = traceback.extract_tb(_failure(compiled, np.zeros(3)).__traceback__)
        assert (frame.filename, frame.lineno, frame.name) == (file, 2, "f")
