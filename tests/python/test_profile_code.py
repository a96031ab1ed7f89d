"""Profiles of compiled functions and of devices: the rules of docs/profiling.md on them."""

import pickle
import subprocess
import sys
import threading
import time

import ingot
import numpy as np
import pytest
from caching import run
from ingot._ahead.export import exports_of
from ingot._calls.tiers import Tier, worker

DEVICE = ingot.device("emulated")


@pytest.fixture(autouse=True)
def counting():
    ingot.profile.reset()
    ingot.profile.start()
    yield
    ingot.profile.stop()
    ingot.profile.reset()


def rows(kinds=("region", "compiled")):
    return {"|".join(row.path): row for row in ingot.profile.rows() if row.kind in kinds}


def calls(kinds=("region", "compiled")):
    return {path: row.calls for path, row in rows(kinds).items()}


@ingot.profile
def helper(x, factor=2.0):
    return x * factor + 1.0


@ingot.profile
def counting_up(n):
    for i in range(n):
        yield i * 1.0


class Model:
    def __init__(self, a):
        self.a = a

    @ingot.profile
    def value(self, x):
        return self.a * x

    @ingot.profile
    @staticmethod
    def twice(x):
        return 2 * x


def test_compiled_functions_have_rows():
    @ingot.jit
    def compiled(x):
        return helper(x).sum()

    x = np.arange(4.0)
    assert compiled(x) == 16.0
    with ingot.profile("around"):
        compiled(x)
        compiled(x=x)
        with pytest.raises(TypeError):
            compiled()
    row = rows()["around|compiled"]
    assert (row.calls, row.kind, row.implementation) == (3, "compiled", "ingot")
    assert calls() == {"compiled": 1, "around": 1, "around|compiled": 3}
    ingot.profile.stop()
    compiled(x)
    assert calls()["compiled"] == 1
    ingot.profile.start()

    @ingot.jit
    def fails(x):
        return x[10]

    for _ in range(2):
        with pytest.raises(IndexError):
            fails(x)
    assert calls()["fails"] == 2
    model = type("Kind", (), {"method": ingot.jit(Model.value)})()
    model.a = 3.0
    assert model.method(2.0) == 6.0 and calls()["Model.value"] == 1


def test_decorated_before_and_after_jit():
    def plain(x):
        return x + 1

    before = ingot.jit(ingot.profile("before")(plain))
    after = ingot.profile("after")(ingot.jit(plain))
    bare = ingot.profile(ingot.jit(fastmath=True)(plain))
    other = ingot.profile("of another", implementation="mine")(ingot.jit(plain))
    x = np.ones(3)
    for function in (before, after, bare, other):
        for _ in range(2):
            assert (function(x) == 2).all()
    found = rows()
    assert {path: row.calls for path, row in found.items()} == {"before": 2, "after": 2, "plain": 2, "of another": 2}
    assert [found[name].implementation for name in ("before", "after", "plain", "of another")] == ["ingot", "ingot", "ingot", "mine"]
    assert len(after.specialisations) == 1 and after.__name__ == "plain" and "array IR" in str(after.explain(x))
    assert pickle.loads(pickle.dumps(helper)) is helper
    add = ingot.vectorize(ingot.profile(lambda a, b: a + b))
    assert add(1.0, 2.0) == 3.0
    exported = ingot.export("float64(float64)", name="plus")(ingot.profile(plain))
    assert exported.__wrapped__ is plain and [each.name for each in exports_of(plain)] == ["plus"]
    kernel = ingot.cuda.jit(ingot.profile(lambda out: None))
    assert kernel.__name__ == "<lambda>"
    assert ingot.grad(ingot.profile(lambda x: x * x))(3.0) == 6.0


