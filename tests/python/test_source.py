"""Functions whose source is in no file: found in the program's own source, or rebuilt from their bytecode."""

import ast
import os
import pty
import random
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot._code import decompile, source

TEXT = """
import ingot
@ingot.jit
def f(x, n):
    total = 0.0
    for i in range(n):
        if i % 2 and x > 0.5:
            total += x * i
        elif i > 5:
            continue
        else:
            total -= 1.0
    return total

print(f(2.0, 8))
"""


def _run(*arguments: str, text: str | None = None, **options) -> str:
    done = subprocess.run([sys.executable, *arguments], check=False, input=text, capture_output=True, text=True, timeout=100, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _executed(text: str, name: str = "f"):
    scope: dict = {"np": np, "ingot": ingot}
    exec(text, scope)
    return scope[name]


def _is_same(text: str, *arguments, name: str = "f") -> None:
    function = _executed(text, name)
    expected, got = function(*arguments), ingot.jit(function)(*arguments)
    np.testing.assert_array_equal(got, expected)


def test_text_of_a_command():
    assert _run("-c", TEXT).split() == ["29.0"]


def test_text_of_standard_input(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(TEXT)
    with file.open() as given:
        done = subprocess.run([sys.executable], check=False, stdin=given, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["29.0"]


def test_standard_input_that_is_a_pipe():
    assert _run(text=TEXT).split() == ["29.0"]


def test_prompt_with_piped_input():
    assert _run("-i", "-q", text=TEXT).split() == ["29.0"]


def test_prompt_of_a_terminal():
    main, side = pty.openpty()
    with subprocess.Popen([sys.executable, "-q"], stdin=side, stdout=subprocess.PIPE, stderr=side, text=True) as process:
        os.close(side)
        os.write(main, (TEXT + "\nexit()\n").encode())
        shown, _ = process.communicate(timeout=100)
    os.close(main)
    assert shown.split() == ["29.0"]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["python", "-c", "a", "-c", "b"], "a"),
        (["python", "-ca"], "a"),
        (["python", "-Ic", "a"], "a"),
        (["python", "-X", "dev", "-W", "error", "-c", "a"], "a"),
        (["python", "-Xdev", "-c", "a"], "a"),
        (["python", "-m", "c", "-c", "a"], None),
        (["python", "file.py", "-c", "a"], None),
        (["python"], None),
    ],
)
def test_command_of_arguments(arguments, expected):
    assert source._command(arguments) == expected


@pytest.mark.parametrize(
    "body",
    [
        "    return a + b if a > b else a - b",
        "    x = a and b or a\n    return x",
        "    while a < b:\n        a += 1.5\n        if a > 7: break\n    else:\n        a = -a\n    return a",
        "    for i in range(10):\n        for j in range(i):\n            if j == 4: break\n            a += j\n        else:\n            b -= 1\n    return a * b",
        "    a, b = b, a\n    x = y = a\n    return x - b + y",
        "    z = np.zeros(5)\n    z[1:3] = a\n    z[4] += b\n    return z",
        "    return [i * a for i in range(5) if i % 2]",
        "    g = lambda x, y=2: x * y + a\n    return g(b)",
        "    def g(x):\n        return x * a\n    return g(b) + g(x=a)",
        "    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    g()\n    g()\n    return n",
        "    try:\n        x = [a][int(b)]\n    except IndexError:\n        x = -1.0\n    finally:\n        a += 1\n    return x + a",
        "    if 0 < a < b <= 9 and not a == 3:\n        return 1\n    return 0",
        "    if (n := a * 2) > 3:\n        return n\n    return -n",
        "    while True:\n        a += 1\n        if a > 10:\n            return a",
        "    assert a < b, 'order'\n    return np.where(np.arange(4) > a, a, b)",
    ],
)
def test_bytecode_alone(body):
    _is_same(f"def f(a, b):\n{body}\n", 2.0, 5.0)


def test_lambdas_of_one_line():
    def chosen(x):
        return (lambda q: q * 2) if (lambda q: x) else (lambda q: q * 3)

    assert ingot.jit(chosen(1.0))(3.0) == 6.0
    first, second, third = (lambda q: 1.0), (lambda q: (lambda q: q + 1)(q)), [(lambda q: q + k) for k in (lambda q: (5, q))(7)][1]
    assert (ingot.jit(first)(2.0), ingot.jit(second)(2.0), ingot.jit(third)(2.0)) == (1.0, 3.0, 9.0)


