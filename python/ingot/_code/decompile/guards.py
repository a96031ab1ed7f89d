"""`try` and `with` statements."""

import ast
from dataclasses import replace
from typing import Any, NamedTuple

from .decode import Unstructured
from .expressions import at
from .statements import Blocks
from .structure import _STORES, Context


class _Guard(NamedTuple):
    """A range with a handler: its begin, the handler, its end, the handler's cleanup, and its location in the source."""

    begin: int
    handler: int
    end: int
    cleanup: int
    place: Any


class Guards(Blocks):
    """Statements that handle exceptions, and the copies of their ends."""

    def _chain_of(self, i: int) -> list[int]:
        """The handlers of an index, the innermost first."""
        found: list[int] = []
        h = self.handler[i]
        while h >= 0 and h not in found and self.op(h) == "PUSH_EXC_INFO":
            found.append(h)
            cleanup = self.handler[h]
            h = self.handler[cleanup] if cleanup >= 0 else -1
        return found

    def _new_handler(self, i: int, context: Context) -> int:
        new = [h for h in self._chain_of(i) if h not in context.handlers and h > i]
        return new[-1] if new else -1

    def begins_try(self, i: int, context: Context) -> bool:
        return self._new_handler(i, context) >= 0

    def _covered_end(self, i: int, h: int) -> int:
        return max((k for k in range(i, h) if h in self._chain_of(k)), default=i - 1) + 1

    def skipped(self, i: int, hi: int, context: Context) -> int:
        if [self.op(i + k) for k in range(5)] == [
            "LOAD_CONST",
            "LOAD_CONST",
            "LOAD_CONST",
            "CALL",
            "POP_TOP",
        ]:
            values = [self.code[i + k].value for k in range(3)]
            if values == [None] * 3 and self.code[i + 3].arg == 2:
                return i + 5
        if context.named and [self.op(i + k)[:6] for k in range(3)] == [
            "LOAD_C",
            "STORE_",
            "DELETE",
        ]:
            if self.code[i + 1].value == context.named == self.code[i + 2].value and self.code[i].value is None:
                return i + 3
        for h, end in context.finals:
            first, ins = self.code[h + 1], self.code[i]
            if i < h and h not in self._chain_of(i) and (ins.op, ins.place) == (first.op, first.place):
                return i + end - h - 1
        return i

    def guarded(self, i: int, hi: int, context: Context, out: list[ast.stmt]) -> int | None:
        h = self._new_handler(i, context)
        if h < 0:
            return None
        if h >= hi:
            raise Unstructured("a handler elsewhere")
        place = self.code[i - 1].place if i and self.op(i - 1) == "NOP" else self.code[i].place
        cleanup = self.handler[h]
        if cleanup < 0:
            raise Unstructured("a handler without an end")
        guard = _Guard(i, h, self._covered_end(i, h), cleanup, place)
        if (
            any(self.op(k) == "CHECK_EXC_MATCH" and self.handler[k] == cleanup for k in range(h, cleanup))
            or self.op(h + 1) == "POP_TOP"
        ):
            return self._caught(guard, hi, context, out)
        return self._finally(guard, hi, context, out)

    def _finally(self, guard: _Guard, hi: int, context: Context, out: list[ast.stmt]) -> int:
        i, h, end, cleanup, place = guard
        last = cleanup - 1
        if self.op(last) != "RERAISE":
            raise Unstructured("a finally that leaves")
        own = replace(
            context,
            handlers=(*context.handlers, h),
            finals=((h, last), *context.finals),
            follow=end,
        )
        body = self.block(i, end, own)
        join = self.code[h - 1].target if self.op(h - 1) == "JUMP_FORWARD" else cleanup + 3
        if self.op(end) == "RETURN_VALUE" or (end < h and body == []):
            raise Unstructured("a return from a finally")
        # What follows the copy of the final statements in a body that returns belongs to it.
        rest = self.skipped(end, h, own)
        if rest < h and not self.code[rest].is_jump:
            body += self.block(rest, h, own)
        final = self.block(
            h + 1,
            last,
            replace(context, handlers=(*context.handlers, h, cleanup), follow=last),
        )
        if len(body) == 1 and isinstance(body[0], ast.Try) and not body[0].finalbody and body[0].lineno == place[0]:
            body[0].finalbody = final
            out.append(body[0])
        else:
            out.append(at(ast.Try(body, [], [], final), place))
        return max(join, cleanup + 3) if join <= hi else cleanup + 3

    def _caught(self, guard: _Guard, hi: int, context: Context, out: list[ast.stmt]) -> int:
        i, h, end, cleanup, place = guard
        after = cleanup + 3
        own = replace(context, handlers=(*context.handlers, h), follow=end)
        if self.op(end) in ("RETURN_VALUE",) or (self.op(end) == "SWAP" and self.op(end + 2) == "RETURN_VALUE"):
            end += 1 if self.op(end) == "RETURN_VALUE" else 3
        follow = after if after < hi else context.follow
        jump = self.op(h - 1).startswith("JUMP") and h - 1 >= end
        body = self.block(i, end, replace(own, follow=end))
        orelse: list[ast.stmt] = []
        if end < h:
            orelse = self.block(
                end,
                h,
                replace(context, follow=self.code[h - 1].target if jump else follow),
            )
        handlers = self._handlers(
            h,
            cleanup,
            replace(context, handlers=(*context.handlers, h, cleanup), follow=follow),
        )
        out.append(at(ast.Try(body or [at(ast.Pass(), place)], handlers, orelse, []), place))
        return after

    def _handlers(self, h: int, cleanup: int, context: Context) -> list[ast.ExceptHandler]:
        found, j = [], h + 1
        while j < cleanup and self.op(j) != "RERAISE":
            kind, place, after = None, self.code[j].place, cleanup
            if self.op(j) != "POP_TOP":
                stack: list[Any] = []
                k = self.straight(j, cleanup, stack, set())
                if self.op(k) != "CHECK_EXC_MATCH" or len(stack) != 1:
                    raise Unstructured("a handler")
                kind, after, j = stack[0], self.code[k + 1].target, k + 2
            name = self.code[j].value if self.op(j) in _STORES else ""
            stop = after - 4 if name else after
            while stop > j and name and self.op(stop) != "LOAD_CONST":
                stop -= 1
            inner = replace(context, named=name, handlers=(*context.handlers, self.handler[j + 1]))
            inner.handlers = (
                *inner.handlers,
                *(x for x in {self.handler[k] for k in range(j, after)} if self.op(x) == "LOAD_CONST"),
            )
            body = self.block(j + 1, stop, inner)
            found.append(
                at(
                    ast.ExceptHandler(kind, name or None, body or [at(ast.Pass(), place)]),
                    place,
                )
            )
            j = after
        return found

    def managed(self, i: int, hi: int, context: Context, stack: list[Any], out: list[ast.stmt]) -> int:
        manager, place = stack.pop(), self.code[i].place
        h = self._new_handler(i + 1, context)
        if h < 0 or h >= hi:
            raise Unstructured("a with without a handler")
        target, n = (None, i + 2) if self.op(i + 1) == "POP_TOP" else self.target(i + 1, hi)
        cleanup = next(
            (k for k in range(h, hi) if self.op(k) == "COPY" and self.op(k + 1) == "POP_EXCEPT"),
            -1,
        )
        if cleanup < 0 or self.op(h + 1) != "WITH_EXCEPT_START":
            raise Unstructured("a with")
        after = cleanup + 7
        if self.op(cleanup + 3) != "POP_TOP":
            raise Unstructured("a with whose end is elsewhere")
        stop = h
        follow = after
        if self.op(h - 1) == "JUMP_FORWARD":
            stop, follow = h - 1, self.code[h - 1].target
        elif self.op(after) == "JUMP_BACKWARD":
            follow = after
        body = self.block(n, stop, replace(context, handlers=(*context.handlers, h), follow=follow))
        item = ast.withitem(manager, target)
        place = (place[0], max(place[1] - 5, 0), *place[2:])
        out.append(at(ast.With([item], body or [at(ast.Pass(), place)]), place))
        return after
