"""cmake/ccache.sh: what a compiler cache returns is what the compiler would have made of the headers of today."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "ccache.sh"
CCACHE, COMPILER = shutil.which("ccache"), shutil.which("c++")

pytestmark = pytest.mark.skipif(not CCACHE or not COMPILER, reason="needs ccache and a C++ compiler")

HEADER = "#pragma once\n// {comment}\nenum class Colour {{ Red }};\n"
SOURCE = '#include "colour.h"\nint value{number}() {{ return int(Colour::Red); }}\n'


def test_a_precompiled_header_follows_comments(tmp_path):
    """A comment is nothing to the preprocessor, yet `#pragma once` compares the whole header with its precompiled form."""
    environment = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache"), "CCACHE_CONFIGPATH": str(tmp_path / "none")}

    def compile_(*arguments: str) -> None:
        command = [str(SCRIPT), CCACHE, COMPILER, "-std=c++20", *arguments]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)

    (tmp_path / "all.hxx").write_text('#include "colour.h"\n')
    for number, comment in enumerate(("one comment", "no comment!", "one comment")):
        (tmp_path / "colour.h").write_text(HEADER.format(comment=comment))
        (tmp_path / "main.cpp").write_text(SOURCE.format(number=number))
        compile_("-x", "c++-header", "-MD", "-MF", "all.d", "-o", "all.hxx.gch", "-c", "all.hxx")
        compile_("-Winvalid-pch", "-include", str(tmp_path / "all.hxx"), "-MD", "-MF", "main.d", "-c", "main.cpp")
