"""The C++ sources are as clang-format writes them; a missing clang-format is a failure."""

import shutil
import subprocess
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
