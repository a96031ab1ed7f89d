"""`python -m ingot scaling`: the model against numbers by hand, fits, programs in files, and the command on one rank and on two."""

import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from test_mpi import DOCS, ended, environment, start

from ingot.__main__ import main
from ingot._command.scaling import model, programs
from ingot._command.scaling.chart import Curve, Panel, svg
from ingot._command.scaling.model import Level, Machine, Piece

A, B, C, D, ADD = 1e-6, 1e-10, 2e-6, 3e-10, 5e-11


def level(alpha, beta):
    return Level((Piece(math.inf, alpha, beta),))


SMALL = Machine(level(A, B), level(C, D), 8, 1e9, {1: 1e10, 2: 8e9, 8: 3e9}, ADD)
FLAT = Machine(level(A, B), level(C, D), 1, 1e9, {1: 1e10}, ADD)
"""Each rank is on a node of its own."""


def test_collectives_cost_what_the_formulae_give():
    n = 1e6
    assert model.allreduce(SMALL, 8, 8) == pytest.approx(3 * (A + 8 * B + 8 * ADD))
    assert model.allreduce(SMALL, 8, n) == pytest.approx(6 * A + 2 * n * B * 7 / 8 + n * ADD * 7 / 8)
    assert model.allreduce(SMALL, 6, 8) == pytest.approx(2 * (A + 8 * B + 8 * ADD) + 2 * (A + 8 * B) + 8 * ADD)
    assert model.allreduce(FLAT, 4, 8) == pytest.approx(2 * (C + 8 * D + 8 * ADD))
    assert model.bcast(SMALL, 8, 8) == pytest.approx(3 * (A + 8 * B))
    assert model.bcast(SMALL, 8, 1e9) == pytest.approx(3 * A + 7 * B * 1e9 / 8 + 7 * (A + 1e9 * B / 8))
    assert model.reduce(SMALL, 8, 8) == pytest.approx(3 * (A + 8 * B + 8 * ADD))
    assert model.allgather(SMALL, 8, 8) == pytest.approx(3 * A + 7 * 8 * B)
    assert model.alltoall(SMALL, 8, 1e6) == pytest.approx(7 * (A + 1e6 * B))
    assert model.alltoall(SMALL, 8, 1) == pytest.approx(3 * (A + 4 * B))
    assert model.barrier(SMALL, 6) == pytest.approx(3 * A)
    assert all(cost(SMALL, 1, n) == 0.0 for cost in model.COLLECTIVES.values())
    for cost in model.COLLECTIVES.values():
        assert all(cost(SMALL, p, 1e4) <= cost(SMALL, 2 * p, 1e4) for p in (1, 2, 4, 8, 16, 512))


def test_ranks_of_a_node_share_what_is_between_nodes():
    n = 1e6
    assert model.alltoall(SMALL, 16, n) == pytest.approx(7 * (A + n * B) + 8 * (C + 8 * n * D))
    assert model.allreduce(SMALL, 16, 8) == pytest.approx(3 * (A + 8 * B) + C + 8 * 8 * D + 4 * 8 * ADD)
    halving = sum(2 * (A + n / (2 * d) * B) for d in (1, 2, 4)) + 2 * (C + 8 * n / 16 * D) + ADD * n * 15 / 16
    assert model.allreduce(SMALL, 16, n) == pytest.approx(halving)
    assert model.neighbours(SMALL, 4, 2, n) == pytest.approx(2 * (A + n * B))
    assert model.neighbours(SMALL, 16, 4, n) == pytest.approx(4 * (C + math.sqrt(8) * n * D))
    assert model.no_less({1: 5.0, 2: 8.0, 4: 3.0}, 2) == {1: 8.0, 2: 8.0} and model.no_less({1: 5.0, 4: 3.0}, 8) == {1: 5.0, 4: 3.0}
    assert [SMALL.bandwidth(p) for p in (1, 3, 8, 4096)] == [1e10, 8e9, 3e9, 3e9]


