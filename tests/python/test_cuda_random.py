"""Random numbers in kernels, which are those of `numba.cuda.random`."""

import numba.cuda.random as numba_random
import numpy as np
import pytest

import ingot
from ingot import cuda
from ingot.cuda import random

N = 40


@pytest.fixture(params=["interpreted", "emulated"], autouse=True)
def machine(request, monkeypatch):
    with ingot.device("emulated"):
        if request.param == "interpreted":
            monkeypatch.setenv("INGOT_KERNELS", "interpreted")
        yield request.param


def states_of_numba(n, seed, start=0):
    states = np.zeros(n, numba_random.xoroshiro128p_dtype)
    numba_random.init_xoroshiro128p_states_cpu(states, np.uint64(seed % 2**64), start)
    return states


def words(states):
    return states.view(np.uint64).reshape(-1, 2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n, seed, start", [(N, 1, 0), (3, 2**64 - 1, 0), (5, 0, 3), (1, -7, 2), (0, 1, 0)])
def test_states_are_numbas(n, seed, start):
    states = random.create_xoroshiro128p_states(n, seed, start)
    assert states.shape == (n, 2) and states.dtype == np.uint64 and isinstance(states, ingot.Array)
    np.testing.assert_array_equal(states.to_host(), words(states_of_numba(n, seed, start)) if n else np.zeros((0, 2), np.uint64))
    own = np.zeros((n, 2), np.uint64)
    random.init_xoroshiro128p_states(own, seed, start)
    np.testing.assert_array_equal(own, states.to_host())


@pytest.mark.parametrize("name, dtype", [
    ("next", np.uint64), ("uniform_float32", np.float32), ("uniform_float64", np.float64),
    ("normal_float32", np.float32), ("normal_float64", np.float64),
])  # fmt: skip
def test_numbers_are_numbas(name, dtype, machine):
    own, numbas = getattr(random, f"xoroshiro128p_{name}"), getattr(numba_random, f"xoroshiro128p_{name}")
    states, wanted_states = random.create_xoroshiro128p_states(N, 5), states_of_numba(N, 5)
    if machine == "interpreted":
        states = states.to_host()

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        if i < len(states):
            for k in range(out.shape[1]):
                out[i, k] = own(states, i)

    out = np.zeros((N, 7), dtype)
    draw[2, 32](states, out)
    wanted = np.array([[numbas(wanted_states, i) for _ in range(7)] for i in range(N)], dtype)
    left = states if machine == "interpreted" else states.to_host()
    np.testing.assert_array_equal(left, words(wanted_states))
    if name.startswith("normal"):
        # Logarithms of float32 and cosines are Ingot's, which differ from Numba's in the last bits.
        np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(out, wanted)


def test_results_have_numbas_dtypes():
    states = np.array(words(states_of_numba(2, 1)))
    assert type(random.xoroshiro128p_next(states, 0)) is np.uint64
    for name, dtype in (("uniform", np.float32), ("normal", np.float32), ("uniform", np.float64), ("normal", np.float64)):
        assert type(getattr(random, f"xoroshiro128p_{name}_{np.dtype(dtype).name}")(states, 1)) is dtype


def test_jumps_are_numbas():
    states, numbas = np.array(words(states_of_numba(4, 9))), states_of_numba(4, 9)
    random.xoroshiro128p_jump(states, 2)
    numba_random.xoroshiro128p_jump(numbas, 2)
    np.testing.assert_array_equal(states, words(numbas))
    random.init_xoroshiro128p_state(states, 1, 77)
    numba_random.init_xoroshiro128p_state(numbas, 1, 77)
    np.testing.assert_array_equal(states, words(numbas))


def test_a_kernel_sets_its_generators(machine):
    @cuda.jit
    def begin(states, seed):
        i = cuda.grid(1)
        random.init_xoroshiro128p_state(states, i, seed + i)

    states, numbas = np.zeros((4, 2), np.uint64), states_of_numba(4, 1)
    begin[1, 4](states, -2)
    for i in range(4):
        numba_random.init_xoroshiro128p_state(numbas, i, i - 2)
    np.testing.assert_array_equal(states, words(numbas))


def test_a_monte_carlo_estimate_of_pi():
    @cuda.jit
    def estimate(states, iterations, out):
        i = cuda.grid(1)
        inside = 0
        for _ in range(iterations):
            x = random.xoroshiro128p_uniform_float32(states, i)
            y = random.xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= 1:
                inside += 1
        out[i] = 4 * inside / iterations

    states = np.array(words(states_of_numba(64, 1)))
    out = np.zeros(64)
    estimate[2, 32](states, 50, out)
    assert abs(out.mean() - np.pi) < 0.1


def test_what_is_no_array_of_generators():
    with pytest.raises(ValueError, match=r"of shape \(n, 2\), not of float64"):
        random.init_xoroshiro128p_states(np.zeros((3, 2)), 1)
    with pytest.raises(ValueError, match="from 0 on"):
        random.create_xoroshiro128p_states(3, 1, -1)
    with pytest.raises(TypeError):
        random.create_xoroshiro128p_states(3, 1.5)
