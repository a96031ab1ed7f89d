"""Bad and odd argument lists for the programs of the tour, as texts: each text is one argument."""

from __future__ import annotations

import array as array_module
import collections
import dataclasses
import decimal
import enum
import fractions
import random
import tempfile
from typing import Any

import numpy as np

from ingot.tour.programs import PROGRAMS, Program

from . import arguments

FOREIGN = (">f8", ">i4", ">c16", "O", "U3", "S3", "M8[D]", "m8[s]", "V8", "longdouble", "clongdouble", "i4,f8", "T")
LAYOUTS = ("C", "F", "strided", "reversed")
GROUP = 10  # neighbouring numbers that are lists of one program, so that what it compiles is used again


class Sub(np.ndarray):
    """A subclass that changes nothing."""


class Whole(int):
    """A subclass of int."""


class Level(enum.IntEnum):
    LOW = 1


class Indexed:
    """Not a number, but usable as an index."""

    def __index__(self) -> int:
        return 1


Pair = collections.namedtuple("Pair", "a b")


def small(program: Program) -> list:
    """The program's small arguments, made smaller where every iteration of a loop is one of Python's."""
    given = list(program.arguments(True))
    if program.name.startswith("kuramoto"):
        return [2 if i == 0 else v for i, v in enumerate(given)]
    if program.name.startswith("spca"):
        given[1:] = [2.0]
    cut = [v[tuple(slice(0, 6) for _ in v.shape)].copy() if isinstance(v, np.ndarray) else v for v in given]
    if program.name.startswith("jax_intro_ones"):
        return [3]
    if program.calls is not None:
        cut = cut[:1] if program.name == "accumulate_global" else [cut[0], True]
    return cut


@dataclasses.dataclass
class OddCall:
    """A program, the texts of its arguments, and the value of the module's `do_sum`."""

    program: str
    positional: list[str]
    keywords: dict[str, str]
    do_sum: bool = False

    def __str__(self) -> str:
        return f"{self.program}({', '.join([*self.positional, *(f'{k}={v}' for k, v in self.keywords.items())])})"


CALLED = [p for p in PROGRAMS if p.judge is None]
"""The programs that plain Python itself judges."""


def by_name(name: str) -> Program:
    return next(p for p in PROGRAMS if p.name == name)


class _Names:
    """What the texts may name: `base`, the program's own arguments; `given`, those made so far; and makers."""

    def __init__(self, program: Program, at_end: bool) -> None:
        self.at_end = at_end
        self.given: list = []
        self.base = small(program)
        self.names: dict[str, Any] = {
            "np": np, "base": self.base, "given": self.given, "at": self.at, "cast": self.cast, "grown": self.grown,
            "overlapping": self.overlapping, "spread": self.spread, "mapped": self.mapped, "inf": np.inf, "nan": np.nan,
            "Sub": Sub, "Whole": Whole, "Level": Level, "Indexed": Indexed, "Pair": Pair, "array": array_module.array,
            "Fraction": fractions.Fraction, "Decimal": decimal.Decimal, "OrderedDict": collections.OrderedDict,
            "deque": collections.deque,
        }  # fmt: skip

    def at(self, values: Any, layout: str = "C", writable: bool = True, shift: int = 0) -> np.ndarray:
        """A copy next to a page that cannot be touched."""
        values = np.asarray(values)
        if values.dtype.hasobject or values.dtype.kind == "T":
            result = np.array(values, order="F" if layout == "F" else "C")
            result.flags.writeable = writable
            return result
        return arguments.place(values, layout, writable, self.at_end, shift)

    @staticmethod
    def cast(values: Any, dtype: str) -> np.ndarray:
        """Values of another dtype, whatever they become."""
        values = np.asarray(values)
        target = np.dtypes.StringDType() if dtype == "T" else np.dtype(dtype)
        if target.kind in "Mm":
            return np.ones(values.shape, "i8").astype(target)
        if target.names:
            return np.zeros(values.shape, target)
        try:
            return values.astype(target)
        except (TypeError, ValueError):
            return np.zeros(values.shape, target)

    @staticmethod
    def grown(values: np.ndarray, axis: int, by: int) -> np.ndarray:
        """More elements along one axis."""
        return np.concatenate([values, np.take(values, range(by), axis, mode="wrap")], axis)

    @staticmethod
    def overlapping(values: Any, shift: int) -> Any:
        """The same memory, begun some elements on (or ended before); backwards for 0."""
        if not isinstance(values, np.ndarray) or not values.ndim:
            return values
        return values[::-1] if shift == 0 else values[shift:] if shift > 0 else values[:shift]

    def spread(self, values: np.ndarray, writable: bool) -> np.ndarray:
        """All elements of the first axis in one place: a stride of 0."""
        one = self.at(values[:1])
        return np.lib.stride_tricks.as_strided(one, values.shape, (0, *one.strides[1:]), writeable=writable)

    @staticmethod
    def mapped(values: np.ndarray) -> np.memmap:
        file = tempfile.TemporaryFile()
        result = np.memmap(file, values.dtype, "w+", shape=values.shape)
        result[...] = values
        return result


