"""The host's side of `ingot.cuda`: devices, memory, streams, events, and what is made of kernels."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import ingot
from ingot import cuda, float32, float64, int64

DEVICE = ingot.device("emulated")


@pytest.fixture(autouse=True)
def emulated():
    with DEVICE:
        yield


@cuda.jit
def scale(x, k):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * k


@cuda.jit
def add_into(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += y[i]


@ingot.jit
def twice(x):
    return x + x


def late_copy(n=100):
    """A stream, and an array in pinned memory that the stream has not read yet."""
    stream, x = cuda.stream(), cuda.pinned_array(n)
    x[:] = np.arange(n)
    return stream, x, cuda.to_device(x, stream=stream)


# Devices.


def test_the_current_device():
    gpu = cuda.get_current_device()
    assert (gpu.device, gpu.id, gpu.name, gpu.compute_capability) == (DEVICE, 0, DEVICE.name, (9, 0))
    assert (gpu.WARP_SIZE, gpu.MAX_THREADS_PER_BLOCK, gpu.MULTIPROCESSOR_COUNT) == (32, 1024, DEVICE.processors)
    assert gpu.MAX_GRID_DIM_X == 2**31 - 1 and gpu.MAX_SHARED_MEMORY_PER_BLOCK == DEVICE.block_memory
    assert gpu == cuda.gpus[0] == cuda.gpus.current and hash(gpu) == hash(cuda.gpus[0]) and gpu != 3
    assert cuda.current_context().device == cuda.current_context(0).device == gpu


def test_devices_are_those_of_the_current_kind():
    assert len(cuda.gpus) == 1 and [gpu.device for gpu in cuda.gpus] == [DEVICE]
    assert cuda.is_available() and "emulated:0" in repr(cuda.gpus)
    with pytest.raises(IndexError):
        cuda.gpus[1]


def test_where_there_is_no_gpu_it_is_reported():
    with ingot.device("cpu"):
        makers = (lambda: cuda.to_device([1]), lambda: cuda.device_array(1), lambda: cuda.pinned_array(1))
        for call in (cuda.stream, cuda.event, cuda.get_current_device, cuda.synchronize, *makers):
            with pytest.raises(RuntimeError, match="kernels run on GPUs"):
                call()


def test_a_device_is_selected_for_a_thread():
    seen = []

    def run():
        with ingot.device("emulated"):
            seen.append(cuda.select_device(0).device)
            seen.append(cuda.to_device([1]).device)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [DEVICE, DEVICE]
    with pytest.raises(RuntimeError, match="no device emulated:3"):
        cuda.select_device(3)


def test_a_device_of_the_list_is_a_context():
    with ingot.device("cpu"), cuda.Gpu(DEVICE) as gpu:
        assert cuda.get_current_device() == gpu


def test_detect_prints_the_devices(capsys):
    assert cuda.detect() is True
    assert capsys.readouterr().out == f"emulated:0: {DEVICE.name}, compute capability 9.0, 4 GiB\n"


@pytest.mark.scheduled  # nobody else takes memory
def test_memory_info_counts_what_is_kept_as_free():
    ingot.release_memory(DEVICE)
    before = cuda.current_context().get_memory_info()
    x = cuda.device_array(1 << 20)
    during = cuda.current_context().get_memory_info()
    del x
    assert before.free - during.free == 8 << 20 and before.total == during.total == DEVICE.memory
    assert cuda.current_context().get_memory_info() == before


# Arrays.


def test_to_device_copies_at_the_call():
    x = np.arange(6.0).reshape(2, 3)
    for stream in (0, None, cuda.stream()):
        y = x.copy()
        a = cuda.to_device(y, stream)
        y[:] = 0
        assert type(a) is ingot.Array and a.device is DEVICE
        np.testing.assert_array_equal(a.copy_to_host(), x)
    assert cuda.to_device([1, 2]).dtype == np.int64
    assert cuda.to_device(np.asfortranarray(x), stream=cuda.stream()).strides == (8, 16)


def test_to_device_of_what_is_there():
    a = cuda.to_device([1.0, 2.0])
    assert cuda.to_device(a) is a
    assert cuda.to_device(np.zeros(2), to=a) is a and not a.copy_to_host().any()
    b = cuda.to_device(np.zeros((2, 3), np.int8, "F"), copy=False)
    assert (b.shape, b.dtype, b.flags.f_contiguous) == ((2, 3), np.int8, True)


@pytest.mark.parametrize("stream", [0, 1])
def test_to_device_refuses_other_dtypes(stream):
    with pytest.raises(TypeError, match="cannot be on a device"):
        cuda.to_device(np.array(["a"]), stream and cuda.stream())
    with pytest.raises(TypeError, match="16 are the most"):
        cuda.to_device(np.zeros((1,) * 17), stream and cuda.stream())


@pytest.mark.parametrize("shape", [(), 3, (0,), (2, 3), [2, 0, 3], (np.int64(2), 1, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_new_arrays(shape, order):
    expected = np.empty(shape, np.complex64, order)
    a = cuda.device_array(shape, np.complex64, order=order)
    assert (a.shape, a.dtype, a.device) == (expected.shape, expected.dtype, DEVICE)
    assert expected.size == 0 or a.strides == expected.strides
    assert cuda.device_array(2, float32).dtype == np.float32 and cuda.device_array(2).dtype == np.float64


def test_new_arrays_like_others():
    for like in (np.zeros((2, 3), np.int16), np.zeros((2, 3), order="F"), np.zeros((4, 6))[::2, ::2], cuda.device_array((2, 2), order="F")):
        a = cuda.device_array_like(like, cuda.stream())
        assert (a.shape, a.dtype, a.flags.f_contiguous) == (like.shape, like.dtype, like.flags.f_contiguous)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda f: f(-1), ValueError, "negative dimensions"),
        (lambda f: f(2.5), TypeError, "integer"),
        (lambda f: f(2, object), TypeError, "object"),
        (lambda f: f(2, order="K"), ValueError, "'C' or 'F'"),
        (lambda f: f(2, strides=(8,)), ingot.UnsupportedError, "strides of a new array"),
    ],
)
def test_new_arrays_that_are_refused(make, error, message):
    for function in (cuda.device_array, cuda.pinned_array):
        with pytest.raises(error, match=message):
            make(function)


def test_memory_that_runs_out():
    with pytest.raises(MemoryError, match="shape .* on emulated:0"):
        cuda.device_array((1 << 20, 1 << 16))
    with pytest.raises(ValueError, match="too big"):
        cuda.device_array((1 << 40, 1 << 40))


def test_copies_to_the_host():
    x = np.arange(12.0).reshape(3, 4)
    a = cuda.to_device(x)
    for stream in (0, cuda.stream()):
        np.testing.assert_array_equal(a.copy_to_host(stream=stream), x)
        out = np.zeros((3, 4))
        assert a.copy_to_host(out, stream) is out
        np.testing.assert_array_equal(out, x)


def test_copies_into_arrays_of_other_layouts():
    x = np.arange(12.0).reshape(3, 4)
    a = cuda.to_device(x)
    for out in (np.zeros((3, 4), order="F"), np.zeros((6, 8))[::2, ::-2], cuda.pinned_array((4, 3)).T):
        for shown in (a, cuda.to_device(np.repeat(x, 2, 1))[:, ::2]):
            out[...] = -1
            shown.copy_to_host(out, cuda.stream())
            np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("out, error", [(np.zeros(4), ValueError), (np.zeros(3, "f4"), ValueError), (np.zeros(3, ">f8"), ValueError), ([0, 0, 0], TypeError)])
def test_copies_to_the_host_that_are_refused(out, error):
    a = cuda.to_device(np.zeros(3))
    with pytest.raises(error, match="copied into"):
        a.copy_to_host(out)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a.copy_to_host(frozen)


def test_copies_to_the_device():
    x = np.arange(6.0).reshape(2, 3)
    a = cuda.device_array((2, 3))
    for given in (x, np.asfortranarray(x + 1), np.repeat(x, 2, 1)[:, ::2], cuda.to_device(x + 2), (x + 3).tolist()):
        for stream in (0, cuda.stream()):
            assert a.copy_to_device(given, stream) is None
            np.testing.assert_array_equal(a.copy_to_host(), given.copy_to_host() if isinstance(given, ingot.Array) else given)
    b = cuda.to_device(np.zeros((2, 6)))
    b[:, ::2].copy_to_device(x, cuda.stream())
    np.testing.assert_array_equal(b.copy_to_host()[:, ::2], x)
    assert not b.copy_to_host()[:, 1::2].any()


def test_copies_to_the_device_that_are_refused():
    a = cuda.to_device(np.zeros(3))
    for given in (np.zeros(4), np.zeros(3, "f4"), 1.0, cuda.to_device(np.zeros(2))):
        with pytest.raises(ValueError, match="is copied into one of shape"):
            a.copy_to_device(given)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a.copy_to_device(np.zeros(3))


# Pinned and mapped memory.


@pytest.mark.rotated(3)
def test_pinned_arrays_are_numpys():
    x = cuda.pinned_array((2, 3), np.int32, order="F")
    assert type(x) is np.ndarray and x.flags.f_contiguous and x.flags.writeable and x.dtype == np.int32
    y = cuda.pinned_array_like(x)
    assert (y.shape, y.dtype, y.strides) == (x.shape, x.dtype, x.strides)
    assert cuda.pinned_array(0).size == 0 and cuda.pinned_array((), "U3").shape == ()
    x[:] = 3
    z = x[0]
    del x
    gc.collect()
    assert z.tolist() == [3, 3, 3]


@pytest.mark.scheduled
def test_pinned_memory_is_read_late():
    stream, x, a = late_copy()
    x[:] = -1
    stream.synchronize()
    assert (a.copy_to_host() == -1).all()
    b = cuda.device_array(100)
    b.copy_to_device(x, stream)
    x[:] = -2
    stream.synchronize()
    assert (b.copy_to_host() == -2).all()


@pytest.mark.scheduled
def test_pinned_memory_is_written_late():
    stream, x = cuda.stream(), cuda.pinned_array(10)
    a = cuda.to_device(np.arange(10.0))
    x[:] = -1
    assert a.copy_to_host(x, stream) is x
    assert (x == -1).all()
    stream.synchronize()
    np.testing.assert_array_equal(x, np.arange(10.0))


def test_without_a_stream_pinned_memory_is_as_any_other():
    x = cuda.pinned_array(10)
    for copied in (cuda.to_device, ingot.device_put, twice):
        x[:] = 1
        a = copied(cuda.to_device(x) if copied is twice else x)
        x[:] = 0
        assert (a.copy_to_host() == (2 if copied is twice else 1)).all()
    x[:] = 4
    a.copy_to_device(x)
    x[:] = 0
    assert a.copy_to_host(x) is x and (x == 4).all()
    a[:] = x
    x[:] = 0
    assert (a.to_host() == 4).all()


def test_pinned_memory_that_is_deleted_is_waited_for():
    stream, x, a = late_copy()
    y = cuda.pinned_array_like(x)
    a.copy_to_host(y, stream)
    del x, y
    np.testing.assert_array_equal(a.copy_to_host(), np.arange(100))


@pytest.mark.scheduled
def test_arrays_are_pinned_for_a_time():
    x, y, none = np.arange(100.0), np.zeros(50), np.zeros(0)
    stream = cuda.stream()
    with cuda.pinned(x, y, none):
        a = cuda.to_device(x, stream)
        x[:] = 5
        a[:50].copy_to_host(y, stream)
        assert not y.any()
    assert (y == 5).all()
    a = cuda.to_device(x, stream)
    x[:] = 6
    assert (a.copy_to_host() == 5).all()


def test_what_cannot_be_pinned():
    with pytest.raises(TypeError, match="not list"), cuda.pinned([1]):
        pass
    with pytest.raises(ValueError, match="not contiguous"), cuda.pinned(np.zeros(4)[::2]):
        pass
    x = np.zeros(4096)
    with pytest.raises(ingot.DeviceError, match="pinning memory"), cuda.pinned(x, x):
        pass
    with cuda.pinned(x):
        pass


def test_kernels_write_into_mapped_arrays_themselves():
    x = cuda.mapped_array(64, stream=0)
    assert type(x) is np.ndarray
    x[:] = np.arange(64)
    kept = ingot.memory(DEVICE)["in_use"]
    ingot.reset_memory_peak(DEVICE)
    scale[1, 64](x, 3.0)
    np.testing.assert_array_equal(x, 3.0 * np.arange(64))
    assert ingot.memory(DEVICE)["peak"] <= kept + 512  # the buffer of errors
    scale[1, 64, cuda.stream()](x[::2], 2.0)
    np.testing.assert_array_equal(x[:4], [0, 3, 12, 9])
    y = cuda.mapped_array_like(x)
    y[:] = 1
    add_into[1, 64](x, y)
    np.testing.assert_array_equal(x[:4], [1, 4, 13, 10])
    np.testing.assert_array_equal(ingot.jit(lambda a: a + 1, device="emulated")(y), np.full(64, 2.0))


@pytest.mark.rotated(3)
def test_managed_arrays_are_the_hosts_and_the_devices():
    x = cuda.managed_array((8, 8), np.float32, order="F")
    assert type(x) is np.ndarray and x.flags.f_contiguous and x.dtype == np.float32
    x[:] = np.arange(64, dtype=np.float32).reshape(8, 8)
    before = ingot.memory(DEVICE)
    flat = x.T.reshape(-1)
    scale[1, 64](flat, 3.0)
    np.testing.assert_array_equal(x, 3 * np.arange(64).reshape(8, 8))
    result = ingot.jit(lambda a: a + 1, device="emulated")(flat)
    after = ingot.memory(DEVICE)
    np.testing.assert_array_equal(result, flat + 1)
    assert (after["to_device"] - before["to_device"]) < 512  # the buffers of errors
    a = ingot.device_put(x, DEVICE)
    x[:] = 0
    assert a.to_host()[1, 0] == 24
    with pytest.raises(ingot.UnsupportedError, match="managed memory of one stream"):
        cuda.managed_array(3, attach_global=False)
    del x, flat
    gc.collect()
    cuda.synchronize()


def test_managed_arrays_larger_than_the_device_are_refused():
    with pytest.raises(MemoryError, match=r"Unable to allocate 8 TiB for an array with shape \(1048576, 1048576\).*on emulated:0"):
        cuda.managed_array((1 << 20, 1 << 20))


# Streams.


@pytest.mark.scheduled
def test_streams_of_greater_priority_go_first():
    low, high = cuda.stream(), cuda.stream(priority=2)
    assert (low.priority, high.priority, cuda.stream(priority=-3).priority) == (0, 2, 0)
    assert cuda.stream(priority=1000)._handle.is_done()
    first, last = (cuda.to_device(np.full(100, k)) for k in (1.0, 2.0))
    outs = cuda.pinned_array(100), cuda.pinned_array(100)
    for out in outs:
        out[:] = 0
    with low, high:
        pass
    cuda.synchronize()
    for array, out, stream in ((first, outs[0], low), (last, outs[1], high)):
        with stream:
            (array + 1).block_until_ready()  # so that the stream comes after the array's
    cuda.synchronize()
    first.copy_to_host(outs[0], low)
    last.copy_to_host(outs[1], high)
    low.is_done()  # each look runs an operation
    assert (outs[0][0], outs[1][0]) == (0, 2)
    cuda.synchronize()
    assert (outs[0][0], outs[1][0]) == (1, 2)
    with pytest.raises(TypeError):
        cuda.stream(priority="high")
    address = high._handle.address
    del high, stream
    assert cuda.stream()._handle.address != address and cuda.stream(priority=2)._handle.address == address


def test_a_stream_is_a_queue():
    stream, x, a = late_copy()
    for _ in range(5):
        scale[1, 128, stream](a, 1.0)
    stream.synchronize()
    assert stream.is_done() and stream.query() and stream.device is DEVICE and "emulated:0" in repr(stream)
    cuda.synchronize()
    cuda.current_context().synchronize()


@pytest.mark.scheduled
def test_whether_a_stream_is_done_is_asked():
    stream, x, a = late_copy()
    y = cuda.pinned_array_like(x)
    for _ in range(20):
        a.copy_to_host(y, stream)
    asked = 0
    while not stream.is_done():
        asked += 1
    assert asked > 0
    np.testing.assert_array_equal(y, np.arange(100))


def stream_now():
    return ingot._ingot.stream_of(DEVICE._handle).address


def test_a_stream_is_that_of_the_calls_inside():
    own, s, t = cuda.default_stream()._handle.address, cuda.stream(), cuda.stream()
    assert stream_now() == own
    with s as entered:
        assert entered is s and stream_now() == s._handle.address
        with t, s, t:
            assert stream_now() == t._handle.address
            assert cuda.default_stream()._handle.address == own
        assert stream_now() == s._handle.address
        thread = threading.Thread(target=lambda: seen.append(stream_now()))
        seen = []
        thread.start()
        thread.join()
        assert seen == [own]
    with pytest.raises(KeyError), s:
        raise KeyError
    assert stream_now() == own


def test_streams_are_used_again():
    s = cuda.stream()
    address = s._handle.address
    t = cuda.stream()
    assert t._handle.address != address
    del s
    assert cuda.stream()._handle.address == address


def test_a_stream_is_waited_for_at_the_end_of_a_block():
    stream, x, a = late_copy()
    y = cuda.pinned_array_like(x)
    with stream.auto_synchronize() as entered:
        assert entered is stream
        a.copy_to_host(y, stream)
    np.testing.assert_array_equal(y, x)


@pytest.mark.scheduled
def test_functions_and_kernels_run_in_the_stream():
    stream, x, a = late_copy()
    x[:] = 7  # read when the stream runs
    with stream:
        b = twice(a)
    add_into[1, 128, stream](b, b)
    add_into.forall(100, stream=stream)(b, b)
    assert (b.copy_to_host() == 56).all()


@pytest.mark.parametrize("stream", [1, "s", object(), True, 0.0])
def test_what_is_no_stream(stream):
    a = cuda.to_device([1.0])
    for call in (lambda: scale[1, 1, stream], lambda: a.copy_to_host(stream=stream), lambda: a.copy_to_device([2.0], stream)):
        with pytest.raises(TypeError, match=r"a stream is what `cuda.stream\(\)` gives, or 0"):
            call()


def test_streams_of_another_device_are_refused():
    own = cuda.stream()
    other = cuda.Stream(ingot.device("cpu"), own._handle, False)
    a = cuda.to_device([1.0])
    for call in (
        lambda: a.copy_to_host(stream=other),
        lambda: a.copy_to_device([2.0], other),
        lambda: scale[1, 1, other](a, 2.0),
        lambda: plus(a, stream=other),
        lambda: product_and_one(a, a, stream=other),
        lambda: cuda.event().record(other),
        lambda: cuda.event().wait(other),
    ):
        with pytest.raises(ValueError, match="emulated:0 in a stream of cpu:0"):
            call()


def test_arrays_of_numpys_next_to_a_stream_are_copied_back():
    x, stream = np.arange(10.0), cuda.stream()
    scale[1, 32, stream](x, 2.0)
    np.testing.assert_array_equal(x, 2 * np.arange(10.0))


def test_a_launch_that_may_raise_is_waited_for():
    stream, x, a = late_copy(10)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        add_into[1, 128, stream](a, cuda.to_device(np.zeros(4)))
    assert stream.is_done()
    assert stream_now() == cuda.default_stream()._handle.address
    np.testing.assert_array_equal(a.copy_to_host(), np.arange(10.0))


def test_a_host_function_may_set_a_stream():
    s, t = cuda.stream(), cuda.stream()

    @ingot.host(result="float64[:]")
    def moved(x):
        with t:
            return np.asarray(x) if isinstance(x, np.ndarray) else twice(x).to_host() / 2

    @ingot.jit
    def f(x):
        return twice(moved(x + 1))

    with s:
        y = f(cuda.to_device(np.arange(4.0)))
        assert stream_now() == s._handle.address
    np.testing.assert_array_equal(y.to_host(), 2 * (np.arange(4.0) + 1))


def test_threads_work_on_streams_of_their_own():
    results = {}

    def run(k):
        stream = cuda.Stream(DEVICE, ingot._ingot.make_stream(DEVICE._handle, 0), True)
        with stream:
            a = cuda.to_device(np.full(100, float(k)), stream)
            for _ in range(5):
                a = twice(a)
            results[k] = a.copy_to_host(stream=stream)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((results[k] == 32 * k).all() for k in range(4)) and len(results) == 4


# The order of streams, which a seed decides where nothing else does.

ORDERS = """
import gc, ingot, numpy as np
from ingot import cuda
from test_cuda_host import scale, add_into, twice

