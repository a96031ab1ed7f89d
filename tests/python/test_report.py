"""`python -m ingot report`: what a page has of a program, and programs that each advice helps."""

import re
import subprocess
import sys
import textwrap
from html.parser import HTMLParser

import pytest
from ingot._command.report.advice import OF_LOOPS
from ingot._command.report.page import page
from ingot._command.report.command import report_of

BEGIN = "import math\nimport numpy as np\nimport ingot\nx = np.arange(1.0, 1001.0)\n"


def facts_of(tmp_path, text):
    """The report of a program, of which nothing is measured."""
    file = tmp_path / "program.py"
    file.write_text(BEGIN + textwrap.dedent(text))
    report, status = report_of(str(file), [], measure=False)
    assert status == 0
    return report


def codes(function):
    return {each.code for each in function.advice}


# ---- Advice: a program that has it, and the same one as advised

ADVICE = {
    "float order": (
        """
        @ingot.jit
        def f(x):
            s = 0.0
            for v in x:
                s += v * v
            return s
        f(x)
        """,
        """
        @ingot.jit(fastmath="reassoc")
        def f(x):
            s = 0.0
            for v in x:
                s += v * v
            return s
        f(x)
        """,
    ),
    "calls Python": (
        """
        @ingot.jit
        def f(x):
            for i in range(len(x)):
                x[i] += 1
                if x[i] < 0: print(i)
        f(x)
        """,
        """
        @ingot.jit
        def f(x):
            for i in range(len(x)):
                x[i] += 1
            if (x < 0).any(): print("negative")
        f(x)
        """,
    ),
    "draws": (
        """
        @ingot.jit
        def f(n):
            rng = np.random.default_rng(0)
            out = np.empty(n)
            for i in range(n):
                out[i] = rng.random() * 2
            return out
        f(1000)
        """,
        """
        @ingot.jit
        def f(n):
            rng = np.random.default_rng(0)
            out = np.empty(n)
            numbers = rng.random(n)
            for i in range(n):
                out[i] = numbers[i] * 2
            return out
        f(1000)
        """,
    ),
    "own array": (
        """
        @ingot.jit
        def f(x, out):
            for i in range(len(x)):
                out[i] = np.sort(x[i])[0]
        f(x.reshape(-1, 4), x[:250].copy())
        """,
        """
        @ingot.jit
        def f(x, out):
            rows = np.sort(x, axis=1)
            for i in range(len(x)):
                out[i] = rows[i, 0]
        f(x.reshape(-1, 4), x[:250].copy())
        """,
    ),
    "conflict": (
        """
        @ingot.jit
        def f(x):
            n = len(x)
            for i in range(n):
                x[n - 1 - i] = x[i] * 2
        f(x)
        """,
        """
        @ingot.jit
        def f(x):
            n = len(x)
            out = np.empty_like(x)
            for i in range(n):
                out[n - 1 - i] = x[i] * 2
            return out
        f(x)
        """,
    ),
    "unknown count": (
        """
        @ingot.jit
        def f(x):
            i = 0
            while i < len(x):
                x[i] *= 2
                i += 1
        f(x)
        """,
        """
        @ingot.jit
        def f(x):
            for i in range(len(x)):
                x[i] *= 2
        f(x)
        """,
    ),
    "changed": (
        """
        N = 2.0
        @ingot.jit
        def f(x):
            return x * N
        f(x); N = 3.0; f(x)
        """,
        """
        @ingot.jit
        def f(x, n):
            return x * n
        f(x, 2.0); f(x, 3.0)
        """,
    ),
    "value": (
        """
        @ingot.jit
        def f(x, axis):
            return x.sum(axis=axis)
        for k in range(3): f(x.reshape(10, 10, 10), k)
        """,
        """
        @ingot.jit
        def f(x):
            return x.sum(axis=0)
        for k in range(3): f(np.moveaxis(x.reshape(10, 10, 10), k, 0).copy())
        """,
    ),
    "number types": (
        """
        @ingot.jit
        def f(x, n):
            return x * n
        f(x, 2); f(x, 2.5)
        """,
        """
        @ingot.jit
        def f(x, n):
            return x * n
        f(x, 2.0); f(x, 2.5)
        """,
    ),
    "layout": (
        """
        @ingot.jit
        def f(x):
            return x * 2
        f(x); f(x[::2])
        """,
        """
        @ingot.jit
        def f(x):
            return x * 2
        f(x); f(np.ascontiguousarray(x[::2]))
        """,
    ),
    "short calls": (
        """
        @ingot.jit
        def f(x):
            return x + 1.0
        for k in range(2000): f(1.5)
        """,
        """
        @ingot.jit
        def g(x):
            return x + 1.0
        @ingot.jit
        def f(n):
            for k in range(n): last = g(1.5)
            return last
        f(2000)
        """,
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("code", ADVICE)
def test_advice_helps(tmp_path, code):
    (before,), (after,) = (facts_of(tmp_path, text).functions for text in ADVICE[code])
    assert codes(before) == {code} and codes(after) == set()
    if code in OF_LOOPS:
        assert any(loop.no_lanes == code for made in before.made for loop in made.loops)
        loops = [loop for made in after.made for loop in made.loops]
        assert any(loop.lanes > 1 for loop in loops) and not any(loop.no_lanes == code for loop in loops)
    elif code == "short calls":
        assert after.calls == 1
    else:
        assert len(after.made) == 1 < len(before.made)


def test_each_obstacle_that_has_advice_has_a_program():
    assert set(OF_LOOPS) <= set(ADVICE)


# ---- Facts

PROGRAM = """
N = 2.0

@ingot.jit
def soft(x):
    y = np.exp(x)
    return y / y.sum() * N

@ingot.jit
def bad(x):
    class A: pass
    return A()

for _ in range(5):
    soft(x)
N = 3.0
soft(x)
soft(x.astype(np.float32))
try:
    bad(x)
except ingot.UnsupportedError:
    pass
"""


def test_what_is_known_of_a_program(tmp_path):
    by_name = {f.name: f for f in facts_of(tmp_path, PROGRAM).functions}
    soft, bad = by_name["soft"], by_name["bad"]
    assert soft.calls == 7 and 0 < soft.own and soft.compiling > 0
    assert [(made.cause, made.calls) for made in soft.made] == [("first", 5), ("changed", 1), ("types", 1)]
    assert soft.made[1].why == "`N` has changed" and soft.made[2].why == "x: float64[:] before, float32[:] now"
    assert set(soft.made[0].seconds) == {"frontend", "full"} and soft.made[0].code == "full code"
    first = soft.made[0]
    assert (first.moved, first.least) == (40_000, 16_000)
    assert [(wait.bytes, wait.reason) for wait in first.waits] == [(8000, "reduction"), (8000, "number")]
    assert soft.source[0] == "@ingot.jit" and soft.source[-1].strip().startswith("return y")
    exp = soft.first_line + 2
    assert [nest.line[1] for nest in first.nests] == [exp, exp + 1, exp + 1] and [nest.bytes for nest in first.nests] == [16_000, 8000, 16_000]
    assert not bad.made and "a class that is defined inside a function" in bad.refused[0][1]


def test_functions_of_one_name_and_of_one_definition(tmp_path):
    """The profile goes by names: it has one row for both methods `step`."""
    text = """
    class A:
        @ingot.jit
        def step(self, x):
            return x + 1
    class B:
        @ingot.jit
        def step(self, x):
            return x * 2
    def made(k):
        @ingot.jit
        def add(x):
            return x + k
        return add
    for _ in range(3):
        A().step(x)
    B().step(x)
    for k in range(4):
        made(k)(x)
    """
    functions = facts_of(tmp_path, text).functions
    found = {(f.name, f.source[2].strip() if f.name == "step" else ""): f for f in functions}
    assert {key: (f.calls, len(f.made)) for key, f in found.items()} == {
        ("step", "return x + 1"): (3, 1),
        ("step", "return x * 2"): (1, 1),
        ("add", ""): (4, 4),
    }
    assert [f.own for f in functions if f.name == "step"] == [None, None] and found["add", ""].own > 0


def test_checks_that_remain(tmp_path):
    text = """
    @ingot.jit
    def f(x, index):
        for i in range(len(index)):
            x[index[i]] += 1
    f(x, np.arange(9))
    """
    (f,) = facts_of(tmp_path, text).functions
    assert [(loop.no_lanes, loop.checks) for loop in f.made[0].loops] == [("may raise", ("IndexError",))]


# ---- The page


class Tags(HTMLParser):
    """Whether tags are closed in their order."""

    VOID = {"meta", "br", "img", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.outside = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.outside += [value for name, value in attributes if name in ("src", "href") and not value.startswith(("data:", "#"))]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page(tmp_path):
    report = facts_of(tmp_path, PROGRAM)
    report.peaks = {who: {"bytes_per_s": 1e10, "flops_per_s": 1e10} for who in ("core", "all")}
    text = page(report)
    tags = Tags()
    tags.feed(text)
    assert not tags.open and not tags.wrong and not tags.outside and "<script" not in text
    assert "x: float64[:] before, float32[:] now" in text and "class A: pass" in text
    assert 'data-code="changed"' in text and "prefers-color-scheme: dark" in text
    assert re.search("moves 8 kB a call, 1 operation for each element", text)


@pytest.mark.rotated(3)
def test_the_command(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        "import sys\nimport numpy as np\nimport ingot\n@ingot.jit\ndef f(x): return x * 2\nf(np.ones(int(sys.argv[1])))\nprint('ran')\nsys.exit(3)\n"
    )
    command = [sys.executable, "-m", "ingot", "report", "--no-peaks", str(file), "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path)
    assert done.returncode == 3 and done.stdout == "ran\n" and done.stderr == "program.report.html: 1 functions, 0 advice\n"
    assert "10" in (tmp_path / "program.report.html").read_text()
    file.write_text("print(1)\n")
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path)
    assert done.returncode == 0 and "called no functions of ingot.jit" in (tmp_path / "program.report.html").read_text()
