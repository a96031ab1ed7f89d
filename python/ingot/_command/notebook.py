"""`%load_ext ingot`: `%%ingot` compiles the functions of a cell, `%ingot_explain f(x)` shows how a call is compiled.

A cell that begins with `%%ingot` stays a cell like others: IPython compiles and runs it, so that its lines, tracebacks,
other magics, its last value and `await` are as ever. Its first line becomes a string, by which its AST is recognised.
"""

from __future__ import annotations

import ast
import copy
import re
import types
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import needs_local_scope

from .._calls.function import Function
from .._calls.jit import jit
from .._code import scope

_MAGIC = "%%ingot"
_FIRST = re.compile(rf"{_MAGIC}(?=\s|$)(.*)", re.DOTALL)


def _options(text: str) -> ast.Call:
    """`jit(...)` with what a magic's line has; raises SyntaxError where that is none of a call's arguments."""
    try:
        call: Any = ast.parse(f"jit({text.strip()}\n)", mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise SyntaxError(f"{_MAGIC} takes what ingot.jit takes, such as `{_MAGIC} parallel=False, fastmath=True`, not `{text.strip()}`")
    called = ast.parse("__import__('ingot').jit", mode="eval").body
    return ast.Call(called, call.args, call.keywords)


def _marked(lines: list[str]) -> list[str]:
    """A cell as Python: the magic's line is a string."""
    found = _FIRST.match(lines[0]) if lines else None
    if found is None:
        return lines
    _options(found[1])
    return [f"{lines[0].strip()!r}\n", *lines[1:]]


class _Decorating(ast.NodeTransformer):
    """Puts `ingot.jit` on the functions of cells whose AST begins with the magic."""

    def visit_Module(self, tree: ast.Module) -> ast.Module:
        first: Any = tree.body[0] if tree.body else None
        text = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
        found = _FIRST.match(text) if isinstance(text, str) else None
        if found is None:
            return tree
        del tree.body[0]
        options = _options(found[1])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list and not scope.yields(node):
                node.decorator_list.append(_located(options, node))
        return tree


def _located(expression: ast.expr, at: ast.stmt) -> ast.expr:
    """A copy of an expression, all of it in a statement's first line."""
    made = copy.deepcopy(expression)
    for node in ast.walk(made):
        if isinstance(node, (ast.expr, ast.keyword)):
            node.lineno = node.end_lineno = at.lineno
            node.col_offset, node.end_col_offset = at.col_offset, at.col_offset + len("def")
    return made


_decorating = _Decorating()


def _cell(shell: Any, line: str, cell: str) -> None:
    """Compiles the functions of the cell: as if `@ingot.jit` were written above each of them.

        %%ingot
        %%ingot parallel=False, fastmath=True

    What follows is what `ingot.jit(...)` takes. Functions that have decorators are left as they are, and so are generators,
    which are compiled into what iterates over them, coroutines, and what is inside of classes and other statements. The rest of the cell
    runs as it does without the magic.
    """
    shell.run_cell(f"{_MAGIC} {line}\n{cell}").raise_error()


def _explained(shell: Any, line: str, local_ns: dict[str, Any] | None) -> Any:
    """Shows how a call is compiled, without making it:

        %ingot_explain f(x, n=3)

    As `f.explain(x, n=3)`. A function that is not compiled by Ingot is shown as `ingot.jit` would compile it.
    """
    try:
        call: Any = ast.parse(line.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call):
        raise UsageError(f"%ingot_explain takes a call, such as `%ingot_explain f(x)`, not `{line.strip()}`")
    call.func = ast.Call(ast.Name("the function's explain", ast.Load()), [call.func], [])
    code = compile(ast.fix_missing_locations(ast.Expression(call)), "<%ingot_explain>", "eval")
    return eval(code, {**shell.user_ns, "the function's explain": _explain_of}, local_ns)


def _explain_of(function: Any) -> Any:
    """The `explain` of a function, compiled or not, or of a method."""
    if isinstance(function, Function):
        return function.explain
    if isinstance(function, types.MethodType) and isinstance(function.__func__, Function):
        owner, own = function.__self__, function.__func__
        return lambda *args, **kwargs: own.explain(owner, *args, **kwargs)
    found = getattr(function, "explain", None)
    return found if callable(found) else jit(function).explain


def load(shell: Any) -> None:
    """Adds the magics to an IPython shell, once."""
    if _marked in shell.input_transformers_cleanup:
        return

    def ingot(line: str, cell: str) -> None:
        _cell(shell, line, cell)

    @needs_local_scope
    def ingot_explain(line: str, local_ns: dict[str, Any] | None = None) -> Any:
        return _explained(shell, line, local_ns)

    ingot.__doc__, ingot_explain.__doc__ = _cell.__doc__, _explained.__doc__
    shell.input_transformers_cleanup.append(_marked)
    shell.ast_transformers.append(_decorating)
    shell.register_magic_function(ingot, "cell")
    shell.register_magic_function(ingot_explain, "line")


def unload(shell: Any) -> None:
    """Takes the magics away."""
    if _marked in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_marked)
        shell.ast_transformers.remove(_decorating)
        shell.magics_manager.magics["cell"].pop("ingot", None)
        shell.magics_manager.magics["line"].pop("ingot_explain", None)
