"""Profiles in files, of several processes, and compared with each other: the rules of docs/profiling.md on them."""

import csv
import html.parser
import importlib.util
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time

import ingot
import pytest
from ingot.__main__ import main
from ingot._profile.merge import as_text, merged
from ingot._profile.rows import COLUMNS, Row, gathered, load, path_of, path_text


@pytest.fixture(autouse=True)
def counting():
    ingot.profile.reset()
    ingot.profile.start()
    yield
    ingot.profile.stop()
    ingot.profile.reset()


def row(path, seconds, calls=1, implementation="", kind="region", **others):
    given = {"own": seconds, "shortest": None, "longest": None, "bytes_up": 0, "bytes_down": 0, "flops": None, "threads": 1, "device": ""}
    given |= {"calls_min": calls, "calls_max": calls} | dict.fromkeys(("seconds_min", "seconds_max", "seconds_mean", "seconds_median"), seconds)
    return Row(path=tuple(path.split("|")), kind=kind, implementation=implementation, calls=calls, seconds=seconds, **(given | others))


class Processes:
    """A communicator of processes that are begun by `multiprocessing`: it has `gather` as that of mpi4py's has."""

    def __init__(self, rank, size, pipes):
        self.rank, self.size, self.pipes = rank, size, pipes

    def gather(self, sendobj, root=0):
        if self.rank != root:
            self.pipes[self.rank][1].send(sendobj)
            return None
        return [sendobj if rank == root else self.pipes[rank][0].recv() for rank in range(self.size)]


def work_of(rank, size, pipes, file):
    comm = Processes(rank, size, pipes)
    ingot.profile.reset()
    ingot.profile.start(trace=True)
    with ingot.profile("run") as region:
        region.bytes_up += 10 * (rank + 1)
        for _ in range(rank + 1):
            with ingot.profile("step", implementation="ingot"):
                time.sleep(0.002)
        if rank == 1:
            ingot.profile.add("only one", 0.5)
    found = ingot.profile.gather(comm)
    if found is not None:
        ingot.profile.save(f"{file}.csv", found)
    ingot.profile.trace(f"{file}.json", comm)


def test_gather():
    class Alone:
        def gather(self, sendobj, root=0):
            return [sendobj, [], sendobj]

    class Elsewhere:
        def gather(self, sendobj, root=0):
            return None

    with ingot.profile("a"):
        ingot.profile.add("b", 0.25, calls=2, flops=100.0)
    one = {r.path: r for r in ingot.profile.rows()}
    assert ingot.profile.gather(Elsewhere()) is None
    both = {r.path: r for r in ingot.profile.gather(Alone())}
    assert both[("a", "b")].calls == 4 and both[("a", "b")].flops == 200.0 and both[("a", "b")].processes == 2
    assert both[("a",)].seconds == one[("a",)].seconds and both[("a",)].calls_max == 1
    several = gathered([[row("x", 1.0)], [row("x", 4.0, calls=3)], [row("x", 2.0, calls=5), row("x|y", 1.0)]])
    x = several[0]
    assert (x.calls, x.calls_min, x.calls_max, x.processes) == (9, 1, 5, 3)
    assert (x.seconds, x.seconds_min, x.seconds_max, x.seconds_median) == (4.0, 1.0, 4.0, 2.0) and x.seconds_mean == pytest.approx(7 / 3)


