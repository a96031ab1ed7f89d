"""The parts of random programs that are about arrays as NumPy has them: views and writes through them, overlap, masks,
integer arrays as indices, broadcasting, reductions along axes, stencils. A mixin of the generator."""

import numpy as np

from .language import Language, is_array, is_scalar

EXACT = "biu"


class Arrays(Language):
    """Needs what Language needs."""

    def array_statements(self, deep: bool) -> list:
        simple = [
            (self.overlapping, 1.5), (self.masked, 1.5), (self.at_indices, 1.5), (self.view, 1.5), (self.part_of_axes, 2),
            (self.in_place, 0.7), (self.late, 1.2),
        ]  # fmt: skip
        return (
            simple if deep else [*simple, (self.stencil, 4), (self.triangle, 2), (self.guarded, 2), (self.counted, 1), (self.running, 2), (self.one_of_two, 1)]
        )

    def lines_of(self) -> list[str]:
        """Those of which the stand-ins have elements, so that the types which loops over them make are seen."""
        return self.names(lambda v: is_array(v) and v.ndim == 1 and v.size > 1)

    def tables(self) -> list[str]:
        return self.names(lambda v: is_array(v) and v.ndim == 2 and v.size > 1)

    def operator(self) -> str:
        return self.rng.choice(("=", "=", "+=", "-=", "*=", "+="))

    def write(self, text: str, level: int) -> bool:
        if len(text) > 170 or self.execute(text) is None:
            return False
        self.emit(text, level)
        return True

    # Statements.

    def overlapping(self, level: int) -> None:
        """Part of an array becomes another part of it."""
        r = self.rng
        arrays = self.names(is_array)
        for _ in range(4):
            if not arrays:
                return
            name = r.choice(arrays)
            if self.env[name].ndim == 1:
                to, other = r.choice(
                    (("1:", ":-1"), (":-1", "1:"), ("2:", ":-2"), (":", "::-1"), ("::-1", ":"), ("1:-1", "2:"), ("::2", "::-2"), ("1:-1", ":-2"))
                )
            else:
                to, other = r.choice(
                    (
                        ("1:", ":-1"),
                        (":-1", "1:"),
                        (":, 1:", ":, :-1"),
                        (":, :-1", ":, 1:"),
                        (":", "::-1"),
                        (":, ::-1", ":"),
                        ("1:, 1:", ":-1, :-1"),
                        ("0", "-1"),
                        (":, 0", ":, -1"),
                    )
                )
            source = f"{name}[{other}]"
            if r.random() < 0.5:
                source = f"{source} {r.choice('+-*')} {r.choice((f'{name}[{to}]', self.scalar(0)))}"
            if self.write(f"{name}[{to}] {self.operator()} {source}", level):
                return

    def mask_of(self, name: str) -> str:
        r = self.rng
        compared = f"{name} {r.choice(('<', '>', '>=', '==', '!='))} {self.scalar(0)}"
        return r.choice((compared, compared, f"({compared}) & ({name} != 1)", f"~({compared})", f"({compared}) | ({name} == 0)"))

    def masked(self, level: int) -> None:
        r = self.rng
        arrays = self.names(is_array)
        for _ in range(4):
            if not arrays:
                return
            name = r.choice(arrays)
            mask, new = self.mask_of(name), self.fresh("v")
            held = self.fresh("v")
            first = r.random() < 0.4
            index = held if first else mask
            choice = r.random()
            if choice < 0.35:
                text = f"{name}[{index}] {self.operator()} {self.scalar(1)}"
            elif choice < 0.6:
                text = f"{name}[{index}] {self.operator()} {name}[{index}] {r.choice('+-*')} {self.scalar(0)}"
            elif choice < 0.7:
                text = f"{new} = np.sum({name}, where={index})"
            elif choice < 0.8:
                text = f"{new} = {name}[{index}].{r.choice(('sum', 'min', 'max', 'mean'))}()"
            elif choice < 0.9:
                text = f"{new} = np.where({index}, {name}, {self.scalar(1)})"
            else:
                text = f"{new} = np.nonzero({index})[0]"
            lines = [f"{held} = {mask}", text] if first else [text]
            after = self.execute("\n".join(lines))
            if after is None or any(len(line) > 170 for line in lines):
                continue
            for line in lines:
                self.emit(line, level)
            if new in after:
                self.env[new] = after[new]
            if first:
                self.env[held] = after[held]
            return

    def indices(self, length: int | None) -> str:
        r = self.rng
        lines = self.lines_of()
        whole = [n for n in lines if self.env[n].dtype.kind in "iu"]
        texts = ["[0, -1]", "[1, 0, 1]", "np.array([0, 2, 1])", "np.array([1, 1, 0])", "[0]", "np.arange(3)[::-1]"]
        texts += [f"np.argsort({n}, kind='stable')" for n in lines] * 2
        texts += [f"{n} % 2" for n in whole] * 2
        return r.choice(texts)

    def at_indices(self, level: int) -> None:
        r = self.rng
        arrays = self.names(is_array)
        for _ in range(5):
            if not arrays:
                return
            name = r.choice(arrays)
            new, at = self.fresh("v"), self.indices(None)
            if self.env[name].ndim == 2:
                index = r.choice((at, f":, {at}", f"{at}, {self.integer()}", "[0, 1], [2, 0]", f"{self.slice()}, {at}", f"np.array([[0], [1]]), {at}"))
            else:
                index = at
            choice = r.random()
            # No arrays where both the index and the shape may be wrong: NumPy then reports the shape, Ingot the index.
            values = [self.scalar(1), f"{name}[{index}]", f"{name}[{index}] * 2"]
            if at == f"np.argsort({name}, kind='stable')" and index == at:
                values = [f"{name}[::-1]", f"{name} - 1", f"{name}[::-1] + {name}"]
            if choice < 0.4:
                text = f"{name}[{index}] {self.operator()} {r.choice(values)}"
            elif choice < 0.7:
                text = f"{new} = {name}[{index}]"
            elif choice < 0.85:
                text = f"{new} = np.take({name}, {at}, axis={r.choice(('0', '-1'))})"
            else:
                text = f"{new} = {name}.copy(); np.add.at({new}, {index}, {self.scalar(0)})"  # NumPy writes read-only arrays here
            after = self.execute(text)
            if after is None or len(text) > 170:
                continue
            self.emit(text, level)
            if new in after and (is_array(after[new]) or is_scalar(after[new])):
                self.env[new] = after[new]
            return

    def view(self, level: int) -> None:
        """A view that is kept, written through, and read again."""
        r = self.rng
        arrays = self.names(is_array)
        if not arrays:
            return
        name, new = r.choice(arrays), self.fresh("v")
        part = r.choice(
            (
                f"{name}[{self.slice()}]",
                f"{name}[::-1]",
                f"{name}.T",
                f"{name}.reshape(-1)",
                f"{name}[1:]",
                f"{name}[None]",
                f"{name}[..., ::2]",
                f"np.flip({name})",
            )
        )
        if self.env[name].ndim == 2:
            part = r.choice((part, f"{name}[{self.integer()}]", f"{name}[:, {self.integer()}]", f"{name}[:, ::-1]", f"{name}.T[1:]", f"{name}.swapaxes(0, 1)"))
        after = self.execute(f"{new} = {part}")
        if after is None or not is_array(after[new]) or after[new].size > 100:
            return
        self.emit(f"{new} = {part}", level)
        self.env[new] = after[new]
        if r.random() < 0.6:
            target = r.choice((new, name))
            self.write(f"{target}[{r.choice((':', '...', '0', '-1', '1:', '::2'))}] {self.operator()} {self.scalar(1)}", level)

    def part_of_axes(self, level: int) -> None:
        """Reductions along axes, and what is broadcast."""
        r = self.rng
        new = self.fresh("v")
        lines, tables = self.lines_of(), self.tables()
        texts = []
        if lines:
            a, b = r.choice(lines), r.choice(lines)
            texts += [f"{a}[:, None] {r.choice('+-*')} {b}[None, :]", f"{a}[None, :] {r.choice(('<', '=='))} {b}[:, None]", f"np.concatenate(({a}, {b}[::-1]))",
                      f"np.diff({a})", f"np.roll({a}, {self.integer()})", f"np.repeat({a}, 2)", f"({a}[:, None] - {b}).sum(axis={r.choice('01')})", f"np.tile({a}, 2)",
                      f"np.stack(({a}, {b}))", f"np.broadcast_to({a}, (2, len({a})))", f"np.concatenate(({a}[1:], {a}[:1] + {self.scalar(0)}))"]  # fmt: skip
            if self.env[a].dtype.kind in EXACT:
                texts += [f"np.sort({a})", f"np.unique({a})", f"np.sort({a})[::-1]"]
        if tables:
            a, name = r.choice(tables), r.choice(("sum", "min", "max", "mean", "any", "all", "sum"))
            axis = r.choice(("0", "1", "-1"))
            texts += [f"np.{name}({a}, axis={axis}, keepdims=True)", f"{a} {r.choice('+-*')} {a}.{name}(axis={axis}, keepdims=True)", f"{a}.{name}(axis={axis}) {r.choice('+-')} {self.scalar(0)}",
                      f"{a} {r.choice('+-*')} {a}[:, :1]", f"{a} {r.choice('+-*')} {a}[0]", f"np.cumsum({a}, axis={axis})", f"({a} * 2).T", f"({a} + 1)[:, ::-1]", f"({a} - 1)[::-1, 1:]", f"({a} * {a}).{name}(axis={axis})",
                      f"np.concatenate(({a}, {a}[::-1]), axis={axis})", f"{a}.T {r.choice('+-')} {a}.T[:1]", f"np.sum({a}, axis={axis}, where={self.mask_of(a)})"]  # fmt: skip
        for _ in range(4):
            if not texts:
                return
            text = r.choice(texts)
            after = self.execute(f"{new} = {text}")
            if after is not None and (is_scalar(after[new]) or is_array(after[new]) and after[new].size <= 100) and len(text) < 160:
                self.emit(f"{new} = {text}", level)
                self.env[new] = after[new]
                return

    def in_place(self, level: int) -> None:
        """What is written into `out`; the oracle does not know complex ones."""
        r = self.rng
        arrays = self.names(lambda v: is_array(v) and v.dtype.kind != "c")
        if not arrays:
            return
        name = r.choice(arrays)
        function = r.choice(("add", "subtract", "multiply", "negative", "sqrt", "copysign", "floor_divide"))
        part = r.choice((name, name, f"{name}[1:]", f"{name}[::-1]"))
        other = r.choice((name, part, f"{name}[:-1]", self.scalar(0)))
        operands = part if function in ("negative", "sqrt") else f"{part}, {other}"
        mask = f", where={part} > 0" if r.random() < 0.3 else ""
        self.write(f"np.{function}({operands}, out={r.choice((part, name))}{mask})", level)

    def late(self, level: int) -> None:
        """An array is computed, what it was made of changes, and then it is used."""
        r = self.rng
        arrays = [n for n in self.names(is_array) if n not in self.frozen and "." not in n]
        if not arrays:
            return
        name, new = r.choice(arrays), self.fresh("v")
        text = r.choice((f"{name} {r.choice('+-*')} {self.scalar(0)}", f"-{name}", f"{name}[::-1] + {name}", f"{name} * {name}"))
        after = self.execute(f"{new} = {text}")
        if after is None or not is_array(after[new]) or after[new].size > 100:
            return
        change = f"{name}[{r.choice((':', '0', '-1', '1:', '::2'))}] {self.operator()} {self.scalar(1)}"
        if self.execute(change) is None:
            return
        self.emit(f"{new} = {text}", level)
        self.env[new] = after[new]
        self.emit(change, level)
        if r.random() < 0.7:
            self.write(r.choice((f"{new}[{self.slice()}] {self.operator()} {name}[0]", f"{new} += {new}", f"{name}[:] = {new}", f"print({new})")), level)

    # Loops.

    def stencil(self, level: int) -> None:
        """A loop whose elements are made of their neighbours, or of those of another array."""
        lines = self.lines_of()
        for _ in range(5 if lines else 0):
            text = self.stencil_over(lines)
            if self.execute(text) is None:
                continue
            for line in text.split("\n"):
                self.emit(line, level)
            return

    def stencil_over(self, lines: list[str]) -> str:
        r = self.rng
        name, other, index = r.choice(lines), r.choice(lines), self.fresh("i")
        head, low, high = r.choice(
            (
                (f"range(1, len({name}))", -1, 0), (f"range(len({name}) - 1)", 0, 1), (f"range(1, len({name}) - 1)", -1, 1),
                (f"range(len({name}) - 1, 0, -1)", -1, 0), (f"range(2, len({name}))", -2, 0), (f"range(len({name}) // 2)", 0, 0),
                (f"range(len({name}))", 0, 0), (f"range(0, len({name}), 2)", 0, 0), (f"range(len({name}))", -1, 0),
            )
        )  # fmt: skip

        def at(array: str) -> str:
            offset = r.randint(low, high)
            turned = r.choice((f"{index} % 3", f"-1 - {index}", f"len({array}) - 1 - {index}", f"{index} // 2", f"min({index}, 2)"))
            plain = index if offset == 0 else f"{index} {'-' if offset < 0 else '+'} {abs(offset)}"
            return f"{array}[{turned if r.random() < 0.2 else plain}]"

        place = index if r.random() < 0.8 else r.choice((f"{index} // 2", f"{index} % 2", f"len({name}) - 1 - {index}"))
        before = self.env
        self.env = {**before, index: 1}
        step = f"{name}[{place}] {self.operator()} {at(name)} {r.choice('+-*')} {r.choice((at(other), at(name), self.scalar(1)))}"
        condition = self.condition(1) if r.random() < 0.5 else f"{at(other)} {r.choice(('<', '>', '=='))} {self.scalar(0)}"
        self.env = before
        body = [f"    {step}"]
        if r.random() < 0.4:
            body = [f"    if {condition}:", f"        {step}"]
            if r.random() < 0.5:
                body += ["    else:", f"        {name}[{place}] = {r.choice((at(name), at(other)))}"]
            if r.random() < 0.3:
                body.insert(1, f"        if {at(other)} > {self.scalar(0)}:\n            {name}[{index}] {self.operator()} {self.scalar(0)}")
        if r.random() < 0.12:
            body.insert(0, f"    if {at(other)} == {r.choice(('3', '7', '6'))}:\n        {r.choice(('break', 'continue', self.raise_text()))}")
        return "\n".join([f"for {index} in {head}:", *body])

    def running(self, level: int) -> None:
        """A number that goes from iteration to iteration."""
        r = self.rng
        lines = self.lines_of()
        if not lines:
            return
        name, other, index, value = r.choice(lines), r.choice(lines), self.fresh("i"), self.fresh("v")
        element = f"{name}[{index}]"
        step = r.choice(
            (
                f"{value} += {element}", f"{value} = {element} - {value}", f"{value} -= {element}", f"{value} = {value} * 2 + {element}",
                f"{value} *= {element}", f"{value} = {value} ^ {element}", f"{value} = {value} & {element}", f"{value} = max({value}, len({name}) - {index})",
                f"{value} = {element} if {element} {r.choice(('<', '>', '>='))} {value} else {value}", f"{value} += 1", f"{value} = {value} or {element} > 2",
            )
        )  # fmt: skip
        body = [f"    {step}"]
        if r.random() < 0.35:
            body = [f"    if {r.choice((f'{element} > {self.scalar(0)}', f'{value} < {element}', f'{other}[{index}] != 1'))}:", f"        {step}"]
        if r.random() < 0.25:
            body.insert(0, f"    {other}[{index}] {r.choice(('=', '+='))} {value}")
        body += r.choice(
            (
                [],
                [],
                [f"    {other}[{index}] = {value}"],
                [f"    {other}[{index}] {r.choice(('+=', '-='))} {value}"],
                [f"    if {value} > 5:", f"        {value} = {element}"],
            )
        )
        self.settled(value, r.choice(("0", "1", "0.5", "True", "7")), [f"for {index} in range(len({name})):", *body], level)

    def one_of_two(self, level: int) -> None:
        """A name that is one of two arrays, or views of one, and what is written through it."""
        r = self.rng
        lines = self.lines_of()
        if not lines:
            return
        name, made, new, value = r.choice(lines), self.fresh("v"), self.fresh("v"), self.fresh("v")
        first = r.choice((f"{made}[1:]", f"{made}[::-1]", f"{made}", f"{name}[1:]"))
        text = [f"{made} = {name} {r.choice('+-*')} {self.scalar(0)}", f"{new} = {first}", f"if {self.condition(1)}:", f"    {new} = {made}[:-1]"]
        text += [
            f"{new}[{r.choice((':', '0', '-1', '1:'))}] {self.operator()} {r.choice((self.scalar(0), f'{made}[0]', f'{new}[::-1]'))}",
            f"{value} = {made}[{r.choice(('0', '-1', '1'))}]",
        ]
        self.fragment(text, level, [value, made])

    def triangle(self, level: int) -> None:
        """A loop in a loop, of as many iterations as the outer one's number, or a product of matrices by hand."""
        r = self.rng
        lines, tables = self.lines_of(), self.tables()
        i, k, value = self.fresh("i"), self.fresh("i"), self.fresh("v")
        if not lines:
            return
        name, other = r.choice(lines), r.choice(lines)
        bound = r.choice((i, f"{i} + 1", f"len({other})", f"{i} % 3"))
        text = [f"for {i} in range(len({name})):", f"    for {k} in range({bound}):"]
        element = r.choice((f"{other}[{k}]", f"{name}[{i}]", f"{other}[{k} - 1]", f"{name}[{i} - {k}]"))
        if r.random() < 0.5:
            text.append(f"        {name}[{i}] {r.choice(('+=', '-='))} {element}")
            if r.random() < 0.4:
                text += [f"        if {other}[{k}] > {self.scalar(0)}:", "            break"]
        else:
            text += [f"        if {element} > {self.scalar(0)}:", f"            {value} += {r.choice((k, element))}"]
        if tables and r.random() < 0.4:
            table = r.choice(tables)
            first, second = r.choice(((i, k), (i, i), (k, i), ("0", k), (i, f"{k} - 1")))
            text = [
                f"for {i} in range({table}.shape[0]):",
                f"    for {k} in range({table}.shape[1]):",
                f"        {table}[{i}, {k}] {self.operator()} {table}[{first}, {second}] {r.choice('+-')} {self.scalar(0)}",
            ]
            if r.random() < 0.4:
                other = r.choice((i, i, f"-1 - {i}", f"{table}.shape[1] - 1 - {i}"))
                text = [f"for {i} in range(min({table}.shape)):", f"    {table}[{i}, {other}] {self.operator()} {table}[{i}, {i}] {r.choice('+-')} {name}[0]"]
        self.settled(value, r.choice(("0", "0.5")), text, level)

    def guarded(self, level: int) -> None:
        """A loop that reads what its iterations have written, with indices that arrays hold."""
        r = self.rng
        lines = self.lines_of()
        whole = [n for n in lines if self.env[n].dtype.kind in "iu" or self.env[n].dtype == np.bool_]
        if not whole:
            return
        at, name, index, value = r.choice(whole), r.choice(lines), self.fresh("i"), self.fresh("v")
        held = f"{at}[{index}]"
        place = r.choice(
            (
                f"int({held}) % 3",
                held,
                held,
                f"int({held})",
                f"{index} + {held}",
                f"{index} * 2",
                f"{held} * 4",
                f"{index} - {held}",
                f"int({held}) + {index} - 1",
            )
        )
        start = r.choice(("0", "0.5", "1"))
        text = [f"for {index} in range(len({at})):"]
        text += r.choice(
            (
                [f"    {name}[{place}] {self.operator()} {self.scalar(0)}"],
                [f"    if {at}[{index}] > 0:", f"        {value} += {name}[{place}]"],
                [f"    {held} {r.choice(('=', '+='))} {r.choice(('1', index, '0', f'{index} * 3', f'len({name})'))}", f"    {value} += {name}[{place}]"],
                [f"    if {at}[{index}] > 1:", f"        {value} = {r.choice((value, '1'))} - {name}[{place}]"],
            )
        )
        if r.random() < 0.4:
            text = ["try:", *(f"    {line}" for line in text), "except IndexError:", "    pass"]
        self.settled(value, start, text, level)

    def counted(self, level: int) -> None:
        """A loop that counts besides its own index, and writes where it has counted to."""
        r = self.rng
        lines = self.lines_of()
        if not lines:
            return
        name, other, index, count = r.choice(lines), r.choice(lines), self.fresh("i"), self.fresh("v")
        start, step = r.choice((("0", "+= 1"), ("0", "+= 1"), ("-1", "+= 1"), (f"len({other}) - 1", "-= 1"), ("0", "+= 2")))
        at = r.choice((count, count, f"{count} - 1", f"-{count}"))
        condition = f"{name}[{index}] {r.choice(('<', '>', '!='))} {self.scalar(0)}"
        write = f"{other}[{at}] {self.operator()} {r.choice((f'{name}[{index}]', self.scalar(0), f'{other}[{count} - 1]'))}"
        text = [f"for {index} in range(len({name})):", f"    if {condition}:", f"        {write}", f"        {count} {step}"]
        if r.random() < 0.25:
            text = [text[0], f"    {write}", f"    {count} {step}"]
        if r.random() < 0.5:
            text = ["try:", *(f"    {line}" for line in text), "except IndexError:", f"    {other}[0] = {self.scalar(0)}"]
        self.settled(count, start, text, level)
