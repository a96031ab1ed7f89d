"""Checks on data, and values of iterations that wait for each other, made for strips of iterations at once: what an iteration that fails
has written is what Python has written."""

import math

import numpy as np
import pytest

from support import KINDS, copied, difference, jitted, need_vectors, outcome

STRIP = 128
LENGTHS = (0, 1, 15, 16, 17, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP + 7)


def sines(x, y, index):
    for i in range(len(x)):
        y[i] = math.sin(x[i])


def gathers(x, y, index):
    for i in range(len(index)):
        y[i] = x[index[i]]


def chained_gathers(x, y, index):
    for i in range(len(index)):
        y[i] = math.sqrt(x[index[index[i]]])


def two_checks(x, y, index):
    for i in range(len(x)):
        y[i] = math.sqrt(x[i]) + math.log(x[index[i]] + 0.5)


def store_before_check(x, y, index):
    for i in range(len(x)):
        y[i] = 7.0
        y[i] = math.sqrt(x[i])


def store_between_checks(x, y, index):
    for i in range(len(index)):
        index[i] = int(x[i])
        y[i] = math.exp(x[i])


def reads_what_it_writes(x, y, index):
    for i in range(1, len(x)):
        y[i] = math.sqrt(y[i - 1] - 1e-3) + x[i]


def updates(x, y, index):
    for i in range(len(x)):
        x[i] = math.sqrt(x[i]) + index[i]


def reads_what_the_iteration_wrote(x, y, index):
    for i in range(len(x)):
        x[i] = 0.5 - x[i]
        y[i] = math.sqrt(x[i] + 3.0)


def reads_what_an_inner_iteration_wrote(x, y, index):
    for i in range(len(x)):
        for j in range(3):
            y[i] = math.sqrt(x[i])
            x[i] = x[i] - 0.5


def branches(x, y, index):
    for i in range(len(x)):
        if x[i] < 1:
            y[i] = math.log(x[i])
        else:
            y[i] = x[index[i]]


def branch_before_check(x, y, index):
    for i in range(len(x)):
        v = float(x[index[i]]) if index[i] % 3 == 0 else 1.0
        y[i] = math.sqrt(v)


def raises(x, y, index):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative")
        y[i] = math.sqrt(x[i])


def raises_between(x, y, index):
    for i in range(len(x)):
        y[i] = i
        if index[i] < 0:
            raise KeyError("negative")
        elif x[i] > 1e100:
            y[i] = 2.0
        else:
            if not index[i] < len(x):
                raise LookupError("too large")
            y[i] = x[index[i]]
        if x[i] == 0:
            raise ZeroDivisionError("nothing to divide by")


def skips(x, y, index):
    for i in range(len(x)):
        if index[i] % 2:
            continue
        y[i] = math.sqrt(x[i])


def python_numbers(x, y, index):
    for i in range(len(x)):
        y[i] = (int(index[i]) * 5 + 3) / float(x[i])


def overflows(x, y, index):
    for i in range(len(x)):
        y[i] = int(index[i]) * 2**40 + 1


def powers(x, y, index):
    for i in range(len(x)):
        y[i] = abs(float(x[i])) ** 0.5 + float(x[i]) ** -3


def sums_in_order(x, y, index):
    for i in range(len(x)):
        s = 0.0
        for j in range(min(len(x), 5)):
            s += math.sqrt(x[i] - x[j] + 3)
        y[i] = s


def a_sum(x, y, index):
    s = 0.0
    for i in range(len(x)):
        s += math.sqrt(x[index[i]])
    return s


def returns_early(x, y, index):
    for i in range(len(x)):
        if x[i] > 1e6:
            return i
        y[i] = math.sqrt(x[i])
    return -1


def counts(x, y, index):
    for i in range(len(x)):
        y[int(x[i] * 2.5) % 7 + index[i] // 2] += math.exp(-x[i])


def running_sums(x, y, index):
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i]) * math.sqrt(x[index[i]])
        y[i] = s
    return s


def raises_late(x, y, index):
    s = 0.0
    for i in range(len(x)):
        s += math.exp(-x[i])
        y[i] = math.sqrt(40.0 - s)
        if s > 39.5:
            raise LookupError("far")
    return s


def reads_later_what_it_writes(x, y, index):
    s = 0.0
    for i in range(len(x)):
        s += math.exp(-x[i])
        x[index[i]] = s
    return s


def chooses_what_it_adds(x, y, index):
    s = 0.0
    n = 0
    for i in range(len(x)):
        e = math.exp(-x[i])
        v = math.sqrt(e + 1.0) if index[i] % 2 else float(x[index[i]]) / 3.0
        if e > 0.3:
            s += v
            n += 1
        else:
            s -= e
        y[n] = s
    return s, n


def gathers_in_an_arm(x, y, index):
    s = 0.0
    for i in range(len(x)):
        s += float(np.exp(-float(x[index[i]]))) if y[i] == 0.0 else 0.0
    return s


def divides_in_an_arm(x, y, index):
    s = 1.5
    for i in range(len(x)):
        near = s != 0.0
        v = math.exp(-abs(x[i]))
        w = 2.0
        if index[i] % 2 == 0:
            w = 1.0 / s
            v = math.exp(-x[i] * x[i])
        s = math.floor(s * v * 1e3) / 1e3
        y[i] = w if near else 0.0
    return s


def follows(x, y, index):
    s, t, flag = 1.0, 0.0, False
    for i in range(len(x)):
        rate = math.exp(-x[i]) / (1.0 + math.log(x[i] + 1.0))
        s, t, flag = s * 0.5 + rate, t * 0.25 + s, rate > 0.1
        y[i] = s if flag else t
    return s, t, flag


