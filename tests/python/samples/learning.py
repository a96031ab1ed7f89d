"""Statistics and learning from tables of samples."""

import numpy as np


def k_means(points, k, iterations, seed):
    """Lloyd's algorithm from k-means++ starts."""
    rng = np.random.default_rng(seed)
    n = points.shape[0]
    centres = np.empty((k, points.shape[1]))
    centres[0] = points[rng.integers(n)]
    nearest = ((points - centres[0]) ** 2).sum(axis=1)
    for i in range(1, k):
        centres[i] = points[rng.choice(n, p=nearest / nearest.sum())]
        nearest = np.minimum(nearest, ((points - centres[i]) ** 2).sum(axis=1))
    for _ in range(iterations):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        previous = centres.copy()
        for i in range(k):
            members = points[labels == i]
            if len(members) > 0:
                centres[i] = members.mean(axis=0)
        if np.allclose(centres, previous):
            break
    inertia = distances[np.arange(n), labels].sum()
    return centres, labels, inertia


def principal_components(data, count):
    """Scores, axes and explained variance of the first components, signs as scikit-learn has them."""
    mean = data.mean(axis=0)
    scale = data.std(axis=0, ddof=1)
    scale[scale == 0] = 1.0
    z = (data - mean) / scale
    u, s, vt = np.linalg.svd(z, full_matrices=False)
    largest = np.argmax(np.abs(u), axis=0)
    signs = np.sign(u[largest, range(u.shape[1])])
    u *= signs
    vt *= signs[:, np.newaxis]
    variance = s**2 / (len(data) - 1)
    ratio = variance / variance.sum()
    scores = u[:, :count] * s[:count]
    return scores, vt[:count], ratio[:count]


def fit_line(x, y):
    design = np.column_stack([np.ones_like(x), x])
    coefficients, residuals, rank, singular = np.linalg.lstsq(design, y, rcond=None)
    return coefficients


def bootstrap_regression(x, y, samples, seed):
    """A line through points, with standard errors and a 95 % interval by resampling."""
    rng = np.random.default_rng(seed)
    n = len(x)
    estimate = fit_line(x, y)
    found = np.empty((samples, 2))
    for s in range(samples):
        chosen = rng.integers(0, n, size=n)
        xs, ys = x[chosen], y[chosen]
        mx, my = xs.mean(), ys.mean()
        slope = ((xs - mx) * (ys - my)).sum() / ((xs - mx) ** 2).sum()
        found[s] = my - slope * mx, slope
    errors = found.std(axis=0, ddof=1)
    interval = np.percentile(found, [2.5, 97.5], axis=0)
    predicted = estimate[0] + estimate[1] * x
    r2 = 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return {"estimate": estimate, "errors": errors, "interval": interval, "r2": r2}


def density_estimate(samples, grid, bandwidth=None):
    """A density by Gaussian kernels, the bandwidth by Silverman's rule, and its mode and mass."""
    n = samples.size
    if bandwidth is None:
        q75, q25 = np.percentile(samples, [75, 25])
        spread = min(samples.std(ddof=1), (q75 - q25) / 1.34)
        bandwidth = 0.9 * spread * n ** (-1 / 5)
    z = (grid[:, None] - samples[None, :]) / bandwidth
    density = np.exp(-0.5 * z**2).sum(axis=1) / (n * bandwidth * np.sqrt(2 * np.pi))
    mass = np.trapezoid(density, grid)
    return density, grid[density.argmax()], mass


def log_posterior(theta, x, y):
    slope, intercept, log_sigma = theta
    sigma = np.exp(log_sigma)
    residual = y - (slope * x + intercept)
    likelihood = -0.5 * np.sum((residual / sigma) ** 2) - len(x) * log_sigma
    prior = -0.5 * (slope**2 + intercept**2) / 100 - 0.5 * log_sigma**2
    return likelihood + prior


def metropolis(x, y, steps, burn, seed):
    """Samples the posterior of a line with noise by a random walk; means, deviations and how often it moved."""
    rng = np.random.default_rng(seed)
    theta = np.zeros(3)
    current = log_posterior(theta, x, y)
    chain = np.zeros((steps, 3))
    accepted = 0
    for i in range(steps):
        proposal = theta + rng.normal(0, 0.05, size=3)
        candidate = log_posterior(proposal, x, y)
        if np.log(rng.random()) < candidate - current:
            theta, current = proposal, candidate
            accepted += 1
        chain[i] = theta
    kept = chain[burn:]
    centred = kept - kept.mean(axis=0)
    lag = (centred[1:] * centred[:-1]).mean(axis=0) / centred.var(axis=0)
    return kept.mean(axis=0), kept.std(axis=0), lag, accepted / steps


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def train_classifier(features, labels, classes, epochs, rate, seed):
    """A network with one hidden layer, trained by gradient descent in batches; losses and accuracy."""
    rng = np.random.default_rng(seed)
    n, inputs = features.shape
    hidden = 16
    w1 = rng.standard_normal((inputs, hidden)) * np.sqrt(2 / inputs)
    b1 = np.zeros(hidden)
    w2 = rng.standard_normal((hidden, classes)) * np.sqrt(1 / hidden)
    b2 = np.zeros(classes)
    one_hot = np.eye(classes)[labels]
    losses = []
    for _ in range(epochs):
        order = rng.permutation(n)
        for start in range(0, n, 32):
            batch = order[start : start + 32]
            x, target = features[batch], one_hot[batch]
            h = np.maximum(x @ w1 + b1, 0)
            p = softmax(h @ w2 + b2)
            dz = (p - target) / len(batch)
            dh = (dz @ w2.T) * (h > 0)
            w2 -= rate * (h.T @ dz)
            b2 -= rate * dz.sum(axis=0)
            w1 -= rate * (x.T @ dh)
            b1 -= rate * dh.sum(axis=0)
        p = softmax(np.maximum(features @ w1 + b1, 0) @ w2 + b2)
        losses.append(-np.log(p[np.arange(n), labels]).mean())
    return np.array(losses), (p.argmax(axis=1) == labels).mean()
