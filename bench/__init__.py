"""`python -m bench`: workloads under Ingot, NumPy, Numba, JAX and C++, side by side in interleaved rounds."""