def counts_python_ints(x, y, index):
    n = 2**62
    for i in range(len(x)):
        n += int(math.sqrt(x[i]) * 2**50)
        y[i] = int(index[i]) * 3 - n
    return n


def in_64_bits(number):
    """What Ingot does with a Python int."""
    if not -(2**63) <= number < 2**63:
        raise OverflowError("a Python int leaves 64 bits here")
    return number


def store_between_checks_in_64_bits(x, y, index):
    for i in range(len(index)):
        index[i] = in_64_bits(int(x[i]))
        y[i] = math.exp(x[i])


def python_numbers_in_64_bits(x, y, index):
    for i in range(len(x)):
        y[i] = in_64_bits(in_64_bits(int(index[i]) * 5) + 3) / float(x[i])


def overflows_in_64_bits(x, y, index):
    for i in range(len(x)):
        y[i] = in_64_bits(in_64_bits(int(index[i]) * 2**40) + 1)


def counts_in_64_bits(x, y, index):
    for i in range(len(x)):
        y[in_64_bits(int(x[i] * 2.5)) % 7 + index[i] // 2] += math.exp(-x[i])


def counts_python_ints_in_64_bits(x, y, index):
    n = 2**62
    for i in range(len(x)):
        n = in_64_bits(n + in_64_bits(int(math.sqrt(x[i]) * 2**50)))
        y[i] = in_64_bits(in_64_bits(int(index[i]) * 3) - n)
    return n


EXPECTED = {
    counts: counts_in_64_bits,
    counts_python_ints: counts_python_ints_in_64_bits,
    store_between_checks: store_between_checks_in_64_bits,
    python_numbers: python_numbers_in_64_bits,
    overflows: overflows_in_64_bits,
}
PROGRAMS = (
    sines, gathers, chained_gathers, two_checks, store_before_check, store_between_checks, reads_what_it_writes, updates,
    reads_what_the_iteration_wrote, reads_what_an_inner_iteration_wrote, branches,
    branch_before_check, raises, raises_between, skips, python_numbers, overflows, powers, sums_in_order, a_sum, returns_early,
    gathers_in_an_arm, divides_in_an_arm, counts, running_sums, raises_late, reads_later_what_it_writes, chooses_what_it_adds, follows, counts_python_ints,
)  # fmt: skip


def cases():
    """Arguments: of each length all iterations are fine, or one iteration, or two, hold what makes checks fail."""
    for length in LENGTHS:
        random = np.random.default_rng(length)
        places = sorted({p for p in (0, 1, length // 2, STRIP - 1, STRIP, length - 1) if 0 <= p < length})
        x = random.random(length) * 3 + 0.25
        index = random.integers(0, max(length, 1), length)
        yield x, np.zeros(length), index
        for place in places:
            for bad in (-1.0, np.inf, np.nan, 0.0, 1e300):
                worse = x.copy()
                worse[place] = bad
                yield worse, np.zeros(length), index
            for bad in (length, -length - 1, 10**13, 2**62, -1):
                other = index.copy()
                other[place] = bad
                yield x, np.zeros(length), other
        if length > STRIP:
            worse, other = x.copy(), index.copy()
            worse[length - 2], other[length - 3] = -1.0, length
            yield worse, np.zeros(length), other
            worse, other = x.copy(), index.copy()
            worse[5], other[5] = -1.0, length
            yield worse, np.zeros(length), other


def layouts():
    """Arguments that are disjoint, step or run backwards, and such that share memory."""
    length = 2 * STRIP + 9
    random = np.random.default_rng(1)
    x, y = random.random(2 * length) + 0.5, np.zeros(2 * length)
    index = random.integers(-length, length, 2 * length)
    yield x[::2], y[::2], index[::2]
    yield x[:length][::-1], y[length:], index[::2]
    yield x[:length].astype(np.float32), y[:length].astype(np.float32), index[:length].astype(np.int32)
    yield x[:length], x[:length], index[:length]
    yield x[:length], x[1 : length + 1], index[:length]
    yield x[1 : length + 1], x[:length], index[:length]
    numbers = random.integers(0, length, 2 * length)
    yield x[:length], numbers[:length], numbers[:length]
    yield x[:length], numbers[1 : length + 1], numbers[:length]
    yield numbers[:length] + 1, numbers[:length], numbers[:length]
    yield x[:length], y[: length - 3], index[:length]


def compare(compiled, function, arguments):
    plain, given = copied(arguments), copied(arguments)
    result, error, _ = outcome(function, plain)
    got, raised, _ = outcome(compiled, given)
    assert (type(raised), str(raised)) == (type(error), str(error)), f"{raised!r} for {error!r}"
    problem = difference(got, result, 1e-13) or difference(given, plain, 1e-13, "arguments")
    assert problem is None, problem


@pytest.mark.sampled(24)
@pytest.mark.parametrize("kind", ["interpreted", *KINDS])
@pytest.mark.parametrize("function", PROGRAMS)
def test_iterations_that_fail(function, kind, monkeypatch):
    if kind in KINDS:
        need_vectors(kind)
        monkeypatch.setenv("INGOT_VECTORS", kind)
    compiled = jitted(function, "compiled" if kind in KINDS else "interpreted")
    for arguments in [*cases(), *layouts()]:
        if kind == "interpreted" and len(arguments[0]) not in (0, 1, STRIP + 1):
            continue
        compare(compiled, EXPECTED.get(function, function), arguments)
