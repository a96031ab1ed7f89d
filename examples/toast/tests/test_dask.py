"""Workers of Dask as ranks: the same maps, bit for bit, as MPI's processes make, and an end where one fails."""

import builtins
import os

import numpy as np
import pytest
from ingot_toast import Comm, on_dask
from ingot_toast.__main__ import main

import dask_runs
from launched import TESTS, loaded

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client(cache):
    """Two processes, which import what the tests do; compiled code is left in the folder that the tests share."""
    given = {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(cache), "INGOT_TIERS": "quick", "OMP_NUM_THREADS": 1}
    given["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, env=given) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def threads():
    """Four workers that are threads of this process."""
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made


@pytest.mark.parametrize(("group_size", "options", "same"), [(2, {}, "2-detectors"), (1, {}, "2-observations"), (2, {"allreduce": True}, None)])
def test_two_workers_make_the_bits_of_two_processes(client, runs, tmp_path, group_size, options, same):
    found = on_dask.run(dask_runs.workflow, tmp_path / "dask", options, client=client, group_size=group_size)
    got = {name: loaded(tmp_path, "dask", name) for name in ("maps", "amplitudes")}
    assert found["processes"] == 2 and found["hits"] == got["maps"]["hits"].sum()
    if same:
        for name, arrays in got.items():
            want = loaded(runs, same, name)
            assert all(arrays[key].tobytes() == want[key].tobytes() for key in want), name
    want = loaded(runs, "1-whole")
    np.testing.assert_array_equal(got["maps"]["hits"], want["hits"])
    for name, allowed in (("covariance", 1e-12), ("binned", 1e-12), ("destriped", 1e-8)):
        assert np.abs(got["maps"][name] - want[name]).max() < allowed * np.abs(want[name]).max(), name


def test_a_communicator_has_what_the_package_calls(threads):
    every = on_dask.run(dask_runs.collectives, client=threads)
    for rank, (seen, buffer) in enumerate(every):
        assert seen == [[0, 1, 4, 9], 1111, [2, 0] if rank % 2 == 0 else [3, 1], 4] and buffer == [6.0] * 3


def test_a_rank_that_fails_ends_the_others(client, threads):
    for each in (client, threads):
        with pytest.raises(ArithmeticError, match="this rank fails"):
            on_dask.run(dask_runs.failing, client=each)
    assert on_dask.run(Comm.__repr__, client=threads, ranks=1).startswith("<ingot_toast.comm.Comm")
    assert not on_dask._mailboxes
    with pytest.raises(ValueError, match="5 ranks cannot have a worker each: the cluster has 4"):
        on_dask.run(dask_runs.failing, client=threads, ranks=5)


def test_a_lost_worker_ends_the_others(client):
    with pytest.raises(RuntimeError, match="[Ww]orker .*lost"):
        on_dask.run(dask_runs.lost, client=client)


def test_the_command_reports_what_dask_lacks(monkeypatch, capsys):
    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", lambda name, *rest: real("no_such_module" if name == "distributed" else name, *rest))
    assert main(["--dask", "2"]) == 2
    assert "pip install distributed" in capsys.readouterr().err
    for words in (["--dask", "0"], ["--dask", "two"], ["--dask", "2", "--mpi"]):
        with pytest.raises(SystemExit):
            main(words)
    assert "is no whole number from 1 on" in (text := capsys.readouterr().err) and "--mpi and --dask" in text


def test_the_command_runs_on_workers(client, tmp_path, capsys):
    assert main(["--dask", client.scheduler.address, "--out", str(tmp_path / "out")]) == 0
    assert "72 steps" in capsys.readouterr().out and (tmp_path / "out" / "maps.npz").exists()
