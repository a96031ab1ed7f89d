"""`f.explain(..., svg=FILE)`: what was fused, the bytes moved, and the drawing of both."""

import gc
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import ingot
from ingot._reports import drawing as _drawing
from ingot.tour.programs import PROGRAMS

SVG = "{http://www.w3.org/2000/svg}"


def fusion(function, *arguments):
    compiled = ingot.jit(function)
    specialisation, given = compiled._prepare(arguments, {})
    stages = specialisation.program.compile(texts=True)
    return stages["nests"].fusion(specialisation.program.interface[0], given.leaves)


def names(nest):
    return sorted(op.name for op in nest.ops)


def chain(x, y):
    a = x * 2.0
    b = a + y
    return np.sqrt(b)


def normalised(x):
    return x / np.sum(x)


def copied_rows(to, given):
    for i in range(len(to)):
        to[i] = given[i]


def repeated(x, iterations):
    for _ in range(iterations):
        x = np.sin(x[::-1])
    return x


def gathered(x, index):
    out = np.empty(len(index))
    for i in range(len(index)):
        out[i] = x[index[i]]
    return out


def chosen(x):
    return np.sum(x[x > 0.5])


def kept_or_doubled(x, y):
    if len(x) == len(y):
        return x + y
    return x * 2.0


def test_a_chain_is_one_nest_that_moves_the_least():
    found = fusion(chain, np.ones(1000), np.ones(1000))
    (nest,) = found.nests
    assert names(nest) == ["add", "load", "load", "multiply", "sqrt", "store"]
    assert found.moved == found.least == 3 * 8000
    (divided,) = [op for op in nest.ops if op.name == "sqrt"]
    assert [u.name for u in divided.takes] == ["add"]
    assert [b.kind for b in found.buffers] == ["argument", "argument", "result"]


def test_ops_keep_the_place_that_they_were_written_at():
    (nest,) = fusion(chain, np.ones(10), np.ones(10)).nests
    first = chain.__code__.co_firstlineno
    lines = {op.name: op.place[1] - first for op in nest.ops if op.name not in ("load", "store")}
    assert lines == {"multiply": 1, "add": 2, "sqrt": 3}


def test_a_number_of_one_nest_is_used_in_another():
    found = fusion(normalised, np.ones(1000))
    total, quotient = found.nests
    assert "reduce add" in names(total) and "divide" in names(quotient)
    (divide,) = [op for op in quotient.ops if op.name == "divide"]
    assert any(u in total.ops for u in divide.takes)
    assert found.moved == 3 * 8000 and found.least == 2 * 8000


def test_windows_that_move_count_together():
    found = fusion(copied_rows, np.zeros((50, 8)), np.ones((50, 8)))
    assert found.moved == found.least == 2 * 50 * 8 * 8


def test_iterations_of_a_loop_around_count():
    found = fusion(repeated, np.ones(100), 7)
    assert {n.iterations for n in found.nests if "sin" in names(n)} == {7}
    assert found.moved is not None and found.moved >= 7 * 2 * 800 and found.least == 1600


def test_an_index_is_an_edge():
    (nest,) = fusion(gathered, np.ones(100), np.arange(50)).nests
    loads = [op for op in nest.ops if op.name == "load"]
    assert any(u.name == "load" for op in loads for u in op.takes)
    assert nest.read and max(nest.read.values()) == 400


def test_what_depends_on_contents_is_unknown():
    found = fusion(chosen, np.ones(100))
    assert found.moved is None and found.least == 800


@pytest.mark.parametrize("length, op", [(10, "add"), (4, "multiply")])
def test_the_version_that_runs_is_shown(length, op):
    shown = {o.name for n in fusion(kept_or_doubled, np.ones(10), np.ones(length)).nests for o in n.ops}
    assert shown & {"add", "multiply"} == {op}


@pytest.mark.rotated(3)
def test_a_part_is_one_object_and_holds_the_rest():
    op = fusion(chain, np.ones(10), np.ones(10)).nests[0].ops[-1]
    gc.collect()
    (root,) = op.takes
    assert root is op.takes[0] and root.name == "sqrt" and op.puts is op.puts and op.puts.kind == "result"


DISTINCT = list({p.plain: p for p in PROGRAMS if p.calls is None}.values())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("program", DISTINCT, ids=lambda p: p.name)
def test_drawings_are_well_formed(program, tmp_path):
    ingot.jit(program.plain).explain(*program.arguments(True), svg=tmp_path / "drawing.svg")
    text = (tmp_path / "drawing.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == SVG + "svg" and "href" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert "nan" not in text


def test_a_drawing_shows_each_op_in_its_nest(tmp_path):
    text = ingot.jit(normalised).explain(np.ones(1000), svg=tmp_path / "drawing.svg")
    assert "=== loop IR ===" in text
    root = ElementTree.parse(tmp_path / "drawing.svg").getroot()
    groups = [g for g in root.iter(SVG + "g") if g.get("class") == "nest-group"]
    shown = [[t.text for t in g.iter(SVG + "text")] for g in groups]
    assert "reduce add" in shown[0] and "divide" in shown[1] and "divide" not in shown[0]
    labels = [t.text for t in root.iter(SVG + "text") if t.get("class") == "bytes"]
    assert labels.count("8 kB") == 3 and "a number" in labels
    assert "24 kB moved, 16 kB at least (1.50 times)" in root.find(SVG + "title").text


def test_boxes_do_not_overlap():
    found = fusion(PROGRAMS[0].plain, *PROGRAMS[0].arguments(True))
    drawing = _drawing._Drawing(found)
    for layout in (drawing.layout, *(b.inside for b in drawing.layout.boxes if b.inside)):
        for i, a in enumerate(layout.boxes):
            for b in layout.boxes[i + 1 :]:
                apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
                assert apart, (a.title, b.title)


def test_sizes_in_words():
    assert [_drawing.bytes_text(n) for n in (None, 12, 1500, 2_000_000, 3_500_000_000)] == [
        "? B", "12 B", "1.5 kB", "2 MB", "3.5 GB"
    ]  # fmt: skip
