#!/usr/bin/env python3
"""Writes which module of ingot.library has a function for what: (module, name in it, module of the library) each;
and which functions of NumPy's the compiler itself has.

    tools/library_index.py FILE

The build makes it of the decorators `@implements(...)`, so that a process loads of the library what it compiles.
"""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "python" / "ingot" / "library"


def imported(tree: ast.Module) -> dict[str, str]:
    """The modules that a file imports, by the names it gives them."""
    imports = [node for node in tree.body if isinstance(node, ast.Import)]
    return {name.asname or name.name: name.name for node in imports for name in node.names}


def named(expression: ast.expr, modules: dict[str, str]) -> tuple[str, str]:
    """The module of an expression like `np.ndarray.clip`, and the name in it."""
    path = ast.unparse(expression).split(".")
    if path[0] not in modules:
        assert hasattr(builtins, path[0]), f"{path[0]} is no builtin"
        return "builtins", ".".join(path)
    module, names = modules[path[0]], path[1:]
    while len(names) > 1 and not names[0][0].isupper():  # a class
        try:
            importlib.import_module(f"{module}.{names[0]}")
        except ModuleNotFoundError:
            break
        module, names = f"{module}.{names[0]}", names[1:]
    return module, ".".join(names)


def implemented(tree: ast.Module) -> Iterator[ast.expr]:
    """What the functions of a file stand for: the arguments of `@implements(...)`, and of `implements(...)(function)`."""
    for node in ast.walk(tree):
        calls = node.decorator_list if isinstance(node, ast.FunctionDef) else [node.func] if isinstance(node, ast.Call) else []
        for call in calls:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "implements":
                yield from call.args


def entries() -> list[tuple[str, str, str]]:
    found: dict[tuple[str, str], str] = {}
    for file in sorted([*LIBRARY.glob("*.py"), *LIBRARY.glob("own/*.py")]):
        subject = ".".join(file.relative_to(LIBRARY).with_suffix("").parts)
        tree = ast.parse(file.read_text())
        modules = imported(tree)
        for argument in implemented(tree):
            key = named(argument, modules)
            assert key not in found, f"{key} is in {found[key]} and in {subject}"
            found[key] = subject
    return [(module, name, subject) for (module, name), subject in sorted(found.items())]


def core() -> list[str]:
    """The functions of the cards of elementwise ops, and those that the frontend handles itself."""
    cards = re.findall(r"^OP\(.*NUMPY\(([^)]*)\)", (ROOT / "src/ir/ops.def").read_text(), flags=re.M)
    handled = re.findall(r'"numpy\.(\w+)"', (ROOT / "src/frontend/builtins.def").read_text())
    return sorted({name for card in cards for name in re.findall(r'"(\w+)"', card)} | set(handled))


def main() -> None:
    lines = [f"    {entry!r},\n" for entry in entries()]
    names = [f"    {name!r},\n" for name in core()]
    text = f'"""Made by tools/library_index.py."""\n\nINDEX = (\n{"".join(lines)})\n\nCORE = (\n{"".join(names)})\n'
    Path(sys.argv[1]).write_text(text)


main()
