"""Operators one after the other, over sets of detectors, on the host or on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import field
from typing import Any

import ingot

from .data import Buffer, Data, buffers_of
from .operator import Key, Keys, Operator, as_keys, keys_of


class Flow:
    """What goes through operators that run one after the other.

    `required` are the keys that one requires and no earlier one provides, `provided` all that they provide. `handed_on` has
    what they make for each other alone - one requires it after the last one that provides it, and it is not in `keep` -,
    with the position of the last operator that requires it.
    """

    def __init__(self, operators: Sequence[Operator], keep: Sequence[str] = ()) -> None:
        made: dict[Key, int] = {}
        used: dict[Key, int] = {}
        required: list[Key] = []
        for place, op in enumerate(operators):
            read = keys_of(op.requires())
            required += [key for key in read if key not in made]
            used.update(dict.fromkeys(read, place))
            made.update(dict.fromkeys(keys_of(op.provides()), place))
        self.required, self.provided, before = as_keys(required), list(made), set(required)
        self.handed_on = {k: used[k] for k, at in made.items() if used.get(k, -1) > at and k not in before and k[1] not in keep}


class Pipeline(Operator):
    """Runs operators in their order.

    With a device, what they require is copied there once, what they make stays there from one to the next, and `finalize`
    copies back once what they have changed. Operators that are not `on_device` run on the host in between. Keys that they only
    pass on to each other, and that were not there before, end with the pipeline, unless they are in `keep`.
    """

    operators: Sequence[Operator] = field(default=(), kw_only=False)
    detector_sets: str | list[list[str]] = "ALL"
    """"ALL": each operator has all detectors in a call; "SINGLE": the detectors one by one; or lists of detectors."""
    device: ingot.Device | str | None = None
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._made: dict[tuple[int, str], tuple[MutableMapping, Key]] = {}  # what is new, and where
        self._moved: dict[int, Buffer] = {}

    def steps(self) -> list[Operator]:
        """The operators, those of pipelines without options of their own among them."""
        return [step for op in self.operators for step in (op.steps() if isinstance(op, Pipeline) and op.is_plain else [op])]

    @property
    def is_plain(self) -> bool:
        """Whether all options have their defaults."""
        return self.detector_sets == "ALL" and self.device is None and not self.keep

    def requires(self) -> Keys:
        """What an operator requires and no earlier one provides."""
        return Flow(self.steps()).required

    def provides(self) -> Keys:
        """What survives of what the operators provide."""
        flow = Flow(self.steps(), self.keep)
        return as_keys(key for key in flow.provided if key not in flow.handed_on)

    @property
    def whole_detectors(self) -> bool:  # type: ignore[override]
        """Whether it needs all detectors in a call: one of its operators does, or passes a sum over them on to another."""
        return bool(self._why_whole())

    def _why_whole(self) -> str:
        """Why its detectors cannot be worked on in parts; empty if they can."""
        steps = self.steps()
        if needs := [op.name for op in steps if op.whole_detectors]:
            return f"{needs[0]} needs all detectors in a call"
        for one in steps:
            changed = {key for key in keys_of(one.provides()) if key[0] == "global"}
            for other in steps:
                at_the_end = type(other)._exec is Operator._exec and not isinstance(other, Pipeline)
                if other is not one and not at_the_end and (both := changed & set(keys_of(other.requires()))):
                    return f"{one.name} changes global {min(both)[1]!r}, which {other.name} uses: give each a pipeline"
        return ""

    def _check(self, data: Data) -> None:
        masks = {op.name: op.det_mask for op in self.steps() if hasattr(op, "det_mask")}
        if len(set(masks.values())) > 1:
            raise ValueError(f"the operators of a pipeline leave out the same detectors, but their det_mask differs: {masks}")
        super()._check(data)

    def _sets(self, data: Data, detectors: Sequence[str] | None) -> list[list[str]]:
        chosen = data.detectors(detectors)
        if isinstance(self.detector_sets, str):
            if self.detector_sets not in ("ALL", "SINGLE"):
                raise ValueError(f"sets of detectors are 'ALL', 'SINGLE' or lists, not {self.detector_sets!r}")
            return [chosen] if self.detector_sets == "ALL" else [[d] for d in chosen] or [[]]
        if twice := [d for d, count in Counter(d for part in self.detector_sets for d in part).items() if count > 1]:
            raise ValueError(f"each detector is in one set, but {', '.join(twice)}")
        return [part for part in ([d for d in given if d in set(chosen)] for given in self.detector_sets) if part] or [[]]

    def exec(self, data: Data, detectors: Sequence[str] | None = None) -> None:
        """Runs the operators on these detectors (all, if None)."""
        with self._or_abandon(data), ingot.profile(self.name):
            self._check(data)
            sets, flow = self._sets(data, detectors), Flow(self.steps(), self.keep)
            if len(sets) > 1 and (why := self._why_whole()):
                raise ValueError(f"{self.name} cannot work on {len(sets)} sets of detectors one after the other: {why}")
            for key in flow.provided:
                for store in data.stores(key[0]):
                    if key[1] not in store:
                        self._made.setdefault((id(store), key[1]), (store, key))
            for part in sets:
                self._run_set(data, part, [d for each in sets for d in each], flow)

    def _run_set(self, data: Data, detectors: list[str], of_all_sets: list[str], flow: Flow) -> None:
        device = None if self.device is None else ingot.device(self.device)
        for place, op in enumerate(self.steps()):
            op._check(data)
            survives = any(key not in flow.handed_on for key in keys_of(op.provides()))  # then it has rows for all sets at once
            op._create(data, of_all_sets if survives else detectors)
            if isinstance(op, Pipeline):
                op.exec(data, detectors)
            else:
                for key, buffer in op.buffers(data):
                    if buffer.place(device if op.on_device else None, key in flow.provided) and buffer.is_there:
                        self._moved[id(buffer)] = buffer
                op._run(data, detectors)
            self._drop(key for key, last in flow.handed_on.items() if last == place and key[0] == "detdata")

    def finalize(self, data: Data) -> Any:
        """Brings back what has changed, and ends the operators; gives the result of the last one."""
        with self._or_abandon(data), ingot.profile(self.name):
            self._bring_back()
            result = None
            for op in self.steps():
                result = op.finalize(data)
            self._drop(Flow(self.steps(), self.keep).handed_on)
            self._made.clear()
            return result

    def _bring_back(self) -> None:
        moved, self._moved, failed = self._moved, {}, None
        for buffer in moved.values():
            try:
                buffer.place(None)
            except Exception as error:  # the others come back all the same
                failed = failed or error
        if failed is not None:
            raise failed

    def _drop(self, keys: Iterable[Key]) -> None:
        """Removes what was not there before."""
        wanted = set(keys)
        for store, key in self._made.values():
            if key in wanted and key[1] in store:
                for buffer in buffers_of(store[key[1]]):
                    self._moved.pop(id(buffer), None)
                del store[key[1]]

    def _abandon(self, data: Data) -> None:
        """Removes what is new, and brings back the rest as it is."""
        for op in self.steps():
            op._abandon(data)
        self._drop([key for _, key in self._made.values()])
        self._made.clear()
        self._bring_back()