def test_a_fit_recovers_its_constants():
    sizes = (8, 64, 512, 4096, 32768, 262144, 2097152)
    ((up_to, alpha, beta),) = model.fit({n: 1.5e-6 + n / 12e9 for n in sizes})
    assert up_to == math.inf and alpha == pytest.approx(1.5e-6) and beta == pytest.approx(1 / 12e9)
    low, high = model.fit({n: 0.3e-6 + n / 3e9 if n <= 4096 else 5e-6 + n / 10e9 for n in sizes})
    assert low == pytest.approx((4096, 0.3e-6, 1 / 3e9)) and high[1:] == pytest.approx((5e-6, 1 / 10e9))
    noisy = {n: (1.5e-6 + n / 12e9) * (1 + 0.1 * (-1) ** k) for k, n in enumerate(sizes)}
    assert model.fit(noisy)[-1].beta == pytest.approx(1 / 12e9, rel=0.15)
    assert model.fit({8: 3e-6, 64: 2e-6}) == ((math.inf, pytest.approx(2.3e-6, rel=0.1), 0.0),)
    assert level(1.5e-6, 1 / 12e9).even() == pytest.approx(18000) and level(1e-6, 0.0).even() == math.inf
    measured = {p: {n: model.allreduce(SMALL, p, n) for n in sizes} for p in (2, 4, 8)}
    none = Machine(SMALL.node, SMALL.between, 8, 1e9, SMALL.bytes)
    assert model.fit_add(none, measured) == pytest.approx(ADD, rel=0.01)
    assert model.even_size("bcast", SMALL, 8) == pytest.approx(A / B, rel=0.01)


def test_the_heat_equation_by_hand():
    heat = programs.program_of(programs.HEAT, "heat").with_parameters({"n": 1000})
    assert heat.costs(SMALL, 1) == {"points": pytest.approx(4e-3), "halos": 0.0}
    at = programs.Program("no overlap", [programs.Step("halos", messages=4, size="8 * n / sqrt(p)")], parameters={"n": 1000}).costs(SMALL, 64)
    assert at == {"halos": pytest.approx(4 * (C + math.sqrt(8) * 1000 * D))}
    assert heat.costs(SMALL, 4096)["points"] == pytest.approx(max(16e6 / 4096 / 3e9, 4e6 / 4096 / 1e9))
    assert 0.0 < heat.costs(SMALL, 4096)["halos"] < 4 * (C + math.sqrt(8) * 125 * D)
    curve = programs.predicted(heat, SMALL, 4096)
    assert curve.ranks == [1 << k for k in range(13)] and curve.efficiency(False)[0] == 1.0 and curve.efficiency(False)[-1] < 0.2
    assert curve.weak[2]["points"] == pytest.approx(4 * 2048**2 / 1e9) and programs.crossings(heat, curve)["halos"] > 8


