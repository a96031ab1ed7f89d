"""Functions that are linked with kernels: CUDA C++ and PTX on the software device, the rest as nvJitLink links it.

CUDA C++ wants the vendor's toolkit, which needs no GPU.
"""

import re
import subprocess
import sys

import numpy as np
import pytest

import ingot
from ingot import _ingot, cuda, float32, int32, uint8
from toolkit import needs_nvcc, needs_nvdisasm, needs_nvrtc, program

BAR = """
extern "C" __device__ int bar(int* retval, int a, int b) {
  *retval = a + 10 * b;
  return 0;
}
"""

PTX = """
.version 6.3
.target sm_75
.address_size 64
.visible .func (.param .b32 status) twice(.param .b64 out, .param .b32 x) {
  .reg .b64 %a;
  .reg .f32 %f;
  ld.param.u64 %a, [out];
  ld.param.f32 %f, [x];
  add.rn.f32 %f, %f, %f;
  st.f32 [%a], %f;
  st.param.b32 [status], 0;
  ret;
}
"""


BAR_PTX = """
.version 6.3
.target sm_75
.address_size 64
.visible .func (.param .b32 status) bar(.param .b64 out, .param .b32 a, .param .b32 b) {
  .reg .b64 %o;
  .reg .b32 %x, %y;
  ld.param.u64 %o, [out];
  ld.param.u32 %x, [a];
  ld.param.u32 %y, [b];
  mad.lo.s32 %x, %y, 10, %x;
  st.u32 [%o], %x;
  st.param.b32 [status], 0;
  ret;
}
"""


@pytest.fixture(autouse=True)
def machine():
    with ingot.device("emulated"):
        yield


def nvcc(tmp_path, source, *options):
    """What the vendor's compiler makes of a source."""
    path = tmp_path / "source.cu"
    path.write_text(source)
    made = tmp_path / ("made" + {"-cubin": ".cubin", "-fatbin": ".fatbin", "-dc": ".o", "-ltoir": ".ltoir"}[options[0]])
    subprocess.run([program("nvcc"), *options, "-rdc=true", "-o", made, path], check=True, capture_output=True, timeout=100)
    return made


def launched(function, dtype=np.int32, link=None, result=np.int32):
    @cuda.jit(link=link)
    def foo(inp, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(inp[i], 2)

    inp = np.arange(5).astype(dtype)
    out = np.zeros(5, result)
    foo[1, 32](inp, out)
    return out


@needs_nvrtc
def test_a_function_of_cuda_source(tmp_path):
    (tmp_path / "bar.cu").write_text(BAR)
    bar = cuda.declare_device("bar", "int32(int32, int32)")
    assert launched(bar, link=[tmp_path / "bar.cu"]).tolist() == [20, 21, 22, 23, 24]
    assert launched(bar, link=str(tmp_path / "bar.cu")).tolist() == [20, 21, 22, 23, 24]
    assert launched(cuda.declare_device("bar", int32(int32, int32), link=cuda.CUSource(BAR))).tolist() == [20, 21, 22, 23, 24]


@needs_nvrtc
def test_files_are_read_when_the_kernel_is_declared(tmp_path):
    (tmp_path / "bar.cu").write_text(BAR)
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=[tmp_path / "bar.cu"])
    (tmp_path / "bar.cu").write_text("nonsense")
    assert launched(bar).tolist() == [20, 21, 22, 23, 24]
    with pytest.raises(FileNotFoundError):
        cuda.jit(link=[tmp_path / "not_there.cu"])
    with pytest.raises(ValueError, match=r"ends in \.a, \.cu, .*not 'bar\.txt'"):
        cuda.jit(link=[tmp_path / "bar.txt"])


@needs_nvrtc
def test_headers_next_to_a_source(tmp_path):
    (tmp_path / "ten.h").write_text("#define TEN 10\n")
    (tmp_path / "bar.cu").write_text('#include "ten.h"\n#include <cuda_fp16.h>\n' + BAR.replace("10", "TEN"))
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=[tmp_path / "bar.cu"])
    assert launched(bar).tolist() == [20, 21, 22, 23, 24]


