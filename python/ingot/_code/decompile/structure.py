"""The statements of a range of instructions."""

import ast
from dataclasses import dataclass, field
from typing import Any

from .conditions import Item, reduce
from .decode import Instruction, Unstructured
from .expressions import Expressions, Marker, at, constant

_STORES = {"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"}
_DELETES = {"DELETE_FAST", "DELETE_NAME", "DELETE_GLOBAL", "DELETE_DEREF"}
_APPENDS = {"LIST_APPEND": 1, "SET_ADD": 1, "MAP_ADD": 2}


@dataclass
class Context:
    """What surrounds a range: where `continue` and `break` go, whether a loop's iterator is on the stack, what runs
    before a jump out of it."""

    head: int = -1
    leave: tuple[int, ...] = ()
    iterates: bool = False
    follow: int = -1
    handlers: tuple[int, ...] = ()
    finals: tuple[tuple[int, int], ...] = ()
    named: str = ""
    loops: tuple[int, ...] = ()


@dataclass
class Choices:
    """Decisions where several structures are possible: by the index of an instruction and what is decided."""

    taken: dict[tuple[int, str], int] = field(default_factory=dict)
    met: dict[tuple[int, str], int] = field(default_factory=dict)

    def choose(self, index: int, what: str, count: int = 2) -> int:
        self.met[(index, what)] = count
        return self.taken.get((index, what), 0)


