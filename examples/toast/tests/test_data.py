"""Observations and their data, options of operators, and who works on what."""

import itertools
from dataclasses import field

import ingot
import numpy as np
import pytest
from ingot_toast import Buffer, Comm, Data, DetData, Intervals, KernelOperator, Observation, Operator, Pipeline, PixelDistribution, PixelMap
from ingot_toast.comm import blocks, detectors_of_ranks, evenly, grid


@pytest.fixture
def ob():
    return Observation("one", ["a", "b", "c"], 10)


def test_detector_data(ob):
    ob.detdata["signal"] = np.arange(30.0).reshape(3, 10)
    signal = ob.detdata["signal"]
    assert isinstance(signal, DetData) and signal.units == "K" and signal.detectors == ["a", "b", "c"]
    np.testing.assert_array_equal(signal["b"], np.arange(10, 20))
    signal["b"] = 0.0
    assert not signal.data[1].any() and signal.data[2].all()
    table = signal.indices(["c", "a"])
    assert table.dtype == np.int32 and table.tolist() == [2, 0]
    with pytest.raises(KeyError, match="there are no samples of the detector 'x', only of a, b, c"):
        signal.indices(["a", "x"])
    for wrong in (np.zeros((2, 10)), np.zeros((3, 9)), np.zeros(10)):
        with pytest.raises(ValueError, match=r"'signal' has rows and samples \(3, 10\)"):
            ob.detdata["signal"] = wrong


def test_what_is_there_is_used_again(ob):
    made = ob.detdata.ensure("quats", (4,), units="1")
    assert made.shape == (3, 10, 4) and made.units == "1" and not made.data.any()
    assert ob.detdata.ensure("quats", (4,), detectors=["b"]) is made
    for shape, dtype in (((), float), ((3,), float), ((4,), np.float32)):
        with pytest.raises(ValueError, match="'quats' is float64"):
            ob.detdata.ensure("quats", shape, dtype)


def test_rows_are_added(ob):
    part = ob.detdata.ensure("signal", detectors=["c"])
    part["c"] = 7.0
    both = ob.detdata.ensure("signal", detectors=["a", "stranger"])
    assert both.detectors == ["a", "c"] and (both["c"] == 7).all() and not both["a"].any()
    assert ob.detdata.ensure("none", detectors=[]).shape == (0, 10)


def test_stores(ob):
    ob.shared["times"] = np.arange(10.0)
    assert isinstance(ob.shared["times"], Buffer) and ob.shared["times"].shape == (10,)
    assert "times" in ob.shared and list(ob.shared) == ["times"] and len(ob.shared) == 1
    with pytest.raises(KeyError, match="there is no shared 'boresight', only 'times'"):
        ob.shared["boresight"]
    with pytest.raises(KeyError, match="there is no detdata 'x', only nothing"):
        ob.detdata["x"]
    del ob.shared["times"]
    assert "times" not in ob.shared


def test_intervals(ob):
    assert list(ob.intervals[None]) == [slice(0, 10)] and None in ob.intervals
    ob.intervals["scan"] = Intervals([1, 4, 6], [3, 4, 10])
    found = ob.intervals["scan"]
    assert len(found) == 3 and list(found) == [slice(1, 3), slice(4, 4), slice(6, 10)]
    assert found.first.dtype == found.last.dtype == np.int64
    for first, last in (([4, 1], [6, 3]), ([1, 2], [3, 4]), ([3], [1])):
        with pytest.raises(ValueError, match="intervals are sorted and disjoint"):
            Intervals(first, last)
    with pytest.raises(ValueError, match="0 <= first <= last"):
        Intervals([-5], [-2])
    for first, last in (([0.5], [3]), ([0], [3.0]), (["0"], [3])):
        with pytest.raises(TypeError, match="integers"):
            Intervals(first, last)
    assert len(Intervals([], [])) == 0


