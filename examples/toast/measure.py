"""Times the binning pipeline in its forms - on the host, naive, staged, fused - and counts what each moves.

    PYTHONPATH=examples/toast python examples/toast/measure.py --device emulated --detectors 16 --samples 100000

The forms run interleaved; the least of the rounds counts. Seconds are those of a whole `apply`, with what comes back. With `--out`
each form has a profile of one more round in that folder, for `python -m ingot profile merge`.
"""

import argparse
import types
from pathlib import Path
from time import perf_counter

import ingot
import numpy as np
from ingot_toast import Data, Intervals, Memory, Observation, Pipeline, PixelDistribution
from ingot_toast.operators import BuildNoiseWeighted, PixelsHealpix, PointingDetector, StokesWeights


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    (px, py, pz, pw), (qx, qy, qz, qw) = p.T, q.T
    x, y = pw * qx + qw * px + py * qz - pz * qy, pw * qy + qw * py + pz * qx - px * qz
    return np.stack([x, y, pw * qz + qw * pz + px * qy - py * qx, pw * qw - px * qx - py * qy - pz * qz], 1)


def turn(axis: int, angle: np.ndarray) -> np.ndarray:
    turned = np.zeros((len(angle), 4))
    turned[:, axis], turned[:, 3] = np.sin(angle / 2), np.cos(angle / 2)
    return turned


def make(detectors: int, samples: int, views: int, nside: int) -> Data:
    """A telescope that spins about an axis that moves, with signal and flags."""
    rng, names, seconds = np.random.default_rng(1), [f"d{n}" for n in range(detectors)], np.arange(samples) / 100.0
    ob = Observation("one", names, samples)
    ob.detdata["signal"] = rng.standard_normal((detectors, samples))
    ob.detdata["flags"] = (rng.uniform(size=(detectors, samples)) < 0.01).astype(np.uint8)
    ob.shared["flags"] = (rng.uniform(size=samples) < 0.01).astype(np.uint8)
    precession = product(turn(2, 2 * np.pi * seconds / 613), turn(1, np.full(samples, 1.1)))
    ob.shared["boresight"] = product(precession, product(turn(2, 2 * np.pi * seconds / 47), turn(1, np.full(samples, 0.5))))
    quats = product(turn(0, rng.uniform(-0.1, 0.1, detectors)), turn(2, rng.uniform(0, 3, detectors)))
    zero, one = np.zeros(detectors), np.ones(detectors)
    ob.meta["focalplane"] = types.SimpleNamespace(names=names, quats=quats, epsilon=zero, angles=zero, cal=one)
    ob.meta["noise"] = dict.fromkeys(names, 1.0)
    ends = np.linspace(0, samples, views + 1).astype(int)
    ob.intervals["scan"] = Intervals(ends[:-1], ends[1:] - 5)
    data = Data([ob])
    data["pixel_dist"] = PixelDistribution(12 * nside**2, 12 * min(16, nside) ** 2)
    return data


def apply(pipeline: Pipeline, data: Data) -> np.ndarray:
    """The map that the pipeline makes, from zero."""
    for made in ("zmap", "hit_submaps"):
        if made in data:
            del data[made]
    pipeline.apply(data)
    return data["zmap"].data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="gpu, emulated, opencl, ...; without it the host alone")
    for name, value in (("detectors", 16), ("samples", 100_000), ("views", 50), ("nside", 512), ("rounds", 7), ("threads", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--out", type=Path, help="folder for the profiles")
    given = parser.parse_args()
    if given.threads:
        ingot.set_num_threads(given.threads)
    steps = [
        PointingDetector(view="scan"),
        PixelsHealpix(view="scan", nside=given.nside),
        StokesWeights(view="scan"),
        BuildNoiseWeighted(view="scan"),
    ]
    host = Pipeline(steps, device=False)
    forms = {"host": (host, None), "host, fused": (host.compile(), None)}
    for name, staging, is_fused in (("naive", False, False), ("staged", True, False), ("staged, fused", True, True)) if given.device else ():
        memory = Memory(given.device)
        pipeline = Pipeline(steps, memory=memory, staging=staging)
        forms[name] = (pipeline.compile() if is_fused else pipeline, memory)
    data, maps, seconds = make(given.detectors, given.samples, given.views, given.nside), {}, {name: [] for name in forms}
    for round_ in range(given.rounds + 2):  # the first ones compile
        for name, (pipeline, memory) in forms.items():
            if memory is not None:
                memory.traffic.clear()
            start = perf_counter()
            maps[name] = apply(pipeline, data)
            seconds[name] += [perf_counter() - start] if round_ > 1 else []
    count = given.detectors * given.samples
    print(f"{count} detector-samples, nside {given.nside}, {given.views} intervals, {ingot.get_num_threads()} threads; {given.device or 'host'}")
    print(f"{'form':15s} {'ns a sample':>12s} {'median':>9s} {'bytes up':>9s} {'down':>7s} {'copying':>8s} {'apart':>9s}")
    for name, (_, memory) in forms.items():
        text = f"{name:15s} {min(seconds[name]) / count * 1e9:12.2f} {np.median(seconds[name]) / count * 1e9:9.2f}"
        if memory is not None:
            up, down = memory.total("bytes_up") / count, memory.total("bytes_down") / count
            share = sum(traffic.seconds for traffic in memory.traffic.values()) / seconds[name][-1]
            text += f" {up:9.2f} {down:7.2f} {share:8.0%}"
        scale = np.abs(maps["host"]).max()
        print(text.ljust(64), f"{np.abs(maps[name] - maps['host']).max() / scale:9.1e}")
    for name, (pipeline, _) in forms.items() if given.out else ():
        ingot.profile.reset()
        ingot.profile.start()
        apply(pipeline, data)
        ingot.profile.stop()
        given.out.mkdir(parents=True, exist_ok=True)
        ingot.profile.save(given.out / f"{name.replace(', ', '-')}.csv")


if __name__ == "__main__":
    main()
