"""Derivatives of functions: what users call. Compiled code has `library.derivatives` instead."""

from __future__ import annotations

import operator
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from . import _errors, _ingot
from ._function import Function, transformed
from ._jit import jit
from ._parameters import checked_keywords, parameters_of_call
from .tree import leaves
from .tree import map as tree_map

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
F = TypeVar("F", bound=Callable)

_MOST_COMPILED = 128
_compiled: OrderedDict[tuple, tuple[Callable, Callable]] = OrderedDict()
"""By what is asked for and a function: it, and what is called for it; the last used come last."""


def _compiled_for(what: Any, f: Callable, make: Callable[[], Callable]) -> Callable:
    key = what, f if type(f) is types.MethodType else id(f)
    known = _compiled.pop(key, None) or (f, make())
    _compiled[key] = known
    while len(_compiled) > _MOST_COMPILED:
        _compiled.popitem(last=False)
    return known[1]


def _derived(what: tuple, f: Callable, function: Callable) -> Any:
    """The jitted function, with the name and parameters of `f`; the same for the same function, unless it holds values of its own."""

    def make() -> Callable:
        return transformed(jit(function), f, what[0], what[1:])

    plain = f.__func__ if type(f) is types.MethodType else f
    plain = getattr(plain, "__ingot_function__", plain)
    holds_nothing = type(plain) is types.FunctionType and plain.__closure__ is None
    return _compiled_for(what, f, make) if holds_nothing else make()


def _chosen(f: Callable, argnums: Any) -> tuple[Any, tuple[str, ...]]:
    """`argnums` as ints and names, one or a tuple, and the names of the parameters, where there are names among these."""
    if not callable(f):
        raise TypeError(f"a function is wanted, not {f!r}")
    several = isinstance(argnums, (tuple, list))
    numbers = tuple(n if isinstance(n, str) else operator.index(n) for n in (argnums if several else (argnums,)))
    if not numbers:
        raise ValueError("argnums is empty: there is nothing to differentiate with respect to")
    names: tuple[str, ...] = ()
    wanted = [n for n in numbers if isinstance(n, str)]
    if wanted:
        parameters = parameters_of_call(f)
        if parameters is None:
            raise ValueError(f"argnums names {wanted[0]!r}, but the parameters of {f!r} are not known: give numbers")
        names = parameters.by_position
        for name in wanted:
            if name not in parameters.own and not parameters.has_others:
                raise ValueError(f"argnums names {name!r}, but the parameters are {', '.join(parameters.names)}")
    return (numbers if several else numbers[0]), names


def _positional(f: Callable) -> tuple[str, ...]:
    """The names by which arguments are given whose position is known; empty for those that have none."""
    parameters = parameters_of_call(f)
    return () if parameters is None else ("",) * parameters.positional_only + parameters.by_position[parameters.positional_only :]


def _jvp_of(f: Callable, has_aux: bool) -> Callable:
    from .library import derivatives

    return _compiled_for(("jvp", has_aux), f, lambda: jit(lambda x, t: derivatives.jvp(f, x, t, has_aux)))


def _linear_of(f: Callable, has_aux: bool) -> Callable:
    from .library import derivatives

    return _compiled_for(("linear", has_aux), f, lambda: jit(lambda x, t: derivatives.jvp(f, derivatives.own_copies(x), t, has_aux)[1]))


def _pull_of(f: Callable, has_aux: bool) -> Callable:
    from .library import derivatives

    return _compiled_for(("pull", has_aux), f, lambda: jit(lambda x, c: derivatives.pulled_back(f, x, c, has_aux)))


def _pull_of_copies_of(f: Callable, has_aux: bool) -> Callable:
    from .library import derivatives

    return _compiled_for(
        ("pull of copies", has_aux), f, lambda: jit(lambda x, c: derivatives.pulled_back(f, derivatives.own_copies(x), c, has_aux))
    )


def _hvp_of(f: Callable) -> Callable:
    from .library import derivatives

    return _compiled_for("hvp", f, lambda: jit(lambda x, t: derivatives.hvp(f, x, t)))


