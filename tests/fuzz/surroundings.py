"""What is around random programs: members of Enums, functions in wrappers of other signatures, captured lists of
places and of arrays. A mixin of the generator."""

import random

from . import arguments

ENUMS = ("enum.IntEnum", "enum.IntEnum", "enum.IntFlag", "float, enum.Enum", "enum.StrEnum", "enum.Enum")


class Surroundings:
    """Needs the generator's expressions; `members` has texts of numbers that depend on members of Enums, `places` the names of
    lists of small ints, `tables` those of lists of arrays."""

    rng: random.Random
    members: list[str]
    places: list[str]
    tables: list[str]

    def define_surroundings(self) -> None:
        r = self.rng
        self.members, self.places, self.tables = [], [], []
        if r.random() < 0.15:
            self.define_enum()
        if r.random() < 0.15:
            self.define_captured()
        if r.random() < 0.15:
            self.define_wrapped()

    def define_enum(self) -> None:
        r = self.rng
        name, base = self.fresh("E"), r.choice(ENUMS)
        texts = base == "enum.StrEnum"
        values = ["'a'", "'bc'", "'d'"] if texts else ["0.5", "1.5", "-2.0"] if "float" in base else ["1", "2", "4"]
        self.define(["import enum", f"class {name}({base}):", *(f"    {n} = {v}" for n, v in zip("ABC", values))])
        for member in (f"{name}.{n}" for n in "ABC"):
            self.members += [f"len({member}.value)", f"({member} == 'bc')"] if texts else [f"{member}.value", f"({member} is {name}.B)"]
            if base != "enum.Enum" and not texts:
                self.members += [f"({member} + 1)", f"({member} * 0.5)", f"({member} < 2)", f"abs({member})"]

    def define_captured(self) -> None:
        r = self.rng
        places, table = self.fresh("P"), self.fresh("T")
        arrays = ", ".join(f"np.array([{r.randint(0, 3)}, {r.randint(0, 3)}, 2], dtype=np.{r.choice(arguments.DTYPES)})" for _ in range(2))
        self.define([f"{places} = [{r.randint(0, 1)}, {r.choice(('0', '-1'))}]", f"{table} = [{arrays}]"])
        self.places.append(places)
        self.tables.append(table)

    def define_wrapped(self) -> None:
        """A function whose wrapper has parameters of its own; `inspect.signature` has those of the function inside."""
        r = self.rng
        wrap, name = self.fresh("w"), self.fresh("u")
        inner = self.body({"x": 1.5}, {}, lambda: self.emit(f"    return {self.any(2)}", 0))
        given = r.choice(("a, b=2", "b, a=2", "a=1.5, b=2"))
        self.define(
            ["import functools", f"def {wrap}(inner):", "    @functools.wraps(inner)", f"    def outer({given}):",
             f"        return inner({r.choice(('a * 1.5', 'a + 0.5', 'float(a)'))}) + b", "    return outer", f"@{wrap}", f"def {name}(x):", *inner]
        )  # fmt: skip
        names = [n.split("=")[0] for n in given.split(", ")]
        kinds = [("int",) if n == "b" else ("float",) for n in names]
        self.helpers.append((name, kinds, names, {n.split("=")[0] for n in given.split(", ") if "=" in n}, False))

    def surrounding_scalar(self) -> str | None:
        """A number that depends on what is around."""
        r = self.rng
        arrays = [n for n, v in self.env.items() if getattr(v, "ndim", 0) == 1]
        choices = list(self.members)
        for places in self.places:
            place = f"{places}[{r.randint(0, 1)}]"
            choices += [place, f"len({places})", *(f"{n}[{place}]" for n in arrays), *(f"{t}[{place}][{place}]" for t in self.tables)]
        return r.choice(choices) if choices else None

    def surrounding_array(self) -> str | None:
        r = self.rng
        if not self.places:
            return None
        place = f"{r.choice(self.places)}[{r.randint(0, 1)}]"
        arrays = [n for n, v in self.env.items() if getattr(v, "ndim", 0) > 0]
        choices = [f"{r.choice(self.tables)}[{place}].copy()"]  # what a call changes outside is there in the next
        choices += [f"np.{f}({n}, axis={place})" for n in arrays for f in ("cumsum", "flip", "sort", "sum")]
        return r.choice(choices)
