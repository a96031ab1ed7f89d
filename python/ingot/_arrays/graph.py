"""Graphs: what a function gives a device to do, captured once, and done again with one call of the driver."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _errors, _ingot
from .._calls.function import Function
from .._devices import default_device
from .._errors import UnsupportedError
from .array import Array

_MOST_CAPTURES = 8
_NUMBERS = (bool, int, float, complex, np.generic)
_CONSTANTS = (type(None), str, bytes, *_NUMBERS)


def _refuse(what: str, advice: str) -> UnsupportedError:
    return _errors.unsupported((), f"{what} in a graph", advice)


def _flatten(value: Any, leaf: Callable[[Any], Any], containers: list[Any]) -> Any:
    """What a structure is made of, as `_unflatten` takes it, with `leaf(x)` for what is no container."""
    kind = type(value)
    if kind in (tuple, list) or isinstance(value, tuple) and hasattr(value, "_fields"):
        containers.append(value)
        return (kind, tuple(_flatten(item, leaf, containers) for item in value))
    if kind is dict:
        containers.append(value)
        return (dict, tuple((key, _flatten(item, leaf, containers)) for key, item in value.items()))
    return (None, leaf(value))


def _unflatten(shape: Any, made: Callable[[Any], Any]) -> Any:
    kind, inside = shape
    if kind is None:
        return made(inside)
    if kind is dict:
        return {key: _unflatten(item, made) for key, item in inside}
    items = (_unflatten(item, made) for item in inside)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _check(function: Function, specialisation: Any, leaves: list[Any]) -> None:
    """Refuses what a graph of a compiled function cannot do."""
    what = advice = "pass arrays of a device: ingot.device_put(x)"
    if specialisation.device is None:
        what = "a function that does not run on a device"
    elif any(isinstance(leaf, np.ndarray) for leaf in leaves):
        what = "an array of NumPy's as an argument"
    elif specialisation.writes:
        what, advice = "changing a container of the caller's", "give the new values back"
    else:
        return
    raise _errors.unsupported((function._site(),), f"{what} in a graph", advice)


class _Leaves:
    """The arrays and numbers of arguments, in order, and all else of them: `shape`, a key."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> None:
        self.values: list[Any] = []
        self.shape = _flatten((args, kwargs), self._leaf, [])

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            raise _refuse("an array of NumPy's as an argument", "put it on the device before: ingot.device_put(x)")
        if isinstance(value, Array | np.generic) or type(value) in _NUMBERS:
            self.values.append(value)
            return ("leaf", len(self.values) - 1)
        if type(value) not in (type(None), str, bytes):
            advice = "pass arrays, numbers, strings and containers of them, or make the graph of a compiled function"
            raise _refuse(f"an argument of type {type(value).__name__}", advice)
        return ("value", value)

    def with_values(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[Any, Any]]:
        return _unflatten(self.shape, lambda leaf: values[leaf[1]] if leaf[0] == "leaf" else leaf[1])


class _Results:
    """What a function gives: its arrays, each once, and all else of it."""

    def __init__(self, value: Any, containers: list[Any]) -> None:
        self.arrays: list[Array] = []
        inside: list[Any] = []
        self.shape = _flatten(value, self._leaf, inside)
        if any(own is given for own in inside for given in containers):
            raise _refuse("giving a container of the caller's back", "give the arrays in it back")

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, Array):
            known = [i for i, array in enumerate(self.arrays) if array is value]
            if not known:
                self.arrays.append(value)
            return ("array", known[0] if known else len(self.arrays) - 1)
        if not isinstance(value, _CONSTANTS):
            raise _refuse(f"a result of type {type(value).__name__}", "give arrays of the device back")
        return ("value", value)


class _Capture:
    """A graph of a function for arguments of one kind, and what it gives."""

    def __init__(self, key: Any, graph: Any, shape: Any) -> None:
        self.key, self.graph, self.shape = key, graph, shape

    def replay(self, leaves: list[Any]) -> tuple[Any] | None:
        """The result; None: the graph is one for arguments of another kind."""
        arrays = self.graph.replay(leaves)
        if arrays is None:
            return None
        return (_unflatten(self.shape, lambda leaf: arrays[leaf[1]] if leaf[0] == "array" else leaf[1]),)


