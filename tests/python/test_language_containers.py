"""Rows of docs/language.md about containers: each program under Ingot against CPython, in its order."""

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, refused

X = np.arange(6.0)


def test_lists_change():
    def list_pop(x):
        l = [1, x, 3]
        a = l.pop()
        b = l.pop(0)
        return (a, b, l)

    check(list_pop, 2.5)

    def list_pop_empty(x):
        l = []
        return l.pop()

    check(list_pop_empty, 2.5)

    def list_pop_range(x):
        l = [1]
        return l.pop(3)

    check(list_pop_range, 2.5)

    def list_insert(x):
        l = [1, x]
        l.insert(0, x)
        l.insert(-1, 7)
        l.insert(100, 8)
        return l

    check(list_insert, 2.5)

    def list_extend(x):
        l = [1, x]
        l.extend((x, 2))
        l += [3]
        l += (4, 5)
        l.extend(range(3))
        return l

    check(list_extend, 2.5)

    def list_clear(x):
        l = [1, x]
        l.clear()
        l.append(x)
        return l

    check(list_clear, 2.5)

    def list_reverse(x):
        l = [1, x]
        l.reverse()
        return l

    check(list_reverse, 2.5)

    def list_sort(x):
        l = [3, 1, 2]
        l.sort()
        l.sort(reverse=True)
        return l

    check(list_sort, 2.5)

    def list_remove(x):
        l = [3, 1, 2]
        l.remove(1)
        return (l, l.index(2), l.count(3))

    check(list_remove, 2.5)

    def list_remove_missing(x):
        l = [3, 1, 2]
        l.remove(9)

    check(list_remove_missing, 2.5)

    def list_copy(x):
        l = [3, x]
        m = l.copy()
        m[0] = 1
        n = list(l)
        n[1] = 5
        return (l, m, n)

    check(list_copy, 2.5)

    def list_del(x):
        l = [3, x, 4, 5]
        del l[0]
        del l[-1]
        return l

    check(list_del, 2.5)

    def list_del_slice(x):
        l = [3, x, 4, 5]
        del l[1:3]
        return l

    check(list_del_slice, 2.5)

    def list_slice(x):
        l = [3, x, 4, 5]
        return (l[1:], l[::-1], (1, x, 3)[:2])

    check(list_slice, 2.5)

    def list_slice_store(x):
        l = [3, x, 4, 5]
        l[1:2] = [7, 8]
        return l

    check(list_slice_store, 2.5)

    def list_add_mul(x):
        l = [3, x]
        return (l + [1], l * 2, 2 * (1, x), [0] * 3)

    check(list_add_mul, 2.5)

    def list_eq(x):
        l = [3, x]
        return (l == [3, 2.5], l != [3], [1, x] < [1, 3])

    check(list_eq, 2.5)

    def nested_list(n):
        m = [[0.0] * 3 for _ in range(2)]
        m[1][2] = n
        return m

    check(nested_list, 2.5)

    def list_alias(x):
        a = [1, 2]
        b = a
        b.append(x)
        a += [7]
        return (a, b, a is b)

    check(list_alias, 1.5)

    def list_mult_alias(x):
        a = [[0]] * 2
        a[0].append(x)
        return a

    check(list_mult_alias, 1.5)

    def list_neg_insert(x):
        a = [1, 2, 3]
        a.insert(-5, x)
        a.insert(5, x)
        return a

    check(list_neg_insert, 1.5)

    def list_in_branch_same(x):
        a = [1, 2, 3]
        if x > 1:
            a.pop()
        else:
            a.pop(0)
        return a

    check(list_in_branch_same, 1.5)

    def list_reverse_branch(x):
        a = [1, 2, 3]
        if x > 1:
            a.reverse()
        return a

    check(list_reverse_branch, 1.5)

    def chained_del(x):
        a = [1, 2, 3]
        del a[0], a[0]
        b, c = (1, 2)
        del b, c
        return a

    check(chained_del, 1)

    def seq_compare(x):
        return ((1, x) < (1, 3), [x, 2] >= [x, 1], (1, 2) == (1, 2.0), [1] < [1, 2])

    check(seq_compare, 2.5)

    def sorted_strs(x):
        return (sorted(['b', 'a']), sorted((3, 1.5, 2), reverse=True), sorted({'z': 1, 'a': 2}))

    check(sorted_strs, 1)

    def sorted_err(x):
        return sorted(['b', 1])

    check(sorted_err, 1)


