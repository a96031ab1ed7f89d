"""`@ingot.guvectorize`: a function of small arrays as a generalised ufunc of NumPy's, whose loops are compiled code.

A layout with outputs makes a ufunc: NumPy broadcasts the leading axes, converts inputs, copies those that share memory with
outputs, and has `out=`, `axis=` and the like. A layout without `->` makes nothing: the function writes into its arguments,
which are iterated over their leading axes in compiled code.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _ingot
from .._cache.entries import do_agree
from .._calls.function import Function
from .._calls.portable import Portable, is_pickled_by_name
from .._calls.specialisation import Specialisation
from .._environment import is_disabled
from .._routines.ufuncs import remember
from .._signatures import DTYPES, Signature, Type
from .._signatures.parameters import parameters_of
from . import MOST_OPERANDS, Loop, make_full

Core = tuple[str, ...]
"""The core axes of an operand: names, or lengths as digits."""

_LENGTH = 16  # of core axes of stand-ins; no short length (`kLongestShort`)
MOST_AXES = 5  # of an operand's core


def parse_layout(layout: str) -> tuple[list[Core], list[Core]]:
    """Reads `(n),(n)->(n)`: the core axes of each input and of each output. Without `->` all are inputs."""
    text = layout.replace(" ", "")
    if not re.fullmatch(r"(\([\w,]*\),?)+(->(\([\w,]*\),?)+)?", text):
        raise ValueError(f"cannot read the layout {layout!r}")
    given, _, made = text.partition("->")

    def groups(part: str) -> list[Core]:
        return [tuple(a for a in g.split(",") if a) for g in re.findall(r"\(([\w,]*)\)", part)]

    return groups(given), groups(made)


def _text_of(inputs: list[Core], outputs: list[Core]) -> str:
    """A layout in NumPy's notation."""
    return "->".join(",".join(f"({','.join(core)})" for core in cores) for cores in (inputs, outputs) if cores)


def _is_same_view(x: np.ndarray, y: np.ndarray) -> bool:
    return x is y or (x.ctypes.data, x.shape, x.strides) == (y.ctypes.data, y.shape, y.strides)


class Lowered:
    """A core for operands of some dtypes, and what shows that it is out of date."""

    def __init__(self, function: Function, operands: list[Any]) -> None:
        self.specialisation, arguments = function._specialise(function._describe(operands), operands)
        self.closed = len(arguments.leaves) == len(operands) and not function._demanded()


