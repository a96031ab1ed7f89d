"""Messages of MPI's: what mpi4py takes for a buffer, and what MPI's functions are given for it.

Elements go in the order of memory, as mpi4py sends those of arrays in C or Fortran order; a strided view goes packed, and
records as bytes, which mpi4py refuses. Counts, displacements and datatypes that lead out of a buffer raise ValueError.
"""

from __future__ import annotations

import array
import sys
from typing import Any, ClassVar

import numpy as np

from .._routines.mpi import DATATYPES, DTYPES
from . import primitives

MPI: Any = sys.modules.get("mpi4py.MPI")

CONSTANTS: tuple[tuple[Any, str], ...] = () if MPI is None else tuple((getattr(MPI, name), name) for name in DATATYPES if hasattr(MPI, name))


class Handle:
    """What objects of mpi4py's have in common."""

    _handle: np.ndarray
    own: ClassVar[type]  # its class here, where `type` gives mpi4py's

    @property
    def handle(self) -> int:
        return int(self._handle[0] & value("HANDLE_MASK"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and same_handles(self._handle[0], other._handle[0])

    def __ne__(self, other: object) -> bool:
        return not (isinstance(other, Handle) and same_handles(self._handle[0], other._handle[0]))

    @property
    def refused(self) -> Any:
        primitives.refuse("this attribute of an object of mpi4py's", "use it outside of the function, or in a function of `ingot.host`")


def value(name: str) -> int:
    """A constant of the MPI library's."""
    return primitives.number_of_c(("mpi value", name))


def call(name: str, *operands: Any) -> int:
    """The code of a function of MPI's."""
    return primitives.call_c(("mpi", name), operands)


def checked(code: int) -> None:
    if code != 0:
        raise MPI.Exception(code)


def run(name: str, *operands: Any) -> None:
    """Calls a function of MPI's, which raises what mpi4py does."""
    checked(code_of(name, *operands))


def code_of(name: str, *operands: Any) -> int:
    """As `call`, where this thread may call MPI."""
    if value("NEED_MAIN_THREAD") != 0:
        flag = np.zeros(1, np.int32)
        checked(call("MPI_Is_thread_main", flag))
        if flag[0] == 0:
            raise RuntimeError("MPI was initialized for calls of the main thread alone, and another one calls")
    return call(name, *operands)


def an_int(x: Any) -> int:
    """An argument that mpi4py takes as an int of C's."""
    if not isinstance(x, (int, float, np.number, np.bool)):
        raise TypeError("an integer is required")
    number = int(x)
    if number != int(np.int64(number).astype(np.int32)):
        raise OverflowError("value too large to convert to int")
    return number


def an_index(x: Any) -> int:
    """A count or displacement."""
    if isinstance(x, (float, np.inexact)):
        raise TypeError(f"'{'float' if isinstance(x, float) else type(x).__name__}' object cannot be interpreted as an integer")
    if not isinstance(x, (int, np.integer, np.bool)):
        raise TypeError("an integer is required")
    return int(x)


def same_handles(one: int, other: int) -> bool:
    """Whether two handles are one: those of some libraries are the lower half of what is read."""
    return bool((one & value("HANDLE_MASK")) == (other & value("HANDLE_MASK")))


def datatype_of(datatype: Any) -> int:
    """The handle of a datatype, or of the letters of one."""
    if isinstance(datatype, str):
        if datatype not in MPI._typedict:
            raise KeyError(f"cannot map {datatype!r} to MPI datatype")
        return datatype_of(MPI._typedict[datatype])
    for known, name in CONSTANTS:
        if datatype is known:
            return value(name)
    return int(datatype._handle[0] & value("HANDLE_MASK"))


def is_datatype(x: Any) -> bool:
    return isinstance(x, (str, MPI.Datatype))


def parts_of(msg: Any, kinds: Any = (list, tuple)) -> tuple[Any, Any, Any, Any]:
    """Of a message the buffer, its count, where it begins in the buffer, and its datatype, or None.

    `kinds`: what a count and displacement together are in; of blocks of several counts a list is the counts.
    """
    if not isinstance(msg, (list, tuple)):
        return msg, None, None, None
    if len(msg) < 2 or len(msg) > 4:
        raise ValueError("message: expecting 2 to 4 items")
    if len(msg) == 4:
        return msg[0], msg[1], msg[2], msg[3]
    if len(msg) == 2 and is_datatype(msg[1]):
        return msg[0], None, None, msg[1]
    datatype = msg[2] if len(msg) == 3 else None
    if isinstance(msg[1], kinds):
        if len(msg[1]) > 2:
            raise ValueError("too many values to unpack (expected 2)")
        if len(msg[1]) < 2:
            raise ValueError(f"not enough values to unpack (expected 2, got {len(msg[1])})")
        return msg[0], msg[1][0], msg[1][1], datatype
    return msg[0], msg[1], None, datatype


def buffer_of(msg: Any) -> Any:
    return msg[0] if isinstance(msg, (list, tuple)) and len(msg) > 0 else msg


def is_in_place(msg: Any) -> bool:
    return not isinstance(msg, (tuple, list)) and msg is MPI.IN_PLACE


def array_of(buf: Any, writes: bool) -> Any:
    """The array of a buffer, of records that of their bytes."""
    if isinstance(buf, (bytearray, array.array, memoryview)):
        return buf.elements  # type: ignore[union-attr]
    if isinstance(buf, np.ndarray):
        return primitives.bytes_of(buf) if buf.dtype.names is not None else buf
    if isinstance(buf, np.generic):
        if writes:
            raise BufferError("scalar buffer is readonly")
        return np.array([buf])
    if isinstance(buf, bytes):
        primitives.refuse("bytes as a message", "send np.frombuffer(...) of them")
    raise TypeError("message: expecting buffer or list/tuple")


def is_without_gaps(x: Any) -> Any:
    return primitives.is_contiguous(x) or primitives.is_contiguous(x.T)


def need_contiguous(msg: Any) -> None:
    """Raises what mpi4py does for a buffer with gaps."""
    buf = buffer_of(msg)
    if isinstance(buf, np.ndarray) and not is_without_gaps(array_of(buf, False)):
        raise BufferError("dlpack: buffer is not contiguous")


def bytes_of_element(buf: Any) -> int:
    """How many elements of `array_of` make an element of a buffer: of records their bytes, else 1."""
    return buf.dtype.itemsize if isinstance(buf, np.ndarray) and buf.dtype.names is not None else 1


def packed(x: Any, reads: bool) -> Any:
    """The elements of an array in the order of memory; of one with gaps a new array of as many, with theirs if `reads`."""
    if primitives.is_contiguous(x):
        return primitives.reshape(x, (x.size,))
    if primitives.is_contiguous(x.T):
        return primitives.reshape(x.T, (x.size,))
    made = np.empty(x.size, x.dtype)
    if reads:
        primitives.reshape(made, x.shape)[...] = x
    return made


def unpack(whole: Any, elements: Any) -> None:
    """After a call has written `packed` of an array: puts it into an array with gaps."""
    if whole is not None and not is_without_gaps(whole):
        whole[...] = primitives.reshape(elements, whole.shape)


def extents_of(datatype: int) -> tuple[int, int]:
    """The bytes from an element of a datatype to the next one, and to the end of its memory."""
    four = np.zeros(4, np.int64)
    run("MPI_Type_get_extent", datatype, four, four[1:])
    run("MPI_Type_get_true_extent", datatype, four[2:], four[3:])
    if four[1] <= 0:
        raise ValueError(f"message: cannot infer count, datatype extent {four[1]} (lb:{four[0]}, ub:{four[0] + four[1]})")
    if four[2] < 0:
        raise ValueError(f"message: a datatype whose memory begins {-four[2]} bytes before it")
    return int(four[1]), int(four[2] + four[3])


def small(count: int) -> int:
    """A count, as MPI's functions take it."""
    if count > 2147483647:
        raise OverflowError(f"message: count {count} does not fit an int of C's: send parts, or elements of a larger datatype")
    return count


def sent_to(msg: Any, rank: int) -> tuple[Any, int, int, Any]:
    """A message to a rank. Nobody looks at one to no rank, which may be None."""
    if msg is None:
        if rank != value("PROC_NULL"):
            raise TypeError("message: expecting buffer or list/tuple")
        return np.empty(0, np.uint8), 0, value("BYTE"), None
    return message(msg)


def received_from(msg: Any, rank: int) -> tuple[Any, int, int, Any]:
    if msg is None:
        if rank != value("PROC_NULL"):
            raise TypeError("message: expecting buffer or list/tuple")
        return np.empty(0, np.uint8), 0, value("BYTE"), None
    return message(msg, writes=True, reads=True)


def message(msg: Any, blocks: int = 1, writes: bool = False, reads: bool = False) -> tuple[Any, int, int, Any]:
    """Of a message the memory, count and datatype that MPI's functions are given, and the array, for `unpack`.

    `blocks`: so many messages of this count are in the buffer. `reads`: of what is written, some elements may stay.
    """
    buf, count, displ, datatype = parts_of(msg)
    whole = array_of(buf, writes)
    if writes and primitives.may_be_read_only(whole):
        need_writable(whole)
    if datatype is None:
        return of_elements(buf, whole, count, displ, blocks, writes, reads)
    if not is_without_gaps(whole):
        raise BufferError("dlpack: buffer is not contiguous")
    return of_datatype(packed(whole, True), count, displ, datatype_of(datatype), blocks)


def need_writable(x: Any) -> None:
    try:
        primitives.need_writable(x, "")
    except ValueError:
        raise BufferError("dlpack: buffer is not writable") from None


def of_elements(buf: Any, whole: Any, count: Any, displ: Any, blocks: int, writes: bool, reads: bool) -> tuple[Any, int, int, Any]:
    """A message of the elements of an array, or of its records."""
    elements = packed(whole, reads or not writes)
    each = bytes_of_element(buf)
    first, length = bounds_of(count, displ, elements.size // each, blocks)
    datatype = value(DTYPES[whole.dtype.name]) if each == 1 else value("BYTE")
    return elements[first * each :], small(length * each), datatype, whole


def bounds_of(count: Any, displ: Any, size: int, blocks: int) -> tuple[int, int]:
    """Where a message begins in a buffer of so many elements, and how many it has, or each of its blocks."""
    first = 0 if displ is None else an_index(displ)
    if first < 0:
        raise ValueError(f"message: negative displacement {first}")
    if first > size:
        raise ValueError(f"message: displacement {first} out of bounds, number of datatype entries {size}")
    return first, count_of(count, size - first, blocks)


def count_of(count: Any, size: int, blocks: int) -> int:
    """How many elements each of some messages has, in a buffer of so many."""
    if count is None:
        if blocks < 2:
            return size
        if size % blocks != 0:
            raise ValueError(f"message: cannot infer count, number of entries {size} is not a multiple of required number of blocks {blocks}")
        return size // blocks
    given = an_index(count)
    if given < 0:
        raise ValueError(f"message: negative count {given}")
    if blocks > 1 and given * blocks > size:
        raise ValueError(f"message: buffer of {size} elements is too small for count {given} and {blocks} blocks")
    if given > size:
        raise ValueError(f"message: buffer of {size} elements is too small for count {given}")
    return given


def of_datatype(elements: Any, count: Any, displ: Any, datatype: int, blocks: int) -> tuple[Any, int, int, Any]:
    """A message of elements of a datatype that is given."""
    extent, end = extents_of(datatype)
    memory = elements.view(np.uint8)
    first = 0 if displ is None else an_index(displ)
    offset = first * extent
    if offset < 0:
        raise ValueError(f"message: negative displacement {first}")
    if offset > memory.size:
        raise ValueError(f"message: displacement {first} out of bounds, number of datatype entries {memory.size // extent}")
    length = memory.size - offset
    if count is None:
        if length % extent != 0:
            raise ValueError(f"message: cannot infer count, buffer length {length} is not a multiple of datatype extent {extent} (lb:0, ub:{extent})")
        given = count_of(None, length // extent, blocks)
    else:
        given = an_index(count)
        if given < 0:
            raise ValueError(f"message: negative count {given}")
    all_of_them = given * max(blocks, 1)
    if all_of_them > 0 and (all_of_them - 1) * extent + end > length:
        raise ValueError(f"message: buffer of {length} bytes is too small for count {given} of datatype extent {extent}")
    return memory[offset:], small(given), datatype, None


def counts_of(given: Any, blocks: int) -> Any:
    """Counts or displacements of each block, as MPI's functions take them."""
    made = np.empty(blocks, np.int32)
    if isinstance(given, (int, np.integer)):
        made[...] = small(int(given))
        return made
    numbers = np.asarray(given)
    if numbers.size != blocks:
        raise ValueError(f"expecting {blocks} items, got {numbers.size}")
    for i in range(blocks):
        made[i] = small(int(numbers[i]))
    return made


def vector(msg: Any, blocks: int, writes: bool = False) -> tuple[Any, Any, Any, int, Any]:
    """Of a message of blocks of several counts: memory, counts, displacements, datatype, and the array, for `unpack`."""
    buf, counts, displs, datatype = parts_of(msg, tuple)
    whole = array_of(buf, writes)
    if writes and primitives.may_be_read_only(whole):
        need_writable(whole)
    if bytes_of_element(buf) != 1:
        primitives.refuse("a message of records in blocks of several counts", "send an array of each field")
    elements = packed(whole, True)
    handle = value(DTYPES[whole.dtype.name])
    extent = end = whole.dtype.itemsize
    if datatype is not None:
        if not is_without_gaps(whole):
            raise BufferError("dlpack: buffer is not contiguous")
        handle = datatype_of(datatype)
        extent, end = extents_of(handle)
    length = elements.size * whole.dtype.itemsize
    of_blocks = np.empty(blocks, np.int32)
    if counts is None:
        size = length // extent
        if size * extent != length:
            raise ValueError(f"message: cannot infer count, buffer length {length} is not a multiple of datatype extent {extent} (lb:0, ub:{extent})")
        for i in range(blocks):
            of_blocks[i] = size // blocks + (1 if size % blocks > i else 0)
    else:
        of_blocks[...] = counts_of(counts, blocks)
    places = np.zeros(blocks, np.int32)
    if displs is None:
        for i in range(1, blocks):
            places[i] = places[i - 1] + of_blocks[i - 1]
    elif isinstance(displs, (int, np.integer)):
        for i in range(blocks):
            places[i] = small(int(displs) * i)
    else:
        places[...] = counts_of(displs, blocks)
    for i in range(blocks):
        count, place = int(of_blocks[i]), int(places[i])
        if count < 0:
            raise ValueError(f"message: negative count {count}")
        if count > 0 and (place < 0 or (place + count - 1) * extent + end > length):
            raise ValueError(f"message: buffer of {length} bytes is too small for count {count} at displacement {place} of datatype extent {extent}")
    return elements, of_blocks, places, handle, whole
