"""The interpreter against NumPy: every op of the table that NumPy has, over all dtypes, shapes and layouts."""

import itertools
import re

import numpy as np
import pytest
import test_math_numpy as mathematics
from interpreter import DTYPES, KEYS, Fault, Raised, View, run
from programs import ROOT

CARDS = mathematics.CARDS
SHAPES = [(), (0,), (1,), (5,), (33,), (1025,), (5, 33), (0, 5), (33, 1), (5, 1, 33), (2, 3, 5)]
LAYOUTS = ["c", "f", "strided", "negative", "broadcast", "misaligned"]
COMBINATIONS = list(zip(SHAPES, itertools.cycle(LAYOUTS))) + list(zip(SHAPES, itertools.cycle(LAYOUTS[3:] + LAYOUTS[:3])))


def values(key, shape, seed):
    count = int(np.prod(shape))
    x = np.array(mathematics.random_values(key, count, seed))
    specials = {"f": [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0], "c": [complex(np.nan, 1), complex(1, -0.0), 0j]}
    for i, special in enumerate(specials.get(x.dtype.kind, [])):
        if count > 8 * i:
            x[(7 * seed + 8 * i) % count] = special
    return x.reshape(shape)


def laid_out(x, layout):
    """The same values in other memory."""
    if layout == "f":
        return x.copy(order="F")
    if layout == "strided":
        wide = np.zeros([2 * n for n in x.shape], x.dtype)
        view = wide[(..., *[slice(None, None, 2)] * x.ndim)]
    elif layout == "negative":
        wide = np.zeros(x.shape, x.dtype)
        view = wide[(..., *[slice(None, None, -1)] * x.ndim)]
    elif layout == "broadcast" and x.ndim and x.shape[0]:
        return np.broadcast_to(x[:1], x.shape)
    elif layout == "misaligned":
        memory = np.zeros(x.nbytes + 1, np.uint8)
        view = memory[1:].view(x.dtype).reshape(x.shape)
    else:
        return np.array(x)
    view[...] = x
    return view


def array_type(x):
    return f"array<{KEYS[x.dtype]}, {x.ndim}>"


def view_type(x):
    return f"view<{KEYS[x.dtype]}, {x.ndim}>"


def result_type(dtype, rank, scalar_at_rank_0=False):
    key = KEYS[np.dtype(dtype)]
    return key if rank == 0 and scalar_at_rank_0 else f"array<{key}, {rank}>"


def structural(op, attributes, result, *arrays, constants=()):
    """One op on array arguments, and on i64 constants after them."""
    parameters = ", ".join(f"%x{i}: {array_type(x)}" for i, x in enumerate(arrays))
    lines = [f"  %n{i} = constant {n} : i64" for i, n in enumerate(constants)]
    operands = ", ".join([f"%x{i}" for i in range(len(arrays))] + [f"%n{i}" for i in range(len(constants))])
    words = f" {{{attributes}}}" if attributes else ""
    text = f"func @f({parameters}) -> ({result}) {{\n" + "\n".join(lines)
    text += f"\n  %y = {op} {operands}{words} : {result}\n  return %y\n}}"
    return run(text, *arrays)[0]


def demand_same(got, want, what, zero_signs=True):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (what, got.dtype, want.dtype, got.shape, want.shape)
    mathematics.demand(mathematics.same(got.ravel(), want.ravel(), zero_signs), got.ravel(), want.ravel(), (), what)


def demand_near(got, want, bound, what):
    """Within the bound where both are finite; the same kind of number elsewhere."""
    assert got.dtype == want.dtype and got.shape == want.shape, what
    with np.errstate(all="ignore"):
        fine = np.abs(got.astype(np.clongdouble) - want.astype(np.clongdouble)) <= bound
    agree = fine | (~np.isfinite(want) & ~np.isfinite(got)) | (~np.isfinite(bound))
    mathematics.demand(agree.ravel(), got.ravel(), want.ravel(), (), what)


# --- Elementwise ops over arrays -----------------------------------------------------------------------------


def elementwise(card, key, arrays):
    rank = arrays[0].ndim
    result = result_type(card.result(key), rank)
    parameters = ", ".join(f"%v{i}: {view_type(x)}" for i, x in enumerate(arrays))
    reads = "\n".join(f"  %x{i} = read %v{i} : {array_type(x)}" for i, x in enumerate(arrays))
    operands = ", ".join(f"%x{i}" for i in range(len(arrays)))
    text = f"func @f({parameters}) -> ({result}) {{\n{reads}\n  %y = {card.name} {operands} : {result}\n  return %y\n}}"
    return run(text, *map(View, arrays))[0]