class CoreLoop(_ingot.GufuncLoop):
    """The loop of a generalised ufunc for operands of some dtypes: code for each layout of theirs that has been needed.

    It is lowered when it is first run.
    """

    exception = staticmethod(Loop.exception)
    shown = staticmethod(Loop.shown)

    def __init__(self, made: GUFunction, types: tuple[Type, ...], lowered: Lowered | None = None) -> None:
        self.made = made
        self.types = types
        self.lowered = lowered
        self.lengths = list(dict.fromkeys(axis for core in made.cores for axis in core))
        self._kernels: dict[tuple[bool, ...], Any] = {}
        cores = [None if t.ndim is None else [self.lengths.index(axis) for axis in core] for t, core in zip(types, made.cores)]
        dtypes = tuple(np.dtype(t.dtype) for t in types)
        specialisation = None if lowered is None else lowered.specialisation
        super().__init__(dtypes, len(made.inputs), specialisation, lowered is not None and lowered.closed, tuple(cores))

    def renewed(self) -> CoreLoop:
        """The loop for what the function reads outside now."""
        core = self.made._core
        if not isinstance(core, Function):
            return self
        lowered = Lowered(core, [self._stand_in(i, "N", 0) for i in range(len(self.types))])
        if self.lowered is not None and (lowered.specialisation, lowered.closed) == (self.lowered.specialisation, self.lowered.closed):
            return self
        return CoreLoop(self.made, self.types, lowered)

    def compile(self, layouts: str, ones: int) -> Specialisation | None:
        """Code for operands of this layout, where these lengths of core axes are 1; None: Python makes such calls."""
        kernel = self._kernel(layouts)
        if not isinstance(kernel, Function) or kernel._mode != "compiled" or self.lowered is None or not self.lowered.closed:
            return None
        operands = [self._stand_in(i, kind, ones) for i, kind in enumerate(layouts)]
        count = len(self.made.inputs)
        specialisation, arguments = kernel._prepare((tuple(operands[:count]), tuple(operands[count:])), {}, None, make_full)
        if len(arguments.leaves) != len(operands) or specialisation.hosts or specialisation.writes or kernel._demanded():
            return None
        specialisation.complete()
        if not do_agree(specialisation.guards, self.lowered.specialisation.guards):
            return None  # a thread has changed what the function reads outside since it was lowered
        return specialisation

    def run(self, inputs: tuple[np.ndarray, ...], outputs: tuple[np.ndarray, ...]) -> None:
        """A call that compiled code cannot make alone: it calls Python, or reads arrays outside."""
        for array in inputs:
            array.flags.writeable = False
        self._kernel("C" * len(inputs))(inputs, outputs)

    def _kernel(self, layouts: str) -> Any:
        same = tuple(kind == "N" for kind in layouts[: len(self.made.inputs)])
        if same not in self._kernels:
            from ..library import vectorized

            core = self.made._core
            if isinstance(core, Function):
                self._kernels[same] = self.made._compiled(vectorized.rows_of(core.__ingot_function__, same))
            else:
                self._kernels[same] = vectorized.rows_of(core, same)
        return self._kernels[same]

    def _stand_in(self, i: int, kind: str, ones: int) -> Any:
        """An operand of this layout; `N`: as it is in one iteration."""
        dtype, core = np.dtype(self.types[i].dtype), self.made.cores[i]
        if self.types[i].ndim is None:
            shape: tuple[int, ...] = ()
        else:
            shape = tuple(self._length(axis, ones) for axis in core) or (1,)
        if kind == "N" and not shape:
            return dtype.type(1)
        if kind != "N":
            shape = (_LENGTH, *shape)
        array = np.zeros((*shape, 2 if kind == "A" else 1), dtype)[..., 0]
        array.flags.writeable = i >= len(self.made.inputs)
        return array

    def _length(self, axis: str, ones: int) -> int:
        if axis.isdigit():
            return int(axis)
        return 1 if ones >> self.lengths.index(axis) & 1 else _LENGTH


