"""`ingot.optimize`: minima, least squares and roots of functions. Compiled; Python runs them where the compiler makes the derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import primitives
from .derivatives import is_number, jacfwd, jvp, stop_gradient, value_and_grad
from .descent import CONVERGED, ENDED, NOT_FINITE, SAME_SIGNS, SINGULAR, STUCK, Result, largest, need_arguments, status_of
from .structures import flatten, unflatten


def bfgs(f: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), iterations: int = 1000, tol: float | None = None) -> Result:
    """Minimize a smooth function by the quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns a number.
    x0 : object
        Where to begin: a number or array of floats, or a structure of these.
    args : tuple
        Further arguments.
    iterations : int, default 1000
        The most steps.
    tol : float, optional
        It has converged where no part of the gradient is larger; by default the third root of the dtype's `eps`: 6e-6 for float64.

    Returns
    -------
    Result
        The best point.

    See Also
    --------
    lbfgs : Keeps some steps instead of a square matrix, for many variables.
    levenberg_marquardt : For sums of squares.

    Notes
    -----
    The length of each step fulfils the strong conditions of Wolfe. A point where the function is not finite is too far away.

    Examples
    --------
    >>> from ingot import optimize
    >>> rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> optimize.bfgs(rosenbrock, np.zeros(4)).x.round(6)
    array([1., 1., 1., 1.])
    """
    need_arguments(args)
    x, formed = flat(x0)
    n = len(x)
    steps = (np.zeros((n, n), x.dtype), np.zeros((1, 1), x.dtype), np.zeros(1, x.dtype), 0)
    return quasi_newton(f, x, formed, args, steps, True, iterations, tol)


def lbfgs(
    f: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), iterations: int = 1000, tol: float | None = None, memory: int = 10
) -> Result:
    """Minimize a smooth function of many variables by the quasi-Newton method L-BFGS.

    Parameters
    ----------
    f, x0, args, iterations, tol
        As of `bfgs`.
    memory : int, default 10
        How many steps are kept.

    Returns
    -------
    Result
        The best point.

    See Also
    --------
    bfgs

    Examples
    --------
    >>> from ingot import optimize
    >>> result = optimize.lbfgs(lambda x: np.sum(np.cosh(x - np.arange(500) / 500)), np.zeros(500))
    >>> result.success, abs(result.x - np.arange(500) / 500).max() < 1e-5
    (True, np.True_)
    """
    if memory < 1:
        raise ValueError(f"memory is a number of steps, not {memory}")
    need_arguments(args)
    x, formed = flat(x0)
    n = len(x)
    steps = (np.zeros((memory, n), x.dtype), np.zeros((memory, n), x.dtype), np.zeros(memory, x.dtype), 0)
    return quasi_newton(f, x, formed, args, steps, False, iterations, tol)


def flat(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers of a structure as one array, and the function that makes a structure of such an array."""
    if is_number(tree):
        return flat_array(np.asarray(tree))
    found, shape = flatten(tree)
    if len(found) == 0:
        raise TypeError("a point is of numbers and arrays: there are none")
    for leaf in found:
        if not is_number(leaf):
            raise TypeError(f"a point is of numbers and arrays, not of {type(leaf).__name__}")
    parts = tuple([np.asarray(leaf) for leaf in found])
    dtype = float_of(np.result_type(*[part.dtype for part in parts]))
    whole = np.concatenate([part.ravel() for part in parts]).astype(dtype)

    def formed(x: Any) -> Any:
        made: tuple = ()
        start = 0
        for part in parts:
            own = x[start : start + part.size].astype(part.dtype if part.dtype.kind == "f" else x.dtype)
            made = (*made, own.reshape(part.shape) if part.ndim > 0 else own[0])
            start += part.size
        return unflatten(shape, made)

    return whole, formed


def flat_array(part: Any) -> tuple[Any, Callable[[Any], Any]]:
    """As `flat` of one number or array, without loops over structures."""
    if part.ndim == 0:
        return part.ravel().astype(float_of(part.dtype)), lambda x: x[0]
    return part.ravel().astype(float_of(part.dtype)), lambda x: x.reshape(part.shape)


