"""Derivatives of one random program, judged by the plain call, by each other, and by differences."""

from __future__ import annotations

import dataclasses
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import ingot
import numpy as np
from ingot._calls.function import Function
from ingot.library.structures import leaves_of

from . import arguments
from .examine import Difference, _as, reason
from .generate import Program
from .limits import MODULE
from .oracle import define

OTHERS = ("int", "index")
ALLOWED = ingot.UnsupportedError, ingot.TypeChangeError, OverflowError
"""What is no failure: refusals, and the allowed differences 3 and 4."""
COMPILED = 4
"""One program in so many is compiled; the others are interpreted, which is the same but for what follows the passes."""
LARGE = 1e6
"""What is larger, or has larger derivatives, is not compared: differences mean nothing there."""


@dataclasses.dataclass
class Verdict:
    refused: str | None = None
    difference: Difference | None = None
    checks: list[str] = dataclasses.field(default_factory=list)
    """What was compared, by name; `raised`: both raise the same."""


def leaves(x: Any) -> list:
    return ingot.tree.leaves(x)


def arrays(x: Any) -> list[np.ndarray]:
    return [leaf for leaf in leaves(x) if isinstance(leaf, np.ndarray)]


def is_inexact(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def weighed(result: Any, c: Any) -> Any:
    """The sum of Re(c * y) over what is inexact in a result."""
    total = 0.0
    for a, b in zip(leaves_of(c), leaves_of(result)):
        total = total + np.sum(np.real(a * b))
    return total


def paired(c: Any, t: Any) -> float:
    with np.errstate(all="ignore"):
        return float(sum(np.sum(np.real(np.asarray(a) * np.asarray(b))) for a, b in zip(leaves(c), leaves(t), strict=True)))


def size(c: Any, t: Any) -> float:
    with np.errstate(all="ignore"):
        return float(sum(np.sum(np.abs(np.asarray(a) * np.asarray(b))) for a, b in zip(leaves(c), leaves(t), strict=True)))


def drawn(rng: np.random.Generator, x: Any) -> Any:
    """A random structure like x, 0.0 for what is no float."""

    def one(leaf: Any) -> Any:
        t = rng.uniform(-1, 1, np.shape(leaf))
        if not is_inexact(leaf):
            return np.zeros(np.shape(leaf))[()] if isinstance(leaf, np.ndarray) else 0.0
        if np.iscomplexobj(leaf):
            t = t + 1j * rng.uniform(-1, 1, np.shape(leaf))
        return np.asarray(t, np.asarray(leaf).dtype) if isinstance(leaf, np.ndarray) else (complex(t) if np.iscomplexobj(leaf) else float(t))

    return ingot.tree.map(one, x)


def copy_of(x: Any) -> Any:
    return ingot.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, x)


def near(a: Any, b: Any, bound: float) -> bool:
    xs, ys = leaves(a), leaves(b)
    if len(xs) != len(ys):
        return False
    for x, y in zip(xs, ys):
        if np.shape(x) != np.shape(y) or np.iscomplexobj(x) != np.iscomplexobj(y):
            return False
        with np.errstate(all="ignore"):
            if not np.allclose(x, y, bound, bound * max(1.0, float(np.max(np.abs(y), initial=0.0))), equal_nan=True):
                return False
    return True


def same_bits(a: Any, b: Any) -> bool:
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() or np.array_equal(x, y, equal_nan=True) for x, y in zip(leaves(a), leaves(b), strict=True))


def is_moderate(*xs: Any) -> bool:
    with np.errstate(all="ignore"):
        return all(bool(np.all(np.abs(leaf) < LARGE)) for x in xs for leaf in leaves(x))


class Failed(Exception):
    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Unstable(Exception):
    """What the compiled function gives is not what Python gives, with or without derivatives: other tests see to that."""


def check(holds: bool, kind: str, text: str) -> None:
    if not holds:
        raise Failed(kind, text)


