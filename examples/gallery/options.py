"""Finance: what an Asian option is worth, and how that changes with the market, by Monte Carlo.

The option pays what a share is worth on average over a year, above a strike. Its price is a mean
over random paths; `grad` gives the derivatives by the share's price (delta) and volatility
(vega), `vmap` a whole curve.
"""

import ingot
import numpy as np


def asian_call(spot, volatility, strike, rate, years, normals):
    """The price today. Normals are the paths' random steps: a row for each step, a column for
    each path."""
    steps, paths = normals.shape
    dt = years / steps
    logarithm, total = np.full(paths, np.log(spot)), np.zeros(paths)
    for t in range(steps):
        logarithm += (rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normals[t]
        total += np.exp(logarithm)
    return np.exp(-rate * years) * np.mean(np.maximum(total / steps - strike, 0.0))


price = ingot.jit(asian_call)
greeks = ingot.value_and_grad(asian_call, argnums=(0, 1))
curve = ingot.jit(ingot.vmap(greeks, in_axes=(0, None, None, None, None, None)))


def run(steps=50, paths=20_000, spots=31):
    normals = np.random.default_rng(10).normal(size=(steps, paths))
    spot = np.linspace(60, 140, spots)
    value, (delta, vega) = curve(spot, 0.25, 100.0, 0.03, 1.0, normals)
    return spot, value, delta, vega


def draw(figure, spot, value, delta, vega):
    worth, first, second = figure.subplots(1, 3)
    worth.plot(spot, np.maximum(spot - 100, 0), "--", color="gray", label="paid if bought today")
    worth.plot(spot, value, label="price")
    worth.legend()
    worth.set(title="Price (€)")
    first.plot(spot, delta)
    first.set(title="Delta (€ per €)", xlabel="share's price today (€), strike 100 €")
    second.plot(spot, vega / 100)
    second.set(title="Vega (€ per % of volatility)")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
