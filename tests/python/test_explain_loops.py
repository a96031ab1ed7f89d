"""`f.explain()` begins with a line for each loop: vectorised, shared, fused, or why not."""

import functools
import linecache
import re

import numpy as np
import pytest

import ingot

X = np.ones(1000)


def helper(a):
    return a * 3


def fused(x, y):
    z = np.sin(x) + 1
    w = z * helper(y)
    return w


def summed(x):
    total = 0.0
    for v in x:
        total += v
    return total


def recurrence(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] + 1
    return x


def raising(x):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative")
        x[i] = x[i] * 2
    return x


def counting(n):
    k = 0
    while k < n:
        k += 2
    return k


def printing(n):
    for i in range(n):
        print(i)


def shared(x):
    for i in ingot.prange(len(x)):
        x[i] = np.exp(x[i])
    return x


def rows(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def arrays_in_iteration(x):
    t = 0.0
    for i in range(len(x)):
        y = x * i
        t += y.sum()
    return t


def left(x):
    for i in range(len(x)):
        if x[i] > 3:
            return i
    return -1


def scattered(x, h):
    for i in range(len(x)):
        h[int(x[i])] += 1
    return h


def loops_of(explained) -> list[str]:
    """What is reported of each loop, in order."""
    head, rest = str(explained).split("\n=== source ===\n")
    assert head.startswith("=== loops ===\n") and "=== array IR ===" in rest
    return head.splitlines()[1:]


def row(function, offset: int, words: str) -> str:
    """The pattern of the line on the `offset`-th line of a function."""
    line = function.__code__.co_firstlineno + offset
    return rf"line {line} +{re.escape(linecache.getline(__file__, line).strip())} +{words}"


VECTORISED = r"vectorised by (4|8|16|32|64)"
SHARED = "shared among threads if it is long"
FIRST = helper.__code__.co_firstlineno + 1


@pytest.mark.parametrize(
    "function, arguments, expected",
    [
        (fused, (X, X), [(2, f"{VECTORISED}; {SHARED}; fused with lines {FIRST} and {fused.__code__.co_firstlineno + 1}")]),
        (summed, (X,), [(2, r"not vectorised: its floats are summed in the written order \(fastmath=\"reassoc\" allows any\); not shared: .*")]),
        (recurrence, (X,), [(1, r"neither vectorised nor shared: iterations may touch the same element \(line {2}\).*")]),
        (raising, (X,), [(1, VECTORISED + r"; not shared: an iteration may raise \(line {3}\)")]),
        (counting, (9,), [(2, "neither vectorised nor shared: how many iterations it has is not known before")]),
        (printing, (9,), [(1, r"not vectorised: an iteration calls Python \(line {2}\); .*")]),
        (shared, (X,), [(1, f"{VECTORISED}; {SHARED}")]),
        (rows, (np.ones((50, 60)), np.ones((60, 70)), np.zeros((50, 70))), [(1, rf"vectorised in line {{2}}; {SHARED}"), (2, VECTORISED), (3, "in the lanes of line {2}")]),
        (arrays_in_iteration, (X,), [(2, "vectorised in line {4}; shared among threads in line {4}"), (4, f"{VECTORISED}; {SHARED}; fused with line {{3}}")]),
        (left, (X,), [(1, r"not vectorised: an iteration leaves the loop; not shared: .*")]),
        (scattered, (X, np.zeros(3)), [(1, r"neither vectorised nor shared: an iteration may raise \(line {2}\)")]),
        (lambda x: x + 1, (1.0,), []),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_each_loop_has_a_line(function, arguments, expected):
    said = loops_of(ingot.jit(function).explain(*arguments))
    if not expected:
        assert said == ["none"]
        return
    first = function.__code__.co_firstlineno
    numbered = [(offset, re.sub(r"\{(\d)\}", lambda found: str(first + int(found[1])), words)) for offset, words in expected]
    assert len(said) == len(numbered), said
    for line, (offset, words) in zip(said, numbered):
        assert re.fullmatch(row(function, offset, words), line), line


def test_fastmath_vectorises_sums():
    (line,) = loops_of(ingot.jit(summed, fastmath="reassoc").explain(X))
    assert re.search(f"{VECTORISED}; {SHARED}$", line)


def test_loops_of_transforms_are_the_users():
    def loss(w):
        return (np.tanh(w) ** 2).sum()

    for made in (ingot.grad(loss), ingot.jit(ingot.grad(loss)), ingot.grad(functools.partial(loss))):
        said = loops_of(made.explain(X))
        own = [line for line in said if "return (np.tanh(w) ** 2).sum()" in line]
        assert len(own) == 1 and "vectorised by" in own[0]
        assert all(line.startswith("Ingot ") for line in said if line not in own)
    assert f"line {loss.__code__.co_firstlineno + 1} " in loops_of(ingot.grad(loss).explain(X))[0]


def test_loops_of_other_files_have_its_name(tmp_path):
    text = "def third(x):\n    for i in range(len(x)):\n        x[i] += 1\n    return x\n"
    (tmp_path / "other.py").write_text(text)
    space = {}
    exec(compile(text, tmp_path / "other.py", "exec"), space)
    third = space["third"]
    (line,) = loops_of(ingot.jit(lambda x: third(x)).explain(X))
    assert re.fullmatch(rf"other.py:2  for i in range\(len\(x\)\):  {VECTORISED}; {SHARED}", line)


def cubed(x):
    return x**3


def shared(x):
    for i in ingot.prange(len(x)):
        x[i] += 1
    return x


@pytest.mark.parametrize("function, argument", [(ingot.grad(cubed), 2.0), (ingot.jit(shared), X)], ids=["a derivative", "prange"])
def test_derivatives_and_prange_are_among_the_phases(function, argument):
    times = dict(function.explain(argument).sections)["times"]
    assert [line.split()[0] for line in times.splitlines()][:3] == ["derive", "parallel", "inline"]
