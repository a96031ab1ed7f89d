"""docs/ir.md has what is in the sources."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_docs_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/ir_docs.py", "--check"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_every_op_is_documented() -> None:
    cards = re.findall(r"^(?:OP|STRUCT)\((\w+),", (ROOT / "src/ir/ops.def").read_text(), flags=re.M)
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/ir.md").read_text(), flags=re.M)
    missing = {card.removesuffix("_") for card in cards} - set(rows)
    assert cards and not missing