class Judge:
    """One program: its function, what is compiled of it, and how many of its arguments are variables."""

    def __init__(self, program: Program, number: int) -> None:
        self.program = program
        self.number = number
        self.count = sum(kind not in OTHERS for kind in program.dtypes[1:])
        self.bound = 1e-9 if program.dtypes[0] == "float64" else 2e-3
        f = self.f = define(program.source, "f", {"np": np, "math": math, "ingot": ingot, "__name__": MODULE})
        count = self.count

        def forward(variables: Any, others: Any, t: Any) -> Any:
            return ingot.jvp(lambda *v: f(*v, *others), variables, t)

        def backward(variables: Any, others: Any, c: Any) -> Any:
            def of_variables(*v: Any) -> Any:
                result = f(*v, *others)
                return weighed(result, c), result

            return ingot.value_and_grad(of_variables, tuple(range(count)), True)(*variables)

        def pulled(variables: Any, others: Any, c: Any) -> Any:
            value, pull = ingot.vjp(lambda *v: f(*v, *others), *variables)
            return value, pull(c)

        def second(variables: Any, others: Any, c: Any, t: Any) -> Any:
            return ingot.hvp(lambda *v: weighed(f(*v, *others), c), variables, t)

        def lanes(variables: Any, others: Any, c: Any) -> Any:
            def one(*v: Any) -> Any:
                return ingot.value_and_grad(lambda *v: weighed(f(*v, *others), c), tuple(range(count)))(*v)

            return ingot.vmap(one)(*variables)

        self.plain_forward, self.plain_backward, self.plain_pulled = forward, backward, pulled
        self.is_compiled = number % COMPILED == 0
        self.mode = "compiled" if self.is_compiled else "interpreted"
        made = [Function(of, mode=self.mode) for of in (forward, backward, pulled, second, lanes)]
        self.forward, self.backward, self.pulled, self.second, self.lanes = made

    def given(self, texts: list[str], t: Any = None, by: float = 0.0) -> tuple[tuple, tuple]:
        """Variables and others; the former moved by so much in a direction."""
        built = arguments.build(texts, self.number % 2 == 0)
        variables, others = tuple(built[: self.count]), tuple(built[self.count :])
        if by:

            def move(x: Any, d: Any) -> Any:
                if isinstance(x, np.ndarray):
                    x += np.asarray(by * d, x.dtype)
                    return x
                return x + by * d

            variables = ingot.tree.map(move, variables, t)
        return variables, others

    def plain(self, texts: list[str], t: Any = None, by: float = 0.0) -> tuple[Any, BaseException | None, list]:
        """What `f` gives or raises, and the arrays that it was given."""
        variables, others = self.given(texts, t, by)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            after = arrays((variables, others))  # lists of numbers are copied where they are variables
            try:
                return self.f(*variables, *others), None, after
            except Exception as error:
                return None, error, after

    def call(self, name: str, function: Callable, *args: Any) -> tuple[Any, BaseException | None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return function(*args), None
            except ALLOWED:
                raise
            except Exception as error:
                return None, error

    def overflows(self, texts: list[str]) -> bool:
        """Whether anything becomes infinite on the way, be it used or not: its slopes are no numbers."""
        variables, others = self.given(texts)
        numbers = ingot.tree.map(lambda x: x if isinstance(x, np.ndarray) else np.asarray(x)[()], variables)
        with np.errstate(all="ignore", over="raise", divide="raise"):
            try:
                self.f(*numbers, *others)
            except FloatingPointError:
                return True
            except Exception:
                return False
        return False

    def smooth_slope(self, of: Callable[[float], float | None], steps: tuple[float, float], bound: float) -> float | None:
        """The slope of a function of one number at 0, None where it does not seem to have one."""
        values = [of(s * h) for h in (0.0, *steps) for s in (1, -1)]
        if any(v is None or not math.isfinite(v) for v in values):
            return None
        (zero, _, a1, b1, a2, b2), (h, k) = values, steps
        first, other = (a1 - b1) / (2 * h), (a2 - b2) / (2 * k)
        scale = max(1.0, abs(first))
        one_sided = abs((a1 - zero) / h - (zero - b1) / h), abs((a2 - zero) / k - (zero - b2) / k)
        if abs(first - other) > bound * scale or max(one_sided) > 0.02 * scale:
            return None
        return first

    def examine(self, texts: list[str], verdict: Verdict, rng: np.random.Generator, sample: str | None) -> None:
        value, error, after = self.plain(texts)
        variables, others = self.given(texts)
        t = drawn(rng, variables)
        if error is not None:
            variables, others = self.given(texts)
            if type(self.call("plain", Function(self.f), *variables, *others)[1]) is not type(error):
                raise Unstable
            c = 0.0
            for name, function, direction in (("forward", self.forward, t), ("reverse", self.pulled, c)):
                _, raised = self.call(name, function, *self.given(texts), direction)
                wrong = type(raised).__name__ if raised else "none"
                if name == "reverse" and isinstance(raised, ValueError) and not isinstance(error, ValueError):
                    wrong = f"{wrong}: {raised}"
                check(type(raised) is type(error), f"{name}: exception {wrong} for {type(error).__name__}", f"{raised!r} for {error!r}")
            verdict.checks.append("raised")
            return
        c = drawn(rng, value)
        seen = self.both_modes(texts, t, c, value, after, verdict)
        tangent, cotangents = seen
        if not is_moderate(value, tangent, cotangents):
            finite = [bool(np.all(np.isfinite(x))) for slopes in (tangent, cotangents) for x in leaves(slopes)]
            ok = all(finite[len(leaves(tangent)) :]) or not all(finite[: len(leaves(tangent))])
            ok = ok or not is_moderate(value, after) or self.overflows(texts)
            check(ok, "reverse: not finite", f"tangent {tangent!r}, cotangents {cotangents!r}")
            verdict.checks.append("large")
            return
        self.compare_modes(tangent, cotangents, t, c, verdict)
        if self.program.dtypes[0] == "float64":
            self.differences(texts, t, c, value, tangent, verdict)
        if sample is not None:
            SAMPLES[sample](self, texts, t, c, verdict)

    def both_modes(self, texts: list[str], t: Any, c: Any, value: Any, after: list, verdict: Verdict) -> tuple[Any, Any]:
        """The tangent and the cotangents; values and arguments are compared with those of the plain call."""
        where = self.given(texts)
        left = arrays(where)
        got, raised = self.call("forward", self.forward, *where, t)
        check(raised is None, f"forward: exception {type(raised).__name__}", repr(raised))
        if not near([got[0], left], [value, after], self.bound):
            given = self.given(texts)
            again, _ = self.call("plain", Function(self.f), *given[0], *given[1])
            check(near(again, got[0], self.bound), "forward: value", f"{got[0]!r} for {value!r}")
            check(near(arrays(given), left, self.bound), "forward: arguments afterwards", f"{left!r} for {after!r}")
            raise Unstable
        tangent = got[1]
        where = self.given(texts)
        left = arrays(where)
        got, raised = self.call("reverse", self.backward, *where, c)
        check(raised is None, f"reverse: exception {type(raised).__name__}", repr(raised))
        check(near(got[0][1], value, self.bound), "reverse: value", f"{got[0][1]!r} for {value!r}")
        check(near(left, after, self.bound), "reverse: arguments afterwards", f"{left!r} for {after!r}")
        for x, y in zip(leaves(where[0]), leaves(got[1]), strict=True):
            alike = np.shape(x) == np.shape(y) and (np.asarray(x).dtype == np.asarray(y).dtype or not isinstance(x, np.ndarray))
            check(alike, "reverse: dtype or shape", f"{y!r} for {x!r}")
        verdict.checks.append("value")
        return tangent, got[1]

    def compare_modes(self, tangent: Any, cotangents: Any, t: Any, c: Any, verdict: Verdict) -> None:
        there, back = paired(c, tangent), paired(cotangents, t)
        bound = 1e-8 if self.program.dtypes[0] == "float64" else 1e-3
        scale = size(c, tangent) + size(cotangents, t) + 1e-3
        check(abs(there - back) <= bound * scale, "reverse: not the transpose", f"<c, jvp t> = {there!r}, <vjp c, t> = {back!r}; cotangents {cotangents!r}")
        verdict.checks.append("transpose")

    def differences(self, texts: list[str], t: Any, c: Any, value: Any, tangent: Any, verdict: Verdict) -> None:
        def of(by: float) -> float | None:
            got, error, _ = self.plain(texts, t, by)
            if error is not None or [np.shape(x) for x in leaves(got)] != [np.shape(x) for x in leaves(value)]:
                return None
            return paired(c, got)

        slope = self.smooth_slope(of, (1e-5, 3e-5), 1e-6)
        if slope is None:
            verdict.checks.append("rough")
            return
        there = paired(c, tangent)
        check(abs(slope - there) <= 1e-4 * max(1.0, abs(slope), size(c, tangent)), "forward: not the difference", f"{there!r} for {slope!r}")
        verdict.checks.append("differences")

    def pulled_again(self, texts: list[str], t: Any, c: Any, verdict: Verdict) -> None:
        got, raised = self.call("vjp", self.pulled, *self.given(texts), c)
        check(raised is None, f"vjp: exception {type(raised).__name__}", repr(raised))
        other, _ = self.call("reverse", self.backward, *self.given(texts), c)
        check(near(got[1], other[1], self.bound), "vjp: not that of value_and_grad", f"{got[1]!r} for {other[1]!r}")
        verdict.checks.append("vjp")

    def interpreted(self, texts: list[str], t: Any, c: Any, verdict: Verdict) -> None:
        for name, plain, compiled, direction in (("forward", self.plain_forward, self.forward, t), ("reverse", self.plain_backward, self.backward, c)):
            a, b = self.given(texts), self.given(texts)
            got, raised = self.call(name, Function(plain, mode="interpreted" if self.is_compiled else "compiled"), *a, direction)
            check(raised is None, f"interpreted: {name}: exception {type(raised).__name__}", repr(raised))
            expected, _ = self.call(name, compiled, *b, direction)
            same = same_bits if "@" not in self.program.source else lambda x, y: near(x, y, self.bound)  # BLAS looks at alignment
            check(same(got, expected) and same(arrays(a), arrays(b)), f"interpreted: {name} differs", f"{got!r} for {expected!r}")
        verdict.checks.append("interpreted")

    def second_order(self, texts: list[str], t: Any, c: Any, verdict: Verdict) -> None:
        if self.program.dtypes[0] != "float64":
            return
        got, raised = self.call("second", self.second, *self.given(texts), c, t)
        check(raised is None, f"second: exception {type(raised).__name__}", repr(raised))
        u = drawn(np.random.default_rng(5), t)

        def of(by: float) -> float | None:
            result, error = self.call("reverse", self.backward, *self.given(texts, t, by), c)
            return None if error is not None else paired(result[1], u)

        slope = self.smooth_slope(of, (1e-5, 3e-5), 1e-6)
        if slope is None or not is_moderate(got):
            verdict.checks.append("rough second")
            return
        there = paired(got, u)
        check(abs(slope - there) <= 1e-4 * max(1.0, abs(slope), size(got, u)), "second: not the difference", f"{there!r} for {slope!r}")
        verdict.checks.append("second")

    def batched(self, texts: list[str], t: Any, c: Any, verdict: Verdict) -> None:
        """The gradient under vmap is that of each lane."""

        def numbers(x: Any) -> Any:  # lanes are given NumPy's
            return ingot.tree.map(lambda leaf: leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)[()], x)

        points = [numbers(self.given(texts, t, by)[0]) for by in (0.0, 0.21, -0.37)]
        others = self.given(texts)[1]
        expected = []
        for k in range(3):
            result, error = self.call("reverse", self.backward, copy_of(points[k]), copy_of(others), c)
            if error is not None or [np.shape(x) for x in leaves(result[0][1])] != [np.shape(x) for x in leaves(c)]:
                return
            expected.append((result[0][0], result[1]))
        stacked = ingot.tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *points)
        got, raised = self.call("vmap", self.lanes, stacked, copy_of(others), c)
        check(raised is None, f"vmap: exception {type(raised).__name__}", repr(raised))
        wanted = ingot.tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *expected)
        if is_moderate(wanted):
            check(near(got, wanted, 10 * self.bound), "vmap: not that of each lane", f"{got!r} for {wanted!r}")
            verdict.checks.append("vmap")

    def threads(self, texts: list[str], t: Any, c: Any, verdict: Verdict) -> None:
        shared = _as({"INGOT_THREADS": "always"})(self.plain_backward)
        results = []
        before = ingot.get_num_threads()
        try:
            for count in (1, 2):
                ingot.set_num_threads(count)
                got, raised = self.call("threads", shared, *self.given(texts), c)
                check(raised is None, f"threads: exception {type(raised).__name__}", repr(raised))
                results.append(got)
        finally:
            ingot.set_num_threads(before)
        check(same_bits(*results), "threads: other bits", f"{results[0]!r} on one thread, {results[1]!r} on two")
        expected, _ = self.call("reverse", self.backward, *self.given(texts), c)
        check(near(results[0], expected, self.bound), "threads: other values", f"{results[0]!r} for {expected!r}")
        verdict.checks.append("threads")


