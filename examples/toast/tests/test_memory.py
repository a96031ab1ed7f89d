"""Memory of devices: the same tests for a device in software and for a part of the host's memory."""

import ingot
import numpy as np
import problem
import pytest
from ingot_toast import Buffer, DetData, HostBackend, KernelOperator, Memory, Observation, Operator, PixelDistribution, PixelMap
from ingot_toast.data import Store
from ingot_toast.memory import Place, Pool, size_class
from ingot_toast.operator import rows
from problem import BACKENDS


@pytest.fixture(params=BACKENDS)
def backend(request):
    return BACKENDS[request.param]()


@pytest.fixture
def memory(backend):
    return Memory(backend)


def on(memory):
    return Place(memory).entered()


def host_of(array):
    return array.to_host() if hasattr(array, "to_host") else np.array(array)


def objects():
    """One of each kind, with its values."""
    rng = np.random.default_rng(4)
    ob = Observation("x", ["a", "b", "c"], 20)
    ob.detdata["signal"], ob.detdata["quats"] = rng.standard_normal((3, 20)), rng.standard_normal((3, 20, 4))
    ob.detdata["pixels"], ob.detdata["flags"] = rng.integers(-1, 99, (3, 20)), rng.integers(0, 9, (3, 20)).astype(np.uint8)
    ob.shared["boresight"], ob.shared["flags"] = rng.standard_normal((20, 4)), np.arange(20).astype(np.uint8)
    store, distribution = Store("global"), PixelDistribution(60, 12, [1, 3])
    store["map"] = PixelMap(distribution, 3, values=rng.standard_normal((2, 12, 3)))
    store["counts"] = PixelMap(distribution, 1, np.int32, "1", rng.integers(0, 9, (2, 12, 1)).astype(np.int32))
    store["dist"], store["one"], store["empty"] = distribution, Buffer(values=np.float32(3)), Buffer((0, 4))
    found = [*ob.detdata.values(), *ob.shared.values(), store["map"], store["counts"], distribution.global2local, store["one"]]
    return [*found, store["empty"]]


@pytest.mark.parametrize("number", range(len(objects())))
def test_objects_go_to_the_device_and_back(memory, number):
    item = objects()[number]
    before = item.to_host().copy()
    memory.upload(item)
    assert item.host_valid and item.device_valid
    with on(memory):
        array = item.data
        assert array.shape == before.shape and array.dtype == before.dtype
        np.testing.assert_array_equal(host_of(array), before)
        array[...] = array + array
    assert not item.host_valid
    np.testing.assert_array_equal(item.data, before + before)
    memory.free(item)
    assert item.memory is None and memory.pool.in_use == 0 and not memory.staged
    np.testing.assert_array_equal(item.data, before + before)
    traffic = memory.traffic[item.label]
    assert (traffic.uploads, traffic.downloads, traffic.bytes_up, traffic.bytes_down) == (1, 1, item.nbytes, item.nbytes)
    assert traffic.seconds > 0


def test_bytes_are_those_that_the_device_counts(memory):
    items = objects()
    for item in items:
        memory.upload(item)
        memory.download(item)
    total = sum(item.nbytes for item in items)
    moved = [now - before for now, before in zip(memory.backend.moved(), memory._before)]
    assert moved == [total, total] == [memory.total("bytes_up"), memory.total("bytes_down")]
    assert memory.statistics()["apart"] == (0, 0)


def test_copies_are_apart(memory):
    item = Buffer(values=np.arange(5.0))
    memory.upload(item)
    item._host[0] = 77
    assert host_of(item._device)[0] == 0


def test_new_objects_are_zero_and_take_memory_where_they_are_used(memory):
    item = Buffer((6, 7), np.int64)
    assert item._host is None and not item.host_valid
    with on(memory):
        assert not host_of(item.data).any()
    assert item._host is None and memory.total("bytes_up") == 0 and memory.traffic[item.label].zeroed == item.nbytes
    assert not item.data.any() and memory.total("bytes_down") == item.nbytes
    other = Buffer(3)
    assert not other.data.any() and other.memory is None