def wanted(card, key, arrays):
    """Values from base/math, which test_math_numpy.py holds to NumPy; NumPy's own where they are exact."""
    flat = [np.ascontiguousarray(x).ravel() for x in arrays]
    if card.numpy and card.name not in mathematics.ELEMENTARY_COMPLEX | {"power", "sign"}:
        want = mathematics.numpy_result(card, key, flat)
    else:
        want = mathematics.compute(card.name, key, *flat)
    return np.asarray(want).reshape(arrays[0].shape)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name, key", mathematics.CASES, ids=[f"{n}-{k}" for n, k in mathematics.CASES])
def test_elementwise(name, key):
    card = CARDS[name]
    free = name in mathematics.ZERO_SIGN_FREE
    combinations = COMBINATIONS if card.numpy else COMBINATIONS[4:6]
    for seed, (shape, layout) in enumerate(combinations):
        arrays = [laid_out(values(key, shape, seed), layout)]
        if card.operands == 2:
            arrays.append(laid_out(values(key, shape, seed + 100), LAYOUTS[seed % len(LAYOUTS)]))
        with np.errstate(all="ignore"):
            want = wanted(card, key, arrays) if arrays[0].size else np.empty(shape, card.result(key))
        demand_same(elementwise(card, key, arrays), want, (shape, layout), zero_signs=not free)


@pytest.mark.parametrize("key", DTYPES)
def test_scalars_next_to_arrays(key):
    x, s = values(key, (5, 3), 1), values(key, (1,), 2)[0]
    for name in ("add", "maximum", "less"):
        card = CARDS[name]
        result = result_type(card.result(key), 2)
        text = f"func @f(%a: {array_type(x)}, %s: {key}) -> ({result}, {result}) {{\n"
        text += f"  %y = {name} %a, %s : {result}\n  %z = {name} %s, %a : {result}\n  return %y, %z\n}}"
        y, z = run(text, x, s)
        demand_same(y, getattr(np, name)(x, s), name, zero_signs=False)
        demand_same(z, getattr(np, name)(s, x), name, zero_signs=False)


@pytest.mark.parametrize("source", DTYPES)
def test_casts_of_arrays(source):
    x = np.array(mathematics.random_values(source, 33, 3))
    x = np.clip(x, 0, 100) if x.dtype.kind in "f" else x
    for target, dtype in DTYPES.items():
        if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            continue
        got = structural("cast", "", result_type(dtype, 1), x)
        demand_same(got, x.astype(dtype), target)


# --- Structural ops ------------------------------------------------------------------------------------------

RANGES = [(0,), (1,), (5,), (33,), (1025,), (5, 33), (3, 1025), (0, 5), (2, 3, 5)]
COMBINERS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "bitwise_or", "all": "bitwise_and"}


def axes_sets(rank):
    return [axes for n in range(rank + 1) for axes in itertools.combinations(range(rank), n)]


def finite(x):
    return np.where(np.isfinite(x), x, 1).astype(x.dtype) if x.dtype.kind in "fc" else x


def reduction_bound(x, want_wide, axes, product):
    """n roundings, each at most eps of the sum of moduli (of the product)."""
    part = x.real.dtype
    n = int(np.prod([x.shape[a] for a in axes])) + 2
    with np.errstate(all="ignore"):
        size = np.abs(want_wide) if product else np.abs(x.astype(np.clongdouble)).sum(axis=axes)
    return 4 * n * np.longdouble(np.finfo(part).eps) * size + n * np.finfo(part).smallest_subnormal


