"""`@ingot.guvectorize`: a function of small arrays, applied over all leading axes of larger ones."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._function import Function
from ._jit import relaxations
from ._environment import is_disabled
from ._parameters import checked_keywords, not_a_function, parameters_of
from ._profile import uncounted
from ._signature import Signature, parse_signatures
from ._vectorize import TARGETS


def parse_layout(layout: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Reads `(n),(n)->(n)`: the core axes of each input and of each output. Without `->` all are inputs."""
    text = layout.replace(" ", "")
    if not re.fullmatch(r"(\([\w,]*\),?)+(->(\([\w,]*\),?)+)?", text):
        raise ValueError(f"cannot read the layout {layout!r}")
    given, _, made = text.partition("->")

    def groups(part: str) -> list[tuple[str, ...]]:
        return [tuple(a for a in g.split(",") if a) for g in re.findall(r"\(([\w,]*)\)", part)]

    return groups(given), groups(made)


class GUFunction:
    """A compiled core, and the loops over it. Outputs named in the layout are made where they are not given."""

    def __init__(
        self,
        function: types.FunctionType,
        signatures: list[Signature],
        layout: str,
        relaxed: tuple[str, ...] = (),
        is_stored: bool = True,
    ) -> None:
        functools.update_wrapper(self, function)
        self.signatures = signatures
        self._relaxed = relaxed
        self.inputs, self.outputs = parse_layout(layout)
        for signature in signatures:
            if len(signature.parameters) != len(self.inputs) + len(self.outputs):
                raise TypeError(f"the layout {layout!r} and the signature {signature} differ in length")
        parameters = parameters_of(function)
        count = len(self.inputs) + len(self.outputs)
        if parameters.positional < count and not parameters.has_rest:
            raise TypeError(f"the layout {layout!r} has {count} arguments, `{function.__name__}` {parameters.positional}")
        self._core: Callable = function
        if not is_disabled():
            self._core = core = Function(function, relaxed=relaxed)
            core._is_stored = is_stored

    def __repr__(self) -> str:
        return f"<ingot.guvectorize function {self.__module__}.{self.__qualname__}>"

    def __call__(self, *args: Any) -> Any:
        if len(args) not in (len(self.inputs), len(self.inputs) + len(self.outputs)):
            raise TypeError(f"{self.__name__}() takes {len(self.inputs)} arguments, {len(args)} given")
        signature = self._signature_of(args)
        arrays = [
            np.asarray(a, t.dtype) if i < len(self.inputs) and not isinstance(a, np.ndarray) else a
            for i, (a, t) in enumerate(zip(args, signature.parameters))
        ]
        lengths: dict[str, int] = {}
        leading = [self._leading(a, core, lengths) for a, core in zip(arrays, self.inputs + self.outputs)]
        shape = np.broadcast_shapes(*leading[: len(self.inputs)])
        for core, kind in list(zip(self.outputs, signature.parameters[len(self.inputs) :]))[len(arrays) - len(self.inputs) :]:
            arrays.append(np.empty(shape + tuple(lengths[a] for a in core), kind.dtype))
        cores = self.inputs + self.outputs
        wide = [
            np.broadcast_to(a, shape + a.shape[a.ndim - len(c) :]) if a.shape[: a.ndim - len(c)] != shape else a
            for a, c in zip(arrays, cores)
        ]
        for index in np.ndindex(shape):
            self._core(*(self._piece(a, index, t) for a, t in zip(wide, signature.parameters)))
        made = arrays[len(self.inputs) :]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    @staticmethod
    def _piece(array: np.ndarray, index: tuple, kind: Any) -> Any:
        part = array[(*index, ...)]  # a view, without axes too: the core may write into it
        if kind.ndim is None:
            return np.dtype(kind.dtype).type(part[()])
        return part.reshape(1) if part.ndim == 0 else part

    @staticmethod
    def _leading(array: np.ndarray, core: tuple[str, ...], lengths: dict[str, int]) -> tuple[int, ...]:
        if array.ndim < len(core):
            raise ValueError(f"an argument has {array.ndim} axes where the layout wants at least {len(core)}")
        for axis, length in zip(core, array.shape[array.ndim - len(core) :]):
            if lengths.setdefault(axis, length) != length:
                raise ValueError(f"the axis {axis} has lengths {lengths[axis]} and {length}")
        return array.shape[: array.ndim - len(core)]

    def _signature_of(self, args: tuple) -> Signature:
        for signature in self.signatures:
            if all(
                not isinstance(a, (np.ndarray, np.generic)) or a.dtype == np.dtype(t.dtype)
                for a, t in zip(args, signature.parameters)
            ):
                return signature
        listed = "\n".join(f"  {s}" for s in self.signatures)
        raise TypeError(f"no signature of `{self.__name__}` takes these dtypes; there are\n{listed}")


@checked_keywords
def guvectorize(
    signatures: Any,
    layout: str,
    *,
    target: str = "cpu",
    fastmath: bool | str | Iterable[str] = False,
    cache: bool = True,
    nopython: bool = True,
) -> Callable[[Callable], GUFunction]:
    """Compiles a function whose arrays have the axes of `layout`, and applies it over all axes before them.

    `signatures` are as of `jit`, without result type; `layout` is as `(m,n),(n)->(m)`, in NumPy's notation. A
    layout without `->` makes nothing: the function writes into its arguments. `target="cuda"`, or "gpu", runs calls on a
    device (docs/cuda.md). `fastmath` and `cache` are those of
    `jit`; `nopython` is there for programs written for Numba, and changes nothing. Raises TypeError for dtypes that no signature has, ValueError for axes of different lengths.
    """
    if target not in TARGETS:
        raise ValueError(f"guvectorize() has no target {target!r}")
    relaxed = relaxations(fastmath)
    kind = GUFunction
    if TARGETS[target] == "cuda":
        from ._vectorize_device import DeviceGUFunction

        kind = DeviceGUFunction

    def decorate(given: Any) -> GUFunction:
        function = uncounted(given)
        function = function.__ingot_function__ if isinstance(function, Function) else function
        if not isinstance(function, types.FunctionType):
            raise not_a_function("guvectorize", function)
        return kind(function, parse_signatures(signatures), layout, relaxed, cache)

    return decorate
