"""What the passes make of kernels: the same, with fewer checks."""

import re
import subprocess

import numpy as np
import pytest
import test_cuda_kernels_programs as programs
from ingot import cuda
from ingot._calls.record import Recorder
from ingot._calls.specialisation import Call
from programs import find_program

PASSES = "inline,simplify,reuse,fuse,to_loops,simplify,checks,dce,fuse_nests,contract"


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv("INGOT_KERNELS", "interpreted")


def passed(kernel, configuration, arguments, folder, passes=PASSES):
    """Runs a kernel as it is, and as passes make it, which must give the same bits; the text that they give."""
    at = kernel[configuration]
    function = kernel._function(None)
    specialisation, given = function._prepare((*at.griddim, *at.blockdim, at.sharedmem, *arguments), {})
    call = Call(specialisation, given)
    recorder = Recorder(specialisation, call.leaves)
    outcome = call.run("interpreted")
    specialisation.compile = lambda texts: {"passes": []}
    recorder.write(folder, outcome, specialisation.result)
    command = [find_program("ingot-opt"), "--passes", passes, "--verify", "--interpret", "--call", "call.txt", "--expect", "call.txt", "1-frontend.ir"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    command = [find_program("ingot-opt"), "--passes", passes, "--print", "1-frontend.ir"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def rng():
    return np.random.default_rng(5)


def square(n):
    return rng().random((2, n, n), np.float32)


@cuda.jit
def block_sum(x, out):
    t = cuda.threadIdx.x
    s = cuda.shared.array(16, np.float64)
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 8
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


@cuda.jit
def rows(x, y, out):
    i = cuda.grid(1)
    s = cuda.shared.array((4, 4), np.float64)
    s[i] = x[i] * 2 + y
    cuda.syncthreads()
    out[i] = s[3 - i] + np.sum(s[i])
    cuda.syncthreads()
    s[i] = out[i]
    cuda.syncthreads()
    own = s[3 - i].copy()
    cuda.syncthreads()
    s[i, 0] = own[1]
    cuda.syncthreads()
    out[i] += s[3 - i]


@cuda.jit
def neighbours(x):
    """A pending read of a whole row must be made before the barrier after which others write it."""
    t = cuda.threadIdx.x
    s = cuda.shared.array((4, 4), np.float64)
    s[t] = x[t]
    cuda.syncthreads()
    other = s[3 - t] + 1
    cuda.syncthreads()
    s[t] = other
    x[t] = s[t]


@cuda.jit
def warps(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, delta)
    if cuda.laneid == 0:
        out[0] = value
    out[1 + t] = cuda.popc(cuda.match_any_sync(0xFFFFFFFF, x[t] > 3)) + cuda.syncthreads_count(x[t] > 5)


@cuda.jit
def dynamic(x):
    s = cuda.shared.array(0, np.float64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    x[t] = s[7 - t]


@cuda.jit
def grid_wide(x, y):
    i = cuda.grid(1)
    x[i] = i
    cuda.cg.this_grid().sync()
    y[i] = x[7 - i]
    cuda.cg.this_grid().sync()
    x[i] = y[7 - i]


KERNELS = {
    "square_matrix_mult": lambda: (programs.square_matrix_mult, ((2, 2), (4, 4)), (*square(6), np.zeros((6, 6), np.float32))),
    "fast_matmul": lambda: (programs.fast_matmul, ((2, 2), (4, 4)), (*square(6), np.zeros((6, 6), np.float32))),
    "matmul_that_quits": lambda: (programs.matmul_that_quits, ((2, 2), (4, 4)), (*square(8), np.zeros((8, 8), np.float32))),
    "kuramoto": lambda: (programs.kuramoto, (1, 1), programs.network(1, 1, 6, 8, np.float64)),
    "triad": lambda: (programs.triad, (2, 16), (np.zeros(20), *rng().random((2, 20)), 3.0)),
    "block_sum": lambda: (block_sum, (1, 16), (rng().random(16), np.zeros(1))),
    "rows": lambda: (rows, (1, 4), (rng().random((4, 4)), np.arange(4.0), np.zeros((4, 4)))),
    "neighbours": lambda: (neighbours, (1, 4), (rng().random((4, 4)),)),
    "warps": lambda: (warps, (1, 32), (rng().integers(0, 9, 32), np.zeros(33, np.int64))),
    "dynamic": lambda: (dynamic, (1, 8, 0, 64), (rng().random(8),)),
    "grid_wide": lambda: (grid_wide, (2, 4), (np.zeros(8), np.zeros(8))),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_stay_what_they_are(name, tmp_path):
    kernel, configuration, arguments = KERNELS[name]()
    passed(kernel, configuration, arguments, tmp_path)


def test_places_need_no_checks(tmp_path):
    """They are not negative, and sums and products of them do not overflow."""

    @cuda.jit
    def add(x, out):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < out.size and i < x.size:
            out[i] = x[i] + 1

    text = passed(add, (2, 8), (np.arange(12.0), np.zeros(12)), tmp_path)
    assert "launch" in text
    assert not re.search("OverflowError|greater_equal|select|maximum", text), text
