"""Examples of schedules (examples/schedules): they compute what the functions do without one."""

import sys
from pathlib import Path

import numpy as np

import ingot

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "schedules"))

import pointing  # noqa: E402
import product  # noqa: E402


def test_a_product_is_as_it_is_without_a_schedule():
    for shape in ((70, 45, 61), (5, 32, 32), (1, 1, 1)):
        a, b = np.random.default_rng(0).random((2, *shape[:2])), np.random.default_rng(1).random(shape[1:])
        a = a[0]
        outcomes = [np.zeros((shape[0], shape[2])) for _ in range(2)]
        for f, c in zip((product.product, ingot.jit(product.product, schedule=product.plan)), outcomes):
            f(a, b, c)
        assert outcomes[0].tobytes() == outcomes[1].tobytes()
        product.fast(a, b, c := np.zeros_like(outcomes[0]))
        assert np.allclose(c, a @ b)


def test_a_pipeline_is_as_it_is_without_a_schedule():
    rng = np.random.default_rng(0)
    for detectors, samples in ((3, 5000), (1, 2048), (2, 1)):
        height = rng.random(samples) * 1.6 - 0.8
        boresight = np.stack([rng.random(samples) * 6, rng.random(samples), height, np.sqrt(1 - height**2)])
        offsets = np.stack([rng.random(detectors) * 0.2, rng.random(detectors) * 0.1, 1 - rng.random(detectors) * 0.2], 1)
        tod = rng.random((detectors, samples))
        maps = [np.zeros((32 * 32, 3)) for _ in range(3)]
        for f, zmap in zip((pointing.fast, ingot.jit(pointing.pipeline), pointing.pipeline), maps):
            f(boresight, offsets, tod, zmap, 32)
        assert maps[0].tobytes() == maps[1].tobytes() and np.allclose(maps[0], maps[2])
