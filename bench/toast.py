"""The ten kernels of `examples/toast` and compiled TOAST, where that is installed: nanoseconds a detector-sample, and lines.

A scan as a satellite's: detectors side by side, irregular intervals. Calls of both are interleaved; TOAST has the threads
that the command gives it, Ingot one and two.
"""

from __future__ import annotations

import ast
import io
import sys
import time
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ingot

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "toast"
NO_PLATE = np.zeros(1)
STEP = 100


def _rotation(axis: int, angle: Any) -> np.ndarray:
    half = 0.5 * np.asarray(angle, float)[..., None]
    return np.concatenate([np.sin(half) * np.eye(3)[axis], np.cos(half)], -1)


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    p_vector, q_vector = p[..., :3], q[..., :3]
    vector = p[..., 3:] * q_vector + q[..., 3:] * p_vector + np.cross(p_vector, q_vector)
    return np.concatenate([vector, p[..., 3:] * q[..., 3:] - (p_vector * q_vector).sum(-1, keepdims=True)], -1)


def problem(n_det: int, n_samp: int, n_view: int, nside: int) -> dict[str, Any]:
    """Arguments of all kernels, by what they are."""
    rng = np.random.default_rng(11)
    cuts = np.sort(rng.choice(np.arange(1, n_samp), n_view - 1, replace=False))
    spans = np.zeros(n_view, [("start", "f8"), ("stop", "f8"), ("first", "i8"), ("last", "i8")]).view(np.recarray)
    spans["first"], spans["last"] = np.append(0, cuts), np.append(cuts, n_samp)
    spans["last"] = np.maximum(spans["first"] + 1, spans["last"] - np.minimum(60, (spans["last"] - spans["first"]) // 5))
    t = np.arange(n_samp) / 100.0
    boresight = _product(
        _product(_rotation(2, t / 480.0), _rotation(0, np.full(n_samp, 1.1))), _product(_rotation(2, t / 95.0), _rotation(0, np.full(n_samp, 0.5)))
    )
    angles = rng.random((3, n_det))
    focalplane = _product(_product(_rotation(2, 6.3 * angles[0]), _rotation(1, 0.09 * np.sqrt(angles[1]))), _rotation(2, 3.1 * angles[2]))
    counts = -(-(spans["last"] - spans["first"]) // STEP)
    n_amp = int(counts.sum()) * n_det
    n_pix = 12 * min(16, nside) ** 2
    return {
        "spans": spans, "units": int((spans["last"] - spans["first"]).sum()) * n_det, "boresight": boresight, "focalplane": focalplane,
        "rows": np.arange(n_det, dtype=np.int32), "flags": (rng.random(n_samp) < 0.01).astype(np.uint8),
        "det_flags": (rng.random((n_det, n_samp)) < 0.01).astype(np.uint8), "quats": np.zeros((n_det, n_samp, 4)),
        "pixels": np.zeros((n_det, n_samp), np.int64), "weights": np.zeros((n_det, n_samp, 3)), "ones": np.zeros((n_det, n_samp)),
        "signal": rng.standard_normal((n_det, n_samp)), "plate": np.mod(12.0 * t, 2 * np.pi), "gamma": rng.random(n_det),
        "near_one": rng.uniform(0.9, 1.1, n_det), "hits": np.zeros(12 * nside**2 // n_pix, np.uint8), "n_pix": n_pix, "nside": nside,
        "counts": counts, "amplitudes": rng.standard_normal(n_amp), "amplitude_flags": (rng.random(n_amp) < 0.01).astype(np.uint8),
        "solved": np.zeros(n_amp), "variance": rng.uniform(0.5, 2.0, n_amp),
    }  # fmt: skip


def calls(p: dict[str, Any], kernels: Any) -> dict[str, tuple[str, list[tuple[Any, ...]], int, int]]:
    """By name: the kernel, its calls, which argument is written, and how many units they do. `kernels` makes what others read."""
    r, v, w, n = p["rows"], p["spans"], p["weights"], p["units"]
    point = (p["focalplane"], p["boresight"], r, p["quats"], v, p["flags"], 1)
    pixels = {nest: (r, p["quats"], p["flags"], 1, r, p["pixels"], v, p["hits"], p["n_pix"], p["nside"], nest) for nest in (True, False)}
    stokes = {name: (r, p["quats"], r, w, plate, v, 0.1 * p["gamma"], p["gamma"], p["near_one"], False)
              for name, plate in (("plain", NO_PLATE), ("plate", p["plate"]))}  # fmt: skip
    kernels.pointing_detector(*point)
    kernels.pixels_healpix(*pixels[True])
    kernels.stokes_weights_IQU(*stokes["plain"])
    local = np.where(p["hits"] == 1, np.cumsum(p["hits"], dtype=np.int64) - 1, -1)
    sky = np.random.default_rng(5).standard_normal((int(local.max()) + 1, p["n_pix"], 3))
    per = int(p["counts"].sum())
    detectors = range(len(r))
    return {
        "pointing_detector": ("pointing_detector", [point], 3, n),
        "pixels_healpix, ring": ("pixels_healpix", [pixels[False]], 5, n),
        "pixels_healpix, nest": ("pixels_healpix", [pixels[True]], 5, n),
        "stokes_weights_I": ("stokes_weights_I", [(r, p["ones"], v, p["near_one"])], 1, n),
        "stokes_weights_IQU, wave plate": ("stokes_weights_IQU", [stokes["plate"]], 3, n),
        "stokes_weights_IQU": ("stokes_weights_IQU", [stokes["plain"]], 3, n),
        "scan_map": ("scan_map", [(local, p["n_pix"], sky, p["signal"], r, p["pixels"], r, w, r, v, 1.0, False, False, False)], 3, n),
        "noise_weight": ("noise_weight", [(p["signal"], r, v, p["near_one"])], 0, n),
        "build_noise_weighted": ("build_noise_weighted", [(local, np.zeros_like(sky), r, p["pixels"], r, w, r, p["signal"], r, p["det_flags"],
                                                           p["near_one"], 1, v, p["flags"], 1)], 1, n),
        "template_offset_add_to_signal": ("template_offset_add_to_signal", [
            (STEP, d * per, p["counts"], p["amplitudes"], p["amplitude_flags"], d, p["signal"], v) for d in detectors], 6, n),
        "template_offset_project_signal": ("template_offset_project_signal", [
            (d, p["signal"], d, p["det_flags"], 1, STEP, d * per, p["counts"], p["solved"], p["amplitude_flags"], v) for d in detectors], 8, n),
        "template_offset_apply_diag_precond": ("template_offset_apply_diag_precond", [
            (p["variance"], p["amplitudes"], p["amplitude_flags"], p["solved"])], 3, per * len(r)),
    }  # fmt: skip


def compiled_toast() -> Any:
    """TOAST's kernels, called as ours are; None where they are not installed."""
    try:
        import toast._libtoast as compiled
    except ImportError:
        return None

    class Kernels:
        def __getattr__(self, name: str) -> Callable[..., None]:
            if name == "scan_map":
                return lambda *a: getattr(compiled, f"ops_scan_map_{a[2].dtype.name}")(*a, False)
            return lambda *a: getattr(compiled, name)(*a, False)

    return Kernels()


def lines() -> dict[str, int]:
    """Lines of the kernels without blanks, comments and docstrings, by kernel, and of all that they share."""
    source = (EXAMPLE / "ingot_toast" / "kernels.py").read_text()
    tree = ast.parse(source)
    code: set[int] = set()
    passed = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in passed:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            code -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    counted: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        is_kernel = isinstance(node, ast.FunctionDef) and bool(node.decorator_list)
        name = node.name if isinstance(node, ast.FunctionDef) and is_kernel else "shared"
        counted[name] = counted.get(name, 0) + len(code & set(range(first, (node.end_lineno or first) + 1)))
    return counted


def kernels(rounds: int, threads: int, small: bool) -> dict[str, dict[str, Any]]:
    """By kernel: the least nanoseconds a detector-sample of each contestant, and lines."""
    sys.path.insert(0, str(EXAMPLE))
    from ingot_toast import judged
    from ingot_toast import kernels as own

    peer = compiled_toast()
    p = problem(2, 2000, 7, 16) if small else problem(8, 100_000, 50, 512)
    contestants: dict[str, tuple[Any, int]] = {"Ingot, 1 thread": (own, 1), "Ingot, 2 threads": (own, 2)}
    if peer is not None:
        contestants = {f"TOAST, {threads} thread(s)": (peer, threads), **contestants}
    code = lines()
    before = ingot.get_num_threads()
    table: dict[str, dict[str, Any]] = {}
    for title, (name, each, at, units) in calls(p, judged).items():
        start, own_each = each[0][at].copy(), [getattr(judged, name).__wrapped__(*arguments) for arguments in each]
        least = dict.fromkeys(contestants, np.inf)
        for number in range(rounds + 1):
            for contestant, (module, count) in contestants.items():
                ingot.set_num_threads(count)
                each[0][at][...] = start
                function = getattr(module, name)
                begin = time.perf_counter()
                for arguments in own_each if module is own else each:
                    function(*arguments)
                seconds = time.perf_counter() - begin
                if number:
                    least[contestant] = min(least[contestant], seconds / units * 1e9)
        table[title] = {**least, "lines": code[name]}
    ingot.set_num_threads(before)
    table["shared lines"] = {"lines": code["shared"]}
    return table


def text(table: dict[str, dict[str, Any]]) -> str:
    """The table: nanoseconds a detector-sample (an amplitude for the last kernel), and TOAST's time over Ingot's."""
    names = [name for name in next(iter(table.values())) if name != "lines"]
    peer = next((name for name in names if name.startswith("TOAST")), None)
    shown = [*names, *(f"{name[7:]}, times" for name in names if peer and name != peer), "lines"]
    out = [f"\nkernels of TOAST, ns a detector-sample{'' if peer else ' (TOAST is not installed)'}",
           f"  {'':36}" + "".join(f"{name:>20}" for name in shown)]  # fmt: skip
    for title, row in table.items():
        figures = [f"{row[name]:20.3f}" if name in row else f"{'':20}" for name in names]
        if peer:
            figures += [f"{row[peer] / row[name]:20.2f}" if name in row else f"{'':20}" for name in names if name != peer]
        out.append(f"  {title:36}" + "".join(figures) + f"{row['lines']:20}")
    return "\n".join(out)
