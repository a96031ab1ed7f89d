"""Assignments to records, new arrays of records, their copies and comparisons, against CPython and NumPy."""

import numpy as np
import pytest
from support import check, module_of, refused, with_each
from test_structured import ALIGNED, MIXED, NESTED, records

HEAD = """import numpy as np
PAIR = np.dtype([("x", "f8"), ("n", "i4")], align=True)
OTHER = np.dtype([("a", "f4"), ("b", "i8")], align=True)
TRIPLE = np.dtype([("x", "f8"), ("n", "i4"), ("q", "f8", (2,))], align=True)
NESTED = np.dtype([("id", "u2"), ("at", [("x", "f8"), ("y", "f8")]), ("w", "i4"), ("more", [("k", "i8")], (2,))], align=True)
"""
PAIR = np.dtype([("x", "f8"), ("n", "i4")], align=True)
OTHER = np.dtype([("a", "f4"), ("b", "i8")], align=True)
TRIPLE = np.dtype([("x", "f8"), ("n", "i4"), ("q", "f8", (2,))], align=True)


@pytest.fixture
def functions(tmp_path):
    """Makes functions of `a` and `b`, one a line: statements, then what they return, or `a`."""

    def make(text):
        lines = [line.strip() for line in text.strip().splitlines()]
        source = HEAD
        for k, line in enumerate(lines):
            *statements, last = line.split("; ")
            is_value = last.startswith("= ")
            statements = [*statements, f"return {last[2:]}"] if is_value else [*statements, last, "return a"]
            source += f"def f{k}(a, b):\n" + "".join(f"    {s}\n" for s in statements)
        path = tmp_path / "written.py"
        path.write_text(source)
        module = module_of(path, "written")
        return [getattr(module, f"f{k}") for k in range(len(lines))]

    return make


# ---- Assignments


@pytest.mark.rotated(3)
def test_fields_are_assigned(functions):
    made = functions("""
        a["x"] = 1.5
        a["x"] = b["n"]
        a["x"][1] = 7
        a[2]["n"] = 9
        a["n"][1:3] = [4, 5]
        a["q"] = 2
        a["q"] = [3, 4]
        a["q"][1] = b["q"][2]
        a[1]["q"] = 8
        a[1]["q"][0] = 8
        a["x"] += 1
        a[1]["x"] += 1
        a[1]["q"][1] *= 3
        a["x"][1:] -= a["x"][:-1]
        a["x"] += a["n"]
        a["x"] = a["n"] * 2 + a["x"]
        a["x"] = a["x"][::-1] + a["n"]
        a["x"][1:] = a["n"][:-1] + a["x"][1:]
        a["q"] += a["x"][:, None]
        a["n"] = a["x"][::-1]
        a["x"] = a["q"][:, 1] - a["n"]
        a[0][0] = 4
        a[0][-1] = 4
        a["n"] = 1.7
        a[0]["n"] = 2.9
        a["n"] = 2**40
        a[0]["n"] = 2**40
        a["nothing"] = 1
        a[0]["nothing"] = 1
        a[0][7] = 1
        a[9]["x"] = 1
        a["x"][0] = 1j
    """)
    with_each(made, records(TRIPLE), records(TRIPLE, 5, 2))


