"""The legacy streams of numpy.random: the methods of RandomState, and the functions of the global stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import primitives
from .random import (
    any_integers,
    bounded,
    count_of,
    filled,
    gumbel,
    laplace,
    logistic,
    non_negative,
    poisson,
    real,
    reals,
    span_of,
    triangular,
)
from .random_orders import (
    legacy_multivariate_normal,
    by_probabilities,
    checked_probabilities,
    chosen,
    different_by_probabilities,
    permutation,
    population_of,
    shuffle,
    shuffle_elements,
)
from .registry import implements

_global = np.random.mtrand._rand


@implements(np.random.RandomState.seed)
def seed(self: Any, seed: Any = None) -> None:
    primitives.reseed(self, seed)


@implements(np.random.seed)
def seed_global(seed: Any = None) -> None:
    primitives.reseed(_global, seed)


@implements(np.random.RandomState.random_sample, np.random.RandomState.random)
def random_sample(self: Any, size: Any = None) -> Any:
    if size is None:
        return primitives.draw("standard_uniform", self)
    return filled("fill_standard_uniform", self, size, np.float64)


@implements(np.random.RandomState.rand)
def rand(self: Any, *args: Any) -> Any:
    return random_sample(self, args if len(args) > 0 else None)


@implements(np.random.RandomState.standard_normal)
def legacy_standard_normal(self: Any, size: Any = None) -> Any:
    return reals("legacy_standard_normal", self, size)


@implements(np.random.RandomState.randn)
def randn(self: Any, *args: Any) -> Any:
    return legacy_standard_normal(self, args if len(args) > 0 else None)


@implements(np.random.RandomState.normal)
def legacy_normal(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("legacy_normal", self, size, real(loc), non_negative(scale, "scale"))


@implements(np.random.RandomState.uniform)
def legacy_uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    low, span = span_of(low, high, "Range exceeds valid bounds")
    return reals("uniform", self, size, low, span)


@implements(np.random.RandomState.standard_exponential)
def legacy_standard_exponential(self: Any, size: Any = None) -> Any:
    return reals("legacy_standard_exponential", self, size)


@implements(np.random.RandomState.exponential)
def legacy_exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals("legacy_exponential", self, size, non_negative(scale, "scale"))


@implements(np.random.RandomState.randint)
def randint(self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return any_integers(self, low, high, size, dtype, False, 1, "randint")


@implements(np.random.RandomState.shuffle)
def legacy_shuffle(self: Any, x: Any) -> None:
    shuffle(self, x)


@implements(np.random.RandomState.permutation)
def legacy_permutation(self: Any, x: Any) -> Any:
    if isinstance(x, (int, np.integer)):
        numbers = np.arange(x, dtype=np.result_type(np.asarray(x).dtype, np.int64))
        shuffle_elements(self, numbers)
        return numbers
    x = np.asarray(x)
    if x.ndim < 1:
        raise IndexError("x must be an integer or at least 1-dimensional")
    return permutation(self, x)


@implements(np.random.RandomState.choice)
def legacy_choice(self: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
    a = np.asarray(a)
    if a.ndim > 1:
        raise ValueError("a must be 1-dimensional")
    population = population_of(
        a,
        0,
        "a must be 1-dimensional or an integer",
        "a must be greater than 0 unless no samples are taken",
        "'a' cannot be empty unless no samples are taken",
        size,
    )
    if p is not None:
        messages = (
            "'p' must be 1-dimensional",
            "'a' and 'p' must have same size",
            "probabilities contain NaN",
            "probabilities are not non-negative",
            "probabilities do not sum to 1",
        )
        p = checked_probabilities(p, population, messages)
    count = count_of(size)
    if replace:
        places = bounded(self, 0, population, (count,), np.dtype(np.int64), False, 1) if p is None else by_probabilities(self, p, count)
        return chosen(a, places, size, 0)
    if count > population:
        raise ValueError("Cannot take a larger sample than population when 'replace=False'")
    if count < 0:
        raise ValueError("Negative dimensions are not allowed")
    if p is not None:
        return chosen(a, different_by_probabilities(self, p, count, "Fewer non-zero entries in p than size"), size, 0)
    return chosen(a, legacy_permutation(self, population)[:count], size, 0)


# The functions of the global stream.


@implements(np.random.random_sample, np.random.random, np.random.ranf, np.random.sample)
def global_random(size: Any = None) -> Any:
    return random_sample(_global, size)


@implements(np.random.rand)
def global_rand(*args: Any) -> Any:
    return rand(_global, *args)


@implements(np.random.randn)
def global_randn(*args: Any) -> Any:
    return randn(_global, *args)


@implements(np.random.standard_normal)
def global_standard_normal(size: Any = None) -> Any:
    return legacy_standard_normal(_global, size)


@implements(np.random.normal)
def global_normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return legacy_normal(_global, loc, scale, size)


@implements(np.random.uniform)
def global_uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    return legacy_uniform(_global, low, high, size)


@implements(np.random.standard_exponential)
def global_standard_exponential(size: Any = None) -> Any:
    return legacy_standard_exponential(_global, size)


@implements(np.random.exponential)
def global_exponential(scale: Any = 1.0, size: Any = None) -> Any:
    return legacy_exponential(_global, scale, size)


@implements(np.random.randint)
def global_randint(low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return randint(_global, low, high, size, dtype)


@implements(np.random.laplace)
def global_laplace(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return laplace(_global, loc, scale, size)


@implements(np.random.gumbel)
def global_gumbel(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return gumbel(_global, loc, scale, size)


@implements(np.random.logistic)
def global_logistic(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return logistic(_global, loc, scale, size)


@implements(np.random.triangular)
def global_triangular(left: Any, mode: Any, right: Any, size: Any = None) -> Any:
    return triangular(_global, left, mode, right, size)


@implements(np.random.poisson)
def global_poisson(lam: Any = 1.0, size: Any = None) -> Any:
    return poisson(_global, lam, size)


@implements(np.random.choice)
def global_choice(a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
    return legacy_choice(_global, a, size, replace, p)


@implements(np.random.shuffle)
def global_shuffle(x: Any) -> None:
    legacy_shuffle(_global, x)


@implements(np.random.permutation)
def global_permutation(x: Any) -> Any:
    return legacy_permutation(_global, x)


@implements(np.random.multivariate_normal)
def global_multivariate_normal(mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: Any = 1e-8) -> Any:
    return legacy_multivariate_normal(_global, mean, cov, size, check_valid, tol)
