"""What kernels raise, what is refused, and what the interpreter finds."""

import re
import traceback

import numpy as np
import pytest

import ingot
from ingot import cuda


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv("INGOT_KERNELS", "interpreted")


def line_of(text):
    """The number of the line of this file that ends in a comment."""
    lines = open(__file__).read().splitlines()
    found = [k for k, line in enumerate(lines, 1) if line.endswith("# " + text)]
    assert len(found) == 1
    return found[0]


def test_the_lowest_thread_raises():
    @cuda.jit
    def read(x, out):
        i = cuda.grid(1)
        out[i] = x[i + 3]  # reads beyond

    out = np.zeros(8)
    for _ in range(3):
        with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6") as caught:
            read[2, 4](np.zeros(6), out)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (__file__, line_of("reads beyond"), "read")


def test_the_lowest_block_raises():
    @cuda.jit
    def divide(x, out):
        i = cuda.grid(1)
        out[i] = 12 // int(x[i])

    with pytest.raises(ZeroDivisionError):
        divide[4, 2](np.zeros(8), np.zeros(8))


@pytest.mark.parametrize(
    "kind, error, message",
    [
        (0, IndexError, "index -9 is out of bounds for axis 0 with size 4"),
        (1, ZeroDivisionError, "integer division or modulo by zero"),
        (2, OverflowError, "64 bits"),
        (3, ValueError, "three"),
        (4, AssertionError, "four"),
        (5, UnboundLocalError, "late"),
        (6, OverflowError, "out of bounds for int8"),
    ],
)
def test_exceptions(kind, error, message):
    @cuda.jit
    def fail(kind, x, small):
        if kind == 0:
            x[-9] = 1
        elif kind == 1:
            x[0] = kind // (kind - 1)
        elif kind == 2:
            x[0] = 2**62 * (kind * 2)
        elif kind == 3:
            raise ValueError("three")
        elif kind == 4:
            assert x[0] == 1, "four"
        elif kind == 5:
            if x[0] == 1:
                late = 1
            x[0] = late
        else:
            small[0] = kind * 100

    with pytest.raises(error, match=message):
        fail[1, 1](kind, np.zeros(4), np.zeros(4, np.int8))


def test_exceptions_that_are_caught():
    @cuda.jit
    def safe(x, out):
        i = cuda.grid(1)
        try:
            out[i] = x[i]
        except IndexError:
            out[i] = -1

    out = np.zeros(6)
    safe[1, 6](np.arange(4.0), out)
    np.testing.assert_array_equal(out, [0, 1, 2, 3, -1, -1])


def test_a_raise_next_to_a_barrier():
    """Threads that raise have ended: the others do not wait for them."""

    @cuda.jit
    def fail(x, out):
        t = cuda.threadIdx.x
        out[t] = x[t]
        cuda.syncthreads()
        out[t] += 1

    out = np.zeros(8)
    with pytest.raises(IndexError, match="index 6"):
        fail[1, 8](np.zeros(6), out)


def refused(kernel, *arguments, configuration=(1, 4)):
    with pytest.raises(ingot.UnsupportedError) as caught:
        kernel[configuration](*arguments)
    return str(caught.value)


def shows(message, place):
    """Whether a refusal shows a line of this file, with a caret."""
    return f"{__file__}:{line_of(place)}" in message and re.search(r"^ +\^+$", message, re.M)


def test_a_barrier_in_a_branch():
    @cuda.jit
    def half(x):
        t = cuda.threadIdx.x
        if t < 2:
            cuda.syncthreads()  # of half a block
        x[t] = t

    message = refused(half, np.zeros(4))
    assert "a barrier that not all threads of a block may come to is not supported" in message
    assert "instead: let all of them come to it" in message and "syncthreads_or" in message
    assert shows(message, "of half a block")


def test_a_barrier_in_a_loop_of_the_threads_own():
    @cuda.jit
    def own(x):
        for _ in range(cuda.threadIdx.x):
            cuda.syncthreads()  # as often as the thread's index

    assert shows(refused(own, np.zeros(4)), "as often as the thread's index")