def test_what_kernels_are_given(ob):
    ob.detdata["signal"] = np.arange(30.0).reshape(3, 10)
    ob.detdata["flags"], ob.shared["flags"] = np.zeros((3, 10), np.uint8), np.zeros(10, np.uint8)
    ob.intervals["scan"] = Intervals([1, 6], [3, 10])
    samples, flags, view = ob.samples("signal", ["c", "a"]), ob.flags("flags", 4, ["b"]), ob.view("scan", "flags", 2)
    assert samples.data is ob.detdata["signal"].data and samples.rows.tolist() == [2, 0] and samples.rows.dtype == np.int32
    assert flags.samples.data is ob.detdata["flags"].data and flags.mask == 4 and ob.flags(None, 4, ["b"]) is None
    assert view.flags is ob.shared["flags"].data and view.mask == 2 and view.first is ob.intervals["scan"].first
    assert ob.view(None).flags is None and ob.view(None).last.tolist() == [10]
    distribution = PixelDistribution(50, 12, [0, 2, 4])
    sky = PixelMap(distribution, 2)
    assert sky.local().values is sky.data and sky.local().rows is distribution.global2local.data


def test_detectors(ob):
    other = Observation("two", ["d", "b"], 5)
    ob.detector_flags["a"], other.detector_flags["b"] = 1, 2
    data = Data([ob, other])
    assert ob.select() == ["a", "b", "c"] and ob.select(["c", "a", "x"]) == ["a", "c"] and ob.select(None, 3) == ["b", "c"]
    assert ob.select(mask=2) == ["a", "b", "c"]
    assert data.detectors() == ["a", "b", "c", "d"] and data.detectors(["d", "a"], 1) == ["d"]
    with pytest.raises(ValueError, match="each detector has a name of its own"):
        Observation("x", ["a", "a"], 1)


def test_global_objects(ob):
    data = Data([ob])
    data["map"], data["answer"] = np.zeros(3), 42
    assert isinstance(data["map"], Buffer) and data["answer"] == 42 and "map" in data
    part = data.with_observations([])
    part["more"] = "text"
    assert data["more"] == "text" and data.obs == [ob] and part.obs == []
    del data["map"]
    assert "map" not in part
    with pytest.raises(ValueError, match="the kinds of keys are global, meta, detdata, shared, intervals, not 'maps'"):
        data.stores("maps")


def test_maps():
    distribution = PixelDistribution(50, 12, [0, 2, 4])
    assert (distribution.n_submap, distribution.n_local) == (5, 3)
    assert distribution.global2local.data.tolist() == [0, -1, 1, -1, 2]
    sky = np.random.default_rng(1).standard_normal((50, 3))
    own = PixelMap.of_sky(distribution, sky)
    assert own.shape == (3, 12, 3) and own.units == "K"
    np.testing.assert_array_equal(own.data[0], sky[:12])
    np.testing.assert_array_equal(own.data[2, :2], sky[48:])
    wanted = sky.copy()
    wanted[12:24] = wanted[36:48] = 0
    np.testing.assert_array_equal(own.sky(), wanted)
    assert not PixelMap(distribution, 1, np.int32).data.any()
    with pytest.raises(ValueError, match=r"the map has shape \(3, 12, 2\)"):
        PixelMap(distribution, 2, values=np.zeros((3, 12, 3)))


@pytest.mark.parametrize("submaps", [[4, 0, 2], [1, 1], [-1, 2], [0, 5]], ids=str)
def test_submaps_that_are_not_in_order_are_refused(submaps):
    """An exchange takes those of an owner to follow each other."""
    with pytest.raises(ValueError, match=r"submaps are ascending numbers below 5, not \["):
        PixelDistribution(50, 12, submaps)
    assert PixelDistribution(50, 12, []).n_local == 0


def test_observations_of_one_name_are_refused(ob):
    """Layouts and checkpoints know them by name: two would share their amplitudes."""
    twin = Observation("one", ["a"], 5)
    with pytest.raises(ValueError, match="each observation has a name of its own, but 'one'"):
        Data([ob, twin])
    data = Data([ob])
    with pytest.raises(ValueError, match="but 'one'"):
        data.with_observations([ob, twin])
    data.obs.append(twin)
    for op in (Operator(), Pipeline()):
        with pytest.raises(ValueError, match="but 'one'"):
            op.exec(data)


