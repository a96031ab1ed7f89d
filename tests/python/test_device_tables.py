"""Rows that a table names, on devices: where its numbers differ, the rows are an axis of a launch; else all is as it was.

Each outcome - what is written, and what is raised - is Python's, on the software device.
"""

import copy
import functools
import os
import re
import subprocess
import sys

import ingot
import numpy as np
import pytest

DEVICE = ingot.device("emulated")
rng = np.random.default_rng(11)


def outcome_of(function, arguments):
    try:
        return None, function(*arguments)
    except (IndexError, ValueError, OverflowError) as error:
        return type(error), str(error)


@functools.cache
def compiled(function):
    return ingot.jit(function)


def moved(arguments):
    return tuple(ingot.device_put(x, DEVICE) if isinstance(x, np.ndarray) else x for x in arguments)


def as_in_python(function, *arguments, writes=True):
    """What a function gives or raises is what Python does; so is what it writes, unless `writes` is false."""
    mine, there = copy.deepcopy(arguments), moved(copy.deepcopy(arguments))
    expected = outcome_of(function, mine)
    assert outcome_of(compiled(function), there) == expected
    if writes:
        for a, b in zip(mine, there, strict=True):
            if isinstance(a, np.ndarray):
                np.testing.assert_array_equal(b.to_host().view(np.uint8), a.view(np.uint8))
    return expected


def launches_in(function, *arguments):
    """How many kernels a call launches."""
    there = moved(copy.deepcopy(arguments))
    compiled(function)(*there)
    ingot.profile.reset()
    ingot.profile.start()
    compiled(function)(*there)
    ingot.profile.stop()
    found = sum(row.calls for row in ingot.profile.rows() if row.kind == "kernel")
    ingot.profile.reset()
    return found


def samples(*shape):
    return rng.integers(-9, 9, shape) / 8


