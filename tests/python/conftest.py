"""Of the cases of a test marked `sampled(n)`, one in n runs in `make test`; the others have the mark `slow`. With
`sampled(n, of="name")` it is of all cases of a file that have this name.
"""

import os
import random
import tempfile
from collections import defaultdict

import pytest

# Tests say what is compiled when; those of the cache and of tiers say what they want.
os.environ.setdefault("INGOT_CACHE", "off")
os.environ.setdefault("INGOT_TIERS", "off")
# Workers that compile for OpenCL at once have caches of their own.
own = f"ingot-pocl-{os.getuid()}-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
os.environ.setdefault("POCL_CACHE_DIR", os.path.join(tempfile.gettempdir(), own))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The cases that run are drawn by the test's name, so that they are the same in each run and in each worker."""
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None and item.get_closest_marker("slow") is None:
            cases[item.path, mark.kwargs.get("of", item.originalname), mark.args[0]].append(item)
    for (_, name, share), same in cases.items():
        kept = random.Random(name).sample(range(len(same)), -(-len(same) // share))
        for number in set(range(len(same))).difference(kept):
            same[number].add_marker(pytest.mark.slow)
