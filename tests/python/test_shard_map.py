"""The rules of docs/guides/shards.md: one function on threads and ranks, by `ingot.shard_map`."""

import copy
import functools
import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import namedtuple
from pathlib import Path

import ingot
import numpy as np
import pytest
import shard_programs
from ingot import P, _ingot
from ingot._routines import mpi
from ingot.library.shards import on_shards
from mpi4py import MPI
from shard_programs import PROGRAMS, same, shape_of
from support import jitted

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
TWO = ingot.Mesh({"x": 2})
LINE = np.arange(8.0)
Pair = namedtuple("Pair", "a b")


def ran(text, count=None, **more):
    """What a program prints, or one on so many ranks."""
    ranks = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader"}
    found = os.environ.get("PYTHONPATH", str(Path(ingot.__file__).resolve().parents[1]))
    environment = {**os.environ, **ranks, "OMPI_MCA_hwloc_base_binding_policy": "none", "PYTHONPATH": f"{found}:{HERE}", "INGOT_NUM_THREADS": "2", **more}
    command = [sys.executable, *([text] if isinstance(text, Path) else ["-c", text])]
    if count is not None:
        command = ["mpiexec", "-n", str(count), *command]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150, check=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [{"x": 1, "y": 1}, {"x": 2, "y": 1}, {"x": 4, "y": 1}, {"x": 2, "y": 2}], ids=str)
def test_programs_on_threads_are_what_numpy_makes_of_them(shape):
    mesh = ingot.Mesh(shape)
    for name, function, in_specs, out_specs, arguments, reference in PROGRAMS:
        got = ingot.shard_map(function, mesh, in_specs, out_specs)(*arguments)
        assert same(got, reference(shape["x"], shape["y"], *arguments)), (name, got)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [2, 4])
