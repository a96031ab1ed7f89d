"""What exceptions that leave compiled code carry: arguments with their types, causes, contexts, and where they were raised."""

import traceback

import numpy as np
import pytest

import ingot
from support import MODES, check, difference, jitted


class Several(Exception):
    def __init__(self, first, second, third=0):
        super().__init__(first, second)
        self.first, self.third = first, third


class Plain(ValueError):
    pass


class Slotted(Exception):
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Shown(Exception):
    def __str__(self):
        return "shown"


def parts(error, seen=None):
    """All that can be seen of an exception; one that was met before is its number."""
    seen = {} if seen is None else seen
    if error is None or id(error) in seen:
        return seen.get(id(error))
    seen[id(error)] = len(seen)
    arguments = [(type(a), repr(a)) for a in error.args]
    chain = [parts(error.__cause__, seen), error.__suppress_context__, parts(error.__context__, seen)]
    return type(error), arguments, str(error), vars(error), getattr(error, "value", None), chain


def places(error):
    """The lines of this file that an exception came through, and those that it was raised from."""
    here = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    other = error.__cause__ or error.__context__
    return [here[1:] if here and here[0][0] == "left" else here, *(places(other) if other else [])]


def left(function, *arguments):
    """What leaves a call."""
    with pytest.raises(BaseException) as caught:
        function(*arguments)
    assert not isinstance(caught.value, ingot.UnsupportedError), caught.value
    return caught.value


def numbers(n):
    raise ValueError("n", n, n / 2, n > 1, None, -0.0)


def numpys_numbers(n):
    raise Plain(np.int8(n), np.float16(1.1), np.float32(0.1), np.uint64(2**63), np.bool_(n > 0), np.float64("nan"))


def one_number(n):
    raise ZeroDivisionError(n)


def containers(n):
    raise Plain([n, 2.0], (1, n), {"a": n}, n * 1j)


def an_array(n):
    raise Plain(np.arange(n))


def several_arguments(n):
    raise Several(n, "b", n + 1)


def slots(n):
    raise Slotted(n)


def refused_arguments(n):
    try:
        raise KeyError(n)
    except KeyError:
        raise Several(n)


def of_a_tuple(n):
    raise AssertionError(("n", n))


def no_exception(n):
    raise 3 from 4


def no_cause(n):
    raise ValueError("a") from 3


def axis(n):
    return np.zeros((2, 3)).sum(axis=7) + np.expand_dims(np.zeros(2), 7)


def moved_axis(n):
    return np.moveaxis(np.zeros(2), 7, 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "function",
    [numbers, numpys_numbers, one_number, containers, an_array, several_arguments, slots, refused_arguments, of_a_tuple,
     no_exception, no_cause, axis, moved_axis],
)  # fmt: skip
def test_arguments_of_exceptions_keep_their_types(function, mode):
    assert parts(left(jitted(function, mode), 3)) == parts(left(function, 3))


def test_exceptions_of_numbers_leave_parallel_loops():
    def f(n):
        s = 0
        for i in ingot.prange(100):
            if i >= n:
                raise Plain("iteration", i, i / 2)
            s += i
        return s

    check(f, 200)
    for mode in MODES:
        assert left(jitted(f, mode), 17).args == ("iteration", 17, 8.5)


def from_another(n):
    try:
        raise KeyError(n)
    except KeyError as e:
        raise ValueError("x") from e


def from_none(n):
    try:
        raise KeyError(n)
    except KeyError:
        raise ValueError("x", n) from None


def from_a_class(n):
    raise ValueError from KeyError


def from_a_new_one(n):
    raise ValueError("a") from Plain("b", n)


def from_itself(n):
    e = KeyError(n)
    raise e from e


def equal_but_another(n):
    try:
        raise KeyError("a")
    except KeyError:
        raise KeyError("a") from KeyError("a")


def while_handling(n):
    try:
        raise KeyError("k")
    except KeyError:
        raise ValueError("x")


def check_while_handling(n):
    try:
        return n // (n - 3)
    except ZeroDivisionError:
        return np.zeros(3)[n]


def check_while_handling_an_array(n):
    try:
        raise Plain(n * 1j, np.zeros(n))
    except Plain:
        return np.zeros(2)[n]


def in_a_finally(n):
    try:
        raise KeyError(n)
    finally:
        np.zeros(2)[n]


