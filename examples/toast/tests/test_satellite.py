"""The workflow: reference figures, threads, checkpoints, what is written, the command."""

import csv
import functools
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ingot
import numpy as np
import pytest
from ingot_toast import Comm, __main__, satellite
from ingot_toast.checkpoint import Checkpoint
from ingot_toast.destripe import Destripe

FOLDER = Path(__file__).resolve().parents[1]


@pytest.fixture
def environment(cache):
    package = Path(ingot.__file__).resolve().parents[1]
    found = os.environ.get("PYTHONPATH", str(package))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([found, str(FOLDER)]), "INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(cache)}


@pytest.fixture
def command(environment):
    def run(*words):
        words = [sys.executable, "-m", "ingot_toast", *map(str, words)]
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A whole run, what it found, and what it wrote."""
    work, folder = satellite.Workflow("tiny"), tmp_path_factory.mktemp("tiny")
    ingot.profile.reset()
    ingot.profile.start()
    found = satellite.run(work, folder=folder)
    ingot.profile.stop()
    return work, found, folder


def bits(work):
    maps = [work.data[name].data for name in satellite.MAPS]
    return [array.tobytes() for array in (*maps, work.data["amplitudes"].data, work.data.obs[0].detdata["signal"].data)]


def test_tiny_has_the_reference_figures(tiny):
    assert satellite.validate("tiny", "1/f", tiny[1]) == []
    assert tiny[1]["steps"] == 72


def test_a_figure_that_differs_is_found(tiny):
    found = json.loads(json.dumps(tiny[1]))
    found["hits"] += 1
    found["binned"]["rms"][1] += 0.001
    found["destriped"]["chi2"] *= 1.001
    wrong = satellite.validate("tiny", "1/f", found)
    assert [line.split(":")[0] for line in wrong] == ["hits", "binned Q", "destriped χ"]
    assert satellite.validate("tiny", "white", found) == []


def test_the_binned_map_of_the_signal_alone_is_the_sky():
    work = satellite.Workflow("tiny", noise="none")
    work.simulate()
    work.weigh()
    work.bin("binned")
    good = work.data["rcond"].data[..., 0] > 0
    seen, sky = work.data["binned"].data[good], work.data["sky"].data[good]
    assert len(seen) == 1253 and np.abs(seen - sky).max() < 1e-12 * np.abs(sky).max()


def test_offsets_alone_are_taken_out():
    work = satellite.Workflow("tiny", noise="none")
    work.simulate()
    work.weigh()
    signal = work.data.obs[0].detdata["signal"]
    pure = signal.data.copy()
    work.destripe(max_steps=1)  # for the flags of the amplitudes
    flagged = work.data["amplitude_flags"].data.reshape(14, 60)
    offsets = np.where(flagged, 0.0, 1e-3 * np.sin(1 + 0.7 * np.arange(60) + 3.1 * np.arange(14)[:, None]))
    signal.data[:] = pure + np.repeat(offsets, 100, axis=1)
    work.bin("binned")
    work.destripe()
    work.bin("destriped")
    assert satellite.figures(work.data, "binned")["worst"] > 1e-3
    assert satellite.figures(work.data, "destriped")["worst"] < 1e-6


def test_threads_change_no_bit(tiny):
    before = ingot.get_num_threads()
    try:
        ingot.set_num_threads(3 if before == 1 else 1)
        work = satellite.Workflow("tiny")
        satellite.run(work)
    finally:
        ingot.set_num_threads(before)
    assert bits(work) == bits(tiny[0])


def test_pointing_that_is_not_stored_gives_the_same_bits(monkeypatch):
    works = [satellite.Workflow("tiny")]
    monkeypatch.setitem(satellite.SIZES, "tiny", satellite.Size(1, 1, 6_000, 10.0, 16, stored=False))
    works.append(satellite.Workflow("tiny"))
    for work in works:
        work.simulate()
        work.weigh()
        work.bin("binned")
        work.destripe(max_steps=2)
        work.bin("destriped")
    assert bits(works[0]) == bits(works[1])
    assert set(works[1].data.obs[0].detdata) == {"signal", "solver_flags"}


@pytest.fixture
def small_problem(monkeypatch):
    monkeypatch.setitem(satellite.SIZES, "tiny", satellite.Size(1, 1, 300, 10.0, 8))
    monkeypatch.setattr(Destripe, "__init__", functools.partialmethod(Destripe.__init__, max_steps=2))
    work = satellite.Workflow("tiny")
    satellite.run(work)
    return work


def test_a_device_gives_the_same_maps_and_keeps_the_samples(small_problem):
    """Of each sample signal and solver's flag come down, 9 bytes; quats, pixels, weights and what is solved for, 72 bytes, stay.

    Fourier transforms are computed on the host where the device has no library for them.
    """
    work = satellite.Workflow("tiny", options={"device": "emulated"})
    ingot.profile.reset()
    ingot.profile.start()
    satellite.run(work)
    ingot.profile.stop()
    for name in (*satellite.MAPS, "amplitudes"):
        want = small_problem.data[name].data
        assert np.abs(work.data[name].data - want).max() <= 1e-12 * np.abs(want).max(), name
    for kind in ("detdata", "shared", "global"):
        assert not any(buffer.is_there for store in work.data.stores(kind) for name in store for buffer in work.data.buffers(kind, name))
    down = sum(row.bytes_down for row in ingot.profile.rows() if "SimulateNoise" not in row.path)
    samples, maps = 14 * 300, 3 * sum(work.data[name].data.nbytes for name in satellite.MAPS)
    assert 9 * samples <= down < 9 * samples + maps < 81 * samples


class Interrupted(Exception):
    pass


def test_an_interrupted_run_goes_on_with_the_same_bits(tiny, tmp_path, monkeypatch):
    settings = {"size": "tiny"}
    save = Checkpoint.save

    def interrupted(self, stage, step, arrays):
        save(self, stage, step, arrays)
        if step == 30:
            raise Interrupted

    monkeypatch.setattr(Checkpoint, "save", interrupted)
    with pytest.raises(Interrupted):
        satellite.run(satellite.Workflow("tiny"), Checkpoint(tmp_path, Comm(), settings))
    monkeypatch.setattr(Checkpoint, "save", save)
    kept = ["settings.json", "signal-0-0.npz", "signal.json", "solver-30-0.npz", "solver.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    (tmp_path / "solver-40-0.npz.part").write_bytes(b"half of it")
    steps = []
    monkeypatch.setattr(Checkpoint, "save", lambda self, stage, step, arrays: steps.append((stage, step)))
    work = satellite.Workflow("tiny")
    satellite.run(work, Checkpoint(tmp_path, Comm(), settings))
    assert steps == [("solver", 40), ("solver", 50), ("solver", 60), ("solver", 70)]
    assert bits(work) == bits(tiny[0])
    with pytest.raises(ValueError, match="another run"):
        Checkpoint(tmp_path, Comm(), {"size": "small"})


@pytest.mark.parametrize("content", [b"", b"half of it", b'{"step": 1', b"[1]"])
@pytest.mark.parametrize("name", ["settings.json", "solver.json", "solver-1-0.npz"])
def test_a_damaged_file_of_a_checkpoint_is_named(tmp_path, name, content):
    kept = Checkpoint(tmp_path, Comm(), {"size": "tiny"})
    kept.save("solver", 1, {"x": np.arange(50.0)})
    np.testing.assert_array_equal(kept.load("solver")["x"], np.arange(50.0))
    file = tmp_path / name
    file.write_bytes(content or file.read_bytes()[:-9])
    with pytest.raises(ValueError, match="another run" if (name, content) == ("settings.json", b"[1]") else f"{name} cannot be read"):
        Checkpoint(tmp_path, Comm(), {"size": "tiny"}).load("solver")


def test_a_damaged_or_missing_array_of_a_checkpoint_is_named(tmp_path):
    kept = Checkpoint(tmp_path, Comm(), {})
    kept.save("solver", 1, {"x": np.arange(500.0)})
    file = tmp_path / "solver-1-0.npz"
    content = bytearray(file.read_bytes())
    content[1000] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="solver-1-0.npz cannot be read"):
        kept.load("solver")
    file.unlink()
    with pytest.raises(ValueError, match="solver-1-0.npz cannot be read"):
        kept.load("solver")


def test_a_run_that_is_killed_goes_on(tiny, tmp_path, command, environment):
    words = ["--size", "tiny", "--checkpoint", tmp_path / "kept", "--every", "1"]
    killed = subprocess.Popen([sys.executable, "-m", "ingot_toast", *map(str, words)], env=environment, stdout=subprocess.DEVNULL)
    while not (tmp_path / "kept" / "solver.json").exists() and killed.poll() is None:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    again = command(*words, "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    with np.load(tmp_path / "again" / "maps.npz") as maps:
        assert all(maps[name].tobytes() == tiny[0].data[name].sky().tobytes() for name in satellite.MAPS)
    with np.load(tmp_path / "again" / "amplitudes.npz") as written:
        assert written["values"].tobytes() == tiny[0].data["amplitudes"].data.tobytes()
    assert "\nDestripe|BinMap|Pipeline," in (tmp_path / "again" / "timing.csv").read_text()


def test_what_is_written(tiny):
    work, found, folder = tiny
    shapes = {"hits": 1, "inverse_covariance": 6, "covariance": 6, "rcond": 1, "sky": 3, "binned": 3, "destriped": 3}
    with np.load(folder / "maps.npz") as written:
        assert {name: written[name].shape for name in written.files} == {name: (3072, count) for name, count in shapes.items()}
        assert all(written[name].tobytes() == work.data[name].sky().tobytes() for name in shapes)
    with np.load(folder / "amplitudes.npz") as written:
        np.testing.assert_array_equal(written["places"], [(d, 0, 0) for d in range(14)])
        assert written["values"].tobytes() == work.data["amplitudes"].data.tobytes() and set(written["lengths"]) == {60}
    assert json.loads((folder / "summary.json").read_text())["steps"] == 72
    with open(folder / "timing.csv", newline="") as file:
        table = list(csv.DictReader(file))
    rows = {row["path"]: row for row in table}
    built = rows["Destripe|BinMap|Pipeline|BuildNoiseWeighted|build_noise_weighted"]
    assert (built["kind"], built["implementation"], built["calls"]) == ("compiled", "ingot", "73")  # the right side, and each step
    outermost = sum(float(row["seconds"]) for row in table if "|" not in row["path"])
    assert sum(float(row["own"]) for row in table) == pytest.approx(outermost, rel=1e-6) and outermost < found["seconds"]["all"]


def test_maps_are_written_before_a_figure_is_made(small_problem, tmp_path, monkeypatch):
    def fails(data, name):
        raise Interrupted

    monkeypatch.setattr(satellite, "figures", fails)
    with pytest.raises(Interrupted):
        satellite.run(satellite.Workflow("tiny"), folder=tmp_path)
    with np.load(tmp_path / "maps.npz") as maps, np.load(tmp_path / "amplitudes.npz") as written:
        assert all(maps[name].tobytes() == small_problem.data[name].sky().tobytes() for name in satellite.MAPS)
        assert written["values"].tobytes() == small_problem.data["amplitudes"].data.tobytes()


def test_sizes_and_their_shares_are_those_of_the_specification():
    assert [size.detectors for size in satellite.SIZES.values()] == [14, 14, 74, 254]
    assert [size.nside_submap for size in satellite.SIZES.values()] == [4, 16, 16, 16]
    totals = [size.detectors * size.observations * size.samples for size in satellite.SIZES.values()]
    assert totals == [84_000, 5_040_000, 53_280_000, 548_640_000]


def test_progress_is_logged(caplog, monkeypatch):
    monkeypatch.setitem(satellite.SIZES, "tiny", satellite.Size(1, 1, 300, 10.0, 8))
    monkeypatch.setattr(Destripe, "__init__", functools.partialmethod(Destripe.__init__, max_steps=10, tolerance=0.0))
    caplog.set_level(logging.INFO, "ingot_toast")
    satellite.run(satellite.Workflow("tiny"))
    stages = ["simulating", "weighing pixels", "binning", "destriping", "binning again"]
    assert [line for line in caplog.messages if not line.startswith("step")] == stages
    (step,) = (line for line in caplog.messages if line.startswith("step"))
    assert step.startswith("step 10: residual ")


def test_the_command_prints_figures_and_refuses_what_it_does_not_know(tmp_path, command):
    done = command("--size", "tiny", "--noise", "white", "--threads", "1", "--trace", tmp_path / "run.json")
    assert done.returncode == 0 and "hits 70000, pixels 1352 hit, 1253 good" in done.stdout, done.stderr
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert {"Destripe", "ScanMap", "scan_map"} <= {event["name"] for event in events}
    assert command("--size", "huge").returncode == 2


@pytest.mark.parametrize(
    "words",
    [
        "--every 0", "--limit 0", "--limit 1.5", "--limit nan", "--realization -1", f"--realization {2**32}", "--threads 0",
        "--group-size 0", "--detector-ranks 0", "--every some",
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_refused_before_anything_runs(words, capsys):
    with pytest.raises(SystemExit) as ended:
        __main__.main(words.split())
    option, value = words.split()
    assert ended.value.code == 2 and f"{option}: {value!r} is no" in capsys.readouterr().err


def test_numbers_at_their_bounds_are_taken():
    found = __main__.parser().parse_args(["--limit", "1", "--realization", str(2**32 - 1), "--every", "1"])
    assert (found.limit, found.realization, found.every) == (1.0, 2**32 - 1, 1)


def test_a_checkpoint_is_not_written_each_0_steps(tmp_path):
    with pytest.raises(ValueError, match="each 0"):
        Checkpoint(tmp_path / "kept", Comm(), {}, every=0)
    assert not (tmp_path / "kept").exists()


def test_the_functions_are_right_undecorated(environment):
    names = ["test_geometry.py", "test_noise.py", "test_filters.py", "test_covariance.py"]
    words = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *(Path(__file__).parent / name for name in names)]
    done = subprocess.run(words, env={**environment, "INGOT_DISABLE": "1"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
