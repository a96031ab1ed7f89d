"""Random programs. Types are found by evaluating each expression on small stand-ins for the variables."""

import contextlib
import dataclasses
import io
import math
import random
import warnings

import numpy as np

from . import arguments
from .array_programs import Arrays
from .language import copied, is_array, is_scalar, shape
from .limits import MODULE, limited
from .objects import Objects
from .surroundings import Surroundings

UNARY = (
    "negative absolute fabs sign reciprocal square conjugate invert isnan isinf isfinite signbit spacing floor ceil "
    "trunc rint sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
    "arccosh arctanh degrees rad2deg radians deg2rad"
).split()
BINARY = (
    "add subtract multiply divide floor_divide remainder fmod power gcd lcm bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift equal not_equal less less_equal greater greater_equal minimum maximum fmin fmax copysign "
    "nextafter hypot logaddexp logaddexp2 arctan2"
).split()
REDUCTIONS = "sum prod min max any all mean".split()
MATH_UNARY = (
    "sqrt exp expm1 exp2 log1p log2 log10 log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc "
    "gamma lgamma fabs cbrt degrees radians isnan isinf isfinite floor ceil trunc"
).split()
MATH_BINARY = "atan2 hypot copysign pow fmod".split()
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "+", "-", "*", "**", "&", "|", "^", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
INT, FLOAT, BOOL = ("int",), ("float",), ("bool",)


@dataclasses.dataclass
class Program:
    source: str
    arguments: list[list[str]]
    dtypes: list[str] = dataclasses.field(default_factory=list)


