#!/usr/bin/env python3
"""Writes what distinguishes this build of Ingot from others: the digest of all files of the package that decide what is compiled.

    tools/build_identity.py FOLDER

Into FOLDER/_cache go `build`, the digest, and for a tree with links to its sources `build.files`, the digest of each file with
the size and the time that it had. ingot/_cache/identity.py reads them.
"""

import hashlib
import importlib.util
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "python" / "ingot" / "_cache" / "identity.py"


def digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def main(package: Path) -> None:
    spec = importlib.util.spec_from_file_location("identity", SOURCE)
    identity = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(identity)
    files = identity.files_of(str(package), {}, digest)
    (package / identity.DIGEST).write_text(identity.digest_of(files, digest).hex() + "\n")
    (package / identity.FILES).write_text(identity.as_text(files))


main(Path(sys.argv[1]))
