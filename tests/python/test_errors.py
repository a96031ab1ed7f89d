"""What users see where something is refused or raises: the place is theirs, the words are Python's."""

import bisect
import functools
import importlib.util
import linecache
import random
import re
import statistics
import subprocess
import sys
import traceback
from pathlib import Path

import ingot
import numpy as np
import pytest
from ingot._errors import shown_names
from refused import mixed
from support import MODES, jitted, refused

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).name
X = np.arange(4.0)


def insorted(items, x):
    bisect.insort(items, x)
    return items


def padded(x):
    return np.pad(x, 1, mode="reflect", reflect_type="odd")


def of_several(x, y):
    return padded(x) + y


def walks_itself(n):
    def down(n):
        if n > 0:
            yield n
            yield from down(n - 1)

    return sum(down(n))


def matched(text):
    return re.match("a", text)


def middle(x):
    return statistics.NormalDist(x).inv_cdf(0.5)


@pytest.mark.parametrize(
    "function, arguments, words",
    [
        (insorted, ([1, 2], 3), "bisect.insort(items, x)"),
        (padded, (X,), "np.pad"),
        (of_several, (X, X), "np.pad"),
        (walks_itself, (3,), "the generator `down`, which walks itself,"),
        (matched, ("a",), "a call of `re.match`"),
        (lambda a, b: np.cov(a, fweights=b), (X, X), "weights"),
    ],
)
def test_refusals_in_libraries_show_the_users_line(function, arguments, words):
    message = refused(function, *arguments, words=words)
    lines = message.splitlines()
    assert len(lines) <= 15, message
    assert re.search(rf"{HERE}:\d+, in ", lines[1]), message
    assert set(lines[3].strip()) == {"^"}, message
    assert "ingot/library" not in message and "python3" not in message and "::" not in message, message


def test_the_calls_that_led_there_are_shown():
    message = refused(of_several, X, X)
    first = of_several.__code__.co_firstlineno
    assert f"called at {__file__}:{first + 1}, in of_several\n    return padded(x) + y\n" in message
    assert "  where `x` is an array float64[:]\n" in message


def test_long_chains_of_calls_are_cut():
    space = {"f0": padded}
    text = "".join(f"def f{i}(x):\n    return f{i - 1}(x)\n" for i in range(1, 20))
    linecache.cache["<chain>"] = (len(text), None, text.splitlines(keepends=True), "<chain>")
    exec(compile(text, "<chain>", "exec"), space)
    message = refused(space["f19"], X)
    assert len(message.splitlines()) <= 15 and "calls more" in message, message


def test_a_refusal_has_no_line_of_ingots_in_its_traceback():
    with pytest.raises(ingot.UnsupportedError) as caught:
        ingot.jit(padded)(X)
    assert {frame.path.name for frame in caught.traceback} == {HERE}


@pytest.mark.parametrize(
    "function, arguments, words",
    [
        (lambda items: np.float64(items), ([1.0, 2.0],), "np.float64 of a list is not supported"),
        (lambda items, x: x @ items, ([1.0] * 4, X), "'@' of numpy.ndarray and list"),
        (lambda x: x * 2 if x[0] > 0 else None, (X,), "an array on one path and None on another"),
        (lambda x: (x if x[0] > 0 else x[0]) + 1, (X,), "which is an array float64[:] on one path and"),
        (lambda x: open(x), ("file",), "a call of `open`"),
        (lambda x: random.random(), (X,), "use np.random"),
        (lambda n: {k for k in range(n)}, (3,), "an element of a set that is not known when compiling"),
    ],
)
def test_common_mistakes_are_named(function, arguments, words):
    refused(function, *arguments, words=words)


def imports(x):
    import math

    return math.sin(x)


def defines(x):
    class Inner:
        pass

    return x


def assigns(x):
    global total
    total = x


def shrinks(items, n):
    if n > 0:
        items.pop()
    return len(items)


def races(x):
    for i in ingot.prange(1, len(x)):
        x[i] = x[i - 1] + 1
    return x


def leaves(x):
    for i in ingot.prange(len(x)):
        if x[i] > 0:
            return i
    return 0


def changes(x):
    y = x[0]
    if y > 0:
        y = x
    return y + 1


