"""Signals: spectra, filters, tones, tracking."""

import numpy as np


def welch(x, rate, length, overlap=0.5):
    """The power spectral density by Welch's method, with the strongest frequency."""
    step = int(length * (1 - overlap))
    window = np.hanning(length)
    scale = rate * (window**2).sum()
    count = 1 + (len(x) - length) // step
    density = np.zeros(length // 2 + 1)
    for i in range(count):
        part = x[i * step : i * step + length]
        part = part - part.mean()
        density += np.abs(np.fft.rfft(part * window)) ** 2 / scale
    density /= count
    density[1:-1] *= 2
    frequencies = np.fft.rfftfreq(length, 1 / rate)
    return frequencies, density, frequencies[np.argmax(density)]


def low_pass(cutoff, rate, taps):
    """A filter of finite response by the window method."""
    n = np.arange(taps) - (taps - 1) / 2
    h = 2 * cutoff / rate * np.sinc(2 * cutoff / rate * n)
    h *= np.kaiser(taps, 8.6)
    return h / h.sum()


def filter_and_decimate(x, cutoff, rate, factor, taps=63):
    """Filters a signal, takes each n-th value, and returns what is lost in decibels; also the filter's response."""
    h = low_pass(cutoff, rate, taps)
    y = np.convolve(x, h, mode="same")
    response = 20 * np.log10(np.maximum(np.abs(np.fft.rfft(h, 512)), 1e-10))
    loss = 10 * np.log10(np.mean(y**2) / np.mean(x**2))
    return y[::factor], response, loss


TONES = [697.0, 770.0, 852.0, 941.0, 1209.0, 1336.0, 1477.0, 1633.0]
KEYS = ["123A", "456B", "789C", "*0#D"]


def goertzel(block, frequency, rate):
    k = round(len(block) * frequency / rate)
    coefficient = 2 * np.cos(2 * np.pi * k / len(block))
    s1 = s2 = 0.0
    for sample in block:
        s1, s2 = sample + coefficient * s1 - s2, s1
    return s1**2 + s2**2 - coefficient * s1 * s2


def dialled_keys(signal, rate, length):
    """Numbers of the keys that a telephone dialled, one for each block; -1 where it was silent."""
    keys = []
    for start in range(0, len(signal) - length + 1, length):
        block = signal[start : start + length]
        powers = np.array([goertzel(block, tone, rate) for tone in TONES])
        row = powers[:4].argmax()
        column = powers[4:].argmax()
        if powers[row] + powers[4 + column] < 0.1 * length * (block**2).sum() or (block**2).mean() < 1e-3:
            keys.append(-1)
        else:
            keys.append(4 * row + column)
    return np.array(keys)


def kalman_track(measurements, dt, process, noise):
    """The track of a body in the plane from measured positions; the innovations' likelihood."""
    F = np.eye(4)
    F[0, 2] = F[1, 3] = dt
    H = np.zeros((2, 4))
    H[0, 0] = H[1, 1] = 1
    G = np.array([[dt**2 / 2, 0], [0, dt**2 / 2], [dt, 0], [0, dt]])
    Q = process**2 * G @ G.T
    R = noise**2 * np.eye(2)
    x = np.array([*measurements[0], 0.0, 0.0])
    P = np.diag([noise**2, noise**2, 1.0, 1.0])
    track = np.empty((len(measurements), 4))
    likelihood = 0.0
    for i, z in enumerate(measurements):
        x = F @ x
        P = F @ P @ F.T + Q
        innovation = z - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ innovation
        P = (np.eye(4) - K @ H) @ P
        track[i] = x
        likelihood -= 0.5 * (innovation @ np.linalg.solve(S, innovation) + np.log(np.linalg.det(2 * np.pi * S)))
    return track, likelihood
