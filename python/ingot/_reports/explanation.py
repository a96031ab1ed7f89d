"""What `explain` gives: a string that notebooks and prompts show as it is, and the launches of calls on devices as data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._code import source

if TYPE_CHECKING:
    from .launches import Launches


class Explanation(str):
    """What `explain` returns: a string that prompts and notebooks show as it is.

    Parameters
    ----------
    sections : tuple of tuple of str
        The names and texts of which the string consists.
    launches : Launches, optional
        The launches of a call on a device, as data.

    See Also
    --------
    ingot.jit : Functions that have `explain`.
    """

    __slots__ = ("launches", "sections")

    launches: Launches | None
    """Of a call on a device; None on the CPU."""
    sections: tuple[tuple[str, str], ...]
    """The names and texts that the string consists of."""

    def __new__(cls, sections: tuple[tuple[str, str], ...], launches: Launches | None = None) -> Explanation:
        made = super().__new__(cls, "\n".join(f"=== {name} ===\n{text}" for name, text in sections))
        made.sections, made.launches = sections, launches
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.sections, self.launches

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from .display import folded, preformatted

        parts = [folded(name, preformatted(text), is_open=number == 0) for number, (name, text) in enumerate(self.sections)]
        return f'<div class="ingot-explanation">{"".join(parts)}</div>'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def explanation(function: Any, specialisation: Any, leaves: list[Any], code: str, svg: str | os.PathLike[str] | None) -> Explanation:
    """How a specialisation is made: for what takes `code`, if that is not empty, else for where its arrays are."""
    from . import loops as _loops

    stages = specialisation.compile(texts=True, target=code)
    if svg is not None:
        _draw(specialisation, stages, leaves, svg)
    sections = []
    if "kernels" not in stages:
        sections.append(("loops", _loops.shown(stages["final"], stages["obstacles"], function.__code__.co_filename)))
    if stages["schedule"]:
        sections.append(("schedule", stages["schedule"]))
    sections += [("source", source.shown(function)), ("array IR", specialisation.program.text())]
    names = ("loop IR", "LLVM IR", "assembly", "kernels: LLVM IR", "kernels")
    sections += [(name, stages[name]) for name in names if name in stages]
    launches = _launches_of(specialisation, stages, leaves, code) if "kernels" in stages else None
    if launches is not None:
        sections.append(("launches", f"for {launches.code}\n{launches}"))
    times = "".join(f"{name:12} {ms:8.3f} ms\n" for name, ms in stages["times"].items())
    return Explanation((*sections, ("times", times)), launches)


def _draw(specialisation: Any, stages: dict[str, Any], leaves: list[Any], path: str | os.PathLike[str]) -> None:
    from . import drawing as _drawing

    drawing = _drawing.svg(stages["nests"].fusion(specialisation.program.interface[0], leaves))
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawing)


def _launches_of(specialisation: Any, stages: dict[str, Any], leaves: list[Any], code: str) -> Launches:
    from . import launches as _launches

    device = specialisation.device
    kernels = stages["kernels"]
    found = _launches.read_launches(stages["final"], specialisation.program.interface[0], leaves, code or device.code)
    ask = None
    if device is not None and device.kind == "gpu" and found.code == device.code:

        def ask(kernel: str, threads: int, dynamic: int) -> tuple[int, int, int, int]:
            return specialisation.needs_of(kernels, kernel, threads, dynamic)

    _launches.add_needs(found, kernels, ask)
    return found
