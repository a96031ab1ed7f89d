"""Statistics: when did British coal mines become safer? Gibbs's sampler finds the year from
counts of disasters.

Disasters of each year from 1851 to 1961 (Jarrett, Biometrika 66, 1979). There was one rate before
some year and another one after it; each is drawn in turn, given the others. The draws are
NumPy's, bit for bit.
"""

import ingot
import numpy as np

COUNTS = np.array([
    4, 5, 4, 0, 1, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3, 4, 2,
    1, 3, 2, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0,
    0, 0, 1, 1, 0, 2, 3, 3, 1, 1, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1,
])  # fmt: skip


@ingot.jit
def sample(counts, draws, rng):
    """Draws of the rates before and after the change (disasters a year), and of how many years
    came before it."""
    years = len(counts)
    total = np.cumsum(counts)
    rates, changes = np.empty((draws, 2)), np.empty(draws, np.int64)
    change = years // 2
    for n in range(draws):
        before = total[change - 1]
        early = rng.gamma(1.0 + before) / (change + 1.0)
        late = rng.gamma(1.0 + total[-1] - before) / (years - change + 1.0)
        k = np.arange(1, years)
        likelihood = total[:-1] * np.log(early / late) - k * (early - late)
        weights = np.cumsum(np.exp(likelihood - likelihood.max()))
        change = 1 + np.searchsorted(weights, rng.random() * weights[-1])
        rates[n] = early, late
        changes[n] = change
    return rates, changes


def run(draws=200_000):
    return sample(COUNTS, draws, np.random.default_rng(11))


def draw(figure, rates, changes):
    top, bottom = figure.subplots(2, 1)
    years = 1851 + np.arange(len(COUNTS))
    early = years[None, :] < 1851 + changes[::500, None]
    course = np.where(early, rates[::500, :1], rates[::500, 1:])
    low, middle, high = np.quantile(course, (0.025, 0.5, 0.975), axis=0)
    top.bar(years, COUNTS, width=0.8, alpha=0.45)
    top.fill_between(years, low, high, color="C1", alpha=0.3, linewidth=0)
    top.plot(years, middle, color="C1", label="rate, with what holds 95 %")
    top.set(title="Disasters in coal mines", ylabel="disasters a year", xlim=(1850, 1962))
    top.legend()
    found = np.bincount(changes, minlength=len(COUNTS)) / len(changes)
    bottom.bar(1851 + np.arange(len(found)), found)
    bottom.set(
        title="When they became fewer", xlabel="year", ylabel="probability", xlim=(1878, 1902)
    )


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
