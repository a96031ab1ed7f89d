"""Detectors in parts: what may be worked on in parts, what may not, and what a device that lacks memory does."""

import weakref

import numpy as np
import problem
import pytest
from ingot_toast import Buffer, HostBackend, KernelOperator, Memory, Operator, Pipeline, PixelMap
from ingot_toast.memory import here, size_class
from ingot_toast.operators import NoiseWeight, ScanMap
from problem import BACKENDS
from test_pipeline import SETS, assert_nothing_left, assert_same, data_with_sky, everything, larger, longer, names, ran


@pytest.fixture(params=BACKENDS)
def memory(request):
    return Memory(BACKENDS[request.param]())


@pytest.fixture(scope="module")
def wanted():
    data, operators = larger()
    return ran(operators, data, device=False)


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


def test_what_is_summed_over_detectors_may_be_used_at_the_end(memory):
    class AtTheEnd(Operator):
        def requires(self):
            return {"global": ["zmap"]}

        def _finalize(self, data):
            return data["zmap"].data.copy()

    for options in ({"device": False}, {"memory": memory}):
        found = [Pipeline([*problem.binning(), AtTheEnd()], detector_sets=sets, **options).apply(problem.make()) for sets in ("ALL", "SINGLE")]
        assert found[0].any()
        np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)


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
    """A device that has less than it reports: it gives so many bytes; others have the rest."""

    def __init__(self, gives):
        super().__init__(1 << 30)
        self.gives, self.blocks = gives, []

    def block(self, nbytes):
        self.blocks = [there for there in self.blocks if there() is not None]
        if sum(there().nbytes for there in self.blocks) + nbytes > self.gives:
            raise MemoryError("no more")
        made = super().block(nbytes)
        self.blocks.append(weakref.ref(made))
        return made


@pytest.mark.parametrize("share", [0.9, 0.7, 0.5, 0.3, 0.15])
def test_a_device_that_gives_less_than_the_limit_works_on_fewer_detectors(share, wanted):
    """Also where operators have changed something in place already: what has run does not run again."""
    data, operators = larger()
    first = Memory("host")
    ran(operators, data, memory=first)
    data, operators = larger()
    memory = Memory(Tight(int(first.pool.peak * share)))
    assert_same(ran(operators, data, memory=memory), wanted)
    assert_nothing_left(memory)
    data, operators = larger()
    weighted = [NoiseWeight(name="first"), *operators]
    twice = ran(weighted, data, device=False)
    data, _ = larger()
    memory = Memory(Tight(int(first.pool.peak * share)))
    assert_same(ran(weighted, data, memory=memory), twice)
    assert names(data)[0] == [{"signal", "flags"}] * 2
    assert_nothing_left(memory)


def test_a_device_that_gives_less_than_one_detector_needs():
    data = data_with_sky()
    before, memory = everything(data), Memory(Tight(5000))
    with pytest.raises(MemoryError, match=r"of the limit of \d+ bytes \d+ are free, but so much the device itself does not have"):
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
