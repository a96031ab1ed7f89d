"""`ingot.progress`: loops that show how far they are, in Python and in compiled code, in terminals and notebooks."""

import io
import os
import pty
import re
import subprocess
import sys
import textwrap
import threading

import ingot
import numpy as np
import pytest
from ingot._host import progress
from support import check, refused


@pytest.fixture(autouse=True)
def no_bars_are_left():
    yield
    assert progress._thread.bars == []


@pytest.fixture
def calls(monkeypatch):
    """The calls that loops have made: names and arguments."""
    made = []
    for host in (progress.begin_host, progress.advance_host, progress.end_host):
        function = host.function

        def noted(*given, function=function):
            made.append((function.__name__, *given))
            return function(*given)

        monkeypatch.setattr(host, "function", noted)
    return made


# ---- Values


def over_a_range(x, start, stop, step):
    total = 0.0
    for i in ingot.progress(range(start, stop, step)):
        total = total * 0.5 + x[i]
    return total, i


def at_the_ends_of_64_bits(least, most):
    total = 0
    for i in ingot.progress(range(least + 5, least, -2)):
        total += i % 7
    for i in ingot.progress(range(least, most, 2**62)):
        total += i % 7
    for i in ingot.progress(range(most - 10, most, 3)):
        total += i % 7
    return total


def over_elements(x):
    rows = []
    for row in ingot.progress(x, label="rows"):
        rows.append(row.sum())
    return rows


def over_others(n):
    total = 0
    for k, (a, b) in enumerate(ingot.progress(zip(range(n), (x * x for x in range(n))), total=n)):
        total += a * b - k
    for key in ingot.progress({"a": 1, "b": 2}):
        total += len(key)
    for c in ingot.progress([1.5, 2.5]):
        total += c
    return total


def that_are_left(x, limit):
    for i in ingot.progress(range(len(x))):
        if x[i] > limit:
            break
    else:
        return -1, -1
    for j in ingot.progress(range(len(x)), label="second"):
        if x[j] > limit - 1:
            return i, j
    return i, -1


def inside_each_other(n):
    total = 0
    for i in ingot.progress(range(n), "outer"):
        for j in ingot.progress(range(i), "inner"):
            if j == 3:
                break
            total += i * j
    return total


def in_a_try(x, n):
    try:
        for i in ingot.progress(range(n)):
            x[i] += 1
    except IndexError:
        return np.float64(-1.0)
    finally:
        x[0] = 9
    return x.sum()


def in_a_comprehension(n):
    return [i * i for i in ingot.progress(range(n))], sum(ingot.progress(range(n)))


