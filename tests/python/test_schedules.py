"""Schedules (docs/guides/schedules.md): results are those without one, to the last bit, and what would change them is refused."""

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ingot

S = ingot.schedule


def shown(value):
    """What a case is called."""
    return getattr(value, "__name__", None) or str(value)


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def summed(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def filtered(a, b, c):
    for y in range(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            c[y, x] = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1] - 4 * b[0, 0] * a[y, x]


def rows(a, b, c):
    """Each row needs the one before."""
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j % c.shape[1]] = c[i - 1, j % c.shape[1]] * 0.5 + a[i, j]


def drifting(a, b, c):
    """Each element needs one of the row before, to its right."""
    for i in range(1, min(a.shape[0], c.shape[0])):
        for j in range(c.shape[1] - 1):
            c[i, j] = c[i - 1, j + 1] * 0.5 + a[i, 0]


def triangle(a, b, c):
    for i in range(c.shape[0]):
        for j in range(i):
            if j < c.shape[1]:
                c[i, j] = i * 10.0 + j


def arrays(a, b, c):
    with ingot.loop("y", "x"):
        c[:, :] = np.sin(a[: c.shape[0], :1]) * 2 + b[:1, : c.shape[1]]


def given(shape=(13, 11, 17), dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    n, m, p = shape
    return [(rng.random(s) * 8 - 4).astype(dtype) for s in ((n, m), (m, p), (n, p))]


def same(f, plan, *arguments):
    """Compares a call under a schedule with one of Python."""
    mine, own = ([np.copy(a) for a in arguments] for _ in range(2))
    compiled = ingot.jit(f, schedule=plan)
    assert compiled(*mine) is None
    f(*own)
    for a, b in zip(mine, own):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), plan
    return compiled


PRODUCTS = [
    S().split("i", 4),
    S().split("k", 5).split("k_inner", 2),
    S().tile(i=4, j=8),
    S().tile(i=1, j=1, k=1),
    S().tile(i=100, j=3, k=7),
    S().reorder("j", "i"),
    S().reorder("i", "k", "j").vectorize("j"),
    S().reorder("k", "i", "j").vectorize("j", 8),
    S().reorder("k", "j", "i"),
    S().vectorize("j", 16),
    S().vectorize("i"),
    S().unroll("i", 4),
    S().unroll("k", 3),
    S().unroll("k", 4).unroll("i", 2),
    S().fuse("i", "j"),
    S().fuse("j", "k").vectorize("i"),
    S().fuse("i", "j", "ij").vectorize("ij", 4).parallel("ij"),
    S().parallel("i"),
    S().parallel("j", grain=3),
    S().tile(i=4, j=32).reorder("i_outer", "j_outer", "j_inner", "k", "i_inner").vectorize("j_inner", 16).unroll("i_inner").parallel("i_outer"),
    S().split("i", 4).split("j", 8).reorder("i_outer", "j_outer", "k", "i_inner", "j_inner").unroll("i_inner").vectorize("j_inner"),
    S().tile(i=4, k=8).reorder("k_outer", "j", "i_outer").unroll("i_inner"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("plan", PRODUCTS, ids=shown)
def test_products(plan):
    for shape in ((13, 11, 17), (1, 1, 1), (4, 8, 32), (5, 3, 2), (9, 16, 33)):
        same(product, plan, *given(shape))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("plan", PRODUCTS[:8] + PRODUCTS[-3:], ids=shown)
def test_empty_arrays(plan):
    for shape in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)):
        same(product, plan, *given(shape))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint64, np.complex128, np.float16], ids=shown)
def test_dtypes(dtype):
    for plan in (PRODUCTS[2], PRODUCTS[6], PRODUCTS[-3], PRODUCTS[-2]):
        same(product, plan, *(np.asarray(a) for a in given(dtype=dtype)))


def test_layouts():
    a, b, c = given()
    for plan in (PRODUCTS[2], PRODUCTS[6], PRODUCTS[-3]):
        same(product, plan, np.asfortranarray(a), b[::-1][::-1], c)
        same(product, plan, a[:, ::-1], np.asfortranarray(b), np.asfortranarray(c))
        same(product, plan, np.broadcast_to(a[:1], a.shape), b, c)


@pytest.mark.parametrize(
    "plan",
    [S().tile(i=4, j=8), S().reorder("j", "i"), S().vectorize("j", 8), S().tile(i=4, j=8).unroll("i_inner").vectorize("j_inner"), S().split("k", 4), S().unroll("k", 4), S().fuse("i", "j"), S().parallel("i", grain=2)],
    ids=shown,
)
def test_sums_in_variables(plan):
    same(summed, plan, *given())
    same(summed, plan, *given((3, 0, 2)))