def test_a_function_of_ptx(tmp_path):
    (tmp_path / "twice.ptx").write_text(PTX)
    twice = cuda.declare_device("twice", "float32(float32)", link=[tmp_path / "twice.ptx"])

    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = twice(x[cuda.threadIdx.x])

    x = np.array([1.5, -2.25, 0.1], np.float32)
    wanted = x + x
    kernel[1, 3](x)
    np.testing.assert_array_equal(x, wanted)


def test_what_is_linked_at_the_function_and_at_the_kernel():
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(BAR_PTX))
    twice = cuda.declare_device("twice", "float32(float32)")

    @cuda.jit(link=[cuda.PTXSource(PTX)])
    def kernel(x, y):
        x[0] = bar(x[0], 3)
        y[0] = twice(y[0])

    x, y = np.array([4], np.int32), np.array([0.75], np.float32)
    kernel[1, 1](x, y)
    assert x[0] == 34 and y[0] == 1.5


@needs_nvrtc
def test_two_functions_of_one_source():
    source = (
        BAR
        + """
extern "C" __device__ int baz(double* out, double x) { *out = x / 4; return 0; }
"""
    )
    shared = cuda.CUSource(source, "both.cu")
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=shared)
    baz = cuda.declare_device("baz", "float64(float64)", link=shared)

    @cuda.jit
    def kernel(x, y):
        x[0] = bar(x[0], 3)
        y[0] = baz(y[0])

    x, y = np.array([4], np.int32), np.array([3.0])
    kernel[1, 1](x, y)
    assert x[0] == 34 and y[0] == 0.75


TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip


@pytest.mark.sampled(4)
@needs_nvrtc
@pytest.mark.parametrize("abi", ["numba", "c"])
@pytest.mark.parametrize("dtype", TYPES)
def test_dtypes_of_numbers(dtype, abi):
    c = TYPES[dtype]
    body = "!x" if dtype == "bool" else "x - 1"
    source = (
        f'extern "C" __device__ int f({c}* out, {c} x) {{ *out = {body}; return 0; }}'
        if abi == "numba"
        else f'extern "C" __device__ {c} f({c} x) {{ return {body}; }}'
    )
    f = cuda.declare_device("f", f"{dtype}({dtype})", link=cuda.CUSource(source), abi=abi)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = f(x[i])

    kind = np.dtype(dtype)
    x = np.array([0, 1] if dtype == "bool" else [1, 7, 100], kind)
    if kind.kind == "i":
        x = np.concatenate([x, np.array([-1, -100], kind)])
    out = np.zeros_like(x)
    kernel[1, len(x)](x, out)
    np.testing.assert_array_equal(out, ~x if dtype == "bool" else x - kind.type(1))


@needs_nvrtc
def test_complex_numbers_are_two():
    source = """
struct pair { double re, im; };
extern "C" __device__ int conj_times(pair* out, double re, double im, float by_re, float by_im) {
  out->re = re * by_re + im * by_im; out->im = re * by_im - im * by_re; return 0;
}
"""
    f = cuda.declare_device("conj_times", "complex128(complex128, complex64)", link=cuda.CUSource(source))

    @cuda.jit
    def kernel(x, y, out):
        out[0] = f(x[0], y[0])

    x, y, out = np.array([1 + 2j]), np.array([3 - 4j], np.complex64), np.zeros(1, complex)
    kernel[1, 1](x, y, out)
    assert out[0] == np.conj(x[0]) * y[0]


