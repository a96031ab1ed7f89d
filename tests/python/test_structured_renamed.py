"""Fields that NumPy renames in place, and records whose memory is shared while they are assigned, against CPython and NumPy."""

import os
import subprocess
import sys

import ingot
import numpy as np
import pytest
from support import check, refused

PAIR = [("x", "i8"), ("y", "i8")]
WORD = np.dtype({"names": ["word", "low"], "formats": ["u4", "u2"], "offsets": [0, 0]})
LOW = np.dtype({"names": ["low", "word"], "formats": ["u2", "u4"], "offsets": [0, 0]})


def pairs(dtype=PAIR):
    return np.array([(1, 2), (3, 4)], dtype)


def nested(names="pq"):
    return np.array([((1, 2),), ((3, 4),)], [("at", [(name, "i8") for name in names])])


def both(function, *makers):
    """The results of a function and of what is compiled of it, each of arguments of its own."""
    return function(*[make() for make in makers]), ingot.jit(function)(*[make() for make in makers])


# ---- Renamed fields


def test_an_array_whose_fields_are_renamed_is_another():
    compiled = ingot.jit(lambda a: int(a["x"].sum()))
    a = pairs()
    assert [compiled(a), compiled(a)] == [4, 4]
    a.dtype.names = ("y", "x")
    assert [compiled(a), compiled(a)] == [6, 6]
    assert compiled(pairs([("y", "i8"), ("x", "i8")])) == 6
    assert [compiled(pairs()), compiled(pairs())] == [4, 4]


def test_records_inside_records_are_renamed():
    compiled = ingot.jit(lambda a: int(a["at"]["p"].sum()))
    a = nested()
    assert [compiled(a), compiled(a)] == [4, 4]
    a.dtype["at"].names = ("q", "p")
    assert [compiled(a), compiled(a)] == [6, 6]
    assert [compiled(nested()), compiled(nested("qp"))] == [4, 6]


def test_a_record_is_renamed():
    compiled = ingot.jit(lambda r: int(r["x"]))
    r = pairs()[0]
    assert [compiled(r), compiled(r)] == [1, 1]
    r.dtype.names = ("y", "x")
    assert [compiled(r), compiled(pairs()[0])] == [2, 1]


PROGRAM = """
import sys
import ingot, numpy as np

@ingot.jit
def first(a):
    return int(a["x"][0]), np.zeros_like(a).dtype.names

KEPT = np.dtype([("x", "i8"), ("y", "i8")])

@ingot.jit
def names():
    return KEPT.names, np.zeros(1, KEPT)

a = np.array([(1, 2)], [("x", "i8"), ("y", "i8")])
if sys.argv[1] == "renames":
    first(a), names()
    a.dtype.names = KEPT.names = ("y", "x")
print(first(a), names()[0], names()[1].dtype.names)
"""


@pytest.mark.rotated(3)
def test_what_is_stored_is_of_the_old_names(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path / "cache")}
    shown = []
    for what in ("renames", "reads", "renames"):
        done = subprocess.run([sys.executable, file, what], env=environment, capture_output=True, text=True, timeout=60)
        shown.append(done.stdout.strip() or done.stderr)
    old, new = "(1, ('x', 'y')) ('x', 'y') ('x', 'y')", "(2, ('y', 'x')) ('y', 'x') ('y', 'x')"
    assert shown == [new, old, new]


KEPT = nested()
KEPT_DTYPE = np.dtype(PAIR)
KEPT_TUPLE = (np.dtype(PAIR), 1)


def test_what_is_captured_is_renamed():
    of_array = ingot.jit(lambda: int(KEPT["at"]["p"].sum()))
    of_dtype = ingot.jit(lambda: KEPT_DTYPE.names)
    of_tuple = ingot.jit(lambda: KEPT_TUPLE[0].names)
    for _ in range(2):
        assert (of_array(), of_dtype(), of_tuple()) == (4, ("x", "y"), ("x", "y"))
    KEPT.dtype["at"].names = KEPT_DTYPE.names = KEPT_TUPLE[0].names = ("q", "p")
    for _ in range(2):
        assert (of_array(), of_dtype(), of_tuple()) == (6, ("q", "p"), ("q", "p"))
    assert len(of_dtype.specialisations) == 2


