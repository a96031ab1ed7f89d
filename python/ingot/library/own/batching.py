"""Batches, and what their elements share, in compiled code."""

import ingot._transforms.batching as public

from .. import batching, collectives
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
