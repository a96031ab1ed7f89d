"""docs/numpy.md and the stubs of ingot.numpy list what the namespace has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_docs_and_stubs_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/numpy_docs.py", "--check"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
