"""tools/probe_numpy.py, which compares calls of NumPy's functions: a sample of it, and what it sees."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import probe_calls  # noqa: E402
import probe_numpy  # noqa: E402

SAMPLE = "add bitwise_xor logical_or std cumsum ediff1d roll stack"


@pytest.mark.rotated(5)
def test_a_sample_of_calls_is_the_same() -> None:
    command = [sys.executable, ROOT / "tools/probe_numpy.py", "--calls", "1", "--seed", "5", "--functions", *SAMPLE.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(SAMPLE.split())} calls of {len(SAMPLE.split())} functions" in done.stdout


def test_every_function_can_be_called() -> None:
    for name in probe_numpy.functions():
        for number in range(2):
            compile(probe_numpy.made(name, number, 1).source(), name, "exec")


def test_a_call_is_given_by_its_seed_and_number() -> None:
    first, second = (probe_numpy.described(probe_numpy.made("take", 3, seed)) for seed in (4, 4))
    assert first == second != probe_numpy.described(probe_numpy.made("take", 3, 5))


PLANTED = {
    "dtype float32 for float64": (np.zeros(2, np.float32), np.zeros(2)),
    "type float64 for ndarray": (np.float64(1), np.array(1.0)),
    "shape (2,) for (1, 2)": (np.zeros(2), np.zeros((1, 2))),
    "sign of zero": (np.array([0.0]), np.array([-0.0])),
    "values": (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
    "1 elements for 2": ((1,), (1, 2)),
}


@pytest.mark.parametrize("words", PLANTED)
def test_planted_differences_of_results_are_seen(words: str) -> None:
    got, right = (probe_numpy.Outcome(result, None, []) for result in PLANTED[words])
    verdict = probe_numpy.judged(probe_calls.Call("add", ""), got, right)
    assert verdict.kind == "wrong" and verdict.words.startswith(words)
    assert probe_numpy.judged(probe_calls.Call("add", ""), right, right).kind == "same"


def test_planted_differences_of_exceptions_are_seen() -> None:
    call = probe_calls.Call("add", "")
    outcomes = [probe_numpy.Outcome(None, error, []) for error in (None, ValueError("a"), ValueError("b"), TypeError("a"))]
    kinds = [probe_numpy.judged(call, done, outcomes[1]).kind for done in outcomes]
    assert kinds == ["wrong", "same", "message", "exception"]