with ingot.device("emulated"):
    n, rounds = 1000, 12
    s, t, u = cuda.stream(), cuda.stream(), cuda.stream()
    x, y = cuda.pinned_array(n), cuda.pinned_array(n)

    # What one stream has made is used in others, and written there.
    for k in range(rounds):
        x[:] = k
        a = cuda.to_device(x, stream=s)
        with t:
            b = twice(a)
        with u:
            c = b + a
        with s:
            a += c                      # reads before in u
        with t:
            d = twice(a)
        d.copy_to_host(y, stream=u)
        cuda.synchronize()
        assert (y == 8 * k).all(), (k, y)

    # Memory of arrays that are deleted is not used again before all streams have passed.
    for k in range(rounds):
        x[:] = k
        a = cuda.to_device(x, stream=s)
        with t:
            b = twice(a)
        del a                            # in the device's own stream
        others = [cuda.to_device(np.full(n, -1.0)) for _ in range(3)]
        with u:
            more = [twice(each) for each in others]
        assert (b.to_host() == 2 * k).all(), k
        del b, others, more

    # In place, alternately.
    a = cuda.to_device(np.ones(n))
    for k in range(rounds):
        scale[8, 128, (s, t, u)[k % 3]](a, 2.0)
    assert (a.copy_to_host() == 2.0**rounds).all()

    # Views share the order.
    a = cuda.to_device(np.zeros(n))
    for k in range(rounds):
        with (s, t, u)[k % 3]:
            a[k::2] += 1
    expected = np.zeros(n)
    for k in range(rounds):
        expected[k::2] += 1
    assert (a.copy_to_host() == expected).all()

    # Events order what else is there.
    for k in range(rounds):
        x[:] = k
        a = cuda.to_device(x, stream=s)
        a.copy_to_host(y, stream=s)
        event = cuda.event()
        event.record(s)
        event.wait(t)
        b = cuda.to_device(y, stream=t)
        b.block_until_ready()
        assert (b.copy_to_host() == k).all()

    # Reductions and ufuncs.
    add = cuda.reduce(lambda a, b: a + b)
    a = cuda.to_device(np.arange(5000))
    with t:
        b = a + 1
    assert add(b, stream=u) == np.arange(1, 5001).sum()
    print("right")
