"""Operators: the steps of a workflow, with options that are checked, and the keys that they require and provide."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import ingot
import numpy as np

from . import dispatch
from .data import KINDS, Data, Observation
from .memory import Buffer, Key, Place, here

Keys = dict[str, list[str]]
"""Names of objects in the kinds `global`, `meta`, `detdata`, `shared`, `intervals`."""


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


_traits: dict[type, dict[str, Any]] = {}


def traits_of(cls: type) -> dict[str, Any]:
    """The options of an operator: its annotated attributes, with their types."""
    if cls not in _traits:
        hints = typing.get_type_hints(cls)
        _traits[cls] = {name: hint for name, hint in hints.items() if not name.startswith("_") and typing.get_origin(hint) is not ClassVar}
    return _traits[cls]


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; ints are floats, and NumPy's numbers are numbers, but a bool is no int."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if origin is tuple and isinstance(value, tuple):
        inner = [parts[0]] * len(value) if parts[1:] == (...,) else parts
        return len(inner) == len(value) and all(map(fits, value, inner))
    if origin is list:
        return isinstance(value, list) and all(fits(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(key, parts[0]) and fits(item, parts[1]) for key, item in value.items())
    if hint in (int, float):
        numbers = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return value is None if hint in (None, type(None)) else isinstance(value, origin or hint)


class Operator:
    """A step that works on `Data`.

    A subclass has annotated attributes with defaults, its options ("traits"), and

    - `requires()` and `provides()`: the names of the objects that it reads, and that it makes or changes; what it changes
      in place is in both;
    - `supports_accel()`: whether it works on arrays of a device as well, as one does that gives them to compiled functions;
    - `_exec(data, detectors)`: the work, for these detectors; called any number of times; one with a `_finalize` may have none;
    - `_create(data, detectors)`, if it makes objects: makes them, zero, before `_exec`;
    - `_finalize(data)`, if something is to be done once at the end, on the host;
    - `_abandon(data)`, if it remembers anything from one `exec` to the next: forgets it, where one raised; called any number of times;
    - `whole_detectors = True`, if a call needs all detectors, as a solver does: pipelines do not split them then.

    In `_exec`, `.data` of an object is an array where the operator runs, read-only if it is not provided.
    """

    name: str = ""
    whole_detectors: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        for name in traits_of(type(self)):
            if isinstance(default := getattr(type(self), name, None), (list, dict)):
                self.__dict__[name] = default.copy()
        for name, value in options.items():
            setattr(self, name, value)
        self.name = self.name or type(self).__name__

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            traits = traits_of(type(self))
            own = type(self).__name__
            if name not in traits:
                raise AttributeError(f"{own} has no option {name!r}; it has {', '.join(sorted(traits))}")
            if not fits(value, traits[name]):
                hint = traits[name]
                raise TypeError(f"{own}.{name} is {hint.__name__ if isinstance(hint, type) else hint}, not {value!r} ({type(value).__name__})")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in traits_of(type(self)))})"

    def requires(self) -> Keys:
        """The keys that must be there before."""
        return {}

    def provides(self) -> Keys:
        """The keys that are made or changed."""
        return {}

    def supports_accel(self) -> bool:
        """Whether arrays may be on a device."""
        return False

    def kernels(self) -> list[str]:
        """The registered kernels that it calls."""
        return []

    def exec(self, data: Data, detectors: Sequence[str] | None = None) -> None:
        """Works on these detectors (all, if None); KeyError if something required is not there."""
        with self._or_abandon(data):
            self._check(data)
            self._create(data, detectors)
            self._run(data, detectors, here().memory)

    def finalize(self, data: Data) -> Any:
        """Ends the work of all `exec` so far."""
        if type(self)._finalize is Operator._finalize:
            return None
        with self._or_abandon(data), Place(operator=self.name).entered(), ingot.profile(self.name):
            return self._finalize(data)

    def apply(self, data: Data, detectors: Sequence[str] | None = None) -> Any:
        """`exec`, then `finalize`, whose result it gives."""
        self.exec(data, detectors)
        return self.finalize(data)

    def missing(self, data: Data) -> list[Key]:
        """The required keys that some observation lacks."""
        return [(kind, name) for kind, name in keys_of(self.requires()) if any(name not in store for store in data.stores(kind))]

    def buffers(self, data: Data, keys: Iterable[Key] | None = None) -> list[Buffer]:
        """The arrays of the keys that it requires or provides, or of some keys."""
        wanted = keys_of(self.requires()) + keys_of(self.provides()) if keys is None else keys
        return list({id(b): b for kind, name in wanted for b in data.buffers(kind, name)}.values())

    def _check(self, data: Data) -> None:
        data.check_names()
        if missing := self.missing(data):
            raise KeyError(f"{self.name} requires {', '.join(f'{kind} {name!r}' for kind, name in missing)}, which some observation lacks")

    def _run(self, data: Data, detectors: Sequence[str] | None, memory: Any) -> None:
        reads, writes = frozenset(keys_of(self.requires())), frozenset(keys_of(self.provides()))
        with Place(memory, self.name, reads, writes).entered(), ingot.profile(self.name):
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


class Flow:
    """What goes through operators that run one after the other.

    `required` are the keys that one requires and no earlier one provides, `provided` all that they provide. `handed_on` has
    what they make for each other alone - one requires it after the last one that provides it, and it is not in `keep` -,
    with the position of the last operator that requires it.
    """

    def __init__(self, operators: Sequence[Operator], keep: Sequence[str] = ()) -> None:
        reads, writes = ([keys_of(getattr(op, name)()) for op in operators] for name in ("requires", "provides"))
        made: dict[Key, int] = {}
        used: dict[Key, int] = {}
        required: list[Key] = []
        for place, (read, written) in enumerate(zip(reads, writes)):
            required += [key for key in read if key not in made]
            used.update(dict.fromkeys(read, place))
            made.update(dict.fromkeys(written, place))
        self.required, self.provided = as_keys(required), list(made)
        before = set(required)
        self.handed_on = {k: used[k] for k, at in made.items() if used.get(k, -1) > at and k not in before and k[1] not in keep}


@dataclass(frozen=True)
class Argument:
    """What a kernel is given, for an observation and some of its detectors; the functions below make them."""

    kind: str
    value: Any

    def of(self, ob: Observation, detectors: Sequence[str]) -> Any:
        """The argument where the running operator is."""
        if self.kind == "rows":
            return NO_ROWS if self.value is None else ob.detdata[self.value].data
        if self.kind == "table":
            return np.full(len(detectors), -1, np.int32) if self.value is None else ob.detdata[self.value].indices(detectors)
        if self.kind == "shared":
            return self.value if isinstance(self.value, np.ndarray) else ob.shared[self.value].data
        if self.kind == "intervals":
            return ob.intervals[self.value].data
        return self.value.data if isinstance(self.value, Buffer) else self.value


NO_ROWS = np.zeros((1, 0), np.uint8)


def rows(name: str | None) -> Argument:
    """The array (rows, S[, k]) of detector data; without a name one that stands for no flags."""
    return Argument("rows", name)


def table(name: str | None) -> Argument:
    """The rows of the detectors there, int32 (D,); without a name -1."""
    return Argument("table", name)


def shared(name: str | None, dtype: Any = np.uint8) -> Argument:
    """A shared array (S[, k]); without a name an empty one of that dtype, which stands for no flags or no angles."""
    return Argument("shared", np.zeros(0, dtype) if name is None else name)


def each(values: Any) -> Argument:
    """An array with a value for each detector of the call, (D[, k])."""
    return Argument("each", np.ascontiguousarray(values))


def intervals(name: str | None) -> Argument:
    """A list of intervals: an array of records (V,), whose fields "first" and "last" are int64."""
    return Argument("intervals", name)


def whole(buffer: Buffer) -> Argument:
    """An array as it is, such as a map."""
    return Argument("whole", buffer)


class KernelOperator(Operator):
    """An operator that calls one kernel for each observation.

    A subclass names the kernel, by its name in the registry or as a compiled function, and what it is given: arguments
    made by `rows`, `table`, `shared`, `each`, `intervals`, `whole`, and plain numbers. Pipelines fuse it with others if it
    is `samplewise`.
    """

    kernel: ClassVar[str | Callable]
    samplewise: ClassVar[bool] = False
    """Whether each sample of each detector is treated for itself (but for sums into whole arrays): then it can be fused.
    Its arrays are parts of larger ones then, with any strides: what is written into is indexed, not reshaped.
    """
    view: str | None = None
    """The intervals that it works on; None: all samples."""
    det_mask: int = 0
    """Detectors with these flags are left out."""

    def keys(self, given: Mapping[str, Sequence[str | None]]) -> Keys:
        """Keys, with those of the intervals that it works on; None among the names is left out."""
        return {kind: [name for name in names if name is not None] for kind, names in {**given, "intervals": [self.view]}.items()}

    def ensure(
        self, data: Data, detectors: Sequence[str] | None, name: str, shape: Sequence[int] = (), dtype: Any = np.float64, units: str = "K"
    ) -> None:
        """Makes detector data with a row for each detector in use, where it is not there."""
        for ob in data.obs:
            ob.detdata.ensure(name, shape, dtype, units, ob.select(detectors, self.det_mask))

    def arguments(self, data: Data, ob: Observation, detectors: list[str]) -> list[Any]:
        """What the kernel is given, in its order."""
        raise NotImplementedError(f"{type(self).__name__} has no arguments()")

    def supports_accel(self) -> bool:
        return True

    def kernels(self) -> list[str]:
        return [self.kernel] if isinstance(self.kernel, str) else []

    def calls(self, data: Data, detectors: Sequence[str] | None) -> Iterable[tuple[Observation, list[str], list[Any]]]:
        """The observations with detectors in use, these, and the kernel's arguments."""
        for ob in data.obs:
            if chosen := ob.select(detectors, self.det_mask):
                yield ob, chosen, self.arguments(data, ob, chosen)

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        for ob, chosen, arguments in self.calls(data, detectors):
            values = [a.of(ob, chosen) if isinstance(a, Argument) else a for a in arguments]
            if names := self.kernels():
                dispatch.call(names[0], *values)
            else:
                ingot.profile(self._own_kernel(), implementation="python")(*values)  # a compiled one has a row of its own

    def _own_kernel(self) -> Callable:
        kernel = type(self).kernel
        assert callable(kernel)
        return kernel

    def plain_kernel(self) -> Callable:
        """The Python function of its kernel, below `ingot.jit`."""
        names = self.kernels()
        return inspect.unwrap(dispatch.implementation(names[0], "ingot") if names else self._own_kernel())
