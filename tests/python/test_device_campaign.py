"""`tools/device_campaign` on the software device: phases that run, that fail and that take too long; what is packed; the page."""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

import ingot

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "device_campaign"
sys.path.append(str(ROOT))

from bench.devices import __main__ as main  # noqa: E402
from bench.devices import bits, measure, page, peers, programs  # noqa: E402
from bench.devices.clock import Clock  # noqa: E402


def loaded():
    loader = importlib.machinery.SourceFileLoader("device_campaign", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("device_campaign", loader))
    sys.modules["device_campaign"] = module
    loader.exec_module(module)
    return module


campaign = loaded()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A campaign in a folder, run by this Python with the package that is tested."""
    monkeypatch.setattr(campaign.Place, "environment", lambda self, device, **more: {**os.environ, "INGOT_TEST_DEVICE": device, **more})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(ingot.__file__).parents[1]), str(ROOT), str(ROOT / "tests" / "python")]))
    there = campaign.Place(ROOT)
    there.python = sys.executable
    return campaign.Campaign(there, "emulated", True, 5, tmp_path)


@pytest.mark.rotated(5)
def test_phases_run_and_the_page_is_written(place):
    for name in ("machine", "sorts", "copies", "sanitizer"):
        place.found["phases"][name] = told = campaign.PHASES[name](place)
        assert not campaign.is_wrong(told), told
    assert place.found["phases"]["machine"]["device"]["code"] == "sm_90"
    rows = place.found["phases"]["sorts"]["table"]
    assert set(rows) == {p.name for p in programs.GROUPS["sorts"]} >= {"sort int32", "argsort float64"}
    assert all(row["keys_per_s"] > 0 and row["min"] <= row["median"] for row in rows.values())
    text = page.text(json.loads(json.dumps(place.found)))
    assert text.startswith("# Ingot software device") and "## Sorts" in text and "argsort float64" in text
    for header, line in re.findall(r"^(\|.*\|)\n(\|-.*\|)$", text, re.MULTILINE):
        assert header.count("|") == line.count("|")


@pytest.mark.rotated(3)
def test_the_command_keeps_results_of_earlier_runs(tmp_path):
    def run(*arguments):
        command = [sys.executable, SCRIPT, "run", "--device", "emulated", "--quick", "--results", tmp_path, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    for phase in ("machine", "peers"):
        done = run("--only", phase)
        assert done.returncode == 0, done.stdout + done.stderr
    assert set(json.loads((tmp_path / "campaign.json").read_text())["phases"]) == {"machine", "peers"}
    assert "left out: they run on GPUs alone" in (tmp_path / "campaign.md").read_text()
    assert run("--only", "machine", "--minutes", "0").returncode == 1  # no time was left
    assert "no time was left" in json.loads((tmp_path / "campaign.json").read_text())["phases"]["machine"]["failed"]


@pytest.mark.rotated(3)
def test_what_takes_too_long_is_ended(place):
    done = place.python(["-c", "import subprocess, time; print('begun', flush=True); subprocess.run(['sleep', '60'])"], 2)
    assert done["status"] is None and "begun" in done["out"] and "ended after 2 s, its limit" in done["error"] and done["seconds"] < 20


@pytest.mark.parametrize(
    "told",
    [
        {"failed": "it did"},
        {"failures": [{"test": "a", "what": "b"}]},
        {"table": {"a": {"failed": "b"}}},
        {"tools": {"memcheck": {"good": False}}},
        {"counts": {"passed": 0, "failed": 0, "skipped": 0}, "failures": []},
        {"files": {"a": {"counts": {"passed": 0, "failed": 0, "skipped": 0}, "failures": []}}},
        {"files": {"a": {"failed": "b"}}},
    ],
)
def test_faults_are_seen(told):
    assert campaign.is_wrong(told)


def test_what_is_right_is_no_fault():
    counts = {"counts": {"passed": 1, "failed": 0, "skipped": 0}, "failures": []}
    for told in ({"left out": "no"}, counts, {"files": {"a": counts}}, {"table": {"a": {"min": 1.0}}}, {"tools": {"a": {"good": True}}}):
        assert not campaign.is_wrong(told)


FAILING = """
def test_passes(): pass
def test_fails(): assert 1 == 2
"""


@pytest.mark.rotated(4)
def test_failures_of_tests_are_reported(place, tmp_path, monkeypatch):
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text(FAILING)
    place.place.root = tmp_path
    told = campaign.tests(place, ["test_one"], "pytest_tests_none", 60, {"test_one": "test"})
    assert "failed" in told["files"]["test_one"]  # the plugin is not there
    told = campaign.tests(place, ["test_one"], "no:doctest", 60, {"test_one": "test"})
    assert told["files"]["test_one"]["counts"] == {"passed": 1, "failed": 1, "skipped": 0}
    assert "test_fails" in told["files"]["test_one"]["failures"][0]["test"] and campaign.is_wrong(told)
    assert "test_fails" in page.text({**place.found, "phases": {"own_tests": told}})


def test_every_phase_has_a_place_on_the_page():
    assert set(campaign.PHASES) == {*page.SECTIONS, "machine"} == set(campaign.ABOUT)
    assert set(campaign.PHASES) >= set(measure.GROUPS)


def test_the_help_tells_how_long_phases_take():
    told = subprocess.run([sys.executable, SCRIPT, "phases"], capture_output=True, text=True)
    assert told.returncode == 0 and all(re.search(rf"^  {name} +about +\d+ s ", told.stdout, re.MULTILINE) for name in campaign.PHASES)
    assert sum(campaign.ABOUT[name] for name in campaign.SHORT) <= 14 * 60


DRY = [name for name in campaign.PHASES if name not in ("machine", "sorts", "copies", "sanitizer", "peers")]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRY)
def test_phases_run_on_the_software_device(place, name):
    place.end += 900
    told = campaign.PHASES[name](place)
    assert not campaign.is_wrong(told), told
    assert page.text({**place.found, "phases": {name: told}})


def test_differences_of_bits_are_seen(monkeypatch):
    x = np.array([1.0, -0.0, np.nan])
    assert bits._bits(x) != bits._bits(np.array([1.0, 0.0, np.nan])) and bits._bits(x) == bits._bits(-np.array([-1.0, 0.0, np.nan]))
    assert bits._bits(1.0) != bits._bits(np.float64(1.0)) and bits._bits(True) != bits._bits(1)
    cases = list(bits.cases(True))
    assert len({name for name, _, _ in cases}) == len(cases) > 150
    three = [c for c in cases if c[0] in ("sqrt float64", "sums float32", "raising int64")]
    monkeypatch.setattr(bits, "cases", lambda quick: iter(three))
    assert all(compare() == {"places": ["emulated:0"], "different": {}} for _, compare in bits.compare("emulated", True))
    monkeypatch.setattr(bits, "cases", lambda quick: iter([("refused", lambda x: open("a"), (x,))]))
    ((_, compare),) = bits.compare("emulated", True)
    row = compare()
    assert "FileNotFoundError" in row["different"]["cpu"]["expected"] and "UnsupportedError" in row["different"]["cpu"]["got"]


@pytest.mark.rotated(3)
def test_rows_until_the_end_are_kept(place, tmp_path):
    """Of a group that is ended, and of one that fails."""
    (tmp_path / "bench" / "devices").mkdir(parents=True)
    for folder in ("bench", "bench/devices"):
        (tmp_path / folder / "__init__.py").touch()
    script = "import json, sys, time\nprint(json.dumps(['a', {'min': 1.0, 'median': 2.0}]), flush=True)\n"
    for end in ("time.sleep(60)", "sys.exit('broken')"):
        (tmp_path / "bench" / "devices" / "__main__.py").write_text(script + end)
        place.place.root = tmp_path
        told = place.measured("sorts", 2)
        assert told["table"] == {"a": {"min": 1.0, "median": 2.0}} and campaign.is_wrong(told)
        shown = page.text({**place.found, "phases": {"sorts": told}})
        assert "without an end" in shown and "| a |" in shown


BEGINS_AFTER = """
import json, os, sys, time
names = ["a", "hangs", "b", "dies", "c", "is lost", "d"]
for name in names[names.index(sys.argv[sys.argv.index("--after") + 1]) + 1 if "--after" in sys.argv else 0 :]:
    print(json.dumps([name]), flush=True)
    if name == "hangs":
        time.sleep(60)
    if name == "dies":
        os.kill(os.getpid(), 9)
    print(json.dumps([name, {"min": 1.0}]), flush=True)
    if name == "is lost":
        sys.exit(3)