def a_finally_that_handles(n):
    try:
        raise KeyError(n)
    finally:
        try:
            raise ValueError(2)
        except ValueError:
            pass


def a_finally_on_the_way_out(n):
    try:
        try:
            raise KeyError(n)
        except KeyError:
            return 1
        finally:
            raise ValueError(2)
    except ZeroDivisionError:
        return 2


def after_handling(n):
    try:
        raise KeyError(n)
    except KeyError:
        pass
    raise ValueError("no context")


def handled_inside(n):
    try:
        raise KeyError(1)
    except KeyError:
        try:
            raise IndexError(2)
        except IndexError:
            pass
        raise ValueError("of the KeyError")


def raised_again(n):
    try:
        try:
            raise KeyError(n)
        except KeyError:
            raise ValueError("v", n)
    except ValueError:
        raise


def raised_again_by_name(n):
    try:
        try:
            raise KeyError(n)
        except KeyError:
            raise ValueError("v", n)
    except ValueError as e:
        raise e from None


def the_outer_one_again(n):
    try:
        raise KeyError(n)
    except KeyError as e:
        try:
            raise ValueError(2)
        except ValueError:
            raise e


def three(n):
    try:
        try:
            raise KeyError(1)
        except KeyError as e:
            raise IndexError(2) from e
    except IndexError as f:
        raise TypeError("t") from f.__cause__


def of_a_callee(n):
    try:
        numbers(n)
    except ValueError as e:
        several_arguments(n + len(e.args))


def of_numpys(n):
    try:
        return np.linalg.inv(np.zeros((n, n)))
    except np.linalg.LinAlgError as e:
        raise Plain("singular", n) from e


def of_several_clauses(n):
    try:
        if n > 1:
            raise KeyError(n)
        raise ValueError(n)
    except (KeyError, ValueError) as e:
        raise Plain("either", n) from e


def of_a_loop(n):
    for i in range(n):
        try:
            if i == 1:
                raise KeyError(i)
        except KeyError:
            for j in range(5):
                if j == 3:
                    raise ValueError(i, j)


def generated(n):
    try:
        raise KeyError(n)
    except KeyError:
        yield 1
        yield 2


def of_a_consumer(n):
    for v in generated(n):
        if v == 2:
            raise ValueError(v)


def of_a_generator(n):
    try:
        raise IndexError(1)
    except IndexError:
        for v in generated(n):
            raise Plain(v)


def stops(n):
    yield n
    raise StopIteration(n)


def of_stop_iteration(n):
    for _ in stops(n):
        pass


def deep(n):
    if n <= 0:
        raise Plain("deep", n)
    return deep(n - 1) + 1


def of_a_recursion(n):
    try:
        return deep(n)
    except Plain as e:
        raise ValueError("outer") from e


def recursion_while_handling(n):
    try:
        raise KeyError(n)
    except KeyError:
        return deep(n)


def deep_from(n):
    if n <= 0:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise Plain("deep", n) from e
    return deep_from(n - 1) + 1


def recursion_that_chains(n):
    try:
        return deep_from(n)
    except Plain as e:
        raise ValueError(n) from e


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "function",
    [from_another, from_none, from_a_class, from_a_new_one, from_itself, equal_but_another, while_handling,
     check_while_handling, check_while_handling_an_array, in_a_finally, a_finally_that_handles, a_finally_on_the_way_out,
     after_handling, handled_inside, raised_again, raised_again_by_name, the_outer_one_again, three, of_a_callee, of_numpys,
     of_several_clauses, of_a_loop, of_a_consumer, of_a_generator, of_stop_iteration, of_a_recursion, recursion_while_handling,
     deep_from, recursion_that_chains],
)  # fmt: skip
def test_exceptions_have_their_causes_and_contexts(function, mode):
    assert parts(left(jitted(function, mode), 3)) == parts(left(function, 3))


@pytest.mark.parametrize("function", [from_another, check_while_handling, of_a_callee, three, in_a_finally, of_a_loop])
def test_causes_and_contexts_know_where_they_were_raised(function):
    assert places(left(jitted(function), 3)) == places(left(function, 3))


