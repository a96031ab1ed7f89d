"""The parts of random programs that are classes and what refers to one another: instances, records, recursion,
generators, dicts, sets and lists that grow. A mixin of the generator, whose stand-ins are what each name is."""

import re

import numpy as np

from . import arguments
from .language import Language, is_array, is_scalar, shape

INT, FLOAT = ("int",), ("float",)
ORDER = ("<", "<=", ">", ">=")


class Stub:
    """Stands for `self` while the methods of a class are made."""

    def __init__(self, fields: list[tuple[str, tuple]]) -> None:
        vars(self).update((name, arguments.exemplar(kind)) for name, kind in fields)


class Objects(Language):
    """Needs what Language needs; `instances` has the instances that have names, by name, and `classes` the classes of
    the program. The attributes of an instance are in `env` under names with a dot."""

    classes: dict
    instances: dict
    recursions: list
    streams: list

    # What precedes the functions.

    def definitions(self) -> None:
        r = self.rng
        self.classes, self.recursions, self.streams = {}, [], []
        for _ in range(r.choice((0, 0, 0, 1, 1, 2))):
            self.define_class()
        if r.random() < 0.25:
            self.define_recursion()
        if r.random() < 0.15:
            self.define_generator()
        if r.random() < 0.06:
            self.define_tree()

    def define(self, lines: list[str]) -> None:
        """Text at the level of the module; raises where the stand-ins do not go through it."""
        for line in lines:
            self.emit(line, 0)
        self.run_module("\n".join(lines))

    def body(self, names: dict, instances: dict, make) -> list[str]:
        """The lines that `make` emits where these names, and no others, are known."""
        state = self.env, self.boxes, self.frozen, self.functions, self.loops, self.lines, self.instances, self.result
        self.env, self.boxes, self.functions, self.instances = dict(names), {}, {}, dict(instances)
        self.frozen, self.loops, self.lines, self.result = set(), 0, [], None
        try:
            make()
            return self.lines
        finally:
            (self.env, self.boxes, self.frozen, self.functions, self.loops, self.lines, self.instances, self.result) = state

    def field_kind(self) -> tuple:
        r = self.rng
        return r.choice((INT, FLOAT, INT, FLOAT, ("numpy", r.choice(arguments.DTYPES)), ("array", r.choice(arguments.DTYPES), 1)))

    def define_class(self) -> None:
        r = self.rng
        name = self.fresh("C")
        choice = r.random()
        if choice < 0.2:
            kinds = [self.field_kind() for _ in range(2)]
            self.define(["import collections", f"{name} = collections.namedtuple('{name}', 'a b')"])
            self.classes[name] = {"fields": list(zip("ab", kinds)), "methods": [], "special": {"[]"}, "frozen": True}
            return
        bases = [c for c, v in self.classes.items() if not v["frozen"] and not v["generated"]]
        base = r.choice(bases) if bases and choice < 0.6 else None
        generated = base is None and choice > 0.75
        fields = [("a", self.field_kind()), ("b", self.field_kind())]
        if base:
            fields = self.classes[base]["fields"] + [("c", self.field_kind())]
        names = {f"self.{f}": arguments.exemplar(k) for f, k in fields}
        stub = Stub(fields)
        lines, methods, special = [], [], set()
        if generated:
            lines += ["import dataclasses", "@dataclasses.dataclass" + r.choice(("", "", "(eq=False)")), f"class {name}:"]
            lines += [f"    {f}: {'float' if k == FLOAT else 'int' if k == INT else 'object'}" for f, k in fields]
            if r.random() < 0.4 and fields[1][1] in (INT, FLOAT):
                lines[-1] += " = 2" if fields[1][1] == INT else " = 1.5"
        else:
            lines.append(f"class {name}({base}):" if base else f"class {name}:")
            if base:
                parameters = ", ".join(f for f, _ in fields)
                lines += [f"    def __init__(self, {parameters}):", f"        super().__init__({', '.join(f for f, _ in fields[:-1])})", "        self.c = c"]
                methods += self.classes[base]["methods"]
                special |= self.classes[base]["special"]
            else:
                lines += ["    def __init__(self, a, b):", "        self.a = a", "        self.b = b"]
        for method in [m for m, _ in methods if r.random() < 0.5][:1] or [self.fresh("m")]:
            kind = dict(methods).get(method) or r.choice((INT, FLOAT))
            lines += self.method(method, kind, names, stub, base and method in dict(methods))
            methods = [*[m for m in methods if m[0] != method], (method, kind)]
        first = shape(arguments.exemplar(fields[0][1]))
        if r.random() < 0.4:
            other = {**names, **{n.replace("self", "other"): v for n, v in names.items()}}
            texts = self.texts(other, {"self": stub, "other": stub}, [f[1] for f in fields])
            lines += ["    def __add__(self, other):", f"        return {name}({', '.join(texts)})"]
            special.add("+")
        if r.random() < 0.4 and first in (int, float):
            lines += ["    def __lt__(self, other):", f"        return self.a {r.choice(ORDER)} other.a"]
            special.add("<")
        if r.random() < 0.2 and first in (int, float) and not generated:
            lines += ["    def __eq__(self, other):", "        return self.a == other.a"]
        if r.random() < 0.25:
            lines += ["    def __getitem__(self, i):", f"        return (self.a, self.{fields[-1][0]})[i]"]
            special.add("[]")
        if r.random() < 0.3:
            text = self.texts(names, {"self": stub}, [None])[0]
            lines += ["    @property", "    def whole(self):", f"        return {text}"]
            special.add("property")
        self.define(lines)
        self.classes[name] = {"fields": fields, "methods": methods, "special": special, "frozen": False, "generated": generated}

    def texts(self, names: dict, instances: dict, kinds: list) -> list[str]:
        """An expression of each kind; None: of any."""
        found: list[str] = []

        def make() -> None:
            for kind in kinds:
                text = self.scalar(2) if kind is None else self.like(shape(arguments.exemplar(kind)), 2)
                found.append(text or arguments.harmless(kind))

        self.body(names, instances, make)
        return found

    def method(self, name: str, kind: tuple, names: dict, stub, overrides: bool) -> list[str]:
        r = self.rng

        def make() -> None:
            self.frozen = {"x"}
            for _ in range(r.choice((0, 1, 1, 2))):
                choice = r.random()
                if choice < 0.3:
                    self.emit(f"if {self.condition(1)}:", 2)
                    size = len(self.lines)
                    r.choice((self.assign, self.augment))(3)
                    if len(self.lines) == size:
                        self.emit("pass", 3)
                elif choice < 0.45:
                    self.emit(f"if {self.condition(1)}:", 2)
                    self.emit(self.raise_text(), 3)
                else:
                    r.choice((self.assign, self.augment))(2)
            text = self.scalar(2)
            if overrides and r.random() < 0.6:
                text = f"{text} + super().{name}(x)"
            self.emit(f"return {text}", 2)

        lines = self.body({**names, "x": arguments.exemplar(kind)}, {"self": stub}, make)
        return [f"    def {name}(self, x):", *lines]

    # Instances.

    def object_statements(self, deep: bool) -> list:
        grown = [(self.growing_dict, 0.8), (self.nested_lists, 0.7), (self.known_set, 0.4), (self.recursion, 5 if self.recursions else 0)]
        grown += [(self.generator, 4 if self.streams else 0)]
        made = []
        if self.classes:
            grown += [(self.list_of_instances, 2.5), (self.linked_instances, 1.5)]
            made = [(self.make_instance, 3)]
        if "insert" in self.globals:
            grown.append((self.tree, 4))
        if self.instances:
            made += [(self.call_method, 4), (self.instance_of_two, 1.5)]
        return made if deep else made + grown

    def use_definitions(self, level: int) -> None:
        """What precedes the functions is used once at least, most of the time."""
        for made, use in ((self.recursions, self.recursion), (self.streams, self.generator), (self.instances, self.call_method)):
            if made and self.rng.random() < 0.6:
                use(level)

    def arguments_of(self, name: str) -> str:
        texts = [self.like(shape(arguments.exemplar(k)), 1) or arguments.harmless(k) for _, k in self.classes[name]["fields"]]
        return f"{name}({', '.join(texts)})"

    def keep_instance(self, name: str, value) -> None:
        self.instances[name] = value
        for field, _ in self.classes[type(value).__name__]["fields"]:
            held = getattr(value, field)
            if is_scalar(held) or is_array(held):
                self.env[f"{name}.{field}"] = held
                if self.classes[type(value).__name__]["frozen"]:
                    self.frozen.add(f"{name}.{field}")

    def make_instance(self, level: int) -> None:
        name = self.fresh("p")
        alike = list(self.instances)
        text = self.arguments_of(self.rng.choice(list(self.classes)))
        if alike and self.rng.random() < 0.2:
            text = self.rng.choice(alike)
        after = self.execute(f"{name} = {text}")
        if after is not None:
            self.emit(f"{name} = {text}", level)
            self.keep_instance(name, after[name])

    def of_instance(self, name: str) -> str:
        """An expression of an instance."""
        r = self.rng
        about = self.classes[type(self.instances[name]).__name__]
        same = [n for n, v in self.instances.items() if type(v) is type(self.instances[name])]
        other = r.choice(same)
        texts = [f"({name} is {other})"] if not about["frozen"] else []
        texts += [f"isinstance({name}, {r.choice(list(self.classes))})"]
        texts += [f"{name}.{m}({self.like(shape(arguments.exemplar(k)), 1) or arguments.harmless(k)})" for m, k in about["methods"]] * 3
        texts += [f"({name} + {other}).{about['fields'][0][0]}"] * 2 if "+" in about["special"] else []
        texts += [f"({name} < {other})", f"max({name}, {other}).{about['fields'][-1][0]}"] if "<" in about["special"] else []
        texts += [f"{name}[{r.choice(('0', '1', '-1'))}]"] if "[]" in about["special"] else []
        texts += [f"{name}.whole"] * 2 if "property" in about["special"] else []
        return r.choice(texts)

    def call_method(self, level: int) -> None:
        new = self.fresh("v")
        self.fragment([f"{new} = {self.of_instance(self.rng.choice(list(self.instances)))}"], level, [new])

    def instance_of_two(self, level: int) -> None:
        """A name that is one of two instances of a class, or becomes another one in each iteration."""
        r = self.rng
        name = r.choice(list(self.instances))
        about = self.classes[type(self.instances[name]).__name__]
        same = [n for n, v in self.instances.items() if type(v) is type(self.instances[name])]
        field = r.choice(about["fields"])[0]
        new, value, index = self.fresh("q"), self.fresh("v"), self.fresh("i")
        made = self.arguments_of(type(self.instances[name]).__name__)
        if "+" in about["special"] and r.random() < 0.5:
            lines = [f"{new} = {made}", f"for {index} in range({r.choice('0123')}):", f"    {new} = {new} + {r.choice(same)}"]
        else:
            lines = [f"{new} = {made}", f"if {self.condition(1)}:", f"    {new} = {self.arguments_of(type(self.instances[name]).__name__)}"]
        changed = [] if about["frozen"] else [f"{new}.{field} = {self.like(shape(getattr(self.instances[name], field)), 1) or f'{new}.{field}'}"]
        self.fragment([*lines, *changed, f"{value} = {new}.{field}"], level, [value])

    def list_of_instances(self, level: int) -> None:
        r = self.rng
        name = r.choice(list(self.classes))
        about = self.classes[name]
        numbers = [f for f, k in about["fields"] if k[0] != "array"]
        if not numbers:
            return
        field = r.choice(numbers)
        value, held, one, index = self.fresh("v"), self.fresh("g"), self.fresh("p"), self.fresh("i")
        head, inside = self.loop_head(index)
        made, condition, other = self.within(inside, lambda: (self.arguments_of(name), self.condition(1), self.arguments_of(name)))
        lines = [f"{held} = []", head, f"    {held}.append({made})"]
        exemplar = arguments.exemplar(dict(about["fields"])[field])
        dotted = {**inside, f"{held}[-1].{field}": exemplar}
        if not about["frozen"]:
            changed = self.within(dotted, lambda: self.like(shape(exemplar), 1)) or f"{held}[-1].{field}"
            lines += r.choice(([], [f"    {held}[{index} // 2].{field} = {changed}"], [f"    if {condition}:", f"        {held}[-1].{field} = {changed}"]))
        lines += r.choice(
            ([], [], [f"    if {condition}:", f"        {held}.append({r.choice((f'{held}[0]', other))})"], [f"    if {condition}:", f"        {held}.pop()"])
        )
        if about["methods"] and r.random() < 0.5:
            method, kind = r.choice(about["methods"])
            lines += [f"for {one} in {held}:", f"    {one}.{method}({arguments.harmless(kind)})"]
        plain = shape(exemplar) in (int, float)
        if plain and r.random() < 0.3:
            lines.append(f"{held}.sort(key=lambda {one}: {one}.{field}{r.choice(('', '), reverse=(True'))})".replace("reverse=(True)", "reverse=True"))
        asked = [f"sum([{one}.{field} for {one} in {held}])", f"len([{one} for {one} in {held} if {one}.{field} > 1])", f"{held}[-1].{field}"]
        if not about["frozen"]:
            asked += [f"{held}[0] is {held}[-1]"] + ([f"({held}[0] in {held}[1:])"] if plain else [])
        if r.random() < 0.4:
            lines += [f"for {one} in {held}:", f"    {value} {r.choice(('+=', '-='))} {one}.{field}"]
            return self.settled(value, r.choice(("0", "0.5")), lines, level)
        self.fragment([*lines, f"{value} = {r.choice(asked)}"], level, [value])

    def linked_instances(self, level: int) -> None:
        """A list of instances that refer to the next."""
        r = self.rng
        plain = [n for n, v in self.classes.items() if not v["frozen"] and not v["generated"]]
        if not plain:
            return
        name = r.choice(plain)
        field = self.classes[name]["fields"][0][0]
        if self.classes[name]["fields"][0][1] not in (INT, FLOAT):
            return
        first, value, at, index, count = self.fresh("q"), self.fresh("v"), self.fresh("q"), self.fresh("i"), self.fresh("v")
        head, inside = self.loop_head(index)
        made, condition = self.within(inside, lambda: (self.arguments_of(name), self.condition(1)))
        at_end = f"{at}.{field} > {r.choice('012')}"
        lines = [f"{first} = None", head, f"    {at} = {made}", f"    {at}.link = {first}"]
        lines += r.choice(([f"    {first} = {at}"], [f"    {first} = {at}"], [f"    if {condition}:", f"        {first} = {at}"]))
        lines += [f"{count} = 0", f"{at} = {first}", f"while {at} is not None:", f"    {value} = {value} * 2 + {at}.{field}"]
        lines += r.choice(
            ([], [f"    if {at_end}:", f"        {count} += 1"], [f"    if {at_end} and {at}.link is not None:", f"        {at}.link = {at}.link.link"])
        )
        lines += [f"    {at} = {at}.link", f"    if {count} > 3:", "        break"]
        start = "0" if self.classes[name]["fields"][0][1] == INT else "0.5"
        self.fragment([f"{value} = {start}", *lines], level, [value, count])

    def tree(self, level: int) -> None:
        """A search tree, made by insertion; its functions precede the program."""
        r = self.rng
        root, value, index = self.fresh("q"), self.fresh("v"), self.fresh("i")
        head, inside = self.loop_head(index)
        key = self.within(inside, lambda: self.like(int, 2))
        if key:
            asked = r.choice((f"total({root}, 1)", f"height({root})", f"find({root}, {self.like(int, 1) or '2'})"))
            self.fragment([f"{root} = None", head, f"    {root} = insert({root}, {key})", f"{value} = {asked}"], level, [value])

    # Recursion.

    def define_recursion(self) -> None:
        r = self.rng
        name = self.fresh("q")
        kind = r.choice((INT, FLOAT, ("numpy", r.choice(arguments.DTYPES)), ("array", r.choice(arguments.DTYPES), 1)))
        wanted = shape(arguments.exemplar(kind))
        holds = r.random() < 0.3 and "array" not in kind
        names = {"n": 2, "a": arguments.exemplar(kind)}

        def make() -> None:
            self.frozen = {"n"}
            result = (self.like(wanted, 1) or "a") if "array" not in kind else self.scalar(1)
            given = shape(self.value(result))
            self.emit(f"if n <= 0{r.choice(('', '', f' or {self.condition(1)}'))}:", 1)
            self.emit(f"return {result}", 2)
            raises = r.random() < 0.5
            if raises:
                self.emit(f"if {self.condition(1)}:", 1)
                self.emit(self.raise_text(), 2)
            if holds:
                self.emit(f"h.append({r.choice(('n', 'n * 2'))})", 1)
            for _ in range(r.choice((0, 1, 1))):
                r.choice((self.augment, self.store, self.assign))(1)
            inner = f"{name}(n - {r.choice('112')}, {self.like(wanted, 1) or 'a'}{', h' if holds else ''})"
            if raises and r.random() < 0.6:
                self.emit("try:", 1)
                self.emit(f"s = {inner}", 2)
                self.emit(f"except {r.choice(('ValueError', 'IndexError', 'Exception', '(ValueError, RuntimeError)'))}:", 1)
                self.emit(f"s = {self.like(given, 1) or result}", 2)
            else:
                self.emit(f"s = {inner}", 1)
            self.env["s"] = self.value(result)
            if r.random() < 0.25:
                self.emit(f"if {self.condition(1)}:", 1)
                self.emit(f"s = {name}(n - 2, a{', h' if holds else ''})", 2)
            self.emit(f"return {self.like(given, 2) or 's'}", 1)

        lines = self.body(names, {}, make)
        self.define([f"def {name}(n, a{', h' if holds else ''}):", *lines])
        self.recursions.append((name, kind, holds))

    def define_tree(self) -> None:
        r = self.rng
        turned = r.choice(("<", ">", "<="))
        self.define(
            ["class Node:", "    def __init__(self, key):", "        self.key = key", "        self.left = None", "        self.right = None",
             "def insert(t, key):", "    if t is None:", "        return Node(key)",
             f"    if key {turned} t.key:", "        t.left = insert(t.left, key)", f"    {r.choice(('else', 'elif key != t.key'))}:", "        t.right = insert(t.right, key)", "    return t",
             "def total(t, d):", "    if t is None:", f"        return {r.choice('012')}", f"    return t.key * d + total(t.left, d + 1) {r.choice('+-')} total(t.right, d)",
             "def height(t):", "    return 0 if t is None else 1 + max(height(t.left), height(t.right))",
             "def find(t, key):", "    while t is not None and t.key != key:", f"        t = t.left if key {turned} t.key else t.right", "    return t is not None"]
        )  # fmt: skip

    def recursion(self, level: int) -> None:
        r = self.rng
        name, kind, holds = r.choice(self.recursions)
        value, held = self.fresh("v"), self.fresh("g")
        depth = r.choice(("3", "4", "2", f"min(abs({self.like(int, 1) or '3'}), 5)"))
        given = self.like(shape(arguments.exemplar(kind)), 1) or arguments.harmless(kind)
        lines = [f"{value} = {name}({depth}, {given}{f', {held}' if holds else ''})"]
        if r.random() < 0.4:
            zero = self.execute("\n".join(([f"{held} = []"] if holds else []) + lines))
            if zero is None or not is_scalar(zero[value]):
                return
            other = self.like(shape(zero[value]), 1)
            if other:
                lines = ["try:", f"    {lines[0]}", f"except {r.choice(('ValueError', 'IndexError', 'Exception'))}:", f"    {value} = {other}"]
        if holds:
            lines = [f"{held} = []", *lines, f"{value} = len({held})" if r.random() < 0.3 else f"print({held})"]
        self.fragment(lines, level, [value])

    # Generators.

    def define_generator(self) -> None:
        r = self.rng
        name = self.fresh("y")
        kind = r.choice((INT, FLOAT, ("numpy", r.choice(arguments.DTYPES)), ("array", r.choice(arguments.DTYPES), 1)))

        def make() -> None:
            self.frozen, self.loops = {"n", "i"}, 1
            head = r.choice(("for i in range(n):", "for i in range(n):", "while i < n:"))
            if head[0] == "w":
                self.emit("i = 0", 1)
            self.emit(head, 1)
            if head[0] == "w":
                self.emit("i += 1", 2)
            if r.random() < 0.4:
                self.emit(f"if {self.condition(1)}:", 2)
                self.emit(r.choice(("continue", "break", "return")), 3)
            self.emit(f"yield {self.scalar(2)}", 2)
            r.choice((self.augment, self.assign, self.store))(2)

        lines = self.body({"n": 3, "a": arguments.exemplar(kind), "i": 1}, {}, make)
        self.define([f"def {name}(n, a):", *lines])
        self.streams.append((name, kind))

    def generator(self, level: int) -> None:
        r = self.rng
        name, kind = r.choice(self.streams)
        given = self.like(shape(arguments.exemplar(kind)), 1) or arguments.harmless(kind)
        made = f"{name}({r.choice(('3', '4', '0', f'min({self.like(int, 1) or 2}, 6)'))}, {given})"
        value, element, index = self.fresh("v"), self.fresh("e"), self.fresh("i")
        asked = r.choice((f"list({made})", f"[{element} for {element} in {made}]", "loop", "loop", f"max({made})"))
        if asked == "loop":
            lines = [f"for {index}, {element} in enumerate({made}):", f"    {value} = {value} * 2 + {element}"]
            if r.random() < 0.3:
                lines += [f"    if {index} > 1:", "        break"]
            return self.settled(value, r.choice(("0", "0.5")), lines, level)
        if asked[0] in "l[":
            lines = [f"{value} = len({asked})"]
        else:
            lines = [f"{value} = {asked}"]
        self.fragment(lines, level, [value])

    # Containers that grow.

    def loop_head(self, index: str) -> tuple[str, dict]:
        """A loop over numbers, or over an array, and the names that it binds."""
        r = self.rng
        lines = self.names(lambda v: is_array(v) and v.ndim == 1 and v.size > 1)
        if lines and r.random() < 0.5:
            array, element = r.choice(lines), self.fresh("e")
            return f"for {index}, {element} in enumerate({array}):", {index: 1, element: self.env[array][0]}
        return f"for {index} in range({r.choice(('4', '3', '6', '2', '12'))}):", {index: 1}

    def within(self, names: dict, make):
        """What `make` gives where more names are known."""
        before = self.env
        self.env = {**before, **names}
        try:
            return make()
        finally:
            self.env = before

    def growing_dict(self, level: int) -> None:
        r = self.rng
        name, value, index, key, each = self.fresh("d"), self.fresh("v"), self.fresh("i"), self.fresh("k"), self.fresh("e")
        head, inside = self.loop_head(index)

        def parts():
            whole = self.like(int, 1) or index
            number = self.like(r.choice((int, float)), 1) or index
            keys = (f"{whole} % {r.choice('2345')}", f"({index} % 2, {index} // 2)", whole, f"{number}", f"{index} % 3 > 0")
            return r.choice(keys), number, self.condition(1)

        place, number, condition = self.within(inside, parts)
        whole = shape(self.within(inside, lambda: self.value(number))) is int
        start = "0" if whole else "0.0"
        store = r.choice(
            (
                [f"    {name}[{key}] = {name}.get({key}, {start}) + {number}"],
                [f"    if {key} in {name}:", f"        {name}[{key}] {r.choice(('+=', '-='))} {number}", "    else:", f"        {name}[{key}] = {number}"],
                [f"    if {condition}:", f"        {name}[{key}] = {number}", f"    elif {key} in {name}:", f"        del {name}[{key}]"],
                [f"    {name}.setdefault({key}, {number})"],
                ["    try:", f"        {name}[{key}] += {number}", "    except KeyError:", f"        {name}[{key}] = {number}"],
            )
        )
        asked = r.choice(
            (
                f"len({name})",
                f"sum({name}.values())",
                f"{name}.get(1, {start})",
                f"(1 in {name})",
                f"{name}[0]",
                f"max({name}.values())",
                f"len([{each} for {each} in {name}])",
                "iterate",
                "iterate",
            )
        )
        lines = [f"{name} = {{}}", head, f"    {key} = {place}", *store]
        if asked == "iterate":
            return self.settled(value, start, [*lines, f"for {key}, {each} in {name}.items():", f"    {value} = {value} * 2 + {each}"], level)
        lines.append(f"{value} = {asked}")
        self.fragment([*lines, *r.choice(([], [], [f"print({name})"], [f"print(sorted({name}))"]))], level, [value])

    def nested_lists(self, level: int) -> None:
        r = self.rng
        name, value, index, each = self.fresh("g"), self.fresh("v"), self.fresh("i"), self.fresh("e")
        head, inside = self.loop_head(index)
        number = self.within(inside, lambda: self.like(r.choice((int, float)), 1)) or index
        condition = self.within(inside, lambda: self.condition(1))
        start = r.choice((f"{name} = [[] for {each} in range(3)]", f"{name} = [[0] * 2 for {each} in range(3)]", f"{name} = []"))
        if start.endswith("= []"):
            steps = r.choice(
                ([f"    {name}.append([{number}] * ({index} % 3))"], [f"    {name}.append([{index}])", f"    {name}[{index} // 2].append({number})"])
            )
        else:
            steps = [f"    {name}[{index} % 3].append({number})"]
            steps += r.choice(
                (
                    [],
                    [f"    if {condition}:", f"        {name}[0] = {name}[{r.choice('12')}]"],
                    [f"    if {condition} and {name}[1]:", f"        {name}[1].pop()"],
                )
            )
        asked = r.choice(
            (
                f"sum([len({each}) for {each} in {name}])",
                f"len({name}[{r.choice(('0', '1', '-1'))}])",
                f"{name}[0] is {name}[1]",
                f"({name}[0] == {name}[-1])",
                f"sum([sum({each}) for {each} in {name}])",
            )
        )
        self.fragment([start, head, *steps, f"{value} = {asked}"], level, [value])

    def known_set(self, level: int) -> None:
        r = self.rng
        name, other, value, each = self.fresh("s"), self.fresh("s"), self.fresh("v"), self.fresh("e")
        lines = [f"{name} = {r.choice(('{3, 1, 2}', 'set()', '{i % 3 for i in range(7)}', 'set((1, 5, 1))'))}"]
        lines += r.choice(([], [f"{name}.add({r.choice('0147')})"], [f"{name}.discard(1)"], [f"{name} |= {{7, 2}}"]))
        lines.append(f"{other} = {name} {r.choice('&|-^')} {{1, 2, 9}}")
        asked = (f"len({other})", f"({self.like(int, 1) or 1} in {name})", f"({other} <= {name})", f"sum({other})", f"sum([{each} * 2 for {each} in {other}])")
        self.fragment([*lines, f"{value} = {r.choice(asked)}", *r.choice(([], [f"print(sorted({other}))"]))], level, [value])

    def settled(self, name: str, start: str, lines: list[str], level: int) -> None:
        """Lines in whose iterations a number changes, which is of one type before them and after them."""
        # As if all that is conditional came about: a number that is of one type by chance does not count.
        always = [re.sub(r"^( *)(if .*|try):$", r"\1if True:", line) for line in lines]
        always = [re.sub(r"^( *)except .*:$", r"\1else:", line) for line in always if not line.strip() == "break"]
        for _ in range(2):
            after = self.execute("\n".join([f"{name} = {start}", *always]))
            if after is None or not is_scalar(after[name]):
                return
            if type(after[name]) is type(self.value(start)):
                self.fragment([f"{name} = {start}", *lines], level, [name])
                return
            start = f"np.{type(after[name]).__name__}({start})" if isinstance(after[name], np.generic) else start

    def fragment(self, lines: list[str], level: int, names: list[str]) -> bool:
        """Emits lines that bind numbers or arrays to names, if the stand-ins go through them."""
        after = self.execute("\n".join(lines))
        if after is None or any(len(line) > 170 for line in lines) or not all(is_scalar(after.get(n)) or is_array(after.get(n)) for n in names):
            return False
        for line in lines:
            self.emit(line, level)
        self.env.update((n, after[n]) for n in names)
        return True
