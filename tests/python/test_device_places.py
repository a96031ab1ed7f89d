"""The index of the largest or smallest element of a line, on devices: reductions of all of it, that wait for nothing in between."""

import numpy as np
import pytest

import ingot

DEVICE = ingot.device("emulated")
rng = np.random.default_rng(3)


@ingot.jit
def places(x):
    return x.argmax(), np.argmin(x)


@ingot.jit
def places_of_rows(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i].argmax()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8"])
def test_lines(dtype):
    for length in (1, 2, 33, 1024, 1025, 50_003):
        x = (rng.random(length) * 100).astype(dtype)
        for _ in range(2):
            found = places(ingot.device_put(x, DEVICE))
            assert found == (x.argmax(), x.argmin())
            assert [type(place) for place in found] == [np.int64] * 2
            x[length // 2] = x.max()
            x[-1] = x.min()
            if x.dtype.kind == "f":
                x[[length // 3, length - 1]] = np.nan


def test_a_line_of_nothing_is_numpys_error():
    with pytest.raises(ValueError, match="attempt to get argmax of an empty sequence"):
        places(ingot.device_put(np.zeros(0), DEVICE))


@pytest.mark.rotated(3)
def test_launches_do_not_depend_on_the_length():
    for length in (3000, 3_000_000):
        for device in ("sm_90", "emulated"):
            found = places.explain(np.zeros(length), device=device).launches
            assert len(found.launches) == 7 and found.waits == 2


@pytest.mark.rotated(3)
def test_loops_over_rows_are_one_launch():
    x, out = rng.random((40, 70)), np.zeros(40, int)
    on_device = ingot.device_put(out, DEVICE)
    places_of_rows(ingot.device_put(x, DEVICE), on_device)
    np.testing.assert_array_equal(on_device.to_host(), x.argmax(axis=1))
    assert len(places_of_rows.explain(x, out, device="sm_90").launches.launches) == 1
