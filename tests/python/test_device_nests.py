"""Loops inside loops that do something besides: the outer loop and the inner ones are axes of launches.

Each outcome - what is written, and what is raised - is Python's, on the software device and on a device that takes OpenCL C.
"""

import copy
import functools
import linecache
import os
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import ingot

rng = np.random.default_rng(5)


@pytest.fixture(params=["emulated", pytest.param("opencl", marks=pytest.mark.sampled(6, of="opencl"))])
def device(request):
    return ingot.device(request.param)


def outcome_of(function, arguments):
    try:
        return None, function(*arguments)
    except (IndexError, ValueError, OverflowError, ZeroDivisionError) as error:
        return type(error), str(error)


@functools.cache
def compiled(function):
    return ingot.jit(function)


def as_in_python(device, function, *arguments, writes=True):
    """What a function gives or raises is what Python does; so is what it writes, unless `writes` is false."""
    mine, moved = copy.deepcopy(arguments), copy.deepcopy(arguments)
    moved = tuple(ingot.device_put(x, device) if isinstance(x, np.ndarray) else x for x in moved)
    expected = outcome_of(function, mine)
    assert outcome_of(compiled(function), moved) == expected
    if writes:
        for a, b in zip(mine, moved, strict=True):
            if isinstance(a, np.ndarray):
                np.testing.assert_array_equal(b.to_host(), a)
                assert b.dtype == a.dtype
    return expected


def launches_of(function, *arguments):
    return ingot.jit(function).explain(*arguments, device="sm_90").launches


def scaled(data, first, last, weights):
    for v in range(len(first)):
        for d in ingot.prange(len(weights)):
            row, w = d, weights[d]
            for s in range(first[v], last[v]):
                data[row, s] *= w


def scaled_in_order(data, first, last, weights):
    for v in range(len(first)):
        for d in range(len(weights)):
            w = weights[d] * 2 + 1
            for s in range(first[v], last[v]):
                data[d, s] *= w


def intervals(*ends):
    return np.array([a for a, _ in ends]), np.array([b for _, b in ends])


def samples(*shape):
    return rng.integers(-9, 9, shape) / 8


@pytest.mark.parametrize("function", [scaled, scaled_in_order])
@pytest.mark.parametrize(
    ("shape", "ends"),
    [
        ((5, 40), [(0, 7), (7, 7), (9, 30), (25, 40)]),
        ((1, 3000), [(0, 3000)]),
        ((300, 3), [(0, 3), (1, 2), (2, 1)]),
        ((0, 9), [(0, 9), (1, 100)]),
        ((4, 0), [(0, 0), (5, 2)]),
        ((3, 5), [(-5, 0), (-2, 3), (0, 5)]),
    ],
)
def test_an_iteration_that_begins_with_loads_is_an_axis(device, function, shape, ends):
    as_in_python(device, function, samples(*shape), *intervals(*ends), samples(shape[0]))


@pytest.mark.parametrize("function", [scaled, scaled_in_order])
def test_it_is_one_launch_for_all_rows(function):
    text = str(ingot.jit(function).explain(samples(64, 1000), *intervals((0, 400), (400, 1000)), samples(64), device="sm_90"))
    iterations = text[text.index("=== loop IR ===") : text.index("=== LLVM IR ===")].split("launch ")[1:]
    # One of all rows, whose first axis is as long as an interval; one, of one thread, where an index may be wrong.
    one_thread = [t for t in iterations if re.match(r"(%\d+), \1, \1, \1, \1, \1 ", t)]
    assert len(iterations) - len(one_thread) == 1
    assert "schedule=serial" not in next(t for t in iterations if t not in one_thread)


@pytest.mark.parametrize("function", [scaled, scaled_in_order])
@pytest.mark.parametrize(
    "ends",
    [
        [(0, 10), (5, 41)],
        [(-41, 3)],
        [(0, 10), (60, 70), (30, 20)],
    ],
)
def test_exceptions_are_those_of_the_first_iteration(device, function, ends):
    arguments = samples(5, 40), *intervals(*ends), samples(5)
    assert as_in_python(device, function, *arguments, writes=function is scaled_in_order)[0] is IndexError


