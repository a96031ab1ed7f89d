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
    "disasters", "swing_up", "spirals", "neural_field", "turing_patterns",
)  # fmt: skip
"""In the order of the gallery."""

SIZES = {"molecules": (8, 4.6), "vortex_street": (8, 4), "el_nino": (8, 3.2), "cosmic_web": (5.6, 4.6), "turing_patterns": (8, 4.1),
         "denoise": (8, 3.9), "options": (9, 3), "spirals": (8, 4.2), "neural_field": (9, 3)}  # fmt: skip
COLOURS = {"turing_patterns": 32, "denoise": 24, "gravitational_wave": 48, "neural_field": 32}
"""Of pictures that are large otherwise."""

THEMES = ("light", "dark")


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
            with plt.style.context(IMAGES.parents[1] / f"{theme}.mplstyle"):
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