class Graph:
    """Launches that a function gives a device, recorded to be done again: what `ingot.graph` returns.

    Parameters
    ----------
    function : callable
        The function.
    args, kwargs
        Its arguments.

    Attributes
    ----------
    captures : int
        How many times the function has been captured.

    See Also
    --------
    ingot.graph : The function that makes it.

    Notes
    -----
    It is called as the function is. Arguments of other shapes, dtypes or strides, and other numbers, are captured again.
    """

    __module__ = "ingot"

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any]) -> None:
        self.captures: int = 0
        self._function, self._given = function, (args, kwargs)
        self._known: list[_Capture] = []
        self._lock = threading.RLock()
        with self._lock:
            self._capture(args, kwargs, *self._described(args, kwargs))

    def __repr__(self) -> str:
        return f"<ingot.graph of {getattr(self._function, '__qualname__', self._function)}>"

    @property
    def launches(self) -> int:
        """The number of launches of the capture used last."""
        return self._known[0].graph.launches

    @property
    def waits(self) -> int:
        """How many times a replay waits for the device, to see whether a launch has raised."""
        return self._known[0].graph.waits

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What a call of the function with these arguments gives; without any, with those that the graph was made with."""
        if not args and not kwargs:
            args, kwargs = self._given
        with self._lock:
            key, leaves, described = self._described(args, kwargs)
            for place, known in enumerate(self._known):
                if known.key is not key and known.key != key:
                    continue
                if (result := known.replay(leaves)) is not None:
                    if place:
                        self._known.insert(0, self._known.pop(place))
                    return result[0]
            result = self._capture(args, kwargs, key, leaves, described).replay(leaves)
            assert result is not None
            return result[0]

    def _described(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> tuple[Any, list[Any], _Leaves | None]:
        """What decides, besides arrays and numbers, what is captured; arrays and numbers; of plain functions, both."""
        function = self._function
        if not isinstance(function, Function):
            described = _Leaves(args, kwargs)
            return described.shape, described.values, described
        found = _ingot.prepared(function, args, kwargs)
        if found is not None:
            return *found, None
        specialisation, arguments = function._prepare(args, kwargs)
        return specialisation, arguments.leaves, None

    def _capture(self, args: tuple[Any, ...], kwargs: dict[Any, Any], key: Any, leaves: list[Any], described: _Leaves | None) -> _Capture:
        if isinstance(self._function, Function):
            _check(self._function, key, leaves)
        devices = {leaf.device for leaf in leaves if isinstance(leaf, Array)}
        if len(devices) > 1:
            raise ValueError(f"a graph of arrays on {' and '.join(sorted(map(repr, devices)))}: it is one device's")
        device = devices.pop() if devices else getattr(key, "device", None) or default_device()
        if device._handle is None:
            raise _refuse("the CPU", "name a device: with ingot.device('gpu'):")
        graph, shape = self._captured(device, args, kwargs, leaves, described)
        if graph.is_shared:
            gc.collect()
        if graph.is_shared:
            raise _refuse("keeping an array that the function has made", "give it back")
        graph.settle()
        self.captures += 1
        capture = _Capture(key, graph, shape)
        self._known.insert(0, capture)
        del self._known[_MOST_CAPTURES:]
        return capture

    def _captured(self, device: Any, args: tuple[Any, ...], kwargs: dict[Any, Any], leaves: list[Any], described: _Leaves | None) -> tuple[Any, Any]:
        containers: list[Any] = []
        recorder = _ingot.GraphRecorder(device._handle)
        try:
            if described is not None:
                leaves = recorder.stand_ins(leaves)
                args, kwargs = described.with_values(leaves)
            _flatten((args, kwargs), lambda leaf: None, containers)
            results = _Results(self._function(*args, **kwargs), containers)
            return recorder.finish(leaves, results.arrays), results.shape
        finally:
            recorder.close()


def graph(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Graph:
    """Capture what a call gives a device to do, without doing it.

    Parameters
    ----------
    function : callable
        A compiled function, or a Python function that calls such.
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Graph
        Called as the function is: ``g(*args)`` does the work, by one call of the driver where nothing in it may raise, and
        returns what the function would return.

    Raises
    ------
    UnsupportedError
        The host looks at values of the device between launches.

    Notes
    -----
    What the host does between launches is done once, when the function is captured.

    Examples
    --------
    >>> @ingot.jit
    ... def step(x):
    ...     x += 1
    >>> x = ingot.device_put(np.zeros(3), "emulated")
    >>> g = ingot.graph(step, x)
    >>> g(x)
    >>> x
    Array([1., 1., 1.], device=emulated:0)
    """
    return Graph(function, args, kwargs)
