"""Noise of detectors: streams of 1/f noise made by FFT, and estimates of what noise a stream has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ingot
import numpy as np

from .data import Data
from .focalplane import Noise
from .kernels import Samples, check_rows
from .operator import Keys, Operator
from .random import random_normals


def noise_density(frequencies, noise: Noise):
    """The spectral density P, K² s, that noise has at `frequencies` (Hz), and 0 at 0; white for f_knee = f_min = 0."""
    f = np.where(frequencies > 0.0, frequencies, 1.0) ** noise.alpha
    density = noise.net**2 * (f + noise.f_knee**noise.alpha) / (f + noise.f_min**noise.alpha)
    return np.where(frequencies > 0.0, density, 0.0)


@ingot.jit
def wave_amplitudes(count, rate, noise: Noise):
    """The amplitudes of the waves 0 .. n/2 that `count` samples of noise are made of: float64, n the power of two above 2 count."""
    n = 2
    while n <= 2 * count:
        n *= 2
    frequencies = np.arange(n // 2 + 1) * (rate / n)
    return np.sqrt(noise_density(frequencies, noise) * rate * n / 2)


@ingot.jit
def shaped_stream(key, first, count, amplitudes):
    """A stream as `noise_stream` has it, of waves with these amplitudes."""
    half = len(amplitudes) - 1
    normals = random_normals(key, np.array([0, 2 * first], np.uint64), 2 * half)
    waves = np.zeros(half + 1, np.complex128)
    waves.real[:] = amplitudes * normals[: half + 1]
    waves.imag[1:-1] = amplitudes[1:-1] * normals[:half:-1]
    skipped = (2 * half - count) // 2
    stream = np.fft.irfft(waves, 2 * half)[skipped : skipped + count]
    return stream - np.mean(stream)


@ingot.jit
def noise_stream(key, first, count, rate, noise: Noise):
    """`count` samples of noise, float64 (count,), kelvin, of mean 0.

    key: uint64 (2,), as `noise_key` gives it; first: number of the first sample in the mission, which is where the random
    numbers begin. `rate` in Hz.
    """
    return shaped_stream(key, first, count, wave_amplitudes(count, rate, noise))


REALIZATIONS = 1 << 32


def noise_key(detector, session, realization=0, telescope=0, component=0):
    """The key of a detector's stream in one session (an observation): uint64 (2,).

    ValueError for a number that does not fit: 32 bits are the realization's, the session's and the detector's, 16 the
    telescope's and the component's.
    """
    numbers = {"detector": detector, "session": session, "realization": realization, "telescope": telescope, "component": component}
    for name, value in numbers.items():
        bound = 1 << 16 if name in ("telescope", "component") else REALIZATIONS
        if not 0 <= value < bound:
            raise ValueError(f"the {name} of a noise stream is a number from 0 to {bound - 1}, not {value}")
    return np.array([(realization << 32) + (telescope << 16) + component, (session << 32) + detector], np.uint64)


@ingot.jit
def add_noise(signal: Samples, keys, whole_first, whole_count, first, rate, noise: Noise):
    """Adds to a signal, which begins with the sample `first`, its parts of whole streams, whose keys are uint64 (D, 2)."""
    n_samples = signal.data.shape[1]
    check_rows(signal, len(keys), n_samples)
    amplitudes = wave_amplitudes(whole_count, rate, noise)
    for d in range(len(keys)):
        stream = shaped_stream(keys[d], whole_first, whole_count, amplitudes)
        signal.data[signal.rows[d]] += stream[first - whole_first : first - whole_first + n_samples]


@ingot.jit
def periodogram(stream, rate):
    """Frequencies (Hz) above 0 and the spectral density (K² s) at each, of a stream in kelvin."""
    count = len(stream)
    waves = np.fft.rfft(stream)[1:]
    return np.arange(1, count // 2 + 1) * (rate / count), (waves.real**2 + waves.imag**2) / (rate * count)


@ingot.jit
def octaves(frequencies, density):
    """Means in octaves: the lowest one begins with the first frequency; frequencies and densities."""
    number = np.floor(np.log2(frequencies / frequencies[0])).astype(np.int64)
    count = np.bincount(number)
    return np.bincount(number, frequencies) / count, np.bincount(number, density) / count


@ingot.jit
def noise_estimate(stream, good, rate, lags):
    """Frequencies (Hz) and spectral density (K² s) of the noise in the good samples of a stream; lags + 1 of each.

    The covariance of samples at distances up to `lags` is a mean over the pairs that are both good, so gaps do no harm; its cosine
    transform under a Hann window is the density. good: bool, as long as the stream.
    """
    n = 2
    while n < len(stream) + lags + 1:
        n *= 2
    weight = good.astype(np.float64)
    mean = np.sum(np.where(good, stream, 0.0)) / max(np.sum(weight), 1.0)
    known = np.where(good, stream - mean, 0.0)
    waves, windows = np.fft.rfft(known, n), np.fft.rfft(weight, n)
    products = np.fft.irfft(waves.real**2 + waves.imag**2, n)[: lags + 1]
    pairs = np.fft.irfft(windows.real**2 + windows.imag**2, n)[: lags + 1]
    covariance = products / np.maximum(np.rint(pairs), 1.0) * (0.5 + 0.5 * np.cos(np.pi * np.arange(lags + 1) / lags))
    density = np.fft.rfft(np.concatenate((covariance, covariance[-2:0:-1]))).real / rate
    return np.arange(lags + 1) * (rate / (2 * lags)), density


@ingot.jit
def noise_figures(frequencies, density):
    """NET (K sqrt(s)) and f_knee (Hz, for alpha = 1) of a density: the straight line in 1/f of the smallest relative error."""
    f, p = frequencies[1:], density[1:]
    weights = 1.0 / p**2
    u = 1.0 / f
    s0, s1, s2 = np.sum(weights), np.sum(weights * u), np.sum(weights * u * u)
    t0, t1 = np.sum(weights * p), np.sum(weights * u * p)
    determinant = s0 * s2 - s1 * s1
    white, slope = (t0 * s2 - t1 * s1) / determinant, (t1 * s0 - t0 * s1) / determinant
    return np.sqrt(white), slope / white


class SimulateNoise(Operator):
    """Adds noise to the signal of each detector: a stream of its own in each observation, in any process that makes it.

    `meta` has the focal plane with the detectors' noise, the rate (Hz), and of the whole observation, of which a process may
    have a part, the first sample and how many there are ("whole", a range).
    """

    on_device = True
    signal: str = "signal"
    focalplane: str = "focalplane"
    realization: int = 0
    telescope: int = 0
    component: int = 0
    white: bool = False

    def requires(self) -> Keys:
        return {"meta": [self.focalplane, "first", "rate", "whole"], "detdata": [self.signal]}

    def provides(self) -> Keys:
        return {"detdata": [self.signal]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        for ob in data.obs:
            plane, whole = ob.meta[self.focalplane], ob.meta["whole"]
            noise = replace(plane.noise, f_knee=0.0, f_min=0.0) if self.white else plane.noise
            kind = self.realization, self.telescope, self.component
            if chosen := ob.select(detectors):
                keys = np.array([noise_key(plane.names.index(detector), ob.uid, *kind) for detector in chosen])
                add_noise(ob.samples(self.signal, chosen), keys, whole.start, len(whole), ob.meta["first"], ob.meta["rate"], noise)


class EstimateNoise(Operator):
    """NET and f_knee of each detector from its good samples, into the dict `noise_estimate` of `meta`, by `noise_estimate`.

    A ValueError where too few samples are good, or no straight line in 1/f fits what they have, as where all are equal.
    """

    signal: str = "signal"
    det_flags: str | None = None
    det_flag_mask: int = 7
    shared_flags: str | None = "flags"
    shared_flag_mask: int = 15
    lags: int = 4096
    estimate: str = "noise_estimate"

    def requires(self) -> Keys:
        det_flags, shared_flags = ([] if name is None else [name] for name in (self.det_flags, self.shared_flags))
        return {"meta": ["rate"], "detdata": [self.signal, *det_flags], "shared": shared_flags}

    def provides(self) -> Keys:
        return {"meta": [self.estimate]}

    def _exec(self, data: Data, detectors: Sequence[str] | None) -> None:
        for ob in data.obs:
            found = ob.meta.setdefault(self.estimate, {})
            for detector in ob.select(detectors):
                good = np.ones(ob.n_samples, np.bool_)
                if self.shared_flags is not None:
                    good &= ob.shared[self.shared_flags].data & self.shared_flag_mask == 0
                if self.det_flags is not None:
                    good &= ob.detdata[self.det_flags][detector] & self.det_flag_mask == 0
                lags, count = min(self.lags, ob.n_samples // 4), np.count_nonzero(good)
                if lags < 2 or count < 8:
                    raise ValueError(
                        f"no noise can be estimated from {count} good samples of {detector} in {ob.name} with {lags} lags: it takes "
                        f"8 and 2, so leave it out of the detectors"
                    )
                with np.errstate(divide="ignore", invalid="ignore"):
                    frequencies, density = noise_estimate(ob.detdata[self.signal][detector], good, ob.meta["rate"], lags)
                    net, f_knee = noise_figures(frequencies, density)
                if not (np.isfinite(net) and np.isfinite(f_knee)):
                    raise ValueError(f"the {count} good samples of {detector} in {ob.name} are no noise with a NET: {net}, f_knee {f_knee}")
                found[detector] = {"net": float(net), "f_knee": float(f_knee), "frequencies": frequencies, "density": density}
