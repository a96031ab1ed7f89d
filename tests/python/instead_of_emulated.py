"""A plugin of pytest's: `-p instead_of_emulated` has tests that ask for the software device get the device that
INGOT_TEST_DEVICE names; those that speak of the software device by its name, start processes, or are marked `scheduled`, are
skipped.
"""

import inspect
import os
import re

import pytest
from ingot import _devices

KIND = os.environ.get("INGOT_TEST_DEVICE", "emulated").partition(":")[0]
NAMES = re.compile(r"emulated:|\"emulated\"|INGOT_EMULATOR|subprocess|sys\.executable")
of_kind = _devices._of_kind
_devices._of_kind = lambda kind: of_kind(KIND if kind == "emulated" else kind)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    if KIND == "emulated":
        return
    for item in items:
        if NAMES.search(inspect.getsource(item.function)) or item.get_closest_marker("scheduled"):
            item.add_marker(pytest.mark.skip(reason="is of the software device alone"))
