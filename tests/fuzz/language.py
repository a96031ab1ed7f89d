"""The parts of random programs that are Python's more than NumPy's: exceptions, patterns, comprehensions, inner
functions, containers, strings. A mixin of the generator, whose stand-ins are what each name is."""

import random
import re

import numpy as np

from . import arguments

# Each with what may follow in place of the name that is tested.
CAUGHT = (
    "ValueError", "ZeroDivisionError", "IndexError", "OverflowError", "ArithmeticError", "RuntimeError", "Exception",
    "(ValueError, IndexError)", "(ZeroDivisionError, OverflowError)", "LookupError", "TypeError",
)  # fmt: skip
RAISED = ("ValueError", "IndexError", "RuntimeError", "ZeroDivisionError", "OverflowError", "KeyError", "ArithmeticError")
CONTAINERS = (list, dict, tuple)


def shape(value):
    """What a value is, containers through and through: what it stays on every path of a program."""
    if isinstance(value, np.ndarray):
        return (np.ndarray, value.dtype, value.ndim)
    if isinstance(value, (list, tuple)):
        return (type(value), *map(shape, value))
    if type(value).__module__ not in ("builtins", "numpy") and hasattr(value, "__dict__"):
        return (type(value), *(shape(v) for v in vars(value).values() if is_scalar(v) or is_array(v)))
    return (dict, *((k, shape(v)) for k, v in value.items())) if isinstance(value, dict) else type(value)


