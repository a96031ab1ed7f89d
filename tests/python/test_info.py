"""`python -m ingot info`, of this build and of the package installed next to it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ingot
import numpy
import pytest
from ingot._command import info as _info
from ingot._devices.cpu import describe_cpu

ROOT = Path(__file__).resolve().parents[2]


def run_info(*arguments: str, environment: dict[str, str] | None = None) -> str:
    command = [sys.executable, "-m", "ingot", "info", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def test_json_has_every_part():
    info = json.loads(run_info("--json"))
    assert info["ingot"] == ingot.__version__
    assert info["numpy"] == numpy.__version__
    assert info["cpu"]["cores"] >= 1
    assert {"extension", "core", "python", "folder", "system"} <= info.keys()
    assert info["targets"]["x86-64"]
    assert info["targets"]["nvptx"][-1] == "sm_90"
    assert info["memory"].keys() == {"limit", "kept", "in_use", "peak"}


def test_text_names_every_part():
    text = run_info()
    for name in ("Ingot:", "Python:", "NumPy:", "Extension:", "Core (LLVM):", "Targets:", "CPU:", "Features:", "Memory:"):
        assert name in text


def test_the_version():
    done = subprocess.run([sys.executable, "-m", "ingot", "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"ingot {ingot.__version__}\n", "")


def test_the_installed_package_answers():
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_PRELOAD")}
    info = json.loads(run_info("--json", environment=environment))
    assert info["ingot"] == ingot.__version__
    assert Path(info["folder"]).parent.name == "site-packages"


def test_tests_run_on_the_build_they_are_given():
    expected = os.environ.get("PYTHONPATH")
    if expected is None:
        pytest.skip("no build chosen by PYTHONPATH")
    assert Path(ingot.__file__).parent == Path(expected) / "ingot"


def test_versions_agree():
    declared = re.search(r"project\(ingot VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert declared[1] == ingot.__version__


def test_cpu_of_an_arm_machine_and_of_an_unknown_one(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nFeatures\t: fp asimd sve\n")
    assert describe_cpu(cpuinfo)["features"] == ["asimd", "fp", "sve"]
    assert describe_cpu(tmp_path / "none")["features"] == []


def test_a_binary_that_was_not_built(tmp_path):
    assert _info.find_binary(tmp_path, "_core") is None


def test_a_core_that_cannot_be_loaded_is_named(monkeypatch):
    monkeypatch.delattr(ingot, "_core", raising=False)
    monkeypatch.setitem(sys.modules, "ingot._core", None)
    targets = _info.find_targets()
    assert "_core" in targets["error"]
    assert _info.describe_targets(targets) == targets["error"]


def test_unknown_command_is_refused():
    result = subprocess.run([sys.executable, "-m", "ingot", "nonsense"], capture_output=True, text=True)
    assert result.returncode == 2 and "invalid choice" in result.stderr
