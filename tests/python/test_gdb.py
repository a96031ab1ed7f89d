"""What gdb sees of functions that Python has compiled."""

import os
import re
import subprocess
import sys

import pytest
from ingot import _core, _ingot

PROGRAM = """
import ctypes, ingot, numpy as np

@ingot.jit
def crash_here(x):
    s = 0.0
    for v in x:
        s += v
    return s

crash_here(np.ones(3))
page = np.lib.stride_tricks.as_strided(np.ones(1), (2,), (1 << 46,))
crash_here(page)
"""


GDB = {"__jit_debug_descriptor", "__jit_debug_register_code"}


@pytest.mark.parametrize("module, others", [(_ingot, GDB), (_core, set())])
def test_binaries_export_no_more_than_others_need(module, others):
    # Local symbols in the dynamic table only number the thread-local variables.
    words = ["nm", "-D", "--defined-only", "--extern-only", module.__file__]
    shown = subprocess.run(words, capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in shown.stdout.splitlines()}
    own = module.__name__.split(".")[-1]
    assert names - {f"PyInit_{own}"} == others


@pytest.mark.rotated(3)
def test_gdb_names_the_compiled_function(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    environment = {**os.environ, "INGOT_GDB": "1"}
    if (preload := environment.pop("LD_PRELOAD", None)) is not None:  # for the program, not for gdb
        command += ["-ex", f"set environment LD_PRELOAD {preload}"]
    command += ["-ex", "run", "-ex", "bt 4"]
    done = subprocess.run(
        [*command, "--args", sys.executable, program], env=environment, capture_output=True, text=True, timeout=300
    )
    if "Could not trace the inferior" in done.stderr:
        pytest.skip("this machine does not let programs be traced")
    assert re.search(r"#0  0x\w+ in ingot_\w*crash_here ?\(", done.stdout), done.stdout + done.stderr