@needs_nvrtc
def test_pointers_to_arrays():
    source = """
extern "C" __device__ int sum_reduce(float* out, float* array, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += array[i];
  array[0] = -1;
  *out = sum;
  return 0;
}
"""
    for sig in ("float32(CPointer(float32), int32)", float32(cuda.CPointer(float32), int32)):
        sum_reduce = cuda.declare_device("sum_reduce", sig, link=cuda.CUSource(source))

        @cuda.jit
        def kernel(result, array):
            result[()] = sum_reduce(array, len(array))

        array, result = np.arange(10, dtype=np.float32), np.zeros((), np.float32)
        kernel[1, 1](result, array)
        assert result == 45 and array.tolist() == [-1, *range(1, 10)]
        part = np.arange(10, dtype=np.float32)
        kernel[1, 1](result, part[4:8])
        assert result == 4 + 5 + 6 + 7 and part[4] == -1 and part[3] == 3
        with pytest.raises(ValueError, match="`sum_reduce` is given an array with gaps for a pointer"):
            kernel[1, 1](result, np.arange(10, dtype=np.float32)[::2])
        with pytest.raises(TypeError, match="`sum_reduce` wants an array of float32, not an array of float64"):
            kernel[1, 1](result, np.arange(10.0))
        fixed = np.arange(10, dtype=np.float32)
        fixed.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            kernel[1, 1](result, fixed)


@needs_nvrtc
def test_memory_of_the_block_and_of_the_thread():
    source = """
extern "C" __device__ void rotate(int* shared, long long* own, int n) {
  int i = threadIdx.x;
  int got = shared[(i + 1) % n];
  __syncthreads();
  shared[i] = got;
  __syncthreads();
  own[1] = own[0] + got;
}
"""
    rotate = cuda.declare_device("rotate", "void(CPointer(int32), CPointer(int64), int32)", link=cuda.CUSource(source), abi="c")

    @cuda.jit
    def kernel(out):
        shared = cuda.shared.array(64, np.int32)
        own = cuda.local.array(2, np.int64)
        i = cuda.threadIdx.x
        shared[i] = i
        own[0] = 100
        cuda.syncthreads()
        rotate(shared, own, 64)
        out[i] = 1000 * own[1] + shared[i]

    out = np.zeros(64, np.int64)
    kernel[1, 64](out)
    wanted = (np.arange(64) + 1) % 64
    np.testing.assert_array_equal(out, 1000 * (100 + wanted) + wanted)


@needs_nvrtc
def test_arrays_are_flattened_as_numba_has_them():
    source = """
extern "C" __device__ int corner(double* out, void* meminfo, void* parent, long long size, long long itemsize, double* data,
                                 long long rows, long long columns, long long down, long long right) {
  if (meminfo || parent || size != rows * columns || itemsize != 8) return 1;
  *out = *(double*)((char*)data + (rows - 1) * down + (columns - 1) * right);
  return 0;
}
"""
    corner = cuda.declare_device("corner", "float64(float64[:, :])", link=cuda.CUSource(source))

    @cuda.jit
    def kernel(x, out):
        out[0] = corner(x)

    x, out = np.arange(24.0).reshape(4, 6), np.zeros(1)
    for view in (x, x.T, x[::2, ::3], x[::-1]):
        kernel[1, 1](view, out)
        assert out[0] == view[-1, -1]


@needs_nvrtc
def test_nothing_is_given_back():
    source = 'extern "C" __device__ int put(void*, float* to, float x) { *to = x; return 0; }'
    put = cuda.declare_device("put", "void(CPointer(float32), float32)", link=cuda.CUSource(source))

    @cuda.jit
    def kernel(out):
        assert put(out, 2.5) is None

    out = np.zeros(1, np.float32)
    kernel[1, 1](out)
    assert out[0] == 2.5


@needs_nvrtc
def test_a_status_is_an_exception():
    source = 'extern "C" __device__ int half(int* out, int x) { *out = x / 2; return x % 2 ? 10 * x : 0; }'
    half = cuda.declare_device("half", "int32(int32)", link=cuda.CUSource(source))

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = half(x[i])

    x = np.array([4, 2], np.int32)
    kernel[1, 2](x)
    assert x.tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="`half` has returned the status 70") as caught:
        kernel[1, 3](np.array([2, 7, 9], np.int32))
    assert not isinstance(caught.value, ingot.DeviceError)

    @cuda.jit
    def catching(x):
        try:
            x[0] = half(x[0])
        except RuntimeError:
            x[0] = -1

    x = np.array([3], np.int32)
    catching[1, 1](x)
    assert x[0] == -1


