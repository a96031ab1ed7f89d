"""Python's own arrays of numbers - `bytearray`, `array.array`, `memoryview` - in compiled code: classes that stand for theirs.

An instance has one attribute, an array on the memory. Elements are numbers of Python's.
"""

from __future__ import annotations

import array
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from . import primitives
from .creation import need_like
from .registry import implements


def refused(what: str) -> NoReturn:
    primitives.refuse(what, "use np.asarray(...) of it, which is an array on the same memory")


class Buffer:
    """The methods that all of them have."""

    __ingot_buffer__ = True  # NumPy makes arrays of it

    elements: np.ndarray
    own: ClassVar[type]  # its class here, where `type` gives Python's
    out_of_range: ClassVar[str]
    out_of_range_to_set: ClassVar[str]

    def need_index(self, i: Any) -> None:
        """Raises what Python does for an index of another type."""
        raise NotImplementedError

    def number(self, x: Any) -> Any:
        return int(x)

    def stored(self, value: Any) -> Any:
        """The element that a value becomes; raises what Python does for others."""
        raise NotImplementedError

    def place(self, i: Any, message: str) -> int:
        if isinstance(i, (str, bytes, float, complex, np.inexact)):
            self.need_index(i)
        if not isinstance(i, (int, np.integer)):
            refused("an index that is no integer, of a buffer,")
        place = int(i)
        count = len(self.elements)
        if place < 0:
            place += count
        if place < 0 or place >= count:
            raise IndexError(message)
        return place

    def __len__(self) -> int:
        return len(self.elements)

    def part(self, i: slice) -> Any:
        """A new buffer, of the elements that a slice names."""
        return primitives.instance(self.own, ("elements",), (self.elements[i].copy(),))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return self.part(i)
        return self.number(self.elements[self.place(i, self.out_of_range)])

    def __setitem__(self, i: Any, value: Any) -> None:
        if isinstance(i, slice):
            refused("an assignment to a slice of a buffer")
        place = self.place(i, self.out_of_range_to_set)
        self.elements[place] = self.stored(value)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self.elements)):
            yield self.number(self.elements[i])

    def __contains__(self, value: Any) -> bool:
        for i in range(len(self.elements)):
            if self.number(self.elements[i]) == value:
                return True
        return False

    def __setattr__(self, name: str, value: Any) -> None:
        refused("an attribute of a buffer")

    def __delitem__(self, i: Any) -> None:
        refused("`del` of an element of a buffer")

    def __add__(self, other: Any) -> Any:
        refused("`+` of a buffer")

    def __radd__(self, other: Any) -> Any:
        refused("`+` of a buffer")

    def __iadd__(self, other: Any) -> Any:
        refused("`+=` of a buffer")

    def __mul__(self, other: Any) -> Any:
        refused("`*` of a buffer")

    def __rmul__(self, other: Any) -> Any:
        refused("`*` of a buffer")

    def __imul__(self, other: Any) -> Any:
        refused("`*=` of a buffer")

    def __mod__(self, other: Any) -> Any:
        refused("`%` of a buffer")

    def __eq__(self, other: object) -> bool:
        refused("a comparison of a buffer")

    def __ne__(self, other: object) -> bool:
        refused("a comparison of a buffer")

    def __lt__(self, other: Any) -> bool:
        refused("a comparison of a buffer")

    def __le__(self, other: Any) -> bool:
        refused("a comparison of a buffer")

    def __gt__(self, other: Any) -> bool:
        refused("a comparison of a buffer")

    def __ge__(self, other: Any) -> bool:
        refused("a comparison of a buffer")

    def __repr__(self) -> str:
        refused("the string of a buffer")

    def __str__(self) -> str:
        refused("the string of a buffer")

    def __format__(self, form: str) -> str:
        refused("the string of a buffer")

    __hash__ = None  # type: ignore[assignment]

    @property
    def other(self) -> Any:
        refused("this attribute of a buffer")


for name in {*dir(bytearray), *dir(array.array), *dir(memoryview)}:
    if not name.startswith("_"):
        setattr(Buffer, name, Buffer.other)


def integer_of(value: Any) -> Any:
    """A value that is to become an integer as one."""
    if isinstance(value, (float, complex, np.inexact)):
        raise TypeError(f"'{name_of(value)}' object cannot be interpreted as an integer")
    if not isinstance(value, (int, np.integer)):
        refused("an element of a buffer that is no number")
    return int(value)


def name_of(value: Any) -> str:
    if isinstance(value, np.inexact):
        return f"numpy.{value.dtype}"
    if isinstance(value, (str, bytes)):
        return "str" if isinstance(value, str) else "bytes"
    return "float" if isinstance(value, float) else "complex"


class ByteArray(Buffer):
    """`bytearray`."""

    out_of_range = "bytearray index out of range"
    out_of_range_to_set = "bytearray index out of range"

    def need_index(self, i: Any) -> None:
        raise TypeError(f"bytearray indices must be integers or slices, not {name_of(i)}")

    def stored(self, value: Any) -> Any:
        number = integer_of(value)
        if number < 0 or number > 255:
            raise ValueError("byte must be in range(0, 256)")
        return number


