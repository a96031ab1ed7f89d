"""In a process of its own: the time of a derivative's first call, and the memory of a later one.

`python -m bench.derivatives.fresh PROGRAM CONTESTANT THREADS SMALL`; the environment sets the threads, too.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time

from ..measure import peak_memory
from .contestants import contestants, machine_of
from .programs import PROGRAMS


def main(name: str, contestant: str, threads: str, small: str) -> None:
    program = next(p for p in PROGRAMS if p.name == name)
    kind = contestant.split()[0]
    machine = machine_of(int(threads), [{"c++": "cpp"}.get(kind, kind)])
    if kind == "jax":
        import jax

        jax.numpy.zeros(1).block_until_ready()
    bind = contestants(program, machine)[contestant]()
    _, run = bind(program.arguments(True))
    start = time.perf_counter()
    run()
    first = None if kind == "c++" else time.perf_counter() - start
    _, run = bind(program.arguments(small == "1"), True)
    ctypes.CDLL(None).malloc_trim(0)
    print(json.dumps({"first": first, "peak": peak_memory(run)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
