"""Random programs under Ingot, compared with CPython and NumPy; run by tools/fuzz."""
