"""The legacy streams of numpy.random: the methods of RandomState, and the functions of the global stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import legacy_distributions as distributions
from . import primitives
from .random import (
    above_1,
    any_integers,
    bounded,
    count_not_negative,
    count_of,
    filled,
    gumbel,
    is_number,
    laplace,
    lengths_of,
    logistic,
    multinomial_probabilities,
    non_negative,
    poisson,
    positive,
    positive_probability,
    probability,
    probability_below_1,
    real,
    sampled_by,
    span_of,
    strips,
    triangular,
    uniform_from,
    whole,
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
    if size is None:
        return primitives.draw("legacy_standard_normal", self)
    return filled("fill_legacy_standard_normal", self, size, np.float64)


@implements(np.random.RandomState.randn)
def randn(self: Any, *args: Any) -> Any:
    return legacy_standard_normal(self, args if len(args) > 0 else None)


@implements(np.random.RandomState.normal)
def legacy_normal(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    loc, scale = real(loc), non_negative(scale, "scale")
    return strips("legacy_normal", "fill_legacy_standard_normal", self, size, lambda x, loc, scale: loc + scale * x, loc, scale)


@implements(np.random.RandomState.uniform)
def legacy_uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    low, span = span_of(low, high, "Range exceeds valid bounds")
    return uniform_from(self, size, low, span)


@implements(np.random.RandomState.standard_exponential)
def legacy_standard_exponential(self: Any, size: Any = None) -> Any:
    if size is None:
        return primitives.draw("legacy_standard_exponential", self)
    return filled("fill_legacy_standard_exponential", self, size, np.float64)


@implements(np.random.RandomState.exponential)
def legacy_exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    scale = non_negative(scale, "scale")
    return strips("legacy_exponential", "fill_legacy_standard_exponential", self, size, lambda x, scale: scale * x, scale)


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


# Distributions that a Generator draws otherwise.


def divisible(stream: Any, parameters: Any) -> Any:
    """Parameters whose divisions are those of C. In derivatives, a draw that takes no number refuses those that vary."""
    if len(primitives.derivatives()) > 0:
        for x in parameters:
            for each in np.ravel(np.asarray(x)):
                primitives.draw("gamma", stream, 0.0, each)
    return [np.float64(x) if isinstance(x, float) else x for x in parameters]


def reals_by(draw: Any, stream: Any, size: Any, *parameters: Any) -> Any:
    result = sampled_by(draw, stream, size, np.float64, *divisible(stream, parameters))
    return float(result) if size is None and is_number(result) else result


def integers_by(draw: Any, stream: Any, size: Any, *parameters: Any) -> Any:
    return sampled_by(draw, stream, size, np.int64, *divisible(stream, parameters))


@implements(np.random.RandomState.beta)
def legacy_beta(self: Any, a: Any, b: Any, size: Any = None) -> Any:
    return reals_by(distributions.beta, self, size, positive(a, "a"), positive(b, "b"))


@implements(np.random.RandomState.standard_gamma)
def legacy_standard_gamma(self: Any, shape: Any, size: Any = None) -> Any:
    return reals_by(distributions.standard_gamma, self, size, non_negative(shape, "shape"))


@implements(np.random.RandomState.gamma)
def legacy_gamma(self: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals_by(distributions.gamma, self, size, non_negative(shape, "shape"), non_negative(scale, "scale"))


@implements(np.random.RandomState.chisquare)
def legacy_chisquare(self: Any, df: Any, size: Any = None) -> Any:
    return reals_by(distributions.chisquare, self, size, positive(df, "df"))


@implements(np.random.RandomState.noncentral_chisquare)
def legacy_noncentral_chisquare(self: Any, df: Any, nonc: Any, size: Any = None) -> Any:
    return reals_by(distributions.noncentral_chisquare, self, size, positive(df, "df"), non_negative(nonc, "nonc"))


@implements(np.random.RandomState.f)
def legacy_f(self: Any, dfnum: Any, dfden: Any, size: Any = None) -> Any:
    return reals_by(distributions.f, self, size, positive(dfnum, "dfnum"), positive(dfden, "dfden"))


@implements(np.random.RandomState.noncentral_f)
def legacy_noncentral_f(self: Any, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
    return reals_by(distributions.noncentral_f, self, size, positive(dfnum, "dfnum"), positive(dfden, "dfden"), non_negative(nonc, "nonc"))


@implements(np.random.RandomState.standard_cauchy)
def legacy_standard_cauchy(self: Any, size: Any = None) -> Any:
    return reals_by(distributions.standard_cauchy, self, size)


@implements(np.random.RandomState.standard_t)
def legacy_standard_t(self: Any, df: Any, size: Any = None) -> Any:
    return reals_by(distributions.standard_t, self, size, positive(df, "df"))


@implements(np.random.RandomState.vonmises)
def legacy_vonmises(self: Any, mu: Any, kappa: Any, size: Any = None) -> Any:
    return reals_by(distributions.vonmises, self, size, real(mu), non_negative(kappa, "kappa"))


@implements(np.random.RandomState.pareto)
def legacy_pareto(self: Any, a: Any, size: Any = None) -> Any:
    return reals_by(distributions.pareto, self, size, positive(a, "a"))


@implements(np.random.RandomState.weibull)
def legacy_weibull(self: Any, a: Any, size: Any = None) -> Any:
    return reals_by(distributions.weibull, self, size, non_negative(a, "a"))


@implements(np.random.RandomState.power)
def legacy_power(self: Any, a: Any, size: Any = None) -> Any:
    return reals_by(distributions.power, self, size, positive(a, "a"))


@implements(np.random.RandomState.lognormal)
def legacy_lognormal(self: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    return reals_by(distributions.lognormal, self, size, real(mean), non_negative(sigma, "sigma"))


@implements(np.random.RandomState.rayleigh)
def legacy_rayleigh(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return reals_by(distributions.rayleigh, self, size, non_negative(scale, "scale"))


@implements(np.random.RandomState.wald)
def legacy_wald(self: Any, mean: Any, scale: Any, size: Any = None) -> Any:
    return reals_by(distributions.wald, self, size, positive(mean, "mean"), positive(scale, "scale"))


@implements(np.random.RandomState.geometric)
def legacy_geometric(self: Any, p: Any, size: Any = None) -> Any:
    return integers_by(distributions.geometric, self, size, positive_probability(p, "p"))


@implements(np.random.RandomState.logseries)
def legacy_logseries(self: Any, p: Any, size: Any = None) -> Any:
    return integers_by(distributions.logseries, self, size, probability_below_1(p, "p"))


@implements(np.random.RandomState.zipf)
def legacy_zipf(self: Any, a: Any, size: Any = None) -> Any:
    return integers_by(distributions.zipf, self, size, above_1(a, "a"))


@implements(np.random.RandomState.negative_binomial)
def legacy_negative_binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    n = positive(n, "n")
    return integers_by(distributions.negative_binomial, self, size, n, probability(p, "p", is_number(n)))


@implements(np.random.RandomState.binomial)
def legacy_binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    trials = whole(n, "n")
    p = probability(p, "p", is_number(trials))
    count_not_negative(trials, "n")
    return integers_by(distributions.binomial, self, size, p, trials)


@implements(np.random.RandomState.hypergeometric)
def legacy_hypergeometric(self: Any, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
    good, bad, sample = whole(ngood, "ngood"), whole(nbad, "nbad"), whole(nsample, "nsample")
    if np.any(np.asarray(good) + np.asarray(bad) < sample):
        raise ValueError("ngood + nbad < nsample")
    count_not_negative(good, "ngood")
    count_not_negative(bad, "nbad")
    if np.any(sample < 1):
        alone = is_number(good) and is_number(bad) and is_number(sample)
        raise ValueError("nsample < 1 or nsample is NaN" if alone else "nsample < 1 or nsample contains NaNs")
    return integers_by(distributions.hypergeometric, self, size, good, bad, sample)


def rows_of(size: Any, length: Any, dtype: Any) -> Any:
    """A new array of zeros for vectors, and its rows."""
    result = np.zeros((() if size is None else lengths_of(size)) + (length,), dtype)
    return result, primitives.reshape(result, (count_of(size), length))


def need_one_axis(x: Any) -> None:
    if np.ndim(x) > 1:
        if isinstance(x, np.ndarray):
            raise ValueError("object too deep for desired array")
        raise ValueError("setting an array element with a sequence. The requested array would exceed the maximum number of dimension of 1.")


@implements(np.random.RandomState.multinomial)
def legacy_multinomial(self: Any, n: Any, pvals: Any, size: Any = None) -> Any:
    trials = whole(n, "n")
    p = np.asarray(pvals)
    need_one_axis(pvals)
    if p.ndim == 0:
        raise TypeError("pvals must be a 1-d sequence")
    p = multinomial_probabilities(pvals, p)
    result, rows = rows_of(size, len(p), np.int64)
    count_not_negative(trials, "n")
    if len(p) > 0:
        for i in range(len(rows)):
            primitives.draw("multinomial", self, trials, p, rows[i])
    return result


@implements(np.random.RandomState.dirichlet)
def legacy_dirichlet(self: Any, alpha: Any, size: Any = None) -> Any:
    if not isinstance(alpha, (np.ndarray, list, tuple)):
        primitives.refuse("dirichlet of what is no vector", "give a vector")
    if isinstance(alpha, np.ndarray) and alpha.ndim == 0:
        raise TypeError("len() of unsized object")
    need_one_axis(alpha)
    alpha = np.asarray(alpha).astype(np.float64)
    if np.any(alpha <= 0):
        raise ValueError("alpha <= 0")
    alpha = divisible(self, (alpha,))[0]
    result, rows = rows_of(size, len(alpha), np.float64)
    for i in range(len(rows)):
        total = np.float64(0.0)
        for j in range(len(alpha)):
            rows[i, j] = distributions.standard_gamma(self, alpha[j])
            total = total + rows[i, j]
        inverse = np.float64(1.0) / total
        for j in range(len(alpha)):
            rows[i, j] = rows[i, j] * inverse
    return result


@implements(np.random.RandomState.random_integers)
def random_integers(self: Any, low: Any, high: Any = None, size: Any = None) -> Any:
    """NumPy's warning is silent here."""
    if high is None:
        low, high = 1, low
    return randint(self, low, int(high) + 1, size, np.int64)


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


