"""Arrays on devices: `ingot.Array`, and how arrays come to a device and back.

What is an array's metadata - shape, strides, views - is NumPy's own: it is asked of an array with the layout of the device's
does (`_ingot.stand_in`), whose elements nobody touches. What computes is a compiled function (`eager`).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np

from .. import _devices, _ingot
from .._devices import Device
from .._devices.streams import checked_stream, in_stream
from .._devices.transfers import DTYPES, device_put
from .._operations import lazy
from . import eager

_OF_DLPACK = 2  # its number of GPUs of the kind


class Flags:
    """The flags of an array on a device, as `numpy.ndarray.flags`.

    Parameters
    ----------
    array : Array
        The array.
    """

    def __init__(self, array: Array) -> None:
        self._array = array
        c, f = array._orders
        self.c_contiguous: bool = c
        self.f_contiguous: bool = f
        self.contiguous: bool = c
        self.forc: bool = c or f
        self.fnc: bool = f and not c

    @property
    def writeable(self) -> bool:
        return self._array._writable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        self._array.setflags(write=value)

    def __repr__(self) -> str:
        names = ("c_contiguous", "f_contiguous", "writeable")
        return "\n".join(f"  {name.upper()} : {getattr(self, name)}" for name in names)


def _is_basic(keys: tuple[Any, ...]) -> bool:
    kinds = (int, np.integer, slice, type(None), EllipsisType)
    return all(isinstance(key, kinds) and not isinstance(key, bool) for key in keys)


class Array(_ingot.DeviceArray):
    """An array on a device.

    `ingot.device_put` and functions that run on the device return it. It behaves as NumPy's arrays do: operators, methods,
    views and writes in place. A caller that looks at its elements waits until they are computed.

    See Also
    --------
    ingot.device_put : What makes one.

    Notes
    -----
    Functions of NumPy's called with it run on the device; `numpy.asarray` of it raises TypeError: use `to_host`.

    Examples
    --------
    >>> x = ingot.device_put(np.arange(4.0), "emulated")
    >>> y = np.sqrt(x) + 1
    >>> y
    Array([1.        , 2.        , 2.41421356, 2.73205081], device=emulated:0)
    >>> y.to_host()
    array([1.        , 2.        , 2.41421356, 2.73205081])
    """

    __module__ = "ingot"
    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    __array_priority__: float = 1000.0

    if TYPE_CHECKING:
        sum: Any
        prod: Any
        mean: Any
        std: Any
        var: Any
        max: Any
        min: Any
        all: Any
        any: Any
        argmax: Any
        argmin: Any
        cumsum: Any
        cumprod: Any
        clip: Any
        dot: Any
        round: Any
        take: Any
        repeat: Any
        searchsorted: Any
        compress: Any
        choose: Any
        argsort: Any
        argpartition: Any
        nonzero: Any
        trace: Any
        conj: Any
        conjugate: Any
        sort: Any
        partition: Any
        fill: Any

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __iadd__(self, other: Any) -> Array: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __isub__(self, other: Any) -> Array: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __imul__(self, other: Any) -> Array: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __itruediv__(self, other: Any) -> Array: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __ifloordiv__(self, other: Any) -> Array: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __imod__(self, other: Any) -> Array: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __ipow__(self, other: Any) -> Array: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __rmatmul__(self, other: Any) -> Any: ...
        def __imatmul__(self, other: Any) -> Array: ...
        def __lshift__(self, other: Any) -> Any: ...
        def __rlshift__(self, other: Any) -> Any: ...
        def __ilshift__(self, other: Any) -> Array: ...
        def __rshift__(self, other: Any) -> Any: ...
        def __rrshift__(self, other: Any) -> Any: ...
        def __irshift__(self, other: Any) -> Array: ...
        def __and__(self, other: Any) -> Any: ...
        def __rand__(self, other: Any) -> Any: ...
        def __iand__(self, other: Any) -> Array: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __ior__(self, other: Any) -> Array: ...
        def __xor__(self, other: Any) -> Any: ...
        def __rxor__(self, other: Any) -> Any: ...
        def __ixor__(self, other: Any) -> Array: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __eq__(self, other: Any) -> Any: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Any: ...  # type: ignore[override]
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __divmod__(self, other: Any) -> tuple[Any, Any]: ...
        def __rdivmod__(self, other: Any) -> tuple[Any, Any]: ...

    def __init_subclass__(cls, **keywords: Any) -> None:
        raise TypeError("ingot.Array has no subclasses")

    @property
    def device(self) -> Device:
        """The device that it is on."""
        return _devices.of(self._handle.name)

    def to_device(self, device: str | Device, /, *, stream: Any = None) -> Any:
        """Copy the array to another device.

        Parameters
        ----------
        device : str or Device
            Where to; on ``"cpu"`` the result is an array of NumPy's.
        stream : object
            Of the array API standard, and without effect.

        Returns
        -------
        Array or numpy.ndarray
            A copy, or the array itself where it is there already.
        """
        return device_put(self, device)

    def to_host(self) -> np.ndarray:
        """Return a copy as an array of NumPy's.

        Returns
        -------
        numpy.ndarray
            The elements.
        """
        return _ingot.to_host(self)

    def block_until_ready(self) -> Array:
        """Wait until the elements are computed.

        Returns
        -------
        Array
            The array itself.
        """
        _ingot.wait(self)
        return self

    # Metadata.

    @property
    def flags(self) -> Flags:
        """Whether it may be written into and how it is contiguous, as `numpy.ndarray.flags`."""
        return Flags(self)

    def setflags(self, write: bool | None = None) -> None:
        """Set whether it may be written into.

        Parameters
        ----------
        write : bool, optional
            Whether it may; None changes nothing.
        """
        if write is not None:
            self._writable = bool(write)

    def _like(self, view: np.ndarray) -> Array:
        return _ingot.shown_by(self, view)

    @property
    def T(self) -> Array:
        """The transposed array, a view."""
        return self._like(_ingot.stand_in(self).T)

    @property
    def mT(self) -> Array:
        """The array with its last two axes exchanged, a view."""
        return self._like(_ingot.stand_in(self).mT)

    @property
    def real(self) -> Array:
        """The real part, a view."""
        return self._like(_ingot.stand_in(self).real)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Array:
        """The imaginary part, a view, or zeros that cannot be written into."""
        if self.dtype.kind == "c":
            return self._like(_ingot.stand_in(self).imag)
        zeros = _ingot.to_device(np.zeros(self.shape, self.dtype), self._handle)
        zeros.setflags(write=False)
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    def transpose(self, *axes: Any) -> Array:
        """Permute the axes, as `numpy.ndarray.transpose`: a view."""
        return self._like(_ingot.stand_in(self).transpose(*axes))

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex, /) -> Array:
        """Exchange two axes, as `numpy.ndarray.swapaxes`: a view."""
        return self._like(_ingot.stand_in(self).swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> Array:
        """Remove axes of length 1, as `numpy.ndarray.squeeze`: a view."""
        return self._like(_ingot.stand_in(self).squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """Return diagonals, as `numpy.ndarray.diagonal`: a view."""
        return self._like(_ingot.stand_in(self).diagonal(offset, axis1, axis2))

    def view(self, dtype: Any = None) -> Array:
        """Return a view of the same memory, also of another dtype, as `numpy.ndarray.view`."""
        shown = _ingot.stand_in(self)
        if dtype is None:
            return self._like(shown)
        if np.dtype(dtype) not in DTYPES:
            raise TypeError(f"arrays of dtype {np.dtype(dtype)} cannot be on a device")
        return self._like(shown.view(dtype))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Array:
        """Return the elements in another shape, as `numpy.ndarray.reshape`: a view where that is possible."""
        given: Any = shape[0] if len(shape) == 1 else shape
        if copy:
            return self.copy("F" if order == "F" else "C").reshape(given, order=order)
        try:
            return self._like(_ingot.stand_in(self).reshape(given, order=order, copy=False))
        except ValueError as error:
            if copy is not None or "copy" not in str(error):
                raise
        return self.copy("F" if order == "F" or order == "A" and self.flags.fnc else "C").reshape(given, order=order)

    def ravel(self, order: Any = "C") -> Array:
        """Return the elements along one axis, as `numpy.ndarray.ravel`: a view where that is possible."""
        if order == "K":
            axes = sorted(range(self.ndim), key=lambda axis: -abs(self.strides[axis]))
            return self.transpose(axes).reshape(-1)
        return self.reshape(-1, order=order)

    def flatten(self, order: Any = "C") -> Array:
        """Return a copy of the elements along one axis, as `numpy.ndarray.flatten`."""
        flat = self.ravel(order)
        return flat.copy() if flat._address == self._address else flat

    # Elements.

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        keys = key if type(key) is tuple else (key,)
        if not _is_basic(keys):
            return eager.take(self, key)
        shown = _ingot.stand_in(self)
        if any(k is Ellipsis for k in keys):
            return self._like(shown[key])
        part = self._like(shown[(*keys, ...)])
        return part if part.ndim > 0 else _ingot.to_host(part)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = key if type(key) is tuple else (key,)
        if not self._writable:
            raise ValueError("assignment destination is read-only")
        if not _is_basic(keys):
            eager.put(self, key, value)
            return
        closed = keys if any(k is Ellipsis for k in keys) else (*keys, ...)
        target = self._like(_ingot.stand_in(self)[closed])
        if isinstance(value, Array) and _ingot.is_pending(value):
            # What nobody has but the caller's stack has four references: that, `value`, and those of the two calls.
            if lazy.written_by(None, target, value, sys.getrefcount(value) <= 4) is not NotImplemented:
                return
        eager.assign(target, value)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def item(self, *place: Any) -> Any:
        """Return an element as a number of Python's, as `numpy.ndarray.item`."""
        if not place:
            return self._one().item()
        at = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
        if len(at) == 1 and self.ndim != 1:
            size = self.size
            flat = operator.index(at[0])
            if not -size <= flat < size:
                raise IndexError(f"index {flat} is out of bounds for size {size}")
            at = tuple(int(i) for i in np.unravel_index(flat % size, self.shape))
        if len(at) != self.ndim:
            raise ValueError("incorrect number of indices for array")
        return self[at].item()

    def tolist(self) -> Any:
        """Return the elements as numbers of Python's in nested lists, as `numpy.ndarray.tolist`."""
        return self.to_host().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the elements as bytes, as `numpy.ndarray.tobytes`."""
        return self.to_host().tobytes(order)

    def _one(self) -> np.ndarray:
        """Its elements, if there is one; else an array of as many, for which NumPy raises its error."""
        return self.to_host() if self.size == 1 else np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def __bool__(self) -> bool:
        return bool(self._one())

    def __int__(self) -> int:
        return int(self._one())

    def __float__(self) -> float:
        return float(self._one())

    def __complex__(self) -> complex:
        return complex(self._one())

    def __index__(self) -> int:
        return operator.index(self._one())

    def __repr__(self) -> str:
        text = repr(self.to_host())
        return f"Array{text[len('array') : -1]}, device={self.device})"

    def __str__(self) -> str:
        return str(self.to_host())

    def __format__(self, how: str) -> str:
        return format(self.to_host(), how)

    # Copies.

    def copy(self, order: Any = "C") -> Array:
        """Return a copy on the same device, as `numpy.ndarray.copy`."""
        flags = self.flags
        if order == "K" or order in "CA" and flags.c_contiguous or order in "FA" and flags.f_contiguous:
            copied = _ingot.copied(self)
            if copied is not None:
                return copied
        return eager.copy(self, order)

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """Copy the elements into an array of NumPy's.

        Parameters
        ----------
        ary : numpy.ndarray, optional
            What takes them, of the same shape and dtype; by default a new array.
        stream : Stream, optional
            Of `ingot.cuda`: the copy is put there, and pinned memory is written later.

        Returns
        -------
        numpy.ndarray
            `ary`, or the new array.

        Raises
        ------
        ValueError, TypeError
            `ary` has another shape or dtype, cannot be written into, or is no array of NumPy's.
        """
        queue = checked_stream(stream)
        with in_stream(queue, self.device):
            if ary is None:
                return _ingot.to_host(self)
            if not isinstance(ary, np.ndarray):
                raise TypeError(f"elements are copied into an array of NumPy's, not {type(ary).__name__}")
            if (ary.shape, ary.dtype) != (self.shape, self.dtype):
                own = f"shape {self.shape} and dtype {self.dtype}"
                raise ValueError(f"an array of {own} is copied into one of shape {ary.shape} and dtype {ary.dtype}")
            if not ary.flags.writeable:
                raise ValueError("assignment destination is read-only")
            _ingot.read_into(self, ary.view(np.ndarray), queue is not None)
            return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Take the elements of another array.

        Parameters
        ----------
        ary : array_like or Array
            Of the same shape and dtype.
        stream : Stream, optional
            Of `ingot.cuda`: the copy is put there, and pinned memory is read later.

        Raises
        ------
        ValueError
            Shapes or dtypes differ, or this array cannot be written into.
        """
        queue = checked_stream(stream)
        given = ary if isinstance(ary, Array) else np.asarray(ary)
        if (given.shape, given.dtype) != (self.shape, self.dtype):
            own = f"shape {self.shape} and dtype {self.dtype}"
            raise ValueError(f"an array of shape {given.shape} and dtype {given.dtype} is copied into one of {own}")
        if not self._writable:
            raise ValueError("assignment destination is read-only")
        with in_stream(queue, self.device):
            if isinstance(given, Array):
                eager.assign(self, given.to_device(self.device))
            else:
                _ingot.write_into(self, given.view(np.ndarray), queue is not None)

    def __copy__(self) -> Array:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy("K")

    def __reduce__(self) -> tuple[Any, ...]:
        return Array._restored, (self.to_host(), self.device)

    @classmethod
    def _restored(cls, array: np.ndarray, device: Device) -> Array:
        return _ingot.to_device(array, device._handle)

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True) -> Array:
        """Return a copy of another dtype, as `numpy.ndarray.astype`."""
        wanted = np.dtype(dtype)
        if wanted not in DTYPES:
            raise TypeError(f"arrays of dtype {wanted} cannot be on a device")
        if not np.can_cast(self.dtype, wanted, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the rule {casting!r}")
        if wanted == self.dtype:
            return self.copy(order) if copy else self
        return eager.astype(self, wanted, order)

    # Other libraries.

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(f"an ingot.Array is on {self.device}, where NumPy does not reach it: bring it to the host with `.to_host()`")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return eager.ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
        return eager.function(function, args, kwargs)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.kind != "gpu":
            raise AttributeError(f"no other library reaches the memory of {self.device}")
        _ingot.share(self)
        self.block_until_ready()
        strides = None if self.flags.c_contiguous else self.strides
        data = (self._address, not self._writable)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": strides, "version": 3, "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.device.kind != "gpu":
            raise BufferError(f"no other library reaches the memory of {self.device}: bring the array to the host with `.to_host()`")
        return (_OF_DLPACK, self.device.index)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        own = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != own:
            if tuple(dl_device) == (1, 0) and copy is not False:
                return self.to_host().__dlpack__(max_version=max_version)
            raise BufferError(f"the array is on {self.device}")
        shown = self.copy("K") if copy else self
        if stream != -1:
            shown.block_until_ready()
        versioned = max_version is not None and max_version[0] >= 1
        return _ingot.to_capsule(shown, _OF_DLPACK, versioned, bool(copy))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from .. import numpy as namespace

        return namespace


eager.add_methods(Array)


def from_dlpack(x: Any, /) -> Any:
    """Return the array that another library shows by DLPack, on the same memory.

    Parameters
    ----------
    x : object
        With `__dlpack__` and `__dlpack_device__`, such as an array of PyTorch or CuPy.

    Returns
    -------
    Array or numpy.ndarray
        An `ingot.Array` of an array on a GPU, an array of NumPy's of one on the host.

    Raises
    ------
    BufferError
        The array is on a device that cannot be shared.

    Examples
    --------
    >>> ingot.from_dlpack(np.arange(3))
    array([0, 1, 2])
    """
    if isinstance(x, Array):
        return x
    kind, index = x.__dlpack_device__()
    if kind == 1:
        return np.from_dlpack(x)
    if kind != _OF_DLPACK:
        raise BufferError(f"an array on a device of DLPack's kind {kind} cannot be shared")
    where = _devices.device("gpu", index)
    try:
        capsule = x.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:  # of a version before the parameter
        capsule = x.__dlpack__(stream=1)
    where.synchronize()  # what has been put into other streams
    return _ingot.of_capsule(capsule, where._handle)