CASES = [
    (over_a_range, np.arange(50.0), 0, 50, 1),
    (over_a_range, np.arange(50.0), 49, -1, -3),
    (over_a_range, np.arange(5000.0), 7, 4999, 2),
    (at_the_ends_of_64_bits, -(2**63), 2**63 - 1),
    (over_elements, np.arange(12.0).reshape(4, 3)),
    (over_others, 9),
    (that_are_left, np.arange(50.0), 20.0),
    (that_are_left, np.arange(50.0), 60.0),
    (inside_each_other, 9),
    (in_a_try, np.ones(5), 5),
    (in_a_try, np.ones(5), 6),
    (in_a_comprehension, 7),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_values_are_those_of_the_loop(case):
    check(*case)


def test_exceptions_leave_the_loop():
    def beyond(x):
        for i in ingot.progress(range(len(x) + 1)):
            x[i] = i

    check(beyond, np.ones(3))
    assert progress._thread.bars == []


def test_an_empty_loop_and_what_is_no_iterable():
    check(over_others, 0)
    with pytest.raises(TypeError, match="not iterable"):
        ingot.progress(3)


def test_loops_over_prange_are_refused():
    def around(x):
        for i in ingot.progress(ingot.prange(len(x))):
            x[i] += 1

    def inside(x):
        for i in ingot.prange(len(x)):
            for j in ingot.progress(range(3)):
                x[i] += j

    refused(around, np.ones(3), words="progress")
    refused(inside, np.ones(3), words="prange")


def test_what_has_no_type_is_refused():
    def items(d):
        total = 0
        for key, value in ingot.progress(d.items()):
            total += value
        return total

    def of_a_list(d):
        total = 0
        for key, value in ingot.progress(list(d.items())):
            total += value
        for value in ingot.progress((value for value in d.values()), total=len(d)):
            total += value
        return total

    def of_an_array(x):
        total = 0.0
        for _, value in ingot.progress(np.ndenumerate(x)):
            total += value
        return total

    refused(of_an_array, np.arange(4.0), words="type")
    check(items, {"a": 1, "b": 2})
    check(of_a_list, {"a": 1, "b": 2})
    with pytest.raises(TypeError, match=r"^progress\(\) got some positional-only"):
        ingot.jit(lambda n: list(ingot.progress(iterable=range(n))))(3)


def test_derivatives_batches_and_threads():
    def squares(x):
        total = 0.0
        for i in ingot.progress(range(len(x))):
            total += x[i] * x[i]
        return total

    x = np.arange(6.0)
    assert (ingot.grad(squares)(x) == 2 * x).all()
    assert (ingot.vmap(squares)(x.reshape(2, 3)) == [5.0, 50.0]).all()
    found = []
    thread = threading.Thread(target=lambda: found.append(ingot.jit(squares)(x)))
    thread.start()
    thread.join()
    assert found == [55.0]


# ---- What it takes


@pytest.mark.parametrize("n", [10**3, 10**6])
def test_a_short_loop_makes_few_calls(calls, n):
    @ingot.jit
    def loop(n):
        total = 0
        for i in ingot.progress(range(n)):
            total += i & 7
        return total

    assert loop(n) == sum(i & 7 for i in range(n))
    assert [name for name, *_ in calls][:: len(calls) - 1] == ["begin", "end"] and len(calls) < 15
    assert calls[0] == ("begin", n, "") and calls[-1][2] == n


def test_calls_adapt_to_the_time_that_iterations_take():
    bar, now = progress.Bar(1, 100, ""), 0.0
    bar.looked = now
    steps = []
    for seconds in (1e-6,) * 4 + (1e-2,) * 4 + (1.0,) * 3:
        now += seconds * bar.step
        steps.append(bar.next_step(now))
    assert steps == [4, 16, 64, 256, 3, 3, 3, 3, 1, 1, 1]


def test_loops_are_compiled_as_without_it():
    @ingot.jit
    def squares(x):
        out = np.empty(len(x))
        for i in ingot.progress(range(len(x))):
            out[i] = x[i] * x[i] + 1.0
        return out

    assert "vectorised" in str(squares.explain(np.ones(1000))).split("=== source")[0].replace("not vectorised", "")
    assert (squares(np.ones(1000)) == 2.0).all()


# ---- What is drawn


def test_lines_of_text():
    bar = progress.Bar(1, 200, "sum", done=50, begun=0.0)
    line = progress.as_text(bar, 10.0, 60)
    assert line.startswith("sum:  25% |") and line.endswith("| 50/200 [00:10<00:30, 5/s]") and len(line) <= 60
    assert progress.as_text(progress.Bar(1, -1, "", done=4_000_000, begun=0.0), 4000.0, 60) == "4000000 [1:06:40, 1k/s]"
    assert progress.as_text(progress.Bar(1, 0, "", begun=0.0), 1.0, 60).startswith("100% |")
    html = progress.as_html(bar, 10.0)
    assert '<progress value="50" max="200"' in html and "50/200 [00:10&lt;00:30, 5/s]" in html


PROGRAM = """
import numpy as np, ingot

@ingot.jit(tier="full")
def spin(n, limit):
    total = 0.0
    for i in ingot.progress(range(n), label="spin"):
        if i == limit:
            break
        for j in range(80000):
            total += np.sin(i * j)
    return total
"""


def in_a_terminal(file, text):
    """What a program draws on a terminal, and its last line of output."""
    file.write_text(PROGRAM + textwrap.dedent(text))
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            drawn += part
        out = process.stdout.read()
    os.close(ours)
    return drawn.decode(), out


@pytest.mark.rotated(4)
def test_a_terminal(tmp_path):
    drawn, out = in_a_terminal(tmp_path / "program.py", "spin(10, 5)\nspin(9000, 6000)\nprint('done')\nspin(10, 20)")
    counts = [int(n) for n in re.findall(r"spin: .*?\| (\d+)/9000 \[", drawn)]
    assert len(counts) > 2 and counts == sorted(counts) and counts[-1] <= 6000
    assert out == "done\n" and drawn.endswith("\r\n") and drawn.count("\n") == 1 and "/10 " not in drawn


@pytest.mark.rotated(3)
def test_nothing_is_drawn_into_a_file(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + "spin(500, 5000)\nprint('done')")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


class WithoutMethods:
    """What a program may have as its stderr."""


class Broken:
    def isatty(self):
        return True

    def write(self, text):
        raise BrokenPipeError


def closed():
    file = io.StringIO()
    file.close()
    return file


@pytest.mark.parametrize("stderr", [None, WithoutMethods(), Broken(), closed()], ids=lambda stderr: type(stderr).__name__)
def test_no_loop_ends_where_nothing_can_be_drawn(monkeypatch, stderr):
    def loop(n):
        total = 0
        for i in ingot.progress(range(n)):
            total += i
        return total

    compiled = ingot.jit(loop)
    monkeypatch.setattr(progress, "_SHORT", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN_DRAWINGS", 0.0)
    with monkeypatch.context() as during:
        during.setattr(sys, "stderr", stderr)
        found = loop(100), compiled(100)
    assert found == (4950, 4950) and progress._thread.bars == []
