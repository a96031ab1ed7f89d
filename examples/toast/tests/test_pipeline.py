"""Pipelines give the same on any device and in any order; what they move is counted to the byte."""

import logging

import ingot
import numpy as np
import problem
import pytest
from ingot_toast import HostBackend, Intervals, KernelOperator, Memory, Operator, Pipeline, PixelMap, dispatch, fusion
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


def test_options_are_checked_when_they_are_set():
    made = Pipeline(problem.binning(), device={"StokesWeights": False})
    for name, value, word in (
        ("device", {"Typo": False}, "`device` names Typo"),
        ("detector_sets", [["a", "b"], ["b"]], "each detector is in one set, but b"),
        ("operators", [PointingDetector(det_mask=1), StokesWeights()], "but their det_mask differs"),
    ):
        before = getattr(made, name)
        with pytest.raises(ValueError, match=word):
            setattr(made, name, value)
        assert getattr(made, name) is before
    made.memory = "emulated"
    assert isinstance(made.memory, Memory)
    made.apply(problem.make())
    assert made.memory.total("bytes_up") > 0
    made.operators[0].det_mask = 1
    with pytest.raises(ValueError, match="but their det_mask differs"):
        made.apply(problem.make())
    Pipeline().keep.append("quats")
    assert Pipeline().keep == [] and Pipeline().is_plain


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
    """Blocks end within intervals and within the detectors."""
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


class Separate(Clip):
    """Does not declare that it treats each sample for itself."""

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
        ([point, pixels, Separate(), weights], ["PointingDetector+PixelsHealpix", "Separate", "StokesWeights"],
         "Separate is not fused with PixelsHealpix: Separate does not treat each sample for itself"),
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
    assert "StokesWeights is not fused with PixelsHealpix: the pipeline decides where StokesWeights runs" in caplog.messages
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


class Half(Clip):
    """Leaves detector a alone, by an `_exec` of its own."""

    def _exec(self, data, detectors):
        super()._exec(data, [d for d in data.detectors(detectors) if d != "a"])


class HalfOfTheCalls(Clip):
    def calls(self, data, detectors):
        return super().calls(data, [d for d in data.detectors(detectors) if d != "a"])


class WholeClip(Clip):
    whole_detectors = True


@pytest.mark.parametrize("kind", [Half, HalfOfTheCalls, WholeClip])
def test_operators_with_a_way_of_their_own_are_not_fused(kind, caplog):
    caplog.set_level(logging.INFO, "ingot_toast.fusion")
    operators = [Clip(), kind(limit=0.1, name="own"), NoiseWeight()]
    assert stages(operators) == ["Clip", "own", "NoiseWeight"]
    assert "own is not fused with Clip: own " in caplog.text
    assert_same(ran(operators, device=False, compiled=True), ran(operators, device=False), 0)


class Minus(Clip):
    """Is given an array of samples of a kind that nothing declares."""

    def arguments(self, data, ob, detectors):
        return [*super().arguments(data, ob, detectors)[:3], np.ones(ob.n_samples)]


def test_plain_arrays_are_refused_where_operators_are_one():
    with pytest.raises(TypeError, match=r"Clip\+Minus gives a kernel a plain ndarray: `shared`, `each` or `whole` name"):
        ran([Clip(), Minus()], device=False, compiled=True)


def test_intervals_beyond_the_samples_are_an_error_fused_or_not(memory):
    """In blocks a slice would silently be shorter, or from the end."""
    for first, last in ((80, 95), (-5, -2)):
        for compiled in (False, True):
            for options in ({"device": False}, {"memory": memory}):
                data = problem.make(lengths=(90,))
                data.obs[0].intervals["scan"] = made = Intervals([80], [90])
                made.data["first"], made.data["last"] = first, last
                before = everything(data)
                with pytest.raises(IndexError):
                    ran([NoiseWeight(view="scan"), NoiseWeight(view="scan", name="two")], data, compiled=compiled, **options)
                if compiled:
                    assert_same(everything(data), before, 0)


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
