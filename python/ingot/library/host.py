"""Calls of functions in Python, which put their results where compiled code reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives


def nothing(function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    primitives.call_host(function, np.empty(0, np.bool), arguments)


def number(function: Callable[..., None], arguments: tuple[Any, ...], dtype: str, python: bool) -> Any:
    out = np.empty(1, dtype)
    primitives.call_host(function, out, arguments)
    return primitives.python_number(out[0]) if python else out[0]


def array(function: Callable[..., None], arguments: tuple[Any, ...], dtype: str, ndim: int, take: Callable[..., None]) -> np.ndarray:
    shape = np.empty(ndim + 1, np.int64)
    primitives.call_host(function, shape, arguments)
    result = np.empty(tuple([shape[k] for k in range(ndim)]), dtype)
    primitives.call_host(take, result, (shape[ndim],))
    return result