@pytest.mark.parametrize("what", ["loop", "while", "break", "value"])
def test_barriers_that_depend_on_memory_of_the_threads_own(what):
    @cuda.jit
    def loop(x):
        for _ in range(int(x[cuda.threadIdx.x])):
            cuda.syncthreads()

    @cuda.jit
    def while_(x):
        n = cuda.atomic.add(x, 0, 1)
        while n > 0:
            cuda.syncthreads()
            n -= 1

    @cuda.jit
    def break_(x):
        for k in range(4):
            if k > x[cuda.threadIdx.x]:
                break
            cuda.syncthreads()
        x[cuda.threadIdx.x] = 1

    @cuda.jit
    def value(x):
        own = cuda.local.array(1, np.int64)
        own[0] = cuda.threadIdx.x
        if own[0] > 1:
            cuda.syncthreads()

    kernel = {"loop": loop, "while": while_, "break": break_, "value": value}[what]
    assert "a barrier that not all threads" in refused(kernel, np.zeros(4))


def test_barriers_that_depend_on_what_all_threads_see():
    @cuda.jit
    def together(counts, out):
        t = cuda.threadIdx.x
        for _ in range(counts[cuda.blockIdx.x]):
            cuda.syncthreads()
        if cuda.blockIdx.x == 1:
            cuda.syncthreads()
        n = cuda.syncthreads_count(t < 3)
        while n > 0:
            cuda.syncthreads()
            n -= 1
        out[cuda.grid(1)] = n

    out = np.ones(8)
    together[2, 4](np.array([2, 3]), out)
    assert not out.any()


def test_a_barrier_after_a_return_of_some():
    """Who has returned is waited for no more; a `break` is another matter."""

    @cuda.jit
    def some(out):
        t = cuda.threadIdx.x
        if t > 2:
            return
        cuda.syncthreads()
        out[t] = 1

    out = np.zeros(4)
    some[1, 4](out)
    np.testing.assert_array_equal(out, [1, 1, 1, 0])


def test_a_barrier_of_the_grid_in_a_branch_of_blocks():
    @cuda.jit
    def some(out):
        if cuda.blockIdx.x == 0:
            cuda.cg.this_grid().sync()  # of one block

    message = refused(some, np.zeros(4))
    assert "a barrier of the grid that not all threads may come to" in message
    assert shows(message, "of one block")


def test_shared_memory_of_a_size_that_is_not_known():
    @cuda.jit
    def room(x, n):
        s = cuda.shared.array(n, np.float64)  # how many
        s[0] = 1

    message = refused(room, np.zeros(4), 3)
    assert "`cuda.shared.array` of a size that is not known when compiling" in message
    assert "cuda.shared.array(0, dtype)" in message and shows(message, "how many")

    @cuda.jit
    def own(x):
        cuda.local.array(x.size, np.float64)

    assert "`cuda.local.array` of a size" in refused(own, np.zeros(4))


def test_shared_memory_of_constants():
    size = 4

    @cuda.jit
    def room(x):
        s = cuda.shared.array((size, 2 * size + len((1, 2))), np.float64)
        x[cuda.threadIdx.x] = s.shape[1]

    x = np.zeros(4)
    room[1, 4](x)
    assert (x == 10).all()

    @cuda.jit
    def bad(x):
        cuda.shared.array(-1, np.float64)

    with pytest.raises(ValueError, match="bad shape"):
        bad[1, 1](x)


def test_a_kernel_that_returns_a_value():
    @cuda.jit
    def give(x):
        if x[0] > 1:
            return
        return x[0]  # which nobody gets

    message = refused(give, np.zeros(4))
    assert "a kernel that returns a value" in message and shows(message, "which nobody gets")

    @cuda.jit
    def nothing(x):
        def inner():
            return 1

        x[0] = inner()
        return None

    nothing[1, 1](np.zeros(1))


