"""Messages between ranks in C, Ingot, mpi4py and numba-mpi: `python -m bench.messages [--chart]`."""