def test_dicts_change():
    def dict_ops(x):
        d = {'a': 1, 'b': x}
        d.update({'c': 3})
        d.update(e=5)
        a = d.pop('a')
        g = (d.get('b'), d.get('zz'), d.get('zz', 4))
        s = d.setdefault('q', x)
        del d['c']
        return (a, g, s, d)

    check(dict_ops, 2.5)

    def dict_pop_missing(x):
        d = {'a': 1}
        return (d.pop('b', 3), d.pop('c'))

    check(dict_pop_missing, 2.5)

    def dict_clear_copy(x):
        d = {'a': 1}
        e = d.copy()
        d.clear()
        return (d, e, dict(e), dict(a=x))

    check(dict_clear_copy, 2.5)

    def dict_items_loop(x):
        d = {'a': 1, 'b': x}
        s = 0.0
        for k, v in d.items():
            s += v
        return (s, list(d), list(d.items()), tuple(d.values()))

    check(dict_items_loop, 2.5)

    def dict_del_missing(x):
        d = {'a': 1}
        del d['b']

    check(dict_del_missing, 2.5)

    def dictcomp(x):
        return {k: v * x for k, v in zip('ab', (1, 2))}

    check(dictcomp, 2.5)

    def dict_order(x):
        d = {'a': 1, 1: 2}
        d[True] = 5
        d.pop('a')
        d['a'] = x
        return d

    check(dict_order, 1)

    def dict_get_staged_default(x):
        d = {'a': 1}
        return (d.get('b', x), d.get('a', x))

    check(dict_get_staged_default, 2.5)

    def popitem(x):
        d = {'a': 1, 'b': x}
        return (d.popitem(), d)

    check(popitem, 2.5)


def test_lists_and_dicts_of_the_caller_change():
    def arg_pop(l):
        a = l.pop()
        l[0] = a
        b = l.pop(0)
        l.insert(0, b)
        l.append(9)
        l.extend([1, 2])
        l += [5]
        l.reverse()
        del l[0]
        return (l, a, b)

    check(arg_pop, [1,2.5,3])

    def arg_clear(l):
        l.clear()
        l.append(3)
        l[0] = 4
        return len(l)

    check(arg_clear, [1,2.5,3])

    def arg_dict(d):
        a = d.pop('a')
        d['b'] = a + 1
        d.update(c=a)
        d.update({'b': 3})
        d.setdefault('q', [1])
        del d['c']
        return d

    check(arg_dict, {'a':1.5,'b':2})

    def arg_list_in_loop(l, n):
        for i in range(3):
            l.append(l.pop(0))
        return l

    check(arg_list_in_loop, [1,2,3,4],2)

    def argl_reverse_branch(a, x):
        if x > 1:
            a.reverse()
        a[0] = x
        return a[2]

    check(argl_reverse_branch, [1,2,3],1.5)

    def argl_rotate_loop(a, n):
        for i in range(n):
            a.append(a.pop(0))
        a[1] = 9
        return a[0]

    check(argl_rotate_loop, [1,2,3],4)

    def argd_del_add(d, x):
        del d['a']
        d['a'] = x
        d['b'] = x + 1
        d['c'] = 2 * x
        return list(d)

    check(argd_del_add, {'a':1,'b':2},1.5)

    def argd_branch_del(d, x):
        if x > 1:
            del d['a']
            d['z'] = 1
        return d

    check(argd_branch_del, {'a':1,'b':2},1.5)

    def argl_swap_elements(l):
        l[0], l[1] = (l[1], l[0])
        l.insert(1, l[0])
        l[2] = 7
        return l

    check(argl_swap_elements, [1,2.5])

    def argl_arrays(l):
        a = l.pop()
        a[0] = 5
        l.append(a)
        l[0] = a
        return a

    check(argl_arrays, [1,X])

    def argl_in_try(l, i):
        try:
            l.append(1)
            l.pop(7)
        except IndexError:
            l.append(2)
        return l

    check(argl_in_try, [1],3)

    def argl_same_twice(a, b):
        a.append(1)
        b.pop(0)
        return len(a)

    check(argl_same_twice, [1,2],[3])

    def argl_slice(a):
        a[1:] = [7, 8, 9]
        a[::2] = [0, 0]
        del a[-1:]
        return a[:2]

    check(argl_slice, [1,2])