"""


@pytest.mark.rotated(3)
def test_measurements_go_on_after_those_that_do_not_end(place):
    """... that end their process, and after which a device can do no more."""
    told = place.rows([sys.executable, "-c", BEGINS_AFTER], 60, 2)
    rows = told["table"]
    assert list(rows) == ["a", "hangs", "b", "dies", "c", "is lost", "d"] and "failed" not in told and campaign.is_wrong(told)
    assert "ended after 2 s, its limit" in rows["hangs"]["failed"] and "the process ended, with status -9" in rows["dies"]["failed"]
    assert all(row == {"min": 1.0} for name, row in rows.items() if name not in ("hangs", "dies"))


@pytest.mark.rotated(3)
def test_phases_end_where_many_measurements_do_not(place, monkeypatch):
    monkeypatch.setattr(campaign, "FEW_LATE", 2)
    script = BEGINS_AFTER.replace('if name == "hangs"', "if True")
    told = place.rows([sys.executable, "-c", script], 60, 1)
    assert list(told["table"]) == ["a", "hangs"] and "its limit" in told["failed"]


def test_measurements_begin_after_a_name(capsys):
    def cases():
        yield from ((name, lambda name=name: {"min": float(name)}) for name in "123")

    assert main.show(main.after(cases(), "2"), "emulated") == 0
    assert list(map(json.loads, capsys.readouterr().out.splitlines())) == [["3"], ["3", {"min": 3.0}]]

    def broken():
        raise ingot.DeviceError("a fault")

    assert main.show(iter([("a", lambda: 1 / 0), ("b", broken), ("c", dict)]), "emulated") == main.LOST == campaign._LOST
    _, (_, first), _, (_, second) = map(json.loads, capsys.readouterr().out.splitlines())
    assert "ZeroDivisionError" in first["failed"] and "a fault" in second["failed"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", [p for p in programs.PROGRAMS if p.lists_all], ids=lambda p: p.name)
def test_programs_report_what_they_move(program):
    """The bytes that a program must move are those that its launches move at least, where all of it is known."""
    arguments = program.arguments(1 << 16)
    least = ingot.jit(**program.options)(program.function).explain(*arguments, device="sm_90").launches.least
    assert abs(program.bytes(*arguments) - least) <= 0.05 * least


@pytest.mark.sampled(36)
@pytest.mark.parametrize("program", [p for p in programs.PROGRAMS if not p.options and p.function is not programs.product], ids=lambda p: p.name)
def test_programs_have_the_cpus_bits(program):
    arguments = program.arguments(1 << 13)
    here = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)
    there = tuple(ingot.device_put(a, "emulated") if isinstance(a, np.ndarray) else a for a in arguments)
    compiled = ingot.jit(program.function)
    assert bits._bits(compiled(*here)) == bits._bits(compiled(*there))
    assert bits._bits(list(here)) == bits._bits(list(there))


def test_names_of_programs_differ():
    assert len({program.name for program in programs.PROGRAMS}) == len(programs.PROGRAMS)


def test_times_are_of_events_and_of_the_host():
    clock = Clock("emulated", True)
    x, f = ingot.device_put(np.zeros(64), "emulated"), ingot.jit(programs.add_one)
    found = clock.measure(lambda: f(x))
    assert 0 < found["min"] <= found["median"] and found["samples"] == 2
    assert clock.host(lambda: f(x), 10)["min"] > 0
    x.block_until_ready()


def test_peers_measure_the_programs_by_their_names():
    functions = {**peers.into_arrays(np, peers.common(np)), **peers.ranked(np)}
    assert set(functions) <= {program.function.__name__ for program in programs.PROGRAMS}
    options = argparse.Namespace(bytes=1 << 13)
    ran = []
    for name, run in peers.run(options, functions, np.asarray, lambda function, arguments: [function(*arguments)], np.copy):
        assert run(), name
        ran.append(name)
    assert set(ran) - {"device copy"} == {p.name for p in programs.PROGRAMS if p.function.__name__ in functions and not p.options}
    assert peers.by_clock(lambda: None, lambda result: None)["min"] >= 0


def test_peers_run_without_ingot():
    """With a library of that name that is not one, where there is none."""
    script = ROOT / "bench" / "devices" / "peers.py"
    done = subprocess.run([sys.executable, "-E", "-s", script, "cupy", "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, told = json.loads(done.stdout.splitlines()[0])
    assert name == "version" and ("absent" in told or "version" in told)


@pytest.mark.slow
def test_a_packed_campaign_runs_elsewhere(tmp_path):
    """Without this tree's Python, packages and libraries."""
    done = subprocess.run([sys.executable, SCRIPT, "--pack", tmp_path / "packed"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "packed" / campaign.ARCHIVE) as archive:
        names = archive.getnames()
    assert "build/release/softgpu/libcuda.so.1" in names and "interpreter/bin/python3" in names
    (tmp_path / "packed").rename(tmp_path / "elsewhere")
    command = ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "python3", "device_campaign", "run", "--device", "emulated", "--quick"]
    phases = ["--only", "machine", "own_tests", "sorts", "first_calls"]
    done = subprocess.run([*command, *phases], cwd=tmp_path / "elsewhere", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "elsewhere" / "campaign" / "campaign.json").read_text())
    assert str(ROOT) not in json.dumps(found) and found["phases"]["sorts"]["table"]["sort int64"]["min"] > 0


@pytest.mark.rotated(3)
def test_tests_of_devices_run_on_another_one():
    """`-p instead_of_emulated`: on a device of OpenCL's, but for those that speak of the software device by its name."""
    file = ROOT / "tests" / "python" / "test_devices.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "instead_of_emulated", "-p", "no:cacheprovider", "-k", "flags or repr or printed", file]
    paths = os.pathsep.join([str(Path(ingot.__file__).parents[1]), str(ROOT / "tests" / "python")])
    done = subprocess.run(command, env={**os.environ, "INGOT_TEST_DEVICE": "opencl", "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
