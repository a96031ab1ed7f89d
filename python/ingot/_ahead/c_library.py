"""`--kind c`: headers, a static and a shared library, and CMake's package files, in a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import c_source, cmake, fortran, header, linking, names
from .files import put
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
        objects = [linking.compile_c(source, [made / "include"], scratch / "functions.o"), *linking.objects_of(scratch, functions)]
        joined = linking.join(objects, exported, scratch / f"lib{library}.o")
        libraries = [f"lib/lib{library}.a", f"lib/lib{library}.so"]
        linking.link_static(joined, made / libraries[0])
        linking.link_shared(joined, exported, made / libraries[1])
        return [put(made / place, folder / place) for place in (*texts, *libraries)]
