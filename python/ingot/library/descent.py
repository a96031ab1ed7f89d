"""What solvers of `ingot.optimize` return, and steps along gradients: rules, and the loop that makes steps by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .derivatives import value_and_grad
from .lax import fresh
from .structures import leaves
from .structures import map as map_tree

CONVERGED, ENDED, STUCK, NOT_FINITE, SAME_SIGNS, SINGULAR = range(6)
MESSAGES = (
    "converged",
    "all iterations were used",
    "no better point was found in the direction of the step",
    "a value or derivative is not finite",
    "the function has the same sign at both ends",
    "the slope is 0, or the Jacobian singular",
)


class Result(NamedTuple):
    """What a solver returns.

    Parameters
    ----------
    x : object
        Where the solver ended: of the structure, shapes and dtypes that it began with.
    fun : number or array
        The function there; of least squares half the sum of squared residuals.
    gradient : object
        Its derivative there: the gradient, or for roots the slope or Jacobian.
    success : bool
        Whether what was asked for was found.
    status : int
        0 converged; 1 all iterations were used; 2 no better point in the direction of the step; 3 a value or derivative
        is not finite; 4 equal signs at both ends; 5 the slope is 0, or the Jacobian singular.
    iterations, evaluations : int
        How many steps were made, and how often the function was called.

    Examples
    --------
    >>> from ingot import optimize
    >>> result = optimize.bfgs(lambda x: np.sum((x - 1) ** 2), np.zeros(2))
    >>> result.x, result.message
    (array([1., 1.]), 'converged')
    """

    x: Any
    fun: Any
    gradient: Any
    success: Any
    status: Any
    iterations: Any
    evaluations: Any

    @property
    def message(self) -> str:
        """The status in words; of a batch a tuple of them."""
        status = np.asarray(self.status)
        return MESSAGES[int(status)] if status.ndim == 0 else tuple(MESSAGES[k] for k in status.ravel())  # type: ignore[return-value]


Result.__module__ = "ingot.optimize"


class GradientDescent(NamedTuple):
    """Steps against the gradient.

    Parameters
    ----------
    rate : float, default 0.01
        The length of a step, by that of the gradient.

    See Also
    --------
    descend : Makes the steps.

    Examples
    --------
    >>> from ingot import optimize
    >>> rule = optimize.GradientDescent(0.25)
    >>> rule.step(1.0, 2.0, rule.start(1.0))
    (0.5, ())
    """

    rate: Any = 0.01

    def start(self, params: Any) -> Any:
        """Return what is known before the first step.

        Parameters
        ----------
        params : object
            As of `step`.

        Returns
        -------
        object
            The first state.
        """
        return ()

    def step(self, params: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        """Return parameters after a step, and what is known then.

        Parameters
        ----------
        params : object
            Numbers and arrays of floats, and structures of these.
        gradients : object
            The gradients, of the same structure.
        state : object
            What `start` or the step before returned.

        Returns
        -------
        params, state : tuple
            For the next step.
        """
        return map_tree(lambda p, g: moved(p, -self.rate, g), params, gradients), state


class Momentum(NamedTuple):
    """Steps along a decaying sum of gradients.

    Parameters
    ----------
    rate : float, default 0.01
        The length of a step.
    decay : float, default 0.9
        How much of the sum is left after a step.
    nesterov : bool, default False
        Look one step ahead (Nesterov 1983).

    See Also
    --------
    descend : Makes the steps.

    Examples
    --------
    >>> from ingot import optimize
    >>> rule = optimize.Momentum(0.25)
    >>> rule.step(1.0, 2.0, rule.start(1.0))
    (0.5, 2.0)
    """

    rate: Any = 0.01
    decay: Any = 0.9
    nesterov: Any = False

    def start(self, params: Any) -> Any:
        """Return what is known before the first step.

        Parameters
        ----------
        params : object
            As of `step`.

        Returns
        -------
        object
            The first state.
        """
        return map_tree(lambda p: 0 * p, params)

    def step(self, params: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        """Return parameters after a step, and what is known then.

        Parameters
        ----------
        params, gradients, state
            As of `GradientDescent.step`.

        Returns
        -------
        params, state : tuple
            For the next step.
        """
        state = map_tree(lambda m, g: moved(g, self.decay, m), state, gradients)
        if self.nesterov:
            gradients = map_tree(lambda m, g: moved(g, self.decay, m), state, gradients)
            return map_tree(lambda p, g: moved(p, -self.rate, g), params, gradients), state
        return map_tree(lambda p, m: moved(p, -self.rate, m), params, state), state


class Adam(NamedTuple):
    """Steps of lengths that follow the size of each gradient (Kingma and Ba 2015).

    Parameters
    ----------
    rate : float, default 0.001
        The length of a step.
    b1, b2 : float, default 0.9, 0.999
        How much of the means of gradients and of their squares is left after a step.
    eps : float, default 1e-8
        What is added where a gradient is divided by its size.

    See Also
    --------
    descend : Makes the steps.

    Examples
    --------
    >>> from ingot import optimize
    >>> rule = optimize.Adam(0.1)
    >>> w, state = rule.step(np.array([1.0, 1.0]), np.array([3.0, -0.5]), rule.start(np.zeros(2)))
    >>> w.round(6)
    array([0.9, 1.1])
    """

    rate: Any = 0.001
    b1: Any = 0.9
    b2: Any = 0.999
    eps: Any = 1e-8

    def start(self, params: Any) -> Any:
        """Return what is known before the first step.

        Parameters
        ----------
        params : object
            As of `step`.

        Returns
        -------
        object
            The first state.
        """
        return 0, map_tree(lambda p: 0 * p, params), map_tree(lambda p: 0 * p, params)

    def step(self, params: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        """Return parameters after a step, and what is known then.

        Parameters
        ----------
        params, gradients, state
            As of `GradientDescent.step`.

        Returns
        -------
        params, state : tuple
            For the next step.
        """
        count, mean, square = state
        count = count + 1
        mean = map_tree(lambda m, g: self.b1 * m + (1 - self.b1) * g, mean, gradients)
        square = map_tree(lambda s, g: self.b2 * s + (1 - self.b2) * (g * g), square, gradients)
        first, second = 1 - self.b1**count, 1 - self.b2**count
        params = map_tree(lambda p, m, s: p - self.rate * (m / first) / (root(s / second) + self.eps), params, mean, square)
        return params, (count, mean, square)


GradientDescent.__module__ = Momentum.__module__ = Adam.__module__ = "ingot.optimize"


def root(x: Any) -> Any:
    return x**0.5


def moved(p: Any, by: Any, along: Any) -> Any:
    return p + by * along


def largest(tree: Any) -> Any:
    """The largest size of a number in a structure; NaN where there is one."""
    size = 0.0
    for leaf in leaves(tree):
        own = np.max(np.abs(np.asarray(leaf)), initial=0.0)
        size = own * 1.0 if not own <= size else size * 1.0
    return size


def status_of(value: Any, gradients: Any, tol: Any) -> Any:
    """Whether a point is one to end at."""
    size = largest(gradients)
    if not (np.isfinite(value) and np.isfinite(size)):
        return NOT_FINITE
    return CONVERGED if size <= tol else ENDED


def need_arguments(args: Any) -> None:
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args is a tuple of further arguments, not {type(args).__name__}")


def descend(rule: Any, f: Callable[..., Any], params: Any, args: tuple[Any, ...] = (), iterations: int = 1000, tol: float = 0.0) -> Result:
    """Minimize a function by steps of a rule: `GradientDescent`, `Momentum` or `Adam`.

    Parameters
    ----------
    rule : rule
        What makes a step of a gradient: an instance with `start` and `step`.
    f : callable
        ``f(params, *args)`` returns a number.
    params : object
        Where to begin: numbers and arrays of floats, and structures of these.
    args : tuple
        Further arguments.
    iterations : int, default 1000
        The most steps.
    tol : float, default 0
        It has converged where no part of the gradient is larger. With 0 all steps are made, and `success` is False.

    Returns
    -------
    Result
        The point after the last step. Where a value or gradient is not finite, no step is made from it.

    See Also
    --------
    bfgs, lbfgs : Far fewer steps for smooth functions of one batch of data.

    Examples
    --------
    >>> from ingot import optimize
    >>> loss = lambda p, x: np.mean((p["a"] * x + p["b"] - 3 * x - 1) ** 2)
    >>> result = optimize.descend(optimize.Adam(0.1), loss, {"a": 0.0, "b": 0.0}, (np.arange(4.0),), tol=1e-6)
    >>> round(float(result.x["a"]), 4), round(float(result.x["b"]), 4), result.success
    (3.0, 1.0, True)
    """
    need_arguments(args)
    if isinstance(rule, type):
        raise TypeError(f"a rule is an instance: {rule.__name__}(), not {rule.__name__}")
    if not tol >= 0:
        raise ValueError(f"tol is a number that is not negative, not {tol}")
    params = map_tree(lambda p: np.asarray(p)[()] * 1.0, params)
    state = rule.start(params)
    count = 0
    while True:
        value, gradients = value_and_grad(f)(fresh(params), *args)
        status = status_of(value, gradients, tol)
        if status != ENDED or count >= iterations:
            return Result(params, value, gradients, status == CONVERGED, status, count, count + 1)
        params, state = rule.step(params, gradients, state)
        count += 1