def of_processes(size, file):
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(size)]
    processes = [context.Process(target=work_of, args=(rank, size, pipes, file)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0


def test_gather_of_processes(tmp_path):
    of_processes(3, tmp_path / "run")
    found = {r.path: r for r in load(tmp_path / "run.csv")}
    step = found[("run", "step")]
    assert (step.processes, step.calls, step.calls_min, step.calls_max, step.implementation) == (3, 6, 1, 3, "ingot")
    assert 0.002 <= step.seconds_min <= step.seconds_median <= step.seconds_max == step.seconds and step.seconds_max >= 0.006
    assert found[("run",)].bytes_up == 60 and found[("run", "only one")].processes == 1


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_gather_by_mpi():
    from mpi4py import MPI

    with ingot.profile("a"):
        pass
    assert [r.path for r in ingot.profile.gather(MPI.COMM_WORLD)] == [("a",)]
    comm = ingot.profile.watch(MPI.COMM_WORLD)
    assert comm.Dup().allreduce(3) == 3 * comm.Get_size()
    assert ("MPI.allreduce",) in {r.path for r in ingot.profile.gather(comm)}


RANKS = """
import numpy as np
from mpi4py import MPI
import ingot

comm = ingot.profile.watch(MPI.COMM_WORLD)
with ingot.profile("run"):
    for _ in range(comm.rank + 1):
        with ingot.profile("step"):
            pass
    total = np.zeros(1)
    comm.Allreduce(np.ones(1), total)
rows = ingot.profile.gather(comm)
if rows is not None:
    ingot.profile.save("all.csv", rows)
"""


@pytest.mark.rotated(3)
@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpiexec") is None, reason="mpi4py or mpiexec is not installed"
)
def test_ranks_of_mpiexec(tmp_path):
    environment = os.environ | {"INGOT_PROFILE": str(tmp_path / "run.csv"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    command = ["mpiexec", "-n", "3", sys.executable, "-c", RANKS]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = {r.path: r for r in load(tmp_path / "all.csv")}
    step = found[("run", "step")]
    assert (step.processes, step.calls, step.calls_min, step.calls_max) == (3, 6, 1, 3)
    assert found[("run", "MPI.Allreduce")].processes == 3
    for rank in range(3):
        assert {r.path: r.calls for r in load(tmp_path / f"run.{rank}.csv")}[("run", "step")] == rank + 1


def test_calls_of_mpi():
    class Communicator:
        size = 1

        def Allreduce(self, given, taken):
            taken[:] = given

        def Split(self, color, key=0):
            return Communicator()

        def free(self, comm):
            return type(comm)

    comm = ingot.profile.watch(Communicator())
    given, taken = [1, 2], [0, 0]
    with ingot.profile("solve"):
        comm.Allreduce(given, taken)
        part = comm.Split(0, key=1)
        for _ in range(3):
            part.Allreduce(given, taken)
    assert taken == given and comm.size == 1 and comm.free(part) is Communicator
    with pytest.raises(AttributeError):
        comm.missing
    found = {r.path: r for r in ingot.profile.rows()}
    assert {path: r.calls for path, r in found.items()} == {
        ("solve",): 1,
        ("solve", "MPI.Allreduce"): 4,
        ("solve", "MPI.Split"): 1,
        ("MPI.free",): 1,
    }
    assert found[("solve", "MPI.Allreduce")].implementation == "mpi"


NAMES = ["plain", "a,b", 'with "quotes"', "two\nlines", "bar|bar", "back\\slash", "\\|", "", "  spaces ", "grüße ∂", "=1+1", "\r", ";", "'"]


def test_any_name_goes_through_files(tmp_path):
    for name in NAMES:
        with ingot.profile(name, implementation=name), ingot.profile("inner|" + name):
            pass
    file = tmp_path / "run.csv"
    ingot.profile.save(file)
    again = load(file)
    assert again == ingot.profile.rows()
    assert {r.name for r in again} == {*NAMES, *("inner|" + name for name in NAMES)}
    with open(file, newline="") as lines:
        plain = list(csv.DictReader(lines))
    assert len(plain) == 2 * len(NAMES) and [r["operation"] for r in plain] == [r.name for r in again]
    assert list(plain[0]) == list(COLUMNS)
    for names in (("a",), ("a|b", "c"), ("\\", "|"), ("", "")):
        assert path_of(path_text(names)) == names
    assert main(["profile", "merge", str(file), str(file), "--html", str(tmp_path / "p.html"), "--csv", str(tmp_path / "t.csv")]) == 0


FIRST = [
    row("run", 10.0),
    row("run|build", 4.0, 8, "numpy", bytes_up=100),
    row("run|scan", 3.0, 2, "numpy"),
    row("run|gone", 1.0),
    row("run|build|inner", 1.0, kind="kernel", device="gpu:0"),
]
SECOND = [
    row("run", 9.0),
    row("run|build", 1.0, 8, "ingot", kind="compiled"),
    row("run|scan", 5.0, 2, "ingot", kind="compiled"),
    row("run|build|compile", 0.5, implementation="full", kind="compile"),
    row("other|scan", 0.5, 1, "python"),
    row("other", 0.5),
]


def test_merge_lines_up_runs(tmp_path, capsys):
    table = merged([("first", FIRST), ("second", SECOND)])
    lines = {line.text: line for line in table.lines}
    assert [line.text for line in table.lines] == ["scan", "compile", "other", "gone", "inner", "run", "build"]
    scan = lines["scan"]
    assert scan.cells[0].implementations == ("numpy",) and scan.cells[1].implementations == ("ingot", "python")
    assert scan.cells[1].seconds == 5.5 and scan.cells[1].calls == 3 and scan.loss == 2.5
    assert scan.ratios == (1.0, pytest.approx(5.5 / 3))
    assert lines["gone"].cells[1] is None and lines["gone"].ratios == (1.0, None) and lines["other"].cells[0] is None
    assert table.total.cells[0].seconds == 10.0 and table.total.cells[1].seconds == 9.5 and table.total.cells[0].bytes_up == 100
    for name, rows in (("a", FIRST), ("b", SECOND)):
        ingot.profile.save(tmp_path / f"{name}.csv", rows)
    out = tmp_path / "table.csv"
    assert main(["profile", "merge", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--csv", str(out)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["operation", "a", "b", "/a"]
    assert shown[2].split() == ["scan", "3", "s", "numpy", "5.5", "s", "ingot,", "python", "1.83"]
    assert next(line.split() for line in shown if line.startswith("gone")) == ["gone", "1", "s", "-"]
    assert shown[-1].split() == ["total", "10", "s", "9.5", "s", "0.95"]
    with open(out, newline="") as lines:
        cells = list(csv.DictReader(lines))
    assert cells[0]["operation"] == "scan" and float(cells[0]["b ratio"]) == pytest.approx(5.5 / 3) and cells[0]["loss"] == "2.5"
    assert cells[-1]["kind"] == "total" and cells[-1]["a seconds"] == "10.0"
    alone = merged([("only", FIRST)])
    assert [line.text for line in alone.lines] == ["run", "build", "scan", "gone", "inner"] and "total" in as_text(alone)
    three = merged([("a", FIRST), ("b", []), ("c", SECOND)])
    assert three.lines[0].text == "scan" and all(line.cells[1] is None for line in three.lines) and three.total.cells[1].seconds == 0


def test_merge_by_path(tmp_path, capsys):
    for name, rows in (("a", FIRST), ("b", SECOND)):
        ingot.profile.save(tmp_path / f"{name}.csv", rows)
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main(["profile", "merge", *files, "--by", "path"]) == 0
    shown = capsys.readouterr().out
    assert "run|build|inner (kernel)" in shown and re.search(r"^run\|scan +3 s +numpy +5 s +ingot +1.67$", shown, flags=re.M)
    assert main(["profile", "merge", files[0], files[0]]) == 0
    assert re.match(rf"operation +{re.escape(files[0])} #1 +{re.escape(files[0])} #2", capsys.readouterr().out)


def test_merge_counts_nothing_twice():
    rows = [row("f", 10.0, implementation="ingot"), row("f|g", 8.0), row("f|g|f", 6.0, implementation="numpy"), row("f|f", 1.0, kind="kernel")]
    table = merged([("a", rows)])
    seconds = {(line.text, line.kind): line.cells[0].seconds for line in table.lines}
    assert seconds == {("f", "call"): 10.0, ("g", "call"): 8.0, ("f", "kernel"): 1.0} and table.total.cells[0].seconds == 10.0
    own = merged([("a", [row("f", 10.0, own=1.0), row("f|compile", 9.0, kind="compile"), row("g|compile", 2.0, kind="compile")])], own=True)
    assert {line.text: line.cells[0].seconds for line in own.lines} == {"f": 1.0, "compile": 11.0} and own.total.cells[0].seconds == 12.0
    by_path = merged([("a", rows)], "path")
    assert len(by_path.lines) == 4


def test_wrong_files_are_refused(tmp_path, capsys):
    good = tmp_path / "good.csv"
    ingot.profile.save(good, FIRST)
    text = good.read_text()
    lines = text.splitlines(keepends=True)
    wrong = {
        "empty.csv": ("", "is no profile: it has no column `path`"),
        "other.csv": ("a,b\n1,2\n", "is no profile: it has no column `path`"),
        "cut.csv": (lines[0] + lines[1][:20] + "\n", ", line 2: a row has other columns than the first one"),
        "number.csv": (lines[0] + lines[1].replace("10.0", "ten"), ", line 2: `seconds` is no number: 'ten'"),
        "kind.csv": (lines[0] + lines[1].replace("region", "space"), ", line 2: there is no kind 'space'"),
        "quote.csv": (lines[0] + '"run', ", line 2: "),
    }
    for name, (content, message) in wrong.items():
        (tmp_path / name).write_text(content)
        assert main(["profile", "merge", str(good), str(tmp_path / name)]) == 2
        said = capsys.readouterr()
        assert said.err.startswith(str(tmp_path / name)) and message in said.err and said.out == "", name
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    assert main(["profile", "gather", str(tmp_path / "bytes.csv"), "--csv", str(tmp_path / "out.csv")]) == 2
    assert "it is no text" in capsys.readouterr().err
    assert main(["profile", "merge", str(tmp_path / "missing.csv")]) == 2
    assert "missing.csv: No such file or directory" in capsys.readouterr().err
    assert main(["profile", "merge", str(good), "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["profile", "merge"])


class Structure(html.parser.HTMLParser):
    """Elements that are open, and what there is of each."""

    EMPTY = ("meta",)

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page(tmp_path):
    strange = [row("<script>alert(1)</script>", 2.0, implementation='"&'), *SECOND]
    for name, rows in (("a", FIRST), ("b&c", strange)):
        ingot.profile.save(tmp_path / f"{name}.csv", rows)
    page = tmp_path / "page.html"
    assert main(["profile", "merge", str(tmp_path / "a.csv"), str(tmp_path / "b&c.csv"), "--html", str(page)]) == 0
    text = page.read_text()
    structure = Structure()
    structure.feed(text)
    assert structure.open == [] and "script" not in structure.tags and "link" not in structure.tags
    assert not {name for name, _ in structure.attributes} & {"src", "href", "onclick"} and "http" not in text and "url(" not in text
    assert "<script>alert(1)</script>" in structure.texts and "prefers-color-scheme: dark" in text
    table = merged([("a", FIRST), ("b", strange)])
    bars = [value for name, value in structure.attributes if name == "style"]
    assert len(bars) == sum(cell is not None for line in (*table.lines, table.total) for cell in line.cells)
    assert all(0 <= float(re.match(r"width:([\d.]+)%", bar)[1]) <= 100 for bar in bars) and any("width:100.00%" in bar for bar in bars)
    assert structure.texts.count("not in this run") == sum(cell is None for line in table.lines for cell in line.cells)


def test_ranks_of_one_run(tmp_path):
    ingot.profile.save(tmp_path / "r0.csv", FIRST)
    ingot.profile.save(tmp_path / "r1.csv", FIRST)
    out = tmp_path / "run.csv"
    assert main(["profile", "gather", str(tmp_path / "r0.csv"), str(tmp_path / "r1.csv"), "--csv", str(out)]) == 0
    assert {(r.name, r.processes, r.calls) for r in load(out)} >= {("build", 2, 16), ("run", 2, 2)}


SCRIPT = """
import sys, ingot
@ingot.profile
def work(n):
    return n
work(1); work(2)
print(sys.argv)
sys.exit(3)
"""


@pytest.mark.rotated(3)
def test_programs_run_with_a_profile(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "ingot", "profile", "run"]
    options = ["--csv", str(tmp_path / "run.csv"), "--trace", str(tmp_path / "run.json")]
    done = subprocess.run([*command, *options, str(script), "--flag", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and done.stdout == f"{[str(script), '--flag', 'x']}\n", done.stderr
    assert {r.path: r.calls for r in load(tmp_path / "run.csv")}[("work",)] == 2
    assert sum(event["name"] == "work" for event in json.loads((tmp_path / "run.json").read_text())["traceEvents"]) == 2
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "total" in done.stderr and re.search(r"^work ", done.stderr, flags=re.M)


def events(file):
    return json.loads(file.read_text())["traceEvents"]


def test_traces(tmp_path):
    file = tmp_path / "run.json"
    with ingot.profile("not kept"):
        pass
    with pytest.raises(RuntimeError, match="start\\(trace=True\\)"):
        ingot.profile.trace(file)
    ingot.profile.start(trace=True)
    there = ingot.device_put(__import__("numpy").arange(10.0), ingot.device("emulated"))
    with ingot.profile("outer"):
        for _ in range(2):
            with ingot.profile("inner", implementation="x"):
                time.sleep(0.002)
        ingot.jit(lambda a: a + 1)(there)
    ingot.profile.trace(file)
    found = events(file)
    of = {}
    for event in found:
        if event["ph"] == "X":
            of.setdefault(event["name"], []).append(event)
    assert len(of["inner"]) == 2 and len(of["outer"]) == 1 and "not kept" not in of
    (outer,) = of["outer"]
    for event in of["inner"]:
        assert event["args"] == {"implementation": "x"} and 2000 <= event["dur"] < outer["dur"] and event["tid"] == outer["tid"]
        assert outer["ts"] <= event["ts"] and event["ts"] + event["dur"] <= outer["ts"] + outer["dur"] + 1
    assert {event["cat"] for event in found if event["ph"] == "X"} >= {"region", "compiled", "compile", "kernel", "upload"}
    kernel = next(event for event in found if event.get("cat") == "kernel")
    names = {event["tid"]: event["args"]["name"] for event in found if event["name"] == "thread_name"}
    assert names[kernel["tid"]] == "emulated:0" and names[outer["tid"]] == "MainThread"
    assert outer["ts"] <= kernel["ts"] <= outer["ts"] + outer["dur"] + 1e5
    ingot.profile.stop()
    ingot.profile.start()
    with ingot.profile("later"):
        pass
    ingot.profile.trace(file)
    assert not any(event["name"] == "later" for event in events(file))


def test_traces_of_processes(tmp_path):
    before = time.monotonic()
    of_processes(2, tmp_path / "run")
    found = [event for event in events(tmp_path / "run.json") if event["ph"] == "X"]
    assert {event["pid"] for event in found} == {0, 1} and sum(event["name"] == "step" for event in found) == 3
    last = max(event["ts"] + event["dur"] for event in found)
    assert min(event["ts"] for event in found) == 0 and last < (time.monotonic() - before) * 1e6
    assert os.path.getsize(tmp_path / "run.json") > 0
