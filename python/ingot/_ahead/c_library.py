"""`--kind c`: headers, a static and a shared library, and CMake's package files, in a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import c_source, cmake, fortran, header, linking, names
from .lowering import Compiled


def check(library: str, exports: Sequence[str]) -> None:
    """BuildError where something is missing, or a name is taken. Before anything is compiled."""
    linking.check_tools()
    names.check_library(library)
    names.check_exports(library, exports, header.statuses(library))


def write(folder: Path, library: str, version: str, functions: Sequence[Compiled], levels: Sequence[int]) -> list[Path]:
    """Writes the files of the library, when all of them are made. Returns them."""
    with tempfile.TemporaryDirectory(prefix="ingot-build-") as temporary:
        scratch = Path(temporary)
        made = scratch / "made"
        texts = {
            f"include/{library}.h": header.header(library, functions),
            f"include/{library}.f90": fortran.module(library, functions),
            f"lib/cmake/{library}/{library}Config.cmake": cmake.config(library),
            f"lib/cmake/{library}/{library}ConfigVersion.cmake": cmake.version(version),
        }
        for place, text in texts.items():
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            (made / place).write_text(text, "utf-8")
        exported = [f"{library}_{name}" for name in (*(f.export.name for f in functions), *names.FUNCTIONS)]
        source = scratch / "functions.c"
        source.write_text(c_source.source(library, functions, levels), "utf-8")
        objects = [linking.compile_c(source, [made / "include"], scratch / "functions.o"), *_objects(scratch, functions)]
        joined = linking.join(objects, exported, scratch / f"{library}.o")
        libraries = [f"lib/lib{library}.a", f"lib/lib{library}.so"]
        linking.link_static(joined, made / libraries[0])
        linking.link_shared(joined, exported, made / libraries[1])
        return [_put(made / place, folder / place) for place in (*texts, *libraries)]


def _put(file: Path, place: Path) -> Path:
    """Moves a file to its place at once: programs that have opened the one before keep it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        shutil.copy(file, beside)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
    return place


def _objects(scratch: Path, functions: Sequence[Compiled]) -> list[Path]:
    objects = []
    for number, function in enumerate(functions):
        for level, version in enumerate(function.versions):
            for code, is_together in ((version.apart, False), (version.together, True)):
                if code is None:
                    continue
                name = c_source.entry(number, level, is_together)
                objects.append(linking.rename_entry(code.object, code.symbol, name, scratch / f"{name}.o"))
    return objects