def test_compiled_code_takes_the_function():
    def plain(x, model):
        total = helper(x) + helper(x, factor=3.0) + model.value(x) + model.twice(x) + Model.twice(x)
        for value in counting_up(3):
            total += value
        return total + sum(map(helper, [1.0, 2.0]))

    x = np.arange(4.0)
    expected = plain(x, Model(2.0))
    ingot.profile.reset()
    compiled = ingot.jit(plain)
    assert (compiled(x, Model(2.0)) == expected).all() and (compiled(x, Model(2.0)) == expected).all()
    assert calls() == {"plain": 2}

    @ingot.jit
    def applied(function, x):
        return function(x)

    assert applied(helper, 2.0) == 5.0 and applied(ingot.profile(helper), 2.0) == 5.0
    assert calls() == {"plain": 2, "applied": 2}
    replaced = ingot.jit(lambda x: helper(x))
    assert replaced(1.0) == 3.0
    module, kept = sys.modules[__name__], helper
    try:
        module.helper = ingot.profile(lambda x: x - 1)
        assert replaced(1.0) == 0.0
    finally:
        module.helper = kept
    assert replaced(1.0) == 3.0


def test_regions_are_refused_in_compiled_code():
    @ingot.jit
    def refused(x):
        with ingot.profile("inside"):
            return x + 1

    with pytest.raises(ingot.UnsupportedError, match="instead"):
        refused(1.0)
    assert calls() == {"refused": 1}


def test_compiling_has_rows():
    @ingot.jit
    def compiled(x):
        return x * 2

    with ingot.profile("around"):
        compiled(1.0)
        compiled(2.0)
        compiled(1)
    found = [(row.path, row.implementation, row.calls) for row in ingot.profile.rows() if row.kind == "compile"]
    path = ("around", "compiled", "compile")
    assert sorted(found) == [(path, "frontend", 2), (path, "full", 2)]
    whole = rows(("region", "compiled", "compile"))
    assert 0 < whole["around|compiled|compile"].seconds < whole["around|compiled"].seconds
    assert whole["around|compiled"].own < whole["around|compiled"].seconds / 2
    ingot.profile.reset()
    ingot.jit(lambda x: x * 3).compile(1.0)
    assert {row.path for row in ingot.profile.rows()} == {("<lambda>", "compile")}


def test_full_code_made_by_another_thread_has_a_row(monkeypatch):
    monkeypatch.delenv("INGOT_TIERS", raising=False)

    @ingot.jit
    def summed(a, n):
        total = 0.0
        for i in range(n):
            total += np.sqrt(a * i).sum()
        return total

    x = np.arange(500.0)
    end = time.monotonic() + 60
    summed(x, 20)
    while summed.specialisations[0].tier is not Tier.FULL and time.monotonic() < end:
        summed(x, 20)
    worker.wait()
    found = {row.implementation: row for row in ingot.profile.rows() if row.kind == "compile"}
    assert {name: row.path for name, row in found.items()} == {name: ("summed", "compile") for name in ("frontend", "quick", "full")}
    assert found["full"].thread_names == ("ingot-compiler",) and found["quick"].thread_names == ("MainThread",)


LOADS = """
@ingot.jit
def stored(x):
    return x + 1

ingot.profile.start()
stored(1.0); stored(2.0)
print(json.dumps([["|".join(row.path), row.kind, row.implementation, row.calls] for row in ingot.profile.rows()]))
"""


@pytest.mark.rotated(3)
def test_loads_have_rows(tmp_path):
    for kinds in ({"compiled", "load", "compile"}, {"compiled", "load"}):
        found = run(tmp_path, LOADS)
        assert {kind for _, kind, _, _ in found} == kinds
        assert ["stored|load", "load", "cache", 1] in found and ["stored", "compiled", "ingot", 2] in found