@pytest.mark.rotated(3)
def test_records_are_assigned(functions):
    made = functions("""
        a[0] = (1.5, 2, 3)
        a[0] = (1, 2, (3, 4))
        a[0] = (1, 2, [3, 4])
        a[-1] = (True, np.int8(3), np.float32(4))
        a[0] = (1, 2)
        a[0] = (1, 2, 3, 4)
        a[0] = ()
        a[0] = 5
        a[0] = np.float32(2)
        a[0] = True
        a[0] = [1, 2, 3]
        a[0] = ([1], 1, 1)
        a[0] = (np.arange(2.0), 1, 1)
        a[0] = np.arange(3.0)
        a[0] = np.arange(1.0) + 4
        a[0] = np.array(4)
        a[0] = 1j
        a[0] = (1j, 1, 1)
        a[0] = (1, 2**40, 3)
        a[0] = b[1]
        a[0] = b[:1]
        a[0] = b
        a[0] = b[1, ...]
        a[1, ...] = b[2]
        a[:] = (1, 2, 3)
        a[1:3] = 4.5
        a[:] = b
        a[::2] = b[2:]
        a[:] = b[:2]
        a[:] = b[:1]
        a[1:] = a[:-1]
        a[:-1] = a[1:]
        a[:] = a[::-1]
        a[...] = b[3]
        a[:] = np.arange(5.0)
        a[:] = [(1, 2, 3), (4, 5, 6), (7, 8, 9), (1, 1, 1), (2, 2, 2)]
        a[:2] = [(1, 2, (3, 4)), (5, 6, (7, 8))]
        a[:2] = [(1, 2, 3)]
        a[:] = [(1, 2, 3), (4, 5, 6)]
        a[:] = [1, 2, 3, 4, 5]
        a[:] = range(5)
        a[:] = 2**40
        a[:] = (1, 2**40, 3)
        a[9] = (1, 2, 3)
        a[0, 0] = (1, 2, 3)
        a[None] = (1, 2, 3)
        a.fill(3)
    """)
    with_each(made, records(TRIPLE), records(TRIPLE, 5, 2))


def test_records_of_other_dtypes_are_assigned_by_place(functions):
    with_each(functions("a[:] = b\na[0] = b[1]\na[1:] = b[0]\na[[1, 2]] = b[:2]"), records(PAIR), records(OTHER, 5, 2))
    with_each(functions("a[:] = b\na[0] = b[1]"), records(TRIPLE), records(PAIR, 5, 2))
    with_each(functions("a[:] = b\na[0] = b[1]"), records(PAIR), records(TRIPLE, 5, 2))
    with_each(functions("a[:] = b\na[3] = b[1]\na[:] = b[1]"), records(ALIGNED), records(ALIGNED, 5, 2))


def test_several_fields_are_assigned(functions):
    made = functions("""
        a[["x", "n"]] = (1, 2)
        a[["x", "n"]] = b[["n", "x"]]
        a[["n", "x"]] = a[["x", "n"]]
        a[0][["n", "x"]] = a[0][["x", "n"]]
        a[1][["x", "n"]] = (3, 4)
        a[["x", "nothing"]] = 1
    """)
    with_each(made, records(TRIPLE), records(TRIPLE, 5, 2))


def test_records_are_assigned_through_arrays(functions):
    made = functions("""
        a[[0, 2]] = b[:2]
        a[[0, 0]] = b[:2]
        a[np.array([3, -1])] = (1, 2, 3)
        a[b["n"] > 50] = b[0]
        a[a["n"] > 50] = (1, 2, 3)
        a[a["n"] > 50] = 7
        a[a["x"] > a["n"]] = b[a["x"] > a["n"]]
        a[np.array([True, False, True, False, False])] = b[:2]
        a[[0, 1]] = np.arange(2.0)
        a[[0, 9]] = b[:2]
        a[[0, 1, 2]] = b[:2]
    """)
    with_each(made, records(TRIPLE), records(TRIPLE, 5, 2))


def test_records_in_records_are_assigned(functions):
    made = functions("""
        a["at"] = (1, 2)
        a["at"]["x"] = b["at"]["y"]
        a[1]["at"] = (5, 6)
        a[1]["at"]["x"] = 4
        a["at"][2] = (7, 8)
        a[0] = (1, (2, 3), 4, 5)
        a[0] = (1, 2, 3, 4)
        a[0] = (1, (2, 3, 4), 3, 4)
        a[1]["more"][0]["k"] = 3
        a["more"]["k"] = [1, 2]
        a[0] = b[2]
        a[:] = b
        a["at"] = b["at"]
        a[1]["at"] = b[2]["at"]
    """)
    with_each(made, records(NESTED), records(NESTED, 5, 2))


