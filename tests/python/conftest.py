"""Of the cases of a test marked `sampled(n)`, one in n runs in `make test`; the others have the mark `slow`. With
`sampled(n, of="name")` it is of all cases of a file that have this name. Tests marked `rotated(n)` run with one word in n.

What runs is drawn by a word, that of tests/sample.txt or of INGOT_SAMPLE (pytest names it), and by the test's name: the same in
each run and in each worker, until the word is another one.
"""

import gc
import os
import random
import sys
import tempfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import without_softgpu

HAS_SOFTGPU = not without_softgpu.is_missing()
USERS = ("test_language", "test_numpy", "test_cache", "test_derivative", "test_gradient", "test_batching", "test_semantics_arrays", "test_large_containers", "test_optimize")
"""Tests of these files run as programs of users do, with the cache on disk and both tiers; all others with full code and no
cache, since tests specify what is compiled when. Variables of the environment come before both."""
OF_USERS = {name: "on" for name in ("INGOT_CACHE", "INGOT_TIERS") if name not in os.environ and "INGOT_ON_DEVICE" not in os.environ}
os.environ.setdefault("INGOT_CACHE", "off")
os.environ.setdefault("INGOT_TIERS", "off")
# Workers that compile for OpenCL at once have caches of their own.
own = f"ingot-pocl-{os.getuid()}-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
os.environ.setdefault("POCL_CACHE_DIR", os.path.join(tempfile.gettempdir(), own))


def drawn_by():
    """The word that the samples of this run are drawn by."""
    return os.environ.setdefault("INGOT_SAMPLE", (Path(__file__).parents[1] / "sample.txt").read_text().strip())


def pytest_report_header():
    return f"samples of tests: INGOT_SAMPLE={drawn_by()}"


def pytest_collection_finish():
    """What has been imported stays, and thousands of tests with it: collections of garbage need not look at it. The bytecode
    of what tests write and change within a second is not kept: Python would take it for that of the change."""
    gc.collect()
    gc.freeze()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


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
    if not HAS_SOFTGPU:
        left_out = {item for item in items if without_softgpu.needs_test(item)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is not None:
            continue
        rotated, sampled = item.get_closest_marker("rotated"), item.get_closest_marker("sampled")
        name = item.name if sampled is None else item.originalname
        if rotated is not None and not is_drawn(f"{item.path.name}::{name}", rotated.args[0]):
            item.add_marker(pytest.mark.slow)
        elif sampled is not None:
            cases[item.path, sampled.kwargs.get("of", item.originalname), sampled.args[0]].append(item)
    for (path, name, share), same in cases.items():
        kept = draw(same, -(-len(same) // share), random.Random(f"{drawn_by()} {path.name} {name}"))
        for number in set(range(len(same))).difference(kept):
            same[number].add_marker(pytest.mark.slow)


def is_drawn(name, share):
    return zlib.crc32(f"{drawn_by()} {name}".encode()) % share == 0


def draw(cases, count, source):
    """The numbers of so many cases: always the next whose parameters (dtypes, layouts, functions) have been drawn least so far."""
    left = source.sample(range(len(cases)), len(cases))
    values = [parameters_of(case) for case in cases]
    drawn, kept = Counter(), []
    for _ in range(count):
        best = min(left, key=lambda number: sum(drawn[value] for value in values[number]))
        left.remove(best)
        kept.append(best)
        drawn.update(values[best])
    return kept


def parameters_of(case):
    """Names of a case's parameters, each with the number of its value among all values."""
    return list(case.callspec.indices.items()) if hasattr(case, "callspec") else []
