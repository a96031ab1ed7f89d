"""Stages of schedules (docs/guides/schedules.md): arrays computed where they are read are those computed before, to the last bit."""

import linecache
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ingot

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz import schedules  # noqa: E402

S = ingot.schedule


def shown(value):
    """What a case is called."""
    return getattr(value, "__name__", None) or str(value)


def blurred(a):
    with ingot.loop("by", "bx"):
        rows = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) // 3
    with ingot.loop("y", "x"):
        return (rows[:-2] + rows[1:-1] + rows[2:]) // 3


def filtered(a, out):
    rows = np.empty((a.shape[0], a.shape[1] - 2), a.dtype)
    for by in range(rows.shape[0]):
        for bx in range(rows.shape[1]):
            rows[by, bx] = a[by, bx] - a[by, bx + 1] * 2 + a[by, bx + 2]
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = rows[y, x] - rows[y + 1, x] * 2 + rows[y + 2, x]


def chained(a):
    with ingot.loop("ay", "ax"):
        first = a[1:] - a[:-1]
    with ingot.loop("by", "bx"):
        second = first[:, 1:] * 2 - first[:, :-1]
    with ingot.loop("y", "x"):
        return second[1:] + second[:-1]


PLANS = [
    S().compute_at("by", "y"),
    S().compute_at("by", "x"),
    S().split("y", 4).compute_at("by", "y_outer"),
    S().split("y", 4).compute_at("by", "y_outer").vectorize("bx", 4).vectorize("x").parallel("y_outer"),
    S().tile(y=3, x=8).compute_at("by", "x_outer").vectorize("bx").unroll("y_inner"),
    S().tile(y=3, x=8).compute_at("by", "y_inner").split("bx", 4).unroll("bx_inner"),
    S().reorder("x", "y").compute_at("by", "x").split("by", 4),
    S().split("y", 8).compute_at("by", "y_inner").store_at("by", "y_outer").vectorize("x"),
    S().split("y", 8).store_at("by", "y_outer").compute_at("by", "y_inner").parallel("y_outer"),
    S().compute_at("by", "x").store_at("by", "y"),
    S().tile(y=5, x=4).compute_at("by", "y_inner").store_at("by", "x_outer"),
    S().inline("by").vectorize("x").parallel("y"),
]
SHAPES = [(13, 17), (3, 3), (4, 40), (40, 4), (2, 5), (5, 2), (1, 1), (0, 7), (7, 0)]


@pytest.mark.parametrize("plan", PLANS, ids=shown)
def test_array_code(plan):
    fast = ingot.jit(blurred, schedule=plan)
    for shape in SHAPES[:6]:
        for dtype in (np.float32, np.uint16):
            a = (np.random.default_rng(1).random(shape) * 1000).astype(dtype)
            got, expected = fast(a), blurred(a)
            assert got.shape == expected.shape and got.tobytes() == expected.tobytes(), shape


@pytest.mark.parametrize("plan", PLANS, ids=shown)
def test_loops(plan):
    fast = ingot.jit(filtered, schedule=plan)
    for shape in SHAPES:
        a = np.random.default_rng(2).random(shape)
        outs = []
        for f in (filtered, fast):
            out = np.full((max(shape[0] - 2, 0), max(shape[1] - 2, 0)), 7.0)
            try:
                f(a, out)
            except ValueError as error:
                out = str(error)
            outs.append(out)
        assert type(outs[0]) is type(outs[1]) and (isinstance(outs[0], str) or outs[0].tobytes() == outs[1].tobytes()), shape


def test_what_would_raise_raises():
    fast = ingot.jit(filtered, schedule=S().split("y", 4).compute_at("by", "y_outer"))
    with pytest.raises(IndexError) as wrong:
        fast(np.ones((9, 9)), np.ones((8, 7)))
    with pytest.raises(IndexError) as expected:
        filtered(np.ones((9, 9)), np.ones((8, 7)))
    assert str(wrong.value) == str(expected.value)