class GUFunction:
    """A generalised ufunc of a compiled function: what `ingot.guvectorize` makes.

    Parameters
    ----------
    function : function
        The Python function.
    signatures, layout, relaxed, is_stored
        What `ingot.guvectorize` makes of its options.

    See Also
    --------
    ingot.guvectorize : The decorator that makes it.

    Examples
    --------
    >>> @ingot.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
    ... def dot(x, y, out):
    ...     out[0] = (x * y).sum()
    >>> dot(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    >>> dot.signature
    '(n),(n)->()'
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: types.FunctionType,
        signatures: list[Signature],
        layout: str,
        relaxed: tuple[str, ...] = (),
        is_stored: bool = True,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__ingot_function__ = function
        self.signatures = signatures
        self._layout = layout
        self._relaxed = relaxed
        self._is_stored = is_stored
        self.inputs, self.outputs = parse_layout(layout)
        self.cores = self.inputs + self.outputs
        for signature in signatures:
            self._check(signature)
        parameters = parameters_of(function)
        if parameters.positional < len(self.cores) and not parameters.has_rest:
            raise TypeError(f"the layout {layout!r} has {len(self.cores)} arguments, `{function.__name__}` {parameters.positional}")
        if len(self.cores) > MOST_OPERANDS:
            raise TypeError(f"the layout {layout!r} has more than {MOST_OPERANDS} arguments")
        if any(len(core) > MOST_AXES for core in self.cores):
            raise TypeError(f"the layout {layout!r} has an argument of more than {MOST_AXES} axes: join some of them, as `reshape` does")
        self._core: Callable[..., Any] = function
        if not is_disabled():
            self._core = self._compiled(function)
        kinds = tuple(tuple((t.dtype, t.ndim) for t in each.parameters) for each in signatures)
        self._plan = (function, tuple(self.inputs), tuple(self.outputs), kinds)  # what compiled code has instead of it
        self._loops: dict[tuple[Type, ...], CoreLoop] = {}
        self._iterators: dict[int, Any] = {}
        if self.outputs:
            self._make_ufunc()

    def _check(self, signature: Signature) -> None:
        if len(signature.parameters) != len(self.cores):
            raise TypeError(f"the layout {self._layout!r} and the signature {signature} differ in length")
        for number, (kind, core) in enumerate(zip(signature.parameters, self.cores)):
            is_output = number >= len(self.inputs) > 0 and bool(self.outputs)
            if kind.ndim is None and is_output:
                raise TypeError(f"an output is written into: {kind.dtype} in the signature {signature} is {kind.dtype}[:]")
            if kind.ndim is None and not core or kind.ndim == max(len(core), 1):
                continue
            axes = f"({','.join(core)})"
            raise TypeError(f"{kind} in the signature {signature} is {axes} in the layout {self._layout!r}: they differ in axes")

    def _compiled(self, function: Any) -> Function:
        mode = self._core._mode if isinstance(self._core, Function) else "compiled"
        made: Function = Function(function, mode=mode, relaxed=self._relaxed)
        made._is_stored = self._is_stored
        return made

    def _make_ufunc(self) -> None:
        doc = inspect.getdoc(self.__ingot_function__) or ""
        text = _text_of(self.inputs, self.outputs)
        self._table = _ingot.Ufunc(self.__name__, doc, len(self.inputs), len(self.outputs), None, None, text)
        self.ufunc = self._table.make()
        remember(self)
        for signature in self.signatures:
            self._add(signature.parameters)

    def _add(self, types: tuple[Type, ...]) -> None:
        if types not in self._loops:
            self._loops[types] = loop = CoreLoop(self, types)
            self._table.add(self.ufunc, loop)

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return len(self.inputs)

    @property
    def nout(self) -> int:
        """The number of outputs."""
        return len(self.outputs)

    @property
    def nargs(self) -> int:
        """The number of inputs and outputs."""
        return len(self.cores)

    @property
    def ntypes(self) -> int:
        """The number of loops."""
        return len(self.types)

    @property
    def types(self) -> list[str]:
        """The loops by the character codes of their dtypes, such as ``dd->d``."""
        if self.outputs:
            return self.ufunc.types
        return ["".join(np.dtype(t.dtype).char for t in each.parameters) for each in self.signatures]

    @property
    def identity(self) -> None:
        """None, since there are no reductions."""
        return None

    @property
    def signature(self) -> str:
        """The layout, in NumPy's notation."""
        return _text_of(self.inputs, self.outputs)

    def resolve_dtypes(self, *args: Any, **kwargs: Any) -> tuple[np.dtype, ...]:
        """As `numpy.ufunc.resolve_dtypes`."""
        return self.ufunc.resolve_dtypes(*args, **kwargs)

    def __copy__(self) -> GUFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> GUFunction:
        return self

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """By its name, as a plain function; by cloudpickle, or where it has none, as the function that it compiles."""
        if is_pickled_by_name(self, sys._getframe(1)):
            return self.__qualname__
        return _restored, (type(self), Portable(self.__ingot_function__), self.signatures, self._layout, self._relaxed, self._is_stored)

    def __repr__(self) -> str:
        return f"<ingot.guvectorize function {self.__module__}.{self.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.outputs:
            return self._iterate(*args, **kwargs)
        if not self.signatures:
            return self._call_by_dtypes(args, kwargs)
        return self.ufunc(*self._apart(args, kwargs), **kwargs)

    def _call_by_dtypes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of what has no signatures: the dtypes of all operands choose the loop, so outputs must be given."""
        out = kwargs.pop("out", ())
        args = (*args, *(out if isinstance(out, tuple) else (out,)))
        if len(args) != len(self.cores) or any(a is None for a in args):
            raise TypeError(f"{self.__name__}() has no signatures: it takes {len(self.cores)} arguments, with arrays for the outputs, {len(args)} given")
        if not any(hasattr(a, "__array_ufunc__") and not isinstance(a, (np.ndarray, np.generic)) for a in args):
            dtypes = [a.dtype if isinstance(a, (np.ndarray, np.generic)) else np.asarray(a).dtype for a in args]
            if any(dtype not in DTYPES for dtype in dtypes):
                listed = ", ".join(map(str, dtypes))
                raise TypeError(f"{self.__name__}() takes arrays of numbers, not of dtypes {listed}")
            dtypes = [np.dtype(dtype.name) for dtype in dtypes]
            ranks = [len(core) or (1 if number >= len(self.inputs) else None) for number, core in enumerate(self.cores)]
            self._add(tuple(Type(dtype.name, rank) for dtype, rank in zip(dtypes, ranks)))
            kwargs.setdefault("signature", tuple(dtypes))
        return self.ufunc(*self._apart(args, kwargs), **kwargs)

    def _apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments, with copies of inputs whose memory the call may write before it reads all of it.

        The loop copies what is the output itself, iteration by iteration, where both have the same axes in them.
        """
        count, out = len(self.inputs), kwargs.get("out")
        outs = (*args[count:], *(out if isinstance(out, tuple) else (out,)))
        written = [(y, core) for y, core in zip(outs, self.outputs) if isinstance(y, np.ndarray)]
        if not written:
            return args
        has_axes = "axis" in kwargs or "axes" in kwargs

        def is_apart(x: Any, core: Core) -> bool:
            if not isinstance(x, np.ndarray):
                return True
            return not any(np.may_share_memory(x, y) and (has_axes or core != made or not _is_same_view(x, y)) for y, made in written)

        return (*[x if is_apart(x, core) else x.copy() for x, core in zip(args, self.inputs)], *args[count:])

    def _iterate(self, *args: Any) -> None:
        """Calls the core for each index of the leading axes of arguments that it may write into."""
        if len(args) != len(self.cores):
            raise TypeError(f"{self.__name__}() takes {len(self.inputs)} arguments, {len(args)} given")
        signature = self._signature_of(args)
        given = list(zip(args, signature.parameters, self.cores))
        arrays = [a if isinstance(a, np.ndarray) else np.asarray(a, t.dtype) for a, t, _ in given]
        lengths: dict[str, int] = {}
        leading = [self._leading(a, core, lengths) for a, core in zip(arrays, self.cores)]
        shape = np.broadcast_shapes(*leading)
        wide = [np.broadcast_to(a, shape + a.shape[a.ndim - len(c) :]) if a.shape[: a.ndim - len(c)] != shape else a for a, c in zip(arrays, self.cores)]
        # Of what has no axes there, and is no number, the core gets an array of one element.
        operands = [a[..., np.newaxis] if t.ndim is not None and not c else a for a, (_, t, c) in zip(wide, given)]
        if not shape:
            operands = [a[()] if t.ndim is None else a for a, (_, t, _) in zip(operands, given)]
        self._walker(len(shape))(*operands)

    def _walker(self, axes: int) -> Any:
        """The core over so many leading axes."""
        from ..library.vectorized import over_rows_of

        core = self._core
        if axes == 0:
            return core
        if axes not in self._iterators:
            made = core.__ingot_function__ if isinstance(core, Function) else core
            for _ in range(axes):
                made = over_rows_of(made)
            self._iterators[axes] = self._compiled(made) if isinstance(core, Function) else made
        return self._iterators[axes]

    @staticmethod
    def _leading(array: np.ndarray, core: Core, lengths: dict[str, int]) -> tuple[int, ...]:
        if array.ndim < len(core):
            raise ValueError(f"an argument has {array.ndim} axes where the layout wants at least {len(core)}")
        for axis, length in zip(core, array.shape[array.ndim - len(core) :]):
            if lengths.setdefault(axis, int(axis) if axis.isdigit() else length) != length:
                raise ValueError(f"the axis {axis} has lengths {lengths[axis]} and {length}")
        return array.shape[: array.ndim - len(core)]

    def _signature_of(self, args: tuple[Any, ...]) -> Signature:
        for signature in self.signatures:
            if all(not isinstance(a, (np.ndarray, np.generic)) or a.dtype == np.dtype(t.dtype) for a, t in zip(args, signature.parameters)):
                return signature
        listed = "\n".join(f"  {s}" for s in self.signatures)
        raise TypeError(f"no signature of `{self.__name__}` takes these dtypes; there are\n{listed}")


def _restored(kind: type[GUFunction], *given: Any) -> GUFunction:
    """What has been pickled."""
    return kind(*given)
