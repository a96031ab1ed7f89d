"""The software device as a project of its own: which of the driver's functions are where, and Ingot without it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ingot

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "softgpu" / "driver"


def defined(folder):
    """The functions of the driver that the sources of a folder define."""
    functions = [name for path in sorted(folder.glob("*.cpp")) for name in re.findall(r"^SOFTGPU_API (\w+)\([^;{]*\{", path.read_text(), re.M)]
    assert len(functions) == len(set(functions))
    return set(functions)


def test_functions_that_ingot_calls_are_separate_from_those_for_other_programs():
    called = set(re.findall(r'"(cu\w+)"', (ROOT / "src" / "devices" / "cuda_driver.h").read_text()))
    own = {name for name in defined(DRIVER) if name.startswith("ingot_emulator_")}
    assert {path.name for path in DRIVER.glob("*.cpp") if "ingot_emulator_" in path.read_text()} == {"reports.cpp"}
    assert defined(DRIVER) - own == called and len(called) > 60
    others = defined(DRIVER / "others")
    assert not others & called and len(others) > len(called)


def test_every_function_has_a_form_in_the_table_of_names():
    table = set(re.findall(r"^FUNCTION\(\w+, (\w+), \d+\)", (DRIVER / "others" / "functions.def").read_text(), re.M))
    functions = {name for name in defined(DRIVER) | defined(DRIVER / "others") if name.startswith("cu")}
    older = functions - table
    assert table <= functions
    # Older forms are found by their symbols alone.
    assert older == {name for name in older if f"{name}_v2" in table}


def test_a_package_without_it_names_what_is_missing(tmp_path):
    package = Path(ingot.__file__).parent
    (tmp_path / "ingot").mkdir()
    for path in package.iterdir():
        if path.name.startswith("_ingot."):
            shutil.copy(path, tmp_path / "ingot")
        elif path.name != "softgpu":
            (tmp_path / "ingot" / path.name).symlink_to(path)
    text = """
import ingot, numpy as np
print(ingot.jit(lambda x: (x * 2).sum())(np.ones(3)), ingot.devices("emulated"))
try:
    ingot.device("emulated")
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", text], env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    first, second = done.stdout.splitlines()
    assert first == "6.0 []", done.stderr
    assert second.startswith("there is no device emulated:0: this build of Ingot has no software device: no softgpu/libcuda.so.1 is next to ")
    assert "INGOT_SOFTGPU=ON" in second and "cmake -S softgpu" in second
