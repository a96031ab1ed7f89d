"""Graphs as matrices, and cells on grids."""

import numpy as np


def page_rank(links, damping=0.85, tolerance=1e-10):
    """Ranks of pages by links (from row to column), and the pages in that order."""
    n = links.shape[0]
    out = links.sum(axis=1)
    dangling = out == 0
    transition = np.where(dangling[:, None], 1.0 / n, links / np.where(dangling, 1, out)[:, None])
    rank = np.ones(n) / n
    for iteration in range(200):
        new = (1 - damping) / n + damping * (transition.T @ rank)
        change = np.abs(new - rank).sum()
        rank = new
        if change < tolerance:
            break
    return rank, np.argsort(-rank, kind="stable")[:10], iteration


def shortest_paths(weights):
    """Floyd and Warshall: distances between all pairs, and the node that follows on the way."""
    n = len(weights)
    distance = weights.copy()
    np.fill_diagonal(distance, 0)
    following = np.where(np.isfinite(weights), np.arange(n)[None, :], -1)
    for k in range(n):
        through = distance[:, k, None] + distance[k]
        shorter = through < distance
        distance[shorter] = through[shorter]
        following = np.where(shorter, following[:, k, None], following)
    reachable = np.isfinite(distance)
    diameter = distance[reachable].max()
    eccentricity = np.where(reachable, distance, 0).max(axis=1)
    return distance, following, diameter, eccentricity


def life(board, generations):
    """Conway's game on a torus; how many live in each generation, and after how many it repeats (0: not yet)."""
    board = board.astype(np.int8)
    seen = [board.copy(), board.copy()]
    population = np.zeros(generations, dtype=int)
    settled = 0
    for g in range(generations):
        neighbours = sum(
            np.roll(np.roll(board, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
        )
        board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.int8)
        population[g] = board.sum()
        if settled == 0 and np.array_equal(board, seen[0]):
            settled = g + 1
        seen = [seen[1], board.copy()]
    return board.astype(bool), population, settled


def spectral_clusters(points, scale):
    """Parts points in two by the second eigenvector of their graph's Laplacian."""
    squares = (points**2).sum(axis=1)
    d2 = np.maximum(squares[:, None] + squares[None, :] - 2 * points @ points.T, 0)
    affinity = np.exp(-d2 / (2 * scale**2))
    np.fill_diagonal(affinity, 0)
    degree = affinity.sum(axis=1)
    root = 1 / np.sqrt(degree)
    laplacian = np.eye(len(points)) - root[:, None] * affinity * root
    values, vectors = np.linalg.eigh(laplacian)
    fiedler = vectors[:, 1] * root
    side = fiedler > np.median(fiedler)
    if side[0]:
        side = ~side
    cut = affinity[side][:, ~side].sum()
    return side, values[:4], cut
