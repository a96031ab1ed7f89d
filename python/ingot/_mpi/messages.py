"""What a message is: the memory of a buffer, as mpi4py takes it, and the bytes that are sent of it.

Views with gaps are packed, and records are their bytes, as in compiled code. Datatypes that are made are packed by the MPI library.
"""

from __future__ import annotations

import array
import operator
from typing import Any

import mpi4py.MPI as MPI
import numpy as np

from .._errors import UnsupportedError

_NO_BUFFER = "message: expecting buffer or list/tuple"


def an_int(x: Any) -> int:
    """An argument that mpi4py takes as an int of C's."""
    try:
        number = operator.index(x)
    except TypeError:
        raise TypeError("an integer is required") from None
    if not -(2**31) <= number < 2**31:
        raise OverflowError("value too large to convert to int")
    return number


class Type:
    """A datatype: the bytes of an element in a message and in memory. `code`: its basic type, or None where it is any or several."""

    def __init__(self, datatype: Any) -> None:
        self.datatype = datatype
        self.size: int = datatype.Get_size()
        self.is_plain: bool = datatype.is_predefined and datatype.Get_extent() == (0, self.size)
        low, self.extent = datatype.Get_extent()
        true_low, true_extent = datatype.Get_true_extent()
        self.end: int = true_low + true_extent
        if low < 0 or true_low < 0:
            raise ValueError(f"message: cannot infer count, datatype extent {self.extent} (lb:{low}, ub:{low + self.extent})")
        while not datatype.is_predefined and datatype.combiner not in (MPI.COMBINER_STRUCT, MPI.COMBINER_NAMED):
            datatype = datatype.decode()[0]
        is_any = not datatype.is_predefined or datatype in (MPI.BYTE, MPI.PACKED)
        self.code: str | None = None if is_any else _code(datatype)


def _code(datatype: Any) -> str | None:
    try:
        code = str(datatype.typestr)
    except (KeyError, ValueError):
        return None
    return code if code[0] in "iufcb" else None


_types: dict[Any, Type] = {}


def type_of(datatype: Any) -> Type:
    if isinstance(datatype, str):
        if datatype not in MPI._typedict:
            raise KeyError(f"cannot map {datatype!r} to MPI datatype")
        datatype = MPI._typedict[datatype]
    if datatype == MPI.DATATYPE_NULL:
        raise MPI.Exception(MPI.ERR_TYPE)
    if not datatype.is_predefined:
        return Type(datatype)
    handle = datatype.handle
    if handle not in _types:
        _types[handle] = Type(datatype)
    return _types[handle]


def _array_of(buf: Any, writes: bool) -> np.ndarray:
    if isinstance(buf, np.ndarray):
        return buf
    if isinstance(buf, np.generic):
        if writes:
            raise BufferError("scalar buffer is readonly")
        return np.array([buf])
    if isinstance(buf, (bytes, bytearray, memoryview, array.array)):
        if writes and memoryview(buf).readonly:
            raise BufferError("Object is not writable.")
        return np.asarray(memoryview(buf))
    raise TypeError(_NO_BUFFER)


def _is_without_gaps(x: np.ndarray) -> bool:
    return x.flags.c_contiguous or x.flags.f_contiguous


class Buffer:
    """So many elements of a datatype, in memory from an offset on, in bytes. `whole`: an array with gaps, which `memory` is packed of."""

    __slots__ = ("count", "memory", "offset", "type", "whole")

    def __init__(self, memory: np.ndarray, offset: int, count: int, kind: Type, whole: np.ndarray | None = None) -> None:
        self.memory, self.offset, self.count, self.type, self.whole = memory, offset, count, kind, whole

    @property
    def size(self) -> int:
        """The bytes of a message of all elements."""
        return self.count * self.type.size

    def _part(self, count: int) -> np.ndarray:
        kind = self.type
        length = 0 if count == 0 else (count - 1) * kind.extent + kind.end
        return self.memory[self.offset : self.offset + length]

    def get(self) -> bytes:
        """What is sent."""
        part = self._part(self.count)
        if self.type.is_plain or self.count == 0:
            return part.tobytes()
        padded, packed = np.zeros(self.count * self.type.extent, np.uint8), np.zeros(self.size, np.uint8)
        padded[: len(part)] = part[: len(padded)]
        self.type.datatype.Pack(padded, packed, 0, MPI.COMM_SELF)
        return packed.tobytes()

    def put(self, data: bytes) -> None:
        """Has what was received, which may be shorter; the other elements stay."""
        count = len(data) // self.type.size if self.type.size else 0
        part = self._part(count)
        if self.type.is_plain:
            part[...] = np.frombuffer(data, np.uint8, len(part))
        elif count > 0:
            padded = np.zeros(count * self.type.extent, np.uint8)
            padded[: len(part)] = part
            self.type.datatype.Unpack(np.frombuffer(data, np.uint8)[: count * self.type.size].copy(), 0, padded, MPI.COMM_SELF)
            part[...] = padded[: len(part)]
        if self.whole is not None:
            self.whole[...] = self.memory.view(self.whole.dtype).reshape(self.whole.shape)

    def span(self) -> tuple[int, int]:
        """The addresses of its memory; of one with gaps between elements, or none, it is empty."""
        if self.whole is not None or not self.type.is_plain or self.count == 0:
            return 0, 0
        first = self.memory.__array_interface__["data"][0] + self.offset
        return first, first + self.size

    def block(self, i: int) -> Buffer:
        """The i-th of blocks of as many elements."""
        return Buffer(self.memory, self.offset + i * self.count * self.type.extent, self.count, self.type, self.whole)


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _parts(msg: Any, kinds: Any) -> tuple[Any, Any, Any, Any]:
    """Of a message the buffer, its count or counts, the displacements, and the datatype."""
    if not isinstance(msg, (list, tuple)):
        return msg, None, None, None
    if not 2 <= len(msg) <= 4:
        raise ValueError("message: expecting 2 to 4 items")
    if len(msg) == 4:
        return msg[0], msg[1], msg[2], msg[3]
    if len(msg) == 2 and isinstance(msg[1], (str, MPI.Datatype)):
        return msg[0], None, None, msg[1]
    datatype = msg[2] if len(msg) == 3 else None
    if isinstance(msg[1], kinds):
        count, displ = msg[1]
        return msg[0], count, displ, datatype
    return msg[0], msg[1], None, datatype


