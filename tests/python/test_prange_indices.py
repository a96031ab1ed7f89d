"""Random indices over `prange`: what compiles has no two iterations that conflict, found by running it in Python, and gives the
same. `python test_prange_indices.py COUNT [FIRST]` runs many."""

import linecache
import random
import re
import sys

import numpy as np
import pytest

import ingot
from support import difference, jitted

CONSTANT = 1.5


class Recorded:
    """An array that notes by which elements iterations read, write, store the constant, and combine, and how."""

    def __init__(self, x):
        self.x = x
        self.places = np.arange(x.size).reshape(x.shape)
        self.iterations = {}
        self.iteration = None
        self.plus, self.times = Combined(self, "plus"), Combined(self, "times")

    def __len__(self):
        return len(self.x)

    def note(self, kind, key):
        for place in np.atleast_1d(self.places[key]).ravel().tolist():
            self.iterations.setdefault(place, {}).setdefault(kind, set()).add(self.iteration)

    def __getitem__(self, key):
        self.note("read", key)
        return self.x[key]

    def __setitem__(self, key, value):
        self.note("constant" if isinstance(value, float) and value == CONSTANT else "written", key)
        self.x[key] = value

    def meets(self):
        """Whether an iteration writes what another one touches, but for what both do alike."""
        return any(len(set().union(*kinds.values())) > 1 and (len(kinds) > 1 or "written" in kinds) for kinds in self.iterations.values())


class Combined:
    def __init__(self, of, kind):
        self.of, self.kind = of, kind

    def __setitem__(self, key, number):
        self.of.note(self.kind, key)
        self.of.x[key] = self.of.x[key] + number if self.kind == "plus" else self.of.x[key] * number


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rank = self.r.choice([1, 1, 2])
        depth = self.r.choice([0, 1, 1, 2])
        self.names = ["i"]
        lines = [f"for i in prange({self.bounds('n')}):"]
        for name in "jk"[:depth]:
            indent = "    " * len(self.names)
            lines.append(f"{indent}for {name} in range({self.bounds(self.r.choice(['m', 'm', '2', '3', 'i', 'n', 'i + 1']))}):")
            self.names.append(name)
            if self.r.random() < 0.3:
                lines += self.statements("    " * len(self.names), 1)
        lines += self.statements("    " * len(self.names), self.r.choice([1, 1, 2]))
        body = "\n    ".join(lines)
        self.text = f"def f(x, n, m):\n    {body}\n"

    def bounds(self, stop):
        start = self.r.choice(["", "", "", "1, ", "i + 1, " if len(self.names) > 1 or stop != "n" else "", "m, "])
        if stop in ("2", "3") and "i" in start:
            start = ""
        if self.r.random() < 0.12:
            return f"{stop} - 1, -1, -{self.r.choice([1, 2])}"
        step = f", {self.r.choice([2, 3])}" if self.r.random() < 0.12 and start else ""
        return f"{start}{stop}{step}"

    def statements(self, indent, count):
        lines = []
        for _ in range(count):
            if self.r.random() < 0.2:
                a, b = self.r.sample([*self.names, "m"], 2)
                lines.append(f"{indent}if {a} {self.r.choice(['<', '<=', '>', '>=', '!='])} {b}:")
                lines.append("    " + indent + self.assignment())
            else:
                lines.append(indent + self.assignment())
        return lines

    def assignment(self):
        place = self.place()
        value = self.r.choice(["1.5", "i", f"x[{self.place(False)}] + 1", f"x[{place}] * 2", "i"])
        if ":" in place:
            value = self.r.choice(["i", f"x[{place}] + 1"])
        return f"x[{place}] = {value}"

    def place(self, may_slice=True):
        axes = [self.index() for _ in range(self.rank)]
        if may_slice and self.r.random() < 0.25:
            axis = self.r.randrange(self.rank)
            axes[axis] = self.r.choice([":", "i * m : (i + 1) * m", "2 * i : 2 * i + 2", "i : i + 1", "i :: n", "n * i : n * i + m", f"{axes[axis]} :"])
        return ", ".join(axes)

    def index(self):
        r = self.r
        terms = []
        for name in self.names:
            factor = r.choice(["", "", "0", "2", "3", "m", "-1", "n"]) if name == "i" else r.choice(["", "", "0", "2", "m", "-1"])
            if factor == "0":
                continue
            terms.append(name if not factor else f"-{name}" if factor == "-1" else f"{factor} * {name}")
        text = " + ".join(terms) or "0"
        offset = r.choice(["", "", "", "+ 1", "- 1", "+ m", "+ 2"])
        shape = r.random()
        if shape < 0.08:
            return f"({text}) % m"
        if shape < 0.16:
            return f"({text}) // m"
        if shape < 0.24:
            return f"n - 1 - ({text})"
        return f"{text} {offset}".strip()

    def function(self, text):
        name = f"<prange {id(self)} {len(text)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope = {"prange": ingot.prange}
        exec(compile(text, name, "exec"), scope)  # noqa: S102
        return scope["f"]

    def recorded(self):
        """... that records where it combines."""
        text = re.sub(r"x\[(.*)\] = x\[\1\] ([+*]) (\d)", lambda m: f"x.{'plus' if m[2] == '+' else 'times'}[{m[1]}] = {m[3]}", self.text)
        return self.function(text)


