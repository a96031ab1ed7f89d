"""The gallery: each program gives what plain Python and NumPy give, its peers find the same, and it has a page and pictures."""

import copy
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "gallery"
sys.path.insert(0, str(ROOT / "examples" / "gallery"))

import gravitational_wave  # noqa: E402
import options  # noqa: E402
import pictures  # noqa: E402
import swing_up  # noqa: E402
import times  # noqa: E402

BITS = {"vortex_street", "el_nino", "neurons", "cosmic_web", "disasters", "turing_patterns", "ising"}
"""Programs whose results are plain Python's and NumPy's to the last bit; the others have elementary functions or sums of floats over arrays."""
SAMPLE = {"el_nino", "neurons", "cosmic_web", "gravitational_wave", "pagerank", "swing_up"}
"""Programs that each run of the tests looks at; the others are slow ones."""

RUNS = {
    "molecules": {"atoms": 36, "steps": 6},
    "vortex_street": {"height": 20, "width": 40, "steps": 8},
    "el_nino": {"rows": 20, "columns": 30, "days": 1},
    "neurons": {"excite": 30, "inhibit": 10, "milliseconds": 50},
    "cosmic_web": {"n": 16, "steps": 4},
    "denoise": {"size": 24},
    "gravitational_wave": {"samples": 1024, "templates": 5},
    "pagerank": {"pages": 300, "links": 3},
    "ising": {"size": 10, "count": 30, "temperatures": 3},
    "options": {"steps": 5, "paths": 100, "spots": 3},
    "disasters": {"draws": 600},
    "swing_up": {"steps": 20, "iterations": 3},
    "spirals": {"points": 20, "width": 4, "iterations": 5},
    "neural_field": {"count": 20, "width": 4, "steps": 5},
    "turing_patterns": {"size": 24, "steps": 10},
}
"""Small sizes for each program's `run`."""


def names(sample=SAMPLE):
    return [pytest.param(name, marks=() if name in sample else pytest.mark.slow) for name in times.CASES]


def plain(name):
    """The program without Ingot: derivatives by differences, batches by loops."""
    if name == "gravitational_wave":
        return times.plain_bank
    if name == "options":
        return times.peers.differences(options.asian_call)
    if name == "swing_up":
        return swing_up.cost
    if name == "spirals":
        return times.peers.numpy_spirals
    if name == "neural_field":
        return times.peers.numpy_neural_field
    return times.CASES[name].function.__wrapped__


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", names())
def test_results_are_those_of_plain_python(name):
    case = times.CASES[name]
    arguments = case.arguments(True)
    own, others = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        found, expected = case.function(*own), plain(name)(*others)
    if name in BITS:
        pairs = list(zip(times.leaves(found), times.leaves(expected)))
        pairs += [(a, b) for a, b in zip(own, others) if isinstance(a, np.ndarray)]
        assert pairs and all(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    elif name == "swing_up":
        value, slope = found
        assert value == pytest.approx(expected, rel=1e-12)
        for i in (0, 7, 19):
            step = 1e-6 * (np.arange(20) == i)
            difference = (swing_up.cost(own[0] + step) - swing_up.cost(own[0] - step)) / 2e-6
            assert slope[i] == pytest.approx(difference, rel=1e-5, abs=1e-7)
    else:
        times.compare(name, case.found(found, own), case.found(expected, others))


@pytest.mark.parametrize("name", names())
def test_programs_run(name):
    found = times.leaves(importlib.import_module(name).run(**RUNS[name]))
    assert found and all(leaf.dtype.kind == "U" or np.isfinite(leaf).all() for leaf in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(times.CASES))
def test_peers_find_the_same(name):
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        with np.errstate(all="ignore"):
            figures = times.run_case(times.CASES[name], True, 0.0)
    finally:
        jax.config.update("jax_enable_x64", before)
    assert set(figures) == set(times.CONTESTANTS)
    refused = {contestant: f["refused"] for contestant, f in figures.items() if "refused" in f}
    case = times.CASES[name]
    assert refused == {c: getattr(case, c) for c in ("numpy", "numba") if isinstance(getattr(case, c), str)}


class TestScience:
    """What the pages claim of the programs, where it is quickly seen."""

    def test_a_wave_is_found(self):
        times_, _, _, masses, found = gravitational_wave.run(samples=4096, templates=61)
        i, j = np.unravel_index(np.argmax(found), found.shape)
        assert abs(masses[i] - 28.1) < 1 and abs(times_[j] - 0.7 * times_[-1]) < 0.02 and found[i, j] > 8

    @pytest.mark.rotated(3)
    def test_the_pole_goes_up(self):
        states, _ = swing_up.run(iterations=250)
        assert np.cos(states[-1, 1]) < -0.95

    @pytest.mark.slow
    def test_magnetisation(self):
        import ising

        temperatures, magnetisation, _ = ising.run(size=40, count=600, temperatures=3)
        assert magnetisation[0] == pytest.approx(ising.exact(temperatures[0]), abs=0.01) and magnetisation[-1] < 0.2

    @pytest.mark.slow
    def test_the_change_was_about_1890(self):
        import disasters

        rates, changes = disasters.run(20_000)
        assert np.bincount(changes).argmax() + 1851 in (1890, 1891, 1892)
        assert rates.mean(axis=0) == pytest.approx([3.1, 0.93], abs=0.05)


def test_each_program_has_a_page_and_pictures():
    programs = set(times.CASES)
    assert programs == set(RUNS) == set(pictures.PROGRAMS)
    assert {path.stem for path in PAGES.glob("*.md")} == programs | {"index"}
    assert {path.name for path in (PAGES / "images").iterdir()} == {f"{p}-{theme}.png" for p in programs for theme in pictures.THEMES}
    sizes = [path.stat().st_size for path in (PAGES / "images").iterdir()]
    assert max(sizes) <= 60_000 and sum(sizes) <= 1_000_000
    for name in programs:
        text = (PAGES / f"{name}.md").read_text()
        assert f"```{{literalinclude}} ../../examples/gallery/{name}.py" in text
        assert re.search(rf"<!-- times -->\n\n{re.escape(times.CASES[name].size)}.*<!-- end of times -->", text, re.S)
        assert 30 <= len((ROOT / "examples" / "gallery" / f"{name}.py").read_text().splitlines()) <= 110


def test_times_are_written_into_pages():
    row = {name: {"first": 0.5, "least": least, "rounds": 3} for name, least in (("ingot", 0.002), ("numpy", 0.034), ("jax", 0.001))}
    what = {"date": "2026-11-28", "cpu": "CPU", "cores": "2", "load": "9", **dict.fromkeys(times.CONTESTANTS, "1.2.3")}
    kept = {"programs": {"neurons": {**row, "numba": {"refused": "has none"}}}, "machines": {"neurons": what}}
    text = times.filled("# T\n\n<!-- times -->\nOLD\n<!-- end of times -->\n", times.table("neurons", kept))
    assert "OLD" not in text and "| NumPy 1.2 | - | 34.0 | 17.0 times as fast |" in text and "| Numba 1.2 | - | has none | - |" in text
    assert "| JAX 1.2 | 500 | **1.00** | **slower**, 0.50 times as fast |" in text and "while 9 processes ran" in text
    assert "| 2.00 | 34.0 | - | **1.00** |" in times.summary(kept)
