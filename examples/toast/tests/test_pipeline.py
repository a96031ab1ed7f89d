"""Pipelines give the same wherever and in whatever order they run; what they move is counted to the byte."""

import logging
import weakref

import ingot
import numpy as np
import problem
import pytest
from ingot_toast import Buffer, HostBackend, KernelOperator, Memory, Operator, Pipeline, PixelMap, dispatch, fusion
from ingot_toast.memory import here, size_class
from ingot_toast.operator import each, intervals, rows, table
from ingot_toast.operators import BuildNoiseWeighted, NoiseWeight, PixelsHealpix, PointingDetector, ScanMap, StokesWeights
from problem import BACKENDS

SETS = ["ALL", "SINGLE", [["a", "b"], ["c", "d"]], [["d", "a"], ["c"], ["b"]], [["a", "b", "c", "d", "e"]]]


@pytest.fixture(params=BACKENDS)
def memory(request):
    return Memory(BACKENDS[request.param]())


def longer():
    """A pipeline with changes in place, a product that is consumed and one that is kept."""
    return [*problem.binning("scan"), ScanMap(view="scan", map="sky", subtract=True), NoiseWeight(view="scan")]


def data_with_sky(**options):
    data = problem.make(**options)
    sky = np.random.default_rng(5).standard_normal((data["pixel_dist"].n_local, problem.N_PIX_SUBMAP, 3))
    data["sky"] = PixelMap(data["pixel_dist"], 3, values=sky)
    return data


def everything(data):
    """All arrays that there are, by name."""
    found = {name: item.data.copy() for name, item in data.objects.items() if hasattr(item, "data")}
    for ob in data.obs:
        found.update({f"{ob.name} detdata {name}": item.data.copy() for name, item in ob.detdata.items()})
        found.update({f"{ob.name} shared {name}": item.data.copy() for name, item in ob.shared.items()})
    return found


