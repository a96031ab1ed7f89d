"""What type checkers see of compiled functions: the parameters and results of the functions that they are made of."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_overloads

import ingot
import pytest

PROGRAM = """
import ingot
import numpy as np
from ingot import float64

@ingot.jit
def bare(x: float, n: int = 2, *, scale: float = 1.0) -> float:
    return x * n * scale

@ingot.jit(fastmath=True)
def with_options(x: int) -> str:
    return str(x)

@ingot.jit("float64(float64)")
def with_text(x: float) -> float:
    return x

@ingot.jit(float64(float64), cache=True)
def with_types(x: float) -> float:
    return x

@ingot.jit(device="gpu")
def with_device(x: int) -> int:
    return x

def on_device(a: ingot.Array) -> ingot.Array:
    a += 1
    a[0] = a[1:].sum()
    return (a + a.T).to_device(ingot.device("gpu", 1))

@ingot.jit([float64(float64), "int64(int64)"])
def with_several(x: float) -> float:
    return x

@ingot.vectorize
def plus(a: float, b: float) -> float:
    return a + b

@ingot.vectorize([float64(float64), "int64(int64)"], identity=0, target="parallel")
def twice(x: float) -> float:
    return 2 * x

class Body:
    @ingot.jit
    def moved(self, by: float) -> tuple[float, int]:
        return by, 1

def on_streams(a: ingot.Array) -> float:
    first, last = ingot.cuda.event(), ingot.cuda.event(timing=False)
    with ingot.cuda.stream() as stream, stream.auto_synchronize():
        first.record(stream)
        b: ingot.Array = ingot.cuda.device_array_like(a, stream)
        host: np.ndarray = b.copy_to_host(ingot.cuda.pinned_array_like(a), stream)
        b.copy_to_device(host, stream)
    last.wait()
    free: int = ingot.cuda.current_context().get_memory_info().free
    return ingot.cuda.event_elapsed_time(first, last) + free

def by_libraries(a: ingot.Array) -> ingot.Array:
    blas, fft = ingot.cuda.blas.Blas(), ingot.cuda.fft.FFTPlan(7, "f8", "c16")
    blas.axpy(2.0, a, a)
    ingot.cuda.rand.PRNG(seed=1).normal(a, mean=1)
    b: ingot.Array = ingot.cuda.sparse.csr_matrix(np.eye(3)) @ fft.forward(a)
    return ingot.cuda.solver.svd(ingot.cuda.solver.solve(b, a)).U

def untyped(x):
    return x

@ingot.profile
def counted(x: float) -> str:
    with ingot.profile("region", implementation="ingot") as region:
        region.bytes_up += 8
    for row in ingot.profile.rows():
        path: tuple[str, ...] = row.path
    return ingot.profile.rows()[0].name

@ingot.profile("name")
def named(x: float) -> int:
    return 1

