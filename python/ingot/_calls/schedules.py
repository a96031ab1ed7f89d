"""Schedules: what a user decides of loops, by their names, apart from the program (docs/guides/schedules.md)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_LANES = 64
_MOST = 2**31 - 1
"""Of iterations that a step takes together."""


SPLIT, REORDER, FUSE, VECTORIZE, UNROLL, PARALLEL, CACHE, PREFETCH, COMPUTE_AT, STORE_AT, INLINE = range(11)
"""What directives do, as `ir::Directive::Kind` has it."""


class Directive(NamedTuple):
    """One step, as the compiler is given it."""

    kind: int
    loops: tuple[str, ...]
    number: int = 0
    array: str = ""


def checked(name: Any) -> str:
    """A name of a loop, perhaps with its line; raises TypeError or ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"names of loops are strings, not {type(name).__name__}")
    own, _, line = name.partition(":")
    if not own.isidentifier() or (":" in name and not line.isdecimal()):
        raise ValueError(f"a loop is named by an identifier, perhaps with its line, as 'i' or 'i:12', not {name!r}")
    return str(name)


def _new(name: Any) -> str:
    if ":" in checked(name):
        raise ValueError(f"new loops have names without lines, not {name!r}")
    return name


def _number(value: Any, what: str) -> int:
    number = operator.index(value)
    if not 1 <= number <= _MOST:
        raise ValueError(f"{what} is from 1 to {_MOST}, not {number}")
    return number