def test_a_dtype_that_is_an_argument_is_renamed():
    compiled = ingot.jit(lambda d: d.names)
    d = np.dtype(PAIR)
    assert [compiled(d), compiled(d)] == [("x", "y")] * 2
    d.names = ("p", "q")
    assert [compiled(d), compiled(d), compiled(np.dtype(PAIR))] == [("p", "q"), ("p", "q"), ("x", "y")]
    assert len(compiled.specialisations) == 2


def test_results_are_of_their_arguments_dtypes():
    for function in (lambda a: a[:1].copy(), np.zeros_like, lambda a: a[::-1], lambda a: a[0], lambda a: a.copy()):
        compiled = ingot.jit(lambda a, function=function: function(a))
        first, second, third = pairs(), pairs(), pairs()
        compiled(first)
        result = compiled(second)
        assert result.dtype is second.dtype
        result.dtype.names = ("p", "q")
        assert (first.dtype.names, second.dtype.names) == (("x", "y"), ("p", "q"))
        assert compiled(third).dtype.names == compiled(first).dtype.names == ("x", "y")
    compiled = ingot.jit(lambda a: a.dtype)
    for a in (pairs(), pairs()):
        assert compiled(a) is a.dtype


def test_results_of_dtypes_of_their_own_share_none():
    compiled = ingot.jit(lambda n: np.zeros(n, np.dtype([("x", "i8"), ("at", [("p", "f8")], (2,))])))
    first, second = compiled(2), compiled(2)
    first.dtype.names = ("u", "v")
    first.dtype["v"].base.names = ("w",)
    assert second.dtype == compiled(2).dtype == np.dtype([("x", "i8"), ("at", [("p", "f8")], (2,))])


def test_titles_offsets_and_alignment_stay():
    dtype = np.dtype([(("a title", "x"), "i1"), ("at", [("p", "f8")], (2,))], align=True)
    check(lambda a: (a[::2].copy(), np.ones(2, a.dtype), a["at"].copy()), np.zeros(4, dtype))
    result = ingot.jit(lambda a: np.ones(2, a["at"].dtype))(np.zeros(4, dtype))
    assert result.dtype == dtype["at"].base


# ---- Memory that is shared


def reverse(a):
    a[:] = a[::-1]
    return a


def shift(a):
    a[1:] = a[:-1]
    return a


def shift_by_places(a):
    a[np.array([1, 2, 3])] = a[:-1]
    return a


def shift_one(a):
    for i in range(1, len(a)):
        a[i] = a[i - 1]
    return a


@pytest.mark.parametrize("dtype", [WORD, LOW])
@pytest.mark.parametrize("function", [reverse, shift, shift_by_places, shift_one])
def test_records_whose_fields_share_bytes_are_assigned(function, dtype):
    a = np.zeros(4, dtype)
    a["word"] = [70001, 2, 300003, 4]
    check(function, a)


def test_records_shifted_by_a_field_are_assigned():
    def assign(a, b):
        a[:] = b

    for function in (assign, lambda a, b: assign(a[0], b[0]) or assign(a[1:], b[1:])):
        results = []
        for f in (assign, ingot.jit(assign)):
            memory = np.arange(6)
            f(memory[1:5].view(PAIR), memory[:4].view(PAIR))
            results.append(memory.tolist())
        assert results[0] == results[1]


def test_a_record_of_its_own_memory_is_assigned():
    def assign(a, b):
        a[0] = b[0]

    results = []
    for f in (assign, ingot.jit(assign)):
        memory = np.arange(6)
        f(memory[1:5].view(PAIR), memory[:4].view(PAIR))
        results.append(memory.tolist())
    assert results[0] == results[1]


# ---- Objects


def test_an_array_without_axes_and_its_record_are_two_objects():
    for function in (lambda a: (a[()], a), lambda a: (a, a[()]), lambda a: (a[()], a[()])):
        expected, actual = both(function, lambda: np.array((1, 2), PAIR))
        assert [type(x) for x in expected] == [type(x) for x in actual]
        assert actual[0] is not actual[1]


