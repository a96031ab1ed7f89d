"""Arrays on devices without anything computed: copies, views, elements, memory, and what they refuse."""

import copy
import gc
import itertools
import pickle
import subprocess
import sys
import threading
import weakref

import ingot
import numpy as np
import pytest
from ingot import _ingot
from ingot._arrays.array import DTYPES

DEVICE = ingot.device("emulated")


def filled(shape, dtype):
    """An array of a dtype whose elements differ."""
    size = int(np.prod(shape))
    values = np.arange(size) % 100
    return (values % 2 if dtype == "bool" else values * (1 - 2j) if np.dtype(dtype).kind == "c" else values).astype(dtype).reshape(shape)


def put(x):
    return ingot.device_put(x, DEVICE)


def same(device_array, x):
    """Whether an array on a device is what NumPy has: elements, dtype, shape and strides."""
    assert type(device_array) is ingot.Array
    assert (device_array.dtype, device_array.shape) == (x.dtype, x.shape)
    if x.size:
        assert device_array.strides == x.strides
    host = device_array.to_host()
    assert type(host) is np.ndarray and host.dtype == x.dtype and host.flags.writeable
    assert host.tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", [dtype.name for dtype in DTYPES])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (2, 3, 4)])
def test_arrays_come_to_a_device_and_back(dtype, shape):
    x = filled(shape, dtype)
    a = put(x)
    same(a, x)
    assert (a.ndim, a.size, a.itemsize, a.nbytes) == (x.ndim, x.size, x.itemsize, x.nbytes)
    assert a.device is DEVICE


def test_copies_keep_the_order():
    x = filled((4, 6, 8), "float64")
    same(put(np.asfortranarray(x)), np.asfortranarray(x))
    same(put(x.transpose(1, 0, 2)), x.transpose(1, 0, 2).copy("K"))
    same(put(x[::2, ::-1]), x[::2, ::-1].copy("K"))
    a = put(x.transpose(1, 0, 2))
    assert a.to_host().strides == a.strides
    y = put(x)[::2, ::-1, 1:].to_host()
    assert y.strides == x[::2, ::-1, 1:].copy("K").strides


def test_threads_enter_a_device_at_once():
    inside, outside, seen = threading.Barrier(2), threading.Barrier(2), []

    def work():
        with DEVICE, ingot.device("cpu"):
            inside.wait()
            seen.append(str(ingot.default_device()))
        outside.wait()
        seen.append(str(ingot.default_device()) != "emulated:0")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["cpu:0", "cpu:0", True, True]


def test_numbers_and_lists_come_as_numpy_makes_arrays_of_them():
    same(put(3), np.asarray(3))
    same(put([[1, 2], [3, 4]]), np.asarray([[1, 2], [3, 4]]))
    same(put(np.float32(2.5)), np.asarray(np.float32(2.5)))


@pytest.mark.parametrize(
    "x", [np.array([None]), np.array(["a"]), np.array(["2020"], "M8[D]"), np.zeros(2, "g"), np.zeros(2, ">f8"), np.zeros((1,) * 17)]
)
def test_other_arrays_are_refused(x):
    with pytest.raises(TypeError, match="cannot be on a device"):
        put(x)


def test_what_is_there_is_given_as_it_is():
    a = put(np.arange(3))
    assert put(a) is a
    assert a.to_device(DEVICE) is a
    assert type(a.to_device("cpu")) is np.ndarray
    x = np.arange(3)
    assert ingot.device_put(x, "cpu") is x