class Chunks(Program):
    """Loops over chunks of a range, some of which are one too long."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.rank = 1
        size = r.choice(["n // m", "(n + m - 1) // m", "m", "n // 4", "m + 1", "n - m", "max(1, n // m)", "m - 1"])
        lines = [f"c = {size}"]
        kind = r.choice(["chunks", "chunks", "steps", "cyclic", "factor"])
        if kind == "chunks":
            lines.append(f"for t in prange({r.choice(['m', 'm', '4', '(n + c - 1) // max(c, 1)', 'n // max(m, 1)'])}):")
            low = r.choice(["t * c", "t * c", "c * t", "t * c + 1", "(t + 1) * c", "t * n // max(m, 1)"])
            high = r.choice(["(t + 1) * c", "lo + c", "min(lo + c, n)", "min((t + 1) * c, n)", "n if t == m - 1 else lo + c", "lo + c + 1"])
            if "//" in low:
                high = r.choice(["(t + 1) * n // max(m, 1)", "(t + 1) * n // max(m, 1)", "(t + 2) * n // max(m, 1)", high])
            lines += [f"    lo = {low}", f"    hi = {high}"]
        elif kind == "steps":
            lines.append(f"for t in prange({r.choice(['0, n, c', '0, n, c', '1, n, c', '0, n - c + 1, c', '0, n, 3', 'm, n, c'])}):")
            lines += ["    lo = t", f"    hi = {r.choice(['min(t + c, n)', 't + c', 'min(n, c + t)', 't + c + 1', 't + 3', 't + m'])}"]
        elif kind == "cyclic":
            lines += [f"for t in prange({r.choice(['c', 'c', 'm', 'c + 1'])}):", "    lo = t", "    hi = n"]
        else:
            lines += [
                "for t in prange(m):",
                f"    lo = {r.choice(['c * t', 't * c', 'c * t + 1', 'c * (t + 1)', 'n - c * t', 'c * t - t'])}",
                "    hi = lo + c",
            ]
        for _ in range(r.choice([1, 1, 2])):
            lines += ["    " + line for line in self.body(kind)]
        body = "\n    ".join(lines)
        self.text = f"def f(x, n, m):\n    {body}\n    return c\n"

    def body(self, kind):
        if kind == "factor":
            return [self.r.choice(["x[lo] = t", "x[lo] = t", "x[lo] = x[lo] + 1", "x[lo] = x[lo + 1]", "x[lo : hi] = t"])]
        if kind == "cyclic":
            return self.r.choice(
                [["for i in range(t, n, c):", "    x[i] = t"], ["x[t::c] = t"], ["x[t:n:c] = t"], ["for i in range(t, n, m):", "    x[i] = x[i] + 1"]]
            )
        return self.r.choice(
            [
                ["for i in range(lo, hi):", "    x[i] = i + t"],
                ["for i in range(lo, hi):", "    x[i] = i + t"],
                ["for i in range(lo + 1, hi):", "    x[i] = x[i - 1] + t"],
                ["for i in range(lo, hi - 1):", "    x[i] = x[i + 1] + t"],
                ["x[lo : hi] = t"],
                ["x[lo : hi] = x[lo : hi] + 1"],
                ["s = 0.0", "for i in range(lo, hi):", "    s += x[i]", "for i in range(lo, hi):", "    x[i] = s"],
                ["x[lo] = t"],
                ["for i in range(c):", "    x[lo + i] = t"],
            ]
        )


def run(seed, modes, kind=Program):
    """Whether it compiles; raises AssertionError where what compiles is not independent."""
    program = kind(seed)
    function, in_python = program.function(program.text), program.recorded()
    shape = (700,) if program.rank == 1 else (60, 60)
    accepted = False
    for mode in modes:
        f = jitted(function, mode)
        for n, m in ((5, 3), (7, 2), (4, 4), (3, 5), (4, -2), (17, 4)):
            given, expected = np.zeros(shape), Recorded(np.zeros(shape))
            in_python.__globals__["prange"] = lambda *bounds, expected=expected: iterations(expected, *bounds)
            try:
                size = in_python(expected, n, m)
            except (IndexError, ValueError, ZeroDivisionError):
                continue
            try:
                f(given, n, m)
            except ingot.UnsupportedError as error:
                assert "depend on each other" in str(error), (seed, program.text, str(error))
                return False
            accepted = True
            assert difference(given, expected.x) is None, (seed, n, m, mode, program.text)
            # What depends on numbers from outside, which may be negative or 0, may run in order.
            may_meet = m < 0 or (size is not None and size < 1)
            assert may_meet or not expected.meets(), (seed, n, m, program.text)
    return accepted


def iterations(recorded, *bounds):
    for i in range(*bounds):
        recorded.iteration = i
        yield i


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, 160, 10))
def test_random_indices(first):
    accepted = sum(run(seed, ["interpreted"]) for seed in range(first, first + 10))
    assert accepted > 0
    run(first, ["compiled"])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, 80, 10))
def test_random_chunks(first):
    accepted = sum(run(seed, ["interpreted"], Chunks) for seed in range(first, first + 10))
    assert accepted > 0
    run(first, ["compiled"], Chunks)


if __name__ == "__main__":
    before = ingot.get_num_threads()
    ingot.set_num_threads(4)
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count = int(sys.argv[1])
    for kind in (Program, Chunks):
        print(sum(run(seed, sys.argv[3:] or ["interpreted"], kind) for seed in range(first, first + count)), "of", count, "compile")
