"""`tools/quick`: which tests a change runs, and what it reports of what may not grow."""

import importlib.machinery
import importlib.util
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("quick", str(ROOT / "tools" / "quick"))
quick = importlib.util.module_from_spec(importlib.util.spec_from_loader("quick", loader))
loader.exec_module(quick)
CEILINGS = tomllib.loads(quick.CEILINGS.read_text())


def test_every_component_is_there_and_every_folder_a_component():
    tests = ROOT / "tests" / "python"
    for component, names in quick.COMPONENTS.items():
        assert (ROOT / component).exists() or list(ROOT.glob(f"{component}*")), component
        assert [name for name in names.split() if not (tests / f"test_{name}.py").exists()] == [], component
    assert {f"src/{path.name}" for path in (ROOT / "src").iterdir() if path.is_dir()} <= quick.COMPONENTS.keys()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["README.md"], []),
        (["src/frontend/loops/loops.cpp"], quick.COMPONENTS["src/frontend"].split()),
        (["python/ingot/_cache/files.py"], quick.COMPONENTS["python/ingot/_cache"].split()),
        (["python/ingot/_calls/tiers.py"], quick.COMPONENTS["python/ingot"].split()),
        (["tests/python/test_nests.py", "src/ir/node.cpp"], ["nests", *quick.COMPONENTS["src/ir"].split()]),
    ],
)
def test_the_tests_of_a_change(files, expected):
    assert quick.tests_of(files) == [*quick.ALWAYS, *expected]


def test_tests_of_several_components_alternate():
    chosen = quick.tests_of(["src/base/half.cpp", "softgpu/machine/ptx.cpp"])
    firsts = {quick.COMPONENTS[component].split()[0] for component in ("src/base", "softgpu")}
    assert set(chosen[len(quick.ALWAYS) :][:2]) == firsts


def test_sources_that_include_llvm():
    assert 0 < quick.llvm_sources() <= CEILINGS["sources"]["include_llvm"]


def test_what_is_above_its_ceiling_fails(monkeypatch, capsys):
    monkeypatch.setattr(quick, "figures", lambda: {**CEILINGS, "modules": CEILINGS["modules"] | {"call": 1000}})
    report = quick.Report()
    quick.compare(report)
    assert report.failed == ["modules"] and "call 1000 of" in capsys.readouterr().out


def test_precompiled_headers_are_made_anew(tmp_path):
    """ccache would look for what the old one became."""
    for options, is_kept in ((["-x", "c++-header"], False), (["-c"], True)):
        output = tmp_path / "made"
        output.touch()
        done = subprocess.run([ROOT / "cmake" / "ccache.sh", "echo", "c++", *options, "-o", output], capture_output=True, text=True, check=True)
        assert output.exists() == is_kept and done.stdout.startswith("c++ -")


def test_what_is_imported_when(tmp_path):
    """What the ceilings count: the core and what few programs use are loaded when they are asked for."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
    loaded = quick.loaded_modules(environment | {"XDG_CACHE_HOME": str(tmp_path)})
    assert loaded["import"] == ["ingot"] and "ingot._ingot" in loaded["decorate"]
    assert all(len(loaded[name]) <= most for name, most in CEILINGS["modules"].items())
    for module in ("_arrays", "_cache", "_calls.specialisation", "_code.decompile", "_code.source", "_core", "_host", "_operations", "_reports", "_transforms", "_vectorize", "cuda", "library"):
        assert f"ingot.{module}" not in loaded["decorate"]
    for module in ("_arrays", "_operations", "_reports", "_transforms", "_vectorize", "cuda", "lax", "parallel", "random", "tree"):
        assert f"ingot.{module}" not in loaded["call"]
