"""The gallery's pictures: `python examples/gallery/pictures.py [NAME...]` runs programs and draws what they found.

Each program is drawn twice, for light pages and for dark ones, into docs/gallery/images.
"""

import importlib
import io
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
IMAGES = FOLDER.parents[1] / "docs" / "gallery" / "images"
PROGRAMS = (
    "molecules", "vortex_street", "el_nino", "neurons", "cosmic_web", "denoise", "gravitational_wave", "pagerank", "ising", "options",
    "disasters", "swing_up", "spirals", "turing_patterns",
)  # fmt: skip
"""In the order of the gallery."""

SIZES = {"molecules": (8, 4.6), "vortex_street": (8, 4), "el_nino": (8, 3.2), "cosmic_web": (5.6, 4.6), "turing_patterns": (8, 4.1),
         "denoise": (8, 3.9), "options": (9, 3), "spirals": (8, 4.2)}  # fmt: skip
COLOURS = {"turing_patterns": 32, "denoise": 24, "gravitational_wave": 48}
"""Of pictures that are large otherwise."""

THEMES = {
    "light": {"ink": "#1f2328", "paper": "#ffffff", "grid": "#d0d7de", "cycle": ("#c2560a", "#0a6c9c", "#2e7d4f", "#8b4bb0")},
    "dark": {"ink": "#d8dee4", "paper": "#131416", "grid": "#3d444d", "cycle": ("#ffb26b", "#62b8ea", "#7fd3a0", "#cf9df0")},
}


def style(theme):
    """What matplotlib is to draw with."""
    from cycler import cycler

    ink, paper = THEMES[theme]["ink"], THEMES[theme]["paper"]
    inked = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink)
    papers = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), paper)
    return {
        **inked,
        **papers,
        "axes.prop_cycle": cycler(color=THEMES[theme]["cycle"]),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "large",
        "legend.edgecolor": THEMES[theme]["grid"],
        "font.size": 10,
        "lines.markersize": 4,
        "lines.linewidth": 1.4,
        "image.interpolation": "nearest",
    }


def save(figure, path, colours):
    """Writes a PNG of few colours."""
    from PIL import Image

    raw = io.BytesIO()
    figure.savefig(raw, dpi=100)
    Image.open(raw).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def main(names):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sys.path.insert(0, str(FOLDER))
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in names or PROGRAMS:
        program = importlib.import_module(name)
        found = program.run()
        for theme in THEMES:
            with plt.rc_context(style(theme)):
                figure = plt.figure(figsize=SIZES.get(name, (8, 4.4)), layout="constrained")
                program.draw(figure, *found)
                for image in [image for axes in figure.axes for image in axes.images] if theme == "dark" else ():
                    if image.get_cmap().name == "RdBu_r":
                        image.set_cmap("berlin")  # dark in its middle
                path = IMAGES / f"{name}-{theme}.png"
                save(figure, path, COLOURS.get(name, 96))
                plt.close(figure)
            print(f"{path.name}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