@needs_nvrtc
def test_names_that_functions_of_ingots_have():
    source = """
extern "C" __device__ double doubled(double x) { return 2 * x; }
extern "C" __device__ double shared(double x) { return 3 * x; }
extern "C" __device__ int report(int x) { return x + 1; }
"""
    link = cuda.CUSource(source)
    doubled = cuda.declare_device("doubled", "float64(float64)", link=link, abi="c")
    shared = cuda.declare_device("shared", "float64(float64)", link=link, abi="c")

    @cuda.jit
    def kernel(x):
        part = cuda.shared.array(4, np.float64)
        part[cuda.threadIdx.x] = x[cuda.threadIdx.x]
        cuda.syncthreads()
        x[cuda.threadIdx.x] = shared(doubled(part[3 - cuda.threadIdx.x])) // 1

    x = np.arange(4.0)
    kernel[1, 4](x)
    assert x.tolist() == [18, 12, 6, 0]


def test_numbers_are_converted_but_lose_no_kind():
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(BAR_PTX))
    assert launched(bar, dtype=np.int8).tolist() == [20, 21, 22, 23, 24]
    with pytest.raises(TypeError, match="`bar` wants int32, not float64"):
        launched(bar, dtype=np.float64)

    @cuda.jit
    def of_array(x):
        x[0] = bar(x, 2)

    with pytest.raises(TypeError, match="`bar` wants int32, not an array"):
        of_array[1, 1](np.zeros(3, np.int32))

    @cuda.jit
    def of_fewer(x):
        x[0] = bar(x[0])

    with pytest.raises(TypeError, match="`bar` takes 2 arguments, not 1"):
        of_fewer[1, 1](np.zeros(3, np.int32))


def test_what_is_called_outside_of_kernels_is_refused():
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(BAR_PTX))
    with pytest.raises(ingot.UnsupportedError, match="a call of `bar`, a device function, outside of a kernel"):
        bar(1, 2)

    @ingot.jit
    def compiled(x):
        return bar(x, 2)

    with pytest.raises(ingot.UnsupportedError, match="a call of `bar`, a device function, outside of a kernel"):
        compiled(1)


def test_declarations_that_are_refused():
    for name in ("ingot_bar", "not a name", "", 3):
        with pytest.raises(ValueError, match="has a name of C's"):
            cuda.declare_device(name, "int32(int32)")
    with pytest.raises(TypeError, match="gives a number or nothing, not float32"):
        cuda.declare_device("bar", "float32[:](int32)")
    with pytest.raises(TypeError, match="real numbers and pointers"):
        cuda.declare_device("bar", "complex128(complex128)", abi="c")
    with pytest.raises(ValueError, match="'numba' or 'c'"):
        cuda.declare_device("bar", "int32(int32)", abi="d")
    with pytest.raises(TypeError, match="one signature"):
        cuda.declare_device("bar", ["int32(int32)", "int64(int64)"])
    with pytest.raises(ValueError, match="linked with the kernels that call it"):
        cuda.jit(device=True, link=[cuda.PTXSource(BAR_PTX)])
    with pytest.raises(TypeError, match="one of the kinds of LinkableCode"):
        cuda.jit(link=[cuda.LinkableCode(BAR)])


