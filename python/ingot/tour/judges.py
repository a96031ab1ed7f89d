"""What programs of `transformed` are judged by: derivatives by hand and numbers of keys, in NumPy and Python alone."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np


def slope(x):
    return np.sum(np.cos(x) * (x + 1)), np.cos(x) - np.sin(x) * (x + 1)


def slope_twice(x):
    return -2 * np.sin(x) - np.cos(x) * (x + 1)


def slope_loop(x):
    y = 0.0
    dx = np.empty_like(x)
    for i in range(x.shape[0]):
        cosine = np.cos(x[i])
        y += cosine * (x[i] + 1)
        dx[i] = cosine - np.sin(x[i]) * (x[i] + 1)
    return y, dx


def slope_twice_loop(x):
    ddx = np.empty_like(x)
    for i in range(x.shape[0]):
        ddx[i] = -2 * np.sin(x[i]) - np.cos(x[i]) * (x[i] + 1)
    return ddx


def quadratic_gradient(a, b, c):
    root = np.sqrt(b**2 - 4*a*c)
    x = (-b + root) / (2*a)
    return np.sum(x), (-c / (a*root) - x / a, (b/root - 1) / (2*a), -1 / root)


def quadratic_gradient_loop(a, b, c):
    n = a.shape[0]
    y = 0.0
    da, db, dc = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        root = np.sqrt(b[i]**2 - 4*a[i]*c[i])
        x = (-b[i] + root) / (2*a[i])
        y += x
        da[i] = -c[i] / (a[i]*root) - x / a[i]
        db[i] = (b[i]/root - 1) / (2*a[i])
        dc[i] = -1 / root
    return y, (da, db, dc)


def quadratic_tangent(a, b, c, da, db, dc):
    root = np.sqrt(b**2 - 4*a*c)
    x = (-b + root) / (2*a)
    return x, (-c / (a*root) - x / a) * da + (b/root - 1) / (2*a) * db - dc / root


def quadratic_tangent_loop(a, b, c, da, db, dc):
    n = a.shape[0]
    x, dx = np.empty(n), np.empty(n)
    for i in range(n):
        root = np.sqrt(b[i]**2 - 4*a[i]*c[i])
        x[i] = (-b[i] + root) / (2*a[i])
        dx[i] = (-c[i] / (a[i]*root) - x[i] / a[i]) * da[i] + (b[i]/root - 1) / (2*a[i]) * db[i] - dc[i] / root
    return x, dx


def rows_times_vector(x, y):
    return x @ y


def rows_times_vector_loop(x, y):
    result = np.zeros(x.shape[:2])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                result[i, j] += x[i, j, k] * y[k]
    return result


ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)


def threefry(key: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 of 64-bit counts, with 20 rounds: both words."""
    words = key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)
    x, y = (counts >> np.uint64(32)).astype(np.uint32) + words[0], counts.astype(np.uint32) + words[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = x + y
            y = x ^ (y << np.uint32(rotation) | y >> np.uint32(32 - rotation))
        x = x + words[(group + 1) % 3]
        y = y + words[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def normal(key: np.ndarray, shape: tuple[int, int], dtype: Any = np.float64) -> np.ndarray:
    """Quantiles of uniform numbers above -1 and below 1, which have as many random bits as a float's fraction."""
    high, low = threefry(key, np.arange(np.prod(shape), dtype=np.uint64))
    fraction = np.finfo(dtype).nmant
    bits = (high ^ low) >> np.uint32(9) if dtype == np.float32 else (high.astype(np.uint64) << np.uint64(32) | low) >> np.uint64(12)
    least = np.nextafter(dtype(-1), dtype(0))
    uniform = bits.astype(dtype) * dtype(2.0**-fraction)
    uniform = np.maximum(least, uniform * (dtype(1) - least) + least).astype(np.float64)
    quantile = statistics.NormalDist().inv_cdf
    return np.array([np.copysign(quantile((1 - abs(u)) / 2), u) for u in uniform.tolist()], dtype).reshape(shape)


def split(key: np.ndarray) -> np.ndarray:
    """Two keys, one in each row."""
    return np.stack(threefry(key, np.arange(2, dtype=np.uint64)), 1)


def squares_of_key(n):
    x = normal(np.array([0, 0], np.uint32), (n, n), np.float32)
    return np.dot(x, x.T)


def numbers_of_split(seed, n):
    key, subkey = split(np.array([0, seed], np.uint32))
    return key, normal(subkey, (n, n))
