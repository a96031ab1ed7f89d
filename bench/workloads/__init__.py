"""All workloads, in the order in which they are shown."""

from . import bodies, draws, fused, grids, reductions, sparse, streams

WORKLOADS = [
    *streams.WORKLOADS,
    *reductions.WORKLOADS,
    *grids.WORKLOADS,
    *fused.WORKLOADS,
    *bodies.WORKLOADS,
    *sparse.WORKLOADS,
    *draws.WORKLOADS,
]