def build(call: OddCall, at_end: bool) -> tuple[list, dict]:
    """Fresh arguments of a call; arrays border on a page that cannot be touched, at their first or last byte."""
    names = _Names(by_name(call.program), at_end)
    with np.errstate(all="ignore"):
        for text in call.positional:
            names.given.append(eval(text, names.names))
        keywords = {k: eval(v, names.names) for k, v in call.keywords.items()}
    return names.given, keywords


ODD = (
    "None", "'text'", "b'bytes'", "''", "...", "slice(1, 2)", "{1, 2}", "frozenset((1,))", "bytearray(4)", "range(3)",
    "iter([1, 2])", "(v for v in [1, 2])", "np", "np.sin", "len", "int", "np.float64", "np.dtype('f8')", "lambda v: v",
    "object()", "Fraction(1, 2)", "Decimal('0.5')", "Level.LOW", "Whole(2)", "Indexed()", "Pair(1.0, 2)", "deque([1.0])",
    "array('d', [1.0, 2.0])", "memoryview(b'abcd')", "NotImplemented", "Exception('e')", "{}", "[]", "()", "{'a': 1.0}",
    "OrderedDict(a=1.0)", "np.random.default_rng(0)", "{1: {2: [3.0]}}", "[None]", "['a', 'b']", "[[1.0], [2.0, 3.0]]",
    "list(range(40))", "{i: i for i in range(40)}", "{(1, 2): 3.0}", "{1.5: 2.0}", "[1, 2.0, 3j]", "(1.0, (2.0, [3.0]))",
)  # fmt: skip

NUMBERS = (
    "0", "1", "-1", "2", "3", "True", "False", "0.0", "-0.0", "1.5", "-2.5", "inf", "-inf", "nan", "1e308", "5e-324",
    "1j", "complex(nan, 1)", "2**31", "2**63 - 1", "-2**63", "2**63", "2**64", "-2**70", "10**400",
)  # fmt: skip

NUMPY_NUMBERS = tuple(f"np.{d}({v})" for d in arguments.DTYPES for v in ("0", "1", "2", "3")) + (
    "np.int8(-128)", "np.uint64(2**64 - 1)", "np.int64(-2**63)", "np.float32(nan)", "np.float16(6e4)", "np.longdouble(1)",
    "np.clongdouble(1)", "np.str_('a')", "np.bytes_(b'a')", "np.datetime64('2020-01-01')", "np.timedelta64(3, 's')",
    "np.void(b'ab')", "np.array(1.5)", "np.array(2)", "np.array([3])", "np.array([[0.5]])", "np.array(2**63, 'u8')",
    "np.array(None)", "np.array('a')", "np.zeros((1,) * 17)", "np.zeros((0, 3))", "np.array([])", "np.ma.masked",
)  # fmt: skip

# Where a number is how often something is done or how much memory is asked for: without those that take for ever.
SMALL_ONLY = {("kuramoto", 0), ("spca", 1), ("spca", 2), ("spca", 3), ("jax_intro_ones", 0)}
LARGE = ("2**31", "2**63 - 1", "2**63", "2**64", "10**400", "1e308", "inf", "5e-324")
SMALL_NUMBERS = tuple(n for n in NUMBERS if n not in LARGE)


