"""The package is imported from the folder above, and compiled code is made when it is asked for, not kept."""

import os
import sys
import time
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


@pytest.fixture(scope="session")
def runs(shared, cache):
    """What all divisions of a problem give; made once, by the process that asks first."""
    from launched import TESTS, launch

    folder, errors = shared / "runs", shared / "runs.errors"
    try:
        folder.mkdir()
    except FileExistsError:
        while not errors.exists():
            time.sleep(0.1)
    else:
        text = "they have not ended"
        try:
            found = [launch(cache, count, TESTS / "mpi_runs.py", folder) for count in (1, 2, 4)]
            text = "".join(f"{done.returncode}: {done.stderr}" for done in found if done.returncode)
        finally:
            (shared / "runs.part").write_text(text)
            (shared / "runs.part").rename(errors)
    assert not errors.read_text()
    return folder
