"""The gallery's programs as one would write them for NumPy and for JAX, with which `times.py` compares.

For Numba they are compiled as they are, but for `swing_up`, `spirals` and `options`, whose derivatives Numba does not have:
`spirals` has them written by hand, `options` by differences. A program that is not here under NumPy is run as it is.
"""

import el_nino
import numpy as np
import swing_up
import turing_patterns
import vortex_street as lattice

# For NumPy


def numpy_vortex_street(f, solid, wind, rate, steps):
    solid, inside = solid[:, 1:-1], ~solid[:, 1:-1]
    for _ in range(steps):
        came = np.stack([np.roll(f[k], (lattice.EY[k], lattice.EX[k]), (0, 1)) for k in range(9)])[:, :, 1:-1]
        back = np.stack([np.roll(f[lattice.BACK[k]], (-lattice.EY[k], -lattice.EX[k]), (0, 1)) for k in range(9)])[:, :, 1:-1]
        density = came.sum(axis=0)
        ux = np.tensordot(lattice.EX, came, 1) / density
        uy = np.tensordot(lattice.EY, came, 1) / density
        rest = np.stack([lattice.equilibrium(k, density, ux, uy) for k in range(9)])
        f[:, :, 1:-1] = np.where(solid, back, came + rate * inside * (rest - came))
        f[:, :, -1] = f[:, :, -2]
        f[:, :, 0] = np.array([lattice.equilibrium(k, 1.0, wind, 0.0) for k in range(9)])[:, None]


def numpy_neurons(weights, noise, a, b, c, d, milliseconds, rng):
    v, u = np.full(len(a), -65.0), -65.0 * b
    times, cells = [], []
    for t in range(milliseconds):
        current = noise * rng.normal(size=len(a))
        fired = np.flatnonzero(v >= 30)
        times.append(np.full(len(fired), t))
        cells.append(fired)
        v[fired] = c[fired]
        u[fired] += d[fired]
        current += weights[fired].sum(axis=0)
        for _ in range(2):
            v += 0.5 * (0.04 * v * v + 5 * v + 140 - u + current)
        u += a * (b * v - u)
    return np.concatenate(times), np.concatenate(cells)


def corners(x, y, n):
    i, j = x.astype(int), y.astype(int)
    s, t = x - i, y - j
    i, j, k, m = i % n, j % n, (i + 1) % n, (j + 1) % n
    return ((i, j), (1 - s) * (1 - t)), ((k, j), s * (1 - t)), ((i, m), (1 - s) * t), ((k, m), s * t)


def numpy_cosmic_web(x, y, px, py, kx, ky, start, end, steps):
    n, da = len(kx), (end - start) / steps
    square = kx * kx + ky * ky
    square[0, 0] = 1.0
    for step in range(steps + 1):
        density = np.zeros(n * n)
        for (i, j), part in corners(x, y, n):
            density += np.bincount(i * n + j, part, n * n)
        density = density.reshape(n, n)
        if step == steps:
            return density
        a = start + step * da
        source = 1.5 / a * density
        potential = -np.fft.rfft2(source - source.mean()) / square
        kick, drift = np.sqrt(a) * da, da / (a + 0.5 * da) ** 1.5
        for k, where, p in ((kx, x, px), (ky, y, py)):
            field = np.fft.irfft2(-1j * k * potential, (n, n))
            p += kick * sum(part * field[corner] for corner, part in corners(x, y, n))
        for where, p in ((x, px), (y, py)):
            where[:] = (where + drift * p) % n


def numpy_denoise(image, reach, distance, contrast):
    height, width = image.shape
    padded = np.pad(image, reach, constant_values=np.nan)
    total, weights = np.zeros_like(image), np.zeros_like(image)
    for j in range(-reach, reach + 1):
        for i in range(-reach, reach + 1):
            other = padded[reach + j : reach + j + height, reach + i : reach + i + width]
            weight = np.exp(-0.5 * ((i * i + j * j) / distance**2 + ((other - image) / contrast) ** 2))
            weight[np.isnan(weight)] = 0.0
            total += weight * np.nan_to_num(other)
            weights += weight
    return total / weights


