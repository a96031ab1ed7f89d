"""What the vendor's assembler reports of kernels: the programs of tools/device_counts keep their numbers in registers."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest
from programs import ROOT

PTXAS = shutil.which("ptxas", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))


def load_tool():
    loader = importlib.machinery.SourceFileLoader("device_counts", str(ROOT / "tools" / "device_counts"))
    spec = importlib.util.spec_from_loader("device_counts", loader)
    module = sys.modules["device_counts"] = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


TOOL = load_tool()
PROGRAMS = list(TOOL.programs())


@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas, the assembler of the CUDA toolkit")
@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[program.function.__name__ for program in PROGRAMS])
@pytest.mark.sampled(10)
def test_kernels_are_not_in_local_memory(number, tmp_path):
    program = PROGRAMS[number]
    ptx, _ = TOOL.ptx_of(program.function, *program.arguments)
    for capability in (75, 80, 90, 100, 120):
        source = tmp_path / "k.ptx"
        source.write_text(ptx.replace(".target sm_90", f".target sm_{min(capability, 90)}"))
        command = [PTXAS, "-v", f"-arch=sm_{capability}", str(source), "-o", str(tmp_path / "k.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        found = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
        # The assembler writes out the loop that loads a strip of float64, whose addresses then are in registers at once.
        most = 64 if program.name == "`a @ b`" else 0
        assert found and max(int(number) for each in found for number in each) <= most, (capability, done.stderr)


SASS = """
	Function : f
        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */
        /*0010*/                   ISETP.GE.AND P0, PT, R0, UR4, PT ;
        /*0020*/               @P0 EXIT ;
        /*0030*/                   LDG.E.64 R4, desc[UR4][R4.64] ;
        /*0040*/                   DADD R6, R6, R4 ;
        /*0050*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0060*/              @!P1 BRA 0x30 ;
        /*0070*/                   STG.E.128 desc[UR4][R2.64], R4 ;
        /*0080*/                   EXIT ;
        /*0090*/                   BRA 0x90 ;
        /*00a0*/                   NOP ;
"""


def test_instructions_are_counted_on_the_way_that_does_most(monkeypatch, tmp_path):
    monkeypatch.setattr(TOOL, "run", lambda *_: SASS)
    kernel = TOOL.kernels_of(tmp_path, "", "")["f"]
    assert TOOL.count(kernel, TOOL.loaded(8)) == (4, 1, True)
    assert TOOL.count(kernel, TOOL.stored(8)) == (9, 2, False)
    assert TOOL.count(kernel, TOOL.done("HMMA")) == (0, 0, False)
