"""The programs of the tour on the software device, compared with the CPU, and what the vendor's assembler reports of their kernels."""

import dataclasses
import json
import subprocess
import sys

import ingot
import numpy as np
import pytest
from ingot._reports import assembler
from ingot._calls.function import Function
from ingot.tour import on_devices
from ingot.tour.programs import PROGRAMS

DEVICE = ingot.device("emulated")
ORDERS = ("matmul", "spca_unopt_int", "jax_intro_key")
"""Programs with products of matrices, whose sums have an order of their own."""
DISTINCT = list({p.plain: p for p in PROGRAMS if p.on_device is None and p.calls is None}.values())


@pytest.mark.sampled(16)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_programs_have_the_cpus_bits(program):
    row = on_devices.run_on_device(program, DEVICE, small=True)
    assert row["right"], row
    assert row["bits"] or program.name in ORDERS


def test_a_wrong_result_is_seen():
    def broken(f):
        return Function(lambda a, b, c: a + b + c, device=DEVICE)

    row = on_devices.run_on_device(dataclasses.replace(PROGRAMS[0], on_device=broken), DEVICE, small=True)
    assert row["right"] is False and row["expected"] != row["got"]
    assert "NO" in on_devices.text([row], DEVICE, True) and "0 of 1 right" in on_devices.text([row], DEVICE, True)


def test_what_is_left_wrong_in_an_argument_is_seen():
    program = next(p for p in PROGRAMS if p.name == "stream_copy")
    idle = dataclasses.replace(program, on_device=lambda f: Function(lambda to, x: None, device=DEVICE))
    assert on_devices.run_on_device(idle, DEVICE, small=True)["right"] is False


def test_a_refusal_is_reported():
    def refused(x):
        return eval("x")

    program = dataclasses.replace(
        PROGRAMS[0], plain=lambda x: x + 1, on_device=lambda plain: ingot.jit(refused), arguments=lambda small: (np.ones(8),)
    )
    row = on_devices.run_on_device(program, DEVICE, small=True)
    assert row["right"] is None and "not supported" in row["refused"]
    assert "1 refused" in on_devices.text([row], DEVICE, True)


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "ingot", "tour", *arguments], capture_output=True, text=True)


@pytest.mark.rotated(3)
def test_the_command_writes_figures(tmp_path):
    file = tmp_path / "figures.json"
    done = run("--device", "emulated", "--only", "sum2d", "quadratic_array", "--json", file)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 right, 2 of them bit for bit, 0 refused (small sizes" in done.stdout
    figures = json.loads(file.read_text())
    assert figures["small"] and figures["code"] == "sm_90" and [p["name"] for p in figures["programs"]] == ["quadratic_array", "sum2d"]
    row = figures["programs"][0]
    assert row["launches"]["launches"] == 1 and row["launches"]["read"] == 3 * 8 * 4096 and row["run_s"] > 0


@pytest.mark.rotated(4)
def test_devices_that_are_not_there_are_reported(tmp_path):
    for device, said in (("toaster", "the kinds of devices"), ("emulated:4", "there is no device emulated:4")):
        done = run("--device", device, "--only", "sum2d")
        assert done.returncode == 2 and said in done.stderr
    done = run("--device", "emulated", "--html", tmp_path / "page.html")
    assert done.returncode == 2 and "--html" in done.stderr


# What the vendor's assembler reports.

SPILLED = {"sine": 16, "jax_intro_double_loop": 4, "kuramoto_refactored_1024_float64": 648,
           "matmul": 64, "matmul_loops": 64, "spca_unopt_int": 64, "jax_intro_key": 64}  # fmt: skip
"""The most bytes, of stores or of loads: around calls on rare paths, on sm_80 in what one thread runs, and of products in large tiles, of which
two blocks are to run on a processor. Of all other programs none."""


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="ptxas, which reports what kernels need, is not on the PATH nor in CUDA_HOME")
@pytest.mark.sampled(48)
@pytest.mark.parametrize("program", DISTINCT, ids=lambda p: p.name)
def test_no_kernel_spills_on_any_generation(program):
    specialisation, _ = program.compiled(program.plain)._prepare(program.arguments(True), {})
    for code in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"):
        text = specialisation.compile(texts=True, target=code)["kernels"]
        if ".entry" not in text:
            continue  # nothing that a device does
        needs, why = assembler.needs_of(text, code)
        assert needs, why
        for kernel, need in needs.items():
            assert max(need.spill_stores, need.spill_loads) <= SPILLED.get(program.name, 0), (kernel, code, need)
            assert need.registers <= 128, (kernel, code, need)
