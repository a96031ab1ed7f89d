"""The extension that makes calls, as type checkers see it: the classes that Python's derive from. All else may be anything."""

from typing import Any

import numpy as np

class DeviceArray:
    """An array on a device. Its instances are those of `ingot.Array`, which defines `copy`, `device`, `flags` and `to_host`."""

    __slots__ = ("_address", "_handle", "_writable")
    _address: int
    _handle: Any
    _orders: tuple[bool, bool]
    _writable: bool
    @property
    def device(self) -> Any: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def flags(self) -> Any: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def copy(self) -> Any: ...
    def to_host(self) -> np.ndarray: ...

class Description:
    """What one argument is, or a result (`frontend/description.h`). `kind` is one of the class's numbers; the fields of
    each kind are attributes. Equal ones are equal for what is compiled.

    Of kinds without an entry there nothing in Python asks."""

    ABSENT: int
    ARGUMENT: int
    ARRAY: int
    CHARACTERS: int
    DEVICE: int
    DICT: int
    FOREIGN: int
    HOLDING: int
    INSTANCE: int
    LIST: int
    LIST_BUFFER: int
    MAPPING: int
    MAYBE: int
    MEMBER: int
    POOLED: int
    POOLS: int
    RECORDS: int
    SAME: int
    SCALAR: int
    STATIC: int
    TEXT: int
    TUPLE: int
    def __init__(self, kind: int, parts: tuple[Description, ...] = (), **fields: Any) -> None: ...
    @property
    def kind(self) -> int: ...
    @property
    def kind_name(self) -> str: ...
    @property
    def parts(self) -> tuple[Description, ...]: ...
    def __getattr__(self, name: str) -> Any: ...
    def with_objects(self, other: Any) -> Description: ...

def __getattr__(name: str) -> Any: ...
