"""Statements of programs that are differentiated."""

import contextlib
from collections.abc import Iterator

from .smooth_expressions import Expressions

DEEPEST = 4


class Statements(Expressions):
    """Statements; each writes lines and notes the names that there are from then on."""

    lines: list[str]
    number: int
    depth: int
    loops: int
    functions: list[str]
    result: list[str]
    length: str

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, letter: str) -> str:
        self.number += 1
        return f"{letter}{self.number}_"

    def results(self) -> str:
        make = {"num": self.num, "vec": self.vec, "cnum": self.cnum, "mat": self.mat}
        texts = [make[kind](1) for kind in self.result]
        return texts[0] if len(texts) == 1 else "(" + ", ".join(texts) + ")"

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Lines of their own: names that begin there are not known after it."""
        before = {kind: list(names) for kind, names in self.scope.items()}
        functions = list(self.functions)
        self.depth += 1
        yield
        self.depth -= 1
        self.scope.update(before)
        self.functions = functions

    def body(self, most: int = 3) -> None:
        for _ in range(self.rng.choice((1, 1, 2, most))):
            self.statement()

    def new(self, kind: str) -> None:
        letter = {"num": "s", "vec": "u", "mat": "a", "cnum": "y", "cvec": "q"}[kind]
        name = self.name(letter)
        text = getattr(self, kind)(2)
        if kind in ("vec", "mat", "cvec") and self.rng.random() < 0.85:
            text = f"({text}).copy()" if self.rng.random() < 0.5 else f"{text} + 0.0"
        self.emit(f"{name} = {text}")
        self.scope[kind].append(name)

    def statement(self) -> None:
        r = self.rng
        simple = [
            self.assign,
            self.assign,
            self.update,
            self.element,
            self.element,
            self.part,
            self.part,
            self.swap,
            self.create,
            self.view,
            self.whole,
            self.fancy,
        ]
        simple += [self.lists, self.dicts, self.boxes, self.arrays_in_lists, self.complexes, self.matrices, self.inner_function]
        compound = [
            self.for_loop,
            self.for_loop,
            self.for_loop,
            self.for_each,
            self.while_loop,
            self.branch,
            self.branch,
            self.attempt,
            self.parallel,
            self.nest,
            self.cases,
            self.yielded,
        ]
        if self.depth < DEEPEST and r.random() < (0.5 if self.depth < 2 else 0.3):
            r.choice(compound)()
        elif self.depth > 1 and r.random() < 0.08:
            self.leave()
        else:
            r.choice(simple)()

    def small(self, text: str) -> str:
        """An expression that is small whatever the text is, mostly."""
        r = self.rng
        return r.choice((f"np.tanh({text})", f"np.sin({text})", f"0.5 * ({text})", f"({text})")) if self.loops else text

    # Simple statements.

    def assign(self) -> None:
        if not self.scope["num"] or self.rng.random() < 0.3:
            self.new("num")
            return
        self.emit(f"{self.pick('num', '')} = {self.small(self.num(2))}")

    def update(self) -> None:
        r = self.rng
        name = self.pick("num", "")
        self.emit(
            r.choice(
                (
                    f"{name} += {self.small(self.num(1))}",
                    f"{name} *= np.cos({self.num(1)})",
                    f"{name} -= 0.3 * {self.num(1)}",
                    f"{name} /= 1.0 + {self.num(0)} ** 2",
                )
            )
        )

    def element(self) -> None:
        r = self.rng
        v = self.pick("vec", "v0")
        self.emit(
            r.choice(
                (
                    f"{v}[{self.index()}] = {self.small(self.num(2))}",
                    f"{v}[{self.index()}] += {self.small(self.num(1))}",
                    f"{v}[{self.index()}] *= {self.num(1)} * 0.5",
                    f"{v}[{self.index()}] = {v}[{self.index()}] * {self.num(0)}",
                    f"{v}[{self.index()}] -= {v}[{self.index()}] * 0.5",
                )
            )
        )

    def part(self) -> None:
        r = self.rng
        v, u = self.pick("vec", "v0"), self.pick("vec", "v0")
        self.emit(
            r.choice(
                (
                    f"{v}[1:] = {u}[:-1] * {self.num(0)}",
                    f"{v}[1:] += {self.vec(1)}[:-1] * 0.5",
                    f"{v}[::2] *= {self.num(1)}",
                    f"{v}[::-1] = {self.vec(1)}",
                    f"{v}[:] = {self.vec(2)}",
                    f"{v}[1:-1] = 0.5 * ({u}[2:] + {u}[:-2])",
                    f"{v}[:2] = {self.num(1)}",
                    f"{v}[n // 2:] = np.sin({v}[n // 2:])",
                    f"{v}[:n // 2] -= {u}[n - n // 2:]",
                    f"{v}[...] = {self.num(1)}",
                    f"{v}[1:] = {v}[:-1]",
                    f"{v}[:-1] = {v}[1:] * {u}[1:]",
                    f"{v}[::2] = {u}[::2][::-1]",
                )
            )
        )

    def swap(self) -> None:
        r = self.rng
        v = self.pick("vec", "v0")
        a, b = self.pick("vec", "v0"), self.pick("vec", "v0")
        s, t = self.pick("num", ""), self.pick("num", "")
        texts = [
            f"{v}[{self.index()}], {v}[{self.index()}] = {v}[{self.index()}], {v}[{self.index()}]",
            f"{a}[0], {b}[-1] = {b}[-1], {a}[0]",
            f"{s}, {t} = {t}, {self.small(s + ' * ' + self.num(0))}",
        ]
        own = [x for x in self.scope["vec"] if x[0] == "u"]
        if len(own) > 1 and not self.functions:
            x, y = r.sample(own, 2)
            texts += [f"{x}, {y} = {y}, {x}"] * 2
        self.emit(r.choice(texts))

    def create(self) -> None:
        self.new(self.rng.choice(("vec", "vec", "num", "mat", "cvec" if self.scope["cvec"] else "vec", "cnum" if self.scope["cnum"] else "num")))

    def view(self) -> None:
        """A view, and what is done through it."""
        r = self.rng
        v = self.pick("vec", "v0")
        name = self.name("p")
        self.emit(f"{name} = {v}{r.choice(('[1:]', '[:-1]', '[::2]', '[::-1]', '[:]', '.reshape(1, n)', '[n // 2:]', '[1:][::-1]', '[None]', '.ravel()'))}")
        self.emit(
            r.choice(
                (
                    f"{name} *= {self.num(1)}",
                    f"{name} += 0.5",
                    f"{name}[...] = np.sin({name})",
                    f"{name}[:1] = {self.num(1)}",
                    f"{self.pick('num', '')} += np.sum({name} * {name})",
                    f"{v}[:1] *= 0.5",
                )
            )
        )
        if r.random() < 0.5:
            self.emit(f"{self.pick('num', '')} += 0.3 * np.sum({name})")

    def whole(self) -> None:
        r = self.rng
        v = self.pick("vec", "v0")
        self.emit(
            r.choice(
                (
                    f"{v} += {self.vec(1)}",
                    f"{v} *= {self.vec(1)}",
                    f"{v} -= {self.num(1)}",
                    f"np.multiply({v}, {self.vec(1)}, out={v})",
                    f"np.sin({self.vec(1)}, {v})",
                    f"{v} /= 1.0 + {self.vec(0)} ** 2",
                    f"{v}[{v} > 0.3] *= 0.5",
                    f"{v}[{v} < {self.num(0)}] = {self.num(1)}",
                    f"{v}.fill({self.num(1)})",
                    f"{v}.sort()",
                    f"np.add({v}, {self.vec(0)}, out={v}, where={v} > 0)",
                )
            )
        )

    def fancy(self) -> None:
        r = self.rng
        v, u = self.pick("vec", "v0"), self.pick("vec", "v0")
        k = self.pick("index", "(np.arange(n) // 2)")
        k = k if r.random() < 0.7 else "np.arange(n)[::-1]"
        self.emit(
            r.choice(
                (
                    f"{v}[{k}] = {self.vec(1)}",
                    f"{v}[{k}] += {u}[{k}] * 0.5",
                    f"np.add.at({v}, {k}, {self.vec(1)})",
                    f"{v}[{k}] = {v}[{k}] * {self.num(0)}",
                    f"{v}[{k}] = {self.num(1)}",
                    f"np.subtract.at({v}, {k}, {self.num(1)})",
                    f"{v}[:] = {u}[{k}] * {v}",
                    f"{v}[[0, -1]] = {v}[[-1, 0]]",
                    f"np.put({v}, {k}, {u})",
                )
            )
        )

    def lists(self) -> None:
        r = self.rng
        l = self.pick("list", "")
        if not l or r.random() < 0.3:
            l = self.name("l")
            self.emit(
                f"{l} = {r.choice((f'[{self.num(1)}, {self.num(1)}]', f'[e * {self.num(0)} for e in {self.vec(0)}] + [{self.num(0)}]', f'[{self.num(0)}] * 3', f'[float(e) for e in {self.vec(0)}] + [0.5]'))}"
            )
            self.scope["list"].append(l)
        e = r.choice(("0", "-1"))
        self.emit(
            r.choice(
                (
                    f"{l}.append({self.small(self.num(1))})",
                    f"{l}[{e}] = {self.small(self.num(1))}",
                    f"{l}[{e}] += {self.num(0)}",
                    f"{l}[0], {l}[-1] = {l}[-1], {l}[0] * 0.5",
                    f"{self.pick('num', '')} += sum({l}) * 0.1",
                    f"{l}.insert(0, {self.num(0)})",
                    f"{l}.extend([{self.num(0)}, {l}.pop()])",
                    f"{self.pick('num', '')} = {l}[-1] * {l}[0]",
                )
            )
        )

    def arrays_in_lists(self) -> None:
        r = self.rng
        l = self.pick("vecs", "")
        if not l or self.depth == 1 and r.random() < 0.3:
            if self.depth > 1:
                return self.part()
            l = self.name("b")
            self.emit(f"{l} = [{self.vec(1)} + 0.0, {self.pick('vec', 'v0')}, {self.vec(1)} * 0.5]")
            self.scope["vecs"].append(l)
        i, j = r.choice(("0", "1", "-1")), r.choice(("0", "1", "-1"))
        texts = [
            f"{l}[{i}][:1] = {self.num(1)}",
            f"{l}[{i}][:] = {l}[{j}] * {self.num(0)}",
            f"{l}[{i}] += 0.3 * {l}[{j}]",
            f"{self.pick('num', '')} += np.sum({l}[{i}] * {l}[{j}]) * 0.2",
        ]
        if self.depth == 1:
            texts += [f"{l}[{i}] = {self.vec(1)}", f"{l}[{i}], {l}[{j}] = {l}[{j}], {l}[{i}]"]
        self.emit(r.choice(texts))
        return None

    def dicts(self) -> None:
        r = self.rng
        d = self.pick("dict", "")
        if not d or self.depth == 1 and r.random() < 0.2:
            d = self.name("d")
            self.emit(f"{d} = {{'a': {self.num(1)}, 'b': {self.vec(1)} * 1.0}}")
            self.scope["dict"].append(d)
        self.emit(
            r.choice(
                (
                    f"{d}['a'] = {self.small(self.num(1))}",
                    f"{d}['a'] += {self.num(0)} * 0.3",
                    f"{d}['b'][:1] *= {self.num(0)}",
                    f"{d}['b'] *= 0.5",
                    f"{d}['b'][:] = {self.vec(1)}",
                    f"{self.pick('num', '')} += {d}['a'] * np.sum({d}['b']) * 0.2",
                )
            )
        )

    def boxes(self) -> None:
        r = self.rng
        c = self.pick("box", "")
        if not self.has_helpers:
            return self.part()
        if not c or r.random() < 0.2:
            c = self.name("c")
            self.emit(f"{c} = C({self.num(1)}, {self.vec(1)} + 0.0)")
            self.scope["box"].append(c)
        self.emit(
            r.choice(
                (
                    f"{c}.step({self.num(1)})",
                    f"{c}.a = {self.small(self.num(1))}",
                    f"{c}.b[:1] += {self.num(0)}",
                    f"{self.pick('num', '')} += {c}.energy() * 0.1",
                    f"{c}.a += 0.2 * {self.num(0)}",
                )
            )
        )
        return None

    def complexes(self) -> None:
        r = self.rng
        if self.scope["cvec"] and r.random() < 0.5:
            w = self.pick("cvec", "")
            self.emit(
                r.choice(
                    (
                        f"{w}[{self.index()}] = {self.cnum(1)}",
                        f"{w} *= {self.cnum(1)} * 0.5",
                        f"{w}.real[:] = {self.vec(1)}",
                        f"{w}.imag[:1] = {self.num(0)}",
                        f"{w}[1:] = {w}[:-1].conj()",
                        f"{w}.real *= {self.num(0)}",
                        f"{self.pick('num', '')} += np.sum(np.abs({w} + 2.0)) * 0.1",
                        f"{w}[:] = {self.cvec(1)}",
                        f"{self.pick('num', '')} += np.vdot({w}, {self.cvec(1)}).real * 0.2",
                    )
                )
            )
        elif self.scope["cnum"]:
            z = self.pick("cnum", "")
            self.emit(
                r.choice(
                    (
                        f"{z} = {self.cnum(2)} / (1 + abs({self.cnum(0)}))",
                        f"{z} *= {self.cnum(0)} * 0.5",
                        f"{z} += {self.num(0)}",
                        f"{self.pick('num', '')} += abs({z} + 2.0) * 0.2",
                    )
                )
            )
        else:
            self.new(r.choice(("cnum", "cvec")))

    def matrices(self) -> None:
        r = self.rng
        if not self.scope["mat"]:
            self.new("mat")
        m = self.pick("mat", "")
        i, j = self.index(), self.index()
        self.emit(
            r.choice(
                (
                    f"{m}[{i}, {j}] = {self.small(self.num(1))}",
                    f"{m}[{i}] = {self.vec(1)}",
                    f"{m}[:, {j}] *= {self.num(0)}",
                    f"{m}[{i}] += 0.3 * {m}[{j}]",
                    f"{m} *= 0.5",
                    f"{m}[:] = {m}.T",
                    f"{m}[1:, :-1] = {self.num(0)}",
                    f"{m}.T[0:1] = {self.vec(0)}",
                    f"{m}[np.arange(n), np.arange(n)] = {self.vec(1)}",
                    f"{m}[{i}], {m}[{j}] = {m}[{j}].copy(), {m}[{i}].copy()",
                    f"{m} += np.outer({self.vec(0)}, {self.vec(0)}) * 0.3",
                    f"{m}[{m} > 0.3] = {self.num(0)}",
                    f"{m}[{i}, {j}] += {m}[{j}, {i}] * {self.num(0)}",
                    f"{m}[::-1, ::-1] = {m}",
                    f"{m}[{i}][::2] = {self.num(0)}",
                )
            )
        )

    def inner_function(self) -> None:
        """A function that reads, or changes, what is around it."""
        r = self.rng
        if self.depth > 2 or len(self.functions) > 2:
            return self.update()
        name = self.name("h")
        captured, v = self.pick("num", ""), self.pick("vec", "v0")
        way = r.randrange(3)
        if way == 0:
            self.emit(f"def {name}(p, q):")
            self.emit(f"    return np.sin(p) * {captured} + np.sum(q * {v}) * 0.2")
        elif way == 1:
            self.emit(f"def {name}(p, q):")
            self.emit(f"    {v}[:1] += p * 0.3")
            self.emit(f"    if p > 0.2:\n{'    ' * (self.depth + 2)}return p * {captured}")
            self.emit(f"    return np.dot(q, {v}) * 0.1")
        else:
            self.emit(f"def {name}(p, q, k=0.5):")
            self.emit(f"    nonlocal {captured}")
            self.emit(f"    {captured} = {captured} * 0.5 + np.cos(p)")
            self.emit(f"    return p * k + {captured}")
        self.functions.append(name)
        self.emit(f"{self.pick('num', '')} += {name}({self.num(1)}, {self.vec(0)})")
        return None

    def leave(self) -> None:
        r = self.rng
        texts = [f"return {self.results()}"]
        if self.loops > 0:
            texts += ["break", "continue", "break", "continue"]
        self.emit(f"if {self.condition()}:")
        self.emit(f"    {r.choice(texts)}")

    # Statements that hold others.

    def looped(self, most: int = 3) -> None:
        self.loops += 1
        with self.block():
            self.body(most)
        self.loops -= 1

    def for_loop(self) -> None:
        r = self.rng
        i = self.name("i")
        outer = self.pick("int", "n")
        header = r.choice(
            (
                "range(n)",
                "range(n)",
                "range(n)",
                f"range({self.count()})",
                "range(1, n)",
                "range(n - 1, -1, -1)",
                "range(0, n, 2)",
                f"range(min({outer}, n))",
                "range(n - 1)",
            )
        )
        self.emit(f"for {i} in {header}:")
        self.scope["int"].append(i)
        if header.startswith(("range(n", "range(0", "range(1", "range(min")):
            self.within.add(i)
        self.looped()
        self.scope["int"].remove(i)
        if r.random() < 0.1:
            self.emit("else:")
            with self.block():
                self.body(1)

    def nest(self) -> None:
        """Loops in each other whose lengths depend on those around."""
        r = self.rng
        i, j = self.name("i"), self.name("j")
        v, s = self.pick("vec", "v0"), self.pick("num", "")
        self.emit(f"for {i} in range(n):")
        self.depth += 1
        if r.random() < 0.5:
            self.emit(f"{s} = {s} * 0.5 + {v}[{i}]")
        self.emit(f"for {j} in range({r.choice((i, f'{i} + 1', f'{i}, n', f'{i} % 3', f'1, {i}'))}):")
        self.scope["int"] += [i, j]
        self.within.add(i)
        self.loops += 1
        self.looped(2)
        self.loops -= 1
        self.scope["int"] = self.scope["int"][:-2]
        if r.random() < 0.6:
            self.emit(f"{v}[{i}] = {self.small(self.num(1))}")
        self.depth -= 1

    def for_each(self) -> None:
        r = self.rng
        e = self.name("e")
        v, u = self.pick("vec", "v0"), self.pick("vec", "v0")
        i = self.name("i")
        l = self.pick("list", v)
        header, names, ints = r.choice(
            (
                (f"for {e} in {v}", [e], []),
                (f"for {i}, {e} in enumerate({v})", [e], [i]),
                (f"for {e}, {e}x in zip({v}, {u})", [e, e + "x"], []),
                (f"for {e} in {l}", [e], []),
                (f"for {e} in ({self.num(0)}, {self.num(0)})", [e], []),
                (f"for {e} in {v}[::-1]", [e], []),
                (f"for {i}, ({e}, {e}x) in enumerate(zip({v}, {u}))", [e, e + "x"], [i]),
            )
        )
        self.emit(header + ":")
        before = {k: list(x) for k, x in self.scope.items()}
        self.within.update(ints)
        self.scope["num"] += names
        self.scope["int"] += ints
        lists, self.scope["list"] = self.scope["list"], []  # none of them grows while it is iterated over
        self.looped()
        self.scope.update(before)
        self.scope["list"] = lists

    def while_loop(self) -> None:
        r = self.rng
        k = self.name("i")
        self.emit(f"{k} = 0")
        s = self.pick("num", "")
        self.emit(
            f"while {r.choice((f'{k} < n', f'{k} < {self.count()}', f'abs({s}) > 0.05 and {k} < 7', f'{k} < n and {self.num(0)} < 1.5', f'{k} < 6 and not {s} > 2.0'))}:"
        )
        self.scope["int"].append(k)
        self.loops += 1
        with self.block():
            self.emit(f"{k} += 1")
            if r.random() < 0.6:
                self.emit(f"{s} = {s} * {r.choice(('0.6', '0.9', '1.2'))} + {r.choice(('0.0', '0.1', self.num(0) + ' * 0.1'))}")
            self.scope["int"] = [x for x in self.scope["int"] if x != k]
            self.body()
        self.loops -= 1
        self.scope["int"].remove(k)

    def branch(self) -> None:
        r = self.rng
        self.emit(f"if {self.condition()}:")
        with self.block():
            self.body()
        for _ in range(r.choice((0, 0, 1))):
            self.emit(f"elif {self.condition()}:")
            with self.block():
                self.body(2)
        if r.random() < 0.6:
            self.emit("else:")
            with self.block():
                self.body(2)

    def attempt(self) -> None:
        r = self.rng
        v = self.pick("vec", "v0")
        error, text = r.choice(
            (
                ("ValueError", f"if {self.condition()}:\n\0raise ValueError('odd')"),
                ("IndexError", f"{self.pick('num', '')} += {v}[{self.pick('int', '1')} + 2]"),
                ("ZeroDivisionError", f"{self.pick('num', '')} /= float(n - {self.pick('int', '3')})"),
                ("ValueError", f"{self.pick('num', '')} = math.sqrt({self.num(1)})"),
            )
        )
        self.emit("try:")
        with self.block():
            if r.random() < 0.7:
                self.body(1)
            self.emit(text.replace("\0", "    " * (self.depth + 1)))
            self.body(1)
        self.emit(f"except {error}:")
        with self.block():
            self.body(2)
        if r.random() < 0.25:
            self.emit("finally:")
            with self.block():
                self.update()

    def cases(self) -> None:
        r = self.rng
        self.emit(f"match {self.pick('int', 'n')} % 3:")
        self.depth += 1
        for case in r.choice((("case 0:", "case 1 | 2:"), ("case 0:", "case _:"), ("case 2:",), ("case 1:", "case 0:", "case _:"))):
            self.emit(case)
            with self.block():
                self.body(2)
        self.depth -= 1

    def yielded(self) -> None:
        """What a generator gives."""
        r = self.rng
        name, e = self.name("y"), self.name("e")
        v, s = self.pick("vec", "v0"), self.pick("num", "")
        if self.depth > 2:
            return self.for_each()
        self.emit(f"def {name}(p):")
        self.emit(f"    for q in {v}:")
        self.emit(f"        {r.choice(('yield q * p', f'if q > 0.0: yield q * {s}', 'yield np.sin(q)'))}")
        self.emit(f"        {r.choice(('p = p * 0.5', 'p += q * 0.3', 'if p > 1.0: return'))}")
        self.emit(f"for {e} in {name}({self.num(0)}):")
        self.scope["num"].append(e)
        self.looped(2)
        self.scope["num"].remove(e)
        return None

    def parallel(self) -> None:
        """A loop whose iterations do not conflict."""
        r = self.rng
        i = self.name("i")
        own = [x for x in self.scope["vec"] if x[0] == "u"]
        if not own:
            return self.for_loop()
        v, s, u = r.choice(own), self.pick("num", ""), self.pick("vec", "v0")
        others = [x for x in self.scope["vec"] if x != v and x[0] == "u"] or ["np.ones(n)"]
        u = r.choice(others)
        self.emit(f"for {i} in ingot.prange(n):")
        self.depth += 1
        way = r.randrange(4)
        if way == 0:
            self.emit(f"{v}[{i}] = np.sin({u}[{i}] * {s}) + 0.5 * {v}[{i}]")
        elif way == 1:
            self.emit(f"if {u}[{i}] > 0.0:")
            self.emit(f"    {v}[{i}] *= {s}")
            self.emit("else:")
            self.emit(f"    {v}[{i}] = {u}[{i}] * {u}[n - 1 - {i}]")
        elif way == 2:
            self.emit(f"{s} += {u}[{i}] * {v}[{i}] * 0.3")
        else:
            t, j = self.name("s"), self.name("j")
            self.emit(f"{t} = 0.0")
            self.emit(f"for {j} in range({i} + 1):")
            self.emit(f"    {t} = {t} * 0.5 + np.cos({u}[{j}] * {s})")
            self.emit(f"{v}[{i}] = {t}")
        self.depth -= 1
        return None

    def helpers(self) -> None:
        """Functions and a class outside of `f`."""
        r = self.rng
        if r.random() < 0.4:
            return
        self.has_helpers = True
        texts = [
            "class C:",
            "    def __init__(self, a, b):",
            "        self.a = a",
            "        self.b = b",
            "",
            "    def step(self, h):",
            "        self.b *= 0.5 + 0.1 * h",
            "        self.a = np.sin(self.a + h)",
            "",
            "    def energy(self):",
            "        return self.a * np.sum(self.b)",
            "",
        ]
        if r.random() < 0.7:
            texts += [
                "def g0(p, q):",
                "    if p > 0.5:",
                "        return p * 0.5",
                "    for e in q:",
                "        p = p * 0.7 + e * 0.2",
                "        if p > 0.9:",
                "            return p",
                "    return np.sin(p)",
                "",
            ]
            self.functions.append("g0")
        if r.random() < 0.5:
            texts += ["def g1(p, q):", "    q[:1] = p", "    q *= 0.8", "    return np.sum(q) * 0.3", ""]
            self.functions.append("g1")
        if r.random() < 0.4:
            texts += ["def g2(p, q):", "    k = 0", "    while abs(p) > 0.1 and k < len(q):", "        p = p * q[k]", "        k += 1", "    return p + k", ""]
            self.functions.append("g2")
        self.lines += texts
