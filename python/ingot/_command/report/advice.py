"""What to write instead, chosen by the names of the obstacles of loops and of the causes of compiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._ingot import Description

if TYPE_CHECKING:
    from .facts import FunctionFacts, Line


@dataclass(frozen=True)
class Advice:
    """`code` is the name of what it is about; `line`: None, it is about the function."""

    code: str
    line: Line | None
    what: str
    instead: str


OF_LOOPS = {
    "float order": 'Write `np.sum` or `np.dot`, or allow any order: `@ingot.jit(fastmath="reassoc")`. The last bits of the sum become others.',
    "calls Python": "Print, and call host functions, after the loop; or once in many iterations, in a loop around this one.",
    "draws": "Draw all numbers before the loop: `numbers = rng.random(n)`.",
    "own array": "Call NumPy's function for all rows at once, by its `axis`, or write the loop over the elements out.",
    "conflict": "Write into another array than the one that is read: `out = np.empty_like(x)`.",
    "unknown count": "Where the number of iterations is known, write `for i in range(n)` instead of `while`.",
}
"""By the name of why a loop has no lanes."""

_MANY_CALLS = 1000
_SHORT_CALL = 3e-6  # seconds


def advice_of(function: FunctionFacts) -> Iterator[Advice]:
    """Each thing once."""
    seen: set[tuple] = set()
    for each in (*_of_loops(function), *_of_compiling(function), *_of_calls(function)):
        if (each.code, each.line) not in seen:
            seen.add((each.code, each.line))
            yield each


def _of_loops(function: FunctionFacts) -> Iterator[Advice]:
    for made in function.made:
        for loop in made.loops:
            if loop.lanes == 1 and not loop.has_lanes_inside and loop.no_lanes in OF_LOOPS:
                yield Advice(loop.no_lanes, loop.line, f"The loop is {loop.words}.", OF_LOOPS[loop.no_lanes])


def _of_compiling(function: FunctionFacts) -> Iterator[Advice]:
    made = function.made
    changed = Counter(each.changed_name for each in made if each.cause == "changed")
    for name, count in changed.items():
        what = f"`{name}`, which is outside, changed {count} time{'s' * (count > 1)}, and the function was compiled again."
        yield Advice("changed", None, what, f"Pass `{name}` as an argument.")
    for name in dict.fromkeys(name for each in made for name in each.known):
        count = sum(name in each.known for each in made)
        if count > 2 and any(each.cause == "value" for each in made):
            what = f"The value of `{name}` decides what is compiled: {count} values were compiled."
            yield Advice("value", None, what, f"Pass few values of `{name}`, or have a number that is not known when compiling do: a length, an index.")
    yield from _of_types(function)


def _of_types(function: FunctionFacts) -> Iterator[Advice]:
    """Arguments that come in several kinds: numbers of several types, arrays of several layouts."""
    names = next((made.names for made in function.made), ())
    for k, name in enumerate(names):
        kinds = dict.fromkeys(made.key[k] for made in function.made if made.cause in ("first", "types") and len(made.key) > k)
        numbers = [kind.number for kind in kinds if kind.kind == Description.SCALAR]
        if len(numbers) > 1:
            what = f"`{name}` was {' and '.join(shown.removeprefix('numpy.') for shown in numbers)}: each has code of its own."
            yield Advice("number types", None, what, f"Pass one type: `{name}=2.0` instead of `{name}=2`.")
        arrays = [kind for kind in kinds if kind.kind == Description.ARRAY]
        if len({(kind.dtype, kind.ndim) for kind in arrays}) < len({(kind.dtype, kind.ndim, kind.layout) for kind in arrays}):
            what = f"`{name}` had its elements in different orders: each has code of its own, and strided elements are read slowly."
            yield Advice("layout", None, what, f"Pass `np.ascontiguousarray({name})`.")


def _of_calls(function: FunctionFacts) -> Iterator[Advice]:
    if function.own is not None and function.calls >= _MANY_CALLS and function.own / function.calls < _SHORT_CALL:
        what = f"{function.calls} calls of {1e6 * function.own / function.calls:.2g} µs: much of that is the call."
        yield Advice("short calls", None, what, "Write the loop that calls it into a compiled function, too.")