def scipy_pagerank(starts, sources, degrees, damping, tolerance):
    from scipy.sparse import csr_array

    n = len(degrees)
    links = csr_array((np.ones(len(sources)), sources, starts), (n, n))
    rank = np.full(n, 1 / n)
    for iteration in range(1, 1001):
        new = (1 - damping) / n + damping * (links @ (rank / np.maximum(degrees, 1)) + np.sum(rank[degrees == 0]) / n)
        change = np.sum(np.abs(new - rank))
        rank = new
        if change < tolerance:
            return rank, iteration


def numpy_ising(spins, temperature, count, rng):
    i, j = np.indices(spins.shape)
    for _ in range(count):
        for colour in (0, 1):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            turned = rng.random(spins.shape) < np.exp(-2 * spins * around / temperature)
            spins[turned & ((i + j) % 2 == colour)] *= -1


def differences(price):
    """Price, delta and vega for each share's price, by central differences."""

    def curve(spots, volatility, *others):
        h = 1e-6
        rows = []
        for s in spots:
            delta = (price(s + h, volatility, *others) - price(s - h, volatility, *others)) / (2 * h)
            vega = (price(s, volatility + h, *others) - price(s, volatility - h, *others)) / (2 * h)
            rows.append((price(s, volatility, *others), delta, vega))
        return np.array(rows).T

    return curve


def numpy_spirals(weights, points, labels, iterations, rate):
    """`spirals.train` with the derivatives written by hand; all weights are one vector."""
    a, p, b, q, c, r = weights
    w = np.concatenate((a.ravel(), p, b.ravel(), q, c.ravel(), r))
    mean, square, losses = np.zeros_like(w), np.zeros_like(w), np.empty(iterations)
    m, n = len(p), len(points)
    ends = np.cumsum(np.array([2 * m, m, m * m, m, m]))
    for k in range(iterations):
        a, p = w[: ends[0]].reshape(2, m), w[ends[0] : ends[1]]
        b, q = w[ends[1] : ends[2]].reshape(m, m), w[ends[2] : ends[3]]
        c, r = w[ends[3] : ends[4]].reshape(m, 1), w[ends[4] :]
        first = np.tanh(points @ a + p)
        second = np.tanh(first @ b + q)
        sure = 1 / (1 + np.exp(-(second @ c + r)))
        losses[k] = -np.mean(labels * np.log(sure) + (1 - labels) * np.log(1 - sure))
        d3 = (sure - labels) / n
        d2 = (d3 @ c.T) * (1 - second * second)
        d1 = (d2 @ b.T) * (1 - first * first)
        weighed = ((points.T @ d1).ravel(), d1.sum(axis=0), (first.T @ d2).ravel(), d2.sum(axis=0), (second.T @ d3).ravel(), d3.sum(axis=0))
        slopes = np.concatenate(weighed)
        mean = 0.9 * mean + 0.1 * slopes
        square = 0.999 * square + 0.001 * slopes * slopes
        w = w - rate * np.sqrt(1 - 0.999 ** (k + 1)) / (1 - 0.9 ** (k + 1)) * mean / (np.sqrt(square) + 1e-8)
    return losses


