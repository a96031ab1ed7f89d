"""Instructions that only move values of the stack, as expressions."""

import abc
import ast
import types
from typing import Any

from .decode import Instruction, Unstructured

_BINARY: list[type[ast.operator]] = [
    ast.Add, ast.BitAnd, ast.FloorDiv, ast.LShift, ast.MatMult, ast.Mult, ast.Mod,
    ast.BitOr, ast.Pow, ast.RShift, ast.Sub, ast.Div, ast.BitXor,
]  # fmt: skip
_COMPARE = {
    "<": ast.Lt,
    "<=": ast.LtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
    ">": ast.Gt,
    ">=": ast.GtE,
}
_UNARY = {
    "UNARY_NEGATIVE": ast.USub,
    "UNARY_POSITIVE": ast.UAdd,
    "UNARY_INVERT": ast.Invert,
    "UNARY_NOT": ast.Not,
}
_LOADS = {"LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_IGNORED = {"NOP", "GET_ITER", "GET_YIELD_FROM_ITER"}


class Marker:
    """A value of the stack that is no expression of its own."""

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind, self.value = kind, value


def at(node: Any, place: tuple[int, int, int, int]) -> Any:
    node.lineno, node.col_offset, *_ = place
    node.end_lineno, node.end_col_offset = max(place[:2], place[2:])
    return node


def start(node: Any, place: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return (node.lineno, node.col_offset, place[2], place[3]) if hasattr(node, "lineno") else place


def constant(value: Any, place: tuple[int, int, int, int]) -> ast.expr:
    """The expression that folds to a constant."""
    if isinstance(value, tuple):
        return at(ast.Tuple([constant(v, place) for v in value], ast.Load()), place)
    if isinstance(value, frozenset):
        return at(ast.Set([constant(v, place) for v in value]), place)
    if type(value) in (int, float) and (value < 0 or str(value) == "-0.0"):
        return at(ast.UnaryOp(ast.USub(), at(ast.Constant(-value), place)), place)
    return at(ast.Constant(value), place)


def _formatted(i: Instruction, stack: list[Any]) -> ast.expr:
    spec = stack.pop() if i.arg & 4 else None
    if spec is not None and not isinstance(spec, ast.JoinedStr):
        spec = at(ast.JoinedStr([spec]), i.place)
    conversion = (-1, ord("s"), ord("r"), ord("a"))[i.arg & 3]
    return at(
        ast.JoinedStr([at(ast.FormattedValue(stack.pop(), conversion, spec), i.place)]),
        i.place,
    )


def _pop(stack: list[Any], count: int) -> list[Any]:
    if len(stack) < count:
        raise Unstructured("the stack is empty")
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return taken


class Expressions(abc.ABC):
    """Runs one instruction on a symbolic stack; `function` makes the AST of an inner code object."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    @abc.abstractmethod
    def inner(self, code: types.CodeType, flags: int, parts: list[Any], i: Instruction) -> Any:
        """The AST of an inner code object, or a Marker of what is made of it."""

    def run(self, i: Instruction, stack: list[Any]) -> bool:
        """False: the instruction is none of an expression."""
        method = getattr(self, "_" + i.op.lower(), None)
        if i.op in _IGNORED:
            return True
        if i.op in _LOADS:
            if i.op == "LOAD_GLOBAL" and i.arg & 1:
                stack.append(Marker("null"))
            stack.append(at(ast.Name(i.value, ast.Load()), i.place))
            return True
        if i.op in _UNARY:
            stack.append(at(ast.UnaryOp(_UNARY[i.op](), stack.pop()), i.place))
            return True
        if method is None:
            return False
        method(i, stack)
        return True

    def _load_const(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(Marker("code", i.value) if isinstance(i.value, types.CodeType) else constant(i.value, i.place))

    def _push_null(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(Marker("null"))

    def _load_closure(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.Name(i.value, ast.Load()), i.place))

    def _load_assertion_error(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(Marker("assert"))

    def _load_attr(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.Attribute(stack.pop(), i.value, ast.Load()), i.place))

    def _load_method(self, i: Instruction, stack: list[Any]) -> None:
        owner = stack.pop()
        stack.append(Marker("null"))
        stack.append(at(ast.Attribute(owner, i.value, ast.Load()), start(owner, i.place)))

    def _binary_subscr(self, i: Instruction, stack: list[Any]) -> None:
        owner, index = _pop(stack, 2)
        stack.append(at(ast.Subscript(owner, index, ast.Load()), i.place))

    def _build_slice(self, i: Instruction, stack: list[Any]) -> None:
        parts = _pop(stack, i.arg)
        parts = [None if isinstance(p, ast.Constant) and p.value is None else p for p in parts]
        stack.append(at(ast.Slice(*parts), i.place))

    def _binary_op(self, i: Instruction, stack: list[Any]) -> None:
        left, right = _pop(stack, 2)
        operator = _BINARY[i.arg % 13]()
        if i.arg >= 13:
            stack.append(Marker("inplace", (left, operator, right, i)))
        else:
            stack.append(at(ast.BinOp(left, operator, right), i.place))

    def _compare(self, operator: ast.cmpop, i: Instruction, stack: list[Any]) -> None:
        left, right = _pop(stack, 2)
        if isinstance(left, Marker) and left.kind == "chain":
            first, operators, values = left.value
            stack.append(
                at(
                    ast.Compare(first, [*operators, operator], [*values, right]),
                    i.place,
                )
            )
            return
        stack.append(at(ast.Compare(left, [operator], [right]), i.place))

    def _compare_op(self, i: Instruction, stack: list[Any]) -> None:
        self._compare(_COMPARE[i.value](), i, stack)

    def _is_op(self, i: Instruction, stack: list[Any]) -> None:
        self._compare(ast.IsNot() if i.arg else ast.Is(), i, stack)

    def _contains_op(self, i: Instruction, stack: list[Any]) -> None:
        self._compare(ast.NotIn() if i.arg else ast.In(), i, stack)

    def _build_tuple(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.Tuple(_pop(stack, i.arg), ast.Load()), i.place))

    def _build_list(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.List(_pop(stack, i.arg), ast.Load()), i.place))

    def _build_set(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.Set(_pop(stack, i.arg)), i.place))

    def _build_map(self, i: Instruction, stack: list[Any]) -> None:
        parts = _pop(stack, 2 * i.arg)
        stack.append(at(ast.Dict(parts[::2], parts[1::2]), i.place))

    def _build_const_key_map(self, i: Instruction, stack: list[Any]) -> None:
        *values, keys = _pop(stack, i.arg + 1)
        stack.append(at(ast.Dict(keys.elts, values), i.place))

    def _list_append(self, i: Instruction, stack: list[Any]) -> None:
        value = stack.pop()
        stack[-i.arg].elts.append(value)

    _set_add = _list_append

    def _list_extend(self, i: Instruction, stack: list[Any]) -> None:
        value = stack.pop()
        base = stack[-i.arg]
        if not base.elts and isinstance(value, (ast.Tuple, ast.Set)) and len(value.elts) > 2:
            base.elts.extend(value.elts)
        else:
            base.elts.append(at(ast.Starred(value, ast.Load()), i.place))

    _set_update = _list_extend

    def _list_to_tuple(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.Tuple(stack.pop().elts, ast.Load()), i.place))

    def _dict_update(self, i: Instruction, stack: list[Any]) -> None:
        value = stack.pop()
        base = stack[-i.arg]
        if isinstance(value, ast.Dict) and i.place[:2] == (
            value.lineno,
            value.col_offset,
        ):
            base.keys.extend(value.keys)
            base.values.extend(value.values)
        else:
            base.keys.append(None)
            base.values.append(value)

    _dict_merge = _dict_update

    def _map_add(self, i: Instruction, stack: list[Any]) -> None:
        key, value = _pop(stack, 2)
        stack[-i.arg].keys.append(key)
        stack[-i.arg].values.append(value)

    def _format_value(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(_formatted(i, stack))

    def _build_string(self, i: Instruction, stack: list[Any]) -> None:
        parts: list[Any] = []
        for part in _pop(stack, i.arg):
            parts.extend(part.values if isinstance(part, ast.JoinedStr) and len(part.values) == 1 else [part])
        stack.append(at(ast.JoinedStr(parts), i.place))

    def _kw_names(self, i: Instruction, stack: list[Any]) -> None:
        self.names = i.value if isinstance(i.value, tuple) else self.constants[i.arg]

    constants: tuple[Any, ...] = ()

    def _call(self, i: Instruction, stack: list[Any]) -> None:
        names, self.names = self.names, ()
        arguments = _pop(stack, i.arg)
        first, second = _pop(stack, 2)
        if isinstance(first, Marker) and first.kind == "null":
            function = second
        else:  # a decorator, an assertion or a comprehension
            function, arguments = first, [second, *arguments]
        if isinstance(function, Marker) and function.kind == "assert":
            stack.append(Marker("assert", arguments[0] if arguments else None))
            return
        if isinstance(function, Marker) and function.kind == "comprehension":
            stack.append(function.value(arguments[0], i))
            return
        if len(arguments) == 1 and isinstance(arguments[0], Marker) and arguments[0].kind == "def":
            arguments[0].value.decorator_list.insert(0, function)
            stack.append(arguments[0])
            return
        split = len(arguments) - len(names)
        keywords = [at(ast.keyword(n, v), i.place) for n, v in zip(names, arguments[split:])]
        stack.append(
            at(
                ast.Call(function, arguments[:split], keywords),
                start(function, i.place),
            )
        )

    def _call_function_ex(self, i: Instruction, stack: list[Any]) -> None:
        keywords = []
        if i.arg & 1:
            named = stack.pop()
            pairs: Any = zip(named.keys, named.values) if isinstance(named, ast.Dict) else [(None, named)]
            keywords = [at(ast.keyword(k.value if k is not None else None, v), i.place) for k, v in pairs]
        null, function, values = _pop(stack, 3)
        arguments = values.elts if isinstance(values, ast.Tuple) else [at(ast.Starred(values, ast.Load()), i.place)]
        stack.append(at(ast.Call(function, arguments, keywords), i.place))

    def _make_function(self, i: Instruction, stack: list[Any]) -> None:
        code = stack.pop().value
        parts = _pop(stack, bin(i.arg).count("1"))
        stack.append(self.inner(code, i.arg, parts, i))

    def _yield_value(self, i: Instruction, stack: list[Any]) -> None:
        stack.append(at(ast.Yield(stack.pop()), i.place))
