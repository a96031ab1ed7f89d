"""Processes that share a cache on disk, for its tests."""

import json
import os
import subprocess
import sys

HEAD = """
import json, sys
import numpy as np
import ingot
"""


def environment(folder, **variables):
    """The environment of a process whose cache is in a folder."""
    return os.environ | {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(folder), "INGOT_TIERS": "off"} | variables


def run(folder, script, *arguments, cwd=None, check=True, **variables):
    """What a script prints last, read as JSON, in a process of its own."""
    command = [sys.executable, "-c", HEAD + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(folder, **variables), cwd=cwd, timeout=120)
    if check:
        assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
