"""The C++ sources are as clang-format writes them, a missing clang-format is a failure; ruff finds nothing in Python sources."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def format_check(root: Path) -> subprocess.CompletedProcess:
    return subprocess.run([root / "tools" / "format-check"], capture_output=True, text=True)


def test_sources_are_formatted():
    result = format_check(ROOT)
    assert result.returncode == 0, result.stderr


def test_an_unformatted_source_is_found(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "format-check", tmp_path / "tools")
    shutil.copy(ROOT / ".clang-format", tmp_path)
    (tmp_path / "bad.cpp").write_text("int   f( ) {return 1 ;}\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    result = format_check(tmp_path)
    assert result.returncode != 0 and "bad.cpp:1" in result.stderr


def ruff(path: Path) -> subprocess.CompletedProcess:
    """Of two functions of one name, tests say, the first never runs; what else is looked for stands in pyproject.toml."""
    command = [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", "--no-cache", "--output-format", "concise"]
    return subprocess.run([*command, path], capture_output=True, text=True)


def test_ruff_finds_nothing():
    result = ruff(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_test_that_hides_another_is_found(tmp_path):
    (tmp_path / "test_same.py").write_text("def test_a():\n    pass\n\n\ndef test_a():\n    assert False\n")
    result = ruff(tmp_path)
    assert result.returncode == 1 and "F811" in result.stdout