def test_indices_that_are_not_known():
    def staged_list_index(l, n):
        s = 0.0
        for i in range(n):
            s += l[i]
        return s

    check(staged_list_index, [1.0,2.0,3.0,4.0],4)

    def staged_list_index_out(l, n):
        s = 0.0
        for i in range(n):
            s += l[i]
        return s

    check(staged_list_index_out, [1.0,2.0,3.0,4.0],7)

    def staged_list_index_while(l, n):
        s = 0.0
        i = 0
        while i < n:
            s += l[i]
            i += 1
        return s

    check(staged_list_index_while, [1.0,2.0,3.0,4.0],3)

    def staged_list_store(l, n):
        for i in range(n):
            l[i] = i * 2.0
        return l

    check(staged_list_store, [1.0,2.0,3.0,4.0],3)

    def staged_dict_key(d, x):
        s = 0.0
        for i in range(len(x)):
            s += d[i]
        return s

    check(staged_dict_key, {0:1.0,1:2.0},np.zeros(2))

    def staged_dict_nokey(d, x):
        s = 0.0
        for i in range(len(x)):
            s += d[i]
        return s

    check(staged_dict_nokey, {'a':1.0},np.zeros(2))


def test_indices_that_are_lists_and_bools():
    def x_true(x):
        return (x[True], x[False], x[np.True_])

    check(x_true, X)

    def x_bool_arg(x, b):
        return x[b]

    check(x_bool_arg, X,True)

    def x_bool_staged(x):
        return x[x[0] > 2]

    check(x_bool_staged, X)

    def x_true_3(x):
        return x[[True, False, True, False, False, True]]

    check(x_true_3, X)

    def x_1_2(x):
        return x[[1, 2]]

    check(x_1_2, X)

    def x_1_2_store(x):
        x[[1, 2]] = 5
        x[True] = x[True] + 1

    check(x_1_2_store, X)

    def x_true_store(x):
        x[False] = 3
        x[True] = 4

    check(x_true_store, X)

    def slice_in_loop(x):
        s = slice(1, 3)
        t = 0.0
        for i in range(3):
            t += x[s].sum()
        return t

    check(slice_in_loop, X)

    def index_lists(x):
        x[[0, 1]] = x[[2, 3]]
        return (x[[-1, 0]], x[[]], x[(1, 2),])

    check(index_lists, X)

    def index_2d(x):
        return (x[[0, 1], [1, 0]], x[[True, False]], x[:, [0]], x[0, [True, False, True]])

    check(index_2d, np.arange(6.0).reshape(2,3))

    def index_bool_pos(x):
        return (x[:, True], x[..., False], x[None, True], x[True, ..., None])

    check(index_bool_pos, np.arange(6.0).reshape(2,3))

    def index_bool_store(x, b):
        x[b] = 7
        x[:, True] += 1
        return x

    check(index_bool_store, np.arange(6.0).reshape(2,3),False)

    def index_bool_out(x):
        return x[[7]]

    check(index_bool_out, X)

    def index_float_list(x):
        return x[[1.5]]

    check(index_float_list, X)


def test_containers_that_are_refused():
    refused(lambda d: d.keys(), {"a": 1}, words="dict_keys")
    refused(lambda l: l.sort(), [3, 1.5, 2], words="sorting")

    def shrinks(l, n):
        for _ in range(n):
            l.pop()
        return l[0]

    refused(shrinks, [1, "two", 3], 2, words="grows or shrinks")

    refused(lambda x, b: x[b, 0], X, True, words="a bool among other indices")


def test_the_callers_objects_stay_the_same():
    inner, array = [1], np.arange(3.0)
    given = [inner, array, 2.5]

    def f(l):
        l.append(l.pop(0))
        l.insert(0, 7)
        del l[1:2]
        return l

    assert jitted(f)(given) is given
    assert given[0] == 7 and given[1] == 2.5 and given[2] is inner
    mapping = {"a": inner, "b": array}

    def g(d):
        d["c"] = d.pop("a")
        d["b"][0] = 9

    jitted(g)(mapping)
    assert list(mapping) == ["b", "c"] and mapping["c"] is inner and mapping["b"] is array and array[0] == 9


def found_in_tuple(n):
    t = (1, 2, n, 2.0)
    return t.count(2), t.count(n), t.index(n), (1, 2).index(2)


def not_in_tuple(n):
    return (1, 2).index(n)


def test_tuples_count_and_find():
    for n in (1, 7, 2.5, np.int8(2)):
        check(found_in_tuple, n)
        check(not_in_tuple, n)


def test_containers_take_what_may_be_none():
    def f(c):
        values, table = [1.5, 2.5], {}
        o = None
        if c:
            o = 2.5
        values[0] = o
        values.append(o)
        values.insert(0, o)
        table["a"] = o
        return values.count(o), table.setdefault("b", o), values

    for c in (0, 1):
        check(f, c)


def test_attributes_that_may_be_none_are_refused():
    class Point:
        def __init__(self):
            self.x = 1.0

    def f(c, point):
        o = None
        if c:
            o = 2.5
        point.x = o

    refused(f, 0, Point(), words="None on some paths")


