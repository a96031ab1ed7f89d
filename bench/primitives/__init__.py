"""The functions of `ingot.parallel` next to C++, NumPy, Numba, JAX and pandas."""
