"""The functions of `ingot.parallel` beside C++, NumPy, Numba, JAX and pandas."""