def stored(out, table, x):
    for d in range(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            out[row, s] = x[d, s] * 2


def added(out, table, x):
    for d in range(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            out[row, s] += x[d, s]


def stored_by_threads(out, table, x):
    for d in ingot.prange(len(table)):
        row = table[d]
        for s in range(x.shape[1]):
            out[row, s] = x[d, s] - 1


def rows_of_arrays(out, table, x):
    for d in range(len(table)):
        out[table[d], : x.shape[1]] = x[d] * 3


def parts_of_rows(out, table, x):
    for d in range(len(table)):
        row = out[table[d]]
        for v in range(3):
            row[2 * v : 2 * v + 5] *= x[d, v % max(x.shape[1], 1)] if x.shape[1] else 2.0


def two_tables(out, table, x):
    for d in range(len(table)):
        row, from_row = table[d], table[len(table) - 1 - d]
        for s in range(x.shape[1]):
            out[row, s] += x[from_row, s]


EACH = [stored, added, stored_by_threads, rows_of_arrays, parts_of_rows]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("function", "dtype"), [*((f, np.int64) for f in EACH), (added, np.int32), (rows_of_arrays, np.uint8)])
def test_tables_whose_numbers_differ(function, dtype):
    for rows, used, length in [(7, 7, 40), (9, 4, 3), (70, 40, 5), (3, 1, 20), (3, 0, 20), (5, 5, 0)]:
        table = rng.permutation(rows)[:used].astype(dtype)
        as_in_python(function, samples(rows, length), table, samples(used, length))


@pytest.mark.parametrize("function", EACH)
def test_tables_with_equal_and_negative_numbers(function):
    is_asked = function is stored_by_threads
    for numbers in ([2, 0, 2, 1], [1, 1, 1, 1], [-1, 0, 1, 2], [-1, -2, -3, -4], [0, 3, -1, 1], [3, -1, -1, 3]):
        racing = len({n % 4 for n in numbers}) < 4
        as_in_python(function, samples(4, 30), np.array(numbers), samples(4, 30), writes=not (is_asked and racing))


@pytest.mark.parametrize("function", [f for f in EACH if f is not stored_by_threads])
def test_tables_with_wrong_numbers(function):
    """What comes before is written, as Python does."""
    for at in (0, 2, 4):
        for wrong in (5, -6, 2**40):
            table = np.arange(5)
            table[at] = wrong
            assert as_in_python(function, samples(5, 30), table, samples(5, 30))[0] is IndexError
    as_in_python(function, samples(5, 0), np.array([0, 9]), samples(2, 0))
    as_in_python(function, samples(0, 4), np.array([], np.int64), samples(0, 4))
    as_in_python(function, samples(0, 4), np.array([0]), samples(1, 4))


def test_threads_raise_for_wrong_numbers():
    for at in (0, 3):
        table = np.arange(5)
        table[at] = 9
        assert as_in_python(stored_by_threads, samples(5, 30), table, samples(5, 30), writes=False)[0] is IndexError


@pytest.mark.rotated(3)
def test_several_tables():
    for table in (np.array([3, 1, 0, 2]), np.array([1, 1, 0, 2]), np.array([3, -1, 0, 2])):
        as_in_python(two_tables, samples(4, 30), table, samples(4, 30))
    assert as_in_python(two_tables, samples(4, 30), np.array([0, 1, 2, 3]), samples(3, 30))[0] is IndexError

    def several_outputs(a, b, first_rows, second_rows, x):
        for d in range(len(first_rows)):
            p, q = first_rows[d], second_rows[d]
            for s in range(x.shape[1]):
                a[p, s] = x[d, s]
                b[q, s] -= x[d, s] * a[p, s]

    for first_rows, second_rows in [([0, 1, 2], [2, 1, 0]), ([0, 1, 2], [2, 2, 0]), ([1, 1, 0], [0, 1, 2]), ([0, 0, 0], [1, 1, 1])]:
        as_in_python(several_outputs, samples(3, 20), samples(4, 20), np.array(first_rows), np.array(second_rows), samples(3, 20))
    wrong = np.array([0, 4, 1])
    assert as_in_python(several_outputs, samples(3, 20), samples(4, 20), np.arange(3), wrong, samples(3, 20))[0] is IndexError


def of_intervals(out, table, first, last, x, flags, mask):
    for v in range(len(first)):
        for d in range(len(table)):
            row, w = table[d], x[d]
            for s in range(first[v], last[v]):
                if flags[d, s] & mask == 0:
                    out[row, s] *= w


def rows_of_intervals(out, table, first, last, x, flags, mask):
    for d in range(len(table)):
        row = out[table[d]]
        for v in range(len(first)):
            row[first[v] : last[v]] += x[d]
            if flags[d, 0] & mask != 0:
                row[first[v] : last[v]] *= x[d]


@pytest.mark.rotated(3)
@pytest.mark.parametrize("function", [of_intervals, rows_of_intervals])
def test_intervals_and_masks(function):
    for rows, length in [(5, 60), (1, 60), (4, 0), (0, 30), (20, 30)]:
        table = rng.permutation(rows).astype(np.int32)
        ends = np.sort(rng.integers(0, length + 1, (4, 2)), axis=1)
        flags = rng.integers(0, 4, (rows, max(length, 1))).astype(np.uint8)
        arguments = [samples(rows, length), table, ends[:, 0].copy(), ends[:, 1].copy(), samples(rows), flags, 1]
        as_in_python(function, *arguments)
        if rows > 1:
            arguments[1] = np.append(table[1:], table[1]).astype(np.int32)
            as_in_python(function, *arguments)
    if function is of_intervals:
        late = [samples(3, 20), np.arange(3), np.array([0, 5]), np.array([9, 21]), samples(3), np.zeros((3, 30), np.uint8), 1]
        assert as_in_python(function, *late)[0] is IndexError


def test_launches_do_not_grow_with_the_rows():
    def intervals_of(rows):
        ends = np.array([0, 20, 50]), np.array([20, 45, 60])
        return samples(rows, 60), rng.permutation(rows).astype(np.int32), *ends, samples(rows), np.zeros((rows, 60), np.uint8), 1

    for function in (of_intervals, rows_of_intervals):
        assert launches_in(function, *intervals_of(4)) == launches_in(function, *intervals_of(40)) <= 16
    for function in EACH:
        counts = [launches_in(function, samples(n, 60), rng.permutation(n), samples(n, 60)) for n in (4, 40)]
        assert counts[0] == counts[1] <= 4 + 3, function


@pytest.mark.rotated(3)
def test_tables_that_a_loop_writes():
    """They are not asked for before it."""

    def of_steps(out, table, x):
        for t in range(3):
            for d in range(len(table)):
                row = table[d]
                for s in range(x.shape[1]):
                    out[row, s] += x[d, s]
            table[0] = table[t]

    def into_itself(table, x):
        for d in range(len(x)):
            row = table[d, 0]
            for s in range(table.shape[1]):
                table[row, s] = (row + s) % len(table)

    def of_another_view(out, table, n):
        for d in range(n):
            row = table[d]
            for s in range(out.shape[1]):
                out[row, s] = d

    as_in_python(of_steps, samples(4, 20), np.array([2, 1, 0, 3]), samples(4, 20))
    as_in_python(into_itself, np.array([[3, 2], [1, 0], [0, 1], [2, 2]]), samples(4))
    numbers = np.arange(12).reshape(4, 3) % 4
    mine, there = numbers.copy(), ingot.device_put(numbers, DEVICE)
    of_another_view(mine, mine[:, 1], 4)
    compiled(of_another_view)(there, there[:, 1], 4)
    np.testing.assert_array_equal(there.to_host(), mine)
    for n in (3, 4, 5):
        as_in_python(of_another_view, samples(4, 20), np.array([2, 1, 0, 3]), n)


def gathered(out, table, pixels, sky, weights, rows_of):
    for d in ingot.prange(len(table)):
        row, own = table[d], rows_of[d]
        for s in range(out.shape[1]):
            pixel = pixels[own, s]
            if pixel >= 0:
                seen = 0.0
                for k in range(sky.shape[1]):
                    seen += sky[pixel, k] * weights[own, s, k]
                out[row, s] += seen


def gathered_in_order(out, table, pixels, sky, weights, rows_of):
    for d in range(len(table)):
        row, own = table[d], rows_of[d]
        for s in range(out.shape[1]):
            pixel = pixels[own, s]
            if pixel >= 0:
                seen = 0.0
                for k in range(sky.shape[1]):
                    seen += sky[pixel, k] * weights[own, s, k]
                out[row, s] += seen


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [gathered, gathered_in_order])
@pytest.mark.parametrize("numbers", [3, 11])
def test_gathers(function, numbers):
    def arguments(rows, length):
        pixels = rng.integers(-1, 12, (rows, length))
        tables = rng.permutation(rows).astype(np.int32), rng.permutation(rows).astype(np.int32)
        return [samples(rows, length), tables[0], pixels, samples(12, numbers), samples(rows, length, numbers), tables[1]]

    for rows, length in [(4, 50), (3, 0), (0, 5), (40, 4)]:
        as_in_python(function, *arguments(rows, length))
    assert launches_in(function, *arguments(4, 50)) == launches_in(function, *arguments(40, 50))
    for at in ((0, 0), (1, 17), (3, 49)):
        bad = arguments(4, 50)
        bad[2][at] = 12
        assert as_in_python(function, *bad, writes=function is gathered_in_order)[0] is IndexError
    bad = arguments(4, 50)
    bad[5][2] = 4
    assert as_in_python(function, *bad, writes=function is gathered_in_order)[0] is IndexError


