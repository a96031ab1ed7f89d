"""The ASTs of the library's functions as the build has kept them (`tools/library_trees.py`), so that no process parses them.

A function's AST is taken only if the function's code is that which the AST was compiled to, locations included: a source
that has changed since the build is parsed, as those of users are.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import marshal
import os.path
import sys
import types
from typing import Any

VERSION = (1, sys.version_info[:2])
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "library", "")
KEPT = os.path.join(LIBRARY, "_trees")


def _words(code: types.CodeType) -> tuple[Any, ...]:
    """What distinguishes code from other code of the same name and line; the order of sets, and files, do not."""
    constants = tuple(_words(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    names = (code.co_name, code.co_firstlineno, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return code.co_code, code.co_linetable, code.co_exceptiontable, names, counts, constants


def digest(code: types.CodeType) -> bytes:
    """The same for the same code, in all processes."""
    return importlib.util.source_hash(marshal.dumps(_words(code), 2))  # this format knows nothing of who refers to what


@functools.cache
def _kept(module: str) -> tuple[dict[bytes, int], Any] | None:
    """Where the ASTs of a module begin, by the digests of their code, and what makes them; None: nothing is kept of it."""
    from .. import _core

    try:
        with open(os.path.join(KEPT, f"{module}.bin"), "rb") as file:
            version, kinds, texts, constants, starts, nodes = marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return None
    if version != VERSION:
        return None
    return starts, _core.Trees(nodes, tuple(getattr(ast, kind) for kind in kinds), texts, constants)


def find(function: types.FunctionType) -> Any:
    """The AST of a function of the library; None: it is none, or its source has changed since the build."""
    code = function.__code__
    if not code.co_filename.startswith(LIBRARY):
        return None
    kept = _kept(code.co_filename[len(LIBRARY) : -len(".py")].replace(os.path.sep, "."))
    if kept is None:
        return None
    starts, trees = kept
    start = starts.get(digest(code))
    return trees.at(start) if start is not None else None
