"""Structured dtypes: arrays of records, recarrays and single records under Ingot against CPython and NumPy."""

import re

import numpy as np
import pytest

import ingot
from support import check, jitted, refused, with_each

TIMES = np.dtype([("start", "d"), ("stop", "d"), ("first", "l"), ("last", "l")])
MIXED = np.dtype([("x", "f8"), ("n", "i4"), ("q", "f4", (2,)), ("flag", "?"), ("z", "c16")], align=True)
PACKED = np.dtype([(name, MIXED[name]) for name in MIXED.names])
ALIGNED = np.dtype([("flag", "u1"), ("x", "f8"), ("n", "i2"), ("m", "i8")], align=True)
NESTED = np.dtype([("id", "u2"), ("at", [("x", "f8"), ("y", "f8")]), ("w", "i4"), ("more", [("k", "i8")], (2,))], align=True)


def records(dtype, count=5, seed=1):
    """Records with numbers in all fields."""
    array = np.zeros(count, dtype)
    rng = np.random.default_rng(seed)

    def fill(part):
        for name in part.dtype.names:
            field = part[name]
            if field.dtype.names:
                fill(field)
            else:
                field[...] = rng.integers(0, 100, field.shape).astype(field.dtype)

    fill(array)
    return array


def intervals(*pairs, code="l"):
    dtype = np.dtype([("start", "d"), ("stop", "d"), ("first", code), ("last", code)])
    array = np.zeros(len(pairs), dtype)
    for k, (first, last) in enumerate(pairs):
        array[k] = (first / 10, last / 10, first, last)
    return array


# ---- Fields


def test_fields_are_views():
    def f(a):
        x = a["x"]
        x[1] += 1.5
        return x, a["n"].sum(), a["x"] * 2

    def g(a):
        return a["x"][2], a[2]["x"], a[-1]["n"], a[1:]["x"], a["x"][1:], a[::2]["n"], a[::-1]["x"]

    for array in (records(MIXED), records(MIXED, 9)[::2], records(MIXED)[::-1], records(MIXED, 0)[:0]):
        with_each((lambda a: (a["x"], a["n"]), lambda a: a["flag"], lambda a: a["z"].real), array)
    with_each((f, g), records(MIXED))


def test_arrays_in_records():
    with_each(
        (
            lambda a: a["q"],
            lambda a: a[1]["q"],
            lambda a: a["q"][1],
            lambda a: a["q"][1, 0],
            lambda a: a[2]["q"][1],
            lambda a: a["q"].shape,
            lambda a: a[1:3]["q"][:, 1],
            lambda a: a["q"].sum(0),
        ),
        records(MIXED),
    )


def test_records_in_records():
    with_each(
        (
            lambda a: a["at"]["x"],
            lambda a: a[1]["at"]["y"],
            lambda a: a["at"][1]["y"],
            lambda a: a["more"]["k"],
            lambda a: a[3]["more"]["k"],
            lambda a: a[3]["more"][1]["k"],
            lambda a: a["more"][2, 0]["k"],
            lambda a: a["at"].dtype.names,
        ),
        records(NESTED),
    )


@pytest.mark.parametrize("code", "lq")
def test_both_codes_of_int64(code):
    def f(data, views):
        for v in range(len(views)):
            data[views[v]["first"] : views[v]["last"]] *= 2.0

    check(f, np.arange(20.0), intervals((1, 4), (2, 9), (7, 3), (5, 5), (15, 20), code=code))


def test_padding_and_its_absence():
    with_each((lambda a: (a["x"], a["n"], a["m"]), lambda a: a[2]["m"], lambda a: a.itemsize, lambda a: a.strides), records(ALIGNED))


def test_attributes():
    with_each(
        (
            lambda a: (a.shape, a.ndim, a.size, a.itemsize, a.nbytes, a.strides, len(a)),
            lambda a: a.dtype.names,
            lambda a: (a.dtype["x"], a.dtype.itemsize, len(a.dtype)),
            lambda a: (isinstance(a, np.ndarray), type(a[0]), isinstance(a[0], np.void)),
            lambda a: (a[0].shape, a[0].ndim, len(a[0]), a[0].dtype, a[0].itemsize),
            lambda a: a.dtype == a[0].dtype,
        ),
        records(MIXED),
    )
    assert jitted(lambda a: a.dtype)(records(MIXED)) == MIXED


