"""`--kind c`: headers, a static and a shared library, and CMake's package files, in a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import c_source, cmake, fortran, header, linking
from .errors import BuildError
from .lowering import Compiled


def check(names: Sequence[str]) -> None:
    """BuildError where something is missing, or a name is taken. Before anything is compiled."""
    linking.check_tools()
    if taken := set(names) & set(header.OWN_NAMES):
        raise BuildError(f"`{sorted(taken)[0]}` is a function of each library's own: export it under another name")


def write(folder: Path, library: str, version: str, functions: Sequence[Compiled], levels: Sequence[int]) -> list[Path]:
    """Writes the files of the library. Returns them."""
    files = {
        folder / "include" / f"{library}.h": header.header(library, functions),
        folder / "include" / f"{library}.f90": fortran.module(library, functions),
        folder / "lib" / "cmake" / library / f"{library}Config.cmake": cmake.config(library),
        folder / "lib" / "cmake" / library / f"{library}ConfigVersion.cmake": cmake.version(version),
    }
    names = [f"{library}_{f.export.name}" for f in functions] + [f"{library}_{n}" for n in header.FUNCTIONS]
    with tempfile.TemporaryDirectory(prefix="ingot-build-") as temporary:
        scratch = Path(temporary)
        (scratch / f"{library}.h").write_text(header.header(library, functions), "utf-8")
        text = scratch / "functions.c"
        text.write_text(c_source.source(library, functions, levels), "utf-8")
        objects = [linking.compile_c(text, [scratch], scratch / "functions.o"), *_objects(scratch, functions)]
        joined = linking.join(objects, names, scratch / f"{library}.o")
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, "utf-8")
        libraries = [folder / "lib" / f"lib{library}.a", folder / "lib" / f"lib{library}.so"]
        linking.link_static(joined, libraries[0])
        linking.link_shared(joined, names, libraries[1])
    return [*files, *libraries]


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
