"""Pipelines give the same on any device and in any order; what they move is counted to the byte."""

import ingot
import numpy as np
import problem
import pytest
from ingot_toast import KernelOperator, Observation, Operator, Pipeline, PixelDistribution, PixelMap
from ingot_toast.operators import NoiseWeight, PixelsHealpix, PointingDetector, ScanMap, StokesWeights
from problem import DEVICES, PLACES, assert_home, assert_same, everything, with_sky

SETS = ["ALL", "SINGLE", [["a", "b"], ["c", "d"]], [["d", "a"], ["c"], ["b"]], [["a", "b", "c", "d", "e"]]]


def longer():
    """A pipeline with changes in place, a product that is consumed and one that is kept."""
    return [*problem.binning("scan"), ScanMap(view="scan", map="sky", subtract=True), NoiseWeight(view="scan")]


def ran(operators, data=None, detectors=None, **options):
    data = data or with_sky()
    Pipeline(operators, **options).apply(data, detectors)
    assert_home(data)
    return everything(data)


@pytest.fixture(scope="module")
def wanted():
    return ran(longer())


# Equal results.


@pytest.mark.parametrize("detector_sets", SETS, ids=str)
@pytest.mark.parametrize("device", PLACES)
def test_sets_of_detectors(detector_sets, device, wanted):
    assert_same(ran(longer(), device=device, detector_sets=detector_sets), wanted)


@pytest.mark.parametrize("on_host", range(1, 1 << 6, 5))
@pytest.mark.parametrize("device", DEVICES)
def test_subsets_of_the_operators_on_a_device(on_host, device, wanted, monkeypatch):
    operators = longer()
    for place, op in enumerate(operators):
        if on_host >> place & 1:
            monkeypatch.setattr(type(op), "on_device", False)
    for detector_sets in ("ALL", "SINGLE"):
        assert_same(ran(operators, device=device, detector_sets=detector_sets), wanted)


@pytest.mark.parametrize("device", PLACES)
def test_some_detectors(device):
    wanted = ran(longer(), detectors=["d", "a"])
    for sets in ("ALL", "SINGLE", SETS[3]):
        assert_same(ran(longer(), detectors=["d", "a"], device=device, detector_sets=sets), wanted)
    untouched = with_sky().obs[1].detdata["signal"]["b"]
    np.testing.assert_array_equal(wanted["ob1 detdata signal"][0], untouched)