def test_copies_have_rows():
    n = 1000
    x = np.arange(float(n))
    before = ingot.memory(DEVICE)
    with ingot.profile("moves"):
        there = ingot.device_put(x, DEVICE)
        there.to_host()
        ingot.jit(lambda a: a[::2].copy())(there).to_host()
    after = ingot.memory(DEVICE)
    found = rows(("upload", "download", "zero"))
    up = sum(row.bytes_up for row in found.values())
    down = sum(row.bytes_down for row in found.values())
    assert up == after["to_device"] - before["to_device"] >= 8 * n and down == after["to_host"] - before["to_host"] == 12 * n
    row = found["moves|upload"]
    assert (row.calls, row.device, row.bytes_down) == (1, "emulated:0", 0) and row.seconds > 0
    assert found["moves|download"].calls == 2
    assert sum(row.seconds for path, row in found.items() if path.count("|") == 1) < rows()["moves"].seconds
    of_thread = [row for row in ingot.profile.rows() if row.kind != "kernel"]
    whole = sum(row.seconds for row in of_thread if len(row.path) == 1)
    assert sum(row.own for row in of_thread) == pytest.approx(whole, rel=1e-6)
    with DEVICE, ingot.profile("inverts"):
        ingot.cuda.solver.inv(ingot.device_put(np.eye(3) * 2.0, DEVICE))
    zeroed = rows(("zero",))["inverts|zero"]
    assert zeroed.calls >= 1 and zeroed.bytes_up == zeroed.bytes_down == 0
    ingot.profile.stop()
    ingot.device_put(x, DEVICE)
    assert rows(("upload",))["moves|upload"].calls == 1


def test_kernels_have_rows():
    @ingot.jit
    def scaled(a):
        return a * 2.0 + 1.0

    there = ingot.device_put(np.arange(5000.0), DEVICE)
    for _ in range(3):
        scaled(there)

    @ingot.cuda.jit
    def own_kernel(out):
        i = ingot.cuda.grid(1)
        if i < out.size:
            out[i] = i

    with ingot.profile("launches"):
        own_kernel[4, 32](there)
        there.to_host()
    found = {row.path: row for row in ingot.profile.rows() if row.kind == "kernel"}
    assert {row.device for row in found.values()} == {"emulated:0"} and all(row.seconds > 0 for row in found.values())
    (of_function,) = [row for path, row in found.items() if path[0] == "scaled"]
    assert of_function.calls == 3 and of_function.shortest <= of_function.longest
    assert any(path[0] == "launches" for path in found)
    assert ingot.profile.uncounted == 0
    graph = ingot.graph(scaled, there)
    ingot.profile.reset()
    graph()
    assert [(row.path, row.kind, row.calls) for row in ingot.profile.rows() if row.kind == "kernel"] == [(("graph",), "kernel", 1)]


FAILS = """
import numpy as np
import ingot
from ingot import cuda

missing = cuda.declare_device("missing", "int32(int32)")

@cuda.jit
def kernel(x):
    x[0] = missing(x[0])

ingot.profile.start(trace=True)
with ingot.profile("failing"), ingot.device("emulated"):
    try:
        kernel[1, 1](np.ones(1, np.int32))
    except ingot.DeviceError as error:
        print("DeviceError")
print({row.path for row in ingot.profile.rows()} >= {("failing",)}, ingot.profile.uncounted)
ingot.profile.stop()
ingot.profile.reset()
print(ingot.profile.rows(), ingot.profile.uncounted)
"""


def test_devices_that_have_failed():
    done = subprocess.run([sys.executable, "-c", FAILS], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and done.stdout.splitlines() == ["DeviceError", "True 1", "[] 0"], done.stdout + done.stderr


def test_kernels_of_threads():
    @ingot.jit
    def scaled(a):
        return a * 2.0 + 1.0

    there = ingot.device_put(np.arange(500.0), DEVICE)
    scaled(there)
    ingot.profile.reset()

    def work():
        with ingot.profile("thread"):
            for _ in range(5):
                scaled(there)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (kernel,) = [row for row in ingot.profile.rows() if row.kind == "kernel"]
    assert kernel.path[:2] == ("thread", "scaled") and kernel.calls == 15 and kernel.threads == 3
