"""What operators work on: observations with the data of their detectors, and what belongs to all of them.

D detectors, S samples, V intervals. Objects have names, of five kinds (`KINDS`): `data["map"]` is global, an observation has
`meta`, `detdata`, `shared` and `intervals`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import ingot
import numpy as np

from .comm import Comm
from .kernels import Flags, Samples, Sky, View

KINDS = ("global", "meta", "detdata", "shared", "intervals")


@ingot.jit
def clear(array):
    """All elements 0, where the array is."""
    array[...] = 0


class Buffer:
    """An array on the host or on a device. A new one is zero, and takes memory where it is first used."""

    def __init__(self, shape: Sequence[int] | int = (), dtype: Any = np.float64, *, values: Any = None) -> None:
        self._array: Any = None if values is None else np.ascontiguousarray(values)
        self._host: np.ndarray | None = None  # the memory of the host, while the array is on a device
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        self.shape: tuple[int, ...] = given if values is None else self._array.shape
        self.dtype = np.dtype(dtype) if values is None else self._array.dtype

    @property
    def data(self) -> Any:
        """The array where it is: NumPy's, or an `ingot.Array` while a pipeline works with it on a device."""
        if self._array is None:
            self._array = np.zeros(self.shape, self.dtype)
        return self._array

    @property
    def is_there(self) -> bool:
        """Whether it is on a device."""
        return isinstance(self._array, ingot.Array)

    def to_host(self) -> np.ndarray:
        """The values, to be read on the host."""
        return self.data.to_host() if self.is_there else self.data

    def place(self, device: ingot.Device | None, writable: bool = True) -> bool:
        """Moves it to a device, or back (None); whether it was not there. What is read-only there has not to be copied back."""
        if self.is_there and (device is None or self._array.device != device):
            array, host = self._array, self._host
            if host is None or array.flags.writeable:
                if host is None or not host.flags.writeable:
                    host = np.empty(self.shape, self.dtype)
                array.copy_to_host(host)  # where this raises, the array is still there
            self._array, self._host = host, None
            if device is None:
                return True
        if device is None:
            return False
        moves = not self.is_there
        if moves and self._array is None:
            with device:
                self._array = ingot.cuda.device_array(self.shape, self.dtype)
            clear(self._array)
        elif moves:
            self._host, self._array = self._array, ingot.device_put(self._array, device)
        if moves or writable:
            self._array.setflags(write=writable)
        return moves


def buffers_of(item: Any) -> list[Buffer]:
    """The arrays of an object: itself, those that its `buffers()` names, or none."""
    return [item] if isinstance(item, Buffer) else list(item.buffers()) if hasattr(item, "buffers") else []


class DetData(Buffer):
    """Samples of detectors: an array (D, S) or (D, S, k), a row for each, with units."""

    def __init__(self, detectors: Sequence[str], shape: Sequence[int], dtype: Any = np.float64, units: str = "K", values: Any = None) -> None:
        super().__init__((len(detectors), *shape), dtype, values=values)
        self.units, self.detectors = units, list(detectors)
        self._row = {name: row for row, name in enumerate(self.detectors)}

    def __contains__(self, detector: str) -> bool:
        return detector in self._row

    def __getitem__(self, detector: str) -> Any:
        return self.data[int(self.indices([detector])[0])]

    def __setitem__(self, detector: str, values: Any) -> None:
        self.data[int(self.indices([detector])[0])] = values

    def indices(self, detectors: Iterable[str]) -> np.ndarray:
        """The rows of detectors: int32 (D,)."""
        try:
            return np.array([self._row[name] for name in detectors], np.int32)
        except KeyError as error:
            raise KeyError(f"there are no samples of the detector {error.args[0]!r}, only of {', '.join(self.detectors) or 'none'}") from None


