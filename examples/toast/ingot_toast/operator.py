"""Operators: the steps of a workflow, dataclasses of options, with the keys that they require and provide."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

import ingot
import numpy as np

from .data import KINDS, Buffer, Data, Observation

Keys = dict[str, list[str]]
"""Names of objects in the kinds `global`, `meta`, `detdata`, `shared`, `intervals`."""
Key = tuple[str, str]


def keys_of(given: Keys) -> list[Key]:
    """The pairs of kind and name, each once."""
    for kind in given:
        if kind not in KINDS:
            raise ValueError(f"the kinds of keys are {', '.join(KINDS)}, not {kind!r}")
    return list(dict.fromkeys((kind, name) for kind, names in given.items() for name in names))


def as_keys(pairs: Iterable[Key]) -> Keys:
    """The reverse of `keys_of`."""
    found: Keys = {}
    for kind, name in dict.fromkeys(pairs):
        found.setdefault(kind, []).append(name)
    return found


@dataclass_transform(kw_only_default=True)
class Operator:
    """A step that works on `Data`.

    A subclass is a dataclass by itself: its annotated attributes are its options. It has

    - `requires()` and `provides()`: the names of the objects that it reads, and that it makes or changes; what it changes
      in place is in both;
    - `on_device = True`, if it works on arrays of a device as well, as one does that gives them to compiled functions;
    - `_exec(data, detectors)`: the work, for these detectors; called any number of times;
    - `_create(data, detectors)`, if it makes objects: makes them, zero, before `_exec`;
    - `_finalize(data)`, if something is to be done once at the end, on the host;
    - `_abandon(data)`, if it remembers anything from one `exec` to the next: forgets it, where one raised; called any number of times;
    - `whole_detectors = True`, if a call needs all detectors, as a solver does: pipelines do not split them then.
    """

    name: str = ""
    on_device: ClassVar[bool] = False
    whole_detectors: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False)(cls)

    def __post_init__(self) -> None:
        self.name = self.name or type(self).__name__

    def requires(self) -> Keys:
        """The keys that must be there before."""
        return {}

    def provides(self) -> Keys:
        """The keys that are made or changed."""
        return {}

    def exec(self, data: Data, detectors: Sequence[str] | None = None) -> None:
        """Works on these detectors (all, if None); KeyError if something required is not there."""
        with self._or_abandon(data):
            self._check(data)
            self._create(data, detectors)
            self._run(data, detectors)

    def finalize(self, data: Data) -> Any:
        """Ends the work of all `exec` so far."""
        if type(self)._finalize is Operator._finalize:
            return None
        with self._or_abandon(data), ingot.profile(self.name):
            return self._finalize(data)

    def apply(self, data: Data, detectors: Sequence[str] | None = None) -> Any:
        """`exec`, then `finalize`, whose result it gives."""
        self.exec(data, detectors)
        return self.finalize(data)

    def buffers(self, data: Data) -> list[tuple[Key, Buffer]]:
        """The arrays that it requires or provides, with their keys."""
        keys = dict.fromkeys(keys_of(self.requires()) + keys_of(self.provides()))
        return [(key, buffer) for key in keys for buffer in data.buffers(*key)]

    def _check(self, data: Data) -> None:
        data.check_names()
        missing = [f"{kind} {name!r}" for kind, name in keys_of(self.requires()) if any(name not in store for store in data.stores(kind))]
        if missing:
            raise KeyError(f"{self.name} requires {', '.join(missing)}, which some observation lacks")

    def _run(self, data: Data, detectors: Sequence[str] | None) -> None:
        with ingot.profile(self.name):
            self._exec(data, detectors)

    @contextlib.contextmanager
    def _or_abandon(self, data: Data) -> Iterator[None]:
        """Where something inside raises, what was begun is abandoned."""
        try:
            yield
        except BaseException:
            self._abandon(data)
            raise

    def _create(self, data: Data, detectors: Sequence[str] | None) -> None:
        pass

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        if type(self)._finalize is Operator._finalize:
            raise NotImplementedError(f"{type(self).__name__} has no _exec")

    def _finalize(self, data: Data) -> Any:
        return None

    def _abandon(self, data: Data) -> None:
        pass


dataclass(kw_only=True, eq=False)(Operator)


class KernelOperator(Operator):
    """An operator that calls its `kernel`, a compiled function, for each observation, with what `arguments()` gives."""

    kernel: ClassVar[Callable[..., None]]
    on_device = True
    view: str | None = None
    """The intervals that it works on; None: all samples."""
    det_mask: int = 0
    """Detectors with these flags are left out."""

    def keys(self, given: Mapping[str, Sequence[str | None]]) -> Keys:
        """Keys, with the intervals that it works on; None among the names is left out."""
        return {kind: [name for name in names if name is not None] for kind, names in {**given, "intervals": [self.view]}.items()}

    def ensure(self, data: Data, detectors: Sequence[str] | None, name: str, shape: Sequence[int] = (), dtype: Any = np.float64, units: str = "K") -> None:
        """Makes detector data with a row for each detector in use, where it is not there."""
        for ob in data.obs:
            ob.detdata.ensure(name, shape, dtype, units, ob.select(detectors, self.det_mask))

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> Sequence[Any]:
        """What the kernel is given for some detectors of an observation."""
        raise NotImplementedError(f"{type(self).__name__} has no arguments()")

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        for ob in data.obs:
            if chosen := ob.select(detectors, self.det_mask):
                arguments = self.arguments(data, ob, chosen)
                type(self).kernel(*arguments)