def _array(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names of arrays are strings, not {type(name).__name__}")
    if not name.isidentifier():
        raise ValueError(f"an array is named by the argument that it is, not by {name!r}")
    return name


def _stem(name: str) -> str:
    """What the names of loops begin with that are made of a loop."""
    return checked(name).replace(":", "_")


class Schedule:
    """The order in which loops run, and how: steps that are taken one after the other.

    A schedule is made by `ingot.schedule` and given to `ingot.jit`. Each method gives a new schedule with one step more. Loops are named
    by the variables of ``for``, or by ``with ingot.loop(...)``; ``"i:12"`` is the loop over ``i`` in line 12, where several have that
    name. Results are those without a schedule, to the last bit; a step that would change them is refused when the function is compiled.

    See Also
    --------
    ingot.schedule : The schedule without steps.
    ingot.loop : Names for the loops of array code.

    Examples
    --------
    >>> plan = ingot.schedule().tile(i=64, j=64).vectorize("j_inner").parallel("i_outer")
    >>> plan
    ingot.schedule().tile(i=64, j=64).vectorize('j_inner').parallel('i_outer')
    >>> plan == ingot.schedule()
    False
    """

    __module__ = "ingot"
    __slots__ = ("_directives", "_text")
    _directives: tuple[Directive, ...]
    _text: str

    def __init__(self) -> None:
        self._directives, self._text = (), "ingot.schedule()"

    def _with(self, text: str, *directives: Directive) -> Schedule:
        made = Schedule()
        made._directives, made._text = self._directives + directives, f"{self._text}.{text}"
        return made

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return self._directives == other._directives if isinstance(other, Schedule) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._directives)

    def split(self, loop: str, size: int, outer: str | None = None, inner: str | None = None) -> Schedule:
        """Make two loops of one: the inner one runs `size` of its iterations.

        Parameters
        ----------
        loop : str
            The loop.
        size : int
            How many iterations the inner loop has; the last time perhaps fewer.
        outer, inner : str, optional
            Names of the two loops; by default the loop's with ``_outer`` and ``_inner``: ``"i_12_outer"`` of ``"i:12"``.

        Returns
        -------
        Schedule
        """
        own = _stem(loop)
        names = _new(outer or f"{own}_outer"), _new(inner or f"{own}_inner")
        if len({loop, *names}) < 3:
            raise ValueError(f"the loops that {loop!r} is split into have names of their own, not {names}")
        given = "".join(f", {key}={name!r}" for key, name in (("outer", outer), ("inner", inner)) if name)
        number = _number(size, "the size of a split")
        return self._with(f"split({loop!r}, {number}{given})", Directive(SPLIT, (loop, *names), number))

    def tile(self, sizes: Mapping[str, int] | None = None, /, **more: int) -> Schedule:
        """Split loops that are in each other, and run the outer ones first: over tiles, then in a tile.

        Parameters
        ----------
        sizes : mapping of str to int, optional
            The loops from the outside in, with the sizes of a tile along them.
        **more : int
            The same as keywords.

        Returns
        -------
        Schedule
            With the loops ``i_outer``, ``j_outer``, ``i_inner``, ``j_inner`` of ``tile(i=..., j=...)``.
        """
        all_sizes = {**(sizes or {}), **more}
        if not all_sizes:
            raise ValueError("a tile has a size along one loop at least")
        made = self
        for loop, size in all_sizes.items():
            made = made.split(loop, size)
        own = [_stem(loop) for loop in all_sizes]
        order = (*(f"{name}_outer" for name in own), *(f"{name}_inner" for name in own))
        steps = made._directives[len(self._directives) :]
        if len(own) > 1:
            steps += (Directive(REORDER, order),)
        keywords = ", ".join(f"{loop}={operator.index(size)}" for loop, size in all_sizes.items())
        listed = ", ".join(f"{loop!r}: {operator.index(size)}" for loop, size in all_sizes.items())
        return self._with(f"tile({keywords})" if own == list(all_sizes) else f"tile({{{listed}}})", *steps)

    def reorder(self, *loops: str) -> Schedule:
        """Put loops that are in each other into another order.

        Parameters
        ----------
        *loops : str
            The loops, from the outside in. Other loops between them stay where they are.

        Returns
        -------
        Schedule
        """
        if len(loops) < 2 or len({checked(loop) for loop in loops}) < len(loops):
            raise ValueError(f"an order has two loops at least, each once, not {loops}")
        return self._with(f"reorder({', '.join(map(repr, loops))})", Directive(REORDER, loops))

    def fuse(self, outer: str, inner: str, name: str | None = None) -> Schedule:
        """Make one loop of two, the one directly in the other.

        Parameters
        ----------
        outer, inner : str
            The loops.
        name : str, optional
            The name of the one; by default both with ``_`` between.

        Returns
        -------
        Schedule
        """
        own = [_stem(loop) for loop in (outer, inner)]
        one = _new(name or "_".join(own))
        if len({outer, inner, one}) < 3:
            raise ValueError(f"the loop that {outer!r} and {inner!r} become has a name of its own, not {one!r}")
        given = f", {name!r}" if name else ""
        return self._with(f"fuse({outer!r}, {inner!r}{given})", Directive(FUSE, (outer, inner, one)))

    def vectorize(self, loop: str, lanes: int | None = None) -> Schedule:
        """Run iterations of a loop in the lanes of vectors.

        Parameters
        ----------
        loop : str
            The loop. Its iterations must not depend on each other.
        lanes : int, optional
            How many run at once: a power of 2, at most 64; by default as many as fit.

        Returns
        -------
        Schedule
        """
        number = 0 if lanes is None else _number(lanes, "a number of lanes")
        if number == 1 or number & (number - 1) or number > MOST_LANES:
            raise ValueError(f"a number of lanes is a power of 2 from 2 to {MOST_LANES}, not {number}")
        given = f", {number}" if number else ""
        return self._with(f"vectorize({loop!r}{given})", Directive(VECTORIZE, (checked(loop),), number))

    def unroll(self, loop: str, times: int | None = None) -> Schedule:
        """Write the iterations of a loop after each other.

        Parameters
        ----------
        loop : str
            The loop.
        times : int, optional
            How many iterations are written out: the loop is split by that number, and its inner loop is written out. By default all,
            of a loop with a known number of them.

        Returns
        -------
        Schedule
        """
        if times is None:
            return self._with(f"unroll({loop!r})", Directive(UNROLL, (checked(loop),)))
        made = self.split(loop, times)
        inner = made._directives[-1].loops[2]
        return self._with(f"unroll({loop!r}, {operator.index(times)})", made._directives[-1], Directive(UNROLL, (inner,)))

    def parallel(self, loop: str, grain: int | None = None) -> Schedule:
        """Have threads share a loop, and no other loop of the nest.

        Parameters
        ----------
        loop : str
            The loop. Its iterations must not depend on each other.
        grain : int, optional
            How many iterations one thread runs at a time, at least: the loop is split by that number, and its outer loop is shared.

        Returns
        -------
        Schedule
        """
        if grain is None:
            return self._with(f"parallel({loop!r})", Directive(PARALLEL, (checked(loop),)))
        made = self.split(loop, grain)
        outer = made._directives[-1].loops[1]
        return self._with(f"parallel({loop!r}, grain={operator.index(grain)})", made._directives[-1], Directive(PARALLEL, (outer,)))

    def cache(self, array: str, loop: str) -> Schedule:
        """Copy what an iteration of a loop reads of an array, without gaps, and read the copy in it.

        Elements that are read often, and are far from each other, are then near each other in the cache.

        Parameters
        ----------
        array : str
            An array among the function's arguments, by its name. The loop must not write it.
        loop : str
            The loop. Each of its iterations begins with a copy of the box of elements that it reads.

        Returns
        -------
        Schedule

        Examples
        --------
        >>> def product(a, b, c):
        ...     for i in range(a.shape[0]):
        ...         for j in range(b.shape[1]):
        ...             for k in range(a.shape[1]):
        ...                 c[i, j] += a[i, k] * b[k, j]
        >>> plan = ingot.schedule().tile(i=6, j=32).split("k", 128)
        >>> plan = plan.reorder("k_outer", "j_outer", "i_outer", "j_inner", "k_inner", "i_inner")
        >>> plan = plan.cache("b", "j_outer").vectorize("j_inner", 32).unroll("i_inner")
        >>> a, b, c = np.ones((5, 6)), np.ones((6, 7)), np.zeros((5, 7))
        >>> ingot.jit(product, schedule=plan)(a, b, c)
        >>> c[0, 0]
        np.float64(6.0)
        """
        return self._with(f"cache({array!r}, {loop!r})", Directive(CACHE, (checked(loop),), 0, _array(array)))

    def prefetch(self, array: str, loop: str, ahead: int = 1) -> Schedule:
        """Ask for the memory that an iteration of a loop reads of an array some iterations before.

        Parameters
        ----------
        array : str
            An array among the function's arguments, by its name.
        loop : str
            The loop.
        ahead : int, optional
            How many iterations before.

        Returns
        -------
        Schedule

        Examples
        --------
        >>> def far(x, y):
        ...     for i in range(y.shape[0]):
        ...         y[i] = x[i * 512]
        >>> fast = ingot.jit(far, schedule=ingot.schedule().prefetch("x", "i", 16))
        >>> fast(np.ones(2048), y := np.zeros(4))
        >>> y
        array([1., 1., 1., 1.])
        """
        number = _number(ahead, "a number of iterations")
        return self._with(f"prefetch({array!r}, {loop!r}, {number})", Directive(PREFETCH, (checked(loop),), number, _array(array)))

    def compute_at(self, stage: str, loop: str) -> Schedule:
        """Compute an array where it is read: in each iteration of a loop, what that iteration reads of it.

        Parameters
        ----------
        stage : str
            The outermost loop of the nest that computes the array: one that the function makes, and one later nest reads.
        loop : str
            A loop of the nest that reads it.

        Returns
        -------
        Schedule
            The stage's loops have their names there, and later steps arrange them.

        Examples
        --------
        >>> def blur(a):
        ...     with ingot.loop("by", "bx"):
        ...         rows = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) / 3
        ...     with ingot.loop("y", "x"):
        ...         return (rows[:-2] + rows[1:-1] + rows[2:]) / 3
        >>> plan = ingot.schedule().split("y", 32).compute_at("by", "y_outer").vectorize("bx").vectorize("x")
        >>> ingot.jit(blur, schedule=plan)(np.ones((5, 4))).shape
        (3, 2)
        """
        names = checked(stage), checked(loop)
        if stage == loop:
            raise ValueError(f"a stage is computed in a loop of what reads it, not in {loop!r}, its own")
        return self._with(f"compute_at({stage!r}, {loop!r})", Directive(COMPUTE_AT, names))

    def store_at(self, stage: str, loop: str) -> Schedule:
        """Keep what is computed by `compute_at` during an iteration of a loop around that one.

        What an iteration has computed is there for those after it, which compute only what they read besides: a window that slides.

        Parameters
        ----------
        stage : str
            The outermost loop of the nest that computes the array.
        loop : str
            A loop around the one that the stage is computed in. The loops inside it, down to that one, run in order.

        Returns
        -------
        Schedule

        Examples
        --------
        >>> ingot.schedule().split("y", 64).compute_at("by", "y_inner").store_at("by", "y_outer").parallel("y_outer")
        ingot.schedule().split('y', 64).compute_at('by', 'y_inner').store_at('by', 'y_outer').parallel('y_outer')
        """
        return self._with(f"store_at({stage!r}, {loop!r})", Directive(STORE_AT, (checked(stage), checked(loop))))

    def inline(self, stage: str) -> Schedule:
        """Compute each element of an array where it is read, and store none.

        Parameters
        ----------
        stage : str
            The outermost loop of the nest that computes the array.

        Returns
        -------
        Schedule

        Examples
        --------
        >>> ingot.schedule().inline("by").vectorize("x")
        ingot.schedule().inline('by').vectorize('x')
        """
        return self._with(f"inline({stage!r})", Directive(INLINE, (checked(stage),)))


