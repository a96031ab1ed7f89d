"""What tells one build of Ingot from others: the contents of its files.

The build writes their digest down (tools/build_identity.py). An installed package is what it was when it was built. In a tree
whose files are links to sources, which are edited without a build, each file is looked at: one of another size or time than
the build has seen is read.
"""

from __future__ import annotations

import json
import os

PACKAGE = os.path.dirname(os.path.dirname(__file__))
DIGEST = "_cache/build"
FILES = "_cache/build.files"

Files = dict[str, tuple[int, int, str]]
"""By their paths in the package: size, time of the last change, and digest of the content."""


def files_of(folder: str, known: Files, inside: str = "") -> Files:
    """The files in a folder that decide what is compiled. Those that are as they were `known` are not read."""
    import hashlib  # which an installed package does without

    found: Files = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name = inside + entry.name
            if entry.name.endswith((".py", ".so", ".bin")):
                status = entry.stat()
                place = (status.st_size, status.st_mtime_ns)
                before = known.get(name)
                if before is None or tuple(before[:2]) != place:
                    with open(entry.path, "rb") as file:
                        before = (*place, hashlib.file_digest(file, "sha256").hexdigest())
                found[name] = before
            elif entry.name != "__pycache__" and entry.is_dir():
                found |= files_of(entry.path, known, f"{name}/")
    return found


def digest_of(files: Files) -> str:
    import hashlib

    return hashlib.sha256("".join(f"{name} {files[name][2]}\n" for name in sorted(files)).encode()).hexdigest()


_seen: Files = {}


def build() -> bytes:
    """The digest of this build, as its files are now."""
    if not os.path.islink(os.path.join(PACKAGE, "__init__.py")):
        try:
            with open(os.path.join(PACKAGE, DIGEST)) as file:
                return bytes.fromhex(file.read())
        except (OSError, ValueError):  # it was not made by the build
            pass
    global _seen
    if not _seen:
        try:
            with open(os.path.join(PACKAGE, FILES)) as file:
                _seen = json.load(file)
        except (OSError, ValueError):
            _seen = {}
    _seen = files_of(PACKAGE, _seen)
    return bytes.fromhex(digest_of(_seen))