def test_records_that_may_be_one_object_are_not_distinguished():
    r = pairs()[0]
    refused(lambda r, q: r is q, r, r, words="`is` between records")
    assert ingot.jit(lambda r: r is r)(r) is True


def test_derivatives_and_mapped_functions_take_no_records():
    a = np.array([(1.0, 2.0)], [("x", "f8"), ("y", "f8")])
    for call in (
        lambda: ingot.grad(lambda a: (a["x"] * a["y"]).sum())(a),
        lambda: ingot.jacrev(lambda a: a["x"])(a),
        lambda: ingot.vmap(lambda r: r["x"] * 2)(a),
        lambda: ingot.vmap(lambda i: a[[i, i]], out_axes=1)(np.arange(1)),
        lambda: ingot.value_and_grad(lambda a: a["x"].sum())(a),
    ):
        with pytest.raises((TypeError, ingot.UnsupportedError)):
            call()


# ---- Indices and names


def test_arrays_that_may_be_one_object_are_not_distinguished():
    refused(lambda a, b: a is b, pairs(), pairs(), words="`is` between records")
    d = np.dtype(PAIR)
    refused(lambda a, d: a.dtype is d, pairs(d), d, words="`is` between dtypes")


def take_nothing(a):
    return a[[]]


def put_nothing(a):
    a[[]] = a[0]
    return a


def test_an_empty_list_is_an_index():
    check(take_nothing, pairs())
    check(put_nothing, pairs())


def delete(a):
    del a[0]


def test_elements_are_not_deleted():
    for a in (pairs(), np.arange(3), pairs()[0]):
        for f in (delete, ingot.jit(delete)):
            with pytest.raises(ValueError, match="cannot delete (array elements|scalar field)"):
                f(a)


def test_names_that_are_no_utf8_are_refused():
    a = np.ones(1, [("\ud800", "f8"), ("y", "f8")])
    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(lambda a: a["y"])(a)


@pytest.mark.parametrize("title", ["other", None])
def test_fields_of_other_titles_are_not_compared(title):
    a = np.ones(1, [(("title", "x"), "i4")])
    b = np.ones(1, [((title, "x") if title else "x", "i4")])
    check(lambda a, b: a == b, a, b)
    check(lambda a, b: a == b, a, a.copy())


def test_astype_keeps_the_class():
    other = np.dtype([("x", "f8"), ("y", "f4")])
    a = np.zeros((2, 3), PAIR)
    a["x"] = np.arange(6).reshape(2, 3)
    for x in (a, a[:, ::-1], a.view(np.recarray)):
        expected, actual = both(lambda a: a.astype(other), lambda x=x: x)
        assert (type(expected), expected.dtype) == (type(actual), actual.dtype)
        assert expected.tolist() == actual.tolist()


def test_records_inside_arrays_inside_records_are_items():
    expected, actual = both(lambda a: a[0].item(), lambda: np.zeros(1, [("m", [("e", "i2")], (2,)), ("k", "i4")]))
    assert repr(expected) == repr(actual)


def take_one_field(a):
    a["x"] = a[["y"]]
    return a


def test_records_of_one_field_are_numbers():
    check(take_one_field, pairs())
    check(lambda a: a.astype("f8"), np.ones(2, [("x", "i4")]))


def test_shapes_in_messages_are_those_of_records():
    a, b = pairs(), np.zeros((2, 3), PAIR)
    check(lambda a: np.broadcast_to(a, (2, 5)), a)
    check(lambda a, b: np.concatenate([a, b]), a, b)
    check(lambda a, b: np.concatenate([b, b[:, :2]]), a, b)
    check(lambda a, c: np.where(c, a, a), a, np.ones(3, bool))
    check(lambda a, c: np.where(c, a, a), a, np.array([True, False]))


def write_no_field(r):
    r["nope"] = 3


def write_no_place(r):
    r[9] = 3


def test_read_only_records_report_first_that_there_is_no_such_field():
    a = pairs()
    a.flags.writeable = False
    for function in (write_no_field, write_no_place):
        errors = []
        for f in (function, ingot.jit(function)):
            with pytest.raises(Exception) as caught:
                f(a[0])
            errors.append((caught.type, str(caught.value).splitlines()[0]))
        assert errors[0] == errors[1]
