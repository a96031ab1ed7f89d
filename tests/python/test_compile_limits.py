"""Compiling ends: loops of lower-and-retry make progress or refuse, and what grows is bounded in time and memory."""

import collections
import dataclasses
import itertools
import linecache
import subprocess
import sys
import textwrap
import time

import ingot
import numpy as np
import pytest
from support import check, refused

NUMBERS = itertools.count()


def made(text, name="f"):
    """The function of this name that a text defines, whose source can be found."""
    file = f"<compile limits {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def in_child(text, seconds=60, gigabytes=3):
    """What a program prints that ends within a time and an amount of memory."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({gigabytes << 30}, {gigabytes << 30}))\n"
    ran = subprocess.run([sys.executable, "-c", limit + textwrap.dedent(text)], timeout=seconds, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


# ---- Calls in calls


def tree(depth, kind="x * 0.5"):
    levels = [f"def f{i + 1}(x):\n    return f{i}(x) + f{i}({kind})\n" for i in range(depth)]
    return made("def f0(x):\n    return x + 1.0\n" + "".join(levels), f"f{depth}")


@pytest.mark.rotated(4)
def test_trees_of_calls():
    """The function of each level is evaluated some hundred times at most, and the code is of a size that a level has."""
    assert check(tree(10), 1.5) == tree(10)(1.5)
    function = ingot.jit(tree(40))
    function.compile(1.5)
    text = function.specialisations[0].program.text()
    assert text.count("\n") < 50_000


def test_functions_of_functions_that_are_called_often():
    """Inner functions, two types of arguments, arrays that are changed, exceptions that are caught."""

    def typed(x, y):
        def f0(a, b):
            return a

        def f1(a, b):
            return f0(a, b) + f0(b, a)

        def f2(a, b):
            return f1(a, b) + f1(b, a) + f1(a, b) + f1(b, a)

        def f3(a, b):
            return f2(a, b) + f2(b, a) + f2(a, b) + f2(b, a)

        def f4(a, b):
            return f3(a, b) + f3(b, a) + f3(a, b) + f3(b, a)

        def f5(a, b):
            return f4(a, b) + f4(b, a) + f4(a, b) + f4(b, a)

        return f5(x, y) + f5(y, x)

    check(typed, 1.5, 2)

    def changes(x):
        def add(k):
            x[k] += 1.0
            if x[k] > 70.0:
                raise ValueError("too large")

        def some():
            for k in (0, 1, 2, 0, 1, 2):
                add(k)

        for _ in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10):
            for _ in (1, 2, 3, 4):
                some()
        try:
            some()
            some()
        except ValueError:
            return x, 1
        return x, 0

    check(changes, np.array([0.0, 1.0, 2.0]))
    check(changes, np.array([-50.0, 1.0, -20.0]))


@pytest.mark.rotated(3)
def test_derivatives_of_trees_of_calls_are_refused():
    function = tree(30)

    def derivative(x):
        return ingot.grad(function)(x)

    assert "grow to more than" in refused(derivative, 1.5)


@pytest.mark.parametrize("grown", ["cur + [1]", "[1] + cur"])
def test_recursion_over_lists_that_grow(grown):
    text = f"""
def f(n):
    out = []
    def go(cur, k):
        if k == 0:
            out.append(cur)
        else:
            go({grown}, k - 1)
    go([], n)
    return out
