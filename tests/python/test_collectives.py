"""The rules of docs/batching.md on collectives of batch elements: `ingot.psum` and its kin."""

from collections import namedtuple

import numpy as np
import pytest

import ingot
from ingot.library.batching import batched
from support import MODES, copied, difference, jitted

Pair = namedtuple("Pair", "a b")
GRID = np.arange(12.0).reshape(3, 4) ** 1.5
LINE = np.arange(1.0, 6.0)


def gives(function, expected, *arguments, bound=1e-14, python=True, **options):
    """The batch of a function gives what is expected, in both modes and without the compiler."""
    options = {"axis_name": "i", **options}
    for mode in MODES:
        got = jitted(batched(function, **options), mode)(*copied(arguments))
        problem = difference(got, expected, bound)
        assert problem is None, f"{mode}: {problem}"
    assert difference(ingot.vmap(function, **options)(*arguments), expected, bound) is None
    if python:
        assert difference(batched(function, **options)(*copied(arguments)), expected, bound) is None


def refuses(words, function, *arguments, kind=ingot.UnsupportedError, **options):
    for mode in MODES:
        with pytest.raises(kind, match=words):
            jitted(batched(function, **{"axis_name": "i", **options}), mode)(*copied(arguments))


@pytest.mark.rotated(4)
def test_sums_of_all_batch_elements():
    gives(lambda v: ingot.psum(v, "i"), np.full(5, 15.0), LINE)
    gives(lambda v: v / ingot.psum(v, "i"), LINE / 15, LINE)
    gives(lambda r: r - ingot.psum(r * r, "i"), GRID - (GRID**2).sum(0), GRID)
    gives(lambda v: v / ingot.lax.psum(v, "i"), LINE / 15, LINE)
    for dtype in (np.int8, np.int32, np.uint16, np.float32, np.complex64):
        x = np.arange(1, 5).astype(dtype)
        gives(lambda v: ingot.psum(v, "i"), np.full(4, 10, dtype), x)
    gives(lambda v: ingot.psum(v > 2, "i"), np.full(5, 3), LINE)


@pytest.mark.rotated(4)
def test_means_and_extremes_of_all_batch_elements():
    gives(lambda r: r - ingot.pmean(r, "i"), GRID - GRID.mean(0), GRID)
    gives(lambda k: ingot.pmean(k, "i"), np.full(4, 1.5), np.arange(4))
    gives(lambda r: (ingot.pmax(r, "i"), ingot.pmin(r, "i")), (np.stack([GRID.max(0)] * 3), np.stack([GRID.min(0)] * 3)), GRID)
    gives(lambda k: ingot.pmax(k * k, "i") - ingot.pmin(k, "i"), np.full(4, 9), np.arange(4))


@pytest.mark.rotated(4)
def test_gathered_lanes():
    cube = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1, -3):
        gives(lambda m, axis=axis: ingot.all_gather(m, "i", axis=axis), np.stack([np.moveaxis(cube, 0, axis)] * 2), cube)
    for axis in (0, 1, -1):
        gives(lambda m, axis=axis: ingot.all_gather(m, "i", axis, tiled=True), np.stack([np.concatenate(cube, axis)] * 2), cube)
    gives(lambda v: ingot.all_gather(v, "i") * v, np.outer(LINE, LINE), LINE)
    refuses("out of bounds", lambda v: ingot.all_gather(v, "i", axis=1), LINE, kind=ValueError)