def test_chains():
    a = np.random.default_rng(3).random((23, 31))
    plans = [
        S().split("y", 4).compute_at("by", "y_outer").compute_at("ay", "by").vectorize("ax", 4),
        S().split("y", 4).compute_at("by", "y_outer").compute_at("ay", "y_outer"),
        S().compute_at("ay", "by").split("y", 4).compute_at("by", "y_outer"),
        S().split("y", 4).compute_at("by", "y_inner").store_at("by", "y_outer").compute_at("ay", "y_outer").parallel("y_outer"),
        S().inline("ay").tile(y=4, x=4).compute_at("by", "x_outer"),
        S().inline("by").inline("ay"),
    ]
    for plan in plans:
        assert ingot.jit(chained, schedule=plan)(a).tobytes() == chained(a).tobytes(), plan


def histograms(a, out):
    """A stage that adds up, at indices found in memory, and begins with zeros of its own."""
    counts = np.empty((out.shape[0], 8), np.int64)
    for hy in range(counts.shape[0]):
        for k in range(8):
            counts[hy, k] = 0
        for hx in range(a.shape[1]):
            counts[hy, min(max(a[hy, hx], 0), 7)] += hx
    for y in range(out.shape[0] - 1):
        for x in range(8):
            out[y, x] = counts[y, x] + counts[y + 1, 7 - x]


def test_stages_may_add_up():
    a = np.random.default_rng(4).integers(-2, 10, (21, 30))
    expected = np.zeros((21, 8), np.int64)
    histograms(a, expected)
    for plan in (
        S().compute_at("hy", "y"),
        S().split("y", 4).compute_at("hy", "y_outer").parallel("y_outer"),
        S().split("y", 4).compute_at("hy", "y_inner").store_at("hy", "y_outer"),
    ):
        out = np.zeros((21, 8), np.int64)
        ingot.jit(histograms, schedule=plan)(a, out)
        assert np.array_equal(out, expected), plan