reveal_type(bare(1.0))
reveal_type(bare(1.0, n=3, scale=2.0))
reveal_type(with_options(1))
reveal_type(with_text(1.0))
reveal_type(with_types(1.0))
reveal_type(with_several(1.0))
reveal_type(with_device(1))
reveal_type(on_device(ingot.device_put(1)).shape)
reveal_type(ingot.devices("gpu")[0].kind)
reveal_type(Body().moved(1.0))
reveal_type(Body.moved(Body(), 1.0))
reveal_type(ingot.jit(lambda x: 2)(1))
reveal_type(bare.explain(1.0))
reveal_type(ingot.jit(bare)(1.0))
reveal_type(plus.nin)
reveal_type(twice.types)
reveal_type(plus.reduce([1.0]))
reveal_type(counted(1.0))
reveal_type(named(1.0))
reveal_type(ingot.profile(with_options)(1))
reveal_type(ingot.profile.rows()[0].seconds)
ingot.jit(untyped)(1)
reveal_type(ingot.get_num_threads())
reveal_type(ingot.grad(bare).explain(1.0))
reveal_type(ingot.value_and_grad(bare)(1.0, n=2))
reveal_type(ingot.vmap(bare)(np.ones(3)))
reveal_type(ingot.checkpoint(with_options)(1))
reveal_type(ingot.float64)
ingot.numpy.add(1, 2)
"""
REVEALED = ["float", "float", "str", "float", "float", "float", "int", "tuple[int, ...]", "str", "tuple[float, int]", "tuple[float, int]", "int", "ingot._reports.explanation.Explanation", "float"]
REVEALED += ["int", "list[str]", "Any", "str", "int", "str", "float", "int"]
REVEALED += ["ingot._reports.explanation.Explanation", "tuple[float, Any]", "Any", "str", "tuple[str, int | None, str, fallback=ingot._signatures.Type]"]
WRONG = {
    'bare("text")': "arg-type",
    "bare()": "call-arg",
    "bare(1.0, size=2)": "call-arg",
    "Body().moved()": "call-arg",
    "with_options(1) + 1": "operator",
    "bare.explian(1.0)": "attr-defined",
    "ingot.jit(nopyhton=True)": "call-overload",
    "plus.reduces([1.0])": "attr-defined",
    "ingot.vectorize(nopyhton=True)": "call-overload",
    'counted("text")': "arg-type",
    "ingot.profile(1)": "call-overload",
    "ingot.profile.strat()": "attr-defined",
    "ingot.device_put(1, 2)": "arg-type",
    "ingot.cuda.event_elapsed_time(1, 2)": "arg-type",
    "ingot.cuda.stream().is_donne()": "attr-defined",
    "ingot.cuda.blas.axpyy(1)": "attr-defined",
    "ingot.cuda.blas.axpy(1, ingot.device_put(1))": "call-arg",
    "on_device(ingot.device_put(1)).to_hosts()": "attr-defined",
    "ingot.jitt": "attr-defined",
    'ingot.grad(bare)("text")': "arg-type",
    "ingot.grad(bare, argnum=1)": "call-arg",
    "ingot.vmap(bare).explian(1.0)": "attr-defined",
    "ingot.numpy.adds(1, 2)": "attr-defined",
}


ASSERTED = Path(__file__).with_name("typed.py")
"""A program of `assert_type`, which pyright checks, too (`tools/types`)."""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """What mypy reports of both programs: of the one above as pairs of line and text, and the lines of the other."""
    file = tmp_path_factory.mktemp("typing") / "program.py"
    file.write_text(PROGRAM + "".join(f"{line}\n" for line in WRONG))
    package = str(Path(ingot.__file__).parents[1])
    options = ["--follow-imports=silent", "--cache-dir", str(file.parent), str(file), str(ASSERTED)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options], env={"MYPYPATH": package, "PATH": ""}, capture_output=True, text=True, timeout=300
    )
    lines = [line.split(":", 2) for line in done.stdout.splitlines() if line.startswith(str(file))]
    assert lines, done.stdout + done.stderr
    return [(int(number), text) for _, number, text in lines], [line for line in done.stdout.splitlines() if ASSERTED.name in line]


@pytest.fixture(scope="module")
def said(reported):
    return reported[0]


def test_types_that_are_asserted(reported):
    assert reported[1] == []


def test_results_have_the_types_of_the_function(said):
    revealed = [text.split('"')[1].replace("builtins.", "") for _, text in said if "Revealed type" in text]
    assert [text.removesuffix("?") for text in revealed] == REVEALED


def test_wrong_calls_are_seen(said):
    first = PROGRAM.count("\n") + 1
    errors = {number: text for number, text in said if "error:" in text}
    assert set(errors) == set(range(first, first + len(WRONG)))
    for number, (line, kind) in enumerate(WRONG.items(), first):
        assert errors[number].endswith(f"[{kind}]"), line


def test_overloads_are_of_the_function_itself():
    real = set(inspect.signature(ingot.jit).parameters)
    for form in get_overloads(ingot.jit):
        assert set(inspect.signature(form).parameters) == real