def test_counts_are_checked_in_order(device):
    """They are computed before the loop only if it has an iteration, in which nothing comes before them."""

    def of_no_iteration(data, counts, k, n):
        for d in range(n):
            for s in range(counts[k]):
                data[d, s] += 1

    def behind_a_check(data, counts, k, n, limit):
        for d in range(n):
            if data[d, 0] > limit:
                raise ValueError("large")
            for s in range(counts[k]):
                data[d, s] += 1

    def of_the_first(data, counts, w, n):
        for d in range(n):
            k = w[d]
            for s in range(counts[0]):
                data[d, s] += k

    def behind_a_store(data, counts, k, n):
        for d in range(n):
            data[d, 0] = 7
            for s in range(counts[k]):
                data[d, s] += 1

    data, counts = samples(4, 9), np.array([9, 5, 0])
    for few in (0, 1):
        for length, n in [(0, 0), (0, 2), (1, 2), (4, 4), (4, 0)]:
            as_in_python(device, of_the_first, data, counts[:few], samples(length), n)
    for k, n in [(0, 4), (1, 3), (2, 4), (3, 0), (-4, 0), (3, 2), (-3, 4)]:
        as_in_python(device, of_no_iteration, data, counts, k, n)
        as_in_python(device, behind_a_store, data, counts, k, n)
        for limit in (9.0, data[1, 0] - 1, data[0, 0] - 1):
            as_in_python(device, behind_a_check, data, counts, k, n, limit)


def test_what_iterations_write_is_not_taken_out(device):
    def own_count(counts, data):
        for d in range(data.shape[0]):
            for s in range(counts[0]):
                counts[d + s] += 1
                data[d, s] = counts[d]

    def own_weight(x, y):
        for d in range(x.shape[0]):
            w = x[d, 0]
            for s in range(x.shape[1]):
                x[d, s] = x[d, s] * w + y[s]

    def of_the_row_before(x):
        for d in range(1, x.shape[0]):
            w = x[d - 1, 0]
            for s in range(x.shape[1]):
                x[d, s] += w * x[d - 1, s]

    as_in_python(device, own_count, np.array([3, 1, 4, 1, 5, 9, 2, 6]), samples(4, 9))
    as_in_python(device, own_weight, samples(5, 30), samples(30))
    as_in_python(device, own_weight, samples(5, 0), samples(0))
    as_in_python(device, of_the_row_before, samples(6, 30))
    x = samples(5, 30)
    moved, mine = ingot.device_put(x, device), x.copy()
    own_weight(mine, mine[2])
    ingot.jit(own_weight)(moved, moved[2])
    np.testing.assert_array_equal(moved.to_host(), mine)


def gathered(data, table, first, last, weights):
    for v in range(len(first)):
        for d in range(len(weights)):
            k = table[d]
            w = weights[k]
            for s in range(first[v], last[v]):
                data[d, s] *= w


