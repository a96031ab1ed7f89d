"""Programs over `prange` as they are written for Numba: each compiles, in parallel code, and gives what Python gives."""

import numpy as np
import pytest

from ingot import prange
from support import check, jitted

G = np.random.default_rng(1)


def monte_carlo(x, y):
    inside = 0
    for i in prange(len(x)):
        if x[i] * x[i] + y[i] * y[i] < 1.0:
            inside += 1
    return inside


def monte_carlo_batches(x, batch):
    inside = 0
    for b in prange(len(x) // batch):
        for j in range(batch):
            k = b * batch + j
            if x[k] < 0.5:
                inside += 1
    return inside


def mandelbrot(width, height, most):
    image = np.zeros((height, width), np.int64)
    for row in prange(height):
        for column in range(width):
            c = complex(-2.0 + 3.0 * column / width, -1.0 + 2.0 * row / height)
            z = 0j
            n = 0
            while n < most and z.real * z.real + z.imag * z.imag < 4.0:
                z = z * z + c
                n += 1
            image[row, column] = n
    return image


def mandelbrot_flat(image, width, most):
    for p in prange(image.size):
        row = p // width
        column = p % width
        cr, ci = -2.0 + 3.0 * column / width, -1.0 + 2.0 * row / 40
        zr, zi, n = 0.0, 0.0, 0
        for _ in range(most):
            if zr * zr + zi * zi > 4.0:
                break
            zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            n += 1
        image[row, column] = n


def lattice_boltzmann(f, cx, cy):
    q, nx, ny = f.shape
    out = np.empty_like(f)
    for x in prange(nx):
        for y in range(ny):
            for k in range(q):
                out[k, x, y] = f[k, (x - cx[k]) % nx, (y - cy[k]) % ny]
    return out


def lattice_boltzmann_bounce(f, omega):
    nx, ny, q = f.shape
    w = np.full(q, 1.0 / q)
    for x in prange(nx):
        for y in range(ny):
            rho = 0.0
            for k in range(q):
                rho += f[x, y, k]
            for k in range(q):
                f[x, y, k] += omega * (w[k] * rho - f[x, y, k])


def n_body(p, m):
    n = len(m)
    a = np.zeros((n, 3))
    for i in prange(n):
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(n):
            if i != j:
                dx = p[j, 0] - p[i, 0]
                dy = p[j, 1] - p[i, 1]
                dz = p[j, 2] - p[i, 2]
                r = (dx * dx + dy * dy + dz * dz + 0.01) ** -1.5
                ax += m[j] * dx * r
                ay += m[j] * dy * r
                az += m[j] * dz * r
        a[i, 0] = ax
        a[i, 1] = ay
        a[i, 2] = az
    return a


def n_body_with_scratch(p, m):
    n = len(m)
    a = np.zeros((n, 3))
    for i in prange(n):
        force = np.zeros(3)
        for j in range(n):
            d = p[j] - p[i]
            force += m[j] * d / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01)
        a[i] = force
    return a


def pairwise(x):
    n, d = x.shape
    out = np.zeros((n, n))
    for i in prange(n):
        for j in range(n):
            s = 0.0
            for k in range(d):
                t = x[i, k] - x[j, k]
                s += t * t
            out[i, j] = np.sqrt(s)
    return out


def pairwise_triangles(x):
    n = len(x)
    out = np.zeros((n, n))
    for i in prange(n):
        for j in range(i + 1, n):
            out[i, j] = out[j, i] = abs(x[i] - x[j])
    return out


def pairwise_lower(x):
    n = len(x)
    out = np.zeros((n, n))
    for i in prange(n):
        for j in range(i):
            v = abs(x[i] - x[j])
            out[i, j] = v
            out[j, i] = v
    return out


def pairwise_guarded(x, out):
    n = len(x)
    for i in prange(n):
        for j in range(n):
            if j >= i:
                out[i, j] = x[i] * x[j]
                if j > i:
                    out[j, i] = x[i] * x[j]


