"""Hares and lynxes: the rates of a differential equation, fitted through the loop that solves it.

The Hudson Bay Company counted pelts from 1900 to 1920. Lotka and Volterra's model has four rates; with the numbers at the
start there are six parameters. The solver is Runge and Kutta's as one writes it in Python: a loop over ten thousand
steps. `ingot.jacfwd` gives the derivatives of all residuals through it, which Levenberg and Marquardt's method wants;
`ingot.value_and_grad` those of their sum of squares, in reverse mode.

    python examples/predators_and_prey.py [docs/images/predators_and_prey.png]
"""

import sys

import ingot
import numpy as np
from timing import show_times

HARES = np.array([30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
                  40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7])  # fmt: skip
LYNXES = np.array([4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
                   8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6])  # fmt: skip
COUNTS = np.stack([HARES, LYNXES], axis=1)  # thousands of pelts, year by year
START = np.log([0.8, 0.04, 0.8, 0.04, 30.0, 4.0])  # a guess, which goes round too fast
NAMES = ("births of hares", "hares caught", "deaths of lynxes", "lynxes raised", "hares in 1900", "lynxes in 1900")


def change(hares, lynxes, births, caught, deaths, raised):
    return (births - caught * lynxes) * hares, (raised * hares - deaths) * lynxes


def solve(parameters, rows, steps, h):
    """Hares and lynxes in rows: at the start and after every so many steps of h years. Parameters are logarithms."""
    births, caught, deaths, raised, hares, lynxes = np.exp(parameters)
    numbers = np.empty((rows, 2))
    numbers[0] = hares, lynxes
    for row in range(1, rows):
        for _ in range(steps):
            a, p = change(hares, lynxes, births, caught, deaths, raised)
            b, q = change(hares + h / 2 * a, lynxes + h / 2 * p, births, caught, deaths, raised)
            c, r = change(hares + h / 2 * b, lynxes + h / 2 * q, births, caught, deaths, raised)
            d, s = change(hares + h * c, lynxes + h * r, births, caught, deaths, raised)
            hares += h / 6 * (a + 2 * b + 2 * c + d)
            lynxes += h / 6 * (p + 2 * q + 2 * r + s)
        numbers[row] = hares, lynxes
    return numbers


def residuals(parameters, counts, steps):
    """How far the model is from the counts, in logarithms: errors of counts are relative ones."""
    return np.log(solve(parameters, len(counts), steps, 1 / steps) / counts).ravel()


def squared_error(parameters, counts, steps):
    return np.sum(residuals(parameters, counts, steps) ** 2)


gradient, slopes = ingot.value_and_grad(squared_error), ingot.jacfwd(residuals)
error, plain = ingot.jit(squared_error), ingot.jit(residuals)


def fit(parameters, counts, steps, iterations=60):
    """Levenberg and Marquardt: parameters, the error before each iteration, and the covariance of the parameters."""
    damping, errors = 1.0, []
    r = plain(parameters, counts, steps)
    for _ in range(iterations):
        errors.append(r @ r)
        jacobian = slopes(parameters, counts, steps)
        normal, slope = jacobian.T @ jacobian, jacobian.T @ r
        if np.abs(slope).max() < 1e-6:
            break
        while True:
            tried = parameters - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), slope)
            new = plain(tried, counts, steps)
            if new @ new <= r @ r:
                break
            damping *= 4
        parameters, r, damping = tried, new, damping / 3
    return parameters, errors, np.linalg.inv(normal) * (r @ r) / (r.size - parameters.size)


def draw(fitted, covariance, noise, path):
    import matplotlib.pyplot as plt

    figure, (course, orbit) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(5, 3), layout="constrained")
    years, times = 1900 + np.arange(len(COUNTS)), 1900 + np.arange(401) / 20
    found, guessed = solve(fitted, 401, 25, 0.002), solve(START, 401, 25, 0.002)
    by = ingot.jacfwd(lambda p: np.log(solve(p, 401, 25, 0.002)))(fitted)
    spread = np.exp(2 * np.sqrt(np.einsum("tij,jk,tik->ti", by, covariance, by) + noise**2))
    for k, (name, colour) in enumerate((("hares", "#0072b2"), ("lynxes", "#d55e00"))):
        course.fill_between(times, found[:, k] / spread[:, k], found[:, k] * spread[:, k], color=colour, alpha=0.15, linewidth=0)
        course.plot(times, found[:, k], color=colour, label=f"{name}, fitted, and 95 % of counts")
        course.plot(times, guessed[:, k], color=colour, linestyle=":", label=f"{name}, first guess")
        course.plot(years, COUNTS[:, k], "o", color=colour, markersize=4, label=f"{name}, counted")
    course.set(xlabel="year", ylabel="pelts (thousands a year)", xticks=years[::5], xlim=(1900, 1920), ylim=(0, 175))
    course.legend(ncols=2, fontsize="small", loc="upper center")
    orbit.plot(*found.T, color="black", label="fitted")
    orbit.plot(*COUNTS.T, "o:", color="gray", markersize=4, linewidth=0.8, label="counted")
    for k, offset in ((0, (6, -10)), (4, (6, 4)), (12, (6, 4)), (16, (-12, 8))):
        orbit.annotate(f"{years[k]}", COUNTS[k], xytext=offset, textcoords="offset points")
    orbit.set(xlabel="hares (thousands of pelts a year)", ylabel="lynxes (thousands of pelts a year)")
    orbit.legend(fontsize="small")
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})


def main():
    show_times((START, COUNTS, 500), value=error, value_and_gradient=gradient, derivatives_of_residuals=slopes)
    fitted, errors, covariance = fit(START, COUNTS, 500)
    noise = np.sqrt(errors[-1] / (COUNTS.size - START.size))
    print(f"{len(errors)} iterations: squared error {errors[0]:.2f} to {errors[-1]:.4f}, {noise:.0%} a count")
    for name, number, sure in zip(NAMES, np.exp(fitted), np.sqrt(np.diag(covariance))):
        print(f"  {name:16} {number:7.3f} +- {number * sure:.3f}")
    if len(sys.argv) > 1:
        draw(fitted, covariance, noise, sys.argv[1])


if __name__ == "__main__":
    main()
