"""The programs of the tour, as their authors wrote them, and the arguments they are run with.

A program has how it is called under plain Python, under Ingot, and with what; `sizes` gives the arguments for the
full size and for `--small`; its task, what other contestants do for the same. Programs that ask Ingot for more than speed
have a judge, which plain Python runs instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ingot

from . import judges, sources, tasks, transformed
from .tasks import Task


@dataclass(frozen=True)
class Program:
    """`plain` is the Python function; `compiled` makes the jitted one; `arguments(small)` makes fresh arguments."""

    name: str
    plain: Callable
    arguments: Callable[[bool], tuple]
    compiled: Callable[[Callable], Callable] = ingot.jit
    bound: float = 0.0
    judge: Callable | None = None
    """What plain Python runs instead, where the program asks for a derivative, a batch or numbers of keys: the same by hand."""
    reduced: Callable[[], tuple] | None = None
    """Smaller arguments for plain Python, where the full size takes it minutes."""
    on_device: Callable[[Callable], Callable] | None = None
    """Makes the function for the device that is meant, where the compiled one cannot be given a device."""
    calls: Callable[[Callable, tuple], list] | None = None
    """How the program is run, where it is more than one call."""
    notes: str = ""
    family: str = "Python and NumPy"
    task: Task = Task()
    """What is done, as the other contestants write it."""
    parallel: bool = False
    """Whether it promises that its parts are independent: other contestants may then take all cores."""

    @property
    def reference(self) -> Callable:
        """What plain Python runs."""
        return self.judge or self.plain

    @property
    def for_numba(self) -> Callable | None:
        """What Numba compiles: nothing where only the judge can be written."""
        return self.task.numba or (self.plain if self.judge is None else None)


def _rng() -> np.random.Generator:
    return np.random.default_rng(20)


def _quadratic(n: int) -> tuple:
    g = _rng()
    return g.uniform(5, 10, n), g.uniform(10, 20, n), g.uniform(-0.1, 0.1, n)


def _vectors(n: int, count: int, *scalars: float) -> tuple:
    g = _rng()
    return (np.zeros(n), *(g.random(n) for _ in range(count - 1)), *scalars)


def _plane(n: int, count: int, *scalars: float) -> tuple:
    g = _rng()
    shape = (n // 8, 8)
    return (np.zeros(shape), *(g.random(shape) for _ in range(count - 1)), *scalars)


def _kuramoto(nodes: int, steps: int, dtype: Any) -> tuple:
    g = _rng()
    speeds, couplings, ntime, links = 1, 1, 64, tasks.LINKS
    ids = speeds * couplings
    nnz = nodes * links
    row = np.arange(0, nnz + 1, links, dtype=np.int64)
    col = g.integers(0, nodes, nnz)
    delays = g.integers(1, ntime, speeds * nnz)
    weights = g.random(nnz).astype(dtype)
    a = (g.random(couplings) * 0.1).astype(dtype)
    omega = (g.random(ids * nodes) * 0.1).astype(dtype)
    state = (g.random(ids * nodes) * 6.28).astype(dtype)
    obsrv = (g.random(ids * ntime * nodes * 2) * 6.28).astype(dtype)
    inputs, drift, diffs = (np.zeros(ids * nodes, dtype) for _ in range(3))
    return steps, nodes, ntime, state, inputs, omega, drift, diffs, obsrv, nnz, delays, row, col, weights, a, 0


def _accumulate_calls(function: Callable, arguments: tuple) -> list:
    results = []
    for flag in (False, True):
        sources.do_sum = flag
        results.append(function(*arguments))
    return results


def _calls_for_both(function: Callable, arguments: tuple) -> list:
    x, y = arguments
    return [function(x, True), function(y, False)]


STREAM = 120_000_000
SMALL = 4096


def _stream(small: bool) -> int:
    return SMALL if small else STREAM


def _programs() -> list[Program]:
    real = {np.float32: 2e-4, np.float64: 1e-12}
    quadratic: dict[str, Any] = {"family": "Quadratic formula", "task": tasks.QUADRATIC}
    reductions: dict[str, Any] = {"family": "Reductions", "task": tasks.REDUCE}
    matrices = "Matrices"
    elementwise = "Elementwise"
    programs = [
        Program("quadratic_array", sources.quadratic_formula, lambda s: _quadratic(SMALL if s else 5_000_000), **quadratic, parallel=True),
        Program(
            "quadratic_loop",
            sources.quadratic_formula_loop,
            lambda s: _quadratic(SMALL if s else 5_000_000),
            bound=1e-12,
            reduced=lambda: _quadratic(100_000),
            **quadratic,
        ),
        Program(
            "quadratic_prange",
            sources.quadratic_formula_prange,
            lambda s: _quadratic(SMALL if s else 5_000_000),
            bound=1e-12,
            reduced=lambda: _quadratic(100_000),
            **quadratic,
            parallel=True,
        ),
        Program("sum_dict_values", sources.sum_dict_values, lambda s: ({"a": 1.0, "b": 2.0, "c": 3.0},)),
        Program("accumulate_if", sources.accumulate_if, lambda s: (np.array([1.0, 2.0, 3.0, 4.0, 5.0]),), bound=1e-15),
        Program(
            "sum_greater_than_three",
            sources.sum_greater_than_three,
            lambda s: (np.array([1.0, 2.0, 3.0, 4.0, 5.0]),),
            family="Reductions",
            task=dataclasses.replace(tasks.SUM_GREATER, bytes=None, flops=None),
        ),
        Program(
            "accumulate_global",
            sources.accumulate,
            lambda s: (np.array([1.0, 2.0, 3.0, 4.0, 5.0]),),
            calls=_accumulate_calls,
        ),
        Program(
            "matmul",
            sources.matmul,
            lambda s: tuple(_rng().random((2, 64 if s else 512, 64 if s else 512))),
            bound=1e-13,
            family=matrices,
            task=tasks.MATMUL,
        ),
        Program("reduce_elements", sources.reduce, lambda s: (_rng().random(SMALL if s else 1_000_000),), **reductions),
        Program(
            "reduce_elements_called",
            sources.reduce,
            lambda s: (_rng().random(SMALL if s else 1_000_000),),
            compiled=lambda f: ingot.jit()(f),
            **reductions,
        ),
    ]
    for name, count, scalars in (("copy", 2, ()), ("scale", 2, (3.0,)), ("add", 3, ()), ("triad", 3, (3.0,))):
        plain = getattr(sources, name)
        stream: dict[str, Any] = {"family": "Streams", "task": tasks.STREAMS[name]}
        eager = {
            "copy": "(float64[:, :], float64[:, :])",
            "scale": "(float64[:, :], float64[:, :], float64)",
            "add": "(float64[:, :], float64[:, :], float64[:, :])",
            "triad": "(float64[:, :], float64[:, :], float64[:, :], float64)",
        }[name]

        def line(s: bool, count: int = count, scalars: tuple = scalars) -> tuple:
            return _vectors(_stream(s), count, *scalars)

        def plane(s: bool, count: int = count, scalars: tuple = scalars) -> tuple:
            return _plane(_stream(s), count, *scalars)

        def short(count: int = count, scalars: tuple = scalars) -> tuple:
            return _vectors(100_000, count, *scalars)

        def short_plane(count: int = count, scalars: tuple = scalars) -> tuple:
            return _plane(100_000, count, *scalars)

        programs += [
            Program(f"stream_{name}", plain, line, reduced=short, **stream),
            Program(f"stream_{name}_prange", getattr(sources, f"{name}_prange"), line, reduced=short, **stream, parallel=True),
            Program(
                f"stream_{name}_eager",
                plain,
                plane,
                compiled=lambda f, eager=eager: ingot.jit(eager, nopython=True)(f),  # type: ignore[misc]
                reduced=short_plane,
                **stream,
            ),
        ]
    for name, layout, count, scalars in (("copy", "(n),(n)", 2, ()), ("triad", "(n),(n),(n),()", 3, (3.0,))):
        types = "(" + ", ".join(["float64[:]"] * count + ["float64"] * len(scalars)) + ")"

        def lines(s: bool, count: int = count, scalars: tuple = scalars) -> tuple:
            return _vectors(_stream(s), count, *scalars)

        def short_lines(count: int = count, scalars: tuple = scalars) -> tuple:
            return _vectors(100_000, count, *scalars)

        programs.append(
            Program(
                f"stream_guvectorize_{name}",
                getattr(sources, name),
                lines,
                compiled=lambda f, types=types, layout=layout: ingot.guvectorize(types, layout)(f),  # type: ignore[misc]
                on_device=lambda f, types=types, layout=layout: ingot.guvectorize(types, layout, target="cuda")(f),  # type: ignore[misc]
                reduced=short_lines,
                family="Streams",
                task=tasks.STREAMS[name],
            )
        )
    for dtype in (np.float32, np.float64):
        kind = np.dtype(dtype).name

        def axpy(s: bool, dtype: Any = dtype) -> tuple:
            n = SMALL if s else 10_000_000
            return dtype(2.5), _rng().random(n).astype(dtype), _rng().random(n).astype(dtype)

        def short_axpy(dtype: Any = dtype) -> tuple:
            return dtype(2.5), _rng().random(100_000).astype(dtype), _rng().random(100_000).astype(dtype)

        programs.append(
            Program(
                f"axpy_{kind}",
                sources.axpy,
                axpy,
                compiled=lambda f, kind=kind: ingot.jit("({dtype}, {dtype}[:], {dtype}[:])".format(dtype=kind))(f),  # type: ignore[misc]
                reduced=short_axpy,
                family=elementwise,
                task=tasks.AXPY,
            )
        )
    programs.append(
        Program(
            "sine",
            sources.sine,
            lambda s: _vectors(SMALL if s else 100_000_000, 2),
            bound=1e-15,
            reduced=lambda: _vectors(100_000, 2),
            family=elementwise,
            task=tasks.SINE,
        )
    )
    for variant in ("original", "refactored"):
        for nodes in (256, 1024):
            for dtype in (np.float32, np.float64):

                def full(s: bool, nodes: int = nodes, dtype: Any = dtype) -> tuple:
                    return _kuramoto(16 if s else nodes, 3 if s else 200, dtype)

                def few(dtype: Any = dtype) -> tuple:
                    return _kuramoto(64, 3, dtype)

                programs.append(
                    Program(
                        f"kuramoto_{variant}_{nodes}_{np.dtype(dtype).name}",
                        getattr(sources, f"kuramoto_{variant}"),
                        full,
                        bound=real[dtype],
                        reduced=few,
                        family="Kuramoto networks",
                        task=tasks.KURAMOTO,
                    )
                )
    programs += [
        Program(
            "sum2d",
            sources.sum2d,
            lambda s: (np.arange(9 if s else 999_999).reshape(3, -1),),
            family="Reductions",
            task=tasks.SUM2D,
        ),
        Program(
            "matmul_loops",
            sources.square_matrix_mult,
            lambda s: tuple(_rng().random((3, 16 if s else 256, 16 if s else 256)).astype(np.float32)),
            reduced=lambda: tuple(_rng().random((3, 48, 48)).astype(np.float32)),
            family=matrices,
            task=tasks.MATMUL_LOOPS,
        ),
        Program(
            "spca_unopt", sources.spca_unopt, lambda s: (_rng().random((50, 3)),), notes="TypeError, as NumPy", family=matrices
        ),
        Program(
            "spca_unopt_int",
            sources.spca_unopt_int,
            lambda s: (_rng().random((20 if s else 1000, 3)), 0.5 if s else 0.1),
            bound=1e-9,
            family=matrices,
        ),
        Program(
            "jax_intro_ones",
            sources.jax_intro_ones,
            lambda s: (20 if s else 1000,),
            notes="LinAlgError, as NumPy",
            family=matrices,
        ),
        Program("jax_intro_print", sources.jax_intro_print, lambda s: (np.arange(4.0),)),
        Program(
            "jax_intro_switch",
            sources.jax_intro_switch,
            lambda s: (np.arange(4.0), np.arange(3)),
            calls=_calls_for_both,
        ),
        Program(
            "jax_intro_where",
            sources.jax_intro_where,
            lambda s: (_rng().random(SMALL) > 0.5, *_rng().random((2, SMALL))),
            family=elementwise,
            task=tasks.WHERE,
        ),
        Program(
            "jax_intro_cond",
            sources.jax_intro_cond,
            lambda s: (np.arange(4.0), np.arange(3.0)),
            calls=_calls_for_both,
        ),
        Program(
            "jax_intro_double_loop",
            sources.jax_intro_double_loop,
            lambda s: (np.zeros((20, 30)), _rng().random((20, 30, 40)), _rng().random(40)),
            bound=1e-14,
            family=matrices,
            task=tasks.DOUBLE_LOOP,
        ),
    ]
    return programs


def _derivatives() -> list[Program]:
    family: dict[str, Any] = {"family": "Derivatives", "bound": 1e-12}

    def numbers(small: bool) -> tuple:
        return (_rng().random(SMALL if small else 1_000_000),)

    def coefficients(small: bool) -> tuple:
        return _quadratic(SMALL if small else 5_000_000)

    def directions(small: bool) -> tuple:
        return *coefficients(small), *(_rng().random((3, SMALL if small else 5_000_000)))

    return [
        Program("jax_intro_grad", transformed.jax_intro_grad, numbers, judge=judges.slope, task=tasks.GRAD, **family),
        Program(
            "jax_intro_grad_twice",
            transformed.jax_intro_grad_twice,
            numbers,
            judge=judges.slope_twice,
            task=tasks.GRAD_TWICE,
            **family,
        ),
        Program(
            "quadratic_value_and_grad",
            transformed.quadratic_value_and_grad,
            coefficients,
            judge=judges.quadratic_gradient,
            task=tasks.QUADRATIC_GRADIENT,
            **family,
        ),
        Program(
            "quadratic_jvp",
            transformed.quadratic_jvp,
            directions,
            judge=judges.quadratic_tangent,
            task=tasks.QUADRATIC_TANGENT,
            **family,
        ),
    ]


def _loops_and_batches() -> list[Program]:
    batches: dict[str, Any] = {"family": "Batches", "judge": judges.rows_times_vector, "bound": 1e-13}
    loops: dict[str, Any] = {"family": "Loops and branches as functions", "bound": 1e-12}
    quadratic: dict[str, Any] = {"judge": sources.quadratic_formula, "reduced": lambda: _quadratic(100_000), **loops}

    def rows(small: bool) -> tuple:
        shape = (20, 30, 40) if small else (200, 300, 400)
        return _rng().random(shape), _rng().random(shape[2])

    def coefficients(small: bool) -> tuple:
        return _quadratic(SMALL if small else 5_000_000)

    return [
        Program("jax_intro_vmap", transformed.jax_intro_vmap, rows, task=tasks.VMAP, **batches),
        Program("jax_intro_pmap", transformed.jax_intro_pmap, rows, task=dataclasses.replace(tasks.VMAP, jax=None), **batches),
        Program(
            "jax_intro_lax_cond",
            transformed.jax_intro_lax_cond,
            lambda s: (np.arange(4.0), np.arange(3.0)),
            judge=sources.jax_intro_cond,
            calls=_calls_for_both,
            task=tasks.LAX_COND,
            **loops,
        ),
        Program("quadratic_scan", transformed.quadratic_scan, coefficients, task=tasks.QUADRATIC_SCAN, **quadratic),
        Program("quadratic_fori_loop", transformed.quadratic_fori_loop, coefficients, task=tasks.QUADRATIC_FORI, **quadratic),
        Program(
            "reduce_while_loop",
            transformed.reduce_while_loop,
            lambda s: (_rng().random(SMALL if s else 1_000_000),),
            judge=sources.reduce,
            task=tasks.REDUCE_WHILE,
            **loops,
        ),
    ]


def _numbers_of_keys() -> list[Program]:
    keys: dict[str, Any] = {"family": "Random numbers of keys"}
    return [
        Program(
            "jax_intro_key",
            transformed.jax_intro_key,
            lambda s: (20 if s else 3000,),
            judge=judges.squares_of_key,
            bound=1e-4,
            reduced=lambda: (300,),
            task=tasks.KEY,
            **keys,
        ),
        Program(
            "jax_intro_split",
            transformed.jax_intro_split,
            lambda s: (1701, 20 if s else 3000),
            judge=judges.numbers_of_split,
            bound=1e-12,
            reduced=lambda: (1701, 300),
            task=tasks.SPLIT,
            **keys,
        ),
    ]


PROGRAMS = [*_programs(), *_derivatives(), *_loops_and_batches(), *_numbers_of_keys()]
