"""All workloads, in the order in which they are shown."""

from . import bodies, grids, reductions, sparse, streams

WORKLOADS = [*streams.WORKLOADS, *reductions.WORKLOADS, *grids.WORKLOADS, *bodies.WORKLOADS, *sparse.WORKLOADS]
