"""`python -m ingot info`: which Ingot this is and the machine it sees, for bug reports."""

import argparse
import importlib.machinery
import json
import platform
from pathlib import Path
from typing import Any

import numpy

from .. import __version__
from .._devices.cpu import describe_cpu
from .._devices.memory import memory
from .._devices.threads import get_num_threads

# What of a CPU's long list of features is worth a line; --json has all of it.
NOTABLE_FEATURES = ("sse4_2", "avx", "f16c", "fma", "avx2", "bmi2", "avx512", "amx", "asimd", "sve")


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("info", help="versions, the compiler's core and the CPU")
    parser.add_argument("--json", action="store_true", help="all of it, as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    info = collect()
    print(json.dumps(info, indent=2) if options.json else as_text(info))
    return 0


def collect() -> dict[str, Any]:
    """Everything `info` knows, as JSON values."""
    folder = Path(__file__).parent.parent
    return {
        "ingot": __version__,
        "folder": str(folder),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "numpy": numpy.__version__,
        "system": platform.platform(),
        "extension": find_binary(folder, "_ingot"),
        "core": find_binary(folder, "_core"),
        "targets": find_targets(),
        "cpu": describe_cpu(),
        "memory": memory(),
        "threads": get_num_threads(),
    }


def find_binary(folder: Path, name: str) -> str | None:
    """The file of a compiled part of the package, or None where it was not built."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if (folder / (name + suffix)).exists():
            return name + suffix
    return None


def find_targets() -> dict[str, Any]:
    """What the core makes code for: a CPU by its name, and GPUs; where there is no core, why."""
    try:
        from .. import _core
    except ImportError as error:
        return {"error": str(error)}
    return _core.targets()


def describe_targets(targets: dict[str, Any]) -> str:
    if "error" in targets:
        return targets["error"]
    return f"x86-64 ({targets['x86-64']}), NVPTX ({', '.join(targets['nvptx'])})"


def describe_memory(use: dict[str, int]) -> str:
    limit, kept, in_use, peak = (f"{use[name] / 2**20:.1f}" for name in ("limit", "kept", "in_use", "peak"))
    return f"keeps at most {limit} MiB of freed arrays; now {kept} MiB, in use {in_use} MiB, at most {peak} MiB so far"


def as_text(info: dict[str, Any]) -> str:
    cpu = info["cpu"]
    notable = [feature for feature in cpu["features"] if feature.startswith(NOTABLE_FEATURES)]
    lines = {
        "Ingot": f"{info['ingot']} in {info['folder']}",
        "Python": f"{info['python']} ({info['implementation']})",
        "NumPy": info["numpy"],
        "System": info["system"],
        "Extension": info["extension"] or "not built",
        "Core (LLVM)": info["core"] or "not built",
        "Targets": describe_targets(info["targets"]),
        "CPU": f"{cpu['name']} ({cpu['architecture']}), {cpu['cores']} cores",
        "Features": " ".join(notable) or "none known",
        "Threads": f"loops use at most {info['threads']}",
        "Memory": describe_memory(info["memory"]),
    }
    return "\n".join(f"{name + ':':<13} {text}" for name, text in lines.items())
