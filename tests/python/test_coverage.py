"""Coverage of lines, and debuggers: what coverage.py counts of compiled functions, and pdb where nothing is compiled."""

import json
import os
import subprocess
import sys

import pytest

MODULE = """import ingot


def helper(x):
    if x > 3:
        return 1.0
    return x


def never(x):
    return x + 1


@ingot.jit
def total(x):
    def inner(v):
        return v + 1
    s = 0.0
    for v in x:
        if v > 2:
            s += helper(v)
        else:
            s += inner(v)
    return s


@ingot.jit
def unused(x):
    return x * 2
"""
LINES = MODULE.splitlines()


def missing(tmp_path, *options, **environment):
    """The lines of a module that coverage.py misses after a call of `total`."""
    (tmp_path / "covered.py").write_text(MODULE)
    (tmp_path / "program.py").write_text("import numpy as np\nimport covered\nassert covered.total(np.ones(3)) == 6\n")

    def run(*command):
        subprocess.run([sys.executable, "-m", "coverage", *command], cwd=tmp_path, env=os.environ | environment, check=True, capture_output=True, timeout=100)

    run("run", *options, f"--include={tmp_path}/*", "program.py")
    run("json", "-o", "found.json")
    found = json.loads((tmp_path / "found.json").read_text())["files"]
    assert set(found) == {"covered.py", "program.py"}
    return [LINES[line - 1].strip() for line in found["covered.py"]["missing_lines"]]


@pytest.mark.rotated(3)
@pytest.mark.parametrize("options", [(), ("--branch",)])
def test_lines_of_compiled_functions_count_as_run(tmp_path, options):
    assert missing(tmp_path, *options) == ["return x + 1", "return x * 2"]


@pytest.mark.rotated(3)
def test_functions_from_the_cache_count_as_run(tmp_path):
    cache = {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(tmp_path / "cache")}
    assert missing(tmp_path, **cache) == missing(tmp_path, **cache) == ["return x + 1", "return x * 2"]


@pytest.mark.rotated(3)
def test_a_child_leaves_the_data_of_its_parent(tmp_path):
    """Compiling after a fork erased the file of the process that coverage.py was begun in."""
    (tmp_path / "program.py").write_text(
        "import os, ingot\n@ingot.jit\ndef f(x):\n    return x + 1\nassert f(1) == 2\n"
        "if os.fork() == 0:\n    assert f(1.0) == 2\n    os._exit(0)\nassert os.wait()[1] == 0\n"
    )

    def run(*command):
        return subprocess.run([sys.executable, "-m", "coverage", *command], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=100).stdout

    run("run", f"--include={tmp_path}/*", "program.py")
    run("json", "-o", "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["files"]["program.py"]["missing_lines"] == [7, 8]


def test_a_module_of_the_users_may_be_called_coverage(tmp_path):
    (tmp_path / "coverage.py").write_text("def depth(x):\n    return x.sum()\n")
    (tmp_path / "program.py").write_text(
        "import numpy as np\nimport coverage, ingot\n@ingot.jit\ndef f(x):\n    return coverage.depth(x) * 2\nprint(f(np.ones(3)))\n"
    )
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("6.0\n", "")


@pytest.mark.rotated(3)
def test_python_counts_what_it_runs(tmp_path):
    assert missing(tmp_path, INGOT_DISABLE="1") == ["if x > 3:", "return 1.0", "return x", "return x + 1", "s += helper(v)", "return x * 2"]


def test_pdb_stops_in_functions_that_are_not_compiled(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("import ingot\n@ingot.jit\ndef f(x):\n    y = x + 1\n    return y\nf(41)\n")
    command = [sys.executable, "-m", "pdb", "-c", "b 5", "-c", "c", "-c", "p y", "-c", "q", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | {"INGOT_DISABLE": "1"}, stdin=subprocess.DEVNULL)
    assert "42" in done.stdout.splitlines()