VIEWS = [
    lambda a: a.T,
    lambda a: a.mT,
    lambda a: a.transpose(1, 0, 2),
    lambda a: a.transpose((2, 0, 1)),
    lambda a: a.swapaxes(0, 2),
    lambda a: a.reshape(3, 20),
    lambda a: a.T.reshape((20, -1), order="F"),
    lambda a: a.ravel(),
    lambda a: a[:, :, :1].squeeze(),
    lambda a: a[:, :1].squeeze(1),
    lambda a: a.diagonal(1, 0, 2),
    lambda a: a.view(np.uint8),
    lambda a: a.view(),
    lambda a: a.real,
    lambda a: a[1],
    lambda a: a[-1, 2],
    lambda a: a[np.int64(1), ...],
    lambda a: a[..., 1],
    lambda a: a[1, 2, 3, ...],
    lambda a: a[::-1, 1:3, ::2],
    lambda a: a[None, :, 0, None],
    lambda a: a[5:2],
    lambda a: a[()],
    lambda a: a[::2][1:].T,
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int16"])
def test_views_are_numpys(number, dtype):
    view = VIEWS[number]
    x = filled((3, 4, 5), dtype)
    a = put(x)
    shown, expected = view(a), view(x)
    same(shown, expected)
    assert shown._address - a._address == expected.ctypes.data - x.ctypes.data


def test_the_parts_of_complex_numbers():
    z = filled((4, 3), "complex128")
    same(put(z).imag, z.imag)
    same(put(z)[1:].real, z[1:].real)
    x = put(np.ones(3))
    assert not x.imag.flags.writeable and x.imag.to_host().tolist() == [0, 0, 0]


@pytest.mark.rotated(3)
def test_views_share_and_keep_memory():
    x = filled((4, 5), "int64")
    a = put(x)
    view = a[1:, ::2]
    view[0, 0] = -1
    x[1, 0] = -1
    same(a, x)
    del a
    gc.collect()
    same(view, x[1:, ::2])


@pytest.mark.parametrize("key", [5, -5, (0, 9), (0, 0, 0, 0), (slice(None), 0, 0, 0), (..., ...)])
def test_wrong_indices_are_numpys_errors(key):
    x = filled((4, 5, 2), "int64")
    with pytest.raises(IndexError) as expected:
        x[key]
    with pytest.raises(IndexError) as got:
        put(x)[key]
    assert str(got.value) == str(expected.value)


def test_elements_are_numbers():
    x = filled((3, 4), "float32")
    a = put(x)
    assert a[1, 2] == x[1, 2] and type(a[1, 2]) is np.float32
    assert [row.to_host().tolist() for row in a] == x.tolist() == a.tolist()
    assert list(put(np.arange(3))) == [0, 1, 2]
    assert a.item(5) == x.item(5) == a.item((1, 1)) and type(a.item(5)) is float
    assert a.item(-1) == x.item(-1)
    assert len(a) == 3 and a.tobytes() == x.tobytes()
    for bad, kind in [(lambda a: a.item(), ValueError), (lambda a: a.item(99), IndexError), (lambda a: a.item(1, 1, 1), ValueError)]:
        for array in (a, x):
            with pytest.raises(kind):
                bad(array)


@pytest.mark.parametrize("convert", [bool, int, float, complex, lambda a: [10, 20, 30, 40][a]])
def test_arrays_of_one_element_are_numbers(convert):
    for x in [np.array(2), np.array([2]), np.array(2.5), np.arange(3), np.zeros(0), np.array(1 + 2j)]:
        try:
            expected = convert(x)
        except Exception as error:
            with pytest.raises(type(error)) as got:
                convert(put(x))
            assert str(got.value) == str(error)
        else:
            assert convert(put(x)) == expected


def test_how_arrays_are_shown():
    x = np.array([1.5, 2.0])
    assert repr(put(x)) == "Array([1.5, 2. ], device=emulated:0)"
    assert repr(put(x.astype("f4"))) == "Array([1.5, 2. ], dtype=float32, device=emulated:0)"
    assert str(put(x)) == str(x)
    assert f"{put(np.array(1.5)):.3f}" == "1.500"
    lines = repr(put(np.arange(6).reshape(2, 3))).splitlines()
    assert lines == ["Array([[0, 1, 2],", "       [3, 4, 5]], device=emulated:0)"]


def test_writes_into_arrays():
    x = filled((4, 5), "float32")
    a = put(x)
    for key, value in [(0, 3), ((1, 2), 4.5), (slice(2, 4), filled((2, 5), "int8")), (slice(2, 4), [1, 2, 3, 4, 5]), (..., np.float64(2))]:
        a[key] = value
        x[key] = value
        same(a, x)
    b = put(filled((4, 5), "float32"))
    b[1] = a[0].to_host()
    with pytest.raises(ValueError, match="could not broadcast"):
        a[0] = [1, 2]
    with pytest.raises(IndexError):
        a[4] = 1


def test_arrays_that_are_read_only():
    a = put(np.arange(3))
    assert a.flags.writeable
    view = a[1:]
    view.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        view[0] = 1
    assert not view[:1].flags.writeable
    a[1] = 7
    assert view.tolist() == [7, 2]
    assert view.copy().flags.writeable


def test_flags():
    x = filled((3, 4), "float64")
    for view in [lambda a: a, lambda a: a.T, lambda a: a[:, ::2], lambda a: a[:1], lambda a: a[:0]]:
        shown, expected = view(put(x)).flags, view(x).flags
        for name in ("c_contiguous", "f_contiguous", "forc", "writeable"):
            assert getattr(shown, name) == getattr(expected, name)
    assert "C_CONTIGUOUS : True" in repr(put(x).flags)


def test_copies():
    x = filled((3, 4), "int32")
    a = put(x)
    for made in [a.copy(), copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))]:
        same(made, x)
        assert made._address != a._address and made.device is DEVICE
    same(copy.copy(a.T), x.T)
    same(a.T.copy("F"), x.T)
    same(a.T.flatten("F"), x.T.flatten("F"))
    assert a.astype("int32", copy=False) is a
    same(a.astype("int32"), x)
    with pytest.raises(TypeError, match="cannot be on a device"):
        a.astype("U3")
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        a.astype("int8", casting="safe")


