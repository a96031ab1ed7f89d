#!/usr/bin/env python3
"""Writes docs/numpy.md's tables and the stubs of ingot.numpy from the namespace itself.

    tools/numpy_docs.py          rewrite them; needs ingot on the path
    tools/numpy_docs.py --check  exit status 1 if one is not current
"""

import importlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

import ingot.numpy
from ingot._calls.function import Function
from ingot.numpy._namespace import Subscripted

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "numpy.md"
STUBS = ROOT / "python" / "ingot" / "numpy"
PARTS = {"ingot.numpy": np, "ingot.numpy.linalg": np.linalg, "ingot.numpy.fft": np.fft}


def signature(function: object) -> str:
    """The parameters of a function without annotations, defaults as they are written."""
    given = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in given.parameters.values()]
    text = str(given.replace(parameters=plain, return_annotation=given.empty))
    text = re.sub(r"<class '(\w+)'>", r"\1", text).replace("=<no value>", "=...")
    return re.sub(r"<(?:built-in )?function (\w+)[^>]*>", r"\1", text)


def parameters_of(original: object) -> list[str]:
    try:
        return [p.name for p in inspect.signature(original).parameters.values() if p.kind is not p.VAR_KEYWORD]
    except (TypeError, ValueError):
        return []


def rows(module: ModuleType, original: ModuleType) -> list[str]:
    lines = ["| function | without |", "|---|---|"]
    for name in dir(module):
        function = getattr(module, name)
        if isinstance(function, Subscripted):
            lines.append(f"| `{name}[index]` |  |")
        if not isinstance(function, Function):
            continue
        has = inspect.signature(function).parameters
        missing = [p for p in parameters_of(getattr(original, name)) if p not in has]
        lines.append(f"| `{name}{signature(function)}` | {', '.join(f'`{p}`' for p in missing)} |")
    return lines


def listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def own(module: ModuleType) -> list[str]:
    """The names that stand for no compiled functions and no modules."""
    return [n for n in dir(module) if not isinstance(getattr(module, n), (Function, Subscripted, ModuleType))]


def functions_missing(module: ModuleType, original: ModuleType) -> list[str]:
    public = [n for n in original.__all__ if callable(getattr(original, n)) and not isinstance(getattr(original, n), type)]
    return sorted(set(public) - set(dir(module)))


def generated() -> dict[str, str]:
    """The generated parts of the document by name."""
    parts = {}
    for name, original in PARTS.items():
        module = importlib.import_module(name)
        short = name.rpartition(".")[2]
        parts[short] = "\n".join(rows(module, original))
    parts["own"] = listed(own(ingot.numpy)) + "."
    missing = [*functions_missing(ingot.numpy, np), *(f"linalg.{n}" for n in functions_missing(ingot.numpy.linalg, np.linalg))]
    parts["missing"] = listed(missing) + "."
    return parts


def regenerated(text: str) -> str:
    """The document with all generated parts made anew."""
    parts = generated()
    found = re.findall(r"<!-- generated: (\w+) -->", text)
    assert sorted(found) == sorted(parts), f"docs/numpy.md has the parts {found}, should have {list(parts)}"
    return re.sub(
        r"(<!-- generated: (\w+) -->).*?(<!-- end -->)", lambda m: f"{m[1]}\n{parts[m[2]]}\n{m[3]}", text, flags=re.S
    )


def stub(module: ModuleType, original: ModuleType) -> str:
    """The names as type checkers see them: NumPy's, but for those that the standard extends."""
    extended = {*module._namespace.standard, *module._namespace.own}
    lines = ["# Made by tools/numpy_docs.py."]
    lines += [f"from {original.__name__} import {name} as {name}" for name in dir(module)
              if name not in extended and not isinstance(getattr(module, name), ModuleType)]  # fmt: skip
    lines += [f"from ._standard import {name} as {name}" for name in sorted(extended)]
    if module is ingot.numpy:
        lines += ["from . import fft as fft, linalg as linalg", "", "__array_api_version__: str"]
    return "\n".join(lines) + "\n"


def files() -> dict[Path, str]:
    made = {DOCUMENT: regenerated(DOCUMENT.read_text())}
    for name, original in PARTS.items():
        short = "__init__" if name == "ingot.numpy" else name.rpartition(".")[2]
        made[STUBS / f"{short}.pyi"] = stub(importlib.import_module(name), original)
    return made


def main(words: list[str]) -> int:
    made = files()
    stale = [file for file, text in made.items() if not file.exists() or file.read_text() != text]
    if words == ["--check"]:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is not current: run tools/numpy_docs.py", file=sys.stderr)
        return int(bool(stale))
    if words:
        print(__doc__, file=sys.stderr)
        return 2
    for file in stale:
        file.write_text(made[file])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
