"""Every contestant of every benchmark is right, at small sizes; nothing here looks at a time."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import chunks, functions, measure, programs, report, tiers  # noqa: E402
from bench.contestants import Machine  # noqa: E402
from bench.primitives.tasks import PRIMITIVES  # noqa: E402
from bench.workload import Workload  # noqa: E402
from bench.workloads import WORKLOADS  # noqa: E402


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """What two commands at a time have found: one with C++ and JAX, one with Numba."""
    folder = tmp_path_factory.mktemp("bench")
    started = {}
    for name, *peers in (("native", "cpp", "jax"), ("numba", "numba")):
        command = [sys.executable, "-m", "bench", "--small", "--rounds", "1"]
        command += ["--peers", *peers, "--json", folder / name]
        environment = {**os.environ, "NUMBA_OPT": "0"}
        started[name] = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    for process in started.values():
        text, _ = process.communicate()
        assert process.returncode == 0, text
    return {name: json.loads((folder / name).read_text()) for name in started}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(WORKLOADS)), ids=lambda n: WORKLOADS[n].name)
def test_contestants_are_right(figures, number):
    rows = [row for part in figures.values() for row in part["workloads"][number]["rows"]]
    workload = WORKLOADS[number]
    expected = {"numpy", "c++ strict", "c++ fast", "numba", "jax", *(f"ingot {f}" for f in workload.forms)}
    assert {r["name"] for r in rows} >= expected
    for row in rows:
        assert row["wrong"] is None, row
        skipped = row["name"] in workload.skipped or row["name"].startswith("ingot")
        assert row["times"] or (row["refused"] and skipped), row


@pytest.mark.slow
def test_calls_are_measured(figures):
    for part in figures.values():
        for title in ("first call: add_one", "import", "call, output given", "call, new output", "call, dict of 10 arrays"):
            assert part["calls"][title]["ingot"]["min"] > 0
        for title in ("profile, function", "profile, compiled call", "profile, with a name"):
            assert part["calls"][title]["off"]["min"] > 0 and part["calls"][title]["on"]["min"] > 0
        launch = part["calls"]["launch, emulated"]["ingot"]
        assert isinstance(launch, str) or launch["min"] > 0  # the program is there next to a build only


@pytest.mark.slow
def test_parallel_functions_are_right():
    """Those of C++ and NumPy give what Ingot gives; groups of a hundred keys are compared where all of them occur."""
    command = [sys.executable, "-m", "bench.primitives", "--peers", "cpp", "pandas", "--sizes", "3001", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr
    rows = done.stdout.splitlines()[2:]
    assert len(rows) == len(PRIMITIVES) and all(" us  best " in row and "numpy" in row and "c++" in row for row in rows)


def _squares(n):
    out = np.zeros(n)
    for i in range(n):
        out[i] = i * i
    return out


def _refused(n):
    return eval("n")


def _outcome(**changes):
    parts = {"forms": {"loop": _squares}, "numpy": lambda n: np.arange(float(n)) ** 2} | changes
    return measure.measure(Workload("squares", lambda small: (5,), **parts), Machine(), 2, True)


def test_a_wrong_result_is_seen_and_not_timed():
    outcome = _outcome(numpy=lambda n: np.arange(float(n)) ** 2 + 1e-3)
    assert outcome.row("numpy") and outcome.row("ingot loop") is None
    assert "differs by" in outcome.rows[1].wrong
    assert "WRONG" in report.workload_text(outcome, None)


def test_a_refusal_shows_its_reason():
    outcome = _outcome(forms={"list": _refused, "loop": _squares})
    assert outcome.row("ingot loop") and not outcome.rows[1].times
    assert "refused" in report.workload_text(outcome, None) and outcome.rows[1].refused


def test_ratios_are_the_peers_time_over_ingots():
    rows = [measure.Row("numpy", [4.0, 6.0, 8.0]), measure.Row("ingot loop", [2.0, 2.0, 2.0])]
    mean = report.means([measure.Outcome("one", rows, None, None)])["numpy"]
    assert mean == pytest.approx({"min": 2.0, "median": 3.0, "count": 1.0})
    line = report.summary_text([measure.Outcome("one", rows, None, None)]).splitlines()[-1]
    assert line.split() == ["one", "loop", "2000.000", "-", "-", "-", "-", "2.00"]


def test_the_roof_is_the_lower_of_two():
    peaks = {"bytes_per_s": 10.0, "flops_per_s": 100.0}
    assert report.roof(measure.Outcome("one", [], 20, 100), peaks) == (2.0, "memory")
    assert report.roof(measure.Outcome("one", [], 20, 1000), peaks) == (10.0, "arithmetic")


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", functions.FUNCTIONS)
def test_functions_are_numpys(name, monkeypatch):
    monkeypatch.setattr(functions, "SECONDS", 0.0)
    monkeypatch.setattr(functions, "ROUNDS", 1)
    found = functions.measure(name, 10)
    assert functions.WRONG not in found, found
    assert found["ingot"] > 0 and functions.row(name, [found]).startswith(name)


def test_programs_are_measured(monkeypatch):
    monkeypatch.setattr(programs, "ROUNDS", 1)
    monkeypatch.setattr(programs, "SECONDS", 0.0)
    found = programs.measure(programs.PROGRAMS["equalise_histogram"], small=True)
    assert found["numpy"] > 0 and found["ingot"] > 0 and found["first"] > 0


def test_results_of_programs_are_compared():
    one = {"a": np.arange(3.0), "b": (1, [2.5, np.inf])}
    near = {"a": np.arange(3.0) * (1 + 1e-12), "b": (1, [2.5, np.inf])}
    assert programs.difference(near, one, 1e-9) is None and programs.difference(near, one, 0) is not None
    for other in ({"a": one["a"]}, {**one, "b": (1, [2.5, 1.0])}, {**one, "b": (1.0, [2.5, np.inf])}, {**one, "a": np.arange(3)}):
        assert programs.difference(other, one, 1e-9) is not None


@pytest.mark.rotated(4)
def test_phases_of_first_calls_are_measured(capsys):
    for tier in tiers.TIERS:
        table = tiers.show_phases(["lstm"], tier)
        cells = tiers.in_columns(table["lstm"])
        assert all(milliseconds >= 0 for milliseconds in cells.values()) and cells["LLVM code"] > 0
        assert sum(cells.values()) == pytest.approx(sum(table["lstm"].values()))
    assert capsys.readouterr().out.count("lstm") == 2


@pytest.mark.rotated(4)
def test_tiers_are_measured(monkeypatch):
    for name in ("FIRST", "ROUNDS"):
        monkeypatch.setattr(tiers, name, 1)
    monkeypatch.setattr(tiers, "SECONDS", 0.0)
    for name in ("k_means", "bundle_gradient"):
        found = tiers.measure(name, small=True)
        assert min(found.values()) > 0 and tiers.row(name, found).startswith(name)


def test_programs_over_chunks_are_measured():
    got = chunks.measure(40_000, 10_000, 2, 1)
    assert got["bytes"] == 320_000 and got["bytes_per_s"] > 0 and got["most_memory"] > 0
    made = np.concatenate([chunks.made(float(k), 10_000) for k in range(4)])
    np.testing.assert_allclose(got["summary"], chunks.summary(made, *chunks.GIVEN), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mpicc") is None, reason="no headers of MPI's are installed")
def test_messages_are_timed():
    done = subprocess.run([sys.executable, "-m", "bench.messages", "--quick"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| 2 ranks | C | Ingot |") and done.stdout.count("\n") == 8
