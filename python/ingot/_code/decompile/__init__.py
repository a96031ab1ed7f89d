"""The AST of a function from its bytecode alone, for functions whose source is nowhere.

`rebuild` proposes statements, compiles them where the function's names mean the same, and accepts them only if this
gives the function's own code, so what it returns is never another program.
"""

import ast
import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any

from .conditions import negated
from .decode import Unstructured, decode
from .expressions import Marker, at, start
from .guards import Guards
from .structure import Choices, Context

_Same = Callable[[types.CodeType, types.CodeType], bool]
_TRIES = 120
_COMPREHENSIONS = {
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}


def _arguments(
    code: types.CodeType,
    defaults: list[Any],
    named: dict[str, Any],
    annotations: dict[str, Any],
) -> ast.arguments:
    place = (code.co_firstlineno, 0, code.co_firstlineno, 0)

    def one(name: str) -> ast.arg:
        return at(ast.arg(name, annotations.get(name)), place)

    names, count = list(code.co_varnames), code.co_argcount
    keywords = names[count : count + code.co_kwonlyargcount]
    rest = names[count + code.co_kwonlyargcount :]
    variable = one(rest.pop(0)) if code.co_flags & inspect.CO_VARARGS else None
    extra = one(rest.pop(0)) if code.co_flags & inspect.CO_VARKEYWORDS else None
    positional = [one(n) for n in names[: code.co_posonlyargcount]]
    plain = [one(n) for n in names[code.co_posonlyargcount : count]]
    return ast.arguments(
        positional,
        plain,
        variable,
        [one(n) for n in keywords],
        [named.get(n) for n in keywords],
        extra,
        defaults,
    )


class _Function(Guards):
    """One code object with its inner ones."""

    def __init__(self, code: types.CodeType, choices: Choices, same_code: _Same) -> None:
        instructions, handlers = decode(code)
        super().__init__(instructions, handlers, code.co_consts, choices)
        self.source, self.same_code = code, same_code

    def inner(self, code: types.CodeType, flags: int, parts: list[Any], i: Any) -> Any:
        if code.co_name in _COMPREHENSIONS:
            return Marker(
                "comprehension",
                lambda iterable, call: _comprehension(code, iterable, call, self),
            )
        if flags & 8:
            parts = parts[:-1]
        annotations, named, defaults = {}, {}, []
        if flags & 4:
            values = parts.pop().elts
            annotations = {k.value: v for k, v in zip(values[::2], values[1::2])}
        if flags & 2:
            dictionary = parts.pop()
            named = {k.value: v for k, v in zip(dictionary.keys, dictionary.values)}
        if flags & 1:
            defaults = parts.pop().elts
        node = rebuild(code, self.same_code)
        arguments = _arguments(code, defaults, named, annotations)
        if isinstance(node, ast.Lambda):
            node.args = arguments
            return at(node, i.place)
        node.args, node.returns = arguments, annotations.get("return")
        return Marker("def", at(node, i.place))


def _comprehension(code: types.CodeType, iterable: Any, call: Any, outer: _Function) -> Any:
    """The comprehension of an inner code object over an iterable."""
    part = _Function(code, outer.choices, outer.same_code)
    i = next(k for k, x in enumerate(part.code) if x.op == "LOAD_FAST" and x.value == ".0") + 1
    generators: list[ast.comprehension] = []
    heads: list[int] = []
    end, node = len(part.code), None
    while node is None:
        if part.op(i) == "FOR_ITER" or (part.op(i) == "GET_ITER"):
            i += part.op(i) == "GET_ITER"
        heads.append(i)
        target, i = part.target(i + 1, end)
        generators.append(ast.comprehension(target, iterable, [], 0))
        while True:
            stack: list[Any] = []
            i, item = part.expression(i, end, stack)
            if item is None:
                break
            forward = part.live(item.end)
            is_yes = part.same(item.yes, forward)
            generators[-1].ifs.append(item.value if is_yes else negated(item.value))
            i = forward
        if part.op(i) == "FOR_ITER":
            iterable = stack.pop()
        elif part.op(i) in ("LIST_APPEND", "SET_ADD"):
            node = _COMPREHENSIONS[code.co_name](stack.pop(), generators)
        elif part.op(i) == "MAP_ADD":
            value, key = stack.pop(), stack.pop()
            node = ast.DictComp(key, value, generators)
        elif part.op(i) == "POP_TOP" and stack and isinstance(stack[-1], ast.Yield):
            yielded: Any = stack[-1]
            node = ast.GeneratorExp(yielded.value, generators)
        else:
            raise Unstructured("a comprehension")
    return at(node, call.place)


def _as_expression(body: list[ast.stmt]) -> ast.expr:
    """The value that statements of returns alone compute."""
    if body and isinstance(body[0], ast.Return) and body[0].value is not None:
        return body[0].value
    if body and isinstance(body[0], ast.If):
        return at(
            ast.IfExp(
                body[0].test,
                _as_expression(body[0].body),
                _as_expression(body[0].orelse or body[1:]),
            ),
            start(body[0].test, (0,) * 4),
        )
    raise Unstructured("a lambda")