def float_of(dtype: Any) -> Any:
    if dtype.kind not in "fiub":
        raise TypeError(f"a point is of real numbers, not of {dtype.name}")
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def tolerance(tol: Any, dtype: Any, power: float) -> Any:
    if tol is None:
        return float(np.finfo(dtype).eps) ** power
    if not tol >= 0:
        raise ValueError(f"tol is a number that is not negative, not {tol}")
    return float(tol)


def quasi_newton(
    f: Callable[..., Any], x: Any, formed: Any, args: tuple[Any, ...], steps: Any, is_dense: bool, iterations: int, tol: Any
) -> Result:
    """BFGS and L-BFGS: in each iteration a direction, and a search along it."""

    def evaluated(x: Any) -> tuple[Any, Any]:
        return value_and_grad(lambda x: f(formed(x), *args))(x)

    tol = tolerance(tol, x.dtype, 1 / 3)
    value, slopes = evaluated(x)
    status, evaluations, count = status_of(value, slopes, tol), 1, 0
    while status == ENDED and count < iterations:
        along = -inverse_times(steps, slopes, is_dense)
        slope = slopes @ along
        if not slope < 0:
            steps = (*steps[:3], 0)
            along = -slopes
            slope = slopes @ along
        first = 1.0 if steps[3] > 0 else min(1.0, 1.0 / float(np.sum(np.abs(slopes))))
        length, new_value, new_slopes, used = searched(evaluated, x, value, slopes, along, slope, first)
        evaluations += used
        if not (new_value < value or largest(new_slopes) < largest(slopes)):
            if steps[3] == 0:
                status = STUCK
            steps = (*steps[:3], 0)
            continue
        step = length * along
        x = x + step
        steps = with_step(steps, step, new_slopes - slopes, is_dense)
        value, slopes = new_value, new_slopes
        status = status_of(value, slopes, tol)
        count += 1
    return Result(formed(x), value, formed(slopes), status == CONVERGED, status, count, evaluations)


def inverse_times(steps: Any, v: Any, is_dense: bool) -> Any:
    """The product of the inverse Hessian that steps give, and a vector."""
    first, changes, scales, count = steps
    if count == 0:
        return v
    if is_dense:
        return first @ v
    memory = len(first)
    kept = min(count, memory)
    factors = np.zeros(memory, v.dtype)
    v = v.copy()
    for k in range(kept):
        i = (count - 1 - k) % memory
        factors[i] = scales[i] * (first[i] @ v)
        v -= factors[i] * changes[i]
    last = (count - 1) % memory
    v *= 1 / (scales[last] * (changes[last] @ changes[last]))
    for k in range(kept):
        i = (count - kept + k) % memory
        v += (factors[i] - scales[i] * (changes[i] @ v)) * first[i]
    return v


def with_step(steps: Any, step: Any, change: Any, is_dense: bool) -> Any:
    """Steps with one more, by which the slopes have changed; without it, where the function is not curved upwards along it."""
    first, changes, scales, count = steps
    curved = step @ change
    if not curved > np.finfo(step.dtype).eps * (change @ change):
        return steps
    scale = 1 / curved
    if not is_dense:
        i = count % len(first)
        first[i] = step
        changes[i] = change
        scales[i] = scale
        return first, changes, scales, count + 1
    if count == 0:
        first[:] = 0
        for i in range(len(step)):
            first[i, i] = max(1.0, float(curved / (change @ change)))
    turned = first @ change
    both = scale * (1 + scale * (change @ turned))
    for i in range(len(step)):
        for j in range(len(step)):
            first[i, j] += both * step[i] * step[j] - scale * (turned[i] * step[j] + step[i] * turned[j])
    return first, changes, scales, count + 1


