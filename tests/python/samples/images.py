"""Grey images as arrays: contrast, blur, edges, resizing, morphology."""

import numpy as np


def equalise_histogram(image, levels=256):
    """Spreads the grey values of an image of bytes so that all are about as frequent."""
    counts = np.bincount(image.ravel(), minlength=levels)
    cumulative = counts.cumsum()
    occupied = np.flatnonzero(counts)
    if occupied.size <= 1:
        return image.copy()
    lowest = cumulative[occupied[0]]
    scale = (levels - 1) / (image.size - lowest)
    table = np.round((cumulative - lowest).clip(0) * scale).astype(np.uint8)
    return table[image]


def gaussian_kernel(sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (x / sigma) ** 2)
    return weights / weights.sum()


def gaussian_blur(image, sigma):
    """Blurs by a separable Gaussian, the border repeated."""
    kernel = gaussian_kernel(sigma)
    radius = len(kernel) // 2
    height, width = image.shape
    padded = np.pad(image, radius, mode="edge")
    rows = np.zeros((height, width + 2 * radius))
    for k, weight in enumerate(kernel):
        rows += weight * padded[k : k + height]
    result = np.zeros((height, width))
    for k, weight in enumerate(kernel):
        result += weight * rows[:, k : k + width]
    return result


def sobel(image):
    p = np.pad(image, 1, mode="reflect")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return gx, gy


def find_edges(image, low, high):
    """Canny's edges: gradients, thinned to their ridges, weak ones kept where they touch strong ones."""
    gx, gy = sobel(image)
    magnitude = np.hypot(gx, gy)
    angle = np.rad2deg(np.arctan2(gy, gx)) % 180
    m = np.pad(magnitude, 1)
    inner = m[1:-1, 1:-1]
    horizontal = (angle < 22.5) | (angle >= 157.5)
    rising = (angle >= 22.5) & (angle < 67.5)
    vertical = (angle >= 67.5) & (angle < 112.5)
    ahead = np.where(
        horizontal, m[1:-1, 2:], np.where(rising, m[2:, 2:], np.where(vertical, m[2:, 1:-1], m[2:, :-2]))
    )
    behind = np.where(
        horizontal, m[1:-1, :-2], np.where(rising, m[:-2, :-2], np.where(vertical, m[:-2, 1:-1], m[:-2, 2:]))
    )
    thin = np.where((inner >= ahead) & (inner >= behind), magnitude, 0)
    edges = thin > high
    weak = thin > low
    while True:
        p = np.pad(edges, 1)
        near = np.zeros_like(edges)
        for dy in (0, 1, 2):
            for dx in (0, 1, 2):
                near |= p[dy : dy + edges.shape[0], dx : dx + edges.shape[1]]
        grown = edges | (weak & near)
        if (grown == edges).all():
            return edges
        edges = grown


def resize(image, height, width):
    """An image of another size by bilinear interpolation; colours are along the last axis."""
    old_height, old_width = image.shape[:2]
    y = np.clip((np.arange(height) + 0.5) * old_height / height - 0.5, 0, old_height - 1)
    x = np.clip((np.arange(width) + 0.5) * old_width / width - 0.5, 0, old_width - 1)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, old_height - 1)
    x1 = np.minimum(x0 + 1, old_width - 1)
    wy = (y - y0)[:, np.newaxis, np.newaxis]
    wx = (x - x0)[np.newaxis, :, np.newaxis]
    top = image[y0][:, x0] * (1 - wx) + image[y0][:, x1] * wx
    bottom = image[y1][:, x0] * (1 - wx) + image[y1][:, x1] * wx
    result = top * (1 - wy) + bottom * wy
    if image.dtype == np.uint8:
        result = np.rint(result).astype(np.uint8)
    return result


def otsu_threshold(image):
    """The grey value that parts an image best in two classes."""
    counts, edges = np.histogram(image, bins=256)
    centres = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)
    above = np.cumsum(counts[::-1])[::-1]
    mean_below = np.cumsum(counts * centres) / np.maximum(below, 1)
    mean_above = (np.cumsum((counts * centres)[::-1]) / np.maximum(above[::-1], 1))[::-1]
    variance = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:]) ** 2
    return centres[np.argmax(variance)]


def bright_part(image, steps):
    """How much of an image is bright after opening it, and the box around that."""
    mask = image > otsu_threshold(image)
    for _ in range(steps):
        p = np.pad(mask, 1, constant_values=True)
        mask = p[:-2, 1:-1] & p[2:, 1:-1] & p[1:-1, :-2] & p[1:-1, 2:] & mask
    for _ in range(steps):
        p = np.pad(mask, 1)
        mask = p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:] | mask
    ys, xs = np.nonzero(mask)
    if ys.size == 0:
        raise ValueError("nothing is bright")
    return mask.mean(), (ys.min(), xs.min(), ys.max() + 1, xs.max() + 1)