@pytest.mark.rotated(4)
def test_results_of_their_own():
    square, cube = np.arange(9.0).reshape(3, 3), np.arange(54.0).reshape(3, 6, 3)
    gives(lambda r: ingot.ppermute(r, "i", [(0, 2), (1, 0)]), np.stack([GRID[1], GRID[1] * 0, GRID[0]]), GRID)
    gives(lambda r: ingot.psum_scatter(r, "i"), square.sum(0), square)
    gives(lambda m: ingot.psum_scatter(m, "i", tiled=True), cube.sum(0).reshape(3, 2, 3), cube)
    gives(lambda r: ingot.all_to_all(r, "i", 0, 0) * ingot.axis_size("i"), square.T * 3, square)
    joined = [np.concatenate([cube[k][2 * i : 2 * i + 2] for k in range(3)], 1) for i in range(3)]
    gives(lambda m: ingot.all_to_all(m, "i", 0, 1, tiled=True), np.stack(joined), cube)
    gives(lambda r: ingot.lax.ppermute(ingot.psum(r, "i"), "i", [(0, 1)]), np.stack([GRID[0] * 0, GRID.sum(0), GRID[0] * 0]), GRID)
    refuses("must be unique", lambda r: ingot.ppermute(r, "i", [(0, 1), (0, 2)]), GRID, kind=ValueError)
    refuses("4, is not that of the named axis, 3", lambda r: ingot.psum_scatter(r, "i"), GRID, kind=ValueError)
    refuses("along several named axes", lambda r: ingot.ppermute(r, ("i",), [(0, 1)]), GRID)


@pytest.mark.rotated(3)
def test_structures_come_together():
    def both(r):
        total = ingot.psum({"a": r, "b": Pair(r.sum(), (None, [1 + r[0]]))}, "i")
        return total["b"].a, total["b"].b[1][0] + r, total["a"]

    gives(both, (np.full(3, GRID.sum()), GRID + (3 + GRID[:, 0].sum()), np.stack([GRID.sum(0)] * 3)), GRID)


@pytest.mark.rotated(3)
def test_a_number_of_all_batch_elements():
    gives(lambda v: v / ingot.psum(1, "i"), LINE / 5, LINE)
    gives(lambda v: v + ingot.pmax(2, "i") + ingot.pmean(3, "i"), LINE + 5, LINE)
    gives(lambda r: r[0] + ingot.psum(ingot.axis_index("i"), "i"), GRID[:, 0] + 3, GRID)
    gives(lambda r: r + ingot.psum(1.0 * ingot.axis_index("i"), "i"), GRID + 3, GRID)


@pytest.mark.rotated(4)
def test_one_after_the_other():
    def scaled(v):
        low = ingot.pmin(v, "i")
        high = ingot.pmax(v - low, "i")
        return (v - low) / high - ingot.pmean((v - low) / high, "i")

    unit = (LINE - 1) / 4
    gives(scaled, unit - unit.mean(), LINE)

    def repeated(r):
        for _ in range(3):
            r = r * r / ingot.psum(r, "i")
        return r

    expected = GRID + 1
    for _ in range(3):
        expected = expected * expected / expected.sum(0)
    gives(repeated, expected, GRID + 1)
    gives(lambda r: r + sum([ingot.psum(r[k], "i") for k in range(4)]), GRID + GRID.sum(), GRID, bound=1e-13)


@pytest.mark.rotated(4)
def test_bodies_around_collectives():
    def program(r):
        own = np.zeros(4)
        for k in range(4):
            own[k] = r[k] * 2 if r[k] > 5 else r[k]
        own += 1
        iterations = 0
        while own.sum() > 20:
            own *= 0.5
            iterations += 1
        total = ingot.psum(own, "i").copy()
        total += np.sort(own)[::-1]
        return total, iterations

    owns, iterations = [], []
    for r in GRID:
        own = np.where(r > 5, r * 2, r) + 1
        iterations.append(0)
        while own.sum() > 20:
            own = own * 0.5
            iterations[-1] += 1
        owns.append(own)
    expected = np.stack([sum(owns) + np.sort(own)[::-1] for own in owns])
    gives(program, (expected, np.array(iterations)), GRID)
    matrix = np.eye(4) * 2 + 0.1
    solved = np.linalg.solve(matrix, GRID.T).T
    gives(lambda r: np.linalg.solve(matrix, r) - ingot.pmean(np.linalg.solve(matrix, r), "i"), solved - solved.mean(0), GRID, bound=1e-12)


