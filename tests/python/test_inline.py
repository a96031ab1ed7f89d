"""Functions whose calls stay calls until the pass `inline`, against CPython and against the same ones inlined at once."""

import math
import re
import traceback
import types

import numpy as np
import pytest

import ingot
from ingot.library import joining, numerical
from ingot.library.registry import routine
from support import GRID, LINE, MODES, check, jitted, layouts, refused


def text_of(function, *arguments):
    """The array IR of a function, for these arguments."""
    compiled = jitted(function)
    compiled._prepare(arguments, {})
    (specialisation,) = compiled.specialisations
    return specialisation.program.text()


def calls_in(function, *arguments):
    return re.findall(r"\bcall\b.*function=@\"?(\w+)", text_of(function, *arguments))


def unmarked(function):
    """The same functions without marks, all those that they use among them."""
    names = {}
    for name, value in function.__globals__.items():
        names[name] = value
    copies = {}
    for name, value in names.items():
        if isinstance(value, types.FunctionType) and value.__module__ == __name__:
            copies[name] = types.FunctionType(value.__code__, names, value.__name__, value.__defaults__, value.__closure__)
            copies[name].__kwdefaults__ = value.__kwdefaults__
    names |= copies
    return copies[function.__name__]


@routine
def hypotenuse(x, y=4.0, *, scale=1):
    return np.sqrt(x * x + y * y) * scale


def of_numbers(x, n):
    return hypotenuse(x), hypotenuse(x, n), hypotenuse(n, x, scale=2), hypotenuse(y=x, x=n)


def in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        s += hypotenuse(x[i % len(x)], i)
    return s


@routine
def shifted(a, by=1):
    return a + by, a[::2]


def of_arrays(a):
    b, c = shifted(a)
    d, e = shifted(b, 0.5)
    c[...] = 7
    return a, b, c, d, e


@routine
def fill(row, value):
    row[...] = value
    row[0] += 1
    return row


def in_place(a):
    one = fill(a, 3)
    two = fill(a[::2], 5)
    return one, two, one is a


def fill_rows(a):
    for i in range(len(a)):
        fill(a[i], i)
    return a


def fill_rows_at_once(a):
    for i in ingot.prange(len(a)):
        fill(a[i], i)
    return a


def roots_at_once(x):
    s = 0
    out = np.zeros_like(x)
    for i in ingot.prange(len(x)):
        out[i] = hypotenuse(x[i], scale=3)
        s += int(hypotenuse(x[i]))
    return out, s


@routine
def split(a, i):
    return {"below": a[:i], "above": a[i:], "place": (i, [len(a)])}


def containers(a, i):
    parts = split(a, i)
    parts["below"][0] = 9
    parts["place"][1].append(i)
    return parts, a


@routine
def collect(into, value):
    into.append(value)
    return into


def lists(n, x):
    some = [0.5]
    for i in range(n):
        collect(some, x * i)
    return some, collect([], x), len(collect(some, 1.0))


@routine
def swap(pair):
    a, b = pair
    return b, a


def tuples(x, n):
    a, b = swap((x, n))
    c, d = swap((a, np.float32(2)))
    return a, b, c, d


@routine
def inverse(x):
    if x == 0:
        raise ZeroDivisionError("no inverse")
    if x < 0:
        raise ValueError(f"negative: {x}")
    return 1 / x


def uncaught(x):
    return inverse(x) + 1


def caught(x):
    try:
        return inverse(x)
    except ValueError as error:
        return -x if error.args else x


def caught_outside(x):
    done = []
    try:
        done.append(inverse(x))
        done.append(inverse(x - 1))
    except (ValueError, ArithmeticError):
        done.append(-1.0)
    finally:
        done.append(0.5)
    return done


def caught_in_a_loop(x):
    count = 0
    for i in range(len(x)):
        try:
            x[i] = inverse(x[i])
        except Exception:
            count += 1
            continue
        finally:
            count += 10
    return count, x


@routine
def early(x, n):
    for i in range(n):
        if x[i] > 2:
            return i, x[i]
        if x[i] < -2:
            break
    else:
        return -1, x[0]
    return -2, x[i]


def returns(x, n):
    return early(x, n), early(x, 1)


@routine
def inner(x):
    return x * 2 + 1


@routine
def outer(x):
    return inner(x) - inner(x + 1)


def nested(x, a):
    return outer(x), outer(a), inner(outer(x))


@routine
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def recursion(n):
    return factorial(n), factorial(5)


@routine
def bounded(n):
    if n > 20:
        raise OverflowError(n)
    return 1 if n == 20 else 2 * bounded(n + 1)


