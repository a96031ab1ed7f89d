"""Run by mpiexec: maps of one problem, by all divisions of it that this number of processes has, into a folder for each."""

import functools
import pickle
import sys
from pathlib import Path

import ingot
from ingot_toast import Comm, destripe, mpi, satellite
from mpi4py import MPI

SIZE = satellite.Size(1, 2, 1_500, 10.0, 16)

RUNS = {
    1: {"whole": (1, {})},
    2: {"detectors": (2, {}), "detectors_again": (2, {}), "observations": (1, {})},
    4: {
        "detectors": (4, {}), "runs": (4, {"by_runs": True}), "grid": (4, {"detector_ranks": 2}),
        "groups": (2, {"detector_ranks": 1}), "dense": (4, {"allreduce": True}),
    },
}  # fmt: skip


def check_sharing(work):
    """The attitude is in memory once for the processes that have the same samples; then the first one's mark is seen."""
    seen = []
    for ob in work.data.obs:
        sharing = ob.meta["sharing"].world
        sharing.Barrier()
        if sharing.Get_rank() == 0:
            ob.shared["boresight"].data[5, 2] = 17.0 + ob.uid
        sharing.Barrier()
        seen.append(ob.shared["boresight"].data[5, 2] == 17.0 + ob.uid)
    assert all(seen)


class Limited:
    """A communicator of which an object of Python that is gathered has 8 KiB at most, as it has 2 GiB at most in MPI."""

    def __init__(self, world):
        self.world = world

    def gather(self, sent):
        assert len(pickle.dumps(sent)) < 1 << 13
        return self.world.gather(sent)

    def __getattr__(self, name):
        return getattr(self.world, name)


def check_gathering(work):
    """Maps of more bytes than an object of Python may have are gathered."""
    between, local = mpi.exchange(work.data), work.data["inverse_covariance"].data
    assert local.nbytes > 1 << 13
    want, between.world = between.sky(local), Limited(between.world)
    assert between.sky(local).tobytes() == want.tobytes()
    between.world = between.world.world


def main(folder):
    mpi.abort_on_errors()
    ingot.profile.start()
    destripe.Destripe.__init__ = functools.partialmethod(destripe.Destripe.__init__, tolerance=1e-4)  # a third of the steps
    world = MPI.COMM_WORLD
    satellite.SIZES["pair"] = SIZE
    for name, (group_size, options) in RUNS[world.Get_size()].items():
        ingot.profile.reset()
        work = satellite.Workflow("pair", Comm(world, group_size), **options)
        satellite.run(work, folder=folder / f"{world.Get_size()}-{name}")
        if world.Get_size() > 1:
            check_sharing(work)
            check_gathering(work)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