def test_memory_that_is_used_again_is_zeroed(memory):
    first = Buffer(values=np.ones(40))
    memory.upload(first)
    memory.free(first)
    with on(memory):
        assert not host_of(Buffer(40).data).any()
    assert memory.pool.reuses == 1


def test_zero_makes_the_hosts_copy_out_of_date(memory):
    item = Buffer(values=np.ones((2, 3)))
    memory.zero(item)
    assert not item.host_valid and not item.data.any()


def test_an_array_of_the_host_that_was_handed_out_makes_the_devices_out_of_date(memory):
    item = Buffer(values=np.ones(4))
    memory.upload(item)
    item.data[1] = 5
    assert not item.device_valid
    with on(memory):
        np.testing.assert_array_equal(host_of(item.data), [1, 5, 1, 1])
    assert memory.traffic[item.label].uploads == 2 and memory.pool.allocations == 1


def test_an_object_whose_only_copy_was_freed_cannot_be_read(memory):
    item = Buffer(values=np.ones(4))
    item.key = ("global", "map")
    with on(memory):
        item.data[...] = 3.0
    memory.free(item)
    for read in (lambda: item.data, item.to_host, lambda: memory.upload(item), lambda: memory.stage(item)):
        with pytest.raises(RuntimeError, match="global.map has no valid copy: it was freed on the device"):
            read()
    with pytest.raises(RuntimeError, match="global.map has no valid copy on"):
        memory.download(item)


def detector_data():
    made = DetData(["a", "b", "c", "d", "e"], (3, 2))
    made.data[...] = np.arange(30).reshape(5, 3, 2)
    made.key = ("detdata", "x")
    return made


@pytest.mark.parametrize("chosen", [["b"], ["a", "b"], ["e", "c", "b"], ["d", "a"], ["a", "b", "c", "d", "e"], []])
def test_rows_of_some_detectors(memory, chosen):
    item = detector_data()
    wanted = item.data.copy()
    memory.upload(item, chosen)
    with on(memory):
        assert item.data.shape == (len(chosen), 3, 2)
        values, places = host_of(item.data), item.indices(chosen)
        assert places.dtype == np.int32
        for name, place in zip(chosen, places):
            np.testing.assert_array_equal(values[place], wanted["abcde".index(name)])
        item.data[...] = item.data * 2.0
    assert memory.traffic["detdata.x"].bytes_up == len(chosen) * 48
    for name in chosen:
        wanted["abcde".index(name)] *= 2
    np.testing.assert_array_equal(item.data, wanted)
    np.testing.assert_array_equal(item.indices(chosen), ["abcde".index(name) for name in chosen])


def test_other_rows_come_after_those_that_were_changed_went_back(memory):
    item = detector_data()
    wanted = item.data.copy()
    for chosen in (["a", "b"], ["b", "c"], ["b", "c"], ["e", "a"]):
        memory.stage(item, chosen)
        with on(memory):
            item.data[...] = item.data + 1.0
        for name in chosen:
            wanted["abcde".index(name)] += 1
    with on(memory), pytest.raises(KeyError, match="lacks rows"):
        item.indices(["c"])
    np.testing.assert_array_equal(item.data, wanted)
    assert memory.traffic["detdata.x"].bytes_up == 48 * 6 and memory.traffic["detdata.x"].bytes_down == 48 * 6


class Reads(Operator):
    reads: list[str] = []
    writes: list[str] = []
    use: str = ""

    def requires(self):
        return {"shared": self.reads}

    def provides(self):
        return {"shared": self.writes}

    def _exec(self, data, detectors):
        for ob in data.obs:
            ob.shared[self.use].data[0] = 9


def test_operators_write_into_nothing_that_they_do_not_provide(memory):
    data = problem.make()
    before = data.obs[0].shared["flags"].data.copy()
    for there in (None, memory):
        with pytest.raises(ValueError, match="read-only"):
            Reads(reads=["flags"], use="flags")._run(data, None, there)
        with pytest.raises(KeyError, match=r"Reads uses shared.flags, which is neither in its requires\(\) nor in its provides\(\)"):
            Reads(reads=["boresight"], use="flags")._run(data, None, there)
        np.testing.assert_array_equal(data.obs[0].shared["flags"].data, before)
    Reads(reads=["flags"], writes=["flags"], use="flags")._run(data, None, memory)
    assert data.obs[0].shared["flags"].data[0] == 9


