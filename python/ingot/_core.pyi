"""The extension that compiles, as type checkers see it: anything, but for what it knows of loops, nests and launches."""

from typing import Any, Literal

class Buffer:
    """Memory: an argument's, or allocated by the function. None: not known."""

    name: str
    kind: Literal["argument", "temporary", "result", "host"]
    bytes: int | None
    dtype: str
    """NumPy's name; empty: not known."""
    itemsize: int
    """0: not known."""
    shape: list[int | None] | None

class Op:
    """An op of the array IR in the nest that it was fused into."""

    name: str
    kind: Literal["load", "store", "move", "reduce", "compute"]
    """`move`: it chooses or converts values."""
    dtype: str
    place: tuple[str, int, int, int] | None
    takes: list[Op]
    """The ops that it takes values from."""
    reads: list[Buffer]
    """The memory that it takes values from."""
    puts: Buffer | None
    """The memory that it stores to."""

class Nest:
    """One loop nest, or one call of a routine (`loops` 0); it runs `iterations` times."""

    ops: list[Op]
    loops: int
    iterations: int | None
    read: dict[Buffer, int | None]
    written: dict[Buffer, int | None]
    hidden: bool
    """Whether it touches memory besides, of which is not known whose it is."""
    moved: int | None
    """The bytes that it reads and writes."""

class Fusion:
    """The nests of a function in their order, the memory between them, and what must at least be moved."""

    name: str
    nests: list[Nest]
    buffers: list[Buffer]
    least: int | None
    moved: int | None
    """The bytes that all nests read and write, each of its arrays once a nest."""

class Loop:
    """A loop of the source, or several in one line."""

    line: tuple[str, int]
    lanes: int
    is_shared: bool
    is_inside_shared: bool
    inside: list[Loop]
    around: list[Loop]
    lines: set[int]
    """Those of the operations in it, in the same file."""
    checks: list[str]
    """The kinds of exceptions that are looked for in it, and in no loop inside."""

class Stage:
    """What a pass has left."""

    kernels: list[str]
    """The names of the kernels, once there is code."""
    def fusion(self, function: str, leaves: list[Any]) -> Fusion:
        """Of the function of that name, given these arguments, after the pass `to_loops`."""
    def launches(self, function: str, leaves: list[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int | None, int | None]:
        """The same after the last pass: launches, what runs on the host between them, the bytes that the call is given and
        gives, and how many numbers the host reads."""
    def loops(self, own: str) -> list[Loop]:
        """The loops, after the last pass; `own`: how names of Ingot's files begin."""

def __getattr__(name: str) -> Any: ...
