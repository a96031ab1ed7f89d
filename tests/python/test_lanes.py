"""Loops that lanes leave after different iterations, in every kind of code (INGOT_VECTORS): the bits are Python's."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot import prange
from support import KINDS, check, need_vectors, needs_lanes

ALL_DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
              "complex64", "complex128")  # fmt: skip
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_of_parts_have_the_bits_of_single_numbers(dtype, kind, monkeypatch):
    need_vectors(kind)
    monkeypatch.setenv("INGOT_VECTORS", kind)
    parts = [0.0, 5e-324, 2.3e-308, 1e-20, 0.1, 1.57, 80.0, 699.9, 700.0, 700.1, 709.9, 745.0, 1e5, 1e300, np.inf, np.nan]
    parts += [-part for part in parts]
    with np.errstate(all="ignore"):
        z = np.array([complex(x, y) for x in parts for y in parts]).astype(dtype)
        function = lambda z: (np.exp(z), np.abs(z), np.sqrt(z), np.sin(z), np.cos(z), np.sinh(z), np.cosh(z))  # noqa: E731
        expected = function(z)
        found = ingot.jit(function)(z)
        single = ingot.jit(function)
        one_by_one = [np.array(values) for values in zip(*(single(number) for number in z), strict=True)]
    for a, b, numpys in zip(found, one_by_one, expected, strict=True):
        assert a.dtype == b.dtype == numpys.dtype
        a, b, numpys = (values.view(a.real.dtype) for values in (a, b, numpys))
        np.testing.assert_array_equal(a, b)
        assert (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all()
        # NumPy's are not right where a part overflows.
        usual = np.repeat((abs(z.real) <= 80) & (abs(z.imag) <= 80), len(a) // len(z))
        np.testing.assert_allclose(a[usual], numpys[usual], rtol=4 * np.finfo(a.dtype).eps, atol=4 * np.finfo(a.dtype).smallest_subnormal)


def escape(c, limit):
    out = np.empty(len(c), np.int64)
    for i in range(len(c)):
        z = 0j
        count = 0
        while count < limit and abs(z) < 2.0:
            z = z * z + c[i]
            count += 1
        out[i] = count
    return out


def stores_until_break(x, y):
    counts = np.zeros(len(x), np.int64)
    last = np.zeros(len(x))
    for i in range(len(x)):
        a = 0.0
        b = 0.0
        for _ in range(40):
            if a * a + b * b > 4:
                break
            a, b = a * a - b * b + x[i], 2 * a * b + y[i]
            counts[i] += 1
            last[i] = a
    return counts, last


def break_continue_else(c):
    out = np.zeros(len(c), np.int64)
    skips = np.zeros(len(c), np.int64)
    for i in range(len(c)):
        z = c[i]
        n = 0
        skipped = 0
        while abs(z) < 2.0:
            n += 1
            z = z * z + c[i]
            if n % 3 == 1:
                skipped += 1
                continue
            if n >= 20 + skipped:
                break
            z = z - 0.01
        else:
            n = -n
        out[i] = n
        skips[i] = skipped
    return out, skips


def counts_that_vary(x, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.0
        for k in range(n[i]):
            if k % 3 == 0:
                continue
            s += x[i] * k
            if s > 50:
                break
        else:
            s = -s
        out[i] = s
    return out


def nested(n):
    out = np.zeros(len(n), np.int64)
    inner_iterations = np.zeros(len(n), np.int64)
    for i in range(len(n)):
        a = n[i]
        total = 0
        while a > 0:
            b = a
            while b > 2:
                b = b // 3
                inner_iterations[i] += 1
                if b == 5:
                    break
            for k in range(a % 4):
                total += k * b
                if total > 90:
                    break
            total += b
            a -= 2
        out[i] = total
    return out, inner_iterations


def first_root(x):
    for k in range(1, 12):
        y = x
        while y > 1e-3:
            y = y / (1.0 + k)
            if y < 0.05 * k:
                return k + y
            if y > 1e6:
                return -1.0
    return 99.0


def left_through_two_loops(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = first_root(x[i])
    return out


def newton(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        guess = x[i]
        change = guess
        while abs(change) > 1e-3:
            change = (guess * guess - x[i]) / (guess + guess)
            guess = guess - change
        out[i] = guess
    return out


def search(table, x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        low = 0
        high = len(table)
        while low < high:
            middle = (low + high) >> 1
            if table[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out


def rows(n, out):
    for i in range(len(n)):
        k = 0
        going = n[i] > 0
        while going:
            out[i, k] = k * k
            out[i, 0] += 1
            k += 1
            going = k < n[i]
    return out


def stores_in_rows(n, out):
    for i in range(len(n)):
        for k in range(14):
            if k >= n[i]:
                break
            if (k + i) % 3 == 0:
                continue
            out[i, k] = k * n[i]
    return out


def kinds_of_numbers(x):
    flags = np.zeros(len(x), np.bool_)
    small = np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        v = x[i]
        flag = False
        while v > 3:
            flag = not flag
            v = v - 3
        flags[i] = flag
        small[i] = v
    return flags, small


def reduced(x):
    total = 0.0
    for i in prange(len(x)):
        v = x[i]
        n = 0
        while v > 0.5 and n < 30:
            v = v * 0.75
            n += 1
        total += v + n
    return total


def none_and_all(x, limit):
    none = np.zeros(len(x))
    everyone = np.zeros(len(x))
    for i in range(len(x)):
        v = x[i]
        while v < -1e9:
            v = v + 1.0
        none[i] = v
        k = 0
        while k < limit:
            v = v + 0.5
            k += 1
        everyone[i] = v
    return none, everyone


def choice_by_argument(x, flag):
    out = np.zeros(len(x))
    for i in range(len(x)):
        v = x[i]
        for _ in range(9):
            if flag:
                if v > 3.0:
                    break
                v = v * 1.5
            else:
                if v < 0.1:
                    break
                v = v * 0.5
            out[i] += v
    return out


def select(x, mask):
    return x[mask]


def select_above(x):
    return x[x > 2], x[x != x], x[x == x].sum()


def filter_loop(x, out):
    count = 0
    for i in range(len(x)):
        if x[i] > 2:
            out[count] = x[i]
            count += 1
    return out, count


def places(x):
    at = np.zeros(len(x), np.int64)
    values = np.zeros(len(x), x.dtype)
    count = 0
    for i in range(len(x)):
        if x[i] > 1:
            if x[i] != 3:
                at[count] = i
                values[count] = x[i] + x[i]
                count += 1
    return at, values, count


def partition(x, flag):
    low = np.zeros(len(x), x.dtype)
    high = np.zeros(len(x) + 2, x.dtype)
    k = 0
    m = 2
    for i in range(len(x)):
        if x[i] > 2:
            high[m] = x[i]
            m += 1
        elif flag:
            low[k] = x[i]
            k += 1
    return low, high, k, m


def both_arms_grow(x):
    out = np.zeros(len(x))
    k = 0
    for i in range(len(x)):
        if x[i] > 2:
            out[k] = 1.0
            k += 1
        elif x[i] > 1:
            out[k] = 2.0
            k += 1
    return out, k


def count_only(x):
    count = 0
    for i in range(len(x)):
        if x[i] > 2:
            count += 1
    return count


def cursor_in_lanes(x):
    out = np.zeros(len(x), np.int64)
    k = 0
    for i in range(len(x)):
        v = x[i]
        n = 0
        while v > 0.5 and n < 9:
            v = v - 1.0
            n += 1
        if n > 1:
            out[k] = n
            k += 1
    return out, k


def cases():
    random = np.random.default_rng(7)
    for length in LENGTHS:
        for step in (1, 2, -1):

            def take(values):
                return np.repeat(values, 2)[::2][:length] if step == 2 else values[:length][::step]

            x = take(random.uniform(-2, 2, 130))
            y = take(random.uniform(-1.5, 1.5, 130))
            c = x + 1j * y
            n = take(random.integers(-2, 14, 130))
            yield escape, (c, 30)
            yield escape, (c, 0)
            yield escape, (c.astype(np.complex64), 12)
            yield stores_until_break, (x, y)
            yield break_continue_else, (c,)
            yield break_continue_else, (c.astype(np.complex64),)
            yield counts_that_vary, (x, n)
            yield counts_that_vary, (x.astype(np.float32), n.astype(np.int32))
            yield nested, (n,)
            yield left_through_two_loops, (abs(x),)
            yield newton, (abs(x) + 0.1,)
            yield newton, (abs(x).astype(np.float32) + np.float32(0.5),)
            yield search, (np.sort(random.uniform(-2, 2, 50)), x)
            yield rows, (np.maximum(n, 0), np.zeros((len(n), 14)))
            yield stores_in_rows, (n, np.zeros((len(n), 14)))
            yield stores_in_rows, (n, np.zeros((len(n), 28))[:, ::2])
            for dtype in ("int8", "uint16", "int64", "float16", "float32", "float64"):
                yield kinds_of_numbers, (np.maximum(n, 0).astype(dtype) * np.array(3, dtype),)
            yield none_and_all, (x, 25)
            yield choice_by_argument, (abs(x), True)
            yield choice_by_argument, (abs(x), False)
            for dtype in ALL_DTYPES if step == 1 else ("int16", "float64", "complex128"):
                values = random.integers(0, 5, length).astype(dtype)
                values = take(np.resize(values, 130)) if length else values
                for mask in (n > 3, n > -9, n < -9):
                    yield select, (values, mask)
                    yield select, (np.repeat(values, 3).reshape(-1, 3), np.repeat(mask, 3).reshape(-1, 3))
                if np.dtype(dtype).kind in "biuf":
                    yield select_above, (values,)
                    yield filter_loop, (values, np.zeros(length + 1, dtype))
                    yield filter_loop, (values, np.zeros((length + 1, 3), dtype)[:, 1])
                    yield places, (values,)
                    yield partition, (values, True)
                    yield partition, (values, False)
                    yield both_arms_grow, (values,)
                    yield count_only, (values,)
            yield cursor_in_lanes, (abs(x) * 4,)


def bits(result):
    parts = result if isinstance(result, tuple) else (result,)
    return hashlib.sha256(b"".join(np.asarray(p).dtype.str.encode() + np.asarray(p).tobytes() for p in parts)).hexdigest()


def copies(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) and a.ndim > 1 else a for a in args)


def all_results(prepare):
    functions = {}
    results = {}
    for program, args in cases():
        function = functions.setdefault(program, prepare(program))
        results[f"{len(results)} {program.__name__} {args[0].dtype} {len(args[0])}"] = bits(function(*copies(args)))
    return results


@pytest.fixture(scope="module")
def expected():
    with np.errstate(all="ignore"):
        return all_results(lambda program: program)


@pytest.mark.rotated(5)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS)
def test_lanes_give_pythons_bits(kind, expected):
    need_vectors(kind)
    environment = {**os.environ, "INGOT_VECTORS": kind, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    got = json.loads(run.stdout)
    assert got.keys() == expected.keys()
    different = [name for name in expected if got[name] != expected[name]]
    assert not different, f"{len(different)} differ: {different[:10]}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("length", LENGTHS)
def test_reductions_of_such_loops(length):
    x = np.random.default_rng(3).uniform(0, 9, length)
    total = ingot.jit(reduced)(x)
    assert total == ingot._calls.function.Function(reduced, mode="interpreted")(x)
    assert total == pytest.approx(reduced(x), rel=1e-13)


PROGRAMS = (escape, stores_until_break, break_continue_else, counts_that_vary, nested, left_through_two_loops, newton,
            none_and_all, choice_by_argument, kinds_of_numbers)  # fmt: skip


def scheduled(program, *args):
    """The loop IR of a program when loops have been chosen for lanes."""
    f = ingot.jit(program)
    f(*args)
    return dict(f.specialisations[0].compile(texts=True)["passes"])["schedule"]


@pytest.mark.sampled(4)
@needs_lanes
@pytest.mark.parametrize("program", PROGRAMS)
def test_such_loops_run_in_lanes(program):
    args = next(args for other, args in cases() if other is program and len(args[0]) > 60)
    loops = scheduled(program, *args)
    inside = False
    for line in loops.splitlines():
        if "vector, width=0" in line:
            depth = len(line) - len(line.lstrip())
            inside = True
        elif inside and line.startswith(" " * depth + "}"):
            inside = False
        elif inside and any(f" {op} " in line for op in ("while", "for")):
            return
    pytest.fail(f"no loop of {program.__name__} has lanes with a loop in them:\n{loops}")


@needs_lanes
@pytest.mark.parametrize("program", (filter_loop, places, partition, cursor_in_lanes))
def test_cursors_run_in_lanes(program):
    x = np.arange(40.0)
    rest = {filter_loop: (np.zeros(41),), partition: (True,)}.get(program, ())
    text = scheduled(program, x, *rest)
    assert any(" = for " in line and "vector, width=0" in line for line in text.splitlines()), text


@needs_lanes
def test_what_is_no_cursor_stays_serial():
    text = scheduled(both_arms_grow, np.arange(40.0))
    assert not any(" = for " in line and "vector, width=0" in line for line in text.splitlines()), text


def row_less_multiple(a, i, k, low, high):
    for j in range(low, high):
        a[i, j] -= a[i, k] * a[k, j]


def row_less_multiple_backwards(a, i, k, low, high):
    for j in range(high - 1, low - 1, -1):
        a[i, j] -= a[i, k] * a[k, j]


def column_less_multiple(a, i, k, low, high):
    for j in range(low, high):
        a[j, i] -= a[k, i] * a[j, k]


def row_takes_sums(a, i, k, low, high):
    for j in range(low, high):
        a[i, k] += a[k, j]


def row_by_slices(a, i, k, low, high):
    a[i, low:high] -= a[i, k : k + 1] * a[k, low:high]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("place", ("before", "first", "inside", "last", "after"))
@pytest.mark.parametrize(
    "function", (row_less_multiple, row_less_multiple_backwards, column_less_multiple, row_takes_sums, row_by_slices)
)
def test_one_element_and_the_row_that_it_scales(function, place):
    low, high = 3, 60
    k = {"before": 2, "first": 3, "inside": 30, "last": 59, "after": 60}[place]
    for a in (np.random.default_rng(1).normal(size=(70, 70)), np.asfortranarray(np.arange(4900.0).reshape(70, 70) / 1e3)):
        for i in (k, 65):
            for view in (a, a[::-1], a[:, ::-1], a.T):
                check(function, view, i, k, low, high)


@pytest.mark.parametrize(
    "function", (row_less_multiple, row_less_multiple_backwards, column_less_multiple, row_takes_sums, row_by_slices)
)
def test_rows_that_share_elements(function):
    line = np.random.default_rng(2).normal(size=140).astype(np.float32)
    check(function, np.lib.stride_tricks.as_strided(line, (64, 70), (4, 4)), 5, 7, 3, 40)


def decomposed(a):
    for k in range(len(a) - 1):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            for j in range(k + 1, len(a)):
                a[i, j] -= a[i, k] * a[k, j]


def decomposed_by_slices(a):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k, k + 1 :]


@needs_lanes
@pytest.mark.parametrize("function", (decomposed, decomposed_by_slices))
def test_rows_less_multiples_of_another_run_in_lanes(function):
    a = np.random.default_rng(3).normal(size=(37, 37)) + 37 * np.eye(37)
    check(function, a)
    check(function, a.T)
    assert "vector, width=0" in scheduled(function, a), scheduled(function, a)


def test_an_output_that_is_too_short_holds_what_was_written():
    x = np.arange(50.0)
    out = np.zeros(30)
    expected = np.zeros(30)
    with pytest.raises(IndexError) as ours:
        ingot.jit(filter_loop)(x, out)
    with pytest.raises(IndexError) as pythons:
        filter_loop(x, expected)
    assert str(ours.value) == str(pythons.value)
    np.testing.assert_array_equal(out, expected)


def test_an_output_that_is_the_input():
    def squeeze(x):
        count = 0
        for i in range(len(x)):
            if x[i] % 3 == 0:
                x[count] = x[i] + 1
                count += 1
        return count

    x, expected = np.arange(200.0), np.arange(200.0)
    assert ingot.jit(squeeze)(x) == squeeze(expected)
    np.testing.assert_array_equal(x, expected)


def test_what_is_fetched_from_anywhere_stays_serial():
    def row_sums(starts, values, columns, x):
        out = np.zeros(len(starts) - 1)
        for i in range(len(starts) - 1):
            for k in range(starts[i], starts[i + 1]):
                out[i] += values[k]
        return out

    starts = np.array([0, 2, 5, 5, 9])
    values = np.arange(9.0)
    text = ingot.jit(row_sums).explain(starts, values, starts, values)
    assert "while" not in text.split("=== loop IR ===")[1]
    np.testing.assert_array_equal(ingot.jit(row_sums)(starts, values, starts, values), row_sums(starts, values, starts, values))


if __name__ == "__main__":
    print(json.dumps(all_results(ingot.jit)))


def quotients(x, y):
    return x // y, x % y, np.fmod(x, y)


def by_constants(x):
    return x // 7, x % 7, x // 16, x % 16, x // 1, x % 1, x // 100, x % 127


def by_negative_constants(x):
    return x // -7, x % -7, x // -16, x % -16, x // -1, x % -1, x // -128, x % -128


@pytest.mark.parametrize("dtype", ("int64", "uint64", "int32", "uint32", "int8", "uint8"))
def test_division_of_integers(dtype):
    limits = np.iinfo(dtype)
    powers = [2**k + d for k in range(limits.bits) for d in (-1, 0, 1)]
    edges = {s * v for v in (0, 3, 5, 7, 10, 100, 1000003, limits.max - 1, *powers) for s in (1, -1)} | {limits.min, limits.min + 1}
    some = np.random.default_rng(1).integers(limits.min, limits.max, 200, dtype, endpoint=True)
    some >>= np.arange(200).astype(dtype) % limits.bits
    numbers = np.concatenate([np.array([v for v in sorted(edges) if limits.min <= v <= limits.max], dtype), some])
    with np.errstate(all="ignore"):
        check(quotients, np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers)), modes=("compiled",))
        check(by_constants, numbers)
        if limits.min < 0:
            check(by_negative_constants, numbers)
