"""Programs of the literature whose kernels launch others, link C, or are ufuncs for a GPU."""

import math

import numpy as np
import pytest

import ingot
from ingot import cuda, float32, vectorize
from ingot.cuda import rand
from toolkit import needs_nvrtc


@pytest.fixture(autouse=True)
def machine():
    with ingot.device("emulated"):
        yield


LINKED = """
extern "C" {

    __device__
    int bar(int* retval, int a, int b){
        *retval = a * b;
        return 0;
    }
}
"""


@needs_nvrtc
def test_linking_as_printed(tmp_path, monkeypatch):
    """The slide links an object file; what it was made of is the same on the software device."""
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "data" / "jitlink.cu").write_text(LINKED)
    monkeypatch.chdir(tmp_path / "work")

    bar = cuda.declare_device("bar", "int32(int32, int32)")
    linkfile = "../data/jitlink.cu"

    @cuda.jit("void(int32[:], int32[:])", link=[linkfile])
    def foo(inp, out):
        i = cuda.grid(1)
        out[i] = bar(inp[i], 2)

    inp, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    foo[2, 4](inp, out)
    np.testing.assert_array_equal(out, 2 * inp)


def test_an_object_file_is_refused_by_name_on_the_software_device(tmp_path, monkeypatch):
    (tmp_path / "jitlink.o").write_bytes(b"\x7fELF")
    bar = cuda.declare_device("bar", "int32(int32, int32)")
    linkfile = str(tmp_path / "jitlink.o")

    @cuda.jit("void(int32[:], int32[:])", link=[linkfile])
    def foo(inp, out):
        i = cuda.grid(1)
        out[i] = bar(inp[i], 2)

    with pytest.raises(ingot.DeviceError, match=r"jitlink\.o is an object file"):
        foo[2, 4](np.arange(8, dtype=np.int32), np.zeros(8, np.int32))


@vectorize(["complex64(complex64, complex64)"], target="gpu")
def vmult(a, b):
    """Element complex64 multiplication"""
    return a * b


def task1(d_image_complex, d_response_complex):
    vmult(d_image_complex, d_response_complex, out=d_image_complex)


def test_vmult():
    g = np.random.default_rng(3)
    image, response = (g.random((2, 6, 5)) + 1j * g.random((2, 6, 5))).astype(np.complex64)
    d_image, d_response = cuda.to_device(image), cuda.to_device(response)
    task1(d_image, d_response)
    np.testing.assert_array_equal(d_image.copy_to_host(), ingot.jit(lambda a, b: a * b)(image, response))
    np.testing.assert_array_equal(d_response.copy_to_host(), response)


@pytest.mark.parametrize("target", ["cpu", "parallel", "gpu"])
def test_vec_saxpy(target):
    @vectorize([float32(float32, float32, float32)], target=target)
    def vec_saxpy(a, x, y):
        return a * x + y

    x, y = np.random.default_rng(1).random((2, 50), np.float32)
    made = vec_saxpy(np.float32(2.5), x, y)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, np.float32(2.5) * x + y)


@cuda.jit
def norm_random_nums(A, d):
    i = cuda.grid(1)
    if i >= A.shape[1]:
        return
    total = 0.0
    for j in range(d):
        total += A[j, i] * A[j, i]
    norm = math.sqrt(total)
    for j in range(d):
        A[j, i] = A[j, i] / norm


@cuda.jit
def batch_matmul(dVd, dC, dA):
    """A block for each sample, whose threads take the rows alternately."""
    sample = cuda.blockIdx.x
    row = cuda.threadIdx.x
    while row < dA.shape[0]:
        total = 0.0
        for j in range(dVd.shape[1]):
            total += dVd[row, j] * dC[j, sample]
        dA[row, sample] = total
        row += cuda.blockDim.x


ROWS = 16


@cuda.jit
def batch_k_selection(dA, dI, k):
    """The indices of the k largest of each column, a thread for each row: each counts those before its own."""
    column = cuda.shared.array(ROWS, np.float64)
    sample = cuda.blockIdx.x
    row = cuda.threadIdx.x
    column[row] = dA[row, sample]
    cuda.syncthreads()
    place = 0
    for other in range(cuda.blockDim.x):
        if column[other] > column[row] or column[other] == column[row] and other < row:
            place += 1
    if place < k:
        dI[k - 1 - place, sample] = row


