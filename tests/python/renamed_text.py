"""A plugin of pytest's, `-p renamed_text`: the printed IR has another name for each op, and messages of UnsupportedError and
InternalError have marks around them. Tests pass all the same, since nothing is decided by such text, but for
those that look at it themselves: SHOWS has their files, and SHOW_TOO tests of other files.
"""

import pytest

MARK = "~"
SHOWS = frozenset(f"test_{name}" for name in ("code_size", "cuda_kernels_passes", "golden", "lanes", "lower_exits", "replay", "reuse", "witness"))
"""Files whose tests look at printed IR, or pass it to ingot-opt."""
SHOW_TOO = frozenset(
    {
        "test_calls_stay_calls",
        "test_statements_become_one_loop",
        "test_stencils_are_vectors",
        "test_what_a_function_of_the_library_raises_is_located_at_its_call",
    }
)
"""Tests of other files that do."""


def _marked(message):
    return f"{MARK}{message}{MARK}"


def _mark(kind):
    def __init__(self, *args):
        Exception.__init__(self, *[_marked(arg) if isinstance(arg, str) else arg for arg in args])

    kind.__init__ = __init__


def pytest_configure():
    from ingot import _core, _errors

    _core.rename_ops_in_text()
    _mark(_errors.UnsupportedError)
    _mark(_errors.InternalError)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        (left_out if item.path.stem in SHOWS or getattr(item, "originalname", "") in SHOW_TOO else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
