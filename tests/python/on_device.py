"""A plugin of pytest's: `-p on_device` has tests run compiled functions on the software device instead of the host; on
the device that INGOT_ON_DEVICE names, if it is set. Of INGOT_DEVICE_SAMPLE tests one runs, drawn by its name.

Arguments are moved for each call, so that what `support.check` compares is what it compares on the host. Tests that
compile nothing by `support`, and those of EXCEPTIONS, are left out.
"""

import os
import re
import zlib

import pytest
import support
from ingot._calls.function import Function

DEVICE = os.environ.get("INGOT_ON_DEVICE", "emulated")
SAMPLE = int(os.environ.get("INGOT_DEVICE_SAMPLE", "1"))

COMPILES = ("check", "raises", "in_both_modes", "with_each", "jitted")
"""Functions of `support` by which a test's calls come here."""
TAKES = re.compile(rf"^from support import (?:\([^)]*|[^(\n]*)\b(?:{'|'.join(COMPILES)})\b", re.M)
"""What a file with such tests has in it."""

MEETS = "a loop on a device does not write into an array with an element in two places"
HOST = "looks at the passes of the host's loops"
PRODUCTS = "matrix products have another order on a device"

EXCEPTIONS = {
    "test_fusion.py::test_arrays_of_the_same_lengths_are_written_by_one_nest": HOST,
    "test_fusion.py::test_arrays_that_share_nothing_are_written_separately": HOST,
    "test_nests.py::test_loops_around_go_inside": HOST,
    "test_language_host.py::test_calls_are_in_the_order_of_the_program": "counts the calls of both modes",
    "test_numpy_linalg.py::test_numbers_of_matrices": PRODUCTS,
    "test_semantics.py::test_dot_is_numpys": PRODUCTS,
    "test_semantics_arrays.py::test_order_of_equal_elements": "sorts that need not be stable are stable on a device",
    "test_overlap.py::test_arrays_that_overlap_themselves_are_changed_as_numpys": MEETS,
    "test_overlap.py::test_loops_over_overlapping_arguments_have_pythons_order": "arrays of a device are aligned",
    "test_overlap.py::test_elements_at_one_location_have_masks_of_their_own": MEETS,
    "test_overlap.py::test_loops_that_store_through_windows": MEETS,
    "test_lanes.py::test_rows_that_share_elements": MEETS,
    "test_in_place.py::test_places_that_are_one": MEETS,
    "test_prange.py::test_an_array_may_have_an_element_in_two_places": MEETS,
    "test_semantics.py::test_layouts[misaligned]": "arrays of a device are aligned",
    "test_structured.py::test_packed_records": "fields of arrays on a device are aligned",
    "test_structured.py::test_odd_dtypes": "fields of arrays on a device are aligned",
    "test_floating_state.py": "calls on devices run in the default floating-point state",
    "test_large_containers.py": "a call on a device does not change lists of the caller's",
    "test_replay.py": "recordings are of the host's calls",
}
"""Tests that cannot hold on a device, and why: cases, or tests with all their cases."""


def on_the_device(function, mode="compiled"):
    return Function(function, mode=mode, device=DEVICE if mode == "compiled" else None)


support.jitted = on_the_device
support.check.__kwdefaults__["modes"] = ("compiled",)


def is_exception(item):
    file = item.path.name
    names = (file, f"{file}::{item.originalname}", f"{file}::{item.name}")
    return any(name in EXCEPTIONS for name in names)


def is_interpreted(item):
    """A case of the interpreter alone, which is the host's."""
    return hasattr(item, "callspec") and item.callspec.params.get("mode") == "interpreted"


def is_drawn(item):
    return zlib.crc32(f"{item.path.name}::{item.name}".encode()) % SAMPLE == 0


def pytest_ignore_collect(collection_path):
    """Files without such tests are not even imported."""
    if collection_path.match("test_*.py") and not TAKES.search(collection_path.read_text()):
        return True
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        compiles = any(getattr(item.module, name, None) is getattr(support, name) for name in COMPILES)
        is_here = compiles and not is_interpreted(item) and not is_exception(item) and is_drawn(item)
        (kept if is_here else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
