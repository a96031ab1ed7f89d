"""`f.explain(..., device=...)`: launches, the bytes that they move, and what their kernels need."""

import json
import pickle
import subprocess

import numpy as np
import pytest

import ingot
from ingot._reports import assembler, occupancy
from ingot import cuda

CODES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
needs_assembler = pytest.mark.skipif(assembler.find_ptxas() is None, reason="ptxas, which reports what kernels need, is not on the PATH nor in CUDA_HOME")


def launches(function, *arguments, device="emulated"):
    return ingot.jit(function).explain(*arguments, device=device).launches


def chain(x, y):
    a = x * 2.0
    b = a + y
    return np.sqrt(b)


def steps(x, n):
    for _ in range(n):
        x[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3


def total(x):
    return x.sum()


def kept(x):
    return x[x > 0.5]


def either(x, y):
    if len(x) == len(y):
        return x + y
    return x * 2.0


def gathered(x, index):
    return x[index]


def first(x):
    x[0] = 1.0
    return None


def solved(a, b):
    return np.linalg.solve(a, b) + 1.0


def ordered(x):
    return np.sort(x)


def columns(x):
    return x.sum(axis=0)


def until(x):
    while x[0] > 0.1:
        x[:] = x / 2
    return x


def drawn(x):
    return eval("x")


def test_a_chain_is_one_launch_that_moves_the_least():
    found = launches(chain, np.ones(1000), np.ones(1000))
    (launch,) = found.launches
    assert (launch.times, launch.read, launch.written) == (1, 16000, 8000)
    assert found.least == found.read + found.written == 24000
    assert launch.grid[1:] == (1, 1) and 2 * launch.grid[0] * launch.block[0] >= 1000 > 2 * (launch.grid[0] - 1) * launch.block[0]
    assert launch.kernel in str(found) and "(1.00 times as much)" in str(found) and "16 kB" in str(found)
    assert found.on_host == [] and found.waits == 0
    assert launch.place[0] == __file__ and launch.place[1] - chain.__code__.co_firstlineno in (1, 2, 3)


def test_launches_of_a_loop_count_for_each_iteration():
    found = launches(steps, np.ones(1000), 7)
    assert found.times == 7 * len(found.launches) and {launch.times for launch in found.launches} == {7}
    assert all(launch.read and launch.written for launch in found.launches)
    assert found.read == 7 * sum(launch.read for launch in found.launches)
    assert 15000 < found.least <= 16000


@pytest.mark.rotated(3)
def test_iterations_of_the_host_are_read_one_by_one():
    """A sort takes a launch for each byte of a key, and two before; sums of columns are a tree of rows."""
    found = launches(ordered, np.ones(10_000))
    assert found.times == 10 and sum(launch.times for launch in found.launches if launch.number == found.launches[-1].number) == 8
    found = launches(columns, np.ones((20_000, 64)))
    tree = [launch for launch in found.launches if launch.number == 1]
    assert sum(launch.times for launch in tree) == found.times - 2 == 2  # of 157 blocks of rows, by sixteen
    assert len(tree) > 1 and [launch.grid for launch in tree] == sorted({launch.grid for launch in tree}, reverse=True)


def test_iterations_of_many_are_read_together():
    found = launches(steps, np.ones(1000), 1_000_000)
    assert found.times == 1_000_000 * len(found.launches)


def test_iterations_that_depend_on_contents_are_unknown():
    found = launches(until, np.ones(1000))
    assert found.launches and found.times is None


def test_a_sum_reads_once_and_its_number_is_waited_for():
    found = launches(total, np.ones(100_000))
    assert found.times == len(found.launches) >= 1
    assert 800_000 <= found.read < 820_000 and found.least == 800_000
    assert found.waits == 1


def test_what_depends_on_contents_is_unknown():
    found = launches(kept, np.ones(1000))
    assert found.launches and (found.written is None or found.written >= 0)
    assert "?" in str(found)


@pytest.mark.parametrize("length, least", [(10, 240), (4, 160)])
def test_conditions_of_the_host_are_decided(length, least):
    found = launches(either, np.ones(10), np.ones(length))
    assert [launch.times for launch in found.launches] == [1] and found.least == least


def test_what_is_gathered_is_no_more_than_there_are_iterations():
    *checks, last = launches(gathered, np.ones(100_000), np.arange(50)).launches
    assert last.times == 1 and last.read <= 50 * 8 + 800_000 and last.written == 400
    assert all(launch.read <= 400 for launch in checks)  # of whether the indices are there


def test_one_element_is_one():
    (launch,) = launches(first, np.ones(1000)).launches
    assert (launch.read, launch.written) == (0, 8) and launch.grid == launch.block == (1, 1, 1)


def test_what_the_host_does_is_reported():
    found = launches(solved, np.eye(20), np.ones(20))
    assert found.on_host and all(part.times == 1 for part in found.on_host)
    assert "on the host, with copies there and back" in str(found) and found.waits >= 1


def test_launches_are_data():
    text = ingot.jit(chain).explain(np.ones(1000), np.ones(1000), device="emulated")
    data = json.loads(json.dumps(text.launches.as_dict()))
    assert data["code"] == "sm_90" and data["total"] == {"launches": 1, "read": 16000, "written": 8000, "least": 24000, "waits": 0}
    assert set(data["launches"][0]) >= {"kernel", "grid", "block", "read", "written", "needs", "occupancy", "times"}
    assert "=== launches ===" in text and "=== kernels ===" in text
    assert pickle.loads(pickle.dumps(text)).launches == text.launches
    assert ingot.jit(chain).explain(np.ones(10), np.ones(10)).launches is None


def test_arrays_on_a_device_need_no_device():
    x = ingot.device_put(np.ones(1000), "emulated")
    found = ingot.jit(chain).explain(x, x).launches
    assert found.read == found.written == 8000 and found.least == 16000  # one array
    assert ingot.jit(chain).explain(x, x, device="sm_75").launches.code == "sm_75"


def test_the_driver_of_a_gpu_reports_what_kernels_need(monkeypatch):
    """The software device takes a GPU's part."""
    x = ingot.device_put(np.ones(1000), "emulated")
    monkeypatch.setattr(ingot._devices.Device, "kind", "gpu")
    asked = []
    of_driver = ingot._calls.specialisation.Specialisation.needs_of
    monkeypatch.setattr(ingot._calls.specialisation.Specialisation, "needs_of", lambda *a: asked.append(a[2:]) or of_driver(*a))
    (launch,) = ingot.jit(chain).explain(x, x).launches.launches
    assert asked == [(launch.kernel, launch.block[0], 0)] and launch.resident_blocks > 0


@pytest.mark.parametrize("code", CODES)
def test_code_for_gpus_that_are_not_there(code):
    text = ingot.jit(chain).explain(np.ones(1000), np.ones(1000), device=code)
    assert text.launches.code == code and text.launches.read == 16000 and ".entry" in text


@pytest.mark.parametrize("code", ["gfx90a", "gfx942", "gfx1100"])
def test_code_for_amds_gpus_that_are_not_there(code):
    for function, arguments in ((chain, (np.ones(1000), np.ones(1000))), (total, (np.ones(100_000),))):
        found = launches(function, *arguments, device=code)
        assert found.code == code and found.why == ""
        for launch in found.launches:
            assert launch.needs.by == "LLVM" and 1 <= launch.needs.registers <= 256 and launch.needs.spill_stores == 0
            assert launch.occupancy is None and launch.kernel in str(found)


def test_devices_that_are_not_there():
    f = ingot.jit(chain)
    with pytest.raises(ValueError, match="sm_75 and later, not 'sm_70'"):
        f.explain(np.ones(3), np.ones(3), device="sm_70")
    with pytest.raises(ValueError, match="the kinds of devices are"):
        f.explain(np.ones(3), np.ones(3), device="toaster")
    with pytest.raises(RuntimeError, match="there is no device emulated:3"):
        f.explain(np.ones(3), np.ones(3), device="emulated:3")
    assert f.explain(np.ones(3), np.ones(3), device="cpu").launches is None


@cuda.jit
def reversed_in_blocks(x, n):
    part = cuda.shared.array(64, ingot.float64)
    i = cuda.grid(1)
    part[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    x[i] = part[n - cuda.threadIdx.x]


def test_launches_of_kernels():
    """`kernel[blocks, threads].explain`."""
    with ingot.device("emulated"):
        here = reversed_in_blocks[20, 64].explain(np.ones(1280), 63).launches
    for found in (here, reversed_in_blocks[20, 64].explain(np.ones(1280), 63, device="sm_80").launches):
        (launch,) = found.launches
        assert (launch.grid, launch.block, launch.times) == ((20, 1, 1), (64, 1, 1), 1) and launch.waits
        assert launch.read == launch.written == 1280 * 8
        assert launch.needs is None or launch.needs.shared == 512
    (launch,) = reversed_in_blocks[3, 64, 0, 1000].explain(np.ones(192), 63, device="sm_90").launches.launches
    assert launch.dynamic_shared in (0, 1000)


def test_what_devices_do_not_do_is_refused():
    f = ingot.jit(drawn)
    with pytest.raises(ingot.UnsupportedError) as called:
        f(ingot.device_put(np.ones(4), "emulated"))
    for device in ("emulated", "sm_90"):
        with pytest.raises(ingot.UnsupportedError) as explained:
            f.explain(np.ones(4), device=device)
        assert str(called.value) == str(explained.value)


@needs_assembler
@pytest.mark.parametrize("code", CODES)
def test_what_kernels_need_is_the_assemblers(code):
    (launch,) = launches(chain, np.ones(1000), np.ones(1000), device=code).launches
    assert 8 <= launch.needs.registers <= 64 and launch.needs.by == "ptxas"
    assert launch.needs.spill_stores == launch.needs.spill_loads == launch.needs.stack == 0
    assert launch.occupancy == 1.0 and launch.resident_blocks >= 2


@needs_assembler
def test_nvjitlink_reports_the_same(monkeypatch):
    if assembler._linker() is None:
        pytest.skip("libnvJitLink is not found")
    expected = launches(total, np.ones(5000), device="sm_80")
    monkeypatch.setattr(assembler, "find_ptxas", lambda: None)
    found = launches(total, np.ones(5000), device="sm_80")
    for own, other in zip(found.launches, expected.launches, strict=True):
        assert own.needs.by == "nvJitLink"
        assert own.needs.shared == other.needs.shared and abs(own.needs.registers - other.needs.registers) < 16


def test_without_an_assembler_it_is_reported(monkeypatch):
    monkeypatch.setattr(assembler, "find_ptxas", lambda: None)
    monkeypatch.setattr(assembler, "_linker", lambda: None)
    found = launches(chain, np.ones(1000), np.ones(1000))
    assert found.launches[0].needs is None and found.launches[0].occupancy is None
    assert "what kernels need is not known: there is neither ptxas" in str(found)


def test_an_assembler_that_fails_is_reported(monkeypatch, tmp_path):
    broken = tmp_path / "ptxas"
    broken.write_text("#!/bin/sh\necho no such gpu >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(assembler, "find_ptxas", lambda: str(broken))
    assert "no such gpu" in launches(chain, np.ones(10), np.ones(10)).why


REPORT = """
ptxas info    : 79 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 2048 bytes smem, 384 bytes cmem[0]
ptxas info    : Function properties for helper
    96 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""


def test_the_assemblers_report_is_read():
    found = assembler.read(REPORT, "ptxas")
    assert found == {"a": assembler.Needs(40, 12, 8, 16, 2048, "ptxas"), "b": assembler.Needs(8, 0, 0, 0, 0, "ptxas")}


OCCUPANCY = """
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <cstddef>
#include "cuda_occupancy.h"
int main(int argc, char** argv) {
  int v[8];
  while (std::scanf("%d %d %d %d %d %d %d %d", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7) == 8) {
    cudaOccDeviceProp p{};
    p.computeMajor = v[0] / 10; p.computeMinor = v[0] % 10;
    p.maxThreadsPerBlock = 1024; p.maxThreadsPerMultiprocessor = v[4] * 32;
    p.regsPerBlock = p.regsPerMultiprocessor = 65536; p.warpSize = 32;
    p.sharedMemPerBlock = 48 * 1024; p.sharedMemPerMultiprocessor = v[5]; p.numSms = 1;
    p.sharedMemPerBlockOptin = v[5] - v[6]; p.reservedSharedMemPerBlock = v[6];
    cudaOccFuncAttributes a{};
    a.maxThreadsPerBlock = 1024; a.numRegs = v[2]; a.sharedSizeBytes = v[3];
    a.partitionedGCConfig = PARTITIONED_GC_OFF;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; a.maxDynamicSharedSizeBytes = v[5];
    cudaOccDeviceState s{};
    s.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult r{};
    int e = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, v[1], 0);
    std::printf("%d\\n", e ? -e : r.activeBlocksPerMultiprocessor);
  }
}
"""


def test_occupancy_is_the_vendors(tmp_path):
    """Compared with the vendor's own computation, which a toolkit has as a header."""
    header = next((f / "include" for f in assembler._toolkits() if (f / "include" / "cuda_occupancy.h").exists()), None)
    if header is None:
        pytest.skip("no toolkit with cuda_occupancy.h is found")
    (tmp_path / "o.cpp").write_text(OCCUPANCY)
    subprocess.run(["g++", f"-I{header}", "-o", tmp_path / "o", tmp_path / "o.cpp"], check=True)
    cases = [
        (code, threads, registers, shared)
        for code in occupancy._GENERATIONS
        for threads in (1, 32, 96, 128, 256, 640, 1024)
        for registers in (16, 24, 32, 33, 40, 64, 65, 128, 255)
        for shared in (0, 1, 1000, 8192, 20000, 48 * 1024)
    ]
    lines = []
    for code, threads, registers, shared in cases:
        limits = occupancy.limits_of(code)
        lines.append(f"{code} {threads} {registers} {shared} {limits.warps} {limits.shared} {limits.reserved} 0")
    done = subprocess.run([tmp_path / "o"], input="\n".join(lines), capture_output=True, text=True, check=True)
    for case, line in zip(cases, done.stdout.split(), strict=True):
        assert occupancy.resident_blocks(*case) == int(line), case


def test_occupancy_of_generations_that_are_not_known():
    assert occupancy.resident_blocks(999, 32, 32, 0) is None and occupancy.occupancy(999, 32, 1) is None
    assert occupancy.occupancy(90, 256, 8) == 1.0