def recursion_caught(n):
    try:
        return bounded(n)
    except OverflowError:
        return -1


@routine
def is_even(n):
    return n == 0 or is_odd(n - 1)


@routine
def is_odd(n):
    return n != 0 and is_even(n - 1)


def parity(n):
    return is_even(n), is_odd(n), is_even(4)


@routine
def ping(n):
    if n > 30:
        raise ValueError("too many")
    return n if n % 10 == 0 else pong(n + 1)


@routine
def pong(n):
    if n == 7:
        raise IndexError(n)
    return ping(n + 1)


def mutual(n):
    done = []
    for i in range(n):
        try:
            done.append(ping(i))
            done.append(pong(i))
        except ValueError:
            done.append(-1)
        except IndexError as error:
            done.append(-2)
    return done


@routine
def deeper(x, n):
    return x if n == 0 else deeper((x, n), n - 1)


def types_without_end(x, n):
    return deeper(x, n)


@routine
def apply(f, x):
    return f(f(x))


def functions(x, n):
    def add(y):
        return y + n

    return apply(add, x), apply(lambda y: y * 2, x), apply(np.sin, x), apply(inner, x)


def counted(n):
    count = 0

    def tick(x):
        nonlocal count
        count += 1
        return x + count

    return apply(tick, n), count


def with_cell(factor):
    @routine
    def scaled(x):
        return x * factor

    def program(x):
        return scaled(x) + scaled(2)

    return program


table = np.arange(4.0)
offset = 3


@routine
def looked_up(i):
    return table[i] + offset


def captured(n):
    s = 0.0
    for i in range(n):
        s += looked_up(i)
    table[0] = s
    return s, looked_up(0)


@routine
def along(a, axis):
    return a.sum(axis=axis)


def known_arguments(a):
    return along(a, 0), along(a, 1), along(a, None), along(a, axis=(0, 1))


@routine
def unrolled(a):
    s = 0
    for i in range(3):
        s = s + along(a, i % 2)[0]
    return s


def unrolling(a):
    return unrolled(a)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


@routine
def moved(point, by):
    point.x += by
    return Point(point.y, point.x)


def instances(x):
    point = Point(x, 2)
    other = moved(point, 1)
    return point.x, other.x, other.y


@routine
def nothing(a):
    a[0] = 1


def statements(a):
    assert nothing(a) is None
    nothing(a[1:])
    return a


@routine
def either(x):
    if x > 0:
        return x
    return None


def optional(x):
    r = either(x)
    return 0 if r is None else r + 1


@routine
def large(x):
    if x < 0:
        raise ValueError("below 0")
    y = x
    for k in (2, 3, 5, 7) * 9:
        y = math.lgamma(y + k) * 0.0 + math.sqrt(x * k)
    return y


def at_two_places(x, y):
    s = large(x)
    return s + large(y)


