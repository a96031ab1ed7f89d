"""The pages that benchmarks write: what Ingot loses comes first, and the front page's picture has its table's figures."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import charts, front, page  # noqa: E402
from bench.bounds import BOUNDS  # noqa: E402
from bench.primitives import page as primitives_page  # noqa: E402
from bench.primitives.tasks import PRIMITIVES  # noqa: E402
from bench.workloads import WORKLOADS  # noqa: E402

README = (ROOT / "README.md").read_text()


def workload(name, **milliseconds):
    names = {n: n.replace("_", " ").replace("cpp", "c++") for n in milliseconds}
    rows = [{"name": names[n], "times": [2e-3 * t, 1e-3 * t], "peak_bytes": int(1e5 * t)} for n, t in milliseconds.items()]
    return {"name": name, "rows": [*rows, {"name": "jax", "times": []}]}


FIGURES = {
    "machine": {"date": "2026-11-28", "cpu": "a CPU", "ingot": "0.1.0", "numpy": "2.4.6"},
    "load": 9.0,
    "threads": 1,
    "rounds": 5,
    "clock": "cpu",
    "workloads": [
        workload("faster", numpy=40.0, ingot_loop=10.0, ingot_fast_loop=8.0, cpp_fast=8.0, numba=9.9),
        workload("slower", numpy=40.0, ingot_array=10.0, ingot_fast_array=10.0, cpp_strict=5.0),
    ],
    "calls": {"first call: f": {"ingot": {"min": 0.01}, "jax": "refused"}},
}


def test_forms_have_ratios_to_peers():
    slower, faster = page.forms(FIGURES)
    assert (slower["workload"], slower["form"], slower["seconds"]) == ("slower", "array", 0.01)
    assert slower["ratios"] == pytest.approx({"c++ strict": 0.5, "numpy": 4.0})
    assert faster["ratios"] == pytest.approx({"c++ fast": 1.0, "numba": 0.99, "numpy": 4.0})
    assert page.means([slower, faster])["numpy"] == pytest.approx(4.0)


def test_what_is_slower_comes_first(tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(charts, "bars", lambda path, rows, *_: drawn.update({path.name: rows}))
    monkeypatch.setattr(charts, "ratios", lambda path, rows, peers: drawn.update({path.name: rows}))
    monkeypatch.setitem(page.BOUNDS, ("slower", "array"), "one division an element")
    page.write(FIGURES, tmp_path / "benchmarks.md")
    text = (tmp_path / "benchmarks.md").read_text()
    first, others = text.split("## The others")
    assert "| `slower` | array | 10 | **0.50** | - | - | - | 4.00 | 1.0 | 4.0 |" in first and "`faster`" not in first
    assert "| `faster` | loop | 10 | - | 1.00 | 0.99 | - | 4.00 | 1.0 | 4.0 |" in others and "busy (9 processes" in first
    assert "| `slower` | array | 0.50 | one division an element |" in first
    assert "1 of 2 rows" in first and "| first call: f | ms | ingot 10 |" in others
    assert [name for name, _ in drawn["ratios"]] == ["slower, array", "faster, loop"] and drawn["means"][0][0] == "Ingot"


def test_bounds_are_of_forms_that_there_are():
    there = {(w.name, form) for w in WORKLOADS for form in w.forms}
    assert set(BOUNDS) <= there and all(BOUNDS.values())


def test_the_manuals_page_is_of_the_renderer():
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    assert text.index("## Where Ingot is slower") < text.index("## The others")
    for name in re.findall(r"\{image\} (\S+)", text):
        assert (ROOT / "docs" / name).stat().st_size < 200_000


def test_the_page_of_primitives(tmp_path):
    machine = {"date": "2026-11-30", "cpu": "a CPU", "numpy": "2.4.6"}
    one = {"map": {"100": {"ingot": [2e-6, 1e-6], "numpy": [3e-6], "c++": [5e-7]}, "1000000": {"ingot": [1e-3], "numpy": [2e-3], "c++": [9.6e-4]}}}
    again = {"map": {"1000000": {"ingot": [2e-3], "numpy": [2.5e-2]}}, "sort": {"100000000": {"ingot": [2.0], "numpy": []}}}
    runs = [{"threads": 1, "machine": machine, "load": 1.0, "times": one}, {"threads": 2, "machine": machine, "load": 5.2, "times": again}]
    file = tmp_path / "page.md"
    file.write_text("".join(f"<!-- {name} -->\nold\n<!-- end -->\n" for name in ("machine", "threads-1", "threads-2", "bounds")))
    primitives_page.write(runs, file)
    text = file.read_text()
    assert "old" not in text and "up to 5 processes" in text
    assert "| `map` | 1 µs, **0.50** C++ | 1 ms, 0.96 C++ |" in text and "0 of 1 at 10², 1 of 1 at 10⁶ elements" in text
    assert "| `map` | 2 ms, 12 NumPy | - |" in text and "| `sort` | - | - |" in text
    assert f"| `map` | 10² | {primitives_page.CALLS} |" in text
    primitives_page.write([*runs, {"threads": 1, "machine": machine, "load": 1.0, "times": {"map": {"100": {"ingot": [1e-6], "numpy": [1e-6]}}}}], file)
    assert "| `map` | 1 µs, 1.00 NumPy | 1 ms, 0.96 C++ |" in file.read_text()
    names = {primitive.name for primitive in PRIMITIVES}
    assert set(primitives_page.BOUNDS) <= names and "not looked into" not in (ROOT / "docs" / "parallel-speed.md").read_text()


class TestFrontPage:
    def test_its_program_is_diffusion(self):
        module = front.program(README)
        u = np.random.default_rng(0).random((20, 30))
        expected = module.diffuse.__wrapped__(u.copy(), 3)
        assert front.verdict(module.diffuse(u.copy(), 3), expected) == "NumPy's, bit for bit"
        assert front.verdict(expected + 1e-15, expected) == "differs in the last bits"
        assert front.verdict(expected + 0.02, expected) == "differs by 0.02: iterations race"

    def test_its_picture_has_its_tables_figures(self):
        rows = front.bars(README)
        assert rows[0][0] == "Ingot" and [name.split()[0] for name, _, _ in rows[1:]] == ["NumPy", "Numba", "Numba,", "JAX"]
        for theme in ("light", "dark"):
            svg = (ROOT / "docs" / "images" / f"front-{theme}.svg").read_text()
            assert all(f">{text}<" in svg for _, _, text in rows)

    def test_a_table_is_read_as_it_is_written(self):
        rows = [("NumPy 2.4", 1.0, 1.234, ""), ("**Ingot**", 0.2, 0.05, "NumPy's, bit for bit"), ("Numba, `parallel=True`", 1.0, 0.3, "differs by 1: iterations race")]
        text = front.table(rows, 10, 3, "one core")
        assert "| NumPy 2.4 | | 1 234 ms | |" in text
        assert front.bars(text) == [("Ingot", 50.0, "50 ms"), ("NumPy 2.4", 1234.0, "1 234 ms"), ("Numba, parallel=True", 300.0, "300 ms, a wrong result")]

    def test_it_is_short(self):
        assert len(README.split()) <= 700
