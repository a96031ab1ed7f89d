"""Programs of whole arrays and slices, whose steps are one nest of loops each when they are fused."""

from __future__ import annotations

import numpy as np

from ingot import prange

from ..workload import CppCall, Workload

SLICES = "has no slices whose lengths change from iteration to iteration"


def _plane(small, rows=2048, columns=1024):
    return np.random.default_rng(20).random((37, 65) if small else (rows, columns))


def _steps(small):
    return _plane(small, 1024), (3 if small else 10)


def _fresh(function, like=0):
    """A call of C++ that writes an array like one of the arguments, of two axes, and takes its lengths."""

    def call(*arguments):
        out = np.empty_like(arguments[like])
        return CppCall(function, (*arguments, out, *out.shape), out)

    return call


def _stepping(function):
    """A call of C++ that steps from one of two arrays to the other."""

    def call(u, steps):
        two = np.empty((2, *u.shape), u.dtype)
        return CppCall(function, (u, two, *u.shape, steps), lambda: two[steps % 2])

    return call


def _jax_steps(step):
    return lambda jax, u, steps: jax.lax.fori_loop(0, steps, lambda _, v: step(v), u)


def layer_norm_array(x, scale, shift):
    mean = np.mean(x, axis=1, keepdims=True)
    spread = np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-5)
    return (x - mean) / spread * scale + shift


def layer_norm_loop(x, scale, shift):
    rows, columns = x.shape
    out = np.empty_like(x)
    for i in prange(rows):
        total = 0.0
        for j in range(columns):
            total += x[i, j]
        mean = total / columns
        squares = 0.0
        for j in range(columns):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        spread = np.sqrt(squares / columns + 1e-5)
        for j in range(columns):
            out[i, j] = (x[i, j] - mean) / spread * scale[j] + shift[j]
    return out


def _layer_norm_arguments(small):
    x = _plane(small)
    return x, 0.5 + x[0], x[1].copy()


def _layer_norm_jax(jax, x, scale, shift):
    jnp = jax.numpy
    spread = jnp.sqrt(jnp.var(x, axis=1, keepdims=True) + 1e-5)
    return (x - jnp.mean(x, axis=1, keepdims=True)) / spread * scale + shift


LAYER_NORM = Workload(
    "layer_norm",
    _layer_norm_arguments,
    {"array": layer_norm_array, "loop": layer_norm_loop},
    jax=_layer_norm_jax,
    cpp=_fresh("layer_norm"),
    bytes=lambda x, scale, shift: 2 * x.nbytes,
)


def standardise_array(x):
    return (x - np.mean(x, axis=0)) / np.std(x, axis=0)


def standardise_loop(x):
    rows, columns = x.shape
    mean = np.zeros(columns)
    spread = np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            mean[j] += x[i, j]
    mean /= rows
    for i in range(rows):
        for j in range(columns):
            spread[j] += (x[i, j] - mean[j]) ** 2
    spread = np.sqrt(spread / rows)
    out = np.empty_like(x)
    for i in prange(rows):
        for j in range(columns):
            out[i, j] = (x[i, j] - mean[j]) / spread[j]
    return out


STANDARDISE = Workload(
    "standardise_columns",
    lambda small: (_plane(small),),
    {"array": standardise_array, "loop": standardise_loop},
    jax=lambda jax, x: (x - jax.numpy.mean(x, axis=0)) / jax.numpy.std(x, axis=0),
    cpp=_fresh("standardise"),
    bytes=lambda x: 2 * x.nbytes,
)


def _nine_points(u):
    sides = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    corners = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
    return 0.2 * sides + 0.05 * corners


def nine_points_slices(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = _nine_points(u)
    return u


NINE_POINTS = Workload(
    "nine_point_stencil",
    _steps,
    {"array": nine_points_slices},
    jax=_jax_steps(lambda u: u.at[1:-1, 1:-1].set(_nine_points(u))),
    cpp=_stepping("nine_points"),
    bytes=lambda u, steps: 2 * u.nbytes * steps,
)


def _heat(u):
    return u[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])