@cuda.jit
def batch_scatter_norm(dA, dI, daInorm):
    i = cuda.grid(1)
    if i >= dA.shape[1]:
        return
    total = 0.0
    for j in range(dI.shape[0]):
        value = dA[dI[j, i], i]
        total += value * value
    daInorm[i] = math.sqrt(total)


def calc_ncta1d(size, blksz):
    return (size + (blksz - 1)) // blksz


def gpu_slice(arr, col):
    return arr[:, col].copy_to_host()


def spca(Vd, seen, epsilon=0.1, d=3, k=10, maxSize=32000):
    p = Vd.shape[0]
    initNumSamples = int((4.0 / epsilon) ** d)
    opt_x = np.zeros((p, 1))
    opt_v = -np.inf

    dVd = cuda.to_device(Vd)

    remaining = initNumSamples
    custr = cuda.stream()
    prng = rand.PRNG(stream=custr)

    while remaining:
        numSamples = min(remaining, maxSize)
        remaining -= numSamples

        dA = cuda.device_array(shape=(Vd.shape[0], numSamples), order="F")
        dI = cuda.device_array(shape=(k, numSamples), dtype=np.int16, order="F")
        daInorm = cuda.device_array(shape=numSamples, dtype=np.float64)
        dC = cuda.device_array(shape=(d, numSamples), order="F")

        # `reshape` without an order would be a copy, as NumPy's is.
        prng.normal(dC.reshape(dC.size, order="F"), mean=0, sigma=1)
        seen(dC.copy_to_host(stream=custr))
        norm_random_nums[calc_ncta1d(dC.shape[1], 512), 512, custr](dC, d)
        batch_matmul[numSamples, 512, custr](dVd, dC, dA)
        batch_k_selection[numSamples, Vd.shape[0], custr](dA, dI, k)
        batch_scatter_norm[calc_ncta1d(numSamples, 512), 512, custr](dA, dI, daInorm)

        aInorm = daInorm.copy_to_host(stream=custr)
        custr.synchronize()
        for i in range(numSamples):
            val = aInorm[i]
            if val > opt_v:
                opt_v = val
                opt_x.fill(0)
                a = gpu_slice(dA, i).reshape(p, 1)
                Ik = gpu_slice(dI, i).reshape(k, 1)
                aIk = a[Ik[:, 0]]
                opt_x[Ik[:, 0]] = aIk / val

        del dA, dI, daInorm, dC
    return opt_x


def spca_of_numpy(Vd, draws, k):
    best, found = -np.inf, np.zeros((len(Vd), 1))
    for C in draws:
        for c in (C / np.linalg.norm(C, axis=0)).T:
            a = Vd @ c
            places = np.argsort(a, kind="stable")[-k:]
            val = np.linalg.norm(a[places])
            if val > best:
                best, found = val, np.zeros((len(Vd), 1))
                found[places, 0] = a[places] / val
    return found


def test_sparse_pca():
    """Draws, products, the largest of each column and their norms, in chunks of 40 and 24 and in one stream."""
    Vd, draws = np.random.default_rng(5).standard_normal((ROWS, 3)), []
    made = spca(Vd, draws.append, epsilon=1.0, k=4, maxSize=40)
    assert [each.shape for each in draws] == [(3, 40), (3, 24)]
    assert len(np.unique(np.hstack(draws))) == 3 * 64
    np.testing.assert_allclose(made, spca_of_numpy(Vd, draws, 4), rtol=1e-12)


@cuda.jit("void(float64[:,], float64[:,])")
def copy(lhs, rhs):
    i = cuda.grid(1)
    if i < lhs.shape[0]:
        lhs[i] = rhs[i]


def test_stream_is_timed_by_events():
    rhs = cuda.to_device(np.arange(1000.0))
    lhs = cuda.device_array_like(rhs)
    start, end = cuda.event(), cuda.event()
    start.record()
    copy[8, 128](lhs, rhs)
    end.record()
    end.synchronize()
    assert cuda.event_elapsed_time(start, end) > 0
    np.testing.assert_array_equal(lhs.copy_to_host(), np.arange(1000.0))
