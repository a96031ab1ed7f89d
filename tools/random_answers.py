#!/usr/bin/env python3
"""Writes what JAX draws, for tests/python/test_random.py: the value of each of CALLS, or the checksum of a long one's bytes.

tools/random_answers.py [FILE]          (needs JAX; FILE is tests/python/random_answers.py)
"""

import sys
import zlib
from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parent.parent / "tests" / "python" / "random_answers.py"

CALLS = """
PRNGKey(0)
PRNGKey(-1)
PRNGKey(2**40 + 3)
PRNGKey(np.int32(-1))
PRNGKey(np.uint64(2**64 - 1))
PRNGKey(True)
split(PRNGKey(0))
split(KEY, 5)
split(KEY, (2, 3))
split(KEY, 1000)
fold_in(KEY, 7)
fold_in(KEY, 2**32 - 1)
fold_in(KEY, np.int64(-1))
bits(PRNGKey(0), (4,), np.uint32)
bits(KEY)
bits(KEY, (3, 5))
bits(KEY, (7,), np.uint8)
bits(KEY, (7,), np.uint16)
bits(KEY, (2, 1, 3), np.uint32)
bits(KEY, (10007,))
bits(KEY, (10007,), np.uint32)
uniform(KEY)
uniform(KEY, (3, 5))
uniform(KEY, (4,), np.float32)
uniform(KEY, (4,), np.float16)
uniform(KEY, (10007,))
uniform(KEY, (10007,), np.float32)
uniform(KEY, (10007,), np.float16)
uniform(KEY, (10007,), minval=-3.3, maxval=7.1)
uniform(KEY, (10007,), np.float32, -3.3, 7.1)
uniform(KEY, (10007,), np.float16, -3.3, 7.1)
uniform(KEY, (1007,), minval=0.001, maxval=1e9)
uniform(KEY, (1007,), minval=1e308, maxval=-1e308)
uniform(KEY, (5,), minval=2.0, maxval=1.0)
uniform(KEY, (4, 6), minval=ROW, maxval=ROW + 0.5)
randint(KEY, (), 0, 10)
randint(KEY, (10007,), 0, 10)
randint(KEY, (10007,), -5, 2**40)
randint(KEY, (1007,), -2**63, 2**63 - 1)
randint(KEY, (1007,), 0, np.uint64(2**63))
randint(KEY, (1007,), 0, 1000, np.uint64)
randint(KEY, (1007,), -3, 1000, np.int32)
randint(KEY, (1007,), 0, 2**32, np.uint32)
randint(KEY, (1007,), 0, 256, np.uint8)
randint(KEY, (1007,), -200, 100, np.int8)
randint(KEY, (1007,), -200, 100000, np.int16)
randint(KEY, (7,), 10, 2)
randint(KEY, (7,), 1.9, 9.9)
randint(KEY, (4, 6), COUNTS, 3 * COUNTS)
normal(KEY)
normal(KEY, (64,))
normal(KEY, (3, 5))
normal(KEY, (64,), np.float32)
normal(KEY, (64,), np.float16)
normal(KEY, (6,), np.complex128)
bernoulli(KEY)
bernoulli(KEY, 0.3, (10007,))
bernoulli(KEY, np.float32(0.3), (1007,))
bernoulli(KEY, PARTS)
bernoulli(KEY, PARTS, (50, 4), "high")
exponential(KEY)
exponential(KEY, (32,))
exponential(KEY, (32,), np.float32)
gumbel(KEY, (32,))
gumbel(KEY, (32,), np.float32)
gumbel(KEY, (32,), np.float32, "high")
gumbel(KEY, (), mode="high")
permutation(KEY, 10)
permutation(KEY, 0)
permutation(KEY, 1626)
permutation(KEY, GRID)
permutation(KEY, GRID, 1)
permutation(KEY, GRID, -1, independent=True)
choice(KEY, 10)
choice(KEY, 10, (3, 2))
choice(KEY, 10, (6,), replace=False)
choice(KEY, 4, (200,), p=PARTS)
choice(KEY, 300, (1007,), p=MANY)
choice(KEY, 300, (6,), False, MANY)
choice(KEY, 300, (), False, MANY)
choice(KEY, GRID, (2,), axis=1)
choice(KEY, GRID, (2,), False, axis=1)
choice(KEY, GRID, (5,), p=PARTS.astype(np.float32), axis=1)
categorical(KEY, ROW)
categorical(KEY, GRID)
categorical(KEY, GRID, 0)
categorical(KEY, GRID, shape=(50, 3))
categorical(KEY, GRID.astype(np.float32), shape=(50, 3))
categorical(KEY, GRID, shape=(2, 3), replace=False)
truncated_normal(KEY, -1.0, 2.0)
truncated_normal(KEY, -1.0, 2.0, (32,))
truncated_normal(KEY, -1.0, 2.0, (32,), np.float32)
truncated_normal(KEY, 4.0, 5.0, (32,))
truncated_normal(KEY, 4.0, 5.0, (32,), np.float32)
truncated_normal(KEY, ROW, 3.0)
laplace(KEY, (32,))
laplace(KEY, (32,), np.float32)
logistic(KEY, (32,))
logistic(KEY, (32,), np.float32)
cauchy(KEY, (32,))
cauchy(KEY, (32,), np.float32)
rademacher(KEY, (1007,))
rademacher(KEY, (7,), np.int8)
gamma(KEY, 0.3, (8,))
gamma(KEY, 2.5)
gamma(KEY, PARTS + 1, (2, 4), np.float32)
loggamma(KEY, 0.001, (8,))
beta(KEY, 0.5, 2.0, (8,))
dirichlet(KEY, PARTS + 0.5, (3,))
chisquare(KEY, 3.0, (8,))
f(KEY, 3.0, 5.0, (8,))
t(KEY, 3.0, (8,))
poisson(KEY, 3.0, (1007,))
poisson(KEY, 3.0)
poisson(KEY, 1000.0, (1007,))
poisson(KEY, np.array([0.0, 0.5, 9.9, 50.0]), (250, 4), np.int32)
geometric(KEY, 0.3, (1007,))
pareto(KEY, 3.0, (8,))
rayleigh(KEY, 2.0, (8,))
weibull_min(KEY, 2.0, 1.5, (8,))
maxwell(KEY, (8,))
double_sided_maxwell(KEY, 1.0, 2.0, (8,))
double_sided_maxwell(KEY, PARTS, 2.0)
lognormal(KEY, 0.5, (8,))
triangular(KEY, 0.0, 1.0, 3.0, (8,))
wald(KEY, 1.0, (8,))
generalized_normal(KEY, 1.5, (8,))
ball(KEY, 3, 2, (4,))
multivariate_normal(KEY, PARTS[:2], np.array([[2.0, 0.5], [0.5, 1.0]]), (4,))
"""


