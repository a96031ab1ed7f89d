"""Rows of docs/language.md about imports inside functions, partials, methods and transformations made there, against CPython."""

import functools
import os
import subprocess
import sys
import textwrap

import ingot
import numpy as np
import pytest
from support import MODES, check, jitted, module_of, refused

X = np.arange(6.0)


def scaled(a, x, *, by=1.0):
    return a * x * by


@ingot.jit
def squared(x):
    return x * x + 1


class Line:
    def __init__(self, slope, start=0.0):
        self.slope = slope
        self.start = start

    def at(self, x):
        return self.slope * x + self.start

    def shifted(self, by):
        self.start += by
        return self.start

    def __call__(self, x):
        return self.slope * x * x

    @classmethod
    def steep(cls, x):
        return cls(10.0).at(x)

    @staticmethod
    def flat(x):
        return x + 1

    compiled = ingot.jit(at)


LINE = Line(3.0)


def test_imports_inside_functions():
    def several(x):
        import math
        import numpy as other
        import numpy.linalg
        import numpy.linalg as la
        from math import pi, sin as sine
        from numpy import linalg, sum as total

        return other.sum(x), numpy.linalg.norm(x), la.norm(x), sine(x[1]), pi, linalg.norm(x), total(x), math.floor(2.5)

    check(several, X)

    def on_some_paths(x):
        result = 0.0
        for v in x:
            if v > 2:
                import math

                result += math.sqrt(v)
        return result

    check(on_some_paths, X)

    def not_taken(x):
        if x > 0:
            return x
        import math

        return math.sin(x)

    check(not_taken, 1.0)
    check(not_taken, -1.0)

    def unbound(x):
        if x > 0:
            import math
        return math.sqrt(abs(x))

    check(unbound, 4.0)
    check(unbound, -4.0)

    def inner(x):
        import math

        return sum(math.sqrt(v) for v in [x, x * 2]), (lambda y: math.exp(y))(x)

    check(inner, 1.0)


def test_names_that_are_not_there():
    def missing(x):
        from math import no_such_name

        return no_such_name(x)

    check(missing, 1.0)

    def falls_back(x):
        try:
            from math import no_such_name as f
        except ImportError:
            from math import sqrt as f
        return f(x)

    check(falls_back, 4.0)

    def unknown(x):
        import no_module_of_this_name  # noqa: F401

        return x

    check(unknown, 1.0)


def test_modules_of_users(tmp_path, monkeypatch):
    (tmp_path / "helping_module.py").write_text("RATE = 2.0\ndef double(x):\n    return RATE * x\n")

    def uses(x):
        import helping_module
        from helping_module import double as twice

        return helping_module.double(x) + twice(x) + helping_module.RATE

    check(uses, 1.0)
    monkeypatch.syspath_prepend(tmp_path)
    refused(uses, 1.0, words="`helping_module` inside a function, which is not loaded,")
    helper = module_of(tmp_path / "helping_module.py")
    monkeypatch.setitem(sys.modules, "helping_module", helper)
    compiled = jitted(uses)
    assert compiled(1.0) == 6.0
    helper.RATE = 3.0
    assert compiled(1.0) == 9.0
    (tmp_path / "other.py").write_text("RATE = 5.0\ndef double(x):\n    return x\n")
    monkeypatch.setitem(sys.modules, "helping_module", module_of(tmp_path / "other.py", "helping_module"))
    assert compiled(1.0) == 7.0


def test_imports_in_a_fresh_process_with_a_cache(tmp_path):
    program = """
        import sys
        import ingot

        @ingot.jit
        def f(x):
            import statistics
            import math as m
            try:
                import no_such_package_of_mine
            except ImportError:
                return m.sqrt(x)

        print(f(4.0), "compiled" if "ingot._core" in sys.modules else "stored")
    """
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    environment = {**os.environ, "INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(tmp_path / "cache"), "INGOT_TIERS": "off"}
    for words in ("2.0 compiled", "2.0 stored"):
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, env=environment)
        assert done.stdout.strip() == words, done.stderr


PARTIALS = [functools.partial(scaled, 2.0), functools.partial(scaled, 2.0, by=3.0), functools.partial(squared), functools.partial(LINE.at),
            functools.partial(max, 2.5), functools.partial(np.add, 2.5), functools.partial(functools.partial(scaled, 2.0), by=0.5)]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PARTIALS)))
def test_partials(number):
    partial = PARTIALS[number]
    check(lambda x: partial(x), 2.0)
    check(lambda f, x: f(x), partial, 2.0)
    check(lambda f, x: (f(x), [g(x) for g in (f, f)]), partial, 3.0)