def check_reduce(name, key):
    if name in ("any", "all") and key != "bool":
        return
    combiner = COMBINERS[name]
    extreme = name in ("max", "min")
    for seed, shape in enumerate(RANGES):
        x = values(key, shape, seed)
        if name in ("sum", "prod"):
            x = finite(x)
        if name == "prod" and x.dtype.kind in "fc":
            x = (np.abs(x) % 1 * 0.01 + 1).astype(x.dtype)
        for axes in axes_sets(x.ndim):
            if extreme and 0 in [x.shape[a] for a in axes]:
                continue
            words = f"combiner={combiner}, axes=[{', '.join(map(str, axes))}]"
            result = result_type(x.dtype, x.ndim - len(axes), True)
            got = structural("reduce", words, result, x)
            fn = getattr(np, name)
            with np.errstate(all="ignore"):
                if name in ("sum", "prod"):
                    want = np.asarray(fn(x, axis=axes, dtype=x.dtype))
                else:
                    want = np.asarray(fn(x, axis=axes))
                if x.dtype.kind in "fc" and not extreme:
                    wide = np.asarray(fn(x.astype(np.clongdouble), axis=axes))
                    bound = reduction_bound(x, wide, axes, name == "prod")
                    narrow = wide.astype(x.dtype) if x.dtype.kind == "c" else wide.real.astype(x.dtype)
                    demand_near(got, narrow, bound, (shape, axes))
                else:
                    demand_same(got, want, (shape, axes), zero_signs=False)
            if not extreme:
                check_masked(x, axes, combiner, fn, seed)


def check_masked(x, axes, combiner, fn, seed):
    mask = np.random.default_rng(seed).integers(0, 2, x.shape).astype(bool)
    words = f"combiner={combiner}, axes=[{', '.join(map(str, axes))}]"
    got = structural("reduce", words, result_type(x.dtype, x.ndim - len(axes), True), x, mask)
    with np.errstate(all="ignore"):
        if x.dtype.kind in "fc":
            kept = np.where(mask, x, 0 if combiner == "add" else 1).astype(x.dtype)
            want = structural("reduce", words, result_type(x.dtype, x.ndim - len(axes), True), kept)
            demand_same(got, want, "masked", zero_signs=False)
        elif combiner in ("add", "multiply"):
            demand_same(got, fn(x, axis=axes, dtype=x.dtype, where=mask), "masked")
        else:
            demand_same(got, fn(x, axis=axes, where=mask), "masked")


def check_scan(name, key):
    for seed, shape in enumerate(RANGES):
        x = values(key, shape, seed)
        for axis in range(x.ndim):
            got = structural("scan", f"combiner={COMBINERS[name[3:]]}, axis={axis}", array_type(x), x)
            with np.errstate(all="ignore"):
                want = getattr(np, name)(x, axis=axis, dtype=x.dtype)
            if name == "cumprod" and x.dtype.kind == "c":
                continue_from = np.isfinite(want) & np.isfinite(got)
                bound = 1e-3 if key == "c64" else 1e-10
                assert np.all(np.abs(got - want)[continue_from] <= bound * np.abs(want)[continue_from] + 1e-30)
            else:
                demand_same(got, want, (shape, axis))


def check_arg_reduce(name, key):
    combiner = {"argmin": "minimum", "argmax": "maximum"}[name]
    for seed, shape in enumerate(RANGES):
        x = values(key, shape, seed)
        if x.size == 0:
            continue
        for axis in range(-1, x.ndim):
            result = result_type(np.int64, 0 if axis == -1 else x.ndim - 1, True)
            got = structural("arg_reduce", f"combiner={combiner}, axis={axis}", result, x)
            want = getattr(np, name)(x, axis=None if axis == -1 else axis)
            demand_same(got, np.asarray(want, np.int64), (shape, axis))


def check_take(name, key):
    for seed, shape in enumerate(RANGES[1:]):
        x = values(key, shape, seed)
        for axis in range(x.ndim):
            if x.shape[axis] == 0:
                continue
            for index_shape in [(), (0,), (7,), (2, 3)]:
                index = np.random.default_rng(seed).integers(0, x.shape[axis], index_shape)
                index = np.asarray(index, np.int64)
                result = result_type(x.dtype, index.ndim + x.ndim - 1)
                got = structural("gather", f"axes=[{axis}]", result, x, index)
                want = np.moveaxis(x, axis, 0)[index]
                demand_same(got, want, (shape, axis))
                demand_same(np.moveaxis(got, tuple(range(index.ndim)), tuple(range(axis, axis + index.ndim))),
                            np.take(x, index, axis=axis), (shape, axis))  # fmt: skip
    x = values(key, (4, 5, 6), 3)
    i, j = np.array([[3, 0], [1, 1]]), np.array([[5, 2], [0, 2]])
    demand_same(structural("gather", "axes=[0, 2]", result_type(x.dtype, 3), x, i, j), x[i, :, j], "two axes")


