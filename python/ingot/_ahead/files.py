"""Moves what is made to where it belongs."""

import os
import shutil
from pathlib import Path


def put(file: Path, place: Path) -> Path:
    """Moves a file to where it belongs at once: programs that have opened the one before keep it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        shutil.copy(file, beside)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
    return place