def test_causes_and_contexts_are_seen_where_exceptions_are_caught():
    def f(n):
        r = (0, False, False)
        try:
            try:
                raise KeyError(n)
            except KeyError as e:
                raise ValueError(n, 2.5, np.int8(3)) from e
        except ValueError as f:
            cause = f.__cause__
            if cause is not None:
                r = (cause.args[0] + f.args[0], f.__context__ is None, f.__suppress_context__)
        return r

    check(f, 3)


def test_a_call_that_raises_from_another_runs_no_python():
    function = jitted(from_another)
    left(function, 3)
    assert not function.specialisations[0].hosts


def text_of_several(n):
    try:
        raise Several(n, "b")
    except Several as e:
        print(e)


def arguments_of_several(n):
    try:
        raise Several(n, "b")
    except Several as e:
        return e.args


def text_of_shown(n):
    try:
        raise Shown(n)
    except Shown as e:
        print(e)


@pytest.mark.parametrize("function", [text_of_several, arguments_of_several, text_of_shown])
def test_what_classes_of_exceptions_may_change_is_refused(function):
    """Code of the class decides what the string and the arguments are."""
    with pytest.raises(ingot.UnsupportedError, match="of an exception whose class has a"):
        jitted(function)(3)


def of_numbers(a, b, c, d, e):
    raise Several(a, (b, c), [d, e])


@pytest.mark.parametrize("mode", MODES)
def test_numbers_that_an_exception_is_made_of_keep_their_types(mode):
    numbers = (np.uint64(2**63 + 5), np.float32(0.1), np.True_, np.float16(0.1), -(2**62))
    with pytest.raises(Several) as caught:
        jitted(of_numbers, mode)(*numbers)
    assert difference((caught.value.args, caught.value.third), ((numbers[0], numbers[1:3]), list(numbers[3:]))) is None


def of_control_characters(n):
    if n > 1:
        raise ValueError("\x1f0\x1f3\x1fValueError")
    raise ValueError("n", n)


def test_a_text_is_never_taken_for_what_an_exception_is_made_of():
    check(of_control_characters, 1)
    check(of_control_characters, 2)


def of_a_dict(k, call):
    names = {"a": 1, 2: 3}
    try:
        if call == "item":
            return names[k], "", (1,)
        if call == "pop":
            return names.pop(k), "", (1,)
        if call == "del":
            del names[k]
            return 0, "", (1,)
        return names.popitem()[1], "", (1,)
    except KeyError as error:
        return 0, str(error), error.args


def of_numbers_as_keys(k, call):
    numbers = {}
    for i in range(3):
        numbers[i * k] = i
    try:
        if call == "pop":
            numbers.pop(k + 70)
        elif call == "del":
            del numbers[k + 70]
        elif call == "static":
            {1: 2, 3: 4}[k + 70]
        else:
            numbers[k + 70]
        raise RuntimeError("there is no such key")
    except KeyError as error:
        return str(error), error.args


def of_empty_ones():
    seen = []
    try:
        {}.popitem()
    except KeyError as error:
        seen.append((str(error), error.args))
    try:
        {1, 2}.remove(3)
    except KeyError as error:
        seen.append((str(error), error.args))
    try:
        raise KeyError("it's", 1)
    except LookupError as error:
        seen.append((str(error), error.args))
    try:
        str(b"\xff", "utf8")
    except UnicodeDecodeError as error:
        seen.append((str(error), error.args))
    try:
        int("x")
    except ValueError as error:
        seen.append((str(error), error.args))
    return seen


@pytest.mark.rotated(3)
def test_keys_that_are_missing_are_the_arguments_of_the_error():
    for call in ("item", "pop", "del", "popitem"):
        for key in ("b", 5, "it's", 1.5, (1, "x"), None, b"z", "a"):
            check(of_a_dict, key, call)
    for call in ("item", "pop", "del", "static"):
        for key in (1, 2, np.int64(5), True):
            check(of_numbers_as_keys, key, call)
    check(of_empty_ones)


@pytest.mark.parametrize("mode", MODES)
def test_a_key_error_that_leaves_has_its_key(mode):
    def function(k, d):
        return d[k]

    for key in ("b", 5, (1, 2), 2.5):
        with pytest.raises(KeyError) as caught:
            jitted(function, mode)(key, {"a": 1, 7: 2.0})
        assert caught.value.args == (key,) and type(caught.value.args[0]) is type(key)
