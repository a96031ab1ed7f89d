#!/usr/bin/env python3
"""Joins what `python -m ingot build` links into libraries to one object: all that compiled code and libraries call, and what
these functions need of other archives, the C++ library's among them. Each function keeps a section of its own, so that
libraries take what they use.

    tools/standalone_runtime.py FILE ARCHIVE...
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = re.compile(r"(\S+):[0-9a-f]+ [TDR] (ingot_\w+)$")
OURS = re.compile(r" U (_ZN?K?5ingot\w*|ingot_\w+)$", re.MULTILINE)
DEVICES = "device_calls.cpp.o"
"""The member whose functions code for CPUs alone never calls."""


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def roots(archives: list[str]) -> list[str]:
    """What has a name of C's."""
    found = (ROOT.match(line) for archive in archives for line in run("nm", "-A", "-g", "--defined-only", archive).splitlines())
    return sorted({match[2] for match in found if match and not match[1].endswith(f":{DEVICES}")})


def main(file: str, *archives: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        joined = Path(folder) / "joined.o"
        listed = Path(folder) / "arguments"
        listed.write_text("".join(f"--undefined={name}\n" for name in roots([*archives])) + "".join(f'"{a}"\n' for a in archives))
        run("ld", "-r", "--gc-sections", "--force-group-allocation", "-o", str(joined), f"@{listed}")
        if missing := OURS.findall(run("nm", "-u", str(joined))):
            print(f"no archive has {', '.join(missing)}", file=sys.stderr)
            return 1
        Path(file).write_bytes(joined.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