class Array(Buffer):
    """`array.array`, of integers. What it takes for an element goes through two types of C's."""

    out_of_range = "array index out of range"
    out_of_range_to_set = "array assignment index out of range"
    first: ClassVar[tuple[int, int, str]]
    second: ClassVar[tuple[int, int, str]]

    def need_index(self, i: Any) -> None:
        raise TypeError("array indices must be integers")

    def stored(self, value: Any) -> Any:
        number = integer_of(value)
        for low, high, name in (self.first, self.second):
            if number < low:
                raise OverflowError(f"{name} is less than minimum")
            if number > high:
                raise OverflowError(f"{name} is greater than maximum")
        return number


SHORT = (-(2**15), 2**15 - 1, "signed short integer")
INT = (-(2**31), 2**31 - 1, "signed integer")
LONG = (-(2**63), 2**63 - 1, "signed long")


class ArrayB(Array):
    first, second = SHORT, (-(2**7), 2**7 - 1, "signed char")


class ArrayUB(Array):
    first = second = (0, 2**8 - 1, "unsigned byte integer")


class ArrayH(Array):
    first, second = SHORT, SHORT


class ArrayUH(Array):
    first, second = INT, (0, 2**16 - 1, "unsigned short")


class ArrayI(Array):
    first, second = INT, INT


class ArrayL(Array):
    first, second = LONG, LONG


class ArrayUI(Array):
    def stored(self, value: Any) -> Any:
        number = integer_of(value)
        if number < 0:
            raise OverflowError("can't convert negative value to unsigned int")
        if number > 2**32 - 1:
            raise OverflowError("unsigned int is greater than maximum")
        return number


def real_of(value: Any) -> float:
    """A value that is to become a float as one."""
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"must be real number, not {name_of(value)}")
    if not isinstance(value, (int, float, np.number)):
        refused("an element of a buffer that is no number")
    return float(value)


class ArrayD(Array):
    """`array.array`, of floats."""

    def number(self, x: Any) -> Any:
        return float(x)

    def stored(self, value: Any) -> Any:
        return real_of(value)


class MemoryView(Buffer):
    """`memoryview`, of integers."""

    out_of_range = "index out of bounds on dimension 1"
    out_of_range_to_set = "index out of bounds on dimension 1"
    code: ClassVar[str]
    readonly: ClassVar[bool]
    low: ClassVar[int]
    high: ClassVar[int]

    def need_index(self, i: Any) -> None:
        raise TypeError("memoryview: invalid slice key")

    def part(self, i: slice) -> Any:
        """A view of them."""
        return primitives.instance(self.own, ("elements",), (self.elements[i],))

    def __setitem__(self, i: Any, value: Any) -> None:
        if self.readonly:
            raise TypeError("cannot modify read-only memory")
        if isinstance(i, slice):
            refused("an assignment to a slice of a buffer")
        place = self.place(i, self.out_of_range_to_set)
        self.elements[place] = self.stored(value)

    def stored(self, value: Any) -> Any:
        if isinstance(value, (float, complex, np.inexact)):
            raise TypeError(f"memoryview: invalid type for format '{self.code}'")
        number = integer_of(value)
        if number < self.low or number > self.high:
            raise ValueError(f"memoryview: invalid value for format '{self.code}'")
        return number


class MemoryViewD(MemoryView):
    """`memoryview`, of floats."""

    def number(self, x: Any) -> Any:
        return float(x)

    def stored(self, value: Any) -> Any:
        if isinstance(value, (complex, np.complexfloating)):
            raise TypeError(f"memoryview: invalid type for format '{self.code}'")
        return real_of(value)


class MemoryViewHalf(MemoryView):
    """`memoryview`, of what it cannot show."""

    def number(self, x: Any) -> Any:
        raise NotImplementedError(f"memoryview: format {self.code} not supported")

    def stored(self, value: Any) -> Any:
        raise NotImplementedError(f"memoryview: format {self.code} not supported")


class MemoryViewBool(MemoryView):
    """`memoryview`, of bools."""

    def number(self, x: Any) -> Any:
        return bool(x)

    def stored(self, value: Any) -> Any:
        return bool(value)


@implements(np.frombuffer)
def frombuffer(buffer: Any, dtype: Any = float, count: Any = -1, offset: Any = 0, *, like: Any = None) -> Any:
    need_like(like)
    is_buffer = isinstance(buffer, (bytearray, array.array, memoryview))
    if not is_buffer and not isinstance(buffer, np.ndarray):
        primitives.refuse("`np.frombuffer` of what is neither an array nor a buffer of numbers", "call it outside of the function")
    memory = buffer.elements if is_buffer else buffer
    if not primitives.is_contiguous(memory):
        if is_buffer:
            raise BufferError("memoryview: underlying buffer is not C-contiguous")
        raise ValueError("ndarray is not C-contiguous")
    own = memory.reshape(-1).view(np.uint8)
    dtype = np.dtype(dtype)
    size = own.size
    if offset < 0 or offset > size:
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({size})")
    left = size - offset
    if count < 0:
        if left % dtype.itemsize != 0:
            raise ValueError("buffer size must be a multiple of element size")
        count = left // dtype.itemsize
    elif left < count * dtype.itemsize:
        raise ValueError("buffer is smaller than requested size")
    return own[offset : offset + count * dtype.itemsize].view(dtype)
