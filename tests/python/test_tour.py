"""The programs of the tour at small sizes, compiled, in the interpreter and under peers, and the reports of the tour."""

import base64
import dataclasses
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

import ingot
from ingot._calls.function import Function
from ingot.tour import charts, html, peaks, report, run_program, same
from ingot.tour.peers import Machine, open_machine
from ingot.tour.programs import PROGRAMS


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_compiled(program):
    row = run_program(program, small=True)
    assert row["right"], row


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.sampled(4)
def test_interpreted(program):
    row = run_program(dataclasses.replace(program, compiled=lambda f: Function(f, mode="interpreted")), small=True)
    assert row["right"], row


def test_every_program_of_the_list_is_there():
    names = {p.name for p in PROGRAMS}
    assert len(names) == len(PROGRAMS)
    for stem in (
        "quadratic_array quadratic_loop quadratic_prange sum_dict_values accumulate_if sum_greater_than_three "
        "accumulate_global matmul reduce_elements stream_copy stream_scale stream_add stream_triad "
        "stream_guvectorize axpy sine kuramoto sum2d matmul_loops spca_unopt jax_intro_ones jax_intro_print "
        "jax_intro_switch jax_intro_where jax_intro_double_loop jax_intro_grad jax_intro_grad_twice jax_intro_vmap "
        "jax_intro_pmap jax_intro_lax_cond jax_intro_key jax_intro_split quadratic_value_and_grad quadratic_jvp "
        "quadratic_scan quadratic_fori_loop reduce_while_loop"
    ).split():
        assert any(name.startswith(stem) for name in names), stem


def test_a_wrong_result_is_seen(capsys):
    broken = dataclasses.replace(PROGRAMS[0], compiled=lambda f: lambda *a: f(*a) + 1e-3)
    assert not run_program(broken, small=True)["right"]


def test_same_distinguishes_types_and_dtypes():
    import numpy as np

    assert not same(1.0, np.float64(1.0), 0)
    assert not same(np.zeros(2, np.float32), np.zeros(2), 0)
    assert not same(ValueError("a"), ValueError("b"), 0)
    assert same(float("nan"), float("nan"), 0)


