"""Processes that store and load at once, or are killed as they do (docs/cache.md)."""

import os
import random
import subprocess
import sys
import textwrap
import time

import pytest

from caching import HEAD, environment, run
from ingot._cache import entries

MANY = """
import one
wrong = [name for name, f in one.FUNCTIONS.items() if f(np.arange(3.0)).tolist() != (np.arange(3.0) * int(name[1:]) + 1).tolist()]
print(json.dumps([wrong, sum(f.specialisations[0].why == "the cache" for f in one.FUNCTIONS.values())]))
"""


def _functions(folder, count):
    lines = [f"@ingot.jit\ndef f{n}(x): return x * {n} + 1" for n in range(count)]
    text = "import ingot\n" + "\n".join(lines) + f"\nFUNCTIONS = {{f'f{{n}}': globals()[f'f{{n}}'] for n in range({count})}}\n"
    (folder / "one.py").write_text(text)


def _start(folder, script):
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + script], env=environment(folder / "cache"), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def _all_is_right(folder, processes, count):
    _functions(folder, count)
    for process in [_start(folder, MANY) for _ in range(processes)]:
        out, errors = process.communicate(timeout=500)
        assert process.returncode == 0 and out.startswith(b"[[], "), errors
    assert run(folder / "cache", MANY, cwd=folder) == [[], count]
    assert not [name for name in os.listdir(folder / "cache" / "v1") if name.endswith(".new")]


@pytest.mark.rotated(3)
def test_processes_share_a_cold_cache(tmp_path):
    _all_is_right(tmp_path, 4, 12)


@pytest.mark.slow
@pytest.mark.alone
def test_many_processes_share_a_cold_cache(tmp_path):
    _all_is_right(tmp_path, 32, 100)


def _killed(folder, times):
    _functions(folder, 10)
    whole = time.monotonic()
    run(folder / "cache", MANY, cwd=folder)
    whole = time.monotonic() - whole
    draw = random.Random(4)
    for iteration in range(times):
        if iteration % 3 == 0:
            subprocess.run(["rm", "-rf", folder / "cache"], check=True)
        process = _start(folder, MANY)
        time.sleep(draw.uniform(0.3, 1.0) * whole)
        process.kill()
        process.communicate()
    assert run(folder / "cache", MANY, cwd=folder)[0] == []
    checked = subprocess.run([sys.executable, "-m", "ingot", "cache", "verify"], env=environment(folder / "cache"), capture_output=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.rotated(4)
def test_killed_processes_leave_whole_files(tmp_path):
    _killed(tmp_path, 8)


@pytest.mark.slow
@pytest.mark.alone
def test_many_killed_processes_leave_whole_files(tmp_path):
    _killed(tmp_path, 200)


OUTSIDE = """
import numpy as np
PICKED, KEYED, FACTOR = [1], {"axis": 1}, 2.0
def picked(x): return np.sum(x, axis=PICKED[0])
def keyed(x): return np.sum(x, axis=KEYED["axis"])
def of_default(x, axes=PICKED): return np.sum(x, axis=axes[0])
def scaled(x): return x * FACTOR
"""
CHANGED = """
import outside
x, wrong = np.arange(24.0).reshape(2, 3, 4), []
for f in (outside.picked, outside.keyed, outside.of_default, outside.scaled):
    compiled = ingot.jit(f)
    for value in (1, 0, 2):  # the first one is not stored with what is known at last
        outside.PICKED[0] = outside.KEYED["axis"] = value
        outside.FACTOR = value + 0.5
        if not np.array_equal(compiled(x), f(x)):
            wrong.append((f.__name__, value))
print(json.dumps(wrong))
"""


@pytest.mark.rotated(3)
def test_what_earlier_processes_found_out_of_values_outside(tmp_path):
    """Their facts are learned, and calls described anew, also where no stored code holds."""
    (tmp_path / "outside.py").write_text(OUTSIDE)
    for _ in range(3):
        assert run(tmp_path, CHANGED, cwd=tmp_path) == []


def test_numbers_of_lambdas_that_change_while_full_code_is_made(tmp_path):
    """Full code is made, or taken from another process, after the call: for the number that a lambda had then, not for that of now."""
    (tmp_path / "one.py").write_text("import ingot\n@ingot.jit\ndef apply(f, x): return f(x)\n")
    script = textwrap.dedent("""
        import one, ingot
        def wrong():
            x, found = np.arange(1.0, 5.0), []
            for i in range(1, 220):
                c = float(i % 7)
                results = one.apply(lambda v: v * c, x), ingot.vmap(lambda v: v * c)(x), ingot.grad(lambda v: v * c)(1.0) * x
                found += [(i, k) for k, result in enumerate(results) if not np.array_equal(result, x * c)]
            return found
        print(json.dumps(wrong()))
    """)
    for _ in range(3):
        assert run(tmp_path / "cache", script, cwd=tmp_path, INGOT_TIERS="on") == []


def test_what_changes_while_full_code_is_lowered(tmp_path):
    """Full code for what another process stored is made of what is read by then, and left where that is something else."""
    (tmp_path / "one.py").write_text("import ingot\nG = 1.0\n@ingot.jit\ndef f(x):\n    a = G\n    return a + x, G + x\n")
    script = "import one\nprint(json.dumps([one.f(0.0), one.f.specialisations[0].why]))"
    assert run(tmp_path / "cache", script, cwd=tmp_path, INGOT_TIERS="quick") == [[1.0, 1.0], "the first call"]
    changing = textwrap.dedent("""
        import one
        one.f(0.0)
        it = one.f.specialisations[0]
        lower = it.program._lower
        def changed():
            one.G = 2.0
            try:
                return lower()
            finally:
                one.G = 1.0
        it.program._lower = changed
        it.complete()
        print(json.dumps([it.why, int(it.tier), one.f(0.0)]))
    """)
    assert run(tmp_path / "cache", changing, cwd=tmp_path, INGOT_TIERS="quick") == ["the cache", 0, [1.0, 1.0]]
    assert run(tmp_path / "cache", script, cwd=tmp_path, INGOT_TIERS="off") == [[1.0, 1.0], "the cache"]


def test_two_looks_at_what_changes_are_no_one_thing():
    names = {"G": 2.0}
    once, later = (names, "G", 2.0, True, False), (names, "G", 3.0, True, False)
    assert entries.are_same_guards([once, once], [once])
    assert not entries.are_same_guards([once], [later, once]) and not entries.are_same_guards([later, once], [later, once])
    assert not entries.do_agree([once], [(names, "G", 2, True, False)]) and entries.do_agree([once], [(names, "H", None, False, False)])