def test_packed_records():
    """Their fields are not aligned."""
    assert not PACKED.isalignedstruct and PACKED.itemsize < MIXED.itemsize

    def f(a, b):
        a["z"] += 1j
        a["x"][1:] = b["x"][:-1] * 2
        a[1] = (1.5, 2, (3, 4), True, 5j)
        a[2:] = b[:-2]
        for v in a:
            v["n"] = v["q"][1]
        return a["z"].sum(), a[b["n"] > 50], a == b

    check(f, records(PACKED), records(PACKED, 5, 2))
    check(f, records(PACKED, 11)[1::2], records(PACKED, 5, 2)[::-1])


def test_odd_dtypes():
    """Fields without elements, with titles, over each other, with gaps, of one byte, of other names; very many."""
    with_each((lambda a: (a["e"], a["x"], a == a), lambda a: a.copy()), records([("e", "f8", (0,)), ("x", "f8")]))
    check(lambda a: (a["title"], a["x"], a[0]["title"]), records([(("title", "x"), "f8"), ("n", "i8")]))

    def over_each_other(a):
        a["x"][0] = 7.0
        i = a["i"][0]
        a["low"] = 5
        for v in a:
            v["x"] = v["x"] * 2
        return i, a["i"], a["x"], a.copy()

    check(over_each_other, records({"names": ["x", "i", "low"], "formats": ["f8", "i8", "i4"], "offsets": [0, 0, 4]}))
    gaps = records({"names": ["x", "n"], "formats": ["f8", "i2"], "offsets": [8, 24], "itemsize": 40})
    check(lambda a: (a["x"], a["n"], a[::2], a.copy(), a.itemsize, a.strides), gaps)
    check(lambda a: (a["x"], a.copy(), a[::2], a[[0, 1]], a.reshape(2, 2).T.copy()), records([("x", "?")], 4))
    check(lambda a: (a["h"] * 2, a["c"], a["b"], a[1]["h"], a[0]["c"]), records([("c", "c8"), ("h", "f2"), ("b", "?"), ("u", "u1")]))
    check(lambda a: (a["é ü"], a["{x}"], a["{y}"]), records([("é ü", "f8"), ("{x}", "f8")]))
    check(lambda a: a["f7"] + a["f99"], records([(f"f{k}", "f8") for k in range(120)]))
    check(lambda a: a["x"].sum(), np.zeros((1,) * 15, [("x", "f8")]))


def test_arrays_of_records_without_axes():
    def written(a):
        a["first"] = 3
        a[()] = (4.0, 5.0, 6, 7)
        a[...] = a["last"]
        return a["stop"]

    with_each((written, lambda a: (a["last"], a[()], a[()]["start"], a[...], a.shape, a.copy()), lambda a: len(a)), records(TIMES, 1).reshape(()))


# ---- Iterates


def test_iterates():
    def views(a):
        total = np.float64(0)
        for view in a:
            first, last = view["first"], view["last"]
            total += view["start"] * (last - first)
        return total

    def zipped(a):
        total = np.int64(0)
        for first, last in zip(a["first"], a["last"]):
            total += last - first
        return total

    def counted(a):
        total = np.int64(0)
        for k, view in enumerate(a):
            total += k * view["last"]
        return total

    def unpacked(a):
        total = np.float64(0)
        for start, stop, first, last in a:
            total += (stop - start) * (last - first)
        return total

    def pairs(a, b):
        total = np.int64(0)
        for x, y in zip(a, b):
            total += x["first"] * y["last"]
        return total

    def changed(a):
        for view in a:
            view["first"] = view["last"]
            view["start"] += 1.0

    for array in (records(TIMES), records(TIMES, 0), records(TIMES, 1), records(TIMES, 9)[::3]):
        with_each((views, zipped, counted, unpacked, changed), array)
        check(pairs, array, records(TIMES, 3))


def test_iterates_of_records():
    with_each(
        (
            lambda a: list(a[1]),
            lambda a: tuple(a[1]),
            lambda a: [v for v in a[1]][0],
            lambda a: (a[2][0], a[2][-1], a[2][1]),
            lambda a: len(a[1]),
            lambda a: [x["first"] for x in a],
            lambda a: [x["first"] for x in reversed(a)],
        ),
        records(TIMES),
    )


