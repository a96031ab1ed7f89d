"""Derivatives of functions: what users call. Compiled code has `library.derivatives` instead."""

from __future__ import annotations

import operator
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .. import _errors, _ingot
from .._calls.function import Function, transformed
from .._calls.jit import jit
from .._signatures.parameters import checked_keywords, parameters_of_call
from ..tree import leaves
from ..tree import map as tree_map

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class WithJvp(Protocol[P, R_co]):
    """What `custom_jvp` returns."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def defjvp(self, function: F, /) -> F:
        """Set the rule; a decorator."""


class WithVjp(Protocol[P, R_co]):
    """What `custom_vjp` returns."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rules."""


_MOST_COMPILED = 128
_compiled: OrderedDict[tuple[Any, ...], tuple[Callable[..., Any], Callable[..., Any]]] = OrderedDict()
"""By what is asked for and a function: it, and what is called for it; the last used come last."""


def _compiled_for(what: Any, f: Callable[..., Any], make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    key = what, f if type(f) is types.MethodType else id(f)
    known = _compiled.pop(key, None) or (f, make())
    _compiled[key] = known
    while len(_compiled) > _MOST_COMPILED:
        _compiled.popitem(last=False)
    return known[1]


def _derived(what: tuple[Any, ...], f: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """The jitted function, with the name and parameters of `f`; the same for the same function, unless it holds values of its own."""

    def make() -> Callable[..., Any]:
        return transformed(jit(function), f, what[0], what[1:])

    plain = f.__func__ if type(f) is types.MethodType else f
    plain = getattr(plain, "__ingot_function__", plain)
    holds_nothing = type(plain) is types.FunctionType and plain.__closure__ is None
    return _compiled_for(what, f, make) if holds_nothing else make()


def _chosen(f: Callable[..., Any], argnums: Any) -> tuple[Any, tuple[str, ...]]:
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


def _positional(f: Callable[..., Any]) -> tuple[str, ...]:
    """The names by which arguments are given whose position is known; empty for those that have none."""
    parameters = parameters_of_call(f)
    return () if parameters is None else ("",) * parameters.positional_only + parameters.by_position[parameters.positional_only :]


def _jvp_of(f: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    from ..library import derivatives

    return _compiled_for(("jvp", has_aux), f, lambda: jit(lambda x, t: derivatives.jvp(f, x, t, has_aux)))


def _linear_of(f: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    from ..library import derivatives

    return _compiled_for(("linear", has_aux), f, lambda: jit(lambda x, t: derivatives.jvp(f, derivatives.own_copies(x), t, has_aux)[1]))


def _pull_of(f: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    from ..library import derivatives

    return _compiled_for(("pull", has_aux), f, lambda: jit(lambda x, c: derivatives.pulled_back(f, x, c, has_aux)))


def _pull_of_copies_of(f: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    from ..library import derivatives

    return _compiled_for(
        ("pull of copies", has_aux), f, lambda: jit(lambda x, c: derivatives.pulled_back(f, derivatives.own_copies(x), c, has_aux))
    )


def _hvp_of(f: Callable[..., Any]) -> Callable[..., Any]:
    from ..library import derivatives

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
    copies: dict[int, Any] = {id(x): np.array(x) for x in arrays}
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
    on_devices: list[Any] = list({id(x): x for x in leaves(tree) if isinstance(x, _ingot.DeviceArray)}.values())
    for there in on_devices:
        copies[id(there)] = there.copy("K")
        copies[id(there)].flags.writeable = there.flags.writeable
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
def jvp(f: Callable[..., Any], primals: tuple[Any, ...] | list[Any], tangents: tuple[Any, ...] | list[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a value and its derivative in a direction, in forward mode.

    Parameters
    ----------
    f : callable
        The function.
    primals : tuple or list
        Its arguments: numbers and arrays of floats or complex numbers, in tuples, lists, dicts, named tuples and instances
        of dataclasses.
    tangents : tuple or list
        The direction: the same structure, shapes and dtypes.
    has_aux : bool, default False
        `f` returns a pair: what is differentiated, and something else.

    Returns
    -------
    value, tangent : tuple
        ``f(*primals)`` and its derivative, of one structure; ints and bools have the tangent 0. With `has_aux` a third result.

    Raises
    ------
    TypeError
        A primal is no float or complex number, or a tangent is complex and its primal is not.
    ValueError
        Structures or shapes differ.
    UnsupportedError
        An operation has no derivative, or nothing is compiled.

    See Also
    --------
    linearize, jacfwd, vjp

    Notes
    -----
    Values and tangents are computed in the same loops and branches; nothing is stored. docs/derivatives.md has the rules.

    Examples
    --------
    >>> ingot.jvp(lambda x: x**3, (2.0,), (1.0,))
    (8.0, 12.0)
    """
    return _jvp_of(f, has_aux)(primals, tangents)


@checked_keywords
def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a value, and the linear function of tangents that is the derivative there.

    Parameters
    ----------
    f : callable
        The function.
    *primals
        Its arguments, as of `jvp`.
    has_aux : bool, default False
        As of `jvp`.

    Returns
    -------
    value, linear : tuple
        ``f(*primals)`` and a function of tangents. With `has_aux` a third result.

    See Also
    --------
    jvp, vjp

    Notes
    -----
    The function calls `f` again, on copies of the primals as they were, with their layouts.

    Examples
    --------
    >>> value, linear = ingot.linearize(lambda x: x**3, 2.0)
    >>> value, linear(1.0), linear(0.5)
    (8.0, 12.0, 6.0)
    """
    copies, overlap = _kept(primals)
    linear = _linear_of(f, has_aux)
    value = f(*primals)
    if overlap:
        of_any = _jvp_of(f, has_aux)
        return _with_aux(value, lambda *tangents: of_any(_kept(copies)[0], tangents)[1], has_aux)
    return _with_aux(value, lambda *tangents: linear(copies, tangents), has_aux)


def _with_aux(value: Any, function: Callable[..., Any], has_aux: bool) -> tuple[Any, ...]:
    """The value, and a function; of a pair its second part comes third."""
    from ..library.derivatives import of_pair

    return (of_pair(value, has_aux), function, value[1]) if has_aux else (value, function)


@checked_keywords
def jacfwd(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function[P, Any]:
    """Return a compiled function that computes the Jacobian of `f`, in forward mode.

    Parameters
    ----------
    f : callable
        The function.
    argnums, has_aux
        As of `grad`.
    holomorphic : bool, default False
        Arguments and results are complex.

    Returns
    -------
    Function
        A result of shape ``s`` and an argument of shape ``a`` have derivatives of shape ``s + a``, in the structure of the result,
        with that of the argument at each leaf; for several `argnums` with a tuple of those of the arguments.

    Raises
    ------
    TypeError, UnsupportedError
        By a call, as of `jvp`.

    See Also
    --------
    jacrev : Better where the result has fewer elements than the arguments.

    Notes
    -----
    `f` is called once, and once for each element of the arguments, on copies of all arguments.

    Examples
    --------
    >>> ingot.jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    from ..library import derivatives

    numbers, names = _chosen(f, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return derivatives.jacfwd(f, numbers, has_aux, holomorphic, names)(*args, **kwargs)

    return _derived(("jacfwd", numbers, has_aux, holomorphic), f, jacobian)


@checked_keywords
def hessian(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function[P, Any]:
    """Return a compiled function that computes all second derivatives of `f`: `jacfwd` of `jacrev`.

    Parameters
    ----------
    f : callable
        The function.
    argnums, has_aux
        As of `grad`.
    holomorphic : bool, default False
        Arguments and results are complex.

    Returns
    -------
    Function
        Derivatives of shape ``s + a + a``, in the structure of the result of `f`, with that of the argument at each leaf, twice.

    Raises
    ------
    TypeError, UnsupportedError
        By a call, as of `jvp`.

    See Also
    --------
    hvp : The product with a vector, without the matrix.

    Examples
    --------
    >>> ingot.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    from ..library import derivatives

    numbers, names = _chosen(f, argnums)

    def second(*args: Any, **kwargs: Any) -> Any:
        return derivatives.hessian(f, numbers, has_aux, holomorphic, names)(*args, **kwargs)

    return _derived(("hessian", numbers, has_aux, holomorphic), f, second)


@checked_keywords
def grad(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False) -> Function[P, Any]:
    """Return a compiled function that computes the gradient of `f`, in reverse mode.

    Parameters
    ----------
    f : callable
        A function whose value is one real number.
    argnums : int or str, or tuple or list of these, default 0
        The arguments that are differentiated, by number (negative: from the end) or name. For a tuple or list the result is a
        tuple of gradients.
    has_aux : bool, default False
        `f` returns a pair: the value, and something else, which is returned after the gradient.
    holomorphic : bool, default False
        Value and arguments are complex.
    allow_int : bool, default False
        Arguments may be ints and bools: their gradient is 0.0, of arrays of them zeros of float64.

    Returns
    -------
    Function
        With the parameters of `f`. The gradient has the structure, shapes and dtypes of the argument.

    Raises
    ------
    TypeError
        By a call: an argument has ints, bools or other objects among its leaves, or the value is no real number.
    ValueError
        `argnums` is empty, or names no parameter.
    UnsupportedError
        By a call: an operation has no derivative, or `f` cannot be compiled.

    See Also
    --------
    value_and_grad, vjp, jacrev, hessian, check_grads

    Notes
    -----
    `f` does to its arguments what it does when called. Loops store what the sweep back needs, and recompute the rest.
    docs/derivatives.md has the rules.

    Examples
    --------
    >>> def loss(w, x, y):
    ...     return ((x @ w - y) ** 2).sum()
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> ingot.grad(loss)(np.zeros(2), x, np.ones(2))
    array([ -8., -12.])
    >>> ingot.grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    (3.0, 2.0)
    """
    from ..library import derivatives

    numbers, names = _chosen(f, argnums)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return derivatives.grad(f, numbers, has_aux, holomorphic, allow_int, names)(*args, **kwargs)

    return _derived(("grad", numbers, has_aux, holomorphic, allow_int), f, gradient)


@checked_keywords
def value_and_grad(
    f: Callable[P, R], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Function[P, tuple[R, Any]]:
    """Return a compiled function that computes the value of `f` and its gradient.

    Parameters
    ----------
    f : callable
        A function whose value is one real number.
    argnums, has_aux, holomorphic, allow_int
        As of `grad`.

    Returns
    -------
    Function
        It returns a pair, the value and the gradient; with `has_aux` the value is the pair that `f` returns.

    Raises
    ------
    TypeError, ValueError, UnsupportedError
        As of `grad`.

    See Also
    --------
    grad : The gradient alone.

    Examples
    --------
    >>> ingot.value_and_grad(lambda x: (x**2).sum())(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    from ..library import derivatives

    numbers, names = _chosen(f, argnums)

    def both(*args: Any, **kwargs: Any) -> Any:
        return derivatives.value_and_grad(f, numbers, has_aux, holomorphic, allow_int, names)(*args, **kwargs)

    return _derived(("value_and_grad", numbers, has_aux, holomorphic, allow_int), f, both)


@checked_keywords
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a value, and the function that pulls cotangents of it back to the arguments, in reverse mode.

    Parameters
    ----------
    f : callable
        The function.
    *primals
        Its arguments, as of `jvp`.
    has_aux : bool, default False
        `f` returns a pair: what is differentiated, and something else.

    Returns
    -------
    value, pull : tuple
        ``f(*primals)``, and a function that takes cotangents of the structure of the value and returns a tuple of those of the
        primals. With `has_aux` a third result.

    Raises
    ------
    TypeError, UnsupportedError
        As of `jvp`.

    See Also
    --------
    grad, jacrev, linearize

    Notes
    -----
    Numbers are paired by ``Re(c * t)``, without conjugation, as in JAX. The function calls `f` again, on copies of the
    primals as they were, with their layouts.

    Examples
    --------
    >>> value, pull = ingot.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> value, pull(1.0)
    (6.0, (3.0, 2.0))
    """
    copies, overlap = _kept(primals)
    if overlap:
        of_any = _pull_of(f, has_aux)
        return _with_aux(f(*primals), lambda cotangents: of_any(_kept(copies)[0], cotangents), has_aux)
    pull = _pull_of_copies_of(f, has_aux)
    return _with_aux(f(*primals), lambda cotangents: pull(copies, cotangents), has_aux)


@checked_keywords
def jacrev(f: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function[P, Any]:
    """Return a compiled function that computes the Jacobian of `f`, in reverse mode.

    Parameters
    ----------
    f : callable
        The function.
    argnums, has_aux
        As of `grad`.
    holomorphic : bool, default False
        Arguments and results are complex.

    Returns
    -------
    Function
        Derivatives of the shapes and structure of `jacfwd`.

    Raises
    ------
    TypeError, UnsupportedError
        By a call, as of `jvp`.

    See Also
    --------
    jacfwd : Better where the arguments have fewer elements than the result.

    Notes
    -----
    `f` is called once for each element of its result.

    Examples
    --------
    >>> ingot.jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    from ..library import derivatives

    numbers, names = _chosen(f, argnums)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return derivatives.jacrev(f, numbers, has_aux, holomorphic, names)(*args, **kwargs)

    return _derived(("jacrev", numbers, has_aux, holomorphic), f, jacobian)


@checked_keywords
def hvp(f: Callable[..., Any], primals: tuple[Any, ...] | list[Any], tangents: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    """Compute the product of the Hessian of `f` with a vector, without the matrix.

    Parameters
    ----------
    f : callable
        A function whose value is one real number.
    primals : tuple or list
        Its arguments.
    tangents : tuple or list
        The vector: the same structure, shapes and dtypes.

    Returns
    -------
    tuple
        For each primal, the derivative of the gradient in the direction of the tangents.

    Raises
    ------
    TypeError, ValueError, UnsupportedError
        As of `jvp` and `grad`.

    See Also
    --------
    hessian : All second derivatives.

    Examples
    --------
    >>> ingot.hvp(lambda x: (x**3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    (array([6., 0.]),)
    """
    return _hvp_of(f)(primals, tangents)


@checked_keywords
def custom_jvp(f: Callable[P, R], nondiff_argnums: tuple[int, ...] = ()) -> WithJvp[P, R]:
    """Give a function a derivative by a rule.

    Parameters
    ----------
    f : callable
        The function.
    nondiff_argnums : tuple of int, default ()
        The numbers of arguments that are not differentiated. The rule gets them first.

    Returns
    -------
    callable
        `f` with the method `defjvp`, a decorator, which sets ``rule(*nondiff, primals, tangents)``: it returns ``f(*primals)`` and its
        tangent, which is linear in the tangents. Ints and bools have the tangent None.

    See Also
    --------
    custom_vjp : A rule in reverse mode.

    Notes
    -----
    Reverse mode transposes the rule. The rule may be differentiated like any function. It is set before `f` is first
    differentiated.

    Examples
    --------
    >>> @ingot.custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
    >>> ingot.grad(log1pexp)(0.0)
    0.5
    """
    rule = None

    def defjvp(function: Callable[..., Any]) -> Callable[..., Any]:
        nonlocal rule
        rule = function
        return function

    names = _positional(f)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return library.with_jvp(f, rule, nondiff_argnums, library.by_position(f, names, args, kwargs))

    from ..library import derivatives as library

    return _named_as(f, wrapped, defjvp=defjvp)


@checked_keywords
def custom_vjp(f: Callable[P, R], nondiff_argnums: tuple[int, ...] = ()) -> WithVjp[P, R]:
    """Give a function a derivative in reverse mode by two rules.

    Parameters
    ----------
    f : callable
        The function.
    nondiff_argnums : tuple of int, default ()
        The numbers of arguments that are not differentiated. ``back`` gets them first.

    Returns
    -------
    callable
        `f` with the method ``defvjp(forth, back)``: ``forth(*args)`` returns ``f(*args)`` and any value ``kept``;
        ``back(*nondiff, kept, cotangents)`` returns a tuple of the cotangents of the arguments, where None is zeros.

    Raises
    ------
    TypeError
        In forward mode, where it has no derivative.

    See Also
    --------
    custom_jvp : A rule for both modes.

    Examples
    --------
    >>> @ingot.custom_vjp
    ... def clipped(x):  # whose gradient is clipped to [-1, 1]
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda kept, c: (min(max(c, -1.0), 1.0),))
    >>> ingot.grad(lambda x: 10 * clipped(x))(2.0)
    1.0
    """
    forth = None
    back = None

    def defvjp(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        nonlocal forth, back
        forth, back = fwd, bwd

    names = _positional(f)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return library.with_vjp(f, forth, back, nondiff_argnums, library.by_position(f, names, args, kwargs))

    from ..library import derivatives as library

    return _named_as(f, wrapped, defvjp=defvjp)


@checked_keywords
def checkpoint(f: F) -> F:
    """Return `f`, of whose calls reverse mode stores the arguments alone, and calls it again in the sweep back.

    Parameters
    ----------
    f : callable
        It returns the same for the same arguments, and changes none of them.

    Returns
    -------
    callable
        Called as `f` is.

    See Also
    --------
    grad : What uses it.

    Notes
    -----
    Less memory for about one more evaluation, as in A. Griewank and A. Walther, "Evaluating Derivatives", chapter 12.

    Examples
    --------
    >>> step = ingot.checkpoint(lambda x: np.sin(x) * x)
    >>> ingot.grad(lambda x: step(step(x)))(1.0)
    1.8050828865248598
    """

    names = _positional(f)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return library.recomputed(f, library.by_position(f, names, args, kwargs))

    from ..library import derivatives as library

    return _named_as(f, wrapped)


def _named_as(f: Callable[..., Any], wrapped: Callable[..., Any], **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(wrapped, name, value)
    return transformed(wrapped, f)


def stop_gradient(x: T) -> T:
    """Return x, which derivatives treat as a constant.

    Parameters
    ----------
    x : object
        Any value.

    Returns
    -------
    object
        `x` itself.

    Examples
    --------
    >>> ingot.grad(lambda x: x * ingot.stop_gradient(x))(3.0)
    3.0
    """
    return x


def _drawn(rng: np.random.Generator, like: np.ndarray) -> Any:
    """Random numbers, of a shape and dtype; zeros where these are no floats or complex numbers."""
    if like.dtype.kind not in "fc":
        return np.zeros(like.shape)[()]
    drawn = rng.standard_normal(like.shape)
    return (drawn + 1j * rng.standard_normal(like.shape) if like.dtype.kind == "c" else drawn).astype(like.dtype)[()]


@checked_keywords
def check_grads(
    f: Callable[..., Any],
    args: tuple[Any, ...] | list[Any],
    order: int = 1,
    atol: float | None = None,
    rtol: float | None = None,
    modes: tuple[str, ...] | list[str] = ("fwd", "rev"),
) -> None:
    """Compare the derivatives of a function with central differences of its values.

    Parameters
    ----------
    f : callable
        The function.
    args : tuple or list
        Its arguments: numbers and arrays of floats or complex numbers, and structures of these. Bind others, such as integers:
        ``lambda x: f(x, 3)``.
    order : int, default 1
        The highest derivative that is checked.
    atol, rtol : float, optional
        Tolerances; by default those of the differences in the precision of the arguments.
    modes : tuple of str, default ("fwd", "rev")
        What is checked: forward mode, reverse mode.

    Raises
    ------
    AssertionError
        They differ.
    ValueError
        There is no such mode.
    TypeError
        Arguments are none, or not of floats, or no result is.

    Notes
    -----
    Each derivative is checked in one direction, and pulled back for one cotangent, which are drawn from a fixed seed. Higher
    derivatives are those of the derivative in forward mode.

    Examples
    --------
    >>> ingot.check_grads(lambda x: np.sin(x) * x, (1.0,), order=2)
    """
    if not modes or not {*modes} <= {"fwd", "rev"}:
        raise ValueError(f"modes are 'fwd' and 'rev', not {modes!r}")
    rng = np.random.default_rng(0)

    def drawn(x: Any) -> Any:
        return _drawn(rng, np.asarray(x))

    def copied(x: Any) -> Any:
        return np.array(x)[()]

    at = tree_map(copied, tuple(args))
    others = [np.asarray(x).dtype for x in leaves(at) if np.asarray(x).dtype.kind not in "fc"]
    if others or not leaves(at):
        raise TypeError(f"arguments are of floats or complex numbers, not of {others[0]}: bind it" if others else "there are no arguments of floats")
    precision = max(np.finfo(np.asarray(x).dtype).eps for x in leaves(at))
    step = float(precision ** (1 / 3))
    tolerance = 40 * step**2
    directions = tree_map(drawn, at)

    def moved(by: float) -> Any:
        return f(*tree_map(lambda x, d: np.asarray(x + np.asarray(by * d, np.asarray(x).dtype))[()], at, directions))

    def compare(found: Any, expected: Any) -> None:
        size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        np.testing.assert_allclose(
            found, expected, rtol=tolerance if rtol is None else rtol, atol=tolerance * size if atol is None else atol
        )

    if not any(np.asarray(x).dtype.kind in "fc" for x in leaves(f(*tree_map(copied, at)))):
        raise TypeError("a result of floats or complex numbers is needed: the function returns none, whose derivatives are not checked")
    differences = [(np.asarray(high) - np.asarray(low)) / (2 * step) for high, low in zip(leaves(moved(step)), leaves(moved(-step)), strict=True)]
    if "fwd" in modes:
        for tangent, expected in zip(leaves(jvp(f, tree_map(copied, at), directions)[1]), differences, strict=True):
            compare(tangent, expected)
    if "rev" in modes:
        value, pull = vjp(f, *tree_map(copied, at))
        cotangents = tree_map(drawn, value)
        pairs = zip(leaves(cotangents), differences, strict=True)
        along = sum(float(np.sum(np.real(c * d))) for c, d in pairs)
        back = sum(float(np.sum(np.real(np.asarray(c) * d))) for c, d in zip(leaves(pull(cotangents)), leaves(directions), strict=True))
        compare(back, np.asarray(along))
    if order > 1:
        count = len(at)
        check_grads(lambda *x: jvp(f, x[:count], x[count:])[1], [*at, *directions], order - 1, atol, rtol, modes)
