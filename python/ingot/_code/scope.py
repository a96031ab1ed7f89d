"""What the frontend asks about scopes of the AST: names that inner functions share, and loops instead of generator
expressions. Results are kept on the nodes, which live as long as the parsed file does."""

from __future__ import annotations

import ast
import copy
import types
from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Names(ast.NodeVisitor):
    """The names of one function's own scope."""

    def __init__(self, node: Any) -> None:
        self.bound: set[str] = set()
        self.used: set[str] = set()
        self.elsewhere: set[str] = set()  # declared global or nonlocal
        self.inner: set[str] = set()  # names that functions inside use of the scopes around them
        self.hidden: list[set[str]] = []  # targets of the comprehensions around a node
        self.yields = False
        if isinstance(node, _FUNCTIONS):
            self.bound |= {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
            body = node.body if isinstance(node.body, list) else [node.body]
            for statement in body:
                self.visit(statement)

    def _is_hidden(self, name: str) -> bool:
        return any(name in names for names in self.hidden)

    def visit_Name(self, node: ast.Name) -> None:
        if not self._is_hidden(node.id):
            (self.used if isinstance(node.ctx, ast.Load) else self.bound).add(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.bound.add(node.target.id)
        self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        self.elsewhere.update(node.names)

    visit_Nonlocal = visit_Global  # type: ignore[assignment]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: Any) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: Any) -> None:
        if node.rest:
            self.bound.add(node.rest)
        self.generic_visit(node)

    def visit_Import(self, node: Any) -> None:
        self.bound |= {(a.asname or a.name).split(".")[0] for a in node.names}

    visit_ImportFrom = visit_Import

    def visit_Yield(self, node: Any) -> None:
        self.yields = True
        self.generic_visit(node)

    visit_YieldFrom = visit_Yield

    def _function(self, node: Any) -> None:
        if not isinstance(node, ast.Lambda):
            self.bound.add(node.name)
            for decorator in node.decorator_list:
                self.visit(decorator)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self.inner |= {name for name in free(node) if not self._is_hidden(name)}

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)

    def _comprehension(self, node: Any) -> None:
        self.visit(node.generators[0].iter)
        self.hidden.append(targets(node))
        for number, generator in enumerate(node.generators):
            for part in (*([generator.iter] if number else []), *generator.ifs):
                self.visit(part)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self.hidden.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def _names(node: Any) -> _Names:
    if not hasattr(node, "_ingot_names"):
        node._ingot_names = _Names(node)
    return node._ingot_names


def names(node: Any) -> set[str]:
    """The local names of a function."""
    found = _names(node)
    return found.bound - found.elsewhere


def free(node: Any) -> set[str]:
    """The names of the scopes around a function that it, or a function inside it, uses."""
    found = _names(node)
    return (found.used | found.inner | found.elsewhere | found.bound) - names(node)


def shared(node: Any) -> set[str]:
    """The local names of a function that functions inside it use."""
    if not hasattr(node, "_ingot_shared"):
        node._ingot_shared = _names(node).inner & names(node)
    return node._ingot_shared


def yields(node: Any) -> bool:
    """Whether a function is a generator."""
    return _names(node).yields


def attributes(node: Any, name: str) -> list[str]:
    """The attributes that a function asks of a variable."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name]
    return [n.attr for n in found if not (n.attr.startswith("__") and n.attr.endswith("__"))]


def targets(node: Any) -> set[str]:
    """The names that a comprehension binds."""
    if not hasattr(node, "_ingot_targets"):
        node._ingot_targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    return node._ingot_targets


def shared_targets(node: Any) -> set[str]:
    """Those of them that functions inside it use."""
    if not hasattr(node, "_ingot_shared_targets"):
        inner: set[str] = set().union(*(free(part) for part in ast.walk(node) if isinstance(part, _FUNCTIONS)))
        node._ingot_shared_targets = inner & targets(node)
    return node._ingot_shared_targets


def hollow(node: Any, qualname: str) -> types.FunctionType:
    """A function of the same parameters that does nothing; its defaults are None."""
    if not hasattr(node, "_ingot_hollow"):
        arguments = copy.deepcopy(node.args)
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
        arguments.kw_defaults = [d and ast.Constant(None) for d in arguments.kw_defaults]
        definition = ast.FunctionDef("function", arguments, [ast.Pass()], [], lineno=1, col_offset=0)
        space: dict[str, Any] = {}
        exec(compile(ast.fix_missing_locations(ast.Module([definition], [])), "<hollow>", "exec"), space)
        function = space["function"]
        name = getattr(node, "name", "<lambda>")
        function.__code__ = function.__code__.replace(co_name=name, co_qualname=qualname)
        function.__name__, function.__qualname__ = name, qualname
        node._ingot_hollow = function
    return node._ingot_hollow


def loops(node: Any, kind: str) -> list[ast.stmt]:
    """The loops that do what `sum`, `any`, `all`, `max`, `min`, a list, a dict or an array does with a comprehension.

    The names `@it` (the first iterable), `@result`, `@seen` and `@place` are the frontend's.
    """
    kept = node.__dict__.setdefault("_ingot_loops", {})
    if kind not in kept:
        kept[kind] = [_loop(node, kind, 0)]
    return kept[kind]


def generator(node: Any) -> ast.FunctionDef | None:
    """The function that a generator expression is, of its first iterable; None: it binds names around it."""
    if "_ingot_generator" not in node.__dict__:
        binds = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
        arguments = ast.arguments([], [ast.arg("@it")], None, [], [], None, [])
        function = ast.FunctionDef("<genexpr>", arguments, [_loop(node, "yield", 0)], [])
        node._ingot_generator = None if binds else _at(function, node)
    return node._ingot_generator


def delegation(node: Any) -> ast.stmt:
    """The loop that `yield from` is over what is no generator: the frontend binds `@items`."""
    if not hasattr(node, "_ingot_delegation"):
        item = ast.Expr(ast.Yield(ast.Name("@item", ast.Load())))
        loop = ast.For(ast.Name("@item", ast.Store()), ast.Name("@items", ast.Load()), [item], [])
        node._ingot_delegation = _at(loop, node)
    return node._ingot_delegation


def _loop(node: Any, kind: str, number: int) -> ast.stmt:
    generator = node.generators[number]
    last = number + 1 == len(node.generators)
    element = (node.key, node.value) if kind == "dict" else node.elt
    body = _consumed(element, kind) if last else [_loop(node, kind, number + 1)]
    if not last and kind in ("any", "all"):
        body.append(_at(ast.If(_found(kind, node), [ast.Break()], []), generator.target))
    for test in reversed(generator.ifs):
        body = [_at(ast.If(test, body, []), test)]
    iterable = generator.iter if number else ast.Name("@it", ast.Load())
    return _at(ast.For(generator.target, iterable, body, []), generator.target)


def _found(kind: str, node: Any) -> ast.expr:
    result = ast.Name("@result", ast.Load())
    return result if kind == "any" else ast.UnaryOp(ast.Not(), result)


def _consumed(element: Any, kind: str) -> list[ast.stmt]:
    def load(name: str) -> ast.expr:
        return ast.Name(name, ast.Load())

    def store(name: str, value: Any) -> ast.stmt:
        return ast.Assign([ast.Name(name, ast.Store())], value)

    if kind == "sum":
        body = [store("@result", ast.BinOp(load("@result"), ast.Add(), element))]
    elif kind in ("any", "all"):
        test = element if kind == "any" else ast.UnaryOp(ast.Not(), element)
        body = [ast.If(test, [store("@result", ast.Constant(kind == "any")), ast.Break()], [])]
    elif kind == "yield":
        body = [ast.Expr(ast.Yield(element))]
    elif kind in ("max", "min"):
        better = ast.Compare(load("@value"), [ast.Gt() if kind == "max" else ast.Lt()], [load("@result")])
        first = [store("@result", load("@value")), store("@seen", ast.Constant(True))]
        body = [store("@value", element), ast.If(load("@seen"), [ast.If(better, [store("@result", load("@value"))], [])], first)]
    elif kind == "dict":
        key, element = element
        body = [ast.Assign([ast.Subscript(load("@result"), key, ast.Store())], element)]
    elif kind == "list":
        body = [ast.Expr(ast.Call(ast.Attribute(load("@result"), "append", ast.Load()), [element], []))]
    else:
        place = ast.Subscript(load("@result"), load("@place"), ast.Store())
        body = [ast.Assign([place], element), store("@place", ast.BinOp(load("@place"), ast.Add(), ast.Constant(1)))]
    return [_at(statement, element) for statement in body]


def _at(node: Any, place: Any) -> Any:
    """The node, and what in it has no location, at the location of another."""
    part: Any
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
            part.end_lineno, part.end_col_offset = place.end_lineno, place.end_col_offset
    return node
