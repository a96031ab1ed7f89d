"""Frames that tracebacks show of compiled functions, as if Python had run them.

The code of a frame is made from the source of its function: it has the function's lines, parameters and instructions, and
what has failed is the instruction at that location. None of these run: before them the frame waits at the line that has
failed until it is taken, and returns.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import linecache
import types
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

from .._code import function_of, inner_codes, source
from .._errors import Site
from .._signatures.parameters import bind, parameters_of


class _NotKept:
    """Stands for an argument in the frame of a function."""

    def __repr__(self) -> str:
        return "<not kept by compiled code>"


_NOT_KEPT = _NotKept()


class _Code(NamedTuple):
    """What a frame at one location is made of."""

    code: types.CodeType
    instruction: int | None
    """That which has failed; None: the one that the frame waits at."""


_made: dict[str, tuple[list[str], dict[Site, _Code]]] = {}
_MOST_FILES = 256
_NO_LINES: list[str] = []


def traceback(sites: tuple[Site, ...], inner: types.TracebackType | None = None) -> types.TracebackType | None:
    """A traceback through locations of the user's, the last of which is the first one given; then what is `inner`."""
    for site in sites:
        if site[1] > 0:
            inner = _entry(site, inner)
    return inner


def _entry(site: Site, inner: types.TracebackType | None) -> types.TracebackType:
    file, line, *_ = site
    function = function_of(file)
    space = {"__name__": "__main__"} if function is None else function.__globals__
    lines = linecache.getlines(file, space) or _NO_LINES
    if file not in _made or _made[file][0] is not lines:
        if len(_made) >= _MOST_FILES:
            _made.clear()
        _made[file] = (lines, {})
    known = _made[file][1]
    if site not in known:
        known[site] = _code(site, lines)
    code, instruction = known[site]
    positional = [_NOT_KEPT] * (code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS))
    named = {name: _NOT_KEPT for name in code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]}
    frame = _frame(code, space, positional, named)
    return types.TracebackType(inner, frame, frame.f_lasti if instruction is None else instruction, line)


def _frame(code: types.CodeType, space: dict[str, Any], positional: Iterable[Any], named: dict[str, Any]) -> types.FrameType:
    closure = tuple(types.CellType() for _ in code.co_freevars)
    waiting = types.FunctionType(code, space, closure=closure)(*positional, **named)
    next(waiting)
    frame = waiting.gi_frame
    next(waiting, None)
    return frame


def _takes(code: types.CodeType) -> tuple[Any, ...]:
    """What calls of code bind."""
    kinds = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount, kinds


def with_arguments(function: Any, shown: types.TracebackType, positional: tuple[Any, ...], named: dict[str, Any]) -> types.TracebackType:
    """The traceback of a call of a compiled function, with arguments in its first frame: those whose names the function
    does not bind anew, as what it has bound to the others by then is not known."""
    own, code = function.__ingot_function__.__code__, shown.tb_frame.f_code
    is_own = (code.co_filename, code.co_firstlineno, code.co_name) == (own.co_filename, own.co_firstlineno, own.co_name)
    if not is_own or code.co_consts[-1] is not _NOT_KEPT or _takes(code) != _takes(own):
        return shown
    try:
        bound = bind(function.__ingot_function__, positional, named)
    except TypeError:  # parameters are others than they were
        return shown
    parameters, anew = parameters_of(function.__ingot_function__), _bound_anew(own)
    values = {name: _NOT_KEPT if name in anew else value for name, value in bound.items()}
    given = [values.pop(name) for name in parameters.by_position]
    if parameters.has_rest:
        rest = values.pop(parameters.names[parameters.rest])
        given += (_NOT_KEPT,) if rest is _NOT_KEPT else rest
    if parameters.has_others:
        others = values.pop(parameters.names[-1])
        values |= {} if others is _NOT_KEPT else others
    frame = _frame(code, shown.tb_frame.f_globals, given, values)
    return types.TracebackType(shown.tb_next, frame, shown.tb_lasti, shown.tb_lineno)


_BINDING = ("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF")


