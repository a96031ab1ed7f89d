"""A plugin: of each file's tests at most INGOT_DRAWN run, drawn by the file's name, so that they are the same each time."""

import os
import random
from collections import defaultdict

MOST = int(os.environ.get("INGOT_DRAWN", "40"))


def pytest_collection_modifyitems(config, items):
    files = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(mark) for mark in ("alone", "slow")):
            files[item.path].append(item)
    kept = set()
    for path, tests in files.items():
        kept.update(random.Random(path.name).sample(tests, min(MOST, len(tests))))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
