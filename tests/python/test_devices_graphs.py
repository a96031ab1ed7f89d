"""Graphs: what functions launch on devices, recorded once and replayed."""

import collections
import gc
import threading

import numpy as np
import pytest

import ingot
from ingot import cuda

DEVICE = ingot.device("emulated")
rng = np.random.default_rng(3)
SCALE = ingot.device_put(np.full(4, 2.0), DEVICE)


@pytest.fixture(params=["emulated", "opencl"])
def device(request):
    return ingot.device(request.param)


def put(x, device=DEVICE):
    return ingot.device_put(x, device)


def same(a, b):
    """Whether two results are of the same types and bits."""
    assert type(a) is type(b)
    if isinstance(a, ingot.Array):
        a, b = a.to_host(), b.to_host()
        assert (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif type(a) is dict:
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    else:
        assert a == b


@ingot.jit
def smooth(x, n):
    for _ in range(n):
        x[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return x


@ingot.jit
def chain(x, y):
    z = np.sin(x) * y
    total = z.sum(axis=0)
    return z - total, total, x[::2]


def test_recording_does_nothing():
    x = put(np.ones(10))
    g = ingot.graph(smooth, x * 1, 3)
    y = put(np.arange(10.0) ** 2)
    before = y.to_host()
    g = ingot.graph(smooth, y, 3)
    assert y.tolist() == before.tolist() and g.captures == 1
    g()
    assert y.tolist() != before.tolist()


def test_replays_are_calls(device):
    x, y = put(rng.random((40, 6)), device), put(rng.random((40, 6)), device)
    expected = chain(x, y)
    g = ingot.graph(chain, x, y)
    for _ in range(3):
        same(g(), expected)
        same(g(x, y), expected)
        same(g(x, y=y), expected)
    assert g.captures == 1 and g.launches >= 2 and g.waits == 0


def test_other_arrays_replace_the_captured_ones(device):
    g = ingot.graph(chain, put(np.ones((40, 6)), device), put(np.ones((40, 6)), device))
    for _ in range(3):
        x, y = put(rng.random((40, 6)), device), put(rng.random((40, 6)), device)
        same(g(x, y), chain(x, y))
        same(g(y, x), chain(y, x))
    assert g.captures == 1


def test_writes_go_into_the_arrays_that_are_given(device):
    x = rng.random(30)
    mine, yours = put(x, device), put(x, device)
    g = ingot.graph(smooth, put(np.zeros(30), device), 5)
    for _ in range(3):
        result = g(mine, 5)
        assert result is mine
        same(mine, smooth(yours, 5))
    assert g.captures == 1


def test_results_are_fresh():
    x, y = put(rng.random((40, 6))), put(rng.random((40, 6)))
    g = ingot.graph(chain, x, y)
    first = g(x, y)
    kept = [a.to_host() for a in first]
    second = g(y, x)
    same([put(a) for a in kept], list(first))
    first[0][:] = 0
    same(second, chain(y, x))
    same(g(x, y), chain(x, y))


def test_views_of_arguments_show_them():
    x, y = put(rng.random((40, 6))), put(rng.random((40, 6)))
    view = ingot.graph(chain, x, y)(x, y)[2]
    x[2] = 7
    assert view[1].tolist() == [7] * 6
    x._writable = False
    assert not ingot.graph(chain, x, y)(x, y)[2].flags.writeable


def test_results_that_share_memory_share_it():
    @ingot.jit
    def f(x):
        y = x * 2
        return y, y[1:], y.reshape(2, -1)

    whole, rest, square = ingot.graph(f, put(np.ones(6)))()
    whole[1] = 9
    assert rest[0] == 9 and square[0, 1] == 9


def test_other_shapes_dtypes_strides_and_numbers_are_recorded_anew():
    @ingot.jit
    def f(x, factor):
        return x * factor

    x = rng.random((6, 4))
    g = ingot.graph(f, put(x), 2.0)
    cases = [(put(x[:3]), 2.0), (put(x.astype("float32")), 2.0), (put(x).T, 2.0), (put(x), 3.0), (put(x), 3), (put(x), -0.0)]
    for count, (a, factor) in enumerate(cases, 2):
        same(g(a, factor), f(a, factor))
        assert g.captures == count
    for a, factor in cases:
        same(g(a, factor), f(a, factor))
    assert g.captures == 7
    for factor in range(10, 20):
        same(g(put(x), float(factor)), f(put(x), float(factor)))
    same(g(put(x), 2.0), f(put(x), 2.0))


def test_arrays_that_overlap_otherwise_are_recorded_anew():
    @ingot.jit
    def f(x, y):
        x[:] = y * 2 + x
        return x

    def both(memory, a, b):
        return memory[a : a + 8], memory[b : b + 8]

    g = ingot.graph(f, *both(put(np.arange(20.0)), 0, 10))
    for a, b in ((0, 10), (0, 1), (1, 0), (3, 4), (5, 5), (10, 1), (2, 12)):
        memory, expected = put(np.arange(20.0)), np.arange(20.0)
        f(*both(expected, a, b))
        g(*both(memory, a, b))
        assert memory.tolist() == expected.tolist()
    assert g.captures == 4


def test_arrays_that_overlap_with_an_empty_one_between():
    def f(x, nothing, y):
        for i in range(x.shape[0]):
            y[i] = x[i] + 1
        return nothing.shape[0]

    def parts(memory):
        return memory[:60], memory[20:20], memory[40:]

    g = ingot.graph(ingot.jit(f), *parts(put(np.zeros(100))))
    for _ in range(2):
        memory, expected = put(np.arange(100.0)), np.arange(100.0)
        assert g(*parts(memory)) == f(*parts(expected))
        assert memory.tolist() == expected.tolist()
    assert g.captures == 1


def test_empty_arrays():
    g = ingot.graph(chain, put(np.ones((0, 3))), put(np.ones((0, 3))))
    same(g(), chain(put(np.ones((0, 3))), put(np.ones((0, 3)))))


def test_containers_and_keywords():
    Pair = collections.namedtuple("Pair", "a b")

    @ingot.jit
    def f(pair, items, *, scale):
        return {"sum": pair.a + items[0], "scaled": [pair.b * scale, None]}, 3

    args = (Pair(put(np.ones(4)), put(np.arange(4.0))), (put(np.full(4, 3.0)),))
    g = ingot.graph(f, *args, scale=2.0)
    same(g(), f(*args, scale=2.0))
    other = (Pair(put(np.zeros(4)), put(np.ones(4))), (put(np.full(4, 5.0)),))
    same(g(*other, scale=2.0), f(*other, scale=2.0))
    assert g.captures == 1


def test_arrays_and_numbers_from_outside_are_those_of_the_replay():
    global SCALE

    @ingot.jit
    def f(x):
        return x * SCALE

    x = put(np.arange(4.0))
    g = ingot.graph(f, x)
    assert g().tolist() == [0, 2, 4, 6]
    SCALE = put(np.full(4, 3.0))
    assert g().tolist() == [0, 3, 6, 9] and g.captures == 1
    SCALE = put(np.full(1, 4.0))
    assert g().tolist() == [0, 4, 8, 12] and g.captures == 2
    SCALE = put(np.full(4, 2.0))
    assert g().tolist() == [0, 2, 4, 6]


def test_exceptions_are_the_calls(device):
    @ingot.jit
    def f(x, places):
        x[:] = x + 1
        y = np.empty(places.shape[0])
        for i in range(places.shape[0]):
            y[i] = x[places[i]]
        x[:] = x + 10
        return y * 2

    good, bad = np.array([0, 3, 1]), np.array([0, 5, -7])
    x, mine = put(np.arange(4.0), device), np.arange(4.0)
    g = ingot.graph(f, x, put(good, device))
    assert g.waits >= 1
    for places in (good, bad, good, bad):
        try:
            expected = f(mine, places)
        except IndexError as error:
            with pytest.raises(IndexError) as caught:
                g(x, put(places, device))
            assert str(caught.value) == str(error)
        else:
            assert g(x, put(places, device)).tolist() == expected.tolist()
        assert x.tolist() == mine.tolist()
    assert g.captures == 1


def test_exceptions_of_the_users():
    class Wrong(Exception):
        pass

    @ingot.jit
    def f(x):
        for i in range(x.shape[0]):
            if x[i] < 0:
                raise Wrong("negative", i)
        return x + 1

    g = ingot.graph(f, put(np.ones(3)))
    assert g().tolist() == [2] * 3
    with pytest.raises(Wrong) as caught:
        g(put(np.array([1.0, 1.0, -1.0])))
    assert caught.value.args == ("negative", 2)
    assert g().tolist() == [2] * 3


def test_python_functions_are_one_graph(device):
    calls = []

    def step(x, w, rate):
        calls.append(rate)
        y = ingot.numpy.sin(x) * w
        total = chain(x, y)[0]
        x -= total * rate
        return {"y": y, "x": x, "calls": len(calls)}

    def reference(x, w, rate):
        y = ingot.numpy.sin(x) * w
        x -= chain(x, y)[0] * rate
        return {"y": y, "x": x, "calls": 1}

    x, w = rng.random((20, 3)), rng.random((20, 3))
    mine, yours = put(x, device), put(x, device)
    g = ingot.graph(step, mine, put(w, device), 0.5)
    assert mine.tolist() == x.tolist()
    for _ in range(3):
        same(g(mine, put(w, device), 0.5), reference(yours, put(w, device), 0.5))
        same(mine, yours)
    assert calls == [0.5] and g.captures == 1
    g(mine, put(w, device), 0.25)
    assert calls == [0.5, 0.25] and g.captures == 2


def test_kernels_in_a_graph():
    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    def f(x, y):
        out = ingot.numpy.zeros_like(x)
        add[4, 32](x, y, out)
        add[4, 32](out, y, out)
        return out

    x, y = put(rng.random(100)), put(rng.random(100))
    same(ingot.graph(f, x, y)(), x + y + y)


def test_launches_whose_blocks_wait_for_each_other():
    @cuda.jit
    def iteration(x, out):
        i = cuda.grid(1)
        x[i] += 1
        cuda.cg.this_grid().sync()
        out[i] = x[x.size - 1 - i]

    def f(x, out):
        iteration[2, 16](x, out)

    x, out = put(np.arange(32.0)), put(np.zeros(32))
    g = ingot.graph(f, x, out)
    for count in (1, 2):
        g()
        assert out.tolist() == [31 - i + count for i in range(32)]
    other = put(np.zeros(32))
    g(x, other)
    assert other.tolist() == [31 - i + 3 for i in range(32)] and g.captures == 1


def line_of(error, text):
    message = str(error.value)
    assert text in message and f"{__file__}:" in message, message
    return message


def test_numbers_that_the_host_needs_are_refused_with_their_line():
    @ingot.jit
    def f(x):
        x[:] = x + 1
        while x.sum() > 3:
            x[:] = x - 1
        return x

    x = put(np.ones(3))
    with pytest.raises(ingot.UnsupportedError) as error:
        ingot.graph(f, x)
    assert "while x.sum() > 3" in line_of(error, "a number that the host needs in a graph")
    assert x.tolist() == [1] * 3
    with pytest.raises(ingot.UnsupportedError) as error:
        ingot.graph(ingot.jit(lambda x: x.sum()), x)
    line_of(error, "a number that the host needs in a graph")
    with pytest.raises(ingot.UnsupportedError, match="a number that the host needs"):
        ingot.graph(ingot.jit(lambda x: x[x > 0]), x)
    assert f(x).tolist() == [1, 1, 1]


def test_calls_of_the_host_are_refused_with_their_line():
    @ingot.host(result=float)
    def look(x: float) -> float:
        return x

    @ingot.jit
    def f(x):
        return x + look(2.0)

    @ingot.jit
    def g(x):
        return np.linalg.inv(x)

    @ingot.jit
    def h(x):
        print(x.shape[0])
        return x

    for function, text in ((f, "look(2.0)"), (g, "np.linalg.inv(x)"), (h, "print(x.shape[0])")):
        with pytest.raises(ingot.UnsupportedError) as error:
            ingot.graph(function, put(np.eye(3)))
        assert text in line_of(error, "in a graph is not supported")
        function(put(np.eye(3)))


def test_what_python_does_with_the_host_is_refused():
    x = put(np.ones(3))
    cases = {
        "a copy from the device": lambda a: a.to_host(),
        "a copy to the device": lambda a: a + put(np.ones(3)),
        "waiting": lambda a: a.block_until_ready(),
        "a result of type ndarray": lambda a: np.ones(3),
        "a number that the host needs": lambda a: a + a.sum(),
        "an event": lambda a: cuda.event().record(),
    }
    for text, function in cases.items():
        with ingot.device(DEVICE), pytest.raises(ingot.UnsupportedError, match=text):
            ingot.graph(function, x)
        assert (x + 1).tolist() == [2] * 3


def test_arguments_that_a_graph_does_not_take():
    with pytest.raises(ingot.UnsupportedError, match="an array of NumPy's"):
        ingot.graph(chain, np.ones((2, 2)), put(np.ones((2, 2))))
    with pytest.raises(ingot.UnsupportedError, match="does not run on a device"):
        ingot.graph(chain, np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(ingot.UnsupportedError, match="an argument of type ndarray|an array of NumPy's"):
        ingot.graph(lambda x, y: x, put(np.ones(2)), np.ones(2))
    with pytest.raises(ingot.UnsupportedError, match="an argument of type object"):
        ingot.graph(lambda x, y: x, put(np.ones(2)), object())
    with pytest.raises(TypeError):
        ingot.graph(chain, put(np.ones(2)))
    g = ingot.graph(chain, put(np.ones((2, 2))), put(np.ones((2, 2))))
    with pytest.raises(ingot.UnsupportedError, match="an array of NumPy's"):
        g(np.ones((2, 2)), put(np.ones((2, 2))))
    same(g(), chain(put(np.ones((2, 2))), put(np.ones((2, 2)))))


def test_changes_of_the_callers_containers_are_refused():
    @ingot.jit
    def f(x, items):
        items[0] = 2.0
        return x

    items = [1.0]
    with pytest.raises(ingot.UnsupportedError, match="changing a container"):
        ingot.graph(f, put(np.ones(3)), items)
    with pytest.raises(ingot.UnsupportedError, match="changing a container"):
        ingot.graph(lambda x: f(x, items), put(np.ones(3)))
    assert items == [1.0]
    given = [put(np.ones(2))]
    with pytest.raises(ingot.UnsupportedError, match="giving a container of the caller's back"):
        ingot.graph(lambda x: x, given)


@pytest.mark.rotated(4)
def test_arrays_that_are_kept_elsewhere_are_refused():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x + 1

    with pytest.raises(ingot.UnsupportedError, match="keeping an array"):
        ingot.graph(f, put(np.ones(3)))
    kept.clear()

    def g(x):
        kept.append(x)
        return x + 1

    with pytest.raises(ingot.UnsupportedError, match="keeping an array"):
        ingot.graph(g, put(np.ones(3)))


def test_what_a_function_has_from_elsewhere_is_not_an_argument():
    memory = put(np.arange(8.0))
    other = memory[4:]

    def f(x):
        x += other
        return x * 1

    g = ingot.graph(f, put(np.ones(4)))
    assert g(put(np.zeros(4))).tolist() == [4, 5, 6, 7]
    with pytest.raises(ingot.UnsupportedError, match="shares memory"):
        g(memory[1:5])
    memory[4] = 10
    assert g(put(np.zeros(4))).tolist() == [10, 5, 6, 7]


def test_a_graph_in_a_graph_is_refused():
    x = put(np.ones((2, 2)))
    inner = ingot.graph(chain, x, x)
    with pytest.raises(ingot.UnsupportedError, match="a graph"):
        ingot.graph(lambda a: inner(a, a)[0], x)
    with pytest.raises(ingot.UnsupportedError, match="a graph in a graph"):
        ingot.graph(lambda a: ingot.graph(chain, a, a), x)
    same(inner(), chain(x, x))


@pytest.mark.rotated(4)
def test_memory_belongs_to_the_graph():
    gc.collect()
    x, y = put(rng.random((400, 6))), put(rng.random((400, 6)))
    before = ingot.memory(DEVICE)["in_use"]
    g = ingot.graph(chain, x, y)
    own = ingot.memory(DEVICE)["in_use"] - before
    assert own > 0
    for _ in range(5):
        g()
        assert ingot.memory(DEVICE)["in_use"] == before + own
    result = g()
    del g, result
    gc.collect()
    assert ingot.memory(DEVICE)["in_use"] == before


def test_memory_inside_is_used_again():
    def f(x):
        for _ in range(20):
            x = x * 1.5 + 1
        return x

    x = put(rng.random(1 << 12))
    before = ingot.memory(DEVICE)["in_use"]
    g = ingot.graph(f, x)
    assert ingot.memory(DEVICE)["in_use"] - before <= 4 * x.nbytes
    same(g(), f(x))


def test_streams_wait_for_a_graphs_arrays():
    with ingot.device(DEVICE):
        first, second = cuda.stream(), cuda.stream()
    x = put(rng.random(1000))
    mine = put(x.to_host())
    with first:
        g = ingot.graph(smooth, mine, 4)
    for stream in (first, second, first):
        with stream:
            g(mine, 4)
        same(mine * 1, smooth(x, 4) * 1)


def test_threads_replay_one_graph():
    arrays = [(put(rng.random((30, 5))), put(rng.random((30, 5)))) for _ in range(4)]
    expected = [chain(*pair) for pair in arrays]
    g = ingot.graph(chain, *arrays[0])
    failures = []

    def work(k):
        try:
            for _ in range(10):
                same(g(*arrays[k]), expected[k])
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and g.captures == 1


def test_other_threads_work_on_while_one_records():
    began, done = threading.Event(), threading.Event()
    results = []

    def f(x):
        began.set()
        assert done.wait(60)
        return x + 1

    def other():
        assert began.wait(60)
        results.append((put(np.ones(3)) * 2).tolist())
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    g = ingot.graph(f, put(np.ones(3)))
    thread.join()
    assert results == [[2] * 3] and g().tolist() == [2] * 3


def test_the_function_may_raise_while_it_is_recorded():
    def f(x):
        x += 1
        raise KeyError("here")

    x = put(np.ones(3))
    with pytest.raises(KeyError, match="here"):
        ingot.graph(f, x)
    assert x.tolist() == [1] * 3 and (x + 1).tolist() == [2] * 3
