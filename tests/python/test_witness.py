"""The witnesses: programs of tests/ir/witness that show what the IR can express. Each is verified, interpreted on inputs
of size 0, 1 and many against NumPy - under many orders of iterations and threads where it has any - as it is and after
passes, and has planted faults that must be caught. Those without kernels run as machine code, too."""

import dataclasses
import functools
import math
import re
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import compiled
import interpreter
from interpreter import Fault, Raised, View
from programs import ROOT, find_program

FOLDER = ROOT / "tests/ir/witness"
SEEDS = 20


def random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def same(got, want):
    """Bit for bit, but for NaNs."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


# --- One function for each witness: runs it on a case, and holds what it does to NumPy -----------------------


def gradient_loop(x, w, limit, most):
    """The primal: loss, trips and x as it is then; x real or complex."""
    x = np.array(x)
    s, trips = x.dtype.type(0), 0
    while s.real < limit and trips < most:
        for i in range(len(x)):
            x[i] = 0.3 * (x[i] * x[i]) + 0.5 * (x[i - 1] if i > 0 else 1.0)
            s = s + 0.1 * x[i]
        trips += 1
    loss = x.dtype.type(0)
    for i in range(len(x)):
        loss = loss + w[i] * x[i]
    return s * s + loss, trips, x


def check_gradient(run, case):
    n, limit, most = case
    x, w = random(n, seed=2), random(n, seed=3)
    want_loss, want_trips, want_x = gradient_loop(x, w, limit, most)
    got_x, gx = x.copy(), np.full(n, np.nan)
    loss, trips, left = run(View(got_x), View(w), View(gx), np.float64(limit), np.int64(most))
    same(got_x, want_x)
    same(loss, np.float64(want_loss))
    assert (trips, left) == (want_trips, 0)

    def loss_of(x):
        loss, trips, _ = gradient_loop(x, w, limit, most)
        assert trips == want_trips
        return loss

    check_derivative(loss_of, x, gx)


def newton(a):
    x, iterations = 1.0, 0
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
        iterations += 1
    return x, iterations


def check_vmap_while(run, n):
    a = np.exp(5 * random(n))
    a[n // 2 :][:1] = 1.0
    root, iterations = np.full(n, np.nan), np.full(n, -1)
    most, total = run(View(a), View(root), View(iterations))
    want = [newton(float(v)) for v in a]
    same(root, np.array([x for x, _ in want]))
    same(iterations, np.array([k for _, k in want], np.int64))
    np.testing.assert_allclose(root, np.sqrt(a), rtol=1e-12)
    assert (most, total) == (iterations.max(initial=0), iterations.sum())
    assert n < 9 or len(set(iterations)) > 3  # the lanes leave at different iterations


def check_swap(run, case):
    n, steps = case
    x, y = random(n, seed=4), random(n, seed=5)
    u, v = x.copy(), y.copy()
    got_x, got_y = x.copy(), y.copy()
    want_x, want_y = u, v
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    u_is_x, clashes = run(View(got_x), View(got_y), np.int64(steps))
    same(got_x, want_x)
    same(got_y, want_y)
    assert (u_is_x, clashes) == (u is want_x, 0)


def check_try_in_loop(run, case):
    x, overflows = case
    x = np.array(x, np.float64)
    y, trace = np.full(len(x), 7.0), np.zeros(len(x), np.int64)
    want_y, want_trace = y.copy(), trace.copy()
    total, counts = 0.0, {ValueError: 0, ZeroDivisionError: 0}

    def inverse_root(k, v):
        want_trace[k] = 1
        if math.isnan(v):
            raise OverflowError
        if v < 0:
            raise ValueError
        return 1.0 / math.sqrt(v)

    def call():
        nonlocal total
        for k in range(len(x)):
            try:
                r = inverse_root(k, float(x[k]))
                if r > 10.0:
                    raise ValueError
            except ValueError:
                counts[ValueError] += 1
                want_y[k] = -1.0
                continue
            except ZeroDivisionError:
                counts[ZeroDivisionError] += 1
                want_y[k] = -2.0
                continue
            want_y[k] = r
            total += r

    arguments = View(x), View(y), View(trace), np.float64(10.0)
    if overflows:
        with pytest.raises(OverflowError):
            call()
        with pytest.raises(Raised, match="OverflowError"):
            run(*arguments)
        return
    call()
    got = run(*arguments)
    same(y, want_y)
    same(trace, want_trace)
    assert tuple(got) == (total, counts[ValueError], counts[ZeroDivisionError])


def integers(*shape, seed=6):
    return np.random.default_rng(seed).integers(-(2**62), 2**62, shape)


def check_block_reduction(run, n):
    x, out = integers(n), np.array([5])
    run(View(x), View(out))
    same(out, np.array([5]) + x.sum())


def check_transpose(run, shape):
    x = random(*shape).astype(np.float32)
    y = np.full(shape[::-1], np.nan, np.float32)
    run(View(x), View(y))
    same(y, x.T)


def check_scan(run, n):
    x = integers(n)
    got = x.copy()
    run(View(got))
    same(got, np.cumsum(x))


def check_compaction(run, n):
    x = random(n, seed=7)
    x[3::5] = 0.0
    out = np.full(n, np.nan)
    count = run(View(x), View(out))[0]
    want = x[x > 0]
    same(count, np.int64(len(want)))
    same(out, np.concatenate([want, np.full(n - len(want), np.nan)]))


def check_records(run, n):
    x = random(n, seed=8)
    total, identical, doubled, ring = run(View(x))
    same(total, np.float64(sum(x.tolist())))
    same(doubled, np.float64(sum((x + x).tolist())))
    assert (identical, ring) == (n, n)


def first_found(x, sought, limit):
    total = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                v = int(x[i, j, k])
                if v == sought:
                    return int(np.ravel_multi_index((i, j, k), x.shape)), total
                if v < 0:
                    continue
                if v == 0:
                    break
                total += v
                if total > limit:
                    return -2, total
    return -1, total


def check_exits(run, case):
    shape, sought, limit, how = case
    x = np.random.default_rng(9).integers(-5, 50, shape)
    x[x % 7 == 0] = 0
    if how == "found":
        x[-1, -1] = 3
        x[-1, -1, -1] = sought
    if limit is None:
        limit = first_found(x, sought, 10**6)[1]
    want = first_found(x, sought, limit)
    assert {"found": want[0] >= 0, "early": want[0] == -2, "none": want[0] == -1}[how]
    got = run(View(x), np.int64(sought), np.int64(limit))
    assert tuple(got) == want


def swap_steps(x, y, steps):
    u, v = x.copy(), y.copy()
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[:-2] * u[2:])
        u, v = v, u
    return (u, v) if steps % 2 == 0 else (v, u)


def check_derivative(loss, x, gradient, but=()):
    """Holds the gradient of `loss(x)`, analytic, to the complex step, which is right to the last digits, and to plain
    differences, which share nothing with it; not of elements whose neighbours take another branch."""
    for i in np.ndindex(x.shape):
        if i in but:
            continue
        moved = x.astype(complex)
        moved[i] += 1e-30j
        np.testing.assert_allclose(gradient[i], loss(moved).imag / 1e-30, rtol=1e-12, atol=1e-14)
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        np.testing.assert_allclose(gradient[i], (loss(up) - loss(down)) / 2e-6, rtol=1e-6, atol=1e-7)


def check_swap_gradient(run, case):
    n, steps = case
    x, y = np.random.default_rng(10).uniform(-1, 1, (2, n))
    wx, wy = random(2, n, seed=11)
    got_x, got_y, gx, gy = x.copy(), y.copy(), wx.copy(), wy.copy()
    ends = run(View(got_x), View(got_y), View(gx), View(gy), np.int64(steps))
    want_x, want_y = swap_steps(x, y, steps)
    same(got_x, want_x)
    same(got_y, want_y)
    assert tuple(ends) == (steps % 2 == 0, True)

    def loss(x, y):
        x, y = swap_steps(x, y, steps)
        return (wx * x).sum() + (wy * y).sum()

    check_derivative(lambda x: loss(x, y.astype(x.dtype)), x, gx)
    check_derivative(lambda y: loss(x.astype(y.dtype), y), y, gy)


def damped_until_found(x, sought, limit):
    total = x.dtype.type(0)
    for i, j in np.ndindex(x.shape[:2]):
        for k in range(x.shape[2]):
            v = x[i, j, k]
            if v.real == sought:
                return int(np.ravel_multi_index((i, j, k), x.shape)), 0.5 * total
            if v.real < 0:
                continue
            if v.real == 0:
                break
            total = total + v / (1.0 + total)
            if total.real > limit:
                return -2, total
        else:
            total = 0.75 * total
    return -1, total


def check_exits_gradient(run, case):
    shape, limit, how = case
    x, sought = random(*shape, seed=12), 1000.0
    x.ravel()[7::11] = 0.0
    if how == "found":
        x[-1, -1] = 0.5
        x[-1, -1, -1] = sought
    want = damped_until_found(x, sought, limit)
    assert {"found": want[0] >= 0, "early": want[0] == -2, "none": want[0] == -1}[how]
    gx = np.full(shape, np.nan)
    got = run(View(x), View(gx), np.float64(sought), np.float64(limit))
    assert tuple(got) == want
    check_derivative(lambda x: damped_until_found(x, sought, limit)[1], x, gx, [*zip(*np.nonzero((x == 0) | (x == sought)))])
    assert not gx[(x <= 0) | (x == sought)].any()


# --- The table -----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Planted:
    """A fault: `old`, which is in the text once, becomes `new`; and what catches it: the reader of the
    text, the verifier, the interpreter, or a value (then `message` is unused). The last two do on the last case, with
    every seed, what the first two let pass."""

    old: str
    new: str
    by: str
    message: str = ""


@dataclasses.dataclass
class Witness:
    stage: str
    check: Callable
    cases: list
    faults: list[Planted]
    seeds: int = 1


BARRIER = "barrier {scope=block}"
TRY_CASES = [([], False), ([4.0], False), ([-4.0], False), ([0.0], False), ([1.0, np.nan, 4.0], True),
             ([4.0, -1.0, 0.0, 1e-9, 0.25, -3.0, 0.01, 9.0, -np.inf, np.inf], False)]  # fmt: skip

WITNESSES = {
    "gradient": Witness(
        "loop", check_gradient,
        [(0, 1.0, 4), (1, 0.2, 9), (1, 1.0, 0), (3, 0.0, 5), (4, 0.5, 3), (6, 1e9, 1), (7, 1.5, 9)],
        [
            Planted("subtract %left1, %one\n      %popped", "subtract %left1, %zero\n      %popped", "value"),
            Planted("load %tape, %left2", "load %tape, %zero", "value"),
            Planted("yield %larger", "yield %tape2", "interpreter", "out of range"),
            Planted("store %larger, %p, %kept", "store %tape2, %p, %kept", "value"),
            Planted("store %gx, %at, %gold", "store %x, %at, %gold", "value"),
        ],
    ),
    "vmap_while": Witness(
        "loop", check_vmap_while, [0, 1, 2, 33, 100],
        [
            Planted("store %iterations, %lane, %count", "store %iterations, %zero, %count", "interpreter", "race"),
            Planted("yield %count, %count", "yield %count, %one", "value"),
            Planted("load %a, %lane", "load %root, %zero", "interpreter", "race"),
        ],
        SEEDS,
    ),
    "swap": Witness(
        "array", check_swap, [(0, 3), (1, 1), (2, 2), (3, 1), (50, 0), (50, 10), (50, 7)],
        [
            Planted("yield %to, %from, ", "yield %from, %to, ", "value"),
            Planted("yield %to, %from, ", "yield %to, %to, ", "value"),
        ],
    ),
    "try_in_loop": Witness(
        "loop", check_try_in_loop, TRY_CASES,
        [
            Planted("catches=1} : (i32, f64)", "catches=0} : (i32, f64)", "reader", "gives the callee's results"),
            Planted("exit %caught, %value_error", "exit %caught, %zero_division_error", "value"),
            Planted("not_equal %status, %ok", "equal %status, %value_error", "value"),
            Planted("exit %done, %total0, %values1, %zeros0", "exit %caught, %status", "reader", "%caught"),
        ],
    ),
    "block_reduction": Witness(
        "loop", check_block_reduction, [0, 1, 64, 65, 300],
        [
            Planted(f"{BARRIER} ; of the tree", "", "interpreter", "race"),
            Planted(f"%mine\n    {BARRIER}", "%mine", "interpreter", "race"),
            Planted("store %shared, %tx, %pq\n        yield\n",
                    f"store %shared, %tx, %pq\n        {BARRIER}\n        yield\n", "verifier", "invariant 10"),
            Planted("%before = atomic %sum, %zero, %block_sum {combiner=add, scope=device, order=relaxed}",
                    "%before = load %sum, %zero\n      %after = add %before, %block_sum\n"
                    "      store %sum, %zero, %after",
                    "interpreter", "race"),
            Planted("alloc %shared_bytes", "alloc %bytes", "verifier", "invariant 12"),
        ],
        SEEDS,
    ),
    "transpose": Witness(
        "loop", check_transpose, [(0, 0), (0, 5), (1, 1), (8, 8), (1, 9), (13, 21)],
        [
            Planted(BARRIER, "", "interpreter", "race"),
            Planted("load %shared, %tx, %ty", "load %shared, %ty, %tx", "value"),
            Planted("%y_row_inside = less %y_row, %columns", "%y_row_inside = less %y_row, %rows", "value"),
        ],
        SEEDS,
    ),
    "scan": Witness(
        "loop", check_scan, [0, 1, 64, 65, 200, 4200],
        [
            Planted(f"{BARRIER} ; all have read", "", "interpreter", "race"),
            Planted(f"{BARRIER} ; all have written", "", "interpreter", "race"),
            Planted("subtract %cx, %one", "subtract %cx, %zero", "value"),
            Planted("greater_equal %tx, %reach", "greater_equal %reach, %tx", "interpreter", "out of range"),
        ],
        SEEDS,
    ),
    "compaction": Witness(
        "array", check_compaction, [0, 1, 2, 100],
        [
            Planted("%places = materialize %exclusive", "%places = materialize %ones", "interpreter", "race"),
            Planted("%places = materialize %exclusive", "%places = materialize %inclusive", "value"),
        ],
        SEEDS,
    ),
    "records": Witness(
        "loop", check_records, [0, 1, 2, 50],
        [
            Planted("store %list1, %listed0, %made0", "store %list1, %listed0, %zero", "value"),
            Planted("yield %new_values, %new_nexts", "yield %new_values, %nexts0", "interpreter", "out of range"),
            Planted("store %new_list, %j, %place_j", "store %new_list, %j, %zero", "value"),
            Planted("store %nexts, %tail, %head", "store %nexts, %head, %tail", "interpreter", "out of range"),
            Planted("store %nexts, %tail, %head", "store %values, %tail, %head", "reader", "of the view's dtype"),
        ],
    ),
    "exits": Witness(
        "loop", check_exits,
        [((0, 3, 4), 1000, 10**6, "none"), ((3, 0, 4), 1000, 10**6, "none"), ((1, 1, 1), 1000, 10**6, "found"),
         ((4, 5, 6), 1000, None, "none"), ((4, 5, 6), 1000, 300, "early"), ((4, 5, 6), 1000, 10**6, "found")],
        [
            Planted("exit %break, %sum2", "exit %continue, %sum2", "value"),
            Planted("exit %found, %i, %j, %k, %sum2", "exit %found, %i, %j, %sum2", "verifier", "invariant 8"),
            Planted("exit %found, %i, %j, %k, %sum2", "exit %return, %i, %sum2", "value"),
        ],
    ),
    "swap_gradient": Witness(
        "loop", check_swap_gradient, [(0, 3), (1, 1), (2, 2), (3, 1), (9, 0), (9, 4), (9, 7)],
        [
            Planted("yield %to, %from, %gto, %gfrom", "yield %to, %from, %gfrom, %gto", "value"),
            Planted("yield %source, %written", "yield %written, %source", "value"),
            Planted("store %written, %center, %nought", "store %written, %center, %g", "value"),
            Planted("subtract %rest, %one\n    for", "subtract %rest, %zero\n    for", "interpreter", "out of range"),
            Planted("load %tape, %row, %k", "load %x, %k", "value"),
        ],
    ),
    "exits_gradient": Witness(
        "loop", check_exits_gradient,
        [((0, 3, 4), 1e6, "none"), ((3, 0, 4), 1e6, "none"), ((2, 3, 0), 1e6, "none"), ((1, 1, 1), 1e6, "found"),
         ((3, 4, 5), 1e6, "none"), ((3, 4, 5), 1.5, "early"), ((3, 4, 5), 1e6, "found")],
        [
            Planted("%k, %by_found", "%k, %by_return", "value"),
            Planted("%k, %by_break", "%k, %by_end", "value"),
            Planted("subtract %rest_k, %one", "subtract %rest_k, %zero", "interpreter", "out of range"),
            Planted("store %k_trips, %i, %j, %k_trip", "store %k_trips, %i, %j, %k", "value"),
        ],
    ),
}  # fmt: skip


def read(name):
    return (FOLDER / f"{name}.ir").read_text()


def interpreted(text, seed):
    return functools.partial(interpreter.run, text, seed=seed)


def verify(text, stage, *options):
    words = [find_program("ingot-opt"), "--verify", "--stage", stage, *options]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_every_witness_is_in_the_table():
    assert sorted(WITNESSES) == sorted(file.stem for file in FOLDER.iterdir())
    assert len(WITNESSES) == 12


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WITNESSES)
def test_verifies_and_reads_back(name):
    text = read(name)
    witness = WITNESSES[name]
    assert re.match(rf"; RUN: ingot-opt --verify --stage {witness.stage} %s\n", text)
    assert verify(text, witness.stage) == (0, "")
    status, printed = verify(text, witness.stage, "--print")
    assert status == 0 and verify(printed, witness.stage, "--print") == (0, printed)
    witness.check(interpreted(printed, 0), witness.cases[-1])


ORDERS = {
    "parallel_for": """
  parallel_for %n {schedule=threads, width=0, combiners=[]} {
  ^(%k: i64):""",
    "blocks": """
  launch %n, %one, %one, %one, %one, %one {
  ^(%k: i64, %1: i64, %2: i64, %3: i64, %4: i64, %5: i64):""",
    "threads": """
  launch %one, %one, %one, %n, %one, %one {
  ^(%1: i64, %2: i64, %3: i64, %k: i64, %4: i64, %5: i64):""",
}


@pytest.mark.parametrize("head", ORDERS)
def test_seeds_are_orders(head):
    """Each iteration draws a number: what the seeds above are worth."""
    text = "func @f(%next: view<i64, 1> alias 1, %drawn: view<i64, 1> alias 2) -> () {\n  %zero = constant 0 : i64"
    text += f"\n  %one = constant 1 : i64\n  %n = length %drawn {{axis=0}}{ORDERS[head]}"
    text += "\n    %number = atomic %next, %zero, %one {combiner=add, scope=device, order=relaxed}"
    text += "\n    store %drawn, %k, %number\n    yield\n  }\n  return\n}"
    assert verify(text, "loop") == (0, "")
    orders = set()
    for seed in range(SEEDS):
        drawn = np.full(20, -1)
        interpreter.run(text, View(np.zeros(1, np.int64)), View(drawn), seed=seed)
        assert sorted(drawn) == list(range(20))
        orders.add(tuple(drawn))
    assert len(orders) == SEEDS


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name, case", [(name, i) for name, witness in WITNESSES.items() for i in range(len(witness.cases))])
def test_values(name, case):
    witness = WITNESSES[name]
    for seed in range(witness.seeds):
        witness.check(interpreted(read(name), seed), witness.cases[case])


COMPILED = [name for name in WITNESSES if "launch" not in read(name)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", COMPILED)
def test_values_of_machine_code(name, tmp_path):
    """A text at the loop stage is compiled as it is, one at the array stage after the compiler's passes."""
    witness = WITNESSES[name]
    for case in witness.cases:
        witness.check(functools.partial(compiled.run, read(name), folder=tmp_path), case)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("passes", ["simplify,dce", "simplify,to_loops,simplify"])
@pytest.mark.parametrize("name", WITNESSES)
def test_passes_keep_them_right(name, passes):
    witness = WITNESSES[name]
    stage = "loop" if "to_loops" in passes else witness.stage
    status, output = verify(read(name), stage, "--passes", passes, "--print")
    assert status == 0, output
    for case in witness.cases:
        for seed in range(min(witness.seeds, 3)):
            witness.check(interpreted(output, seed), case)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name, fault", [(name, i) for name, witness in WITNESSES.items() for i in range(len(witness.faults))])
def test_planted_faults_are_caught(name, fault):
    witness = WITNESSES[name]
    planted = witness.faults[fault]
    text = read(name)
    assert text.count(planted.old) == 1
    text = text.replace(planted.old, planted.new)
    status, output = verify(text, witness.stage)
    if planted.by in ("reader", "verifier"):
        assert status == 1 and planted.message in output, output
        return
    assert status == 0, output
    for seed in range(witness.seeds):
        if planted.by == "interpreter":
            with pytest.raises(Fault, match=planted.message):
                witness.check(interpreted(text, seed), witness.cases[-1])
        else:
            with pytest.raises(AssertionError):
                witness.check(interpreted(text, seed), witness.cases[-1])
