"""Rules whose routines may be differentiated: each routine is its value plus what its rule makes of how far the argument is
from itself, which is 0 and varies as the argument does."""

import importlib.util
import re
import sys
from pathlib import Path

import ingot
import numpy as np
from ingot.library.rules import linalg as linalg_rules


def solved(a, b):
    return np.linalg.inv(a) @ b


def changed(name, text, folder):
    """The rules' module with other text in it."""
    file = Path(folder) / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def routine(rule):
    """A routine that may be differentiated once, of a rule that applies nothing else to tangents."""

    def differentiable(a, *options):
        known = ingot.stop_gradient(a)
        value, tangent = rule((known,), (a - known,), *options)
        if isinstance(value, tuple):
            return tuple(y + t for y, t in zip(value, tangent))
        return value + tangent

    return differentiable


def differentiable_rules(folder):
    """The rules of numpy.linalg, which may be differentiated once."""
    text = Path(linalg_rules.__file__).read_text()
    text = text.replace("from .. import", "from ingot.library import").replace("from ..", "from ingot.library.")
    text = text.replace("from .parts", "from ingot.library.rules.parts")
    once = changed("rules_once", text.replace("np.linalg.solve", "stand_ins.solved") + "\n\nimport stand_ins\n", folder)
    names = "inv det slogdet cholesky qr eigh eig svd pinv".split()
    routines = {name: routine(getattr(once, f"{name}_jvp")) for name in names}

    def solve(a, b):
        at, right = ingot.stop_gradient(a), ingot.stop_gradient(b)
        columns = right[:, None] if b.ndim == 1 else right
        x = np.linalg.solve(at, columns)
        further = (b - right)[:, None] if b.ndim == 1 else b - right
        found = x + np.linalg.inv(at) @ (further - (a - at) @ x)
        return found[..., 0] if b.ndim == 1 else found

    def cholesky(a, upper):
        known = ingot.stop_gradient(a)
        value, tangent = once.cholesky_jvp((known,), (a - known,), upper)
        return value + tangent

    def lstsq(a, b, rcond):
        known, right = ingot.stop_gradient(a), ingot.stop_gradient(b)
        (x, residuals, rank, s), t = once.lstsq_jvp((known, right), (a - known, b - right), rcond)
        return x + t[0], residuals + t[1], rank, s + t[3]

    text = text.replace("upper=upper", "upper")
    for name in (*names, "solve", "lstsq"):
        text = text.replace(f"np.linalg.{name}(", f"{name}_(")
    text = text.replace("rtol=rtol", "1e-15, rtol")
    both = changed("rules_of_stand_ins", text, folder)
    assert not re.search(r"np\.linalg\.\w+\(", text)
    for name, function in {**routines, "solve": solve, "cholesky": cholesky, "lstsq": lstsq}.items():
        setattr(both, f"{name}_", function)
    return both