def assert_same(got, wanted, tolerance=1e-12):
    assert got.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(got[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


def ran(operators, data=None, detectors=None, compiled=False, **options):
    data = data or data_with_sky()
    pipeline = Pipeline(operators, **options)
    (pipeline.compile() if compiled else pipeline).apply(data, detectors)
    return everything(data)


@pytest.fixture(scope="module")
def wanted():
    return ran(longer(), device=False)


def assert_nothing_left(memory):
    assert memory.pool.in_use == 0 and not memory.staged and not memory.needed


# Equal results.


@pytest.mark.parametrize("detector_sets", SETS, ids=str)
def test_loop_orders_on_the_host(detector_sets, wanted):
    assert_same(ran(longer(), device=False, detector_sets=detector_sets), wanted)


@pytest.mark.parametrize("detector_sets", SETS, ids=str)
@pytest.mark.parametrize("staging", [True, False])
def test_loop_orders_on_a_device(detector_sets, staging, memory, wanted):
    assert_same(ran(longer(), memory=memory, detector_sets=detector_sets, staging=staging), wanted)
    assert_nothing_left(memory)


@pytest.mark.parametrize("on_host", range(1, 1 << 6, 5))
def test_subsets_of_the_operators_on_a_device(on_host, memory, wanted):
    operators = longer()
    device = {op.name: False for place, op in enumerate(operators) if on_host >> place & 1}
    for detector_sets in ("ALL", "SINGLE"):
        assert_same(ran(operators, memory=memory, device=device, detector_sets=detector_sets), wanted)
    assert_nothing_left(memory)


def test_some_detectors(memory):
    wanted = ran(longer(), device=False, detectors=["d", "a"])
    for options in ({"memory": memory}, {"device": False, "detector_sets": "SINGLE"}, {"memory": memory, "detector_sets": SETS[3]}):
        assert_same(ran(longer(), detectors=["d", "a"], **options), wanted)
    untouched = data_with_sky().obs[1].detdata["signal"]["b"]
    np.testing.assert_array_equal(wanted["ob1 detdata signal"][0], untouched)


def test_detectors_that_are_out(memory):
    found = []
    for options in ({"device": False}, {"memory": memory}, {"memory": memory, "detector_sets": "SINGLE"}):
        data = data_with_sky()
        data.obs[0].detector_flags.update(b=2, c=1)
        operators = longer()
        for op in operators:
            op.det_mask = 2
        found.append(ran(operators, data, keep=["quats"], **options))
        rows_there = data.obs[0].detdata["quats"]
        assert "b" not in rows_there or not rows_there["b"].any()
    for other in found[1:]:
        for name, value in found[0].items():
            if "quats" not in name:
                np.testing.assert_allclose(other[name], value, rtol=1e-12, atol=1e-12)


LARGER = {"lengths": (64, 40), "detectors": [f"d{n:02}" for n in range(16)]}


def larger():
    data = problem.make(**LARGER)
    data["pixel_dist"] = type(data["pixel_dist"])(12 * 4, 12)
    operators = problem.binning("scan")
    operators[1].nside, operators[1].nside_submap = 2, 1
    return data, [*operators, NoiseWeight(view="scan")]


@pytest.fixture(scope="module")
def larger_wanted():
    data, operators = larger()
    return ran(operators, data, device=False)


@pytest.mark.parametrize("kind", BACKENDS)
def test_limits(kind, larger_wanted):
    """With less memory the results are the same, and more is moved."""
    data, operators = larger()
    first = Memory(BACKENDS[kind]())
    assert_same(ran(operators, data, memory=first), larger_wanted)
    need, moved, sets = first.pool.peak, [], []
    for share in (1.0, 0.5, 0.25, 0.1):
        data, operators = larger()
        memory = Memory(BACKENDS[kind](), int(need * share))
        assert_same(ran(operators, data, memory=memory), larger_wanted)
        assert memory.pool.peak <= memory.pool.limit == int(need * share)
        assert_nothing_left(memory)
        moved.append(memory.total("bytes_up") + memory.total("bytes_down"))
        sets.append(memory.traffic["detdata.signal"].uploads)
        assert memory.traffic["detdata.signal"].bytes_up == 8 * (16 * 64 + 15 * 40)
        assert memory.traffic["detdata.quats"].bytes_up == 0
    assert moved[0] == first.total("bytes_up") + first.total("bytes_down")
    assert min(moved) == moved[0] < moved[-1] == max(moved) and sets[0] == 2 and sets[-1] == 32


def test_what_earlier_calls_left_on_the_device_makes_way(memory):
    """The signal of one call and of the next do not fit at once, each of them does."""
    wanted = ran([NoiseWeight(), Clip()], device=False)
    data, signal = data_with_sky(), size_class(4 * 90 * 8)
    pipeline = Pipeline([NoiseWeight(), Clip()], memory=Memory(memory.backend, signal + 256))
    for ob in data.obs:
        pipeline.exec(data.with_observations([ob]))
    pipeline.finalize(data)
    assert_same(everything(data), wanted)
    traffic = pipeline.memory.traffic["detdata.signal"]
    assert traffic.uploads == traffic.downloads == 2
    assert_nothing_left(pipeline.memory)


def test_too_little_memory_for_one_detector(memory):
    limited = Memory(memory.backend, 5000)
    data = data_with_sky()
    before = everything(data)
    with pytest.raises(MemoryError, match=r"ScanMap needs .*global.zmap \(18432 bytes\).* for a at once, .* 5000 bytes .* samples would fit"):
        ran(longer(), data, memory=limited)
    assert_nothing_left(limited)
    assert_same(everything(data), before, 0)


def scanning_of_what_was_built():
    return [*problem.binning("scan"), ScanMap(view="scan", map="zmap", subtract=True)]


def test_what_is_summed_over_detectors_and_then_used_is_not_split(memory):
    wanted = ran(scanning_of_what_was_built(), device=False)
    assert_same(ran(scanning_of_what_was_built(), memory=memory), wanted)
    why = "BuildNoiseWeighted changes global 'zmap', which ScanMap uses: give each a pipeline"
    inner = Pipeline(scanning_of_what_was_built(), keep=["quats"], name="inner")
    reader_first = [*problem.binning()[:3], ScanMap(map="zmap"), problem.binning()[3]]
    cases = [(scanning_of_what_was_built(), why), ([inner], "inner needs all detectors in a call"), (reader_first, why)]
    for operators, word in cases:
        for options in ({"device": False}, {"memory": memory}):
            data = data_with_sky()
            data["zmap"] = PixelMap(data["pixel_dist"], 3)
            before = everything(data)
            for detector_sets in ("SINGLE", SETS[2]):
                with pytest.raises(ValueError, match=f"Pipeline cannot work on [24] sets of detectors one after the other: {word}"):
                    ran(operators, data, detector_sets=detector_sets, **options)
                assert_same(everything(data), before, 0)
    assert_same(ran(scanning_of_what_was_built(), device=False, detector_sets=[["a", "b", "c", "d"]]), wanted)
    alone = Memory(memory.backend)
    ran(scanning_of_what_was_built(), memory=alone)
    limited = Memory(memory.backend, int(alone.pool.peak * 0.6))
    with pytest.raises(MemoryError, match=f"samples would fit; it cannot be fewer detectors at once: {why}"):
        ran(scanning_of_what_was_built(), memory=limited)
    assert_nothing_left(limited)


class Mean(KernelOperator):
    """Subtracts the mean of all detectors."""

    whole_detectors = True
    signal: str = "signal"

    def requires(self):
        return {"detdata": [self.signal]}

    provides = requires

    def supports_accel(self):
        return False

    def _exec(self, data, detectors):
        for ob in data.obs:
            signal, own = ob.detdata[self.signal].data, ob.detdata[self.signal].indices(ob.select(detectors))
            signal[own] -= signal[own].mean(axis=0)


def test_operators_that_need_all_detectors_get_them(memory):
    wanted = ran([NoiseWeight(), Mean(), NoiseWeight(name="again")], device=False)
    assert not NoiseWeight().whole_detectors and Mean().whole_detectors and not Pipeline([NoiseWeight()]).whole_detectors
    for middle in (Mean(), Pipeline([Mean()]), Pipeline([Mean()], memory=memory)):
        operators = [NoiseWeight(), middle, NoiseWeight(name="again")]
        assert Pipeline(operators).whole_detectors
        for options in ({"device": False}, {"memory": memory}):
            assert_same(ran(operators, **options), wanted)
            with pytest.raises(ValueError, match=r"4 sets .*: (Mean|Pipeline) needs all detectors in a call"):
                ran(operators, detector_sets="SINGLE", **options)
    limited = Memory(memory.backend, size_class(3 * 90 * 8) + size_class(2 * 50 * 8))
    with pytest.raises(MemoryError, match="it cannot be fewer detectors at once: Mean needs all detectors in a call"):
        ran([NoiseWeight(), Mean()], memory=limited)
    assert_nothing_left(limited)


class Tight(HostBackend):
    """A device that has less than it says: it gives so many bytes; others have the rest."""

    def __init__(self, room):
        super().__init__(1 << 30)
        self.room, self.blocks = room, []

    def block(self, nbytes):
        self.blocks = [there for there in self.blocks if there() is not None]
        if sum(there().nbytes for there in self.blocks) + nbytes > self.room:
            raise MemoryError("no more")
        made = super().block(nbytes)
        self.blocks.append(weakref.ref(made))
        return made


@pytest.mark.parametrize("share", [0.9, 0.7, 0.5, 0.3, 0.15])
def test_a_device_that_gives_less_than_the_limit_works_on_fewer_detectors(share, larger_wanted):
    """Also where operators have changed something in place already: what has run does not run again."""
    data, operators = larger()
    first = Memory("host")
    ran(operators, data, memory=first)
    data, operators = larger()
    memory = Memory(Tight(int(first.pool.peak * share)))
    assert_same(ran(operators, data, memory=memory), larger_wanted)
    assert_nothing_left(memory)
    data, operators = larger()
    weighted = [NoiseWeight(name="first"), *operators]
    wanted = ran(weighted, data, device=False)
    data, _ = larger()
    memory = Memory(Tight(int(first.pool.peak * share)))
    assert_same(ran(weighted, data, memory=memory), wanted)
    assert names(data)[0] == [{"signal", "flags"}] * 2
    assert_nothing_left(memory)


def test_a_device_that_gives_less_than_one_detector_needs():
    data = data_with_sky()
    before, memory = everything(data), Memory(Tight(5000))
    with pytest.raises(MemoryError, match=r"needs \d+ bytes on host: of the limit of 1073741824 bytes \d+ are free, but so much the device itself does"):
        ran(longer(), data, memory=memory)
    assert_nothing_left(memory)
    assert_same(everything(data), before, 0)


@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE", SETS[2], [["x"]]], ids=str)
def test_without_detectors_products_are_made_all_the_same(detector_sets, memory):
    for options in ({"device": False}, {"memory": memory}):
        data, none = problem.make(), problem.make().with_observations([])
        Pipeline(problem.binning(), detector_sets=detector_sets, **options).apply(data, [])
        Pipeline(problem.binning(), detector_sets=detector_sets, **options).apply(none)
        for made in (data, none):
            assert names(made)[1] == {"pixel_dist", "zmap", "hit_submaps"} and not made["zmap"].data.any()


class ByName(Operator):
    """Reads and writes detectors by their names."""

    seen: dict[str, float] = {}

    def requires(self):
        return {"detdata": ["signal"]}

    provides = requires

    def supports_accel(self):
        return True

    def _exec(self, data, detectors):
        for ob in data.obs:
            for detector in ob.select(detectors):
                row = ob.detdata["signal"][detector]
                self.seen[detector] = float((row.to_host() if hasattr(row, "to_host") else row)[0])
                ob.detdata["signal"][detector] = 7.0
            with pytest.raises(KeyError, match="lacks rows of|has no detector"):
                ob.detdata["signal"]["d" if here().memory else "x"]


def test_rows_by_name_are_those_of_the_detector(memory):
    for sets in (["b", "c"], ["a", "c"]):
        data = problem.make(lengths=(90,))
        before, seen = data.obs[0].detdata["signal"].data.copy(), {}
        Pipeline([ByName(seen=seen)], memory=memory, detector_sets=[sets]).apply(data)
        wanted = before.copy()
        wanted[["abcd".index(d) for d in sets]] = 7.0
        assert seen == {d: before["abcd".index(d), 0] for d in sets}
        np.testing.assert_array_equal(data.obs[0].detdata["signal"].data, wanted)
        np.testing.assert_array_equal(data.obs[0].detdata["signal"]["c"], np.full(90, 7.0))


class Grows(Operator):
    """Makes an object while it works with another."""

    def requires(self):
        return {"global": ["x"]}

    def provides(self):
        return {"global": ["out"]}

    def supports_accel(self):
        return True

    def _exec(self, data, detectors):
        x = data["x"].data
        data["out"] = Buffer(x.shape)
        out = data["out"].data
        out[...] = out + 1.0
        out[...] = out + x


def test_what_a_running_operator_holds_is_not_given_away(memory):
    for limit, fits in ((None, True), (2048, True), (1500, False)):
        own, data = Memory(memory.backend, limit), problem.make()
        data["x"] = np.full(128, 10.0)
        if fits:
            Pipeline([Grows()], memory=own).apply(data)
            np.testing.assert_array_equal(data["out"].data, np.full(128, 11.0))
        else:
            with pytest.raises(MemoryError, match="global.out needs 1024 bytes on .*: of the limit of 1500 bytes 476 are free"):
                Pipeline([Grows()], memory=own).apply(data)
            assert_nothing_left(own)


# Counters.


def samples(data):
    """Detector-samples and samples."""
    return sum(len(ob.detectors) * ob.n_samples for ob in data.obs), sum(ob.n_samples for ob in data.obs)


def bytes_moved(memory, kinds, direction):
    return sum(getattr(traffic, direction) for key, traffic in memory.traffic.items() if key.partition(".")[0] in kinds)


SKY = 12 * problem.NSIDE**2 * 3 * 8
SMALL = {"global.hit_submaps": 16, "global.pixel_dist": 8 * 16}


def test_bytes_of_the_naive_way(memory):
    data = problem.make()
    (detector_samples, shared), pipeline = samples(data), Pipeline(problem.binning("scan"), memory=memory, staging=False)
    pipeline.apply(data)
    assert bytes_moved(memory, ["detdata"], "bytes_up") == 169 * detector_samples
    assert bytes_moved(memory, ["detdata"], "bytes_down") == 64 * detector_samples
    assert bytes_moved(memory, ["shared"], "bytes_up") == 35 * shared
    assert bytes_moved(memory, ["shared"], "bytes_down") == 0
    traffic = memory.traffic["global.zmap"]
    assert (traffic.bytes_up, traffic.bytes_down) == (SKY, SKY)
    assert memory.traffic["global.hit_submaps"].bytes_up == memory.traffic["global.hit_submaps"].bytes_down == 16


@pytest.mark.parametrize(("compiled", "detector_sets"), [(False, "ALL"), (False, "SINGLE"), (True, "ALL")])
def test_bytes_of_what_stays_on_the_device(compiled, detector_sets, memory):
    data = problem.make()
    (detector_samples, shared), pipeline = samples(data), Pipeline(problem.binning("scan"), memory=memory, detector_sets=detector_sets)
    (pipeline.compile() if compiled else pipeline).apply(data)
    assert bytes_moved(memory, ["detdata"], "bytes_up") == 9 * detector_samples
    assert bytes_moved(memory, ["detdata", "shared"], "bytes_down") == 0
    assert bytes_moved(memory, ["shared"], "bytes_up") == 33 * shared
    traffic = memory.traffic["global.zmap"]
    assert (traffic.bytes_up, traffic.downloads, traffic.bytes_down) == (0, 1, SKY)
    assert bytes_moved(memory, ["global"], "bytes_up") == 8 * 16 and bytes_moved(memory, ["global"], "bytes_down") == SKY + 16
    stored = {key for key in memory.traffic if key.startswith("detdata")}
    assert stored == {f"detdata.{name}" for name in ["signal", "flags", *([] if compiled else ["quats", "pixels", "weights"])]}


def test_survivors_go_back_once_however_often_there_is_work(memory, wanted):
    data = data_with_sky()
    pipeline = Pipeline(longer(), memory=memory)
    for ob in data.obs:
        pipeline.exec(data.with_observations([ob]))
    assert memory.total("bytes_down") == 0
    pipeline.finalize(data)
    assert_same(everything(data), wanted)
    assert memory.traffic["global.zmap"].downloads == 1 and memory.traffic["detdata.signal"].downloads == 2
    assert memory.traffic["shared.boresight"].uploads == 2


def test_operators_on_the_host_bring_back_only_what_they_need(memory):
    data = problem.make()
    Pipeline(problem.binning("scan"), memory=memory, device={"PixelsHealpix": False}).apply(data)
    count = samples(data)[0]
    assert bytes_moved(memory, ["detdata"], "bytes_down") == 32 * count  # quats
    assert bytes_moved(memory, ["detdata"], "bytes_up") == (9 + 8) * count  # pixels, too


# What survives.


def names(data):
    return [set(ob.detdata) for ob in data.obs], set(data.objects)


@pytest.mark.parametrize("place", ["host", "device"])
def test_what_survives(place, memory):
    where = {"device": False} if place == "host" else {"memory": memory}
    for detector_sets in ("ALL", "SINGLE", SETS[2]):
        options = {**where, "detector_sets": detector_sets}
        data = problem.make()
        Pipeline(problem.binning(), **options).apply(data)
        assert names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist", "zmap", "hit_submaps"})
        Pipeline(problem.binning(), keep=["pixels"], **options).apply(data)
        assert names(data)[0] == [{"signal", "flags", "pixels"}] * 2
        kept = data.obs[1].detdata["pixels"]
        assert kept.detectors == ["b", "c", "d"] and (kept.data >= -1).all() and kept.data.any()
        data.obs[0].shared["flags"].data[:] = 1
        Pipeline(problem.binning(), **options).apply(data)  # what was there before stays, and is new
        assert names(data)[0] == [{"signal", "flags", "pixels"}] * 2 and (data.obs[0].detdata["pixels"].data == -1).all()
        Pipeline(problem.binning()[:2], **options).apply(data)
        assert names(data)[0] == [{"signal", "flags", "pixels"}] * 2
        Pipeline(problem.binning()[:3], **options).apply(data)  # nobody consumes the weights
        assert names(data)[0] == [{"signal", "flags", "pixels", "weights"}] * 2


class Source(Operator):
    """Makes `made`, or adds 1 to it, on the host or a device."""

    made: str = "made"
    fresh: bool = True

    def requires(self):
        return {} if self.fresh else {"detdata": [self.made]}

    def provides(self):
        return {"detdata": [self.made]}

    def supports_accel(self):
        return True

    def _create(self, data, detectors):
        for ob in data.obs:
            ob.detdata.ensure(self.made, detectors=ob.select(detectors))

    def _exec(self, data, detectors):
        for ob in data.obs:
            found = ob.detdata[self.made].data
            found[...] = found + 1.0


def test_the_last_change_in_place_survives(memory):
    for options in ({"device": False}, {"memory": memory}, {"memory": memory, "detector_sets": "SINGLE"}):
        data = problem.make()
        Pipeline([Source(), Source(fresh=False, name="more")], **options).apply(data)
        assert all((ob.detdata["made"].data == 2).all() for ob in data.obs)


# Where operators run.


class Where(Operator):
    """Notes where it runs."""

    able: bool = True
    seen: list[str] = []

    def supports_accel(self):
        return self.able

    def _exec(self, data, detectors):
        self.seen.append("host" if here().memory is None else "device")


def places(**options):
    seen = []
    Pipeline([Where(seen=seen, name="one"), Where(seen=seen, able=False, name="two")], **options).apply(problem.make())
    return seen


def test_where_operators_run(memory):
    assert places(memory=memory) == ["device", "host"]
    assert places(memory=memory, hybrid=False) == ["host", "host"]
    assert places(memory=memory, hybrid=False, device=True) == ["device", "host"]
    assert places(memory=memory, device=False) == ["host", "host"]
    assert places(memory=memory, device={"one": False}) == ["host", "host"]
    assert places(memory="emulated") == ["device", "host"]
    if ingot.devices()[0].kind == "cpu":
        assert places() == ["host", "host"]
        with pytest.raises(RuntimeError, match="there is no GPU: give the pipeline the memory of a device"):
            places(device=True)


def test_wrong_pipelines_are_refused(memory):
    with pytest.raises(ValueError, match=r"leave out the same detectors, but their det_mask differs: {'PointingDetector': 1, 'NoiseWeight': 0}"):
        Pipeline([PointingDetector(det_mask=1), NoiseWeight()])
    with pytest.raises(ValueError, match="`device` names Pixels, which is no operator of the pipeline"):
        Pipeline(problem.binning(), device={"Pixels": False})
    with pytest.raises(ValueError, match="each detector is in one set, but b"):
        Pipeline([], detector_sets=[["a", "b"], ["b", "c"]])
    with pytest.raises(TypeError, match=r"Pipeline.detector_sets is .*, not 'EACH'"):
        Pipeline([], detector_sets="EACH")
    with pytest.raises(KeyError, match="Pipeline requires global 'sky', which some observation lacks"):
        Pipeline(longer(), memory=memory).apply(problem.make())
    Pipeline([], memory=memory).apply(problem.make())


def test_pipelines_in_pipelines(memory, wanted):
    operators = longer()
    inner = Pipeline(operators[1:3])
    assert [op.name for op in Pipeline([operators[0], inner, *operators[3:]]).steps()] == [op.name for op in operators]
    for options in ({}, {"detector_sets": "SINGLE"}, {"memory": memory}):
        inner = Pipeline(operators[:3], **options)
        for place in ({"device": False}, {"memory": memory}):
            assert_same(ran([inner, *operators[3:]], **place), wanted)
            assert_nothing_left(memory)


def test_keys_of_a_pipeline():
    pipeline = Pipeline(problem.binning("scan"), keep=["quats"])
    assert pipeline.requires() == {
        "meta": ["focalplane", "noise"], "shared": ["boresight", "flags"], "intervals": ["scan"],
        "detdata": ["signal", "flags"], "global": ["pixel_dist"],
    }  # fmt: skip
    assert pipeline.provides() == {"detdata": ["quats"], "global": ["hit_submaps", "zmap"]}


class Ends(Operator):
    def _exec(self, data, detectors):
        pass

    def _finalize(self, data):
        return dispatch.chosen("scan_map"), here().memory, data["zmap"].data.sum()


def test_the_end_is_on_the_host_in_the_implementation_of_the_pipeline(memory):
    pipeline = Pipeline([*problem.binning("scan"), Ends()], memory=memory, implementation={"scan_map": "python"})
    implementation, where, total = pipeline.apply(problem.make())
    assert implementation == "python" and where is None and total != 0


# What is out of date is not read.


class Host(Operator):
    """Adds to the signal on the host."""

    def requires(self):
        return {"detdata": ["signal"]}

    provides = requires

    def _exec(self, data, detectors):
        for ob in data.obs:
            signal = ob.detdata["signal"]
            signal.data[signal.indices(ob.select(detectors))] += 10.0


@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE"])
def test_copies_that_are_out_of_date_are_not_read(detector_sets, memory):
    operators = [NoiseWeight(name="one"), Host(), NoiseWeight(name="two"), Host(name="again"), NoiseWeight(name="three")]
    wanted = ran(operators, device=False)
    data = data_with_sky()
    pipeline = Pipeline(operators, memory=memory, detector_sets=detector_sets)
    assert_same(ran(operators, memory=memory, detector_sets=detector_sets), wanted)
    pipeline.exec(data)
    assert_same({"x": data.obs[0].detdata["signal"].data}, {"x": wanted["ob0 detdata signal"]})  # before the end
    data.obs[0].detdata["signal"].data[:] = data_with_sky().obs[0].detdata["signal"].data
    pipeline.exec(data.with_observations(data.obs[:1]))
    pipeline.finalize(data)
    assert_same(everything(data), wanted)
    data.obs[0].detdata["signal"].data[:] = 1.0  # between two runs
    pipeline.apply(data)
    other = data_with_sky()
    other.obs[0].detdata["signal"].data[:] = 1.0
    other.obs[1].detdata["signal"].data[:] = wanted["ob1 detdata signal"]
    assert_same(everything(data), ran(operators, other, device=False))


# Exceptions.


class Fails(Operator):
    error: type = ValueError
    able: bool = False

    def supports_accel(self):
        return self.able

    def _exec(self, data, detectors):
        raise self.error("on purpose")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE"])
def test_exceptions_free_everything(error, detector_sets, memory):
    for able in (True, False):
        data = data_with_sky()
        weighted = data_with_sky()
        NoiseWeight().apply(weighted, None if detector_sets == "ALL" else ["a"])
        operators = [*problem.binning(), NoiseWeight(), Fails(error=error, able=able)]
        with pytest.raises(error, match="on purpose"):
            Pipeline(operators, memory=memory, detector_sets=detector_sets).apply(data)
        assert_nothing_left(memory)
        assert here().memory is None
        assert_same(everything(data), everything(weighted))  # what is new is gone, what was changed is as it was then


class Counts(Operator):
    """Remembers what it has begun."""

    begun: list[str] = []
    fails_at_the_end: bool = False

    def _exec(self, data, detectors):
        self.begun.extend(ob.name for ob in data.obs)

    def _finalize(self, data):
        if self.fails_at_the_end:
            raise ValueError("on purpose")
        self.begun.clear()

    def _abandon(self, data):
        self.begun[:] = ["abandoned"]


def test_operators_forget_what_they_began_where_something_raises(memory):
    for around in (lambda op: [op, Fails()], lambda op: [Pipeline([op]), Fails()], lambda op: [Pipeline([op], memory="host"), Fails()]):
        op = Counts(begun=[])
        with pytest.raises(ValueError, match="on purpose"):
            Pipeline(around(op), memory=memory).apply(problem.make())
        assert op.begun == ["abandoned"]
    for pipeline in (True, False):
        op = Counts(begun=[], fails_at_the_end=True)
        with pytest.raises(ValueError, match="on purpose"):
            (Pipeline([op], memory=memory) if pipeline else op).apply(problem.make())
        assert op.begun == ["abandoned"]

    class Needs(Counts):
        def requires(self):
            return {"shared": ["angles"]}

    op, data = Needs(begun=[]), problem.make()
    data.obs[0].shared["angles"] = np.zeros(90)
    op.exec(data.with_observations(data.obs[:1]))
    assert op.begun == ["ob0"]
    with pytest.raises(KeyError, match="Needs requires shared 'angles'"):
        op.exec(data.with_observations(data.obs[1:]))
    assert op.begun == ["abandoned"]


def test_what_nested_pipelines_have_begun_is_freed(memory):
    data = problem.make()
    inner = Pipeline(problem.binning()[:3], memory=memory, keep=["quats", "pixels", "weights"])
    with pytest.raises(ValueError, match="on purpose"):
        Pipeline([inner, Fails()], memory=memory).apply(data)
    assert_nothing_left(memory)
    assert not inner._is_running and names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist"})


def test_all_observations_so_far_are_those_that_an_exception_frees(memory):
    data, fails = problem.make(), Fails()
    pipeline = Pipeline([*problem.binning()[:3], fails], memory=memory, keep=["quats"])
    Fails._exec, raises = (lambda self, data, detectors: None), Fails._exec
    try:
        pipeline.exec(data.with_observations(data.obs[:1]))
    finally:
        Fails._exec = raises
    with pytest.raises(ValueError, match="on purpose"):
        pipeline.exec(data.with_observations(data.obs[1:]))
    assert_nothing_left(memory)
    assert names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist"}) and not data.obs[0].detdata.planned


def test_what_a_later_observation_has_stays():
    data = problem.make()
    data.obs[1].detdata["quats"] = np.full((3, 50, 4), 7.0)
    pipeline = Pipeline(problem.binning(), device=False)
    for ob in data.obs:
        pipeline.exec(data.with_observations([ob]))
    pipeline.finalize(data)
    assert "quats" in data.obs[1].detdata and "pixels" not in data.obs[0].detdata


def test_errors_of_kernels_free_everything(memory):
    """A pixel in a submap that is not kept."""
    data = problem.make()
    data["pixel_dist"] = type(data["pixel_dist"])(12 * problem.NSIDE**2, problem.N_PIX_SUBMAP, [1])
    for compiled in (False, True):
        with pytest.raises(IndexError):
            ran(problem.binning("scan"), data, memory=memory, compiled=compiled)
        assert_nothing_left(memory)
        assert names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist"})


def test_what_cannot_be_copied_back_is_not_read():
    class Broken(HostBackend):
        def get(self, array, host):
            raise RuntimeError("the cable is out")

    data, memory = problem.make(), Memory(Broken())
    with pytest.raises(ValueError, match="on purpose"):
        Pipeline([NoiseWeight(), Fails()], memory=memory).apply(data)
    assert_nothing_left(memory)
    with pytest.raises(RuntimeError, match=r"detdata.signal has no valid copy: Pipeline failed, and then the copy back: the cable is out"):
        data.obs[0].detdata["signal"].data.sum()
    with pytest.raises(RuntimeError, match="the cable is out"):
        Pipeline([NoiseWeight()], memory=Memory(Broken())).apply(problem.make())


# Fused.


@pytest.mark.parametrize("detector_sets", SETS, ids=str)
def test_fused_on_the_host(detector_sets, wanted):
    assert_same(ran(longer(), device=False, detector_sets=detector_sets, compiled=True), wanted)


def test_fused_on_a_device(memory):
    wanted = ran(problem.binning("scan"), device=False)
    for options in ({}, {"detector_sets": SETS[2]}, {"staging": False}):
        assert_same(ran(problem.binning("scan"), memory=memory, compiled=True, **options), wanted)
        assert_nothing_left(memory)


def test_fused_in_blocks(monkeypatch):
    """Blocks end amid intervals and amid the detectors."""
    options = {"lengths": (300, 41), "detectors": list("abcdefg")}
    wanted = ran(longer(), data_with_sky(**options), device=False)
    monkeypatch.setattr(HostBackend, "block_of_fused", (3, 96))
    assert_same(ran(longer(), data_with_sky(**options), device=False, compiled=True), wanted)


def test_fused_steps_are_compiled_once_for_all_lengths(monkeypatch):
    made = set()
    plain = fusion.fused
    monkeypatch.setattr(fusion, "fused", lambda *of: made.add(plain(*of)) or plain(*of))
    for lengths in ((90, 50), (300, 41), (35, 36), (40,)):
        for detectors in (list("abcde"), list("abc")):
            ran(problem.binning("scan"), problem.make(lengths, detectors), device=False, compiled=True)
    (function,) = made
    before = len(function.specialisations)
    ran(problem.binning("scan"), problem.make((1000, 37), list("abcdefgh")), device=False, compiled=True)
    assert len(made) == 1 and len(function.specialisations) == before


def test_fused_keeps_what_is_kept():
    for options in ({"device": False}, {"memory": Memory("host")}):
        for keep in (["quats"], ["pixels", "weights"], ["quats", "pixels", "weights"]):
            wanted = ran(problem.binning("scan"), problem.make(), keep=keep, device=False)
            assert_same(ran(problem.binning("scan"), problem.make(), keep=keep, compiled=True, **options), wanted)
        found = []
        for compiled in (False, True):
            data = problem.make()
            PointingDetector().apply(data)  # attitudes that are there are new afterwards
            data.obs[0].detdata["quats"].data[:] = 5.0
            found.append(ran(problem.binning("scan"), data, compiled=compiled, **options))
        assert_same(found[1], found[0])


@ingot.jit
def clip(index, signal, intervals, limits):
    for d in range(len(index)):
        for v in range(len(intervals["first"])):
            for s in range(intervals["first"][v], intervals["last"][v]):
                signal[index[d], s] = min(max(signal[index[d], s], -limits[d]), limits[d])


class Clip(KernelOperator):
    """A scientist's own operator."""

    kernel = clip
    samplewise = True
    signal: str = "signal"
    limit: float = 0.5

    def requires(self):
        return {"detdata": [self.signal]}

    provides = requires

    def arguments(self, data, ob, detectors):
        limits = each([self.limit * (1 + ob.detectors.index(d)) for d in detectors])
        return [table(self.signal), rows(self.signal), intervals(self.view), limits]


class Apart(Clip):
    """Does not say that it treats each sample for itself."""

    samplewise = False


def stages(operators):
    return [op.name for op in Pipeline(operators).compile().steps()]


def test_an_operator_of_ones_own_is_fused():
    operators = [Clip(view="scan"), *problem.binning("scan"), Clip(limit=0.1, view="scan", name="Again")]
    assert stages(operators) == ["Clip+PointingDetector+PixelsHealpix+StokesWeights+BuildNoiseWeighted+Again"]
    assert_same(ran(operators, device=False, compiled=True), ran(operators, device=False))


def test_what_cannot_be_fused_splits_the_pipeline_with_a_word(caplog):
    caplog.set_level(logging.INFO, "ingot_toast.fusion")
    point, pixels, weights, build = problem.binning()
    scan = ScanMap(map="zmap")
    cases = [
        ([point, pixels, Host(), weights, build], ["PointingDetector+PixelsHealpix", "Host", "StokesWeights+BuildNoiseWeighted"],
         "Host is not fused with PixelsHealpix: Host is no operator of a kernel"),
        ([point, pixels, Apart(), weights], ["PointingDetector+PixelsHealpix", "Apart", "StokesWeights"],
         "Apart is not fused with PixelsHealpix: Apart does not treat each sample for itself"),
        ([point, pixels, weights, build, scan], ["PointingDetector+PixelsHealpix+StokesWeights+BuildNoiseWeighted", "ScanMap"],
         "ScanMap is not fused with BuildNoiseWeighted: BuildNoiseWeighted changes global 'zmap', which ScanMap uses"),
        ([point, pixels, weights, scan, build], ["PointingDetector+PixelsHealpix+StokesWeights+ScanMap", "BuildNoiseWeighted"],
         "BuildNoiseWeighted is not fused with ScanMap: BuildNoiseWeighted changes global 'zmap', which ScanMap uses"),
        ([point, PixelsHealpix(view="scan")], ["PointingDetector", "PixelsHealpix"],
         "PixelsHealpix is not fused with PointingDetector: PointingDetector works on other intervals or detectors"),
    ]  # fmt: skip
    for operators, found, word in cases:
        caplog.clear()
        assert stages(operators) == found
        assert word in caplog.messages
    caplog.clear()
    stages(problem.binning())
    assert not caplog.messages


def test_operators_that_are_to_run_elsewhere_stay_alone(caplog, wanted):
    caplog.set_level(logging.INFO, "ingot_toast.fusion")
    made = Pipeline(longer(), memory="host", device={"StokesWeights": False}).compile()
    assert [op.name for op in made.steps()] == ["PointingDetector+PixelsHealpix", "StokesWeights", "BuildNoiseWeighted+ScanMap+NoiseWeight"]
    assert "StokesWeights is not fused with PixelsHealpix: the pipeline says where StokesWeights runs" in caplog.messages
    data = data_with_sky()
    made.apply(data)
    assert_same(everything(data), wanted)
    made = Pipeline(longer(), device=False, implementation={"pixels_healpix": "python"}).compile()
    assert [op.name for op in made.steps()][:2] == ["PointingDetector", "PixelsHealpix"]
    assert "PixelsHealpix is not fused with PointingDetector: PixelsHealpix runs as 'python'" in caplog.messages
    data = data_with_sky()
    made.apply(data)
    assert_same(everything(data), wanted)


def test_intervals_beside_those_of_the_view_are_refused_where_operators_are_one():
    class Other(Clip):
        def arguments(self, data, ob, detectors):
            return [*super().arguments(data, ob, detectors)[:2], intervals("scan"), each(np.ones(len(detectors)))]

    with pytest.raises(ValueError, match="Clip\\+Other works on the intervals None, but a kernel is given 'scan'"):
        ran([Clip(), Other()], device=False, compiled=True)


def test_what_is_changed_in_place_at_last_survives_fused():
    operators = [ScanMap(signal="seen", map="sky", zero=True), Clip(signal="seen", limit=0.1)]
    for compiled in (False, True):
        data = data_with_sky()
        Pipeline(problem.binning()[:3], keep=["pixels", "weights"], device=False).apply(data)
        found = ran(operators, data, device=False, compiled=compiled)
        assert 0 < np.abs(found["ob0 detdata seen"]).max() <= 0.4


def test_intervals_that_are_changed_are_seen(memory):
    data = problem.make()
    data.obs[0].intervals["scan"].data["last"][0] = 11
    before = data.obs[0].detdata["signal"].data.copy()
    Pipeline([NoiseWeight(view="scan")], memory=memory).apply(data)
    weighted = data.obs[0].detdata["signal"].data[3] == 4.0 * before[3]
    assert weighted[3:11].all() and not weighted[11:31].any() and weighted[31:88].all()


def test_split_pipelines_give_the_same():
    operators = [*problem.binning()[:2], Host(), *problem.binning()[2:]]
    operators += [ScanMap(map="zmap", subtract=True), BuildNoiseWeighted(zmap="second"), Clip()]
    assert len(stages(operators)) == 4
    wanted = ran(operators, device=False)
    assert_same(ran(operators, device=False, compiled=True), wanted)
    assert_same(ran(operators, memory="host", compiled=True), wanted)


def test_options_of_a_pipeline_are_those_of_the_compiled_one(memory):
    given = dict(detector_sets=[["a"]], memory=memory, hybrid=False, keep=["quats"], staging=False, device=True)
    made = Pipeline(problem.binning(), **given).compile()
    assert {name: getattr(made, name) for name in given} == given and made.name == "Pipeline (fused)"


def test_the_weights_of_temperature_alone_are_fused():
    operators = problem.binning()
    operators[2] = StokesWeights(mode="I")
    assert len(stages(operators)) == 1
    wanted = ran(operators, device=False)
    assert wanted["zmap"].shape[2] == 1 and wanted["zmap"].any()
    assert_same(ran(operators, device=False, compiled=True), wanted)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_profile_counts_each_second_and_byte_once(memory, compiled):
    pipeline = Pipeline(problem.binning("scan"), memory=memory)
    pipeline = pipeline.compile() if compiled else pipeline
    ingot.profile.reset()
    ingot.profile.start()
    pipeline.apply(problem.make())
    ingot.profile.stop()
    found = ingot.profile.rows()
    (whole,) = (row for row in found if len(row.path) == 1)
    assert whole.name == pipeline.name
    assert sum(row.own for row in found if row.kind != "kernel") == pytest.approx(whole.seconds)
    moved = [now - before for now, before in zip(memory.backend.moved(), memory._before)]
    assert [sum(row.bytes_up for row in found), sum(row.bytes_down for row in found)] == moved
    names = ["PointingDetector", "PixelsHealpix", "StokesWeights", "BuildNoiseWeighted"]
    kernels = ["pointing_detector", "pixels_healpix", "stokes_weights_IQU", "build_noise_weighted"]
    wanted = {("+".join(names), "+".join(kernels)): "fused"} if compiled else dict.fromkeys(zip(names, kernels), "ingot")
    assert {row.path[1:]: row.implementation for row in found if row.kind == "compiled" and row.path[1] != "zero"} == wanted


def test_size_classes_are_what_is_planned_with(memory):
    """The pool's peak is what the pipeline has foreseen."""
    data, operators = larger()
    pipeline = Pipeline(operators, memory=memory)
    pipeline._begin(data)
    need, what = pipeline._need(data, data.detectors(), memory)
    assert what.startswith("StokesWeights needs") and f"detdata.weights ({size_class(16 * 64 * 24) + size_class(15 * 40 * 24)} bytes)" in what
    fresh, operators = larger()
    assert_same(ran(operators, fresh, memory=Memory(memory.backend, need)), ran(operators, larger()[0], device=False))
