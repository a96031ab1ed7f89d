"""Models of physics: gases, magnets, stars, quantum waves."""

import numpy as np

VELOCITIES = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def equilibrium(rho, ux, uy):
    result = np.empty((9,) + rho.shape)
    square = 1.5 * (ux**2 + uy**2)
    for i, (cx, cy) in enumerate(VELOCITIES):
        cu = 3 * (cx * ux + cy * uy)
        result[i] = WEIGHTS[i] * rho * (1 + cu + 0.5 * cu**2 - square)
    return result


def lattice_boltzmann(nx, ny, speed, tau, steps):
    """Flow around a cylinder, nine velocities in the plane; the vorticity, and the drag at each step."""
    y, x = np.mgrid[0:ny, 0:nx]
    obstacle = (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 9) ** 2
    ux = np.full((ny, nx), speed) * (1 + 1e-3 * np.sin(2 * np.pi * y / ny))
    f = equilibrium(np.ones((ny, nx)), ux, np.zeros((ny, nx)))
    drag = np.zeros(steps)
    for step in range(steps):
        for i, (cx, cy) in enumerate(VELOCITIES):
            f[i] = np.roll(f[i], (cy, cx), axis=(0, 1))
        bounced = f[:, obstacle][OPPOSITE]
        rho = f.sum(axis=0)
        ux = np.tensordot(VELOCITIES[:, 0], f, axes=1) / rho
        uy = np.tensordot(VELOCITIES[:, 1], f, axes=1) / rho
        f += (equilibrium(rho, ux, uy) - f) / tau
        f[:, obstacle] = bounced
        drag[step] = (VELOCITIES[:, 0] @ bounced).sum()
        f[:, :, 0] = equilibrium(np.ones(ny), np.full(ny, speed), np.zeros(ny))
    ux[obstacle] = uy[obstacle] = 0
    vorticity = (np.roll(uy, -1, axis=1) - np.roll(uy, 1, axis=1)) - (np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0))
    return vorticity, drag


def ising(n, temperature, sweeps, seed):
    """Ising's magnet on a torus by Metropolis on a checkerboard; energies and magnetisations."""
    rng = np.random.default_rng(seed)
    spins = rng.choice([-1, 1], size=(n, n))
    i, j = np.indices((n, n))
    black = (i + j) % 2 == 0
    energies, magnetisations = [], []
    for _ in range(sweeps):
        for colour in (black, ~black):
            neighbours = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            cost = 2 * spins * neighbours
            flips = colour & ((cost <= 0) | (rng.random((n, n)) < np.exp(-cost / temperature)))
            spins[flips] *= -1
        energies.append(-(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum() / n**2)
        magnetisations.append(abs(spins.mean()))
    energies = np.array(energies)
    return spins, np.array(magnetisations), energies.mean(), energies.var() * n**2 / temperature**2


def accelerations(positions, masses, softening):
    d = positions[None, :, :] - positions[:, None, :]
    r2 = (d**2).sum(axis=-1) + softening**2
    return (masses[None, :, None] * d / r2[:, :, None] ** 1.5).sum(axis=1)


def n_body(positions, velocities, masses, dt, steps, softening=0.05):
    """Stars by leapfrog, all pairs by broadcasting; the energies on the way."""
    x, v = positions.copy(), velocities.copy()
    v -= np.average(v, weights=masses, axis=0)
    a = accelerations(x, masses, softening)
    energies = np.zeros((steps, 2))
    upper = np.triu_indices(len(masses), k=1)
    for i in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x, masses, softening)
        v += 0.5 * dt * a
        kinetic = 0.5 * np.sum(masses * np.sum(v**2, axis=1))
        d = x[upper[0]] - x[upper[1]]
        r = np.sqrt((d * d).sum(axis=1) + softening**2)
        potential = -np.sum(masses[upper[0]] * masses[upper[1]] / r)
        energies[i] = kinetic, potential
    return x, v, energies


def quantum_packet(n, steps, dt, k0=60.0):
    """A wave packet that reaches a barrier, by split operators: its density, and what is reflected and let through."""
    x = np.linspace(-1, 1, n, endpoint=False)
    dx = x[1] - x[0]
    k = 2 * np.pi * np.fft.fftfreq(n, d=dx)
    psi = np.exp(-((x + 0.5) ** 2) / (2 * 0.05**2)) * np.exp(1j * k0 * x)
    psi /= np.sqrt((np.abs(psi) ** 2).sum() * dx)
    potential = np.zeros(n)
    potential[np.abs(x) < 0.02] = 0.5 * k0**2
    half = np.exp(-0.5j * potential * dt)
    kinetic = np.exp(-0.5j * k**2 * dt)
    for _ in range(steps):
        psi = half * np.fft.ifft(kinetic * np.fft.fft(half * psi))
    density = np.abs(psi) ** 2
    momentum = (np.conj(psi) * np.gradient(psi, dx)).imag.sum() * dx
    return density, density[x < 0].sum() * dx, density[x >= 0].sum() * dx, momentum
