"""`simulate`: the program is run for each matching, as far as there are several, and where calls may wait or not, in both ways."""

from __future__ import annotations

import inspect
import operator
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .findings import Finding, Simulation, Site
from .matching import Key
from .scheduler import Config, Rank, Run
from .substitution import View
from .workers import Worker

Forced = dict[Key, int]


def seed_of(config: Config, forced: Forced) -> str:
    return str(config) + (":" + ",".join(f"{rank}.{count}={chosen}" for (rank, count), chosen in forced.items()) if forced else "")


def read_seed(seed: str) -> tuple[Config, Forced]:
    try:
        kind, _, choices = seed.partition(":")
        forced = {}
        for each in choices.split(",") if choices else ():
            key, chosen = each.split("=")
            rank, count = key.split(".")
            forced[int(rank), int(count)] = int(chosen)
        early = kind[1:].removesuffix("l")
        config = Config(kind[:1] == "s", int(early.removeprefix("e")) if early else -1, kind.endswith("l"))
    except (AttributeError, ValueError):
        config, forced = Config(), {}
    if seed_of(config, forced) != seed:
        raise ValueError(f"the seed is one of a finding, not {seed!r}")
    return config, forced


class Part:
    """The runs of one kind: those that wait to be run, by what they are forced to, and the first, which was forced to nothing."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.base: Run | None = None
        self.waiting: list[Forced] = [{}]
        self._seen = {frozenset[Any]()}

    def extend(self, run: Run) -> None:
        """Takes in what a run could have chosen instead."""
        made: Forced = {}
        for decision in run.matching.decisions:
            made[decision.key] = decision.chosen
            self._seen.add(frozenset(made.items()))
        for other in reversed(run.matching.alternatives()):
            key = frozenset(other.items())
            if key not in self._seen:
                self._seen.add(key)
                self.waiting.append(other)


class Exploration:
    """The runs of one program."""

    def __init__(self, f: Callable[..., Any], n: int, args: tuple[Any, ...], limit: int, timeout: float) -> None:
        self.f, self.n, self.args, self.limit, self.timeout = f, n, args, limit, timeout
        self.simulation = Simulation(n)
        self.uses: dict[str, bool] = {}
        self.first: Run | None = None
        self.random = np.random.get_state(), random.getstate()
        self._is_repeatable: bool | None = None
        self._workers: list[Worker] = []

    def run(self, config: Config, forced: Forced, is_first: bool = False) -> Run:
        """One run. It begins with the state of the random numbers that all begin with."""
        self._workers += [Worker() for _ in range(self.n - len(self._workers))]
        run = Run(self._workers, config, forced, seed_of(config, forced))
        run.is_first = is_first
        np.random.set_state(self.random[0])
        random.setstate(self.random[1])

        def of_rank(rank: Rank) -> Any:
            view = View(run, rank, self.uses)
            return view.of(self.f)(*view.of(self.args))

        try:
            run.go(of_rank, self.timeout)
        finally:
            np.random.set_state(self.random[0])
            random.setstate(self.random[1])
            lost = [rank.worker for rank in run.ranks if rank.is_lost]
            for worker in lost:
                worker.end()
            self._workers = [worker for worker in self._workers if worker not in lost]
        run.finish()
        self.simulation.runs += 1
        return run

    def end(self) -> None:
        """Ends the threads."""
        for worker in self._workers:
            worker.end()

    def add(self, findings: list[Finding]) -> None:
        """Keeps what has not been found in another run."""
        known = self.simulation.findings
        for finding in findings:
            unmatched = [other.sites[0][2:] for other in known if other.kind == "unmatched"]
            is_same = finding.kind == "deadlock" and finding.seed.startswith("s") and any(site[2:] in unmatched for site in finding.sites)
            if not is_same and all(finding.key != other.key for other in known):
                known.append(finding)

    def step(self, part: Part) -> Run:
        """The next run of a part, and what comes of it."""
        run = self.run(part.config, part.waiting.pop(), self.first is None)
        if self.first is None:
            self.first = run
            self.simulation.results = [rank.result for rank in run.ranks]
        part.base = part.base or run
        if run.is_infeasible:
            return run
        self.add(run.findings)
        if not run.has_timed_out:
            self.compare(part.base, run)
            part.extend(run)
        return run

    def compare(self, base: Run, run: Run) -> None:
        """A race, where ranks give something else than in another matching."""
        if run is base or not self._differs(base, run, 1e-8):
            return
        decisions = {d.key: d for d in base.matching.decisions}
        decision = next((d for d in run.matching.decisions if d.key in decisions and decisions[d.key].chosen != d.chosen), None)
        if decision is None or not self.is_repeatable(base):
            return
        other = decisions[decision.key]
        sites = (*other.sites, *decision.sites)
        ranks = tuple(i for i in range(self.n) if not same(base.ranks[i].result, run.ranks[i].result, 1e-8))
        names = "requests" if decision.operation is None else "ranks"
        message = f"what rank {', '.join(map(str, ranks))} gives depends on which of {names} {other.chosen} and {decision.chosen} comes first"
        self.add([Finding("race", message, ranks, tuple(dict.fromkeys(sites)), run.seed)])

    def compare_early(self, base: Run, run: Run) -> None:
        """A receive buffer that is read before the wait: what ranks give depends on when the message is written into it."""
        others = {finding.key for finding in run.findings} ^ {finding.key for finding in base.findings}
        if run.is_infeasible or others or not self._differs(base, run, 0.0) or not self.is_repeatable(base):
            return
        (file, line), (_, waits) = list(base.lines.items())[run.config.early]
        ranks = tuple(i for i in range(self.n) if not same(base.ranks[i].result, run.ranks[i].result, 0.0))
        sites = [Site(ranks[0], "Irecv", file, line), *waits]
        message = "the buffer of a receive is used before the request has been waited for: what ranks give depends on when the message comes"
        self.add([Finding("buffer", message, ranks, tuple(dict.fromkeys(sites)), run.seed)])

    def _differs(self, a: Run, b: Run, tolerance: float) -> bool:
        if not all(rank.has_returned for run in (a, b) for rank in run.ranks):
            return False
        return any(not same(x.result, y.result, tolerance) for x, y in zip(a.ranks, b.ranks))

    def is_repeatable(self, base: Run) -> bool:
        """Whether the program gives the same again, run in the same way."""
        if self._is_repeatable is None:
            self._is_repeatable = not self._differs(base, self.run(base.config, base.matching.forced), 0.0)
        return self._is_repeatable

    def all(self, buffered: bool | None) -> None:
        """The runs of all parts, interleaved, so that the limit does not leave a part out."""
        parts = [Part(Config(is_strict)) for is_strict in ((False, True) if buffered is None else (not buffered,))]
        for part in list(parts):
            if self.simulation.runs == self.limit:
                return
            run = self.step(part)
            if run.has_timed_out:
                return
            if run.has_answered:
                parts.append(Part(part.config._replace(is_late=True)))
            if part is parts[0]:
                self._early(run)
        while any(part.waiting for part in parts):
            for part in parts:
                if part.waiting and (self.simulation.runs >= self.limit or self.step(part).has_timed_out):
                    return
        self.simulation.complete = True

    def _early(self, base: Run) -> None:
        chosen = {d.key: d.chosen for d in base.matching.decisions}
        for i in range(len(base.lines)):
            if self.simulation.runs < self.limit:
                self.compare_early(base, self.run(base.config._replace(early=i), chosen))

    def again(self, config: Config, forced: Forced) -> None:
        """The run of a seed, and, where its results are compared with another's, that one before."""
        base = self.run(config._replace(early=-1), {})
        if config.early >= 0:
            chosen = {d.key: d.chosen for d in base.matching.decisions}
            base = base if chosen == forced else self.run(config._replace(early=-1), forced)
        if config.early >= len(base.lines):
            raise ValueError(f"the seed {seed_of(config, forced)!r} is that of another program")
        run = self.run(config, forced, True)
        self.simulation.results = [rank.result for rank in run.ranks]
        self.simulation.findings = [replace(finding, seed=run.seed) for finding in run.findings]
        if config.early >= 0:
            self.compare_early(base, run)
        else:
            self.compare(base, run)
        self.simulation.runs = 1


