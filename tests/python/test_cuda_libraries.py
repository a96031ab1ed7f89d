"""The vendor's libraries, called directly and by compiled code, by their stand-ins for the software device."""

import contextlib
import copy
import ctypes
import os
import pickle
import subprocess
import sys
import threading

import ingot
import numpy as np
import pytest
from ingot import cuda
from ingot.cuda import blas, fft, rand, solver, sparse

DEVICE = ingot.device("emulated")
DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def _on_the_software_device():
    with DEVICE:
        yield


@pytest.fixture
def compiled():
    """Compiled code uses the libraries."""
    before = cuda.use_libraries(True)
    yield
    cuda.use_libraries(before)


def put(x, order="K"):
    return cuda.to_device(np.array(x, order=order))


def filled(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def close(got, wanted, factor=100):
    got = got.to_host() if isinstance(got, ingot.Array) else np.asarray(got)
    wanted = np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind not in "fc":
        assert (got == wanted).all()
        return
    np.testing.assert_allclose(got, wanted, rtol=factor * np.finfo(wanted.dtype).eps, atol=factor * np.finfo(wanted.dtype).eps)


def jobs(name):
    """What a stand-in has been given to do."""
    path = cuda.libraries()[name].partition(",")[0]
    return ctypes.CDLL(path).ingot_stand_in_jobs()


# ---- Which there are.


def test_which_libraries_there_are():
    found = cuda.libraries()
    assert list(found) == ["blas", "fft", "solver", "random", "sparse"]
    assert all("/softgpu/libraries/libcu" in text and ", version " in text for text in found.values())


def test_no_library_is_opened_before_one_is_asked_for():
    code = """
import ingot, numpy as np
with ingot.device("emulated"):
    x = ingot.device_put(np.ones((3, 3)), "emulated")
    ingot.jit(lambda x: x + 1)(x)
    print(sum("libraries/libcu" in line for line in open("/proc/self/maps")))
    ingot.cuda.blas.nrm2(x[0])
    print(any("libcublas" in line for line in open("/proc/self/maps")), any("libcufft" in line for line in open("/proc/self/maps")))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.stdout.split() == ["0", "True", "False"], run.stderr


def test_the_environment_specifies_that_none_is_used():
    code = """
import ingot, numpy as np
from ingot.cuda import blas, use_libraries
with ingot.device("emulated"):
    use_libraries(True)
    x = ingot.device_put(np.eye(3), "emulated")
    print(ingot.jit(lambda x: np.linalg.inv(x @ x))(x).sum())
    try:
        blas.nrm2(x[0])
    except ingot.DeviceError as error:
        print(error)
"""
    environment = {**os.environ, "INGOT_DEVICE_LIBRARIES": "0"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert run.stdout == "3.0\nINGOT_DEVICE_LIBRARIES=0 in the environment disables them\n", run.stderr


def test_a_status_is_an_error_with_its_name():
    with pytest.raises(cuda.LibraryError, match="cuRAND: a generator: CURAND_STATUS_TYPE_ERROR") as raised:
        rand.PRNG(rndtype=7)
    assert raised.value.status == "CURAND_STATUS_TYPE_ERROR"
    assert isinstance(raised.value, ingot.DeviceError)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.status) == (str(raised.value), raised.value.status)
    assert copy.copy(raised.value).status == raised.value.status


# ---- cuBLAS.


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype):
    x, y = filled(7, dtype, 1), filled(7, dtype, 2)
    a, b = put(x), put(y)
    close(blas.dot(a, b), x @ y)
    close(blas.dotc(a, b), np.vdot(x, y))
    close(blas.nrm2(a), np.linalg.norm(x))
    close(blas.asum(a), (np.abs(x.real) + np.abs(x.imag)).sum())
    assert blas.amax(a) == (np.abs(x.real) + np.abs(x.imag)).argmax()
    assert blas.amin(a) == (np.abs(x.real) + np.abs(x.imag)).argmin()
    assert type(blas.dot(a, b)) is np.dtype(dtype).type and type(blas.nrm2(a)) is np.finfo(dtype).dtype.type
    blas.axpy(2, a, b)
    close(b, y + 2 * x)
    blas.scal(0.5, b)
    close(b, (y + 2 * x) / 2)
    blas.swap(a, b)
    close(a, (y + 2 * x) / 2)
    close(b, x)
    blas.copy(a, b)
    assert b.to_host().tobytes() == a.to_host().tobytes()


@pytest.mark.parametrize("step", [slice(None, None, 2), slice(None, None, -1), slice(8, 1, -3), slice(0, 0), slice(3, 4)])
def test_vectors_with_steps(step):
    x, y = filled(10, "float64", 1), filled(10, "float64", 2)
    a, b = put(x), put(y)
    close(blas.dot(a[step], b[step]), x[step] @ y[step])
    close(blas.nrm2(a[step]), np.linalg.norm(x[step]))
    if x[step].size:
        assert blas.amax(a[step]) == np.abs(x[step]).argmax()
    blas.axpy(3, a[step], b[step])
    y[step] += 3 * x[step]
    close(b, y)
    blas.scal(-1, b[step])
    y[step] *= -1
    close(b, y)


def test_the_first_of_equals_is_the_largest():
    x = put([1.0, -3.0, 3.0, 2.0])
    assert blas.amax(x) == 1 and blas.amax(x[::-1]) == 1 and blas.amin(x[::-1]) == 3


def test_vectors_that_overlap():
    x = filled(8, "float64")
    a = put(x)
    blas.axpy(1, a[:-1], a[1:])
    close(a, np.concatenate([x[:1], x[1:] + x[:-1]]))
    a = put(x)
    blas.axpy(2, a, a)
    close(a, 3 * x)
    with pytest.raises(ValueError, match="share elements"):
        blas.swap(a[:4], a[2:6])
    repeated = np.broadcast_to(np.array(2.0), 8)
    close(blas.dot(ingot.jit(lambda x: np.broadcast_to(x, 8))(put(2.0)), a), repeated @ (3 * x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operations", ["NN", "NT", "TN", "CC", "NC", "CT"])
def test_products_of_matrices(dtype, operations):
    op = {"N": lambda x: x, "T": lambda x: x.T, "C": lambda x: x.conj().T}
    m, n, k = 3, 4, 5
    x = filled((m, k) if operations[0] == "N" else (k, m), dtype, 1)
    y = filled((k, n) if operations[1] == "N" else (n, k), dtype, 2)
    z = filled((m, n), dtype, 3)
    wanted = (2 * op[operations[0]](x) @ op[operations[1]](y) + np.array(0.5, dtype) * z).astype(dtype)
    for orders in ("CCC", "FFF", "CFC", "FCF"):
        c = put(z, orders[2])
        blas.gemm(*operations, m, n, k, 2, put(x, orders[0]), put(y, orders[1]), 0.5, c)
        close(c, wanted)


def test_products_of_matrices_with_steps():
    x, y = filled((6, 10), "complex64", 1), filled((10, 8), "complex64", 2)
    a, b, c = put(x), put(y), put(np.zeros((6, 8), "complex64"))
    blas.gemm("N", "N", 3, 4, 5, 1, a[::-2, 1::2], b[::2, ::2], 0, c[1:4, 2:6])
    close(c[1:4, 2:6], x[::-2, 1::2] @ y[::2, ::2])
    blas.gemm("C", "N", 5, 4, 3, 1, a[:3, :5], b[:3, 4:], 0, c[:5, 4:])
    close(c[:5, 4:], x[:3, :5].conj().T @ y[:3, 4:])


def test_products_without_elements_and_without_terms():
    c = put(np.ones((3, 4)))
    blas.gemm("N", "N", 3, 4, 0, 1, put(np.ones((3, 0))), put(np.ones((0, 4))), 2, c)
    close(c, np.full((3, 4), 2.0))
    blas.gemm("N", "N", 3, 0, 2, 1, put(np.ones((3, 2))), put(np.ones((2, 0))), 0, put(np.ones((3, 0))))


def test_a_product_into_its_factor():
    x = filled((4, 4), "float64")
    a = put(x)
    blas.gemm("N", "T", 4, 4, 4, 1, a, a, 1, a)
    close(a, x + x @ x.T)


def test_batches_of_products():
    x, y = filled((6, 3, 4), "float32", 1), filled((6, 4, 2), "float32", 2)
    c = put(np.ones((6, 3, 2), "float32"))
    blas.gemm_batched("N", "N", 3, 2, 4, 1, put(x), put(y), 1, c)
    close(c, x @ y + 1)
    c = put(np.zeros((3, 3, 2), "float32"))
    blas.gemm_batched("N", "N", 3, 2, 4, 1, put(x)[::2], put(y)[::-2], 0, c)
    close(c, x[::2] @ y[::-2])
    singles = [put(np.zeros((3, 2), "float32")) for _ in range(6)]
    blas.gemm_batched("N", "N", 3, 2, 4, 1, [put(each) for each in x], [put(each) for each in y], 0, singles)
    close(np.stack([each.to_host() for each in singles]), x @ y)
    with pytest.raises(ValueError, match="batches of 1, 1 and 6 matrices"):
        blas.gemm_batched("N", "N", 3, 2, 4, 1, [put(x[0])], [put(y[0])], 0, singles)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_matrices_and_vectors(dtype):
    x, v, w = filled((3, 4), dtype, 1), filled(4, dtype, 2), filled(3, dtype, 3)
    y = put(w)
    blas.gemv("N", 3, 4, 2, put(x), put(v), 1, y)
    close(y, 2 * x @ v + w)
    z = put(np.zeros(8, dtype))
    blas.gemv("C", 3, 4, 1, put(x), put(w), 0, z[::2])
    close(z[::2], x.conj().T @ w)
    a = put(x)
    blas.ger(3, 4, 3, put(w), put(v), a)
    close(a, x + 3 * np.outer(w, v))


def test_what_cublas_does_not_take_is_refused():
    x, c = put(np.ones((3, 3))), put(np.ones((3, 3)))
    with pytest.raises(TypeError, match="an ingot.Array is wanted, not ndarray: ingot.cuda.to_device makes one"):
        blas.dot(np.ones(3), x[0])
    with pytest.raises(TypeError, match="arrays of dtype int64 are not taken here"):
        blas.nrm2(put([1, 2]))
    with pytest.raises(TypeError, match="float64 and float32 in one call"):
        blas.dot(x[0], put(np.ones(3, "float32")))
    with pytest.raises(ValueError, match=r"vectors of shapes \(3,\) and \(2,\)"):
        blas.axpy(1, x[0], x[0, :2])
    with pytest.raises(ValueError, match="x has 2 axes"):
        blas.nrm2(x)
    with pytest.raises(TypeError, match="complex factor"):
        blas.scal(1j, x[0])
    with pytest.raises(ValueError, match=r"op\(b\) has the shape \(3, 3\), where \(3, 2\) is wanted"):
        blas.gemm("N", "N", 3, 2, 3, 1, x, x, 0, c)
    with pytest.raises(ValueError, match="transa is 'N', 'T' or 'C', not 'H'"):
        blas.gemm("H", "N", 3, 3, 3, 1, x, x, 0, c)
    with pytest.raises(ValueError, match="neither the rows nor the columns of c are contiguous"):
        blas.gemm("N", "N", 2, 2, 2, 1, x[:2, :2], x[:2, :2], 0, c[::2, ::2])
    c.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        blas.gemm("N", "N", 3, 3, 3, 1, x, x, 0, c)
    with pytest.raises(ValueError, match="without elements"):
        blas.amax(x[0, :0])
    with pytest.raises(TypeError, match="a stream is what"):
        blas.Blas(stream=7)


def test_calls_go_into_their_stream():
    """A call waits for what other streams do with its arrays, and runs late."""
    stream, other = cuda.stream(), cuda.stream()

    @cuda.jit
    def fill(x, value):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = value

    x, y = cuda.device_array(100), cuda.device_array(100)
    fill[1, 128, stream](x, 3.0)
    fill[1, 128, other](y, 1.0)
    blas.Blas(other).axpy(2, x, y)
    assert not other.is_done()
    fill[1, 128, stream](x, 5.0)
    assert (y.to_host() == 7).all() and (x.to_host() == 5).all()


# ---- cuFFT.


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(8,), (15,), (1,), (4, 6), (3, 4, 5)])
def test_transforms(dtype, shape):
    x = filled(shape, dtype)
    for order in "CF":
        a = put(x, order)
        fft.fft_inplace(a)
        close(a, np.fft.fftn(x).astype(dtype), 1000)
        fft.ifft_inplace(a)
        close(a / a.size, x, 1000)
        out = cuda.device_array(shape, dtype, order=order)
        fft.fft(put(x, order), out)
        close(out, np.fft.fftn(x).astype(dtype), 1000)
    source = put(x)
    fft.ifft(source, out := cuda.device_array(shape, dtype))
    close(out / x.size, np.fft.ifftn(x).astype(dtype), 1000)
    assert source.to_host().tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(8,), (9,), (4, 6), (5, 4, 7)])
def test_transforms_of_real_numbers(dtype, shape):
    x = filled(shape, dtype)
    wanted = np.fft.rfftn(x)
    a, out = put(x), cuda.device_array(wanted.shape, wanted.dtype)
    fft.fft(a, out)
    close(out, wanted, 1000)
    back = cuda.device_array(shape, dtype)
    fft.ifft(out, back)
    close(back / np.array(x.size, dtype), x, 1000)
    close(out, wanted, 1000)  # is as it was


def test_plans():
    x = filled((3, 4, 6), "complex64")
    plan = fft.FFTPlan((4, 6), np.complex64, np.complex64, batch=3)
    out = plan.forward(put(x))
    close(out, np.fft.fftn(x, axes=(1, 2)).astype("complex64"), 1000)
    a = put(x)
    assert plan.forward(a, a) is a
    close(plan.inverse(a) / plan.size, x, 1000)
    real = fft.FFTPlan(7, np.float64, np.complex128)
    y = filled(7, "float64")
    frequencies = real.forward(put(y))
    close(frequencies, np.fft.rfft(y), 1000)
    close(real.inverse(frequencies) / 7, y, 1000)
    with pytest.raises(ValueError, match=r"an array of shape \(8,\), where the plan has \(7,\)"):
        real.forward(put(filled(8, "float64")))
    with pytest.raises(TypeError, match="a plan from float32 to complex128"):
        fft.FFTPlan(7, np.float32, np.complex128)


def test_what_cufft_does_not_take_is_refused():
    x = put(np.ones(8, "complex64"))
    with pytest.raises(TypeError, match="arrays of dtype float64 are not taken here: complex64, complex128 are"):
        fft.fft_inplace(put(np.ones(8)))
    with pytest.raises(TypeError, match="a transform from complex64 to complex128"):
        fft.fft(x, put(np.ones(8, "complex128")))
    with pytest.raises(ValueError, match=r"of shape \(8,\) into one of shape \(7,\)"):
        fft.fft(x, put(np.ones(7, "complex64")))
    with pytest.raises(TypeError, match="a forward transform to float32"):
        fft.fft(x, put(np.ones(14, "float32")))
    with pytest.raises(ValueError, match="one to three axes, not 4"):
        fft.fft_inplace(put(np.ones((2, 2, 2, 2), "complex64")))
    with pytest.raises(ValueError, match="are not contiguous"):
        fft.fft_inplace(x[::2])
    fft.fft_inplace(x[:0])
    fft.fft(x[::2], out := put(np.zeros(4, "complex64")))
    close(out, np.array([4, 0, 0, 0], "complex64"))


@pytest.mark.parametrize("seed", range(3))
def test_a_filter_as_a_pipeline_of_transforms(seed):
    """Two transforms, a ufunc of the device, and one back, all in place."""
    cufft = fft

    @ingot.vectorize(["complex64(complex64, complex64)"], target="gpu")
    def vmult(a, b):
        """Element complex64 multiplication"""
        return a * b

    def task1(cufft, d_image_complex, d_response_complex):
        cufft.fft_inplace(d_image_complex)
        cufft.fft_inplace(d_response_complex)

        vmult(d_image_complex, d_response_complex, out=d_image_complex)

        cufft.ifft_inplace(d_image_complex)

        # At this point, we have applied the filter onto d_image_complex
        return  # Does not return anything

    image, response = filled((16, 24), "complex64", seed), filled((16, 24), "complex64", seed + 10)
    d_image, d_response = cuda.to_device(image), cuda.to_device(response)
    task1(cufft, d_image, d_response)
    wanted = np.fft.ifft2(np.fft.fft2(image) * np.fft.fft2(response)).astype("complex64")
    close(d_image / d_image.size, wanted, 10000)


# ---- cuRAND.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws(dtype):
    prng = rand.PRNG(rand.PRNG.PHILOX4_32_10, seed=7)
    x = cuda.device_array(20001, dtype)
    prng.uniform(x)
    u = x.to_host()
    assert u.min() > 0 and u.max() <= 1 and abs(u.mean() - 0.5) < 0.01
    prng.normal(x, mean=3, sigma=2)
    n = x.to_host()
    assert abs(n.mean() - 3) < 0.1 and abs(n.std() - 2) < 0.1
    prng.lognormal(x, 0.5, 0.25)
    assert abs(np.log(x.to_host()).mean() - 0.5) < 0.02
    again = cuda.device_array(20001, dtype)
    other = rand.PRNG(rand.PRNG.PHILOX4_32_10, seed=7)
    other.uniform(again)
    assert again.to_host().tobytes() == u.tobytes()
    k = cuda.device_array(20000, np.uint32)
    prng.poisson(k, 4)
    assert abs(k.to_host().mean() - 4) < 0.1
    prng.bits(k)
    assert abs(k.to_host().mean() / 2**31 - 1) < 0.05


def test_draws_into_parts_and_orders():
    whole, parts = cuda.device_array((4, 6), order="F"), cuda.device_array(30)
    rand.PRNG(seed=1).normal(whole)
    parts[...] = 0.0
    prng = rand.PRNG(seed=1)
    prng.normal(parts, size=10)
    prng.normal(parts[10:], size=14)
    assert parts.to_host()[:24].tobytes() == whole.to_host().ravel("F").tobytes()
    assert (parts.to_host()[24:] == 0).all()
    offset = cuda.device_array(4)
    rand.PRNG(seed=1, offset=2).normal(offset)
    assert offset.to_host().tobytes() == parts.to_host()[2:6].tobytes()


def test_quasirandom_numbers():
    x = cuda.device_array(12, np.uint32)
    rand.QRNG(ndim=3).generate(x)
    with pytest.raises(cuda.LibraryError) as raised:
        rand.QRNG(ndim=5).generate(x)
    assert raised.value.status == "CURAND_STATUS_LENGTH_NOT_MULTIPLE"
    wide = cuda.device_array(12, np.uint64)
    rand.QRNG(rand.QRNG.SOBOL64, ndim=3).generate(wide)
    assert len(set(wide.to_host().tolist())) == 12
    u = cuda.device_array(12)
    rand.QRNG(ndim=4).uniform(u)
    assert ((u.to_host() > 0) & (u.to_host() <= 1)).all()


def test_what_curand_does_not_take_is_refused():
    prng = rand.PRNG()
    with pytest.raises(TypeError, match="arrays of dtype int64 are not taken here: float32, float64 are"):
        prng.normal(put([1, 2]))
    with pytest.raises(ValueError, match="are not contiguous"):
        prng.normal(put(np.ones(4))[::2])
    with pytest.raises(ValueError, match="5 numbers for an array of 4"):
        prng.uniform(put(np.ones(4)), size=5)
    with pytest.raises(cuda.LibraryError, match="CURAND_STATUS_OUT_OF_RANGE"):
        prng.poisson(cuda.device_array(4, np.uint32), -1)


# ---- cuSPARSE.


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_matrices(dtype):
    dense = filled((5, 7), dtype, 1) * (np.arange(35).reshape(5, 7) % 3 == 0).astype(np.finfo(dtype).dtype)
    a = sparse.csr_matrix(dense)
    assert (a.shape, a.dtype, a.nnz, a.device) == ((5, 7), np.dtype(dtype), 12, DEVICE)
    assert (a.to_host() == dense).all()
    x, b = filled(7, dtype, 2), filled((7, 3), dtype, 3)
    close(a @ put(x), dense @ x)
    for order in "CF":
        close(a @ put(b, order), dense @ b)
        c = put(np.ones((5, 3), dtype), order)
        sparse.csrmm("N", 2, a, put(b), 3, c)
        close(c, 2 * dense @ b + 3)
    y = put(filled(7, dtype, 4))
    sparse.csrmv("C", 1, a, put(x[:5]), 2, y)
    close(y, dense.conj().T @ x[:5] + 2 * filled(7, dtype, 4))
    sparse.csrmv("T", 1, a, put(x[:5]), 0, y)
    close(y, dense.T @ x[:5])
    strided = put(np.repeat(x, 2))[::2]
    close(a @ strided, dense @ x)


def test_sparse_matrices_of_parts():
    parts = (np.array([1.0, 2, 3]), np.array([0, 2, 1]), np.array([0, 2, 2, 3]))
    a = sparse.csr_matrix(parts, (3, 3))
    close(a @ put(np.array([1.0, 10, 100])), np.array([201.0, 0, 30]))
    on_device = tuple(put(part) for part in parts)
    close(sparse.csr_matrix(on_device, (3, 3)) @ put(np.ones(3)), np.array([3.0, 0, 3]))
    empty = sparse.csr_matrix(np.zeros((2, 3)))
    close(empty @ put(np.ones(3)), np.zeros(2))

    class Scipys:
        data, indices, indptr, shape = *parts, (3, 3)

    assert (sparse.csr_matrix(Scipys()).to_host() == a.to_host()).all()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([1.0], [3], [0, 1]), "a column outside of the 3"),
        (([1.0], [-1], [0, 1]), "a column outside of the 3"),
        (([1.0, 2.0], [0, 1], [0, 1]), "does not ascend from 0 to the number"),
        (([1.0], [0], [1, 1]), "does not ascend from 0"),
        (([1.0], [0], [0, 1, 1]), "for 1 rows"),
    ],
)
def test_sparse_matrices_that_are_wrong_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        sparse.csr_matrix(tuple(np.array(part) for part in parts), (1, 3))


def test_what_cusparse_does_not_take_is_refused():
    a = sparse.csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match=r"a 3 x 3 matrix, x of shape \(4,\)"):
        a @ put(np.ones(4))
    with pytest.raises(TypeError):
        a @ np.ones(3)
    with pytest.raises(TypeError, match="float64 and float32"):
        a @ put(np.ones(3, "float32"))
    with pytest.raises(TypeError, match="sparse matrices of dtype int64"):
        sparse.csr_matrix(np.eye(3, dtype=int))


# ---- cuSOLVER, directly.


def positive(shape, dtype):
    x = filled(shape, dtype)
    return x @ np.conjugate(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype) * shape[-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_linear_algebra(dtype, batch):
    x, b = filled((*batch, 4, 4), dtype, 1), filled((*batch, 4, 2), dtype, 2)
    a = put(x)
    close(solver.solve(a, put(b)), np.linalg.solve(x, b), 10000)
    close(solver.inv(a), np.linalg.inv(x), 10000)
    close(solver.det(a), np.linalg.det(x), 10000)
    sign, logarithm = solver.slogdet(a)
    close(sign, np.linalg.slogdet(x)[0], 10000)
    close(logarithm, np.linalg.slogdet(x)[1], 10000)
    h = positive((*batch, 4, 4), dtype)
    close(solver.cholesky(put(h)), np.linalg.cholesky(h), 10000)
    close(solver.cholesky(put(h), upper=True), np.linalg.cholesky(h, upper=True), 10000)
    values, vectors = (each.to_host() for each in solver.eigh(put(h)))
    close(values, np.linalg.eigvalsh(h), 10000)
    close(h @ vectors, vectors * values[..., None, :], 10000)
    close(solver.eigvalsh(put(h), "U"), np.linalg.eigvalsh(h), 10000)
    assert a.to_host().tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 2)])
def test_factors(dtype, shape):
    x = filled(shape, dtype)
    for mode in ("reduced", "complete"):
        q, r = (each.to_host() for each in solver.qr(put(x), mode))
        close(q @ r, x, 10000)
        close(np.conjugate(np.swapaxes(q, -1, -2)) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*shape[:-2], q.shape[-1], q.shape[-1])), 10000)
        assert (np.tril(r, -1) == 0).all()
    close(solver.qr(put(x), "r"), r[..., : min(shape[-2:]), :], 10000)
    for full in (False, True):
        u, s, vh = (each.to_host() for each in solver.svd(put(x), full))
        k = s.shape[-1]
        close(s, np.linalg.svd(x, compute_uv=False), 10000)
        close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, 10000)
        assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-2] == (shape[-1] if full else k)
    close(solver.svd(put(x), compute_uv=False), s, 10000)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "sides"), [((6, 3), (2,)), ((3, 6), (2,)), ((4, 4), ()), ((6, 3), ())])
def test_least_squares(dtype, shape, sides):
    x, b = filled(shape, dtype, 1), filled((shape[0], *sides), dtype, 2)
    got, wanted = solver.lstsq(put(x), put(b)), np.linalg.lstsq(x, b)
    for one, other in zip((got.x, got.residuals, got.s), (wanted[0], wanted[1], wanted[3]), strict=True):
        close(one, other, 10000)
    assert got.rank == wanted[2] == min(shape)
    x[:, -1] = x[:, 0]
    got, wanted = solver.lstsq(put(x), put(b), rcond=1e-5), np.linalg.lstsq(x, b, rcond=1e-5)
    close(got.x, wanted[0], 10000)
    assert got.rank == wanted[2] and got.residuals.shape == wanted[1].shape


def test_threads():
    x = [filled((24, 24), "float64", seed) for seed in range(4)]
    found = {}

    def work(i):
        with DEVICE, cuda.stream() if i % 2 else contextlib.nullcontext():
            a, c = put(x[i]), put(np.zeros((24, 24)))
            for _ in range(20):
                blas.gemm("N", "N", 24, 24, 24, 1, a, a, 0, c)
                norm = blas.nrm2(c.reshape(576))
            z = put(x[i] + 0j)
            for _ in range(10):
                fft.fft_inplace(z)
                fft.ifft_inplace(z)
                z /= 576
            found[i] = c.to_host(), norm, z.to_host(), solver.inv(a).to_host()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        close(found[i][0], x[i] @ x[i])
        close(found[i][1], np.linalg.norm(x[i] @ x[i]))
        close(found[i][2], x[i] + 0j, 10000)
        close(found[i][3] @ x[i], np.eye(24), 10000)


def test_matrices_that_cannot_be_are_linalgerrors():
    a = put(np.ones((2, 3, 3)))
    for call, message in (
        (lambda: solver.solve(a[0], put(np.ones(3))), "Singular matrix"),
        (lambda: solver.inv(a), "Singular matrix"),
        (lambda: solver.cholesky(-a), "Matrix is not positive definite"),
        (lambda: solver.inv(a[0, :2]), "must be square"),
        (lambda: solver.det(a[0, 0]), "at least two-dimensional"),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            call()
    assert (solver.det(a).to_host() == 0).all()
    with pytest.raises(ValueError, match="solve: matrices of shape"):
        solver.solve(a[0], put(np.ones(4)))
    assert solver.inv(put(np.ones((0, 3, 3)))).shape == (0, 3, 3)
    assert solver.det(put(np.ones((2, 0, 0)))).to_host().tolist() == [1, 1]


# ---- Compiled code.


def agree(function, *arrays, factor=10000):
    """Calls a function with NumPy and compiled, on the device with its libraries: results are close, of the same dtypes."""
    wanted = function(*arrays)
    of_one, of_two = lambda x: function(x), lambda x, y: function(x, y)
    got = ingot.jit(of_one if len(arrays) == 1 else of_two)(*map(put, arrays))
    for one, other in zip(got if isinstance(got, tuple) else (got,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        if isinstance(one, ingot.Array) or np.asarray(other).dtype.kind in "fc":
            close(one, other, factor)
        else:
            assert one == other
    return got


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("first", "second"), [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((1, 4), (4, 1))]
)
def test_products_in_compiled_code(compiled, dtype, first, second):
    before = jobs("blas")
    agree(lambda x, y: x @ y, filled(first, dtype, 1), filled(second, dtype, 2))
    assert jobs("blas") == before + 1


def test_products_of_views_in_compiled_code(compiled):
    x, y = filled((6, 8), "float64", 1), filled((6, 8), "float64", 2)
    before = jobs("blas")
    agree(lambda x, y: x.T @ y, x, y)
    agree(lambda x, y: np.dot(x[::2, 1:5], y[1::-1, ::2].T), x, y)
    agree(lambda x, y: (x @ y.T) * 2 + 1, x, y)
    agree(lambda x, y: np.einsum("ij,kj->ik", x, y), x, y)
    agree(lambda x, y: np.matmul(np.asfortranarray(x), y.T), x, y)
    assert jobs("blas") == before + 5
    a, b = put(x, "F"), put(y, "F")
    close(ingot.jit(lambda a, b: a.T @ b)(a, b), x.T @ y)
    close(a @ b.T, x @ y.T)


def test_products_that_libraries_do_not_have(compiled):
    before = jobs("blas")
    agree(lambda x: x @ x, np.arange(9).reshape(3, 3))
    agree(lambda x: x @ x, filled((3, 3), "float16"))
    agree(lambda x: x[:0] @ x, filled((3, 3), "float64"))
    agree(lambda x: x[:, :0] @ x[:0], filled((3, 3), "float64"))
    assert jobs("blas") == before


def test_wrong_products_are_numpys_errors(compiled):
    with pytest.raises(ValueError, match="matmul: Input operand 1 has a mismatch"):
        ingot.jit(lambda x, y: x @ y)(put(np.ones((2, 3))), put(np.ones((2, 3))))


def test_compiled_code_can_be_kept_from_using_them():
    x = filled((30, 30), "float64")
    function = ingot.jit(lambda x: x @ x)
    assert cuda.use_libraries(True) is False
    try:
        before = jobs("blas")
        function(put(x))
        assert jobs("blas") == before + 1
        assert cuda.use_libraries(False) is True
        plain = function(put(x))
        assert jobs("blas") == before + 1
        with DEVICE:
            cuda.use_libraries(True)
            function(put(x))
        assert jobs("blas") == before + 2
        close(plain, x @ x)
    finally:
        cuda.use_libraries(False)


def test_devices_without_libraries():
    with ingot.device("opencl"):
        x = cuda.to_device(np.eye(3))
        close(ingot.jit(lambda x: np.linalg.inv(x @ x))(x), np.eye(3))
        with pytest.raises(ingot.DeviceError, match="opencl:0 has no libraries"):
            blas.nrm2(x[0])
        with pytest.raises(ingot.DeviceError, match="opencl:0 has no libraries"):
            cuda.use_libraries(True)
        assert all("has no libraries" in text for text in cuda.libraries().values())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_linear_algebra_in_compiled_code(compiled, dtype, batch):
    x, b = filled((*batch, 4, 4), "float64" if dtype == "int64" else dtype, 1), filled((*batch, 4, 2), "float64", 2)
    x = (x * 10).astype(dtype)
    before = jobs("solver")
    agree(np.linalg.solve, x, b)
    agree(np.linalg.inv, x)
    agree(np.linalg.det, x)
    agree(lambda x: tuple(np.linalg.slogdet(x)), x)
    h = (x @ np.conjugate(np.swapaxes(x, -1, -2)) + np.eye(4, dtype=x.dtype) * 40).astype(dtype)
    agree(np.linalg.cholesky, h)
    agree(np.linalg.eigvalsh, h)
    agree(lambda x: np.linalg.svd(x, compute_uv=False), x)
    assert jobs("solver") > before


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 2)])
def test_factors_in_compiled_code(compiled, dtype, shape):
    x = filled(shape, dtype)
    before = jobs("solver")
    for mode in ("reduced", "complete"):
        q, r = (each.to_host() for each in ingot.jit(lambda x, mode=mode: tuple(np.linalg.qr(x, mode)))(put(x)))
        close(q @ r, x, 10000)
        assert [each.shape for each in (q, r)] == [each.shape for each in np.linalg.qr(x, mode)]
    for full in (False, True):
        u, s, vh = (each.to_host() for each in ingot.jit(lambda x, full=full: tuple(np.linalg.svd(x, full)))(put(x)))
        k = s.shape[-1]
        close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, 10000)
        assert [each.shape for each in (u, s, vh)] == [each.shape for each in np.linalg.svd(x, full)]
    h = x @ np.conjugate(np.swapaxes(x, -1, -2))
    values, vectors = (each.to_host() for each in ingot.jit(lambda x: tuple(np.linalg.eigh(x)))(put(h)))
    close(h @ vectors, vectors * values[..., None, :], 10000)
    agree(np.linalg.pinv, x)
    assert jobs("solver") > before


@pytest.mark.parametrize("dtype", DTYPES)
def test_least_squares_in_compiled_code(compiled, dtype):
    x, b = filled((6, 3), dtype, 1), filled((6, 2), dtype, 2)
    before = jobs("solver")
    agree(lambda x, b: tuple(np.linalg.lstsq(x, b)), x, b)
    agree(lambda x, b: tuple(np.linalg.lstsq(x, b)), x.T.copy(), b[:3])
    agree(lambda x, b: tuple(np.linalg.lstsq(x, b)), x, b[:, 0].copy())
    x[:, 2] = x[:, 0]
    agree(lambda x, b: tuple(np.linalg.lstsq(x, b)), x, b)
    assert jobs("solver") > before


def test_wrong_matrices_are_linalgerrors_in_compiled_code(compiled):
    x = put(np.ones((3, 3)))
    for function, message in (
        (lambda x: np.linalg.inv(x), "Singular matrix"),
        (lambda x: np.linalg.solve(x, x), "Singular matrix"),
        (lambda x: np.linalg.cholesky(-x), "Matrix is not positive definite"),
        (lambda x: np.linalg.inv(x[:2]), "must be square"),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            ingot.jit(function)(x)
    agree(np.linalg.det, np.ones((3, 3)))
    agree(lambda x: np.linalg.inv(x), np.ones((0, 3, 3)))
    agree(lambda x: np.linalg.det(x), np.ones((2, 0, 0)))


@pytest.mark.parametrize("dtype", [*DTYPES, "int32"])
@pytest.mark.parametrize("n", [1, 8, 9])
@pytest.mark.sampled(6)
def test_transforms_in_compiled_code(compiled, dtype, n):
    x = filled((3, n, 4), "float64" if dtype == "int32" else dtype)
    x = (x * 10).astype(dtype)
    before = jobs("fft")
    agree(lambda x: np.fft.fft(x, axis=1), x)
    agree(lambda x: np.fft.ifft(x, axis=1, norm="ortho"), x)
    agree(lambda x: np.fft.ifft(x, 6), x)
    agree(lambda x: np.fft.fftn(x), x)
    if x.dtype.kind != "c":
        agree(lambda x: np.fft.rfft(x, axis=1), x)
        agree(lambda x: np.fft.rfft(x, 7, norm="forward"), x)
    agree(lambda x: np.fft.irfft(x, axis=0), x)
    agree(lambda x: np.fft.irfft(x, 7, axis=1), x)
    agree(lambda x: np.fft.hfft(x, 6), x)
    assert jobs("fft") > before + 6


def test_derivatives_of_products_use_them(compiled):
    x, y = filled((4, 4), "float64", 1), filled((4, 4), "float64", 2)
    before = jobs("blas")
    gradient = ingot.jit(ingot.grad(lambda x, y: (np.linalg.inv(x @ y)).sum()))(put(x), put(y))
    assert jobs("blas") > before
    wanted = ingot.jit(ingot.grad(lambda x, y: (np.linalg.inv(x @ y)).sum()))(x, y)
    close(gradient, wanted, 100000)


def test_streams_in_compiled_code(compiled):
    x = filled((8, 8), "float64")
    stream = cuda.stream()
    a = put(x)
    function = ingot.jit(lambda a: a @ a + 1)
    with stream:
        b = function(a)
        assert not stream.is_done()
    close(b - 1, x @ x)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_order_of_streams(seed):
    code = """
import ingot, numpy as np
from ingot import cuda
from ingot.cuda import blas, fft, rand
with ingot.device("emulated"):
    x = np.random.default_rng(0).standard_normal((16, 16)) + 0j
    streams = [cuda.stream() for _ in range(3)]
    a, b = cuda.to_device(x), cuda.to_device(x)
    for i in range(12):
        it = streams[i % 3]
        blas.Blas(it).gemm("N", "N", 16, 16, 16, 1, a, b, 0, a) if i % 2 else fft.fft_inplace(a, it)
        with streams[(i + 1) % 3]:
            b = b * 0.5 + a / abs(a).max()
            a = a / abs(a).max()
    y, z = x.copy(), x.copy()
    for i in range(12):
        y = y @ z if i % 2 else np.fft.fft2(y)
        z = z * 0.5 + y / abs(y).max()
        y = y / abs(y).max()
    print(np.allclose(a.to_host(), y), np.allclose(b.to_host(), z))
"""
    environment = {**os.environ, "INGOT_EMULATOR_SEED": str(seed)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert run.stdout == "True True\n", run.stderr


@ingot.jit
def stepped(a, x, out):
    """Kernels before, between and after products."""
    scaled = a * 2
    first = scaled @ x
    out[:] = (first + 1) @ x
    return first - out


@ingot.jit
def smoothed(x):
    spectrum = np.fft.fft(x)
    return np.fft.ifft(spectrum * 2).real + 1


def test_routines_are_steps_of_a_graph(compiled):
    a, x = (filled((12, 12), "float64", seed) for seed in (1, 2))
    out = put(np.zeros((12, 12)))
    before = jobs("blas")
    graph = ingot.graph(stepped, put(a), put(x), out)
    assert jobs("blas") == before and not out.to_host().any()
    for _ in range(2):
        close(graph(), (2 * a @ x) - (2 * a @ x + 1) @ x, 1000)
        close(out, (2 * a @ x + 1) @ x, 1000)
    assert jobs("blas") == before + 4


def test_graphs_with_routines_take_other_arrays(compiled):
    a, x = (filled((9, 9), "float32", seed) for seed in (3, 4))
    graph = ingot.graph(stepped, put(a), put(x), put(np.zeros((9, 9), "f4")))
    out = put(np.zeros((9, 9), "f4"))
    close(graph(put(x), put(a), out), (2 * x @ a) - (2 * x @ a + 1) @ a, 1000)
    close(out, (2 * x @ a + 1) @ a, 1000)
    assert graph.captures == 1


def test_transforms_are_steps_of_a_graph(compiled):
    x = filled(32, "float64")
    graph = ingot.graph(smoothed, put(x))
    for seed in (0, 5):
        close(graph(put(filled(32, "float64", seed))), 2 * filled(32, "float64", seed) + 1, 1000)


def test_routines_that_are_waited_for_are_refused_in_a_graph(compiled):
    a = np.eye(4) + 1
    with pytest.raises(ingot.UnsupportedError, match="a routine whose result the host waits for in a graph"):
        ingot.graph(ingot.jit(lambda m: np.linalg.inv(m)), put(a))