def searched(evaluated: Any, x: Any, value: Any, slopes: Any, along: Any, slope: Any, length: float) -> tuple[Any, Any, Any, int]:
    """The length of a step that fulfils the strong conditions of Wolfe, value and slopes there, and how many points were tried.

    Each point is one end of the interval that has such a length inside (Nocedal and Wright 2006, 3.5). If none is found, the length is that of the
    lowest point that is low enough, or 0.
    """
    near, near_value, near_slope = 0.0, float(value), float(slope)
    far, far_value = 0.0, float(value)
    is_between = False
    best, best_value, best_slopes = 0.0, value, slopes
    used = 0
    while used < 40:
        new_value, new_slopes = evaluated(x + length * along)
        used += 1
        own, new_slope = float(new_value), float(new_slopes @ along)
        if not (np.isfinite(own) and np.isfinite(new_slope)) or own > value + 1e-4 * length * slope or (near > 0 and own >= near_value):
            far, far_value, is_between = length, own, True
        else:
            best, best_value, best_slopes = length, new_value, new_slopes
            if abs(new_slope) <= -0.9 * slope:
                break
            if new_slope * (far - near) >= 0 if is_between else new_slope >= 0:
                far, far_value, is_between = near, near_value, True
            near, near_value, near_slope = length, own, new_slope
        if not is_between:
            length = 3 * length
            continue
        width = far - near
        low = -near_slope * width * width / (2 * (far_value - near_value - near_slope * width))  # of the parabola
        inner = abs(low / width) if np.isfinite(low) else 0.5
        length = near + min(max(inner, 0.1), 0.9) * width
        if abs(width * slope) <= 1e-2 * np.finfo(x.dtype).eps * abs(float(value)) or length == near:
            break
    return best, best_value, best_slopes, used


def gauss_newton(f: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), iterations: int = 100, tol: float | None = None) -> Result:
    """Minimize a sum of squares by steps to the minimum of the linearized residuals.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns an array of residuals.
    x0 : object
        Where to begin: a number or array of floats, or a structure of these.
    args : tuple
        Further arguments.
    iterations : int, default 100
        The most steps.
    tol : float, optional
        It has converged where a step changes no number of the point more, relative to it, or lowers the sum less, relative to it,
        or the sum is `eps` squared of the first one; by default the square root of the dtype's `eps`: 1.5e-8 for float64.

    Returns
    -------
    Result
        The best point, with half the sum of squares.

    See Also
    --------
    levenberg_marquardt : From points that are far away.

    Notes
    -----
    A step that does not lower the sum is halved, 20 times at most.

    Examples
    --------
    >>> from ingot import optimize
    >>> t = np.linspace(0, 1, 20)
    >>> decay = lambda p, t, y: p[0] * np.exp(-p[1] * t) - y
    >>> optimize.gauss_newton(decay, np.array([1.0, 1.0]), (t, 2 * np.exp(-3 * t))).x.round(6)
    array([2., 3.])
    """
    return least_squares(f, x0, args, iterations, tol, False)


def levenberg_marquardt(f: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), iterations: int = 200, tol: float | None = None) -> Result:
    """Minimize a sum of squares by damped steps of Gauss and Newton.

    Parameters
    ----------
    f, x0, args, iterations, tol
        As of `gauss_newton`.

    Returns
    -------
    Result
        The best point, with half the sum of squares.

    See Also
    --------
    gauss_newton

    Notes
    -----
    The damping of each variable follows the slopes of the residuals by it in the last steps, and its size what each step has gained
    (Nielsen 1999).

    Examples
    --------
    >>> from ingot import optimize
    >>> t = np.linspace(0, 1, 20)
    >>> decay = lambda p, t, y: p["size"] * np.exp(-p["rate"] * t) - y
    >>> result = optimize.levenberg_marquardt(decay, {"size": 1.0, "rate": 1.0}, (t, 2 * np.exp(-3 * t)))
    >>> round(float(result.x["rate"]), 6), result.message
    (3.0, 'converged')
    """
    return least_squares(f, x0, args, iterations, tol, True)


