"""What users see where something is refused or raises: the location is in their code, the words are Python's."""

import bisect
import functools
import importlib.util
import linecache
import operator
import random
import re
import statistics
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import ingot
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


def iterates_itself(n):
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
        (iterates_itself, (3,), "the generator `down`, which iterates over itself,"),
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
        (lambda x: f"{x}" * 2, (1.5,), "'*' of str and int"),
        (lambda x: x * 2 if x[0] > 0 else None, (X,), "an array on one path and None on another"),
        (lambda x: (x if x[0] > 0 else x[0]) + 1, (X,), "which is an array float64[:] on one path and"),
        (lambda x: open(x), ("file",), "a call of `open`"),
        (lambda x: random.getstate(), (X,), "use np.random"),
        (lambda x: {f"{v}" for v in x}, (X,), "an element of a set that is not known when compiling"),
    ],
)
def test_common_mistakes_are_named(function, arguments, words):
    refused(function, *arguments, words=words)


def imports(x):
    import antigravity

    return antigravity.geohash(x, x, x)


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
        (imports, (1.0,), "an `import` of `antigravity` inside a function, which is not loaded,"),
        (defines, (1.0,), "a class that is defined inside a function"),
        (assigns, (1.0,), "an assignment to the global `total`"),
        (mixed, (5,), "a list of several kinds of elements that grows or shrinks on one path only"),
        (shrinks, ([1, "two"], 1), "a list of the caller that grows or shrinks on one path only"),
        (races, (X,), "(`x[i - 1]` and `x[i]` may be one element)"),
        (leaves, (X,), "a prange loop that an iteration leaves"),
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
    for _ in range(2):  # compiling, and by the direct call
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


@pytest.mark.rotated(5)
def test_every_refusal_has_an_example():
    """docs/errors.md has what is in the sources, and each example is refused as in its row."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "errors_docs.py", "--check"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


class Series:
    def to_numpy(self):
        return np.zeros(2)


def test_arguments_that_are_not_taken_report_what_to_pass():
    def first(x):
        return x[0]

    series = type("Series", (Series, bytearray), {"__module__": "pandas.core.series", "__getitem__": lambda self, i: i})()
    assert "instead: use .to_numpy()" in refused(first, series)
    message = refused(first, [1.5, *range(70)])
    assert "`x`, a list of more than 64 elements that are no numbers of one kind, is not" in message and "np.array" in message
    message = refused(first, dict.fromkeys(map(str, range(70)), 1))
    assert "a dict of more than 64 elements" in message and "arrays of its keys and values" in message


def test_names_of_the_compilers_own_are_not_shown():
    names = {"`@it`": "what is iterated over", "`@result@197:19`": "the result", "`v@12:3@g1`": "`v`", "`total@g0`": "`total`", "`a @ b`": "`a @ b`"}
    assert {name: shown_names(name) for name in names} == names


ODD = [
    (iter([1]), "`V`, a list_iterator from outside the function,", "use a list of what it gives"),
    (operator.itemgetter(1), "`V`, an itemgetter from outside the function,", "write a function that calls it"),
    (ValueError("a"), "`V`, a ValueError from outside the function,", "make it in the function"),
    (str.upper, "`str.upper`, a function that Ingot does not know,", "a function written in Python"),
    (np.savetxt, "`numpy.savetxt`, a function that Ingot does not know,", "a function written in Python"),
    (np.random.default_rng(0).bytes, "`numpy.random.Generator.bytes`, a function that Ingot does not know,", "a function written in Python"),
    (np.array(["a"]), "`V`, an array of dtype <U1,", "pass numbers"),
]


@pytest.mark.parametrize("value, words, advice", ODD, ids=[type(each[0]).__name__ for each in ODD])
def test_values_outside_that_cannot_be_used_report_what_can(value, words, advice):
    space = {"V": value}
    exec("def function(x):\n    return V", space)
    message = refused(space["function"], 1.0)
    assert re.search(words, message) and advice in message and "as an argument" not in message, message
    if words.startswith("`V`") and "outside" in words:
        given = refused(lambda v: v, value)
        assert re.search("`v`, an? [^ ]*, is not supported", given) and advice in given, given


@pytest.mark.parametrize(
    "text, words",
    [
        ("breakpoint()", "a call of `breakpoint`"),
        ("pdb.post_mortem()", "a call of `pdb.post_mortem`"),
        ("import pdb; pdb.post_mortem()", "a call of `pdb.post_mortem`"),
        ("from IPython import embed; embed()", "an `import` of `IPython` inside a function, which is not loaded,"),
        ("sys.breakpointhook()", "a call of `sys.breakpointhook`"),
        ("traceback.print_stack()", "a call of `traceback.print_stack`"),
    ],
)
def test_breakpoints_report_how_to_stop(text, words):
    space = {"pdb": __import__("pdb"), "sys": sys, "traceback": traceback}
    exec(f"def function(x):\n    {text}\n    return x", space)
    message = refused(space["function"], 1.0, words=words)
    assert "instead: set INGOT_DISABLE=1 in the environment: functions run in Python then, where debuggers stop" in message


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: scipy.linalg.sqrtm(np.eye(4)) @ x, "`scipy.linalg.sqrtm`, a function of SciPy's, is not supported"),
        (lambda x: scipy.optimize.minimize(np.sum, x), "`scipy.optimize.minimize`, a function of SciPy's, is not supported"),
        (lambda x: np.lib.format.magic(1, 0), "a call of `numpy.lib.format.magic` is not supported"),
        (lambda x: np.poly1d([1, 2])(x), "a call of `numpy.lib.poly1d` is not supported"),
        (lambda x: ingot.jit(np.sum)(x), "`ingot.jit` of what is no function, in compiled code, is not supported"),
        (lambda x: ingot.device_put(x, "gpu"), "a call of `ingot.device_put` is not supported"),
        (lambda x: ingot.cuda.to_device(x), "a call of `ingot.cuda.to_device` is not supported"),
        (lambda x: ingot.grad(lambda v: open(v))(x), "a call of `open` is not supported"),
    ],
)
def test_places_are_not_in_files_of_others(function, words):
    message = refused(function, X, words=words)
    lines = message.splitlines()
    assert re.match(rf"  {re.escape(__file__)}:\d+, in <lambda>$", lines[1]), message
    assert "site-packages" not in message and "ingot/_" not in message and "ingot/library" not in message


def test_values_that_are_known_are_computed_without_warnings():
    program = """
