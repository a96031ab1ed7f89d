"""Runs many programs, each batch in a process of its own, and counts what was seen."""

import ast
import builtins
import collections
import dataclasses
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import generate
from .generate import Program
from .shrink import SECONDS, died, limit, take_default_actions

BATCH = 25
ENOUGH = 20  # operations that a program must run to count


@dataclasses.dataclass
class Found:
    number: int
    kind: str
    text: str
    program: Program


@dataclasses.dataclass
class Campaign:
    seed: int
    programs: int = 0
    counted: int = 0
    endless: int = 0
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    explained: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    constructs: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    dtypes: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    found: list[Found] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, row: dict) -> None:
        self.programs += 1
        if row.get("kind"):
            self.found.append(Found(number, row["kind"], row["text"], generate.program(self.seed, number)))
        elif row["refused"]:
            self.refused[row["refused"]] += 1
        elif row["endless"]:
            self.endless += 1
        else:
            self.explained.update(row["explained"])
            if row["operations"] >= ENOUGH:
                self.counted += 1
                self.constructs.update(row["constructs"])
                self.dtypes.update(row["dtypes"])

    def report(self) -> str:
        accepted = self.programs - sum(self.refused.values()) - self.endless
        lines = [
            f"seed {self.seed}: {self.programs} programs in {self.seconds:.1f} s; {accepted} accepted, "
            f"{self.counted} of them ran at least {ENOUGH} operations and agree; {len(self.found)} differ; "
            f"{self.endless} would not end in Python",
            f"refused: {sum(self.refused.values())} ({100 * sum(self.refused.values()) / max(self.programs, 1):.1f} %)",
            *(f"  {n:6} {text}" for text, n in self.refused.most_common()),
            "allowed differences met, by number: " + (", ".join(f"{k}: {n}" for k, n in sorted(self.explained.items())) or "none"),
            "parameters: " + ", ".join(f"{k} {n}" for k, n in self.dtypes.most_common()),
            "constructs: " + ", ".join(f"{k} {n}" for k, n in self.constructs.most_common()),
        ]
        kinds = collections.Counter(f.kind for f in self.found)
        lines += [f"DIFFERS {n:4} {kind}" for kind, n in kinds.most_common()]
        return "\n".join(lines)


_COUNTED = (ast.stmt, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.IfExp, ast.Subscript, ast.Slice, ast.pattern)
_COUNTED += (ast.ExceptHandler, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.Lambda, ast.NamedExpr, ast.JoinedStr)
_COUNTED += (ast.FormattedValue, ast.Starred, ast.List, ast.Tuple, ast.Dict, ast.keyword)


def _called(function: ast.expr) -> str:
    """What a call calls: `np.sum`, `.copy` of anything else, `h` for all functions of the program itself."""
    if isinstance(function, ast.Name):
        return function.id.rstrip("0123456789") if function.id not in dir(builtins) else function.id
    if isinstance(function, ast.Attribute):
        module = isinstance(function.value, ast.Name) and function.value.id in ("np", "math")
        return ast.unparse(function) if module else f".{function.attr}"
    return type(function).__name__


