"""`examples/sparse_pca.py` finds what NumPy finds in the same directions, on the CPU and on a device; docs/sparse-pca.md."""

import sys
from pathlib import Path

import ingot
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import sparse_pca  # noqa: E402


def by_numpy(components, key, samples, k, batch):
    best, found = -np.inf, None
    for number in range(samples // batch):
        for c in ingot.random.normal(ingot.random.fold_in(key, number), (batch, components.shape[1])):
            a = components @ (c / np.linalg.norm(c))
            order = np.argsort(a)[-k:]
            norm = np.linalg.norm(a[order])
            if norm > best:
                best, found = norm, np.zeros(len(a))
                found[order] = a[order] / norm
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("p", "d", "k"), [(300, 3, 10), (130, 2, 1), (100, 4, 30), (40, 3, 40)])
def test_it_finds_what_numpy_finds(p, d, k):
    components, key = np.random.default_rng(p).normal(size=(p, d)), ingot.random.PRNGKey(k)
    found = sparse_pca.sparse_pca(components, key, 60, k, 20)
    assert np.count_nonzero(found) == k and found @ found == pytest.approx(1)
    np.testing.assert_allclose(found, by_numpy(components, key, 60, k, 20), rtol=1e-12, atol=1e-15)


@pytest.mark.rotated(3)
def test_devices_find_the_same():
    components, key = np.random.default_rng(0).normal(size=(130, 2)), ingot.random.PRNGKey(1)
    given = [ingot.device_put(x, "emulated") for x in (components, key)]
    found = sparse_pca.sparse_pca(*given, 16, 5, 8)
    assert isinstance(found, ingot.Array)
    np.testing.assert_allclose(found.to_host(), sparse_pca.sparse_pca(components, key, 16, 5, 8), rtol=1e-12, atol=1e-15)


def test_bounds_leave_few():
    products = np.random.default_rng(0).normal(size=(20, 1000))
    bounds = ingot.jit(sparse_pca.bounds)(products, 10)
    counts = np.sum(products >= bounds[:, None], axis=1)
    assert counts.min() >= 10 and counts.max() < 60


def test_the_contestants_of_the_benchmark_agree():
    bench = pytest.importorskip("bench.sparse_pca")
    for run in bench.contestants(1000, 3, 10).values():
        found = run()
        assert np.sum(np.sort(found**2)[-10:]) == pytest.approx(1)