SAMPLES: dict[str, Callable] = {
    "interpreted": Judge.interpreted,
    "second": Judge.second_order,
    "vmap": Judge.batched,
    "threads": Judge.threads,
    "vjp": Judge.pulled_again,
}
"""What is checked of some programs only: the first word of the differences that it shows."""


def sample_of(rng: random.Random, is_compiled: bool) -> str | None:
    return rng.choices([*SAMPLES, None], (15, 25, 20, 15, 10, 15) if is_compiled else (0, 20, 5, 0, 10, 65))[0]


def examine(program: Program, number: int = 0, sample: str | None = None) -> Verdict:
    """Checks a program at all its arguments; which ones touch the end of a page, and what else is checked, is the number's."""
    verdict = Verdict()
    judge = Judge(program, number)
    for call, texts in enumerate(program.arguments):
        try:
            chosen = sample or sample_of(random.Random(f"sample:{number}:{call}"), judge.is_compiled)
            judge.examine(texts, verdict, np.random.default_rng(call), chosen)
        except ALLOWED as refusal:
            verdict.refused = reason(refusal)
            return verdict
        except Unstable:
            verdict.checks.append("unstable")
        except Failed as failure:
            verdict.difference = Difference(failure.kind, str(failure)[:1500], call)
            return verdict
    return verdict


def kind_of(program: Program, compilers: Any = None, like: str = "", number: int = 0) -> str | None:
    """The kind of difference that a program shows, where one like another is looked for, of the program of that number."""
    word = like.split(":")[0].split()[0] if like else ""
    verdict = examine(program, number, word if word in SAMPLES else None)
    return verdict.difference.kind if verdict.difference else None
