"""`python -m bench`: workloads under Ingot, NumPy, Numba, JAX and C++, side by side in interleaved rounds."""

import os

os.environ.setdefault("INGOT_TIERS", "off")  # what is timed is full code, but for first calls