def _regions(arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Arrays whose bytes overlap, directly or by others, together; those without elements are left away."""
    regions: list[list[np.ndarray]] = []
    end = 0
    for (low, high), _, x in sorted((byte_bounds(x), i, x) for i, x in enumerate(arrays) if x.size):
        if regions and low < end:
            regions[-1].append(x)
        else:
            regions.append([x])
        end = max(end, high)
    return regions


def _kept(tree: Any) -> tuple[Any, bool]:
    """A structure with copies of its arrays, which have their layouts and overlaps, and whether any overlap."""
    arrays = list({id(x): x for x in leaves(tree) if isinstance(x, np.ndarray)}.values())
    copies = {id(x): np.array(x) for x in arrays}
    count = sum(isinstance(x, np.ndarray) for x in leaves(tree))
    overlap = count > len(arrays)
    for region in _regions(arrays):
        overlap = overlap or len(region) > 1 or _may_repeat(region[0])
        if len(region) == 1 and (region[0].flags.forc or region[0].dtype.hasobject):
            continue
        low = min(byte_bounds(x)[0] for x in region)
        memory = np.empty(max(byte_bounds(x)[1] for x in region) - low, np.uint8)
        for x in region:
            copies[id(x)] = copy = np.ndarray(x.shape, x.dtype, memory, x.ctypes.data - low, x.strides)
            copy[...] = x
    for x in arrays:
        copies[id(x)].flags.writeable = x.flags.writeable
    on_devices = list({id(x): x for x in leaves(tree) if isinstance(x, _ingot.DeviceArray)}.values())
    for x in on_devices:
        copies[id(x)] = x.copy("K")
        copies[id(x)].flags.writeable = x.flags.writeable
    shown = [_ingot.stand_in(x) for x in on_devices]
    if any(len(region) > 1 or _may_repeat(region[0]) for region in _regions(shown)):
        raise _errors.unsupported((), "`ingot.vjp` with arrays that share memory on a device", "pass copies of them")
    return tree_map(lambda x: copies.get(id(x), x), tree), overlap


def _may_repeat(x: np.ndarray) -> bool:
    """Whether elements of an array may be the same memory."""
    reach = x.itemsize
    for stride, length in sorted((abs(stride), length) for stride, length in zip(x.strides, x.shape) if length > 1):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


@checked_keywords
def jvp(f: Callable, primals: tuple | list, tangents: tuple | list, has_aux: bool = False) -> tuple:
    """Returns `f(*primals)`, and its derivative in the direction of the tangents.

    Primals and tangents have the same structure: numbers and arrays of floats or complex numbers, in tuples, lists,
    dicts, namedtuples and instances of dataclasses. So have the value and its tangents; ints and bools have the tangent 0.
    With `has_aux`, `f` returns a pair: what is differentiated, and something else, which is the third result. Tangents are computed
    together with values, in the same loops and branches; nothing is stored. `f` does to its arguments what it does when called.

    Raises TypeError where a primal is no float or complex number, or a tangent is complex and its primal is not, ValueError
    where structures or shapes differ, and `ingot.UnsupportedError` where an operation has no derivative, or nothing is
    compiled. docs/derivatives.md has the rules.
    """
    return _jvp_of(f, has_aux)(primals, tangents)


@checked_keywords
def linearize(f: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Returns `f(*primals)`, and the function of tangents that `jvp` is at the primals, which calls `f` again.

    It does so on copies of the primals as they were, with their layouts. With `has_aux`, `f` returns a pair:
    what is differentiated, and something else, which is the third result.
    """
    copies, overlap = _kept(primals)
    linear = _linear_of(f, has_aux)
    value = f(*primals)
    if overlap:
        of_any = _jvp_of(f, has_aux)
        return _with_aux(value, lambda *tangents: of_any(_kept(copies)[0], tangents)[1], has_aux)
    return _with_aux(value, lambda *tangents: linear(copies, tangents), has_aux)


def _with_aux(value: Any, function: Callable, has_aux: bool) -> tuple:
    """The value, and a function; of a pair its second part comes third."""
    from .library.derivatives import of_pair

    return (of_pair(value, has_aux), function, value[1]) if has_aux else (value, function)


@checked_keywords
def jacfwd(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function[P, Any]:
    """Returns a compiled function that computes all derivatives of the result of `f`, in forward mode.

    A result of shape `s` and an argument of shape `a` have an array of derivatives of shape `s + a`; numbers have numbers.
    The derivatives have the structure of the result, with that of the argument at each leaf; where `argnums`
    is a tuple or list, with a tuple of those of the arguments. `argnums` and `has_aux` are those of `grad`; with `holomorphic`,
    arguments and results are complex. `f` is called once, and once for each element of the arguments, on copies of all arguments.
    """
    from .library import derivatives

    numbers, names = _chosen(f, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return derivatives.jacfwd(f, numbers, has_aux, holomorphic, names)(*args, **kwargs)

    return _derived(("jacfwd", numbers, has_aux, holomorphic), f, jacobian)


@checked_keywords
def hessian(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function[P, Any]:
    """Returns a compiled function that computes all second derivatives, of shape `s + a + a`: `jacfwd` of `jacrev`.

    They have the structure of the result of `f`, with that of the argument at each leaf, twice.
    """
    from .library import derivatives

    numbers, names = _chosen(f, argnums)

    def second(*args: Any, **kwargs: Any) -> Any:
        return derivatives.hessian(f, numbers, has_aux, holomorphic, names)(*args, **kwargs)

    return _derived(("hessian", numbers, has_aux, holomorphic), f, second)


@checked_keywords
def grad(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False) -> Function[P, Any]:
    """Returns a compiled function that computes the gradient of `f`, whose value is a real number, in reverse mode.

    The gradient has the structure, shapes and dtypes of the argument. `argnums` is the argument: its number, which counts from
    the end if it is negative, or its name; for several, in a tuple or list, the result is a tuple of gradients. Numbers are those
    of arguments given by position; names also find arguments given by position. With `has_aux`, `f` returns a pair, its
    value and something else, and the compiled function returns the gradient and that. With `holomorphic`, value and arguments are
    complex. With `allow_int`, the gradient of ints and bools is 0.0, and of arrays of them zeros of float64. `f` does to its
    arguments what it does when called.

    Raises TypeError where an argument has ints, bools or other objects among its leaves, or the value is no real number, and
    `ingot.UnsupportedError` where an operation has no derivative. docs/derivatives.md has the rules.
    """
    from .library import derivatives

    numbers, names = _chosen(f, argnums)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return derivatives.grad(f, numbers, has_aux, holomorphic, allow_int, names)(*args, **kwargs)

    return _derived(("grad", numbers, has_aux, holomorphic, allow_int), f, gradient)


@checked_keywords
def value_and_grad(
    f: Callable[P, R], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Function[P, tuple[R, Any]]:
    """As `grad`, but the compiled function returns a pair: the value of `f`, and the gradient."""
    from .library import derivatives

    numbers, names = _chosen(f, argnums)

    def both(*args: Any, **kwargs: Any) -> Any:
        return derivatives.value_and_grad(f, numbers, has_aux, holomorphic, allow_int, names)(*args, **kwargs)

    return _derived(("value_and_grad", numbers, has_aux, holomorphic, allow_int), f, both)


@checked_keywords
def vjp(f: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Returns `f(*primals)`, and a function that takes cotangents of that value and returns those of the primals, in a tuple.

    Numbers are paired by `Re(c * t)`, without conjugation, as in JAX. The function calls `f` again, on copies of the primals as
    they were, with their layouts. With `has_aux`, `f` returns a pair: what is differentiated, and something
    else, which is the third result.
    """
    copies, overlap = _kept(primals)
    if overlap:
        of_any = _pull_of(f, has_aux)
        return _with_aux(f(*primals), lambda cotangents: of_any(_kept(copies)[0], cotangents), has_aux)
    pull = _pull_of_copies_of(f, has_aux)
    return _with_aux(f(*primals), lambda cotangents: pull(copies, cotangents), has_aux)


@checked_keywords
def jacrev(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function[P, Any]:
    """As `jacfwd`, in reverse mode: `f` is called once for each element of its result."""
    from .library import derivatives

    numbers, names = _chosen(f, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return derivatives.jacrev(f, numbers, has_aux, holomorphic, names)(*args, **kwargs)

    return _derived(("jacrev", numbers, has_aux, holomorphic), f, jacobian)


@checked_keywords
def hvp(f: Callable, primals: tuple | list, tangents: tuple | list) -> tuple:
    """Returns the products of the Hessian of `f` at the primals with the tangents: the derivative of its gradient in their direction."""
    return _hvp_of(f)(primals, tangents)


@checked_keywords
def custom_jvp(f: Callable, nondiff_argnums: tuple[int, ...] = ()) -> Any:
    """Returns `f` with a derivative by a rule, which `@f.defjvp` sets before `f` is first differentiated.

    `rule(primals, tangents)` returns `f(*primals)` and its tangent, which is linear in the tangents; ints and bools
    have the tangent None. Reverse mode transposes the rule. Arguments at `nondiff_argnums` come first:
    `rule(*nondiff, primals, tangents)`. The rule may be differentiated like any function.
    """
    rule = None

    def defjvp(function: Callable) -> Callable:
        nonlocal rule
        rule = function
        return function

    names = _positional(f)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return library.with_jvp(f, rule, nondiff_argnums, library.by_position(f, names, args, kwargs))

    from .library import derivatives as library

    return _named_as(f, wrapped, defjvp=defjvp)


@checked_keywords
def custom_vjp(f: Callable, nondiff_argnums: tuple[int, ...] = ()) -> Any:
    """Returns `f` with a derivative in reverse mode by rules, which `f.defvjp(forth, back)` sets.

    `forth(*args)` returns `f(*args)` and any value `kept`; `back(kept, cotangents)` returns a tuple of the
    cotangents of the arguments, where None stands for zeros. It has no derivative in forward mode (TypeError). Arguments at
    `nondiff_argnums` come first: `back(*nondiff, kept, cotangents)`.
    """
    forth = None
    back = None

    def defvjp(fwd: Callable, bwd: Callable) -> None:
        nonlocal forth, back
        forth, back = fwd, bwd

    names = _positional(f)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return library.with_vjp(f, forth, back, nondiff_argnums, library.by_position(f, names, args, kwargs))

    from .library import derivatives as library

    return _named_as(f, wrapped, defvjp=defvjp)


@checked_keywords
def checkpoint(f: F) -> F:
    """Returns `f`, of whose calls reverse mode stores the arguments alone: the sweep calls `f` again.

    `f` has to return the same for the same arguments, and to change none of them.
    """

    names = _positional(f)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return library.recomputed(f, library.by_position(f, names, args, kwargs))

    from .library import derivatives as library

    return _named_as(f, wrapped)


def _named_as(f: Callable, wrapped: Callable, **attributes: Any) -> Callable:
    for name, value in attributes.items():
        setattr(wrapped, name, value)
    return transformed(wrapped, f)


def stop_gradient(x: T) -> T:
    """Returns x, which derivatives treat as a constant."""
    return x


@checked_keywords
def check_grads(f: Callable, args: tuple | list, order: int = 1, atol: float | None = None, rtol: float | None = None) -> None:
    """Raises AssertionError where derivatives of `f` at `args` differ from central differences of its values.

    `args` are numbers and arrays of floats or complex numbers. Derivatives up to `order` are checked, each in a direction that is
    drawn from a fixed seed; the default tolerances are those of the differences in the precision of the arguments.
    """
    rng = np.random.default_rng(0)

    def drawn(x: Any) -> Any:
        at = np.asarray(x)
        t = rng.standard_normal(at.shape)
        if at.dtype.kind == "c":
            t = t + 1j * rng.standard_normal(at.shape)
        return t.astype(at.dtype)[()]

    at = [np.array(x)[()] for x in args]
    precision = max(np.finfo(np.asarray(x).dtype).eps for x in at)
    step = float(precision ** (1 / 3))
    tolerance = 40 * step**2
    directions = tuple(drawn(x) for x in at)

    def moved(by: float) -> Any:
        return f(*(np.asarray(x + np.asarray(by * d, np.asarray(x).dtype))[()] for x, d in zip(at, directions, strict=True)))

    _, tangents = jvp(f, tuple(np.array(x)[()] for x in at), directions)
    differences = leaves(moved(step)), leaves(moved(-step))
    for high, low, tangent in zip(*differences, leaves(tangents), strict=True):
        expected = (np.asarray(high) - np.asarray(low)) / (2 * step)
        size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        np.testing.assert_allclose(tangent, expected, rtol=rtol or tolerance, atol=atol or tolerance * size)
    if order > 1:
        count = len(at)
        check_grads(lambda *x: jvp(f, x[:count], x[count:])[1], at + list(directions), order - 1, atol, rtol)
