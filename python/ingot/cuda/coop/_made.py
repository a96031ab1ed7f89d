"""What functions for kernels have outside of these."""

from __future__ import annotations

from typing import Any


def made(function: Any) -> Any:
    """A function for kernels with CUDA's attribute `files`: nothing is linked with the kernels that call it."""
    function.files = ()
    return function