@pytest.mark.rotated(3)
def test_command_writes_figures(tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "ingot", "tour", "--small", "--only", "sum2d", "quadratic_array", "--json", file]
    command += ["--peers", "cpp", "--html", tmp_path / "report.html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 right" in done.stdout
    figures = json.loads(file.read_text())
    assert [p["name"] for p in figures["programs"]] == ["quadratic_array", "sum2d"]
    assert {"date", "cpu", "cores", "system", "versions", "peaks", "absent", "small"} <= set(figures)
    assert figures["peaks"]["core"]["bytes_per_s"] > 0 and figures["peaks"]["all"]["flops_per_s"] > 0
    row = figures["programs"][0]
    assert set(row["peers"]) == {"numpy", "c++ strict", "c++ fast"} and row["roof"]["bound"] == "memory"
    assert row["bytes"] == 4 * 8 * 4096 and row["flops"] == 9 * 4096
    check_page((tmp_path / "report.html").read_text(), figures["programs"])


class Page(HTMLParser):
    """The elements that are open at each point of a page, what it refers to, and its text."""

    EMPTY = {"meta", "br", "img", "hr", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.references, self.seen, self.texts = [], [], {}, []

    def handle_starttag(self, tag, attributes):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.references += [value for name, value in attributes if name in ("src", "href", "xlink:href", "srcset")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def check_page(text, rows):
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open and page.seen["html"] == page.seen["table"] == 1
    assert all(r.startswith("data:") for r in page.references)
    assert "http" not in text and "url(" not in text and "@import" not in text and "script" not in page.seen
    assert page.seen["details"] == len(rows)
    for row in rows:
        assert page.texts.count(row["name"]) >= 3  # in a chart, the table, and with its source
    return page


def test_drawings_in_the_page_are_svg():
    row = run_program(PROGRAMS[0], True, Machine())
    figures = {**FIGURES, "programs": [row]}
    text = html.page(figures, {PROGRAMS[0].name: PROGRAMS[0]})
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', text)
    assert ElementTree.fromstring(base64.b64decode(data)).tag.endswith("svg")
    page = check_page(text, [row])
    assert "def" in page.texts and page.seen["svg"] == 1  # the bars; without peaks no roofline


FIGURES = {
    "small": True, "date": "2001-02-03", "cpu": "a <CPU>", "cores": 2, "system": "a system", "versions": {"numpy": "2"},
    "absent": {"jax": "not installed"},
    "peaks": {who: {"bytes_per_s": 1e10, "flops_per_s": 5e10} for who in ("core", "all")},
}  # fmt: skip


def made_row(name, run, **changes):
    peers = {"numpy": {"run_s": 2 * run}, "numba": {"refused": "no <dict>"}, "c++ fast": {"wrong": "differs by 1"}}
    roof = {"s": run / 4, "bound": "memory", "reached": 0.25}
    return {
        "name": name, "family": "One", "right": True, "first_call_s": 0.01, "run_s": run, "peers": peers, "plain_s": 1.0,
        "plain_reduced": True, "parallel": False, "bytes": 800, "flops": 100, "roof": roof, "host_calls": 0, "notes": "",
        **changes,
    }  # fmt: skip


def test_the_table_shows_times_refusals_and_means():
    rows = [made_row("a", 1e-3), made_row("b", 4e-3, peers={"numpy": {"run_s": 32e-3}}, roof=None, family="Two", right=False)]
    lines = report.text({**FIGURES, "programs": rows}, False).splitlines()
    assert lines[0].split("  ")[0] == "program" and lines[2] == "One" and lines[4] == "Two"
    assert lines[3].split() == ["a", "2.00", "ms", "10.0", "ms", "1.00", "ms", "refused", "wrong", "25%", "yes"]
    assert lines[5].split() == ["b", "32.0", "ms", "10.0", "ms", "4.00", "ms", "-", "-", "-", "NO"]
    assert "1 of 2 right" in lines[7]
    assert "NumPy 4.00 (2)" in lines[8]
    assert "10.0 GB/s read, 50.0 Gflop/s" in lines[9]
    assert lines[-1] == "jax: left out, not installed"


def test_the_table_is_as_wide_as_a_terminal():
    rows = [made_row("x" * 30, 123e-3, peers={p: {"run_s": 0.123} for p in report.PEERS})]
    assert max(len(line) for line in report.text({**FIGURES, "programs": rows}, False).splitlines()[:4]) <= 140


def test_the_page_escapes_and_marks():
    program = PROGRAMS[0]
    rows = [made_row(program.name, 1e-3)]
    text = html.page({**FIGURES, "programs": rows}, {program.name: program})
    page = check_page(text, rows)
    assert page.seen["svg"] == 2 and page.seen["polyline"] == 2  # bars and roofline, two roofs
    assert "a &lt;CPU&gt;" in text and "<dict>" not in text and 'title="no &lt;dict&gt;"' in text
    assert "Numba: refused" in page.texts and "C++ -Ofast: wrong" in page.texts


def test_bars_are_right_of_one_where_the_peer_is_slower():
    def bar(seconds):
        chart = charts.bars([made_row("a", 1e-3, peers={"numpy": {"run_s": seconds}})], (0.1, 10.0))
        one = float(re.search(r'class="one" x1="([\d.]+)"', chart)[1])
        x, width = map(float, re.search(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', chart).groups())
        return x - one, width

    assert bar(1e-2) == pytest.approx((0, charts.BARS / 2), abs=0.2)
    assert bar(1e-4) == pytest.approx((-charts.BARS / 2, charts.BARS / 2), abs=0.2)


@pytest.fixture(scope="module")
def machine():
    return open_machine(2, ("jax", "cpp"))


@pytest.mark.sampled(27)
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.task.cpp or p.task.jax], ids=lambda p: p.name)
def test_peers_are_right(program, machine):
    row = run_program(program, True, machine)
    assert set(row["peers"]) >= set(
        ["jax"] * (program.task.jax is not None) + ["c++ strict", "c++ fast"] * (program.task.cpp is not None)
    )
    assert all("run_s" in outcome for outcome in row["peers"].values()), row["peers"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name, outcome",
    [("quadratic_prange", "run_s"), ("sum_dict_values", "refused"), ("accumulate_global", "wrong"), ("spca_unopt", "refused")],
)
def test_numba_is_asked(name, outcome):
    (program,) = [p for p in PROGRAMS if p.name == name]
    row = run_program(program, True, open_machine(2, ("numba",)))
    assert outcome in row["peers"]["numba"]
    assert ("numba parallel" in row["peers"]) == program.parallel


JUDGED = [p for p in PROGRAMS if p.judge is not None]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("program", JUDGED, ids=lambda p: p.name)
def test_numba_compiles_what_is_written_by_hand(program):
    outcome = run_program(program, True, open_machine(1, ("numba",)))["peers"]
    assert ("numba" in outcome) == (program.for_numba is not None)
    assert "run_s" in outcome.get("numba", {"run_s": 0.0}), outcome


@pytest.mark.parametrize("program", JUDGED, ids=lambda p: p.name)
def test_judges_do_not_ask_ingot(program, monkeypatch):
    """A judge that called Ingot would find right whatever Ingot gives."""

    def call(*arguments, **keywords):
        raise AssertionError("a judge calls Ingot")

    monkeypatch.setattr(Function, "__call__", call)
    arguments = program.arguments(True)
    program.calls(program.judge, arguments) if program.calls else program.judge(*arguments)


def test_a_program_that_its_judge_contradicts_is_wrong():
    (program,) = [p for p in JUDGED if p.name == "jax_intro_grad"]
    wrong = dataclasses.replace(program, judge=lambda x: tuple(1.001 * part for part in program.judge(x)))
    assert run_program(program, True)["right"] and not run_program(wrong, True)["right"]


def test_peers_that_are_wrong_or_fail_are_not_timed():
    def failing(x):
        raise ValueError("not\ntoday")

    (program,) = [p for p in PROGRAMS if p.name == "sum2d"]
    for function, outcome in ((lambda x: x.sum() + 1.0, "wrong"), (failing, "refused")):
        broken = dataclasses.replace(program, task=dataclasses.replace(program.task, numpy=function))
        assert set(run_program(broken, True, Machine())["peers"]["numpy"]) == {outcome}


def test_times_have_three_digits():
    assert [report.seconds(s) for s in (12.34, 1.234, 0.1234, 12.34e-3, 1.5e-6, 2e-9)] == [
        "12.3 s", "1.23 s", "123 ms", "12.3 ms", "1.50 µs", "2 ns"
    ]  # fmt: skip


def test_peaks_are_measured():
    rates = peaks.measure(True)
    for who in ("core", "all"):
        assert rates[who]["bytes_per_s"] > 1e6 and rates[who]["flops_per_s"] > 1e6
    assert all(rates["all"][name] >= rates["core"][name] for name in rates["core"])
    assert peaks.roof(20, 100, {"bytes_per_s": 10.0, "flops_per_s": 100.0}) == (2.0, "memory")
    assert peaks.roof(None, None, rates["core"]) is None


def test_explain_shows_every_stage():
    text = ingot.jit(PROGRAMS[0].plain).explain(*PROGRAMS[0].arguments(True))
    for stage in ("source", "array IR", "loop IR", "LLVM IR", "assembly", "times"):
        assert f"=== {stage} ===" in text
    assert "sqrt" in text
