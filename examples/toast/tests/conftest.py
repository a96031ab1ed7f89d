"""The package is imported from the folder above, and compiled code is made when it is asked for, not kept."""

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("INGOT_CACHE", "off")
os.environ.setdefault("INGOT_TIERS", "quick")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A folder of all processes that run these tests."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def cache(shared):
    """Where a process leaves compiled code for the others that tests begin."""
    return shared / "cache"
