"""Several devices: arrays that go from one to another, and functions on each of them."""

import os
import subprocess
import sys

import ingot
import pytest

PROGRAM = """
import threading

import ingot
import numpy as np
from ingot import cuda

devices = ingot.devices("emulated")
assert len(devices) == 3 and [str(d) for d in devices] == ["emulated:0", "emulated:1", "emulated:2"]
first, second, third = devices
rng = np.random.default_rng(0)


def copies():
    for x in (rng.random((5, 7)), np.asfortranarray(rng.random((5, 7))), np.arange(3, dtype=np.int8), np.zeros((0, 3)), np.array(2.5)):
        a = ingot.device_put(x, first)
        before = [ingot.memory(d) for d in devices]
        b = ingot.device_put(a, second)
        after = [ingot.memory(d) for d in devices]
        assert all(m[k] == n[k] for m, n in zip(before, after) for k in ("to_device", "to_host"))
        assert b.device is second and b.to_host().tobytes(order="A") == x.tobytes(order="A") and b.flags.f_contiguous == x.flags.f_contiguous
        a[...] = 0
        assert b.to_host().tolist() == x.tolist()
        assert ingot.device_put(b, "emulated:1") is b
    a = ingot.device_put(rng.random((6, 8)), first)
    view = ingot.device_put(a[::2, 1::3], third)
    assert view.device is third and view.tolist() == a.to_host()[::2, 1::3].tolist()
    assert type(ingot.device_put(a, "cpu")) is np.ndarray


@ingot.jit
def grow(x):
    for _ in range(3):
        x[:] = x * 2 + 1
    return x


def order():
    def expected(x):
        for _ in range(3):
            x = x * 2 + 1
        return x

    for _ in range(10):
        x = rng.random(500)
        a = ingot.device_put(x, first)
        grow(a)
        b = ingot.device_put(a, second)
        a[:] = -1  # what comes later there does not change the copy
        grow(b)
        c = ingot.device_put(b, first)
        del b
        spoiled = ingot.device_put(np.zeros(500), second)
        grow(c)
        assert c.tolist() == expected(expected(expected(x))).tolist() and spoiled.tolist() == [0] * 500
    streams = []
    for device in (first, second):
        with device:
            streams.append(cuda.stream())
    with streams[0]:
        a = ingot.device_put(x, first)
        grow(a)
    with streams[1]:
        b = grow(ingot.device_put(a, second))
    assert b.tolist() == expected(expected(x)).tolist()


def functions():
    x = rng.random((30, 4))
    results = {}

    def work(device):
        a = ingot.device_put(x, device)
        for _ in range(5):
            y = np.sin(a) @ a.T
        results[device] = y, y.sum(axis=0)

    threads = [threading.Thread(target=work, args=(d,)) for d in devices]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wanted = ingot.jit(lambda a: np.sin(a) @ a.T)(x)
    for device, (y, total) in results.items():
        assert y.device is device and total.device is device
        assert y.to_host().shape == wanted.shape and np.allclose(y.to_host(), wanted)
    try:
        ingot.device_put(x, first) + ingot.device_put(x, second)
    except ValueError as error:
        assert "emulated:0" in str(error) and "emulated:1" in str(error)
    else:
        raise AssertionError("arrays on two devices")
    assert ingot.memory(third)["in_use"] < ingot.memory(third)["peak"]
    f = ingot.jit(lambda a: a + 1, device="emulated:2")
    assert f(x).tolist() == (x + 1).tolist()
    g = ingot.graph(grow, ingot.device_put(np.ones(3), second))
    a = ingot.device_put(np.ones(3), second)
    assert g(a) is a and a.tolist() == [15] * 3
    assert g(ingot.device_put(np.ones(3), third)).tolist() == [15] * 3 and g.captures == 2
    try:
        ingot.graph(lambda a: ingot.device_put(a, third), a)
    except ingot.UnsupportedError as error:
        assert "another device in a graph" in str(error)
    else:
        raise AssertionError("a copy between devices in a graph")


"""


def run(call: str, seed: int = 0, **more: str) -> None:
    environment = {**os.environ, "INGOT_EMULATOR_DEVICES": "3", "INGOT_EMULATOR_SEED": str(seed), **more}
    done = subprocess.run([sys.executable, "-c", PROGRAM + call], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_arrays_are_copied_from_device_to_device():
    run("copies()")


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_copies_between_devices_are_ordered_in_both_streams(seed):
    run("order()", seed)


@pytest.mark.rotated(3)
def test_functions_run_on_each_device():
    run("functions()")


def test_there_is_one_where_nothing_is_specified():
    assert len(ingot.devices("emulated")) == 1