@pytest.mark.rotated(5)
def test_named_axes_in_each_other():
    inner = ingot.vmap(lambda v: v / ingot.psum(v, "i") + ingot.psum(v, "j"), axis_name="j")
    expected = (GRID + 1) / (GRID + 1).sum(0) + (GRID + 1).sum(1)[:, None]
    assert difference(ingot.vmap(inner, axis_name="i")(GRID + 1), expected, 1e-14) is None
    unnamed = ingot.vmap(lambda v: v - ingot.pmean(v, "i"))
    assert difference(ingot.vmap(unnamed, axis_name="i")(GRID), GRID - GRID.mean(0), 1e-14) is None
    gives(lambda r: ingot.vmap(lambda v: ingot.all_gather(v * r[0], "i"))(r), np.stack([(GRID * GRID[:, :1]).T] * 3), GRID, python=False)
    both = ingot.vmap(lambda v: v / ingot.psum(v, ("i", "j")), axis_name="j")
    assert difference(ingot.vmap(both, axis_name="i")(GRID), GRID / GRID.sum(), 1e-14) is None
    gives(
        lambda r: ingot.psum(ingot.vmap(lambda v: v - ingot.pmax(v, "i"), axis_name="i")(r), "i"),
        np.stack([(GRID - GRID.max(1)[:, None]).sum(0)] * 3),
        GRID,
        python=False,
    )


@pytest.mark.rotated(5)
def test_derivatives_of_batches_with_collectives():
    def shares(x):
        return ingot.vmap(lambda y: y**2 / ingot.psum(y, "i"), axis_name="i")(x)

    expected = 2 * LINE / 15 - (LINE**2).sum() / 225
    for mode in MODES:
        got = jitted(lambda x: ingot.grad(lambda z: np.sum(shares(z)))(x), mode)(LINE)
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    ingot.check_grads(shares, (LINE,), order=2)
    ingot.check_grads(lambda x: ingot.vmap(lambda r: r * ingot.pmax(r, "i") - ingot.pmean(r, "i"), axis_name="i")(x), (GRID,))
    ingot.check_grads(lambda x: ingot.vmap(lambda r: ingot.all_gather(r, "i", axis=1) @ ingot.psum(r[:3], "i"), axis_name="i")(x), (GRID,))
    nested = ingot.vmap(lambda v: v * ingot.psum(v, "i") - ingot.psum(v * v, "j"), axis_name="j")
    ingot.check_grads(ingot.vmap(nested, axis_name="i"), (GRID,))
    jacobian = ingot.jacrev(shares)(LINE)
    np.testing.assert_allclose(jacobian, ingot.jacfwd(shares)(LINE), rtol=1e-13)


@pytest.mark.rotated(3)
def test_derivatives_in_batch_elements():
    gives(lambda v: ingot.pmean(ingot.grad(lambda z: z * z)(v), "i"), np.full(5, 6.0), LINE, python=False)
    gives(lambda v: ingot.jvp(lambda z: z * ingot.psum(z, "i"), (v,), (1.0,))[1], 15 + LINE * 5, LINE, python=False)
    shift = ingot.vmap(lambda v: ingot.grad(lambda z: z * z + 0 * z)(v - ingot.pmean(v, "i")), axis_name="i")
    assert difference(shift(LINE), 2 * (LINE - 3)) is None
    refuses("the derivative, by a batch element, of a collective", lambda v: ingot.grad(lambda z: z * ingot.psum(z, "i"))(v), LINE)
    refuses("the derivative, by a batch element, of a collective", lambda v: ingot.jvp(lambda z: ingot.pmax(z, "i"), (v,), (1.0,))[1], LINE)


def test_the_lowest_batch_element_raises_before_collectives():
    def need(v):
        if v > 2.5:
            raise ValueError(f"lane of {int(v)}")
        return ingot.psum(v, "i")

    gives(need, np.full(2, 3.0), LINE[:2])
    refuses("lane of 3", need, LINE, kind=ValueError)


