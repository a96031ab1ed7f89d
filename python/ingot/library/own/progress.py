"""`ingot.progress` in compiled code: loops that count their iterations for a bar."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot._host.progress as public
from ingot._host.progress import advance_host, begin_host, end_host

from ..registry import implements


@implements(public.progress)
def progress(iterable: Any, /, label: str = "", total: Any = None) -> Any:
    if isinstance(iterable, range):
        return _by_strips(iterable, label, len(iterable) if total is None else total)
    if total is None:
        total = len(iterable) if isinstance(iterable, (np.ndarray, list, tuple, dict, set, frozenset, str)) else -1
    return _one_by_one(iterable, label, total)


def _by_strips(numbers: range, label: str, total: Any) -> Any:
    """The iterations between two calls are a loop of their own, so that they are compiled as if nobody counted. What leaves
    the loop early ends the bar when the call of the compiled function ends (`_progress.bars_of_a_call`)."""
    size = len(numbers) + len(numbers[:0])  # a part of `prange` is refused; one that is longer may end beyond 64 bits
    number = begin_host(total, label)
    done, step, first = 0, 1, numbers.start
    while done < size:
        count = min(step, size - done)
        end = numbers.stop if count == size - done else first + count * numbers.step
        for value in range(first, end, numbers.step):
            yield value
        done += count
        first = end
        step = advance_host(number, done)
    end_host(number, done)


def _one_by_one(iterable: Any, label: str, total: Any) -> Any:
    number = begin_host(total, label)
    done, next_call = 0, 1
    for value in iterable:
        yield value
        done += 1
        if done == next_call:
            next_call = done + advance_host(number, done)
    end_host(number, done)