def copied(value, memory: dict):
    """A copy in which containers that are one object stay one; `memory` holds the copies of those seen."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        parts = [copied(v, memory) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    is_instance = type(value).__module__ not in ("builtins", "numpy") and hasattr(value, "__dict__")
    if not isinstance(value, (list, dict)) and not is_instance:
        return value
    if id(value) not in memory and is_instance:
        memory[id(value)] = new = object.__new__(type(value))
        vars(new).update((k, copied(v, memory)) for k, v in vars(value).items())
    if id(value) not in memory:
        memory[id(value)] = new = type(value)()
        if isinstance(value, dict):
            new.update((k, copied(v, memory)) for k, v in value.items())
        else:
            new.extend(copied(v, memory) for v in value)
    return memory[id(value)]


def is_scalar(value) -> bool:
    return isinstance(value, (bool, int, float, np.generic))


def is_array(value) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


class Language:
    """Needs the generator's expressions and statements, and these of its attributes.

    `boxes` are the containers that have names, `fixed` those whose structure must not change where the generator is,
    `functions` the inner functions; `lambdas` is how deep in lambdas and comprehensions it is.
    """

    rng: random.Random
    env: dict
    boxes: dict
    fixed: set
    functions: dict
    frozen: set
    lambdas: int

    # Expressions.

    def language_scalar(self, depth: int) -> str | None:
        makers = (
            (self.generator_expression, 5), (self.walrus, 2), (self.immediate_lambda, 1.5), (self.builtin, 4),
            (self.membership, 3), (self.box_item, 9), (self.literal_item, 2), (self.part, 1), (self.instance_item, 8),
        )  # fmt: skip
        return self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0](depth)

    def generators(self, length_is_known: bool) -> tuple[str, dict]:
        """What follows the element of a comprehension, and the names it binds."""
        r = self.rng
        index, element = self.fresh("i"), self.fresh("e")
        lines = [n for n, v in self.env.items() if is_array(v) and v.ndim == 1]
        alike = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple)) and v and len({shape(e) for e in v}) == 1]
        choice = r.random()
        if choice < 0.3 and lines and not length_is_known:
            name = r.choice(lines)
            return r.choice(
                (
                    (f"for {element} in {name}", {element: self.env[name][0]}),
                    (f"for {index} in range(len({name}))", {index: 1}),
                    (f"for {index}, {element} in enumerate({name})", {index: 1, element: self.env[name][0]}),
                )
            )
        if choice < 0.4 and len(lines) > 1 and not length_is_known:
            a, b = r.sample(lines, 2)
            return f"for {element}, {index} in zip({a}, {b})", {element: self.env[a][0], index: self.env[b][0]}
        if choice < 0.6 and alike:
            name = r.choice(alike)
            if is_scalar(self.boxes[name][0]):
                return f"for {element} in {name}", {element: self.boxes[name][0]}
        if choice < 0.7:
            return f"for {element} in ({self.alike(0)})", {element: 1}
        if choice < 0.8:
            other = self.fresh("i")
            return f"for {index} in range(3) for {other} in range({r.choice((index, '2'))})", {index: 1, other: 0}
        return f"for {index} in range({r.choice(('2', '3', '1, 4'))})", {index: 1}

    def comprehension(self, depth: int, length_is_known: bool, element=None) -> str | None:
        """`element for names in values`, perhaps with a condition."""
        behind, names = self.generators(length_is_known)
        before, box = self.env, self.boxes
        self.env = {**before, **names}
        self.lambdas += 1
        try:
            if "(" in behind and names and next(iter(names))[0] == "e" and "in (" in behind:
                first = behind.split("in (", 1)[1].split(",")[0]
                self.env[next(iter(names))] = self.value(first)
            text = element() if element else self.scalar(depth - 1)
            if self.rng.random() < 0.25 and not length_is_known:
                behind += f" if {self.condition(0)}"
            elif self.rng.random() < 0.15 and any(n[0] == "i" and type(v) is int for n, v in names.items()):
                index = next(n for n, v in names.items() if n[0] == "i" and type(v) is int)
                if "zip" not in behind:
                    behind += f" if {index} != 1"
        finally:
            self.env, self.boxes = before, box
            self.lambdas -= 1
        return f"{text} {behind}"

    def generator_expression(self, depth: int) -> str | None:
        r = self.rng
        name = r.choice(("sum", "any", "all", "max", "min", "np.array"))
        if name in ("any", "all"):
            text = self.comprehension(depth, False, lambda: self.condition(depth - 1))
        else:
            text = self.comprehension(depth, name == "sum")
        if name == "np.array":
            return f"np.array([{text}]).{r.choice(('sum()', 'max()', 'shape[0]'))}"
        return f"{name}([{text}])" if r.random() < 0.25 and name == "sum" else f"{name}({text})"

    def array_of(self, depth: int) -> str | None:
        if self.rng.random() < 0.5:
            return f"np.array([{self.comprehension(depth, False)}])"
        return f"np.array([{self.alike(depth - 1)}, {self.scalar(0)}])"

    def walrus(self, depth: int) -> str | None:
        if self.lambdas:
            return None
        name = self.fresh("w")
        return f"(({name} := {self.scalar(depth - 1)}) {self.rng.choice('+-*')} {name})"

    def immediate_lambda(self, depth: int) -> str | None:
        name, other = self.fresh("a"), self.fresh("a")
        given = self.scalar(depth - 1)
        before = self.env
        self.env = {**before, name: self.value(given), other: 2}
        self.lambdas += 1
        try:
            text = self.scalar(depth - 1)
        finally:
            self.env = before
            self.lambdas -= 1
        return f"(lambda {name}, {other}=2: {text})({given}{self.rng.choice(('', '', ', 3', f', {other}=1'))})"

    def builtin(self, depth: int) -> str | None:
        r = self.rng
        a, b = self.scalar(depth - 1), self.scalar(depth - 1)
        same = self.alike(depth - 1)
        return r.choice(
            (
                f"divmod({a}, {b})[{r.choice((0, 1, -1))}]",
                f"round({a})",
                f"pow({a}, {r.choice((b, '2', '3'))})",
                f"isinstance({a}, {r.choice(('int', 'float', '(int, float)', 'np.floating', 'np.integer', 'bool'))})",
                f"({self.pick(is_scalar, 'math')} is {r.choice(('None', 'not None'))})",
                f"bool({self.scalar(0)} < {self.scalar(0)} <= {self.scalar(0)} != {self.scalar(0)})",
                f"sum(({same}))",
                f"max({same}, {same.split(', ')[0]})",
            )
        )

    def membership(self, depth: int) -> str | None:
        r = self.rng
        lists = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple)) and all(map(is_scalar, v))]
        among = r.choice(lists) if lists and r.random() < 0.4 else None
        if among is None:
            inside = f"{self.scalar(0)}, {r.choice(('1', '2.0', '0', '3'))}"
            among = r.choice((f"({inside})", f"[{inside}]"))
        return f"({self.scalar(depth - 1)} {r.choice(('in', 'not in'))} {among})"

    def box_item(self, depth: int) -> str | None:
        """A number from a container."""
        if not self.boxes:
            return None
        r = self.rng
        name = r.choice(list(self.boxes))
        value = self.boxes[name]
        if isinstance(value, dict):
            key = r.choice(list(value)) if value else "a"
            return r.choice(
                (
                    f"{name}[{key!r}]",
                    f"{name}.get({key!r}, {self.scalar(0)})",
                    f"{name}.get('none', {self.scalar(0)})",
                    f"len({name})",
                    f"({key!r} in {name})",
                    f"list({name}.values())[0]",
                )
            )
        inside = r.randrange(len(value)) if value else 0
        same = len({shape(e) for e in value}) == 1
        return r.choice(
            (
                f"{name}[{inside}]",
                f"{name}[{inside - len(value)}]",
                f"{name}[{self.integer()}]" if same else f"{name}[-1]",
                f"len({name})",
                f"{name}[1:][{r.choice((0, -1))}]",
                f"sum({name})",
                f"{r.choice(('max', 'min'))}({name})" if same else f"{name}[0]",
                f"{name}.count({self.scalar(0)})",
                f"{name}.index({r.choice((f'{name}[{inside}]', self.scalar(0)))})",
                f"{name}.index({name}[{inside}])",
                f"len({name} + {name})",
                f"{name}[{inside}][0]",
                f"({name} {r.choice(('==', '!=', '<'))} {r.choice(list(self.boxes))})",
                f"np.{r.choice(('sum', 'max'))}({name}[{inside}])",
            )
        )

    def instance_item(self, depth: int) -> str | None:
        return self.of_instance(self.rng.choice(list(self.instances))) if self.instances else None

    def literal_item(self, depth: int) -> str | None:
        inside = self.alike(depth - 1)
        brackets = self.rng.choice(("()", "[]"))
        return f"{brackets[0]}{inside}{brackets[1]}[{self.rng.choice(('0', '1', '-1', '-2', self.integer()))}]"

    def part(self, depth: int) -> str | None:
        return f"({self.scalar(depth - 1)}).{self.rng.choice(('real', 'imag', 'conjugate()'))}"

    def text(self) -> str:
        """An f-string."""
        r = self.rng
        parts = []
        for _ in range(r.randint(1, 2)):
            name = self.pick(is_scalar, "1")
            value = self.value(name)
            forms = ["", "", "!r", "!s"]
            if isinstance(value, (bool, np.bool_)):
                forms += ["!s:>6"]
            elif isinstance(value, (float, np.floating)):
                forms += [":.3f", ":.2e", ":8.1f", ":g"]
            elif isinstance(value, (int, np.integer)):
                forms += [":4d", ":05d", ":x", "!s:>4"]
            parts.append("{" + name + r.choice(forms) + "}")
        if r.random() < 0.25:
            parts.append("{" + str(r.choice((1, 2.5, "len((1, 2))"))) + "}")
        if r.random() < 0.15 and (arrays := self.names(is_array)):
            parts.append("{" + r.choice(arrays) + "}")
        return f"f'odd {' '.join(parts)}'"

    # Statements. Each emits nothing where it finds nothing to write.

    def language_statements(self, deep: bool) -> list:
        simple = [
            (self.print_text, 0.25), (self.check, 0.25), (self.make_box, 1.3), (self.change_box, 3.6), (self.unpack, 0.5),
            (self.inner_function, 0.8), (self.element_swap, 0.2), (self.chained, 0.2), (self.idiom, 0.4),
        ]  # fmt: skip
        return simple if deep else simple + [(self.attempt_block, 1.2), (self.match, 0.7), (self.silent, 0.2), (self.optional, 0.3), (self.countdown, 0.2), (self.box_loop, 0.9), (self.growing, 0.8)]

    def execute(self, text: str, may_change=()) -> dict | None:
        """The names after a statement ran on the stand-ins; None where it raises, or changes what must stay."""
        after = self.executed(text)
        if after is None:
            return None
        for name, value in {**self.env, **self.boxes, **self.instances}.items():
            if name not in may_change and name in after and shape(after[name]) != shape(value):
                return None
        return after

    def print_text(self, level: int) -> None:
        text = self.text()
        if self.boxes and self.rng.random() < 0.3:
            name = self.rng.choice(list(self.boxes))
            text = self.rng.choice((name, f"'odd', {name}", f"len({name}), *{name}"))
        elif self.rng.random() < 0.3:
            text += ", end=' '" if self.rng.random() < 0.3 else f", {self.scalar(1)}"
        self.emit(f"print({text})", level)

    def check(self, level: int) -> None:
        self.emit(f"assert {self.condition(1)}{self.rng.choice(('', ', ' + repr('odd'), ', ' + self.text()))}", level)

    def raise_text(self) -> str:
        r = self.rng
        return f"raise {r.choice(RAISED[:3] if r.random() < 0.6 else RAISED)}({r.choice((repr('odd'), self.text(), repr('odd')))})"

    def attempt_block(self, level: int) -> None:
        r = self.rng
        before = dict(self.env)
        start = len(self.lines)
        self.emit("try:", level)
        choice = r.random()
        if choice < 0.08 and self.result is not None:
            self.left = True
            self.emit(f"return {self.like(shape(self.env['r']), 2) or 'r'}", level + 1)
        elif choice < 0.4:
            self.emit(f"if {self.condition(1)}:", level + 1)
            self.emit(self.raise_text(), level + 2)
        elif choice < 0.6:
            size = len(self.lines)
            self.assign(level + 1)
            if len(self.lines) == size:
                self.emit(f"{self.fresh('v')} = {self.scalar(2)}", level + 1)
        self.block(level + 1, r.randint(1, 2))
        if self.loops and r.random() < 0.1:
            self.emit(r.choice(("break", "continue")), level + 1)
        # The text of NumPy's error names the output's shape as well where that is given.
        has_text = not re.search(r" [-+*/%&|^<>]+= |\b[gh]\d+\(", "\n".join(self.lines[start:]))
        only_finally = r.random() < 0.12
        for i in range(0 if only_finally else r.choice((1, 1, 1, 2))):
            caught = r.choice(CAUGHT)
            bare = r.random() < 0.1
            named = not bare and r.random() < 0.35
            name = self.fresh("error")
            self.emit("except:" if bare else f"except {caught}{f' as {name}' if named else ''}:", level)
            size = len(self.lines)
            if named and has_text and r.random() < 0.6:
                self.emit(r.choice((f"print({name})", f"print('caught', {name})", f"print(str({name}))", f"print(f'caught {{{name}}}')")), level + 1)
            choice = r.random()
            if choice < 0.1:
                self.emit("raise", level + 1)
            elif choice < 0.18:
                self.emit(self.raise_text() + (f" from {name}" if named and r.random() < 0.5 else ""), level + 1)
            elif choice < 0.26 and self.loops:
                self.emit(r.choice(("break", "continue")), level + 1)
            elif choice < 0.34 and self.result is not None:
                self.left = True
                self.emit(f"return {self.like(shape(self.env['r']), 1) or 'r'}", level + 1)
            elif choice < 0.8 or len(self.lines) == size:
                self.block(level + 1, 1)
            if bare:
                break
        if not only_finally and r.random() < 0.25:
            self.emit("else:", level)
            self.block(level + 1, 1)
        if only_finally or r.random() < 0.3:
            self.emit("finally:", level)
            self.block(level + 1, 1)
            if r.random() < 0.05 and self.result is not None:
                self.left = True
                self.emit("return r", level + 1)
        self.env = before

    def match(self, level: int) -> None:
        r = self.rng
        ints = self.names(lambda v: type(v) is int)
        choice = r.random()
        before = dict(self.env)
        name = self.fresh("k")
        if choice < 0.45:
            subject = f"{r.choice(ints)} % 3" if ints and r.random() < 0.7 else self.scalar(1)
            cases = [("0", {}), ("1 | 2", {}), (f"-1 | {r.randint(0, 4)}", {}), ("True", {}), ("2.0", {})]
            cases = r.sample(cases, r.randint(1, 2))
            capture = (name, {name: self.value(subject)})
        elif choice < 0.65:
            subject = self.scalar(1)
            cases = [("int()", {}), ("float() | bool()", {}), ("bool()", {}), ("None", {}), (f"int() as {name}", {})]
            cases = r.sample(cases, r.randint(1, 2))
            capture = ("_", {})
        else:
            boxes = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple))]
            if boxes and r.random() < 0.4:
                subject = r.choice(boxes)
                cases = [(f"[{name}]", {}), (f"[{name}, *_]", {}), ("[_, _]", {}), ("[_, 1]", {}), ("[]", {})]
                cases = r.sample(cases, r.randint(1, 2))
                capture = ("_", {})
            else:
                a, b = self.scalar(1), self.scalar(1)
                subject = f"({a}, {b})"
                cases = [(f"(0, {name})", {name: self.value(b)}), (f"({name}, 0 | 1)", {name: self.value(a)}), ("(_, 2)", {})]
                cases = r.sample(cases, r.randint(1, 2))
                capture = (f"({name}, _)", {name: self.value(a)}) if all("k" not in c for c, _ in cases) else ("_", {})
        self.emit(f"match {subject}:", level)
        if r.random() < 0.8:
            cases.append(capture)
        for number, (pattern, names) in enumerate(cases):
            self.env = {**before, **names}
            guard = f" if {self.condition(1)}" if r.random() < 0.25 and number < len(cases) - 1 else ""
            self.emit(f"case {pattern}{guard}:", level + 1)
            if r.random() < 0.15 and self.loops:
                self.emit(r.choice(("break", "continue")), level + 2)
            else:
                self.block(level + 2, 1)
        self.env = before

    def silent(self, level: int) -> None:
        self.emit("with np.errstate(all='ignore'):", level)
        self.block(level + 1, self.rng.randint(1, 2))

    def optional(self, level: int) -> None:
        """A name that is None on one path."""
        scalars = self.names(is_scalar)
        if not scalars:
            return
        name, other = self.fresh("o"), self.rng.choice(scalars)
        new = self.fresh("v")
        self.emit(f"{name} = None", level)
        self.emit(f"if {self.condition(1)}:", level)
        self.emit(f"{name} = {other}", level + 1)
        test = f"{name} if {name} is not None else {other}" if self.rng.random() < 0.5 else f"{other} if {name} is None else {name}"
        self.emit(f"{new} = {test}", level)
        self.env[new] = self.env[other]

    def chained(self, level: int) -> None:
        r = self.rng
        text = self.scalar(2)
        a, b = self.fresh("v"), self.fresh("v")
        value = self.value(text)
        kind = type(value).__name__
        if r.random() < 0.4 and kind in ("int", "float", "bool"):
            self.emit(f"{a}: {kind} = {text}", level)
        else:
            self.emit(f"{a} = {b} = {text}", level)
            self.env[b] = value
        self.env[a] = value

    def unpack(self, level: int) -> None:
        r = self.rng
        a, b, rest = self.fresh("v"), self.fresh("v"), self.fresh("l")
        first, second, third = self.scalar(1), self.scalar(1), self.scalar(1)
        boxes = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple)) and v]
        text = r.choice(
            (
                f"{a}, {b} = {first}, {second}",
                f"{a}, *{rest} = {first}, {second}, {third}",
                f"*{rest}, {a} = [{first}, {second}]",
                f"({a}, *{rest}), {b} = ({first}, {second}), {third}",
                f"{a}, {b} = divmod({first}, {second})",
                f"{a}, *{rest} = {r.choice(boxes)}" if boxes else f"[{a}, {b}] = [{first}, {second}]",
            )
        )
        after = self.execute(text)
        if after is None:
            return
        self.emit(text, level)
        self.learn(after, (a, b, rest))

    def learn(self, after: dict, names) -> None:
        """Takes up what a statement has bound."""
        for name in names:
            if name in after:
                value = after[name]
                (self.boxes if isinstance(value, CONTAINERS) else self.env)[name] = value

    def element_swap(self, level: int) -> None:
        r = self.rng
        places = [f"{n}[{r.randint(-1, 1)}]" for n in self.names(is_array) if self.env[n].ndim == 1]
        if not places:
            return
        a, b = r.choice(places), r.choice(places)
        text = f"{a}, {b} = {b}, {a}"
        if self.execute(text) is not None:
            self.emit(text, level)

    def idiom(self, level: int) -> None:
        """Functions in lists, and arguments that are gathered or spread."""
        r = self.rng
        name, function, a = self.fresh("v"), self.fresh("h"), self.scalar(1)
        same = self.alike(1)
        spread = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple)) and v and all(map(is_scalar, v))]
        named = [n for n, v in self.boxes.items() if isinstance(v, dict) and v and all(isinstance(k, str) for k in v)]
        lines = r.choice(
            (
                (f"{function} = [lambda i=i: i * {a} for i in range(3)]", f"{name} = {function}[0]() + {function}[{r.choice('12')}]()"),
                (f"{function} = [lambda: i * {a} for i in range(3)]", f"{name} = {function}[{r.choice('012')}]()"),
                (f"def {function}(*a, k=1):", "    return sum(a) * k", f"{name} = {function}({same}{r.choice(('', ', k=2', f', k={a}'))})"),
                (f"def {function}(a, *b):", "    return a if not b else b[-1]", f"{name} = {function}(*{r.choice(spread) if spread else f'({same})'})"),
                (f"def {function}(**k):", "    return sum(k.values()) + len(k)", f"{name} = {function}(a={a}, **{{'b': {self.scalar(0)}}})"),
                (f"def {function}(a=1, **k):", "    return a", f"{name} = {function}(**{r.choice(named) if named else f'dict(a={a})'})"),
                (f"{name} = (lambda f: f({a}))(lambda a: {self.scalar(0)})",),
            )
        )  # fmt: skip
        after = self.execute("\n".join(lines))
        if after is not None and is_scalar(after[name]):
            for line in lines:
                self.emit(line, level)
            self.env[name] = after[name]

    def countdown(self, level: int) -> None:
        """A loop whose test binds its counter."""
        r = self.rng
        counter = self.fresh("j")
        self.emit(f"{counter} = {r.randint(2, 4)}", level)
        self.emit(f"while ({counter} := {counter} - 1) {r.choice(('> 0', '!= 0', '>= 1'))}:", level)
        before, frozen = dict(self.env), set(self.frozen)
        self.env[counter] = 1
        self.frozen.add(counter)
        self.loops += 1
        self.block(level + 1, r.randint(1, 2))
        self.loops -= 1
        self.env, self.frozen = {**before, counter: 0}, frozen
        if r.random() < 0.25:
            self.emit("else:", level)
            self.block(level + 1, 1)

    # Containers.

    def make_box(self, level: int) -> None:
        r = self.rng
        for _ in range(4):
            kind = r.choice("lllddt")
            name = self.fresh(kind)
            a, b = self.scalar(1), self.scalar(1)
            same = self.alike(1)
            array = self.pick(is_array, "np.ones(3)") if r.random() < 0.25 else b
            others = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple))]
            other = r.choice(others) if others else f"[{same}]"
            if kind == "l":
                text = r.choice(
                    (
                        f"[{same}]", f"[{same}, {same}]", f"[{a}, {array}]", f"[{a}] * 3", "list(range(3))", f"[*{other}, {a}]",
                        f"[{self.comprehension(2, True)}]", f"[{self.comprehension(2, True)}]", f"list({other})", f"{other}[1:]",
                        f"{other}[::-1]", f"[{a}] + [{same}]", "sorted([3, 1, 2])", f"[[{a}, {b}], [{same}]]", f"[({a}, {b})]",
                        f"list({self.comprehension(2, True)})", other, other,
                    )
                )  # fmt: skip
            elif kind == "d":
                dicts = [n for n, v in self.boxes.items() if isinstance(v, dict)]
                more = f"{{**{r.choice(dicts)}, 'c': {a}}}" if dicts else f"dict(a={a}, b={b})"
                text = r.choice(
                    (
                        f"{{'a': {a}, 'b': {array}}}", f"{{0: {a}, 1: {a}}}", f"dict(a={a})", more,
                        f"{{k: {a} for k in ('a', 'b')}}", f"{{i: i * {self.scalar(0)} for i in range(2)}}",
                    )
                )  # fmt: skip
            else:
                text = r.choice((f"({a}, {array})", f"tuple({other})", f"({a},)", f"tuple({self.comprehension(2, True)})"))
            if len(text) > 150:
                continue
            after = self.execute(f"{name} = {text}")
            if after is not None:
                self.emit(f"{name} = {text}", level)
                self.boxes[name] = after[name]
                return

    def change_box(self, level: int) -> None:
        r = self.rng
        boxes = [n for n, v in self.boxes.items() if not isinstance(v, tuple)]
        own = [n for n in boxes if n not in self.fixed]
        if not boxes or (not own and r.random() < 0.4):
            return self.make_box(level)
        if own and r.random() < 0.7:
            boxes = own
        for _ in range(6):
            name = r.choice(boxes)
            text = self.item_store(name) if name in self.fixed or r.random() < 0.2 else self.structural(name)
            may_change = [n for n in self.boxes if n not in self.fixed]
            new = text.split(" = ")[0] if text[0] == "v" else None
            after = self.execute(text, may_change)
            if after is None or len(text) > 150:
                continue
            self.emit(text, level)
            self.boxes = {n: after[n] for n in self.boxes}
            if new:
                self.learn(after, (new,))
            return None
        return None

    def item_store(self, name: str) -> str:
        r = self.rng
        value = self.boxes[name]
        if isinstance(value, dict):
            place = f"{name}[{r.choice(list(value))!r}]" if value else f"{name}['a']"
        elif len({shape(e) for e in value}) == 1 and r.random() < 0.5:
            place = f"{name}[{self.integer()}]"
        else:
            place = f"{name}[{r.randint(-1, max(len(value) - 1, 0))}]"
        inner = r.choice(list(value.values()) if isinstance(value, dict) else value) if value else None
        if is_array(inner) and r.random() < 0.7:
            place += f"[{r.choice((self.integer(), self.slice()))}]"
        elif isinstance(inner, (list, tuple)):
            place += f"[{self.integer()}]"
        return f"{place} {r.choice(('=', '=', '+=', '-='))} {self.array(1) if r.random() < 0.15 else self.scalar(1)}"

    def structural(self, name: str) -> str:
        r = self.rng
        a = self.scalar(1)
        new = self.fresh("v")
        if isinstance(self.boxes[name], dict):
            key = repr(r.choice(list(self.boxes[name]) or ["a"]))
            return r.choice(
                (
                    f"{name}['{r.choice('abc')}'] = {a}", f"{new} = {name}.pop({key})", f"{name}.update(b={a})", f"del {name}[{key}]",
                    f"{new} = {name}.setdefault('{r.choice('ae')}', {a})", f"{new} = {name}.pop('none', {a})", f"{name}.update({{'e': {a}}})",
                )
            )  # fmt: skip
        return r.choice(
            (
                f"{name}.append({a})", f"{name}.append({a})", f"{name}.insert({r.randint(-2, 2)}, {a})", f"{new} = {name}.pop()",
                f"{new} = {name}.pop(0)", f"{name}.extend(({a}, 2))", f"{name} += [{a}]", f"del {name}[{r.choice(('0', '-1', '1:', ':1', '::2'))}]",
                f"{name}.remove({name}[0])", f"{name}.reverse()", f"{name}.reverse()", f"{name}[1:] = [{a}, {a}]", f"{name}.insert(0, {name}.pop())", f"{name}.remove({self.scalar(0)})",
                f"{name}[0], {name}[-1] = {name}[-1], {name}[0]",
            )
        )  # fmt: skip

    def box_loop(self, level: int) -> None:
        """A loop over a container, a reversed range, or numbers written down."""
        r = self.rng
        before, frozen = dict(self.env), set(self.frozen)
        element, index, key = self.fresh("e"), self.fresh("i"), self.fresh("key")
        dicts = [n for n, v in self.boxes.items() if isinstance(v, dict) and len({shape(e) for e in v.values()}) == 1]
        lists = [n for n, v in self.boxes.items() if isinstance(v, (list, tuple)) and len({shape(e) for e in v}) == 1]
        choice = r.random()
        if dicts and choice < 0.5:
            name = r.choice(dicts)
            value = next(iter(self.boxes[name].values()))
            items = f"{key}, {element} in {name}.items()"
            head = r.choice((items, items, f"{element} in {name}.values()"))
        elif lists and choice < 0.8:
            name = r.choice(lists)
            value = self.boxes[name][0]
            head = r.choice((f"{element} in {name}", f"{index}, {element} in enumerate({name})", f"{element} in reversed({name})"))
        else:
            value = 1
            lines = self.names(lambda v: is_array(v) and v.ndim == 1)
            head = f"{element} in {r.choice(('(1, 2)', 'reversed(range(3))', '[0, 2, 1]', 'reversed((1, 2))'))}"
            if lines and r.random() < 0.3:
                name = r.choice(lines)
                head, value = f"{element} in reversed({name})", self.env[name][0]
                self.frozen.add(name)
        self.emit(f"for {head}:", level)
        if not isinstance(value, CONTAINERS):
            self.env[element] = value
        if "enumerate" in head:
            self.env[index] = 1
        self.frozen |= {element, index}
        self.loops += 1
        self.block(level + 1, r.randint(1, 2))
        self.loops -= 1
        self.env, self.frozen = before, frozen
        if r.random() < 0.15:
            self.emit("else:", level)
            self.block(level + 1, 1)

    def growing(self, level: int) -> None:
        """A list that grows in a loop, and what is asked of it."""
        r = self.rng
        before = dict(self.env)
        name, value, element, index = self.fresh("g"), self.fresh("v"), self.fresh("e"), self.fresh("i")
        lines = self.names(lambda v: is_array(v) and v.ndim == 1)
        self.env[index] = 1
        head = f"for {index} in range({r.choice(('4', '0', '11', '3'))}):"
        if lines and r.random() < 0.6:
            array = r.choice(lines)
            self.env[element] = self.env[array][0]
            head = f"for {index}, {element} in enumerate({array}):"
        one, other, condition = self.scalar(1), r.choice((index, self.scalar(0))), self.condition(1)
        self.env = before
        pair = r.random() < 0.25
        item = f"({one}, {other})" if pair else one
        step = r.choice((f"{name}.append({item})", f"{name}.append({item})", f"{name} += [{item}]", f"{name}.extend([{item}])", f"{name}.insert({r.choice(('0', '1', '-1'))}, {item})"))
        body = r.choice(
            (
                (f"    {step}",),
                (f"    if {condition}:", f"        {step}"),
                (f"    if {condition}:", f"        {step}", f"    elif {name}:", f"        {name}.pop({r.choice(('', '0', '-1'))})"),
                (f"    if len({name}) < 3:", f"        {step}", "    else:", f"        {name}[{r.choice('012')}] = {item}"),
                (f"    {step}", f"    if {condition}:", "        break"),
            )
        )  # fmt: skip
        part = f"{name}[{r.choice(('0', '-1', '1'))}]{'[1]' if pair else ''}"
        asked = r.choice((f"len({name})", f"{part} if len({name}) > 1 else {part}", f"len({name}[:2]) == len({name}[-2:])", f"len({name}[::-1] + {name})", f"{name}.count({item if not pair else '(1, 2)'})"))
        if not pair:
            asked = r.choice((asked, asked, f"{one} in {name}", f"max({name} + [{one}])"))
        after = r.choice(((), (), (f"print({name})",), (f"{name}.reverse()",), (f"print({name}, sorted({name}))",) if not pair else (), (f"{name} = [{'a' if pair else 'a, 1'} for a in {name}]",) if pair else ()))
        text = [f"{name} = []", head, *body, *after, f"{value} = {asked}"]
        found = self.execute("\n".join(text))
        if found is not None and is_scalar(found.get(value)):
            for line in text:
                self.emit(line, level)
            self.env[value] = found[value]

    # Inner functions.

    def inner_function(self, level: int) -> None:
        r = self.rng
        if self.lambdas or len(self.functions) > 2:
            return
        name = self.fresh("h")
        kinds = [r.choice((("int",), ("float",), self.kind()))]
        while kinds[0][0] in ("list", "tuple", "dict"):
            kinds = [self.kind()]
        first, second = self.fresh("a"), self.fresh("b")
        defaults = {}
        parameters = first
        if r.random() < 0.5:
            kinds.append(r.choice((("int",), ("float",))))
            defaults = {second: "2" if kinds[1] == ("int",) else "0.5"}
            parameters += f", {'*, ' if r.random() < 0.2 else ''}{second}={defaults[second]}"
        lines, self.lines = self.lines, []
        state = self.env, self.boxes, self.frozen, self.loops, self.result, self.left
        self.env = {**self.env, **{n: arguments.exemplar(k) for n, k in zip((first, second), kinds)}}
        self.frozen = set(self.env)
        self.loops, self.result = 0, None
        changed = [n for n, v in state[0].items() if n not in state[2] and is_scalar(v) and "." not in n]
        if r.random() < 0.25:
            self.lambdas += 1
            self.emit(f"{name} = lambda {parameters}: {self.any(2)}", 0)
            self.lambdas -= 1
        else:
            self.emit(f"def {name}({parameters}):", 0)
            if changed and r.random() < 0.4:
                target = r.choice(changed)
                self.emit(f"nonlocal {target}", 1)
                self.emit(f"{target} = {self.like(shape(self.env[target]), 1) or target}", 1)
            elif r.random() < 0.4:
                self.fixed, fixed = self.fixed | set(self.boxes), self.fixed
                self.block(1, 1)
                self.fixed = fixed
            text = self.any(2)
            if r.random() < 0.25:
                other = self.like(shape(self.value(text)), 1)
                if other:
                    self.emit(f"if {self.condition(1)}:", 1)
                    self.emit(f"return {other}", 2)
            self.emit(f"return {text}", 1)
        own, self.lines = self.lines, lines
        self.env, self.boxes, self.frozen, self.loops, self.result, self.left = state
        function = self.defined(name, own)
        if function is None:
            return
        for line in own:
            self.emit(line, level)
        self.functions[name] = function
        self.helpers.append((name, kinds, [first, second][: len(kinds)], set(defaults), "*" in parameters))
        size = len(self.lines)
        self.assign_call(name, level)
        if len(self.lines) == size:
            self.emit("pass", level)

    def assign_call(self, name: str, level: int) -> None:
        helper = next(h for h in self.helpers if h[0] == name)
        text = self.call_of(helper, 2)
        new = self.fresh("v")
        after = self.execute(f"{new} = {text}")
        if after is not None and new in after and (is_scalar(after[new]) or is_array(after[new])):
            self.emit(f"{new} = {text}", level)
            self.env[new] = after[new]
