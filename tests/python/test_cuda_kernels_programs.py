"""Whole programs of kernels, as they are written."""

import math
import math as m

import numpy as np
import pytest

import ingot
import ingot.tour.tasks as tasks
from ingot import cuda, float32, void


@pytest.fixture(params=["interpreted", "emulated"], autouse=True)
def machine(request, monkeypatch):
    """The interpreter, and the software device."""
    if request.param == "interpreted":
        monkeypatch.setenv("INGOT_KERNELS", "interpreted")
        yield
    else:
        with ingot.device("emulated"):
            yield


def rng():
    return np.random.default_rng(7)


@cuda.jit(void(float32[:, :], float32[:, :], float32[:, :]))
def square_matrix_mult(A, B, C):
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bx = cuda.blockIdx.x
    by = cuda.blockIdx.y
    bw = cuda.blockDim.x
    bh = cuda.blockDim.y
    x = tx + bx * bw
    y = ty + by * bh
    n = C.shape[0]
    if x >= n or y >= n:
        return
    cs = 0
    for i in range(n):
        cs += A[y, i] * B[i, x]
    C[y, x] = cs


@cuda.jit
def matmul(A, B, C):
    """
    Perform square matrix multiplication of C = A * B
    """
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        tmp = 0.0
        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]
        C[i, j] = tmp


TPB = 4


@cuda.jit
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x
    tmp = np.float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@cuda.jit
def matmul_that_quits(A, B, C):
    """Threads outside of C end before the barriers."""
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    if x >= C.shape[0] and y >= C.shape[1]:
        return
    tmp = 0.0
    for i in range(int(A.shape[1] / TPB)):
        sA[tx, ty] = A[x, ty + i * TPB]
        sB[tx, ty] = B[tx + i * TPB, y]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[tx, j] * sB[j, ty]
        cuda.syncthreads()
    C[x, y] = tmp


