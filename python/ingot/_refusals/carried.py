"""Which names the iterations of a loop pass on, for messages: found in the loop's source, by what is read before it is assigned."""

import ast
import itertools
import linecache
import textwrap


def carried_names(file: str, line: int) -> list[str]:
    """The names that iterations of the loop at a line read as the ones before have left them, those first that other statements
    than their own read; none where the source is not there."""
    lines = linecache.getlines(file)[line - 1 :]
    if not lines:
        return []
    indent = len(lines[0]) - len(lines[0].lstrip())
    is_inside = lambda text: not text.strip() or len(text) - len(text.lstrip()) > indent  # noqa: E731
    block = [lines[0], *itertools.takewhile(is_inside, lines[1:])]
    try:
        loop = ast.parse(textwrap.dedent("".join(block))).body[0]
    except (SyntaxError, IndexError):
        return []
    if not isinstance(loop, ast.For):
        return []
    names = _Names()
    for statement in loop.body:
        names.visit(statement)
    carried = [name for name in names.stored if name in names.read_first]
    return (
        [name for name in carried if name in names.read_elsewhere]
        or [name for name in carried if name not in names.augmented]
        or carried
    )


class _Names(ast.NodeVisitor):
    """Names in the order in which they are read and assigned."""

    def __init__(self) -> None:
        self.stored: dict[str, None] = {}
        self.read_first: set[str] = set()
        self.read_elsewhere: set[str] = set()
        self.augmented: set[str] = set()
        self._own: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id)
        else:
            self.stored.setdefault(node.id)

    def _read(self, name: str) -> None:
        if name not in self.stored:
            self.read_first.add(name)
        if name not in self._own:
            self.read_elsewhere.add(name)

    def visit_Assign(self, node: ast.Assign) -> None:
        before = self._own
        self._own = {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        self.visit(node.value)
        self._own = before
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        before = self._own
        if isinstance(node.target, ast.Name):
            self._own = {node.target.id}
            self._read(node.target.id)
            self.augmented.add(node.target.id)
        self.visit(node.value)
        self._own = before
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)
