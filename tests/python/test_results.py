"""Results that own their data, and their allocator, which keeps freed blocks."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import ingot
import numpy as np
import pytest
from support import check, jitted

SHAPES = [(), (0,), (1,), (10,), (1000, 3), (0, 4), (3, 0), (2, 3, 4), (1, 1, 5), (300_000,)]


@ingot.jit
def add_one(x):
    return x + 1


@ingot.jit
def flipped(x):
    return (x + 1).T


@ingot.jit
def fill(n, value):
    return np.full(n, value)


def handler_of(array):
    return np._core.multiarray.get_handler_name(array)


@pytest.fixture
def nothing_kept():
    """Nothing of earlier tests is left or kept; afterwards the limit is what it was."""
    gc.collect()
    limit = ingot.memory()["limit"]
    ingot.set_kept_memory_limit(0)
    ingot.set_kept_memory_limit(limit)
    yield
    ingot.set_kept_memory_limit(limit)


def run_python(text, **environment):
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_owns_its_data(shape):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    r = add_one(x)
    if shape == ():
        return
    assert r.base is None and r.flags.owndata and r.flags.writeable and handler_of(r) == "ingot"
    assert r.flags.c_contiguous and r.shape == shape
    assert r.strides == (x + 1).strides or r.size == 0
    assert r.ctypes.data % 64 == 0
    np.testing.assert_array_equal(r, x + 1)
    r.flags.writeable = False
    r.flags.writeable = True
    r[...] = 7
    assert (r == 7).all()


def test_results_in_other_orders():
    x = np.arange(24.0).reshape(2, 3, 4)
    r = flipped(x)
    np.testing.assert_array_equal(r, (x + 1).T)
    assert r.flags.f_contiguous and r.strides == (x + 1).T.strides
    assert r.base is None and r.flags.owndata and handler_of(r) == "ingot"
    back = jitted(lambda x: (x + 1)[::-1])(x)
    np.testing.assert_array_equal(back, x[::-1] + 1)


def test_parts_and_shared_memory_are_views():
    @ingot.jit
    def parts(x):
        y = x + 1
        z = x + 2
        return y, y[1:], z[::2]

    x = np.arange(6.0)
    y, rest, half = parts(x)
    assert np.shares_memory(y, rest)
    assert y.base is not None and rest.base is not None and half.base is not None
    np.testing.assert_array_equal(rest, x[1:] + 1)
    y[1] = 50
    assert rest[0] == 50
    del y, rest
    np.testing.assert_array_equal(half, x[::2] + 2)


def test_what_a_container_keeps_is_shared_with_the_result():
    @ingot.jit
    def remember(items, x):
        y = x + 1
        items.append(y)
        return y

    items = []
    y = remember(items, np.arange(3.0))
    assert np.shares_memory(y, items[0])
    y[0] = 9
    assert items[0][0] == 9


def test_resize_keeps_the_elements():
    r = add_one(np.arange(10.0))
    r.resize(12, refcheck=False)
    np.testing.assert_array_equal(r, [*range(1, 11), 0, 0])
    r.resize(1_000_000, refcheck=False)
    assert r.base is None and handler_of(r) == "ingot" and r[9] == 10 and not r[10:].any()
    r.resize(3, refcheck=False)
    np.testing.assert_array_equal(r, [1, 2, 3])
    r.resize(0, refcheck=False)
    r.resize(2, refcheck=False)
    empty = add_one(np.zeros(0))
    empty.resize((2, 2), refcheck=False)
    assert not empty.any()


def test_pickling_and_setting_the_state():
    r = add_one(np.arange(1000.0))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)), r)
    r.__setstate__(np.arange(3).__reduce__()[2])
    np.testing.assert_array_equal(r, [0, 1, 2])


@pytest.mark.rotated(4)
def test_a_freed_block_is_used_again(nothing_kept):
    for n in (10, 10_000, 1_000_000):
        x = np.ones(n)
        r = add_one(x)
        address = r.ctypes.data
        del r
        assert add_one(x).ctypes.data == address
        held = add_one(x)
        assert add_one(x).ctypes.data != held.ctypes.data
        np.testing.assert_array_equal(held, x + 1)


@pytest.mark.rotated(3)
def test_what_is_used_and_kept_is_counted(nothing_kept):
    before = ingot.memory()
    r = add_one(np.ones(1_000_000))
    now = ingot.memory()
    assert 8_000_000 <= now["in_use"] - before["in_use"] < 10_000_000
    assert now["peak"] >= now["in_use"] and now["kept"] == before["kept"]
    del r
    then = ingot.memory()
    assert then["in_use"] == before["in_use"] and then["kept"] - before["kept"] >= 8_000_000


@pytest.mark.rotated(3)
def test_the_limit_holds(nothing_kept):
    ingot.set_kept_memory_limit(3_000_000)
    for n in range(0, 500_000, 50_000):
        add_one(np.ones(n))
        assert ingot.memory()["kept"] <= 3_000_000
    ingot.set_kept_memory_limit(0)
    assert ingot.memory()["kept"] == 0
    add_one(np.ones(1000))
    assert ingot.memory()["kept"] == 0
    with pytest.raises(ValueError):
        ingot.set_kept_memory_limit(-1)


def test_the_environment_sets_the_limit():
    show = "import ingot; print(ingot.memory()['limit'])"
    assert run_python(show, INGOT_KEPT_MEMORY="12345").stdout == "12345\n"


@pytest.mark.rotated(3)
def test_an_array_that_is_too_large_takes_what_is_kept(nothing_kept):
    add_one(np.ones(1_000_000))
    assert ingot.memory()["kept"] > 0
    with pytest.raises(MemoryError):
        fill(10**13, 1.0)
    assert ingot.memory()["kept"] == 0
    np.testing.assert_array_equal(fill(3, 1.5), [1.5] * 3)


@pytest.mark.rotated(3)
def test_memory_does_not_grow_over_calls_of_many_sizes(nothing_kept):
    ingot.set_kept_memory_limit(32 << 20)
    random = np.random.default_rng(1)
    before = ingot.memory()["in_use"]
    held = []
    for n in random.integers(0, 50_000, 10_000).tolist():
        held.append(fill(n, 1.0))
        if len(held) > 5:
            del held[int(random.integers(5))]
    assert ingot.memory()["in_use"] - before < 6 * 600_000
    assert ingot.memory()["kept"] <= 32 << 20
    held.clear()
    assert ingot.memory()["in_use"] == before


@pytest.mark.rotated(3)
def test_an_exception_leaves_nothing_allocated(nothing_kept):
    @ingot.jit
    def fails(x, n):
        y = x * 2
        z = np.zeros(n)
        for i in range(n):
            z[i] = y[i]
        return y, z[10 // (n - 5)]

    before = ingot.memory()["in_use"]
    for _ in range(3):
        with pytest.raises(IndexError):
            fails(np.ones(1000), 2000)
        with pytest.raises(ZeroDivisionError):
            fails(np.ones(1000), 5)
    assert ingot.memory()["in_use"] == before


@pytest.mark.rotated(3)
def test_arrays_die_in_other_threads(nothing_kept):
    before = ingot.memory()["in_use"]
    made = [add_one(np.ones(n)) for n in range(0, 30_000, 100)]
    wrong = []

    def work(number):
        for _ in range(100):
            array = made.pop()
            if not (array == 2).all() or not (add_one(array) == 3).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not made
    assert ingot.memory()["in_use"] == before


@pytest.mark.alone
def test_arrays_live_and_die_in_a_forked_child():
    r = add_one(np.arange(500_000.0))
    child = os.fork()
    if child == 0:
        right = r[-1] == 500_000
        r[:] = 0
        del r
        s = add_one(np.arange(500_000.0))
        os._exit(0 if right and s[-1] == 500_000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert r[-1] == 500_000


def test_arrays_outlive_the_modules_at_the_end(tmp_path):
    script = tmp_path / "end.py"
    script.write_text("""
