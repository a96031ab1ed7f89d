"""The test programs that a build has made."""

import functools
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def find_program(name: str) -> Path:
    """The program that the variable INGOT_NAME names; without one that of the build whose package PYTHONPATH names, or
    else the newest under build/."""
    variable = f"INGOT_{name.upper().replace('-', '_')}"
    if named := os.environ.get(variable):
        path = Path(named)
        if not path.is_file():
            pytest.fail(f"{variable} names no file: {named}")
        return path.resolve()
    own = Path(os.environ.get("PYTHONPATH", "")).parent
    builds = [own] if (own / "CMakeCache.txt").is_file() else ROOT.glob("build/*")
    found = [path for build in builds for path in build.glob(f"**/{name}") if path.is_file()]
    if not found:
        pytest.fail(f"no {name}: build that target (INGOT_TESTS=ON), or name the program in {variable}")
    return max(found, key=lambda path: path.stat().st_mtime)