def _scopes(code: types.CodeType, instructions: list[Any]) -> list[ast.stmt]:
    place = (code.co_firstlineno, 0, code.co_firstlineno, 0)
    globals_ = sorted({i.value for i in instructions if i.op in ("STORE_GLOBAL", "DELETE_GLOBAL")})
    free = sorted({i.value for i in instructions if i.op in ("STORE_DEREF", "DELETE_DEREF")} & set(code.co_freevars))
    return [at(kind(names), place) for kind, names in ((ast.Global, globals_), (ast.Nonlocal, free)) if names]


def _proposal(code: types.CodeType, choices: Choices, same_code: _Same) -> Any:
    part = _Function(code, choices, same_code)
    body = part.block(0, len(part.code), Context(follow=len(part.code)))
    arguments = _arguments(code, [], {}, {})
    place = (code.co_firstlineno, 0, code.co_firstlineno, 0)
    if code.co_name == "<lambda>":
        return at(ast.Lambda(arguments, _as_expression(body)), place)
    if body and isinstance(body[-1], ast.Return) and not choices.choose(len(part.code), "return"):
        if isinstance(body[-1].value, ast.Constant) and body[-1].value.value is None:
            body.pop()
    body = _scopes(code, part.code) + body
    if code.co_flags & inspect.CO_GENERATOR and not any(x.op in ("YIELD_VALUE", "SEND") for x in part.code):
        body.append(at(ast.Expr(at(ast.Yield(None), place)), place))  # never comes to run
    if code.co_consts and isinstance(code.co_consts[0], str) and not choices.choose(-1, "no doc"):
        body.insert(0, at(ast.Expr(at(ast.Constant(code.co_consts[0]), place)), place))
    return at(
        ast.FunctionDef(code.co_name, arguments, body or [at(ast.Pass(), place)], []),
        place,
    )


def _imported(code: types.CodeType) -> set[str]:
    """The names that the module of a function imports, as far as the code shows: calls of their attributes are no
    calls of methods."""
    attributes, methods = set(), set()
    instructions, _ = decode(code)
    for before, i, after in zip([instructions[0], *instructions], instructions, instructions[1:]):
        if i.op.startswith("LOAD_") and after.op == "LOAD_METHOD":
            methods.add(i.value)
        is_called = (i.op == "LOAD_GLOBAL" and i.arg & 1) or (i.op in ("LOAD_FAST", "LOAD_DEREF") and before.op == "PUSH_NULL")
        if is_called and after.op == "LOAD_ATTR":
            attributes.add(i.value)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            attributes |= _imported(inner)
    return {n for n in attributes - methods if n.isidentifier()}


def compiled(node: Any, code: types.CodeType) -> types.CodeType:
    """The code of a proposal, compiled inside a function that holds its free variables."""
    place = (1, 0, 1, 0)
    names = [at(ast.Name(n, ast.Store()), place) for n in code.co_freevars]
    inside: list[ast.stmt] = [at(ast.Assign(names, at(ast.Constant(None), place)), place)] if names else []
    if code.co_name not in code.co_freevars and not isinstance(node, ast.Lambda):
        inside.insert(0, at(ast.Global([code.co_name]), place))
    inside.append(at(ast.Expr(node), place) if isinstance(node, ast.Lambda) else node)
    nothing = ast.arguments([], [], None, [], [], None, [])
    imports = [at(ast.Import([at(ast.alias(n), place)]), place) for n in sorted(_imported(code))]
    module = ast.Module([*imports, at(ast.FunctionDef("scope", nothing, inside, []), place)], [])
    ast.fix_missing_locations(module)
    with warnings.catch_warnings(action="ignore"):
        scope = compile(module, code.co_filename, "exec", dont_inherit=True, optimize=0)  # asserts are proposed where the code has them
    outer = next(c for c in scope.co_consts if isinstance(c, types.CodeType))
    return next(c for c in outer.co_consts if isinstance(c, types.CodeType))


def _agreement(a: types.CodeType, b: types.CodeType) -> int:
    """How far the code of a proposal agrees."""
    k = 0
    for x, y in zip(a.co_code, b.co_code):
        if x != y:
            return k
        k += 1
    return k


def rebuild(code: types.CodeType, same_code: _Same) -> Any:
    """The `ast.FunctionDef` (without defaults and decorators) or `ast.Lambda` of a code object.

    Raises Unstructured where no proposal compiles to the same code.
    """
    taken: dict[tuple[int, str], int] = {}
    best, reason = -1, "no structure"
    tried: set[tuple[Any, ...]] = set()
    queue: list[dict[tuple[int, str], int]] = [taken]
    for _ in range(_TRIES):
        if not queue:
            break
        taken = queue.pop()
        key = tuple(sorted(taken.items()))
        if key in tried:
            continue
        tried.add(key)
        choices = Choices(dict(taken))
        agreement = -1
        try:
            node = _proposal(code, choices, same_code)
            made = compiled(node, code)
            if same_code(made, code):
                return node
            agreement, reason = _agreement(made, code), "it compiles to other code"
        except Unstructured as error:
            reason = str(error)
        except (
            SyntaxError,
            ValueError,
            TypeError,
            IndexError,
            AttributeError,
            StopIteration,
            KeyError,
            RecursionError,
        ) as error:
            reason = f"{type(error).__name__}: {error}"
        if agreement >= best:
            best = agreement
            queue += [{**taken, k: 1 - taken.get(k, 0)} for k in choices.met]
    raise Unstructured(reason)