def check_compress(name, key):
    for seed, shape in enumerate(RANGES):
        x = values(key, shape, seed)
        for leading in range(1, x.ndim + 1):
            mask = np.random.default_rng(seed).integers(0, 2, shape[:leading]).astype(bool)
            got = structural("compress", "", result_type(x.dtype, x.ndim - leading + 1), x, mask)
            demand_same(got, x[mask], shape)
            if leading == 1:
                demand_same(got, np.compress(mask, x, axis=0), shape)


def check_concatenate(name, key):
    for seed, shape in enumerate(RANGES):
        for axis in range(len(shape)):
            other = list(shape)
            other[axis] = 2
            parts = [values(key, shape, seed), values(key, tuple(other), seed + 1), values(key, shape, seed + 2)]
            got = structural("concat", f"axis={axis}", array_type(parts[0]), *parts)
            demand_same(got, np.concatenate(parts, axis=axis), shape)


def check_sort(name, key):
    for seed, shape in enumerate(RANGES):
        x = values(key, shape, seed)
        for axis in range(x.ndim):
            for stable in (0, 1):
                words = f"axis={axis}, stable={stable}"
                if name == "sort":
                    got = structural("sort", words, array_type(x), x)
                    demand_same(got, np.sort(x, axis=axis), (shape, axis), zero_signs=False)
                else:
                    got = structural("argsort", words, result_type(np.int64, x.ndim), x)
                    demand_same(got, np.argsort(x, axis=axis, kind="stable"), (shape, axis))


def check_matmul(name, key):
    shapes = [((5,), (5,)), ((0,), (0,)), ((3, 5), (5,)), ((5,), (5, 4)), ((3, 5), (5, 4)), ((3, 0), (0, 4)),
              ((2, 3, 5), (2, 5, 4)), ((0, 3, 5), (0, 5, 4)), ((2, 2, 3, 5), (2, 2, 5, 1))]  # fmt: skip
    for seed, (a_shape, b_shape) in enumerate(shapes):
        a, b = finite(values(key, a_shape, seed)), finite(values(key, b_shape, seed + 50))
        want = np.asarray(np.matmul(a, b))
        got = structural("dot", "", result_type(a.dtype, want.ndim, True), a, b)
        if a.dtype.kind in "fc":
            size = np.matmul(np.abs(a.astype(np.clongdouble)), np.abs(b.astype(np.clongdouble))).real
            bound = 4 * (a.shape[-1] + 1) * np.longdouble(np.finfo(a.real.dtype).eps) * size
            demand_near(got, want, np.asarray(bound), a_shape)
        else:
            demand_same(got, want, a_shape)


def check_where(name, key):
    for seed, (shape, _) in enumerate(COMBINATIONS):
        a, b = values(key, shape, seed), values(key, shape, seed + 1)
        condition = np.asarray(np.random.default_rng(seed).integers(0, 2, shape)).astype(bool)
        got = structural("select", "", array_type(a), condition, a, b)
        demand_same(got, np.where(condition, a, b), shape)


CHECKS = {
    ("select", "where"): check_where,
    **{("reduce", name): check_reduce for name in COMBINERS},
    ("scan", "cumsum"): check_scan,
    ("scan", "cumprod"): check_scan,
    ("arg_reduce", "argmin"): check_arg_reduce,
    ("arg_reduce", "argmax"): check_arg_reduce,
    ("gather", "take"): check_take,
    ("compress", "compress"): check_compress,
    ("concat", "concatenate"): check_concatenate,
    ("sort", "sort"): check_sort,
    ("argsort", "argsort"): check_sort,
    ("dot", "matmul"): check_matmul,
}


def table_names():
    text = (ROOT / "src/ir/ops.def").read_text()
    cards = re.findall(r"^STRUCT\((\w+),(?:.*?)NUMPY\(([^)]*)\)", text, re.M)
    return {(op, name) for op, names in cards for name in re.findall(r'"(\w+)"', names)}


def test_a_program_that_does_not_end_is_stopped():
    text = """func @f() -> () {
  while {
    %yes = constant true : bool
    yield %yes
  } {
    yield
  }
  return
}"""
    with pytest.raises(Fault, match="step limit"):
        run(text)


def test_every_card_is_checked():
    assert table_names() == set(CHECKS)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("key", DTYPES)
@pytest.mark.parametrize("op, name", CHECKS, ids=[f"{op}-{name}" for op, name in CHECKS])
def test_structural(op, name, key):
    CHECKS[op, name](name, key)