def condensed(x):
    n = len(x)
    out = np.zeros((n, n))
    for i in prange(n):
        out[i, i] = 1.0
        for j in range(i + 1, n):
            out[i, j] = x[i] - x[j]
        for j in range(i):
            out[i, j] = x[j] + x[i]
    return out


def k_means_assignment(x, centres):
    n, d = x.shape
    labels = np.empty(n, np.int64)
    for i in prange(n):
        distances = np.empty(len(centres))
        for c in range(len(centres)):
            s = 0.0
            for k in range(d):
                s += (x[i, k] - centres[c, k]) ** 2
            distances[c] = s
        labels[i] = np.argmin(distances)
    return labels


def k_means_sums(x, labels, k):
    sums = np.zeros((k, x.shape[1]))
    counts = np.zeros(k, np.int64)
    for i in prange(len(x)):
        sums[labels[i]] += x[i]
        counts[labels[i]] += 1
    return sums, counts


def heat(u, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in prange(1, len(a) - 1):
            b[i] = a[i] + 0.1 * (a[i - 1] - 2 * a[i] + a[i + 1])
        a, b = b, a
    return a


def heat_in_place(a, b, steps):
    for _ in range(steps):
        for i in prange(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        a, b = b, a
    return a


def red_black(u, steps):
    n, m = u.shape
    for _ in range(steps):
        for colour in range(2):
            for i in prange(n // 2 - 1):
                for j in range(1, m - 1):
                    r = 2 * i + 1 + colour
                    u[r, j] = 0.5 * (u[r, j] + u[0, j])


def dbscan_neighbours(x, eps):
    n = len(x)
    counts = np.zeros(n, np.int64)
    for i in prange(n):
        for j in range(n):
            if np.abs(x[i] - x[j]) <= eps:
                counts[i] += 1
    return counts


def dbscan_total(x, eps):
    n = len(x)
    total = 0
    most = 0
    for i in prange(n):
        c = 0
        for j in range(n):
            if np.abs(x[i] - x[j]) <= eps:
                c += 1
                total += 1
        most = max(most, c)
    return total, most


def matmul_tiles(a, b, tile):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for t in prange((n + tile - 1) // tile):
        for i in range(t * tile, min((t + 1) * tile, n)):
            for k in range(m):
                for j in range(p):
                    c[i, j] += a[i, k] * b[k, j]
    return c


def matmul_blocks(a, b):
    n = a.shape[0]
    c = np.zeros((n, n))
    for t in prange(n // 8):
        rows = a[t * 8 : (t + 1) * 8]
        c[t * 8 : (t + 1) * 8] = rows @ b
    return c


def rows_of_flat(t, m):
    n = len(t) // m
    for i in prange(n):
        for j in range(m):
            t[i * m + j] = i - j
    return t


def slices_of_flat(t, n):
    m = len(t) // n
    for i in prange(n):
        t[i * m : (i + 1) * m] = i * 1.5
    return t


def interleaved(x):
    t = np.zeros(2 * len(x))
    for i in prange(len(x)):
        t[2 * i] = x[i]
        t[2 * i + 1] = -x[i]
    return t


def interleaved_slices(x, y):
    for i in prange(len(x)):
        y[:, 2 * i] = x[i]
        y[:, 2 * i + 1] = x[i] * 2


def triples(x):
    t = np.zeros(3 * len(x))
    for i in prange(len(x)):
        for j in range(3):
            t[3 * i + j] = x[i] + j
    return t


def backwards(x):
    n = len(x)
    y = np.empty(n)
    for i in prange(n):
        y[n - 1 - i] = x[i]
    return y


def downwards(x, y):
    for i in prange(len(x) - 1, -1, -1):
        y[i] = x[i] * 2


def steps_of_three(x):
    for i in prange(0, len(x), 3):
        x[i] = -1
        if i + 1 < len(x):
            x[i + 1] = -2
    return x


def between(x, start, stop):
    for i in prange(start, stop):
        x[i] = i
    return x


def power_iteration(a, steps):
    n = a.shape[1]
    out = np.empty(len(a))
    for i in prange(len(a)):
        u = np.ones(n)
        for _ in range(steps):
            u = a[i] @ u
            u /= np.sqrt((u * u).sum())
        out[i] = u[0]
    return out


def solves(a, b):
    x = np.empty_like(b)
    for i in prange(len(a)):
        x[i] = np.linalg.solve(a[i], b[i])
    return x


def routines(a):
    n = len(a)
    norms, traces, largest = np.empty(n), np.empty(n), np.empty(n)
    inverses = np.empty_like(a)
    for i in prange(n):
        symmetric = a[i] + a[i].T
        w, _ = np.linalg.eigh(symmetric)
        largest[i] = w[-1]
        norms[i] = np.linalg.norm(a[i])
        inverses[i] = np.linalg.inv(a[i])
        traces[i] = np.dot(a[i], a[i]).trace()
    return norms, traces, largest, inverses


def medians(x):
    out = np.empty(len(x))
    for i in prange(len(x)):
        row = np.sort(x[i])
        out[i] = row[len(row) // 2]
    return out


def sorted_rows(x):
    for i in prange(len(x)):
        x[i] = np.sort(x[i])
        x[i].sort()


def bilateral(image, radius):
    h, w = image.shape
    out = np.empty_like(image)
    for y in prange(h):
        for x in range(w):
            total, weight = 0.0, 0.0
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    yy = min(max(y + dy, 0), h - 1)
                    xx = min(max(x + dx, 0), w - 1)
                    d = image[yy, xx] - image[y, x]
                    k = 1.0 / (1.0 + d * d)
                    total += k * image[yy, xx]
                    weight += k
            out[y, x] = total / weight
    return out


def bands(x):
    n = len(x)
    ab = np.zeros((3, n))
    for i in prange(n):
        ab[1, i] = 2 * x[i]
        if i + 1 < n:
            ab[0, i + 1] = x[i]
            ab[2, i] = -x[i]
    return ab


def moves(x, table):
    y = np.zeros(len(x))
    for i in prange(len(x)):
        y[table[i]] = np.sin(x[i]) + np.cos(x[i]) * np.exp(-x[i] * x[i])
    return y


def chunks(y, k):
    n = len(y)
    c = n // k
    for t in prange(k):
        for i in range(t * c, (t + 1) * c):
            y[i] = 2 * i


def chunks_of_all(y, k):
    n = len(y)
    c = (n + k - 1) // k
    for t in prange(k):
        low = t * c
        high = min(low + c, n)
        s = 0.0
        for i in range(low, high):
            s += y[i]
        for i in range(low, high):
            y[i] = s + i


def eighths(y, k):
    n = len(y)
    c = n // 8
    for t in prange(8):
        for i in range(t * c, min((t + 1) * c, n)):
            y[i] = k * i


def last_chunk_is_longer(y, k):
    n = len(y)
    c = n // 8
    for t in prange(8):
        low = t * c
        high = n if t == 7 else low + c
        for i in range(low, high):
            y[i] = k * i


def even_chunks(y, k):
    n = len(y)
    for t in prange(k):
        for i in range(t * n // k, (t + 1) * n // k):
            y[i] = t


def every_kth(y, k):
    n = len(y)
    for t in prange(k):
        for i in range(t, n, k):
            y[i] = y[i] + t


def running_sums_of_chunks(y, k):
    n = len(y)
    c = (n + k - 1) // k
    for t in prange(k):
        low = t * c
        high = min(low + c, n)
        for i in range(low + 1, high):
            y[i] += y[i - 1]


def slices_by_steps(y, k):
    n = len(y)
    for i in prange(0, n, k):
        y[i : i + k] = i


def ranges_by_steps(y, k):
    n = len(y)
    for i in prange(0, n, k):
        for j in range(i, min(i + k, n)):
            y[j] = i + j


def whole_blocks_by_steps(y, k):
    n = len(y)
    for i in prange(0, n - k + 1, k):
        for j in range(k):
            y[i + j] = j


def starts_of_blocks(y, k):
    for i in prange(len(y) // k):
        y[k * i] = i


def rows_by_table(out, table, x):
    for i in prange(len(table)):
        out[table[i], :] = x[i, :]


def parts_of_rows_by_table(out, table, x):
    for i in prange(len(table)):
        r = table[i]
        out[r, 1:] = x[i, 1:] * 2
        out[r, 0] = i


def columns_by_table(out, table, x):
    for i in prange(len(table)):
        out.T[:, table[i]] = x[i]


CHUNKS = [
    chunks,
    chunks_of_all,
    eighths,
    last_chunk_is_longer,
    even_chunks,
    every_kth,
    running_sums_of_chunks,
    slices_by_steps,
    ranges_by_steps,
    whole_blocks_by_steps,
    starts_of_blocks,
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", [1, 3, 7, 100, -2])
@pytest.mark.parametrize("function", CHUNKS)
def test_chunks(function, k):
    check(function, np.arange(100.0), k)


@pytest.mark.parametrize("function", [rows_by_table, parts_of_rows_by_table, columns_by_table])
def test_rows_that_a_table_names(function):
    for table in (G.permutation(40), G.integers(0, 40, 40), np.arange(-40, 0), np.full(40, 3)):
        check(function, np.zeros((40, 7)), table, M)
    assert "shared among threads" in str(jitted(function).explain(np.zeros((40, 7)), np.arange(40), M))


X = G.random(500)
M = G.random((40, 7))
A = G.random((6, 5, 5)) + 3 * np.eye(5)
PROGRAMS = [
    (monte_carlo, X, G.random(500)),
    (monte_carlo_batches, X, 25),
    (mandelbrot, 33, 21, 30),
    (mandelbrot_flat, np.zeros((21, 33), np.int64), 33, 25),
    (lattice_boltzmann, G.random((5, 8, 9)), np.array([0, 1, 0, -1, 0]), np.array([0, 0, 1, 0, -1])),
    (lattice_boltzmann_bounce, G.random((8, 9, 5)), 0.7),
    (n_body, M[:, :3].copy(), X[:40]),
    (n_body_with_scratch, M[:, :3].copy(), X[:40]),
    (pairwise, M),
    (pairwise_triangles, X[:50]),
    (pairwise_lower, X[:50]),
    (pairwise_guarded, X[:50], np.zeros((50, 50))),
    (condensed, X[:50]),
    (k_means_assignment, M, M[:5]),
    (k_means_sums, M, np.arange(40) % 4, 4),
    (heat, X, 7),
    (heat_in_place, M.copy(), M.copy(), 5),
    (red_black, M.copy(), 2),
    (dbscan_neighbours, X[:60], 0.1),
    (dbscan_total, X[:60], 0.1),
    (matmul_tiles, M, M.T.copy(), 16),
    (matmul_blocks, G.random((32, 32)), G.random((32, 32))),
    (rows_of_flat, np.zeros(77), 11),
    (slices_of_flat, np.zeros(77), 7),
    (interleaved, X),
    (interleaved_slices, X[:9], np.zeros((4, 18))),
    (triples, X),
    (backwards, X),
    (downwards, X, np.zeros(500)),
    (steps_of_three, np.zeros(100)),
    (between, np.zeros(100), 3, 90),
    (medians, M),
    (sorted_rows, M.copy()),
    (bilateral, M, 2),
    (bands, X),
    (moves, X, G.permutation(500)),
    (moves, X, np.arange(500) % 7),
    (moves, X, G.permutation(500) - 250),
]
EXACT = {dbscan_total, monte_carlo}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function, arguments", [(p[0], p[1:]) for p in PROGRAMS], ids=lambda p: getattr(p, "__name__", ""))
def test_programs_over_prange(function, arguments):
    check(function, *arguments, bound=1e-12)


@pytest.mark.parametrize(
    "function, arguments", [(power_iteration, (A, 4)), (solves, (A, G.random((6, 5)))), (routines, (A,))], ids=lambda p: getattr(p, "__name__", "")
)
def test_routines_over_prange(function, arguments):
    check(function, *arguments, bound=1e-12)
