#!/usr/bin/env python3
"""Writes the ASTs of all functions of ingot.library, a file for each module of it: see python/ingot/_code/trees.py.

    tools/library_trees.py FOLDER

A file is a marshalled tuple: version, names of the classes of nodes, strings, constants, where the AST of a function begins
by the digest of its code, and the nodes. Those are numbers of seven bits a byte, the lowest first: 0 is None, 1 a list, its
length follows, 2 a string and 3 a constant, whose numbers follow, and what is greater a node. Of one that has a location follow its
line less that of the node before (twice, or -1 less twice it where it is negative), its column, the lines to its end, and the
column there; then its fields.
"""

import ast
import importlib.util
import marshal
import sys
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "python" / "ingot" / "library"


def _module(name: str) -> Any:
    """A module of the package, without the package, whose binaries need not be there."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "."), ROOT / "python" / "ingot" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TREES = _module("_code/trees")


class Writer:
    """The nodes of the functions of a file."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.texts: dict[str, int] = {}
        self.constants: dict[Any, tuple[int, Any]] = {}
        self.nodes = bytearray()
        self.line = 0

    def number(self, number: int) -> None:
        while number >= 128:
            self.nodes.append(number & 127 | 128)
            number >>= 7
        self.nodes.append(number)

    def function(self, node: ast.AST) -> int:
        """Where it begins."""
        start, self.line = len(self.nodes), 0
        self.value(node)
        return start

    def value(self, value: Any) -> None:
        if value is None:
            self.number(0)
        elif isinstance(value, list):
            self.number(1)
            self.number(len(value))
            for each in value:
                self.value(each)
        elif isinstance(value, ast.AST):
            self.node(value)
        elif type(value) is str:
            self.number(2)
            self.number(self.texts.setdefault(sys.intern(value), len(self.texts)))
        else:
            self.number(3)
            key = (type(value), repr(value))
            self.number(self.constants.setdefault(key, (len(self.constants), value))[0])

    def node(self, node: Any) -> None:
        self.number(4 + self.kinds.setdefault(type(node).__name__, len(self.kinds)))
        if node._attributes:
            step = node.lineno - self.line
            self.number(2 * step if step >= 0 else -2 * step - 1)
            self.number(node.col_offset)
            self.number(node.end_lineno - node.lineno)
            self.number(node.end_col_offset)
            self.line = node.lineno
        for field in node._fields:
            self.value(getattr(node, field))


def _codes(code: CodeType) -> list[CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return inner + [each for one in inner for each in _codes(one)]


def _start(code: CodeType) -> tuple[int, int]:
    return min(((p[0], p[2]) for p in code.co_positions() if p[0] is not None and p[3]), default=(0, 0))


def written(file: Path) -> bytes:
    """The functions of a file; those of one line and name only where there are as many codes as nodes."""
    source = file.read_text()
    places: dict[tuple[str, int], list[ast.AST]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Lambda):
            places.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.FunctionDef):
            line = min([node.lineno] + [d.lineno for d in node.decorator_list])
            places.setdefault((node.name, line), []).append(node)
    codes: dict[tuple[str, int], list[CodeType]] = {}
    for code in _codes(compile(source, str(file), "exec", dont_inherit=True)):
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    writer = Writer()
    starts: dict[bytes, int] = {}
    for place, nodes in places.items():
        nodes.sort(key=lambda n: (n.lineno, n.col_offset))
        own = sorted(codes.get(place, []), key=_start)
        if len(own) == len(nodes):
            for node, code in zip(nodes, own):
                starts.setdefault(TREES.digest(code), writer.function(node))
    constants = tuple(value for _, value in writer.constants.values())
    kept = (TREES.VERSION, tuple(writer.kinds), tuple(writer.texts), constants, starts, bytes(writer.nodes))
    return marshal.dumps(kept)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"{'.'.join(file.relative_to(LIBRARY).with_suffix('').parts)}.bin": file for file in LIBRARY.rglob("*.py")}
    for old in folder.glob("*.bin"):
        if old.name not in names:
            old.unlink()
    for name, file in names.items():
        (folder / name).write_bytes(written(file))


main()
