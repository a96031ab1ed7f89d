"""Derivatives compared with those of JAX, HIPS/autograd and C++: `python -m bench.derivatives`."""
