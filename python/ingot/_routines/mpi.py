"""The MPI library that mpi4py has loaded, as compiled code asks for it: its functions by name, its constants by number.

Functions are found in mpi4py's own shared object and what that depends on, so nothing is built for an MPI. No handle is
part of compiled code: datatypes and ops are asked for when it runs (`value`), in each process anew.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from typing import Any

from .. import _ingot
from .._errors import UnsupportedError
from . import exits

DTYPES = {
    "bool": "C_BOOL", "int8": "INT8_T", "int16": "INT16_T", "int32": "INT32_T", "int64": "INT64_T",
    "uint8": "UINT8_T", "uint16": "UINT16_T", "uint32": "UINT32_T", "uint64": "UINT64_T", "float16": "DATATYPE_NULL",
    "float32": "FLOAT", "float64": "DOUBLE", "complex64": "C_FLOAT_COMPLEX", "complex128": "C_DOUBLE_COMPLEX",
}  # fmt: skip
"""The datatypes of MPI for dtypes of NumPy's, under mpi4py's names."""

OPS = ("SUM", "PROD", "MIN", "MAX", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MINLOC", "MAXLOC", "REPLACE", "NO_OP")
_OWN = (
    "STATUS_IGNORE",  # the address of a status that nobody reads
    "NEED_MAIN_THREAD",  # 1: MPI's functions may be called by the main thread alone
    "SOURCE", "TAG", "ERROR",  # where a status has them, in ints
    "TAG_UB",  # the largest tag
    "HANDLE_MASK",  # the bits of a handle, of the eight bytes that compiled code has for it
)  # fmt: skip

_OTHER_DATATYPES = (
    "CHAR", "WCHAR", "SIGNED_CHAR", "SHORT", "INT", "LONG", "LONG_LONG", "UNSIGNED_CHAR", "UNSIGNED_SHORT", "UNSIGNED",
    "UNSIGNED_LONG", "UNSIGNED_LONG_LONG", "LONG_DOUBLE", "C_LONG_DOUBLE_COMPLEX", "AINT", "OFFSET", "COUNT", "PACKED",
    "INT_INT", "SHORT_INT", "LONG_INT", "FLOAT_INT", "DOUBLE_INT", "LONG_DOUBLE_INT",
)  # fmt: skip
DATATYPES = (*dict.fromkeys((*DTYPES.values(), "BYTE", *_OTHER_DATATYPES)),)
"""MPI's own, by mpi4py's names, which they may have several of."""

_addresses: dict[str, int] = {}
_ignored = (ctypes.c_int * 64)()


def module() -> Any:
    """`mpi4py.MPI`, which is loaded where there is an object of it."""
    return sys.modules["mpi4py.MPI"]


def constants() -> list[Any]:
    """The objects of mpi4py's that stand for themselves in compiled code."""
    mpi = sys.modules.get("mpi4py.MPI")
    found = [getattr(mpi, name, None) for name in (*DATATYPES, *OPS, "IN_PLACE", "BOTTOM")]
    return [each for each in found if each is not None]


def name_of(constant: Any) -> str | None:
    """The name that mpi4py's module has one of these under; None: it is none."""
    mpi = module()
    return next((name for name in (*DATATYPES, *OPS, "IN_PLACE", "BOTTOM") if getattr(mpi, name, None) is constant), None)


def handle_of(held: Any) -> int:
    """What an object of mpi4py's holds."""
    mpi = module()
    width = ctypes.c_int if mpi._sizeof(held) == 4 else ctypes.c_int64
    return int(width.from_address(mpi._addressof(held)).value)


_held: dict[int, tuple[Any, tuple[Any, ...]]] = {}


def hold(request: Any, buffers: tuple[Any, ...]) -> None:
    """Keeps buffers as long as a request of mpi4py's lives."""
    number = id(request)
    _held[number] = (weakref.ref(request, lambda _: _held.pop(number, None)), buffers)


def address_of(name: str) -> tuple[int, int]:
    """The address of one of the library's functions, or of those of `bindings/mpi.h`. From the first on, `exits` watches for exceptions."""
    if not _addresses:
        own = [_function(each) for each in ("MPI_Test", "MPI_Cancel", "MPI_Wait")]
        _addresses.update(_ingot.set_mpi(*own))
        exits.watch()
    if name not in _addresses:
        _addresses[name] = _function(name)
    return _addresses[name], 0


def _function(name: str) -> int:
    # What mpi4py's shared object depends on is searched, too, however it was loaded.
    function = getattr(ctypes.CDLL(module().__file__), name, None)
    if function is None:
        version = module().Get_library_version().split(",")[0]
        raise UnsupportedError(f"`{name}`, which the MPI library ({version}) does not have, is not supported\n  instead: use a newer library")
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def value_of(name: str) -> tuple[int, int]:
    """A constant: of an object its handle."""
    mpi = module()
    if name in _OWN:
        return 0, _own_value(mpi, name) & (2**64 - 1)
    found = getattr(mpi, name, None)
    if found is None:
        found = mpi.OP_NULL if name in OPS else mpi.DATATYPE_NULL
    is_number = isinstance(found, int) or name in ("IN_PLACE", "BOTTOM")
    return 0, (int(found) if is_number else handle_of(found)) & (2**64 - 1)


def _own_value(mpi: Any, name: str) -> int:
    if name == "STATUS_IGNORE":
        return ctypes.addressof(_ignored)
    if name == "NEED_MAIN_THREAD":
        return int(mpi.Query_thread() < mpi.THREAD_SERIALIZED)
    if name == "TAG_UB":
        return int(mpi.COMM_WORLD.Get_attr(mpi.TAG_UB))
    if name == "HANDLE_MASK":
        return 2**32 - 1 if mpi._sizeof(mpi.COMM_SELF) == 4 else -1
    return _place_in_status(mpi, name.capitalize())


def _place_in_status(mpi: Any, name: str) -> int:
    """Where a status has its source, tag or error: the one int that setting it changes."""
    status = mpi.Status()
    count = mpi._sizeof(status) // 4
    ints = (ctypes.c_int * count).from_address(mpi._addressof(status))
    places = set(range(count))
    for number in (1, 2):
        getattr(status, f"Set_{name.lower()}")(number)
        places &= {i for i in range(count) if ints[i] == number}
    return places.pop()