@pytest.mark.parametrize("plan", [S().tile(y=4, x=8).vectorize("x_inner"), S().reorder("x", "y"), S().unroll("y", 3), S().fuse("y", "x").parallel("y_x"), S().tile(y=3, x=5).unroll("y_inner").unroll("x_inner")], ids=shown)
def test_filters(plan):
    a, b, c = given((13, 17, 17))
    same(filtered, plan, a, b, np.zeros_like(a))
    same(filtered, plan, a[:2, :2], b, np.zeros((2, 2)))


@pytest.mark.parametrize("plan", [S().split("i", 4), S().unroll("i", 2), S().split("j", 4).unroll("j_inner"), S().reorder("i", "j")], ids=shown)
def test_iterations_that_depend_on_each_other_keep_their_order(plan):
    for f in (rows, drifting):
        same(f, plan, *given((9, 17, 17)))


@pytest.mark.parametrize(
    "f, plan, words",
    [
        (rows, S().parallel("i"), "shared by threads"),
        (rows, S().vectorize("i"), "in lanes"),
        (drifting, S().reorder("j", "i"), "`j` (line"),
        (drifting, S().tile(i=4, j=4), "may be one element"),
        (product, S().vectorize("k"), "in lanes"),
        (product, S().parallel("k"), "may be one element in two of its iterations"),
        (summed, S().reorder("k", "j"), "carries a value"),
        (summed, S().vectorize("k"), "carries a value"),
        (triangle, S().reorder("j", "i"), "the number of iterations of `j` depends on"),
        (triangle, S().fuse("i", "j"), "another number of iterations in each of the first"),
        (product, S().parallel("q"), "the loop `q`, which this function does not have"),
        (product, S().fuse("i", "k"), "not directly in one another"),
        (product, S().fuse("j", "i"), "not directly in one another"),
        (product, S().vectorize("j", 8).split("j", 4), "after it has been chosen for lanes"),
        (product, S().unroll("j", 4).vectorize("j_inner"), "after it has been written out"),
        (product, S().parallel("i").fuse("i", "j"), "after it has been shared by threads"),
        (product, S().parallel("i").parallel("j"), "inside another one"),
        (product, S().unroll("i", 32).unroll("j", 32).unroll("k", 32), "operations with those of the loops inside"),
        (product, S().unroll("k"), "not known when compiling"),
        (product, S().split("i", 4).unroll("i_outer"), "not known when compiling"),
        (product, S().split("i", 100).unroll("i_inner"), "more than 64"),
        (product, S().split("i", 4, outer="j"), "a second loop named `j`"),
    ],
    ids=shown,
)
def test_refusals(f, plan, words):
    a, b, c = given((9, 17, 17))
    kept = c.copy()
    with pytest.raises(ingot.UnsupportedError) as refused:
        ingot.jit(f, schedule=plan)(a, b, c)
    message = str(refused.value)
    assert words in message and "test_schedules.py" in message, message
    assert np.array_equal(c, kept)