class Structure(Expressions):
    """Makes statements of the instructions of one code object."""

    def __init__(
        self,
        code: list[Instruction],
        handlers: list[int],
        constants: tuple[Any, ...],
        choices: Choices,
    ) -> None:
        super().__init__()
        self.code, self.handler, self.constants, self.choices = (
            code,
            handlers,
            constants,
            choices,
        )
        self.entries: dict[int, list[int]] = {}
        for k, i in enumerate(code):
            if i.target >= 0:
                self.entries.setdefault(i.target, []).append(k)
        self.dead: set[int] = set()
        self.steps = 0
        self.places: set[tuple[int, int, int, int]] = set()

    # Locations

    def live(self, i: int) -> int:
        while i in self.dead:
            i += 1
        return i

    def final(self, i: int) -> int:
        """Where control comes to from an index, past jumps that do nothing else."""
        for _ in range(20):
            i = self.live(i)
            if i < len(self.code) and self.code[i].is_jump:
                i = self.code[i].target
            elif i < len(self.code) and self.code[i].op == "NOP":
                i += 1
            else:
                break
        return i

    def same(self, a: int, b: int) -> bool:
        if a == b:
            return True
        if a < 0 or b < 0:
            return False
        a, b = self.final(a), self.final(b)
        return a == b or (self.returned(a) is not None and self.returned(a) == self.returned(b))

    def returned(self, i: int) -> str | None:
        """The constant that is returned at an index, as a string."""
        if self.op(i) != "LOAD_CONST" or self.op(i + 1) != "RETURN_VALUE":
            return None
        return f"{type(self.code[i].value).__name__} {self.code[i].value!r}"

    def is_implicit(self, i: int) -> bool:
        """Whether a RETURN_VALUE is the end of a function that returns nothing, as its location shows."""
        if i < 1 or self.returned(i - 1) != "NoneType None":
            return False
        if not self.places:
            self.places = {x.place for x in self.code if x.op not in ("LOAD_CONST", "RETURN_VALUE", "NOP")}
        return self.code[i].place in self.places

    def entered(self, i: int, first: int, end: int) -> bool:
        return any(not first <= k < end and k not in self.dead for k in self.entries.get(i, ()))

    def op(self, i: int) -> str:
        return self.code[i].op if 0 <= i < len(self.code) else ""

    # Expressions

    def _chain(self, i: int, stack: list[Any]) -> int:
        """The links of a chained comparison but the last, from its SWAP on; its index after it."""
        compare, jump = self.code[i + 2], self.code[i + 3]
        right = stack[-1]
        probe = stack[:]
        self.run(compare, probe)
        node = probe[-1]
        chain = Marker("chain", (node.left, node.ops, node.comparators))
        stack[-2:] = [chain, right]
        # The next value is compared with `right`, which the chain holds already.
        del stack[-1]
        cleanup = jump.target
        if self.op(cleanup) == "SWAP":
            self.dead.update((cleanup, cleanup + 1))
            after = self.code[cleanup + 2] if cleanup + 2 < len(self.code) else None
            before = self.code[cleanup - 1]
            if after is not None and before.op == "RETURN_VALUE" and after.op == "RETURN_VALUE":
                self.dead.add(cleanup + 2)
            elif before.is_jump:
                self.dead.add(cleanup - 1)
        elif self.op(cleanup) == "POP_TOP":
            self.dead.add(cleanup)
            if self.code[cleanup - 1].op == "JUMP_FORWARD" and self.op(cleanup + 1).startswith("JUMP"):
                self.dead.add(cleanup + 1)
        else:
            raise Unstructured("a chained comparison")
        return i + 4

    def _is_chain(self, i: int) -> bool:
        return (
            self.op(i) == "SWAP"
            and self.op(i + 1) == "COPY"
            and self.op(i + 2) in ("COMPARE_OP", "IS_OP", "CONTAINS_OP")
            and self.op(i + 3).startswith(("POP_JUMP", "JUMP_IF"))
        )

    def _is_updated(self, i: int) -> bool:
        """Whether a COPY is of the owner of what an augmented assignment changes."""
        if self.code[i].arg == 2:
            return self.op(i + 1) == "COPY" and self.code[i + 1].arg == 2
        return self.code[i].arg == 1 and self.op(i + 1) == "LOAD_ATTR"

    def straight(self, i: int, end: int, stack: list[Any], joins: set[int]) -> int:
        """Runs expressions until a statement, a jump, or a join; the index of it."""
        first = i
        while i < end:
            self.steps += 1
            if self.steps > 400000:
                raise Unstructured("too large")
            if i in self.dead:
                i += 1
                continue
            if i != first and i in joins:
                return i
            if self._is_chain(i) and len(stack) >= 2:
                i = self._chain(i, stack)
                continue
            ins = self.code[i]
            if ins.op in _APPENDS and ins.arg > len(stack) - _APPENDS[ins.op]:
                return i
            if ins.op == "COPY" and self._is_updated(i):
                count = 2 if ins.arg == 2 else 1
                stack.extend(stack[-count:])
                i += count
                continue
            if ins.op == "COPY" and ins.arg == 1 and self.op(i + 1) in _STORES and stack and isinstance(stack[-1], ast.expr):
                if self.choices.choose(i, "walrus"):
                    return i
                if self.op(i + 2) in _STORES or self.op(i + 2) == "COPY":
                    return i
                name = at(
                    ast.Name(self.code[i + 1].value, ast.Store()),
                    self.code[i + 1].place,
                )
                stack[-1] = at(
                    ast.NamedExpr(name, stack[-1]),
                    (*self.code[i + 1].place[:2], *ins.place[2:]),
                )
                i += 2
                continue
            if ins.op == "YIELD_VALUE" and self.op(i + 1) == "RESUME":
                i += 1
            if ins.op == "GET_YIELD_FROM_ITER" and self.op(i + 2) == "SEND":
                stack.append(at(ast.YieldFrom(stack.pop()), ins.place))
                i = self.code[i + 2].target
                continue
            try:
                if not self.run(ins, stack):
                    return i
            except (IndexError, AttributeError, TypeError, ValueError) as error:
                raise Unstructured(f"{ins.op}: {error}") from None
            i += 1
        return i

    def _item(self, i: int, end: int, joins: set[int]) -> Item | None:
        """The block from an index on as an item of a condition; None: it is something else."""
        stack: list[Any] = []
        dead = set(self.dead)
        names = self.names
        try:
            k = self.straight(i, end, stack, joins)
        except Unstructured:
            self.dead, self.names = dead, names
            return None
        item = None
        if len(stack) == 1 and isinstance(stack[0], ast.expr):
            item = self._branch(i, k, stack[0])
            if item is None and k < len(self.code) and self.op(k) == "JUMP_FORWARD":
                item = Item("value", i, k + 1, stack[0], self.code[k].target)
            elif item is None and k in joins:
                item = Item("value", i, k, stack[0], k)
        if item is None:
            self.dead, self.names = dead, names
        return item

    def _branch(self, begin: int, i: int, value: Any) -> Item | None:
        """The item of a test or a kept value that jumps at an index."""
        if i >= len(self.code) or not self.code[i].is_conditional:
            return None
        ins, after = self.code[i], self.live(i + 1)
        if ins.op.startswith("JUMP_IF"):
            operator = ast.And if "FALSE" in ins.op else ast.Or
            return Item("keep", begin, i + 1, value, ins.target, after, operator)
        if ins.op.endswith("NONE"):
            is_not = ins.op.endswith("NOT_NONE")
            none = constant(None, ins.place)
            value = at(
                ast.Compare(value, [ast.IsNot() if is_not else ast.Is()], [none]),
                ins.place,
            )
        if ins.op.endswith("IF_FALSE"):
            return Item("test", begin, i + 1, value, after, ins.target)
        return Item("test", begin, i + 1, value, ins.target, after)

    def condition(self, i: int, end: int, value: Any, begin: int) -> Item:
        """What the jump at an index and the blocks after it compute together."""
        first = self._branch(begin, i, value)
        if first is None:
            raise Unstructured("no condition")
        items, limit = [first], 1 << 30
        joins = {first.yes, first.no}
        while len(items) < 60:
            k = self.live(items[-1].end)
            if k >= end or k >= limit or self.op(k) in ("NOP",):
                break
            item = self._item(k, end, joins)
            if item is None:
                break
            items.append(item)
            joins |= {item.yes, item.no}
        return reduce(items, self.same, self.entered)

    def expression(self, i: int, end: int, stack: list[Any]) -> tuple[int, Item | None]:
        """Runs an expression with its conditions; the index after it, and the test that ends it, if one does."""
        begin = i
        while True:
            i = self.straight(i, end, stack, set())
            if i >= end or not self.code[i].is_conditional or not stack:
                return i, None
            item = self.condition(i, end, stack[-1], begin)
            if item.kind == "value":
                stack[-1] = item.value
                i = self.live(item.yes)
            elif item.kind == "test":
                stack.pop()
                return i, item
            else:
                raise Unstructured("a kept value")