def test_size_classes():
    for size in [*range(1, 3000), 10**6, 10**9 + 1, 2**40]:
        chosen = size_class(size)
        assert size <= chosen <= max(256, size * 9 // 8 + 256) and chosen % 256 == 0 and size_class(chosen) == chosen
    assert len({size_class(size) for size in range(1 << 20, 1 << 21, 64)}) <= 9


def test_blocks_are_kept_by_size(backend):
    pool = Pool(backend)
    blocks = [pool.allocate(size) for size in (1000, 1000, 5000)]
    assert pool.statistics() | {"limit": 0} == dict(in_use=7168, peak=7168, cached=0, limit=0, allocations=3, reuses=0)
    for block in blocks:
        pool.free(block)
    assert (pool.in_use, pool.cached) == (0, 7168)
    again = pool.allocate(900)
    assert (pool.in_use, pool.cached, pool.allocations, pool.reuses, again.nbytes) == (1024, 6144, 3, 1, 1024)
    assert pool.release() == 6144 and (pool.in_use, pool.cached, pool.peak) == (1024, 0, 7168)
    pool.free(pool.allocate(5000))
    assert pool.allocations == 4


def test_limits(backend):
    assert Pool(backend).limit == backend.capacity
    assert Pool(backend, 0.25).limit == backend.capacity // 4
    pool = Pool(backend, 2048)
    kept = pool.allocate(1024)
    pool.free(pool.allocate(768))
    pool.allocate(1024)  # what is cached makes way
    assert (pool.in_use, pool.cached, pool.peak) == (2048, 0, 2048)
    with pytest.raises(MemoryError, match="256 bytes are wanted, 0 of 2048 are free"):
        pool.allocate(1)
    pool.free(kept)
    pool.allocate(1)
    for wrong in (1.5, 0.0, -1, -0.5):
        with pytest.raises(ValueError, match="the limit is a number of bytes or a share"):
            Pool(backend, wrong)


def test_shares_of_one_device():
    """Two processes, say, with half of a device each."""
    shares = [Memory(HostBackend(4096), 0.5) for _ in range(2)]
    for memory in shares:
        first = Buffer(values=np.zeros(256))
        memory.upload(first)
        memory.needed = {id(first)}
        with pytest.raises(MemoryError):
            memory.upload(Buffer(values=np.zeros(1)))


def test_a_device_that_has_less_than_the_limit():
    """What it cannot give is asked for again when blocks were released and copies dropped."""
    memory, device = Memory("emulated"), ingot.device("emulated")
    first, second, third = (Buffer(values=np.full(1 << 14, float(n))) for n in range(3))
    memory.upload(first)
    ingot.set_memory_limit(device, ingot.memory(device)["in_use"] + (1 << 17))
    try:
        memory.upload(second)
        memory.upload(third)
        assert first.memory is None and second.memory is memory
        memory.needed = {id(second), id(third)}
        with pytest.raises(MemoryError, match="needs 131072 bytes .* are free, but so much the device itself does not have"):
            memory.upload(first)
    finally:
        ingot.set_memory_limit(device, 0)
    for number, item in enumerate((first, second, third)):
        np.testing.assert_array_equal(item.data, np.full(1 << 14, float(number)))
        memory.free(item)


def test_what_makes_way_where_memory_is_short(backend):
    """Cached blocks first, then the copy that was used longest ago of those that the host has, too, and nobody needs."""
    memory = Memory(backend, 4096)
    items = {}
    for name in ("a", "b", "c", "d"):
        items[name] = Buffer(values=np.full(128, float(ord(name))))
        items[name].key = ("global", name)
    memory.upload(items["a"])
    memory.upload(items["b"])
    memory.upload(items["c"])
    with on(memory):
        items["c"].data[...] = 1.0
    memory.free(Buffer(values=np.zeros(128)))  # is on no device: nothing happens
    cached = Buffer(100)
    memory.zero(cached)
    memory.free(cached)
    memory.stage(items["a"])  # now `b` was used longest ago
    wanted = Buffer(values=np.ones(128))
    memory.upload(wanted)
    assert memory.pool.cached == 0 and all(items[name].memory is memory for name in "abc")
    memory.needed = {id(wanted)}
    memory.upload(items["d"])
    assert items["b"].memory is None and items["a"].memory is memory
    memory.needed = {id(wanted), id(items["a"]), id(items["d"])}
    with pytest.raises(MemoryError, match="global.b needs 1024 bytes on .*: of the limit of 4096 bytes 0 are free, so much would fit"):
        memory.upload(items["b"])
    np.testing.assert_array_equal(items["c"].data, np.ones(128))
    np.testing.assert_array_equal(items["b"].data, np.full(128, float(ord("b"))))
    memory.upload(items["b"])  # the host has what was changed of `c` now
    assert items["c"].memory is None


def test_what_is_given_to_an_operator_stays_until_it_ends(backend):
    """Also where it is not staged before: an operator within an operator."""
    memory, first, second = Memory(backend, 1500), Buffer(values=np.full(128, 2.0)), Buffer(values=np.ones(128))
    with Place(memory, "reads", frozenset([first.key]), frozenset()).entered():
        held = first.data
        with pytest.raises(MemoryError, match="needs 1024 bytes"):
            second.data
        np.testing.assert_array_equal(host_of(held), np.full(128, 2.0))
    assert not memory.needed
    memory.upload(second)
    assert first.memory is None


def test_zeros_take_the_place_of_what_was_lost(memory):
    item = Buffer(values=np.ones(3))
    with on(memory):
        item.data[...] = 2.0
    memory.free(item)
    with pytest.raises(RuntimeError, match="has no valid copy"):
        item.data
    memory.zero(item)
    np.testing.assert_array_equal(item.data, np.zeros(3))


def test_the_rows_of_a_copy_that_was_freed_do_not_count(memory):
    item = DetData(["a", "b", "c"], (4,))
    item.data[:] = np.arange(3.0)[:, None]
    memory.upload(item, ["c"])
    memory.free(item)
    with on(memory):
        assert item.indices(["b", "c"]).tolist() == [1, 2]
        np.testing.assert_array_equal(host_of(item["b"]), np.ones(4))


def test_transfers_have_rows(memory):
    """One for each copy, by any maker, and one where memory is made zero, which moves nothing."""
    item, moved = Buffer(values=np.ones(10)), memory.backend.moved()
    ingot.profile.reset()
    ingot.profile.start()
    with ingot.profile("outside"):
        memory.upload(item)
    memory.download(item)
    memory.zero(item)
    ingot.profile.stop()
    found = {row.path: row for row in ingot.profile.rows() if row.path[:1] != ("zero",) or len(row.path) == 1}
    counts = {"|".join(path): (row.calls, row.bytes_up, row.bytes_down) for path, row in found.items()}
    assert counts == {"outside": (1, 0, 0), "outside|upload": (1, 80, 0), "download": (1, 0, 80), "zero": (1, 0, 0)}
    assert [now - before for now, before in zip(memory.backend.moved(), moved)] == [80, 80]
    outside, upload = found["outside",], found["outside", "upload"]
    assert outside.own == pytest.approx(outside.seconds - upload.seconds, abs=1e-9)


def test_an_object_says_where_it_is_valid(memory):
    item = Buffer(values=np.ones(2))
    item.key = ("shared", "times")
    memory.upload(item)
    assert repr(item) == f"<Buffer shared.times float64(2,), valid on host and {memory}>"
    assert repr(Buffer(2)) == "<Buffer . float64(2,), valid on neither>"


def test_kernels_without_flags_get_an_array_that_stands_for_none():
    assert rows(None).of(Observation("x", ["a"], 3), ["a"]).shape == (1, 0)
    with pytest.raises(NotImplementedError, match=r"KernelOperator has no arguments\(\)"):
        KernelOperator().arguments(None, None, [])