class _Maker:
    def __init__(self, rng: random.Random, program: Program) -> None:
        self.rng = rng
        self.program = program
        self.base = small(program)

    def plain(self, i: int) -> str:
        return f"at(base[{i}])" if isinstance(self.base[i], np.ndarray) else f"base[{i}]"

    def number(self, i: int) -> str:
        few = any(self.program.name.startswith(name) and i == at for name, at in SMALL_ONLY)
        numpy = [n for n in NUMPY_NUMBERS if not (few and ("2**" in n or "6e4" in n))]
        return self.rng.choice(self.rng.choice((SMALL_NUMBERS if few else NUMBERS, numpy)))

    def layout(self, values: str) -> str:
        rng = self.rng
        layout, writable, shift = rng.choice(LAYOUTS), rng.random() > 0.15, rng.choice((0, 0, 0, 1, 3))
        return f"at({values}, {layout!r}, {writable}, {shift})"

    def reshaped(self, i: int) -> str:
        rng, values = self.rng, self.base[i]
        axis = rng.randrange(values.ndim) if values.ndim else 0
        here = (slice(None),) * axis
        texts = [f"base[{i}][None]", f"base[{i}][..., None]", f"base[{i}].reshape(-1)", f"base[{i}].reshape(1, -1)"]
        if values.ndim and values.size:
            index = ", ".join([":"] * len(here))
            texts += [f"base[{i}][{index + ', ' if index else ''}{cut}]" for cut in (":0", ":1", ":-1", "1:", "::2")]
            texts += [f"grown(base[{i}], {axis}, {by})" for by in (1, 3)] + [f"base[{i}][0]", f"base[{i}].T"]
        return rng.choice(texts)

    def container(self, i: int) -> str:
        x = f"base[{i}]"
        return self.rng.choice(
            (f"{x}.tolist()", f"tuple({x}.tolist())", f"list({x})", f"[{x}]", f"({x},)", f"{{'a': {x}}}", f"[{x}, {x}]",
             f"dict(enumerate({x}.tolist()))", f"Pair({x}, {x})", f"set({x}.reshape(-1).tolist())", f"memoryview({x})",
             f"iter({x})", f"{{'a': {x}.tolist(), 'b': 1}}", f"array('d', {x}.reshape(-1).tolist())", f"{x}.tobytes()")
        )  # fmt: skip

    def subclass(self, i: int) -> str:
        x = f"base[{i}]"
        return self.rng.choice(
            (f"np.asmatrix({x}.reshape(len({x}), -1))", f"np.ma.masked_array({x}.copy())", f"mapped({x})", f"{x}.copy().view(Sub)",
             f"{x}.copy().view(np.recarray)", f"np.ma.masked_array({x}.copy(), {x} > 0.5)")
        )  # fmt: skip

    def array(self, i: int) -> str:
        rng = self.rng
        kind = rng.choices(
            ("dtype", "foreign", "shape", "layout", "other", "number", "container", "subclass", "odd", "element", "spread"),
            (24, 12, 18, 12, 10, 6, 10, 4, 6, 3, 3),
        )[0]  # fmt: skip
        values = f"base[{i}]"
        if kind == "dtype":
            return self.layout(f"cast({values}, {rng.choice(arguments.DTYPES)!r})")
        if kind == "foreign":
            return f"at(cast({values}, {rng.choice(FOREIGN)!r}))"
        if kind == "shape":
            return self.layout(self.reshaped(i))
        if kind == "layout":
            return self.layout(values)
        if kind == "other":
            others = [j for j in range(i) if isinstance(self.base[j], np.ndarray)]
            if others:
                j = rng.choice(others)
                return rng.choice((f"given[{j}]", f"given[{j}]", f"overlapping(given[{j}], {rng.choice((0, 1, -1, 2))})"))
            return self.layout(f"base[{rng.randrange(len(self.base))}]")
        if kind == "element" and self.base[i].size:
            special = rng.choice(("nan", "inf", "-inf", "1e308", "-1", "2**62", "0"))
            size = self.base[i].size
            return f"at(np.where(np.arange({size}).reshape(base[{i}].shape) == {rng.randrange(size)}, {special}, {values}))"
        if kind == "spread" and self.base[i].ndim and self.base[i].size:
            return f"spread({values}, {rng.random() < 0.6})"
        makers = {"container": self.container, "subclass": self.subclass, "number": self.number}
        return makers[kind](i) if kind in makers else rng.choice(ODD)

    def argument(self, i: int) -> str:
        value, rng = self.base[i], self.rng
        if isinstance(value, np.ndarray):
            return self.array(i)
        if isinstance(value, dict):
            member = rng.choice((self.number(i), self.number(i), rng.choice(ODD), "np.arange(3.0)", "at(np.float32([1, 2]))"))
            texts = [f"{{'a': {member}, 'b': 2.0}}", f"{{'a': {member}}}", f"{{1: {member}, 2: {member}}}", f"OrderedDict(a={member})"]
            return rng.choice((rng.choice(texts), rng.choice(texts), rng.choice(ODD), self.number(i)))
        if rng.random() < 0.7:
            return self.number(i)
        return rng.choice((rng.choice(ODD), "np.arange(3)", "np.array([1.0, 2.0])", "[1, 2]", "at(np.arange(4.0), 'strided')"))


def odd_call(seed: int, number: int) -> OddCall:
    """The argument list of this number: the program's own arguments, one or more of them changed."""
    rng = random.Random(f"odd {seed} {number}")
    program = CALLED[(number // GROUP) % len(CALLED)]
    maker = _Maker(rng, program)
    count = len(maker.base)
    texts = [maker.plain(i) for i in range(count)]
    for i in rng.sample(range(count), min(count, rng.choices((0, 1, 2, 3), (2, 60, 28, 10))[0])):
        texts[i] = maker.argument(i)
    keywords: dict[str, str] = {}
    names = program.plain.__code__.co_varnames[: program.plain.__code__.co_argcount]
    form = rng.random()
    if form < 0.03 and not program.name.startswith("spca"):
        texts.pop()
    elif form < 0.06:
        texts.append(rng.choice(ODD + NUMBERS[:6]) if len(names) == count else "1.5")
    elif form < 0.09:
        keywords[rng.choice(("nothing", names[0]))] = "1"
    elif form < 0.16 and not any("given" in t for t in texts):
        at = rng.randrange(count)
        keywords = dict(zip(names[at:], texts[at:]))
        texts = texts[:at]
    return OddCall(program.name, texts, keywords, rng.random() < 0.5)