def names(random: object) -> dict:
    """What the calls name, for a module of random numbers."""
    many = np.arange(300.0) % 7 + 1
    return {
        **{name: getattr(random, name) for name in {call.partition("(")[0] for call in CALLS.split("\n") if call}},
        "KEY": np.array([3, 1415926535], np.uint32),
        "np": np,
        "ROW": np.linspace(-2.0, 2.5, 6),
        "COUNTS": np.arange(6),
        "PARTS": np.array([0.1, 0.2, 0.3, 0.4]),
        "MANY": many / many.sum(),
        "GRID": np.arange(12.0).reshape(3, 4) % 5,
    }


def answer(value: np.ndarray) -> tuple:
    """The dtype, shape, and values or checksum of what a call gives."""
    long = value.size > 64
    return value.dtype.name, value.shape, zlib.crc32(value.tobytes()) if long else value.tolist()


def main() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    space = names(jax.random)
    lines = []
    for call in CALLS.strip().split("\n"):
        dtype, shape, what = answer(np.asarray(eval(call, space)))
        lines.append(f"    {call!r}: ({dtype!r}, {shape!r}, {what!r}),\n")
    head = f'"""Made by tools/random_answers.py, with JAX {jax.__version__}."""\n\n# fmt: off\nANSWERS = {{\n'
    (Path(sys.argv[1]) if len(sys.argv) > 1 else FILE).write_text(f"{head}{''.join(lines)}}}\n")


if __name__ == "__main__":
    main()
