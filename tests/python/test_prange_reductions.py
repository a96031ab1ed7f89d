"""What loops over `prange` carry from iteration to iteration: reductions before `continue`, extremes and what goes with them.

Random programs give what Python gives, or are refused: `python test_prange_reductions.py COUNT [FIRST]` runs many."""

import copy
import linecache
import random
import sys

import numpy as np
import pytest

import ingot
from ingot import prange
from support import check, difference, jitted

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0]
LOST = [np.nan, np.inf, -np.inf]


def positives(x):
    s, n, most = x[0], 0, x[0]
    for i in prange(1, len(x)):
        if x[i] < 0:
            continue
        s += x[i]
        if x[i] > 2:
            n += 1
            continue
        most = max(most, x[i])
    return s, n, most


def until_a_break(x):
    s, n = x[0, 0], 0
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 1:
                break
            s += x[i, j]
            n += 1
        else:
            n += 5
    return s, n


def range_of(x):
    low, high = x[0], x[0]
    for i in prange(1, len(x)):
        if x[i] < low:
            low = x[i]
        elif x[i] > high:
            high = x[i]
    return low, high


def range_from(x, low, high):
    for i in prange(len(x)):
        if x[i] < low:
            low = x[i]
        elif x[i] > high:
            high = x[i]
    return low, high


def largest_first(x, m):
    for i in prange(len(x)):
        m = max(x[i], m)
    return m


def smallest_first(x, m):
    y = 0
    for i in prange(len(x)):
        if i % 3 == 1:
            continue
        m = min(x[i], m)
        y += 1
    return m, y


def place_of_smallest(x, best):
    k = -1
    for i in prange(len(x)):
        if x[i] < best:
            best = x[i]
            k = i
    return best, k


def nearest(x, p):
    best, k, where = np.float64(np.inf), 0, x[0, 0]
    for i in prange(x.shape[0]):
        d = 0.0
        for j in range(x.shape[1]):
            d += (x[i, j] - p[j]) ** 2
        if d < best:
            best, k, where = d, i, x[i, 0]
    return best, k, where


def closest_pair(x, mask):
    best, a, b, n = np.float64(np.inf), -1, -1, 0
    for i in prange(len(x)):
        if mask[i]:
            continue
        n += 1
        for j in range(i + 1, len(x)):
            if not mask[j] and abs(x[i] - x[j]) < best:
                best = abs(x[i] - x[j])
                a, b = i, j
    return best, a, b, n


def places_of_both(x):
    low, high, k, p = x[0], x[0], 0, 0
    for i in prange(len(x)):
        if x[i] > high:
            high = x[i]
            p = i
        elif x[i] < low:
            low = x[i]
            k = i
    return low, high, k, p


def least_in_array(x, c):
    for i in prange(len(x)):
        c[0] = min(c[0], x[i])
        c[1] = max(c[1], x[i])
    return c


def largest_of_each(x, c):
    n = 0
    for i in prange(len(x)):
        if x[i] > c[i % len(c)]:
            c[i % len(c)] = x[i]
        n += 1
    return n


def histogram_of_some(x, c):
    s = 0
    for i in prange(len(x)):
        if not x[i] > 0:
            continue
        c[i % 2] += c.dtype.type(1)
        s += i
    return s


OF_NUMBERS = [positives, range_of, places_of_both]
WITH_START = [largest_first, smallest_first, place_of_smallest]
WITH_ARRAY = [least_in_array, largest_of_each]


def arguments_of(function, dtype):
    """Arrays of different lengths, with NaN and zeros of both signs, and what the function begins with."""
    g = np.random.default_rng(3)
    kinds = {"f": (SPECIAL, SPECIAL + LOST, [0.0, -0.0], [np.nan, -0.0, 0.0]), "i": ([-3, 0, 1, 7],), "u": ([1, 2, 3],)}
    for n in (1, 2, 70, 131, 900):
        for numbers in kinds[dtype[0]]:
            x = g.choice(np.array(numbers, dtype), n)
            start, other = g.choice(np.array(numbers, dtype), 2)
            if function is range_from:
                yield x, start, other
                yield x, x.dtype.type(2), x.dtype.type(1)
            else:
                yield x, *([start] if function in WITH_START else [np.full(3, start)] if function in WITH_ARRAY else [])


