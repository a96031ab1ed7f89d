"""Arrays that are too large: the exceptions that NumPy raises, with its messages."""

import ingot
import numpy as np
import pytest
from support import MODES, jitted

LONG = np.broadcast_to(np.float32(1), (10**8,))

TOO_LARGE = [
    (lambda n: np.zeros(n), 10**15),
    (lambda n: np.ones((n, n)) + 1.0, 10**8),
    (lambda n: np.full((2, n, 3), 1.5), 10**15),
    (lambda n: np.empty(n, np.complex64), 10**15),
    (lambda n: np.zeros((n, n), np.int16), 10**8),
    (lambda x: x[:, None] * x[None, :], LONG),
]

BEYOND = [
    (lambda n: np.zeros(n), 2**62),
    (lambda n: np.zeros(n), 2**61),
    (lambda n: np.ones((n, n)), 2**40),
    (lambda n: np.empty(n), 2**61),
    (lambda n: np.empty((n, 8), np.int8), 2**60),
    (lambda n: np.zeros((0, n)), 2**61),
]


def raised(function, *arguments):
    with pytest.raises(BaseException) as caught:
        function(*arguments)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("function, argument", TOO_LARGE)
def test_memory_that_is_not_there(function, argument):
    assert raised(jitted(function), argument) == raised(function, argument)
    with pytest.raises(MemoryError):
        jitted(function, "interpreted")(argument)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function, argument", BEYOND)
def test_sizes_that_no_number_holds(mode, function, argument):
    assert raised(jitted(function, mode), argument) == raised(function, argument)


def test_a_product_of_lengths_that_no_number_holds_is_not_allocated():
    """NumPy raises ValueError here: it looks at the size before it asks for memory."""
    x = np.broadcast_to(np.int8(1), (2**40,))
    with pytest.raises(MemoryError):
        jitted(lambda x: x[:, None] * x[None, :])(x)


def test_lengths_of_zero_need_no_memory():
    for mode in MODES:
        assert jitted(lambda n: np.zeros((0, n)), mode)(2**40).shape == (0, 2**40)


def left_by_exceptions(n, m):
    s = 0.0
    for i in range(n):
        try:
            t = np.zeros(m)
            t[0] = i
            if t[0] >= 0.0:
                raise ValueError
            s += t[1]
        except ValueError:
            s += 1.0
    return s


def test_regions_that_exceptions_leave_free_their_arrays():
    f = ingot.jit(left_by_exceptions)
    f(2, 10)
    before = ingot.memory()["in_use"]
    assert f(1000, 100_000) == 1000.0
    assert ingot.memory()["peak"] - before < 100_000_000  # all of them have 800 MB
