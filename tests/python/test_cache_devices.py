"""What is compiled for devices is on disk, too: the next process loads the code of the host and that of its kernels (docs/cache.md)."""

import pytest

from caching import run

PROGRAMS = """
from ingot import cuda

device = ingot.device("emulated")
x = np.linspace(-1.0, 2.0, 600).reshape(20, 30)
there = ingot.device_put(x, device)

@ingot.jit
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
@ingot.jit
def loop(x, out):
    for i in range(len(x)):
        out[i] = x[i] * FACTOR
@ingot.jit(device="emulated")
def moved(x): return x + 1
@ingot.jit
def product(a): return a @ a.T
@ingot.jit
def raising(x, i):
    for k in range(len(i)):
        x[i[k]] = 0.0
@cuda.jit
def kernel(x, y):
    i = cuda.grid(1)
    if i < x.size: y[i] = x[i] * FACTOR
@cuda.jit(max_registers=24)
def limited(x, y):
    i = cuda.grid(1)
    if i < x.size: y[i] = -x[i]
FACTOR = 3.0

def launch(kernel):
    out = ingot.device_put(np.zeros(600), device)
    kernel[5, 128](there.reshape(600), out)
    return out.to_host()
def looped():
    out = ingot.device_put(np.zeros(600), device)
    loop(there.reshape(600), out)
    return out.to_host()
def raised():
    try:
        raising(ingot.device_put(np.zeros(3), device), ingot.device_put(np.array([1, 7]), device))
    except IndexError as error:
        return str(error)

def results():
    return [softmax(there).to_host().tolist(), looped().tolist(), moved(x).tolist(), product(there).to_host().tolist(), raised(),
            launch(kernel).tolist(), launch(limited).tolist(), (there * 2 + 1).to_host().tolist(), there[there > 0].to_host().tolist(),
            np.asarray(ingot.numpy.sort(there, axis=0).to_host()).tolist(), float(there.sum())]
def compiled(): return "ingot._core" in sys.modules
"""


@pytest.mark.rotated(4)
def test_calls_on_devices_are_loaded(tmp_path):
    made, first = run(tmp_path, PROGRAMS + "r = results(); print(json.dumps([compiled(), r]))")
    loaded, second = run(tmp_path, PROGRAMS + "r = results(); print(json.dumps([compiled(), r]))")
    assert made and not loaded
    assert first == second


@pytest.mark.rotated(4)
def test_each_has_stored_it(tmp_path):
    functions = "softmax, loop, moved, product, raising, kernel, limited"
    assert run(tmp_path, PROGRAMS + f"results(); print(json.dumps([s.not_stored for f in ({functions}) for s in f.specialisations]))") == [""] * 7


@pytest.mark.rotated(4)
def test_changes_are_seen(tmp_path):
    run(tmp_path, PROGRAMS + "results(); print(0)")
    changed = PROGRAMS.replace("FACTOR = 3.0", "FACTOR = 4.0").replace("return x + 1", "return x + 2")
    values = run(tmp_path, changed + "print(json.dumps([looped()[-1], launch(kernel)[-1], float(moved(x)[0, 0])]))")
    assert values == [8.0, 8.0, 1.0]


@pytest.mark.rotated(3)
def test_code_of_the_host_is_not_that_of_a_device(tmp_path):
    both = "print(json.dumps([softmax(x).tolist() == softmax(there).to_host().tolist(), len(softmax.specialisations), compiled()]))"
    assert run(tmp_path, PROGRAMS + "softmax(x); print(0)") == 0
    assert run(tmp_path, PROGRAMS + both) == [True, 2, True]
    assert run(tmp_path, PROGRAMS + both) == [True, 2, False]


@pytest.mark.rotated(3)
@pytest.mark.parametrize("other", ["max_registers=32", "max_registers=24, launch_bounds=(128, 2)"])
def test_how_kernels_are_loaded_is_part_of_what_they_are(tmp_path, other):
    run(tmp_path, PROGRAMS + "launch(limited); print(0)")
    changed = PROGRAMS.replace("max_registers=24", other)
    assert run(tmp_path, changed + "v = launch(limited)[-1]; print(json.dumps([float(v), compiled()]))") == [-2.0, True]


@pytest.mark.rotated(3)
def test_kernels_are_loaded_with_their_options(tmp_path):
    seen = """
from ingot import _ingot
given = []
load = _ingot.Code.load
class Code:
    @staticmethod
    def load(code, options=None, moves=()):
        given.append(options is not None)
        return load(code, options, moves)
_ingot.Code = Code
launch(limited)
print(json.dumps([given, compiled()]))
"""
    assert run(tmp_path, PROGRAMS + seen) == [[True], True]
    assert run(tmp_path, PROGRAMS + seen) == [[True], False]


@pytest.mark.rotated(3)
def test_what_is_linked_is_not_stored(tmp_path):
    text = """
half = cuda.declare_device("half", "float64(float64)", link=cuda.CUSource('extern "C" __device__ int half(double* r, double x) { *r = x / 2; return 0; }', "half.cu"))
@cuda.jit
def halves(x, y):
    i = cuda.grid(1)
    if i < x.size: y[i] = half(x[i])
try:
    value = float(launch(halves)[-1])
except ingot.DeviceError as error:  # there is no NVRTC
    assert "NVRTC" in str(error)
    value = 1.0
print(json.dumps([value, compiled()]))
"""
    for _ in range(2):
        assert run(tmp_path, PROGRAMS + text) == [1.0, True]
