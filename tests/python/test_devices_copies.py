"""What calls on devices copy: which bytes of NumPy's arrays go there and come back."""

import dataclasses

import ingot
import numpy as np

DEVICE = ingot.device("emulated")
N = 1 << 12
BYTES = 8 * N
COUNTED = np.arange(float(N))


def put(x):
    return ingot.device_put(x, DEVICE)


class moved:
    """The bytes that what is inside moves: to the device, and to the host."""

    def __enter__(self):
        self.before = ingot.memory(DEVICE)
        return self

    def __exit__(self, *error):
        after = ingot.memory(DEVICE)
        self.there, self.back = (after[name] - self.before[name] for name in ("to_device", "to_host"))


def test_bytes_that_are_moved_are_counted():
    with moved() as m:
        a = put(np.zeros(N))
    assert (m.there, m.back) == (BYTES, 0)
    with moved() as m:
        a.to_host()
        a[1:3].to_host()
    assert (m.there, m.back) == (0, BYTES + 16)
    assert "to_device" not in ingot.memory()


def test_arrays_that_are_read_alone_are_not_copied_back():
    @ingot.jit
    def f(a, x, y, z):
        z[:] = x[::-1] + y.sum()
        return a + x

    x, y, z, a = np.arange(float(N)), np.ones(N), np.zeros(N), put(np.ones(N))
    for _ in range(2):
        with moved() as m:
            result = f(a, x, y, z)
        assert m.there == 3 * BYTES and m.back == BYTES
        assert z.tolist() == (x[::-1] + N).tolist() and result.tolist() == (x + 1).tolist()


def test_a_call_that_writes_nothing_copies_nothing_back():
    @ingot.jit
    def f(a, x):
        return a * x

    x, a = np.arange(float(N)), put(np.ones(N))
    f(a, x)
    with moved() as m:
        f(a, x)
    assert (m.there, m.back) == (BYTES, 0)


def test_functions_of_a_device_copy_results_and_what_they_write():
    @ingot.jit(device="emulated")
    def f(x, y):
        y += x
        return y * 2

    x, y = np.arange(float(N)), np.ones(N)
    f(x, y)
    with moved() as m:
        result = f(x, y)
    assert (m.there, m.back) == (2 * BYTES, 2 * BYTES)
    assert y.tolist() == (1 + 2 * x).tolist() and result.tolist() == (2 + 4 * x).tolist()


def test_views_are_written_through():
    @ingot.jit
    def f(a, x, y):
        rows = x.reshape(2, -1)
        last = rows[1, ::-2]
        for k in range(3):
            last = last[1:]
        last[0] = a[0] + y[0]
        return a

    x, y, a = np.zeros(N), np.ones(N), put(np.ones(3))
    f(a, x, y)
    with moved() as m:
        f(a, x, y)
    assert m.back == BYTES and x.sum() == 2 and y.sum() == N


def test_what_may_be_one_of_several_arrays_is_copied_back():
    @ingot.jit
    def f(a, x, y, z, n):
        for _ in range(n):
            x, y = y, x
        x[0] = a[0]
        return z + a[0]

    x, y, z, a = np.zeros(N), np.zeros(N), np.zeros(N), put(np.ones(3))
    for n in (0, 1):
        with moved() as m:
            f(a, x, y, z, n)
        assert m.there == 3 * BYTES and 2 * BYTES <= m.back < 3 * BYTES
    assert x[0] == y[0] == 1


def test_what_is_called_writes():
    @ingot.jit
    def put_in(target, value, depth):
        if depth > 0:
            put_in(target, value, depth - 1)
        else:
            target[0] = value

    @ingot.jit
    def f(a, x, y):
        put_in(x, a.sum(), 3)
        return a + y[0]

    x, y, a = np.zeros(N), np.zeros(N), put(np.ones(3))
    for count in (1, 2):
        f(a, x, y)
        assert x[0] == 3
        x[0] = count


@dataclasses.dataclass
class Pair:
    first: np.ndarray
    second: np.ndarray


def test_arrays_in_containers_and_instances():
    @ingot.jit
    def f(a, pair, items, named):
        pair.second[:] = pair.first + items[0]
        named["b"][1] = items[1][0]
        return a + pair.first[0]

    pair, items = Pair(np.arange(float(N)), np.zeros(N)), (np.ones(N), np.full(N, 5.0))
    named, a = {"a": np.zeros(N), "b": np.zeros(N)}, put(np.ones(3))
    f(a, pair, items, named)
    pair.second[:] = 0
    with moved() as m:
        f(a, pair, items, named)
    assert m.back == 2 * BYTES
    assert pair.second.tolist() == (pair.first + 1).tolist() and named["b"][1] == 5


def test_captured_arrays():
    @ingot.jit
    def read(a):
        return a + COUNTED

    @ingot.jit
    def write(a):
        COUNTED[0] += a[0]
        return a

    a = put(np.ones(N))
    read(a), write(a)
    with moved() as m:
        read(a)
    assert (m.there, m.back) == (BYTES, 0)
    before = COUNTED[0]
    with moved() as m:
        write(a)
    assert m.back == BYTES and COUNTED[0] == before + 1


def test_arrays_that_overlap_come_back_once():
    @ingot.jit
    def f(a, x, y):
        x[:] = a[0]
        return a + y[0]

    memory, a = np.zeros(N + 1), put(np.ones(3))
    f(a, memory[1:], memory[:-1])
    memory[:] = 0
    with moved() as m:
        f(a, memory[1:], memory[:-1])
    assert m.there == m.back == BYTES + 8
    assert memory.tolist() == [0] + [1] * N


def test_writes_before_an_exception_come_back():
    @ingot.jit
    def f(a, x, y):
        x[:] = y + a[0]
        return x[y.shape[0]]

    x, y, a = np.zeros(N), np.ones(N), put(np.ones(3))
    for _ in range(2):
        x[:] = 0
        try:
            f(a, x, y)
        except IndexError:
            pass
        else:
            raise AssertionError("there is no such element")
        assert x.tolist() == [2] * N


def test_what_the_host_writes_is_seen():
    seen = []

    @ingot.host(result=float)
    def look(x: float) -> float:
        seen.append((written[0], read[0]))
        read[1] = 7.0
        return x

    @ingot.jit
    def f(a, x, y):
        x[0] = a[0]
        total = look(2.0)
        return a + y[1] * total

    written, read = np.zeros(N), np.zeros(N)
    result = f(put(np.ones(3)), written, read)
    assert seen == [(1.0, 0.0)] and result.tolist() == [15.0] * 3 and read[1] == 7


def test_sorts_and_draws_write():
    @ingot.jit
    def f(a, x, y):
        x.sort()
        return a + y.max()

    x, y, a = np.arange(float(N))[::-1].copy(), np.ones(N), put(np.ones(3))
    f(a, x, y)
    assert x.tolist() == list(range(N))
