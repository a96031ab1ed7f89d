"""Which functions add or multiply two numbers, and do nothing else: by their code, which does not run."""

from __future__ import annotations

import ast
import inspect
import operator
import types
from typing import Any

import numpy as np

from .. import _ingot

_KNOWN = {
    operator.add: np.add,
    operator.iadd: np.add,
    operator.mul: np.multiply,
    operator.imul: np.multiply,
    np.add: np.add,
    np.multiply: np.multiply,
}

_BYTECODE = {
    f.__code__.co_code: ufunc
    for f, ufunc in (
        (lambda a, b: a + b, np.add),
        (lambda a, b: b + a, np.add),
        (lambda a, b: a * b, np.multiply),
        (lambda a, b: b * a, np.multiply),
    )
}


def ufunc_of(f: Any) -> Any:
    """The ufunc, `np.add` or `np.multiply`, that a function of two numbers is; None: it is another, or an object that is called."""
    if _ingot.Callable in type(f).__bases__:  # of `ingot.jit`: what `ingot.vmap` and others return has a function of its own
        f = f.__ingot_function__
    if type(f) is types.FunctionType:
        return _ufunc_of_code(f.__code__)
    return _KNOWN[f] if isinstance(f, (types.BuiltinFunctionType, np.ufunc)) and f in _KNOWN else None


def ufunc_of_node(node: Any) -> Any:
    """`ufunc_of` of a function that compiled code makes of its definition."""
    if isinstance(node, ast.Lambda):
        statement: Any = ast.Expr(node)
    elif isinstance(node, ast.FunctionDef):
        statement = ast.FunctionDef(**{**{name: getattr(node, name) for name in node._fields}, "decorator_list": []})
        ast.copy_location(statement, node)
    else:
        return None
    return _ufunc_of_code(_code_of(statement))


def _code_of(statement: Any) -> Any:
    """The code of the only function of a statement; None: it has none on its own."""
    statement = ast.copy_location(statement, getattr(statement, "value", statement))
    try:
        module = compile(ast.Module([statement], []), "<function>", "exec")
    except (SyntaxError, TypeError, ValueError):
        return None
    made = [constant for constant in module.co_consts if isinstance(constant, types.CodeType)]
    return made[-1] if made else None


def _ufunc_of_code(code: Any) -> Any:
    if code is None or code.co_argcount != 2 or code.co_kwonlyargcount or code.co_freevars or code.co_cellvars:
        return None
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return None
    return _BYTECODE.get(code.co_code)