"""


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.sampled(4)
def test_streams_wait_for_each_others_arrays(seed):
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, *filter(None, sys.path)])
    env = {**os.environ, "INGOT_EMULATOR_SEED": str(seed), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", ORDERS], env=env, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr


# Events.


def test_events_are_points_in_a_stream():
    stream, x, a = late_copy()
    event = cuda.event()
    event.record(stream)
    event.synchronize()
    assert event.query() and event.timing
    event.record()
    event.wait()
    event.wait(stream)
    cuda.synchronize()
    assert event.query()


def test_an_event_is_not_passed_before_its_stream_is_there():
    stream, x, a = late_copy()
    y = cuda.pinned_array_like(x)
    for _ in range(10):
        a.copy_to_host(y, stream)
    event = cuda.event(timing=False)
    event.record(stream)
    assert not event.query()
    event.synchronize()
    assert event.query() and (y == x).all()


def test_the_time_between_events():
    stream, x, a = late_copy()
    first, second = cuda.event(), cuda.event()
    first.record(stream)
    scale[1, 128, stream](a, 1.0)
    second.record(stream)
    second.synchronize()
    assert cuda.event_elapsed_time(first, second) == first.elapsed_time(second) > 0
    with pytest.raises(ValueError, match="timing=False"):
        first.elapsed_time(cuda.event(timing=False))
    with pytest.raises(ingot.DeviceError, match="the time between events"):
        first.elapsed_time(cuda.event())


def test_events_take_streams_alone():
    event = cuda.event()
    for call in (event.record, event.wait):
        with pytest.raises(TypeError, match="a stream is what"):
            call(3)


# What is made of kernels.


def test_texts_of_kernels():
    @cuda.jit
    def half(x, k):
        x[cuda.grid(1)] /= k

    assert half.inspect_asm() == half.inspect_llvm() == half.inspect_ptx() == {}
    half[1, 4](cuda.to_device(np.ones(4)), 2.0)
    half[1, 4](cuda.to_device(np.ones((4, 2), "f4"))[:, 0], np.float32(2))
    signatures = {(float64[::1], float64), (float32[:], float32)}
    assert set(half.inspect_asm()) == set(half.inspect_llvm()) == signatures
    text = half.inspect_ptx((float64[:], float64))
    assert text == half.inspect_asm()[float64[::1], float64] and ".entry" in text
    assert "define" in half.inspect_llvm(ingot.void(float32[:], float32))
    with pytest.raises(KeyError, match=r"not been launched with \(int64\)"):
        half.inspect_asm((int64,))


def test_what_a_kernel_needs():
    @cuda.jit
    def tile(x):
        part = cuda.shared.array(256, float64)
        part[cuda.threadIdx.x] = x[cuda.threadIdx.x]
        cuda.syncthreads()
        x[cuda.threadIdx.x] = part[255 - cuda.threadIdx.x]

    with pytest.raises(ValueError, match="not been launched on a device"):
        tile.resident_blocks(256)
    x = np.arange(256.0)
    tile[1, 256](x)
    np.testing.assert_array_equal(x, np.arange(256.0)[::-1])
    assert tile.get_shared_mem_per_block() == 2048 and tile.get_regs_per_thread() > 0 and tile.get_local_mem_per_thread() >= 0
    blocks = tile.resident_blocks(256)
    assert blocks >= 1 and tile.resident_blocks((16, 16)) == blocks >= tile.resident_blocks(256, 64 * 1024)
    assert tile.max_cooperative_grid_blocks(256) == blocks * DEVICE.processors
    tile[1, 256](np.arange(256, dtype=np.int64))
    with pytest.raises(ValueError, match="2 kinds of arguments"):
        tile.max_cooperative_grid_blocks(256)
    assert tile.max_cooperative_grid_blocks(256, 0, (float64[:],)) == blocks * DEVICE.processors


# Reductions.


@cuda.reduce
def plus(a, b):
    return a + b


@pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, 65537])
def test_sums(n):
    x = np.arange(n)
    assert plus(x) == plus(cuda.to_device(x)) == x.sum()
    assert plus(x, init=5) == x.sum() + 5 and plus(x, size=n // 2) == x[: n // 2].sum()


def test_reductions_keep_the_order_of_the_elements():
    x = np.random.default_rng(0).random(1000)
    assert cuda.reduce(lambda a, b: a)(x, init=-1) == -1
    assert cuda.Reduce(lambda a, b: a)(x, init=None) == x[0]
    assert cuda.reduce(lambda a, b: b)(x) == x[-1]
    assert cuda.reduce(lambda a, b: max(a, b))(x[::3]) == x[::3].max()
    assert abs(plus(x) - x.sum()) < 1e-9 and type(plus(x.astype("f4"))) is np.float32


def test_reductions_into_an_array_of_the_device():
    x, stream, out = np.arange(1000.0), cuda.stream(), cuda.to_device(np.zeros(2))
    assert plus(cuda.to_device(x, stream), res=out, init=1, stream=stream) is None
    assert out.copy_to_host().tolist() == [x.sum() + 1, 0]
    assert plus(x[:0], res=out, init=3) is None and out.copy_to_host()[0] == 3


def test_reductions_that_are_refused():
    with pytest.raises(TypeError, match="one axis, not of 2"):
        plus(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="4 elements of an array that has 3"):
        plus(np.zeros(3), size=4)
    with pytest.raises(ValueError, match="no elements"):
        plus(np.zeros(0), init=None)
    for x in ([0], [1, 0], [1] * 300 + [0]):
        with pytest.raises(ZeroDivisionError):
            cuda.reduce(lambda a, b: 1 // int(b))(np.array(x), init=1)


# Functions of numbers, and of small arrays.


@ingot.vectorize(target="cuda")
def product_and_one(a, b):
    return a * b + 1


@ingot.vectorize(["float32(float32)", "float64(float64)"], target="cuda")
def root(x):
    return x**0.5


def test_ufuncs_on_a_device():
    x = np.arange(6.0).reshape(2, 3)
    made = product_and_one(x, 2)
    assert type(made) is np.ndarray
    np.testing.assert_array_equal(made, x * 2 + 1)
    on_device = product_and_one(cuda.to_device(x), x, stream=cuda.stream())
    assert type(on_device) is ingot.Array
    np.testing.assert_array_equal(on_device.to_host(), x * x + 1)
    assert product_and_one(2, 3) == 7 and product_and_one([1, 2], 3).tolist() == [4, 7]
    assert root(np.arange(4, dtype="f4")).dtype == np.float32 and root(np.arange(4)).dtype == np.float64
    assert ingot.jit(lambda a: product_and_one(a, a))(3.0) == 10


def test_outputs_of_ufuncs_on_a_device():
    x = np.arange(4.0)
    for out in (np.zeros(4), cuda.to_device(np.zeros(4))):
        assert product_and_one(x, x, out=out) is out
        np.testing.assert_array_equal(np.asarray(out) if isinstance(out, np.ndarray) else out.to_host(), x * x + 1)
    assert product_and_one(2.0, 3.0, out=out) is out and (out.to_host() == 7).all()
    both = ingot.vectorize(lambda a: (a + 1, a - 1), target="cuda")
    up, down = both(x)
    np.testing.assert_array_equal(up - down, 2.0)


def test_ufuncs_on_a_device_reduce_and_are_pickled():
    assert ingot.vectorize(lambda a, b: a + b, target="cuda").reduce(np.arange(300)) == np.arange(300).sum()
    assert pickle.loads(pickle.dumps(product_and_one)) is product_and_one
    with pytest.raises(ValueError, match="no target 'tpu'"):
        ingot.vectorize(target="tpu")


@ingot.guvectorize(["(float64[:,:],float64[:],float64[:])"], "(m,n),(n)->(m)", target="cuda")
def times(a, x, y):
    for i in range(len(y)):
        y[i] = 0
        for j in range(len(x)):
            y[i] += a[i, j] * x[j]


@ingot.guvectorize(["(float64[:],float64,float64[:])"], "(n),()->()", target="cuda")
def weighted(x, k, out):
    out[0] = 0
    for value in x:
        out[0] += value * k


@pytest.mark.parametrize("lead", [(), (5,), (2, 3), (0,)])
def test_gufuncs_on_a_device(lead):
    rng = np.random.default_rng(1)
    a, x = rng.integers(0, 9, (*lead, 3, 4)).astype(float), rng.integers(0, 9, 4).astype(float)
    made = times(a, x)
    assert type(made) is np.ndarray
    np.testing.assert_array_equal(made, a @ x)
    there = times(cuda.to_device(a), x, stream=cuda.stream())
    assert type(there) is ingot.Array
    np.testing.assert_array_equal(there.to_host(), a @ x)
    np.testing.assert_array_equal(weighted(a[..., 0, :], 2.0), 2 * a[..., 0, :].sum(-1))


def test_outputs_of_gufuncs_on_a_device():
    a, x = np.arange(24.0).reshape(2, 3, 4), np.ones(4)
    for out in (np.zeros((2, 3)), np.zeros((4, 3))[::2], cuda.to_device(np.zeros((2, 6)))[:, ::2]):
        times(a, x, out)
        np.testing.assert_array_equal(out.to_host() if isinstance(out, ingot.Array) else out, a @ x)

    @ingot.guvectorize(["(float64[:],float64[:])"], "(n),(n)", target="cuda")
    def swap(p, q):
        for i in range(len(p)):
            p[i], q[i] = q[i], p[i]

    p, q = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    assert swap(p, q) is None
    assert not p.any() and q[1, 2] == 5
    for readonly in (np.zeros(3), np.broadcast_to(np.zeros(3), (2, 3))):
        with pytest.raises(ValueError, match="read-only"):
            swap(p, readonly)
    with pytest.raises(ValueError, match="the axis n has lengths"):
        times(a, np.ones(3))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        times(a)


def test_a_launch_with_too_much_shared_memory_is_reported_whatever_the_kernel_uses():
    @cuda.jit
    def none(x):
        x[cuda.grid(1)] += 1.0

    @cuda.jit
    def some(x):
        own = cuda.shared.array(32, float64)
        own[cuda.threadIdx.x] = 1.0
        x[cuda.grid(1)] += own[cuda.threadIdx.x]

    most = 227 << 10
    x = cuda.to_device(np.zeros(64))
    none[2, 32, 0, most](x)
    some[2, 32, 0, most - 256](x)
    np.testing.assert_array_equal(x.copy_to_host(), np.full(64, 2.0))
    for kernel, bytes_of in ((none, most + 1), (some, most - 255), (none, 1 << 31), (none, 1 << 40)):
        with pytest.raises(ingot.DeviceError, match="a launch: invalid argument"):
            kernel[2, 32, 0, bytes_of](x)
    none[2, 32](x)
    assert x.copy_to_host()[0] == 3.0
