"""How many threads the contestants take."""

from __future__ import annotations

import os


def limit_threads(threads: int) -> None:
    """Sets how many threads all libraries take; they read it when they are loaded."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "INGOT_NUM_THREADS", "NPROC"):
        os.environ[name] = str(threads)
    flags = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()} intra_op_parallelism_threads={threads}"
    os.environ["XLA_FLAGS"] = flags
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