def numpy_neural_field(weights, places, heights, steps, rate):
    """`neural_field.train` with the derivatives written by hand; all weights are one vector."""
    a, p, b, q, c, r = weights
    w = np.concatenate((a.ravel(), p, b.ravel(), q, c.ravel(), r))
    mean, square, losses = np.zeros_like(w), np.zeros_like(w), np.empty(steps)
    m, n = len(p), len(places)
    ends = np.cumsum(np.array([2 * m, m, m * m, m, m]))
    for k in range(steps):
        a, p = w[: ends[0]].reshape(2, m), w[ends[0] : ends[1]]
        b, q = w[ends[1] : ends[2]].reshape(m, m), w[ends[2] : ends[3]]
        c, r = w[ends[3] : ends[4]].reshape(m, 1), w[ends[4] :]
        before = 3 * (places @ a + p)
        first = np.sin(before)
        between = 3 * (first @ b + q)
        second = np.sin(between)
        error = second @ c + r - heights
        losses[k] = np.mean(error * error)
        d3 = 2 * error / n
        d2 = (d3 @ c.T) * 3 * np.cos(between)
        d1 = (d2 @ b.T) * 3 * np.cos(before)
        weighed = ((places.T @ d1).ravel(), d1.sum(axis=0), (first.T @ d2).ravel(), d2.sum(axis=0), (second.T @ d3).ravel(), d3.sum(axis=0))
        slopes = np.concatenate(weighed)
        mean = 0.9 * mean + 0.1 * slopes
        square = 0.999 * square + 0.001 * slopes * slopes
        w = w - rate * (mean / (1 - 0.9 ** (k + 1))) / (np.sqrt(square / (1 - 0.999 ** (k + 1))) + 1e-8)
    return losses


# For JAX


def jax_molecules(x, y, vx, vy, box, steps, dt, temperature):
    import jax
    import jax.numpy as jnp

    def forces(x, y):
        dx, dy = x[:, None] - x, y[:, None] - y
        dx -= box * jnp.round(dx / box)
        dy -= box * jnp.round(dy / box)
        square = jnp.where(jnp.eye(len(x), dtype=bool), jnp.inf, dx * dx + dy * dy)
        s = 1 / (square * square * square)
        push = 24 * s * (2 * s - 1) / square
        return jnp.sum(push * dx, 1), jnp.sum(push * dy, 1), 2 * jnp.sum(s * (s - 1), 1)

    def step(state, _):
        x, y, vx, vy, fx, fy = state
        vx, vy = vx + 0.5 * dt * fx, vy + 0.5 * dt * fy
        x, y = x + dt * vx, y + dt * vy
        fx, fy, energy = forces(x, y)
        vx, vy = vx + 0.5 * dt * fx, vy + 0.5 * dt * fy
        now = 0.5 * jnp.mean(vx * vx + vy * vy)
        scale = jnp.sqrt(1 + 0.01 * (temperature / now - 1))
        return (x, y, vx * scale, vy * scale, fx, fy), jnp.stack((jnp.mean(energy), now))

    return jax.lax.scan(step, (x, y, vx, vy, *forces(x, y)[:2]), None, steps)[1]


def jax_vortex_street(f, solid, wind, rate, steps):
    import jax
    import jax.numpy as jnp

    inflow = jnp.array([lattice.equilibrium(k, 1.0, wind, 0.0) for k in range(9)])[:, None]

    def step(_, f):
        came = jnp.stack([jnp.roll(f[k], (lattice.EY[k], lattice.EX[k]), (0, 1)) for k in range(9)])
        back = jnp.stack([jnp.roll(f[lattice.BACK[k]], (-lattice.EY[k], -lattice.EX[k]), (0, 1)) for k in range(9)])
        density = sum(came)
        ux = sum(lattice.EX[k] * came[k] for k in range(9)) / density
        uy = sum(lattice.EY[k] * came[k] for k in range(9)) / density
        rest = jnp.stack([lattice.equilibrium(k, density, ux, uy) for k in range(9)])
        f = jnp.where(solid, back, came + rate * (rest - came))
        return f.at[:, :, -1].set(f[:, :, -2]).at[:, :, 0].set(inflow)

    return jax.lax.fori_loop(0, steps, step, f)


