"""Arguments from their source; arrays end at a page that cannot be touched."""

import ctypes
import mmap
import random
from collections.abc import Callable

import numpy as np

DTYPES = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
)
LAYOUTS = ("C", "C", "C", "F", "strided", "reversed")

_libc = ctypes.CDLL(None, use_errno=True)
_PAGE = mmap.PAGESIZE


def _guarded(count: int) -> mmap.mmap:
    """Some pages between two that can be neither read nor written."""
    pages = mmap.mmap(-1, (count + 2) * _PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for page in (start, start + (count + 1) * _PAGE):
        if _libc.mprotect(ctypes.c_void_p(page), _PAGE, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return pages


def place(values: np.ndarray, layout: str, writable: bool, at_end: bool, shift: int = 0) -> np.ndarray:
    """A copy of an array in a layout, whose first (or last) byte touches the page that cannot be.

    A `shift` of some bytes away from that page makes it misaligned.
    """
    item = values.dtype.itemsize
    step = 2 if layout == "strided" else 1
    strides = []
    size = item * step
    for n in values.shape if layout == "F" else reversed(values.shape):
        strides.append(size)
        size *= max(n, 1)
    if layout != "F":
        strides.reverse()
    if layout == "reversed" and strides:
        strides[0] = -strides[0]
    spans = [(n - 1) * s for n, s in zip(values.shape, strides)]
    extent = sum(map(abs, spans)) + item if values.size else 0
    low = -sum(min(0, s) for s in spans) if values.size else 0
    pages = max(1, -(-(extent + shift) // _PAGE))
    offset = (pages + 1) * _PAGE - extent - shift if at_end else _PAGE + shift
    result = np.ndarray(values.shape, values.dtype, _guarded(pages), offset + low, tuple(strides))
    result[...] = values
    result.flags.writeable = writable
    return result


def build(texts: list[str], at_end: bool) -> list:
    """The arguments that texts stand for; in each, `given` is the list of those before it."""
    given: list = []

    def array(dtype, values, layout="C", writable=True):
        return place(np.array(values, dtype), layout, writable, at_end)

    def empty(dtype, shape, layout="C", writable=True):
        return place(np.empty(shape, dtype), layout, writable, at_end)

    def many(dtype, shape, seed, layout="C", writable=True):
        return place(_many(dtype, shape, seed), layout, writable, at_end)

    names = {"np": np, "many": many, "array": array, "empty": empty, "given": given, "inf": np.inf, "nan": np.nan}
    with np.errstate(all="ignore"):
        for text in texts:
            given.append(eval(text, names))
    return given


_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.0, 3.25, 0.1, -0.3, 7.0, 1e-3, 100.0)
_ODD_FLOATS = (float("inf"), float("-inf"), float("nan"), float("nan"), 1e300, 1e-300, 65504.0, 1e38)


def element(rng: random.Random, dtype: str) -> str:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.choice(("True", "False"))
    if kind in "iu":
        limits = np.iinfo(dtype)
        value = rng.choice((limits.min, limits.max)) if rng.random() < 0.06 else rng.randint(-3, 6)
        return repr(int(max(value, limits.min)))
    if kind == "c":
        return f"complex({element(rng, 'float64')}, {element(rng, 'float64')})"
    value = rng.choice(_ODD_FLOATS) if rng.random() < 0.06 else rng.choice(_FLOATS)
    if dtype in ("float16", "float32") and abs(value) > float(np.finfo(dtype).max):
        value = 2.0
    return repr(value)


def _many(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Small numbers, other ones for each seed."""
    numbers = np.random.default_rng(seed).integers(0, 8, shape)
    if np.dtype(dtype).kind in "fc":
        values = (numbers - 3) * 0.75
        if seed % 4 == 0:
            values[numbers == 7] = np.nan
            values[numbers == 3] = -0.0
        return values.astype(dtype)
    return (numbers - 2).astype(dtype) if np.dtype(dtype).kind == "i" else numbers.astype(dtype)


CONTAINERS = ("list", "tuple", "dict")


def contained(kind: tuple, text: Callable[[tuple], str]) -> str:
    """The text of a container of a kind: ("list", kinds), ("tuple", kinds) or ("dict", pairs of key and kind)."""
    if kind[0] == "dict":
        return "{" + ", ".join(f"{key!r}: {text(inner)}" for key, inner in kind[1]) + "}"
    inside = ", ".join(map(text, kind[1]))
    return f"[{inside}]" if kind[0] == "list" else f"({inside},)"


MANY = 8  # elements from which on an array is written as a rule


def argument(rng: random.Random, kind: tuple, n: int, m: int) -> str:
    """The text of an argument of a kind: ("int",), ("numpy", dtype), ("array", dtype, rank), ("list", kinds) ..."""
    if kind[0] in CONTAINERS:
        return contained(kind, lambda inner: argument(rng, inner, n, m))
    if kind[0] in ("int", "float", "bool"):
        value = element(rng, {"int": "int64", "float": "float64", "bool": "bool"}[kind[0]])
        return value
    if kind[0] == "numpy":
        return f"np.{kind[1]}({element(rng, kind[1])})"
    shape = (m,) if kind[2] == 1 else (n, m)
    if rng.random() < 0.04:
        shape = tuple(rng.randint(0, 7) for _ in shape)
    tail = f", {rng.choice(LAYOUTS)!r}, {rng.random() > 0.05}"
    if shape[-1] >= MANY:
        return f"many({kind[1]!r}, {shape}, {rng.randrange(1000)}{tail})"
    if 0 in shape:
        return f"empty({kind[1]!r}, {shape}{tail})"
    rows = ["[" + ", ".join(element(rng, kind[1]) for _ in range(shape[-1])) + "]" for _ in range(shape[0] if kind[2] == 2 else 1)]
    return f"array({kind[1]!r}, {rows[0] if kind[2] == 1 else '[' + ', '.join(rows) + ']'}{tail})"


def harmless(kind: tuple) -> str:
    """The text of a harmless value of a kind."""
    if kind[0] in CONTAINERS:
        return contained(kind, harmless)
    if kind[0] in ("int", "float", "bool"):
        return {"int": "2", "float": "1.5", "bool": "True"}[kind[0]]
    if kind[0] == "numpy":
        return f"np.{kind[1]}(1)"
    return f"np.ones({(3,) if kind[2] == 1 else (2, 3)}, np.{kind[1]})"


def exemplar(kind: tuple):
    """A harmless value of a kind, for the generator to find out types with."""
    return eval(harmless(kind), {"np": np})


LENGTHS = (8, 9, 16, 17, 23, 33, 40, 65, 130)
LONG = (300, 1100, 2600)
"""More than whole blocks of a reduction, for programs whose loops are NumPy's."""


def lists(rng: random.Random, kinds: list[tuple], count: int, has_loops: bool) -> list[list[str]]:
    """Some lists of arguments; the last one may have arrays for whole vectors, and for what is left of one."""
    result = []
    many = rng.random() < 0.4
    for number in range(count + many):
        n, m = rng.randint(1, 5), rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 3, 4, 5))
        if number == count:
            m = rng.choice(LENGTHS if has_loops else LENGTHS + LONG)
            n = rng.choice((1, 2, 3, m if m < 20 else 2, *((m, 1, 150) if not has_loops and m < 200 else ())))
        texts = []
        for i, kind in enumerate(kinds):
            same = [j for j in range(i) if kinds[j] == kind and kind[0] in ("array", "list", "dict")]
            if same and rng.random() < 0.06:
                texts.append(f"given[{rng.choice(same)}]" + (rng.choice(("", "[::-1]")) if kind[0] == "array" else ""))
            else:
                texts.append(argument(rng, kind, n, m))
        result.append(texts)
    return result
