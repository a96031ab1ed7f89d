"""Random calls of NumPy's functions: sources, and arguments of all dtypes, shapes and layouts, for tools/probe_numpy.py.

A call is chosen parameter by parameter. Of each the tables below hold sources, with `|` between them, in which `@kind`
is a new argument of a kind that `Chooser` makes.
"""

import inspect
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (5,), (2, 3), (3, 3), (1, 4), (2, 0), (2, 3, 2), (0, 3), (9,)]
METHODS = {
    "reduce": "@array, axis=None|0|-1|1|(0, 1), dtype, out, keepdims, initial, where",
    "accumulate": "@array, axis=0|-1|1, dtype, out",
    "reduceat": "@array, [0]|[0, 2, 1]|[1, 0]|[]|@index, axis=0|-1|1, dtype, out",
    "outer": "@array, @array, out, dtype",
    "at": "@target, 0|[0, 0]|@index|(0, 1)|..., @array",
}

# What a parameter of a name is given.
BY_NAME = {
    "axis": "None|0|0|-1|-1|1|2|(0, 1)|(0, -1)|()|-3",
    "axis1": "0|1|-1",
    "axis2": "0|1|-1",
    "axes": "None|(0, 1)|(1, 0)|(-1,)|(0,)",
    "keepdims": "True|False",
    "initial": "0|1|2.5|-1|None|@scalar",
    "where": "@mask|@mask|True|False|@index",
    "dtype": "np.float64|np.float32|np.int64|np.int32|np.int8|np.uint8|np.complex128|bool|int|float|None|np.float16",
    "out": "@out",
    "ddof": "0|1|2|0.5|9",
    "correction": "0|1",
    "casting": "'same_kind'|'unsafe'|'no'|'safe'|'equiv'",
    "order": "'C'|'F'|'A'|'K'",
    "subok": "True|False",
    "mode": "'raise'|'wrap'|'clip'",
    "side": "'left'|'right'",
    "kind": "None|'stable'|'quicksort'|'heapsort'",
    "stable": "None|True|False",
    "indices": "0|-1|[0, 0]|[0, 1]|@index|@index|9|[]",
    "indices_or_sections": "1|2|3|[1]|[1, 2]|0|[]",
    "bins": "1|3|[0, 1, 2]|@sorted|'auto'|0",
    "range": "None|(0, 1)|(0, 5)|(1, 1)",
    "density": "True|False",
    "weights": "@array|None",
    "fweights": "@index|None",
    "aweights": "@array|None",
    "q": "0.5|50|[0, 1]|[0.25, 0.5]|0|@fractions|2",
    "method": "'linear'|'lower'|'higher'|'nearest'|'midpoint'|'hazen'|'median_unbiased'|'inverted_cdf'",
    "mask": "@mask|@mask|@array",
    "condition": "@mask|@array|[True, False]",
    "k": "0|1|-1|5",
    "n": "0|1|2|3|-1",
    "N": "0|1|3|@scalar",
    "M": "0|1|3|None",
    "m": "@array",
    "num": "0|1|5|-1",
    "start": "@array|0|1",
    "stop": "@array|3|0",
    "shape": "3|(2, 2)|()|(0,)|[1, 2]|-1|(-1,)|6|(3, -1)",
    "offset": "0|1|-1|5",
    "decimals": "0|1|2|-1",
    "repeats": "0|1|2|-1|@index",
    "shift": "0|1|-2|(1, 2)|[1]",
    "source": "0|-1|[0, 1]|5",
    "destination": "0|-1|1|[1, 0]",
    "obj": "0|-1|1|[0, 1]|slice(0, 2)|@mask|@index|9|[]",
    "kth": "0|1|-1|[0, 1]|9",
    "choices": "(@array, @array)|[@array, @array]|@array",
    "tup": "(@array, @array)|[@array]|[@array, @array, @array]|()|@array",
    "arrays": "(@array, @array)|[@array]|[@array, @array, @array]|()|@array",
    "condlist": "[@mask, @mask]|[@mask]|@mask",
    "choicelist": "[@array, @array]|[@array]",
    "funclist": "[1, 2]|[lambda x: x, 3]|[np.abs, lambda x: -x]",
    "func": "np.sum",
    "keys": "(@same, @same)|@array",
    "deg": "0|1|2",
    "edge_order": "1|2",
    "indexing": "'xy'|'ij'",
    "norm": "None|'ortho'|'forward'|'backward'",
    "ord": "None|1|2|-1|np.inf|0|'fro'|'nuc'|3",
    "p": "@array",
    "x": "@array",
    "multi_index": "(@index, @index)|([0, 1], [1, 0])|@index",
    "dims": "(3, 3)|(9, 9)",
    "pad_width": "1|(1, 2)|((1, 0),)|0|-1",
    "reps": "2|(2, 1)|0|()|(1, 2, 2)",
    "new_shape": "3|(2, 2)|0|(0, 2)|-1",
    "minlength": "0|5|-1",
    "UPLO": "'L'|'U'",
    "to_begin": "None|0|[1, 2]|@array",
    "to_end": "None|0|[1, 2]|@array",
    "prepend": "0|@array|[1, 2]|@scalar",
    "append": "0|@array|[1, 2]|@scalar",
    "a_min": "@array|0|None",
    "a_max": "@array|2|None",
    "min": "@array|0|-1.5|None",
    "max": "@array|2|3.5|None",
    "fill_value": "@scalar|@array|0|True|1.5",
    "bitorder": "'big'|'little'",
    "trim": "'f'|'b'|'fb'",
    "rtol": "1e-5|0|@scalar",
    "atol": "1e-8|0|@scalar",
    "rcond": "None|1e-10",
    "discont": "None|1",
    "period": "1|6.0|None",
    "tol": "100|1",
    "nan": "0.0|1|-5",
    "posinf": "None|1",
    "neginf": "None|-1",
    "step": "1|2|-1",
    "start_or_stop": "0|5|-1|@scalar",
    "stat_length": "None|1|2",
    "constant_values": "0|1|(1, 2)|2.5|@scalar",
    "end_values": "0|1",
    "reflect_type": "'even'|'odd'",
    "seq_of_zeros": "@line|[1, 2]",
    "dimensions": "(2, 3)|(0,)|()|(2,)",
    "iter": "range(3)|[1, 2]|@line",
    "count": "-1|2|0|9",
    "dx": "1.0|2",
    "default": "0|1.5|@scalar",
    "varargs": "|1|2.0|@line",
    "xi": "@line, @line|@line|@array, @line",
    "args": "@line, @line|@array|@array, @array",
    "arys": "@array|@array, @array",
    "bias": "True|False",
    "prototype": "@array",
    "base": "10.0|2|@scalar",
    "beta": "0|1.5|@scalar",
    "left": "None|-1",
    "right": "None|-1|2.5",
    "sorter": "None",
    "s": "None|(2, 2)|(3,)",
    "ind": "0|[0, 1]|@index|9",
    "v": "@array|0|[1, 2]",
    "val": "@scalar|0|1.5|@array",
    "vals": "@array|[1, 2]|0",
    "values": "@array|0|1.5|[1, 2]",
    "optimize": "False",
    "d": "1.0|0.5|2",
}
FLAGS = "True|False"
# What a parameter of one function is given, and whole argument lists (without a parameter's name).
BY_FUNCTION = {
    "apply_along_axis": "np.sum, 0|1|-1, @array;;lambda v: v.sum(), 0, @array;;lambda v: v[::-1], -1, @array",
    "apply_over_axes": "np.sum, @array, 0|[0, 1]",
    "arange": "3;;@scalar;;1, 5;;0, 2.5, 0.5;;5, 0, -1;;3, dtype=np.int8|np.float32|bool",
    "block": "[@line, @line];;[[@same, @same], [@same, @same]]",
    "broadcast_to.shape": "(2, 3)|(3,)|3|()|(4, 2, 3)|(0,)",
    "c_": "@line, @line|@array, @array|1:3, 5",
    "convolve.mode": "'full'|'same'|'valid'",
    "correlate.mode": "'full'|'same'|'valid'",
    "diag_indices.ndim": "1|2|3",
    "einsum": "'ij->ji', @same;;'i,i', @line, @line;;'ij,jk', @square, @square;;'ii', @square;;'ij->', @same;;'...i->...', @array",
    "fromfunction": "lambda i, j: i + j, (2, 3);;lambda i: i * 2, (3,), dtype=int|np.float32",
    "histogram2d": "@line, @line, bins=2|(2, 3)",
    "histogramdd": "@grid, bins=2|(2, 3)",
    "indices": "(2, 3)|(0,)|(2,), dtype=int|np.float32, sparse=True|False",
    "insert.obj": "0|-1|1|[0, 1]|9|[]",
    "interp": "@array, @sorted, @sorted;;@array, [0, 1, 2], [1, 2, 4];;@scalar, [0, 1, 2], [1, 2, 4], left=-1, right=9",
    "ix_": "@line|[0, 1], [0]|@line",
    "mask_indices": "3, np.triu|np.tril, 0|1",
    "mgrid": "0:3, 0:2|0:3|0:1:5j|0:2:0.5",
    "ogrid": "0:3, 0:2|0:3|0:1:5j",
    "linalg.matrix_power.n": "0|1|2|-1|3",
    "linalg.multi_dot": "[@square, @square]|[@square, @square, @square]",
    "linalg.qr.mode": "'reduced'|'complete'|'r'|'raw'",
    "linalg.solve.b": "@square|@line",
    "linalg.tensorinv": "@square, ind=1",
    "linalg.tensorsolve": "@square, @line",
    "lexsort.axis": "-1|0",
    "packbits.axis": "None|0|-1",
    "pad.mode": "'constant'|'edge'|'reflect'|'symmetric'|'wrap'|'mean'|'maximum'|'linear_ramp'|'empty'",
    "polyfit": "@line, @line, 1|2;;@sorted, @sorted, 1, w=@sorted",
    "polyval": "@line, @array|@scalar",
    "polyint.k": "None|1",
    "put_along_axis": "@same, @index|[[0]]|[0], @scalar, 0|-1|None",
    "r_": "@line, @line|@array, @array|0:3, 5",
    "ravel_multi_index.mode": "'raise'|'wrap'|'clip'",
    "reshape.shape": "-1|(3, -1)|6|(2, 3)|()|(-1, 1)|(0,)",
    "resize.new_shape": "3|(2, 2)|0|(0, 2)|-1",
    "rollaxis": "@array, 0|-1|1, 0|1|2",
    "rot90.axes": "(0, 1)|(1, 0)|(0, 0)",
    "take_along_axis": "@same, @index|[[0]]|[0], axis=0|-1|None",
    "tensordot.axes": "0|1|2|(0, 0)|([0], [1])",
    "unravel_index": "@index|3|[1, 2], (3, 3)|(9,)",
    "vander.N": "None|0|2|4",
    "where": "@mask, @array, @array;;@array;;@array, 1|2.5|@scalar, @array",
    "digitize.bins": "@sorted|[0, 1, 2]|[2, 1]",
    "bincount.x": "@index|@line",
    "isin.kind": "None|'sort'|'table'",
    "searchsorted.a": "@sorted",
    "choose.a": "@index|@array|0",
    "tri.M": "None|0|2",
    "geomspace": "1|@scalar|@array, 8|@scalar|@array, num=3|1|0, endpoint, dtype, axis=0|-1",
    "swapaxes": "@array, 0|-1|1, 0|1|-1|3",
}
LEFT_OUT = {"like", "signature", "device", "overwrite_input", "sorted", "apart", "copy", "cov", "full", "kw", "kwargs"}
# What is compared by type, dtype and shape alone.
OPEN_VALUES = {"empty", "empty_like", "argpartition", "partition", "unique_values"}