def test_one_name_of_two_signatures_is_refused():
    link = cuda.PTXSource(BAR_PTX)
    one = cuda.declare_device("bar", "int32(int32, int32)", link=link)
    other = cuda.declare_device("bar", "int64(int64, int64)", link=link)
    same = cuda.declare_device("bar", "int32(int32, int32)", link=link)

    @cuda.jit
    def agreeing(x):
        x[0] = one(x[0], 1) + same(x[0], 2)

    x = np.array([1], np.int32)
    agreeing[1, 1](x)
    assert x[0] == 32

    @cuda.jit
    def differing(x):
        x[0] = one(x[0], 1) + other(x[0], 2)

    with pytest.raises(ingot.UnsupportedError, match="two functions `bar` of different signatures"):
        differing[1, 1](x)


@needs_nvrtc
def test_sources_that_are_wrong_are_reported():
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.CUSource("extern int bar(;", "wrong.cu"))
    with pytest.raises(ingot.DeviceError, match=r"wrong\.cu cannot be compiled: (.|\n)*wrong\.cu\(1\): error"):
        launched(bar)
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(".version 7.0\n.target sm_75\nnonsense", "wrong.ptx"))
    with pytest.raises(ingot.DeviceError, match="nonsense"):
        launched(bar)


def test_a_function_that_nobody_defines_is_reported():
    """The software device finds it when it is called, which is a fault: the device is of no use afterwards."""
    program = """
import numpy as np
import ingot
from ingot import cuda

foo = cuda.declare_device("foo", "int32(int32, int32)")

@cuda.jit
def kernel(x):
    x[0] = foo(x[0], 2)

with ingot.device("emulated"):
    try:
        kernel[1, 1](np.ones(1, np.int32))
    except ingot.DeviceError as error:
        print("refused:", error)
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert made.returncode == 0 and "refused:" in made.stdout and "foo" in made.stdout, made.stdout + made.stderr


def test_interpreting_is_refused(monkeypatch):
    monkeypatch.setenv("INGOT_KERNELS", "interpreted")
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(BAR_PTX))
    with pytest.raises(ingot.UnsupportedError, match="interpreting `foo`, which calls `bar`, a function that is linked"):
        launched(bar)


def test_opencl_links_nothing():
    if not ingot.devices("opencl"):
        pytest.fail("the tests want PoCL")
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(BAR_PTX))
    with ingot.device("opencl"), pytest.raises(ingot.UnsupportedError, match="a call of a function that is linked"):
        launched(bar)


@pytest.mark.parametrize("kind, words", [(cuda.Cubin, "a cubin"), (cuda.Object, "an object file"), (cuda.Fatbin, "a fat binary"),
                                         (cuda.Archive, "an archive"), (cuda.LTOIR, "LTO IR")])  # fmt: skip
def test_the_software_device_takes_no_machine_code(kind, words):
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=kind(b"\x7fELF", "made.bin"))
    with pytest.raises(ingot.DeviceError, match=f"the software device links PTX and CUDA C.. alone, and made.bin is {words}"):
        launched(bar)


@pytest.mark.sampled(2)
@needs_nvcc
@pytest.mark.parametrize("options", [("-cubin", "-arch=sm_90"), ("-fatbin", "-arch=sm_90"), ("-dc", "-arch=sm_90"), ("-ltoir", "-arch=lto_90", "-dlto")])
def test_nvjitlink_links_what_the_vendors_compiler_makes(tmp_path, options):
    made = nvcc(tmp_path, BAR, *options)
    kernel = """