class Options(Operator):
    count: int = 1
    text: str | None = None
    names: list[str] = field(default_factory=list)


class More(Options):
    factor: float = 2.0


def test_options():
    made = More(count=3, factor=0.5, text="x", names=["a"])
    assert made.name == "More" and Options(name="own").name == "own" and made.count == 3
    assert repr(made) == "More(name='More', count=3, text='x', names=['a'], factor=0.5)"
    one = Options()
    one.names.append("a")
    assert Options().names == []
    for wrong in ({"counts": 1}, {"factor": 1.0}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            Options(**wrong)


def test_operators_say_what_is_missing(ob):
    class Needs(Operator):
        def requires(self):
            return {"meta": ["noise"], "detdata": ["signal"], "global": ["map"]}

    data = Data([ob])
    data["map"] = 1
    with pytest.raises(KeyError, match="Needs requires meta 'noise', detdata 'signal', which some observation lacks"):
        Needs().apply(data)
    with pytest.raises(NotImplementedError, match="Operator has no _exec"):
        Operator().apply(data)
    with pytest.raises(NotImplementedError, match=r"KernelOperator has no arguments\(\)"):
        KernelOperator().apply(data)


# Arrays on devices.


@pytest.fixture
def device():
    return ingot.device("emulated")


def moved(device):
    counts = ingot.memory(device)
    return np.array([counts["to_device"], counts["to_host"]])


def objects():
    """One of each kind, with its values."""
    rng = np.random.default_rng(4)
    ob = Observation("x", ["a", "b", "c"], 20)
    ob.detdata["signal"], ob.detdata["quats"] = rng.standard_normal((3, 20)), rng.standard_normal((3, 20, 4))
    ob.detdata["pixels"], ob.detdata["flags"] = rng.integers(-1, 99, (3, 20)), rng.integers(0, 9, (3, 20)).astype(np.uint8)
    distribution = PixelDistribution(60, 12, [1, 3])
    maps = PixelMap(distribution, 3, values=rng.standard_normal((2, 12, 3))), PixelMap(distribution, 1, np.int32, "1")
    return [*ob.detdata.values(), *maps, distribution.global2local, Buffer(values=np.float32(3)), Buffer((0, 4)), Buffer((6, 7), np.int64)]


@pytest.mark.parametrize("number", range(len(objects())))
def test_arrays_go_to_the_device_and_back(device, number):
    item = objects()[number]
    before = item.to_host().copy()
    host, start = item.data, moved(device)
    assert item.place(device) and not item.place(device) and item.is_there
    assert item.data.shape == before.shape and item.data.dtype == before.dtype
    np.testing.assert_array_equal(item.to_host(), before)
    item.data[...] = item.data + item.data
    assert item.place(None) and not item.place(None) and not item.is_there
    assert item.data is host, "the caller's array has what was made of it"
    np.testing.assert_array_equal(item.data, before + before)
    assert (moved(device) - start).tolist() == [before.nbytes, 2 * before.nbytes]


def test_new_arrays_are_zero_and_take_memory_where_they_are_used(device):
    item, start = Buffer((60, 70), np.int64), moved(device)
    item.place(device)
    assert (moved(device) - start)[0] < 100 and not item.to_host().any()
    item.place(None)
    assert not item.data.any() and item.data.shape == (60, 70)
    unused = Buffer(3)
    assert not unused.place(None) and not unused.data.any()


def test_what_is_only_read_is_read_only_there_and_not_copied_back(device):
    item = Buffer(values=np.ones(40))
    item.place(device, writable=False)
    start = moved(device)
    with pytest.raises(ValueError, match="read-only"):
        item.data[...] = 2.0
    item.place(None)
    assert (moved(device) - start).tolist() == [0, 0] and (item.data == 1.0).all()
    item.place(device, writable=False)
    item.place(device, writable=True)  # a pipeline in another one that changes it
    item.data[...] = 3.0
    item.place(None)
    assert (item.data == 3.0).all()


def test_arrays_of_the_user_that_are_read_only_stay_as_they_are(device):
    values = np.ones(4)
    values.setflags(write=False)
    item = Buffer(values=values)
    item.place(device)
    item.data[...] = 5.0
    item.place(None)
    assert (item.data == 5.0).all() and (values == 1.0).all()


def test_what_cannot_be_copied_back_is_still_there(device):
    item = Buffer(values=np.zeros(6))
    item.place(device)
    item.data[...] = item.data + 7.0
    host, item._host = item._host, np.zeros((2, 2))  # no memory of the host for it
    with pytest.raises(ValueError):
        item.place(None)
    assert item.is_there and (item.to_host() == 7.0).all()
    item._host = host
    item.place(None)
    assert item.data is host and (host == 7.0).all()


@pytest.mark.skipif(not ingot.devices("opencl"), reason="there is one kind of device")
def test_arrays_go_from_device_to_device(device):
    second, item = ingot.device("opencl"), Buffer(values=np.arange(5.0))
    item.place(device)
    item.data[...] = item.data + 1.0
    assert item.place(second) and item.data.device == second
    item.place(None)
    assert item.data.tolist() == [1, 2, 3, 4, 5]


# Processes.


class World:
    """What `Comm` needs of a communicator."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Split(self, color, key):
        return color, key


def test_groups():
    alone = Comm()
    assert (alone.rank, alone.size, alone.n_groups, alone.group_comm) == (0, 1, 1, None)
    found = [Comm(World(rank, 6), 2) for rank in range(6)]
    assert [(c.group, c.group_rank) for c in found] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert all(c.n_groups == 3 and c.group_comm == (c.group, c.group_rank) for c in found)
    assert Comm(World(1, 3)).n_groups == 1
    for wrong in (4, 0, 7):
        with pytest.raises(ValueError, match="cannot be made of 6"):
            Comm(World(0, 6), wrong)


def test_observations_over_groups():
    """The largest sum is the least that contiguous blocks can have: all ways are tried."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        sizes, parts = rng.integers(0, 20, rng.integers(0, 8)).tolist(), int(rng.integers(1, 6))
        found = blocks(sizes, parts)
        assert len(found) == parts and [item for block in found for item in block] == list(range(len(sizes)))
        cuts = itertools.combinations_with_replacement(range(len(sizes) + 1), parts - 1)
        best = min(max(sum(sizes[a:b]) for a, b in itertools.pairwise((0, *cut, len(sizes)))) for cut in cuts)
        assert max(sum(sizes[i] for i in block) for block in found) == best
    with pytest.raises(ValueError, match="there are 0 parts"):
        blocks([1], 0)


def test_items_over_parts():
    assert [len(part) for part in evenly(10, 4)] == [3, 3, 2, 2] and evenly(2, 3) == [range(0, 1), range(1, 2), range(2, 2)]


def test_detectors_of_a_place_stay_together():
    places = [place for place in range(7) for _ in range(2)]
    for ranks in range(1, 8):
        found = detectors_of_ranks(places, ranks)
        assert [d for part in found for d in part] == list(range(14))
        assert all(part.start % 2 == part.stop % 2 == 0 for part in found)
        assert max(map(len, found)) - min(map(len, found)) <= 2
    assert detectors_of_ranks(["x", "x", "x", "y"], 2) == [range(0, 3), range(3, 4)]
    with pytest.raises(ValueError, match="8 ranks cannot share 7 positions of detectors"):
        detectors_of_ranks(places, 8)


def test_the_grid_of_a_group():
    assert [grid(6, rank, 3) for rank in range(6)] == [(3, 2, d, s) for d in range(3) for s in range(2)]
    assert grid(4, 3) == (4, 1, 3, 0)
    with pytest.raises(ValueError, match="6 processes are no grid with 4 detector ranks"):
        grid(6, 0, 4)
