"""What operators work on: observations with the data of their detectors, and what all observations share.

Sizes: `D` detectors, `S` samples, `V` intervals. Keys are names in one of five kinds (`KINDS`): an operator names which it
requires and which it provides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any

import numpy as np

from .comm import Comm
from .memory import NO_KEY, Buffer, buffers_of, here

KINDS = ("global", "meta", "detdata", "shared", "intervals")
INTERVAL = np.dtype([("start", "f8"), ("stop", "f8"), ("first", "i8"), ("last", "i8")])


class DetData(Buffer):
    """Samples of detectors: an array (D, S) or (D, S, k), one row a detector, with units.

    A copy on a device may have fewer rows: those of the detectors that are worked on.
    """

    def __init__(self, detectors: Sequence[str], shape: Sequence[int], dtype: Any = np.float64, units: str = "K") -> None:
        super().__init__((len(detectors), *shape), dtype)
        self.units = units
        self.detectors = list(detectors)
        self._row = {name: row for row, name in enumerate(self.detectors)}

    def __contains__(self, detector: str) -> bool:
        return detector in self._row

    def __getitem__(self, detector: str) -> np.ndarray:
        """The samples of a detector (S[, k]), where the running operator is; KeyError if it has none there."""
        return self.data[int(self.indices([detector])[0])]

    def __setitem__(self, detector: str, values: Any) -> None:
        self.data[int(self.indices([detector])[0])] = values

    def indices(self, detectors: Iterable[str]) -> np.ndarray:
        """The rows of detectors in `data`, where the running operator is: int32 (D,)."""
        try:
            rows = np.array([self._row[name] for name in detectors], np.int32)
        except KeyError as error:
            raise KeyError(f"{self.label} has no detector {error.args[0]!r}") from None
        if here().memory is None or self._runs is None:
            return rows
        there = np.concatenate([np.arange(start, stop) for start, stop in self._runs] or [np.zeros(0, int)])
        places = np.searchsorted(there, rows)
        if len(rows) and (places == len(there)).any() or (there[places] != rows).any():
            raise KeyError(f"{self.label} on {self.memory} lacks rows of {list(detectors)}")
        return places.astype(np.int32)

    def rows_on_device(self, detectors: Sequence[str] | None) -> list[tuple[int, int]] | None:
        if detectors is None or len(rows := sorted({self._row[name] for name in detectors if name in self._row})) == len(self.detectors):
            return None
        ends = [i for i, row in enumerate(rows) if i + 1 == len(rows) or rows[i + 1] != row + 1]
        return [(rows[first], rows[last] + 1) for first, last in zip([0, *(end + 1 for end in ends)], ends)]


class Store(MutableMapping):
    """Objects of one kind by name; arrays become a `Buffer`, which knows its key."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._items:
            raise KeyError(f"there is no {self.kind} {name!r}, only {', '.join(map(repr, self._items)) or 'nothing'}")
        return self._items[name]

    def __setitem__(self, name: str, value: Any) -> None:
        item = Buffer(values=value) if isinstance(value, np.ndarray) else value
        buffers = buffers_of(item)
        for buffer in buffers:
            if buffer.key not in (NO_KEY, (self.kind, name)):
                raise ValueError(f"{self.kind} {name!r} would be the array that {buffer.label} is: give it a copy")
        if name in self._items:
            self._release(name, buffers)
        for buffer in buffers:
            buffer.key = (self.kind, name)
        self._items[name] = item

    def __delitem__(self, name: str) -> None:
        self._release(name)
        del self._items[name]

    def _release(self, name: str, but: Sequence[Buffer] = ()) -> None:
        """Frees copies on devices of what is no longer here."""
        for buffer in buffers_of(self._items[name]):
            if all(buffer is not other for other in but):
                if buffer.memory is not None:
                    buffer.memory.free(buffer, f"{buffer.label} was removed, and its copy freed on the device")
                buffer.key = NO_KEY

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items


