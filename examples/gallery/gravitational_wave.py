"""Signals: the chirp of two black holes in noise that is louder, by matched filters.

A template is how the wave would look for some chirp mass; correlated with the data, noise
weighted by its spectrum, it shows when that wave came and how sure that is. `vmap` runs a bank of
200 templates as one program.
"""

import ingot
import numpy as np

RATE, SECONDS = 2048, 4  # samples a second
SUN = 4.925e-6  # s: the sun's mass in units of time


def chirp(mass, times):
    """The wave until it ends at time 0, as a complex number, for a chirp mass in suns: Newton's
    approximation."""
    left = np.maximum(-times, 1e-4)
    phase = -2 * (left / (5 * mass * SUN)) ** 0.625
    frequency = (256 / 5 * left) ** -0.375 * (mass * SUN) ** -0.625 / np.pi
    heard = (times < 0) & (frequency > 30) & (frequency < 400)
    return np.where(heard, left**-0.25, 0.0) * np.exp(1j * phase)


def matched(mass, spectrum, power, times):
    """How many times its noise a template's correlation with the data is, for each time at which
    the wave may end."""
    template = np.fft.fft(chirp(mass, times))
    weighted = template / power
    size = np.sqrt(np.sum((template * np.conj(weighted)).real) / len(times) / 2)
    return np.abs(np.fft.ifft(spectrum * np.conj(weighted))) / size


bank = ingot.jit(ingot.vmap(matched, in_axes=(0, None, None, None)))


def noise_power(samples):
    """The power of noise at each frequency: walls that shake below 50 Hz, light that flickers
    above 200 Hz."""
    f = np.abs(np.fft.fftfreq(samples, 1 / RATE)) + 5
    return (50 / f) ** 4 + 1 + (f / 200) ** 2


def observe(samples, mass, end, loud, rng):
    """What a detector measures: noise, and a wave that ends at a time in s."""
    power = noise_power(samples)
    noise = np.fft.ifft(np.fft.fft(rng.normal(size=samples)) * np.sqrt(power)).real
    return noise + loud * chirp(mass, np.arange(samples) / RATE - end).real, power


def run(samples=RATE * SECONDS, templates=200, loud=0.5):
    times = np.arange(samples) / RATE
    end = 0.7 * times[-1]
    data, power = observe(samples, 28.1, end, loud, np.random.default_rng(4))
    masses = np.linspace(15, 45, templates)
    found = bank(masses, np.fft.fft(data), power, times - times[-1])
    return times, data, loud * chirp(28.1, times - end).real, masses, np.roll(found, -1, axis=1)


def draw(figure, times, data, wave, masses, found):
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.3))
    top.plot(times, data, linewidth=0.4, color="gray", label="measured")
    top.plot(times, wave, linewidth=1, label="the wave in it")
    top.set(
        title="Two black holes, 28 suns of chirp mass",
        ylabel="strain (arbitrary)",
        xlim=(times[0], times[-1]),
    )
    top.legend(loc="upper left", ncols=2)
    image = bottom.imshow(
        found.reshape(len(found), -1, 16).max(axis=2),
        aspect="auto",
        origin="lower",
        cmap="viridis",
        vmin=0,
        extent=(times[0], times[-1], masses[0], masses[-1]),
    )
    i, j = np.unravel_index(np.argmax(found), found.shape)
    bottom.annotate(
        f"{found[i, j]:.1f} times the noise",
        (times[j], masses[i]),
        (times[j] - 1.6, masses[i] + 8),
        color="white",
        arrowprops={"arrowstyle": "->", "color": "white"},
    )
    bottom.set(xlabel="time (s)", ylabel="chirp mass (suns)")
    figure.colorbar(image, ax=bottom, label="signal over noise")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