def several(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2
    for i in range(len(x)):
        y[i] += y[i - 1]


def test_names_of_several_loops_have_lines():
    x = np.arange(40.0)
    with pytest.raises(ingot.UnsupportedError, match="the name of several") as refused:
        ingot.jit(several, schedule=S().vectorize("i"))(x, x.copy())
    line = several.__code__.co_firstlineno + 1
    assert f"`i:{line}` or `i:{line + 2}`" in str(refused.value)
    same(several, S().vectorize(f"i:{line}", 4).unroll(f"i:{line + 2}", 3), x, np.zeros(40))
    same(several, S().tile({f"i:{line}": 4}).tile({f"i:{line + 2}": 3}).vectorize(f"i_{line}_inner"), x, np.zeros(40))


def scan(x):
    for i in range(x.shape[0] - 1):
        x[i + 1] += x[i]


def scans(a):
    for i in range(a.shape[0]):
        scan(a[i])


def inner_again(a):
    for i in range(a.shape[0]):
        r = i
        for i in range(a.shape[1] - 1):
            a[r, i + 1] += a[r, i]


@pytest.mark.parametrize("f", [scans, inner_again])
def test_loops_of_one_name_in_each_other_are_told_apart(f):
    a = np.arange(60.0).reshape(6, 10)
    for plan in (S().split("i", 4).parallel("i_outer"), S().parallel("i")):
        with pytest.raises(ingot.UnsupportedError, match="the name of several"):
            ingot.jit(f, schedule=plan)(a)
    line = f.__code__.co_firstlineno + 1
    same(f, S().split(f"i:{line}", 4).parallel(f"i_{line}_outer"), a)
    inner = (scan if f is scans else inner_again).__code__.co_firstlineno + (1 if f is scans else 3)
    same(f, S().unroll(f"i:{inner}", 3), a)
    with pytest.raises(ingot.UnsupportedError, match="may be one element"):
        ingot.jit(f, schedule=S().parallel(f"i:{inner}"))(a)


def test_two_names_of_one_loop_are_one():
    line = product.__code__.co_firstlineno + 2
    plan = S().unroll("i", 4).parallel("j").vectorize(f"j:{line}", 8)
    shown_nest = dict(same(product, plan, *given()).explain(*given()).sections)["schedule"]
    assert f"for j:  # threads, 8 lanes, line {line}" in shown_nest


def into_one(c, a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i] += a[i, j]


def test_fused_loops_are_independent_only_if_both_are():
    for shape in ((2, 16), (40, 3), (16, 16)):
        for plan in (S().fuse("i", "j"), S().fuse("i", "j").split("i_j", 8), S().fuse("i", "j").unroll("i_j", 4)):
            same(into_one, plan, np.zeros(shape[0]), np.ones(shape))

    def shorter(c, a):
        for i in range(a.shape[0]):
            for j in range(a.shape[1] - 1):
                c[i, j] = a[i, j + 1]

    same(shorter, S().fuse("i", "j").vectorize("i_j"), np.zeros((20, 30)), np.ones((20, 30)))


def copied_into(c, a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j]


@pytest.mark.parametrize(
    "plan",
    [S().reorder("j", "i"), S().tile(i=2, j=2), S().split("i", 2).reorder("j", "i_outer", "i_inner").unroll("i_inner"), S().parallel("i"), S().parallel("j"), S().split("j", 4).reorder("j_outer", "i", "j_inner").parallel("j_outer")],
    ids=shown,
)
def test_elements_that_share_memory(plan):
    for shape, strides in (((20, 20), (8, 8)), ((20, 20), (0, 8)), ((20, 20), (80, 8)), ((20, 20), (160, 8)), ((9, 9), (320, 16))):
        outcomes = []
        for f in (copied_into, ingot.jit(copied_into, schedule=plan)):
            memory, a = np.zeros(1000), np.arange(400.0).reshape(20, 20)[: shape[0], : shape[1]]
            f(np.lib.stride_tricks.as_strided(memory, shape, strides), a)
            outcomes.append(memory)
        assert np.array_equal(*outcomes), (plan, strides)


def test_strided_outputs():
    for plan in PRODUCTS[1:]:
        a, b, c = given()
        wide = np.zeros((c.shape[0] * 2, c.shape[1] * 2))
        expected = wide.copy()
        product(a, b, expected[::2, ::2])
        try:
            ingot.jit(product, schedule=plan)(a, b, wide[::2, ::2])
        except ingot.UnsupportedError as refused:
            assert "in lanes" in str(refused)
            continue
        assert wide.tobytes() == expected.tobytes(), plan


def test_threads_share_the_loop_that_is_named_alone():
    nest = ingot.jit(copied_into, schedule=S().parallel("j"))
    a = np.ones((400, 500))
    text = dict(nest.explain(np.zeros((400, 500)), a).sections)["loops"]
    line = copied_into.__code__.co_firstlineno + 1
    lines = text.splitlines()
    assert any("thread" in row and f"{line + 1}" in row for row in lines) and not any("shared" in row and row.startswith(f"{line} ") for row in lines), text


def by_rank(a, c):
    if a.ndim == 2:
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                c[i, j] = a[i, j]
    else:
        for k in range(a.shape[0]):
            c[k] = a[k]


def test_names_in_branches_that_are_not_compiled():
    for shape in ((20, 30), (40,)):
        same(by_rank, S().tile(i=4, j=4).unroll("k", 2), np.ones(shape), np.zeros(shape))


@pytest.mark.parametrize("plan", [S().tile(y=4, x=8).vectorize("x_inner"), S().reorder("x", "y"), S().parallel("y"), S().unroll("y", 2).vectorize("x")], ids=shown)
def test_array_statements(plan):
    for shape in ((13, 11, 17), (1, 1, 1), (0, 3, 3)):
        a, b, c = given(shape)
        if min(shape):
            same(arrays, plan, a, b, c)


def test_explain_shows_the_nest():
    plan = S().tile(i=4, j=32).reorder("i_outer", "j_outer", "j_inner", "k", "i_inner").vectorize("j_inner", 16).unroll("i_inner").parallel("i_outer")
    shown = dict(ingot.jit(product, schedule=plan).explain(*given()).sections)["schedule"]
    line = product.__code__.co_firstlineno
    assert shown == (
        f"for i_outer:  # threads, line {line + 1}\n"
        f"  for j_outer:  # line {line + 2}\n"
        f"    for j_inner in at most 32:  # 16 lanes, line {line + 2}\n"
        f"      for k:  # line {line + 3}\n"
        f"        for i_inner in at most 4:  # written out, line {line + 1}\n"
    )
    assert "schedule" not in dict(ingot.jit(product).explain(*given()).sections)


def test_schedules_are_values():
    plan = S().tile(i=4, j=8).vectorize("j_inner", 8)
    assert plan == S().split("i", 4).split("j", 8).reorder("i_outer", "j_outer", "i_inner", "j_inner").vectorize("j_inner", 8)
    assert hash(plan) == hash(pickle.loads(pickle.dumps(plan))) and pickle.loads(pickle.dumps(plan)) == plan
    assert plan != S() and S() == ingot.Schedule() and repr(plan) == "ingot.schedule().tile(i=4, j=8).vectorize('j_inner', 8)"
    assert eval(repr(S().tile({"i:3": 4}).unroll("k", 2).parallel("j", grain=2).fuse("a", "b"))) == S().tile({"i:3": 4}).unroll("k", 2).parallel("j", grain=2).fuse("a", "b")


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: S().split("i", 0), ValueError),
        (lambda: S().split("i", 2.5), TypeError),
        (lambda: S().split(3, 2), TypeError),
        (lambda: S().split("i j", 2), ValueError),
        (lambda: S().split("i", 2, outer="i"), ValueError),
        (lambda: S().split("i", 2, outer="o:3"), ValueError),
        (lambda: S().tile(), ValueError),
        (lambda: S().reorder("i"), ValueError),
        (lambda: S().reorder("i", "i"), ValueError),
        (lambda: S().vectorize("i", 3), ValueError),
        (lambda: S().vectorize("i", 128), ValueError),
        (lambda: S().unroll("i", -1), ValueError),
        (lambda: S().split("i", 2**31), ValueError),
        (lambda: S().fuse("i", "j", "i"), ValueError),
        (lambda: ingot.jit(product, schedule="i"), TypeError),
        (lambda: ingot.loop(), TypeError),
        (lambda: ingot.loop("1x"), ValueError),
        (lambda: ingot.loop("y:3"), ValueError),
        (lambda: ingot.loop(name="x"), TypeError),
    ],
)
def test_wrong_steps(make, error):
    with pytest.raises(error):
        make()


