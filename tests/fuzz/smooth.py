"""Random programs of floats, arrays and containers whose derivatives are asked for.

Numbers, vectors (most of one length), square matrices and complex ones; all that is computed stays small.
"""

import dataclasses
import random

from .generate import Program
from .smooth_statements import Statements

MOST = 6  # statements at the top


@dataclasses.dataclass
class Parameters:
    """What `f` takes: variables first, then whole numbers and index arrays."""

    names: list[str]
    kinds: list[str]


class Generator(Statements):
    """One program. `scope` lists the names of each kind that may be used."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.number = 0
        self.depth = 0
        self.loops = 0
        self.functions: list[str] = []
        self.scope: dict[str, list[str]] = {k: [] for k in "num vec mat cnum cvec int list vecs dict box index".split()}
        self.within: set[str] = set()
        self.result: list[str] = []
        self.has_helpers = False

    def parameters(self) -> Parameters:
        r = self.rng
        kinds = [r.choice(("num", "vec", "vec", "vec"))]
        kinds += [r.choice("num num vec vec vec mat cnum cvec pair list dict".split()) for _ in range(r.randint(0, 3))]
        if "vec" not in kinds:
            kinds.append("vec")
        kinds += ["int"] * r.choice((0, 1, 1)) + ["index"] * r.choice((0, 0, 1))
        letters = {"num": "x", "vec": "v", "mat": "m", "cnum": "z", "cvec": "w", "pair": "t", "list": "l", "dict": "d", "int": "n", "index": "k"}
        return Parameters([f"{letters[k]}{i}" for i, k in enumerate(kinds)], kinds)

    def program(self) -> Program:
        r = self.rng
        given = self.parameters()
        self.length = f"len({given.names[given.kinds.index('vec')]})"
        for name, kind in zip(given.names, given.kinds):
            if kind in self.scope:
                self.scope[kind].append(name)
        self.lines.append("G = np.array([0.5, -0.25, 0.75])")
        self.helpers()
        self.emit(f"def f({', '.join(given.names)}):")
        self.depth = 1
        for name, kind in zip(given.names, given.kinds):
            if kind == "pair":
                a, b = self.name("s"), self.name("u")
                self.emit(f"{a}, {b} = {name}")
                self.scope["num"].append(a)
                self.scope["vec"].append(b)
            elif kind == "dict":
                self.scope["dict"].append(name)
        self.emit(f"n = {self.length}")
        self.new("num")
        self.result = [r.choice(("num", "num", "num", "vec", "cnum", "mat")) for _ in range(r.choice((1, 1, 2, 3)))]
        for _ in range(r.randint(2, MOST)):
            self.statement()
        self.emit(f"return {self.results()}")
        used = given.kinds
        layouts = [r.choice(("C", "C", "C", "C", "F", "strided", "reversed")) for _ in used]
        dtype = "float32" if r.random() < 0.08 else "float64"
        lengths = [r.choice((1, 2, 3, 4, 5, 6)), r.choice((0, 1, 2, 3, 5, 7, 9, 17))]
        texts = [[self.argument(k, n, layout, dtype) for k, layout in zip(used, layouts)] for n in lengths]
        return Program("\n".join(self.lines) + "\n", texts, [dtype, *given.kinds])

    def argument(self, kind: str, n: int, layout: str, dtype: str) -> str:
        r = self.rng

        def number() -> str:
            return repr(round(r.uniform(-1.2, 1.2), 3) or 0.37)

        def array(dtype: str, rank: int) -> str:
            element = number if dtype[0] == "f" else lambda: f"complex({number()}, {number()})"
            if n == 0:
                return f"empty({dtype!r}, {(0,) * rank}, {layout!r})"
            rows = ["[" + ", ".join(element() for _ in range(n)) + "]" for _ in range(n if rank == 2 else 1)]
            return f"array({dtype!r}, {rows[0] if rank == 1 else '[' + ', '.join(rows) + ']'}, {layout!r})"

        complexes = "complex128" if dtype == "float64" else "complex64"
        match kind:
            case "num":
                return number()
            case "cnum":
                return f"complex({number()}, {number()})"
            case "vec" | "mat":
                return array(dtype, 1 if kind == "vec" else 2)
            case "cvec":
                return array(complexes, 1)
            case "pair":
                return f"({number()}, {array(dtype, 1)})"
            case "list":
                return "[" + ", ".join(number() for _ in range(3)) + "]"
            case "dict":
                return "{'a': " + number() + ", 'b': " + array(dtype, 1) + "}"
            case "int":
                return str(r.choice((0, 1, 2, 3, 3, 4, 5)))
        return f"np.array({[r.randrange(n) for _ in range(n)]}, np.int64)"


def program(seed: int, number: int) -> Program:
    """Program `number` of a seed: always the same one."""
    return Generator(random.Random(f"smooth:{seed}:{number}")).program()
