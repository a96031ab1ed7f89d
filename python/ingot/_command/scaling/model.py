"""What messages and collectives cost in Hockney's model: a message of n bytes takes alpha + beta n seconds.

There are two levels, within a node and between nodes. Of the usual algorithms of a collective the fastest is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np


class Piece(NamedTuple):
    """Messages of at most `up_to` bytes take `alpha + beta * bytes` seconds."""

    up_to: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class Level:
    """Messages between two ranks: within a node, or between nodes."""

    pieces: tuple[Piece, ...]

    def seconds(self, size: float, share: float = 1.0) -> float:
        """Of a message, where so many share the bandwidth."""
        piece = next((each for each in self.pieces if size <= each.up_to), self.pieces[-1])
        return piece.alpha + piece.beta * size * share

    def even(self) -> float:
        """The bytes from which on bandwidth takes longer than latency."""
        for piece in self.pieces:
            if piece.beta > 0.0 and piece.alpha / piece.beta <= piece.up_to:
                return piece.alpha / piece.beta
        return math.inf


@dataclass(frozen=True)
class Machine:
    """What predictions need of a machine.

    `per_node` ranks are on a node; `flops` a rank does a second; `bytes` a rank moves to and from memory a second where so many of a node
    do; `add` are the seconds in which a reduction adds a byte.
    """

    node: Level
    between: Level
    per_node: int
    flops: float
    bytes: Mapping[int, float]
    add: float = 0.0
    assumed: tuple[str, ...] = ()

    def bandwidth(self, ranks: int) -> float:
        """Bytes a second of one of `ranks` ranks: as with the most that were measured and are not more."""
        here = min(ranks, self.per_node)
        return self.bytes[max((k for k in self.bytes if k <= here), default=min(self.bytes))]

    def on_nodes_of(self, ranks: int) -> Machine:
        """The same with so many ranks on a node."""
        return replace(self, per_node=ranks)


def no_less(rates: Mapping[int, float], most: int) -> dict[int, float]:
    """Rates of each of up to `most` ranks, by their number: fewer have no less than more."""
    known = {ranks: rate for ranks, rate in rates.items() if ranks <= max(most, 1)}
    return {ranks: max(rate for more, rate in known.items() if more >= ranks) for ranks in known}


def fit(times: Mapping[int, float]) -> tuple[Piece, ...]:
    """Alpha and beta of seconds by bytes, by least squares on relative errors; in two pieces where that halves these errors' root mean square."""
    points = sorted(times.items())
    whole = _line(points)
    best, found = _squares(points, whole) / 4, [Piece(math.inf, *whole)]
    for split in range(2, len(points) - 1):
        low, high = _line(points[:split]), _line(points[split:])
        squares = _squares(points[:split], low) + _squares(points[split:], high)
        if squares < best:
            best, found = squares, [Piece(points[split - 1][0], *low), Piece(math.inf, *high)]
    return tuple(found)


def _line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Alpha and beta, neither negative."""
    sizes, seconds = (np.array(column, float) for column in zip(*points))
    if len(points) == 1:
        return float(seconds[0]), 0.0
    rows = np.stack([1.0 / seconds, sizes / seconds], axis=1)
    scale = np.abs(rows).max(axis=0)
    alpha, beta = np.linalg.lstsq(rows / scale, np.ones(len(points)), rcond=None)[0] / scale
    if alpha < 0.0:
        return 0.0, float(rows[:, 1].sum() / (rows[:, 1] ** 2).sum())
    if beta < 0.0:
        return float(rows[:, 0].sum() / (rows[:, 0] ** 2).sum()), 0.0
    return float(alpha), float(beta)


def _squares(points: list[tuple[int, float]], line: tuple[float, float]) -> float:
    return sum(((line[0] + line[1] * size) / seconds - 1.0) ** 2 for size, seconds in points)


def fit_add(machine: Machine, measured: Mapping[int, Mapping[int, float]]) -> float:
    """The seconds in which a reduction adds a byte, from Allreduce's by ranks and bytes: the median of what large ones take beyond messages."""
    beyond = [
        (seconds - allreduce(machine, ranks, size)) / (size * (ranks - 1) / ranks)
        for ranks, times in measured.items() for size, seconds in times.items() if size >= 1 << 15
    ]  # fmt: skip
    return max(0.0, float(np.median(beyond))) if beyond else 0.0


# Steps of algorithms: distances between the ranks of a step, and what each sends.


def _hop(m: Machine, p: int, distance: int, size: float, all_send: bool = True) -> float:
    """A message from a rank to that at a distance; between nodes, all ranks of a node send at the same time, or one."""
    here = min(m.per_node, p)
    return m.node.seconds(size) if distance < here else m.between.seconds(size, here if all_send else 1)


