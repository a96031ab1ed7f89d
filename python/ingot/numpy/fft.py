"""The functions of `numpy.fft`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from ._namespace import Namespace as _Namespace

_namespace = _Namespace(__name__, _numpy.fft)


def __getattr__(name: str) -> Any:
    value = globals()[name] = _namespace.make(name)
    return value


def __dir__() -> list[str]:
    return _namespace.names()
