"""What distinguishes one build of Ingot from others: the contents of its files.

The build writes their digest down (tools/build_identity.py). An installed package is what it was when it was built. In a tree
whose files are links to sources, which are edited without a build, each file is looked at: one of another size or time than
the build has seen is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable

PACKAGE = os.path.dirname(os.path.dirname(__file__))
DIGEST = "_cache/build"
FILES = "_cache/build.files"

Digest = Callable[[bytes], bytes]
Files = dict[str, tuple[int, int, bytes]]
"""By their paths in the package: size, time of the last change, and digest of the content."""


def files_of(folder: str, known: Files, digest: Digest, inside: str = "") -> Files:
    """The files in a folder that decide what is compiled. Those that are as they were `known` are not read."""
    found: Files = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name = inside + entry.name
            if entry.name.endswith((".py", ".so", ".bin")):
                try:
                    status = entry.stat()
                except FileNotFoundError:  # a link's file may have gone
                    continue
                size, time, content = known.get(name, (-1, 0, b""))
                if (size, time) != (status.st_size, status.st_mtime_ns):
                    with open(entry.path, "rb") as file:
                        content = digest(file.read())
                found[name] = (status.st_size, status.st_mtime_ns, content)
            elif entry.name != "__pycache__" and entry.is_dir():
                found |= files_of(entry.path, known, digest, f"{name}/")
    return found


def digest_of(files: Files, digest: Digest) -> bytes:
    return digest("".join(f"{files[name][2].hex()} {name}\n" for name in sorted(files)).encode())


def as_text(files: Files) -> str:
    return "".join(f"{size} {time} {content.hex()} {name}\n" for name, (size, time, content) in sorted(files.items()))


def from_text(text: str) -> Files:
    """ValueError: it is none of `as_text`."""
    lines = (line.split(" ", 3) for line in text.splitlines())
    return {name: (int(size), int(time), bytes.fromhex(content)) for size, time, content, name in lines}


_seen: Files = {}
_digest = b""
"""Of the files as they were seen."""


def build(digest: Digest) -> bytes:
    """The digest of this build, as its files are now."""
    if not os.path.islink(os.path.join(PACKAGE, "__init__.py")):
        try:
            return bytes.fromhex(_text(DIGEST))
        except (OSError, ValueError):  # it was not made by the build
            pass
    global _digest, _seen
    if not _seen:
        try:
            _seen = from_text(_text(FILES))
        except (OSError, ValueError):
            _seen = {}
    files = files_of(PACKAGE, _seen, digest)
    if files != _seen or not _digest:
        _seen, _digest = files, digest_of(files, digest)
    return _digest


def _text(name: str) -> str:
    with open(os.path.join(PACKAGE, name)) as file:
        return file.read()