@pytest.mark.sampled(8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u2"])
@pytest.mark.parametrize("function", [*OF_NUMBERS, *WITH_START, *WITH_ARRAY, range_from])
def test_extremes_and_what_goes_with_them(function, dtype):
    functions = [jitted(function), jitted(function, "interpreted")]
    for arguments in arguments_of(function, dtype):
        plain = copy.deepcopy(arguments)
        expected = function(*plain)
        for f in functions:
            given = copy.deepcopy(arguments)
            assert difference(f(*given), expected, 1e-6 * (function is positives)) is None, arguments
            assert difference(given, plain) is None, arguments


def test_programs_that_look_for_something():
    g = np.random.default_rng(1)
    x = g.integers(0, 40, (300, 3)) * 0.5
    check(nearest, x, np.ones(3))
    check(nearest, x * np.nan, np.ones(3))
    check(closest_pair, g.random(250), g.random(250) < 0.3)
    check(histogram_of_some, g.normal(size=500), np.zeros(2, np.int64))
    check(until_a_break, g.normal(size=(70, 5)), bound=1e-12)


@pytest.mark.rotated(3)
def test_such_loops_are_shared():
    g = np.random.default_rng(1)
    x = g.integers(0, 10**6, 60_000) * 0.5
    before = ingot.get_num_threads()
    for threads in (1, 3):
        ingot.set_num_threads(threads)
        for function, arguments in ((place_of_smallest, (np.inf,)), (places_of_both, ()), (largest_first, (0.0,)), (least_in_array, (np.zeros(2),))):
            f = jitted(function)
            assert "shared among threads" in str(f.explain(x, *arguments))
            check(function, x, *arguments, modes=["compiled"])
    ingot.set_num_threads(before)


def last_smallest_place(x):
    best, k = np.inf, 0
    for i in prange(len(x)):
        if x[i] <= best:
            best = x[i]
            k = i
    return best, k


def place_is_used(x):
    best, k, s = np.inf, 0, 0
    for i in prange(len(x)):
        if x[i] < best:
            best = x[i]
            k = i
        s += k
    return s


def counts_improvements(x):
    best, n = np.inf, 0
    for i in prange(len(x)):
        if x[i] < best:
            best = x[i]
            n += 1
    return n


def two_smallest(x):
    a, b = np.inf, np.inf
    for i in prange(len(x)):
        if x[i] < a:
            b = a
            a = x[i]
        elif x[i] < b:
            b = x[i]
    return a, b


def follows_sometimes(x):
    best, k = np.inf, 0
    for i in prange(len(x)):
        if x[i] < best:
            best = x[i]
            k = i
        if -x[i] < best:
            best = -x[i]
    return best, k


def written_where_it_improves(x):
    best = np.inf
    for i in prange(len(x)):
        if x[i] < best:
            best = x[i]
            x[i] = 0
    return best


@pytest.mark.parametrize("function", [last_smallest_place, place_is_used, counts_improvements, two_smallest, follows_sometimes, written_where_it_improves])
def test_what_depends_on_what_was_found_so_far_is_refused(function):
    for mode in ("compiled", "interpreted"):
        with pytest.raises(ingot.UnsupportedError, match="an iteration uses what"):
            jitted(function, mode)(np.ones(4))


def sum_from(x, s):
    for i in prange(len(x)):
        s += x[i]
    return s


def sum_of_some(x, s):
    for i in prange(len(x)):
        if i % 2 == 0:
            s -= x[i]
    return s


@pytest.mark.rotated(3)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_that_begin_with_negative_zero(dtype):
    for function in (sum_from, sum_of_some):
        for n in (0, 1, 2, 1500):
            for number in (0.0, -0.0):
                for start in (0.0, -0.0):
                    check(function, np.full(n, number, dtype), np.dtype(dtype).type(start))
            check(function, np.where(np.arange(n) == 700, 0.0, -0.0).astype(dtype), np.dtype(dtype).type(-0.0))


def left(x):
    for i in prange(len(x)):
        if x[i] > 0:
            break
        x[i] = 1


def returned_from(x):
    for i in prange(len(x)):
        if x[i] > 0:
            return i
    return -1


def drawn(x):
    for i in prange(len(x)):
        x[i] = np.random.random()


def carried(x):
    last, s = 0.0, 0.0
    for i in prange(len(x)):
        s += x[i] - last
        last = x[i] * 2
    return s


@pytest.mark.parametrize(
    "function, words",
    [
        (left, r"a prange loop that an iteration leaves is not supported\n(.|\n)*for i in prange(.|\n)*`first = min\(first, i\)`"),
        (returned_from, r"a prange loop that an iteration leaves is not supported\n(.|\n)*for i in prange"),
        (drawn, r"draw random numbers(.|\n)*np.random.random\(\)\n(.|\n)*before the loop, as an array"),
        (carried, r"uses what the one before gave: `last`; lines"),
    ],
)
def test_what_to_write_instead(function, words):
    with pytest.raises(ingot.UnsupportedError, match=words):
        ingot.jit(function)(np.zeros(5))


class Program:
    """A loop that carries a few values, each in a way of its own, and does something else."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.inits, self.results, self.count = [], [], [], 0
        self.statements(1, self.r.choice([1, 2, 3, 4]))
        self.inits = self.inits or ["v0 = 0"]
        self.results = self.results or ["v0"]
        body = "\n".join([*self.lines, "        pass"])
        inits = "\n    ".join(self.inits)
        self.text = f"def f(x, y, t, c):\n    {inits}\n    for i in prange(len(x)):\n{body}\n    return {', '.join(self.results)},\n"

    def name(self, init):
        name = f"v{self.count}"
        self.count += 1
        self.inits.append(f"{name} = {init}")
        self.results.append(name)
        return name

    def number(self):
        return self.r.choice(["x[i]", "y[i]", "x[i] - y[i]", "abs(x[i])", "x[t[i]]"])

    def start(self):
        return self.r.choice(["x[0]", "y[1]", "np.float64(2.0)", "np.float64('inf')", "np.float64('-inf')", "np.float64(-0.0)"])

    def condition(self):
        return self.r.choice([f"{self.number()} {self.r.choice(['<', '>', '>=', '=='])} {self.r.choice(['0.0', '1.0', 'y[i]'])}", "i % 3 == 1", "t[i] > 4"])

    def statements(self, depth, count):
        for _ in range(count):
            self.statement("    " * (depth + 1), depth)

    def statement(self, indent, depth):
        kinds = [
            "continue",
            "sum",
            "sum",
            "count",
            "extreme",
            "extreme",
            "place",
            "place",
            "pair",
            "element",
            "element",
            "again",
            "write",
            "if",
            "inner",
            "bits",
        ]
        kind = self.r.choice(kinds if depth < 3 else kinds[1:13])
        getattr(self, "of_" + kind)(indent, depth)

    def add(self, indent, *lines):
        self.lines += [indent + line for line in lines]

    def of_continue(self, indent, depth):
        self.add(indent, f"if {self.condition()}:", "    continue")

    def of_if(self, indent, depth):
        self.add(indent, f"if {self.condition()}:")
        self.statements(depth + 1, self.r.choice([1, 2]))
        if self.r.random() < 0.4:
            self.add(indent, "else:")
            self.statements(depth + 1, 1)

    def of_inner(self, indent, depth):
        self.add(indent, "for j in range(t[i]):")
        if self.r.random() < 0.5:
            self.add(indent, f"    if x[j] {self.r.choice('<>')} y[i]:", f"        {self.r.choice(['break', 'continue'])}")
        self.statements(depth + 1, 1)

    def of_sum(self, indent, depth):
        self.add(indent, f"{self.name(self.r.choice(['np.float64(0.0)', 'np.float64(-0.0)', 'x[0]']))} {self.r.choice('+-')}= {self.number()}")

    def of_count(self, indent, depth):
        self.add(indent, f"{self.name('0')} += 1")

    def of_bits(self, indent, depth):
        self.add(indent, f"{self.name('np.int64(5)')} {self.r.choice(['+', '^', '|'])}= t[i]")

    def of_extreme(self, indent, depth):
        m, x = self.name(self.start()), self.number()
        kind = self.r.choice([f"{m} = max({m}, {x})", f"{m} = max({x}, {m})", f"{m} = min({x}, {m})", f"{m} = min({m}, {x})", "if"])
        if kind == "if":
            self.add(indent, f"if {x} {self.r.choice(['<', '>', '<=', '>='])} {m}:", f"    {m} = {x}")
        else:
            self.add(indent, kind)

    def of_place(self, indent, depth):
        m, k, x = self.name(self.start()), self.name("-1"), self.number()
        op = self.r.choice(["<", "<", ">", "<="])
        guard = self.r.choice(["", "", f"{self.condition()} and "])
        self.add(indent, f"if {guard}{x} {op} {m}:")
        lines = [f"    {m} = {x}", f"    {k} = {self.r.choice(['i', 'i', 'i + 1', '7'])}"]
        if self.r.random() < 0.2:
            lines.append(f"    {self.name('np.float64(0.5)')} = y[i]")
        if self.r.random() < 0.1:
            del lines[self.r.randrange(2)]
        self.r.shuffle(lines)
        self.add(indent, *lines)
        if self.r.random() < 0.15:
            self.add(indent, f"if {self.number()} {op} {m}:", f"    {m} = {self.number()}", *([f"    {k} = i + 1"] * self.r.choice([0, 1])))

    def of_pair(self, indent, depth):
        low, high, x = self.name(self.start()), self.name(self.start()), self.number()
        k = self.name("-1") if self.r.random() < 0.4 else None
        a, b = self.r.choice([("<", ">"), (">", "<"), ("<", "<"), ("<", ">=")])
        self.add(indent, f"if {x} {a} {low}:", f"    {low} = {x}", *([f"    {k} = i"] if k else []))
        self.add(indent, f"elif {self.r.choice([x, x, x, self.number()])} {b} {high}:", f"    {high} = {x}")

    def of_element(self, indent, depth):
        at = self.r.choice(["0", "1", "t[i] % 4"])
        x = self.number()
        c = f"c[{self.r.choice('012')}, {at}]"
        kind = self.r.choice(["min", "max", "if", "if", "+"])
        if kind == "if":
            self.add(indent, f"if {x} {self.r.choice(['<', '>', '<='])} {c}:", f"    {c} = {x}")
        elif kind == "+":
            self.add(indent, f"{c} += {x}")
        else:
            self.add(indent, f"{c} = {kind}({c}, {x})")

    def of_again(self, indent, depth):
        if not self.count:
            return self.add(indent, "pass")
        m = f"v{self.r.randrange(self.count)}"
        x = self.number()
        self.add(indent, self.r.choice([f"{m} += 1", f"{m} = max({m}, {x})", f"y[i] = {m}", f"{m} = {x}", f"{m} -= 1"]))

    def of_write(self, indent, depth):
        self.add(indent, self.r.choice([f"y[i] = {self.number()}", "y[i] += 1"]))

    def function(self):
        name = f"<prange {id(self)}>"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        scope = {"prange": ingot.prange, "np": np}
        exec(compile(self.text, name, "exec"), scope)  # noqa: S102
        return scope["f"]


def outcome(function, arguments):
    try:
        return function(*arguments)
    except (OverflowError, IndexError, ZeroDivisionError) as error:
        return type(error).__name__


def run(seed, modes):
    """Whether a program compiles; raises AssertionError where it does not give what Python gives."""
    program = Program(seed)
    function = program.function()
    g = np.random.default_rng(seed)
    for mode in modes:
        f = jitted(function, mode)
        for n, numbers in ((2, SPECIAL), (300, SPECIAL), (777, SPECIAL + LOST), (150, [0.0, -0.0]), (130, [np.nan, 1.0])):
            x, y = g.choice(numbers, n), g.choice(numbers, n)
            t = g.integers(0, min(n, 6), n)
            c = g.choice(SPECIAL, (3, 4))
            first, second = [x, y.copy(), t, c.copy()], [x, y.copy(), t, c.copy()]
            try:
                with np.errstate(all="ignore"):
                    expected = outcome(function, first)
            except TypeError:  # `|` of floats
                return False
            try:
                given = outcome(f, second)
            except ingot.UnsupportedError as error:
                if "prange" not in str(error):
                    raise
                return False
            why = difference(given, expected) or (isinstance(expected, str) and None) or difference(second, first)
            assert why is None, (seed, n, mode, why, program.text)
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 80, 10))
def test_random_programs(first):
    assert sum(run(seed, ["interpreted"]) for seed in range(first, first + 10)) > 0
    run(first, ["compiled"])


if __name__ == "__main__":
    ingot.set_num_threads(4)
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count = int(sys.argv[1])
    print(sum(run(seed, sys.argv[3:] or ["interpreted"]) for seed in range(first, first + count)), "of", count, "compile")
