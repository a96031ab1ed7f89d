"""`python -m ingot check FILE`."""

import json
import subprocess
import sys

import pytest

PROGRAM = '''
import random

import ingot
import numpy as np


@ingot.jit("float64(float64[:], int64)")
def by_signature(x, n):
    return x[n] * 2


@ingot.jit
def by_annotations(x: float, y: np.int8, z: "float64[:, ::1]", n=3) -> float:
    return x * y + z.sum() * n


def wrong_by_signature(x: "float64[:]"):
    return np.cov(x, fweights=x)


def unknown(x, y: int):
    return x + y


def defines(x):
    import os

    class Inner:
        pass

    return random.getstate() + x


def generator(n: int):
    yield n


class Thing:
    def method(self, x: float):
        return open("file")

    @staticmethod
    def static(x: float):
        return x + 1

    @property
    def area(self):
        return self.x


def looks(n: int):
    parts = (1, 2.0)
    return parts[n % 2]


print("imported")
raise_on_call = lambda: 1 / 0


def never_called(x: int):
    raise RuntimeError("it was called")
'''


def check(tmp_path, *options, text=PROGRAM):
    file = tmp_path / "program.py"
    file.write_text(text)
    done = subprocess.run([sys.executable, "-m", "ingot", "check", str(file), *options], capture_output=True, text=True, timeout=60)
    return done


@pytest.fixture
def verdicts(tmp_path):
    done = check(tmp_path, "--json")
    text = done.stdout.removeprefix("imported\n")
    return {v["name"]: v for v in json.loads(text)}


def test_functions_of_known_types_are_compiled(verdicts):
    for name, types in (
        ("by_signature", "float64[:], int64"),
        ("by_annotations", "float, int8, float64[:, :], int"),
        ("Thing.static", "float"),
        ("never_called", "int"),
    ):
        assert (verdicts[name]["status"], verdicts[name]["types"]) == ("compiles", types), verdicts[name]


def test_refusals_are_shown(verdicts):
    assert verdicts["wrong_by_signature"]["status"] == "refused"
    assert "weights" in verdicts["wrong_by_signature"]["message"]
    assert verdicts["defines"]["status"] == "refused"
    assert "define it at the top of the file" in verdicts["defines"]["message"]
    assert "a call of `open`" in verdicts["Thing.method"]["message"]


def test_nothing_is_claimed_of_unknown_types(verdicts):
    assert (verdicts["unknown"]["status"], verdicts["unknown"]["message"]) == ("unknown", "the type of `x` decides")
    assert verdicts["Thing.area"]["status"] == "unknown"
    assert verdicts["generator"]["status"] == "unknown"


def test_the_text_has_names_lines_and_reasons(tmp_path):
    done = check(tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "by_signature, line 8: compiles for (float64[:], int64)" in lines
    assert "unknown, line 22: unknown" in lines
    assert "    a class that is defined inside a function is not supported" in lines


@pytest.mark.rotated(3)
def test_a_file_without_refusals_exits_with_0(tmp_path):
    assert check(tmp_path, text="def f(x: float):\n    return x\n").returncode == 0
    done = check(tmp_path, text="")
    assert done.returncode == 0 and "has no functions" in done.stdout


def test_what_is_no_file_is_named(tmp_path):
    done = subprocess.run([sys.executable, "-m", "ingot", "check", str(tmp_path / "none.py")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "is no Python file" in done.stderr


EXAMPLES = """
import ingot

SCALE = 2.0


@ingot.jit
def added(x, y, *, z=1):
    return x + y * z


def opened(x):
    return open(x)


class Box:
    @staticmethod
    def twice(x):
        return 2 * x
"""


def checked_with(tmp_path, *examples):
    file = tmp_path / "examples.py"
    file.write_text(EXAMPLES)
    arguments = [a for example in examples for a in ("--args", example)]
    command = [sys.executable, "-m", "ingot", "check", str(file), "--json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_examples_are_compiled_for(tmp_path):
    examples = ("added: np.ones(3), SCALE", "added: 1, y=2, z=3.0", "Box.twice: np.ones((2, 2), np.int8)", "added: 'text', 2")
    done = checked_with(tmp_path, *examples)
    verdicts = [(v["name"], v["status"], v["types"]) for v in json.loads(done.stdout)]
    assert verdicts[:2] == [("added", "compiles", "float64[:], float, int"), ("added", "compiles", "int, int, float")], done.stderr
    assert verdicts[2][0] == "added" and verdicts[3][:2] == ("opened", "refused")
    assert verdicts[4:] == [("Box.twice", "compiles", "int8[:, :]")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("added", "a function's name, a colon"),
        ("absent: 1", "has no function absent"),
        ("added: 1 +", "SyntaxError"),
        ("added: unknown", "NameError"),
        ("added: 1", "missing 1 required positional argument: 'y'"),
    ],
)
def test_examples_that_are_wrong_are_reported(text, words, tmp_path):
    done = checked_with(tmp_path, text)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
