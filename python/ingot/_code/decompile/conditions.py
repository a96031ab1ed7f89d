"""Short circuits and conditional expressions: a run of blocks without statements reduced to one expression."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .expressions import at


@dataclass
class Item:
    """A block that computes one value from index `begin` up to `end`.

    "test": goes on at `yes` or `no`. "keep": goes to `yes` with its value where it is `operator`-decided, else on at
    `no` without. "value": goes on at `yes` with its value.
    """

    kind: str
    begin: int
    end: int
    value: Any
    yes: int
    no: int = -1
    operator: type[ast.boolop] = ast.And


def place(a: ast.expr, b: ast.expr) -> tuple[int, int, int, int]:
    return (a.lineno, a.col_offset, b.end_lineno or b.lineno, b.end_col_offset or 0)


def negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return at(ast.UnaryOp(ast.Not(), test), place(test, test))


def joined(operator: type[ast.boolop], a: ast.expr, b: ast.expr) -> ast.expr:
    values = b.values if isinstance(b, ast.BoolOp) and isinstance(b.op, operator) else [b]
    return at(ast.BoolOp(operator(), [a, *values]), place(a, b))


def _pair(a: Item, b: Item, same: Callable[[int, int], bool]) -> Item | None:
    """Two neighbours as one item, or None."""

    def whole(kind: str, operator: type[ast.boolop], first: ast.expr) -> Item:
        return Item(kind, a.begin, b.end, joined(operator, first, b.value), b.yes, b.no, b.operator)

    if a.kind == "keep" and same(a.no, b.begin) and b.kind in ("value", "keep") and same(a.yes, b.yes):
        return whole(b.kind, a.operator, a.value) if b.kind == "value" or a.operator is b.operator else None
    if a.kind != "test" or b.kind not in ("test", "keep"):
        return None
    # Where a test leads to, and the join that this is: of the test, or of its negation. What keeps its value is left
    # by its own operator alone.
    is_test = b.kind == "test"
    if same(a.yes, b.begin):
        if same(a.no, b.no) and (is_test or b.operator is ast.Or):
            return whole(b.kind, ast.And, a.value)
        if is_test and same(a.no, b.yes):
            return whole(b.kind, ast.Or, negated(a.value))
    if same(a.no, b.begin):
        if is_test and same(a.yes, b.yes):
            return whole(b.kind, ast.Or, a.value)
        if same(a.yes, b.no) and (is_test or b.operator is ast.Or):
            return whole(b.kind, ast.And, negated(a.value))
        if same(a.yes, b.no) and not is_test:
            return whole(b.kind, ast.Or, a.value)
    return None


def _triple(a: Item, b: Item, c: Item, same: Callable[[int, int], bool]) -> Item | None:
    """A test and two arms as one item, or None."""
    if a.kind != "test" or b.kind != c.kind or not same(b.yes, c.yes) or not same(b.no, c.no) or b.kind == "keep":
        return None
    if same(a.yes, b.begin) and same(a.no, c.begin):
        test = a.value
    elif same(a.no, b.begin) and same(a.yes, c.begin):
        test = negated(a.value)
    else:
        return None
    whole = at(ast.IfExp(test, b.value, c.value), place(b.value, c.value))
    return Item(b.kind, a.begin, c.end, whole, c.yes, c.no)


def reduce(
    items: list[Item],
    same: Callable[[int, int], bool],
    entered: Callable[[int, int, int], bool],
) -> Item:
    """The first item after all reductions; `entered(i, a, b)`: others than the indices a..b jump to i."""
    items = list(items)
    changed = True
    while changed:
        changed = False
        for k in range(len(items) - 2, -1, -1):
            a, b = items[k], items[k + 1]
            # A conditional expression before a pair: the arms of the inner one are tests themselves.
            if k + 2 < len(items):
                c = items[k + 2]
                if not entered(b.begin, a.begin, c.end) and not entered(c.begin, a.begin, c.end):
                    new = _triple(a, b, c, same)
                    if new is not None:
                        items[k : k + 3] = [new]
                        changed = True
                        break
            if not entered(b.begin, a.begin, b.end):
                new = _pair(a, b, same)
                if new is not None:
                    items[k : k + 2] = [new]
                    changed = True
                    break
    return items[0]