def constructs(source: str) -> set[str]:
    """The statements, operators and functions that a program uses."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _COUNTED):
            names.add(type(node).__name__)
        elif isinstance(node, ast.Call):
            names.add(_called(node.func))
    return names


def work(seed: int, start: int, count: int, rows) -> None:
    """Examines programs one after another; writes a line before and after each."""
    from .examine import examine

    take_default_actions()
    for number in range(start, start + count):
        print(json.dumps({"begin": number}), file=rows, flush=True)
        limit(SECONDS)
        program = generate.program(seed, number)
        verdict = examine(program)
        limit(0)
        difference = verdict.difference
        row = {
            "number": number,
            "refused": verdict.refused,
            "explained": verdict.explained,
            "endless": verdict.endless,
            "operations": verdict.operations,
            "constructs": sorted(constructs(program.source)),
            "dtypes": sorted(set(program.dtypes)),
            "kind": difference and difference.kind,
            "text": difference and difference.text,
        }
        print(json.dumps(row), file=rows, flush=True)


def environment() -> dict[str, str]:
    """Lets a new process import what this one has."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def batch(seed: int, start: int, count: int, *options: str) -> list[tuple[int, dict]]:
    """The rows of some programs, examined in another process; where that dies, one goes on after the program."""
    rows: list[tuple[int, dict]] = []
    end = start + count
    while start < end:
        command = [sys.executable, "-m", "fuzz", *options, "--work", str(seed), str(start), str(end - start)]
        run = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        begun = start
        for line in run.stdout.splitlines():
            row = json.loads(line)
            if "begin" in row:
                begun = row["begin"]
            else:
                rows.append((row["number"], row))
        if run.returncode == 0:
            break
        said = run.stderr.strip().splitlines()
        kind = "tool: " + said[-1][:120] if run.returncode > 0 and said else died(run.returncode)
        rows.append((begun, {"kind": kind, "text": f"{kind}\n{run.stderr[-2000:]}"}))
        start = begun + 1
    return rows


def run_batches(
    campaign: Any, total: int, size: int, jobs: int, seconds: float | None, options: tuple[str, ...] = ()
) -> None:
    """Lets a campaign `add` the rows of its seed's first programs, some processes at once; none starts late."""
    begin = time.monotonic()

    def one(start: int) -> list[tuple[int, dict]]:
        if seconds is not None and time.monotonic() - begin > seconds:
            return []
        return batch(campaign.seed, start, min(size, total - start), *options)

    seen = 0
    with ThreadPoolExecutor(jobs) as pool:
        for rows in pool.map(one, range(0, total, size)):
            for number, row in rows:
                campaign.add(number, row)
            seen += len(rows)
            if sys.stderr.isatty():
                print(f"\r{seen}/{total}, {len(campaign.found)} differ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    campaign.seconds = time.monotonic() - begin


def run(seed: int, programs: int, jobs: int = 1, seconds: float | None = None) -> Campaign:
    """Examines the first programs of a seed, as many as asked for."""
    campaign = Campaign(seed)
    run_batches(campaign, programs, BATCH, jobs, seconds)
    return campaign


def shrunk(found: Found, seconds: float, *options: str) -> Program:
    """A found program, shrunk in another process."""
    text = json.dumps({"program": dataclasses.asdict(found.program), "number": found.number, "kind": found.kind, "seconds": seconds})
    run = subprocess.run([sys.executable, "-m", "fuzz", *options, "--shrink"], input=text, env=environment(), stdout=subprocess.PIPE, text=True)
    return Program(**json.loads(run.stdout)) if run.returncode == 0 else found.program


def write(found: Found, program: Program, seed: int) -> str:
    """A difference as text: what differs, the program, and how it is called."""
    calls = "\n".join(f"# f({', '.join(texts)})" for texts in program.arguments)
    seen = "\n".join(f"# {line}" for line in found.text.splitlines()[:12])
    return f"# program {found.number} of seed {seed}: {found.kind}\n{seen}\n{program.source}{calls}\n"


def shrink_all(campaign: Any, folder: Path, per_kind: int, seconds: float, jobs: int = 1, *options: str) -> list[tuple[Found, Program]]:
    """Shrinks some programs of each kind of difference and writes each to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen: list[Found] = []
    seen: collections.Counter = collections.Counter()
    for found in sorted(campaign.found, key=lambda f: len(f.program.source)):
        seen[found.kind] += 1
        if seen[found.kind] <= per_kind:
            chosen.append(found)

    def one(found: Found) -> tuple[Found, Program]:
        program = shrunk(found, seconds, *options)
        (folder / f"{campaign.seed}-{found.number}.py").write_text(write(found, program, campaign.seed))
        return found, program

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, chosen))