@pytest.mark.parametrize(
    "function, arguments, words",
    [
        (imports, (1.0,), "an `import` inside a function"),
        (defines, (1.0,), "a class that is defined inside a function"),
        (assigns, (1.0,), "an assignment to the global `total`"),
        (mixed, (5,), "a list of several kinds of elements that grows or shrinks on one path only"),
        (shrinks, ([1, 2], 1), "a list of the caller that grows or shrinks on one path only"),
        (races, (X,), "iterations may touch the same element; line "),
        (leaves, (X,), "an iteration leaves the loop"),
        (changes, (X,), "`y`, which is an array float64[:] on one path and a numpy.float64 on another,"),
    ],
)
def test_common_mistakes_of_several_lines_are_named(function, arguments, words):
    refused(function, *arguments, words=words)


def below(x, n):
    return 1.0 / (x[n] - 3.0)


def reshaped(x):
    return np.reshape(x, (3, 5))


def calls_reshaped(x):
    y = x + 1
    return reshaped(y)


def raises(x):
    if x[0] == 0:
        raise ValueError(f"zero at {x[0]}")
    return x


def reads(d, key):
    return d[key]


def solved(x):
    return np.linalg.inv(np.outer(x, x))


def summed(x):
    return functools.reduce(lambda a, b: a / b, x, 1)


def last_line(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Path(frame.filename).name, frame.name, frame.line


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "function, arguments, name, line",
    [
        (below, (X, 9), "below", "return 1.0 / (x[n] - 3.0)"),
        (reshaped, (X,), "reshaped", "return np.reshape(x, (3, 5))"),
        (calls_reshaped, (X,), "reshaped", "return np.reshape(x, (3, 5))"),
        (raises, (X,), "raises", 'raise ValueError(f"zero at {x[0]}")'),
        (reads, ({"a": 1}, "b"), "reads", "return d[key]"),
        (solved, (X,), "solved", "return np.linalg.inv(np.outer(x, x))"),
        (summed, ([1, 0],), "<lambda>", "return functools.reduce(lambda a, b: a / b, x, 1)"),
    ],
)
def test_exceptions_end_at_the_users_line(function, arguments, name, line, mode):
    compiled = jitted(function, mode)
    for _ in range(2):  # compiling, and through the direct way
        with pytest.raises(Exception) as caught:
            compiled(*arguments)
        assert last_line(caught.value) == (HERE, name, line)


def test_exceptions_show_the_calls_that_led_there():
    with pytest.raises(ValueError) as caught:
        ingot.jit(calls_reshaped)(X)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [f.name for f in frames[1:]] == ["calls_reshaped", "reshaped"]
    assert (frames[-1].colno, frames[-1].end_colno) == (11, 32)


def test_exceptions_of_callees_in_other_files(tmp_path):
    (tmp_path / "other.py").write_text("def third(x):\n    return x[3]\n")
    spec = importlib.util.spec_from_file_location("other_file", tmp_path / "other.py")
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)

    def f(x):
        return other.third(x[1:])

    with pytest.raises(IndexError) as caught:
        ingot.jit(f)(X)
    assert last_line(caught.value) == ("other.py", "third", "return x[3]")


def test_the_last_line_of_a_program_that_fails_is_the_users(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import ingot\n@ingot.jit\ndef f(x):\n    return 1 / x\nprint(f(2))\nf(0)\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-4:] == [
        f'  File "{program}", line 4, in f',
        "    return 1 / x",
        "           ~~^~~",
        "ZeroDivisionError: division by zero",
    ], done.stderr
    assert "ingot/_" not in done.stderr


def test_every_refusal_has_an_example():
    """docs/errors.md is what the sources say, and each example is refused as its row says."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "errors_docs.py", "--check"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


class Series:
    def to_numpy(self):
        return np.zeros(2)


def test_arguments_that_are_not_taken_say_what_to_pass():
    def first(x):
        return x[0]

    series = type("Series", (Series, bytearray), {"__module__": "pandas.core.series", "__getitem__": lambda self, i: i})()
    assert "instead: use .to_numpy()" in refused(first, series)
    message = refused(first, list(range(17)))
    assert "`x`, a list of more than 16 elements, is not" in message and "np.array" in message
    assert "a dict of more than 16 elements" in refused(first, dict.fromkeys(range(17), 1))


def test_names_of_the_compilers_own_are_not_shown():
    names = {"`@it`": "what is walked", "`@result@197:19`": "the result", "`v@12:3@g1`": "`v`", "`total@g0`": "`total`", "`a @ b`": "`a @ b`"}
    assert {name: shown_names(name) for name in names} == names