def test_what_is_done_after_the_last_collective(capsys):
    def shown(v):
        total = ingot.psum(v, "i")
        print("lane", v, "of", total)
        return total

    ingot.vmap(shown, axis_name="i")(LINE[:2])
    assert capsys.readouterr().out == "lane 1.0 of 3.0\nlane 2.0 of 3.0\n"


def test_no_batch_elements_come_together():
    gives(lambda v: v / ingot.psum(v, "i"), np.zeros(0), np.zeros(0), python=False)


def test_axes_that_are_not_there():
    for call in (ingot.psum, ingot.pmean, ingot.pmax, ingot.pmin, ingot.all_gather):
        with pytest.raises(NameError, match="unbound axis name: k"):
            call(1.0, "k")
        refuses("unbound axis name: k", lambda v, call=call: call(v, "k"), LINE, kind=NameError)


def early(v):
    if v > 2:
        return v
    return ingot.psum(v, "i")


def counted(v):
    while v < 10:
        v = v + ingot.psum(v, "i")
    return v


def in_try(v):
    try:
        return ingot.psum(v, "i")
    except ValueError:
        return v


def test_where_not_all_batch_elements_come():
    refuses("in a branch or loop", lambda v: ingot.psum(v, "i") if v > 2 else v, LINE)
    refuses("in a branch or loop", counted, LINE)
    refuses("in a branch or loop", lambda v: sum(ingot.psum(v, "i") for _ in range(int(v))), LINE)
    refuses("after a `return`, `break` or `continue`", early, LINE)
    refuses("in a `try`", in_try, LINE)
    gives(lambda v: ingot.psum(v, "i") if FLAG else v, np.full(5, 15.0), LINE)


FLAG = True
STREAM = np.random.default_rng(1)


def test_what_would_be_done_again():
    log = [0.0]
    seen = np.zeros(5)

    def written_before(r):
        r[0] = 1
        return ingot.psum(r, "i")

    def written_behind(r):
        total = ingot.psum(r, "i")
        r[0] = 1
        return total

    def written_through(r):
        rows = r if r[0] > 100 else r + 1
        rows[0] = 2
        return ingot.psum(rows, "i")

    def changed_result(r):
        total = ingot.psum(r, "i")
        total += 1
        return total

    def captured(v):
        seen[0] += v
        return ingot.psum(v, "i")

    def kept(v):
        log[0] = v
        return ingot.psum(v, "i")

    def printed(v):
        print(v)
        return ingot.psum(v, "i")

    array = "writes into an array it has not made"
    for function in (written_before, written_behind, written_through, changed_result):
        refuses(array, function, GRID)
    refuses(array, captured, LINE)
    refuses("changes a container, instance or variable from outside|writes into an array", kept, LINE)
    refuses("prints, draws or calls Python before", printed, LINE)
    refuses("prints, draws or calls Python before", lambda v: ingot.psum(v * STREAM.random(), "i"), LINE)


def own(v):
    found = []
    for k in range(3):
        found.append(v * k)
    total = 0.0

    def add(x):
        nonlocal total
        total += x

    for x in found:
        add(x)
    return ingot.psum(total, "i") + found[1]


def test_what_batch_elements_make_is_their_own():
    gives(own, 45 + LINE, LINE)


def test_vmap_in_compiled_functions_with_collectives():
    @ingot.jit
    def step(weights, xs, ys):
        def lane(x, y):
            return ingot.pmean(ingot.grad(lambda w: (w @ x - y) ** 2)(weights), "i")

        return weights - 0.1 * ingot.vmap(lane, axis_name="i")(xs, ys)[0]

    weights, xs, ys = np.array([1.0, -1.0]), np.arange(6.0).reshape(3, 2), np.array([1.0, 0.0, 2.0])
    slope = (2 * (xs @ weights - ys)[:, None] * xs).mean(0)
    np.testing.assert_allclose(step(weights, xs, ys), weights - 0.1 * slope, rtol=1e-13)
