"""Graphs: which pages of a web are important, by PageRank on a sparse matrix.

A page is important if important pages link to it. The links are in compressed sparse rows: for
each page, the pages that link to it. The web grows as webs do: a new page links to those that
have many links already.
"""

import ingot
import numpy as np


@ingot.jit
def pagerank(starts, sources, degrees, damping, tolerance):
    """The ranks, and how many iterations they took. Sources of page i are at starts[i] to
    starts[i + 1]."""
    n = len(degrees)
    rank, share = np.full(n, 1 / n), np.empty(n)
    for iteration in range(1, 1001):
        share[:] = rank / np.maximum(degrees, 1)
        lost = np.sum(rank[degrees == 0])  # of pages without links: goes to all
        new = np.empty(n)
        for i in ingot.prange(n):
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += share[sources[k]]
            new[i] = (1 - damping) / n + damping * (total + lost / n)
        change = np.sum(np.abs(new - rank))
        rank = new
        if change < tolerance:
            break
    return rank, iteration


@ingot.jit
def grow(pages, links, rng):
    """Each new page is linked with earlier ones, in half of the cases with one that a random link
    has, as (from, to)."""
    edges = np.empty((pages * links, 2), np.int64)
    for k in range(len(edges)):
        page = k // links
        if page == 0 or rng.random() < 0.5:
            target = rng.integers(0, page + 1)
        else:
            target = edges[rng.integers(0, k), 1]
        edges[k] = (page, target) if rng.random() < 0.7 else (target, page)
    return edges


def compressed(edges, pages):
    """Starts, sources and the number of links that leave each page."""
    order = np.argsort(edges[:, 1], kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(edges[:, 1], minlength=pages))))
    return starts, edges[order, 0], np.bincount(edges[:, 0], minlength=pages)


def run(pages=200_000, links=8):
    edges = grow(pages, links, np.random.default_rng(6))
    starts, sources, degrees = compressed(edges, pages)
    rank, iterations = pagerank(starts, sources, degrees, 0.85, 1e-10)
    return np.diff(starts), rank, iterations


def draw(figure, linked, rank, iterations):
    axes = figure.subplots()
    cells = axes.hexbin(
        np.maximum(linked, 1),
        rank * len(rank),
        xscale="log",
        yscale="log",
        bins="log",
        gridsize=55,
        cmap="viridis",
        mincnt=1,
        linewidths=0.1,
    )
    axes.set(
        title=f"{len(rank):,} pages, {iterations} iterations",
        xlabel="links to the page",
        ylabel="rank, over the mean",
    )
    figure.colorbar(cells, ax=axes, label="pages")


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    draw(plt.figure(layout="constrained"), *run())
    plt.show()
