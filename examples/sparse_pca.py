"""Sparse principal components by random directions, for arrays of the CPU or of a device: `python examples/sparse_pca.py [DEVICE]`.

Of all directions in the space of d leading components the program keeps the one whose product with them has the largest norm in
k of its p numbers, and returns these. A batch of directions at a time is drawn, multiplied, searched for the k largest numbers of each row,
and reduced to norms; `ingot.parallel` has what is done by elements.
"""

import sys

import ingot
import numpy as np
from ingot import parallel, random


def bounds(products, k):
    """For each row a number that k of its elements reach, and few more: the k-th largest of partial maxima."""
    count, p = products.shape
    width = max(64, 4 * k)
    strips = p // width
    if strips < 2:
        return np.full(count, -np.inf)
    largest = products[:, : strips * width].reshape(count, strips, width).max(axis=1)
    return ingot.vmap(lambda row: parallel.k_select(row, width - k))(largest)


def norm_of_largest(row, bound, k):
    few = parallel.sort(parallel.compact(row, row >= bound))
    return np.sqrt(np.sum(few[len(few) - k :] ** 2))


def best_of(components, key, count, k):
    """The best product of `count` random directions, and its norm."""
    directions = random.normal(key, (count, components.shape[1]))
    directions /= np.sqrt(np.sum(directions**2, axis=1))[:, None]
    products = directions @ components.T
    norms = ingot.vmap(lambda row, bound: norm_of_largest(row, bound, k))(products, bounds(products, k))
    best = np.argmax(norms)
    return products[best], norms[best]


@ingot.jit
def sparse_pca(components, key, samples, k, batch):
    """The sparse component: zeros but for k numbers, whose squares add up to 1."""
    found, norm = best_of(components, random.fold_in(key, 0), batch, k)
    for number in range(1, samples // batch):
        product, other = best_of(components, random.fold_in(key, number), batch, k)
        if other > norm:
            found, norm = product, other
    values, places = parallel.top_k(found, k)
    return parallel.scatter(values / norm, places, np.zeros_like(found))


def main(device="cpu"):
    rng = np.random.default_rng(0)
    p, d, k = (1000, 3, 10) if device == "cpu" else (300, 3, 10)
    sparse = np.zeros(p)
    sparse[:k] = np.sqrt(1 / k)
    data = 3 * np.outer(rng.normal(size=400), sparse) + rng.normal(size=(400, p))
    _, scales, vectors = np.linalg.svd(data, full_matrices=False)
    components = vectors[:d].T * scales[:d]
    samples, batch = (64_000, 100) if device == "cpu" else (200, 100)
    given = [ingot.device_put(x, device) if device != "cpu" else x for x in (components, random.PRNGKey(0))]
    found = sparse_pca(*given, samples, k, batch)
    found = found if device == "cpu" else found.to_host()
    print(f"{samples} directions on {device}: {np.count_nonzero(found)} of {p} numbers, {np.count_nonzero(found[:k])} of the {k} right ones")
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
