"""Programs under schedules next to the same without, Halide, NumPy and Numba."""
