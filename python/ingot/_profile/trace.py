"""Events of profiles as JSON, in the format of Chrome's tracing, which Perfetto shows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

_DEVICES = 1 << 20
"""The number of the first device's line; those of threads are below."""


def events_of(threads: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What C++ gives of threads, as it is sent to another process: (number, name, events, events that were lost)."""
    return [(number, name, list(events), lost) for number, name, events, lost in threads]


def write(file: str | os.PathLike, processes: list[list[tuple[Any, ...]]]) -> None:
    """Writes the events of processes, in the order of their ranks. RuntimeError: there are none."""
    starts = [event[4] for threads in processes for _, _, events, _ in threads for event in events]
    if not starts:
        raise RuntimeError("no events have been kept: ingot.profile.start(trace=True) has them kept")
    first = min(starts)
    with open(file, "w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        out.write(",\n".join(json.dumps(event) for rank, threads in enumerate(processes) for event in _of_process(rank, threads, first)))
        out.write("\n]}\n")


def _named(what: str, rank: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": rank, "tid": thread, "args": {"name": name}}


def _of_process(rank: int, threads: list[tuple[Any, ...]], first: int) -> Iterator[dict[str, Any]]:
    yield _named("process_name", rank, 0, f"process {rank}")
    devices: dict[str, int] = {}
    for number, name, events, lost in threads:
        if events:
            yield _named("thread_name", rank, number, name)
        if lost:
            yield _named("thread_labels", rank, number, f"{lost} events were not kept")
        for operation, kind, implementation, device, start, length in events:
            line = number
            if kind == "kernel":
                line = devices.setdefault(device, _DEVICES + len(devices))
            given = {"implementation": implementation, "device": device}
            # Numbers are microseconds; a nanosecond is the last digit.
            yield {
                "ph": "X",
                "name": operation,
                "cat": kind,
                "pid": rank,
                "tid": line,
                "ts": round((start - first) * 1e-3, 3),
                "dur": round(length * 1e-3, 3),
                "args": {what: value for what, value in given.items() if value},
            }
    for device, line in devices.items():
        yield _named("thread_name", rank, line, device)
