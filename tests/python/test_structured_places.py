"""Records elsewhere: on devices, in the cache on disk, under derivatives and batches, in threads, printed."""

import numpy as np
import pytest

import ingot
from caching import run
from ingot._calls.function import Function
from support import check, copied, difference, outcome, refused
from test_structured import MIXED, NESTED, PACKED, TIMES, by_iterate, in_parallel, intervals, noise_weight, records

DEVICE = ingot.device("emulated")


# ---- Devices


def on_device(function, *arguments):
    """Calls a function on the device, and compares all that is seen with plain NumPy."""
    plain, given = copied(arguments), copied(arguments)
    expected, error, _ = outcome(function, plain)
    got, raised, _ = outcome(Function(function, device=DEVICE), given)
    assert type(raised) is type(error) and str(raised) == str(error), raised
    problem = difference(got, expected) or difference(given, plain, 0.0, "arguments")
    assert problem is None, problem


@pytest.mark.rotated(3)
def test_records_on_devices():
    views = intervals((0, 10), (12, 30), (25, 28))
    data = np.random.default_rng(3).normal(size=(4, 40))
    for kernel in (noise_weight, by_iterate, in_parallel):
        on_device(kernel, data, np.array([2, 0, 3], np.int32), views, np.array([0.5, 2.0, 3.0]))
    array = records(TIMES)
    for function in (
        lambda a: a["first"] * 2,
        lambda a: (a["first"].sum(), a[1]["start"]),
        lambda a: a[a["first"] > 50]["last"],
        lambda a: a["first", 0],
        lambda a: a[9]["first"],
    ):
        on_device(function, array)
        on_device(function, array[::-1])

    def writes(a, b):
        a["start"] = b["stop"] * 2
        a[1] = (1.0, 2.0, 3, 4)
        a[2:] = b[:-2]
        for view in a:
            view["last"] += view["first"]

    on_device(writes, array, records(TIMES, 5, 2))
    on_device(writes, array[::-1], records(TIMES, 9, 2)[::2][:5])
    on_device(lambda a: (a["x"], a["z"]), records(MIXED))
    on_device(lambda a: a["at"]["x"].sum() + a["more"]["k"].sum(), records(NESTED))


def test_results_of_records_come_from_devices():
    array = records(TIMES)
    on_device(lambda a: a, array)
    on_device(lambda a: a[1:], array)
    on_device(lambda a: a[2], array)
    on_device(lambda a: a.copy(), array)
    on_device(lambda a: a[[0, 2]], array)
    data = ingot.device_put(np.arange(5.0), DEVICE)
    moved, record, made, doubled = ingot.jit(lambda x, a: (a[1:], a[2], a.copy(), x * a["last"]))(data, array)
    assert np.array_equal(moved, array[1:]) and np.shares_memory(moved, array) and record == array[2]
    assert type(made) is np.ndarray and np.array_equal(made, array) and made.flags.writeable
    assert np.array_equal(doubled.to_host(), np.arange(5.0) * array["last"])


def test_what_devices_refuse():
    for use, array in ((lambda a: a["x"].sum(), records(PACKED)[1:]), (lambda a: np.zeros(3, PACKED)["z"], np.zeros(2))):
        with pytest.raises(ingot.UnsupportedError, match="align=True"):
            Function(use, device=DEVICE)(array)
    held = ingot.device_put(np.ones(3), DEVICE)
    with pytest.raises(ingot.UnsupportedError, match="align=True"):  # the device is known by what is outside alone
        ingot.jit(lambda a: (a["x"][:1] * held[:1]).sum())(records(PACKED)[1:])
    with pytest.raises(TypeError, match="cannot be on a device"):
        ingot.device_put(records(TIMES), DEVICE)


# ---- The cache


CACHED = """
import cached
views = np.zeros(2, cached.TIMES)
views["first"], views["last"] = (1, 2), (4, 9)
data = np.ones((2, 10))
cached.weigh(data, views)
made = cached.make(3)
recorded = cached.of_recarray(views.view(np.recarray))
whys = [f.specialisations[0].why for f in (cached.weigh, cached.make, cached.of_recarray)]
print(json.dumps([data.tolist(), made.tolist(), made.dtype == cached.TIMES, made.dtype["first"].char, type(recorded).__name__, whys]))
"""


@pytest.mark.rotated(3)
def test_code_for_records_is_cached(tmp_path):
    (tmp_path / "cached.py").write_text(
        """import ingot
import numpy as np

TIMES = np.dtype([("start", "d"), ("stop", "d"), ("first", "q"), ("last", "l")], align=True)


@ingot.jit
def weigh(data, views):
    for view in views:
        data[:, view["first"] : view["last"]] *= 2


@ingot.jit
def make(n):
    made = np.zeros(n, TIMES)
    made["first"] = 7
    return made


@ingot.jit
def of_recarray(r):
    return r[1]
"""
    )
    first, second = (run(tmp_path / "cache", CACHED, cwd=tmp_path) for _ in range(2))
    assert first[:5] == second[:5] == [[[1, 2, 4, 4] + [2] * 5 + [1]] * 2, [[0.0, 0.0, 7, 0]] * 3, True, "q", "record"]
    assert second[5] == ["the cache"] * 3 and "the cache" not in first[5]


# ---- Derivatives and batches


def test_records_are_constants_of_derivatives():
    views = intervals((1, 3), (4, 9))

    def loss(x, v):
        total = 0.0
        for view in v:
            total += (x[view["first"] : view["last"]] ** 2).sum() * view["start"]
        return total

    x = np.arange(10.0)
    got = ingot.jit(lambda x, v: ingot.grad(loss)(x, v))(x, views)
    expected = np.zeros(10)
    for view in views:
        expected[view["first"] : view["last"]] += 2 * x[view["first"] : view["last"]] * view["start"]
    assert np.array_equal(got, expected)
    value, tangent = ingot.jit(lambda x, t, v: ingot.jvp(lambda x: loss(x, v), (x,), (t,)))(x, np.ones(10), views)
    assert value == loss(x, views) and np.isclose(tangent, expected.sum())


def test_records_are_the_same_for_all_batch_elements():
    views = intervals((1, 3), (4, 9))

    def total(x, v):
        return x[v[0]["first"] : v[0]["last"]].sum() + v["start"][1]

    x = np.arange(30.0).reshape(3, 10)
    got = ingot.jit(lambda x, v: ingot.vmap(lambda row: total(row, v))(x))(x, views)
    assert np.array_equal(got, [total(row, views) for row in x])


# ---- Threads, printing


def test_printing_records():
    def f(a):
        print(a, a[1], a["first"])
        print(f"{a[0]['first']} {len(a)} {a[0]} {a}")
        text = str(a[1])
        a["first"] = 0
        print(text, repr(a[2]))

    check(f, records(TIMES, 3))


def test_refusals_name_fields():
    assert "of `start`, `stop`, `first`, `last`" in refused(lambda a: np.sort(a), records(TIMES))