import warnings
warnings.simplefilter("error")
import ingot, numpy as np
LARGE, SMALL = np.float32(3e38), np.int8(100)
@ingot.jit
def f(x, d=LARGE):
    h = np.uint32(5381)
    for c in (1, 2, 3, 4, 5, 6):
        h = h * np.uint32(33) + np.uint32(c)
    return LARGE * LARGE, SMALL + SMALL, -np.uint8(3), np.int64(1) // np.int64(0), np.float32(1e300), d * d, h
print(f(1.0))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "np.float32(inf), np.int8(-56)" in done.stdout and not done.stderr, done.stderr


def test_warnings_of_the_source_are_shown_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text('import ingot\n@ingot.jit\ndef f(x):\n    s = "\\d"\n    assert (x, "a")\n    return x / 0 if x > 1 else x\nprint(f(1.0))\nf(2.0)\n')
    done = subprocess.run([sys.executable, "-W", "always", program], capture_output=True, text=True, timeout=60)
    told = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert len(told) == 2 and "ZeroDivisionError" in done.stderr, done.stderr


def examples():
    sys.path.insert(0, str(ROOT / "tools"))
    from errors_docs import message_of

    from refusals import EXAMPLES

    for function, *arguments in EXAMPLES:
        yield function, message_of(function, tuple(arguments))


@pytest.mark.rotated(4)
def test_every_refusal_is_a_sentence_at_the_users_place():
    """Iterates over all examples of refusals: what is refused, the user's line, and what to write instead."""
    faults = []
    for function, message in examples():
        code = getattr(function, "py_func", function).__code__
        if message is None:
            faults.append(f"{code.co_filename}:{code.co_firstlineno}: not refused")
            continue
        head, place, *rest = message.splitlines()
        if not head.endswith(" is not supported") or re.match(r"`[^`]*` (is|are) (?!not supported$)", head):
            faults.append(f"no sentence: {head}")
        words = " ".join(line for line in message.splitlines() if not line.startswith("    "))
        if re.search(r"\ba [aeio](?!ne\b)|::|`@\w|\bvoid\d|builtins\.| object at 0x|\bpass it as an argument", words):
            faults.append(f"words of the compiler's own: {message}")
        if not re.match(rf"  {re.escape(str(ROOT / 'tests' / 'python'))}/refus\w+\.py:\d+(, in .+)?$", place):
            faults.append(f"no place of the user's: {message}")
        if not re.match(r"  instead: \w.{5,}", rest[-1]):
            faults.append(f"nothing instead: {message}")
    assert not faults, "\n".join(faults)


def shares_elements(x):
    for i in ingot.prange(1, len(x)):
        x[i] = x[i - 1]


def adds(x, y):
    return [x[0] + y[0] + i for i in range(3)]  # another form of the list is tried, too


def test_what_is_decided_by_is_a_code():
    """What other parts of the package ask of a refusal is not read from its message."""
    unknown = np.array([object()])
    codes = []
    for function, arguments in ((shares_elements, (X,)), (adds, (unknown, X)), (adds, (X, (unknown,))), (iterates_itself, (3,))):
        with pytest.raises(ingot.UnsupportedError) as caught:
            ingot.jit(function)(*arguments)
        codes.append((caught.value._code, caught.value._argument))
    assert codes == [("race", ""), ("argument", "x"), ("argument", "y.0"), ("other", "")]
