"""Makes objects and libraries with the system's tools: the C compiler `cc` (or that of CC), and of the binutils `ld`, `objcopy`, `nm` and `ar`.

The linker takes of the runtime what a library needs; of the symbols of all that it has only the library's own are seen.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .c_source import entry
from .errors import BuildError
from .lowering import Compiled

RUNTIME = Path(__file__).parent / "runtime.o"
SYSTEM_LIBRARIES = ("m", "pthread", "dl")
"""What libraries need of the system's."""
_NOT_CALLED = ("_ITM_*", "_ZGTt*")
"""What the C++ library names for transactional memory, without calling it."""


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def check_tools() -> None:
    """BuildError where a tool is missing."""
    if not RUNTIME.exists():
        raise BuildError(f"this build of Ingot has no {RUNTIME.name}, which libraries are linked with: builds with sanitizers have none")
    for tool in (compiler()[0], "ld", "objcopy", "nm", "ar"):
        if shutil.which(tool) is None:
            raise BuildError(f"`{tool}` is not found: libraries are linked with the system's C compiler (gcc or clang) and binutils")


def run(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(map(str, command))[:500]} failed:\n{done.stderr.strip()}")
    return done.stdout


def rename_entry(image: bytes, symbol: str, name: str, file: Path) -> Path:
    """Writes an object whose entry has another name, and is all that others see of it."""
    file.write_bytes(image)
    run("objcopy", f"--redefine-sym={symbol}={name}", f"--keep-global-symbol={name}", f"--keep-global-symbol={symbol}", file)
    return file


def objects_of(scratch: Path, functions: Sequence[Compiled]) -> list[Path]:
    """Writes the code of all levels."""
    objects = []
    for number, function in enumerate(functions):
        for level, version in enumerate(function.versions):
            for code, is_together in ((version.apart, False), (version.together, True)):
                if code is not None:
                    name = entry(number, level, is_together)
                    objects.append(rename_entry(code.object, code.symbol, name, scratch / f"{name}.o"))
    return objects


def compile_c(source: Path, includes: Sequence[Path], file: Path) -> Path:
    paths = [f"-I{path}" for path in (*includes, Path(__file__).parent.parent)]
    run(*compiler(), "-std=gnu99", "-O2", "-fPIC", "-ffunction-sections", "-fdata-sections", "-Wall", *paths, "-c", source, "-o", file)
    return file


def join(objects: Sequence[Path], names: Sequence[str], file: Path) -> Path:
    """One object of several and of what they need of the runtime, whose global symbols are those names."""
    listed = file.with_suffix(".objects")
    listed.write_text("\n".join(f'"{path}"' for path in (*objects, RUNTIME)) + "\n")
    run("ld", "-r", "--gc-sections", "--force-group-allocation", *(f"--undefined={name}" for name in names), "-o", file, f"@{listed}")
    # Symbols that are unique in a process (of inline variables) stay so unless they are weak.
    unique = _listed(file.with_suffix(".unique"), re.findall(r" u (\S+)$", run("nm", file), re.MULTILINE))
    run("objcopy", f"--weaken-symbols={unique}", file)
    kept = _listed(file.with_suffix(".names"), names)
    run("objcopy", f"--keep-global-symbols={kept}", "--wildcard", *(f"--strip-unneeded-symbol={name}" for name in _NOT_CALLED), file)
    return file


def _listed(file: Path, names: Sequence[str]) -> Path:
    file.write_text("\n".join(names) + "\n")
    return file


def link_static(joined: Path, file: Path) -> None:
    file.unlink(missing_ok=True)
    run("ar", "rcs", file, joined)


def link_shared(joined: Path, names: Sequence[str], file: Path, is_complete: bool = True) -> None:
    """Threads of its pool run its code until the process ends, so that it is never unloaded. A library that is not complete
    has names that the process which loads it defines.
    """
    script = joined.with_suffix(".exports")
    script.write_text(f"{{ global: {' '.join(f'{name};' for name in names)} local: *; }};\n")
    flags = (*(("-z,defs",) if is_complete else ()), "-z,nodelete", "-z,noexecstack", "-z,relro", "--gc-sections", f"--version-script={script}", f"-soname,{file.name}")
    libraries = [f"-l{name}" for name in SYSTEM_LIBRARIES]
    run(*compiler(), "-shared", "-static-libgcc", *(f"-Wl,{flag}" for flag in flags), "-Wl,--as-needed", joined, *libraries, "-o", file)