@pytest.mark.parametrize("device", PLACES)
def test_detectors_that_are_out(device):
    found = []
    for sets in ("ALL", "SINGLE"):
        data = with_sky()
        data.obs[0].detector_flags.update(b=2, c=1)
        operators = longer()
        for op in operators:
            op.det_mask = 2
        found.append(ran(operators, data, keep=["quats"], device=device, detector_sets=sets))
        rows_there = data.obs[0].detdata["quats"]
        assert "b" not in rows_there or not rows_there["b"].any()
        np.testing.assert_array_equal(data.obs[0].detdata["signal"]["b"], with_sky().obs[0].detdata["signal"]["b"])
    for name, value in found[0].items():
        if "quats" not in name:
            np.testing.assert_allclose(found[1][name], value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE", SETS[2], [["x"]]], ids=str)
@pytest.mark.parametrize("device", PLACES)
def test_without_detectors_products_are_made_all_the_same(detector_sets, device):
    data, none = problem.make(), problem.make().with_observations([])
    Pipeline(problem.binning(), detector_sets=detector_sets, device=device).apply(data, [])
    Pipeline(problem.binning(), detector_sets=detector_sets, device=device).apply(none)
    for made in (data, none):
        assert names(made)[1] == {"pixel_dist", "zmap", "hit_submaps"} and not made["zmap"].data.any()


def test_the_weights_of_temperature_alone():
    operators = problem.binning()
    operators[2] = StokesWeights(mode="I")
    wanted = ran(operators, problem.make())
    assert wanted["zmap"].shape[2] == 1 and wanted["zmap"].any()
    with pytest.raises(ValueError, match="the modes are 'I' and 'IQU', not 'Q'"):
        StokesWeights(mode="Q")


@pytest.mark.parametrize("device", PLACES)
def test_intervals_beyond_the_samples_are_an_error(device):
    for first, last in ((80, 95), (-5, -2)):
        data = problem.make(lengths=(90,))
        data.obs[0].intervals["scan"].first[:], data.obs[0].intervals["scan"].last[:] = first, last
        before = everything(data)
        with pytest.raises(IndexError):
            ran([NoiseWeight(view="scan"), NoiseWeight(view="scan", name="two")], data, device=device)
        assert_same(everything(data), before, 0)


# What is moved.


def samples(data):
    """Detector-samples and samples."""
    return sum(len(ob.detectors) * ob.n_samples for ob in data.obs), sum(ob.n_samples for ob in data.obs)


def moved(device, work):
    """The bytes that are moved meanwhile, up and down."""
    before = ingot.memory(ingot.device(device))
    work()
    after = ingot.memory(ingot.device(device))
    return after["to_device"] - before["to_device"], after["to_host"] - before["to_host"]


def moved_by(device, work, **options):
    """The bytes that ten times as many samples need more, up and down, and how many these are: of detectors, and of all.

    Tables, intervals and numbers, which each call takes with it, do not count so.
    """
    found = []
    for factor in (1, 11):
        data = with_sky(lengths=(90 * factor, 50 * factor))
        found.append((*moved(device, lambda: work(data)), *samples(data)))  # noqa: B023
    return (after - before for before, after in zip(*found))


@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE"])
@pytest.mark.parametrize("device", DEVICES)
def test_what_operators_pass_on_stays_on_the_device(detector_sets, device):
    """Up go signal and flags, 9 bytes, the boresight and its flags, 33; nothing comes down but the map."""
    pipeline = Pipeline(problem.binning("scan"), device=device, detector_sets=detector_sets)
    up, down, detector_samples, shared = moved_by(device, pipeline.apply)
    assert (up, down) == (9 * detector_samples + 33 * shared, 0)


@pytest.mark.parametrize("device", DEVICES)
def test_what_has_changed_comes_back_once_however_often_there_is_work(device, wanted):
    pipeline, ends = Pipeline(longer(), device=device), []

    def work(data):
        for ob in data.obs:
            pipeline.exec(data.with_observations([ob]))
        assert data.obs[0].detdata["signal"].is_there
        ends.append(moved(device, lambda: pipeline.finalize(data)))
        assert_home(data)

    up, down, detector_samples, shared = moved_by(device, work)
    assert (up, down) == (9 * detector_samples + 33 * shared, 8 * detector_samples)
    assert [up for up, _ in ends] == [0, 0] and ends[1][1] - ends[0][1] == down, "all of it at the end"
    data = with_sky()
    work(data)
    assert_same(everything(data), wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_operators_on_the_host_have_what_they_need_brought_back(device, monkeypatch):
    monkeypatch.setattr(PixelsHealpix, "on_device", False)
    up, down, detector_samples, shared = moved_by(device, Pipeline(problem.binning("scan"), device=device).apply)
    assert down == 32 * detector_samples  # quats
    assert up == (9 + 8 + 32) * detector_samples + (33 + 1) * shared  # pixels, too, and again what is used afterwards


# What survives.


def names(data):
    return [set(ob.detdata) for ob in data.obs], set(data.objects)


@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE", SETS[2]], ids=str)
def test_what_survives(device, detector_sets):
    options = {"device": device, "detector_sets": detector_sets}
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
    assert_home(data)


class Source(Operator):
    """Makes `made`, or adds 1 to it, on the host or a device."""

    on_device = True
    made: str = "made"
    fresh: bool = True

    def requires(self):
        return {} if self.fresh else {"detdata": [self.made]}

    def provides(self):
        return {"detdata": [self.made]}

    def _create(self, data, detectors):
        for ob in data.obs:
            ob.detdata.ensure(self.made, detectors=ob.select(detectors))

    def _exec(self, data, detectors):
        for ob in data.obs:
            found = ob.detdata[self.made].data
            found[...] = found + 1.0


@pytest.mark.parametrize("device", PLACES)
def test_the_last_change_in_place_survives(device):
    for options in ({}, {"detector_sets": [["a", "b", "c", "d"]]}):
        data = problem.make()
        Pipeline([Source(), Source(fresh=False, name="more")], device=device, **options).apply(data)
        assert all((ob.detdata["made"].data == 2).all() for ob in data.obs)


def test_what_a_later_observation_has_stays():
    data = problem.make()
    data.obs[1].detdata["quats"] = np.full((3, 50, 4), 7.0)
    pipeline = Pipeline(problem.binning())
    for ob in data.obs:
        pipeline.exec(data.with_observations([ob]))
    pipeline.finalize(data)
    assert "quats" in data.obs[1].detdata and "pixels" not in data.obs[0].detdata


# Pipelines in pipelines, and their options.


@pytest.mark.parametrize("device", PLACES)
def test_pipelines_in_pipelines(device, wanted):
    operators = longer()
    inner = Pipeline(operators[1:3])
    assert [op.name for op in Pipeline([operators[0], inner, *operators[3:]]).steps()] == [op.name for op in operators]
    for options in ({}, {"detector_sets": "SINGLE"}, {"device": device, "keep": ["weights"]}):
        inner = Pipeline(operators[:3], **options)
        data = with_sky()
        Pipeline([inner, *operators[3:]], device=device).apply(data)
        assert_same(everything(data), wanted)
        assert_home(data)


def test_keys_of_a_pipeline():
    pipeline = Pipeline(problem.binning("scan"), keep=["quats"])
    assert pipeline.requires() == {
        "meta": ["focalplane", "noise"], "shared": ["boresight", "flags"], "intervals": ["scan"],
        "detdata": ["signal", "flags"], "global": ["pixel_dist"],
    }  # fmt: skip
    assert pipeline.provides() == {"detdata": ["quats"], "global": ["hit_submaps", "zmap"]}


def test_wrong_pipelines_are_refused():
    data = problem.make()
    for operators, options, error, word in (
        ([PointingDetector(det_mask=1), NoiseWeight()], {}, ValueError, r"but their det_mask differs: {'PointingDetector': 1, 'NoiseWeight': 0}"),
        ([], {"detector_sets": [["a", "b"], ["b", "c"]]}, ValueError, "each detector is in one set, but b"),
        ([], {"detector_sets": "EACH"}, ValueError, "'ALL', 'SINGLE' or lists, not 'EACH'"),
        (longer(), {}, KeyError, "Pipeline requires global 'sky', which some observation lacks"),
    ):
        with pytest.raises(error, match=word):
            Pipeline(operators, **options).apply(data)
    Pipeline([], device="emulated").apply(data)


class Ends(Operator):
    def _exec(self, data, detectors):
        pass

    def _finalize(self, data):
        return isinstance(data["zmap"].data, np.ndarray), data["zmap"].data.sum()


@pytest.mark.parametrize("device", PLACES)
def test_the_end_is_on_the_host(device):
    is_home, total = Pipeline([*problem.binning("scan"), Ends()], device=device).apply(problem.make())
    assert is_home and total != 0


# Detectors in parts.


def scanning_of_what_was_built():
    return [*problem.binning("scan"), ScanMap(view="scan", map="zmap", subtract=True)]


@pytest.mark.parametrize("device", PLACES)
def test_what_is_summed_over_detectors_and_then_used_is_not_split(device):
    wanted = ran(scanning_of_what_was_built())
    assert_same(ran(scanning_of_what_was_built(), device=device), wanted)
    why = "BuildNoiseWeighted changes global 'zmap', which ScanMap uses: give each a pipeline"
    inner = Pipeline(scanning_of_what_was_built(), keep=["quats"], name="inner")
    reader_first = [*problem.binning()[:3], ScanMap(map="zmap"), problem.binning()[3]]
    for operators, word in ((scanning_of_what_was_built(), why), ([inner], "inner needs all detectors in a call"), (reader_first, why)):
        data = with_sky()
        data["zmap"] = PixelMap(data["pixel_dist"], 3)
        before = everything(data)
        for detector_sets in ("SINGLE", SETS[2]):
            with pytest.raises(ValueError, match=f"Pipeline cannot work on [24] sets of detectors one after the other: {word}"):
                ran(operators, data, detector_sets=detector_sets, device=device)
            assert_same(everything(data), before, 0)
    assert_same(ran(scanning_of_what_was_built(), device=device, detector_sets=[["a", "b", "c", "d"]]), wanted)


@pytest.mark.parametrize("device", PLACES)
def test_what_is_summed_over_detectors_may_be_used_at_the_end(device):
    class AtTheEnd(Operator):
        def requires(self):
            return {"global": ["zmap"]}

        def _finalize(self, data):
            return data["zmap"].data.copy()

    found = [Pipeline([*problem.binning(), AtTheEnd()], detector_sets=sets, device=device).apply(problem.make()) for sets in ("ALL", "SINGLE")]
    assert found[0].any()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)


class Mean(KernelOperator):
    """Subtracts the mean of all detectors."""

    whole_detectors = True
    on_device = False
    signal: str = "signal"

    def requires(self):
        return {"detdata": [self.signal]}

    provides = requires

    def _exec(self, data, detectors):
        for ob in data.obs:
            signal, own = ob.detdata[self.signal].data, ob.detdata[self.signal].indices(ob.select(detectors))
            signal[own] -= signal[own].mean(axis=0)


@pytest.mark.parametrize("device", PLACES)
def test_operators_that_need_all_detectors_get_them(device):
    wanted = ran([NoiseWeight(), Mean(), NoiseWeight(name="again")])
    assert not NoiseWeight().whole_detectors and Mean().whole_detectors and not Pipeline([NoiseWeight()]).whole_detectors
    for middle in (Mean(), Pipeline([Mean()]), Pipeline([Mean()], device=device)):
        operators = [NoiseWeight(), middle, NoiseWeight(name="again")]
        assert Pipeline(operators).whole_detectors
        assert_same(ran(operators, device=device), wanted)
        with pytest.raises(ValueError, match=r"4 sets .*: (Mean|Pipeline) needs all detectors in a call"):
            ran(operators, detector_sets="SINGLE", device=device)


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
@pytest.mark.parametrize("device", DEVICES)
def test_copies_that_are_out_of_date_are_not_read(detector_sets, device):
    operators = [NoiseWeight(name="one"), Host(), NoiseWeight(name="two"), Host(name="again"), NoiseWeight(name="three")]
    wanted = ran(operators)
    assert_same(ran(operators, device=device, detector_sets=detector_sets), wanted)
    data = with_sky()
    held = data.obs[0].detdata["signal"].data  # the user's own array
    pipeline = Pipeline(operators, device=device, detector_sets=detector_sets)
    pipeline.apply(data)
    np.testing.assert_array_equal(held, wanted["ob0 detdata signal"])
    held[:] = 1.0  # between two runs
    pipeline.apply(data)
    other = with_sky()
    other.obs[0].detdata["signal"].data[:] = 1.0
    other.obs[1].detdata["signal"].data[:] = wanted["ob1 detdata signal"]
    assert_same(everything(data), ran(operators, other))


class Writes(Operator):
    """Writes into what it only requires."""

    on_device = True

    def requires(self):
        return {"shared": ["flags"]}

    def _exec(self, data, detectors):
        data.obs[0].shared["flags"].data[0] = 9


@pytest.mark.parametrize("device", DEVICES)
def test_what_nobody_provides_is_read_only_on_a_device(device):
    data = problem.make()
    before = data.obs[0].shared["flags"].data.copy()
    with pytest.raises(ValueError, match="read-only"):
        Pipeline([Writes()], device=device).apply(data)
    assert_home(data)
    np.testing.assert_array_equal(data.obs[0].shared["flags"].data, before)


class ByName(Operator):
    """Reads and writes detectors by their names."""

    on_device = True

    def requires(self):
        return {"detdata": ["signal"]}

    provides = requires

    def _exec(self, data, detectors):
        for ob in data.obs:
            for detector in ob.select(detectors):
                ob.detdata["signal"][detector] = ob.detdata["signal"][detector] * 2.0
            with pytest.raises(KeyError, match="there are no samples of the detector 'x'"):
                ob.detdata["signal"]["x"]


@pytest.mark.parametrize("device", PLACES)
def test_rows_by_name_are_those_of_the_detector(device):
    data = problem.make(lengths=(90,))
    wanted = data.obs[0].detdata["signal"].data.copy()
    wanted[[0, 2]] *= 2.0
    Pipeline([ByName()], device=device, detector_sets=[["a", "c"]]).apply(data)
    np.testing.assert_array_equal(data.obs[0].detdata["signal"].data, wanted)


# Exceptions.


class Fails(Operator):
    error: type = ValueError

    def _exec(self, data, detectors):
        raise self.error("on purpose")


class FailsThere(Fails):
    on_device = True


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("detector_sets", ["ALL", "SINGLE"])
@pytest.mark.parametrize("device", PLACES)
def test_exceptions_free_everything(error, detector_sets, device):
    for kind in (Fails, FailsThere):
        data = with_sky()
        weighted = with_sky()
        NoiseWeight().apply(weighted, None if detector_sets == "ALL" else ["a"])
        with pytest.raises(error, match="on purpose"):
            Pipeline([*problem.binning(), NoiseWeight(), kind(error=error)], device=device, detector_sets=detector_sets).apply(data)
        assert_home(data)
        assert_same(everything(data), everything(weighted))  # what is new is gone, what was changed is as it was then


@pytest.mark.parametrize("device", DEVICES)
def test_what_can_be_copied_back_is_where_something_else_cannot(device, monkeypatch):
    data = problem.make()
    broken, other = (ob.detdata["signal"] for ob in data.obs)
    place = type(broken).place

    def fails(self, device, writable=True):
        if self is broken and device is None and self.is_there:
            raise RuntimeError("the cable is out")
        return place(self, device, writable)

    with monkeypatch.context() as patched:
        patched.setattr(type(broken), "place", fails)
        with pytest.raises(RuntimeError, match="the cable is out") as raised:
            Pipeline([NoiseWeight(), Fails()], device=device).apply(data)
        assert "on purpose" in str(raised.value.__context__)
    assert broken.is_there and not other.is_there
    wanted = problem.make()
    NoiseWeight().apply(wanted)
    for ob, good in zip(data.obs, wanted.obs):
        np.testing.assert_array_equal(ob.detdata["signal"].to_host(), good.detdata["signal"].data)


class Counts(Operator):
    """Remembers what it has begun."""

    begun: list[str]
    fails_at_the_end: bool = False

    def _exec(self, data, detectors):
        self.begun.extend(ob.name for ob in data.obs)

    def _finalize(self, data):
        if self.fails_at_the_end:
            raise ValueError("on purpose")
        self.begun.clear()

    def _abandon(self, data):
        self.begun[:] = ["abandoned"]


def test_operators_forget_what_they_began_where_something_raises():
    for around in (lambda op: [op, Fails()], lambda op: [Pipeline([op]), Fails()], lambda op: [Pipeline([op], keep=["x"]), Fails()]):
        op = Counts(begun=[])
        with pytest.raises(ValueError, match="on purpose"):
            Pipeline(around(op)).apply(problem.make())
        assert op.begun == ["abandoned"]
    for pipeline in (True, False):
        op = Counts(begun=[], fails_at_the_end=True)
        with pytest.raises(ValueError, match="on purpose"):
            (Pipeline([op]) if pipeline else op).apply(problem.make())
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


@pytest.mark.parametrize("device", PLACES)
def test_what_nested_pipelines_have_begun_is_freed(device):
    data = problem.make()
    inner = Pipeline(problem.binning()[:3], device=device, keep=["quats", "pixels", "weights"])
    with pytest.raises(ValueError, match="on purpose"):
        Pipeline([inner, Fails()], device=device).apply(data)
    assert_home(data)
    assert names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist"})


@pytest.mark.parametrize("device", PLACES)
def test_all_observations_so_far_are_those_that_an_exception_frees(device, monkeypatch):
    data = problem.make()
    pipeline = Pipeline([*problem.binning()[:3], Fails()], device=device, keep=["quats"])
    with monkeypatch.context() as patched:
        patched.setattr(Fails, "_exec", lambda self, data, detectors: None)
        pipeline.exec(data.with_observations(data.obs[:1]))
    with pytest.raises(ValueError, match="on purpose"):
        pipeline.exec(data.with_observations(data.obs[1:]))
    assert_home(data)
    assert names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist"})


@pytest.mark.parametrize("device", PLACES)
def test_errors_of_kernels_free_everything(device):
    """A pixel in a submap that is not kept."""
    data = problem.make()
    data["pixel_dist"] = PixelDistribution(12 * problem.NSIDE**2, problem.N_PIX_SUBMAP, [1])
    with pytest.raises(IndexError):
        ran(problem.binning("scan"), data, device=device)
    assert_home(data)
    assert names(data) == ([{"signal", "flags"}] * 2, {"pixel_dist"})


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_has_too_little_memory(device):
    """A MemoryError frees everything; detectors one by one need less."""
    options = {"lengths": (4000,), "detectors": [f"d{n}" for n in range(16)]}
    data, place = problem.make(**options), ingot.device(device)
    before = everything(data)
    ingot.release_memory(place)
    ingot.set_memory_limit(place, ingot.memory(place)["in_use"] + (1 << 21))
    try:
        with pytest.raises(MemoryError):
            Pipeline(problem.binning("scan"), device=device).apply(data)
        assert_home(data)
        assert_same(everything(data), before, 0)
        found = ran(problem.binning("scan"), data, device=device, detector_sets="SINGLE")
    finally:
        ingot.set_memory_limit(place, 0)
    assert_same(found, ran(problem.binning("scan"), problem.make(**options)))


# Profiles.


@pytest.mark.parametrize("device", DEVICES)
def test_a_profile_counts_each_second_and_byte_once(device):
    pipeline = Pipeline(problem.binning("scan"), device=device)
    ingot.profile.reset()
    ingot.profile.start()
    counted = moved(device, lambda: pipeline.apply(problem.make()))
    ingot.profile.stop()
    found = ingot.profile.rows()
    whole = [row for row in found if len(row.path) == 1]
    assert {row.name for row in whole} == {"Pipeline"}
    assert sum(row.own for row in found if row.kind != "kernel") == pytest.approx(sum(row.seconds for row in whole))
    assert (sum(row.bytes_up for row in found), sum(row.bytes_down for row in found)) == counted
    names = ["PointingDetector", "PixelsHealpix", "StokesWeights", "BuildNoiseWeighted"]
    kernels = ["pointing_detector", "pixels_healpix", "stokes_weights_IQU", "build_noise_weighted"]
    rows = {row.path[1:]: row.implementation for row in found if row.kind == "compiled" and row.name != "clear"}
    assert rows == dict.fromkeys(zip(names, kernels), "ingot")


def test_observations_show_what_they_are():
    assert repr(Observation("x", ["a", "b"], 7)) == "<Observation x: 2 detectors, 7 samples>"
