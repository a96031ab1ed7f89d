"""The folder that compiled code is stored in: one file an entry, read and written so that nothing that happens to it does harm.

A file has a header - a magic number, the format's version, the digest of its key, length and SHA-256 of what follows - and
is used only if all of that holds. It is written under another name and then renamed, so that processes see whole files or
none. What cannot be read is as if it were not there, and is written again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import struct
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from .. import _ingot
from .._environment import value_of

MAGIC = b"INGOTCCH"
VERSION = 1
SUFFIX = ".ingot"
MOST_BYTES = 256 << 20  # of one file
_HEADER = struct.Struct("<8sI4x32sQ32s")
_NAME = r"[0-9a-f]{64}\.ingot"  # patterns are compiled when they are first used
_TEMPORARY = r"\.[0-9a-f]{16}\.new"
_CLAIMS = ".claims"  # an empty file, on whose bytes processes have locks (`claims`)
_ABANDONED = 3600.0  # seconds after which a file that was not renamed is nobody's
_USED_AGAIN = 3600.0  # seconds after which a use is noted again
_WORTH_A_WARNING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(OSError):
    """A folder that others can write into, or that is somebody else's."""


class Found(NamedTuple):
    """A file of the folder."""

    name: str
    size: int
    used: float
    """When it was used last, in seconds since 1970."""


def where() -> str:
    """The folder that the environment names: INGOT_CACHE_DIR, else `ingot` in the user's folder for caches."""
    if own := value_of("INGOT_CACHE_DIR"):
        return own
    caches = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(caches if os.path.isabs(caches) else os.path.expanduser("~/.cache"), "ingot")


def limit() -> int:
    """The bytes that files may take in all."""
    return value_of("INGOT_CACHE_LIMIT")


def is_on() -> bool:
    """Whether the environment wants code to be stored."""
    return value_of("INGOT_CACHE")


class Folder:
    """The entries in a folder, by digests of 32 bytes. Methods may be called by several threads and processes at once."""

    def __init__(self, path: str | os.PathLike, most: int) -> None:
        self.path = os.path.join(path, f"v{VERSION}")
        self.limit = most
        self._descriptor = -1
        self._size = -1  # of all files, as far as is known; below 0: not known
        self._written = 0
        self._looks_soon = os.urandom(1)[0] % 32 == 0  # looking at all files takes long where there are many
        self._warned = False

    def read(self, key: bytes) -> bytes | None:
        """What is stored under a key; None: nothing that can be used."""
        try:
            return self._read(key)
        except (OSError, MemoryError):
            return None

    def write(self, key: bytes, content: bytes) -> bool:
        """Stores something, in place of what was there. False: it could not be stored, of which the user is warned once."""
        if len(content) > min(MOST_BYTES, self.limit):
            return False
        try:
            try:
                self._write(key, content)
            except FileNotFoundError:  # somebody has removed the folder
                self._close()
                self._write(key, content)
        except OSError as error:
            self._warn(error)
            return False
        self._written += len(content) + _HEADER.size
        self._size += len(content) + _HEADER.size if self._size >= 0 else 0
        with contextlib.suppress(OSError):
            self._trim()
        return True

    def files(self) -> Iterator[Found]:
        """The files that entries are in. OSError: the folder cannot be read."""
        for name, status in self._listed():
            if re.fullmatch(_NAME, name):
                yield Found(name, status.st_size, status.st_mtime)

    def is_whole(self, name: str) -> bool:
        """Whether a file holds what was stored in it."""
        try:
            return self._read(bytes.fromhex(name.removesuffix(SUFFIX)), is_use=False) is not None
        except (OSError, MemoryError):
            return False

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._open())
        self._size = -1

    def clear(self) -> int:
        """Removes all that Ingot has stored; the number of entries."""
        count = 0
        for name, _ in list(self._listed()):
            if re.fullmatch(_NAME, name) or re.fullmatch(_TEMPORARY, name) or name == _CLAIMS:
                self.remove(name)
                count += name.endswith(SUFFIX)
        return count

    def open_claims(self) -> int:
        """A descriptor of the file for claims, which is made if need be. OSError: it cannot be had."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(_CLAIMS, flags, 0o600, dir_fd=self._open(make=True))
        except FileNotFoundError:  # somebody has removed the folder
            self._close()
            return os.open(_CLAIMS, flags, 0o600, dir_fd=self._open(make=True))

    def _open(self, make: bool = False) -> int:
        """The folder's descriptor. OSError: there is none that is this user's alone to write into."""
        if self._descriptor >= 0:
            return self._descriptor
        if make:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path, mode=0o700)
        descriptor = os.open(self.path, _FOLDER)
        try:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid():
                raise Refused(errno.EPERM, "the folder is another user's", self.path)
            if status.st_mode & 0o022:
                raise Refused(errno.EPERM, "others may write into the folder", self.path)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _read(self, key: bytes, is_use: bool = True) -> bytes | None:
        name = key.hex() + SUFFIX
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._open())
        try:
            status = os.fstat(descriptor)
            is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if not is_own or not _HEADER.size <= status.st_size <= MOST_BYTES + _HEADER.size:
                return None
            whole = _read_whole(descriptor, status.st_size)
            if is_use and time.time() - status.st_mtime > _USED_AGAIN:
                with contextlib.suppress(OSError):
                    os.utime(descriptor)
        finally:
            os.close(descriptor)
        if len(whole) < _HEADER.size:
            return None
        magic, version, own, length, digest = _HEADER.unpack_from(whole)
        content = whole[_HEADER.size :]
        if (magic, version, own, length) != (MAGIC, VERSION, key, len(content)) or digest != _ingot.digest(content):
            return None
        return content

    def _write(self, key: bytes, content: bytes) -> None:
        folder = self._open(make=True)
        name = f".{os.urandom(8).hex()}.new"
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            try:
                _write_whole(descriptor, _HEADER.pack(MAGIC, VERSION, key, len(content), _ingot.digest(content)) + content)
            finally:
                os.close(descriptor)
            os.rename(name, key.hex() + SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise

    def _listed(self) -> Iterator[tuple[str, os.stat_result]]:
        folder = self._open()
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)

    def _trim(self) -> None:
        """Where files take more than they may, removes those that were used least recently, to three quarters of it.

        One process in 32 looks at all files at once, others when they have written much of what may be there.
        """
        is_unknown = self._size < 0
        if is_unknown and not self._looks_soon and self._written < self.limit // 64 or 0 <= self._size <= self.limit:
            return
        found = []
        for name, status in self._listed():
            if re.fullmatch(_NAME, name):
                found.append(Found(name, status.st_size, status.st_mtime))
            elif re.fullmatch(_TEMPORARY, name) and time.time() - status.st_mtime > _ABANDONED:
                self.remove(name)
        size = sum(each.size for each in found)
        if size > self.limit:
            for each in sorted(found, key=lambda each: each.used):
                if size <= self.limit * 3 // 4:
                    break
                self.remove(each.name)
                size -= each.size
        self._size = size

    def _warn(self, error: OSError) -> None:
        if self._warned or error.errno not in _WORTH_A_WARNING:
            return
        self._warned = True
        with contextlib.suppress(Warning):  # which filters may have made an error
            reason = error.strerror or str(error)
            warnings.warn(f"compiled code is not stored in {self.path}: {reason}; INGOT_CACHE=off switches storing off", RuntimeWarning, stacklevel=2)


def _read_whole(descriptor: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write_whole(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