def test_programs_in_files(tmp_path):
    page = (DOCS / "scaling.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "program.toml").write_text(text)
    program = programs.read(str(tmp_path / "program.toml"))
    assert sum(program.costs(SMALL, 64).values()) > 0.0 and program.weak
    (tmp_path / "same.json").write_text(json.dumps({"steps": [{"name": "a", "flops": "2 * p", "times": 3}]}))
    assert programs.read(str(tmp_path / "same.json")).costs(SMALL, 5) == {"a": pytest.approx(3e-8)}


WRONG = {
    "steps = []": "a program has a list of",
    "[[steps]]\nflops = 1": "a step has a name",
    "[[steps]]\nname = 'a'\nflop = 1": "step 'a': 'flop' is none of",
    "[[steps]]\nname = 'a'\ncollective = 'all'": "step 'a': 'all' is none of allreduce",
    "[[steps]]\nname = 'a'\nflops = 'm / p'": "there is no 'm', but p",
    "[[steps]]\nname = 'a'\nflops = 'p - 2'": "step 'a': flops is -1 on 1 ranks",
    "[[steps]]\nname = 'a'\nflops = '1 / (p - 1)'": "division by zero",
    "[[steps]]\nname = 'a'\nflops = '__import__(1)'": "is no number, name",
    "[[steps]]\nname = 'a'\nflops = 'p +'": "invalid syntax",
    "[weak]\nn = 'p'\n[[steps]]\nname = 'a'": "'n', which is no parameter",
    "[parameters]\nn = 'p'\n[[steps]]\nname = 'a'": "parameter 'n' is 'p', no number",
    "other = 1\n[[steps]]\nname = 'a'": "'other' is none of",
    "[[steps]]\nname = 'a'\n[[steps]]\nname = 'a'": "two steps have one name",
    "[[steps]": "program.toml: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_program_is_named(tmp_path, text):
    (tmp_path / "program.toml").write_text(text)
    with pytest.raises(programs.WrongProgram, match=re.escape(WRONG[text])) as found:
        programs.read(str(tmp_path / "program.toml"))
    assert str(found.value).startswith(str(tmp_path / "program.toml"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--program", "none.toml"], "none.toml: No such file"), (["--ranks", "1"], "--ranks 1: "), (["--per-node", "0"], "--per-node 0: "),
        (["--latency", "0"], "--latency 0: "), (["--bandwidth", "nan"], "--bandwidth nan: "), (["--plot", "a.png"], "ends with .svg"),
        (["--set", "m=3"], "no program has a parameter 'm', but n, "), (["--set", "n=x"], "'x' is no number"), (["--set", "samples=-1"], "step 'simulating': seconds is "), (["--from", "none.json"], "No such file"),
    ],
)  # fmt: skip
def test_wrong_words_are_named(tmp_path, monkeypatch, capsys, words, why):
    monkeypatch.chdir(tmp_path)
    assert main(["scaling", *words]) == 2
    assert why in capsys.readouterr().err


def test_one_rank_measures_rates_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["scaling", "--quick", "--json", "one.json", "--plot", "one.svg"]) == 0
    out, errors = capsys.readouterr()
    assert "1 rank, 1 node" in out and "mpiexec -n N python -m ingot scaling" in out and "one.svg is not drawn" in errors
    found = json.loads((tmp_path / "one.json").read_text())
    assert found["rates"]["flops"] > 1e6 and found["rates"]["bytes"]["1"] > 1e6 and "messages" not in found
    assert main(["scaling", "--from", "one.json"]) == 0 and "One rank" in capsys.readouterr().out


def test_without_mpi4py(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert main(["scaling", "--quick"]) == 0 and "One rank" in capsys.readouterr().out
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert main(["scaling", "--quick"]) == 2 and "4 processes were started, but mpi4py, by" in capsys.readouterr().err


def test_processes_that_do_not_find_each_other(monkeypatch, capsys):
    monkeypatch.setenv("PMI_SIZE", "3")
    assert main(["scaling", "--quick"]) == 2 and "3 processes were started, but mpi4py finds one" in capsys.readouterr().err


@pytest.mark.rotated(4)
def test_two_ranks_measure_and_predict(tmp_path, capsys):
    words = ["scaling", "--quick", "--ranks", "256", "--json", str(tmp_path / "two.json"), "--plot", str(tmp_path / "two.svg")]
    code, out, errors = ended(start(2, "-m", "ingot", *words, INGOT_CACHE="on", INGOT_CACHE_DIR=str(tmp_path / "cache"), INGOT_TIERS="quick"))
    assert code == 0, errors
    assert out.count("a message") == 2 and "satellite: the workflow" in out and "assumed: between nodes 1.5 us and 12 GB/s" in out
    found = json.loads((tmp_path / "two.json").read_text())
    assert set(found["collectives"]) == {"allreduce", "bcast", "allgather", "alltoall", "barrier"}
    assert set(found["messages"]["node"]) == {"8", "4096", "65536"} and found["messages"]["between"] is None
    assert set(found["heat"]["strong"]) == set(found["heat"]["weak"]) == {"1", "2"}
    made = found["model"]
    assert {"node", "between", "per_node", "add", "assumed", "collectives", "heat", "programs"} == set(made)
    assert made["node"][-1]["beta"] >= 0.0 and made["between"] == [{"up_to": None, "alpha": 1.5e-6, "beta": 1e-9 / 12}]
    assert [each["name"] for each in made["programs"]] == ["heat equation", "satellite", "satellite, Allreduce"]
    assert made["programs"][0]["ranks"][-1] == 256 and set(made["programs"][1]["crossings"]) == {"weighing's maps", "solver's maps", "solver's products"}
    assert ElementTree.parse(tmp_path / "two.svg").getroot().tag.endswith("svg")
    assert main(["scaling", "--from", str(tmp_path / "two.json"), "--ranks", "64", "--per-node", "4", "--set", "n=100"]) == 0
    again = capsys.readouterr().out
    assert "strong (n 100)" in again and "4 ranks a node" in again and "64 ranks a node" not in again


def test_charts_have_colours_for_both_pages():
    panel = Panel("a < b", "ranks", "seconds", [Curve("one & two", [(1, 1e-6), (64, 0.5)]), Curve("dots", [(2, 0.1)], dots=True)])
    both = svg([panel, panel._replace(share=True)])
    root = ElementTree.fromstring(both)
    assert "prefers-color-scheme" in both and len(root.findall(".//{*}polyline")) == 2 and len(root.findall(".//{*}circle")) == 4
    assert "prefers-color-scheme" not in svg([panel], "dark") and "ffb26b" in svg([panel], "dark") and "ffb26b" not in svg([panel], "light")


def test_the_command_is_there():
    done = subprocess.run([sys.executable, "-m", "ingot", "scaling", "--help"], env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "mpiexec -n 8 python -m ingot scaling" in done.stdout