REFUSED = {
    "print": (lambda x: print(x[0]), "`print`"),
    "solve": (lambda x: np.linalg.solve(x.reshape(2, 2), x.reshape(2, 2)), "routine `linalg.solve`"),
    "sort": (lambda x: np.sort(x)[0], "sorting"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_kernels_cannot_do(what):
    call, words = REFUSED[what]

    @cuda.jit
    def kernel(x):
        call(x)
        x[0] = 1

    message = refused(kernel, np.ones(4))
    assert words in message and "in a kernel is not supported" in message
    assert "do it outside of the kernel" in message and __file__ in message


def test_containers_of_the_caller_stay():
    @cuda.jit
    def grow(values):
        values.append(1)

    @cuda.jit
    def read(values, out):
        out[cuda.threadIdx.x] = values[1]

    assert "changes a list, dict or instance" in refused(grow, [1, 2])
    out = np.zeros(2)
    read[1, 2]([5, 6], out)
    assert (out == 6).all()


INTRINSICS = {
    "grid": lambda: cuda.grid(1),
    "threadIdx": lambda: cuda.threadIdx.x,
    "blockDim": lambda: cuda.blockDim.y,
    "laneid": lambda: cuda.laneid + 0,
    "syncthreads": lambda: cuda.syncthreads(),
    "shared": lambda: cuda.shared.array(4, np.float64),
    "atomic": lambda: cuda.atomic.add(np.zeros(1), 0, 1.0),
    "shfl_sync": lambda: cuda.shfl_sync(1, 2, 3),
    "popc": lambda: cuda.popc(3),
    "activemask": lambda: cuda.activemask(),
    "this_grid": lambda: cuda.cg.this_grid(),
    "nanosleep": lambda: cuda.nanosleep(3),
    "threadfence": lambda: cuda.threadfence(),
    "ballot_sync": lambda: cuda.ballot_sync(1, True),
}


@pytest.mark.parametrize("name", INTRINSICS)
def test_outside_of_kernels(name):
    with pytest.raises(ingot.UnsupportedError, match=name) as caught:
        ingot.jit(INTRINSICS[name])()
    assert "outside of a kernel" in str(caught.value) and "instead: use it in a function of `cuda.jit`" in str(caught.value)
    if name != "laneid":
        with pytest.raises(ingot.UnsupportedError, match="outside of a kernel"):
            INTRINSICS[name]()


ATOMICS = {
    "dtype": (lambda x: cuda.atomic.add(x, 0, 1), np.zeros(4, np.int8), ingot.UnsupportedError, "array of int8"),
    "complex": (lambda x: cuda.atomic.add(x, 0, 1), np.zeros(4, complex), ingot.UnsupportedError, "complex128"),
    "float": (lambda x: cuda.atomic.add(x, 0, 1.5), np.zeros(4, np.int64), ingot.UnsupportedError, "float and an array of int64"),
    "bits": (lambda x: cuda.atomic.and_(x, 0, 1), np.zeros(4), ingot.UnsupportedError, "use an array of integers"),
    "index": (lambda x: cuda.atomic.add(x, 4, 1), np.zeros(4), IndexError, "index 4 is out of bounds"),
    "indices": (lambda x: cuda.atomic.add(x, (0, 1), 1), np.zeros(4), IndexError, "wants 1 indices"),
    "number": (lambda x: cuda.atomic.add(3, 0, 1), np.zeros(4), TypeError, "wants an array first"),
    "range": (lambda x: cuda.atomic.add(x, 0, 2**40), np.zeros(4, np.int32), OverflowError, "int32"),
}


@pytest.mark.parametrize("what", ATOMICS)
def test_bad_atomics(what):
    call, x, error, message = ATOMICS[what]

    @cuda.jit
    def kernel(x):
        call(x)

    with pytest.raises(error, match=message):
        kernel[1, 1](x)


def test_atomics_of_what_is_read_only():
    @cuda.jit
    def kernel(x):
        cuda.atomic.add(x, 0, 1)

    x = np.zeros(4)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel[1, 1](x)


@pytest.mark.parametrize("width", [0, 3, 64])
def test_bad_widths_of_shuffles(width):
    @cuda.jit
    def kernel(x):
        x[0] = cuda.shfl_sync(1, 2, 0, width)

    with pytest.raises(ValueError, match="the width of `cuda.shfl_sync`"):
        kernel[1, 1](np.zeros(1))


def test_grids_of_other_ranks():
    @cuda.jit
    def kernel(x):
        x[cuda.grid(4)] = 1

    with pytest.raises(ValueError, match="ndim is 1, 2 or 3"):
        kernel[1, 1](np.zeros(1))


def found(kernel, *arguments, configuration):
    with pytest.raises(ingot.InternalError) as caught:
        kernel[configuration](*arguments)
    return str(caught.value)


def test_a_missing_barrier_is_found():
    @cuda.jit
    def neighbour(x):
        s = cuda.shared.array(8, np.float64)
        t = cuda.threadIdx.x
        s[t] = x[t]
        x[t] = s[7 - t]  # without waiting

    message = found(neighbour, np.zeros(8), configuration=(1, 8))
    assert "race" in message and f"{__file__}:" in message


def test_a_missing_second_barrier_is_found():
    @cuda.jit
    def iterations(x):
        s = cuda.shared.array(8, np.float64)
        t = cuda.threadIdx.x
        for _ in range(3):
            s[t] = x[t]
            cuda.syncthreads()
            x[t] = s[7 - t]

    assert "race" in found(iterations, np.zeros(8), configuration=(1, 8))


def test_a_race_between_blocks_is_found():
    @cuda.jit
    def last(x):
        x[cuda.threadIdx.x] = cuda.blockIdx.x

    x = np.zeros(4)
    last[1, 4](x)
    assert "race" in found(last, x, configuration=(2, 4))


def test_a_sum_without_atomics_is_found():
    @cuda.jit
    def total(x, out):
        out[0] += x[cuda.grid(1)]

    assert "race" in found(total, np.ones(8), np.zeros(1), configuration=(1, 8))


def test_a_plain_read_next_to_atomics_is_found():
    @cuda.jit
    def peek(x, out):
        cuda.atomic.add(x, 0, 1)
        out[cuda.threadIdx.x] = x[0]

    assert "race" in found(peek, np.zeros(1), np.zeros(8), configuration=(1, 8))


def test_a_barrier_of_the_warp_is_not_enough_for_a_block():
    @cuda.jit
    def exchange(x):
        s = cuda.shared.array(64, np.float64)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncwarp()
        x[t] = s[t ^ 32]

    assert "race" in found(exchange, np.zeros(64), configuration=(1, 64))


def test_a_barrier_of_the_block_is_not_enough_for_the_grid():
    @cuda.jit
    def exchange(x, y):
        i = cuda.grid(1)
        x[i] = i
        cuda.syncthreads()
        y[i] = x[7 - i]

    assert "race" in found(exchange, np.zeros(8), np.zeros(8), configuration=(2, 4))


def test_shuffles_order_no_memory():
    @cuda.jit
    def exchange(x):
        s = cuda.shared.array(32, np.float64)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.shfl_sync(0xFFFFFFFF, t, 0)
        x[t] = s[31 - t]

    assert "race" in found(exchange, np.zeros(32), configuration=(1, 32))


def test_lanes_that_do_not_come_are_found():
    @cuda.jit
    def absent(x):
        t = cuda.threadIdx.x
        if t < 8:
            x[t] = cuda.shfl_sync(0xFFFF, t, 0)
        cuda.syncthreads()

    assert "not all threads of the mask come here" in found(absent, np.zeros(32), configuration=(1, 32))


def test_masks_without_the_own_lane_are_found():
    @cuda.jit
    def other(x):
        x[cuda.threadIdx.x] = cuda.any_sync(0xF, True)

    assert "comes with a mask that it is not in" in found(other, np.zeros(32), configuration=(1, 32))


def test_values_of_lanes_that_are_not_there_are_found():
    @cuda.jit
    def beyond(x):
        x[cuda.threadIdx.x] = cuda.shfl_down_sync(0xFFFFFFFF, cuda.threadIdx.x, 1)

    assert "a lane that is not in the mask" in found(beyond, np.zeros(20), configuration=(1, 20))