def jax_el_nino(h, u, v, steps):
    import jax
    import jax.numpy as jnp

    rows, step, beta = len(h), el_nino.STEP, el_nino.BETA * el_nino.CELL
    fu = beta * (jnp.arange(rows) - (rows - 1) / 2)[:, None]
    fv = 0.5 * (fu[1:] + fu[:-1])
    slope, stretch = el_nino.GRAVITY * step / el_nino.CELL, el_nino.DEPTH * step / el_nino.CELL

    def advance(_, state):
        h, u, v = state
        north = 0.25 * (v[:-1, :-1] + v[1:, :-1] + v[:-1, 1:] + v[1:, 1:])
        u = u.at[:, 1:-1].add(step * fu * north - slope * (h[:, 1:] - h[:, :-1]))
        east = 0.25 * (u[:-1, :-1] + u[:-1, 1:] + u[1:, :-1] + u[1:, 1:])
        v = v.at[1:-1].add(-step * fv * east - slope * (h[1:] - h[:-1]))
        return h - stretch * (u[:, 1:] - u[:, :-1] + v[1:] - v[:-1]), u, v

    return jax.lax.fori_loop(0, steps, advance, (h, u, v))


def jax_neurons(weights, noise, a, b, c, d, milliseconds, key):
    import jax
    import jax.numpy as jnp

    def step(state, key):
        v, u = state
        fired = v >= 30
        v, u = jnp.where(fired, c, v), jnp.where(fired, u + d, u)
        current = noise * jax.random.normal(key, v.shape, v.dtype) + fired.astype(v.dtype) @ weights
        for _ in range(2):
            v = v + 0.5 * (0.04 * v * v + 5 * v + 140 - u + current)
        return (v, u + a * (b * v - u)), fired

    start = jnp.full(len(a), -65.0), -65.0 * b
    return jax.lax.scan(step, start, jax.random.split(key, milliseconds))[1]


def jax_cosmic_web(x, y, px, py, kx, ky, start, end, steps):
    import jax
    import jax.numpy as jnp

    n, da = len(kx), (end - start) / steps
    square = (kx * kx + ky * ky).at[0, 0].set(1.0)

    def spread(x, y):
        density = jnp.zeros((n, n))
        for corner, part in corners(x, y, n):
            density = density.at[corner].add(part)
        return density

    def step(count, state):
        x, y, px, py = state
        a = start + count * da
        source = 1.5 / a * spread(x, y)
        potential = -jnp.fft.rfft2(source - source.mean()) / square
        kick, drift = jnp.sqrt(a) * da, da / (a + 0.5 * da) ** 1.5
        ax, ay = (jnp.fft.irfft2(-1j * k * potential, (n, n)) for k in (kx, ky))
        px = px + kick * sum(part * ax[corner] for corner, part in corners(x, y, n))
        py = py + kick * sum(part * ay[corner] for corner, part in corners(x, y, n))
        return (x + drift * px) % n, (y + drift * py) % n, px, py

    return spread(*jax.lax.fori_loop(0, steps, step, (x, y, px, py))[:2])


def jax_denoise(image, reach, distance, contrast):
    import jax.numpy as jnp

    height, width = image.shape
    padded, inside = jnp.pad(image, reach), jnp.pad(jnp.ones_like(image), reach)
    total, weights = 0.0, 0.0
    for j in range(2 * reach + 1):
        for i in range(2 * reach + 1):
            other = padded[j : j + height, i : i + width]
            apart = ((i - reach) ** 2 + (j - reach) ** 2) / distance**2
            weight = inside[j : j + height, i : i + width] * jnp.exp(-0.5 * (apart + ((other - image) / contrast) ** 2))
            total, weights = total + weight * other, weights + weight
    return total / weights


