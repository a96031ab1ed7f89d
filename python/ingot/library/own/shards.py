"""`ingot.shard_map` in compiled code, which does not start threads or agree with other ranks."""

from typing import Any

import ingot._transforms.shards as public

from .. import primitives
from ..registry import implements


@implements(public.shard_map, public.Sharded.__call__, public.Mesh)
def shard_map(*args: Any, **kwargs: Any) -> Any:
    what = "`ingot.shard_map` in compiled code, or under a derivative or `vmap`,"
    primitives.refuse(what, "call it from Python, and take derivatives and batches in its function")
