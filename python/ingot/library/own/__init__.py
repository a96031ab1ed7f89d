"""What stands for Ingot's own functions in compiled code: those of `grad`, `vmap`, `shard_map`, `jit`, `progress` and kernels."""