def test_ranks_give_the_bits_of_threads(count, tmp_path):
    done = ran(HERE / "shard_programs.py", count, INGOT_CACHE="on", INGOT_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_the_compiler():
    done = ran(
        "import ingot, shard_programs as s\n"
        "mesh = ingot.Mesh({'x': 2, 'y': 2})\n"
        "skipped = {'slopes', 'along'}\n"  # derivatives are the compiler's
        "for name, f, i, o, given, reference in s.PROGRAMS:\n"
        "    if name not in skipped: assert s.same(ingot.shard_map(f, mesh, i, o)(*given), reference(2, 2, *given)), name\n"
        "with s.np.errstate(divide='raise'):\n"
        "    try: ingot.shard_map(lambda x: x / 0.0, mesh, s.P('x'), s.P('x'))(s.numbers(4))\n"
        "    except FloatingPointError: print('raised')\n"
        "print(ingot.shard_map(lambda x: x + ingot.axis_index(('x', 'y')), mesh, s.P(('x', 'y')), s.P(('x', 'y')))(s.np.zeros(4)))\n"
        "print(ingot.shard_map(lambda x: ingot.psum(x, 'x'), ingot.Mesh({'x': 2}), s.P('x'), s.P())(s.np.arange(1.0, 5.0).astype('>f8')))\n"
        "try:\n"
        "    ingot.shard_map(lambda x: ingot.psum(x, 'x') if ingot.axis_index('x') == 0 else x, ingot.Mesh({'x': 2}), s.P('x'), s.P('x'))(s.numbers(4))\n"
        "except RuntimeError as error: print(error)\n",
        INGOT_DISABLE="1",
    )
    assert done.stdout == "raised\n[0. 1. 2. 3.]\n[4. 6.]\nanother shard has ended without coming to this collective\n", done.stderr


def test_structures_of_arguments_and_results():
    @ingot.shard_map(mesh=TWO, in_specs=({"a": P("x"), "b": (P(), None)}, P("x")), out_specs=Pair(P("x"), [P(), P("x")]))
    def shared(state, pair):
        return Pair(state["a"] + state["b"][0], [ingot.psum(pair.a, "x"), pair.b * state["b"][1]])

    got = shared({"a": LINE, "b": (1.5, 2)}, Pair(LINE, LINE))
    assert isinstance(got, Pair) and same((got.a, *got.b), (LINE + 1.5, LINE[:4] + LINE[4:], LINE * 2))
    with pytest.raises(ValueError, match="out_specs specification must be a tree prefix"):
        ingot.shard_map(lambda x: x, TWO, P("x"), (P("x"), P("x")))(LINE)
    with pytest.raises(ValueError, match="in_specs specification must be a tree prefix"):
        ingot.shard_map(lambda x: x, TWO, ({"a": P("x")},), P("x"))(LINE)


def test_blocks_are_views_and_go_back_where_they_were():
    m, cube = np.arange(24.0).reshape(4, 6), np.arange(16.0).reshape(2, 2, 4)
    grid = ingot.Mesh({"x": 2, "y": 2})
    for spec in (P("x"), P(None, "x"), P("x", "y"), P("y", "x"), P(("x", "y")), P(("y", "x")), P("y"), P()):
        assert same(ingot.shard_map(lambda m: m * 2, grid, spec, spec)(m), m * 2), spec
    assert same(ingot.shard_map(lambda c: c + 1, grid, P(None, "y", "x"), P(None, "y", "x"))(np.asfortranarray(cube)), cube + 1)

    def write(m):
        m[:] = ingot.axis_index("x")
        return m.sum()

    ingot.shard_map(write, TWO, P(None, "x"), P())(m)
    assert same(m, np.repeat([[0.0] * 3 + [1.0] * 3], 4, 0))
    assert ingot.shard_map(lambda m: m, TWO, P(), P())(m) is not None


def test_arguments_by_name_and_of_no_axes_are_one_for_all():
    f = ingot.shard_map(lambda x, k=1, *, scale=2.0: x * k * scale, TWO, P("x"), P("x"))
    assert same(f(LINE), LINE * 2)
    assert same(f(LINE, scale=3), LINE * 3)
    g = ingot.shard_map(lambda x, k: x * k, TWO, (P("x"), None), P("x"))
    assert same(g(LINE, 4), LINE * 4)
    with pytest.raises(ValueError, match="2 entries for 1 positional"):
        g(LINE)


def test_a_spec_is_of_a_parameter_however_it_is_given():
    f = ingot.shard_map(lambda x, y, k=2.0, *, scale=1.0: (x + y) * k * scale, TWO, (P("x"), P("x")), P("x"))
    for call in (lambda: f(LINE, LINE * 3), lambda: f(LINE, y=LINE * 3), lambda: f(y=LINE * 3, x=LINE), lambda: f(LINE, y=LINE * 3, k=1.0, scale=2.0)):
        assert same(call(), LINE * 8)
    one = ingot.shard_map(lambda x, y: ingot.psum(x * y, "x"), TWO, P("x"), P())
    assert same(one(y=LINE, x=LINE), LINE[:4] ** 2 + LINE[4:] ** 2)
    with pytest.raises(ValueError, match="argument y is of type float"):
        one(LINE, y=2.0)
    with pytest.raises(ValueError, match="2 entries for 1 positional"):
        f(LINE, k=LINE)
    with pytest.raises(TypeError, match="multiple values"):
        f(LINE, LINE, y=LINE)


def test_names_of_parameters_that_are_bound():
    class Model:
        def f(self, x):
            return x

    for function in (Model().f, partial_of(2)):
        with pytest.raises(ValueError, match="of argument x, "):
            ingot.shard_map(function, TWO, P("x"), P("x"))(np.arange(5.0))


def partial_of(k):
    return functools.partial(lambda k, x: x * k, k)


def test_what_does_not_divide_raises():
    f = ingot.shard_map(lambda x: x, TWO, P("x"), P("x"))
    with pytest.raises(ValueError, match=r"axis 0 \(=5\) of argument x, an array of shape \(5,\), is not evenly divisible by the mesh axis x \(=2\)"):
        f(np.arange(5.0))
    with pytest.raises(ValueError, match="argument x is of type float, which P\\('x'\\) does not divide"):
        f(1.0)
    with pytest.raises(ValueError, match="argument x has 1 axes"):
        ingot.shard_map(lambda x: x, TWO, P(None, "x"), P())(LINE)
    for spec in (P(None, None), P(None, "x")):
        with pytest.raises(ValueError, match="argument x has 1 axes, of which"):
            ingot.shard_map(lambda x: x, TWO, spec, P())(LINE)
    with pytest.raises(ValueError, match=r"a result is of type float64.*: return np.array\(\[x\]\), or take ingot.P\(\) for it"):
        ingot.shard_map(lambda x: x.sum(), TWO, P("x"), P("x"))(LINE)
    with pytest.raises(ValueError, match="blocks that differ"):
        ingot.shard_map(lambda x: x[: 1 + ingot.axis_index("x")], TWO, P("x"), P("x"))(LINE)


def test_meshes_and_specs_that_are_none():
    with pytest.raises(ValueError, match="names the axis 'z', which the mesh does not have: it has 'x'"):
        ingot.shard_map(lambda x: x, TWO, P("z"), P())
    with pytest.raises(ValueError, match="names the axis 'x' twice"):
        ingot.shard_map(lambda x: x, TWO, P("x", "x"), P())
    with pytest.raises(TypeError, match="not str"):
        ingot.shard_map(lambda x: x, TWO, "x", P())
    with pytest.raises(TypeError, match="takes a mesh"):
        ingot.shard_map(lambda x: x, None, P("x"), P())
    for specs in ({}, {"in_specs": P("x")}, {"out_specs": P()}):
        with pytest.raises(TypeError, match="takes in_specs and out_specs"):
            ingot.shard_map(lambda x: x, TWO, **specs)
    with pytest.raises(TypeError, match="takes a function, not int"):
        ingot.shard_map(3, TWO, P("x"), P())
    with pytest.raises(ValueError, match="`local` is for ranks"):
        ingot.shard_map(lambda x: x, TWO, local=True)
    with pytest.raises(ValueError, match="lengths from 1 on"):
        ingot.Mesh({"x": 0})
    with pytest.raises(TypeError, match="a dict of lengths"):
        ingot.Mesh(4)
    with pytest.raises(TypeError, match="not float"):
        ingot.Mesh({"x": 2}, 1.5)
    with pytest.raises(ValueError, match="not 'processes'"):
        ingot.Mesh({"x": 2}, "processes")
    with pytest.raises(TypeError, match="does not support item assignment"):
        TWO.shape["x"] = 3
    assert ingot.Mesh({"x": 2}, "".join(["thr", "eads"])) == TWO == copy.deepcopy(TWO) and repr(TWO) == "Mesh({'x': 2}, over='threads')"
    assert list(P(None, "x", ["y", "z"])) == [None, "x", ("y", "z")] and P("x")[0] == "x" and len(P("x", None)) == 2
    with pytest.raises(ingot.UnsupportedError, match="over devices"):
        ingot.Mesh({"x": 2}, "devices")


def test_a_mesh_over_a_communicator():
    one = ingot.Mesh({"x": 1, "y": 1}, MPI.COMM_SELF)
    f = ingot.shard_map(lambda m: (ingot.psum(m, ("x", "y")), ingot.all_gather(m, "y"), m.sum()), one, P("x", "y"), (P("x"), P(), P()))
    m = np.arange(6.0).reshape(2, 3).T
    assert same(f(m), (m, m[None], np.float64(15.0)))
    local = ingot.shard_map(lambda m: ingot.pmean(m, "x"), one, local=True)
    assert same(local(m), m)
    with pytest.raises(ValueError, match="3 positions over a communicator of 1 ranks"):
        ingot.Mesh({"x": 3}, MPI.COMM_SELF)
    with pytest.raises(TypeError, match="is not pickled"):
        pickle.dumps(one)
    with pytest.raises(TypeError, match="with `local`, neither"):
        ingot.shard_map(lambda m: m, one, P("x"), P("x"), local=True)


def test_what_mpi_reports_is_raised():
    functions = [mpi.address_of(f"MPI_{name}")[0] for name in ("Allgather", "Alltoall", "Sendrecv")]
    no_type = mpi.handle_of(MPI.DATATYPE_NULL) & (2**64 - 1)
    shard = _ingot.Shard()
    shard.add_ranks(mpi.handle_of(MPI.COMM_SELF) & (2**64 - 1), 2, 0, [*functions, no_type, 0, 0])
    x, got = np.ones(1), np.ones(2)
    with pytest.raises(MPI.Exception, match="MPI_ERR_TYPE"):
        shard.run(1, lambda: _ingot.shards_exchange(0, 0, 11, 0, 1, -1, -1, x.ctypes.data, got.ctypes.data))


def test_what_one_shard_knows_is_not_known_of_others():
    def early(x):
        if x.max() > 5:
            return ingot.psum(1, "x")
        return ingot.psum(0, "x")

    def branches(x):
        return x * 0 + (ingot.psum(1, "x") if ingot.axis_index("x") == 0 else ingot.psum(2, "x"))

    assert same(ingot.shard_map(early, TWO, P("x"), P())(LINE), np.int64(1))
    assert same(ingot.shard_map(branches, TWO, P("x"), P("x"))(LINE), np.full(8, 3.0))
    assert same(ingot.shard_map(lambda x: ingot.vmap(lambda v: v + ingot.psum(1, "x"))(x), TWO, P("x"), P("x"))(LINE), LINE + 2)


def test_shards_that_draw_from_one_stream():
    rng = np.random.default_rng(0)
    for f in (lambda x, rng: ingot.psum(x + rng.random(), "x"), lambda x, rng: ingot.psum(x, "x") + np.random.random()):
        with pytest.raises(ingot.UnsupportedError, match="draws from a stream of NumPy's.*share.*\n  instead: draw by `ingot.random`"):
            ingot.shard_map(f, TWO, (P("x"), None), P())(LINE, rng)
        alone = ingot.shard_map(f, ingot.Mesh({"x": 1}), (P("x"), None), P("x"))
        assert alone(LINE, rng).shape == (8,)
    expected = np.random.default_rng(1).random(2)
    drawn = ingot.shard_map(lambda x, rng: x + rng.random(), TWO, (P("x"), None), P("x"))(np.zeros(2), np.random.default_rng(1))
    assert sorted(drawn) == sorted(expected)  # without collectives, in any order
    own = ingot.shard_map(lambda x: ingot.psum(np.random.default_rng(3).random() + x, "x"), TWO, P("x"), P())
    assert same(own(np.zeros(2)), np.full(1, 2 * np.random.default_rng(3).random()))


def test_axes_in_tuples_invalid_pairs_and_numbers_that_are_joined():
    grid = ingot.Mesh({"x": 2, "y": 2})
    assert same(ingot.shard_map(lambda x: x + ingot.axis_index(("x", "y")), grid, P(("x", "y")), P(("x", "y")))(np.zeros(4)), np.arange(4.0))
    number = ingot.vmap(ingot.vmap(lambda v: v + ingot.axis_index(("a", "b")), axis_name="b"), axis_name="a")
    assert same(number(np.zeros((2, 3))), np.arange(6.0).reshape(2, 3))
    for pair in ((0, 2), (-1, 0)):
        for f in (ingot.shard_map(lambda x, pair: ingot.ppermute(x, "x", [pair]), TWO, (P("x"), None), P("x")), None):
            with pytest.raises(ValueError, match="ppermute sources and destinations are from 0 to 1"):
                f(LINE, pair) if f else ingot.vmap(lambda x: ingot.ppermute(x, "x", [pair]), axis_name="x")(LINE[:2])
    for f in (ingot.shard_map(joined_numbers, TWO, P("x"), P()), ingot.vmap(joined_numbers, axis_name="x")):
        with pytest.raises(ValueError, match="numbers have none: leave out `tiled`"):
            f(LINE[:, None])
    pairs = ingot.shard_map(lambda x: ingot.ppermute((x, x + 10), "x", zip([0], [1])), TWO, P("x"), P("x"))
    assert same(pairs(LINE), tuple(np.concatenate([np.zeros(4), LINE[:4] + more]) for more in (0, 10)))


def joined_numbers(x):
    return ingot.all_gather(x.sum(), "x", tiled=True)


def test_axes_that_are_not_there():
    with pytest.raises(NameError, match="unbound axis name: z"):
        ingot.shard_map(lambda x: ingot.psum(x, "z"), TWO, P("x"), P())(LINE)
    with pytest.raises(NameError, match="unbound axis name: x"):
        ingot.jit(lambda x: ingot.psum(x, "x"))(LINE)


def test_the_innermost_axis_of_a_name_is_meant():
    f = ingot.shard_map(lambda m: ingot.vmap(lambda v: ingot.psum(v, "x"), axis_name="x")(m), TWO, P("x"), P("x"))
    m = LINE.reshape(4, 2)
    assert same(f(m), np.concatenate([np.tile(half.sum(0), (2, 1)) for half in np.split(m, 2)]))


def test_the_exception_is_that_of_the_shard_that_raised():
    def fails(x, bad):
        if ingot.axis_index("x") == bad:
            raise ValueError("no such shard")  # line of the user's
        return ingot.psum(x, "x")

    for mesh in (TWO, ingot.Mesh({"x": 4})):
        f = ingot.shard_map(fails, mesh, (P("x"), None), P())
        for bad in range(mesh.size):
            with pytest.raises(ValueError, match="no such shard") as caught:
                f(LINE, bad)
        assert "line of the user's" in "".join(map(str, caught.traceback)) or caught.traceback
        assert same(f(LINE, -1), sum(np.split(LINE, mesh.size)))


def test_of_several_exceptions_the_first_position_s_is_raised():
    def fails(x):
        i, j = ingot.axis_index("x"), ingot.axis_index("y")
        if i == 1 and j == 2:
            raise KeyError("a late position")
        total = ingot.psum(x, "y") if i == 0 else x
        if i == 0 and j == 0:
            raise ValueError("the first position")
        return total

    f = ingot.shard_map(fails, ingot.Mesh({"x": 2, "y": 3}), P(("x", "y")), P(("x", "y")))
    for _ in range(30):
        with pytest.raises(ValueError, match="the first position"):
            f(np.arange(12.0))


def test_a_shard_that_does_not_come_is_an_error():
    f = ingot.shard_map(lambda x, last: ingot.psum(x, "x") if ingot.axis_index("x") < last else x, ingot.Mesh({"x": 4}), (P("x"), None), P("x"))
    for last in (1, 3):
        with pytest.raises(RuntimeError, match="another shard has ended without coming to this collective"):
            f(LINE, last)


def test_different_collectives_are_an_error():
    def differ(x, how):
        if ingot.axis_index("x") == 0:
            return ingot.psum(x[: len(x) - how % 2], "x").sum()
        return ingot.psum(x, "x").sum() if how < 2 else ingot.pmax(x, "x").sum()

    f = ingot.shard_map(differ, TWO, (P("x"), None), P())
    assert f(LINE, 0) == LINE.sum()
    for how in (1, 2):
        with pytest.raises(ValueError, match="come to different collectives"):
            f(LINE, how)

    def alike(x, how):
        if how == 0:
            return (ingot.psum(x, "x") if ingot.axis_index("x") == 0 else ingot.pmean(x, "x")).sum()
        if how == 1:
            return (ingot.psum(x.reshape(2, 2), "x") if ingot.axis_index("x") == 0 else ingot.psum(x.reshape(4, 1), "x")).sum()
        if ingot.axis_index("x") == 0:
            return ingot.all_gather(x, "x").sum()
        return (ingot.all_gather(x, "x", axis=1) if how == 2 else ingot.all_gather(x, "x", axis=-2)).sum()

    f = ingot.shard_map(alike, TWO, (P("x"), None), P())
    for how in (0, 1, 2):
        with pytest.raises(ValueError, match="come to different collectives"):
            f(LINE, how)
    assert f(LINE, 3) == LINE.sum()  # the same axis


def test_nothing_is_kept_of_a_call_that_failed():
    def fails(x):
        return x[[10**6]]

    f, x = ingot.shard_map(fails, TWO, P("x"), P("x")), LINE.copy()
    kept = weakref.ref(x)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(IndexError):
            f(x)
        del x
        assert kept() is None
    finally:
        gc.enable()


def test_collectives_in_loops_and_branches_that_all_shards_take():
    def relax(x, tolerance):
        steps = 0
        while True:
            left, right = ingot.ppermute(x[-1], "x", [(0, 1)]), ingot.ppermute(x[0], "x", [(1, 0)])
            new = x.copy()
            for i in range(len(x)):
                new[i] = 0.5 * ((x[i - 1] if i > 0 else left) + (x[i + 1] if i < len(x) - 1 else right))
            change = ingot.pmax(np.abs(new - x).max(), "x")
            x = new
            steps += 1
            if change < tolerance:
                return x, steps

    def alone(x, tolerance):
        steps = 0
        while True:
            padded = np.concatenate([[0.0], x, [0.0]])
            new = 0.5 * (padded[:-2] + padded[2:])
            change, x, steps = np.abs(new - x).max(), new, steps + 1
            if change < tolerance:
                return x, steps

    got = ingot.shard_map(relax, TWO, (P("x"), None), (P("x"), P()))(LINE, 1e-3)
    expected = alone(LINE, 1e-3)
    assert same(got[0], expected[0]) and got[1] == expected[1] > 20


def test_methods_lambdas_and_compiled_functions():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @ingot.shard_map(mesh=TWO, in_specs=(None, P("x")), out_specs=P("x"))
        def scaled(self, x):
            return x * self.scale

        def plain(self, x):
            return ingot.psum(x * self.scale, "x")

    model = Model(3.0)
    assert same(model.scaled(LINE), LINE * 3)
    assert same(ingot.shard_map(model.plain, TWO, P("x"), P())(LINE), (LINE[:4] + LINE[4:]) * 3)
    assert same(ingot.shard_map(ingot.jit(lambda x: ingot.psum(x, "x")), TWO, P("x"), P())(LINE), LINE[:4] + LINE[4:])
    offset = 1.0
    f = ingot.shard_map(lambda x: x + offset, TWO, P("x"), P("x"))
    assert same(f(LINE), LINE + 1)
    offset = 2.0
    assert same(f(LINE), LINE + 2)
    assert repr(f).startswith("<ingot.shard_map of test_shard_map.") and f.__wrapped__ is not None


def of_module(x):
    return ingot.psum(x, "x")


mapped = ingot.shard_map(of_module, TWO, P("x"), P())


def test_pickles():
    assert pickle.loads(pickle.dumps(P("x", None, ("y", "z")))) == P("x", None, ("y", "z"))
    assert pickle.loads(pickle.dumps(TWO)) == TWO
    again = pickle.loads(pickle.dumps(mapped))
    assert same(again(LINE), LINE[:4] + LINE[4:])
    f = ingot.shard_map(lambda x: x + 1, TWO, P("x"), P("x"))
    assert same(copy.copy(f)(LINE), LINE + 1) and same(copy.deepcopy([f])[0](LINE), LINE + 1)


def test_what_is_refused():
    f = ingot.shard_map(lambda x: ingot.psum(x, "x").sum(), TWO, P("x"), P())
    for call in (ingot.jit(lambda x: f(x)), ingot.grad(f), ingot.vmap(f), ingot.shard_map(lambda x: f(x), TWO, P("x"), P())):
        with pytest.raises(ingot.UnsupportedError, match="`ingot.shard_map` in compiled code"):
            call(LINE)
    again = ingot.host(lambda x: float(f(x)), result="float64")
    with pytest.raises(ingot.UnsupportedError, match="in a shard"):
        ingot.shard_map(lambda x: again(x), TWO, P("x"), P())(LINE)

    def shared(x):
        out = np.zeros(len(x))
        for i in ingot.prange(len(x)):
            out[i] = ingot.psum(x[i], "x")
        return out

    with pytest.raises(ingot.UnsupportedError, match="a collective of a mesh in a loop over `prange`"):
        ingot.shard_map(shared, TWO, P("x"), P())(LINE)
    with pytest.raises(ingot.UnsupportedError, match="along several named axes"):
        ingot.shard_map(lambda x: ingot.all_gather(x, ("x",)), TWO, P("x"), P())(LINE)
    with pytest.raises(TypeError, match="'in_spec': did you mean 'in_specs'"):
        ingot.shard_map(lambda x: x, mesh=TWO, in_spec=P("x"))
    with pytest.raises(TypeError, match="'check_vma': .*leave it out"):
        ingot.shard_map(lambda x: x, mesh=TWO, check_vma=False)


def test_code_is_one_for_all_positions_and_meshes():
    f = ingot.shard_map(of_module, ingot.Mesh({"x": 4}), P("x"), P())
    f(LINE)
    assert len(f._compiled.specialisations) == 1
    function = jitted(on_shards(of_module, ("x",)))
    function.compile((2,), (0,), LINE)
    function.compile((4,), (3,), LINE)
    assert len(function.specialisations) == 1


def test_the_cache_has_it_for_other_processes_and_meshes(tmp_path):
    text = (
        "import ingot, sys, test_shard_map as t\nf = ingot.shard_map(t.of_module, ingot.Mesh({'x': int(sys.argv[1])}), t.P('x'), t.P())\n"
        "f(t.LINE)\nprint([s.why for s in f._compiled.specialisations])"
    )
    for count, why in (("2", "the first call"), ("4", "the cache")):
        program = tmp_path / "program.py"
        program.write_text(text.replace("sys.argv[1]", count))
        done = ran(program, INGOT_CACHE="on", INGOT_CACHE_DIR=str(tmp_path / "cache"))
        assert done.stdout.strip() == f"['{why}']", done.stderr


def test_threads_stay_within_their_number():
    before = ingot.get_num_threads()
    seen = []

    @ingot.host(result="int64")
    def look(index):
        seen.append(ingot.get_num_threads())
        return index

    g = ingot.shard_map(lambda x: look(ingot.axis_index("x")) + x.sum(), TWO, P("x"), P())
    ingot.set_num_threads(5)
    try:
        g(LINE)
    finally:
        ingot.set_num_threads(before)
    assert seen == [4, 4] and ingot.get_num_threads() == before


@pytest.mark.alone
def test_many_calls_at_once_and_no_threads_left():
    f = ingot.shard_map(lambda x: ingot.psum(x, "x") * ingot.axis_size("x"), ingot.Mesh({"x": 4}), P("x"), P())
    expected = f(LINE)
    wrong = []

    def work():
        for _ in range(50):
            if not same(f(LINE), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not [thread for thread in threading.enumerate() if thread.name.startswith("shard ")]


@pytest.mark.alone
def test_an_interrupt_ends_a_shard_that_waits():
    text = """
import ingot, numpy as np, time
@ingot.host(result="float64")
def rest(seconds):
    time.sleep(seconds)
    return seconds
def f(x):
    if ingot.axis_index("x") == 1:
        rest(0.6)
    return ingot.psum(x, "x")
g = ingot.shard_map(f, ingot.Mesh({"x": 2}), ingot.P("x"), ingot.P())
g(np.arange(4.0))
print("ready", flush=True)
try:
    g(np.arange(4.0))
except KeyboardInterrupt:
    print("left", flush=True)
print(g(np.arange(4.0)))
"""
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(Path(ingot.__file__).resolve().parents[1]))}
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "left\n[2. 4.]\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["norm.py", "local.py"])
def test_programs_of_the_guide_run(name, tmp_path):
    programs = dict(re.findall(r"^```py\n# (\w+\.py): mpiexec -n 2 python \1\n(.*?)^```$", (DOCS / "guides" / "shards.md").read_text(), re.M | re.S))
    assert sorted(programs) == ["local.py", "norm.py"]
    path = tmp_path / name
    path.write_text(programs[name])
    done = ran(path, 2)
    assert done.returncode == 0 and re.search(r"^# (.*)$", programs[name], re.M)[1] in done.stdout, done.stdout + done.stderr


def test_shapes_of_meshes_of_programs():
    assert shape_of(4, True) == {"x": 2, "y": 2} and shard_programs.shape_of(1, True) == {"x": 1, "y": 1}
