"""Processes: the same maps as one process makes, and an end with a traceback where one of them fails."""

import csv
import json

import ingot
import numpy as np
import pytest
from ingot_toast import Comm, Data, PixelDistribution, mpi, satellite

from launched import TESTS, launch, loaded

OTHERS = ["2-detectors", "2-observations", "4-detectors", "4-runs", "4-grid", "4-groups", "4-dense"]


@pytest.mark.parametrize("run", OTHERS)
def test_maps_and_amplitudes_are_those_of_one_process(runs, run):
    want, got = loaded(runs, "1-whole"), loaded(runs, run)
    np.testing.assert_array_equal(got["hits"], want["hits"])
    np.testing.assert_array_equal(got["sky"], want["sky"])
    for name, allowed in (("inverse_covariance", 1e-12), ("covariance", 1e-12), ("rcond", 1e-12), ("binned", 1e-12), ("destriped", 1e-8)):
        assert np.abs(got[name] - want[name]).max() < allowed * np.abs(want[name]).max(), name
    want, got = loaded(runs, "1-whole", "amplitudes"), loaded(runs, run, "amplitudes")
    assert len(want["values"]) == 2 * 14 * 15 == len(got["values"])
    samples = {tuple(place[:2]) for place in got["places"].tolist()}
    assert samples == {(d, k) for d in range(14) for k in range(2)}
    assert np.abs(got["values"] - want["values"]).max() < 1e-8 * np.abs(want["values"]).max()
    figures = [json.loads((runs / name / "summary.json").read_text()) for name in ("1-whole", run)]
    assert figures[0]["steps"] == figures[1]["steps"] and figures[1]["processes"] == int(run[0])


def test_the_same_number_of_processes_gives_the_same_bits(runs):
    for name in ("maps", "amplitudes"):
        first, second = loaded(runs, "2-detectors", name), loaded(runs, "2-detectors_again", name)
        assert all(first[key].tobytes() == second[key].tobytes() for key in first)


def test_times_are_gathered(runs):
    wanted = {
        "4-groups": {"Destripe": "", "Destripe|BinMap|MPI.Alltoallv": "mpi"},
        "4-detectors": {"SimulateScan|MPI.Barrier": "mpi", "Destripe|BinMap|Pipeline|ApplyCovariance|apply_covariance": "ingot"},
    }
    for run, paths in wanted.items():
        with open(runs / run / "timing.csv", newline="") as file:
            rows = {row["path"]: row for row in csv.DictReader(file)}
        for path, implementation in paths.items():
            assert (rows[path]["processes"], rows[path]["implementation"]) == ("4", implementation)
            assert 0 < float(rows[path]["seconds_min"]) <= float(rows[path]["seconds_mean"]) <= float(rows[path]["seconds_max"])


def test_a_process_that_fails_ends_the_others(cache):
    done = launch(cache, 3, TESTS / "mpi_failure.py")
    assert done.returncode != 0
    assert "ArithmeticError: this process fails" in done.stderr and 'mpi_failure.py", line' in done.stderr


def test_one_process_exchanges_nothing():
    data = Data()
    data["pixel_dist"] = PixelDistribution(48, 12, [1, 3])
    values, between = np.arange(72.0).reshape(2, 12, 3), mpi.exchange(data)
    assert between.collect(values) is values and between.spread(values) is values and mpi.exchange(data) is between
    np.testing.assert_array_equal(between.sky(values)[12:24], values[0])
    assert (between.sky(values)[:12] == 0).all() and mpi.total(data.comm, 3) == 3


class Group(Comm):
    """A process of a group, as far as sharing goes."""

    def __init__(self, size, rank, group_size):
        super().__init__()
        self.size, self.rank, self.group_size = size, rank, group_size
        self.n_groups, (self.group, self.group_rank) = size // group_size, divmod(rank, group_size)


def test_pairs_and_steps_are_never_split():
    size = satellite.Size(1, 3, 1_050, 10.0, 16)
    seen = []
    for rank in range(12):
        data = satellite.distribute(size, Group(12, rank, 6), detector_ranks=3)
        for ob in data.obs:
            assert [d[:-1] for d in ob.detectors[::2]] == [d[:-1] for d in ob.detectors[1::2]]
            assert ob.meta["first"] % 1_050 % 100 == 0 and ob.meta["whole"] == range(ob.uid * 1_050, ob.uid * 1_050 + 1_050)
            seen += [(d, n) for d in ob.detectors for n in range(ob.meta["first"], ob.meta["first"] + ob.n_samples)]
    assert len(seen) == len(set(seen)) == 14 * 3 * 1_050
    with pytest.raises(ValueError, match="positions"):
        satellite.distribute(size, Group(8, 0, 8))
    with pytest.raises(ValueError, match="steps"):
        satellite.distribute(size, Group(12, 0, 12), detector_ranks=1)
    with pytest.raises(ValueError, match="divisor"):
        satellite.distribute(size, Group(6, 0, 6), detector_ranks=4)


def test_processes_of_a_node_share_its_devices(monkeypatch):
    devices = ["gpu:0", "gpu:1", "gpu:2"]
    monkeypatch.setattr(ingot, "devices", lambda kind: devices)
    monkeypatch.setattr(ingot, "device", lambda name: f"only {name}")
    assert mpi.share_of_device(Comm(), "gpu") == ("gpu:0", 1.0)
    assert mpi.share_of_device(Comm(), "gpu:2") == ("only gpu:2", 1.0)
    assert [mpi.shared_device(devices, place, 6) for place in range(6)] == [(name, 0.5) for name in devices for _ in range(2)]
    assert [mpi.shared_device(devices, place, 4)[1] for place in range(4)] == [0.5, 0.5, 1.0, 1.0]