# --- Rearrangements, of arrays and of views ------------------------------------------------------------------


def both(op, attributes, rank, x, constants=()):
    """The op on x as an array, and on a view of x that is read then."""
    lines = [f"  %n{i} = constant {n} : i64" for i, n in enumerate(constants)]
    operands = "".join(f", %n{i}" for i in range(len(constants)))
    words = f" {{{attributes}}}" if attributes else ""
    key = KEYS[x.dtype]
    array, view = f"array<{key}, {rank}>", f"view<{key}, {rank}>"
    text = f"func @f(%a: {array_type(x)}, %v: {view_type(x)}) -> ({array}, {array}) {{\n" + "\n".join(lines)
    text += f"\n  %b = {op} %a{operands}{words} : {array}\n  %w = {op} %v{operands}{words} : {view}"
    text += f"\n  %c = read %w : {array}\n  return %b, %c\n}}"
    return run(text, np.ascontiguousarray(x), View(x))


@pytest.mark.parametrize("key", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rearrangements(key, layout):
    x = laid_out(values(key, (3, 1, 5), 4), layout)
    for got in both("transpose", "axes=[2, 0, 1]", 3, x):
        demand_same(got, x.transpose(2, 0, 1), "transpose")
    for got in both("squeeze", "axes=[1]", 2, x):
        demand_same(got, x.squeeze(1), "squeeze")
    for got in both("expand", "axes=[0, 3]", 5, x):
        demand_same(got, np.expand_dims(x, (0, 3)), "expand")
    for got in both("broadcast", "", 4, x, (2, 3, 4, 5)):
        demand_same(got, np.broadcast_to(x, (2, 3, 4, 5)), "broadcast")
    for got in both("slice", "", 3, x, (2, 2, -2, 0, 1, 1, 1, 2, 3)):
        demand_same(got, x[2::-2, 0:1, 1::3], "slice")
    for got in both("slice", "", 3, x, (1, 0, 7, 0, 1, 9, 4, 5, -1)):
        demand_same(got, x[1:1, :, ::-1], "slice")
    c = np.ascontiguousarray(x)
    for got in both("reshape", "", 2, c, (5, 3)):
        demand_same(got, c.reshape(5, 3), "reshape")


@pytest.mark.parametrize("shape", [(0,), (4,), (3, 4), (2, 0, 3), (2, 3, 4)])
def test_iota(shape):
    for axis in range(len(shape)):
        names = ", ".join(f"%n{i}" for i in range(len(shape)))
        parameters = ", ".join(f"%n{i}: i64" for i in range(len(shape)))
        result = f"array<i64, {len(shape)}>"
        text = f"func @f({parameters}) -> ({result}) {{\n  %y = iota {names} {{axis={axis}}} : {result}\n  return %y\n}}"
        demand_same(run(text, *map(np.int64, shape))[0], np.indices(shape)[axis], shape)


# --- Memory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", DTYPES)
@pytest.mark.parametrize("layout", ["c", "f", "strided", "negative", "misaligned"])
def test_writes(key, layout):
    for shape in [(), (0,), (5,), (3, 5), (2, 3, 5)]:
        x, want = values(key, shape, 1), laid_out(values(key, shape, 2), layout)
        got = laid_out(want, layout)
        text = f"func @f(%v: {view_type(x)}, %a: {array_type(x)}) -> () {{\n  write %v, %a\n  return\n}}"
        run(text, View(got), x)
        want[...] = x
        demand_same(np.ascontiguousarray(got), np.ascontiguousarray(want), shape)


@pytest.mark.parametrize("combiner", ["constant", "add", "maximum"])
@pytest.mark.parametrize("key", DTYPES)
def test_scatters(combiner, key):
    x = finite(values(key, (20, 3), 5))
    index = np.random.default_rng(1).integers(0, 7, 20)
    got = finite(values(key, (7, 3), 6))
    want = got.copy()
    text = f"func @f(%v: {view_type(got)}, %x: {array_type(x)}, %i: array<i64, 1>) -> () {{\n"
    text += f"  scatter %v, %x, %i {{combiner={combiner}, axes=[0]}}\n  return\n}}"
    run(text, View(got), x, index)
    with np.errstate(all="ignore"):
        if combiner == "constant":
            want[index] = x
        else:
            getattr(np, combiner).at(want, index, x)
    demand_same(got, want, combiner, zero_signs=False)


def test_faults_and_exceptions_come_back():
    text = 'func @f(%n: i64) -> () {\n  raise %n {kind=KeyError, message="{}"}\n}'
    with pytest.raises(Raised, match="KeyError.*7"):
        run(text, np.int64(7))
    with pytest.raises(Fault, match="expected"):
        run("func f", np.int64(7))
    text = "func @f(%v: view<f64, 1>, %i: i64) -> (f64) {\n  %x = load %v, %i : f64\n  return %x\n}"
    with pytest.raises(Fault, match="out of range"):
        run(text, View(np.zeros(3)), np.int64(3))


# --- Hostile numbers -----------------------------------------------------------------------------------------

HOSTILE = [0, 1, 2, 3, -1, -3, 7, 8, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), -(2**62)]


