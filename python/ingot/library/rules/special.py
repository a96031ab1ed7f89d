"""Derivatives of ufuncs of `scipy.special` that have a closed form: `NAME(special, y, *operands)` gives, for each operand, what its
tangent is multiplied with, where y is the value; None for one by which it is not known. They are analytic, so of complex operands too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROOT_PI = 1.7724538509055160273
ROOT_2PI = 2.5066282746310005024


def erf(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (2 / ROOT_PI * np.exp(-x * x),)


def erfc(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-2 / ROOT_PI * np.exp(-x * x),)


def erfcx(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (2 * x * y - 2 / ROOT_PI,)


def erfi(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (2 / ROOT_PI * np.exp(x * x),)


def dawsn(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (1 - 2 * x * y,)


def erfinv(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (ROOT_PI / 2 * np.exp(y * y),)


def erfcinv(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-ROOT_PI / 2 * np.exp(y * y),)


def ndtr(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (np.exp(-x * x / 2) / ROOT_2PI,)


def log_ndtr(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (np.exp(-x * x / 2 - y) / ROOT_2PI,)


def ndtri(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (ROOT_2PI * np.exp(y * y / 2),)


def gamma(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (y * special.psi(x),)


def rgamma(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-y * special.psi(x),)


def gammaln(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (special.psi(x),)


def loggamma(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (special.psi(x),)


def psi(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (trigamma(x),)


def trigamma(x: Any) -> Any:
    """The derivative of psi: steps up to where its asymptotic series holds; below 1/2 by reflection."""
    if np.asarray(x).dtype.kind == "c":
        is_low = np.real(x) < 0.5
    else:
        is_low = x < 0.5
    z = np.where(is_low, 1 - x, x)
    total = 0 * z
    for k in range(10):
        total = total + 1 / ((z + k) * (z + k))
    w = z + 10
    s = 1 / (w * w)
    series = 1 / w + s / 2 + s / w * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66 - s * (691 / 2730))))))
    total = total + series
    sine = np.sin(np.pi * np.where(is_low, x, 0.5))
    return np.where(is_low, np.pi**2 / (sine * sine) - total, total)[()]


def beta(special: Any, y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    both = special.psi(a + b)
    return y * (special.psi(a) - both), y * (special.psi(b) - both)


def betaln(special: Any, y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    both = special.psi(a + b)
    return special.psi(a) - both, special.psi(b) - both


def binom(special: Any, y: Any, n: Any, k: Any) -> tuple[Any, ...]:
    rest = special.psi(n - k + 1)
    return y * (special.psi(n + 1) - rest), y * (rest - special.psi(k + 1))


def poch(special: Any, y: Any, z: Any, m: Any) -> tuple[Any, ...]:
    both = special.psi(z + m)
    return y * (both - special.psi(z)), y * both


def gammainc(special: Any, y: Any, a: Any, x: Any) -> tuple[Any, ...]:
    return None, np.exp((a - 1) * np.log(x) - x - special.gammaln(a))


def gammaincc(special: Any, y: Any, a: Any, x: Any) -> tuple[Any, ...]:
    return None, -np.exp((a - 1) * np.log(x) - x - special.gammaln(a))


def betainc(special: Any, y: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    return None, None, np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))


def expit(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (y * special.expit(-x),)


def log_expit(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (special.expit(-x),)


def logit(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (1 / (x * (1 - x)),)


def entr(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-np.log(x) - 1,)


def rel_entr(special: Any, y: Any, x: Any, q: Any) -> tuple[Any, ...]:
    return np.log(x / q) + 1, -x / q


def kl_div(special: Any, y: Any, x: Any, q: Any) -> tuple[Any, ...]:
    return np.log(x / q), 1 - x / q


def xlogy(special: Any, y: Any, x: Any, q: Any) -> tuple[Any, ...]:
    return np.log(q), x / q


def xlog1py(special: Any, y: Any, x: Any, q: Any) -> tuple[Any, ...]:
    return np.log1p(q), x / (1 + q)


def huber(special: Any, y: Any, d: Any, r: Any) -> tuple[Any, ...]:
    is_small = np.abs(r) <= d
    return np.where(is_small, 0 * r, np.abs(r) - d), np.where(is_small, r, d * np.sign(r))


def pseudo_huber(special: Any, y: Any, d: Any, r: Any) -> tuple[Any, ...]:
    root = np.sqrt(1 + (r / d) ** 2)
    return 2 * d * (root - 1) - r * r / (d * root), r / root


def cbrt(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (1 / (3 * y * y),)


def exp2(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (0.69314718055994530942 * y,)


def exp10(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (2.30258509299404568402 * y,)


def expm1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (np.exp(x),)


def log1p(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (1 / (1 + x),)


def cosm1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-np.sin(x),)


def boxcox(special: Any, y: Any, x: Any, power: Any) -> tuple[Any, ...]:
    return x ** (power - 1), None


def boxcox1p(special: Any, y: Any, x: Any, power: Any) -> tuple[Any, ...]:
    return (1 + x) ** (power - 1), None


def exp1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-np.exp(-x) / x,)


def expi(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (np.exp(x) / x,)


def expn(special: Any, y: Any, n: Any, x: Any) -> tuple[Any, ...]:
    return None, -special.expn(n - 1, x)


def spence(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (np.log(x) / (1 - x),)


def wrightomega(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (y / (1 + y),)


def owens_t(special: Any, y: Any, h: Any, a: Any) -> tuple[Any, ...]:
    by_h = -np.exp(-h * h / 2) * special.erf(a * h / np.sqrt(2.0)) / (2 * ROOT_2PI)
    return by_h, np.exp(-h * h * (1 + a * a) / 2) / (2 * np.pi * (1 + a * a))


def ellipk(special: Any, y: Any, m: Any) -> tuple[Any, ...]:
    return ((special.ellipe(m) / (1 - m) - y) / (2 * m),)


def ellipe(special: Any, y: Any, m: Any) -> tuple[Any, ...]:
    return ((y - special.ellipk(m)) / (2 * m),)


def j0(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-special.j1(x),)


def j1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return ((special.j0(x) - special.jv(2, x)) / 2,)


def y0(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-special.y1(x),)


def y1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (special.y0(x) - y / x,)


def i0(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (special.i1(x),)


def i1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return ((special.i0(x) + special.iv(2, x)) / 2,)


def i0e(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (special.i1e(x) - np.sign(x) * y,)


def k0(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-special.k1(x),)


def k1(special: Any, y: Any, x: Any) -> tuple[Any, ...]:
    return (-special.k0(x) - y / x,)


def jv(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, (special.jv(v - 1, x) - special.jv(v + 1, x)) / 2


def yv(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, (special.yv(v - 1, x) - special.yv(v + 1, x)) / 2


def yn(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, (special.yn(v - 1, x) - special.yn(v + 1, x)) / 2


def iv(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, (special.iv(v - 1, x) + special.iv(v + 1, x)) / 2


def kv(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, -(special.kv(v - 1, x) + special.kv(v + 1, x)) / 2


def kn(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, -(special.kn(v - 1, x) + special.kn(v + 1, x)) / 2


def hankel1(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, (special.hankel1(v - 1, x) - special.hankel1(v + 1, x)) / 2


def hankel2(special: Any, y: Any, v: Any, x: Any) -> tuple[Any, ...]:
    return None, (special.hankel2(v - 1, x) - special.hankel2(v + 1, x)) / 2


PARTIALS = {each.__name__: each for each in (
    erf, erfc, erfcx, erfi, dawsn, erfinv, erfcinv, ndtr, log_ndtr, ndtri, gamma, rgamma, gammaln, loggamma,
    psi, beta, betaln, binom, poch, gammainc, gammaincc, betainc, expit, log_expit, logit, entr, rel_entr, kl_div,
    xlogy, xlog1py, huber, pseudo_huber, cbrt, exp2, exp10, expm1, log1p, cosm1, boxcox, boxcox1p, exp1, expi,
    expn, spence, wrightomega, owens_t, ellipk, ellipe, j0, j1, y0, y1, i0, i1, i0e, k0,
    k1, jv, yv, yn, iv, kv, kn, hankel1, hankel2,
)}  # fmt: skip
"""By the name of the ufunc."""

UNKNOWN = dict.fromkeys(("gammainc", "gammaincc", "expn", "jv", "yv", "yn", "iv", "kv", "kn", "hankel1", "hankel2"), (0,)) | {
    "betainc": (0, 1), "boxcox": (1,), "boxcox1p": (1,)
}  # fmt: skip
"""The operands by which a derivative is not known."""
