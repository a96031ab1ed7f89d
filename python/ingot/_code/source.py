"""The AST of a function: found in its file, and accepted only if compiling it gives the function's own code.

A source is compiled in more than one way: a file as a whole, what is typed or is in a notebook's cell statement by
statement. CPython makes other code of `np.sin(x)` where the unit that it compiles imports `np`, so each way is tried.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import os
import stat
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .._errors import UnsupportedError, place_text
from . import FUTURE, inner_codes, remember, same_code
from .trees import find as _kept

_NO_PYTHON = (SyntaxError, ValueError)
"""What is raised for a source that does not parse, and for one with zeros in it."""
_Key = tuple[str, int]
"""The name of a function and the first line of it."""


class _Definition(NamedTuple):
    """A function of a source."""

    node: Any
    owner: str
    """The name of the class around it, by which private names are distinguished; empty: there is none."""
    unit: int
    """The statement of the source that it is in."""
    number: int
    """Its place, from 1 on, among the functions of the source."""


def first_line(node: Any) -> int:
    """Where a function begins: its decorators are part of it."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _name(node: Any) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _walk(tree: ast.Module) -> Iterator[_Definition]:
    """The functions of a source, in an order that is the same for each of its ASTs."""
    number = 1
    waiting: list[tuple[Any, str, int]] = [(node, "", unit) for unit, node in enumerate(tree.body)]
    while waiting:
        node, owner, unit = waiting.pop()
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            yield _Definition(node, owner, unit, number)
            number += 1
        elif isinstance(node, ast.ClassDef):
            waiting += [(part, node.name, unit) for part in node.body]
            waiting += [(part, owner, unit) for part in (*node.decorator_list, *node.bases, *node.keywords)]
            continue
        waiting += [(part, owner, unit) for part in ast.iter_child_nodes(node)]


def _definitions(tree: ast.Module) -> dict[_Key, list[_Definition]]:
    """The functions of a source; one with decorators starts at the first of these, or at its `def`."""
    found: dict[_Key, list[_Definition]] = {}
    for definition in _walk(tree):
        node = definition.node
        for line in {node.lineno, first_line(node)}:
            found.setdefault((_name(node), line), []).append(definition)
    return found


def _number(tree: ast.Module) -> None:
    """Gives what is in a function the columns of its number, by which code that is made of it is known: what CPython compiles
    depends on lines, and not on columns."""
    numbers = {definition.node: definition.number for definition in _walk(tree)}
    waiting: list[tuple[Any, int]] = [(tree, 0)]
    while waiting:
        node, column = waiting.pop()
        if hasattr(node, "end_col_offset"):
            node.col_offset = node.end_col_offset = column
        body = frozenset(() if node not in numbers else node.body if isinstance(node.body, list) else (node.body,))
        waiting += [(part, numbers[node] if part in body else column) for part in ast.iter_child_nodes(node)]


def _number_of(code: types.CodeType) -> int:
    """The number of the function that code was made of; 0: it does not show, as where Python keeps no columns."""
    columns = {end for _, _, _, end in code.co_positions() if end}
    return columns.pop() if len(columns) == 1 else 0


def _by_place(codes: Iterable[types.CodeType]) -> dict[_Key, list[types.CodeType]]:
    found: dict[_Key, list[types.CodeType]] = {}
    for code in codes:
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    return found


