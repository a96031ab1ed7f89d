"""Expressions of programs that are differentiated: small numbers, smooth nearly everywhere."""

import ast
import random

SMOOTH = "sin cos tanh arctan exp2 arcsinh".split()
ODD = "abs fabs sign floor cbrt degrees".split()


def closed(text: str) -> str:
    """The source, in parentheses where something after it could be taken for another's."""
    return text if isinstance(ast.parse(text, mode="eval").body, (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute)) else f"({text})"


class Expressions:
    """Texts of expressions of a kind: `num`, `vec`, `mat`, `cnum`, `cvec`, a valid `index`, a condition."""

    rng: random.Random
    scope: dict[str, list[str]]
    loops: int
    within: set[str]
    """Whole numbers that are less than n."""

    def pick(self, kind: str, fallback: str) -> str:
        names = self.scope[kind]
        if not names:
            return fallback
        return self.rng.choice(names[-3:] if self.rng.random() < 0.6 else names)

    def constant(self) -> str:
        return self.rng.choice("0.5 0.3 1.0 2.0 -0.7 1.5 0.25 -1.25 3 2 1".split())

    def index(self) -> str:
        """An index of a vector that has elements."""
        i = self.pick("int", "0")
        r = self.rng
        if i == "0":
            return r.choice(("0", "-1", "n // 2", "n - 1"))
        if i not in self.within and r.random() < 0.9:
            return r.choice((f"{i} % n", f"-1 - {i} % n", f"min({i}, n - 1)"))
        return r.choice((i, i, i, f"-{i} - 1", f"n - 1 - {i}", f"({i} + 1) % n", f"{i} // 2", f"{i} - 1", "-1", f"{i} ^ 1" if r.random() < 0.1 else "0"))

    def count(self) -> str:
        """A small whole number, perhaps 0."""
        r = self.rng
        i = self.pick("int", "n")
        return r.choice((i, i, "n", "3", f"{i} % 3", f"min({i}, 4)", "2", "0" if r.random() < 0.2 else "n", f"{i} + 1"))

    def condition(self) -> str:
        r = self.rng
        choice = r.random()
        if choice < 0.5:
            return f"{self.num(1)} {r.choice('<>')} {r.choice(('0.0', '0.2', '-0.1', self.num(0)))}"
        if choice < 0.75:
            i = self.pick("int", "n")
            return r.choice((f"{i} % 2 == 0", f"{i} > 1", f"{i} == 2", f"{i} != 1", "n > 2", f"{i} % 3"))
        if choice < 0.85:
            return f"{self.num(0)} > 0.0 {r.choice(('and', 'or'))} {self.num(0)} < 0.4"
        return f"np.{r.choice(('any', 'all'))}({self.vec(0)} > {self.constant()})"

    def num(self, depth: int) -> str:
        return closed(self._num(depth))

    def _num(self, depth: int) -> str:
        r = self.rng
        if depth <= 0:
            choice = r.random()
            if choice < 0.65:
                return self.pick("num", "0.8")
            if choice < 0.8:
                return f"{self.pick('vec', 'v0')}[{self.index()}]"
            if choice < 0.85 and self.scope["list"]:
                return f"{self.pick('list', '')}[{r.choice(('0', '-1'))}]"
            if choice < 0.9 and self.scope["dict"]:
                return f"{self.pick('dict', '')}['a']"
            if choice < 0.94 and self.scope["box"]:
                return f"{self.pick('box', '')}.a"
            return self.constant()
        a, b = self.num(depth - 1), self.num(depth - 1)
        return r.choice((self._arithmetic, self._arithmetic, self._function, self._function, self._of_array, self._odd_num))(a, b, depth)

    def _arithmetic(self, a: str, b: str, depth: int) -> str:
        r = self.rng
        return r.choice((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"{a} / (1.0 + {b} * {b})", f"(-{a})", f"{self.constant()} * {a}",
                         f"{a} ** 2", f"({a}) ** 3", f"(1.5 + {a} * {a}) ** {r.choice((b, '0.5', '-1', '-0.5'))}"))

    def _function(self, a: str, b: str, depth: int) -> str:
        r = self.rng
        return r.choice((f"np.{r.choice(SMOOTH)}({a})", f"math.{r.choice(('sin', 'cos', 'tanh', 'atan', 'erf'))}({a})", f"np.sqrt(1.0 + {a} * {a})",
                         f"math.exp(-abs({a}))", f"np.log1p({a} * {a})", f"np.hypot({a}, 1.0 + {b})", f"max({a}, {b})", f"min({a}, {b})",
                         f"np.maximum({a}, {b})", f"np.arctan2({a}, 1.5 + {b} * {b})", f"abs({a})", f"np.logaddexp({a}, {b})"))

    def _of_array(self, a: str, b: str, depth: int) -> str:
        r = self.rng
        v = self.vec(depth - 1)
        u = self.pick("vec", "v0")
        choices = [f"np.sum({v})", f"({v}).sum()", f"np.mean({v}[:n + 1]) if n else {a}", f"np.dot({u}, {self.pick('vec', 'v0')})", f"{u} @ {v}",
                   f"np.sum({u}[1:] * {self.pick('vec', 'v0')}[:-1])", f"sum([float({u}[0]), {a}]) if n else {b}", f"np.prod(np.tanh({v}))",
                   f"(np.max({v}) if n else {a})", f"np.linalg.norm({v} + 2.0)", f"sum(e * {b} for e in {u})", f"np.sum(np.where({v} > 0, {a}, {v}))",
                   f"len({u}) * {a}", f"float({a})"]
        choices += self._of_library(u, v, a)
        if not self.loops:  # Python compiles them each time
            choices += [f"ingot.grad(lambda q: np.sum(np.sin({u} * q)) + q * q)(float({a}))",
                        f"np.sum(ingot.grad(lambda q: np.sum(q * q * {a}))({v}))", f"np.sum(ingot.vmap(lambda q: q * {a} + q * q)({v})) if n else {a}"]
        if self.scope["mat"]:
            m = self.mat(0)
            choices += [f"np.einsum('ij,j->', {m}, {u})", f"np.max({m}.std(axis=0)) if n else {a}", f"np.linalg.norm({m} + 3.0)", f"np.tensordot({m}, {m})"]
            choices += [f"np.sum({m})", f"np.trace({m})", f"{u} @ {m} @ {u}"]
        if self.scope["cnum"] or self.scope["cvec"]:
            z = self.cnum(depth - 1)
            choices += [f"({z}).real", f"abs({z} + 2)", f"({z}).imag", f"np.angle({z} + 3)", f"np.real({z} * {z})"]
        if self.scope["list"]:
            choices += [f"sum({self.pick('list', '')})", f"len({self.pick('list', '')}) * {a}"]
        return r.choice(choices)

    def _of_library(self, u: str, v: str, a: str) -> list[str]:
        """Numbers that the library makes of vectors; `G` is an array outside of `f`."""
        return [f"np.std({v} + {u} * 2.0) if n > 1 else {a}", f"np.median({v}) if n else {a}", f"np.sum(np.diff({v}) ** 2)", f"np.interp({a}, np.arange(n) * 0.5, {v}) if n else {a}",
                f"np.sum(np.convolve({v}, G)) if n else {a}", f"np.sum(np.tile({v}, 2) * np.repeat({u}, 2))", f"np.sum(np.pad({v}, 1)[:-1] * np.append({u}, {a}))", f"np.polyval(G, {a})",
                f"np.average({v}, weights=np.exp({u})) if n else {a}", f"sum(e * e for e in {u} if e > 0.1)", f"max([{a}, *{u}])", f"np.add.reduce({v})", f"G[1] * {a}",
                f"np.sum(np.stack([{v}, {u}])[:, ::-1] * np.outer(G[:2], {u}))", f"np.ptp({v}) if n else {a}", f"np.sum(np.cumsum({v}[::-1])[::-1] * {u}) * 0.2"]

    def _odd_num(self, a: str, b: str, depth: int) -> str:
        r = self.rng
        choices = [f"({a} if {self.condition()} else {b})", f"np.where({a} > {b}, {a}, np.sqrt({b} * {b} + 0.1))[()]", f"np.{r.choice(ODD)}({a})", f"np.clip({a}, -0.5, {self.constant()})",
                   f"({a} % 1.7)", f"round({a}) * {b}", f"(lambda q: q * {b})({a})"]
        choices += [f"{g}({a}, {self.vec(0)})" for g in self.functions]
        return r.choice(choices)

    def vec(self, depth: int) -> str:
        return closed(self._vec(depth))

    def _vec(self, depth: int) -> str:
        """A vector of length n."""
        r = self.rng
        u = self.pick("vec", "v0")
        if depth <= 0:
            choices = [u] * 8 + [f"{u}[::-1]", f"np.abs({u})", f"{u} * {self.constant()}"]
            choices += [f"{self.pick('dict', '')}['b']"] if self.scope["dict"] else []
            choices += [f"{self.pick('box', '')}.b"] if self.scope["box"] else []
            choices += [f"{self.pick('vecs', '')}[{r.choice(('0', '-1'))}]"] if self.scope["vecs"] else []
            return r.choice(choices)
        a, b = self.vec(depth - 1), r.choice((self.vec, self.num))(depth - 1)
        choices = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({b} * {a})", f"{a} / (1.0 + {b} * {b})", f"(-{a})", f"np.{r.choice(SMOOTH)}({a})", f"np.{r.choice(SMOOTH)}({a})",
                   f"np.maximum({a}, {b})", f"np.where({a} > 0.1, {a}, {b})", f"np.where({a} > 0.0, np.sqrt(np.abs({a}) + 0.1), {b})", f"({a}) ** 2", f"np.cumsum({a}) * 0.4",
                   f"np.roll({a}, {r.choice(('1', '-1', '2'))})", f"np.sort({a})", f"np.concatenate(({u}[:1], {self.pick('vec', 'v0')}[1:]))",
                   f"np.clip({a}, -0.6, {b})", f"np.full(n, {self.num(depth - 1)})", f"np.array([{self.pick('vec', 'v0')}[q] * {self.num(0)} for q in range(n)])",
                   f"{a}[np.arange(n) // 2]", f"np.hypot({a}, 1.0)", f"np.flip({a})", f"np.cumprod(np.tanh({a}))", f"({a}).copy()", f"np.sqrt(1.0 + {a} * {a})"]
        if self.scope["mat"]:
            m = self.mat(depth - 1)
            choices += [f"{m} @ {u}", f"np.sum({m}, axis={r.choice('01')})", f"{u} @ {m}", f"np.diag({m})", f"{m}.mean(axis=0)"]
        if self.scope["cvec"]:
            choices += [f"{self.cvec(0)}.real", f"np.abs({self.cvec(0)} + 2.0)", f"{self.pick('cvec', '')}.imag"]
        if self.scope["index"]:
            choices += [f"{u}[{self.pick('index', '')}]", f"np.take({u}, {self.pick('index', '')})"] * 2
        return r.choice(choices)

    def mat(self, depth: int) -> str:
        return closed(self._mat(depth))

    def _mat(self, depth: int) -> str:
        r = self.rng
        u = self.pick("mat", "")
        if not u:
            return f"np.outer({self.pick('vec', 'v0')}, {self.vec(0)})"
        if depth <= 0:
            return r.choice((u, u, u, f"{u}.T", f"{u}[::-1]"))
        a, b = self.mat(depth - 1), r.choice((self.mat, self.vec, self.num))(depth - 1)
        return r.choice((f"({a} + {b})", f"({a} * {b})", f"({b} - {a})", f"({a} @ {self.mat(0)}) * 0.3", f"np.tanh({a})", f"np.outer({self.vec(0)}, {self.vec(0)})", f"{a}.copy()",
                         f"({a} * {self.vec(0)}[:, None])", f"np.cumsum({a}, axis={r.choice('01')}) * 0.4", f"np.where({a} > 0, {a}, {b})", f"{a}.reshape(n, n)", f"np.broadcast_to({self.vec(0)}, (n, n))"))

    def cnum(self, depth: int) -> str:
        return closed(self._cnum(depth))

    def _cnum(self, depth: int) -> str:
        r = self.rng
        if depth <= 0:
            if self.scope["cvec"] and r.random() < 0.3:
                return f"{self.pick('cvec', '')}[{self.index()}]"
            return self.pick("cnum", f"complex({self.num(0)}, 0.4)")
        a, b = self.cnum(depth - 1), r.choice((self.cnum, self.num))(depth - 1)
        return r.choice((f"({a} + {b})", f"({a} * {b})", f"({b} - {a})", f"{a} / (abs({a}) + 1.0)", f"np.conj({a})", f"({a}).conjugate()", f"np.exp(1j * {self.num(depth - 1)})", f"complex({self.num(0)}, {self.num(0)})",
                         f"np.sin({a} * 0.3)", f"np.sqrt({a} + 4)", f"({a}) ** 2", f"np.sum({self.cvec(depth - 1)})" if self.scope["cvec"] else f"{a} * 1j"))

    def cvec(self, depth: int) -> str:
        return closed(self._cvec(depth))

    def _cvec(self, depth: int) -> str:
        r = self.rng
        u = self.pick("cvec", "")
        if not u:
            return f"{self.vec(0)} * (0.3 + 0.5j)"
        if depth <= 0:
            return r.choice((u, u, u, f"{u}[::-1]", f"np.conj({u})"))
        a, b = self.cvec(depth - 1), r.choice((self.cvec, self.cnum, self.vec))(depth - 1)
        return r.choice((f"({a} + {b})", f"({a} * {b})", f"({b} - {a})", f"{a} / (np.abs({a}) + 1.0)", f"np.conj({a})", f"np.exp(1j * {self.vec(depth - 1)})", f"np.cumsum({a}) * 0.3"))