class Generator(Objects, Arrays, Surroundings):
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.globals = {"np": np, "math": math, "__name__": MODULE}
        self.env: dict = {}
        self.lines: list[str] = []
        self.number = 0
        self.loops = 0
        self.left = False
        self.result: str | None = None
        self.frozen: set[str] = set()
        # Name, kinds and names of parameters, those with defaults, whether these are keyword-only.
        self.helpers: list[tuple[str, list[tuple], list[str], set[str], bool]] = []
        self.boxes: dict = {}
        self.fixed: set[str] = set()
        self.functions: dict = {}
        self.instances: dict = {}
        self.members, self.places, self.tables = [], [], []
        self.lambdas = 0

    # Expressions. Each gives its source; `value` is what it is on the stand-ins.

    def value(self, text: str):
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            result = eval(limited(text, "eval", self.globals), self.space())
        if type(result) is int and abs(result) > 2**40 or isinstance(result, np.ndarray) and result.size > 100:
            raise ValueError("too large")
        if not isinstance(result, (bool, int, float, np.generic, np.ndarray)):
            raise TypeError("not a number")
        return result

    def space(self) -> dict:
        """The names that an expression or a statement may use, and may change."""
        memory: dict = {}
        return {**self.globals, **self.functions, **{n: copied(v, memory) for n, v in {**self.env, **self.boxes, **self.instances}.items()}}

    def attempt(self, make, wanted, fallback: str, tries: int = 12) -> str:
        for _ in range(tries):
            try:
                text = make()
                if text is not None and len(text) < 160 and wanted(self.value(text)):
                    return text
            except Exception:  # the stand-ins do not go through it: another one
                pass
        return fallback

    def names(self, wanted) -> list[str]:
        return [n for n, v in self.env.items() if wanted(v)]

    def pick(self, wanted, fallback: str) -> str:
        names = self.names(wanted)
        return self.rng.choice(names) if names else fallback

    def constant(self) -> str:
        r = self.rng
        return r.choice((str(r.randint(0, 5)), str(r.randint(0, 5)), f"({-r.randint(1, 4)})", "0.5", "2.0", "1.5", "True", "0.0", "-0.0", r.choice(("8", "16", "31", "64")),
                         f"np.{r.choice(arguments.DTYPES)}({r.randint(0, 3)})", f"np.{r.choice(arguments.DTYPES)}(1)"))

    def integer(self) -> str:
        """A Python int that is small: an index, mostly within range."""
        r = self.rng
        small = [n for n, v in self.env.items() if type(v) is int and n[0] in "ij"]
        if small and r.random() < 0.7:
            name = r.choice(small)
            return r.choice((name, name, name, f"{name} - 1", f"{name} + 1", f"-{name}", f"-1 - {name}", f"{name} % 3", f"{name} // 2"))
        return r.choice(("0", "1", "-1", "2", "-2", "0", "0", "3", "-4"))

    def slice(self) -> str:
        r = self.rng
        if r.random() < 0.5:
            return r.choice((":", "1:", ":-1", "::2", "::-1", "-2:", ":2", "1:-1", ":3", "2:0"))
        return f"{r.choice(('', self.integer()))}:{r.choice(('', self.integer()))}" + r.choice(("", "", ":2", ":-1", ":3"))

    def index(self, array: str, whole: bool) -> str:
        """Inside brackets: one element (`whole`: all axes by integers), or else a part."""
        rank = self.env[array].ndim
        r = self.rng
        if whole:
            return ", ".join(self.integer() for _ in range(rank))
        if r.random() < 0.25:
            return f"{array} {r.choice(COMPARISONS)} {r.choice(('0', '1', '2', '0.5'))}"
        if rank == 1:
            return self.slice()
        return r.choice((self.integer(), self.slice(), f"{self.slice()}, {self.integer()}", f"{self.integer()}, {self.slice()}",
                         f"{self.slice()}, {self.slice()}", f"..., {self.integer()}", f"None, {self.integer()}"))

    def scalar(self, depth: int) -> str:
        return self.attempt(lambda: self._scalar(depth), is_scalar, self.pick(is_scalar, "1"))

    def _scalar(self, depth: int) -> str:
        r = self.rng
        arrays = self.names(is_array)
        if (self.members or self.places) and r.random() < 0.1:
            return self.surrounding_scalar()
        choice = r.random()
        if depth <= 0 or choice < 0.15:
            return self.pick(is_scalar, self.constant()) if r.random() < 0.75 else self.constant()
        if choice < 0.3 and arrays:
            array = r.choice(arrays)
            return f"{array}[{self.index(array, True)}]"
        if choice < 0.36 and r.random() < 0.35:
            return self.language_scalar(depth)
        if choice < 0.4 and arrays:
            array = r.choice(arrays) if r.random() < 0.6 else self.array(depth - 1)
            name = r.choice(REDUCTIONS)
            return f"np.{name}({array})" if r.random() < 0.6 else f"({array}).{name}()"
        if choice < 0.44 and arrays:
            return f"len({r.choice(arrays)})" if r.random() < 0.6 else f"{r.choice(arrays)}.shape[0]"
        if choice < 0.47 and len(arrays) > 1:
            return f"np.dot({r.choice(arrays)}, {r.choice(arrays)})"
        if choice < 0.68:
            return f"({self.scalar(depth - 1)} {r.choice(ARITHMETIC)} {self.scalar(depth - 1)})"
        if choice < 0.72:
            return f"({r.choice('-+~')}{self.scalar(depth - 1)})"
        if choice < 0.77:
            return f"math.{r.choice(MATH_UNARY)}({self.scalar(depth - 1)})"
        if choice < 0.79:
            return f"math.{r.choice(MATH_BINARY)}({self.scalar(depth - 1)}, {self.scalar(depth - 1)})"
        if choice < 0.82:
            return f"np.{r.choice(UNARY)}({self.scalar(depth - 1)})"
        if choice < 0.85:
            return f"np.{r.choice(BINARY)}({self.scalar(depth - 1)}, {self.scalar(depth - 1)})"
        if choice < 0.89:
            return f"{r.choice(('abs', 'int', 'float', 'bool', 'int', 'float'))}({self.scalar(depth - 1)})"
        if choice < 0.91:
            return f"np.{r.choice(arguments.DTYPES)}({self.scalar(depth - 1)})"
        if choice < 0.94:
            return f"{r.choice(('min', 'max'))}({self.alike(depth - 1)})"
        if choice < 0.97:
            pair = self.alike(depth - 1).split(";")
            return f"({pair[0]} if {self.condition(depth - 1)} else {pair[-1]})".replace(", ", ", ")
        if self.helpers:
            return self.call(depth)
        return f"bool({self.condition(depth - 1)})"  # NumPy's bool on one path and Python's on another would be joined

    def alike(self, depth: int) -> str:
        """Two scalars of one type, as arguments."""
        first = self.pick(is_scalar, "1")
        wanted = shape(self.value(first))
        second = self.attempt(lambda: self._scalar(depth), lambda v: shape(v) == wanted, first)
        return f"{first}, {second}"

    def condition(self, depth: int) -> str:
        def make():
            r = self.rng
            choice = r.random()
            if choice < 0.6 or depth <= 0:
                return f"{self.scalar(depth - 1)} {r.choice(COMPARISONS)} {self.scalar(depth - 1)}"
            if choice < 0.7:
                return f"{self.scalar(0)} {r.choice(COMPARISONS)} {self.scalar(0)} {r.choice(COMPARISONS)} {self.scalar(0)}"
            if choice < 0.8:
                return f"not {self.condition(depth - 1)}"
            if choice < 0.93:
                return f"({self.condition(depth - 1)}) {r.choice(('and', 'or'))} ({self.condition(depth - 1)})"
            return self.scalar(depth - 1)

        return self.attempt(make, is_scalar, "True")

    def array(self, depth: int) -> str:
        return self.attempt(lambda: self._array(depth), is_array, self.pick(is_array, "np.ones(3)"))

    def operand(self, depth: int) -> str:
        return self.array(depth) if self.rng.random() < 0.6 else self.scalar(min(depth, 1))

    def _array(self, depth: int) -> str:
        r = self.rng
        arrays = self.names(is_array)
        name = r.choice(arrays) if arrays else None
        if self.places and r.random() < 0.12:
            return self.surrounding_array()
        choice = r.random() if name or depth > 0 else 1.0
        if name is not None and (depth <= 0 or choice < 0.12):
            return name
        if choice < 0.27 and name is not None:
            return f"{name}[{self.index(name, False)}]"
        if choice < 0.3 and r.random() < 0.5:
            return self.array_of(depth)
        if choice < 0.5:
            pair = [self.array(depth - 1), self.operand(depth - 1)]
            r.shuffle(pair)
            return f"({pair[0]} {r.choice(ARITHMETIC)} {pair[1]})"
        if choice < 0.56:
            return f"({self.array(depth - 1)} {r.choice(COMPARISONS)} {self.operand(depth - 1)})"
        if choice < 0.6:
            return f"({r.choice('-+~')}{self.array(depth - 1)})"
        if choice < 0.7:
            return f"np.{r.choice(UNARY)}({self.array(depth - 1)})"
        if choice < 0.78:
            return f"np.{r.choice(BINARY)}({self.array(depth - 1)}, {self.operand(depth - 1)})"
        if choice < 0.82:
            return f"np.where({self.array(depth - 1)} {r.choice(COMPARISONS)} {self.scalar(0)}, {self.operand(depth - 1)}, {self.operand(depth - 1)})"
        if choice < 0.86:
            return r.choice((f"np.{r.choice(REDUCTIONS)}({self.array(depth - 1)}, axis={r.choice(('0', '1', '-1'))})",
                             f"np.cumsum({self.array(depth - 1)})", f"({self.array(depth - 1)}).cumsum()",
                             f"np.argsort({self.array(depth - 1)}, kind='stable')"))
        if choice < 0.9 and name is not None:
            return f"({self.array(depth - 1)}).astype(np.{r.choice(arguments.DTYPES)})"
        if choice < 0.94 and name is not None:
            return r.choice((f"{name}.copy()", f"{name}.ravel()", f"{name}.T", f"np.copy({name})", f"np.ravel({name})",
                             f"np.zeros_like({name})", f"np.ones_like({name})"))
        if choice < 0.96 and name is not None:
            return f"np.matmul({r.choice(arrays)}, {name})" if r.random() < 0.5 else f"({r.choice(arrays)} @ {name})"
        dtype = r.choice(arguments.DTYPES)
        length = f"len({name})" if name is not None and r.random() < 0.7 else "3"
        return r.choice((f"np.zeros({length}, np.{dtype})", f"np.ones({length}, dtype=np.{dtype})", f"np.arange({length})",
                         f"np.full({length}, {self.scalar(0)})", f"np.arange({length}, dtype=np.{dtype})", "np.zeros((2, 3))"))

    def call(self, depth: int) -> str:
        return self.call_of(self.rng.choice(self.helpers), depth)

    def call_of(self, helper: tuple, depth: int) -> str:
        """A call of a helper, some arguments by name, some left to their defaults."""
        name, kinds, parameters, defaults, only_by_name = helper
        texts = []
        by_name = False
        for kind, parameter in zip(kinds, parameters):
            if parameter in defaults and self.rng.random() < 0.4:
                by_name = True
                continue
            wanted = shape(arguments.exemplar(kind))
            by_name = by_name or self.rng.random() < 0.15 or only_by_name and parameter in defaults
            boxes = [n for n, v in self.boxes.items() if shape(v) == wanted]
            text = self.rng.choice(boxes) if boxes else self.attempt(lambda: self.any(depth - 1), lambda v: shape(v) == wanted, arguments.harmless(kind))
            texts.append(f"{parameter}={text}" if by_name else text)
        return f"{name}({', '.join(texts)})"

    def any(self, depth: int) -> str:
        return self.array(depth) if self.rng.random() < 0.4 and self.names(is_array) else self.scalar(depth)

    def like(self, name_or_type, depth: int) -> str | None:
        wanted = name_or_type
        text = self.attempt(lambda: self.any(depth), lambda v: shape(v) == wanted, "", 20)
        return text or None

    # Statements.

    def emit(self, text: str, level: int) -> None:
        self.lines.append("    " * level + text)

    def executed(self, text: str) -> dict | None:
        """All names after a statement has run on the stand-ins; None where it raises."""
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            space = self.space()
            try:
                exec(limited(text, "exec", self.globals), space)
            except Exception:
                return None
        return space

    def defined(self, name: str, lines: list[str]):
        """The inner function that some lines define, with the stand-ins around it; None where they are no function."""
        names = ", ".join([*(n for n in self.env if "." not in n), *self.boxes, *self.functions, *self.instances])
        body = "".join(f"    {line}\n" for line in lines)
        space = {**self.space(), **self.globals}
        try:
            exec(limited(f"def around({names}):\n{body}    return {name}\n", "exec", self.globals), space)
            values = self.space()
            return space["around"](*(values[n] for n in names.split(", ") if n))
        except Exception:
            return None

    def run_module(self, text: str) -> None:
        """Runs definitions on the stand-ins."""
        exec(limited(text, "exec", self.globals), self.globals)

    def run(self, text: str) -> bool:
        """Runs a statement on the stand-ins; False where it does not go through."""
        return self.execute(text) is not None

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def assign_new(self, level: int) -> None:
        text = self.any(3)
        name = self.fresh("v")
        try:
            value = self.value(text)
        except Exception:
            return
        self.emit(f"{name} = {text}", level)
        self.env[name] = value

    def assign(self, level: int) -> None:
        names = [n for n in self.env if n not in self.frozen]
        if not names:
            return self.assign_new(level)
        name = self.rng.choice(names)
        text = self.like(shape(self.env[name]), 2)
        if text:
            self.emit(f"{name} = {text}", level)
        return None

    def augment(self, level: int) -> None:
        names = [n for n in self.env if n not in self.frozen]
        for _ in range(8):
            if not names:
                return
            name = self.rng.choice(names)
            operator = self.rng.choice(("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"))
            text = f"{name} {operator}= {self.operand(2) if is_array(self.env[name]) else self.scalar(2)}"
            if self.run(text):
                return self.emit(text, level)

    def store(self, level: int) -> None:
        arrays = self.names(is_array)
        for _ in range(8):
            if not arrays:
                return
            name = self.rng.choice(arrays)
            whole = self.rng.random() < 0.55
            operator = self.rng.choice(("=", "=", "=", "+=", "-=", "*="))
            value = self.scalar(2) if whole or self.rng.random() < 0.5 else self.array(2)
            text = f"{name}[{self.index(name, whole)}] {operator} {value}"
            if self.run(text):
                return self.emit(text, level)

    def print(self, level: int) -> None:
        parts = [self.scalar(1) for _ in range(self.rng.randint(1, 2))]
        if self.rng.random() < 0.3:
            parts.append(self.pick(is_array, "'text'"))
        self.emit(f"print({', '.join(parts)})", level)

    def swap(self, level: int) -> None:
        names = [n for n in self.env if n not in self.frozen and is_scalar(self.env[n])]
        for _ in range(4):
            if len(names) > 1:
                a, b = self.rng.sample(names, 2)
                if shape(self.env[a]) == shape(self.env[b]):
                    return self.emit(f"{a}, {b} = {b}, {a}", level)

    def block(self, level: int, count: int) -> None:
        """Statements whose new names are unknown after it."""
        before = dict(self.env), dict(self.boxes), dict(self.functions), list(self.helpers), self.fixed, dict(self.instances)
        self.fixed = self.fixed | set(self.boxes)
        size = len(self.lines)
        for _ in range(count):
            self.statement(level)
        if len(self.lines) == size:
            self.emit("pass", level)
        self.env, self.boxes, self.functions, self.helpers, self.fixed, self.instances = before

    def branch(self, level: int) -> None:
        r = self.rng
        if r.random() < 0.08:
            text, name = self.scalar(2), self.fresh("w")
            self.emit(f"if ({name} := {text}) {r.choice(COMPARISONS)} {self.scalar(0)}:", level)
            self.env[name] = self.value(text)
        else:
            self.emit(f"if {self.condition(2)}:", level)
        choice = r.random()
        if self.loops and choice < 0.3:
            return self.emit(r.choice(("break", "continue")), level + 1)
        if choice < 0.38 and self.result is not None:
            self.left = True
            return self.emit(f"return {self.like(shape(self.env['r']), 2) or 'r'}", level + 1)
        if choice < 0.41:
            return self.emit(self.raise_text(), level + 1)
        self.block(level + 1, r.randint(1, 3))
        if r.random() < 0.2:
            self.emit(f"elif {self.condition(1)}:", level)
            self.block(level + 1, r.randint(1, 2))
        if r.random() < 0.5:
            self.emit("else:", level)
            self.block(level + 1, r.randint(1, 2))

    def loop(self, level: int) -> None:
        r = self.rng
        before = dict(self.env)
        arrays = self.names(is_array)
        index = self.fresh("i")
        choice = r.random()
        first = r.choice(arrays) if arrays else None
        frozen = set(self.frozen)
        if choice < 0.25:
            counter = self.fresh("j")
            self.emit(f"{counter} = {r.randint(0, 2)}", level)
            test = f"{counter} < {r.choice(('4', '5', f'len({first})' if first else '3'))}"
            self.env[counter] = 1
            if r.random() < 0.3:
                test += f" and {self.condition(1)}"
            self.emit(f"while {test}:", level)
            self.emit(f"{counter} += {r.choice(('1', '1', '2'))}", level + 1)
            before[counter] = 1
            self.frozen.add(counter)
        elif choice < 0.38 and first:
            name = self.fresh("e")
            if r.random() < 0.5:
                self.emit(f"for {name} in {first}:", level)
            else:
                self.emit(f"for {index}, {name} in enumerate({first}):", level)
                self.env[index] = 1
            self.env[name] = before[first][0]
            self.frozen.add(first)
        elif choice < 0.44 and first:
            second = r.choice(arrays)
            a, b = self.fresh("e"), self.fresh("e")
            self.emit(f"for {a}, {b} in zip({first}, {second}):", level)
            self.env[a], self.env[b] = before[first][0], before[second][0]
            self.frozen.update((first, second))
        else:
            n = r.choice((f"len({first})", f"len({first})", f"{first}.shape[-1]")) if first else "4"
            small = self.names(lambda v: type(v) is int)
            bounds = r.choice((n, n, n, f"1, {n}", f"{n} - 1", f"{n} - 1, -1, -1", f"0, {n}, 2", "3", "1, 5",
                               f"min({r.choice(small)}, 6)" if small else "2", "5, 0, -2"))
            self.emit(f"for {index} in range({bounds}):", level)
            self.env[index] = 1
            self.frozen.add(index)
        self.loops += 1
        self.block(level + 1, r.randint(1, 4))
        self.loops -= 1
        if r.random() < 0.08:
            self.emit("else:", level)
            self.env = dict(before)
            self.block(level + 1, 1)
            if self.loops and r.random() < 0.3:
                self.emit("break", level + 1)
        self.env = before
        self.frozen = frozen

    def statement(self, level: int) -> None:
        deep = level > 3 or len(self.lines) > 30
        actions = [(self.assign_new, 5), (self.assign, 4), (self.augment, 4), (self.store, 5), (self.print, 0.6), (self.swap, 0.4)]
        if not deep:
            actions += [(self.branch, 3), (self.loop, 4)]
        actions += self.language_statements(deep) + self.object_statements(deep) + self.array_statements(deep)
        chosen = self.rng.choices([a for a, _ in actions], [w for _, w in actions])[0]
        chosen(level)

    def kind(self) -> tuple:
        r = self.rng
        choice = r.random()
        if choice < 0.06:
            return self.container()
        if choice < 0.55:
            return ("array", r.choice(arguments.DTYPES), 2 if r.random() < 0.25 else 1)
        if choice < 0.75:
            return ("numpy", r.choice(arguments.DTYPES))
        return r.choice((INT, INT, FLOAT, FLOAT, BOOL))

    def container(self) -> tuple:
        """The kind of a small container."""
        r = self.rng
        first = r.choice((INT, FLOAT, INT, FLOAT, BOOL, ("array", r.choice(arguments.DTYPES), 1), ("numpy", r.choice(arguments.DTYPES))))
        kinds = (first,) * r.randint(2, 3) if r.random() < 0.5 else (first, r.choice((INT, FLOAT)))
        name = r.choice(("list", "list", "tuple", "dict"))
        return ("dict", tuple(zip("abc", kinds))) if name == "dict" else (name, kinds)

    def function(self, name: str, kinds: list[tuple], statements: int) -> None:
        letters = {"array": "x", "list": "l", "tuple": "t", "dict": "d"}
        names = [f"{letters.get(k[0], 'n')}{i}" for i, k in enumerate(kinds)]
        values = {n: arguments.exemplar(k) for n, k in zip(names, kinds)}
        self.env = {n: v for n, v in values.items() if is_scalar(v) or is_array(v)}
        self.boxes = {n: v for n, v in values.items() if n not in self.env}
        self.fixed = set() if name == "f" else set(self.boxes)
        self.functions, self.instances = {}, {}
        defaults = {}
        if name != "f" and len(kinds) > 1 and kinds[1] in (INT, FLOAT, BOOL):
            defaults = {names[1]: arguments.harmless(kinds[1])}
        self.loops, self.left, self.frozen = 0, False, set()
        self.result = None
        start = len(self.lines)
        outer = list(self.helpers)
        self.emit(f"def {name}({', '.join(n + (f'={defaults[n]}' if n in defaults else '') for n in names)}):", 0)
        text = self.any(2)
        self.env["r"] = self.value(text)
        self.emit(f"r = {text}", 1)
        self.result = "r"
        for _ in range(statements):
            self.statement(1)
        if name == "f":
            self.use_definitions(1)
        extra = [n for n in self.env if n[0] == "v"] + [*self.boxes, *self.instances]
        if self.left or not extra or name != "f" or self.rng.random() < 0.2:
            self.emit("return r", 1)
        else:
            self.emit(f"return r, {', '.join(self.rng.sample(extra, min(len(extra), 3)))}", 1)
        self.run_module("\n".join(self.lines[start:]))
        self.helpers = [*outer, (name, kinds, names, set(defaults), False)]

    def program(self) -> Program:
        r = self.rng
        self.define_surroundings()
        self.definitions()
        for i in range(r.choice((0, 0, 1, 2))):
            self.function(f"g{i}", [self.kind() for _ in range(r.randint(1, 2))], r.randint(0, 2))
        kinds = [self.kind() for _ in range(r.randint(1, 3))]
        if len(kinds) > 1 and r.random() < 0.3:
            kinds[1] = kinds[0]
        self.function("f", kinds, r.randint(5, 12))
        dtypes = [k[1] if k[0] in ("array", "numpy") else k[0] for k in kinds]
        has_loops = any(line.lstrip().startswith(("for", "while", "def", "class")) for line in self.lines[1:])
        return Program("\n".join(self.lines) + "\n", arguments.lists(r, kinds, r.randint(2, 3), has_loops), dtypes)


def program(seed: int, number: int) -> Program:
    """Program `number` of a seed: always the same one."""
    attempt = 0
    while True:
        try:
            return Generator(random.Random(f"{seed}:{number}:{attempt}")).program()
        except Exception:  # the stand-ins stumbled over the whole
            attempt += 1
