"""Blocks of statements: what stores, returns, branches and loops become."""

import abc
import ast
from dataclasses import replace
from typing import Any

from .conditions import Item, negated
from .decode import Unstructured
from .expressions import Marker, at, constant, start
from .structure import _DELETES, _STORES, Context, Structure

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_UNKNOWN = False  # the test of an assertion until its branch is known


def _store(node: Any) -> Any:
    """A loaded expression as a target."""
    node.ctx = ast.Store()
    for child in getattr(node, "elts", ()):
        _store(child)
    return node


def _is_raised_assert(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and node.test.value is _UNKNOWN


class Blocks(Structure):
    """Simple statements, branches and loops."""

    @abc.abstractmethod
    def guarded(self, i: int, hi: int, context: Context, out: list[ast.stmt]) -> int | None:
        """A `try` statement that begins at an index; None: there is none."""

    @abc.abstractmethod
    def managed(self, i: int, hi: int, context: Context, stack: list[Any], out: list[ast.stmt]) -> int:
        """A `with` statement whose manager is on the stack."""

    @abc.abstractmethod
    def skipped(self, i: int, hi: int, context: Context) -> int:
        """The index after copies of what runs before a jump out of a statement."""

    def block(self, lo: int, hi: int, context: Context) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        stack: list[Any] = []
        i = lo
        while i < hi:
            if i in self.dead:
                i += 1
                continue
            after = self.skipped(i, hi, context)
            if after != i:
                i = after
                continue
            if not stack:
                compound = self.guarded(i, hi, context, out)
                if compound is None:
                    compound = self.loop(i, hi, context, out)
                if compound is not None:
                    i = compound
                    continue
            if not stack and self.op(i) == "NOP":
                i = self._nothing(i, hi, context, out)
                continue
            k, item = self.expression(i, hi, stack)
            if item is not None:
                if stack:
                    raise Unstructured("a branch inside an expression")
                i = self.branch(item, hi, context, out)
            elif k < hi:
                i = self.statement(k, hi, context, stack, out)
            else:
                i = k
        if stack:
            raise Unstructured("values are left on the stack")
        for k, node in enumerate(out):
            if isinstance(node, _LEAVES):
                return out[: k + 1]
        return out

    def _nothing(self, i: int, hi: int, context: Context, out: list[ast.stmt]) -> int:
        trial: list[ast.stmt] = []
        begins = i + 1 < hi and (self.begins_try(i + 1, context) or self.begins_loop(i + 1, context))
        if not begins and not self.choices.choose(i, "pass"):
            trial.append(at(ast.Pass(), self.code[i].place))
        out.extend(trial)
        return i + 1

    @abc.abstractmethod
    def begins_try(self, i: int, context: Context) -> bool:
        """Whether the handlers of an index are none that are open already."""

    def begins_loop(self, i: int, context: Context) -> bool:
        return self._last_jump(i, context) >= 0

    # Targets

    def target(self, i: int, hi: int) -> tuple[Any, int]:
        """The target that begins at an index, and the index after it."""
        local: list[Any] = []
        i = self.straight(i, hi, local, set())
        ins = self.code[i]
        if ins.op in _STORES and not local:
            return at(ast.Name(ins.value, ast.Store()), ins.place), i + 1
        if ins.op == "STORE_ATTR" and len(local) == 1:
            return at(
                ast.Attribute(local[0], ins.value, ast.Store()),
                start(local[0], ins.place),
            ), i + 1
        if ins.op == "STORE_SUBSCR" and len(local) == 2:
            return at(ast.Subscript(local[0], local[1], ast.Store()), ins.place), i + 1
        if ins.op in ("UNPACK_SEQUENCE", "UNPACK_EX") and not local:
            before, behind = (ins.arg, 0) if ins.op == "UNPACK_SEQUENCE" else (ins.arg & 255, (ins.arg >> 8) + 1)
            i += 1
            elements = []
            for k in range(before + behind):
                element, i = self.target(i, hi)
                if k == before:
                    element = at(ast.Starred(element, ast.Store()), ins.place)
                elements.append(element)
            return at(ast.Tuple(elements, ast.Store()), ins.place), i
        raise Unstructured(f"a target ({ins.op})")

    def _assigned(self, i: int, hi: int, stack: list[Any], out: list[ast.stmt]) -> int:
        """An assignment, its value on the stack."""
        targets = []
        while self.op(i) == "COPY":
            one, i = self.target(i + 1, hi)
            targets.append(one)
        last, i = self.target(i, hi)
        targets.append(last)
        return self._assign(targets, stack.pop(), i, out)

    def _assign(self, targets: list[Any], value: Any, i: int, out: list[ast.stmt]) -> int:
        place = start(targets[0], self.code[i - 1].place)
        if isinstance(value, Marker) and value.kind == "def":
            if value.value.name != getattr(targets[0], "id", None):
                raise Unstructured("a function with another name")
            out.append(value.value)
        elif isinstance(value, Marker) and value.kind == "inplace":
            left, operator, right, _ = value.value
            out.append(at(ast.AugAssign(_store(left), operator, right), start(left, place)))
        elif isinstance(value, Marker):
            raise Unstructured(value.kind)
        else:
            out.append(at(ast.Assign(targets, value), place))
        return i

    def _swapped(self, i: int, hi: int, stack: list[Any], out: list[ast.stmt]) -> int:
        """A tuple assigned to a tuple whose elements go straight to their targets."""
        order = list(range(len(stack)))
        while self.op(i) == "SWAP":
            n = self.code[i].arg
            order[-1], order[-n] = order[-n], order[-1]
            i += 1
        targets: list[Any] = [None] * len(stack)
        for k in reversed(order):
            targets[k], i = self.target(i, hi)
        place = start(targets[0], self.code[i - 1].place)
        values = at(
            ast.Tuple(list(stack), ast.Load()),
            start(stack[0], stack[-1].__dict__.get("place", place)),
        )
        stack.clear()
        out.append(at(ast.Assign([at(ast.Tuple(targets, ast.Store()), place)], values), place))
        return i

    # Statements

    def statement(self, i: int, hi: int, context: Context, stack: list[Any], out: list[ast.stmt]) -> int:
        ins = self.code[i]
        inplace = next((s for s in stack if isinstance(s, Marker) and s.kind == "inplace"), None)
        if inplace is not None and (ins.op == "SWAP" or ins.op in _STORES):
            while self.op(i) == "SWAP":
                i += 1
            stack.clear()
            return self._assign([inplace.value[0]], inplace, i + 1, out)
        if ins.op == "SWAP" and self.op(i + 1) in ("POP_TOP", "POP_EXCEPT"):
            return i + 2
        if ins.op == "SWAP" and ins.arg == 2 and len(stack) == 1:
            return i + 1  # before the call of a manager's exit
        if ins.op == "SWAP" or (ins.op in _STORES and len(stack) > 1):
            return self._swapped(i, hi, stack, out)
        if ins.op in _STORES or ins.op in ("COPY", "UNPACK_SEQUENCE", "UNPACK_EX"):
            if not stack:
                raise Unstructured(f"a store of nothing ({ins.op})")
            return self._assigned(i, hi, stack, out)
        if ins.op == "STORE_ATTR":
            owner = stack.pop()
            return self._assign(
                [
                    at(
                        ast.Attribute(owner, ins.value, ast.Store()),
                        start(owner, ins.place),
                    )
                ],
                stack.pop(),
                i + 1,
                out,
            )
        if ins.op == "STORE_SUBSCR":
            index, owner = stack.pop(), stack.pop()
            return self._assign(
                [at(ast.Subscript(owner, index, ast.Store()), ins.place)],
                stack.pop(),
                i + 1,
                out,
            )
        if ins.op == "BEFORE_WITH":
            return self.managed(i, hi, context, stack, out)
        if ins.op == "FOR_ITER":
            return self.iteration(i, hi, context, stack.pop(), out)
        if ins.op in _DELETES or ins.op.startswith("DELETE_"):
            return self._deleted(i, stack, out)
        if ins.op == "IMPORT_NAME":
            return self._imported(i, stack, out)
        return self._leaving(i, hi, context, stack, out)

    def _leaving(self, i: int, hi: int, context: Context, stack: list[Any], out: list[ast.stmt]) -> int:
        ins = self.code[i]
        if ins.op == "POP_TOP":
            if stack:
                value = stack.pop()
                if isinstance(value, Marker):
                    raise Unstructured(value.kind)
                out.append(at(ast.Expr(value), start(value, ins.place)))
                return i + 1
            if i == 0:
                return 1
            if context.iterates and self.code[i + 1].is_jump:
                out.append(at(ast.Break(), ins.place))
                return i + 2
            if context.iterates and self.live(i + 1) in context.leave and i + 1 >= hi:
                out.append(at(ast.Break(), ins.place))
            return i + 1
        if ins.op == "POP_EXCEPT":
            return i + 1
        if ins.op == "RETURN_VALUE":
            value = stack.pop()
            is_none = isinstance(value, ast.Constant) and value.value is None
            if not is_none or self.choices.choose(i, "implicit return") == int(self.is_implicit(i)):
                out.append(at(ast.Return(value), ins.place))
            return i + 1
        if ins.op == "RAISE_VARARGS":
            self._raised(i, stack, out)
            return i + 1
        if ins.is_jump:
            return self._jumped(i, hi, context, out)
        raise Unstructured(f"{ins.op} in a block")

    def _raised(self, i: int, stack: list[Any], out: list[ast.stmt]) -> None:
        ins = self.code[i]
        cause = stack.pop() if ins.arg == 2 else None
        error = stack.pop() if ins.arg else None
        if isinstance(error, Marker):
            test = at(ast.Constant(_UNKNOWN), ins.place)
            out.append(at(ast.Assert(test, error.value), ins.place))
        else:
            out.append(at(ast.Raise(error, cause), ins.place))

    def _jumped(self, i: int, hi: int, context: Context, out: list[ast.stmt]) -> int:
        ins = self.code[i]
        if self.live(i + 1) >= hi and self.same(ins.target, context.follow) and not self.choices.choose(i, "continue"):
            return i + 1
        if self.same(ins.target, context.head):
            out.append(at(ast.Continue(), ins.place))
        elif any(self.same(ins.target, k) for k in context.leave):
            out.append(at(ast.Break(), ins.place))
        elif not (self.same(ins.target, context.follow) or ins.target == self.live(i + 1)):
            raise Unstructured("a jump")
        return i + 1

    def _deleted(self, i: int, stack: list[Any], out: list[ast.stmt]) -> int:
        ins = self.code[i]
        if ins.op in _DELETES:
            target: Any = at(ast.Name(ins.value, ast.Del()), ins.place)
        elif ins.op == "DELETE_ATTR":
            target = at(ast.Attribute(stack.pop(), ins.value, ast.Del()), ins.place)
        else:
            index, owner = stack.pop(), stack.pop()
            target = at(ast.Subscript(owner, index, ast.Del()), ins.place)
        out.append(at(ast.Delete([target]), ins.place))
        return i + 1

    def _imported(self, i: int, stack: list[Any], out: list[ast.stmt]) -> int:
        names, level = stack.pop(), stack.pop().value
        ins, i = self.code[i], i + 1
        if isinstance(names, ast.Tuple):
            aliases = []
            while self.op(i) == "IMPORT_FROM":
                name, stored = self.code[i].value, self.code[i + 1].value
                aliases.append(at(ast.alias(name, stored if stored != name else None), ins.place))
                i += 2
            out.append(at(ast.ImportFrom(ins.value, aliases, level), ins.place))
            return i + 1
        parts = ins.value.split(".")
        while self.op(i) in ("IMPORT_FROM", "SWAP", "POP_TOP"):
            i += 1
        stored = self.code[i].value
        is_plain = stored == parts[0] and self.code[i - 1].op == "IMPORT_NAME"
        out.append(
            at(
                ast.Import([at(ast.alias(ins.value, None if is_plain else stored), ins.place)]),
                ins.place,
            )
        )
        return i + 1

    # Branches

    def branch(self, item: Item, hi: int, context: Context, out: list[ast.stmt]) -> int:
        """An `if` from its test on; the index after it."""
        n = self.live(item.end)
        if self.same(item.yes, n) and not item.yes < n:
            test, other = item.value, item.no
        elif self.same(item.no, n):
            test, other = negated(item.value), item.yes
        else:
            raise Unstructured("a test that goes on nowhere")
        place = (
            test.lineno,
            max(test.col_offset - 3, 0),
            test.end_lineno,
            test.end_col_offset,
        )
        if n <= other <= hi and not (other == hi and n == hi):
            return self._forward(test, n, other, hi, context, place, out)
        if context.head >= 0 and self.same(other, context.head):
            jump: ast.stmt = ast.Continue()
        elif any(self.same(other, k) for k in context.leave) and not context.iterates:
            jump = ast.Break()
        elif self.same(other, context.follow):
            jump = ast.Pass()
        elif self.returned(self.final(other)) is not None:
            value = self.code[self.final(other)]
            jump = ast.Return(constant(value.value, value.place))
            if not self.choices.choose(n, "return early") and n < hi:
                jump = ast.Pass()
        else:
            raise Unstructured("a branch to elsewhere")
        to_follow = self.same(other, context.follow)
        if isinstance(jump, ast.Pass) or (to_follow and not self.choices.choose(n, "rest")):
            body = self.block(n, hi, context) or [at(ast.Pass(), place)]
            out.append(at(ast.If(test, body, []), place))
            return hi
        out.append(at(ast.If(negated(test), [at(jump, place)], []), place))
        return n

    def _forward(
        self,
        test: Any,
        n: int,
        other: int,
        hi: int,
        context: Context,
        place: Any,
        out: list[ast.stmt],
    ) -> int:
        """An `if` whose body ends before where its test jumps to."""
        last = other - 1
        while last in self.dead:
            last -= 1
        join = -1
        if last >= n and self.op(last) == "JUMP_FORWARD" and not self.choices.choose(last, "no else"):
            target = self.code[last].target
            if other < target <= hi:
                join = target
            elif target > hi and self.same(target, context.follow) and other < hi:
                join = hi
        elif (
            last >= n and self.op(last) == "JUMP_BACKWARD" and other < hi and self.same(self.code[last].target, context.follow)
        ):
            if not self.choices.choose(last, "else to the end"):
                join = hi
        if join < 0:
            implied = self.is_implicit(last)
            if self.choices.choose(n, "else") != int(implied):
                join = hi
                if not implied and self.returned(last - 1) == "NoneType None":
                    self.choices.taken[(last, "implicit return")] = 1
            elif implied:
                self.choices.taken[(last, "implicit return")] = 1
        end = join if join >= 0 else other
        inner = replace(context, follow=context.follow if end == hi else end)
        body = self.block(
            n,
            other,
            inner if join >= 0 or other == hi else replace(context, follow=other),
        )
        orelse = self.block(other, join, inner) if join >= 0 else []
        if len(body) == 1 and _is_raised_assert(body[0]) and not orelse:
            asserted: Any = body[0]
            asserted.test = negated(test)
            out.append(asserted)
        else:
            out.append(at(ast.If(test, body or [at(ast.Pass(), place)], orelse), place))
        return end

    # Loops

    def _last_jump(self, i: int, context: Context) -> int:
        """The last jump back to an index that no loop begins at yet; -1: none."""
        if i in context.loops:
            return -1
        return max(
            (k for k in self.entries.get(i, ()) if k >= i and k not in self.dead),
            default=-1,
        )

    def loop(self, i: int, hi: int, context: Context, out: list[ast.stmt]) -> int | None:
        """A `while` statement that begins at an index; None: there is none."""
        if i not in context.loops:
            for h in sorted(self.entries):
                if h <= i or h >= hi:
                    continue
                jumps = [k for k in self.entries[h] if h <= k < hi and self.code[k].is_conditional]
                if jumps and not self.choices.choose(i, f"while {h}"):
                    again = self._again(i, h, max(jumps))
                    if again >= 0:
                        return self._tested(i, h, again, hi, context, out)
        s = self._last_jump(i, context)
        if s < 0 or s >= hi:
            return None
        s_end = hi if self.choices.choose(i, "loop to the end") else s + 1
        inner = replace(
            context,
            head=i,
            leave=(s_end,),
            iterates=False,
            follow=i,
            loops=(*context.loops, i),
        )
        before = self.code[i - 1].place if i and self.code[i - 1].op == "NOP" else self.code[i].place
        body = self.block(i, s_end, inner)
        has_true = any(c is True for c in self.constants) or not any(type(c) is int and c == 1 for c in self.constants)
        test = at(ast.Constant(True if has_true else 1), before)
        out.append(at(ast.While(test, body or [at(ast.Pass(), before)], []), before))
        return s_end

    def _again(self, i: int, h: int, last: int) -> int:
        """Where the test of a `while` that begins at an index is repeated, at the end of its body."""
        first = self.code[i]
        for q in range(last, h - 1, -1):
            ins = self.code[q]
            if ins.place == first.place and ins.op == first.op and ins.arg == first.arg:
                same = all(self.code[i + k].place == self.code[q + k].place for k in range(min(h - i, last - q + 1)))
                if same:
                    return q
        return -1

    def _tested(self, i: int, h: int, again: int, hi: int, context: Context, out: list[ast.stmt]) -> int:
        """A `while` with a test, which is before and after its body."""
        stack: list[Any] = []
        _, item = self.expression(i, hi, stack)
        second: list[Any] = []
        _, item2 = self.expression(again, hi, second)
        if item is None or item2 is None or stack or second:
            raise Unstructured("the test of a loop")
        test = item.value if self.same(item.yes, h) else negated(item.value)
        leave = item.no if self.same(item.yes, h) else item.yes
        end = self.live(item2.end)
        join = max(leave, end)
        for k in range(h, again):
            if self.code[k].op == "JUMP_FORWARD" and join < self.code[k].target <= hi:
                join = self.code[k].target
        inner = replace(
            context,
            head=i,
            leave=(join,),
            iterates=False,
            follow=again,
            loops=(*context.loops, i, h),
        )
        body = self.block(h, again, inner)
        orelse = self.block(end, join, replace(context, follow=join)) if join > end else []
        place: Any = (
            test.lineno,
            max(test.col_offset - 6, 0),
            test.end_lineno,
            test.end_col_offset,
        )
        out.append(at(ast.While(test, body or [at(ast.Pass(), place)], orelse), place))
        return max(join, end)

    def iteration(self, i: int, hi: int, context: Context, iterable: Any, out: list[ast.stmt]) -> int:
        """A `for` statement from its FOR_ITER on."""
        leave = self.code[i].target
        target, n = self.target(i + 1, hi)
        join = leave
        for k in range(n, leave - 1):
            jump = self.code[k + 1]
            if self.op(k) == "POP_TOP" and jump.op == "JUMP_FORWARD" and join < jump.target <= hi:
                join = jump.target
        inner = replace(
            context,
            head=i,
            leave=(join,),
            iterates=True,
            follow=i,
            loops=(*context.loops, i),
        )
        body = self.block(n, leave, inner)
        orelse = self.block(leave, join, replace(context, follow=join)) if join > leave else []
        place = self.code[i].place
        place = (place[0], max(min(target.col_offset, place[1]) - 4, 0), *place[2:])
        out.append(
            at(
                ast.For(target, iterable, body or [at(ast.Pass(), place)], orelse),
                place,
            )
        )
        return join
