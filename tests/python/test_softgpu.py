"""The software device as a project of its own: which of the driver's functions are where."""

import re
from pathlib import Path

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
