"""Programs that mpiexec runs, and the arrays that they write."""

import os
import subprocess
import sys
from pathlib import Path

import ingot
import numpy as np

TESTS = Path(__file__).resolve().parent


def launch(cache, count, *words):
    found = os.environ.get("PYTHONPATH", str(Path(ingot.__file__).resolve().parents[1]))
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join([found, str(TESTS.parent)]), "INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(cache),
        "INGOT_TIERS": "quick", "OPENBLAS_NUM_THREADS": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }  # fmt: skip
    words = ["mpiexec", "-n", str(count), sys.executable, *map(str, words)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)


def loaded(folder, run, name="maps"):
    with np.load(folder / run / f"{name}.npz") as arrays:
        return dict(arrays)