class DetDataStore(Store):
    """The detector data of an observation, by name: `signal`, `flags`, `quats`, `pixels`, `weights`, ..."""

    def __init__(self, detectors: list[str], n_samples: int) -> None:
        super().__init__("detdata")
        self.detectors, self.n_samples = detectors, n_samples
        self.planned: dict[str, list[str]] = {}
        """Rows that new data gets besides those asked for: the pipeline's, of what survives several detector sets."""

    def ensure(
        self, name: str, shape: Sequence[int] = (), dtype: Any = np.float64, units: str = "K", detectors: Iterable[str] | None = None
    ) -> DetData:
        """Detector data with rows for these detectors (all, if None): what is there, or new and zero.

        `shape` is that of one sample: () or (k,). Data of another shape or dtype of that name is a ValueError.
        """
        asked = None if detectors is None else set(detectors)
        wanted = [d for d in self.detectors if asked is None or d in asked]
        found = self._items.get(name)
        if found is not None:
            if found.shape[1:] != (self.n_samples, *shape) or found.dtype != np.dtype(dtype):
                raise ValueError(f"detdata {name!r} is {found.dtype}{found.shape[2:]} a sample, not {np.dtype(dtype)}{tuple(shape)}")
            if all(detector in found for detector in wanted):
                return found
        rows = {*wanted, *self.planned.get(name, ()), *(found.detectors if found is not None else ())}
        made = DetData([d for d in self.detectors if d in rows], (self.n_samples, *shape), dtype, units)
        if found is not None:
            held = found.to_host()
            made._host = np.zeros(made.shape, made.dtype)
            made._host[[made._row[d] for d in found.detectors]] = held
            made.host_valid = True
            del self[name]
        self[name] = made
        return made

    def __setitem__(self, name: str, value: Any) -> None:
        """Takes a `DetData`, or an array (D, S[, k]) with a row for each detector."""
        if not isinstance(value, DetData):
            values = np.ascontiguousarray(value)
            if values.shape[:2] != (len(self.detectors), self.n_samples):
                own = f"({len(self.detectors)}, {self.n_samples})"
                raise ValueError(f"detdata {name!r} has rows and samples {own}, not {values.shape[:2]}")
            value = DetData(self.detectors, values.shape[1:], values.dtype)
            value._host, value.host_valid = values, True
        super().__setitem__(name, value)


class SharedStore(Store):
    """What all detectors of an observation share, by name: `times` (S,), `boresight` (S, 4), `flags` uint8 (S,), ..."""

    def __init__(self) -> None:
        super().__init__("shared")


class Intervals:
    """Sorted, disjoint runs of samples `0 <= first <= s < last`: `data`, which kernels are given, is a record array (V,) of `INTERVAL`.

    With the `times` of the samples, float64 (S,), it has those of the first and last sample of each.
    """

    def __init__(self, first: Any, last: Any, times: np.ndarray | None = None) -> None:
        self.data = np.zeros(len(first), INTERVAL).view(np.recarray)
        if len(first) and not all(np.issubdtype(np.asarray(ends).dtype, np.integer) for ends in (first, last)):
            raise TypeError("the ends of intervals are numbers of samples, integers")
        self.data["first"], self.data["last"] = first, last
        runs = self.data
        if (runs["last"] < runs["first"]).any() or (runs["first"][1:] < runs["last"][:-1]).any() or (runs["first"] < 0).any():
            raise ValueError("intervals are sorted and disjoint, 0 <= first <= last")
        if times is not None and len(runs):
            if runs["last"].max() > len(times):
                raise ValueError(f"an interval ends at sample {runs['last'].max()}, but there are {len(times)} times")
            at = np.minimum(runs["first"], max(len(times) - 1, 0))  # an empty one at the end has the last time
            if len(times):
                runs["start"], runs["stop"] = times[at], times[np.maximum(runs["last"] - 1, at)]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[slice]:
        """The samples of each interval, as slices."""
        return (slice(int(first), int(last)) for first, last in zip(self.data["first"], self.data["last"]))


class IntervalStore(Store):
    """The lists of intervals of an observation, by name; None is one interval of all samples."""

    def __init__(self, n_samples: int) -> None:
        super().__init__("intervals")
        self._all = Intervals([0], [n_samples])

    def __getitem__(self, name: str | None) -> Intervals:
        return self._all if name is None else super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return name is None or super().__contains__(name)


class Observation:
    """Samples of detectors in a span of time.

    `detdata`, `shared`, `intervals` and `meta` hold its data by name; `detector_flags` the bits for which whole detectors
    are out; `uid` its number in the random streams.
    """

    def __init__(self, name: str, detectors: Sequence[str], n_samples: int, uid: int = 0) -> None:
        if len(set(detectors)) != len(detectors):
            raise ValueError("each detector has a name of its own")
        self.name, self.detectors, self.n_samples, self.uid = name, list(detectors), n_samples, uid
        self.detdata = DetDataStore(self.detectors, n_samples)
        self.shared = SharedStore()
        self.intervals = IntervalStore(n_samples)
        self.meta: dict[str, Any] = {}
        self.detector_flags: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<Observation {self.name}: {len(self.detectors)} detectors, {self.n_samples} samples>"

    def select(self, detectors: Sequence[str] | None = None, mask: int = 0) -> list[str]:
        """Its detectors, of those given, that are not out by `mask`."""
        wanted = None if detectors is None else set(detectors)
        return [d for d in self.detectors if (wanted is None or d in wanted) and not self.detector_flags.get(d, 0) & mask]

    def view(self, intervals: str | None, name: str) -> list[np.ndarray]:
        """The samples of each interval: of detector data (D, n[, k]), of shared data (n[, k]); on the host, without copies."""
        if name in self.detdata:
            return [self.detdata[name].data[:, part] for part in self.intervals[intervals]]
        return [self.shared[name].data[part] for part in self.intervals[intervals]]

    def store(self, kind: str) -> MutableMapping:
        return getattr(self, kind)


