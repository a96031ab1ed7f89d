"""Which process compiles what several want at once: the first one, for which the others wait, but not for ever.

A claim is a lock on one byte of an empty file in the cache's folder. It is advice alone: a process that cannot have it - no file, no
locks in that file system, another that holds it for too long - compiles for itself. The locks are POSIX's, which the system takes back
when a process ends, however it does, and which a child that is forked off does not have.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator

from .folder import Folder

_IS_HELD = {errno.EACCES, errno.EAGAIN}
_FIRST, _FULL = 0, 1
_SHORTEST, _LONGEST = 0.001, 0.02
"""Seconds between two looks at a lock that another process holds."""


class Claims:
    """The claims of a process in a folder. `most` is how many seconds it waits for another; 0: there are no claims."""

    def __init__(self, folder: Folder, most: float) -> None:
        self.most = most
        self._folder = folder
        self._descriptor = -1
        self._identity = (0, 0)
        self._lock = threading.Lock()
        self._held: dict[int, int] = {}  # the threads that have claimed places

    @contextlib.contextmanager
    def first(self, key: bytes) -> Iterator[None]:
        """Claims a key; where another process has it, waits until that is done, or has ended, and then claims nothing.

        So nobody waits for one process after the other: what the first one has not stored is compiled by all others at once.
        """
        place = _place(key, _FIRST)
        is_held = self._take(place)
        try:
            if is_held is False and self._may_wait:
                self._wait(place)
            yield
        finally:
            if is_held:
                self._give_back(place)

    @contextlib.contextmanager
    def full(self, key: bytes) -> Iterator[bool]:
        """Claims the full code of a key, and waits for nobody. Given is whether another process has it."""
        place = _place(key, _FULL)
        is_held = self._take(place)
        try:
            yield is_held is False
        finally:
            if is_held:
                self._give_back(place)

    def renew(self) -> None:
        """In a child that was forked off, whose parent's claims are not its own."""
        self._lock = threading.Lock()
        self._held = {}

    @property
    def _may_wait(self) -> bool:
        """Not while this thread has a claim, for which the other may be waiting. For full code nobody waits."""
        own = threading.get_ident()
        return not any(thread == own and not place & _FULL for place, thread in tuple(self._held.items()))

    def _take(self, place: int) -> bool | None:
        """Whether a lock was taken; False: another process has it; None: locks cannot be had, or this process has it."""
        if self.most <= 0:
            return None
        with self._lock:
            if place in self._held:
                return None
            try:
                fcntl.lockf(self._file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except OSError as error:
                return False if error.errno in _IS_HELD and self._descriptor >= 0 else None
            except MemoryError:
                return None
            self._held[place] = threading.get_ident()
            return True

    def _give_back(self, place: int) -> None:
        with self._lock:
            if self._held.pop(place, None) is not None and self._is_ours():
                with contextlib.suppress(OSError):
                    fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)

    def _wait(self, place: int) -> None:
        end, pause = time.monotonic() + self.most, _SHORTEST
        while time.monotonic() < end:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
            is_held = self._take(place)
            if is_held is not False:
                if is_held:
                    self._give_back(place)
                return

    def _file(self) -> int:
        """The file's descriptor. It stays open, since closing any of the file gives back all of the process's locks on it."""
        if self._descriptor >= 0 and not self._is_ours():
            self._descriptor = -1
        if self._descriptor >= 0 and not self._held and os.fstat(self._descriptor).st_nlink == 0:  # somebody has removed it
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
        if self._descriptor < 0:
            descriptor = self._folder.open_claims()
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                os.close(descriptor)
                raise OSError(errno.EPERM, "no file of this user's")
            self._descriptor, self._identity = descriptor, (status.st_dev, status.st_ino)
        return self._descriptor

    def _is_ours(self) -> bool:
        """Whether the descriptor is that of the file still: somebody may have closed it, and opened another file under its number."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


def _place(key: bytes, kind: int) -> int:
    """The byte of the file that stands for a key."""
    return int.from_bytes(key[:8], "little") >> 2 << 1 | kind
