"""tools/check: counting, deadlines and what counts as a failure."""

import importlib.machinery
import importlib.util
import re
import time
import types
from pathlib import Path

import conftest
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def check(tmp_path, monkeypatch):
    loader = importlib.machinery.SourceFileLoader("check", str(ROOT / "tools" / "check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "build" / "results")
    monkeypatch.setattr(module, "TOOLS", {"tidy": [tmp_path / "tools" / "tidy"]})
    monkeypatch.delenv("INGOT_DEADLINE", raising=False)
    (tmp_path / "tools").mkdir()
    return module


def write_tidy(root: Path, script: str) -> None:
    tidy = root / "tools" / "tidy"
    tidy.write_text(f"#!/bin/sh\n{script}\n")
    tidy.chmod(0o755)


def test_both_kinds_of_reports_are_counted(check, tmp_path):
    ctest, pytest_report = tmp_path / "c.xml", tmp_path / "p.xml"
    ctest.write_text(
        '<testsuite><testcase status="run"/><testcase status="fail"><failure/></testcase>'
        '<testcase status="notrun"><skipped/></testcase><testcase status="disabled"/></testsuite>'
    )
    pytest_report.write_text(
        "<testsuites><testsuite><testcase/><testcase/><testcase><error/></testcase>"
        "<testcase><skipped/></testcase></testsuite></testsuites>"
    )
    assert check.count_tests([ctest, pytest_report, tmp_path / "none.xml"]) == (3, 2, 3)


@pytest.mark.parametrize(
    "script, status, last", [("exit 0", 0, "0 passed, 0 failed"), ("exit 3", 1, "0 passed, 1 failed")]
)
def test_a_part_fails_with_its_command(check, tmp_path, capsys, script, status, last):
    write_tidy(tmp_path, script)
    assert check.main(["tidy"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last + ", 0 skipped"


def test_the_deadline_stops_a_part_and_its_children(check, tmp_path, capsys, monkeypatch):
    write_tidy(tmp_path, f"(sleep 1.5; touch {tmp_path}/survived) & wait")
    monkeypatch.setenv("INGOT_DEADLINE", str(time.time() + 0.5))
    assert check.main(["tidy"]) == 0
    assert "tidy     unfinished" in capsys.readouterr().out
    time.sleep(1.5)
    assert not (tmp_path / "survived").exists()


def test_nothing_starts_after_the_deadline(check, tmp_path, capsys, monkeypatch):
    write_tidy(tmp_path, f"touch {tmp_path}/started")
    monkeypatch.setenv("INGOT_DEADLINE", str(time.time() - 1))
    assert check.main(["tidy"]) == 0
    assert "tidy     unfinished" in capsys.readouterr().out
    assert not (tmp_path / "started").exists()


def test_the_sum_is_over_all_parts_and_remembers_failures(check, tmp_path, capsys):
    write_tidy(tmp_path, "exit 1")
    check.main(["tidy"])
    assert check.main(["--sum"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_suite_that_ends_without_a_report_counts_as_one_failure(check, tmp_path):
    report = tmp_path / "r.xml"
    assert not check.run_suite(["false"], report)
    assert check.count_tests([report]) == (0, 1, 0)


def test_unknown_parts_are_refused(check):
    assert check.main(["nonsense"]) == 2


@pytest.mark.parametrize("seconds, verdict", [(300, "400 s: within"), (501, "601 s: 1 s OVER")])
def test_the_suites_of_a_part_have_a_budget(check, capsys, monkeypatch, seconds, verdict):
    clock, took = [0.0], iter((64, seconds, 36))

    def run(command, environment=None):
        clock[0] += next(took, 0) if command[0] != "cmake" else 1000
        return True

    assert sum(check.BUDGETS["release"].values()) == 600 and set(check.BUDGETS["release"]) == set(check.SUITES)
    budget = check.BUDGETS["release"]["pytest"]
    monkeypatch.setattr(check, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(check, "run", run)
    assert check.main(["release"]) == 0
    lines = capsys.readouterr().out.splitlines()
    over = [line for line in lines if "OVER its budget" in line]
    assert f"  pytest {seconds} s, ctest 64 s, alone 36 s, " in lines[-3 - len(over)]
    assert over == ([f"  pytest {seconds} s: {seconds - budget} s OVER its budget of {budget} s"] if seconds > budget else [])
    assert lines[-2] == f"  tests without build {verdict} the budget of 600 s on two cores"
    assert check.main(["--sum"]) == 0
    assert capsys.readouterr().out.splitlines()[-2] == lines[-2]


class Case:
    """A test's case as far as the sampling looks at it: its marks, and the numbers of its parameters' values."""

    def __init__(self, name: str, given: pytest.MarkDecorator | None, **indices: int):
        self.path, self.name, self.originalname = Path("test_x.py"), f"{name}{list(indices.values())}", name
        self.given, self.callspec = given and given.mark, types.SimpleNamespace(indices=indices)
        self.marks: list[str] = []

    def get_closest_marker(self, name: str):
        return self.given if self.given and self.given.name == name else None

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.name)


@pytest.fixture
def quick(monkeypatch):
    """What of cases runs in `make test` with a word."""
    monkeypatch.setattr(conftest, "HAS_SOFTGPU", True)

    def quick_at(commit: str, cases: list[Case]) -> list[str]:
        monkeypatch.setenv("INGOT_SAMPLE", commit)
        for case in cases:
            case.marks.clear()
        conftest.pytest_collection_modifyitems(None, cases)
        assert {mark for case in cases for mark in case.marks} <= {"slow"}
        return [case.name for case in cases if not case.marks]

    return quick_at


def test_of_sampled_tests_one_case_in_n_is_quick(quick):
    marks = {"test_a": pytest.mark.sampled(4), "test_b": pytest.mark.sampled(3), "test_c": None}
    cases = [Case(name, mark, x=x) for name, mark in marks.items() for x in range(10)]
    kept = [name[:6] for name in quick("0", cases)]
    assert [kept.count(name) for name in marks] == [3, 4, 10]


def test_words_draw_samples_of_their_own(quick):
    cases = [Case("test_a", pytest.mark.sampled(4), x=x) for x in range(8)]
    cases += [Case("test_b", pytest.mark.rotated(3)), Case("test_c", pytest.mark.rotated(3))]
    draws = [quick(f"{number:07x}", cases) for number in range(60)]
    assert quick(f"{0:07x}", cases) == draws[0] and len({tuple(draw) for draw in draws}) > 20
    assert {name for draw in draws for name in draw} == {case.name for case in cases}
    assert all(10 <= sum(name in draw for draw in draws) <= 30 for name in ("test_b[]", "test_c[]"))


def test_samples_have_every_value_of_each_parameter(quick):
    cases = [Case("test_a", pytest.mark.sampled(6), dtype=d, layout=l, function=f) for d in range(6) for l in range(4) for f in range(3)]
    for number in range(20):
        drawn = [case.callspec.indices for case in cases if case.name in quick(str(number), cases)]
        assert len(drawn) == 12
        for parameter, count in {"dtype": 6, "layout": 4, "function": 3}.items():
            assert sorted(indices[parameter] for indices in drawn) == sorted(list(range(count)) * (12 // count)), (number, parameter)


def test_exceptions_of_devices_are_tests():
    plugin = (ROOT / "tests" / "python" / "on_device.py").read_text()  # which, imported, would put tests on a device
    named = re.findall(r'^    "(test_\w+\.py)(?:::(test_\w+))?(?:\[.*\])?": ', plugin, re.M)
    assert len(named) == plugin.count('    "test_')
    for file, name in named:
        assert not name or f"def {name}(" in (ROOT / "tests" / "python" / file).read_text(), name


def test_samples_run_on_devices(check, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(check, "run", lambda command, environment=None: calls.append((command, environment or {})) or True)
    check.RESULTS.mkdir(parents=True)
    for part, samples in (("release", ("32", "160")), ("debug", ("1", "16"))):
        calls.clear()
        check.run_part(part)
        on_devices = [environment for command, environment in calls if "on_device" in command]
        assert [(e["INGOT_ON_DEVICE"], e["INGOT_DEVICE_SAMPLE"]) for e in on_devices] == list(zip(("emulated", "opencl"), samples))
        assert all(e["PYTHONPATH"] == f"{tmp_path}/build/{part}/python:{tmp_path}/tests/python" for e in on_devices)
    calls.clear()
    check.run_part("tsan")
    assert not any("on_device" in command for command, _ in calls)