# ---- Recarrays


def test_recarrays():
    def f(r):
        total = 0
        for v in range(len(r)):
            total += r.last[v] - r[v].first
        return total

    def g(r):
        for view in r:
            view.first = view.last + 1
        return r.first

    array = records(TIMES).view(np.recarray)
    with_each(
        (
            f,
            g,
            lambda r: r.start,
            lambda r: r["start"],
            lambda r: (r[1:].stop, r[1].stop, type(r[1]), type(r), type(r["stop"])),
            lambda r: r.shape,
            lambda r: r,
            lambda r: r[1:],
            lambda r: r.nothing,
            lambda r: r[0].nothing,
        ),
        array,
    )
    with_each((lambda r: r.at.x, lambda r: r[1].at.x, lambda r: r.at[1].y, lambda r: type(r.at), lambda r: r[2].more), records(NESTED).view(np.recarray))


# ---- Indices


def test_indices_of_records():
    grid = records(TIMES, 12).reshape(3, 4)
    with_each(
        (
            lambda a: a[1, 2]["first"],
            lambda a: a[1]["first"],
            lambda a: a[:, 1]["first"],
            lambda a: a[..., 1]["last"],
            lambda a: a[1:, ::2]["last"],
            lambda a: a[None]["last"],
            lambda a: a.T["last"],
            lambda a: a.T[1]["first"],
            lambda a: a[1][2]["first"],
            lambda a: a[3],
            lambda a: a[1, 4],
            lambda a: a[1, 2, 3],
            lambda a: a[1, 2, ...]["first"],
            lambda a: a[1.5],
            lambda a: a["first", 0],
            lambda a: a[np.array(1)]["first"],
            lambda a: a[np.int8(2), 1]["stop"],
        ),
        grid,
    )


def test_indices_with_arrays():
    with_each(
        (
            lambda a, i, m: a[i]["first"],
            lambda a, i, m: a[m]["first"],
            lambda a, i, m: a[i],
            lambda a, i, m: a[m],
            lambda a, i, m: a[[0, 2]],
            lambda a, i, m: a[i, i],
            lambda a, i, m: a[i + 10],
            lambda a, i, m: a[m[:2]],
            lambda a, i, m: a[i][1]["last"],
            lambda a, i, m: a[a["first"] > 50]["last"],
        ),
        records(TIMES),
        np.array([3, 0, -1]),
        np.array([True, False, True, True, False]),
    )


def test_several_fields():
    with_each(
        (
            lambda a: a[["x", "n"]],
            lambda a: a[["n", "x"]]["x"],
            lambda a: a[1][["n", "flag"]],
            lambda a: a[["x", "n"]].dtype.names,
            lambda a: a[["x", "nothing"]],
        ),
        records(MIXED),
    )


def test_what_names_and_numbers_are_not_there():
    with_each(
        (
            lambda a: a["nothing"],
            lambda a: a[0]["nothing"],
            lambda a: a[0][7],
            lambda a: a[0][-7],
            lambda a: a.nothing,
            lambda a: a[0].nothing,
            lambda a: a[9]["x"],
            lambda a: a["x"]["y"],
        ),
        records(MIXED),
    )


# ---- How they come in


INTERVALS = intervals((1, 3), (4, 9))
RECORD = intervals((2, 5))[0]
RECORDS = intervals((3, 4), (5, 6)).view(np.recarray)


class Holder:
    def __init__(self, views):
        self.views = views

    def total(self):
        return (self.views["last"] - self.views["first"]).sum()


def test_globals_cells_and_attributes():
    inside = intervals((0, 7), (1, 2))

    def of_cell():
        return inside["last"][1], inside[0]["first"]

    with_each(
        (
            lambda: INTERVALS["first"],
            lambda: INTERVALS[1]["last"],
            lambda: (RECORD["first"], RECORD["last"]),
            lambda: RECORDS.last,
            of_cell,
        )
    )
    assert jitted(lambda h: h.total())(Holder(intervals((0, 4), (1, 9)))) == 12


