"""Dicts, lists and instances that paths and loops replace: what is read, kept, changed and returned of them."""

import dataclasses
import re

import ingot
import numpy as np
import pytest
from carried_programs import SHAPES, Pair, Program, argument
from ingot import optimize
from support import check, copied, difference, identities, jitted, outcome, refused


def loss(p, x, y):
    return np.mean((x @ p["w"] + p["b"] - y) ** 2)


@dataclasses.dataclass(eq=False)
class Line:
    """The parameters of a line."""

    w: np.ndarray
    b: np.ndarray


X = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
Y = np.array([1.0, -1.0, 0.5, 2.0])


def parameters():
    return {"w": np.zeros(3), "b": np.zeros(1)}


def trained(function, *given):
    """Checks a training loop with no, one and several steps."""
    call = ingot.jit(function)
    for n in (0, 1, 4):
        plain, own = copied(given), copied(given)
        expected, got = function(*plain, X, Y, n), call(*own, X, Y, n)
        assert difference(got, expected, 1e-12) is None and difference(own, plain) is None
        assert identities(got, own) == identities(expected, plain)


def test_a_loop_replaces_the_callers_dict():
    def steps(p, x, y, n):
        for _ in range(n):
            g = ingot.grad(loss)(p, x, y)
            p = {k: p[k] - 0.1 * g[k] for k in p}
        return p

    trained(steps, parameters())

    def written_out(p, x, y, n):
        while n > 0:
            g = ingot.grad(loss)(p, x, y)
            p = {"w": p["w"] - 0.1 * g["w"], "b": p["b"] - 0.1 * g["b"]}
            n -= 1
        return p, loss(p, x, y)

    trained(written_out, parameters())

    def inside(x, y, n):
        p = {"w": np.zeros(3), "b": np.zeros(1)}
        for _ in range(n):
            g = ingot.grad(loss)(p, x, y)
            p = {k: p[k] - 0.1 * g[k] for k in p}
        p["w"] = p["w"] + 1.0  # it is the function's own on all paths
        return p

    trained(inside)


def test_momentum_is_carried_beside():
    def steps(p, x, y, n):
        m = {k: np.zeros_like(p[k]) for k in p}
        for _ in range(n):
            g = ingot.grad(loss)(p, x, y)
            m = {k: 0.9 * m[k] + g[k] for k in p}
            p = {k: p[k] - 0.1 * m[k] for k in p}
        return p, m

    trained(steps, parameters())


def test_the_best_is_kept():
    def steps(p, x, y, n):
        best, least = p, loss(p, x, y)
        for _ in range(n):
            g = ingot.grad(loss)(p, x, y)
            p = {k: p[k] - 0.9 * g[k] for k in p}
            now = loss(p, x, y)
            if now < least:
                best, least = p, now
        return best

    trained(steps, parameters())


def test_lists_instances_and_dicts_in_dicts():
    def in_list(p, x, y, n):
        for _ in range(n):
            g = ingot.grad(lambda p: np.mean((x @ p[0] + p[1] - y) ** 2))(p)
            p = [a - 0.1 * b for a, b in zip(p, g)]
        return p

    trained(in_list, [np.zeros(3), np.zeros(1)])

    def in_tuple(p, x, y, n):
        for _ in range(n):
            g = ingot.grad(lambda p: np.mean((x @ p[0] + p[1] - y) ** 2))(p)
            p = (p[0] - 0.1 * g[0], p[1] - 0.1 * g[1])
        return p[0] + p[1]

    trained(in_tuple, (np.zeros(3), np.zeros(1)))

    def in_instance(p, x, y, n):
        for _ in range(n):
            g = ingot.grad(lambda p: np.mean((x @ p.w + p.b - y) ** 2))(p)
            p = Line(p.w - 0.1 * g.w, p.b - 0.1 * g.b)
        return p

    trained(in_instance, Line(np.zeros(3), np.zeros(1)))

    def nested(p, x, y, n):
        for _ in range(n):
            g = ingot.grad(lambda p: loss(p["layer"], x, y) + p["s"] ** 2)(p)
            p = {"layer": {k: p["layer"][k] - 0.1 * g["layer"][k] for k in p["layer"]}, "s": p["s"] - 0.1 * g["s"]}
        return p

    trained(nested, {"layer": parameters(), "s": 1.0})


