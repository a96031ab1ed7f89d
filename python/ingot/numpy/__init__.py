"""NumPy's functions, compiled: `import ingot.numpy as inp; inp.sum(x, axis=0)`.

The names and their meaning are NumPy's, and those of the array API standard 2024.12; arrays are NumPy's arrays. Each
function is compiled for the arguments that it is called with, as `ingot.jit` does it, and can be called in compiled
functions too. docs/numpy.md lists them.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from ._namespace import Namespace as _Namespace

_namespace = _Namespace(__name__, _numpy, parts=("fft", "linalg"))
__array_api_version__ = "2024.12"


def __getattr__(name: str) -> Any:
    value = globals()[name] = _namespace.make(name)
    return value


def __dir__() -> list[str]:
    return _namespace.names()
