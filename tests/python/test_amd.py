"""Code for AMD's GPUs: it is made and looked at; nothing here runs it."""

import re

import ingot
import numpy as np
import pytest
from ingot import cuda

PROCESSORS = ("gfx90a", "gfx942", "gfx1100")
rng = np.random.default_rng(3)


def kernels(f, processor, *args):
    """The text of the kernels that a call becomes, and the object file of its host."""
    specialisation, _ = ingot.jit(f)._prepare(args, {})
    stages = specialisation.program.compile(True, 1, processor)
    return stages["kernels"], stages["object"]


def numbers(text, name):
    """The metadata of each kernel."""
    return [int(number) for number in re.findall(rf"\.{name}: *(\d+)", text)]


def roots(a, b, c):
    return (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)


def smooth(x, n):
    for _ in range(n):
        x[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return x.max()


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def mathematics(x):
    return np.sin(x) + np.arctan2(x, 2.0) ** 1.5 + np.exp(1j * x).real + np.fmod(x, 0.7) + np.expm1(x)


def pick(x, i):
    return x[i], x[x > 0], np.sort(x), np.cumsum(x)


def counts(i):
    out = np.zeros(16, np.int64)
    for k in i:
        out[k % 16] += 1
    return out


x = rng.normal(size=100)
CALLS = {
    "roots": (roots, x, x, x),
    "smooth": (smooth, x, 10),
    "softmax": (softmax, rng.normal(size=(30, 40)).astype("f4")),
    "mathematics": (mathematics, x),
    "pick": (pick, x, np.arange(5)),
    "counts": (counts, np.arange(50)),
    "matmul": (lambda a, b: a @ b, rng.normal(size=(4, 5)), rng.normal(size=(5, 6))),
    "halves": (roots, *[x.astype("f2")] * 3),
    "complex": (lambda z: np.sqrt(z) * z**2.5, x + 1j * x),
}


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.sampled(12)
def test_code_is_made(name, processor):
    text, host = kernels(CALLS[name][0], processor, *CALLS[name][1:])
    assert f"amdgcn-amd-amdhsa--{processor}" in text
    assert len(re.findall(r"\.amdhsa_kernel ingot_", text)) > 0
    assert b"\x7fELF\x02\x01\x01\x40" in host[64:]  # an object of AMD's ABI inside that of the host
    assert max(numbers(text, "max_flat_workgroup_size")) <= 1024


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_fused_chain_is_one_kernel_without_memory_of_its_own(processor):
    text, _ = kernels(roots, processor, x, x, x)
    assert len(numbers(text, "max_flat_workgroup_size")) == 1
    assert numbers(text, "private_segment_fixed_size") == [0]
    assert numbers(text, "vgpr_spill_count") == numbers(text, "sgpr_spill_count") == [0]
    assert "s_barrier" not in text
    assert ("v_fma_f64" in text) and ("global_load" in text)  # division has a remainder; no flat loads
    assert "flat_load" not in text


def shuffled(x):
    x[cuda.threadIdx.x] = cuda.shfl_sync(0xFFFFFFFF, x[cuda.threadIdx.x], 0)


def counted(x):
    x[0] = cuda.syncthreads_count(x[1])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [(shuffled, "operation of a warp"), (counted, "barrier that counts")],
)
def test_what_amd_cannot_do_is_refused(kernel, words):
    compiled = cuda.jit(kernel)
    compiled[1, 32](ingot.device_put(np.zeros(32), "emulated"))
    (specialisation,) = compiled.specialisations
    with pytest.raises(ingot.UnsupportedError, match=f"{words}.* on AMD's GPUs"):
        specialisation.program.compile(True, 1, "gfx942")


TWICE = """
.version 6.4
.target sm_75
.address_size 64
.visible .func (.param .b32 status) twice(.param .b64 out, .param .b32 x)
{
  .reg .b64 %a; .reg .b32 %x;
  ld.param.u64 %a, [out]; ld.param.u32 %x, [x];
  add.s32 %x, %x, %x; st.u32 [%a], %x;
  mov.u32 %x, 0; st.param.b32 [status], %x; ret;
}
"""


def test_what_is_linked_is_refused():
    twice = cuda.declare_device("twice", "int32(int32)", link=cuda.PTXSource(TWICE))

    @cuda.jit
    def kernel(x):
        x[0] = twice(x[0])

    x = ingot.device_put(np.array([21], np.int32), "emulated")
    kernel[1, 1](x)
    assert x.to_host().tolist() == [42]
    (specialisation,) = kernel.specialisations
    with pytest.raises(ingot.UnsupportedError, match="a function that is linked.* on AMD's GPUs"):
        specialisation.program.compile(True, 1, "gfx942")
