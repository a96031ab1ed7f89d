"""The charts of docs/benchmarks.md and of the front page, each for light pages and for dark ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def draw(path: Path, size: tuple[float, float], paint: Callable) -> None:
    """Paints a figure in both styles of the manual, into PATH-light.svg and PATH-dark.svg."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        with plt.style.context(DOCS / f"{theme}.mplstyle"):
            figure = plt.figure(figsize=size, layout="constrained")
            paint(figure)
            file = path.with_name(f"{path.name}-{theme}.svg")
            figure.savefig(file, transparent=True, metadata={"Date": None, "Creator": None})
            plt.close(figure)
        file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")


def bars(path: Path, rows: Sequence[tuple[str, float, str]], title: str, label: str) -> None:
    """Horizontal bars with what is written next to each; the first, Ingot's, in a colour of its own."""

    def paint(figure) -> None:
        axes = figure.subplots()
        names = [name for name, _, _ in rows]
        drawn = axes.barh(names, [value for _, value, _ in rows], color=["C0", *["C1"] * (len(rows) - 1)], height=0.62)
        axes.bar_label(drawn, [text for _, _, text in rows], padding=5)
        axes.margins(x=0.2)
        axes.invert_yaxis()
        axes.tick_params(left=False)
        axes.spines["left"].set_visible(False)
        axes.set(title=title, xlabel=label)

    draw(path, (8, 0.42 * len(rows) + 1), paint)


def ratios(path: Path, rows: Sequence[tuple[str, dict[str, float]]], peers: Sequence[str]) -> None:
    """A row for each program with a dot for each peer: how many times Ingot's time the peer takes, to a logarithmic scale."""

    def paint(figure) -> None:
        axes = figure.subplots()
        for number, (peer, marker) in enumerate(zip(peers, "sDo^v"), 1):
            points = [(found[peer], place) for place, (_, found) in enumerate(rows) if peer in found]
            axes.plot(*zip(*points), marker, color=f"C{number}", label=peer, markersize=5, alpha=0.85)
        axes.axvline(1, color="C0", linewidth=1.2)
        low = min(1.0, *(v for _, found in rows for v in found.values()))
        axes.axvspan(0.8 * low, 1, color="gray", alpha=0.12, linewidth=0)
        axes.set(xscale="log", xlabel="the peer's time over Ingot's; in the grey part Ingot is slower", xlim=0.8 * low, ylim=(len(rows) - 0.5, -0.5))
        axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(axis="both", linewidth=0.4)
        figure.legend(loc="outside upper center", ncols=len(peers))

    draw(path, (8, 0.19 * len(rows) + 1.2), paint)
