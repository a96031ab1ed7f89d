"""What kernels need of a GPU, as the vendor's assembler reports it: `ptxas`, or nvJitLink where only that is found."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 300
"""How long the assembler may take."""
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Needs:
    """What a thread of a kernel needs, and a block: registers, and bytes. `by`: what reports it. None: is not known."""

    registers: int
    spill_stores: int | None
    spill_loads: int | None
    stack: int
    """Of local memory, what is spilled among it."""
    shared: int
    """Static."""
    by: str


def read(report: str, by: str) -> dict[str, Needs]:
    """The needs by kernel, from what the assembler prints with `-v`."""
    found: dict[str, Needs] = {}
    entry = place = ""
    frames: dict[str, tuple[int, ...]] = {}
    for line in report.splitlines():
        if match := _ENTRY.search(line):
            entry = match[1]
        elif match := _PROPERTIES.search(line):
            place = match[1]
        elif match := _STACK.search(line):
            frames[place] = tuple(map(int, match.groups()))
        elif entry and (match := _USED.search(line)):
            stack, stores, loads = frames.get(entry, (0, 0, 0))
            shared = _SHARED.search(line)
            found[entry] = Needs(int(match[1]), stores, loads, stack, int(shared[1]) if shared else 0, by)
            entry = ""
    return found


def read_metadata(text: str) -> dict[str, Needs]:
    """The needs by kernel, from what LLVM writes after the text of kernels for AMD's GPUs."""
    found: dict[str, Needs] = {}
    metadata = text.partition("amdhsa.kernels:")[2].partition("amdhsa.target:")[0]
    for part in re.split(r"^  - ", metadata, flags=re.MULTILINE)[1:]:
        said = dict(re.findall(r"^ *\.(\w+): +(\S+)$", part, re.MULTILINE))
        spilled = 4 * (int(said.get("vgpr_spill_count", 0)) + int(said.get("sgpr_spill_count", 0)))
        registers, stack = int(said["vgpr_count"]), int(said["private_segment_fixed_size"])
        found[said["name"]] = Needs(registers, spilled, spilled, stack, int(said["group_segment_fixed_size"]), "LLVM")
    return found


def _toolkits() -> Iterator[Path]:
    """The folders of toolkits, the one that the environment names first."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    yield Path("/usr/local/cuda")
    for folder in sys.path:
        yield from map(Path, sorted(glob.glob(os.path.join(folder, "nvidia", "*")), reverse=True))


def find_ptxas() -> str | None:
    """On the PATH, or in a toolkit's folder."""
    places = [path for folder in _toolkits() if (path := folder / "bin" / "ptxas").exists()]
    return shutil.which("ptxas") or (str(places[0]) if places else None)


@functools.cache
def _linker() -> ctypes.CDLL | None:
    names = ["libnvJitLink.so.13", "libnvJitLink.so.12"]
    names += [str(path) for folder in _toolkits() for part in ("lib64", "lib") for path in sorted((folder / part).glob("libnvJitLink.so*"))]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _by_ptxas(program: str, text: str, code: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.ptx"
        file.write_text(text)
        command = [program, "-v", f"-arch={code}", "-o", os.devnull, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"ptxas: {done.stderr.strip() or done.returncode}")
    return done.stdout + done.stderr


def _by_linker(library: ctypes.CDLL, text: str, code: str) -> str:
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 2)(f"-arch={code}".encode(), b"-verbose")
    if result := library.nvJitLinkCreate(ctypes.byref(handle), 2, options):
        raise RuntimeError(f"nvJitLink: no code for {code} ({result})")
    try:
        given, ptx = text.encode(), 2
        result = library.nvJitLinkAddData(handle, ptx, given, len(given) + 1, b"kernels")
        result = result or library.nvJitLinkComplete(handle)
        log = "Error" if result else "Info"
        size = ctypes.c_size_t()
        getattr(library, f"nvJitLinkGet{log}LogSize")(handle, ctypes.byref(size))
        words = ctypes.create_string_buffer(size.value + 1)
        getattr(library, f"nvJitLinkGet{log}Log")(handle, words)
        if result:
            raise RuntimeError(f"nvJitLink: {words.value.decode().strip() or result}")
        return words.value.decode()
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def needs_of(text: str, code: str) -> tuple[dict[str, Needs], str]:
    """What each kernel of a text needs on a GPU such as `sm_90`, and, where that is not known, why not."""
    if code.startswith("gfx"):
        return read_metadata(text), ""
    if not code.startswith("sm_"):
        return {}, f"drivers do not report it for code of the kind {code}"
    try:
        if (program := find_ptxas()) is not None:
            return read(_by_ptxas(program, text, code), "ptxas"), ""
        if (library := _linker()) is not None:
            return read(_by_linker(library, text, code), "nvJitLink"), ""
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return {}, str(error)
    return {}, "there is neither ptxas (PATH, CUDA_HOME) nor nvJitLink, which report what kernels need"