def test_partials_hold_arrays_and_classes():
    values = np.arange(3.0)
    check(lambda f, x: f(x), functools.partial(np.multiply, values), 2.0)
    check(lambda f, x: f(x, axis=0), functools.partial(np.sum), np.ones((2, 3)))
    check(lambda f: f(2.0).at(1.0), functools.partial(Line, start=5.0))
    call = jitted(lambda f, x: f(x))
    for a in (1.0, 2.0, 3.0):
        assert call(functools.partial(scaled, a), 2.0) == 2.0 * a
    assert call(functools.partial(scaled, 1.0, by=4.0), 2.0) == 8.0
    assert call(functools.partial(max, 9.0), 2.0) == 9.0


@pytest.mark.parametrize("mode", MODES)
def test_methods_are_arguments(mode):
    both = jitted(lambda f, x: (f(x), f(x)), mode)
    for method in (LINE.at, Line.steep, LINE.compiled):
        assert both(method, 2.0) == (method(2.0), method(2.0))
    assert both(Line(1.0).shifted, 2.0) == (2.0, 4.0)
    call = jitted(lambda f, x: f(x))
    for slope in (1.0, 2.0):
        assert call(Line(slope).at, 3.0) == 3.0 * slope
    line = Line(1.0)
    assert (call(line.shifted, 2.0), call(line.shifted, 2.0), line.start) == (2.0, 4.0, 4.0)


def test_methods_and_partials_are_compiled():
    at = ingot.jit(LINE.at)
    assert at(2.0) == LINE.at(2.0) and at.__name__ == "at" and "Line.at" in repr(at)
    line = Line(1.0)
    shifted = ingot.jit(line.shifted)
    assert (shifted(1.0), shifted(2.0), line.start) == (1.0, 3.0, 3.0)
    twice = ingot.jit(functools.partial(scaled, 2.0))
    assert twice(3.0) == 6.0 and twice(3.0, by=2.0) == 12.0
    np.testing.assert_array_equal(ingot.jit(functools.partial(np.add, 1.0))(X), X + 1)
    assert ingot.grad(functools.partial(scaled, 2.0))(3.0) == 2.0
    assert ingot.grad(LINE.at)(3.0) == 3.0 and ingot.grad(LINE)(3.0) == 18.0
    np.testing.assert_array_equal(ingot.vmap(functools.partial(scaled, 2.0))(X), 2 * X)
    with pytest.raises(TypeError):
        ingot.jit(functools.partial(scaled, 2.0), static_argnums=0)


def test_transformations_inside_functions():
    def square(x):
        return x * x

    check(lambda x: ingot.jit(square)(x) + ingot.jit(cache=False)(square)(x), 2.0)
    check(lambda x: ingot.jit(squared)(x) + ingot.jit(lambda y: y + x)(x), 2.0)
    check(lambda x: ingot.checkpoint(square)(x) + ingot.checkpoint(lambda y: y * x)(y=x), 2.0)
    check(lambda x: ingot.jit(ingot.vmap(ingot.jit(square)))(x), X)
    derived = jitted(lambda x: ingot.grad(ingot.checkpoint(lambda y: square(y) * y))(x))
    assert derived(2.0) == 12.0
    assert ingot.grad(lambda x: ingot.checkpoint(lambda y: y * y * x)(y=x))(2.0) == 12.0
    assert ingot.grad(lambda x: ingot.jit(lambda y: y * y * x)(x))(2.0) == 12.0
    np.testing.assert_array_equal(ingot.vmap(lambda x: ingot.grad(ingot.jit(square))(x))(X), 2 * X)
    np.testing.assert_array_equal(jitted(lambda x: ingot.jacfwd(ingot.checkpoint(lambda y: y * y))(x))(X), np.diag(2 * X))


def test_modules_that_are_not_there(tmp_path, monkeypatch):
    def falls_back(x):
        try:
            from no_such_package_of_mine import njit
        except ImportError:
            return x + 2
        return njit(x)

    check(falls_back, 1.0)

    def told(x):
        texts = []
        try:
            import no_such_package_of_mine.inner  # noqa: F401
        except ModuleNotFoundError as error:
            texts.append(str(error))
        try:
            import numpy.no_such_module  # noqa: F401
        except ImportError as error:
            texts.append(str(error))
        try:
            import math.inner  # noqa: F401
        except ModuleNotFoundError as error:
            texts.append(str(error))
        return texts

    check(told, 1.0)

    def raises(x):
        if x > 2:
            import no_such_package_of_mine  # noqa: F401
        return x

    check(raises, 1.0)
    check(raises, 3.0)

    compiled = ingot.jit(falls_back)
    assert compiled(1.0) == 3.0
    (tmp_path / "no_such_package_of_mine.py").write_text("def njit(x):\n    return x * 10\n")
    monkeypatch.syspath_prepend(tmp_path)
    refused(falls_back, 1.0, words="which is not loaded")
    __import__("no_such_package_of_mine")
    assert compiled(1.0) == 10.0
    del sys.modules["no_such_package_of_mine"]