def heat_slices(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = _heat(u)
    return u


HEAT = Workload(
    "heat_equation",
    _steps,
    {"array": heat_slices},
    jax=_jax_steps(lambda u: u.at[1:-1, 1:-1].set(_heat(u))),
    cpp=_stepping("heat"),
    bytes=lambda u, steps: 2 * u.nbytes * steps,
)


def _upwind(u):
    return u[1:, 1:] - 0.2 * (u[1:, 1:] - u[:-1, 1:]) - 0.3 * (u[1:, 1:] - u[1:, :-1])


def upwind_slices(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:, 1:] = _upwind(u)
    return u


UPWIND = Workload(
    "upwind_advection",
    _steps,
    {"array": upwind_slices},
    jax=_jax_steps(lambda u: u.at[1:, 1:].set(_upwind(u))),
    cpp=_stepping("upwind"),
    bytes=lambda u, steps: 2 * u.nbytes * steps,
)


def _neighbours(g):
    above = g[:-2, :-2] + g[:-2, 1:-1] + g[:-2, 2:]
    below = g[2:, :-2] + g[2:, 1:-1] + g[2:, 2:]
    return above + below + g[1:-1, :-2] + g[1:-1, 2:]


def life_slices(g, steps):
    g = g.copy()
    for _ in range(steps):
        n = _neighbours(g)
        g[1:-1, 1:-1] = (n == 3) | ((g[1:-1, 1:-1] == 1) & (n == 2))
    return g


def _life_jax(g):
    n = _neighbours(g)
    return g.at[1:-1, 1:-1].set(((n == 3) | ((g[1:-1, 1:-1] == 1) & (n == 2))).astype(g.dtype))


LIFE = Workload(
    "game_of_life",
    lambda small: ((_plane(small, 1024) < 0.3).astype(np.uint8), 3 if small else 20),
    {"array": life_slices},
    jax=_jax_steps(_life_jax),
    cpp=_stepping("life"),
    bytes=lambda g, steps: 2 * g.nbytes * steps,
    bound=0,
)


def convolve_slices(x, kernel):
    rows, columns = kernel.shape
    out = np.zeros((x.shape[0] - rows + 1, x.shape[1] - columns + 1))
    for i in range(rows):
        for j in range(columns):
            out += kernel[i, j] * x[i : i + out.shape[0], j : j + out.shape[1]]
    return out


def _convolve_jax(jax, x, kernel):
    return sum(kernel[i, j] * x[i : x.shape[0] - 4 + i, j : x.shape[1] - 4 + j] for i in range(5) for j in range(5))


def _convolve_cpp(x, kernel):
    out = np.empty((x.shape[0] - 4, x.shape[1] - 4))
    return CppCall("convolve", (x, kernel, out, *out.shape), out)


CONVOLVE = Workload(
    "convolution_by_slices",
    lambda small: (_plane(small, 1024), np.random.default_rng(5).random((5, 5))),
    {"array": convolve_slices},
    jax=_convolve_jax,
    cpp=_convolve_cpp,
    bytes=lambda x, kernel: 2 * x.nbytes,
    flops=lambda x, kernel: 50 * x.size,
)

WEIGHTS = (0.06, 0.24, 0.4, 0.24, 0.06)


def blur_slices(x):
    a, b, c, d, e = WEIGHTS
    y = a * x[:, :-4] + b * x[:, 1:-3] + c * x[:, 2:-2] + d * x[:, 3:-1] + e * x[:, 4:]
    return a * y[:-4] + b * y[1:-3] + c * y[2:-2] + d * y[3:-1] + e * y[4:]


def _blur_cpp(x):
    between = np.empty((x.shape[0], x.shape[1] - 4))
    out = np.empty((x.shape[0] - 4, x.shape[1] - 4))
    return CppCall("blur", (x, between, out, *out.shape), out)


BLUR = Workload(
    "gaussian_blur",
    lambda small: (_plane(small, 1024),),
    {"array": blur_slices},
    jax=lambda jax, x: blur_slices(x),
    cpp=_blur_cpp,
    bytes=lambda x: 2 * x.nbytes,
)


def k_means_array(points, centres):
    distances = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    labels = np.argmin(distances, axis=1)
    moved = np.zeros_like(centres)
    for k in range(len(centres)):
        mine = labels == k
        moved[k] = np.sum(points * mine[:, None], axis=0) / np.sum(mine)
    return moved


def k_means_loop(points, centres):
    n, d = points.shape
    count = len(centres)
    sums = np.zeros_like(centres)
    sizes = np.zeros(count)
    for i in range(n):
        best = np.inf
        label = 0
        for k in range(count):
            distance = 0.0
            for j in range(d):
                distance += (points[i, j] - centres[k, j]) ** 2
            if distance < best:
                best = distance
                label = k
        sizes[label] += 1.0
        for j in range(d):
            sums[label, j] += points[i, j]
    for k in range(count):
        for j in range(d):
            sums[k, j] /= sizes[k]
    return sums


def _k_means_arguments(small):
    points = np.random.default_rng(20).random((301 if small else 100_000, 4))
    return points, points[:: len(points) // 8][:8].copy()


def _k_means_jax(jax, points, centres):
    jnp = jax.numpy
    labels = jnp.argmin(jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1)
    mine = labels[:, None] == jnp.arange(len(centres))
    return jnp.stack([jnp.sum(points * mine[:, k, None], axis=0) / jnp.sum(mine[:, k]) for k in range(len(centres))])


def _k_means_cpp(points, centres):
    sums, sizes = np.empty_like(centres), np.empty(len(centres))
    return CppCall("k_means", (points, centres, sums, sizes, *points.shape, len(centres)), sums)


K_MEANS = Workload(
    "k_means_step",
    _k_means_arguments,
    {"array": k_means_array, "loop": k_means_loop},
    jax=_k_means_jax,
    cpp=_k_means_cpp,
    flops=lambda points, centres: 3 * points.size * len(centres),
)


def _definite(small):
    n = 33 if small else 384
    a = np.random.default_rng(20).random((n, n))
    return (a @ a.T + n * np.eye(n),)


def lu_slices(a):
    a = a.copy()
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k, k + 1 :]
    return a


def cholesky_slices(a):
    a = a.copy()
    n = len(a)
    for k in range(n):
        a[k, k:] /= np.sqrt(a[k, k])
        for i in range(k + 1, n):
            a[i, i:] -= a[k, i] * a[k, i:]
        a[k, :k] = 0.0
    return a


def gram_schmidt_slices(a):
    q = a.copy()
    for k in range(len(q)):
        q[k] /= np.sqrt(np.sum(q[k] * q[k]))
        for i in range(k + 1, len(q)):
            q[i] -= np.sum(q[i] * q[k]) * q[k]
    return q


LU, CHOLESKY, GRAM_SCHMIDT = (
    Workload(
        name,
        _definite,
        {"array": function},
        cpp=_fresh(name.removesuffix("_by_slices")),
        flops=flops,
        skipped={"jax": SLICES},
        bound=1e-9,
    )
    for name, function, flops in (
        ("lu_by_slices", lu_slices, lambda a: 2 / 3 * len(a) ** 3),
        ("cholesky_by_slices", cholesky_slices, lambda a: 1 / 3 * len(a) ** 3),
        ("gram_schmidt_by_slices", gram_schmidt_slices, lambda a: 2 * len(a) ** 3),
    )
)


def masked_array(x):
    y = x * 3.0 - 1.0
    y[y < 0.0] *= 0.01
    y[y > 1.0] = 1.0
    return y


MASKED = Workload(
    "masked_updates",
    lambda small: (_plane(small).ravel(),),
    {"array": masked_array},
    jax=lambda jax, x: (lambda y: jax.numpy.minimum(jax.numpy.where(y < 0.0, y * 0.01, y), 1.0))(x * 3.0 - 1.0),
    cpp=lambda x: (lambda out: CppCall("masked", (x, out, x.size), out))(np.empty_like(x)),
    bytes=lambda x: 2 * x.nbytes,
)


def equalise_array(image):
    counts = np.bincount(image, minlength=256)
    sums = np.cumsum(counts)
    low = sums[np.argmax(sums > 0)]
    table = ((sums - low) * 255 // (sums[-1] - low)).astype(np.uint8)
    return table[image]


def _equalise_jax(jax, image):
    jnp = jax.numpy
    sums = jnp.cumsum(jnp.bincount(image, length=256))
    low = sums[jnp.argmax(sums > 0)]
    return ((sums - low) * 255 // (sums[-1] - low)).astype(jnp.uint8)[image]


def _equalise_cpp(image):
    out = np.empty_like(image)
    return CppCall("equalise", (image, out, image.size), out)


EQUALISE = Workload(
    "equalise_histogram",
    lambda small: ((_plane(small).ravel() ** 2 * 200).astype(np.uint8),),
    {"array": equalise_array},
    jax=_equalise_jax,
    cpp=_equalise_cpp,
    bytes=lambda image: 3 * image.nbytes,
    bound=0,
)

WORKLOADS = [LAYER_NORM, STANDARDISE, NINE_POINTS, HEAT, UPWIND, LIFE, CONVOLVE, BLUR, K_MEANS, LU, CHOLESKY, GRAM_SCHMIDT, MASKED, EQUALISE]