def _next(m: Machine, p: int, size: float) -> float:
    """A step of a ring: each rank sends to the next, of which one of a node is on another."""
    return max(m.node.seconds(size), m.between.seconds(size) if p > m.per_node else 0.0)


def _distances(p: int) -> list[int]:
    """1, 2, 4, ... below p."""
    return [1 << k for k in range((p - 1).bit_length())]


def _folded(m: Machine, p: int, size: float) -> tuple[list[int], float]:
    """The distances among the largest power of two of ranks, and the seconds of what the others send there and get back."""
    whole = 1 << (p.bit_length() - 1)
    return _distances(whole), 0.0 if whole == p else 2 * _hop(m, p, 1, size) + m.add * size


def allreduce(m: Machine, p: int, size: float) -> float:
    """Of `size` bytes: recursive doubling, Rabenseifner's, or a ring."""
    if p == 1:
        return 0.0
    distances, folding = _folded(m, p, size)
    doubling = folding + sum(_hop(m, p, d, size) + m.add * size for d in distances)
    halving = folding + sum(2 * _hop(m, p, d, size / (2 * d)) + m.add * size / (2 * d) for d in distances)
    ring = 2 * (p - 1) * _next(m, p, size / p) + m.add * size * (p - 1) / p
    return min(doubling, halving, ring)


def bcast(m: Machine, p: int, size: float) -> float:
    """Of `size` bytes: a binomial tree, or scattered along it and gathered round a ring."""
    if p == 1:
        return 0.0
    tree = sum(_hop(m, p, d, size, False) for d in _distances(p))
    scattered = sum(_hop(m, p, d, size * d / p, False) for d in _distances(p)) + (p - 1) * _next(m, p, size / p)
    return min(tree, scattered)


def reduce(m: Machine, p: int, size: float) -> float:
    """Of `size` bytes: a binomial tree."""
    return sum(_hop(m, p, d, size, False) + m.add * size for d in _distances(p))


def allgather(m: Machine, p: int, size: float) -> float:
    """Of `size` bytes from each rank: recursive doubling, or a ring."""
    if p == 1:
        return 0.0
    doubling = sum(_hop(m, p, d, size * min(d, p - d)) for d in _distances(p))
    return min(doubling, (p - 1) * _next(m, p, size))


def alltoall(m: Machine, p: int, size: float) -> float:
    """Of `size` bytes from each rank to each other one: pairwise, or Bruck's."""
    if p == 1:
        return 0.0
    here = min(m.per_node, p)
    pairwise = (here - 1) * m.node.seconds(size) + (p - here) * m.between.seconds(size, here)
    return min(pairwise, sum(_hop(m, p, d, size * p / 2) for d in _distances(p)))


def barrier(m: Machine, p: int, size: float = 0.0) -> float:
    """Dissemination."""
    return sum(_hop(m, p, d, 0.0) for d in _distances(p))


COLLECTIVES: dict[str, Callable[[Machine, int, float], float]] = {
    "allreduce": allreduce, "bcast": bcast, "reduce": reduce, "allgather": allgather, "alltoall": alltoall, "barrier": barrier,
}  # fmt: skip


def neighbours(m: Machine, p: int, count: float, size: float) -> float:
    """`count` messages of `size` bytes to neighbours of a grid: the ranks of a node are a block of it, and those at its edge send to other nodes."""
    if p == 1:
        return 0.0
    return count * (m.between.seconds(size, math.sqrt(m.per_node)) if p > m.per_node else m.node.seconds(size))


def even_size(name: str, m: Machine, p: int) -> float:
    """The bytes from which on a collective takes twice as long as one of 8 bytes; inf where none does."""
    cost, least = COLLECTIVES[name], 8.0
    if cost(m, p, 2.0**40) < 2 * cost(m, p, 8.0):
        return math.inf
    most = 2.0**40
    for _ in range(60):
        middle = math.sqrt(least * most)
        least, most = (middle, most) if cost(m, p, middle) < 2 * cost(m, p, 8.0) else (least, middle)
    return most


def powers(most: int, first: int = 1) -> list[int]:
    """Powers of two from `first` on up to `most`, which is the last."""
    found = []
    while first < most:
        found.append(first)
        first *= 2
    return [*found, most]


def relative_errors(m: Machine, measured: Mapping[str, Mapping[int, Mapping[int, float]]]) -> Iterable[tuple[str, int, int, float, float]]:
    """Collective, ranks, bytes, seconds measured and predicted."""
    for name, by_ranks in measured.items():
        for ranks, times in by_ranks.items():
            for size, seconds in times.items():
                yield name, ranks, size, seconds, COLLECTIVES[name](m, ranks, size)
