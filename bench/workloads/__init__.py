"""All workloads, in the order in which they are shown."""

from . import bodies, fused, grids, reductions, sparse, streams

WORKLOADS = [
    *streams.WORKLOADS,
    *reductions.WORKLOADS,
    *grids.WORKLOADS,
    *fused.WORKLOADS,
    *bodies.WORKLOADS,
    *sparse.WORKLOADS,
]