def test_recarrays_are_assigned(functions):
    made = functions("""
        a.x = 1.5
        a.x[1] = 3
        a[1].x = 3
        a[1].x += 3
        a.x += b.x
        a.q = 2
        a[0] = (1, 2, 3)
        a[:] = b
        a[0].nothing = 1
    """)
    with_each(made, records(TRIPLE).view(np.recarray), records(TRIPLE, 5, 2).view(np.recarray))


def test_what_is_read_only_is_not_written(functions):
    a = records(TRIPLE)
    a.flags.writeable = False
    with_each(functions('a["x"] = 1\na[0] = (1, 2, 3)\na["x"][0] = 1\na[0]["x"] = 1\na[:] = b\na[[0]] = b[:1]'), a, records(TRIPLE))


def test_records_have_no_arithmetic(functions):
    with_each(functions("a += 1\na[0] += 1\na = a + b\na = -a\na = a @ b\na = a < b"), records(PAIR), records(PAIR))


# ---- New arrays


def test_new_arrays(functions):
    made = functions("""
        c = np.zeros(3, PAIR); c[1] = (1.5, 2); = c
        c = np.empty(3, PAIR); c[:] = (1, 2); = c
        = np.ones(3, PAIR)
        = np.ones((2, 3), TRIPLE)
        = np.zeros((), PAIR)
        = np.zeros((2, 0), PAIR)
        = np.full(3, 7, PAIR)
        = np.full((2, 2), b[1])
        = np.zeros(3, dtype=TRIPLE)["q"]
        = np.zeros(a.shape, a.dtype)
        = np.zeros_like(a)
        = np.ones_like(a)
        c = np.empty_like(a); c[:] = a; = c
        = np.zeros_like(a, shape=(2, 2))
        = np.zeros_like(a["x"], dtype=PAIR)
        = np.zeros_like(a, dtype=np.float64)
        = np.array([(1, 2), (3, 4)], PAIR)
        = np.array((1, 2), dtype=PAIR)
        = np.array([[(1, 2)], [(3, 4)]], PAIR)
        = np.array([(1, 2, 3)], PAIR)
        = np.array([a[0], b[1]])
        = np.array((a[0], b[1], a[2]))
        = np.array([[a[0], b[1]], [b[2], a[2]]])
        = np.array(a)
        = np.array(a[1])
        = np.zeros(-1, PAIR)
        = np.zeros(3, NESTED)[1]["at"]
        c = np.zeros(3, PAIR); = (c, c[1], c["x"], c)
        c = np.zeros(len(a), PAIR); c["x"] = a["n"]; c["n"] = a["x"]; = c
        = np.zeros(2, [("x", "f8"), ("y", np.int32)])
        = np.zeros(2, np.dtype([("x", "f8"), ("y", [("z", "i8", (2,))])], align=True))
    """)
    with_each(made, records(PAIR), records(PAIR, 5, 2))