@implements(np.random.beta)
def global_beta(a: Any, b: Any, size: Any = None) -> Any:
    return legacy_beta(_global, a, b, size)


@implements(np.random.standard_gamma)
def global_standard_gamma(shape: Any, size: Any = None) -> Any:
    return legacy_standard_gamma(_global, shape, size)


@implements(np.random.gamma)
def global_gamma(shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return legacy_gamma(_global, shape, scale, size)


@implements(np.random.chisquare)
def global_chisquare(df: Any, size: Any = None) -> Any:
    return legacy_chisquare(_global, df, size)


@implements(np.random.noncentral_chisquare)
def global_noncentral_chisquare(df: Any, nonc: Any, size: Any = None) -> Any:
    return legacy_noncentral_chisquare(_global, df, nonc, size)


@implements(np.random.f)
def global_f(dfnum: Any, dfden: Any, size: Any = None) -> Any:
    return legacy_f(_global, dfnum, dfden, size)


@implements(np.random.noncentral_f)
def global_noncentral_f(dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
    return legacy_noncentral_f(_global, dfnum, dfden, nonc, size)


@implements(np.random.standard_cauchy)
def global_standard_cauchy(size: Any = None) -> Any:
    return legacy_standard_cauchy(_global, size)


@implements(np.random.standard_t)
def global_standard_t(df: Any, size: Any = None) -> Any:
    return legacy_standard_t(_global, df, size)


@implements(np.random.vonmises)
def global_vonmises(mu: Any, kappa: Any, size: Any = None) -> Any:
    return legacy_vonmises(_global, mu, kappa, size)


@implements(np.random.pareto)
def global_pareto(a: Any, size: Any = None) -> Any:
    return legacy_pareto(_global, a, size)


@implements(np.random.weibull)
def global_weibull(a: Any, size: Any = None) -> Any:
    return legacy_weibull(_global, a, size)


@implements(np.random.power)
def global_power(a: Any, size: Any = None) -> Any:
    return legacy_power(_global, a, size)


@implements(np.random.lognormal)
def global_lognormal(mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    return legacy_lognormal(_global, mean, sigma, size)


@implements(np.random.rayleigh)
def global_rayleigh(scale: Any = 1.0, size: Any = None) -> Any:
    return legacy_rayleigh(_global, scale, size)


@implements(np.random.wald)
def global_wald(mean: Any, scale: Any, size: Any = None) -> Any:
    return legacy_wald(_global, mean, scale, size)


@implements(np.random.geometric)
def global_geometric(p: Any, size: Any = None) -> Any:
    return legacy_geometric(_global, p, size)


@implements(np.random.logseries)
def global_logseries(p: Any, size: Any = None) -> Any:
    return legacy_logseries(_global, p, size)


@implements(np.random.zipf)
def global_zipf(a: Any, size: Any = None) -> Any:
    return legacy_zipf(_global, a, size)


@implements(np.random.negative_binomial)
def global_negative_binomial(n: Any, p: Any, size: Any = None) -> Any:
    return legacy_negative_binomial(_global, n, p, size)


@implements(np.random.binomial)
def global_binomial(n: Any, p: Any, size: Any = None) -> Any:
    return legacy_binomial(_global, n, p, size)


@implements(np.random.hypergeometric)
def global_hypergeometric(ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
    return legacy_hypergeometric(_global, ngood, nbad, nsample, size)


@implements(np.random.multinomial)
def global_multinomial(n: Any, pvals: Any, size: Any = None) -> Any:
    return legacy_multinomial(_global, n, pvals, size)


@implements(np.random.dirichlet)
def global_dirichlet(alpha: Any, size: Any = None) -> Any:
    return legacy_dirichlet(_global, alpha, size)


@implements(np.random.random_integers)
def global_random_integers(low: Any, high: Any = None, size: Any = None) -> Any:
    return random_integers(_global, low, high, size)
