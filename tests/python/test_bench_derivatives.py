"""Every contestant's derivative is right, at small sizes; nothing here looks at a time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.derivatives import measure, report  # noqa: E402
from bench.derivatives.contestants import Machine  # noqa: E402
from bench.derivatives.program import CppCall, Program, gradient  # noqa: E402
from bench.derivatives.programs import PROGRAMS  # noqa: E402


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "figures"
    command = [sys.executable, "-m", "bench.derivatives", "--small", "--rounds", "1", "--no-fresh", "--json", path]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", [p.name for p in PROGRAMS])
def test_derivatives_are_right(figures, name):
    program = next(p for p in PROGRAMS if p.name == name)
    rows = figures["programs"][name]["rows"]
    assert {r["name"] for r in rows} >= {*program.jax, *program.cpp, *(f"ingot {f}" for f in program.forms)}
    for row in rows:
        assert row["wrong"] is None and row["refused"] is None and row["derivative"], row


def _squares(x):
    return np.sum(x * x)


def _refused(x):
    return np.sum(x) * len({number for number in range(len(x))} | {object})


def _program(**changes):
    parts = {
        "name": "squares",
        "about": "the sum of squares",
        "arguments": lambda small: (np.arange(3.0),),
        "forms": {"array": _squares},
        "jax": {"jax": lambda jax: _squares},
        "cpp": {"c++": lambda x: (CppCall("none", (), None), CppCall("none", (), None))},
        "derivative": gradient(0),
    }
    return Program(**(parts | changes))


def _row(program):
    outcome = measure.measure(program, Machine(), 2, True, alone=False)
    return outcome.rows[0], report.program_text(outcome, program)


def test_a_derivative_is_timed_and_held_against_the_value():
    row, text = _row(_program())
    assert len(row.value) == len(row.derivative) == 2 and not row.wrong
    assert "ingot array" in text


def test_a_wrong_derivative_is_seen_and_not_timed():
    row, text = _row(_program(derivative=lambda module, f: lambda x: 2.001 * x))
    assert not row.derivative and "differences give" in row.wrong and "wrong: " in text


def test_a_refusal_shows_its_reason():
    row, text = _row(_program(forms={"array": _refused}))
    assert not row.derivative and row.refused and "refused: " in text


def test_what_costs_too_much_is_marked():
    rows = [measure.Row("jax", [1.0], [2.0]), measure.Row("ingot array", [1.0, 2.0], [6.0, 9.0]), measure.Row("c++", [1.0], [4.0])]
    outcome = measure.Outcome("squares", rows)
    cells = report.cells(outcome, rows[1], _program())
    assert cells[:6] == ["ingot array", "1000", "6000", "6.0 !", "0.33 0.27 !", "0.67 0.53"]
    found = {"machine": {"date": "today"}, "threads": 1, "rounds": 2, "clock": "wall", "programs": {"squares": outcome.as_json()}}
    page = report.page([found], {"squares": _program(notes={"jax": "a note"})})
    assert "## One thread, wall time" in page and "- squares, jax: a note." in page and "- squares: the sum of squares." in page