def test_names_are_given_from_the_outside_in():
    def named(a, b, c):
        with ingot.loop("row", "column"):
            for i in range(c.shape[0]):
                for j in range(c.shape[1]):
                    c[i, j] = a[i, 0] + b[0, j]

    same(named, S().tile(row=4, column=4).vectorize("column_inner"), *given())
    with pytest.raises(ingot.UnsupportedError, match="the loop `i`, which this function does not have"):
        ingot.jit(named, schedule=S().vectorize("i"))(*given())


@pytest.mark.parametrize("names", ["", '"y:3"', '"1x"', 'name="x"', "3"])
def test_names_that_are_none_are_refused(names):
    scope = {"ingot": ingot}
    import linecache

    text = f"def f(c):\n    with ingot.loop({names}):\n        c[:] = 1\n"
    linecache.cache[f"loop {names}.py"] = (len(text), None, text.splitlines(True), f"loop {names}.py")
    exec(compile(text, f"loop {names}.py", "exec"), scope)
    with pytest.raises(ingot.UnsupportedError, match="which does not name loops"):
        ingot.jit(scope["f"])(np.zeros(4))


def test_a_schedule_is_pickled_with_its_function():
    from ingot._calls.function import _restored

    plan = S().tile(i=4, j=8)
    _, (portable, *options) = ingot.jit(product, schedule=plan).__reduce_ex__(4)
    assert ingot.jit(product, schedule=plan)._directives == _restored(product, *options)._directives