def test_derivatives_and_batches_of_such_loops():
    def after(p, rate):
        for _ in range(3):
            g = ingot.grad(loss)(p, X, Y)
            p = {k: p[k] - rate * g[k] for k in p}
        return loss(p, X, Y)

    p = parameters()
    slope = ingot.jit(lambda rate: ingot.grad(after, argnums=1)(p, rate))(0.1)
    assert slope == pytest.approx((after(p, 0.1 + 1e-6) - after(p, 0.1 - 1e-6)) / 2e-6, rel=1e-5)
    rates = np.array([0.05, 0.1])
    np.testing.assert_allclose(ingot.jit(lambda p: ingot.vmap(after, in_axes=(None, 0))(p, rates))(p), [after(p, rate) for rate in rates])


def test_solvers_in_such_loops():
    def steps(p, n):
        for _ in range(n):
            found = optimize.descend(optimize.Adam(0.1), lambda p: np.sum((p["w"] - 1) ** 2) + np.sum(p["b"] ** 2), p, iterations=3)
            p = {k: found.x[k] for k in p}
        return p

    given = {"w": np.zeros(2), "b": np.ones(1)}
    call = ingot.jit(steps)
    assert call(given, 0) is given and difference(call(given, 2), steps(given, 2), 1e-12) is None


def test_one_path_replaces():
    def halved(p, c):
        if c:
            p = {k: p[k] * 0.5 for k in p}
        return p, p["w"].sum()

    def other(p, q, c):
        r = p if c else q
        return r, r["w"] + r["b"].sum()

    for c in (False, True):
        check(halved, argument("dict"), c)
        check(other, argument("dict"), argument("dict", 2), c)
    same = argument("dict")
    check(other, same, same, True)


def test_arrays_of_what_may_be_the_callers_are_changed_in_place():
    def add(p, n):
        for _ in range(n):
            p = {k: p[k] * 0.5 for k in p}
        p["w"] += 1.0
        return p

    for n in (0, 2):
        check(add, argument("dict"), n)


def test_changes_of_what_may_be_the_callers_are_refused():
    def put(p, n):
        for _ in range(n):
            p = {k: p[k] * 0.5 for k in p}
        p["w"] = p["w"] + 1.0
        return p

    assert "dict(p)" in refused(put, argument("dict"), 2, words="changing a dict that is another one on another path")

    def put_into_copy(p, n):
        for _ in range(n):
            p = {k: p[k] * 0.5 for k in p}
        p = dict(p)
        p["w"] = p["w"] + 1.0
        return p

    check(put_into_copy, argument("dict"), 0)
    check(put_into_copy, argument("dict"), 2)

    def put_into_other(p, n):
        q = p
        for _ in range(n):
            p = {k: p[k] * 0.5 for k in p}
        q["w"] = q["w"] + 1.0
        return p

    refused(put_into_other, argument("dict"), 2, words="that may be one that has been changed under another name")

    def changed_before(p, n):
        p["w"] = p["w"] + 1.0
        for _ in range(n):
            p = {k: p[k] * 0.5 for k in p}
        return p

    check(changed_before, argument("dict"), 0)
    check(changed_before, argument("dict"), 2)


def test_changes_of_recursive_functions_are_refused_where_they_may_be_seen():
    """What a recursive function changes is not read under another name that may be the same object."""

    def put_in_dict(d, n):
        if n > 0:
            d["w"] = d["w"] + float(n)
            put_in_dict(d, n - 1)

    def dict_after(p, n, c):
        q = {k: p[k] * 0.5 for k in p} if n > c.sum() else p
        put_in_dict(p, n)
        return q["w"]

    def put_in_list(d, n):
        if n > 0:
            d[0] = d[0] + float(n)
            put_in_list(d, n - 1)

    def list_after_loop(p, n, c):
        q = p
        while q[0].sum() > c.sum():
            q = [q[0] * 0.5, q[1]]
        put_in_list(p, n)
        return q[0]

    def put_in_instance(d, n):
        if n > 0:
            d.w = d.w + float(n)
            put_in_instance(d, n - 1)

    def instance_after(p, n, c):
        q = Pair(p.w * 0.5, p.b) if n > c.sum() else p
        ingot.jit(put_in_instance)(p, n)
        return q.w

    one = "that may be one that has been changed under another name"
    refused(dict_after, argument("dict"), 3, np.array([8]), words=one)
    refused(list_after_loop, argument("list"), 3, np.array([8]), words=one)
    refused(instance_after, argument("instance"), 3, np.array([8]), words="an instance that paths disagree about")

    def add_in_place(d, n):
        if n > 0:
            d["w"] += float(n)
            add_in_place(d, n - 1)

    def seen(p, n, c):
        q = {"w": p["w"] + 100.0, "b": p["b"]} if n > c.sum() else p
        add_in_place(p, n)
        return q

    for c in (1, 8):
        check(seen, argument("dict"), 3, np.array([c]))


