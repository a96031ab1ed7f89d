"""Rows of docs/language.md about statements and expressions: each program under Ingot against CPython, in its order."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import asserting
import ingot
from support import check, jitted, refused

ROOT = Path(__file__).resolve().parents[2]
X = np.arange(6.0)


def test_comprehensions():
    def listcomp(x):
        return [i * x for i in range(3)]

    check(listcomp, 2.5)

    def listcomp_if(x):
        return [i * x for i in range(5) if i % 2]

    check(listcomp_if, 2.5)

    def listcomp_nested(x):
        return [(i, j) for i in range(2) for j in (1, 2)]

    check(listcomp_nested, 2.5)

    def listcomp_scope(x):
        i = 7
        l = [i for i in range(3)]
        return (i, l)

    check(listcomp_scope, 2.5)

    def sum_gen(x):
        return sum((x[i] * 2 for i in range(len(x))))

    check(sum_gen, X)

    def sum_gen_if(x):
        return sum((v * v for v in x if v > 2))

    check(sum_gen_if, X)

    def max_gen(x):
        return (max((v * v for v in x)), min((abs(v - 2) for v in x)))

    check(max_gen, X)

    def any_gen(x):
        return (any((v > 3 for v in x)), all((v > 3 for v in x)))

    check(any_gen, X)

    def sum_list(x):
        return (sum([1, x, 2]), sum((1, 2), 3), sum(range(4)))

    check(sum_list, 2.5)

    def sum_array(x):
        return sum(x)

    check(sum_array, X)

    def max_array(x):
        return (max(x), min(x))

    check(max_array, X)

    def np_array_list(x):
        return np.array([1.0, x, 3])

    check(np_array_list, 2.5)

    def np_array_comp(x):
        return np.array([v * 2 for v in x])

    check(np_array_comp, X)

    def np_array_comp_range(x):
        return np.array([x[i] + i for i in range(len(x))])

    check(np_array_comp_range, X)

    def np_array_nested(x):
        return np.array([[1.0, x], [x, 2]])

    check(np_array_nested, 2.5)

    def comp_in_closure(x):

        def g(k):
            return [k * i + x for i in range(3)]

        return g(2)

    check(comp_in_closure, 1)

    def comp_shadow(x):
        i = 5
        s = sum((i for i in range(4)))
        t = [i for i in (1, 2)]
        return (i, s, t)

    check(comp_shadow, 1)

    def comp_walrus(x):
        l = [(y := (i * x)) for i in range(3)]
        return (l, y)

    check(comp_walrus, 2)

    def genexp_nested(x):
        return sum((i * j for i in range(3) for j in range(i)))

    check(genexp_nested, 2)

    def any_nested(x):
        return (any((i * j > x for i in range(3) for j in range(3))), all((i * j < x for i in range(3) for j in range(3))))

    check(any_nested, 3)

    def any_lazy_raises(x):
        return any((x[i] > 2 for i in range(20)))

    check(any_lazy_raises, X)

    def max_gen_empty(x):
        return max((v for v in x))

    check(max_gen_empty, np.zeros(0))

    def max_gen_nan(x):
        return (max((v for v in x)), min((v for v in x)))

    check(max_gen_nan, np.array([1.0, np.nan, 3.0]))

    def sum_ints(x):
        return sum((v for v in x))

    check(sum_ints, np.arange(3, dtype=np.int8))

    def sum_bool_gen(x):
        return sum((v > 2 for v in x))

    check(sum_bool_gen, X)

    def np_array_gen_ints(x):
        return np.array([i * i for i in range(len(x))])

    check(np_array_gen_ints, X)

    def np_array_gen_if(x):
        return np.array([v for v in x if v > 2])

    check(np_array_gen_if, X)

    def np_array_gen_int8(x):
        return np.array([v for v in x])

    check(np_array_gen_int8, np.arange(4, dtype=np.int8))

    def np_array_mix(x):
        return np.array([1, x, True])

    check(np_array_mix, 2.5)

    def np_array_f32_py(x):
        return np.array([x, 1.5])

    check(np_array_f32_py, np.float32(2))

    def np_array_ragged(x):
        return np.array([[1, 2], [3]])

    check(np_array_ragged, 2.5)

    def np_array_empty(x):
        return (np.array([]), np.array([[]]))

    check(np_array_empty, 2.5)

    def np_array_big(x):
        return np.array([2**63, 1])

    check(np_array_big, 2.5)

    def np_array_u64_i64(x, y):
        return np.array([x, y])

    check(np_array_u64_i64, np.uint64(3), np.int64(4))


def test_iterators():
    def iterates(l, d, a):
        out = []
        for x in reversed(l):
            l[0] = x
            out.append(x)
        for i, x in enumerate(reversed(l)):
            out.append((i, x))
        for k in reversed(d):
            out.append(k)
        for v in reversed(d.values()):
            d["a"] = v + 1
            out.append(v)
        for i, (k, v) in enumerate(d.items(), 3):
            out.append((i, k, v))
        for i, (x, y) in enumerate(zip(l, (1, 2, 3, 4))):
            out.append(i * x + y)
        pairs = zip(a[1:], a)
        s = 0.0
        for x, y in pairs:
            s += x * y
        back = reversed(a)
        for v in back:
            s = s * 2 + v
        for i, v in enumerate(zip(a, a[::-1])):
            s += i * v[0] + v[1]
        first, second = zip((1, 2), (3, 4))
        b, *c = reversed(l)
        return out, s, first, second, b, c, [x for x, y in zip(l, "abc")], list(reversed(range(3)))

    def taken(l):
        inside = 2 in reversed((1, 2)), sum(reversed(l)), max(enumerate((3, 1)))
        return inside, bool(zip()), list(zip()), dict(zip("ab", l)), list(enumerate("xy"))

    def shrinking(count):
        def shrinks(l):
            out = []
            for x in reversed(l):
                out.append(x)
                del l[-count:]
            return out

        return shrinks

    def grows(l):
        out = []
        for x in reversed(l):
            out.append(x)
            l.append(x)
        return out, l

    def handed_on(it):
        s = 0
        for a, b in it:
            s += a * b
        return s

    def in_iterations(n, c):
        s = 0
        for i in range(n):
            z = enumerate((1, 2))
            if c > i:
                for k, v in z:
                    s += k * v
        return s

    check(iterates, [3.0, 1, 2.5], {"a": 1.0, "b": 2}, np.arange(3.0))
    check(taken, [3.0, 1, 2.5])
    for n in range(5):
        check(shrinking(1), [1.0] * n)
        check(grows, [1.0, 2][:n])
    check(shrinking(2), [1.0, 2, 3, 4])
    check(in_iterations, 3, 2)
    check(lambda x: handed_on(zip((x, 2), (3, 4))) + handed_on(enumerate((x, x))), 2)
    for wrong in (lambda x: len(zip([x])), lambda x: len(reversed([x])), lambda x: reversed(zip([x])), lambda x: zip([x], k=2), lambda x: reversed([x])[0]):
        check(wrong, 1)

    def twice(x):
        z = zip((x, 2), (3, 4))
        return list(z), list(z)

    def beside_itself(x):
        z = zip((x, 2), (3, 4))
        return list(zip(z, z))

    def in_a_loop(n):
        z = zip((1, 2), (3, 4))
        s = 0
        for _ in range(n):
            for x, _ in z:
                s += x
        return s

    for function in (twice, beside_itself, in_a_loop):
        refused(function, 1, words="iterated over already")
    check(lambda x: list(zip((x,), (1, 2), strict=True)), 1)
    refused(lambda l, a: [x * y for x, y in zip(l, a)], [1.0, 2.0], np.arange(2.0), words="together with something of unknown length")

    def shrinks_beside(l):
        for _, _ in zip(reversed(l), (1, 2, 3)):
            l.pop()

    refused(shrinks_beside, [1.0, 2.0, 3.0], words="gets shorter while it is iterated over from the back together")
    refused(lambda x: [c for c in f"{x}"], 1.5, words="iterating over a text that is not known when compiling")


def test_complex_numbers():
    def made(x, y):
        z = complex(x)
        return z, complex(x, y), complex(real=x, imag=2), complex(x, imag=y), complex(z, y), complex(x, z), complex(z, z)

    def known():
        return complex(), complex("1+2j"), complex(3), complex(imag=2), complex(1j, 1j)

    def parts(z):
        return complex(z), complex(z.real, -z.imag), complex(z, z)

    for x, y in ((1, 2.5), (True, -0.0), (-0.0, np.inf), (np.float32(1.5), np.int8(3)), (np.nan, 0), (np.float16(2), np.bool_(True))):
        check(made, x, y)
    check(known)
    for z in (1 + 2j, np.complex64(-1 + 0.5j), np.complex128(complex(-0.0, np.inf)), 3.5):
        check(parts, z)
    check(lambda a: complex(a[0], a[1]), np.arange(3.0))
    for wrong in (lambda x: complex(x, "1"), lambda x: complex("1", x), lambda x: complex(None, x), lambda x: complex(x, 1, 2)):
        check(wrong, 1.5)
    check(lambda a: complex(a), np.arange(3.0))
    check(lambda a: complex(a), np.array(2.5))
    refused(lambda x: complex(f"{x}"), 1.5, words="complex() of a")


def test_try():
    def try_basic(x, i):
        try:
            return x[i]
        except IndexError:
            return -1.0

    check(try_basic, X, 3)

    def try_raise(x):
        try:
            if x > 1:
                raise ValueError("bad")
            return 1
        except (ValueError, KeyError):
            return 2

    check(try_raise, 2.5)

    def try_else_finally(x):
        n = 0
        try:
            n += 1
            y = 1 / x
        except ZeroDivisionError:
            n += 10
        else:
            n += 100
        finally:
            n += 1000
        return n

    check(try_else_finally, 0.0)

    def try_finally_raise(x):
        try:
            x[100] = 1
        finally:
            x[0] = 9

    check(try_finally_raise, X)

    def try_reraise(x):
        try:
            return x[100]
        except IndexError:
            x[0] = 5
            raise

    check(try_reraise, X)

    def try_raise_other(x):
        try:
            return x[100]
        except IndexError as e:
            raise ValueError("other") from e

    check(try_raise_other, X)

    def try_loop(x):
        c = 0
        for i in range(10):
            try:
                x[i] += 1
            except IndexError:
                c += 1
                continue
        return c

    check(try_loop, X)

    def try_exception_base(x):
        try:
            return 1 // x
        except Exception:
            return 0

    check(try_exception_base, 0)

    def try_arith_base(x):
        try:
            return 1 // x
        except ArithmeticError:
            return 0

    check(try_arith_base, 0)

    def try_bare(x):
        try:
            return 1 // x
        except:
            return 0

    check(try_bare, 0)

    def g(x):
        if x < 0:
            raise ValueError("neg")
        return math.sqrt(x)

    def try_nested_fn(x):
        try:
            return g(x)
        except ValueError:
            return 0.0

    check(try_nested_fn, -1.0)

    def try_keyerror_static(x):
        d = {"a": 1}
        try:
            return d["b"]
        except KeyError as e:
            return 5

    check(try_keyerror_static, -1.0)

    class E(Exception):
        pass

    def try_custom_exc(x):
        try:
            if x > 0:
                raise E("a")
        except E:
            return 1
        return 2

    check(try_custom_exc, 1.0)

    def fin_return_override(x):
        try:
            return 1
        finally:
            return 2

    check(fin_return_override, 1)

    def fin_return_value(x):
        n = 1
        try:
            return n
        finally:
            n = 5
            x[0] = n

    check(fin_return_value, X)

    def fin_break(x):
        s = 0
        for i in range(6):
            try:
                if i == 3:
                    break
                if i == 1:
                    continue
                s += i
            finally:
                s += 100
                x[i] = s
        return s

    check(fin_break, X)

    def fin_while(x):
        i = 0
        while True:
            try:
                x[i] = 1
                i += 1
            except IndexError:
                break
            finally:
                x[0] += 2
        return i

    check(fin_while, X)

    def doubled(x, i):
        k = i * 2
        return x[k]

    def exc_in_callee(x):
        k = 0
        for i in range(6):
            try:
                k += 1
                v = doubled(x, i)
            except IndexError:
                k += 100
        return k

    check(exc_in_callee, X)

    def with_finally(x, i):
        try:
            return x[i]
        finally:
            x[0] += 1

    def exc_in_callee2(x):
        n = 0
        try:
            n = 1
            with_finally(x, 2)
            n = 2
            with_finally(x, 9)
            n = 3
        except IndexError as e:
            print(e, n)
        return n

    check(exc_in_callee2, X)

    def exc_in_handler(x, i):
        try:
            try:
                x[i] = 1
            except IndexError:
                x[0] = 3
                x[i + 1] = 2
        except IndexError as e:
            print("outer", e)
        return x

    check(exc_in_handler, X, 9)

    def exc_else_raises(x, i):
        try:
            try:
                a = 1
            except IndexError:
                a = 2
            else:
                x[i] = 2
        except IndexError:
            a = 7
        return a

    check(exc_else_raises, X, 9)

    def reraise_in_loop(x):
        for i in range(10):
            try:
                x[i] += 1
            except IndexError:
                x[0] = -1
                raise

    check(reraise_in_loop, X)

    def e_unbound_after(a):
        e = 1
        try:
            math.sqrt(a)
        except ValueError as e:
            pass
        return e

    check(e_unbound_after, -1.0)

    def readonly_catch(a):
        try:
            a.T[0] = "x"
        except (TypeError, ValueError):
            return 1

    check(readonly_catch, np.ones(3))

    def type_error_catch(a):
        try:
            return a + None
        except TypeError as e:
            return str(e)

    check(type_error_catch, 1)

    def name_error_catch(a):
        try:
            return undefined_thing
        except NameError as e:
            return str(e)

    check(name_error_catch, 1)

    def unbound_catch(a):
        try:
            if a > 5:
                y = 1
            return y
        except UnboundLocalError:
            return 0

    check(unbound_catch, 1)

    def try_many(x, y):
        n = 0
        for i in range(8):
            try:
                a = x[i]
                b = y[i]
                n += int(a / b)
            except IndexError:
                n += 1000
            except (ZeroDivisionError, OverflowError, ValueError) as e:
                n += 1
            else:
                n += 10
            finally:
                n += 1
        return n

    check(try_many, X, np.array([1.0, 0, 2, 4]))

    def int_overflow_not_caught(n):
        try:
            return n * n // n
        except ValueError:
            return -1

    check(int_overflow_not_caught, 2**31)


def test_raise():
    class E(ValueError):
        pass

    def custom_exc_out(x):
        if x > 0:
            raise E("a")

    check(custom_exc_out, 1.0)

    def raise_fstring(x, n):
        if n > 3:
            raise ValueError(f"n is {n}, x is {x:.2f}")
        return x

    check(raise_fstring, 2.5, 5)

    def raise_two_args(x, n):
        raise ValueError("a", n)

    check(raise_two_args, 2.5, 5)

    def raise_instance(x, n):
        e = ValueError("a")
        raise e

    check(raise_instance, 2.5, 5)

    def raise_uncaught_kind(x):
        try:
            raise KeyError("a")
        except ValueError:
            return 1

    check(raise_uncaught_kind, X)

    def raise_class(x):
        try:
            raise ValueError
        except ValueError as e:
            return (str(e), e.args)

    check(raise_class, X)

    def raise_number_arg(x):
        raise ValueError(5)

    check(raise_number_arg, X)

    def raise_staged_arg(x, n):
        raise ValueError(n)

    check(raise_staged_arg, X, 5)

    def raise_keyerror_staged(x, n):
        raise KeyError(n)

    check(raise_keyerror_staged, X, 5)

    def raise_oserror(x, n):
        raise OSError("a")

    check(raise_oserror, X, 5)


def test_asserts():
    check(asserting.text, 2.5, 5)
    check(asserting.text, 2.5, 9)
    check(asserting.total, X)
    check(asserting.pair, 5)
    check(asserting.bare, 1)
    check(asserting.bare, -1)

    def rewritten(x):
        assert x < 0
        return x

    # pytest gives its own words to the asserts of this file.
    check(rewritten, -1)
    with pytest.raises(AssertionError):
        jitted(rewritten)(1)


def test_errstate_is_a_context():
    def silent(x):
        with np.errstate(all="ignore"):
            y = x / 0.0
        return y

    check(silent, X)


def test_what_a_try_does_not_take_is_refused():
    def around(x, y):
        try:
            for i in ingot.prange(len(x)):
                x[i] = y[i]
        except IndexError:
            return 1

    refused(around, X, np.ones(2), words="leaves a prange loop")

    def manager(x):
        with np.errstate(divide="raise"):
            return 1 / x

    refused(manager, X, words="context manager")

    def clashing(x, i):
        try:
            return x[i]
        except IndexError as e:
            return str(e)

    refused(clashing, X, 2, words="on one path and")


OTHERS = """
    test_vectorize.py test_math_lanes.py test_guvectorize.py test_arguments_like_arrays.py test_numba_spellings.py test_c_functions.py
    test_prange.py test_prange_indices.py test_prange_programs.py test_prange_reductions.py test_scipy.py test_large_containers.py
    test_stencil.py test_jitclass.py
""".split()


def test_every_row_of_the_table_has_its_test():
    others = [Path(__file__).with_name(name) for name in OTHERS]
    files = [*Path(__file__).parent.glob("test_language*.py"), *others]
    tests = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), flags=re.M)}
    lines = [line for line in (ROOT / "docs" / "language.md").read_text().splitlines() if re.match(r"\| (?!-)", line)]
    rows = re.findall(r"\| `(test_\w+)` \|$", "\n".join(lines), flags=re.M)
    assert len(rows) > 100 and len(set(rows)) == len(rows) and set(rows) <= tests


def test_numbers_are_no_strings():
    check(lambda n, x: (n == "a", "a" != x, n != "", x == "1", n in ("a", "b")), 1, np.float32(2))
    check(lambda n: n < "a", 1)