def test_the_cache_tells_schedules_apart(tmp_path):
    (tmp_path / "one.py").write_text(
        "import sys, numpy as np, ingot\n"
        "def f(a, c):\n    for i in range(a.shape[0]):\n        for j in range(a.shape[1]):\n            c[i, j] = a[i, j] * 3\n"
        "S = ingot.schedule\n"
        "for plan in (None, S().tile(i=2, j=2), S().reorder('j', 'i'), S().vectorize('j', 4)):\n"
        "    a, c = np.arange(600.0).reshape(20, 30), np.zeros((20, 30))\n"
        "    g = ingot.jit(f, schedule=plan)\n    g(a, c)\n    assert (c == 3 * a).all()\n    print(g.specialisations[0].why)\n"
    )
    from caching import environment

    seen = []
    for _ in range(2):
        command = [sys.executable, str(tmp_path / "one.py")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), timeout=100)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.split("\n")[:-1])
    assert "the cache" not in seen[0] and seen[1] == ["the cache"] * 4


STEPS = [
    lambda rng: ("split", (str(rng.choice(["i", "j", "k"])), int(rng.integers(1, 6)))),
    lambda rng: ("unroll", (str(rng.choice(["i", "j", "k"])), int(rng.integers(1, 5)))),
    lambda rng: ("vectorize", (str(rng.choice(["i", "j", "i_inner", "j_inner"])), int(rng.choice([2, 4, 8, 16])))),
    lambda rng: ("parallel", (str(rng.choice(["i", "j", "i_outer"])),)),
    lambda rng: ("reorder", tuple(map(str, rng.permutation(["i", "j", "k"])[: rng.integers(2, 4)]))),
    lambda rng: ("reorder", tuple(map(str, rng.permutation(["i_outer", "i_inner", "j", "k", "j_outer", "j_inner"])[: rng.integers(2, 5)]))),
    lambda rng: ("fuse", tuple(map(str, rng.permutation(["i", "j", "k", "i_inner"])[:2]))),
]


def test_random_schedules():
    """What is not refused gives the same bits."""
    rng = np.random.default_rng(5)
    arguments = given((17, 16, 19))
    taken = 0
    for f, _ in itertools.product((product, filtered, drifting), range(12)):
        a, b, c = arguments
        names = str.maketrans("ijk", "yxx") if f is filtered else {}
        try:
            plan = S()
            for _ in range(rng.integers(1, 5)):
                name, values = STEPS[rng.integers(len(STEPS))](rng)
                plan = getattr(plan, name)(*(v[0].translate(names) + v[1:] if isinstance(v, str) else v for v in values))
            same(f, plan, *((a, b, np.zeros_like(a)) if f is filtered else (a, b, c)))
            taken += 1
        except (ingot.UnsupportedError, ValueError):
            pass
    assert taken >= 5


@pytest.mark.parametrize("make", ["ingot.jit(f, schedule=plan)", "_with(ingot.jit(f), plan)"])
def test_lines_of_another_process_are_not_those_of_now(make, tmp_path):
    """Code of a schedule that names a line is not taken from the disk: also where `autotune` has made the function."""
    from caching import environment

    text = (
        "import numpy as np, ingot\nfrom ingot._calls.autotuning import _with\n"
        "def f(c):\n    for i in range(c.shape[0]):\n        c[i] = 3\n"
        f"plan = ingot.schedule().unroll('i:4', 4)\n{make}(np.zeros(40))\n"
    )
    outcomes = []
    for above in ("", "", "\n"):
        (tmp_path / "one.py").write_text(above + text)
        command = [sys.executable, str(tmp_path / "one.py")]
        outcomes.append(subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), timeout=100).stderr)
    assert outcomes[:2] == ["", ""] and "the loop `i:4`, which this function does not have" in outcomes[2]


def test_a_schedule_is_of_its_function_alone():
    """Its steps, of which this one is refused in a call, are not taken in callers, in derivatives and on devices."""

    def row_sums(a):
        out = np.zeros(a.shape[0])
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                out[i] += a[i, k]
        return out

    a = given()[0]
    scheduled = ingot.jit(row_sums, schedule=S().parallel("k"))
    with pytest.raises(ingot.UnsupportedError, match="shared by threads"):
        scheduled(a)
    assert np.array_equal(ingot.jit(lambda a: scheduled(a) + 1)(a), row_sums(a) + 1)
    assert np.array_equal(ingot.grad(lambda a: scheduled(a).sum())(a), np.ones_like(a))
    assert np.array_equal(ingot.jit(row_sums, schedule=S().parallel("k"), device="emulated")(a), row_sums(a))
