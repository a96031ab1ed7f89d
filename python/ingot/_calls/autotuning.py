"""`ingot.autotune`: schedules found by measuring, kept on disk (docs/guides/schedules.md)."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .. import _ingot
from .._code import source
from .._devices.threads import get_num_threads
from .._errors import UnsupportedError
from .function import Function, _restored
from .jit import jit
from .schedules import SPLIT, VECTORIZE, Directive, Schedule, names_given

SIZES = (4, 8, 16, 32, 64, 128, 256)
"""Sizes of tiles along a loop that are tried."""
LANES = (4, 8, 16, 32)
TIMES = (2, 4, 8)
"""How many iterations are written out."""
MOST_ORDERS = 24
SHORT = 1e-3
"""Calls of less time, in seconds, are measured several times in any case: the first ones find nothing in the caches."""
WORSE = 3.0
"""A schedule that takes so many times as long as the best one is measured once."""


class Trial(NamedTuple):
    """A schedule that was tried."""

    schedule: Schedule
    seconds: float
    """Of the quickest call; infinite: it was refused."""
    refused: str
    """Why; empty: it was measured."""


class Tuning(NamedTuple):
    """What `ingot.autotune` has found.

    Parameters
    ----------
    function : Function
        The function, compiled with the schedule.
    schedule : Schedule
        The quickest; without steps where none was quicker than what Ingot chooses.
    seconds : float
        Of a call with it.
    unscheduled : float
        Seconds of a call without a schedule.
    trials : tuple
        All that were tried, each with `schedule`, `seconds` and `refused`; none where the result was on disk.

    See Also
    --------
    ingot.autotune : Makes them.

    Examples
    --------
    >>> def doubled(x):
    ...     for i in range(len(x)):
    ...         x[i] *= 2
    >>> tuned = ingot.autotune(doubled, np.ones(100), budget=0.0, store=False)
    >>> tuned.schedule, len(tuned.trials)
    (ingot.schedule(), 1)
    """

    function: Any
    schedule: Schedule
    seconds: float
    unscheduled: float
    trials: tuple[Trial, ...]


Tuning.__module__ = "ingot"


def autotune(f: Any, *args: Any, budget: float = 10.0, schedules: Sequence[Schedule] | None = None, store: bool = True) -> Tuning:
    """Find a schedule for a function by measuring calls with these arguments.

    Parameters
    ----------
    f : callable
        A function, or what `ingot.jit` made of one.
    *args
        Arguments of a typical call. Each measured call gets deep copies. What a function changes elsewhere, as in global arrays,
        each call changes.
    budget : float, default 10.0
        Seconds for all measurements. One compilation or call that has begun is not interrupted.
    schedules : sequence of Schedule, optional
        What is tried; by default orders, tiles, lanes, iterations written out and copies of arrays in the function's nests of loops.
    store : bool, default True
        Whether the result is stored on disk, and taken from there, for this function, this processor, this number of threads, and
        arguments of these dtypes and of about these sizes (the same power of 2).

    Returns
    -------
    Tuning
        The quickest schedule, the function compiled with it, and what was measured.

    Raises
    ------
    UnsupportedError
        The function without a schedule is refused.
    ValueError
        The budget is negative, or not a number; arrays among the arguments share memory, which copies would not.
    TypeError
        A schedule is none; the budget is no number.

    See Also
    --------
    schedule : Schedules by hand.

    Notes
    -----
    Without `schedules` the search takes the best of one kind of step and goes on from there: orders, tiles, lanes, iterations
    written out, copies. A schedule that is refused, or gives other bits than the function without one, counts as refused.

    Examples
    --------
    >>> def product(a, b, c):
    ...     for i in range(a.shape[0]):
    ...         for j in range(b.shape[1]):
    ...             for k in range(a.shape[1]):
    ...                 c[i, j] += a[i, k] * b[k, j]
    >>> a, b, c = np.ones((30, 30)), np.ones((30, 30)), np.zeros((30, 30))
    >>> tuned = ingot.autotune(product, a, b, c, budget=0.0, store=False)
    >>> tuned.function(a, b, c)
    >>> c[0, 0]
    np.float64(30.0)
    """
    if not isinstance(budget, Real):
        raise TypeError(f"a budget is a number of seconds, not {budget!r}")
    if not budget >= 0:
        raise ValueError(f"a budget is a number of seconds, not {budget!r}")
    plain = f if isinstance(f, Function) else jit(f)
    if not isinstance(plain, Function):  # INGOT_DISABLE=1
        return Tuning(plain, Schedule(), math.nan, math.nan, ())
    arrays = [value for value in args if isinstance(value, np.ndarray)]
    if any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2)):
        raise ValueError("arguments that share memory are not tuned: copies of them would not share it")
    for each in schedules or ():
        if not isinstance(each, Schedule):
            raise TypeError(f"a schedule is made by ingot.schedule(), not a {type(each).__name__}")
    key = _key(plain, args, schedules) if store else None
    if key is not None and (kept := _kept(key, budget)) is not None:
        found, seconds, unscheduled = kept
        if _is_allowed(_with(plain, found), args):
            return Tuning(_with(plain, found), found, seconds, unscheduled, ())
    search = _Search(plain, args, budget)
    if schedules is not None:
        for each in schedules:
            search.try_one(each)
    else:
        for nest in _nests(plain.__ingot_function__):
            search.improve(nest)
    best = min(search.trials, key=lambda trial: trial.seconds)
    if key is not None:
        _keep(key, best, search.unscheduled, budget if search.is_cut_off else math.inf)
    return Tuning(_with(plain, best.schedule), best.schedule, best.seconds, search.unscheduled, tuple(search.trials))


def _is_allowed(made: Function, args: tuple[Any, ...]) -> bool:
    """Whether a schedule that was stored still is: what the function calls may have changed."""
    try:
        made(*copy.deepcopy(list(args)))
    except UnsupportedError:
        return False
    return True


def _with(plain: Function, found: Schedule) -> Function:
    """The function with another schedule."""
    options = (plain._signatures, plain._mode, plain._relaxed, plain._static, plain._device, plain._is_stored, plain._tier, plain._in_order)
    return _restored(plain.__ingot_function__, *options, found._directives)


class _Search:
    """Measures schedules while there is time, and keeps what it has found."""

    def __init__(self, plain: Function, args: tuple[Any, ...], budget: float) -> None:
        self.plain, self.args = plain, args
        self.end = time.perf_counter() + budget
        self.trials: list[Trial] = []
        self.expected: list[Any] = []
        self.seen: set[Schedule] = set()
        self.is_cut_off = False
        without = _with(plain, Schedule())
        without._tier = "full"
        self.expected = self._outcome(without)
        self.unscheduled = self._measure(without, math.inf)
        self.trials.append(Trial(Schedule(), self.unscheduled, ""))
        self.seen.add(Schedule())

    @property
    def best(self) -> Trial:
        return min(self.trials, key=lambda trial: trial.seconds)

    def try_one(self, found: Schedule) -> None:
        if found in self.seen:
            return
        if time.perf_counter() >= self.end:
            self.is_cut_off = True
            return
        self.seen.add(found)
        made = _with(self.plain, found)
        made._tier = "full"
        try:
            outcome = self._outcome(made)
        except UnsupportedError as refusal:
            self.trials.append(Trial(found, math.inf, refusal._told[0]))
            return
        if not all(map(_same, outcome, self.expected)):
            self.trials.append(Trial(found, math.inf, "its results are others"))
            return
        self.trials.append(Trial(found, self._measure(made, self.best.seconds), ""))

    def improve(self, nest: tuple[str, ...]) -> None:
        """Goes from the best schedule so far to better ones of one nest."""
        for kind in (_orders, _lanes, _tiles, _written_out, _lanes, self._cached):
            so_far = self.best.schedule
            for found in kind(so_far, nest):
                self.try_one(found)

    def _cached(self, so_far: Schedule, nest: tuple[str, ...]) -> Iterator[Schedule]:
        code = self.plain.__ingot_function__.__code__
        arrays = [name for name, value in zip(code.co_varnames, self.args) if isinstance(value, np.ndarray) and value.ndim > 1]
        for array, loop in itertools.product(arrays, _innermost(so_far, nest)):
            yield so_far.cache(array, loop)

    def _copies(self) -> list[Any]:
        return copy.deepcopy(list(self.args))

    def _outcome(self, made: Callable[..., Any]) -> list[Any]:
        given = self._copies()
        return [made(*given), *given]

    def _measure(self, made: Callable[..., Any], best: float) -> float:
        """The seconds of the quickest call: of one that is slow the first, of others as many as a twentieth of a second holds."""
        quickest, spent, calls = math.inf, 0.0, 0
        while calls < 3 or (spent < 0.05 and calls < 500):
            given = self._copies()
            start = time.perf_counter()
            made(*given)
            took = time.perf_counter() - start
            quickest, spent, calls = min(quickest, took), spent + took, calls + 1
            is_known = quickest > SHORT or calls >= 10
            if is_known and (quickest > WORSE * best or (calls > 1 and time.perf_counter() > self.end)):
                break
        return quickest


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if type(one) is not type(other):
        return False
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(_same, one.values(), other.values()))
    if isinstance(one, (float, complex, np.generic)):
        return np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return True


def _nests(function: Any) -> Iterator[tuple[str, ...]]:
    """The names of loops of a function that are directly in each other, nest by nest."""
    tree, _, _ = source.find(function)
    named: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            named.append(node.target.id)
    repeated = {name for name in named if named.count(name) > 1}

    def name_of(node: ast.For) -> str:
        own = node.target.id  # type: ignore[attr-defined]
        return f"{own}:{node.lineno}" if own in repeated else own

    def walk(nodes: list[ast.stmt]) -> Iterator[tuple[str, ...]]:
        for node in nodes:
            if isinstance(node, ast.With) and (given := names_given(node)):
                yield tuple(given)
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                names, at = [name_of(node)], node
                while len(at.body) == 1 and isinstance(at.body[0], ast.For) and isinstance(at.body[0].target, ast.Name):
                    at = at.body[0]
                    names.append(name_of(at))
                yield tuple(names)
                yield from walk(at.body)
            else:
                for field in ("body", "orelse", "finalbody"):
                    yield from walk(getattr(node, field, []))

    yield from walk(getattr(tree, "body", []) if not isinstance(tree, ast.Lambda) else [])


def _own(name: str) -> str:
    """What the names of the loops begin with that one is split into."""
    return name.replace(":", "_")


def _orders(so_far: Schedule, nest: tuple[str, ...]) -> Iterator[Schedule]:
    for order in itertools.islice(itertools.permutations(nest), 1, MOST_ORDERS):
        yield so_far.reorder(*order)


def _innermost(so_far: Schedule, nest: tuple[str, ...]) -> list[str]:
    """The loops that there are now, of those of a nest."""
    loops = list(nest)
    for step in so_far._directives:
        if step.kind == SPLIT and step.loops[0] in loops:
            at = loops.index(step.loops[0])
            loops[at : at + 1] = step.loops[1:]
    return loops


def _lanes(so_far: Schedule, nest: tuple[str, ...]) -> Iterator[Schedule]:
    if any(step.kind == VECTORIZE and step.loops[0] in _innermost(so_far, nest) for step in so_far._directives):
        return
    for loop, lanes in itertools.product(reversed(_innermost(so_far, nest)), LANES):
        yield so_far.vectorize(loop, lanes)


def _tiles(so_far: Schedule, nest: tuple[str, ...]) -> Iterator[Schedule]:
    there = [loop for loop in nest if loop in _innermost(so_far, nest)]
    lanes = {step.loops[0] for step in so_far._directives if step.kind == VECTORIZE}
    for count in (1, 2):
        for loops in itertools.combinations([loop for loop in there if loop not in lanes], count):
            for sizes in itertools.product(SIZES, repeat=count):
                yield so_far.tile(dict(zip(loops, sizes)))
    for loop in there:
        for size in SIZES:
            parts = so_far.split(loop, size)
            others = [each for each in there if each != loop]
            if loop not in lanes and others:
                yield parts.reorder(f"{_own(loop)}_outer", *others, f"{_own(loop)}_inner")


def _written_out(so_far: Schedule, nest: tuple[str, ...]) -> Iterator[Schedule]:
    lanes = {step.loops[0] for step in so_far._directives if step.kind == VECTORIZE}
    for loop in _innermost(so_far, nest):
        if loop in lanes:
            continue
        split = [step for step in so_far._directives if step.kind == SPLIT and step.loops[2] == loop]
        if split and split[0].number <= max(TIMES):
            yield so_far.unroll(loop)
        for times in TIMES:
            yield so_far.unroll(loop, times)
            others = [each for each in _innermost(so_far, nest) if each != loop]
            yield so_far.split(loop, times).reorder(f"{_own(loop)}_outer", *others, f"{_own(loop)}_inner").unroll(f"{_own(loop)}_inner")


def _key(plain: Function, args: tuple[Any, ...], schedules: Sequence[Schedule] | None) -> bytes | None:
    """Of what a result is stored by; none: nothing is stored."""
    from .._cache import cache
    from .._cache.names import Unnamed, form_of

    if cache() is None:
        return None
    kinds = [
        (value.dtype.str, tuple(int(length).bit_length() for length in value.shape)) if isinstance(value, np.ndarray) else (type(value).__name__, ())
        for value in args
    ]
    given = None if schedules is None else tuple(map(str, schedules))
    try:
        line = plain.__ingot_function__.__code__.co_firstlineno  # which names of loops may have
        what = ("tuning", line, repr(form_of(plain.__ingot_function__)), plain._relaxed, repr(kinds), repr(given), get_num_threads())
        return bytes(_ingot.digest(_ingot.encode((*what, _environment()), _refuse)))
    except Unnamed:
        return None


def _environment() -> bytes:
    from .._cache import cache

    return cache()._environment.digest()  # type: ignore[union-attr]


def _refuse(value: Any) -> int:
    from .._cache.names import Unnamed

    raise Unnamed(str(value))


def _kept(key: bytes, budget: float) -> tuple[Schedule, float, float] | None:
    """What has been found with this budget at least."""
    from .._cache import cache

    content = cache().folder.read(key)  # type: ignore[union-attr]
    try:
        steps, text, seconds, unscheduled, spent = json.loads(content or b"")
        if spent < budget:
            return None
        made = Schedule()
        made._directives, made._text = tuple(Directive(kind, tuple(loops), number, array) for kind, loops, number, array in steps), text
        return made, float(seconds), float(unscheduled)
    except (ValueError, TypeError):
        return None


def _keep(key: bytes, best: Trial, unscheduled: float, budget: float) -> None:
    from .._cache import cache

    steps = [[step.kind, list(step.loops), step.number, step.array] for step in best.schedule._directives]
    content = json.dumps([steps, str(best.schedule), best.seconds, unscheduled, budget]).encode()
    cache().folder.write(key, content)  # type: ignore[union-attr]
