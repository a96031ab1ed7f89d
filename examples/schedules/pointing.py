"""A pipeline of a telescope in one pass: pointing, pixels, weights and a map, a tile of samples after the other."""

import numpy as np

import ingot


def pipeline(boresight, offsets, tod, zmap, nside):
    turn, roll, height, level = boresight[:, None]
    with ingot.loop("zd", "zs"):
        z = height * offsets[:, 2, None] - level * offsets[:, 0, None]
    with ingot.loop("pd", "ps"):
        phi = turn + np.arctan2(offsets[:, 1, None], z)
    with ingot.loop("xd", "xs"):
        pixels = ((z + 1) * 0.5 * (nside - 1)).astype(np.int64) * nside + (phi % (2 * np.pi) / (2 * np.pi) * (nside - 1)).astype(np.int64)
    with ingot.loop("wd", "ws"):
        angle = 2 * (roll + phi)
    for i in range(tod.shape[0]):
        for j in range(tod.shape[1]):
            zmap[pixels[i, j], 0] += tod[i, j]
            zmap[pixels[i, j], 1] += tod[i, j] * np.cos(angle[i, j])
            zmap[pixels[i, j], 2] += tod[i, j] * np.sin(angle[i, j])


plan = ingot.schedule().split("j", 2048)
for stage in ("wd", "xd", "pd", "zd"):
    plan = plan.compute_at(stage, "j_outer")
fast = ingot.jit(pipeline, schedule=plan)