def same(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two results are equal; of what is none of arrays, numbers, strings and containers of them, nothing is known."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc" or tolerance == 0.0:
            return a.dtype.hasobject or a.tobytes() == b.tobytes()
        if a.size == 0:
            return True
        scale = float(np.nanmax(np.abs(np.where(np.isfinite(a), a, 0)))) if a.size else 0.0
        epsilon = max(tolerance, float(np.finfo(a.dtype).eps) * 1e3)
        return bool(np.allclose(a, b, rtol=epsilon, atol=epsilon * scale, equal_nan=True))
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], tolerance) for key in a)
    if isinstance(a, (float, complex, np.inexact)) and type(a) is type(b):
        return same(np.array([a]), np.array([b]), tolerance)
    if isinstance(a, (bool, int, str, bytes, type(None), np.generic)) or isinstance(b, (bool, int, str, bytes, type(None), np.generic)):
        return type(a) is type(b) and bool(a == b)
    return True


def simulate(f: Any, n: int, args: tuple[Any, ...], limit: int, buffered: bool | None, timeout: float, seed: str | None) -> Simulation:
    """What `ingot.mpi.simulate` does, which describes it."""
    if not callable(f):
        raise TypeError(f"simulate takes a function, not {type(f).__name__}")
    try:
        inspect.signature(getattr(f, "__ingot_function__", f)).bind(*args)
    except TypeError as error:
        raise TypeError(f"the arguments are not those of the function: {error}") from None
    except ValueError:
        pass  # a function of C's
    n, limit = operator.index(n), operator.index(limit)
    if n < 1:
        raise ValueError(f"a program has one rank at least, not {n}")
    if limit < 1:
        raise ValueError(f"a program is run once at least, not {limit} times")
    if not timeout > 0:
        raise ValueError(f"a run has some seconds, not {timeout}")
    exploration = Exploration(f, n, args, limit, timeout)
    try:
        if seed is None:
            exploration.all(buffered)
        else:
            exploration.again(*read_seed(seed))
    finally:
        exploration.end()
    return exploration.simulation
