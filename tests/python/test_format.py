"""The C++ sources are as clang-format writes them, a missing clang-format is a failure; ruff and tools/words find nothing."""

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
    """Of two functions of one name, as tests, the first never runs; the other rules are in pyproject.toml."""
    command = [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", "--no-cache", "--output-format", "concise"]
    return subprocess.run([*command, path], capture_output=True, text=True)


def test_ruff_finds_nothing():
    result = ruff(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_test_that_hides_another_is_found(tmp_path):
    (tmp_path / "test_same.py").write_text("def test_a():\n    pass\n\n\ndef test_a():\n    assert False\n")
    result = ruff(tmp_path)
    assert result.returncode == 1 and "F811" in result.stdout


def words(root: Path) -> subprocess.CompletedProcess:
    return subprocess.run([root / "tools" / "words"], capture_output=True, text=True)


def test_words_are_the_fields():
    result = words(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


WORDS = {
    "a.py": ("# `it stands`, in code\nstands = 'told'\nx = f'{stands} of {x}'\ny = 'it\\'s behind'\n", ["a.py:4: behind"]),
    "b.cpp": ('int stands; // stands for 1\n/* first,\n then it lies here */ auto s = "no room";\n', ["b.cpp:3: lies", "b.cpp:3: room"]),
    "c.md": ("It stands\n\n    here it stands\n\n```\nit stands\n```\nfar apart, apart\n", ["c.md:1: stands", "c.md:8: apart"]),
    "d.ir": ("; CHECK @behind walks\nfunc @walks\n", ["d.ir:1: walks"]),
    "src/e.cpp": ("bool is_apart(); bool is_apart_from();\n", ["src/e.cpp:1:is_apart"]),
    "CHANGELOG.md": ("It stands\n", []),
}


def test_words_in_prose_are_found(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "words", tmp_path / "tools")
    for name, (text, _) in WORDS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    result = words(tmp_path)
    assert result.returncode == 1
    assert [line.rsplit(": use ", 1)[0] for line in result.stdout.splitlines()] == [line for _, lines in WORDS.values() for line in lines], result.stdout


def test_files_with_other_words_are_there():
    tool = (ROOT / "tools" / "words").read_text()
    scope: dict[str, object] = {"__file__": str(ROOT / "tools" / "words"), "__name__": "words"}
    exec(compile(tool, "words", "exec"), scope)
    assert [path for path in scope["EXCEPTIONS"] if not (ROOT / path).exists()] == []