def _memory(msg: Any, kinds: Any, writes: bool, gaps: bool) -> tuple[np.ndarray, Any, Any, Type, int, np.ndarray | None]:
    """The bytes of a buffer in the order of memory, counts, displacements, the datatype, how many of it one element is, and `whole`."""
    buf, counts, displs, datatype = _parts(msg, kinds)
    x = _array_of(buf, writes)
    if writes and not x.flags.writeable:
        raise BufferError("dlpack: buffer is not writable")
    each = 1
    if datatype is not None:
        kind, gaps = type_of(datatype), False
    elif x.dtype.names is not None:
        kind, each = type_of(MPI.BYTE), x.dtype.itemsize
    elif x.dtype.char not in MPI._typedict:
        raise KeyError(f"cannot map {x.dtype.char!r} to MPI datatype")
    else:
        kind = type_of(x.dtype.char)
    if x.flags.c_contiguous:
        return x.reshape(-1).view(np.uint8), counts, displs, kind, each, None
    if x.flags.f_contiguous:
        return x.T.reshape(-1).view(np.uint8), counts, displs, kind, each, None
    if not gaps:
        raise BufferError("dlpack: buffer is not contiguous")
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8), counts, displs, kind, each, x if writes else None


def _index(x: Any) -> int:
    if isinstance(x, (float, np.inexact)):
        raise TypeError(f"'{type(x).__name__}' object cannot be interpreted as an integer")
    return operator.index(x)


def message(msg: Any, blocks: int = 1, writes: bool = False, gaps: bool = True) -> Buffer:
    """A message; `blocks`: so many of its count are in the buffer."""
    memory, count, displ, kind, each, whole = _memory(msg, (list, tuple), writes, gaps)
    extent = kind.extent * each
    if extent <= 0:
        raise ValueError(f"message: cannot infer count, datatype extent {extent} (lb:0, ub:{extent})")
    first = 0 if displ is None else _index(displ)
    if first < 0:
        raise ValueError(f"message: negative displacement {first}")
    if first * extent > memory.size:
        raise ValueError(f"message: displacement {first} out of bounds, number of datatype entries {memory.size // extent}")
    length = memory.size - first * extent
    if count is not None:
        given = _index(count)
        if given < 0:
            raise ValueError(f"message: negative count {given}")
    elif length % extent != 0:
        raise ValueError(f"message: cannot infer count, buffer length {length} is not a multiple of datatype extent {extent} (lb:0, ub:{extent})")
    elif (length // extent) % max(blocks, 1) != 0:
        raise ValueError(f"message: cannot infer count, number of entries {length // extent} is not a multiple of required number of blocks {blocks}")
    else:
        given = length // extent // max(blocks, 1)
    all_of_them = given * each * max(blocks, 1)
    if all_of_them > 0 and (all_of_them - 1) * kind.extent + kind.end > length:
        if each == 1 and kind.is_plain:
            raise ValueError(f"message: buffer of {length // extent} elements is too small for count {given}" + (f" and {blocks} blocks" if blocks > 1 else ""))
        raise ValueError(f"message: buffer of {length} bytes is too small for count {given} of datatype extent {extent}")
    return Buffer(memory, first * extent, given * each, kind, whole)


def counts_of(given: Any, blocks: int) -> list[int]:
    """Counts or displacements of each block."""
    if isinstance(given, (int, np.integer)):
        return [an_int(given)] * blocks
    numbers = [an_int(each) for each in np.asarray(given).ravel()]
    if len(numbers) != blocks:
        raise ValueError(f"expecting {blocks} items, got {len(numbers)}")
    return numbers


def vector(msg: Any, blocks: int, writes: bool = False) -> list[Buffer]:
    """Of a message of blocks of several counts each block."""
    memory, counts, displs, kind, each, whole = _memory(msg, tuple, writes, True)
    if each != 1:
        raise UnsupportedError("a message of records in blocks of several counts is not supported\n  instead: send an array of each field")
    extent, length = kind.extent, memory.size
    size = length // extent
    if counts is not None:
        of_blocks = counts_of(counts, blocks)
    elif size * extent != length:
        raise ValueError(f"message: cannot infer count, buffer length {length} is not a multiple of datatype extent {extent} (lb:0, ub:{extent})")
    else:
        of_blocks = [size // blocks + (1 if size % blocks > i else 0) for i in range(blocks)]
    if displs is None:
        places = [sum(of_blocks[:i]) for i in range(blocks)]
    elif isinstance(displs, (int, np.integer)):
        places = [an_int(displs) * i for i in range(blocks)]
    else:
        places = counts_of(displs, blocks)
    for count, displ in zip(of_blocks, places):
        if count < 0:
            raise ValueError(f"message: negative count {count}")
        if count > 0 and (displ < 0 or (displ + count - 1) * extent + kind.end > length):
            raise ValueError(f"message: buffer of {length} bytes is too small for count {count} at displacement {displ} of datatype extent {extent}")
    return [Buffer(memory, displ * extent, count, kind, whole) for count, displ in zip(of_blocks, places)]
