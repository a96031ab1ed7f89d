"""Lists in other containers: `headers` has the start, length and capacity of each in `store`."""

from __future__ import annotations

from typing import Any

import numpy as np


def enter(headers: list[Any], store: list[Any], elements: list[Any]) -> int:
    """The number of a new list of these elements."""
    start = len(store)
    for element in elements:
        store.append(element)
    size = len(store) - start
    headers.append((start, size, size))
    return len(headers) - 1


def append(headers: list[Any], store: list[Any], number: int, element: Any, /) -> None:
    start, size, room = headers[number]
    if size == room:
        if start + room != len(store):
            end = len(store)
            for k in range(start, start + size):
                store.append(store[k])
            start = end
        for _ in range(max(size, 4)):
            store.append(element)
        room = len(store) - start
    store[start + size] = element
    headers[number] = (start, size + 1, room)


def pop(headers: list[Any], store: list[Any], number: int, /) -> Any:
    start, size, room = headers[number]
    if size == 0:
        raise IndexError("pop from empty list")
    headers[number] = (start, size - 1, room)
    return store[start + size - 1]


def clear(headers: list[Any], store: list[Any], number: int, /) -> None:
    start, size, room = headers[number]
    headers[number] = (start, 0, room)


def iterated(self: list[Any], place: int = 0) -> Any:
    while place < len(self):
        yield self[place]
        place += 1


def array(rows: list[Any], dtype: Any) -> np.ndarray:
    """As `np.array(rows)`, of at least one row."""
    columns = len(rows[0])
    for row in rows:
        if len(row) != columns:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions. "
                f"The detected shape was ({len(rows)},) + inhomogeneous part."
            )
    result = np.empty((len(rows), columns), dtype)
    for i in range(len(rows)):
        for k in range(columns):
            result[i, k] = rows[i][k]
    return result


def stacked(arrays: list[Any], dtype: Any) -> np.ndarray:
    """As `np.array(arrays)`, of at least one array; they have as many axes."""
    shape = arrays[0].shape
    for array in arrays:
        for k in range(len(shape)):
            if array.shape[k] != shape[k]:
                raise ValueError(
                    "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
                    f"{k + 1} dimensions. The detected shape was {(len(arrays), *shape[:k])} + inhomogeneous part."
                )
    result = np.empty((len(arrays), *shape), dtype)
    for i in range(len(arrays)):
        result[i] = arrays[i]
    return result