PROGRAMS = [
    (at_two_places, 1.5, 2.5),
    (at_two_places, -1.0, 1.0),
    (of_numbers, 3.0, 2),
    (of_numbers, 1.5, 4.0),
    (of_numbers, np.float32(3), np.int16(4)),
    (in_a_loop, LINE, 20),
    (in_a_loop, LINE.astype("f4"), 3),
    (in_place, LINE),
    (in_place, np.arange(5, dtype="i2")),
    (fill_rows, GRID),
    (fill_rows, GRID.T),
    (fill_rows_at_once, GRID),
    (roots_at_once, np.linspace(0, 9, 50)),
    (containers, LINE, 2),
    (containers, np.arange(3), 1),
    (lists, 5, 1.5),
    (tuples, 1.5, 2),
    (uncaught, 2.0),
    (uncaught, 0),
    (uncaught, -1.0),
    (caught, 2.0),
    (caught, 0.0),
    (caught, -4.0),
    (caught_outside, 3.0),
    (caught_outside, 1.0),
    (caught_outside, 0.5),
    (caught_in_a_loop, np.array([2.0, 0, -1, 4])),
    (returns, np.array([0.0, 1, 3]), 3),
    (returns, np.array([0.0, -5, 3]), 3),
    (returns, np.array([0.0, 1, 2]), 3),
    (returns, np.array([0.0]), 3),
    (nested, 2, LINE),
    (nested, 2.5, GRID.T),
    (recursion, 10),
    (recursion_caught, 10),
    (recursion_caught, 30),
    (parity, 7),
    (mutual, 25),
    (functions, 0.5, 2),
    (counted, 5),
    (with_cell(3), 2),
    (with_cell(0.5), LINE),
    (known_arguments, GRID),
    (unrolling, GRID),
    (instances, 1),
    (statements, LINE),
    (optional, 1.5),
    (optional, -1),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_programs(program):
    function, *arguments = program
    check(function, *arguments)


@pytest.mark.parametrize("dtype", ["bool", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.sampled(6)
def test_arrays(dtype, rank):
    array = (np.arange(24) % 5).astype(dtype).reshape(((24,), (4, 6), (2, 3, 4))[rank - 1])
    for given in layouts(array):
        check(of_arrays, given)


def test_calls_stay_calls():
    assert calls_in(of_numbers, 3.0, 2) == ["hypotenuse"] * 4
    assert calls_in(in_a_loop, LINE, 20) == ["hypotenuse"]
    assert set(calls_in(nested, 2, LINE)) == {"outer", "inner"}
    assert calls_in(unmarked(in_a_loop), LINE, 20) == []


def test_one_routine_for_each_shape_of_arguments():
    assert text_of(known_arguments, GRID).count("func @") == 5
    assert text_of(of_arrays, LINE).count("func @") == 3


def code_of(function, *arguments):
    compiled = jitted(function)
    compiled._prepare(arguments, {})
    return dict(compiled.specialisations[0].compile(texts=True)["passes"])


def test_what_is_small_or_called_once_is_inlined():
    assert "call " not in code_of(nested, 2, LINE)["inline"]
    assert code_of(at_two_places, 1.5, 2.5)["inline"].count("call ") == 2
    assert "call " not in code_of(lambda x: large(x), 1.5)["inline"]


def test_captured_arrays():
    for mode in MODES:
        table[:] = range(4)
        expected = captured(4)
        after = table.copy()
        table[:] = range(4)
        assert jitted(captured, mode)(4) == expected
        assert np.array_equal(table, after)


def test_an_entry_with_a_mark():
    check(outer, 3)
    check(factorial, 6)


def frames_of(function, *arguments):
    with pytest.raises(Exception) as caught:
        function(*arguments)
    here = [e for e in traceback.extract_tb(caught.value.__traceback__) if e.filename == __file__]
    return [(e.name, e.lineno) for e in here if e.name not in ("frames_of", "outcome")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "program", [(uncaught, 0), (uncaught, -1), (caught, 0), (at_two_places, -1.0, 1.0), (at_two_places, 1.0, -1.0)], ids=lambda p: p[0].__name__
)
def test_tracebacks(program, mode):
    function, *arguments = program
    assert frames_of(jitted(function, mode), *arguments) == frames_of(function, *arguments)


def sinking(n):
    if n == 0:
        raise ValueError("bottom")
    return sinking(n - 1) + 1


def sinks(n):
    return sinking(n) + 1


@pytest.mark.parametrize("mode", MODES)
def test_tracebacks_show_the_call_of_a_recursion_and_its_last_place(mode):
    """The calls in between, of which there may be any number, are left out."""
    for n in (0, 1, 20):
        pythons = frames_of(sinks, n)
        assert frames_of(jitted(sinks, mode), n) == [pythons[0], pythons[-1]]


def test_what_is_refused_names_the_calls():
    message = refused(types_without_end, 1, 100, words="recursion of `deeper`")
    assert "deeper(x, n)" in message

    @routine
    def iterates(numbers):
        return sum(numbers)

    def program(n):
        return iterates(i * i for i in range(n))

    refused(program, 3, words="from a function that is not inlined")


def test_generators_have_no_mark():
    with pytest.raises(TypeError, match="generator"):

        @routine
        def numbers():
            yield 1


@pytest.mark.parametrize("mode", MODES)
def test_what_a_function_of_the_library_raises_is_located_at_its_call(mode, monkeypatch):
    """Functions of Ingot's library may have the mark; their nodes have no locations of their own."""
    monkeypatch.setattr(joining.roll, "__ingot_routine__", True, raising=False)
    monkeypatch.setattr(numerical.diff, "__ingot_routine__", True, raising=False)

    def program(a, n):
        b = np.roll(a, n)
        return np.diff(b, n) + np.roll(np.diff(a, n), 1)

    assert calls_in(program, LINE, 2)
    check(program, LINE, 2, modes=[mode])
    assert frames_of(jitted(program, mode), LINE, -1)[-1][0] == "program"


def test_ufuncs_of_functions_with_a_mark():
    ufunc = ingot.vectorize(lambda x, y: inner(x) if x > y else outer(y))
    assert np.array_equal(ufunc(LINE, 2.5), np.where(LINE > 2.5, LINE * 2 + 1, -2.0))
    assert np.array_equal(ingot.jit(lambda a: ufunc(a, 1.0) + 1)(LINE), ufunc(LINE, 1.0) + 1)
