"""Runs the golden files of tests/ir; their format: tests/ir/README.md."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from programs import ROOT, find_program

FILES = sorted((ROOT / "tests" / "ir").rglob("*.ir"))
BLESS = os.environ.get("INGOT_BLESS") == "1"
EXPECT = "; EXPECT\n"
EXPECT_SELF = "; EXPECT SELF\n"


def run_command(file: Path, line: str) -> str:
    """The output of a RUN line, after a check of the exit status."""
    match = re.fullmatch(r"; RUN: (! )?ingot-opt (.*)\n", line)
    assert match, f"{file}: the first line is no RUN command: {line!r}"
    words = [file.name if word == "%s" else word for word in match[2].split()]
    done = subprocess.run(
        [find_program("ingot-opt"), *words], cwd=file.parent, capture_output=True, text=True, timeout=60
    )
    wanted = 1 if match[1] else 0
    assert done.returncode == wanted, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def head_of(text: str) -> str:
    """The lines at the top that begin with `;`."""
    return re.match(r"(?:;.*\n)*", text)[0]


def without_comments(text: str) -> str:
    return re.sub(r"^;.*\n", "", text, flags=re.M).lstrip("\n")


def as_comment(output: str) -> str:
    return "".join(f"; {line}".rstrip() + "\n" for line in output.splitlines())


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "tests/ir")))
def test_golden(file: Path) -> None:
    text = file.read_text()
    output = run_command(file, text.partition("\n")[0] + "\n")
    if EXPECT_SELF in text:
        expected, blessed = without_comments(text), head_of(text) + "\n" + output
        actual = output
    else:
        assert text.count(EXPECT) == 1, "the file has no `; EXPECT` line"
        before, _, expected = text.partition(EXPECT)
        actual = as_comment(output)
        blessed = before + EXPECT + actual
    if BLESS and actual != expected:
        file.write_text(blessed)
    else:
        assert actual == expected


def test_every_op_is_in_a_golden_file() -> None:
    cards = re.findall(r"^(?:OP|STRUCT)\((\w+),", (ROOT / "src/ir/ops.def").read_text(), flags=re.M)
    texts = "\n".join(
        without_comments(file.read_text()) for file in FILES if "/ir/text/" in file.as_posix()
    )
    shown = set(re.findall(r"^ *(?:%.* = )?(\w+)", texts, flags=re.M))
    # Parameters and results are names in the text, no ops.
    missing = {card.removesuffix("_") for card in cards} - shown - {"param", "result"}
    assert cards and not missing


@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (["--help"], 0, "usage: ingot-opt"),
        (["--frobnicate"], 2, "no option --frobnicate"),
        (["--stage"], 2, "--stage wants an argument"),
        (["--stage", "both"], 2, "--stage is array or loop, not 'both'"),
        (["a.ir", "b.ir"], 2, "cannot read a.ir"),
        (["no_such_file.ir"], 2, "cannot read no_such_file.ir"),
    ],
)
def test_command_line(words: list[str], status: int, output: str) -> None:
    done = subprocess.run([find_program("ingot-opt"), *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == status
    assert output in done.stdout + done.stderr


def test_standard_input() -> None:
    done = subprocess.run(
        [find_program("ingot-opt"), "--print"], input="func @f() -> () { return 1 }", capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "<stdin>:1:26: expected '}', found '1'\n")
