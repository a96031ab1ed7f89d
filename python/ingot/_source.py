"""The AST of a function: found in its file, and accepted only if compiling it gives the function's own code."""

import __future__

import ast
import contextlib
import inspect
import linecache
import os
import stat
import sys
import types
from collections.abc import Iterable
from typing import Any

from . import _decompile
from ._errors import UnsupportedError
from ._trees import find as _kept


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    if (a.co_code, a.co_names, a.co_varnames, a.co_freevars, a.co_cellvars, a.co_argcount) != (
        b.co_code,
        b.co_names,
        b.co_varnames,
        b.co_freevars,
        b.co_cellvars,
        b.co_argcount,
    ):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    for x, y in zip(a.co_consts, b.co_consts):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if not _same_code(x, y):
                return False
        elif constant_key(x) != constant_key(y):
            return False
    return True


def constant_key(constant: Any) -> Any:
    """What tells constants of code apart. The order of sets does not: it hangs on who made them, from a source or a pyc file."""
    if isinstance(constant, tuple):
        return tuple, *map(constant_key, constant)
    if isinstance(constant, frozenset):
        return frozenset(map(constant_key, constant))
    return type(constant), repr(constant)


def _codes(code: types.CodeType):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


_Key = tuple[str, int]  # the name of a function and the first line of it


def _functions(tree: ast.AST) -> dict[_Key, list[ast.AST]]:
    """The functions of a file; one with decorators starts at the first of these, or at its `def`."""
    found: dict[_Key, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.FunctionDef):
            for line in {node.lineno, min([node.lineno] + [d.lineno for d in node.decorator_list])}:
                found.setdefault((node.name, line), []).append(node)
    return found


def _codes_by_place(codes: Iterable[types.CodeType]) -> dict[_Key, list[types.CodeType]]:
    found: dict[_Key, list[types.CodeType]] = {}
    for code in codes:
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    return found


_blocks: dict[tuple[str, _Key], tuple[str, Any]] = {}
_parts: dict[str, tuple[str, dict[_Key, str]]] = {}
_GOES_ON = " \t\f\r\n#)]}"  # begins lines that end no function


def _block(file: str, source: str, key: _Key) -> str:
    """The part of a file that is a function of the module, as its indentation shows it, found once in each source of
    the file; what stands in the first column of a text in it ends it too early, which its code then shows."""
    if file not in _parts or _parts[file][0] != source:
        _parts[file] = (source, {})
    parts = _parts[file][1]
    if key not in parts:
        lines = source.splitlines(keepends=True)[key[1] - 1 :]
        header = next((i for i, line in enumerate(lines) if line.startswith("def ")), 0)
        after = (i for i, line in enumerate(lines) if i > header and line[0] not in _GOES_ON)
        parts[key] = "".join(lines[: next(after, len(lines))])
    return parts[key]


def _alone(file: str, source: str, function: types.FunctionType) -> Any:
    """The AST of a function that stands at the level of its module, parsed without the rest; None: not for certain."""
    code, first = function.__code__, function.__code__.co_firstlineno
    if code.co_qualname != code.co_name or code.co_name == "<lambda>" or first == 1:
        return None
    try:
        key = (file, (code.co_name, first))
        block = _block(file, source, key[1])
        if key not in _blocks or _blocks[key][0] != block:
            # Calls of what a module imports have code of their own.
            modules = [n for n in code.co_names if isinstance(function.__globals__.get(n), types.ModuleType)]
            text = (f"import {', '.join(modules)}" if modules else "") + "\n" * (first - 1) + block
            tree = _tree(text, file)
            future = code.co_flags & __future__.annotations.compiler_flag
            compiled = compile(text, file, "exec", flags=future, dont_inherit=True)
            own = [c for c in compiled.co_consts if isinstance(c, types.CodeType) and c.co_name == code.co_name]
            node = tree.body[-1]
            is_one = len(own) == 1 and isinstance(node, ast.FunctionDef)
            _blocks[key] = (block, (node, own[0]) if is_one else None)
    except (SyntaxError, IndexError):
        return None
    known = _blocks[key][1]
    return known[0] if known is not None and _same_code(known[1], code) else None


def _tree(text: str, file: str) -> ast.Module:
    """The AST. Python 3.11 counts the depth of ASTs for all threads together: where two make some at once, one fails for no reason of its own."""
    for _ in range(4):
        with contextlib.suppress(SystemError):
            return ast.parse(text, file)
    return ast.parse(text, file)


_Parsed = tuple[dict[_Key, list[ast.AST]], dict[_Key, list[types.CodeType]]]
_trees: dict[str, tuple[str, _Parsed]] = {}


def _parsed(file: str, source: str) -> _Parsed:
    known = _trees.get(file)
    if known is None or known[0] != source:
        tree = _tree(source, file)
        codes = _codes_by_place(_codes(compile(source, file, "exec", dont_inherit=True)))
        known = _trees[file] = (source, (_functions(tree), codes))
    return known[1]


def _rewritten(file: str, source: str, function: types.FunctionType) -> dict[_Key, list[types.CodeType]]:
    """The code objects of a file whose asserts pytest has rewritten; none where it has not."""
    if "@pytest_ar" not in function.__globals__:
        return {}
    from _pytest.assertion.rewrite import rewrite_asserts

    key = f"{file}@pytest"
    known = _trees.get(key)
    if known is None or known[0] != source:
        tree = _tree(source, file)
        rewrite_asserts(tree, source.encode(), file)
        codes = _codes_by_place(_codes(compile(tree, file, "exec", dont_inherit=True)))
        known = _trees[key] = (source, ({}, codes))
    return known[1][1]


