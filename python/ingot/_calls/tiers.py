"""Kinds of code that one function may have: quick code at first, full code when that has paid.

Both have the same values, bit for bit. Full code is made by a thread that lives as long as there is something to make;
`docs/tiers.md` has the rules.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import _environment

TIERS = ("auto", "quick", "full")


class Tier(enum.IntEnum):
    QUICK = 0
    FULL = 1


def asked_for(tier: str) -> str:
    """What a function's `tier` and the environment's word come to."""
    return tier if tier != "auto" else {"off": "full", "quick": "quick"}.get(_environment.value_of("INGOT_TIERS"), "auto")


MUCH = 1 << 28


def is_long(leaves: Iterable[Any]) -> bool:
    """Whether arguments promise so much work that full code at once is quicker: elements times the largest int."""
    elements, iterations = 1, 1
    for leaf in leaves:
        if type(leaf) is int:
            iterations = max(iterations, leaf)
        elif isinstance(leaf, np.ndarray):
            elements += leaf.size
    return elements * iterations >= MUCH


class Worker:
    """Does jobs one after the other in a thread of its own, which ends when there are none."""

    def __init__(self) -> None:
        self._jobs: collections.deque[Callable[[], None]] = collections.deque()
        self._lock = threading.Lock()
        self._busy = threading.RLock()  # held while a job is being done
        self._is_held = False
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def submit(self, job: Callable[[], None]) -> bool:
        """False: no more jobs are done."""
        with self._lock:
            if self._is_closed:
                return False
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ingot-compiler", daemon=True)
                try:
                    self._thread.start()
                except (RuntimeError, MemoryError):  # there can be no more threads
                    self._thread = None
                    self._jobs.clear()
                    return False
        return True

    def wait(self) -> None:
        """Waits until no job is left."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs.popleft()
            with self._busy, contextlib.suppress(Exception):
                job()
            del job

    def close(self) -> None:
        """Ends the one job that it is at, and does no other."""
        with self._lock:
            self._is_closed = True
            self._jobs.clear()
        self.wait()

    def hold(self) -> None:
        """Before a fork: waits for the job that is being done, since locks that it has would stay locked in the child.

        Not for ever: it may wait for what the thread that forks has.
        """
        self._lock.acquire()
        self._is_held = self._busy.acquire(timeout=5.0)

    def go_on(self) -> None:
        if self._is_held:
            self._busy.release()
        self._lock.release()

    def renew(self) -> None:
        """In the child, where the thread is not."""
        self.__init__()  # type: ignore[misc]


worker = Worker()