def jax_gravitational_wave(masses, spectrum, power, times):
    import jax
    import jax.numpy as jnp
    from gravitational_wave import SUN

    def matched(mass):
        left = jnp.maximum(-times, 1e-4)
        frequency = (256 / 5 * left) ** -0.375 * (mass * SUN) ** -0.625 / jnp.pi
        heard = (times < 0) & (frequency > 30) & (frequency < 400)
        wave = jnp.where(heard, left**-0.25, 0.0) * jnp.exp(-2j * (left / (5 * mass * SUN)) ** 0.625)
        template = jnp.fft.fft(wave)
        weighted = template / power
        size = jnp.sqrt(jnp.sum((template * jnp.conj(weighted)).real) / len(times) / 2)
        return jnp.abs(jnp.fft.ifft(spectrum * jnp.conj(weighted))) / size

    return jax.vmap(matched)(masses)


def jax_pagerank(starts, sources, degrees, damping, tolerance):
    import jax
    import jax.numpy as jnp

    n = len(degrees)
    rows = jnp.repeat(jnp.arange(n), jnp.diff(starts), total_repeat_length=len(sources))

    def step(state):
        rank, _, iteration = state
        share = rank / jnp.maximum(degrees, 1)
        total = jax.ops.segment_sum(share[sources], rows, n, indices_are_sorted=True)
        new = (1 - damping) / n + damping * (total + jnp.sum(jnp.where(degrees == 0, rank, 0.0)) / n)
        return new, jnp.sum(jnp.abs(new - rank)), iteration + 1

    rank, _, iterations = jax.lax.while_loop(lambda s: s[1] >= tolerance, step, (jnp.full(n, 1 / n), jnp.inf, 0))
    return rank, iterations


def jax_ising(spins, temperature, count, key):
    import jax
    import jax.numpy as jnp

    i, j = jnp.indices(spins.shape)

    def sweep(spins, key):
        for colour, part in enumerate(jax.random.split(key)):
            around = jnp.roll(spins, 1, 0) + jnp.roll(spins, -1, 0) + jnp.roll(spins, 1, 1) + jnp.roll(spins, -1, 1)
            turned = jax.random.uniform(part, spins.shape, float) < jnp.exp(-2 * spins * around / temperature)
            spins = jnp.where(turned & ((i + j) % 2 == colour), -spins, spins)
        return spins, jnp.abs(jnp.mean(spins))

    return jax.lax.scan(sweep, spins, jax.random.split(key, count))[1]


def jax_options(spots, volatility, strike, rate, years, normals):
    import jax
    import jax.numpy as jnp

    def price(spot, volatility):
        steps, paths = normals.shape
        dt = years / steps

        def step(state, normal):
            logarithm, total = state
            logarithm = logarithm + (rate - 0.5 * volatility**2) * dt + volatility * jnp.sqrt(dt) * normal
            return (logarithm, total + jnp.exp(logarithm)), None

        (_, total), _ = jax.lax.scan(step, (jnp.full(paths, jnp.log(spot)), jnp.zeros(paths)), normals)
        return jnp.exp(-rate * years) * jnp.mean(jnp.maximum(total / steps - strike, 0.0))

    value, (delta, vega) = jax.vmap(jax.value_and_grad(price, argnums=(0, 1)), in_axes=(0, None))(spots, volatility)
    return value, delta, vega