def hostile_lines(rng, n):
    """Some op on @f's array %a, view %v, buffer %b and index array %i, with i64 operands from n()."""
    many = lambda count: ", ".join(n() for _ in range(count))  # noqa: E731
    rank = int(rng.integers(1, 4))
    lines = [
        f"%r = slice %a, {many(6)} : array<f32, 2>",
        f"%w = slice %v, {many(6)} : view<f32, 2>\n  %r = read %w : array<f32, 2>",
        f"%w = slice %v, {many(6)} : view<f32, 2>\n  %u = slice %w, {many(6)} : view<f32, 2>\n  write %u, %a",
        f"%r = broadcast %a, {many(2)} : array<f32, 2>",
        f"%w = broadcast %v, {many(3)} : view<f32, 3>\n  %r = load %w, {many(3)} : f32",
        f"%r = reshape %a, {many(rank)} : array<f32, {rank}>",
        f"%w = reshape %v, {many(rank)} : view<f32, {rank}>\n  %r = read %w : array<f32, {rank}>",
        f"%w = view %b, {many(1 + 2 * rank)} : view<f32, {rank}>\n  %r = load %w, {many(rank)} : f32",
        f"%w = view %b, {many(1 + 2 * rank)} : view<c128, {rank}>\n  %r = read %w : array<c128, {rank}>",
        f"%w = view %b, {many(5)} : view<f32, 2>\n  copy %w, %v",
        f"%r = iota {many(rank)} {{axis=0}} : array<i64, {rank}>",
        f"%z = iota {many(2)} {{axis=1}} : array<i64, 2>\n  %s = sort %z {{axis=0, stable=1}} : array<i64, 2>\n"
        f"  %c = concat %s, %z {{axis=1}} : array<i64, 2>\n  %r = reduce %c {{combiner=add, axes=[1]}} : array<i64, 1>",
        f"%j = add %i, {n()} : array<i64, 1>\n  %r = gather %a, %j {{axes=[1]}} : array<f32, 2>",
        f"%j = multiply %i, {n()} : array<i64, 1>\n  scatter %v, %a, %j {{combiner=add, axes=[0]}}",
        f"store %v, {many(2)}, %x",
        f"%c = alloc {n()} {{life=call}} : buffer\n  %w = view %c, {many(3)} : view<f32, 1>\n  store %w, {n()}, %x",
    ]
    return lines[int(rng.integers(len(lines)))]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(40))
def test_hostile_numbers_never_crash(seed):
    """Each run ends in results, an exception or a fault; ir_cli goes on."""
    rng = np.random.default_rng(seed)
    ends = set()
    for _ in range(50):
        names = [f"%n{i}" for i in range(len(HOSTILE))]
        weights = np.array([6.0 if abs(n) <= 8 else 1.0 for n in HOSTILE])
        lines = hostile_lines(rng, lambda: str(rng.choice(names, p=weights / weights.sum())))
        constants = "\n".join(f"  %n{i} = constant {n} : i64" for i, n in enumerate(HOSTILE))
        text = "func @f(%a: array<f32, 2>, %v: view<f32, 2>, %i: array<i64, 1>, %x: f32) -> () {\n"
        text += f"  %b = buffer %v : buffer\n{constants}\n  {lines}\n  return\n}}"
        shape = tuple(rng.integers(0, 4, 2))
        try:
            run(text, np.ones(shape, np.float32), View(np.ones(shape, np.float32)), np.arange(shape[0]), np.float32(1))
            ends.add("done")
        except (Fault, Raised) as error:
            assert "expected" not in str(error) and "stopped" not in str(error) and "wants" not in str(error), text
            ends.add(type(error))
    assert {"done", Fault} <= ends
