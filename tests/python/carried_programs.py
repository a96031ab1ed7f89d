"""Random programs that replace, alias and change dicts, lists and instances of arrays, on paths and in loops."""

import dataclasses
import itertools
import linecache
import random

import numpy as np

NUMBERS = itertools.count()
SHAPES = ("dict", "list", "instance", "nested")


@dataclasses.dataclass(eq=False)
class Pair:
    """Two arrays."""

    w: object
    b: object


def argument(shape, seed=0):
    """What a program of a shape takes."""
    w, b = np.arange(3.0) + seed, np.arange(2.0) - seed
    if shape == "dict":
        return {"w": w, "b": b}
    if shape == "list":
        return [w, b]
    if shape == "instance":
        return Pair(w, b)
    return {"s": {"w": w, "b": b}, "t": 1.0 + seed}


class Program:
    """The text of a function of two containers, a count and a flag."""

    def __init__(self, shape, seed, changes=True):
        self.shape, self.draw, self.changes = shape, random.Random(f"{shape} {seed}"), changes
        self.names = ["p", "q"]
        self.lines = ["def f(p, q, n, c):", "    r = p"]
        self.names.append("r")
        self.block(1, self.draw.randint(2, 5), 0)
        out = self.draw.sample(self.names, self.draw.choice((1, 1, 1, 2)))
        self.lines.append(f"    return {', '.join(out)}")

    def parts(self, p):
        return {
            "dict": [f'{p}["w"]', f'{p}["b"]'],
            "list": [f"{p}[0]", f"{p}[1]"],
            "instance": [f"{p}.w", f"{p}.b"],
            "nested": [f'{p}["s"]["w"]', f'{p}["s"]["b"]', f'{p}["t"]'],
        }[self.shape]

    def new(self, parts):
        if self.shape == "dict":
            return f'{{"w": {parts[0]}, "b": {parts[1]}}}'
        if self.shape == "list":
            return f"[{parts[0]}, {parts[1]}]"
        if self.shape == "instance":
            return f"Pair({parts[0]}, {parts[1]})"
        return f'{{"s": {{"w": {parts[0]}, "b": {parts[1]}}}, "t": {parts[2]}}}'

    def copy(self, p):
        if self.shape == "instance":
            return self.new(self.parts(p))
        return f"{'list' if self.shape == 'list' else 'dict'}({p})"

    def statement(self, depth, nest):
        kind = self.draw.choice(("new", "new", "new", "keep", "alias", "copy", "change", "in_place", "if", "for", "while", "is"))
        pad = "    " * depth
        p, other = self.draw.choice(self.names), self.draw.choice(self.names)
        factor = self.draw.choice(("0.5", "2.0", "-1.0"))
        if kind in ("change", "in_place") and not self.changes:
            kind = "new"
        if kind == "new":
            self.lines.append(f"{pad}{p} = {self.new([f'{part} * {factor}' for part in self.parts(other)])}")
        elif kind == "keep":
            first, *rest = self.parts(other)
            self.lines.append(f"{pad}{p} = {self.new([first, *(f'{part} + 1.0' for part in rest)])}")
        elif kind == "alias":
            self.lines.append(f"{pad}{p} = {other}")
        elif kind == "copy":
            self.lines.append(f"{pad}{p} = {self.copy(other)}")
        elif kind == "change":
            self.lines.append(f"{pad}{self.draw.choice(self.parts(p))} = {self.draw.choice(self.parts(other)[:1])} * {factor}")
        elif kind == "in_place":
            self.lines.append(f"{pad}{self.parts(p)[0]} += 1.0")
        elif kind == "is":
            self.lines.append(f"{pad}if {p} is {other}:")
            self.lines.append(f"{pad}    c = not c")
        elif nest == 2:
            self.lines.append(f"{pad}{p} = {self.new([f'{part} - 1.0' for part in self.parts(other)])}")
        elif kind == "if":
            self.lines.append(f"{pad}if {self.draw.choice(('c', 'n > 1', self.parts(p)[0] + '.sum() > 3.0'))}:")
            self.block(depth + 1, self.draw.randint(1, 2), nest + 1)
            if self.draw.random() < 0.5:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, self.draw.randint(1, 2), nest + 1)
        elif kind == "for":
            self.lines.append(f"{pad}for _ in range(n):")
            self.block(depth + 1, self.draw.randint(1, 3), nest + 1)
        else:
            count = f"k{len(self.lines)}"
            self.lines.append(f"{pad}{count} = n")
            self.lines.append(f"{pad}while {count} > 0:")
            self.lines.append(f"{pad}    {count} -= 1")
            self.block(depth + 1, self.draw.randint(1, 3), nest + 1)

    def block(self, depth, count, nest):
        for _ in range(count):
            self.statement(depth, nest)

    def function(self):
        """The function, whose source can be found."""
        text = "\n".join(self.lines) + "\n"
        file = f"<carried {next(NUMBERS)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        scope = {"np": np, "Pair": Pair}
        exec(compile(text, file, "exec"), scope)
        return scope["f"]
