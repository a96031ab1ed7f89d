"""Of the cases of a test marked `sampled(n)`, one in n runs in `make test`; the others have the mark `slow`. With
`sampled(n, of="name")` it is of all cases of a file that have this name.
"""

import os
import random
import tempfile
from collections import defaultdict

import pytest
import without_softgpu

HAS_SOFTGPU = not without_softgpu.is_missing()
USERS = ("test_language", "test_numpy", "test_cache", "test_derivative", "test_gradient", "test_batching", "test_semantics_arrays", "test_large_containers")
"""Tests of these files run as programs of users do, with the cache on disk and both tiers; all others with full code and no
cache, since tests specify what is compiled when. Variables of the environment come before both."""
OF_USERS = {name: "on" for name in ("INGOT_CACHE", "INGOT_TIERS") if name not in os.environ and "INGOT_ON_DEVICE" not in os.environ}
os.environ.setdefault("INGOT_CACHE", "off")
os.environ.setdefault("INGOT_TIERS", "off")
# Workers that compile for OpenCL at once have caches of their own.
own = f"ingot-pocl-{os.getuid()}-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
os.environ.setdefault("POCL_CACHE_DIR", os.path.join(tempfile.gettempdir(), own))


@pytest.fixture(scope="module", autouse=True)
def _as_users(request, tmp_path_factory):
    if not OF_USERS or not request.module.__name__.startswith(USERS):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, word in OF_USERS.items():
            patch.setenv(name, word)
        patch.setenv("INGOT_CACHE_DIR", os.environ.get("INGOT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache")))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    if not HAS_SOFTGPU and file_path.suffix == ".py" and without_softgpu.needs_file(file_path):
        yield
        return []
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """The cases that run are drawn by the test's name, so that they are the same in each run and in each worker."""
    if not HAS_SOFTGPU:
        left_out = {item for item in items if without_softgpu.needs_test(item)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None and item.get_closest_marker("slow") is None:
            cases[item.path, mark.kwargs.get("of", item.originalname), mark.args[0]].append(item)
    for (_, name, share), same in cases.items():
        kept = random.Random(name).sample(range(len(same)), -(-len(same) // share))
        for number in set(range(len(same))).difference(kept):
            same[number].add_marker(pytest.mark.slow)