def test_containers():
    a, b = intervals((1, 3), (4, 9)), intervals((2, 8))
    with_each((lambda p: p[0]["first"] + p[1]["last"][0], lambda p: (p[1], p[0][1]["last"])), [a, b])
    with_each((lambda p: p[0]["first"] + p[1]["last"][0], lambda p: p), (a, b))
    check(lambda d: d["a"]["first"] * 2, {"a": a})
    check(lambda p: [v["first"] for v in p], [a[0], b[0]])


def test_single_records():
    def f(v):
        v["first"] += 1
        return v["start"], v["last"], v

    check(f, intervals((2, 5))[0])
    check(lambda a, v: (a["first"], v["first"], v), *(lambda a: (a, a[1]))(intervals((2, 5), (3, 4))))

    def shared(a, v):
        v["first"] = 77
        return a["first"].sum()

    array = intervals((2, 5), (3, 4))
    check(shared, array, array[1])
    check(shared, array, array.view(np.recarray)[0])


def test_what_leaves():
    with_each(
        (
            lambda a: a,
            lambda a: (a, a),
            lambda a: a[1:],
            lambda a: a[1],
            lambda a: (a[1], a["first"]),
            lambda a: a[::-1],
            lambda a: a[1, ...],
            lambda a: [a, a[:1]],
            lambda a: {"a": a},
        ),
        records(TIMES),
    )
    r = jitted(lambda a: a)(given := records(TIMES))
    assert r is given


def test_paths():
    def chosen(a, b, c):
        x = a if c else b
        return x["first"].sum(), x

    def in_loop(a, b, n):
        x = a
        for k in range(n):
            x = b if k % 2 else x[1:]
        return x["last"].sum()

    def of_records(a, n):
        v = a[0]
        for k in range(n):
            if a[k]["first"] > v["first"]:
                v = a[k]
        return v["first"], v

    for c in (True, False):
        check(chosen, records(TIMES), records(TIMES, 3, 2), c)
    check(in_loop, records(TIMES), records(TIMES, 6, 2), 3)
    check(of_records, records(TIMES), 4)


def test_overlapping_arguments():
    def f(a, b):
        a["first"][:] = b["last"] + 1
        return b["first"]

    array = records(TIMES, 8)
    check(f, array[:-1], array[1:])
    check(lambda a, x: (a["start"] * x, x), array, array["start"])


# ---- The loops of TOAST


def noise_weight(det_data, data_index, views, weights):
    for d in range(len(data_index)):
        row = det_data[data_index[d]]
        for v in range(len(views)):
            row[views[v]["first"] : views[v]["last"]] *= weights[d]


def by_iterate(det_data, data_index, views, weights):
    for d in range(len(data_index)):
        for view in views:
            for s in range(view["first"], view["last"]):
                det_data[data_index[d], s] *= weights[d]


def in_parallel(det_data, data_index, views, weights):
    for d in ingot.prange(len(data_index)):
        for view in views:
            det_data[d, view["first"] : view["last"]] *= weights[d]


def of_views(det_data, views):
    for v in ingot.prange(len(views)):
        views["start"][v] = det_data[0, views["first"][v]]
        views[v]["stop"] = det_data[0, views[v]["last"] - 1]


@pytest.mark.parametrize("kernel", [noise_weight, by_iterate, in_parallel])
@pytest.mark.parametrize("views", [((0, 10), (12, 30), (25, 28)), ((3, 3), (9, 2)), ()])
def test_kernels_over_intervals(kernel, views):
    data = np.random.default_rng(3).normal(size=(4, 40))
    arguments = data, np.array([2, 0, 3], np.int32), intervals(*views), np.array([0.5, 2.0, 3.0])
    check(kernel, *arguments)
    check(kernel, *arguments[:2], arguments[2].view(np.recarray), arguments[3])


def test_parallel_loops_over_records():
    check(of_views, np.arange(40.0).reshape(1, 40), intervals((0, 10), (12, 30), (25, 28)))


# ---- What is refused


@pytest.mark.parametrize(
    "dtype",
    [
        [("a", "i4"), ("o", "O")],
        [("a", "i4"), ("s", "S3")],
        [("a", "i4"), ("u", "U3")],
        [("a", ">i4")],
        [("a", "M8[s]")],
        [("a", "f8"), ("b", [("c", ">f8")])],
        [("a", "longdouble")],
        [("a", "V4")],
    ],
)
def test_dtypes_of_records_that_are_refused(dtype):
    refused(lambda a: a["a"], np.zeros(2, dtype), words="those of its fields that are numbers")
    refused(lambda a: a["a"], np.zeros(2, dtype)[0])
    refused(lambda a: a["a"], np.zeros(2, dtype).view(np.recarray))