class _Settled(ast.NodeTransformer):
    """The AST as Python's compiler takes it, which knows how asserts are compiled and where private names are."""

    def __init__(self, owner: str, optimize: int, has_asserts: bool) -> None:
        self.owner, self.optimize, self.has_asserts = owner.lstrip("_"), optimize, has_asserts

    def changes(self, node: ast.AST) -> bool:
        """Whether a node, without what is in it, means something else than is written."""
        if isinstance(node, ast.Assert):
            return not self.has_asserts
        if isinstance(node, (ast.Constant, ast.keyword)):
            return False
        names = [value for _, value in ast.iter_fields(node) if type(value) is str]
        names += getattr(node, "names", ()) if isinstance(node, (ast.Global, ast.Nonlocal)) else ()
        return any(name.startswith("__") and (name == "__debug__" or name != self.name(name)) for name in names)

    def name(self, name: str) -> str:
        is_private = self.owner and name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self.owner}{name}" if is_private else name

    def visit(self, node: Any) -> Any:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [self.name(name) for name in node.names]
        elif not isinstance(node, (ast.Constant, ast.keyword)):
            for field, value in ast.iter_fields(node):
                if type(value) is str:
                    setattr(node, field, self.name(value))
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.optimize == 0), node) if node.id == "__debug__" else node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """What is left out is nothing that runs, but its names are names of the function still."""
        self.generic_visit(node)
        if self.has_asserts:
            return node
        return ast.copy_location(ast.If(ast.copy_location(ast.Constant(False), node), [node], []), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node  # is no code of the function's


def _copied(value: Any) -> Any:
    """A copy of an AST, without what others keep on its nodes."""
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if not isinstance(value, ast.AST):
        return value
    made = type(value)(**{field: _copied(part) for field, part in ast.iter_fields(value)})
    return ast.copy_location(made, value)


def _settled(definition: _Definition, optimize: int, has_asserts: bool) -> Any:
    """The AST of a function that was compiled so; the same one for the same question."""
    node, owner = definition.node, definition.owner
    settled = _Settled(owner, optimize, has_asserts)
    known = node.__dict__.setdefault("_ingot_settled", {})
    key = (optimize, has_asserts)
    if key not in known:
        known[key] = node
        if any(map(settled.changes, ast.walk(node))):
            known[key] = settled.visit(_copied(node))
            if isinstance(node, ast.FunctionDef):
                known[key].name = node.name  # what it is called, not what it is stored as
    return known[key]


_LEVELS = (0, 1, 2)
"""What code may be optimized by: Python's options -O and -OO leave asserts out, and docstrings."""


class _Text:
    """A source that functions are defined in, or a part of one that is one function."""

    def __init__(self, text: str, file: str, flags: int) -> None:
        self.text, self._file = text, file
        self._flags = flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._tree = _tree(text, file, flags)
        self._definitions = _definitions(self._tree)
        self._compiled: dict[tuple[Any, ...], dict[_Key, list[types.CodeType]]] = {}

    def found(self, function: types.FunctionType, is_part: bool = False) -> Any:
        """The AST of a function, wherever it is in the source; None: the source has no function of this code."""
        code = function.__code__
        own = (code.co_name, code.co_firstlineno)
        others = [] if is_part else [key for key in self._definitions if key[0] == own[0] and key != own]
        now = min(sys.flags.optimize, _LEVELS[-1])
        for level in sorted(_LEVELS, key=lambda level: level != now):
            for key in (own, *others):
                for definition, has_asserts in self._same(key, function, level, is_part):
                    return _settled(definition, level, has_asserts)
        return None

    def at(self, line: int, column: int, name: str) -> Any:
        """The innermost function of a name that a location is in; None: there is none."""
        found = None
        for (its_name, _), definitions in self._definitions.items():
            for node, *_ in definitions if its_name == name else ():
                is_in = (first_line(node), 0 if node.lineno < line else node.col_offset) <= (line, column)
                is_in = is_in and (line, column) <= (node.end_lineno, node.end_col_offset)
                if is_in and (found is None or (node.lineno, node.col_offset) >= (found.lineno, found.col_offset)):
                    found = node
        return found

    def _same(self, key: _Key, function: types.FunctionType, level: int, is_part: bool) -> Iterator[tuple[_Definition, bool]]:
        """The functions of a name and a line that are compiled to the code of `function`, and whether with asserts."""
        definitions = sorted(self._definitions.get(key, ()), key=lambda d: (d.node.lineno, d.node.col_offset))
        for imports, unit, is_rewritten in self._ways(definitions, function, is_part):
            are_several = len(definitions) > 1
            codes = self._codes(imports, unit, is_rewritten, level, are_several).get(key, ())
            for definition in definitions:
                own = [code for code in codes if not are_several or _number_of(code) == definition.number]
                if any(same_code(code, function.__code__) for code in own):
                    yield definition, is_rewritten or level == 0

    def _ways(self, definitions: list[_Definition], function: types.FunctionType, is_part: bool) -> Iterator[tuple[Any, ...]]:
        """How the source may have been compiled: after which imports, which statement of it, and whether by pytest."""
        if is_part:
            modules = tuple(n for n in function.__code__.co_names if isinstance(function.__globals__.get(n), types.ModuleType))
            if modules:
                yield modules, None, False
            yield (), None, False
            return
        if definitions:
            yield (), None, False
        for unit in dict.fromkeys(d.unit for d in definitions):
            yield (), unit, False
        if definitions and "@pytest_ar" in function.__globals__:
            yield (), None, True

    def _codes(self, *way: Any) -> dict[_Key, list[types.CodeType]]:
        """All code that is made in a way, from an AST with numbers or not; none where Python does not compile it."""
        if way not in self._compiled:
            imports, unit, is_rewritten, level, is_numbered = way
            tree = self._rewritten() if is_rewritten else self._numbered if is_numbered else self._tree
            body = tree.body if unit is None else [tree.body[unit]]
            if imports:
                names = [ast.alias(name) for name in imports]
                body = [ast.fix_missing_locations(ast.Import(names, lineno=1, col_offset=0)), *body]
            try:
                with warnings.catch_warnings(action="ignore"):  # Python has reported them
                    code = compile(ast.Module(body, []), self._file, "exec", self._flags, dont_inherit=True, optimize=level)
            except SyntaxError:  # `return` outside of a function, for example, in another statement
                self._compiled[way] = {}
            else:
                self._compiled[way] = _by_place(inner_codes(code))
        return self._compiled[way]

    @functools.cached_property
    def _numbered(self) -> ast.Module:
        tree = _tree(self.text, self._file, self._flags & FUTURE)
        _number(tree)
        return tree

    def _rewritten(self) -> ast.Module:
        """The AST of a file as pytest compiles it, with asserts whose messages say more."""
        from _pytest.assertion.rewrite import rewrite_asserts

        tree = _tree(self.text, self._file)
        _number(tree)
        rewrite_asserts(tree, self.text.encode(), self._file)
        return tree


def _tree(text: str, file: str, flags: int = 0) -> ast.Module:
    """The AST. Python 3.11 counts the depth of ASTs for all threads together: where two make some at once, one fails for
    no reason of its own."""
    parse: Callable[[], Any] = functools.partial(compile, text, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    with warnings.catch_warnings(action="ignore"):  # Python has reported them
        for _ in range(4):
            with contextlib.suppress(SystemError):
                return parse()
        return parse()


_lines: dict[str, tuple[str, dict[_Key, str]]] = {}
_texts: dict[tuple[Any, ...], _Text] = {}
_GOES_ON = " \t\f\r\n#)]}"  # begins lines that end no function


def _block(file: str, source: str, key: _Key) -> str:
    """The part of a file that is a function of the module, as its indentation shows it, found once in each source of
    the file; what is in the first column of a string in it ends it too early, which its code then shows."""
    if file not in _lines or _lines[file][0] != source:
        _lines[file] = (source, {})
    parts = _lines[file][1]
    if key not in parts:
        lines = source.splitlines(keepends=True)[key[1] - 1 :]
        header = next((i for i, line in enumerate(lines) if line.startswith("def ")), 0)
        after = (i for i, line in enumerate(lines) if i > header and line[0] not in _GOES_ON)
        parts[key] = "".join(lines[: next(after, len(lines))])
    return parts[key]


def _parsed(place: tuple[Any, ...], text: str, file: str, flags: int) -> _Text:
    """A source, parsed once as long as it stays what it is."""
    known = _texts.get((place, flags))
    if known is None or known.text != text:
        known = _texts[place, flags] = _Text(text, file, flags)
    return known


def _found(function: types.FunctionType, file: str, source: str) -> Any:
    """The AST of a function in a source; None: the source has no function of this code. First, what seems to be its part of
    the source is looked at alone: this takes no time in long files."""
    code = function.__code__
    flags = code.co_flags & FUTURE
    key = (code.co_name, code.co_firstlineno)
    if code.co_qualname == code.co_name != "<lambda>":
        with contextlib.suppress(*_NO_PYTHON):
            text = "\n" * (key[1] - 1) + _block(file, source, key)
            node = _parsed((file, key), text, file, flags).found(function, is_part=True)
            if node is not None:
                return node
    return _parsed((file,), source, file, flags).found(function)


def function_at(file: str, text: str, line: int, column: int, name: str) -> Any:
    """The AST of the function of a name that a location in a source is in; None: it is in none."""
    try:
        return _parsed((file,), text, file, 0).at(line, column, name)
    except _NO_PYTHON:
        return None


def text_of(function: types.FunctionType) -> str:
    """The source of the file that a function was defined in; empty: it cannot be read."""
    captured = getattr(function, "__ingot_source__", None)
    return captured if captured is not None else "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))


Excerpt = tuple[tuple[int, str], ...]
"""Parts of a source, each with the number of its first line."""


def portable(function: types.FunctionType) -> str | Excerpt:
    """What another process needs of the source that a function was defined in: the statement of the file that it is in, and
    the imports, if the function is found in these; else all of it."""
    text, code = text_of(function), function.__code__
    flags = code.co_flags & FUTURE
    with contextlib.suppress(*_NO_PYTHON):
        lines = text.split("\n")
        ranges: list[list[int]] = []
        for node in _parsed((code.co_filename,), text, code.co_filename, flags)._tree.body:
            begin, end = first_line(node), node.end_lineno or 0
            if begin <= code.co_firstlineno <= end or isinstance(node, (ast.Import, ast.ImportFrom)):
                if ranges and begin <= ranges[-1][1] + 1:
                    ranges[-1][1] = max(end, ranges[-1][1])
                else:
                    ranges.append([begin, end])
        parts = tuple((begin, "\n".join(lines[begin - 1 : end])) for begin, end in ranges)
        if _Text(whole(parts), code.co_filename, flags).found(function) is not None:
            return parts
    return text


def whole(source: str | Excerpt) -> str:
    """A source in which what `portable` gives has the lines that it had."""
    if isinstance(source, str):
        return source
    text, line = "", 1
    for begin, part in source:
        text += "\n" * (begin - line) + part
        line = max(begin, line) + part.count("\n")
    return text + "\n"


def _command(arguments: list[str]) -> str | None:
    """The source that Python was given with `-c`."""
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
    """The whole of a standard input that is a file; its position does not change."""
    try:
        descriptor = sys.__stdin__.fileno()  # type: ignore[union-attr]
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        return os.pread(descriptor, status.st_size, 0).decode()
    except (AttributeError, OSError, ValueError):
        return None


def _program(file: str) -> str | None:
    """The source of a program that is in no file."""
    if file == "<string>":
        text = _command(sys.orig_argv)
    else:
        text = _standard_input() if file == "<stdin>" else None
    return f"{text}\n" if text is not None else None


_rebuilt: dict[types.CodeType, Any] = {}


def _without_text(function: types.FunctionType, file: str) -> Any:
    """The AST of a function whose source is in no file: from the program's own source, or else from its bytecode."""
    code = function.__code__
    if code not in _rebuilt:
        text = _program(file)
        try:
            node = _found(function, file, text) if text is not None else None
        except _NO_PYTHON:
            node = None
        if node is None:
            from . import decompile  # which few programs need

            try:
                node = decompile.rebuild(code, same_code)
            except decompile.Unstructured as error:
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
    """The `ast.FunctionDef` or `ast.Lambda` of a Python function, the file it is in, and its first line.

    Raises UnsupportedError where the source is not what the function was compiled from, or where it is missing and none
    that gives the function's bytecode is found.
    """
    code = function.__code__
    file = code.co_filename
    kept = _of_library(function)
    if kept is not None:
        return kept, file, code.co_firstlineno
    remember(function)
    source = text_of(function)
    place = place_text(file, code.co_firstlineno)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise UnsupportedError(f"the coroutine `{function.__qualname__}` is not supported\n  {place}\n  instead: write a loop")
    if not source:
        return _without_text(function, file), file, code.co_firstlineno
    try:
        node = _found(function, file, source)
        if node is None:  # what was read may be older than the function
            linecache.checkcache(file)
            node = _found(function, file, text_of(function))
    except _NO_PYTHON as error:
        raise UnsupportedError(f"{file} does not parse any more: {error}\n  instead: import it again") from None
    if node is None:
        raise UnsupportedError(f"the source of `{function.__qualname__}` has changed since it was defined\n  {place}\n  instead: define or import it again")
    return node, file, code.co_firstlineno


def shown(function: types.FunctionType) -> str:
    """The source of a function to read; where that is nowhere, that of its AST."""
    try:
        return inspect.getsource(function)
    except OSError:
        return ast.unparse(find(function)[0]) + "\n"
