"""The processor of the host, as the system describes it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def describe_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, Any]:
    """Name, features and the number of cores this process may use."""
    fields: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    return {
        "name": fields.get("model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "features": sorted((fields.get("flags") or fields.get("Features", "")).split()),
    }
