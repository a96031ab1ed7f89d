"""Smoothing that keeps edges, by a grid of histograms of 8 x 8 pixels: built, blurred along its axes, interpolated."""

import numpy as np

import ingot

f = np.float32


def unit(v):
    return min(max(v, f(0)), f(1))


def blurred(a):
    return a[0] + a[1] * 4 + a[2] * 6 + a[3] * 4 + a[4]


def sampled(b, c, k, j, i, x, y, z):
    rows = [[b[s, c, r, i] + (b[s, c, r, i + 1] - b[s, c, r, i]) * x for s in (j, j + 1)] for r in (k, k + 1)]
    near, far = (p + (q - p) * y for p, q in rows)
    return near + (far - near) * z


def bilateral_grid(image, out, levels):
    h, w = image.shape
    with ingot.loop("ty", "tx"):
        twice = (np.clip(image, 0, 1) * f(2 * levels)).astype(np.int64)
    grid = np.empty(((h - 1) // 8 + 6, 2, levels + 6, (w - 1) // 8 + 6), f)
    for hy in range(grid.shape[0]):
        for hx in range(grid.shape[3]):
            for z in range(levels + 6):
                grid[hy, 0, z, hx] = grid[hy, 1, z, hx] = 0
            for n in range(64):
                y, x = min(max(hy * 8 + n // 8 - 20, 0), h - 1), min(max(hx * 8 + n % 8 - 20, 0), w - 1)
                k = min(max((twice[y, x] + 1) // 2, 0), levels + 1) + 2
                grid[hy, 0, k, hx] += unit(image[y, x])
                grid[hy, 1, k, hx] += 1
    with ingot.loop("zy", "zc", "zz", "zx"):
        along_z = blurred([grid[:, :, k : k + levels + 2] for k in range(5)])
    with ingot.loop("xy", "xc", "xz", "xx"):
        along_x = blurred([along_z[..., k : k + (w - 1) // 8 + 2] for k in range(5)])
    with ingot.loop("yy", "yc", "yz", "yx"):
        blur = blurred([along_x[k : k + (h - 1) // 8 + 2] for k in range(5)])
    for y in range(h):
        for x in range(w):
            k = min(max(twice[y, x] // 2, 0), levels)
            at = k, y // 8, x // 8, f(x % 8) / 8, f(y % 8) / 8, unit(image[y, x]) * f(levels) - f(k)
            out[y, x] = sampled(blur, 0, *at) / sampled(blur, 1, *at)


plan = ingot.schedule().compute_at("zy", "xy").compute_at("hy", "zy").split("y", 8).compute_at("yy", "y_outer").parallel("xy").parallel("y_outer")
fast = ingot.jit(bilateral_grid, schedule=plan)

if __name__ == "__main__":
    image = np.random.default_rng(0).random((64, 96), f)
    out, expected = np.empty_like(image), np.empty_like(image)
    fast(image, out, 10)
    bilateral_grid(image, expected, 10)
    print(np.array_equal(out, expected))
