"""The operations of compiled code on arrays, which the library is made of, in NumPy's terms.

The functions here run where the library is not compiled; compiled, each is one operation of the compiler's. They
do not check: shapes, axes (from 0 on) and dtypes must be right.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import _ingot
from .._errors import UnsupportedError


def transpose(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """A view of x with its axes in another order."""
    return x.transpose(axes)


def is_contiguous(x: np.ndarray) -> bool:
    """Whether the elements of x are contiguous in C order, or there are none."""
    return bool(x.flags.c_contiguous)


def reshape(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A view of the contiguous x with as many elements in another shape."""
    return x.reshape(shape)


def broadcast(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only view of x with new axes before its own and axes of length 1 repeated."""
    return np.broadcast_to(x, shape)


def strided(x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, dtype: Any = None) -> np.ndarray:
    """A view of the memory of x, `offset` bytes from its first element; strides in bytes."""
    window = np.lib.stride_tricks.as_strided(x.reshape(-1)[:1] if x.ndim == 0 else x, (x.size,), (0,))
    start = window.__array_interface__["data"][0] + offset
    interface = {
        "data": (start, not x.flags.writeable),
        "shape": shape,
        "strides": strides,
        "typestr": np.dtype(x.dtype if dtype is None else dtype).str,
        "version": 3,
    }
    return np.asarray(type("Window", (), {"__array_interface__": interface, "base": x})())


def bytes_of(x: np.ndarray | np.void) -> np.ndarray:
    """A view of the bytes of records, whose last axis is that of a record's bytes."""
    array = np.asarray(x)
    return strided(array, (*array.shape, array.itemsize), (*array.strides, 1), 0, np.uint8)


def records(x: np.ndarray, dtype: np.dtype, holder: str) -> Any:
    """Records of a dtype on an array of their bytes, as an "ndarray", a "recarray" or one "record"."""
    array = strided(x, x.shape[:-1], x.strides[:-1], 0, dtype)
    return array.view(np.recarray) if holder == "recarray" else array[()] if holder == "record" else array


def concat(arrays: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Arrays of one dtype and rank, one after the other along an axis."""
    return np.concatenate(arrays, axis)


def on_device() -> bool:
    """Whether a device runs what is compiled: all elements of an array at once, and each number that decides what is next is waited for."""
    return False


def argmax(x: np.ndarray, axis: int | None) -> Any:
    """The index of the first largest element (or NaN), along an axis or in C order; there is one."""
    return np.argmax(x, axis)


def argmin(x: np.ndarray, axis: int | None) -> Any:
    """The index of the first smallest element (or NaN), along an axis or in C order; there is one."""
    return np.argmin(x, axis)


def sort(x: np.ndarray, axis: int, stable: bool) -> np.ndarray:
    """A sorted copy, NaN last."""
    return np.sort(x, axis, stable=stable)


def argsort(x: np.ndarray, axis: int, stable: bool) -> np.ndarray:
    """The indices of the elements along an axis in ascending order, NaN last."""
    return np.argsort(x, axis, kind="stable" if stable else None)


def ranked(x: np.ndarray, axis: int, ranks: np.ndarray) -> np.ndarray:
    """The elements that sorted lines along an axis have at some indices (i64, one axis, from 0 on); that axis first."""
    return np.moveaxis(np.take(np.sort(x, axis), ranks, axis), axis, 0)


def reduce(ufunc: Any, x: np.ndarray, axes: tuple[int, ...], where: Any = None) -> Any:
    """The elements along some axes, or those in a mask of their shape, combined: a number if these axes are all.

    With minimum and maximum, there are some elements, and no mask.
    """
    return ufunc.reduce(x, axes, dtype=x.dtype, where=True if where is None else where)


def gufunc(routine: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> bool:
    """Calls an inner loop of NumPy's on arrays of its dtypes and shapes; outputs are in C order. Whether it failed."""
    from .._routines import gufunc as call

    failed = np.zeros(1, np.int64)
    call(routine, [*inputs, *outputs, failed])
    return bool(failed[0])


def draw(routine: str, stream: Any, *parameters: Any) -> Any:
    """What a routine of the compiler's draws from a Generator or RandomState, or None where it fills an array."""
    refuse(f"the routine `{routine}` outside of compiled code", "call a compiled function")


def new_stream(seed: np.ndarray, kind: int) -> np.random.Generator:
    """A Generator as `np.random.default_rng` makes it: of no seed (0), the one that is given (1), or all (2)."""
    return np.random.default_rng((None, int(seed[0]) if len(seed) else None, seed)[kind])


def reseed(stream: np.random.RandomState, seed: Any) -> None:
    """Seeds a RandomState."""
    stream.seed(seed)


def scan(ufunc: Any, x: np.ndarray, axis: int) -> np.ndarray:
    """Running combinations along an axis."""
    return ufunc.accumulate(x, axis, dtype=x.dtype)


def select(condition: Any, x: Any, y: Any) -> Any:
    """x where a condition holds, else y, broadcast together: arrays and numbers."""
    return np.where(condition, x, y)


def open_list(x: list[Any]) -> None:
    """Lets the length of a list of the function's, if it has elements that allow it, be known only when the call runs."""


def dtypes_of_lane(iteration: Callable[[int], Any]) -> tuple[bool, Any]:
    """Whether an iteration returns numbers alone, and its result with dtypes for numbers and arrays; None: not known.

    The iteration does not run.
    """
    return False, None


def combiner_of(function: Callable[[], Any], dtype: Any) -> Any:
    """The commutative and associative ufunc that `function()`, of two numbers of a dtype, is; None: not known.

    Of floats, `ingot._code.combiners` decides which are additions and multiplications. A choice between the two numbers by what is larger is
    `maximum` or `minimum`, but for NaN and the signs of zeros. The function does not run.
    """
    return None


class _Axis:
    """The batch elements of a loop: the one that runs, and how it comes to collectives. Or an axis of a mesh, by its number."""

    def __init__(self, name: Any, size: int, lane: int, results: tuple[Any, ...], mesh: int = -1) -> None:
        self.name, self.size, self.lane, self.results, self.mesh = name, size, lane, results, mesh
        self.met = 0
        self.stop: tuple | None = None


_lanes = threading.local()


def _axes() -> tuple[_Axis, ...]:
    return getattr(_lanes, "axes", ())


def in_lane(name: Any, size: int, iteration: Callable[[int], Any], i: int, results: tuple[Any, ...]) -> Any:
    """`iteration(i)`, in which `lane_of(name)` is i, and `results` are those of collectives, in order; no name: None."""
    if i == 0 and hasattr(_lanes, "first"):
        first = _lanes.first
        del _lanes.first
        return first
    around = _axes()
    _lanes.axes = (*around, _Axis(name, size, i, results))
    try:
        return iteration(i)
    finally:
        _lanes.stop = _lanes.axes[-1].stop
        _lanes.axes = around


def _axis(name: Any) -> _Axis:
    for axis in reversed(_axes()):
        if axis.name is not None and axis.name == name:
            return axis
    raise NameError(f"unbound axis name: {name}")


def lane_of(name: Any) -> int:
    """The index of the batch element that runs, of the innermost axis of this name."""
    return _axis(name).lane


def size_of_axis(name: Any) -> int:
    """How many batch elements the innermost axis of this name has."""
    return _axis(name).size


def has_axes() -> bool:
    """Whether batch elements or shards run."""
    return len(_axes()) > 0


def on_mesh(name: Any, number: int, size: int, index: int, shard: Callable[[], Any]) -> Any:
    """`shard()`, which runs on a mesh: its axis of this number has a name and so many shards, of which this one is at an index."""
    around = _axes()
    _lanes.axes = (*around, _Axis(name, size, index, (), number))
    try:
        return shard()
    finally:
        _lanes.axes = around


def mesh_axis(name: Any) -> int:
    """The number that the mesh has for the axis of this name, where no batch element runs; else -1."""
    number = _axis(name).mesh
    return number if all(axis.mesh >= 0 for axis in _axes()) else -1


def stop_of(iteration: Callable[[int], Any], iterations: int) -> tuple[Any, ...] | None:
    """The collective at which an iteration, which calls `in_lane`, stops as its result is not known; None: none.

    Compiled, the iteration does not run; else the first one does, and is not run again.
    """
    from .collectives import Stop

    if iterations == 0:
        return None
    try:
        _lanes.first = iteration(0)
    except Stop:
        return _lanes.stop
    return None


def meeting(name: Any, what: tuple[Any, ...]) -> tuple[Any, ...]:
    """At a collective of an axis of this name: its result, alone in a tuple; (): the batch element is to stop here."""
    _axis(name)
    axis = _axes()[-1]
    if axis.met < len(axis.results):
        axis.met += 1
        return (axis.results[axis.met - 1],)
    axis.stop = what
    return ()


def derivatives_of_lanes() -> int:
    """How many derivatives there are around the innermost batch that runs."""
    return 0


def is_same_for_all(name: Any, x: Any) -> bool:
    """Whether x is known, when compiling, to be one number for all batch elements of the innermost axis of this name.

    What shards know differs: they may be in different branches, and ranks have globals of their own.
    """
    return False


def rules_of(kind: type[Any]) -> Any:
    """`library.structures.rules_of`, of a class that may be registered later."""
    from .structures import rules_of

    return rules_of(kind)


def instance(kind: type[Any], names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """An instance of a class with these attributes, made without its `__init__`."""
    made = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def changes(copy: Any) -> None:
    """Precedes a change of an instance of a class of the library's, which may be a copy of a container of the caller's."""


def is_known(value: Any) -> bool:
    """Whether a number is known when compiling."""
    return True


def python_number(x: np.generic) -> Any:
    """The number of Python's that a scalar of NumPy's is."""
    return x.item()


def call_host(function: Callable[..., None], out: np.ndarray, arguments: Sequence[Any]) -> None:
    """`function(out, *arguments)` in Python, where something else may see the arrays, but for `out`, later."""
    function(out, *arguments)


def refuse(reason: str, advice: str) -> NoReturn:
    """Refuses to compile what is here."""
    raise UnsupportedError(f"{reason} is not supported\n  instead: {advice}")


def need_writable(x: np.ndarray, message: str) -> None:
    """Raises ValueError where x is read-only."""
    if not x.flags.writeable:
        raise ValueError(message)


def need_size(shape: tuple[int, ...], dtype: Any) -> None:
    """Raises ValueError where an array of this shape has 2**63 bytes or more."""
    np.broadcast_to(np.zeros((), dtype), shape)


def put(out: np.ndarray, value: Any, where: Any, name: str) -> np.ndarray:
    """The output that a ufunc of this name has put a value into, where a mask holds."""
    return np.positive(value, out=out, where=where)


def loop(ufunc: Any, operands: Sequence[Any], outputs: Sequence[Any], **keywords: Any) -> tuple[np.dtype, ...]:
    """The dtypes that a ufunc computes at, inputs first; raises what a call raises by its types and keywords.

    With `method`, it is that of a method on arrays: the dtype at which it combines.
    """
    from .._routines.ufuncs import loop

    return loop(ufunc, tuple(operands), tuple(outputs), keywords)


def each(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """The results of a function of numbers for each element of arrays that broadcast together; None: not in one operation."""
    return None


def at_dtype(x: Any, dtype: Any) -> Any:
    """A number or an array at a dtype; a Python int must be one of its numbers."""
    return np.asarray(x).astype(dtype)[()]


def real(z: Any) -> Any:
    """The real part of complex numbers."""
    return np.real(z)


def imaginary(z: Any) -> Any:
    """The imaginary part of complex numbers."""
    return np.imag(z)


def make_complex(re: Any, im: Any) -> Any:
    """Complex numbers of two parts, float32 or float64."""
    return (np.asarray(re) + 1j * np.asarray(im)).astype(np.result_type(re, np.complex64))


def mantissa(x: Any) -> Any:
    """The first result of frexp."""
    return np.frexp(x)[0]


def exponent(x: Any) -> Any:
    """The second result of frexp."""
    return np.frexp(x)[1]


def scale_by_power(x: Any, power: Any) -> Any:
    """x * 2**power, rounded once; the power is integral and of the same dtype."""
    return np.ldexp(x, np.asarray(power).astype(np.int64))


def bitwise_count(x: Any) -> Any:
    """How many bits are set, in the dtype of the integers."""
    return np.bitwise_count(x).astype(np.asarray(x).dtype)


def may_be_read_only(x: np.ndarray) -> bool:
    """Whether it is not known, when compiling, that x may be written."""
    return not x.flags.writeable


def _need_compiler() -> NoReturn:
    raise UnsupportedError("derivatives without the compiler, which makes them, are not supported\n  instead: unset INGOT_DISABLE")


def new_derivative() -> int:
    """The number of a new derivative."""
    _need_compiler()


def lift(x: Any, tangent: Any, derivative: int) -> Any:
    """x as a variable of a derivative: the same number, or another array on the same memory; tangents have the layout of x."""
    _need_compiler()


def tangent(y: Any, derivative: int) -> Any:
    """The tangent of y: a number, or an array of the layout of y."""
    _need_compiler()


def pull(derivative: int, values: tuple[Any, ...], cotangents: tuple[Any, ...], variables: tuple[Any, ...]) -> tuple[Any, ...]:
    """Goes back from values, with their cotangents, to the variables: returns the cotangents of numbers, None for arrays,
    whose cotangents are added to what they were lifted with (of complex numbers, conjugated)."""
    _need_compiler()


def derivatives() -> tuple[Any, ...]:
    """The derivatives around what is called, the innermost last: their numbers, and whether they are in reverse mode."""
    return ()


def may_vary(x: Any, derivative: int) -> bool:
    """Whether it is not known, when compiling, that x does not vary in a derivative."""
    return True


def constant(x: Any) -> Any:
    """x, an array of one's own that nothing writes to."""
    return x


def with_derivatives(around: tuple[Any, ...], f: Callable[..., Any]) -> Any:
    """The result of f(), with these derivatives around it."""
    return f()


def back(derivative: int, f: Callable[..., Any]) -> None:
    """Calls f() where a reverse sweep comes here."""
    _need_compiler()


def cotangent(y: Any, derivative: int) -> Any:
    """In `back`: the cotangent of a lifted number; of a lifted array, what it was lifted with."""
    _need_compiler()


def give(x: Any, cotangent: Any, derivative: int) -> None:
    """In `back`: adds to the cotangent of x."""
    _need_compiler()


def primal(y: Any, derivative: int) -> Any:
    """y as what no longer varies in a derivative."""
    return y


def _need_kernel() -> NoReturn:
    raise UnsupportedError("what kernels alone have, outside of a kernel, is not supported\n  instead: use it in a function of `cuda.jit`")


def launch(extents: tuple[int, ...], shared_bytes: int, kernel: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Calls the kernel once for each thread: `extents` are those of the grid and of a block."""
    _need_kernel()


def need_kernel(name: str, is_function: bool = False) -> None:
    """Refuses to compile what is outside of a kernel."""
    raise UnsupportedError(
        f"`cuda.{name}` outside of a kernel is not supported\n"
        "  instead: use it in a function of `cuda.jit`, or in one that such a function calls"
    )


def in_grid(axis: int, extent: bool, name: str) -> int:
    """The index of the thread among all of the launch along an axis, or how many there are."""
    _need_kernel()


def shared_memory(shape: Any, dtype: Any) -> np.ndarray:
    """An array of the block's."""
    _need_kernel()


def local_memory(shape: Any, dtype: Any) -> np.ndarray:
    """An array of the thread's."""
    _need_kernel()


def atomic(how: str, ary: np.ndarray, idx: Any, val: Any, name: str) -> Any:
    """The old value of an element that an op, or `exchange`, changes."""
    _need_kernel()


def compare_exchange(name: str, ary: np.ndarray, idx: Any, old: Any, val: Any) -> Any:
    """The old value of an element that becomes `val` if it was `old`."""
    _need_kernel()


def barrier(scope: str, name: str, mask: Any = None) -> None:
    """Waits for the threads of a scope; of a warp, for those of a mask."""
    _need_kernel()


def vote(question: str, scope: str, name: str, predicate: Any, mask: Any = None) -> Any:
    """The vote of the threads of a scope."""
    _need_kernel()


def shuffle(source: str, name: str, mask: Any, value: Any, lane: Any, width: int) -> Any:
    """The number of another lane."""
    _need_kernel()


def match(agreement: str, name: str, mask: Any, value: Any) -> np.uint32:
    """The lanes that have the same number."""
    _need_kernel()


def active() -> np.uint32:
    """The lanes that are here."""
    _need_kernel()


def fence(scope: str, name: str) -> None:
    """Orders what the thread writes."""
    _need_kernel()


def nanosleep(ns: Any) -> None:
    """Lets others go on."""
    _need_kernel()


def linked(declaration: Any, result: str | None, types: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
    """Calls a function that is linked with the kernel: it is given numbers of dtypes, and addresses ("*float32") of arrays."""
    _need_kernel()


def bits(x: Any) -> Any:
    """An integer as an unsigned one of the same width."""
    return np.asarray(x).view(f"u{np.asarray(x).itemsize}")[()]


def run_loop(ufunc: Any, dtypes: tuple[Any, ...], inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Runs one of a ufunc's loops, that of these dtypes, on vectors of one length."""
    ufunc(*inputs, out=outputs, signature=dtypes)


def call_c(form: tuple[str, str], operands: tuple[Any, ...]) -> int:
    """Calls a function with integers and arrays, which are given by address; it returns an int.

    One of the MPI library's is ("mpi", its name), or ("mpi wait", its name) if signals may interrupt it; ("shards", "exchange") is the
    extension's own, which they may interrupt.
    """
    import ctypes

    if form[0] == "shards":
        return int(_ingot.shards_exchange(*[x.ctypes.data if isinstance(x, np.ndarray) else int(x) for x in operands]))
    from .._routines.mpi import address_of

    kinds = [ctypes.c_void_p if isinstance(x, np.ndarray) else ctypes.c_int64 for x in operands]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(address_of(form[1])[0])
    return int(function(*[x.ctypes.data if isinstance(x, np.ndarray) else int(x) for x in operands]))


def number_of_c(form: tuple[str, str]) -> int:
    """A constant of the MPI library's in the process that runs the code, ("mpi value", its name)."""
    from .._routines.mpi import value_of

    return value_of(form[1])[1]


def of_loop(ufunc: Any, dtypes: tuple[Any, ...], inputs: tuple[Any, ...]) -> Any:
    """The result of such a loop for numbers; it depends on these alone."""
    return ufunc(*inputs, signature=dtypes)