def schedule() -> Schedule:
    """Begin a schedule: how the loops of a function run, apart from the function.

    Returns
    -------
    Schedule
        The schedule without steps. Its methods give schedules with one step more.

    See Also
    --------
    jit : Takes a schedule.
    loop : Names the loops of array code.

    Notes
    -----
    docs/guides/schedules.md shows what the steps do and what is refused.

    Examples
    --------
    >>> def product(a, b, c):
    ...     for i in range(a.shape[0]):
    ...         for j in range(b.shape[1]):
    ...             for k in range(a.shape[1]):
    ...                 c[i, j] += a[i, k] * b[k, j]
    >>> plan = ingot.schedule().tile(i=4, j=64).reorder("j_outer", "i_outer").vectorize("j_inner")
    >>> fast = ingot.jit(product, schedule=plan)
    >>> a, b, c = np.ones((5, 6)), np.ones((6, 7)), np.zeros((5, 7))
    >>> fast(a, b, c)
    >>> c[0, 0]
    np.float64(6.0)
    """
    return Schedule()


def names_of_loops(function: Any) -> list[str]:
    """The names that a function's source has for loops, each with its line, too."""
    from .._code import source

    names: list[str] = []

    def visit(node: ast.AST, given: list[str]) -> None:
        if isinstance(node, ast.With) and (own := names_given(node)):
            given = own
            names.extend(own)
        elif isinstance(node, ast.For):
            if given:
                given = given[1:]
            elif isinstance(node.target, ast.Name):
                names.extend((node.target.id, f"{node.target.id}:{node.lineno}"))
        for child in ast.iter_child_nodes(node):
            visit(child, given)

    visit(source.find(function)[0], [])
    return names


def names_given(node: ast.With) -> list[str]:
    """The names that a `with ingot.loop(...)` gives."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and "loop" in (getattr(call.func, "attr", ""), getattr(call.func, "id", "")):
            return [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return []


class loop:  # noqa: N801
    """Name the loops that array code becomes, and those of ``for``, from the outside in.

    Parameters
    ----------
    *names : str
        The names: of an array statement those of its axes, in their order.

    See Also
    --------
    schedule : What names are for.

    Examples
    --------
    >>> def blur(a, b):
    ...     with ingot.loop("y", "x"):
    ...         b[:, 1:-1] = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) / 3
    >>> fast = ingot.jit(blur, schedule=ingot.schedule().tile(y=8, x=256).vectorize("x_inner"))
    >>> a, b = np.ones((4, 5)), np.zeros((4, 5))
    >>> fast(a, b)
    >>> b[0]
    array([0., 1., 1., 1., 0.])
    """

    __module__ = "ingot"
    __slots__ = ()

    def __init__(self, *names: str) -> None:
        if not names:
            raise TypeError("ingot.loop takes a name at least")
        for name in names:
            _new(name)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        return None
