"""What stands for Ingot's own functions in compiled code: those of `grad`, `vmap`, `jit`, `progress` and kernels."""
