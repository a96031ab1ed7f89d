"""`python -m ingot check --run SCRIPT`."""

import json
import subprocess
import sys

PROGRAM = '''
import sys

import ingot
import numpy as np


@ingot.jit
def doubled(x):
    return x * 2


@ingot.jit
def listed(x):
    return [*open(x)]


@ingot.jit
def never(x):
    return x


def main():
    print(sys.argv[1:], doubled(1), doubled(np.ones(2)), doubled(2), __name__)
    for _ in range(2):
        try:
            listed("file")
        except ingot.UnsupportedError:
            pass
    FAIL


main()
'''


def run(tmp_path, *arguments, fail="pass"):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("FAIL", fail))
    command = [sys.executable, "-m", "ingot", "check", *arguments, "--run", str(program), "a", "--json"]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_script_is_run_and_reported(tmp_path):
    done = run(tmp_path)
    first, *report = done.stdout.splitlines()
    assert first == "['a', '--json'] 2 [2. 2.] 4 __main__"
    assert report[0] == "doubled, line 8: compiles for (int)"
    assert report[1].startswith("doubled, line 8: compiles for (float64[:])")
    (refusal,) = [i for i, line in enumerate(report) if line.startswith("listed, line 13: refused for (str)")]
    assert "open" in report[refusal + 1] and not any("never" in line for line in report)
    assert done.returncode == 1 and done.stderr == ""


def test_the_report_is_json(tmp_path):
    done = run(tmp_path, "--json")
    verdicts = json.loads(done.stdout.split("\n", 1)[1])
    assert [(v["name"], v["status"], v["types"]) for v in verdicts] == [
        ("doubled", "compiles", "int"),
        ("doubled", "compiles", "float64[:]"),
        ("listed", "refused", "str"),
    ]


def test_a_script_that_fails_is_reported(tmp_path):
    done = run(tmp_path, fail="raise KeyError('x')")
    assert done.stderr.startswith("Traceback") and done.stderr.endswith("KeyError: 'x'\n") and "runpy" not in done.stderr
    assert "doubled, line 8: compiles" in done.stdout and done.returncode == 1
    assert run(tmp_path, fail="sys.exit(7)").returncode == 7


def test_a_file_or_a_script_is_wanted():
    done = subprocess.run([sys.executable, "-m", "ingot", "check"], capture_output=True, text=True)
    assert done.returncode != 0 and "--run and a script" in done.stderr