def scattered(sky, pixels, weights, signal, table, flags):
    for d in range(len(table)):
        row = table[d]
        for s in range(signal.shape[1]):
            pixel = pixels[row, s]
            if pixel >= 0 and flags[d, s] == 0:
                scaled = signal[row, s] * 1.25
                for k in range(sky.shape[1]):
                    sky[pixel, k] += scaled * weights[row, s, k]


def scattered_by_known(sky, pixels, weights, signal, table, flags):
    for d in range(len(table)):
        row = table[d]
        for s in range(signal.shape[1]):
            pixel = pixels[row, s]
            if pixel >= 0 and flags[d, s] == 0:
                sky[pixel, 0] += signal[row, s] * weights[row, s, 0]
                sky[pixel, 2] -= signal[row, s] * weights[row, s, 2]


def scattering(rows, length, numbers, pixels=9):
    weights = rng.random((rows, length, numbers))
    table = rng.permutation(rows).astype(np.int32)
    flags = (rng.random((rows, length)) < 0.2).astype(np.uint8)
    return [rng.random((pixels, numbers)), rng.integers(-1, pixels, (rows, length)), weights, rng.random((rows, length)), table, flags]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("function", "numbers"), [(scattered, 1), (scattered, 3), (scattered, 11), (scattered_by_known, 3)])
