"""Compiling ahead of time: `python -m ingot build`.

`collect` finds what a module exports, `lowering` compiles each export for some levels of CPUs, and a kind of output writes
what it is made of: `c_library` headers, libraries and CMake's files, `extension` a module for Python.
"""
