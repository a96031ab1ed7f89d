"""Instructions of a code object as a list without caches, with jump targets and exception handlers as indices."""

import dis
import types
from dataclasses import dataclass
from typing import Any

SKIPPED = {
    "CACHE",
    "EXTENDED_ARG",
    "RESUME",
    "PRECALL",
    "MAKE_CELL",
    "COPY_FREE_VARS",
    "RETURN_GENERATOR",
}


class Unstructured(Exception):
    """No structure was found for the code."""


@dataclass
class Instruction:
    """One instruction; `target` is the index of where it jumps to."""

    op: str
    arg: int
    value: Any
    place: tuple[int, int, int, int]
    offset: int
    target: int = -1

    @property
    def is_conditional(self) -> bool:
        return self.op.startswith(("POP_JUMP", "JUMP_IF"))

    @property
    def is_jump(self) -> bool:
        return self.op.startswith(("JUMP_FORWARD", "JUMP_BACKWARD"))


def decode(code: types.CodeType) -> tuple[list[Instruction], list[int]]:
    """The instructions, and for each the index of the handler of its exceptions (-1: none)."""
    found: list[Instruction] = []
    index_of: dict[int, int] = {}
    line, column = code.co_firstlineno, 0
    for i in dis.get_instructions(code):
        index_of[i.offset] = len(found)
        if i.opname in SKIPPED:
            continue
        p = i.positions
        place = (line, column, line, column)
        if p is not None and p.lineno is not None:
            place = (
                p.lineno,
                p.col_offset or 0,
                p.end_lineno or p.lineno,
                p.end_col_offset or 0,
            )
            line, column = place[:2]
        found.append(Instruction(i.opname, i.arg or 0, i.argval, place, i.offset))
    for made in found:
        if "JUMP" in made.op or made.op in ("FOR_ITER", "SEND"):
            made.target = index_of[made.value]
    handlers = [-1] * len(found)
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        for k, made in enumerate(found):
            if entry.start <= made.offset < entry.end:
                handlers[k] = index_of[entry.target]
    return found, handlers
