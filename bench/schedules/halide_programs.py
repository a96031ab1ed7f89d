"""The blur and the bilateral grid in Halide, under the schedules for processors that its own `apps` have."""

from __future__ import annotations

from collections.abc import Callable

import halide as hl
import numpy as np


def _bound(function: hl.Func, inputs: dict[hl.ImageParam, np.ndarray], out: np.ndarray) -> Callable[[], None]:
    """A call of compiled code, which writes into `out`."""
    for parameter, array in inputs.items():
        parameter.set(hl.Buffer(array))
    function.compile_jit()
    target = hl.Buffer(out)
    return lambda: function.realize(target)


def blur(image: np.ndarray, out: np.ndarray) -> Callable[[], None]:
    dtype = hl.UInt(16) if image.dtype == np.uint16 else hl.Float(32)
    given, three = hl.ImageParam(dtype, 2), hl.cast(dtype, 3)
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    rows, blurred = hl.Func("rows"), hl.Func("blurred")
    rows[x, y] = (given[x, y] + given[x + 1, y] + given[x + 2, y]) / three
    blurred[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) / three
    blurred.split(y, y, yi, 32).parallel(y).vectorize(x, 16)
    rows.store_at(blurred, y).compute_at(blurred, x).vectorize(x, 16)
    return _bound(blurred, {given: image}, out)


def bilateral_grid(image: np.ndarray, out: np.ndarray, levels: int) -> Callable[[], None]:
    given, side = hl.ImageParam(hl.Float(32), 2), 8
    x, y, z, c = (hl.Var(name) for name in "xyzc")
    clamped, window = hl.BoundaryConditions.repeat_edge(given), hl.RDom([(0, side), (0, side)])
    value = hl.clamp(clamped[x * side + window.x - side // 2, y * side + window.y - side // 2], 0.0, 1.0)
    near = hl.cast(hl.Int(32), value * float(levels) + 0.5)
    grid, along_z, along_x, blurred, sampled, result = (hl.Func(name) for name in ("grid", "along_z", "along_x", "blurred", "sampled", "result"))
    grid[x, y, z, c] = 0.0
    grid[x, y, near, c] += hl.mux(c, [value, 1.0])
    weights = tuple(zip(range(-2, 3), (1, 4, 6, 4, 1)))
    along_z[x, y, z, c] = sum(grid[x, y, z + k, c] * w for k, w in weights)
    along_x[x, y, z, c] = sum(along_z[x + k, y, z, c] * w for k, w in weights)
    blurred[x, y, z, c] = sum(along_x[x, y + k, z, c] * w for k, w in weights)
    depth = hl.clamp(given[x, y], 0.0, 1.0) * float(levels)
    low = hl.cast(hl.Int(32), depth)
    xf, yf, zf = hl.cast(hl.Float(32), x % side) / side, hl.cast(hl.Float(32), y % side) / side, depth - low
    i, j = x // side, y // side
    across = [[hl.lerp(blurred[i, s, r, c], blurred[i + 1, s, r, c], xf) for s in (j, j + 1)] for r in (low, low + 1)]
    sampled[x, y, c] = hl.lerp(*(hl.lerp(*pair, yf) for pair in across), zf)
    result[x, y] = sampled[x, y, 0] / sampled[x, y, 1]
    along_z.compute_at(along_x, y).reorder(c, z, x, y).vectorize(x, 8).unroll(c)
    grid.compute_at(along_z, y)
    grid.update().reorder(c, window.x, window.y, x, y).unroll(c)
    along_x.compute_root().reorder(c, x, z, y).parallel(y).vectorize(x, 8).unroll(c)
    blurred.compute_at(result, y).store_in(hl.MemoryType.Stack).reorder(c, x, y, z).reorder_storage(c, z, x, y).vectorize(x, 8).unroll(c)
    result.compute_root().parallel(y, 8).vectorize(x, 8)
    return _bound(result, {given: image}, out)
