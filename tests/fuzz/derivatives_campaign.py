"""Runs many programs whose derivatives are judged, each batch in a process of its own, and counts what was seen."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
from typing import Any

from . import derivatives, smooth
from .campaign import Found, run_batches
from .generate import Program
from .shrink import isolated, limit, shrink, take_default_actions

BATCH = 25
SECONDS = 40  # of CPU time for one program
MODE = "--derivatives"


@dataclasses.dataclass
class Campaign:
    seed: int
    programs: int = 0
    accepted: int = 0
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    checks: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    found: list[Found] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, row: dict) -> None:
        self.programs += 1
        if row.get("kind"):
            self.found.append(Found(number, row["kind"], row["text"], smooth.program(self.seed, number)))
        elif row["refused"]:
            self.refused[row["refused"]] += 1
        else:
            self.accepted += 1
            self.checks.update(row["checks"])

    def report(self) -> str:
        kinds = collections.Counter(f.kind for f in self.found)
        lines = [
            f"seed {self.seed}: {self.programs} programs in {self.seconds:.1f} s; {self.accepted} agree; {len(self.found)} differ",
            "calls by what was checked: " + ", ".join(f"{name} {n}" for name, n in self.checks.most_common()),
            f"refused: {sum(self.refused.values())} ({100 * sum(self.refused.values()) / max(self.programs, 1):.1f} %)",
            *(f"  {n:6} {text}" for text, n in self.refused.most_common()),
            *(f"DIFFERS {n:4} {kind}" for kind, n in kinds.most_common()),
            *(f"  {f.number}: {f.kind}" for f in sorted(self.found, key=lambda f: (f.kind, f.number))),
        ]
        return "\n".join(lines)


def work(seed: int, start: int, count: int, rows: Any) -> None:
    """Examines programs one after another; writes a line before and after each."""
    take_default_actions()
    for number in range(start, start + count):
        print(json.dumps({"begin": number}), file=rows, flush=True)
        limit(SECONDS)
        verdict = derivatives.examine(smooth.program(seed, number), number)
        limit(0)
        difference = verdict.difference
        row = {
            "number": number,
            "refused": verdict.refused,
            "checks": verdict.checks,
            "kind": difference and difference.kind,
            "text": difference and difference.text,
        }
        print(json.dumps(row), file=rows, flush=True)


def run(seed: int, programs: int, jobs: int = 1, seconds: float | None = None) -> Campaign:
    """Examines the first programs of a seed, as many as asked for."""
    campaign = Campaign(seed)
    run_batches(campaign, programs, BATCH, jobs, seconds, (MODE,))
    return campaign


def smaller(program: Program, number: int, kind: str, seconds: float) -> Program:
    """The smallest program found within the time that shows a difference of this kind, examined as that of the number."""
    test = functools.partial(isolated, seconds=SECONDS, kind_of=functools.partial(derivatives.kind_of, like=kind, number=number))
    return shrink(program, kind, test, seconds)