def test_loops_see_what_they_change_in_a_list():
    def adds(values):
        for i, x in enumerate(values):
            values[1] += x
        return values

    def grows(values):
        seen = []
        for x in values:
            if len(values) < 6:
                values.append(x * 2)
            seen.append(x)
        return seen

    def shrinks(values):
        seen = [values.pop() for x in values]
        for x in values:
            values.pop()
        return seen

    def keys(table):
        for key in table:
            table[key] = table[key] + 1
        for key in table:
            table[key + 1] = 0

    check(adds, [0.1, 0.5, -0.0])
    check(adds, [1, 2.5, 3])
    check(grows, [1, 2.5, 3])
    check(shrinks, [1, 2.5, 3, 4, 5, 6])
    check(keys, {1: 2.0, 2: 3})
    check(keys, {})


def test_augmented_items_change_the_objects_themselves():
    def f(values):
        inner = [1]
        outer = [inner, 2.5, np.ones(2)]
        outer[0] += [2]
        outer[1] += 1
        outer[2] *= 3
        values[0] += [5]
        return inner, outer, values

    check(f, [[1, 2], 3])


def test_results_of_functions_and_elements_may_be_none():
    def f(n, a):
        o = None
        if n > 1:
            o = n
        values, table = [o], {"a": o}
        v = values[0]
        seen = values[0] is None, v is None, table["a"] is None, table.get("a") is None, (w := values[0]) is None
        return seen, v, w, (lambda: o)() is None

    def used(n, a):
        o = None
        if n > 1:
            o = n
        a[0] += (lambda: o)()
        return (lambda: o)() + 1

    for n in (1, 2):
        check(f, n, np.ones(2))
    check(used, 2, np.ones(2))
    for mode in MODES:
        with pytest.raises(TypeError):
            jitted(used, mode)(1, np.ones(2))


def test_containers_equal_themselves():
    """What a list or dict holds is itself, NaN too."""

    def lists(x):
        g = []
        for v in x:
            g.append(v * 1.0)
        return g == g, g != g

    def dicts(x):
        d = {}
        for i in range(len(x)):
            d[i] = x[i]
        return d == d, d != d

    for function in (lists, dicts):
        check(function, np.array([1.0, np.nan]))


@pytest.mark.parametrize("length", [0, 1, 3])
def test_arrays_put_into_containers_have_memory_of_their_own(length):
    def puts(x, numbers):
        numbers[1] += x

    def puts_two(x, numbers):
        numbers[0] = x + 1
        numbers[1] = x + 2

    check(puts, np.ones(length, np.int16), [0.0, 4])
    check(puts_two, np.ones(length, np.int16), [0.0, 4])
    given = [0, 0]
    ingot.jit(puts_two)(np.ones(length, np.int16), given)
    assert given[0] is not given[1]


def test_setdefault_gives_what_it_puts():
    def f(x):
        d = {}
        first = d.setdefault(x, 1.5)
        return first, len(d), d.setdefault(2.0, 3.5)

    for key in (1.0, 2.0, float("nan"), np.float16("nan")):
        check(f, key)


@pytest.mark.parametrize("value", [np.float64(1), np.int16(2), np.array([1.0, 2.0])], ids=repr)
def test_lists_become_arrays_where_operators_of_numpy_change_them(value):
    def changed(v):
        a = [3, 5]
        a -= v
        b = [3, 5]
        b /= v
        c = [3, 5]
        c **= v
        return a, b, c

    check(changed, value)


def test_lists_are_repeated_in_place():
    def repeated(x, n):
        known, grown, rows = [x, 2.5], [], [[1], [2]]
        same = known
        known *= 2
        for i in range(n):
            grown.append(i)
        grown *= n
        grown *= 0 if n > 5 else 2
        rows[0] *= 2
        many = [x]
        many *= n
        return known, same is known, grown, rows, many

    for n in (0, 1, 3, 6, -1):
        check(repeated, 1.5, n)

    def of_caller(values):
        values *= 2
        return values

    check(of_caller, [1, 2])

    def rows_of(n):
        rows = [[i] for i in range(n)]
        first = rows[0]
        first *= 2
        rows[1] *= 3
        return rows

    check(rows_of, 3)


def test_arrays_of_nested_comprehensions():
    def nested(n, m):
        return np.array([[1.5 * i + j for j in range(m)] for i in range(n)]), np.array([[i * j for j in range(m)] for i in range(n)], np.float32)

    def rows(a):
        return np.array([row * 2 for row in a]), np.array([(i, i * 2.0) for i in range(len(a))])

    def ragged(n):
        return np.array([[j for j in range(i)] for i in range(n)])

    check(nested, 3, 4)
    check(rows, np.arange(6.0).reshape(2, 3))
    check(ragged, 3)