def test_what_may_be_one_object_or_two_is_refused():
    def both(p, n):
        q = {k: p[k] + 1.0 for k in p}
        r = q
        for _ in range(n):
            q = {k: q[k] * 0.5 for k in q}
        return q, r

    assert "dict(p)" in refused(both, argument("dict"), 2, words="two dicts, lists or instances that are one on some paths only")

    def compared(p, n):
        q = p
        for _ in range(n):
            q = {k: q[k] * 0.5 for k in q}
        return q is p

    refused(compared, argument("dict"), 2, words="`is` between what may be one object on one path and two on another")


def test_what_is_not_joined_is_refused():
    def turned(p, n):
        for _ in range(n):
            p = {"b": p["b"], "w": p["w"] * 0.5}
        return p["w"]

    refused(turned, argument("dict"), 2, words="is a dict of the caller on one path and a dict on another")

    def stored(p, out, n):
        for _ in range(n):
            p = {k: p[k] * 0.5 for k in p}
        out["p"] = p

    refused(stored, argument("dict"), {}, 2, words="storing or passing on a dict, list or instance that is another one on another path")

    def given_away(p, out, n):
        q = {k: p[k] + 1.0 for k in p}
        r = q
        for _ in range(n):
            r = {k: r[k] * 0.5 for k in r}
        out["q"] = q
        return r

    refused(given_away, argument("dict"), {}, 2, words="that may be one that has been changed under another name")


def test_a_condition_that_is_known_decides():
    """Where a refusal would follow, the path is made known, as by a number of the call."""

    def put(p, c):
        if c:
            p = {k: p[k] * 0.5 for k in p}
        p["w"] = p["w"] + 1.0
        return p

    check(put, argument("dict"), True)
    check(put, argument("dict"), False)

    def put_after(p, n, c):
        for _ in range(n):
            if c:
                p = {"w": p["w"] * 0.5, "b": p["b"]}
        p["w"] = p["w"] + 1.0
        return p

    check(put_after, argument("dict"), 2, False)
    refused(put_after, argument("dict"), 2, True, words="changing a dict that is another one on another path")

    def halves(p, n):
        return p if n == 0 else halves({k: p[k] * 0.5 for k in p}, n - 1)

    check(halves, argument("dict"), 2)


def test_variables_of_other_functions_and_exits():
    def shared(p, n):
        def step():
            nonlocal p
            p = {k: p[k] * 0.5 for k in p}

        for _ in range(n):
            step()
        return p

    def left(p, n):
        try:
            for _ in range(n):
                if p["w"].sum() < 2.0:
                    return p, 0
                p = {k: p[k] * 0.5 for k in p}
                if p["b"].sum() > -0.2:
                    raise ValueError("small")
        except ValueError:
            return p, len(p)
        return p, list(p).index("b")

    for n in (0, 1, 9):
        check(shared, argument("dict"), n)
        check(left, argument("dict"), n)


REFUSALS = (
    r"changing a (dict|list) that is another one on another path",
    r"changing an instance that is another one on another path",
    r"`is` between what may be one object on one path and two on another",
    r"a (dict|list) that may be one that has been changed under another name",
    r"`\w`, which is a (dict|list) of the caller on one path and a \1 on another,",
    r"an element of a container, which is (a float on one path and an array float64\[:\]|an array float64\[:\] on one path and a float) on another,",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_random_programs(shape):
    """Ten programs a shape: they give what CPython gives, or are refused in the words of `REFUSALS`."""
    ran = 0
    for seed in range(10):
        program = Program(shape, seed)
        function = program.function()
        call = jitted(function)
        for n, c, is_same in ((0, True, False), (3, False, True), (2, True, True)):
            a = argument(shape)
            given = (a, a if is_same else argument(shape, 2), n, c)
            plain, own = copied(given), copied(given)
            expected, error, _ = outcome(function, plain)
            got, raised, _ = outcome(call, own)
            text = "\n".join(program.lines)
            if isinstance(raised, ingot.UnsupportedError):
                reason = str(raised).partition(" is not supported\n")[0]
                assert any(re.fullmatch(words, reason) for words in REFUSALS), f"{raised}\n{text}"
                continue
            ran += 1
            assert type(raised) is type(error), text
            assert error is not None or (difference(got, expected) or difference(own, plain)) is None, text
            assert error is not None or identities(got, own) == identities(expected, plain), text
    assert ran > 10