def least_squares(f: Callable[..., Any], x0: Any, args: tuple[Any, ...], iterations: int, tol: Any, is_damped: bool) -> Result:
    need_arguments(args)
    x, formed = flat(x0)

    def residuals(x: Any) -> Any:
        return np.ravel(f(formed(x), *args)) * 1.0

    tol = tolerance(tol, x.dtype, 0.5)
    eps = float(np.finfo(x.dtype).eps)
    r = residuals(x)
    value = 0.5 * (r @ r)
    least = eps * eps * value
    status, evaluations, count = ENDED, 1, 0
    damping, growth = 1e-3 if is_damped else 0.0, 2.0
    scales = np.zeros(len(x), r.dtype)
    while True:
        jacobian = jacfwd(residuals)(x)
        slopes = jacobian.T @ r
        own = status_of(value, slopes, 0.0)
        if status == ENDED or own == NOT_FINITE:
            status = own
        if status != ENDED or count >= iterations:
            break
        normal = jacobian.T @ jacobian
        scales = np.maximum(np.diag(normal), 0.1 * scales) if is_damped else np.diag(normal)
        floor = np.max(scales) * eps**3
        tries, is_short, step = 0, False, (-slopes).astype(x.dtype)
        while status == ENDED:
            damped = normal + np.diag((damping + eps) * np.maximum(scales, floor))
            found, is_solved = solved(damped, -slopes) if is_damped or tries == 0 else ((0.5 * step).astype(r.dtype), True)
            step = found.astype(x.dtype)
            if is_damped or tries == 0:
                is_short = bool(np.all(np.abs(step) <= tol * (tol + np.abs(x))))
            new = residuals(x + step)
            new_value = 0.5 * (new @ new)
            evaluations += 1
            tries += 1
            expected = 0.5 * (step @ (damping * scales * step - slopes))
            gain = float((value - new_value) / expected) if expected > 0 else -1.0
            if is_solved and new_value <= value and gain >= 0:
                is_flat = value - new_value <= tol * value and expected <= tol * value
                x, r, value = x + step, new, new_value
                count += 1
                damping, growth = damping * max(1 / 3, 1 - (2 * min(gain, 1.0) - 1) ** 3), 2.0
                if is_short or is_flat or value <= least:
                    status = CONVERGED
                break
            damping, growth = damping * growth, 2 * growth
            if is_short and is_solved:
                status = CONVERGED if np.isfinite(new_value) else NOT_FINITE
            elif tries >= (60 if is_damped else 20):
                status = STUCK
    return Result(formed(x), value, formed(slopes), status == CONVERGED, status, count, evaluations)