class Data:
    """Observations, each of a name of its own, and objects that belong to all of them: `data["map"]`, arrays as `Buffer`."""

    def __init__(self, observations: Iterable[Observation] = (), comm: Comm | None = None) -> None:
        self.obs = list(observations)
        self.comm = comm or Comm()
        self.objects = Store("global")
        self.check_names()

    def __getitem__(self, name: str) -> Any:
        return self.objects[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.objects[name] = value

    def __delitem__(self, name: str) -> None:
        del self.objects[name]

    def __contains__(self, name: object) -> bool:
        return name in self.objects

    def check_names(self) -> None:
        """ValueError where observations have the same name, which stands for one in layouts and checkpoints."""
        if twice := [name for name, count in Counter(ob.name for ob in self.obs).items() if count > 1]:
            raise ValueError(f"each observation has a name of its own, but {', '.join(map(repr, twice))}")

    def with_observations(self, observations: Iterable[Observation]) -> Data:
        """Data of some of the observations, with the same global objects."""
        part = Data(observations, self.comm)
        part.objects = self.objects
        return part

    def detectors(self, detectors: Sequence[str] | None = None, mask: int = 0) -> list[str]:
        """The detectors of all observations, each once, that are in use."""
        return list(dict.fromkeys(d for ob in self.obs for d in ob.select(detectors, mask)))

    def stores(self, kind: str) -> list[MutableMapping]:
        """Where the objects of a kind are: one container for "global", else one in each observation."""
        if kind not in KINDS:
            raise ValueError(f"the kinds of keys are {', '.join(KINDS)}, not {kind!r}")
        return [self.objects] if kind == "global" else [ob.store(kind) for ob in self.obs]

    def buffers(self, kind: str, name: str) -> list[Buffer]:
        """The arrays of a key in all observations that have it."""
        return [buffer for store in self.stores(kind) if name in store for buffer in buffers_of(store[name])]

    def remove(self, kind: str, name: str) -> None:
        """Removes an object wherever it is."""
        for store in self.stores(kind):
            if name in store:
                del store[name]


class PixelDistribution:
    """Which part of a sky of `n_pix` pixels this process keeps: submaps of `n_pix_submap` consecutive pixels.

    `submaps` are the numbers of those that it keeps, ascending; `global2local` int64 (n_submap,) has their rows, or -1.
    """

    def __init__(self, n_pix: int, n_pix_submap: int, submaps: Any = None) -> None:
        self.n_pix, self.n_pix_submap, self.n_submap = n_pix, n_pix_submap, -(-n_pix // n_pix_submap)
        self.submaps = np.arange(self.n_submap) if submaps is None else np.asarray(submaps, np.int64)
        if (np.diff(self.submaps) <= 0).any() or len(self.submaps) and not 0 <= self.submaps[0] <= self.submaps[-1] < self.n_submap:
            raise ValueError(f"submaps are ascending numbers below {self.n_submap}, not {self.submaps.tolist()}")
        table = np.full(self.n_submap, -1, np.int64)
        table[self.submaps] = np.arange(len(self.submaps))
        self.global2local = Buffer(values=table)

    @property
    def n_local(self) -> int:
        return len(self.submaps)

    def buffers(self) -> list[Buffer]:
        return [self.global2local]


class PixelMap(Buffer):
    """A map on the submaps of a distribution: (n_local, n_pix_submap, nnz), with units; a new one is zero."""

    def __init__(self, distribution: PixelDistribution, nnz: int = 1, dtype: Any = np.float64, units: str = "K", values: Any = None) -> None:
        shape = (distribution.n_local, distribution.n_pix_submap, nnz)
        if values is not None and np.shape(values) != shape:
            raise ValueError(f"the map has shape {shape}, not {np.shape(values)}")
        super().__init__(shape, dtype, values=values)
        self.distribution, self.units = distribution, units

    @classmethod
    def of_sky(cls, distribution: PixelDistribution, sky: np.ndarray, units: str = "K") -> PixelMap:
        """The local part of a whole sky (n_pix, nnz)."""
        whole = np.zeros((distribution.n_submap * distribution.n_pix_submap, sky.shape[1]), sky.dtype)
        whole[: len(sky)] = sky
        values = whole.reshape(distribution.n_submap, -1, sky.shape[1])[distribution.submaps]
        return cls(distribution, sky.shape[1], sky.dtype, units, values)

    def sky(self) -> np.ndarray:
        """The whole sky (n_pix, nnz), zero where this process keeps no submap."""
        own = self.distribution
        whole = np.zeros((own.n_submap, own.n_pix_submap, self.shape[2]), self.dtype)
        whole[own.submaps] = self.data
        return whole.reshape(-1, self.shape[2])[: own.n_pix]