@pytest.mark.parametrize("rows", [3, 40])
def test_checks_of_an_iteration_are_made_before(device, rows):
    data, weights = samples(rows, 50), samples(rows)
    table = rng.permutation(rows)
    ends = intervals((0, 20), (30, 30), (20, 50))
    as_in_python(device, gathered, data, table, *ends, weights)
    first, last = ends
    for few in (0, 1):
        as_in_python(device, gathered, data, table, first, last[:few], weights)
    for wrong, at in ((rows, 0), (-rows - 1, rows // 2)):
        bad = table.copy()
        bad[at] = wrong
        assert as_in_python(device, gathered, data, bad, *ends, weights)[0] is IndexError
        assert as_in_python(device, gathered, data, bad, *intervals((3, 3)), weights)[0] is IndexError
        as_in_python(device, gathered, data, bad, first, last[:1], weights)
        as_in_python(device, gathered, data, bad, first, last[:0], weights)
    table[1] = -2
    as_in_python(device, gathered, data, table, *ends, weights)
    as_in_python(device, gathered, data[:0], table[:0], *ends, weights[:0])


def test_an_iteration_that_raises(device):
    def positive(data, weights, n):
        for d in ingot.prange(len(weights)):
            w = weights[d]
            if w < 0:
                raise ValueError("negative")
            for s in range(n):
                data[d, s] *= w

    def in_order(data, weights, n):
        for d in range(len(weights)):
            w = weights[d]
            if w < 0:
                raise ValueError("negative")
            for s in range(n):
                data[d, s] *= w

    for rows in (4, 50):
        data, weights = samples(rows, 12), np.abs(samples(rows))
        for n in (0, 12):
            as_in_python(device, in_order, data, weights, n)
            as_in_python(device, positive, data, weights, n)
        weights[[2, 3]] = -1
        for n in (0, 12, 13):
            as_in_python(device, in_order, data, weights, n)
            as_in_python(device, positive, data, weights, n, writes=False)


def test_several_loops_in_an_iteration(device):
    def both(a, b, c, w, n):
        for d in range(a.shape[0]):
            k = w[d] + 1
            for s in range(a.shape[1]):
                a[d, s] = b[d, s] * k
            for s in range(n):
                b[d, s + 1] = a[d, s] - k
            for s in range(n):
                c[d, s] = a[d, n - 1 - s] + b[d, s]

    for rows, length, n in [(4, 40, 39), (70, 20, 3), (3, 30, 0), (0, 30, 20), (5, 25, 27)]:
        as_in_python(device, both, samples(rows, length), samples(rows, length + 1), samples(rows, length), samples(rows), n)
    found = launches_of(both, samples(4, 40), samples(4, 41), samples(4, 40), samples(4), 39)
    assert found.times == 3
    assert found.waits == 0


def test_several_loops_that_depend_on_other_iterations(device):
    def shifted(a, b):
        for d in range(a.shape[0] - 1):
            for s in range(a.shape[1]):
                a[d + 1, s] = b[d, s] + 1
            for s in range(a.shape[1] - 1):
                b[d + 1, s] = a[d, s + 1] * 2

    as_in_python(device, shifted, samples(6, 30), samples(6, 30))


def test_three_levels(device):
    def cube(out, x, y, count):
        for i in range(out.shape[0]):
            a = x[i]
            for k in range(out.shape[1]):
                b = a * y[k]
                for s in range(count[0]):
                    out[i, k, s] += b

    for shape in [(3, 4, 50), (20, 3, 2), (2, 0, 5), (0, 2, 5)]:
        for n in (shape[2], 0, 1):
            as_in_python(device, cube, samples(*shape), samples(shape[0]), samples(shape[1]), np.array([n]))
    as_in_python(device, cube, samples(3, 4, 5), samples(3), samples(4), np.array([6]))
    found = launches_of(cube, samples(3, 4, 50), samples(3), samples(4), np.array([50]))
    assert max(len([e for e in launch.grid if e != 1]) for launch in found.launches) <= 3


def test_rows_that_are_reduced(device):
    def sums(out, x, first, last, w):
        for d in range(len(out)):
            t = 0.0
            for s in range(first[0], last[0]):
                t += x[d, s] * w[d]
            out[d] = t

    for rows, length in [(5, 300), (90, 3), (3, 0)]:
        as_in_python(device, sums, samples(rows), samples(rows, length), *intervals((0, length)), samples(rows))


def test_iterations_of_different_lengths(device):
    def ragged(data, first, last, weights):
        for d in ingot.prange(len(weights)):
            w = weights[d]
            for s in range(first[d], last[d]):
                data[d, s] *= w

    def in_order(data, first, last, weights):
        for d in range(len(weights)):
            for s in range(first[d], last[d]):
                data[d, s] *= weights[d]

    rows = 7
    first = np.array([0, 5, 9, 0, 3, 30, -4])
    last = np.array([40, 5, 20, 0, 1, 40, 2])
    for function in (ragged, in_order):
        as_in_python(device, function, samples(rows, 40), first, last, samples(rows))
        as_in_python(device, function, samples(0, 40), first[:0], last[:0], samples(0))
        as_in_python(device, function, samples(rows, 40), first, last + 1, samples(rows), writes=function is in_order)
        as_in_python(device, function, samples(rows, 40), first[:3], last, samples(rows), writes=function is in_order)


def test_loops_that_only_check_are_one_launch(device):
    def spans(first, last, n):
        for v in range(len(first)):
            if first[v] < last[v] and (first[v] < 0 or last[v] > n):
                raise IndexError("an interval reaches outside")

    def rows_of(table, n):
        for row in table:
            if row < 0 or row >= n:
                raise IndexError("a row is outside")

    for many in (0, 1, 5, 100):
        first = np.arange(many) * 3
        for wrong in (None, 0, many // 2, many - 1):
            last = first + 2
            if wrong is not None and many > 0:
                last[wrong] += 1000
            as_in_python(device, spans, first, last, 3 * many)
            as_in_python(device, spans, first, last[: many // 2], 3 * many)
            table = first.astype(np.int32)
            if wrong is not None and many > 0:
                table[wrong] -= 1000
            as_in_python(device, rows_of, table, 3 * many)
    for function, arguments in [(spans, (np.arange(50), np.arange(50), 50)), (rows_of, (np.arange(50), 50))]:
        found = launches_of(function, *arguments)
        assert (found.times, found.waits) == (1, 1), found


@pytest.mark.rotated(3)
def test_the_host_reads_small_arrays_at_once(device):
    def of_intervals(data, first, last, weights):
        for v in range(len(first)):
            for d in range(len(weights)):
                for s in range(first[v], last[v]):
                    data[d, s] += weights[d]

    def in_a_branch(data, first, names, n):
        for v in range(n):
            if names[v] > 0:
                for s in range(first[v]):
                    data[s] += v

    data, weights = samples(3, 50), samples(3)
    for many in (0, 1, 10, 511, 512, 513, 600):
        first = np.arange(many) % 40
        table = np.zeros((many, 2), np.int64)
        table[:, 0], table[:, 1] = first, first + 3
        as_in_python(device, of_intervals, data, first, first + 3, weights)
        if device.kind == "emulated":
            moved, mine = ingot.device_put(data, device), data.copy()
            columns = ingot.device_put(table, device)
            ingot.jit(of_intervals)(moved, columns[::-1, 0], columns[::-1, 1], weights)
            of_intervals(mine, table[::-1, 0], table[::-1, 1], weights)
            np.testing.assert_array_equal(moved.to_host(), mine)
    names = rng.integers(-1, 2, 20).astype(np.int8)
    as_in_python(device, in_a_branch, data[0], np.arange(20), names, 20)
    as_in_python(device, in_a_branch, data[0], np.arange(20), names, 0)
    assert as_in_python(device, in_a_branch, data[0], np.arange(20), names, 21)[0] is IndexError
    ten = np.arange(10) * 5
    found = launches_of(of_intervals, data, ten, ten + 5, weights)
    assert found.numbers == 2, found


def test_the_host_reads_many_arrays(device):
    def of_many(x, a, b, c, d, e, f):
        for v in range(len(a)):
            for s in range(a[v], b[v]):
                x[s] += 1.0
            for s in range(c[v], d[v]):
                x[s] *= 2.0
            for s in range(e[v], f[v]):
                x[s] -= v

    ends = [rng.integers(0, 40, 5) for _ in range(6)]
    as_in_python(device, of_many, samples(40), *ends)
    assert as_in_python(device, of_many, samples(38), *ends[:5], np.full(5, 39))[0] is IndexError


def test_arrays_that_a_loop_writes_are_read_again(device):
    def iterated(next_of, data):
        for v in range(len(next_of) - 1):
            for s in range(next_of[v]):
                data[s] += 1.0
            next_of[v + 1] += next_of[v]

    as_in_python(device, iterated, np.array([1, 2, 3, 4, 5]), samples(40))


def program_of(choices):
    """A nest of random parts, and whether its outer loop is over `prange`."""
    is_asked = choices.random() < 0.4
    iteration = [choices.choice(["w = b[d]", "w = b[t[d]]", "w = b[d] * 2", "w = b[d]" if is_asked else "w = x[d, 0]"])]
    if choices.random() < 0.3:
        iteration.append("if w > limit: raise ValueError('large')")
    iteration.append(choices.choice(["k = c[v]", "k = 0", "k = 0"]))
    if choices.random() < 0.2 and not is_asked:
        iteration.append("y[d, 0] = w")
    counts = ["n", "c[v]", "c[0]", "c[d]", "c[v], e[v]", "e[d]", "x.shape[1]"]
    stores = ["x[d, s] += w", "x[d, s] = x[d, s] * w + k", "y[d, s] = x[d, s] + w", "x[d, s] = y[d, s] - w"]
    for _ in range(choices.choice([1, 1, 2])):
        iteration += [f"for s in range({choices.choice(counts)}):", f"    {choices.choice(stores)}"]
    lines = ["def f(x, y, b, t, c, e, n, limit, intervals):", "    for v in range(intervals):"]
    lines += [f"        for d in {'ingot.prange' if is_asked else 'range'}(len(t)):", *(" " * 12 + line for line in iteration)]
    return "\n".join(lines) + "\n", is_asked


@pytest.mark.sampled(90)
@pytest.mark.parametrize("seed", range(240))
def test_random_programs(seed):
    choices, draw = random.Random(seed), np.random.default_rng(seed)
    text, is_asked = program_of(choices)
    name = f"<nests {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"ingot": ingot}
    exec(compile(text, name, "exec"), names)  # noqa: S102
    for _ in range(6):
        rows, length, many = choices.choice([0, 1, 3, 17, 40]), choices.choice([1, 8, 70]), choices.choice([0, 1, 2, 4])
        table = draw.permutation(rows)
        if choices.random() < 0.2 and rows:
            table[choices.randrange(rows)] = choices.choice([rows, -1, -rows - 1])
        known = max(max(rows, many) - choices.choice([0, 0, 0, 1]), 0)
        first = draw.integers(0, length + 1, known)
        last = np.minimum(length, first + draw.integers(0, length + 1, known))
        if choices.random() < 0.15 and known:
            last[choices.randrange(known)] = length + 1
        if choices.random() < 0.15 and known:
            first[choices.randrange(known)] = -1
        n, limit = choices.choice([0, 1, length, length, length + 1]), choices.choice([0.5, 100.0, 100.0])
        x, y, w = (draw.integers(-9, 9, shape) / 8 for shape in ((rows, length), (rows, length), rows))
        arguments = x, y, w, table, first, last, n, limit, many
        raises = outcome_of(names["f"], copy.deepcopy(arguments))[0] is not None
        as_in_python(ingot.device("emulated"), names["f"], *arguments, writes=not (raises and is_asked))


@pytest.mark.slow
def test_nothing_races():
    """All of this again, on the software device that looks for races."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k", "emulated or random"]
    done = subprocess.run(words, check=False, env={**os.environ, "INGOT_EMULATOR_RACES": "1"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