import sys, threading
import numpy as np
import ingot

@ingot.jit
def add_one(x):
    return x + 1

class Holder:
    def __del__(self):
        self.array.resize(5, refcheck=False)
        print(self.array[0], flush=True)

holder = Holder()
holder.array = add_one(np.zeros(1_000_000))
holder.itself = holder
sys.held = add_one(np.zeros(300_000))
""")
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.alone
def test_tracemalloc_sees_results():
    import tracemalloc

    x = np.ones(200_000)
    add_one(x)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        r = add_one(x)
        assert tracemalloc.get_traced_memory()[0] - before >= r.nbytes
        del r
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()


def left_early(x, n):
    if 0:
        return x
    for _ in range(n):
        x = x[:1]
    return x


def test_an_array_carried_out_of_a_function_keeps_its_origin():
    for n in (0, 2):
        check(left_early, np.arange(3.0), n)


def reversed_shift(x, n):
    r = x << n
    return r[::-1]


def test_empty_views_are_returned():
    check(reversed_shift, np.empty(0, np.uint64), 0)
    check(reversed_shift, np.empty((0, 3), np.int64), 1)


def reverse_into(p, q, r):
    q[:] = r[::-1]


def test_an_array_that_bridges_two_others_shares_with_both():
    x = np.arange(8.0)
    check(reverse_into, x[0:4], x[4:8], x[2:6])
    check(reverse_into, x[0:2], x[2:4], x[6:8])


def test_what_nobody_has_written_is_one_number():
    def f():
        small = np.empty(4, np.int64)
        k = small[1]
        return k > 5, k <= 5, k + 1 - k

    for mode in ("compiled", "interpreted"):
        more, less, one = jitted(f, mode)()
        assert more != less and one == 1


def test_a_view_on_one_path_shares_memory():
    def f(x, c):
        r = np.copy(x)
        v = r
        if c:
            r = v[:1]
        r[0] = 7.0
        return r, v

    for mode in ("compiled", "interpreted"):
        for c in (True, False):
            r, v = jitted(f, mode)(np.arange(3.0), c)
            assert np.shares_memory(r, v) and r[0] == v[0] == 7.0 and len(r) == (1 if c else 3)