class Store(dict[Any, Any]):
    """Objects of one kind by name; arrays become a `Buffer`."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"there is no {self.kind} {name!r}, only {', '.join(map(repr, self)) or 'nothing'}")

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, Buffer(values=value) if isinstance(value, np.ndarray) else value)


class DetDataStore(Store):
    """The detector data of an observation: `signal`, `flags`, `quats`, `pixels`, `weights`, ..."""

    def __init__(self, detectors: list[str], n_samples: int) -> None:
        super().__init__("detdata")
        self.detectors, self.n_samples = detectors, n_samples

    def __setitem__(self, name: str, value: Any) -> None:
        """Takes a `DetData`, or an array (D, S[, k]) with a row for each detector."""
        if not isinstance(value, DetData):
            own, given = (len(self.detectors), self.n_samples), np.shape(value)[:2]
            if given != own:
                raise ValueError(f"detdata {name!r} has rows and samples {own}, not {given}")
            value = DetData(self.detectors, (), values=value)
        super().__setitem__(name, value)

    def ensure(self, name: str, shape: Sequence[int] = (), dtype: Any = np.float64, units: str = "K", detectors: Iterable[str] | None = None) -> DetData:
        """Detector data with rows for these detectors (all, if None): what is there, or new and zero.

        `shape` is that of one sample: () or (k,). Data of another shape or dtype of that name is a ValueError.
        """
        asked = set(self.detectors if detectors is None else detectors)
        found: DetData | None = self.get(name)
        if found is not None:
            if found.shape[1:] != (self.n_samples, *shape) or found.dtype != np.dtype(dtype):
                raise ValueError(f"detdata {name!r} is {found.dtype}{found.shape[2:]} a sample, not {np.dtype(dtype)}{tuple(shape)}")
            if all(detector in found for detector in asked.intersection(self.detectors)):
                return found
            asked.update(found.detectors)
        made = DetData([d for d in self.detectors if d in asked], (self.n_samples, *shape), dtype, units)
        if found is not None:
            made.data[made.indices(found.detectors)] = found.to_host()
        self[name] = made
        return made


@dataclass(frozen=True, eq=False)
class Intervals:
    """Sorted, disjoint runs of samples `0 <= first <= s < last`: int64 (V,) each."""

    first: Any
    last: Any

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            given = np.asarray(getattr(self, name))
            if given.size and not np.issubdtype(given.dtype, np.integer):
                raise TypeError("the ends of intervals are numbers of samples, integers")
            object.__setattr__(self, name, given.astype(np.int64))
        if (self.last < self.first).any() or (self.first[1:] < self.last[:-1]).any() or (self.first < 0).any():
            raise ValueError("intervals are sorted and disjoint, 0 <= first <= last")

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[slice]:
        """The samples of each interval, as slices."""
        return (slice(int(first), int(last)) for first, last in zip(self.first, self.last))


class Observation:
    """Samples of detectors in a span of time.

    `detdata`, `shared`, `intervals` and `meta` hold its data by name, `intervals[None]` is all samples; `detector_flags` has the bits
    for which whole detectors are out; `uid` is its number in the random streams.
    """

    def __init__(self, name: str, detectors: Sequence[str], n_samples: int, uid: int = 0) -> None:
        if len(set(detectors)) != len(detectors):
            raise ValueError("each detector has a name of its own")
        self.name, self.detectors, self.n_samples, self.uid = name, list(detectors), n_samples, uid
        self.detdata = DetDataStore(self.detectors, n_samples)
        self.shared, self.intervals = Store("shared"), Store("intervals")
        self.intervals[None] = Intervals([0], [n_samples])
        self.meta: dict[str, Any] = {}
        self.detector_flags: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<Observation {self.name}: {len(self.detectors)} detectors, {self.n_samples} samples>"

    def select(self, detectors: Sequence[str] | None = None, mask: int = 0) -> list[str]:
        """Its detectors, of those given, that are not out by `mask`."""
        wanted = None if detectors is None else set(detectors)
        return [d for d in self.detectors if (wanted is None or d in wanted) and not self.detector_flags.get(d, 0) & mask]

    # What kernels are given.

    def samples(self, name: str, detectors: Sequence[str]) -> Samples:
        """Detector data, with the rows of some detectors."""
        return Samples(self.detdata[name].data, self.detdata[name].indices(detectors))

    def flags(self, name: str | None, mask: int, detectors: Sequence[str]) -> Flags | None:
        """Flags of some detectors; without a name none."""
        return None if name is None else Flags(self.samples(name, detectors), mask)

    def view(self, intervals: str | None, flags: str | None = None, mask: int = 0) -> View:
        """Intervals, with the shared flags of that name."""
        own = self.intervals[intervals]
        return View(own.first, own.last, None if flags is None else self.shared[flags].data, mask)

    def store(self, kind: str) -> MutableMapping:
        return getattr(self, kind)


class Data:
    """Observations, each of a name of its own, and objects that belong to all of them: `data["map"]`."""

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
            store.pop(name, None)


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
    """A map on the submaps of a distribution: (n_local, n_pix_submap, nnz), with units."""

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

    def local(self) -> Sky:
        """The map as kernels are given it."""
        return Sky(self.data, self.distribution.global2local.data)

    def sky(self) -> np.ndarray:
        """The whole sky (n_pix, nnz), zero where this process keeps no submap."""
        own = self.distribution
        whole = np.zeros((own.n_submap, own.n_pix_submap, self.shape[2]), self.dtype)
        whole[own.submaps] = self.to_host()
        return whole.reshape(-1, self.shape[2])[: own.n_pix]