.version 7.8
.target sm_90
.address_size 64
.extern .func (.param .b32 status) bar(.param .b64 out, .param .b32 a, .param .b32 b);
.visible .entry k(.param .u64 at) {
  .reg .b64 %a;
  .reg .b32 %s;
  ld.param.u64 %a, [at];
  { .param .b32 s; .param .b64 o; .param .b32 x; .param .b32 y;
    st.param.b64 [o], %a; st.param.b32 [x], 1; st.param.b32 [y], 2;
    call.uni (s), bar, (o, x, y); ld.param.b32 %s, [s]; }
  st.global.u32 [%a], %s;
  ret;
}
"""
    linked = cuda.jit(link=[made])(lambda x: None).link
    cubin = _ingot.cubin(kernel, _ingot.load_options([each.words for each in linked], 0), 90)
    assert cubin[:4] == b"\x7fELF" and re.search(rb"\bk\0", cubin)
    with pytest.raises(ingot.DeviceError, match="bar"):
        _ingot.cubin(kernel, _ingot.load_options([], 0), 90)
    with pytest.raises(ingot.DeviceError, match="does not know this kind of GPU"):
        _ingot.cubin(kernel, _ingot.load_options([], 0), 20)


def test_a_kernel_is_made_again_with_its_own_link():
    """Two kernels of one declaration, each linked with another text."""
    bar = cuda.declare_device("bar", "int32(int32, int32)")
    assert launched(bar, link=cuda.PTXSource(BAR_PTX)).tolist() == [20, 21, 22, 23, 24]
    assert launched(bar, link=cuda.PTXSource(BAR_PTX.replace("10", "100"))).tolist() == [200, 201, 202, 203, 204]


@needs_nvrtc
def test_a_boolean_is_one_byte():
    source = 'extern "C" __device__ unsigned char plus(bool x) { return 254 + x; }'
    plus = cuda.declare_device("plus", uint8(ingot.bool_), link=cuda.CUSource(source), abi="c")

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = plus(x[i] > 1)

    out = np.zeros(3, np.uint8)
    kernel[1, 3](np.arange(3), out)
    assert out.tolist() == [254, 254, 255]


@needs_nvdisasm
def test_machine_code_is_shown():
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.PTXSource(BAR_PTX))

    @cuda.jit(max_registers=32)
    def kernel(x):
        x[0] = bar(x[0], 2)

    assert kernel.inspect_sass() == {}
    kernel[1, 1](np.ones(1, np.int32))
    ((signature, text),) = kernel.inspect_sass().items()
    assert "EXIT" in text and ".text.bar" in text
    assert kernel.inspect_sass(signature) == text
    with pytest.raises(KeyError, match="has not been launched"):
        kernel.inspect_sass((float32,))


def test_launch_bounds_are_passed_to_the_compiler():
    @cuda.jit(launch_bounds=(64, 3))
    def kernel(x):
        x[cuda.threadIdx.x] = 1

    x = np.zeros(64)
    kernel[1, 64](x)
    assert x.all()
    (text,) = kernel.inspect_ptx().values()
    assert ".maxntid 64" in text and ".minnctapersm 3" in text
    with pytest.raises(ValueError, match=r"a block of `kernel` has at most 64 threads, by its launch_bounds, not 96"):
        kernel[1, (32, 3)]

    @cuda.jit(launch_bounds=128, max_registers=40)
    def other(x):
        x[0] = 1

    other[1, 128](x)
    (text,) = other.inspect_ptx().values()
    assert ".maxntid 128" in text and "minnctapersm" not in text
    assert other.get_regs_per_thread() > 0
    for wrong in (0, 2000, (1, 2, 3), ()):
        with pytest.raises(ValueError, match="launch_bounds are"):
            cuda.jit(launch_bounds=wrong)(lambda x: None)
    with pytest.raises(ValueError, match="at least one register"):
        cuda.jit(max_registers=0)(lambda x: None)


@needs_nvrtc
def test_what_a_linked_kernel_needs():
    source = 'extern "C" __device__ int f(int* out, int x) { __shared__ int part[100]; part[threadIdx.x] = x; *out = part[0]; return 0; }'
    f = cuda.declare_device("f", "int32(int32)", link=cuda.CUSource(source))

    @cuda.jit
    def kernel(x):
        x[0] = f(x[0])

    kernel[1, 1](np.ones(1, np.int32))
    assert kernel.resident_blocks(32) > 0


def test_numbas_jit_takes_no_link_on_a_device_function():
    with pytest.raises(ValueError, match="a device function is linked with the kernels that call it"):
        cuda.jit(device=True, link=[cuda.PTXSource(BAR_PTX)])