def test_what_is_refused_of_records():
    array = records(MIXED)
    for use in (
        lambda a: np.sort(a),
        lambda a: a.tolist(),
        lambda a: np.unique(a),
        lambda a, n="x": a[f"{len(a)}"],
    ):
        refused(use, array)
    with_each((lambda a: a + 1, lambda a: -a, lambda a: np.sum(a), lambda a: a < a, lambda a: np.sin(a)), array)


# ---- The call path


def test_calls_are_recognised():
    compiled = jitted(lambda a: a["first"].sum())
    array = intervals((1, 2), (3, 4))
    assert compiled(array) == 4 and compiled(array[:1]) == 1
    assert len(compiled.specialisations) == 2  # a length of 1 is a kind of its own
    for other in (np.zeros(2, np.dtype([(name, array.dtype[name]) for name in array.dtype.names])), intervals((5, 6), (7, 8)).copy()):
        compiled(other)
    assert len(compiled.specialisations) == 2
    assert compiled(array.view(np.recarray)) == 4
    assert len(compiled.specialisations) == 3
    assert compiled(array.view(np.recarray)) == 4
    assert len(compiled.specialisations) == 3


def test_dtypes_are_distinguished():
    compiled = jitted(lambda a: a["x"][1])
    one = np.zeros(3, [("x", "f8"), ("y", "i8")])
    other = np.zeros(3, [("y", "i8"), ("x", "f8")])
    one["x"], other["x"], other["y"] = 1.5, 2.5, 7
    assert [compiled(a) for a in (one, other, one, other)] == [1.5, 2.5, 1.5, 2.5]
    third = np.zeros(3, [("x", "i8"), ("y", "i8")])
    third["x"] = 4
    assert compiled(third) == 4 and type(compiled(third)) is np.int64


ALIGNED = np.dtype([("a", "f8"), ("b", "i4", (3,)), ("c", [("x", "f4")])], align=True)
TEXTS = np.dtype([("name", "U3"), ("b", "f8")])
SWAPPED = np.dtype([("a", ">f8")])
OBJECTS = np.dtype([("a", "O")])


@pytest.mark.parametrize(
    "function, field",
    [
        (lambda n: np.zeros(n, TEXTS), "<U3"),
        (lambda n: np.full(n, 0, OBJECTS), "object"),
        (lambda n: np.ones(n, SWAPPED)["a"], ">f8"),
    ],
)
def test_new_records_have_fields_that_compiled_code_has(function, field):
    refused(function, 3, words=f"a field of dtype {field} is not supported")


def test_dtypes_with_fields_are_shown_as_they_are_written():
    with pytest.raises(TypeError, match=re.escape("takes ([('a', '<f8'), ('b', '<i4', (3,)), ('c', [('x', '<f4')])][:])")):
        ingot.jit("float64(float64)")(lambda x: x)(np.zeros(2, ALIGNED))
    refused(lambda x: x.astype(TEXTS), np.ones(2), words="the dtype [('name', '<U3'), ('b', '<f8')] is not supported")
    refused(lambda x: x, np.zeros(2, TEXTS), words="an array of dtype [('name', '<U3'), ('b', '<f8')], is not supported")
    with pytest.raises(TypeError, match="but got records"):
        ingot.grad(lambda a: a["a"].sum())(np.zeros(2, ALIGNED))


def test_refusals_of_transforms_are_located_at_their_function():
    def field(a):
        return a["a"]

    with pytest.raises(ingot.UnsupportedError, match="records where derivatives or mapped functions take arrays") as caught:
        ingot.vmap(field)(np.zeros(2, ALIGNED))
    assert str(caught.value).splitlines()[1] == f"  {__file__}:{field.__code__.co_firstlineno}, in field"


def test_records_decide_about_what_is_in_them():
    """Also about objects of types that compiled code does not have."""
    for value in (np.array(["a"]), np.datetime64("2020-01-01"), b"a", None):
        check(lambda x, r: x in r, value, np.zeros(2, [("a", "f8")]))
        check(lambda x, r: x not in r, value, np.zeros(2, [("a", "f8")]))
