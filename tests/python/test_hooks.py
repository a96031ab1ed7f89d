"""tools/hooks: what git holds a commit to."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BODY = "\n\nThe shift was emitted. It is folded now.\n"

GOOD = [
    "ir: fold shifts by constants" + BODY,
    "ir, codegen: fold shifts by constants" + BODY + "# Changes to be committed:\n",
    "softgpu: fold shifts by constants" + BODY,
    "tests: " + "x" * 58 + BODY,
    "Merge branch 'shifts'\n",
    'Revert "ir: fold shifts"\n',
]
BAD = {
    "fold shifts by constants" + BODY: "begins with a component",
    "shifts: fold them" + BODY: "begins with a component",
    "ir:fold shifts" + BODY: "begins with a component",
    "tests: " + "x" * 59 + BODY: "66 characters",
    "ir: fold shifts." + BODY: "without a period",
    "ir: fold shifts\nby constants" + BODY: "an empty line",
    "ir: fold shifts\n": "an empty line",
    "ir: fold shifts\n\n# Changes to be committed:\n": "a body",
}


def commit_message(tmp_path: Path, text: str) -> subprocess.CompletedProcess:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(text)
    return subprocess.run([ROOT / "tools" / "hooks" / "commit-msg", file], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("text", GOOD)
def test_good_messages_pass(tmp_path, text):
    result = commit_message(tmp_path, text)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("text", BAD)
def test_other_messages_are_refused_with_the_reason(tmp_path, text):
    result = commit_message(tmp_path, text)
    assert result.returncode != 0 and BAD[text] in result.stderr


def test_setup_has_git_use_them():
    assert "core.hooksPath tools/hooks" in (ROOT / "tools" / "setup").read_text()