def test_arrays_are_no_keys():
    a = put(np.arange(3))
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(a)
    with pytest.raises(TypeError, match="made by ingot.device_put"):
        ingot.Array()
    with pytest.raises(TypeError, match="has no subclasses"):
        type("Mine", (ingot.Array,), {})
    seen = weakref.ref(a)
    del a
    assert seen() is None


def test_numpy_does_not_reach_them():
    a = put(np.arange(3.0))
    for use in [np.asarray, np.array, lambda a: np.array([a, a]), memoryview, lambda a: np.zeros(3).__setitem__(..., a)]:
        with pytest.raises(TypeError) as error:
            use(a)
        if use is np.asarray:
            assert "bring it to the host with `.to_host()`" in str(error.value)


def test_other_libraries_do_not_reach_the_memory_of_the_software_device():
    a = put(np.arange(3.0))
    with pytest.raises(AttributeError, match="no other library reaches the memory of emulated:0"):
        a.__cuda_array_interface__  # noqa: B018
    assert not hasattr(a, "__cuda_array_interface__")
    for use in [a.__dlpack__, a.__dlpack_device__, lambda: np.from_dlpack(a)]:
        with pytest.raises(BufferError, match="no other library reaches the memory of emulated:0"):
            use()


@pytest.mark.rotated(3)
def test_arrays_given_by_dlpack():
    x = filled((3, 4), "complex64")
    a = put(x)
    for versioned, view in itertools.product([False, True], [lambda a: a, lambda a: a.T, lambda a: a[::-1, 1:], lambda a: a[:0]]):
        capsule = _ingot.to_capsule(view(a), 2, versioned, False)
        other = _ingot.of_capsule(capsule, DEVICE._handle)
        same(other, view(x))
        assert other._address == view(a)._address
        with pytest.raises(ValueError, match="nobody has taken"):
            _ingot.of_capsule(capsule, DEVICE._handle)
    before = ingot.memory(DEVICE)["in_use"]
    del a, capsule
    gc.collect()
    same(other, x[:0])
    other = None
    assert ingot.memory(DEVICE)["in_use"] < before
    b = put(np.arange(3))
    b.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        _ingot.to_capsule(b, 2, False, False)
    assert not _ingot.of_capsule(_ingot.to_capsule(b, 2, True, False), DEVICE._handle).flags.writeable
    assert ingot.from_dlpack(b) is b
    assert np.shares_memory(ingot.from_dlpack(x), x)


