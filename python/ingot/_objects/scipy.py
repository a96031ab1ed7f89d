"""Functions of SciPy's that compiled code has: which of the library's stands for each, and what to do about all others.

SciPy need not be installed: its modules are looked for among those that are loaded.
"""

from __future__ import annotations

import sys
from typing import Any

_TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
TWINS: dict[str, tuple[str, ...]] = {
    "fft": (*_TRANSFORMS, "fftfreq", "rfftfreq", "fftshift", "ifftshift"),
    "linalg": (
        "solve", "inv", "det", "norm", "cholesky", "cho_factor", "cho_solve", "solve_triangular", "lu_factor", "lu_solve", "qr", "svd",
        "svdvals", "eigh", "eigvalsh", "expm",
    ),  # fmt: skip
    "integrate": ("trapezoid", "simpson"),
    "special": ("logsumexp", "softmax", "log_softmax"),
}
"""By module: functions with the names of the library's own (`library.scipy`, `library.scipy_linalg`), with the module's name in front."""

_PRODUCTS = ("_spbase.__matmul__", "_spbase.dot")
_SHAPES = ("_spbase.shape", "_spbase.get_shape", "spmatrix.get_shape")
_OF_SPARSE = {
    **dict.fromkeys(("__mul__", "__rmul__"), "write `a @ x`, the product with a vector or a matrix"),
    **dict.fromkeys(("T", "transpose", "tocsc", "tocoo", "tolil"), "make the CSR matrix outside, as in `t = a.T.tocsr()`, and multiply by it"),
    "toarray": "pass `a.toarray()`",
}

_INSTEAD = {
    "linalg": "use the function of np.linalg, or call it in a function of `ingot.host`",
    "fft": "use the function of np.fft, or call it in a function of `ingot.host`",
    "special": "use a ufunc of scipy.special, which compiled code has all of, or call it in a function of `ingot.host`",
    "integrate": "write the rule as a loop, or call it outside of the function with `f.c_pointer` as its LowLevelCallable",
    "optimize": "call it outside of the function, which it may call, or in a function of `ingot.host`",
    "sparse": "compiled code has `a @ x`; else loop over its `data`, `indices` and `indptr`, or do it outside of the function",
    "stats": "use the ufuncs of scipy.special, such as ndtr, or call it in a function of `ingot.host`",
}


def twin_of(function: Any) -> Any:
    """The library's function that stands for it; None: there is none."""
    name = getattr(function, "__name__", "")
    for module, names in TWINS.items():
        if name in names and getattr(sys.modules.get(f"scipy.{module}"), name, None) is function:
            if module == "linalg":
                from ..library import scipy_linalg

                return getattr(scipy_linalg, f"linalg_{name}")
            from ..library import scipy as twins

            return getattr(twins, f"{module}_{name}")
    if getattr(function, "__module__", "") == "scipy.sparse._base" and function.__qualname__ in _PRODUCTS:
        from ..library import scipy as twins

        return twins.sparse_product
    if getattr(function, "__module__", "").startswith("scipy.sparse.") and function.__qualname__ in _SHAPES:
        from ..library import scipy as twins

        return twins.sparse_shape
    return None


def refusal_of(function: Any) -> tuple[str, str]:
    """What is refused, and what to do instead."""
    parts = [part for part in function.__module__.split(".") if not part.startswith("_")]
    name = ".".join([*parts, getattr(function, "__name__", "")])
    advice = _INSTEAD.get(parts[1] if len(parts) > 1 else "", "call it in a function of `ingot.host`")
    if parts[1:2] == ["sparse"]:
        advice = _OF_SPARSE.get(parts[-1] if len(parts) > 2 else name.rpartition(".")[2], advice)
    return f"`{name}`, a function of SciPy's,", advice