def test_sums_at_shared_places_in_the_order_of_the_iterations(function, numbers):
    for rows, length in [(4, 70), (1, 300), (20, 20), (3, 0), (0, 9)]:
        as_in_python(function, *scattering(rows, length, numbers))
    as_in_python(function, *scattering(3, 100, numbers, pixels=1))
    as_in_python(function, *scattering(3, 100, numbers, pixels=7_000))
    for at in ((0, 0), (2, 50), (3, 69)):
        bad = scattering(4, 70, numbers)
        bad[1][at], bad[5][at[0], at[1]] = 9, 0
        as_in_python(function, *bad)
    bad = scattering(4, 70, numbers)
    bad[4][2] = 4
    assert as_in_python(function, *bad)[0] is IndexError


def test_launches_of_sums_do_not_grow_with_the_rows():
    for function, numbers in ((scattered, 3), (scattered, 11), (scattered_by_known, 3)):
        few, many = (launches_in(function, *scattering(n, 60, numbers)) for n in (4, 24))
        assert few == many <= 12, (function, numbers)


def test_counters_do_not_keep_iterations_apart():
    def steps(signal, amplitudes, flags, first, last, step):
        a = 0
        for v in range(len(first)):
            for s in range(first[v], last[v], step):
                if flags[a] == 0:
                    for t in range(s, min(s + step, last[v])):
                        signal[t] += amplitudes[a]
                a += 1

    def given(n, step):
        a, b = n, 0
        for _ in range(n):
            for _ in range(a):
                b += 2
            a += step
        return a, b

    first, last = np.array([0, 100, 230]), np.array([90, 230, 300])
    for n in (0, 1, 5):
        as_in_python(given, n, 3)
    arguments = samples(300), samples(60), rng.integers(0, 2, 60).astype(np.uint8), first, last
    for step in (7, 10, 100):
        as_in_python(steps, *arguments, step)
    assert as_in_python(steps, *arguments, 5)[0] is None
    assert as_in_python(steps, *arguments, 2)[0] is IndexError
    assert launches_in(steps, *arguments, 10) == launches_in(steps, *arguments, 30) <= 3


