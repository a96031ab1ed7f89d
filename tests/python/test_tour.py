"""The programs of the tour at small sizes, compiled and in the interpreter, against plain Python."""

import dataclasses
import json
import subprocess
import sys

import pytest

import ingot
from ingot._jit import Function
from ingot.tour import run_program, same
from ingot.tour.programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_compiled(program):
    row = run_program(program, small=True)
    assert row["right"], row


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_interpreted(program):
    row = run_program(dataclasses.replace(program, compiled=lambda f: Function(f, mode="interpreted")), small=True)
    assert row["right"], row


def test_every_program_of_the_list_is_there():
    names = {p.name for p in PROGRAMS}
    assert len(names) == len(PROGRAMS)
    for stem in (
        "quadratic_array quadratic_loop quadratic_prange sum_dict_values accumulate_if sum_greater_than_three "
        "accumulate_global matmul reduce_elements stream_copy stream_scale stream_add stream_triad "
        "stream_guvectorize axpy sine kuramoto sum2d matmul_loops spca_unopt jax_intro_ones jax_intro_print "
        "jax_intro_switch jax_intro_where jax_intro_double_loop"
    ).split():
        assert any(name.startswith(stem) for name in names), stem


def test_a_wrong_result_is_seen(capsys):
    broken = dataclasses.replace(PROGRAMS[0], compiled=lambda f: lambda *a: f(*a) + 1e-3)
    assert not run_program(broken, small=True)["right"]


def test_same_tells_types_and_dtypes_apart():
    import numpy as np

    assert not same(1.0, np.float64(1.0), 0)
    assert not same(np.zeros(2, np.float32), np.zeros(2), 0)
    assert not same(ValueError("a"), ValueError("b"), 0)
    assert same(float("nan"), float("nan"), 0)


def test_command_writes_figures(tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "ingot", "tour", "--small", "--only", "sum2d", "quadratic_array", "--json", file]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 right" in done.stdout
    assert [p["name"] for p in json.loads(file.read_text())["programs"]] == ["quadratic_array", "sum2d"]


def test_explain_shows_every_stage():
    text = ingot.jit(PROGRAMS[0].plain).explain(*PROGRAMS[0].arguments(True))
    for stage in ("source", "array IR", "loop IR", "LLVM IR", "assembly", "times"):
        assert f"=== {stage} ===" in text
    assert "sqrt" in text