def clamped(a, out):
    near = np.empty(a.shape)
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            near[by, bx] = a[by, bx] * a[by, 0]
    n = a.shape[0]
    for y in range(n):
        for x in range(a.shape[1]):
            out[y, x] = near[min(max(y - 2, 0), n - 1), x] + near[(n - 1 - y) // 2, x] + near[int(a[y, x]), x]


def test_indices_of_all_kinds():
    a = np.abs(np.random.default_rng(5).random((19, 11))) * 18
    expected = np.zeros_like(a)
    clamped(a, expected)
    for plan in (S().compute_at("by", "y"), S().split("y", 4).compute_at("by", "y_outer"), S().split("x", 4).compute_at("by", "x_outer"), S().inline("by")):
        out = np.zeros_like(a)
        ingot.jit(clamped, schedule=plan)(a, out)
        assert out.tobytes() == expected.tobytes(), plan


def partly(a, out):
    """Of which some elements are read that the stage does not write: they are not used."""
    inside = np.empty(a.shape)
    for by in range(1, a.shape[0] - 1):
        for bx in range(1, a.shape[1] - 1):
            inside[by, bx] = a[by - 1, bx] + a[by + 1, bx]
    for y in range(a.shape[0]):
        for x in range(1, a.shape[1] - 1):
            out[y, x] = inside[y, x] if 0 < y < a.shape[0] - 1 else a[y, x]


def test_stages_may_leave_elements_out():
    for shape in ((17, 13), (3, 3), (2, 2), (1, 5)):
        a = np.random.default_rng(6).random(shape)
        expected = np.zeros(shape)
        partly(a, expected)
        for plan in (S().split("y", 4).compute_at("by", "y_outer"), S().tile(y=4, x=4).compute_at("by", "x_outer"), S().compute_at("by", "y").vectorize("bx")):
            out = np.zeros(shape)
            ingot.jit(partly, schedule=plan)(a, out)
            assert out.tobytes() == expected.tobytes(), plan


def returned(a):
    with ingot.loop("by", "bx"):
        rows = a[:, 1:] * 2
    with ingot.loop("y", "x"):
        return rows[1:] + rows[:-1], rows


def read_twice(a):
    with ingot.loop("by", "bx"):
        rows = a[:, 1:] * 2
    with ingot.loop("y", "x"):
        first = rows[1:] + rows[:-1]
    with ingot.loop("z", "w"):
        return first, first[1:] + rows[1:-1] * first[:-1]


def with_roots(a):
    with ingot.loop("by", "bx"):
        rows = a * np.sqrt(a[0])
    with ingot.loop("y", "x"):
        return rows[1:] + rows[:-1]


def with_roots_before(a):
    roots = np.sqrt(a[0])
    with ingot.loop("by", "bx"):
        rows = a * roots
    with ingot.loop("y", "x"):
        return rows[1:] + rows[:-1]


def overwriting(a):
    rows = np.empty(a.shape)
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            rows[by, bx] = a[by, bx] * 2
    for y in range(a.shape[0] - 1):
        for x in range(a.shape[1]):
            a[y, x] = rows[y, x] + rows[y + 1, x]


def zeroed(a):
    inside = np.zeros(a.shape)
    with ingot.loop("by", "bx"):
        inside[1:-1] = a[2:] * 2
    with ingot.loop("y", "x"):
        return inside[1:] + inside[:-1]


def raising(a):
    rows = np.empty(a.shape)
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            rows[by, bx] = a[int(a[by, bx]), bx]
    with ingot.loop("y", "x"):
        return rows[1:] + rows[:-1]


def argument(a):
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            a[by, bx] += 1
    with ingot.loop("y", "x"):
        return a[1:] + a[:-1]


def summed(a):
    total = 0.0
    for by in range(a.shape[0]):
        total += a[by, 0]
    with ingot.loop("y", "x"):
        return a[1:] + a[:-1] * total


def skewed(a):
    rows = np.empty((a.shape[0] * 2, a.shape[1]))
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            rows[by + bx, 0] = a[by, bx]
    with ingot.loop("y", "x"):
        return rows[1:] + rows[:-1]


@pytest.mark.parametrize(
    "f, plan, words",
    [
        (returned, S().compute_at("by", "y"), "returned"),
        (read_twice, S().compute_at("by", "y"), "read by two nests, at `rows\\[1:\\] .*` and at `.*rows\\[1:-1\\].*`"),
        (with_roots, S().compute_at("by", "y"), "of which there are several, of `np.sqrt\\(a\\[0\\]\\)` and of `a "),
        (overwriting, S().compute_at("by", "y"), "may write"),
        (overwriting, S().inline("by"), "may write"),
        (zeroed, S().compute_at("by", "y"), "is written at"),
        (raising, S().compute_at("by", "y"), "which may raise at"),
        (argument, S().compute_at("by", "y"), "an array that the function has not made"),
        (summed, S().compute_at("by", "y"), "carries a value"),
        (skewed, S().compute_at("by", "y"), "at other indices than those of its loops"),
        (blurred, S().compute_at("y", "by"), "computes no array|returned|nothing reads"),
        (blurred, S().store_at("by", "y"), "stored in a loop and computed in none"),
        (blurred, S().compute_at("by", "y").store_at("by", "x"), "which is no loop around `y`"),
        (blurred, S().split("y", 4).parallel("y_inner").compute_at("by", "y_inner").store_at("by", "y_outer"), "shared by threads"),
        (blurred, S().split("y", 4).compute_at("by", "y_inner").store_at("by", "y_outer").parallel("y_inner"), "what the ones before have computed"),
        (blurred, S().vectorize("x").compute_at("by", "x"), "chosen for lanes"),
        (blurred, S().compute_at("by", "x").vectorize("x"), "in lanes"),
        (blurred, S().tile(by=2, bx=2).compute_at("by_outer", "y"), "indices than those of its loops"),
        (blurred, S().tile(y=4, x=4).compute_at("by", "x_inner").store_at("by", "y_outer").reorder("x_outer", "y_outer"), "between which"),
        (chained, S().compute_at("by", "y").compute_at("ay", "x"), "outside of which"),
        (chained, S().compute_at("ay", "y").compute_at("by", "x"), "not in the nest that reads it"),
        (histograms, S().inline("hy"), "inline"),
        (blurred, S().compute_at("by", "y").compute_at("by", "x").store_at("by", "y"), "stored in `y`, which is around its own loops"),
    ],
    ids=shown,
)
def test_refusals(f, plan, words):
    a = np.abs(np.random.default_rng(7).random((12, 14)))
    given = (a.astype(np.int64), np.zeros((12, 8), np.int64)) if f is histograms else (a,)
    with pytest.raises(ingot.UnsupportedError, match=words) as refused:
        ingot.jit(f, schedule=plan)(*given)
    assert "test_schedule_stages.py" in str(refused.value)


def test_parts_with_other_axes_are_computed_before():
    a = np.random.default_rng(7).random((12, 14))
    for plan in (S().compute_at("by", "y"), S().inline("by")):
        assert ingot.jit(with_roots_before, schedule=plan)(a).tobytes() == with_roots(a).tobytes()


def test_several_nests_may_read_a_stage_that_is_inline():
    for shape in ((12, 14), (3, 2), (2, 2)):
        a = np.random.default_rng(7).random(shape)
        for got, expected in zip(ingot.jit(read_twice, schedule=S().inline("by"))(a), read_twice(a)):
            assert got.tobytes() == expected.tobytes(), shape


def in_short_rows(a, out):
    near = np.empty(a.shape, a.dtype)
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            near[by, bx] = a[by, bx] >> 1
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = near[y, x] | near[y + 1, x]


def of_three(a, out):
    near = np.empty((a.shape[0], 3), a.dtype)
    for by in range(a.shape[0]):
        for k in range(3):
            near[by, k] = a[by, 0] >> k
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = near[y, x % 3] | near[y + 1, 2]


def of_one(a, out):
    near = np.empty((a.shape[0], 1), a.dtype)
    for by in range(a.shape[0]):
        for k in range(1):
            near[by, k] = a[by, 0] >> 1
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = near[y, 0] | near[y + 1, 0]


def of_one_row(a, out):
    near = np.empty((1, a.shape[1]), a.dtype)
    for by in range(1):
        for bx in range(a.shape[1]):
            near[by, bx] = a[by, bx] >> 1
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = near[0, x] | a[y, x]


def in_array_code(a, out):
    with ingot.loop("by", "bx"):
        near = a >> 1
    with ingot.loop("y", "x"):
        out[:] = near[1:] | near[:-1]


def masked(a, out):
    with ingot.loop("by", "bx"):
        is_large = a > 3
    with ingot.loop("y", "x"):
        out[:] = np.where(is_large[1:] & is_large[:-1], a[1:], 0)


@pytest.mark.parametrize("f", [in_short_rows, of_three, of_one, of_one_row, in_array_code, masked], ids=shown)
def test_short_axes_and_small_elements(f):
    shapes = ((9, 11), (9, 7), (9, 3), (9, 1), (2, 11), (2, 3), (2, 1))
    cases = [(S().inline("by"), shape) for shape in shapes] + [(S().compute_at("by", "y"), shape) for shape in shapes[2:4]]
    cases.append((S().split("y", 4).compute_at("by", "y_inner").store_at("by", "y_outer"), (9, 3)))
    for k, (plan, shape) in enumerate(cases):
        dtype = (np.uint8, np.int64)[k % 2]
        a = np.random.default_rng(8).integers(0, 99, shape).astype(dtype)
        out, expected = np.zeros((shape[0] - 1, shape[1]), dtype), np.zeros((shape[0] - 1, shape[1]), dtype)
        ingot.jit(f, schedule=plan)(a, out)
        f(a, expected)
        assert np.array_equal(out, expected), (plan, shape, dtype)


def running_down(a, out):
    near = np.empty(a.shape)
    for by in range(a.shape[0] - 1, -1, -1):
        for bx in range(a.shape[1]):
            near[by, -1 - bx] = a[by, bx] * 3
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = near[y, x] + near[y + 1, x] + near[y + 2, x]


def moving_back(a, out):
    near = np.empty((a.shape[0] - 1, a.shape[1]))
    for by in range(a.shape[0] - 2, -1, -1):
        for bx in range(a.shape[1]):
            near[by, bx] = a[by + 1, bx] * 3
    for y in range(out.shape[0] - 1, -1, -1):
        for x in range(out.shape[1]):
            out[y, x] = near[y, x] - near[y + 1, x]


def to_and_fro(a, out):
    near = np.empty(a.shape)
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            near[by, bx] = a[by, bx] * 3
    n = out.shape[0]
    for y in range(n):
        for x in range(out.shape[1]):
            out[y, x] = near[abs(y - n // 2), x] + near[abs(y - n // 2) + 1, x]


@pytest.mark.parametrize("f", [running_down, moving_back, to_and_fro], ids=shown)
def test_loops_and_windows_that_run_down(f):
    plans = (
        S().compute_at("by", "y"),
        S().inline("by"),
        S().compute_at("by", "y").split("by", 2).vectorize("bx"),
        S().split("y", 4).compute_at("by", "y_inner").store_at("by", "y_outer"),
    )
    for plan in plans:
        fast = ingot.jit(f, schedule=plan)
        for shape in ((23, 31), (5, 4), (3, 3), (40, 9)):
            a = np.random.default_rng(9).random(shape)
            out, expected = np.zeros((shape[0] - 2, shape[1])), np.zeros((shape[0] - 2, shape[1]))
            fast(a, out)
            f(a, expected)
            assert out.tobytes() == expected.tobytes(), (plan, shape)


def test_wrong_steps():
    for make, error in (
        (lambda: S().compute_at("by", "by"), ValueError),
        (lambda: S().compute_at("b y", "y"), ValueError),
        (lambda: S().compute_at("by", 3), TypeError),
        (lambda: S().store_at(None, "y"), TypeError),
        (lambda: S().inline(""), ValueError),
        (lambda: ingot.jit(blurred, schedule=S().compute_at("by", "q"))(np.ones((5, 5))), ingot.UnsupportedError),
    ):
        with pytest.raises(error):
            make()
    plan = S().split("y", 8).compute_at("by", "y_inner").store_at("by", "y_outer").inline("ay")
    assert eval(repr(plan)) == plan


def test_explain_shows_where_stages_run():
    plan = S().tile(y=8, x=16).compute_at("by", "x_outer").vectorize("bx", 8).parallel("y_outer")
    nest = dict(ingot.jit(blurred, schedule=plan).explain(np.ones((90, 80), np.float32)).sections)["schedule"]
    line = blurred.__code__.co_firstlineno
    assert nest == (
        f"for y_outer:  # threads, line {line + 4}\n"
        f"  for x_outer:  # line {line + 4}\n"
        f"    for by in at most 10:  # line {line + 2}\n"
        f"      for bx in at most 16:  # 8 lanes, line {line + 2}\n"
        f"    for y_inner in at most 8:  # line {line + 4}\n"
        f"      for x_inner in at most 16:  # line {line + 4}\n"
    )


def test_steps_for_one_loop_leave_those_inside_it():
    plan = S().parallel("y")
    loops = dict(ingot.jit(blurred, schedule=plan).explain(np.ones((90, 80))).sections)["schedule"]
    assert loops.count("threads") == 1, loops


def sum_of_blurred(a):
    return np.sum(blurred(a))


def test_derivatives_and_batches_are_those_without():
    a = np.random.default_rng(8).random((6, 7))

    def loss(a):
        with ingot.loop("by", "bx"):
            rows = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) / 3
        with ingot.loop("y", "x"):
            return ((rows[:-2] + rows[1:-1] + rows[2:]) ** 2).sum()

    scheduled = ingot.jit(loss, schedule=S().compute_at("by", "y"))
    assert np.array_equal(ingot.grad(scheduled)(a), ingot.grad(loss)(a))
    both = np.stack([a, a + 1])
    assert np.array_equal(ingot.vmap(scheduled)(both), ingot.vmap(loss)(both))


def test_calls_at_once():
    fast = ingot.jit(blurred, schedule=S().split("y", 4).compute_at("by", "y_outer").parallel("y_outer"))
    arrays = [np.random.default_rng(k).random((60, 50)) for k in range(4)]
    results = {}
    workers = [threading.Thread(target=lambda k=k: results.update({k: fast(arrays[k])})) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(results[k].tobytes() == blurred(arrays[k]).tobytes() for k in range(4))


@pytest.mark.parametrize("name", ["blur", "bilateral_grid", "convolution", "jacobi"])
def test_examples(name):
    """Each compares its results with those of Python."""
    file = Path(__file__).parents[2] / "examples" / "schedules" / f"{name}.py"
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "True" in done.stdout and "False" not in done.stdout, done.stdout + done.stderr


@pytest.mark.rotated(3)
def test_the_benchmark_compares_results():
    command = [sys.executable, "-m", "bench.schedules", "--small", "--rounds", "1", "--only", "blur, float32", "jacobi"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.count(" ms   unscheduled") == 2 and "wrong" not in done.stdout, done.stdout


def divided(a):
    return a // 3, a % 7, a // -5 if a.dtype.kind == "i" else a // 200


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64], ids=shown)
def test_lanes_divide_by_constants(dtype):
    most = np.iinfo(dtype)
    a = np.concatenate([np.random.default_rng(9).integers(most.min, most.max, 999, dtype, endpoint=True), np.array([most.min, most.max, 0, 1], dtype)])
    for got, expected in zip(ingot.jit(divided)(a), divided(a)):
        assert got.dtype == expected.dtype and np.array_equal(got, expected)


# Random programs: chains of stencils, under random schedules.


def program(rng):
    """The source of a chain of stencils, and the names of the loops of each."""
    kind = rng.choice(["arrays", "loops", "both"])
    count = rng.randint(2, 4)
    lines, before, names = ["def f(a, out):"], "a", []
    for k in range(count):
        is_last = k == count - 1
        own = "out" if is_last else f"s{k}"
        y, x = f"{'abcd'[k]}y", f"{'abcd'[k]}x"
        names.append((y, x))
        taps = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(rng.randint(1, 4))]
        by_y, by_x = rng.choice([1, 1, 1, 2]), rng.choice([1, 1, 1, 2, 3])
        most_y, most_x = (max(tap[i] for tap in taps) for i in range(2))
        height, width = f"({before}.shape[0] - {most_y + 1 - by_y}) // {by_y}", f"({before}.shape[1] - {most_x + 1 - by_x}) // {by_x}"
        if is_last:
            lines += [f"    h = min(out.shape[0], {height})", f"    w = min(out.shape[1], {width})"]
        else:
            lines.append(f"    {own} = np.empty(({height}, {width}), a.dtype)")
        height, width = ("h", "w") if is_last else (f"{own}.shape[0]", f"{own}.shape[1]")
        end = rng.choice(["", " * 2", " - 1"])
        if kind == "arrays" or (kind == "both" and rng.random() < 0.5):
            part = "[:h, :w]" if is_last else ""
            parts = (f"{before}[{ty}:{before}.shape[0] - {most_y - ty}:{by_y}, {tx}:{before}.shape[1] - {most_x - tx}:{by_x}]{part}" for ty, tx in taps)
            lines += [f"    with ingot.loop('{y}', '{x}'):", f"        {own}[{':h, :w' if is_last else ':, :'}] = ({' + '.join(parts)}){end}"]
        else:
            row = f"({height} - 1 - {y})" if rng.random() < 0.2 else y
            parts = (f"{before}[{row} * {by_y} + {ty}, {x} * {by_x} + {tx}]" for ty, tx in taps)
            lines += [f"    for {y} in range({height}):", f"        for {x} in range({width}):", f"            {own}[{row}, {x}] = ({' + '.join(parts)}){end}"]
        before = own
    return "\n".join(lines) + "\n", names


def counted(a, out):
    """Iterations over `bx` need what those before have kept."""
    rows = np.empty(a.shape)
    for by in range(a.shape[0]):
        so_far = np.zeros(1)
        for bx in range(a.shape[1]):
            so_far[0] += a[by, bx]
            rows[by, bx] = so_far[0]
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            out[y, x] = rows[y, x] * 2


@pytest.mark.parametrize(
    "plan",
    [
        S().split("x", 4).compute_at("by", "x_outer"),
        S().compute_at("by", "x"),
        S().split("x", 4).compute_at("by", "x_inner").store_at("by", "x_outer"),
        S().compute_at("by", "y"),
    ],
    ids=shown,
)
def test_what_a_stage_keeps_between_iterations(plan):
    a = np.random.default_rng(0).random((7, 13))
    out, expected = np.zeros_like(a), np.zeros_like(a)
    ingot.jit(counted, schedule=plan)(a, out)
    counted(a, expected)
    assert np.array_equal(out, expected)


def chained_loops(a, out):
    r = np.empty(a.shape)
    for ay in range(a.shape[0]):
        for ax in range(a.shape[1]):
            r[ay, ax] = a[ay, ax] * 2
    q = np.empty((a.shape[0] - 2, a.shape[1] - 2))
    for by in range(a.shape[0] - 2):
        for bx in range(a.shape[1] - 2):
            q[by, bx] = r[by, bx] + r[by + 1, bx + 1] + r[by + 2, bx + 2]
    for y in range(a.shape[0] - 4):
        for x in range(a.shape[1] - 4):
            out[y, x] = q[y, x] + q[y + 2, x + 2]


@pytest.mark.parametrize(
    "plan",
    [
        S().split("x", 4).compute_at("by", "x_outer"),
        S().tile(y=4, x=4).compute_at("by", "x_outer"),
        S().compute_at("by", "y"),
        S().compute_at("by", "x").store_at("by", "y"),
    ],
    ids=shown,
)
def test_a_window_slides_in_a_stage_that_is_moved_then(plan):
    slides = S().compute_at("ay", "bx").store_at("ay", "by")
    steps = str(plan).removeprefix("ingot.schedule()")
    plan = eval(f"slides{steps}", {"slides": slides})
    a = np.random.default_rng(0).random((17, 19))
    out, expected = np.zeros((13, 15)), np.zeros((13, 15))
    ingot.jit(chained_loops, schedule=plan)(a, out)
    chained_loops(a, expected)
    assert np.array_equal(out, expected)


def where_asked(a, out):
    r = np.empty(a.shape)
    for by in range(a.shape[0]):
        for bx in range(a.shape[1]):
            r[by, bx] = a[by, bx] * 2
    for y in range(a.shape[0]):
        if a[y, 0] > 0.5:
            for x in range(a.shape[1]):
                out[y, x] = r[y, x]


def test_a_window_slides_in_a_branch():
    a = np.random.default_rng(0).random((9, 11))
    out, expected = np.zeros_like(a), np.zeros_like(a)
    ingot.jit(where_asked, schedule=S().compute_at("by", "x").store_at("by", "y"))(a, out)
    where_asked(a, expected)
    assert np.array_equal(out, expected)


def of_five_axes(a, out):
    with ingot.loop("bi", "bj", "bk", "bl", "bm"):
        r = a * 2
    with ingot.loop("i", "j", "k", "l", "m"):
        out[:] = r + 1


def test_arrays_of_stages_are_no_larger_than_what_is_read():
    a = np.random.default_rng(0).random((2, 3, 2, 3, 2))
    plan = S().tile(i=4096, j=4096, k=4096, l=4096, m=4096).compute_at("bi", "m_outer")
    ingot.jit(of_five_axes, schedule=plan)(a, out := np.zeros_like(a))
    assert np.array_equal(out, a * 2 + 1)


def test_inline_stages_that_become_too_much_code():
    lines = ["def f(a):"]
    for k in range(7):
        lines += [f"    with ingot.loop('y{k}', 'x{k}'):", "        a = a[:-1, :-1] + a[1:, :-1] * 2 + a[:-1, 1:] * 3 + a[1:, 1:]"]
    lines += ["    with ingot.loop('y', 'x'):", "        return a * 2"]
    text = "\n".join(lines) + "\n"
    linecache.cache["too much.py"] = (len(text), None, text.splitlines(True), "too much.py")
    scope = {"ingot": ingot}
    exec(compile(text, "too much.py", "exec"), scope)
    plan = S()
    for k in reversed(range(7)):
        plan = plan.inline(f"y{k}")
    with pytest.raises(ingot.UnsupportedError, match="too much code"):
        ingot.jit(scope["f"], schedule=plan)(np.ones((20, 20)))


def plan_for(rng, names):
    """A schedule, which may be refused."""
    plan, last = S(), len(names) - 1
    y, x = names[-1]
    loops = [y, x]
    if (choice := rng.random()) < 0.4:
        plan, loops = plan.tile({y: rng.randint(1, 9), x: rng.randint(1, 9)}), [f"{y}_outer", f"{x}_outer", f"{y}_inner", f"{x}_inner"]
    elif choice < 0.7:
        plan, loops = plan.split(y, rng.randint(1, 9)), [f"{y}_outer", f"{y}_inner", x]
    around = {**{k: list(names[k]) for k in range(last)}, last: loops}
    order = list(reversed(range(last)))
    if rng.random() < 0.4:
        rng.shuffle(order)
    for k in order:
        y, x = names[k]
        if (choice := rng.random()) < 0.3:
            plan = plan.inline(y) if choice < 0.15 else plan
            continue
        where = rng.randrange(k + 1, last + 1) if rng.random() < 0.3 else k + 1
        at = rng.randrange(len(around[where]))
        if at > 0 and rng.random() < 0.3:
            plan = plan.store_at(y, around[where][rng.randrange(at)])
        plan, own = plan.compute_at(y, around[where][at]), [y, x]
        if rng.random() < 0.25:
            plan, own = plan.split(y, rng.randint(1, 4)), [f"{y}_outer", f"{y}_inner", x]
        around[k] = around[where][: at + 1] + own
    for loops_of in around.values():
        if rng.random() < 0.4:
            plan = plan.vectorize(loops_of[-1], rng.choice([None, 4, 8]))
    return plan.parallel(loops[0]) if rng.random() < 0.3 else plan


def outcome(f, a, out):
    with np.errstate(all="ignore"):
        try:
            f(a, out)
        except (ValueError, IndexError) as error:
            return type(error)
    return out.tobytes()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    rng = random.Random(seed)
    source, names = program(rng)
    file = f"stages {seed}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"np": np, "ingot": ingot}
    exec(compile(source, file, "exec"), scope)
    for _ in range(2):
        plan, dtype = plan_for(rng, names), rng.choice([np.float32, np.float64, np.int64, np.int16, np.uint8])
        fast = ingot.jit(scope["f"], schedule=plan)
        for shape in ((37, 41), (rng.randint(9, 30), rng.randint(9, 30)), (rng.randint(3, 9), rng.randint(3, 9))):
            a = (np.random.default_rng(seed).random(shape) * 100).astype(dtype)
            expected = outcome(scope["f"], a, np.zeros(shape, dtype))
            try:
                assert outcome(fast, a, np.zeros(shape, dtype)) == expected, (plan, shape, dtype, source)
            except ingot.UnsupportedError as refused:
                assert "a schedule with" in str(refused), refused
                break


@pytest.mark.sampled(6)
@pytest.mark.parametrize("number", range(36))
def test_random_programs_of_all_kinds(number):
    case = schedules.case(1, number)
    seen = schedules.examine(case)
    assert "kind" not in seen, f"{seen['kind']} {seen['text']}\n{case}"
