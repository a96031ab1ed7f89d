"""Operators one after the other, over sets of detectors, on the host or a device."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import ingot

from . import dispatch
from .data import Data, Observation
from .fusion import Fused, groups
from .memory import Buffer, Key, Memory, Place, default_memory, size_class
from .operator import Flow, Keys, Operator, as_keys, keys_of

OPTIONS = ("detector_sets", "memory", "device", "hybrid", "keep", "staging", "implementation")


class Pipeline(Operator):
    """Runs operators in their order.

    On a device, what they require is copied there once, what they make stays there from one to the next, and what is to
    survive is copied back once, by `finalize`: keys of `keep`, keys that were there before, and those that no later
    operator requires. The others are intermediates and end with the pipeline, also on the host. A set of detectors that
    the device has no memory for is halved: operators may be called with any part of the detectors. Where they may not - one
    declares `whole_detectors`, or uses a global object that another makes of all detectors -, that is a MemoryError, and more
    than one set a ValueError.
    """

    operators: list[Operator] = []
    detector_sets: Literal["ALL", "SINGLE"] | list[list[str]] = "ALL"
    """"ALL": each operator has all detectors in a call; "SINGLE": the detectors one by one; or lists of detectors."""
    memory: Memory | str | None = None
    """The device; None: the first GPU, where there is one."""
    device: bool | dict[str, bool] | None = None
    """Whether to use it, or, by its name, whether an operator does; None: if an operator can."""
    hybrid: bool = True
    """Whether some operators may run on the host when others use the device."""
    keep: list[str] = []
    staging: bool = True
    """False: each operator has everything copied to the device and back for itself (to see what staging gives)."""
    implementation: str | dict[str, str] | None = None
    """The implementation of all kernels, or of some."""

    def __init__(self, operators: Sequence[Operator] = (), **options: Any) -> None:
        super().__init__(operators=list(operators), **options)
        self._touched: dict[int, Buffer] = {}
        self._made: list[Key] = []
        self._ending: dict[Key, int] = {}
        self._seen: list[Observation] = []
        self._is_running = False

    def __setattr__(self, name: str, value: Any) -> None:
        before = getattr(self, name, None)
        super().__setattr__(name, Memory(value) if name == "memory" and isinstance(value, str) else value)
        if name in ("operators", "device", "detector_sets"):
            try:
                self._check_options()
            except ValueError:
                super().__setattr__(name, before)
                raise

    def _check_options(self) -> None:
        """ValueError where options do not go with each other, or with those of the operators."""
        masks = {op.name: op.det_mask for op in self.steps() if hasattr(op, "det_mask")}
        if len(set(masks.values())) > 1:
            raise ValueError(f"the operators of a pipeline leave out the same detectors, but their det_mask differs: {masks}")
        if isinstance(self.device, dict) and (unknown := set(self.device) - {op.name for op in self.steps()}):
            raise ValueError(f"`device` names {', '.join(sorted(unknown))}, which is no operator of the pipeline")
        sets: Any = self.detector_sets if isinstance(self.detector_sets, list) else []
        if twice := [detector for detector, count in Counter(d for part in sets for d in part).items() if count > 1]:
            raise ValueError(f"each detector is in one set, but {', '.join(twice)}")

    def steps(self) -> list[Operator]:
        """The operators, those of pipelines without options of their own among them."""
        plain = [isinstance(op, Pipeline) and op.is_plain for op in self.operators]
        return [step for op, inner in zip(self.operators, plain) for step in (op.steps() if inner else [op])]  # type: ignore[attr-defined]

    @property
    def is_plain(self) -> bool:
        """Whether all options have their defaults."""
        return all(getattr(self, name) == getattr(Pipeline, name) for name in OPTIONS)

    def compile(self) -> Pipeline:
        """A pipeline of the same options, in which neighbours are one function each where that is possible.

        What these only pass on to each other is never stored. The results differ by the order of sums alone.
        """
        operators: list[Operator] = []
        steps, place = self.steps(), 0
        with self._chosen_implementation():
            for group in groups(steps, self.device if isinstance(self.device, dict) else {}):
                place += len(group)
                later = [name for op in steps[place:] for _, name in keys_of(op.requires())]
                operators += [Fused(group, keep=[*self.keep, *later])] if len(group) > 1 else group
        return Pipeline(operators, name=f"{self.name} (fused)", **{name: getattr(self, name) for name in OPTIONS})

    # Keys.

    def requires(self) -> Keys:
        """What an operator requires and no earlier one provides."""
        return Flow(self.steps()).required

    def provides(self) -> Keys:
        """What survives of what the operators provide."""
        flow = Flow(self.steps(), self.keep)
        return as_keys(key for key in flow.provided if key not in flow.handed_on)

    def _begin(self, data: Data) -> None:
        """Looks which keys are new (`_made`), and which of them end with the pipeline (`_ending`), with their last use."""
        flow, known = Flow(self.steps(), self.keep), {id(ob) for ob in self._seen}
        fresh = data.with_observations(ob for ob in data.obs if id(ob) not in known)
        new = self._made if self._is_running else flow.provided
        checked = [key for key in new if not self._is_running or key[0] != "global"]
        there = {key for key in checked if any(key[1] in store for store in fresh.stores(key[0]))}
        self._made = [key for key in new if key not in there]
        self._ending = {key: place for key, place in flow.handed_on.items() if key in self._made}
        self._seen += fresh.obs
        self._is_running = True

    # Where operators run.

    def supports_accel(self) -> bool:
        able = [op.supports_accel() for op in self.steps()]
        return any(able) if self.hybrid else bool(able) and all(able)

    def _device(self) -> Memory | None:
        """The memory of the device that is used."""
        memory = self.memory if isinstance(self.memory, Memory) else default_memory()
        if self.device is True and memory is None:
            raise RuntimeError("there is no GPU: give the pipeline the memory of a device")
        forced = self.device is True or isinstance(self.device, dict) and any(self.device.values())
        return memory if self.device is not False and (forced or self.supports_accel()) else None

    def _runs_there(self, op: Operator, memory: Memory | None) -> bool:
        """Whether an operator runs on the device."""
        if memory is None or not op.supports_accel() or isinstance(op, Pipeline):
            return False
        takes = memory.backend.implementations
        if takes is not None and any(dispatch.chosen(kernel) not in takes for kernel in op.kernels()):
            return False
        return self.device.get(op.name, True) if isinstance(self.device, dict) else True

    # Which detectors.

    @property
    def whole_detectors(self) -> bool:  # type: ignore[override]
        """Whether it needs all detectors in a call: one of its operators does, or passes a sum over them on to another."""
        return bool(self._why_whole())

    def _why_whole(self) -> str:
        """Why its detectors cannot be worked on in parts; empty if they can."""
        steps = self.steps()
        if needs := [op.name for op in steps if op.whole_detectors]:
            return f"{needs[0]} needs all detectors in a call"
        at_the_end = [op for op in steps if type(op)._exec is Operator._exec and not isinstance(op, Pipeline)]
        for place, one in enumerate(steps):
            changed = {key for key in keys_of(one.provides()) if key[0] == "global"}
            for other in (*steps[:place], *steps[place + 1 :]):
                if other not in at_the_end and (both := changed & set(keys_of(other.requires()))):
                    return f"{one.name} changes global {min(both)[1]!r}, which {other.name} uses: give each a pipeline"
        return ""

    @contextlib.contextmanager
    def _chosen_implementation(self) -> Iterator[None]:
        given = self.implementation
        with dispatch.using(**given) if isinstance(given, dict) else dispatch.using(given):
            yield

    # Running.

    def exec(self, data: Data, detectors: Sequence[str] | None = None) -> None:
        """Runs the operators on these detectors (all, if None)."""
        with self._or_abandon(data), self._chosen_implementation(), Place(operator=self.name).entered(), ingot.profile(self.name):
            self._check_options()
            self._check(data)
            self._begin(data)
            memory, sets = self._device(), self._sets(data, detectors)
            if len(sets) > 1 and (why := self._why_whole()):
                raise ValueError(f"{self.name} cannot work on {len(sets)} sets of detectors one after the other: {why}")
            self._plan_rows(data, [d for part in sets for d in part])
            for part in sets:
                self._run_set(data, part, memory, is_only=len(sets) == 1)

    def _sets(self, data: Data, detectors: Sequence[str] | None) -> list[list[str]]:
        chosen = data.detectors(detectors)
        if self.detector_sets == "ALL":
            return [chosen]
        sets = [[d] for d in chosen] if self.detector_sets == "SINGLE" else self.detector_sets
        return [part for part in ([d for d in given if d in set(chosen)] for given in sets) if part] or [[]]

    def _plan_rows(self, data: Data, detectors: list[str]) -> None:
        """New detector data that survives gets rows for all sets at once."""
        for ob in data.obs:
            ob.detdata.planned.update({name: detectors for kind, name in set(self._made) - set(self._ending) if kind == "detdata"})

    def _run_set(
        self, data: Data, detectors: list[str], memory: Memory | None, is_only: bool = False, first: int = 0, ends: bool = True
    ) -> None:
        """Runs the operators from the first of these on; intermediates stay if they do not end here, for other detectors."""
        if memory is not None and self.staging:
            need, what = self._need(data, detectors, memory, first)
            if need > memory.pool.limit:  # what earlier calls left there goes back
                self._end_set(data, free=True, ends=first == 0)
                need, what = self._need(data, detectors, memory, first)
            if need > memory.pool.limit:
                length = max((ob.n_samples for ob in data.obs), default=0) * memory.pool.limit // need
                limit = f"of the limit of {memory.pool.limit} bytes on {memory}: about {length} samples would fit"
                self._halve(data, detectors, memory, first, ends, f"{what}, {need} bytes for {' '.join(detectors)} at once, {limit}")
                return
        for place, op in enumerate(self.steps()[first:], first):
            op._check(data)
            op._create(data, detectors)
            there = memory if self._runs_there(op, memory) else None
            lack = ""
            with contextlib.ExitStack() as held:
                try:
                    self._stage(data, op, detectors, there, held)
                except MemoryError as error:  # the device gives less than the limit
                    if there is None:
                        raise
                    lack = str(error) or f"there is no memory for {op.name} on {there}"
                if isinstance(op, Pipeline):
                    op.exec(data, detectors)
                elif not lack:
                    op._run(data, detectors, there)
            if lack:
                assert there is not None
                self._halve(data, detectors, there, place, ends, lack)
                return
            if not self.staging:
                self._give_back(op.buffers(data))
            if ends:
                self._drop(data, [key for key, last in self._ending.items() if last == place and key[0] == "detdata"])
        self._end_set(data, free=not is_only, ends=ends)

    def _halve(self, data: Data, detectors: list[str], memory: Memory, first: int, ends: bool, why: str) -> None:
        """Goes on with one half of the detectors after the other; MemoryError where that cannot be."""
        self._end_set(data, free=True, ends=first == 0)
        if len(detectors) < 2:
            raise MemoryError(why)
        if whole := self._why_whole():
            raise MemoryError(f"{why}; it cannot be fewer detectors at once: {whole}")
        middle = len(detectors) // 2
        self._run_set(data, detectors[:middle], memory, first=first, ends=first == 0)
        self._run_set(data, detectors[middle:], memory, first=first, ends=ends)

    def _stage(self, data: Data, op: Operator, detectors: list[str], memory: Memory | None, held: contextlib.ExitStack) -> None:
        """Brings what an operator needs to where it runs, and keeps it there until `held` ends."""
        if memory is None:
            for buffer in op.buffers(data, keys_of(op.requires())):
                buffer.to_host()
            return
        buffers = op.buffers(data)
        held.enter_context(memory.holding(buffers))
        for buffer in buffers:
            if not self.staging:
                buffer.to_host()
            if buffer.memory is not memory:
                self._touched[id(buffer)] = buffer
            memory.stage(buffer, detectors)

    def _need(self, data: Data, detectors: list[str], memory: Memory, first: int = 0) -> tuple[int, str]:
        """The most bytes of the device that are needed at once for a set of detectors, and what needs them."""
        most, what = 0, ""
        alive = {id(b): (b.label, b._block.nbytes) for b in memory.staged.values() if b.device_valid and not b.host_valid}
        for place, op in enumerate(self.steps()[first:], first):
            if not op.missing(data):
                op._create(data, detectors)
            used, made = op.buffers(data), op.buffers(data, keys_of(op.provides()))
            if self._runs_there(op, memory):
                sizes = {id(b): (b.label, size_class(b.device_bytes(detectors))) for b in used}
                total = sum(size for _, size in {**alive, **sizes}.values())
                if total > most:
                    of_key: Counter[str] = Counter()
                    for label, size in {**alive, **sizes}.values():
                        of_key[label] += size
                    most, what = total, f"{op.name} needs {', '.join(f'{label} ({size} bytes)' for label, size in of_key.items())}"
                alive.update({id(b): sizes[id(b)] for b in made})
            else:
                for buffer in used:
                    alive.pop(id(buffer), None)
            for kind, name in (key for key, last in self._ending.items() if last == place and key[0] == "detdata"):
                for buffer in data.buffers(kind, name):
                    alive.pop(id(buffer), None)
        return most, what

    # Ends.

    def _end_set(self, data: Data, free: bool, ends: bool = True) -> None:
        """With `ends`, the intermediates of a set of detectors end; with `free`, detector data leaves the device."""
        if ends:
            self._drop(data, [key for key in self._ending if key[0] == "detdata"])
        if free:
            self._give_back([buffer for buffer in self._touched.values() if buffer.key[0] == "detdata"])

    def _give_back(self, buffers: Sequence[Buffer]) -> None:
        """Copies back what is valid on the device alone, and frees the copies that the pipeline made."""
        for buffer in buffers:
            if self._touched.pop(id(buffer), None) is not None and buffer.memory is not None:
                if not buffer.host_valid and buffer.device_valid:
                    buffer.to_host()
                buffer.memory.free(buffer)

    def _drop(self, data: Data, keys: Iterable[Key]) -> None:
        for kind, name in keys:
            for buffer in data.buffers(kind, name):
                self._touched.pop(id(buffer), None)
            data.remove(kind, name)

    def _finalize(self, data: Data) -> Any:
        """Ends the operators; gives the result of the last one."""
        result, everywhere = None, self._everywhere(data)
        with self._chosen_implementation():
            for op in self.steps():
                result = op.finalize(data)
        self._drop(everywhere, self._ending)
        self._give_back(list(self._touched.values()))
        self._forget(everywhere)
        return result

    def _everywhere(self, data: Data) -> Data:
        """The data with all observations that were worked on."""
        whole = data.with_observations([])
        whole.obs = list({id(ob): ob for ob in (*self._seen, *data.obs)}.values())
        return whole

    def _abandon(self, data: Data) -> None:
        """Frees everything; what was there before is brought back as it is, what is new is removed."""
        data = self._everywhere(data)
        for op in self.steps():
            op._abandon(data)
        self._drop(data, self._made)
        for buffer in list(self._touched.values()):
            try:
                self._give_back([buffer])
            except Exception as error:
                assert buffer.memory is not None
                buffer.memory.free(buffer, f"{self.name} failed, and then the copy back: {error}")
        self._forget(data)

    def _forget(self, data: Data) -> None:
        self._made, self._ending, self._seen, self._is_running = [], {}, [], False
        for ob in data.obs:
            ob.detdata.planned.clear()