def test_devices():
    assert repr(DEVICE) == "emulated:0"
    assert ingot.devices("emulated")[0] is DEVICE is ingot.device("emulated:0") is ingot.device(DEVICE)
    assert (DEVICE.kind, DEVICE.index, DEVICE.capability) == ("emulated", 0, 90)
    assert DEVICE.memory > 1 << 30 and DEVICE.name
    assert pickle.loads(pickle.dumps(DEVICE)) is DEVICE is copy.deepcopy(DEVICE)
    (cpu,) = ingot.devices("cpu")
    assert repr(cpu) == "cpu:0" and ingot.devices()[-1] is cpu
    for kind in ("tpu", "emulated:x"):
        with pytest.raises(ValueError):
            ingot.devices(kind)
    with pytest.raises(ValueError, match="the kinds of devices are gpu, emulated, opencl, amd, cpu, not 'tpu'"):
        ingot.devices("tpu")
    with pytest.raises(ValueError, match="is named such as"):
        ingot.device("emulated:x")
    with pytest.raises(RuntimeError, match="there is no device emulated:7: there is one"):
        ingot.device("emulated", 7)
    with pytest.raises(TypeError):
        ingot.device(7)
    DEVICE.synchronize()


def test_the_default_device():
    assert ingot.default_device() is ingot.devices()[0]
    with DEVICE:
        assert ingot.device_put(1).device is DEVICE
        with ingot.device("cpu"):
            assert type(ingot.device_put([1])) is np.ndarray
        assert ingot.default_device() is DEVICE
    try:
        ingot.set_default_device("emulated")
        assert ingot.default_device() is DEVICE
        with ingot.device("cpu"):
            assert ingot.default_device().kind == "cpu"
    finally:
        ingot.set_default_device(None)
    assert ingot.default_device() is ingot.devices()[0]


def test_memory_of_a_device():
    ingot.release_memory(DEVICE)  # a block that is kept may be an eighth larger
    before = ingot.memory(DEVICE)
    ingot.reset_memory_peak(DEVICE)
    a = put(np.zeros(1 << 20))
    assert ingot.memory("emulated")["in_use"] == before["in_use"] + (8 << 20)
    b = a[1:]
    del a
    assert ingot.memory(DEVICE)["in_use"] == before["in_use"] + (8 << 20)
    del b
    after = ingot.memory(DEVICE)
    assert after["in_use"] == before["in_use"]
    assert after["peak"] >= before["in_use"] + (8 << 20)
    assert after["kept"] >= 8 << 20
    assert ingot.release_memory(DEVICE) >= 8 << 20
    assert ingot.memory(DEVICE)["kept"] == 0
    assert set(after) == {"limit", "in_use", "kept", "peak", "to_device", "to_host"}
    assert set(ingot.memory()) == set(ingot.memory("cpu")) == {"limit", "in_use", "kept", "peak"}
    assert ingot.release_memory("cpu") == 0


def test_memory_that_has_run_out():
    ingot.set_memory_limit(DEVICE, ingot.memory(DEVICE)["in_use"] + (1 << 20))
    try:
        with pytest.raises(MemoryError, match=r"Unable to allocate 16 MiB for an array with shape \(1024, 2048\) and data type float64 on emulated:0"):
            put(np.zeros((1024, 2048)))
        put(np.zeros(10))
    finally:
        ingot.set_memory_limit(DEVICE, 0)
    put(np.zeros((1024, 2048)))
    for wrong in [lambda: ingot.set_memory_limit(DEVICE, -1), lambda: ingot.set_memory_limit("cpu", 1)]:
        with pytest.raises(ValueError):
            wrong()


def test_no_driver_is_opened_before_one_is_asked_for():
    text = """
import ingot, numpy as np
@ingot.jit(device="gpu")
def f(x): return x
g = ingot.jit(lambda x: x + 1)
g(np.zeros(3))
print(any("libcuda" in line for line in open("/proc/self/maps")))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
