"""Observations and their data, options of operators, and who works on what."""

import itertools
from typing import Literal

import numpy as np
import pytest
from ingot_toast import Buffer, Comm, Data, DetData, Intervals, Memory, Observation, Operator, Pipeline, PixelDistribution, PixelMap
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
    with pytest.raises(KeyError, match="detdata.signal has no detector 'x'"):
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
    ob.detdata.planned["pixels"] = ["b", "c"]
    assert ob.detdata.ensure("pixels", detectors=["a"]).detectors == ["a", "b", "c"]
    assert ob.detdata.ensure("none", detectors=[]).shape == (0, 10)


def test_stores(ob):
    ob.shared["times"] = np.arange(10.0)
    assert isinstance(ob.shared["times"], Buffer) and ob.shared["times"].key == ("shared", "times")
    assert "times" in ob.shared and list(ob.shared) == ["times"] and len(ob.shared) == 1
    with pytest.raises(KeyError, match="there is no shared 'boresight', only 'times'"):
        ob.shared["boresight"]
    with pytest.raises(KeyError, match="there is no detdata 'x', only nothing"):
        ob.detdata["x"]
    del ob.shared["times"]
    assert "times" not in ob.shared


def test_intervals(ob):
    assert list(ob.intervals[None]) == [slice(0, 10)] and None in ob.intervals
    times = np.arange(10) / 2
    ob.intervals["scan"] = Intervals([1, 4, 6], [3, 4, 10], times)
    found = ob.intervals["scan"]
    assert len(found) == 3 and list(found) == [slice(1, 3), slice(4, 4), slice(6, 10)]
    assert found.data.itemsize == 32 and found.data["start"].tolist() == [0.5, 2.0, 3.0] and found.data["stop"].tolist() == [1.0, 2.0, 4.5]
    for first, last in (([4, 1], [6, 3]), ([1, 2], [3, 4]), ([3], [1])):
        with pytest.raises(ValueError, match="intervals are sorted and disjoint"):
            Intervals(first, last)
    with pytest.raises(ValueError, match="0 <= first <= last"):
        Intervals([-5], [-2])
    for first, last in (([0.5], [3]), ([0], [3.0]), (["0"], [3])):
        with pytest.raises(TypeError, match="integers"):
            Intervals(first, last)
    assert len(Intervals([], [])) == 0
    at_the_end = Intervals([0, 10], [5, 10], times)
    assert at_the_end.data["start"].tolist() == [0.0, 4.5] and at_the_end.data["stop"].tolist() == [2.0, 4.5]
    assert Intervals([0], [0], times[:0]).data["start"].tolist() == [0.0]
    with pytest.raises(ValueError, match="an interval ends at sample 11, but there are 10 times"):
        Intervals([3], [11], times)


def test_views(ob):
    ob.detdata["signal"] = np.arange(30.0).reshape(3, 10)
    ob.shared["times"] = np.arange(10.0)
    ob.intervals["scan"] = Intervals([1, 6], [3, 10])
    first, second = ob.view("scan", "signal")
    assert first.shape == (3, 2) and second[2].tolist() == [26, 27, 28, 29]
    first[...] = -1
    assert (ob.detdata["signal"].data[:, 1:3] == -1).all()
    assert [part.tolist() for part in ob.view("scan", "times")] == [[1, 2], [6, 7, 8, 9]] and len(ob.view(None, "times")[0]) == 10


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


def test_one_array_has_one_name(ob):
    ob.detdata["signal"] = np.ones((3, 10))
    with pytest.raises(ValueError, match="detdata 'copy' would be the array that detdata.signal is: give it a copy"):
        ob.detdata["copy"] = ob.detdata["signal"]
    assert "copy" not in ob.detdata and ob.detdata["signal"].key == ("detdata", "signal")
    ob.detdata["signal"] = ob.detdata["signal"]  # the same again
    data = Data([ob])
    data["dist"] = PixelDistribution(50, 12)
    with pytest.raises(ValueError, match="global 'other' would be the array that global.dist is"):
        data["other"] = data["dist"]
    moved = ob.detdata["signal"]
    del ob.detdata["signal"]
    ob.detdata["copy"] = moved
    assert ob.detdata["copy"].key == ("detdata", "copy") and ob.detdata["copy"]["b"].all()


@pytest.mark.parametrize("kind", ["detdata", "global"])
def test_what_is_replaced_leaves_the_device(ob, kind):
    memory, data = Memory("host"), Data([ob])
    (store,) = data.stores(kind)
    store["x"] = np.ones((3, 10))
    old = store["x"]
    memory.upload(old)
    store["x"] = old
    assert old.memory is memory
    store["x"] = np.zeros((3, 10))
    assert memory.pool.in_use == 0 and not memory.staged and old.data.all() and not store["x"].data.any()


class Options(Operator):
    count: int = 1
    factor: float = 2.0
    text: str | None = None
    mode: Literal["I", "IQU"] = "I"
    names: list[str] = []
    pair: tuple[int, ...] = ()
    table: dict[str, bool] = {}


def test_options():
    made = Options(count=np.int64(3), factor=1, text="x", mode="IQU", names=["a"], pair=(1, 2), table={"a": True})
    made.text = None
    assert made.name == "Options" and Options(name="own").name == "own" and made.count == 3
    assert repr(Options(factor=0.5)).startswith("Options(") and "factor=0.5" in repr(Options(factor=0.5))


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", 1.0), ("count", True), ("factor", "1"), ("factor", None), ("text", 3), ("mode", "Q"), ("names", ("a",)), ("names", [1]),
     ("pair", (1, "a")), ("table", {"a": 1}), ("table", {1: True})],
)  # fmt: skip
def test_options_of_a_wrong_type_are_refused(name, value):
    with pytest.raises(TypeError, match=f"Options.{name} is .*, not "):
        Options(**{name: value})
    made = Options()
    with pytest.raises(TypeError, match=f"Options.{name} is .*, not "):
        setattr(made, name, value)


def test_unknown_options_are_refused():
    with pytest.raises(AttributeError, match="Options has no option 'counts'; it has count, factor, mode, name, names, pair, table, text"):
        Options(counts=1)


def test_defaults_belong_to_one_operator_alone():
    one = Options()
    one.names.append("a")
    one.table["a"] = True
    assert Options().names == Options.names == [] and Options().table == Options.table == {}
    given = ["b"]
    assert Options(names=given).names is given


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