@functools.lru_cache(maxsize=256)
def _bound_anew(code: types.CodeType) -> set[str]:
    """The names that a function, or one inside of it, binds."""
    return {i.argval for each in (code, *inner_codes(code)) for i in dis.get_instructions(each) if i.opname in _BINDING}


def _code(site: Site, lines: list[str]) -> _Code:
    file, line, column, end_column, name = site
    node = source.function_at(file, "".join(lines), line, column, name)
    if node is not None:
        try:
            code = _compiled(node, site, (0, 0), _body(node))
        except (SyntaxError, ValueError):  # what is there now is no such function
            node = None
        else:
            instruction = _instruction(code, site)
            if instruction is not None:
                return _Code(code, instruction)
    if end_column <= column:
        text = lines[line - 1].rstrip().encode() if line <= len(lines) else b""
        column, end_column = len(text) - len(text.lstrip()), len(text)
    return _Code(_compiled(node, site, (column, end_column), []), None)


def _body(node: Any) -> list[ast.stmt]:
    return [ast.copy_location(ast.Return(node.body), node.body)] if isinstance(node, ast.Lambda) else node.body


def _compiled(node: Any, site: Site, columns: tuple[int, int], body: list[ast.stmt]) -> types.CodeType:
    """The code of a frame, which waits at these columns of the line that has failed, and does not come to the body."""
    file, line, _, _, name = site
    place: dict[str, Any] = {"lineno": line, "end_lineno": line, "col_offset": columns[0], "end_col_offset": columns[1]}
    waits = ast.If(ast.Yield(None, **place), body or [ast.Pass(**place)], [ast.Return(None, **place)], **place)
    of_outside = {n for part in body for each in ast.walk(part) if isinstance(each, ast.Nonlocal) for n in each.names}
    first = line if node is None else source.first_line(node)
    definition = ast.FunctionDef("function", _parameters(node), [waits], [], **_at(first))
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in sorted(of_outside)]
    around = [ast.Assign(targets, ast.Constant(None), **_at(1))] if targets else []
    outer = ast.FunctionDef("outer", _parameters(None), [*around, definition], [], **_at(1))
    module = ast.fix_missing_locations(ast.Module([outer], []))
    with warnings.catch_warnings(action="ignore"):
        compiled = compile(module, file, "exec", dont_inherit=True, optimize=0)
    code = next(c for c in _inner(_inner(compiled)[0]) if c.co_name == "function")
    return code.replace(co_name=name, co_qualname=name, co_consts=(*code.co_consts, _NOT_KEPT))  # by which frames are known


def _at(line: int) -> dict[str, Any]:
    return {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _parameters(node: Any) -> ast.arguments:
    """The parameters of a function, without annotations and defaults."""
    if node is None:
        return ast.arguments([], [], None, [], [], None, [])
    its = node.args

    def plain(arguments: list[ast.arg]) -> list[ast.arg]:
        return [ast.copy_location(ast.arg(a.arg), a) for a in arguments]

    rest, others = plain([its.vararg] if its.vararg else []), plain([its.kwarg] if its.kwarg else [])
    named = plain(its.kwonlyargs)
    defaults: list[ast.expr | None] = [None] * len(named)
    one, other = rest[0] if rest else None, others[0] if others else None
    return ast.arguments(plain(its.posonlyargs), plain(its.args), one, named, defaults, other, [])


def _instruction(code: types.CodeType, site: Site) -> int | None:
    """Which instruction is at a location: of several in a row the last one, which works on what the others have loaded."""
    _, line, column, end_column, _ = site

    def is_there(place: tuple[Any, ...]) -> bool:
        if place[0] != line or place[2] != column:
            return False
        return place[1] == line and place[3] == end_column if end_column > column else place[1] > line

    stands = [is_there(place) for place in code.co_positions()]
    if not any(stands):
        return None
    first = stands.index(True)
    count = sum(1 for _ in itertools.takewhile(bool, stands[first:]))
    operations = code.co_code[2 * first : 2 * (first + count) : 2]
    return 2 * (first + max(k for k, operation in enumerate(operations) if operation))