"""
    check(made(text), 4)


@pytest.mark.rotated(3)
def test_recursion_that_keeps_the_lists_that_it_makes():
    """Those of all levels and of all calls in one level have one pool; they had one each, level by level, 64 times."""

    def two_calls(n):
        out = []

        def go(cur, k):
            if k == 0:
                out.append(cur)
                return
            go(cur + [1], k - 1)
            go(cur + [2], k - 1)

        go([], n)
        return out

    def subsets(n):
        out = []

        def go(cur):
            out.append(cur)
            if len(cur) < n:
                for i in range(n):
                    go(cur + [i])

        go([])
        return out

    for function in (two_calls, subsets):
        check(function, 3)


@pytest.mark.rotated(5)
def test_evaluating_has_a_budget_of_steps():
    """Numbers that are known, in functions that are inlined: nothing becomes code, and yet it ends."""
    text = "".join(f"def g{i}(n):\n    return ({' + '.join(['n'] * 300)}) % 7\n" for i in range(20))
    text += "def f(x):\n    n = 1\n    for _ in (" + "1, " * 250 + "):\n" + "".join(f"        n = g{i}(n)\n" for i in range(20)) + "    return x + n\n"
    with pytest.raises(ingot.UnsupportedError) as caught:
        ingot.jit(made(text))(1.5)
    message = str(caught.value)
    assert "grows to more than 2 000 000 steps when compiling" in message and "in g" in message
    assert "instead: use loops over arrays" in message


# ---- Many statements


def test_lengths_are_found_across_many_statements():
    """In code of this size each statement would else look at all statements before it."""
    lines = "".join(f"    x = x * 1.0000{i:03} + {i % 7}.0\n" for i in range(900))
    check(made(f"def f(x):\n{lines}    return x\n"), np.linspace(0.0, 1.0, 5))


def _overlapping(count):
    lines = "".join(f"    y[1:] = y[:-1] + {i}.0\n" for i in range(count))
    return made(f"def f(y):\n{lines}    return y\n")


@pytest.mark.parametrize("step", ["j = j + j", "j = j + j - 1", "j = j * j + j"])
def test_indices_that_double(step):
    """What is known of an index is found once for each of 300 sums: without that, 25 of them take a minute."""
    start = time.process_time()
    text = "def f(x, j):\n" + f"    {step}\n" * 300 + "    return x[j % len(x)]\n"
    with np.errstate(over="ignore"):
        x = np.arange(8.0)
        assert ingot.jit(made(text))(x, np.int64(1)) == made(text)(x, np.int64(1))
    assert time.process_time() - start < 20


@pytest.mark.rotated(5)
def test_statements_whose_memory_overlaps(monkeypatch):
    monkeypatch.setenv("INGOT_TIERS", "quick")  # of full code LLVM takes the most time
    check(_overlapping(60), np.arange(20.0))
    sizes = []
    for count in (50, 70):
        compiled = ingot.jit(_overlapping(count))
        compiled(np.ones(5))
        sizes.append(len(compiled.specialisations[0].compile(texts=True, quick=True)["loop IR"]))
    assert (sizes[1] - sizes[0]) / 20 < sizes[0] / 50 / 2


# ---- What is known when compiling


@pytest.mark.rotated(3)
def test_tuples_of_tuples():
    function = made("def f(x):\n    t = (x, 1)\n" + "    t = (t, t)\n" * 10 + "    return t[0][1][0][1][0][1][0][1][0][1][0]\n")
    check(function, 1.5)
    text = """
        import ingot, linecache
        source = "def f(x):\\n    t = (x, 1)\\n" + "    t = (t, t)\\n" * 40 + "    return x\\n"
        linecache.cache["<t>"] = (len(source), None, source.splitlines(True), "<t>")
        exec(compile(source, "<t>", "exec"))
        try:
            ingot.jit(f)(1.5)
        except ingot.UnsupportedError as error:
            print(str(error).splitlines()[0])
        t = (1, 2)
        for _ in range(40):
            t = (t, t)
        @ingot.jit
        def g(t, x):
            return x
        try:
            print(g(t, 1.5))
        except ingot.UnsupportedError as error:
            print("instead:" in str(error))
    """
    text = textwrap.dedent(text).replace("@ingot.jit\ndef g", "def g")
    source = "def g(t, x):\n    return x\n"
    text = text.replace(source, f"linecache.cache['<g>'] = (0, None, {source.splitlines(True)!r}, '<g>')\nexec(compile({source!r}, '<g>', 'exec'))\ng = ingot.jit(g)\n")
    first, second = in_child(text).splitlines()
    assert first.startswith("a tuple that holds more than 100 000 values") and second in ("1.5", "True")


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Node:
    first: object
    second: object


HOLDERS = {
    "tuple": lambda a, b: (a, b),
    "namedtuple": Pair,
    "list": lambda a, b: [a, b],
    "dict": lambda a, b: {"first": a, "second": b},
    "dataclass": Node,
    "slice": lambda a, b: slice(a, b),
    "mixed": lambda a, b: ([{"a": a}], b),
}


def ways(value):
    """A value that is given, captured, a default, and given back."""

    def given(v, x):
        return x + 1.0

    def captured(x):
        return x if value is None else x + 1.0

    def default(x, v=value):
        return x + 1.0

    def result(v, x):
        return v

    return [(given, (value, 1.0)), (captured, (1.0,)), (default, (1.0,)), (result, (value, 1.0))]


@pytest.mark.parametrize("holder", HOLDERS)
def test_values_that_nest_deeply(holder):
    value = 1.0
    for _ in range(300):
        value = HOLDERS[holder](value, 2.0)
    for function, arguments in ways(value):
        try:
            ingot.jit(function)(*arguments)
        except (ingot.UnsupportedError, RecursionError):
            pass


@pytest.mark.parametrize("holder", HOLDERS)
def test_values_that_hold_one_twice(holder):
    """They are described as often as they are reached, up to a bound; a list, dict or instance once."""
    value = 1.0
    for _ in range(24):
        value = HOLDERS[holder](value, value)
    begin = time.process_time()
    for function, arguments in ways(value):
        try:
            ingot.jit(function)(*arguments)
        except ingot.UnsupportedError as error:
            assert "0 000 values" in str(error) or holder == "slice"
    assert time.process_time() - begin < 10


def known_text(x):
    return x + len("a" * 10**9)


def known_width(x):
    return x + len(f"{3:1000000000}")


def known_padding(x):
    return x + len("a".center(10**9))


def known_percent(x):
    return x + len("%1000000000d" % 3)


def known_doubling(x):
    text = "ab"
    for _ in (1, 2, 3, 4, 5, 6):
        text = text + text + text + text + text + text + text + text + text + text
        text = f"{text}{text}"
    return x + len(text)


def known_joining(x):
    text = "a" * 1000
    return x + len(text.join([text] * 2000))


def known_replacing(x):
    text = "a" * 2000
    return x + len(text.replace("a", text))


def known_bytes(x):
    return x + len(b"a" * 10**9)


def known_power(x):
    return x + (10 ** (10**8)) % 7


def known_shift(x):
    return x + (1 << 10**9) % 7


def known_product(x):
    n = 3
    for _ in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25):
        n = n * n
    return x + n % 7


def known_list(x):
    return x + len([0] * 10**9)


def known_tuple(x):
    return x + len((0,) * 10**9)


def known_range(x):
    return x + len(list(range(10**9)))


def known_sums(x):
    numbers = [1, 2, 3]
    for _ in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25):
        numbers = numbers + numbers
    return x + len(numbers)


LARGE = [known_text, known_width, known_padding, known_percent, known_doubling, known_joining, known_replacing, known_bytes]
LARGE += [known_power, known_shift, known_product, known_list, known_tuple, known_range, known_sums]


@pytest.mark.parametrize("function", LARGE, ids=lambda function: function.__name__)
def test_what_is_known_is_of_bounded_size(function):
    """Each is refused before it is made, or made when the call runs."""
    try:
        result = ingot.jit(function)(1)
    except ingot.UnsupportedError as error:
        assert "instead:" in str(error)
    except MemoryError:
        pass
    else:
        assert result == 1 + 10**9


def test_what_is_known_and_small_is_made():
    def small(x):
        n = 2**1000
        return x * len("ab" * 100), f"{3:20}", "a".center(9), "%9d" % 3, n % 7, (1, 2) * 3, [0] * 4, n * n % 11, "a,b".replace(",", "--")

    check(small, 2)
