"""First calls with caches on disk: of the first process, of the second, and of one that finds the cache damaged."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from ingot.tour.peers import Machine

from .calls import COMPILE, FIRST_CALL, PROGRAMS, SET_UP, fresh, fresh_peers

WAYS = ("first process", "second process", "damaged cache")
JITTED = COMPILE | {"numba": "numba.njit(cache=True)(function)(*arguments)"}
JAX_STORES_ALL = (
    "; jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)"
    "; jax.config.update('jax_persistent_cache_min_entry_size_bytes', -1)"
)
SET_UPS = SET_UP | {"jax": SET_UP["jax"] + JAX_STORES_ALL}


def _variables(folder: Path) -> dict[str, str]:
    """What has the compilers store in a folder."""
    return {
        "INGOT_CACHE": "on",
        "INGOT_CACHE_DIR": str(folder),
        "NUMBA_CACHE_DIR": str(folder),
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "HOME": str(folder),  # Dr.Jit's
    }


def damage(folder: Path) -> int:
    """Changes a bit in the middle of each file below a folder; the number of files."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size]
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    return len(files)


def _seconds(peer: str, program: str, clock: str) -> dict[str, float | str]:
    """The seconds of each way; why it failed where it did."""
    script = FIRST_CALL.format(program=program, peer=peer, set_up=SET_UPS[peer], compile=JITTED[peer], clock=clock)
    folder = Path(tempfile.mkdtemp(prefix="ingot-bench-"))
    try:
        outcomes: dict[str, float | str] = {}
        for way in WAYS:
            if way == "damaged cache" and damage(folder) == 0:
                outcomes[way] = "nothing is stored"
            else:
                outcomes[way] = fresh(script, _variables(folder))
        return outcomes
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stored_calls(machine: Machine, rounds: int, small: bool, clock: str) -> dict[str, dict]:
    """Seconds of first calls by program, compiler and state of the cache."""
    clock = {"wall": "perf_counter", "cpu": "process_time"}[clock]
    tables = {}
    for program in PROGRAMS[:1] if small else PROGRAMS:
        seconds: dict[str, list[float]] = {}
        failed: dict[str, str] = {}
        for _ in range(rounds):
            for peer in fresh_peers(program, machine):
                for way, outcome in _seconds(peer, program, clock).items():
                    if isinstance(outcome, str):
                        failed[f"{peer}, {way}"] = outcome
                    else:
                        seconds.setdefault(f"{peer}, {way}", []).append(outcome)
        table: dict[str, Any] = {n: {"min": min(s), "median": statistics.median(s)} for n, s in seconds.items()}
        tables[f"cache: {program}"] = table | failed
    return tables