def jax_disasters(counts, draws, key):
    import jax
    import jax.numpy as jnp

    years = len(counts)
    total, k = jnp.cumsum(counts), jnp.arange(1, years)

    def step(change, key):
        one, two, three = jax.random.split(key, 3)
        before = total[change - 1]
        early = jax.random.gamma(one, 1.0 + before) / (change + 1.0)
        late = jax.random.gamma(two, 1.0 + total[-1] - before) / (years - change + 1.0)
        change = 1 + jax.random.categorical(three, total[:-1] * jnp.log(early / late) - k * (early - late))
        return change, (early, late, change)

    return jax.lax.scan(step, years // 2, jax.random.split(key, draws))[1]


def jax_swing_up(pushes):
    import jax
    import jax.numpy as jnp

    def motion(state, push):
        _, angle, speed, turning = state
        s, c = jnp.sin(angle), jnp.cos(angle)
        swing, down = swing_up.LENGTH * swing_up.POLE * s * turning**2, swing_up.CART + swing_up.POLE * s * s
        first = (swing + push + swing_up.POLE * swing_up.GRAVITY * c * s) / down
        mass = swing_up.CART + swing_up.POLE
        second = -(swing * c + push * c + mass * swing_up.GRAVITY * s) / (swing_up.LENGTH * down)
        return jnp.stack((speed, turning, first, second))

    def cost(pushes):
        def step(state, push):
            half = state + 0.5 * swing_up.STEP * motion(state, push)
            state = state + swing_up.STEP * motion(half, push)
            return state, state

        states = jnp.concatenate((jnp.zeros((1, 4)), jax.lax.scan(step, jnp.zeros(4), pushes)[1]))
        end = states[4 * len(pushes) // 5 :]
        upright = jnp.sum((1 + jnp.cos(end[:, 1])) ** 2 + 0.1 * end[:, 3] ** 2 + 0.1 * end[:, 2] ** 2 + end[:, 0] ** 2)
        return upright + 0.1 * jnp.sum(states[:, 0] ** 4) + 1e-3 * jnp.sum(pushes**2)

    return jax.value_and_grad(cost)(pushes)


def jax_spirals(weights, points, labels, iterations, rate):
    import jax
    import jax.numpy as jnp

    def loss(weights):
        a, p, b, q, c, r = weights
        sure = 1 / (1 + jnp.exp(-(jnp.tanh(jnp.tanh(points @ a + p) @ b + q) @ c + r)))
        return -jnp.mean(labels * jnp.log(sure) + (1 - labels) * jnp.log(1 - sure))

    def step(state, n):
        weights, mean, square = state
        now, slopes = jax.value_and_grad(loss)(weights)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slopes)
        size = rate * jnp.sqrt(1 - 0.999 ** (n + 1)) / (1 - 0.9 ** (n + 1))
        weights = jax.tree.map(lambda w, m, s: w - size * m / (jnp.sqrt(s) + 1e-8), weights, mean, square)
        return (weights, mean, square), now

    zeros = jax.tree.map(jnp.zeros_like, weights)
    return jax.lax.scan(step, (weights, zeros, zeros), jnp.arange(iterations))[1]


def jax_neural_field(weights, places, heights, steps, rate):
    import jax
    import jax.numpy as jnp

    def loss(weights):
        a, p, b, q, c, r = weights
        return jnp.mean((jnp.sin(3 * (jnp.sin(3 * (places @ a + p)) @ b + q)) @ c + r - heights) ** 2)

    def step(state, n):
        weights, mean, square = state
        now, slopes = jax.value_and_grad(loss)(weights)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slopes)
        first, second = 1 - 0.9 ** (n + 1), 1 - 0.999 ** (n + 1)
        weights = jax.tree.map(lambda w, m, s: w - rate * (m / first) / (jnp.sqrt(s / second) + 1e-8), weights, mean, square)
        return (weights, mean, square), now

    zeros = jax.tree.map(jnp.zeros_like, weights)
    return jax.lax.scan(step, (weights, zeros, zeros), jnp.arange(steps))[1]


def jax_turing_patterns(u, v, steps, feed, kill):
    import jax

    def step(_, state):
        u, v = state
        p, q = u[1:-1, 1:-1], v[1:-1, 1:-1]
        eaten = p * q * q
        du = 0.16 * turing_patterns.bend(u) - eaten + feed * (1 - p)
        dv = 0.08 * turing_patterns.bend(v) + eaten - (feed + kill) * q
        return u.at[1:-1, 1:-1].add(du), v.at[1:-1, 1:-1].add(dv)

    return jax.lax.fori_loop(0, steps, step, (u, v))