@dataclass
class Call:
    """A call of a function: what is in the brackets, and its arguments by name."""

    name: str
    text: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def source(self, space: str = "np") -> str:
        brackets = "[]" if self.name in ("c_", "r_", "mgrid", "ogrid") else "()"
        result = f"{space}.{self.name}{brackets[0]}{self.text}{brackets[1]}"
        return f"def probe({', '.join(self.arguments)}):\n    return {result}\n"


class Chooser:
    """Makes one call from a random stream."""

    def __init__(self, stream: random.Random) -> None:
        self.stream = stream
        self.shape = stream.choice(SHAPES)
        self.dtype = stream.choice([*DTYPES, "float64", "float64"])
        self.arguments: dict[str, Any] = {}

    def filled(self, text: str) -> str:
        """A source with arguments instead of `@kind`."""

        def one(found: re.Match[str]) -> str:
            name = f"x{len(self.arguments)}"
            maker: Callable[[], Any] = getattr(self, f"make_{found[1]}")
            self.arguments[name] = maker()
            return name

        return re.sub(r"@(?!out)(\w+)", one, text)

    def some_dtype(self) -> np.dtype:
        return np.dtype(self.dtype if self.stream.random() < 0.7 else self.stream.choice(DTYPES))

    def numbers(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Numbers of a dtype: small ones, in some arrays with ends of its range, NaN, infinities or zeros."""
        style = self.stream.choice(["plain", "plain", "special", "zeros", "few"])
        values = [self.stream.randint(-4, 9) for _ in range(count)]
        if style == "few":
            values = [self.stream.choice([0, 1, 1, 2]) for _ in values]
        if dtype.kind == "b":
            return np.array([v > 1 for v in values], dtype)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if style == "special":
                values = [self.stream.choice([v, int(limits.max), int(limits.min)]) for v in values]
            return np.array([v if v >= limits.min else -v for v in values], dtype)
        parts: list[float] = [v / 2 for v in values]
        if style == "special":
            parts = [self.stream.choice([v, v, np.nan, np.inf, -np.inf, -0.0]) for v in parts]
        if style == "zeros":
            parts = [self.stream.choice([v, 0.0, -0.0]) for v in parts]
        made = np.array(parts).astype(dtype)
        if dtype.kind == "c" and self.stream.random() < 0.7:
            made.imag = [self.stream.choice([1.0, -0.0, 0.5, -2.0]) for _ in values]
        return made

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array in one of many layouts."""
        plain = self.numbers(int(np.prod(shape, dtype=int)), dtype).reshape(shape)
        layout = self.stream.choice(["C", "C", "C", "F", "negative", "gaps", "broadcast", "read-only"])
        if layout == "F":
            return np.asfortranarray(plain)
        if layout == "negative" and shape:
            return plain[..., ::-1].copy()[..., ::-1]
        if layout == "gaps" and shape:
            return np.repeat(plain, 2, -1)[..., ::2]
        if layout == "broadcast" and shape and shape[0]:
            return np.broadcast_to(plain[:1], shape)
        if layout == "read-only":
            plain.flags.writeable = False
        return plain

    def make_array(self) -> Any:
        """Mostly an array of the call's shape, else of another, a number or a list."""
        kind = self.stream.random()
        if kind < 0.08:
            return self.make_scalar()
        if kind < 0.12:
            return self.numbers(3, self.some_dtype()).tolist()
        shape = self.shape
        if kind > 0.85:
            shape = self.stream.choice([*SHAPES, shape[1:], shape[-1:], (1, *shape[1:])])
        return self.array(shape, self.some_dtype())

    def make_same(self) -> np.ndarray:
        return self.array(self.shape, self.some_dtype())

    def make_target(self) -> Any:
        """Mostly an array that can be written to: NumPy itself writes to some that are read-only."""
        made = self.make_array()
        return made.copy() if isinstance(made, np.ndarray) else made

    def make_line(self) -> np.ndarray:
        return self.array((self.stream.choice([0, 1, 3, 3, 3, 4]),), self.some_dtype())

    def make_grid(self) -> np.ndarray:
        return self.array((5, 2), self.some_dtype())

    def make_square(self) -> np.ndarray:
        return self.array(self.stream.choice([(3, 3), (3, 3), (1, 1), (0, 0), (2, 3, 3), (2, 3)]), self.some_dtype())

    def make_mask(self) -> np.ndarray:
        shape = self.shape if self.stream.random() < 0.8 else self.shape[-1:]
        return self.array(shape, np.dtype(bool))

    def make_index(self) -> Any:
        count = self.stream.choice([0, 1, 2, 3])
        dtype = np.dtype(self.stream.choice("int64 int64 int32 uint8 bool float64".split()))
        values = [self.stream.choice([0, 0, 1, 2, -1, -2, 9]) for _ in range(count)]
        return np.array([abs(v) for v in values] if dtype.kind == "u" else values).astype(dtype)

    def make_sorted(self) -> np.ndarray:
        values = sorted(self.stream.randint(-4, 9) for _ in range(3))
        return np.array(values).astype(self.some_dtype())

    def make_fractions(self) -> np.ndarray:
        return np.array([0.0, 0.3, 1.0][: self.stream.choice([0, 1, 3])])

    def make_scalar(self) -> Any:
        number = self.numbers(1, self.some_dtype())[0]
        return number if self.stream.random() < 0.5 else number.item()


def one_of(stream: random.Random, texts: str) -> str:
    return stream.choice(texts.split("|")).strip()


def is_matrices(name: str) -> bool:
    return name.startswith("linalg.") and not name.endswith(
        ("norm", "outer", "cross", "vecdot", "diagonal", "trace", "tensordot")
    )


def texts_of(name: str, parameter: inspect.Parameter) -> str | None:
    """What a parameter is given, with `|` between the sources; None: it is left out."""
    own = BY_FUNCTION.get(f"{name}.{parameter.name}")
    if own is not None or parameter.name in LEFT_OUT:
        return own
    if is_matrices(name) and parameter.name in ("a", "x", "A", "x1", "x2", "b"):
        return "@square"
    if isinstance(parameter.default, bool):
        return FLAGS
    if parameter.name in BY_NAME:
        return BY_NAME[parameter.name]
    return "@array" if parameter.default in (parameter.empty, None) else None


def whole(chooser: Chooser, texts: str) -> str:
    """An argument list that a table holds as a whole; keywords without a source have that of their names."""
    parts = []
    for part in re.split(r",\s(?![^(\[]*[)\]])", chooser.stream.choice(texts.split(";;"))):
        name, equals, values = part.rpartition("=") if re.match(r"\w+=", part) else ("", "", part)
        if not name and part in ("dtype", "out", "keepdims", "initial", "where", "endpoint"):
            if chooser.stream.random() < 0.65:
                continue
            name, equals, values = part, "=", BY_NAME.get(part, FLAGS)
        parts.append(name + equals + chooser.filled(one_of(chooser.stream, values)))
    return ", ".join(parts)


def by_parameters(chooser: Chooser, name: str, parameters: list[inspect.Parameter]) -> str:
    parts = []
    for parameter in parameters:
        texts = texts_of(name, parameter)
        is_open = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
        if texts is None or (not is_open and parameter.kind is not parameter.VAR_POSITIONAL and chooser.stream.random() < 0.72):
            continue
        text = chooser.filled(one_of(chooser.stream, texts))
        is_named = parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL) and not is_open
        parts.append(f"{parameter.name}={text}" if is_named else text)
    return ", ".join(part for part in parts if part)


def chosen(name: str, function: Any, original: Any, stream: random.Random) -> Call:
    """A call of a function of the namespace, or of a method of a ufunc."""
    chooser = Chooser(stream)
    path = name
    if isinstance(original, np.ufunc) and original.signature is None and original.nout == 1 and stream.random() < 0.4:
        method = stream.choice(list(METHODS)) if original.nin == 2 else "at"
        path = f"{name}.{method}"
        words = METHODS[method] if original.nin == 2 else METHODS[method].rpartition(", ")[0]
        text = whole(chooser, words)
    elif name in BY_FUNCTION:
        text = whole(chooser, BY_FUNCTION[name])
    else:
        text = by_parameters(chooser, name, list(inspect.signature(function).parameters.values()))
        if isinstance(original, np.ufunc) and "where=" in text and "out=" not in text:
            text += ", out=@out"  # elements that a mask leaves out mean nothing in NumPy's own results
    return Call(path, text, chooser.arguments)
