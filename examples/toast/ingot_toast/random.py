"""Random numbers by counting: Threefry-2x64 in 20 rounds (Salmon et al., Random123, SC11).

A number depends on a key (whose stream?) and a counter (which number of it?) alone, so any process can make any stretch of
any stream. Words, uniforms and normals of a counter are those of its first word.
"""

import numpy as np

import ingot

PARITY = 0x1BD11BDAA9FC1A22
ROTATIONS = (16, 42, 12, 31), (16, 32, 24, 21)

# Rational approximations of the normal distribution's quantiles (M. J. Wichura, Algorithm AS 241, Applied Statistics 37, 1988),
# highest power first: in the middle, between there and probabilities of e^-25, and beyond.
MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
SIDES = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
TAILS = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def four_rounds(x0, x1, rotations):
    for rotation in rotations:
        x0 = x0 + x1
        x1 = (x1 << rotation | x1 >> 64 - rotation) ^ x0
    return x0, x1


@ingot.jit
def random_words(key, counter, count):
    """uint64 (count,): words of `key` at `counter`, whose second number goes up by one from word to word.

    key, counter: uint64 (2,). The second number of the counter wraps; the first one does not change then.
    """
    with np.errstate(over="ignore"):
        keys = (key[0], key[1], key[0] ^ key[1] ^ np.uint64(PARITY))
        x0, x1 = counter[0] + keys[0], counter[1] + keys[1] + np.arange(count).astype(np.uint64)
        for turn in range(5):
            x0, x1 = four_rounds(x0, x1, ROTATIONS[turn % 2])
            x0 = x0 + keys[(turn + 1) % 3]
            x1 = x1 + (keys[(turn + 2) % 3] + np.uint64(turn + 1))
    return x0


def polynomial(coefficients, x):
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def ratio(polynomials, x):
    return polynomial(polynomials[0], x) / polynomial(polynomials[1], x)


@ingot.jit
def erfinv(y):
    """The number whose error function is `y`, for each of an array; infinite at -1 and 1."""
    q = y / 2
    middle = np.abs(q) <= 0.425
    r = np.sqrt(-np.log(np.where(middle, 0.5, (1 - np.abs(y)) / 2)))
    outside = np.where(r <= 5.0, ratio(SIDES, r - 1.6), np.where(np.isinf(r), r, ratio(TAILS, r - 5.0)))
    return np.where(middle, q * ratio(MIDDLE, 0.180625 - q * q), np.copysign(outside, y)) / np.sqrt(2.0)


@ingot.jit
def random_uniforms(key, counter, count):
    """float64 (count,): numbers between 0 and 1, one for each of `random_words`."""
    return random_words(key, counter, count).astype(np.float64) * 2.0**-64 + 2.0**-65


@ingot.jit
def random_normals(key, counter, count):
    """float64 (count,): numbers of mean 0 and variance 1, one for each of `random_words`."""
    return np.sqrt(2.0) * erfinv(2 * random_uniforms(key, counter, count) - 1)