# fmt: off
def test_lambdas_of_one_line_of_which_some_are_never_run():
    """Code that Python leaves out does not shift what is next to it; nor does what runs first and is written last."""
    x = np.arange(3.0)
    map = ingot.parallel.map
    gradient = lambda: ingot.grad(lambda a: a * a)(3.0) if False else ingot.grad(lambda a: a * a)(3.0)  # noqa: E731
    fused = lambda k: ingot.fuse(lambda a: a * 5, lambda a: a + 1)(k) if False else ingot.fuse(lambda a: a * 2, lambda a: a + 1)(k)  # noqa: E731
    mapped = lambda x: map(lambda a: a + 1, x) if __debug__ else map(lambda a: a + 1, x)  # noqa: E731
    chosen = lambda: (lambda q: q * 2) if (lambda q: q)(False) else (lambda q: q * 3)  # noqa: E731
    given = lambda f=(lambda q: q * 2), *, g=(lambda q: q * 5): (f, g, (lambda q: q * 3))  # noqa: E731
    assert (gradient(), fused(3.0), ingot.jit(chosen())(1.0)) == (6.0, 7.0, 3.0)
    np.testing.assert_array_equal(mapped(x), x + 1)
    assert [ingot.jit(f)(1.0) for f in given()] == [2.0, 5.0, 3.0]
# fmt: on


def test_lambdas_of_code_that_is_compiled_twice():
    """Python compiles what a `finally` does once for each way out."""

    def made(flag):
        try:
            if flag:
                return None
        finally:
            f = ingot.jit(lambda q: q * 2)
        return f

    assert made(False)(3.0) == 6.0


@pytest.mark.parametrize("options", [[], ["-X", "no_debug_ranges"]])
def test_lambdas_without_columns(options, tmp_path):
    """Where Python keeps no columns, several functions of one line cannot be distinguished."""
    file = tmp_path / "columns.py"
    file.write_text(
        "import ingot\nf = (lambda q: q * 2) if (lambda q: 0)(0) else (lambda q: q * 3)\ng = lambda q: q + 1\nprint(ingot.jit(g)(1.0))\nprint(ingot.jit(f)(1.0))\n"
    )
    done = subprocess.run([sys.executable, *options, file], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == (["2.0"] if options else ["2.0", "3.0"])
    assert not options or "UnsupportedError" in done.stderr


def test_lambda_of_eval():
    function = eval("lambda x, y: x * 2 + y if x > y else np.sin(x)", {"np": np})
    assert ingot.jit(function)(3.0, 1.0) == 7.0
    assert ingot.jit(function)(1.0, 3.0) == function(1.0, 3.0)


def test_generated_closure():
    text = (
        "def make(k):\n    @ingot.jit\n    def f(x):\n        total = k\n        for v in x:\n            total += v * k\n        return total\n    return f\n"
    )
    make = _executed(text, "make")
    assert [make(k)(np.arange(4.0)) for k in (1.0, 2.0)] == [7.0, 14.0]


def test_helpers_without_text():
    scope: dict = {}
    exec("def h(x):\n    return x * x\n\ndef f(x):\n    return h(x) + h(x + 1)\n", scope)
    assert ingot.jit(scope["f"])(2.0) == 13.0


def test_line_of_an_error():
    function = _executed("def f(x):\n    y = x + 1\n    return x[7] + y\n")
    with pytest.raises(IndexError) as caught:
        ingot.jit(function)(np.arange(3))
    frames = []
    trace = caught.value.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    assert ("<string>", 3) in frames


def test_what_is_not_rebuilt_is_refused():
    function = _executed("def f(x):\n    class A:\n        pass\n    return x\n")
    with pytest.raises(ingot.UnsupportedError, match="define it in a file or a notebook cell"):
        ingot.jit(function)(1)


def test_other_code_is_never_accepted():
    """What is rebuilt is accepted only where it gives the function's own code."""
    code = _executed("def f(x):\n    return x + 1\n").__code__
    with pytest.raises(decompile.Unstructured):
        decompile.rebuild(code, lambda a, b: False)


@pytest.mark.rotated(4)
def test_sample_of_the_standard_library():
    judge = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "decompile_judge"))
    codes = judge["functions"]([Path(random.__file__).parent], every=150)
    good, failed = judge["judge"](codes)
    assert good >= 0.95 * len(codes), failed


def test_trees_are_made_again_where_python_fails(monkeypatch):
    failures = iter([SystemError("AST constructor recursion depth mismatch (before=24, after=38)")] * 2)
    parse = ast.parse

    def failing(*arguments, **keywords):
        for error in failures:
            raise error
        return parse(*arguments, **keywords)

    monkeypatch.setattr(ast, "parse", failing)
    assert source._tree("x = 1", "<test>").body[0].value.value == 1