def steps_of_rows(data, table, first, last, amplitudes, step):
    for v in range(len(first)):
        for d in range(len(table)):
            row = data[table[d]]
            for k in range((last[v] - first[v]) // step + 1):
                s = first[v] + k * step
                row[s : min(s + step, last[v])] += amplitudes[k]


def steps_of_one_row(row, first, last, amplitudes, overlap):
    for v in range(len(first)):
        a = 0
        for s in range(first[v], last[v], 10):
            row[s : min(s + 10 + overlap, last[v])] *= amplitudes[a]
            a += 1


def sums_of_steps(row, first, last, amplitudes, flags):
    if len(flags) != len(row):
        raise ValueError("not a flag for each sample")
    for v in range(len(first)):
        a = 0
        for s in range(first[v], last[v], 10):
            part = slice(s, min(s + 10, last[v]))
            if flags[a] == 0:
                amplitudes[a] += np.sum(np.where(flags[part] == 0, row[part], 0.0))
            a += 1


@pytest.mark.rotated(3)
def test_spans_that_follow_each_other():
    first, last = np.array([0, 90, 60, 7]), np.array([60, 200, 100, 7])
    as_in_python(steps_of_rows, samples(4, 200), np.array([2, 0, 3, 1]), first, last, samples(30), 10)
    flags = rng.integers(0, 2, 200).astype(np.uint8)
    for overlap in (0, -1, 3):
        as_in_python(steps_of_one_row, samples(200), first, last, samples(30), overlap)
    as_in_python(sums_of_steps, samples(200), first, last, samples(30), flags)
    as_in_python(steps_of_one_row, samples(200), first - 30, last + 500, samples(90), 0)
    assert as_in_python(steps_of_one_row, samples(200), first, last, samples(9), 0)[0] is IndexError
    assert as_in_python(sums_of_steps, samples(200), first, last, samples(9), flags)[0] is IndexError

    def of_length(n):
        return samples(n), np.array([0]), np.array([n]), samples(n // 10)

    few, many = (launches_in(steps_of_one_row, *of_length(n), 0) for n in (200, 900))
    assert few == many <= 3
    few, many = (launches_in(sums_of_steps, *of_length(n), np.zeros(n, np.uint8)) for n in (200, 900))
    assert few == many <= 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["", "3", "17"])
def test_nothing_races(seed):
    """All of this again, on the software device that looks for races, with blocks in several orders."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k", "not nothing_races"]
    environment = {**os.environ, "INGOT_EMULATOR_RACES": "1", **({"INGOT_EMULATOR_SEED": seed} if seed else {})}
    done = subprocess.run(words, check=False, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)


def taken_odd(out, rows, w):
    for d in range(rows.shape[0]):
        r = rows[d]
        if r >= 0:
            for s in range(w.shape[1]):
                if s % 2 == 1:
                    out[r, s] += w[d, s]


def stored_if_large(out, rows, w):
    for d in range(rows.shape[0]):
        r = rows[d]
        if r >= 0:
            for s in range(w.shape[1]):
                if w[d, s] > 0.5:
                    out[r, s] = w[d, s]


def binned_without_nans(out, hits, rows, w):
    for d in range(rows.shape[0]):
        r = rows[d]
        hits[r] += 1
        for s in range(w.shape[1]):
            if not np.isnan(w[d, s]):
                out[r, s] += w[d, s]


@pytest.mark.parametrize("function", [taken_odd, stored_if_large, binned_without_nans])
def test_elements_that_an_iteration_leaves_out_of_a_row(function):
    """What memory held before, here NaNs, is added to none of them."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        w = rng.random((200, 4))
        w[rng.random(w.shape) < 0.3] = np.nan
        hits = (np.zeros(3, int),) if function is binned_without_nans else ()
        for rubbish in [ingot.device_put(np.full(n, np.nan), DEVICE) for n in (200, 400, 800, 1600) * 4]:
            del rubbish
        as_in_python(function, np.zeros((3, 4)), *hits, rng.integers(0, 3, 200), w)


def binned(out, hits, rows, w):
    for d in range(rows.shape[0]):
        r = rows[d]
        hits[r] += 1
        for s in range(w.shape[1]):
            out[r, s] += w[d, s]


def stored_if_positive(out, hits, rows, w):
    for d in range(rows.shape[0]):
        r = rows[d]
        hits[r] += 1
        if r > 0:
            for s in range(w.shape[1]):
                out[r, s] = w[d, s]


@pytest.mark.rotated(3)
@pytest.mark.parametrize("function", [binned, stored_if_positive])
def test_rows_that_are_stored_or_added_whole(function):
    """By one sort, in launches whose number depends on no length."""
    rng = np.random.default_rng(5)
    for samples, columns in ((0, 3), (1, 0), (70, 1), (90, 40)):
        rows = rng.integers(-3, 3, samples)
        as_in_python(function, rng.random((3, columns)), np.zeros(3, int), rows, rng.random((samples, columns)))
    counts = {launches_in(function, np.zeros((3, 5)), np.zeros(3, int), rng.integers(-3, 3, n), rng.random((n, 5))) for n in (40, 80)}
    assert len(counts) == 1
