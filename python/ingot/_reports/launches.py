"""What becomes of a call on a device: its launches, the bytes that they move, and what their kernels need.

The core finds them in the IR after the last pass (`Stage.launches`); what the host computes - lengths, conditions, grids - is
evaluated for given arguments. What depends on the contents of arrays stays unknown: None, `?` in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import occupancy as _occupancy
from .assembler import Needs, needs_of
from .drawing import bytes_text

if TYPE_CHECKING:
    from .._core import Stage

_HEADER = ["kernel", "times", "grid", "block", "read", "written", "registers", "spilled", "stack", "shared", "occupancy", "line"]


@dataclass
class Launch:
    """One launch. `read` and `written` are bytes of device memory, each array once a launch; `times`: how often it runs."""

    kernel: str
    function: str
    number: int
    """Among the launches of the function's text."""
    place: tuple[str, int] | None
    times: int | None
    grid: tuple[int | None, ...]
    block: tuple[int | None, ...]
    read: int | None
    written: int | None
    dynamic_shared: int | None
    waits: bool
    """Whether the host waits for it: it may raise."""
    needs: Needs | None = None
    resident_blocks: int | None = None
    """That a processor holds at once."""
    occupancy: float | None = None
    """The share of a processor's warps that these are."""


@dataclass
class OnHost:
    """What the host does between the launches, with copies of arrays there and back, each `bytes` once."""

    what: str
    place: tuple[str, int] | None
    times: int | None
    bytes: int | None


@dataclass
class Launches:
    """All of a call on a GPU that takes `code`; `least` are the bytes of what it is given and gives."""

    code: str
    launches: list[Launch]
    on_host: list[OnHost]
    least: int | None
    numbers: int | None
    """How many numbers, or small arrays, the host reads from the device's memory, each of which it waits for."""
    why: str = ""
    """Why what kernels need is not known; empty where it is."""

    @property
    def times(self) -> int | None:
        """How many launches there are."""
        return _sum(launch.times for launch in self.launches)

    @property
    def read(self) -> int | None:
        """The bytes that all launches read."""
        return _sum(_product(launch.read, launch.times) for launch in self.launches)

    @property
    def written(self) -> int | None:
        """The bytes that all launches write."""
        return _sum(_product(launch.written, launch.times) for launch in self.launches)

    @property
    def waits(self) -> int | None:
        """How often the host waits for the device."""
        return _sum([self.numbers, *(launch.times for launch in self.launches if launch.waits), *(h.times for h in self.on_host)])

    def as_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, strings and numbers, as JSON has them."""
        rows = [{**asdict(launch), "grid": list(launch.grid), "block": list(launch.block)} for launch in self.launches]
        on_host = [asdict(part) for part in self.on_host]
        for row in [*rows, *on_host]:
            row["place"] = row["place"] and list(row["place"])
        total = {"launches": self.times, "read": self.read, "written": self.written, "least": self.least, "waits": self.waits}
        return {"code": self.code, "launches": rows, "on_host": on_host, "total": total, "why": self.why}

    def __str__(self) -> str:
        rows = [_HEADER, *map(_cells, self.launches)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
        lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in rows]
        if not self.launches:
            lines = ["no launches"]
        lines += [f"on the host, with copies there and back: {_part(part)}" for part in self.on_host]
        lines.append(self._total())
        if self.why and self.launches:
            lines.append(f"what kernels need is not known: {self.why}")
        return "\n".join(lines) + "\n"

    def _total(self) -> str:
        moved = _sum((self.read, self.written))
        ratio = f" ({moved / self.least:.2f} times as much)" if moved is not None and self.least else ""
        counts = f"{_number(self.times)} launch{'' if self.times == 1 else 'es'}"
        size = f"{bytes_text(self.read)} read, {bytes_text(self.written)} written, at least {bytes_text(self.least)}{ratio}"
        return f"total: {counts}; {size}; the host waits {_times(self.waits)}"


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def _product(*numbers: int | None) -> int | None:
    total = 1
    for number in numbers:
        if number is None:
            return None
        total *= number
    return total


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _times(value: int | None) -> str:
    return f"{_number(value)} time{'' if value == 1 else 's'}"


def _extents(extents: tuple[int | None, ...]) -> str:
    used = extents
    while len(used) > 1 and used[-1] == 1:
        used = used[:-1]
    return " x ".join(map(_number, used))


def _cells(launch: Launch) -> list[str]:
    needs, of_needs = launch.needs, ["?"] * 4
    if needs is not None:
        shared = _number(_sum((needs.shared, launch.dynamic_shared)))
        of_needs = [str(needs.registers), _number(_sum((needs.spill_stores, needs.spill_loads))), str(needs.stack), shared]
    occupancy = "?" if launch.occupancy is None else f"{launch.occupancy:.0%}"
    where = [_extents(launch.grid), _extents(launch.block), bytes_text(launch.read), bytes_text(launch.written)]
    line = "" if launch.place is None else str(launch.place[1])
    return [launch.kernel, _number(launch.times), *where, *of_needs, occupancy, line]


def _part(part: OnHost) -> str:
    line = "" if part.place is None else f" (line {part.place[1]})"
    return f"{part.what}{line}, {_times(part.times)}, {bytes_text(part.bytes)}"


def read_launches(stage: Stage, name: str, leaves: list[Any], code: str) -> Launches:
    """Of the function of that name, given `leaves`, in the IR that codegen is given; what other functions launch runs an unknown number of times."""
    launches, on_host, least, numbers = stage.launches(name, leaves)
    return Launches(code, [Launch(**each) for each in launches], [OnHost(**each) for each in on_host], least, numbers)


def add_needs(found: Launches, kernels: str, ask: Callable[[str, int, int], tuple[int, int, int, int]] | None) -> None:
    """Adds what the kernels need, as the assembler reports it; or as their device does, if that is there: `ask` gives the
    registers, bytes of local and of shared memory, and resident blocks of a kernel with so many threads a block and
    bytes of dynamic shared memory.
    """
    needs, found.why = needs_of(kernels, found.code) if found.launches else ({}, "")
    capability = int(found.code.removeprefix("sm_")) if found.code.startswith("sm_") else 0
    for launch in found.launches:
        launch.needs = needs.get(launch.kernel)
        threads, dynamic = _product(*launch.block), launch.dynamic_shared
        if not launch.kernel or threads is None or dynamic is None:
            continue
        if ask is not None:
            registers, local, shared, launch.resident_blocks = ask(launch.kernel, threads, dynamic)
            spills = (None, None) if launch.needs is None else (launch.needs.spill_stores, launch.needs.spill_loads)
            launch.needs = Needs(registers, *spills, local, shared, "the driver")
        elif launch.needs is not None:
            shared = launch.needs.shared + dynamic
            launch.resident_blocks = _occupancy.resident_blocks(capability, threads, launch.needs.registers, shared)
        if launch.resident_blocks is not None:
            launch.occupancy = _occupancy.occupancy(capability, threads, launch.resident_blocks)
    if ask is not None:
        found.why = ""