def text_of(function: types.FunctionType) -> str:
    """The source of the file that a function was defined in; empty: it cannot be read."""
    captured = getattr(function, "__ingot_source__", None)
    return captured if captured is not None else "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))


def _command(arguments: list[str]) -> str | None:
    """The text that Python was given with `-c`."""
    k = 1
    while k < len(arguments) and arguments[k].startswith("-"):
        option = arguments[k]
        for n, letter in enumerate(option[1:] if not option.startswith("--") else "", 2):
            if letter == "c":
                return option[n:] or (arguments[k + 1] if k + 1 < len(arguments) else None)
            if letter == "m":
                return None
            if letter in "WX":
                k += len(option) == n
                break
        k += 1 + (option == "--check-hash-based-pycs")
    return None


def _standard_input() -> str | None:
    """The whole of a standard input that is a file; where it stands does not change."""
    try:
        descriptor = sys.__stdin__.fileno()  # type: ignore[union-attr]
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        return os.pread(descriptor, status.st_size, 0).decode()
    except (AttributeError, OSError, ValueError):
        return None


def _program(file: str) -> str | None:
    """The text of a program that stands in no file."""
    if file == "<string>":
        text = _command(sys.orig_argv)
    else:
        text = _standard_input() if file == "<stdin>" else None
    return f"{text}\n" if text is not None else None


def _found(function: types.FunctionType, file: str, source: str) -> Any:
    """The AST of a function in a text; None: the text has no function of this code."""
    code = function.__code__
    alone = _alone(file, source, function)
    if alone is not None:
        return alone
    functions, codes = _parsed(file, source)
    key = (code.co_name, code.co_firstlineno)
    nodes = functions.get(key, [])
    same = _matching(nodes, codes.get(key, []), code) or _matching(nodes, _rewritten(file, source, function).get(key, []), code)
    return same[0] if same else None


_rebuilt: dict[types.CodeType, Any] = {}


def _without_text(function: types.FunctionType, file: str) -> Any:
    """The AST of a function whose text is in no file: from the program's own text, or else from its bytecode."""
    code = function.__code__
    if code not in _rebuilt:
        text = _program(file)
        try:
            node = _found(function, file, text) if text is not None else None
        except SyntaxError:
            node = None
        if node is None:
            try:
                node = _decompile.rebuild(code, _same_code)
            except _decompile.Unstructured as error:
                raise UnsupportedError(
                    f"`{function.__qualname__}` has no source that can be read ({file}), and none was found for its bytecode ({error})\n"
                    "  instead: define it in a file or a notebook cell"
                ) from None
        _rebuilt[code] = node
    return _rebuilt[code]


_library: dict[int, tuple[types.CodeType, Any]] = {}


def _of_library(function: types.FunctionType) -> Any:
    """The AST of a function of Ingot's library, where the build has kept it."""
    code = function.__code__
    known = _library.get(id(code))
    if known is None:
        node = _kept(function)
        if node is None:
            return None
        known = _library[id(code)] = (code, node)
    return known[1]


def find(function: types.FunctionType) -> tuple[Any, str, int]:
    """The `ast.FunctionDef` or `ast.Lambda` of a Python function, the file it stands in, and its first line.

    Raises UnsupportedError where the source is not what the function was compiled from, or where it is missing and none
    that gives the function's bytecode is found.
    """
    code = function.__code__
    file = code.co_filename
    kept = _of_library(function)
    if kept is not None:
        return kept, file, code.co_firstlineno
    source = text_of(function)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise UnsupportedError(f"the coroutine `{function.__qualname__}` is not supported\n  {file}:{code.co_firstlineno}\n  instead: write a loop")
    if not source:
        return _without_text(function, file), file, code.co_firstlineno
    try:
        node = _found(function, file, source)
        if node is None:  # what was read may be older than the function
            linecache.checkcache(file)
            node = _found(function, file, text_of(function))
    except SyntaxError as error:
        raise UnsupportedError(f"{file} does not parse any more: {error}\n  instead: import it again") from None
    if node is None:
        raise UnsupportedError(
            f"the source of `{function.__qualname__}` has changed since it was defined\n"
            f"  {file}:{code.co_firstlineno}\n  instead: define or import it again"
        )
    return node, file, code.co_firstlineno


def shown(function: types.FunctionType) -> str:
    """The source of a function to read; where its text is nowhere, that of its AST."""
    try:
        return inspect.getsource(function)
    except OSError:
        return ast.unparse(find(function)[0]) + "\n"


def _matching(nodes: list[ast.AST], places: list[types.CodeType], code: types.CodeType) -> list[ast.AST]:
    """Those of the AST nodes of one line and name whose code is this one."""
    if len(nodes) != len(places):
        return []
    # Code objects and AST nodes of one line come in the same order.
    return [node for node, candidate in zip(_in_order(nodes), _in_position(places)) if _same_code(candidate, code)]


def _in_order(nodes):
    return sorted(nodes, key=lambda n: (n.lineno, n.col_offset))


def _in_position(codes):
    def start(code: types.CodeType):
        # What begins and ends a function stands in column 0, up to column 0.
        return min(((p[0], p[2]) for p in code.co_positions() if p[0] is not None and p[3]), default=(0, 0))

    return sorted(codes, key=start)
