"""Batches, and what their elements share, in compiled code."""

from typing import Any

import ingot._transforms.batching as public
import ingot._transforms.shards as public_shards

from .. import batching, collectives, primitives
from ..registry import implements

implements(public.vmap, public.pmap)(batching.batched)
implements(public.axis_index)(batching.axis_index)
implements(public.psum)(collectives.psum)
implements(public.pmean)(collectives.pmean)
implements(public.pmax)(collectives.pmax)
implements(public.pmin)(collectives.pmin)
implements(public.all_gather)(collectives.all_gather)
implements(public.psum_scatter)(collectives.psum_scatter)
implements(public.all_to_all)(collectives.all_to_all)
implements(public.ppermute)(collectives.ppermute)
implements(public.axis_size)(collectives.axis_size)


@implements(public_shards.shard_map, public_shards.Sharded.__call__, public_shards.Mesh)
def shard_map(*args: Any, **kwargs: Any) -> Any:
    primitives.refuse(
        "`ingot.shard_map` in compiled code, or under a derivative or `vmap`,", "call it from Python, and take derivatives and batches in its function"
    )