def solved(a: Any, b: Any) -> tuple[Any, bool]:
    """The solution of linear equations, by elimination with pivots, and whether there is one."""
    n = len(b)
    a, x = a.copy(), b.copy()
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if not abs(a[pivot, k]) > 0:
            return 0 * x, False
        if pivot != k:
            for j in range(n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            x[k], x[pivot] = x[pivot], x[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
            x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= a[k, j] * x[j]
        x[k] /= a[k, k]
    return x, bool(np.isfinite(x).all())


def projected_gradient(
    f: Callable[..., Any],
    project: Callable[[Any], Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    iterations: int = 1000,
    tol: float | None = None,
) -> Result:
    """Minimize a smooth function over a convex set.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns a number.
    project : callable
        ``project(x)`` returns the point of the set that is nearest to x: for bounds ``lambda x: np.clip(x, low, high)``.
    x0 : object
        Where to begin: a number or array of floats, or a structure of these. It is projected first.
    args : tuple
        Further arguments.
    iterations : int, default 1000
        The most steps.
    tol : float, optional
        It has converged where a step along the gradient, projected, moves no number further; by default the third root of the
        dtype's `eps`.

    Returns
    -------
    Result
        The best point.

    See Also
    --------
    lbfgs : Without a set.

    Notes
    -----
    Steps have the lengths of Barzilai and Borwein (1988), and are halved where the function is not below the largest of its last
    ten values (Birgin, Martinez and Raydan 2000).

    Examples
    --------
    >>> from ingot import optimize
    >>> optimize.projected_gradient(lambda x: np.sum((x - 2) ** 2), lambda x: np.clip(x, 0, [1, 3]), np.zeros(2)).x
    array([1., 2.])
    """
    need_arguments(args)
    x, formed = flat(x0)

    def projected(x: Any) -> Any:
        return flat(project(formed(x)))[0].astype(x.dtype)

    return spectral(f, projected, projected(x), formed, args, iterations, tolerance(tol, x.dtype, 1 / 3))


def spectral(f: Callable[..., Any], projected: Any, x: Any, formed: Any, args: tuple[Any, ...], iterations: int, tol: Any) -> Result:
    """Projected steps of the lengths of Barzilai and Borwein, over the numbers of a structure."""

    def evaluated(x: Any) -> tuple[Any, Any]:
        return value_and_grad(lambda x: f(formed(x), *args))(x)

    value, slopes = evaluated(x)
    status, evaluations, count = status_of(value, slopes, 0.0), 1, 0
    length = 1.0 / max(float(largest(slopes)), 1e-3) if status == ENDED else 1.0
    recent = np.full(10, value)
    best, best_value, best_slopes = x, value, slopes
    while status == ENDED:
        if largest(projected(x - slopes) - x) <= tol:
            status = CONVERGED
        if status == CONVERGED or count >= iterations:
            break
        step = projected(x - length * slopes) - x
        slope = slopes @ step
        part, tries = 1.0, 0
        while True:
            new_value, new_slopes = evaluated(x + part * step)
            evaluations += 1
            tries += 1
            if np.isfinite(new_value) and np.isfinite(largest(new_slopes)) and new_value <= np.max(recent) + 1e-4 * part * slope:
                break
            if tries >= 60 or not slope < 0:
                status = STUCK
                break
            part = 0.5 * part
        if status == STUCK:
            break
        step = part * step
        change = new_slopes - slopes
        curved = float(step @ change)
        length = min(max(float(step @ step) / curved, 1e-30), 1e10) if curved > 0 else min(10 * length, 1e10)
        x, value, slopes = x + step, new_value, new_slopes
        count += 1
        recent[count % 10] = value
        if value < best_value:
            best, best_value, best_slopes = x, value, slopes
    if status != CONVERGED:
        x, value, slopes = best, best_value, best_slopes
    return Result(formed(x), value, formed(slopes), status == CONVERGED, status, count, evaluations)


def bisection(f: Callable[..., Any], low: Any, high: Any, args: tuple[Any, ...] = (), tol: float = 0.0, iterations: int = 2200) -> Result:
    """Find where a function changes its sign, by halves of an interval.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` of a number returns a number.
    low, high : float
        The ends, where the function has different signs.
    args : tuple
        Further arguments.
    tol : float, default 0
        It has converged where the interval is no wider than this and 4 `eps` of its middle.
    iterations : int, default 2200
        The most steps; by default as many as any interval of float64 needs.

    Returns
    -------
    Result
        The point; NaN where the signs at both ends are equal. `gradient` is NaN.

    Raises
    ------
    UnsupportedError
        A derivative of the result is asked for, which halves of intervals do not have.

    See Also
    --------
    newton : Fewer steps, by the derivative.

    Examples
    --------
    >>> from ingot import optimize
    >>> result = optimize.bisection(lambda x: x**3 - 2, 0.0, 2.0)
    >>> round(float(result.x), 12), result.success
    (1.259921049895, True)
    >>> ingot.vmap(lambda a: optimize.bisection(lambda x, a: x * x - a, 0.0, 9.0, (a,)).x)(np.array([4.0, 9.0, 25.0]))
    array([2., 3., 5.])
    """
    need_arguments(args)
    tol = tolerance(tol, np.float64, 1.0)
    low, high = low * 1.0, high * 1.0
    at_low, at_high = f(low, *args), f(high, *args)
    refuse_derivatives(at_low + at_high)
    dtype = np.asarray(low + high + at_low).dtype
    eps = float(np.finfo(dtype).eps)
    is_up = at_high > 0
    status, count, x, value = ENDED, 0, low + 0 * high, at_low * 1.0
    if not (np.isfinite(low) and np.isfinite(high)) or at_low != at_low or at_high != at_high:
        status = NOT_FINITE
    elif at_low == 0:
        status = CONVERGED
    elif at_high == 0:
        status, x, value = CONVERGED, high + 0 * low, at_high * 1.0
    elif (at_low > 0) == is_up:
        status, x = SAME_SIGNS, x * np.nan
    while status == ENDED and count < iterations:
        x = low + 0.5 * (high - low) if (low < 0) == (high < 0) else 0.5 * (low + high)
        value = f(x, *args) * 1.0
        count += 1
        if value != value:
            status = NOT_FINITE
        elif value == 0 or abs(high - low) <= tol + 4 * eps * abs(x) or x == low or x == high:
            status = CONVERGED
        elif (value > 0) == is_up:
            high = x
        else:
            low = x
    return Result(x, value, value * np.nan, status == CONVERGED, status, count, count + 2)


def refuse_derivatives(value: Any) -> None:
    for derivative, _ in primitives.derivatives():
        if primitives.may_vary(value, derivative):
            primitives.refuse("a derivative of `ingot.optimize.bisection`", "use `ingot.optimize.newton` from the point that `bisection` has found")


def newton(f: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), iterations: int = 50, tol: float | None = None) -> Result:
    """Find a root of a function of one variable, or of as many functions as variables, by Newton's method.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns what x is: a number, or an array of as many.
    x0 : object
        Where to begin: a number or array of floats.
    args : tuple
        Further arguments.
    iterations : int, default 50
        The most steps.
    tol : float, optional
        It has converged where the function is 0, or a step is shorter than this, relative to the point; by default the dtype's
        `eps` to the power of 3/4.

    Returns
    -------
    Result
        The point, with the slope or Jacobian there.

    Raises
    ------
    TypeError
        The point is no number or array of one axis.
    ValueError
        There are not as many equations as variables.

    See Also
    --------
    bisection : Finds a change of sign for certain.

    Notes
    -----
    A step after which the function is larger, or not finite, is halved, 30 times at most. Derivatives of the point by what `f` reads
    are those of the root there, however the point was found; by `x0` they are 0, and so are all where the slope is. The
    point has the dtype of `x0`, also where the function's is another one.

    Examples
    --------
    >>> from ingot import optimize
    >>> float(optimize.newton(lambda x: x * x - 2, 1.0).x)
    1.4142135623730951
    >>> optimize.newton(lambda x: np.array([x[0] + x[1] - 3, x[0] * x[1] - 2]), np.array([0.0, 5.0])).x.round(6)
    array([1., 2.])
    """
    need_arguments(args)
    x = start_of(x0)
    value = f(x, *args)
    need_equations(x, value)
    tol = tolerance(tol, np.asarray(x).dtype, 0.75)
    status, evaluations, count = ENDED, 1, 0
    size = float(largest(value))
    while True:
        slope = jacobian_of(f, x, args)
        if not (np.isfinite(size) and np.isfinite(largest(slope))):
            status = NOT_FINITE
        elif size == 0:
            status = CONVERGED
        if status != ENDED or count >= iterations:
            break
        step, is_solved = solution(slope, value)
        if not is_solved:
            status = SINGULAR
            break
        tries = 0
        while True:
            new = less(x, step)
            new_value = f(new, *args)
            new_size = float(largest(new_value))
            evaluations += 1
            tries += 1
            is_short = bool(float(largest(step)) <= tol * max(float(largest(x)), tol))
            if new_size < size or (is_short and new_size <= 2 * size) or tries >= 30:
                break
            step = 0.5 * step
        if not (new_size < size or is_short):
            status = STUCK if np.isfinite(new_size) else NOT_FINITE
            break
        x, value, size = new, new_value, new_size
        count += 1
        if is_short:
            status = CONVERGED
    return Result(with_derivatives(f, x, args), value, slope, status == CONVERGED, status, count, evaluations)


def start_of(x0: Any) -> Any:
    if not is_number(x0) or np.ndim(x0) > 1:
        raise TypeError("a point of `newton` is a number or an array of one axis")
    return np.asarray(x0)[()] * 1.0


def need_equations(x: Any, value: Any) -> None:
    if not is_number(value):
        raise TypeError("a function that `newton` is called with returns a number or an array")
    if np.shape(value) != np.shape(x):
        raise ValueError(f"as many equations as variables are needed: the function returns the shape {np.shape(value)}, the point has {np.shape(x)}")
    if np.asarray(value).dtype.kind == "c" and np.asarray(x).dtype.kind != "c":
        raise TypeError("the function returns complex numbers: begin at a complex point")


def less(x: Any, step: Any) -> Any:
    """x - step, of the dtype of x."""
    return x - np.asarray(step).astype(np.asarray(x).dtype)[()]


def with_derivatives(f: Callable[..., Any], x: Any, args: tuple[Any, ...]) -> Any:
    """A root with the derivatives that a step of Newton's has there, for each derivative around; the number is the same."""
    around = primitives.derivatives()
    found = x
    if len(around) > 0:
        found = stop_gradient(1 * x)
        for _ in around:
            solved_for, _ = solution(jacobian_of(f, found, args), f(found, *args))
            step = 1 * solved_for
            found = less(found, step - stop_gradient(1 * step))
    return found


def jacobian_of(f: Callable[..., Any], x: Any, args: tuple[Any, ...]) -> Any:
    if np.ndim(x) == 0:
        return jvp(lambda x: f(x, *args), (x,), (x * 0 + 1,))[1]
    return jacfwd(lambda x: f(x, *args))(x)


def solution(slope: Any, value: Any) -> tuple[Any, Any]:
    if np.ndim(value) == 0:
        return value / slope if slope != 0 else value * 0, slope != 0
    return solved(slope, value)