@pytest.mark.parametrize("kernel", [square_matrix_mult, matmul, fast_matmul], ids=lambda k: k.__name__)
@pytest.mark.parametrize("n", [5, 8])
def test_matrix_products(kernel, n):
    a, b = rng().random((2, n, n), np.float32)
    c = np.zeros((n, n), np.float32)
    blocks = -(-n // TPB)
    kernel[(blocks, blocks), (TPB, TPB)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_a_matrix_product_of_threads_that_quit():
    a, b = rng().random((2, 8, 8), np.float32)
    c = np.zeros((8, 8), np.float32)
    matmul_that_quits[(2, 2), (TPB, TPB)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@cuda.jit("void(float64[:,], float64[:,])")
def copy(lhs, rhs):
    i = cuda.grid(1)
    if i < lhs.shape[0]:
        lhs[i] = rhs[i]


@cuda.jit("void(float64[:,], float64[:,], float64)")
def scale(lhs, rhs, alpha):
    i = cuda.grid(1)
    if i < lhs.shape[0]:
        lhs[i] = alpha * rhs[i]


@cuda.jit("void(float64[:,], float64[:,], float64[:,])")
def add(lhs, rhs1, rhs2):
    i = cuda.grid(1)
    if i < lhs.shape[0]:
        lhs[i] = rhs1[i] + rhs2[i]


@cuda.jit("void(float64[:,], float64[:,], float64[:,], float64)")
def triad(lhs, rhs1, rhs2, alpha):
    i = cuda.grid(1)
    if i < lhs.shape[0]:
        lhs[i] = rhs1[i] + alpha * rhs2[i]


@pytest.mark.parametrize("n", [1, 33, 50])
def test_stream(n):
    x, y = rng().random((2, n))
    out = np.zeros(n)
    blocks = -(-n // 16)
    copy[blocks, 16](out, x)
    np.testing.assert_array_equal(out, x)
    scale[blocks, 16](out, x, 3.0)
    np.testing.assert_array_equal(out, 3 * x)
    add[blocks, 16](out, x, y)
    np.testing.assert_array_equal(out, x + y)
    triad[blocks, 16](out, x, y, 3.0)
    np.testing.assert_array_equal(out, x + 3 * y)


@pytest.mark.parametrize("real_t", [np.float32, np.float64])
def test_axpy(real_t):
    @cuda.jit("void({dtype}, {dtype}[:, :], {dtype}[:, :])".format(dtype=np.dtype(real_t).name))
    def axpy(a, x, y):
        i = cuda.grid(1)
        if i < y.shape[0]:
            y[i] = a * x[i] + y[i]

    x, y = rng().random((2, 10, 3)).astype(real_t)
    expected = real_t(2.5) * x + y
    axpy[2, 8](real_t(2.5), x, y)
    np.testing.assert_array_equal(y, expected)


@cuda.jit
def cuda_sin(lhs, rhs):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < lhs.shape[0]:
        lhs[i] = math.sin(rhs[i])


def test_sine():
    x = rng().random(40)
    out = np.zeros(40)
    cuda_sin[5, 9](out, x)
    np.testing.assert_allclose(out, np.sin(x), rtol=3e-16)


@cuda.jit
def kuramoto(nstep, nnode, ntime, state, input, param, drift, diffs, obsrv, nnz, delays, row, col, weights, a, i_step_0):
    tcoupling = cuda.threadIdx.x
    tspeed = cuda.blockIdx.x
    sid = cuda.gridDim.x
    idp = tspeed * cuda.blockDim.x + tcoupling
    for i_step in range(0, nstep):
        for i_node in range(0, nnode):
            idx = idp * nnode + i_node
            acc_j_node = 0
            j_node_lo = row[i_node]
            j_node_hi = row[i_node + 1]
            for j_node in range(j_node_lo, j_node_hi):
                acc_j_node = acc_j_node + weights[j_node] * m.sin(
                    obsrv[((idp * ntime + ((i_step + i_step_0) % ntime) + -1 * delays[tspeed * nnz + j_node]) * nnode + col[j_node]) * 2]
                    + -1 * obsrv[((idp * ntime + ((i_step + i_step_0) % ntime)) * nnode + i_node) * 2]
                )
            input[idx] = a[tcoupling] * acc_j_node / nnode
            drift[idx] = param[idx] + input[idx]
            diffs[idx] = 0.0
            state[idx] = state[idx] + 0.1 * drift[idx]
            state[idx] = (
                (state[idx] < 0) * (state[idx] + 6.283185307179586)
                + (state[idx] > 6.283185307179586) * (state[idx] - 6.283185307179586)
                + (state[idx] >= 0) * (state[idx] <= 6.283185307179586) * state[idx]
            )
            theta = state[idx]
            obsrv[((idp * ntime + ((i_step + i_step_0) % ntime)) * nnode + i_node) * 2 + 1] = m.sin(theta)
            obsrv[((idp * ntime + ((i_step + i_step_0) % ntime)) * nnode + i_node) * 2] = theta


def network(speeds, couplings, nodes, ntime, dtype):
    g = rng()
    ids, links = speeds * couplings, tasks.LINKS
    nnz = nodes * links
    row = np.arange(0, nnz + 1, links, dtype=np.int64)
    col = g.integers(0, nodes, nnz)
    delays = g.integers(1, ntime, speeds * nnz)
    weights = g.random(nnz).astype(dtype)
    a = (g.random(couplings) * 0.1).astype(dtype)
    omega = (g.random(ids * nodes) * 0.1).astype(dtype)
    state = (g.random(ids * nodes) * 6.28).astype(dtype)
    obsrv = (g.random(ids * ntime * nodes * 2) * 6.28).astype(dtype)
    inputs, drift, diffs = (np.zeros(ids * nodes, dtype) for _ in range(3))
    return 2, nodes, ntime, state, inputs, omega, drift, diffs, obsrv, nnz, delays, row, col, weights, a, 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kuramoto(dtype):
    """One network, whose steps NumPy takes, too."""
    arguments = network(1, 1, 6, 8, dtype)
    expected = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    kuramoto[1, 1](*arguments)
    tasks.KURAMOTO.numpy(*expected)
    for mine, theirs in zip(arguments, expected):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("machine", ["interpreted"], indirect=True)
def test_kuramoto_of_many_networks_reads_what_others_write():
    """As printed, the time index of one network reaches into the one before it."""
    arguments = network(2, 2, 4, 4, np.float64)
    with pytest.raises(Exception, match="race: two iterations touch one byte"):
        kuramoto[2, 2](*arguments)


@pytest.mark.parametrize("n", [1, 20, 64])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_reduction_in_shared_memory(n, dtype):
    @cuda.jit
    def block_sum(x, out):
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s = cuda.shared.array(16, x.dtype)
        s[t] = x[i] if i < x.size else 0
        cuda.syncthreads()
        half = 8
        while half > 0:
            if t < half:
                s[t] += s[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[cuda.blockIdx.x] = s[0]

    x = np.arange(n).astype(dtype)
    blocks = -(-n // 16)
    out = np.zeros(blocks, dtype)
    block_sum[blocks, 16](x, out)
    expected = np.zeros(blocks * 16, dtype)
    expected[:n] = x
    np.testing.assert_array_equal(out, expected.reshape(blocks, 16).sum(1))


@pytest.mark.parametrize("threads", [32, 64, 50])
def test_reduction_by_shuffles(threads):
    @cuda.jit
    def total(x, out):
        i = cuda.grid(1)
        value = x[i]
        delta = 16
        while delta > 0:
            other = cuda.shfl_down_sync(cuda.ballot_sync(0xFFFFFFFF, True), value, delta)
            if cuda.laneid + delta < 32 and cuda.threadIdx.x + delta < cuda.blockDim.x:
                value += other
            delta //= 2
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, value)

    x = np.arange(64, dtype=np.int64)[: threads // 32 * 32]
    out = np.zeros(1, np.int64)
    total[1, x.size](x, out)
    assert out[0] == x.sum()


@pytest.mark.parametrize("bins", [4, 10])
def test_histogram(bins):
    @cuda.jit
    def histogram(x, lowest, highest, counts):
        width = (highest - lowest) / counts.shape[0]
        for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
            place = int((x[i] - lowest) / width)
            if 0 <= place < counts.shape[0]:
                cuda.atomic.add(counts, place, 1)

    x = rng().random(100)
    counts = np.zeros(bins, np.int32)
    histogram[2, 16](x, 0.0, 1.0, counts)
    np.testing.assert_array_equal(counts, np.histogram(x, bins, (0, 1))[0])


def test_histogram_in_shared_memory():
    @cuda.jit
    def histogram(x, counts):
        own = cuda.shared.array(8, np.int32)
        t = cuda.threadIdx.x
        if t < 8:
            own[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(own, x[i], 1)
        cuda.syncthreads()
        if t < 8:
            cuda.atomic.add(counts, t, own[t])

    x = rng().integers(0, 8, 100)
    counts = np.zeros(8, np.int32)
    histogram[2, 16](x, counts)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=8))


def test_dot_product_of_one_launch():
    """The last block that is done adds what all have written."""

    @cuda.jit
    def dot(x, y, partial, tickets, out):
        s = cuda.shared.array(8, np.float64)
        is_last = cuda.shared.array(1, np.int32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = x[i] * y[i]
        cuda.syncthreads()
        if t == 0:
            total = 0.0
            for k in range(8):
                total += s[k]
            partial[cuda.blockIdx.x] = total
            cuda.threadfence()
            ticket = cuda.atomic.inc(tickets, 0, cuda.gridDim.x)
            is_last[0] = ticket == cuda.gridDim.x - 1
        cuda.syncthreads()
        if is_last[0] == 1 and t == 0:
            total = 0.0
            for block in range(cuda.gridDim.x):
                total += partial[block]
            out[0] = total

    x, y = np.arange(32.0), np.arange(32.0) + 1
    out = np.zeros(1)
    dot[4, 8](x, y, np.zeros(4), np.zeros(1, np.uint32), out)
    assert out[0] == x @ y


def test_scan_of_a_block():
    @cuda.jit
    def scan(x, out):
        s = cuda.shared.array((2, 32), np.int64)
        t = cuda.threadIdx.x
        s[0, t] = x[t]
        cuda.syncthreads()
        read, step = 0, 1
        while step < 32:
            s[1 - read, t] = s[read, t] + (s[read, t - step] if t >= step else 0)
            cuda.syncthreads()
            read = 1 - read
            step *= 2
        out[t] = s[read, t]

    x = rng().integers(0, 100, 32)
    out = np.zeros(32, np.int64)
    scan[1, 32](x, out)
    np.testing.assert_array_equal(out, np.cumsum(x))


def test_transpose_by_tiles():
    @cuda.jit
    def transpose(x, out):
        tile = cuda.shared.array((TPB, TPB + 1), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        i, j = cuda.blockIdx.y * TPB + ty, cuda.blockIdx.x * TPB + tx
        if i < x.shape[0] and j < x.shape[1]:
            tile[ty, tx] = x[i, j]
        cuda.syncthreads()
        i, j = cuda.blockIdx.x * TPB + ty, cuda.blockIdx.y * TPB + tx
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = tile[tx, ty]

    x = rng().random((6, 9), np.float32)
    out = np.zeros((9, 6), np.float32)
    transpose[(3, 2), (TPB, TPB)](x, out)
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("iterations", [1, 3])
def test_jacobi_with_a_barrier_of_the_grid(iterations):
    @cuda.jit
    def jacobi(u, v, iterations):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for _ in range(iterations):
            if 0 < i < u.size - 1:
                v[i] = (u[i - 1] + u[i + 1]) / 2
            grid.sync()
            if 0 < i < u.size - 1:
                u[i] = v[i]
            grid.sync()

    u = np.zeros(16)
    u[0], u[-1] = 1, 2
    expected = u.copy()
    for _ in range(iterations):
        expected[1:-1] = (expected[:-2] + expected[2:]) / 2
    jacobi[4, 4](u, u.copy(), iterations)
    np.testing.assert_array_equal(u, expected)


def test_mandelbrot():
    @cuda.jit(device=True)
    def escape(x, y, most):
        c = complex(x, y)
        z = 0.0j
        for i in range(most):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                return i
        return most

    @cuda.jit
    def mandelbrot(xs, ys, out):
        i, j = cuda.grid(2)
        if i < xs.size and j < ys.size:
            out[i, j] = escape(xs[i], ys[j], 20)

    def reference(c):
        z = 0j
        for i in range(20):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                return i
        return 20

    xs, ys = np.linspace(-2, 1, 6), np.linspace(-1, 1, 5)
    out = np.zeros((6, 5), np.int64)
    mandelbrot[(2, 2), (3, 3)](xs, ys, out)
    np.testing.assert_array_equal(out, [[reference(complex(x, y)) for y in ys] for x in xs])


def test_a_lock():
    @cuda.jit
    def count(lock, total):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            cuda.nanosleep(100)
        cuda.threadfence()
        total[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    total = np.zeros(1, np.int64)
    count[2, 8](np.zeros(1, np.int32), total)
    assert total[0] == 16


def test_dynamic_shared_memory_of_two_arrays():
    @cuda.jit
    def reverse(x, y):
        n = cuda.blockDim.x
        floats = cuda.shared.array(0, np.float32)
        ints = cuda.shared.array(0, np.int32)[n:]
        t = cuda.threadIdx.x
        floats[t] = x[t]
        ints[t] = y[t]
        cuda.syncthreads()
        x[t] = floats[n - 1 - t]
        y[t] = ints[n - 1 - t] + floats.size

    x, y = np.arange(8, dtype=np.float32), np.arange(8, dtype=np.int32)
    reverse[1, 8, 0, 64](x, y)
    np.testing.assert_array_equal(x, np.arange(8)[::-1])
    np.testing.assert_array_equal(y, np.arange(8)[::-1] + 16)
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        reverse[1, 8, 0, 16](x, y)


def test_wait_until_all_agree():
    """A loop that all threads of a block leave together."""

    @cuda.jit
    def settle(x, iterations):
        s = cuda.shared.array(8, np.int64)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        count = 0
        while True:
            left = s[t - 1] if t > 0 else s[t]
            cuda.syncthreads()
            changes = left > s[t]
            if changes:
                s[t] = left
            count += 1
            if not cuda.syncthreads_or(changes):
                break
        x[t] = s[t]
        iterations[t] = count

    x, iterations = np.array([3, 1, 4, 1, 5, 9, 2, 6]), np.zeros(8, np.int64)
    settle[1, 8](x, iterations)
    np.testing.assert_array_equal(x, np.maximum.accumulate([3, 1, 4, 1, 5, 9, 2, 6]))
    assert (iterations == iterations[0]).all()