@pytest.mark.rotated(3)
def test_copies_and_shapes(functions):
    made = functions("""
        = a.copy()
        = np.copy(a)
        = np.asarray(a)
        = np.asanyarray(a) is a
        = a[1].copy()
        = a.reshape(3, 2)
        = a.reshape((2, 3))["n"]
        = a.reshape(-1, 2)
        = a.reshape(4, 2)
        = np.reshape(a, (6, 1))
        = a.reshape(2, 3).T
        = a.reshape(2, 3).T.copy()
        = a.reshape(2, 3).transpose(1, 0)
        = a.reshape(2, 3).swapaxes(0, 1)[1]
        = a.reshape(2, 3).ravel()
        = a.reshape(2, 3).T.ravel()
        = a[::2].ravel()
        = a.reshape(2, 3).T.reshape(6)
        = a.flatten()
        = a[::2].copy()
        = np.concatenate((a, b))
        = np.concatenate([a[:2], b[1:], a])
        = np.concatenate((a.reshape(2, 3), b.reshape(2, 3)), axis=1)
        = np.concatenate((a.reshape(2, 3), b.reshape(2, 3)), axis=-1)
        = np.concatenate((a.reshape(2, 3), b.reshape(2, 3)), axis=None)
        = np.concatenate((a, b), axis=1)
        = np.stack((a, b))
        = np.take(a, [0, 2])
        = a.take(np.array([1, 1]))
        = np.flip(a)
        = np.expand_dims(a, 0)
        = np.broadcast_to(a, (2, 6))["x"]
        = (np.shape(a), np.ndim(a), np.size(a))
        = a.astype(OTHER)
        = a.astype(np.float64)
        = a.view(np.recarray)
        = a.view(np.dtype([("u", "f8"), ("v", "f4")], align=True))
        = np.where(a["n"] > 50, a, b)
        = np.where(b["x"] > 50, a, b[0])
        = a.view()
        = a[2].item()
        = a.item(3)
        = a[:1].item()
        = a.item()
    """)
    with_each(made, records(PAIR, 6), records(PAIR, 6, 2))


def test_copies_of_recarrays(functions):
    made = functions("""
        = a.copy()
        = np.copy(a)
        = np.asarray(a)
        = np.asanyarray(a) is a
        = a.reshape(3, 2)
        = a.reshape(3, 2).T
        = np.zeros_like(a)
        = np.concatenate((a, b))
        = a.view(np.ndarray)
        = a[[1, 2]]
        = a[["n", "x"]]
        = a[1].copy()
    """)
    with_each(made, records(PAIR, 6).view(np.recarray), records(PAIR, 6, 2).view(np.recarray))


# ---- Comparisons


@pytest.mark.rotated(3)
def test_comparisons(functions):
    made = functions("""
        = (a == b, a != b)
        = (a == a, a != a)
        = (a == b[1], b[0] == a)
        = (a[0] == b[0], a[0] != b[0], a[0] == a[0])
        = (a[:, None] == b)
        = (a == b[:2])
        = a.reshape(5, 1) != b
        = (a[0] == None, a[0] != None)
        = (a[0] is None, a is None, a is a)
        = a == 1
        = a[0] == 1.5
        = 1 in a
        = (a[0] in a, a[1] in b, b[0] not in a, a[1] not in b)
        = (np.array_equal(a, b), np.array_equal(a, a), np.array_equal(a[:2], a), np.array_equal(a, a[:, None]))
    """)
    a, b = records(TRIPLE), records(TRIPLE, 5, 2)
    b[::2] = a[::2]
    with_each(made, a, b)
    a["x"][0] = b["x"][0] = np.nan
    with_each(made[:2], a, b)
    with_each(functions("= (a == b, a != b, a[1] == b[1])"), records(NESTED), records(NESTED))
    with_each(functions("= (a == b, a != b, a[1] == b[1])"), records(MIXED), records(MIXED))


def test_records_with_other_fields_are_not_compared(functions):
    with_each(functions("= a == b\n= a[0] == b[0]"), records(PAIR), records(OTHER))


def test_refused_writes(functions):
    for f in functions("""
        = np.full(2, (1, 2), PAIR)
        = np.zeros(3, PAIR, order="F")
        = a.tolist()
        = np.array([a[0], 1.5])
        = np.expand_dims(a, (0, 1))
        = np.concatenate((a, a.astype([("x", "f8"), ("n", "i8")])))
    """):
        refused(f, records(PAIR), records(PAIR))
    r = records(PAIR).view(np.recarray)
    refused(functions("= a == b")[0], r, r)
    refused(functions("a.new = b")[0], r, r)
    check(lambda a: [x["n"] for x in a if x["n"] > 30], records(PAIR, 9))
