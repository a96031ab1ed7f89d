"""The package as others see it: what importing loads, other compilers in the same process, threads, Ctrl-C."""

import ast
import importlib
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from support import interrupt, start

import ingot


def run(code: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **options)


def write(tmp_path, text: str) -> str:
    file = tmp_path / "program.py"
    file.write_text(text)
    return str(file)


PT_TLS = 7
"""The segment of an ELF file that each thread has a copy of."""


def test_names_of_the_package_are_found_when_they_are_asked_for():
    done = run(
        "import ingot, sys\n"
        "assert ingot.numpy is sys.modules['ingot.numpy'] and ingot.cuda.jit and ingot.lax.cond and ingot.tree.map\n"
        "assert set(ingot.__all__) <= set(dir(ingot)) and 'numpy' in dir(ingot)\n"
        "assert ingot.float64 is ingot.float64 and 'float64' in vars(ingot)\n"
        "assert hasattr(ingot, 'jit') and not hasattr(ingot, 'jitt')\n"
        "try: ingot.jitt\n"
        "except AttributeError as error: print(error, error.name, error.obj is ingot)\n"
        "try: from ingot import jitt\n"
        "except ImportError as error: print(error.name_from if hasattr(error, 'name_from') else 'jitt')\n"
        "numpy = 1\n"
        "from ingot import *\n"
        "print(numpy, all(globals()[name] is getattr(ingot, name) for name in ingot.__all__))\n"
    )
    assert done.stdout == "module 'ingot' has no attribute 'jitt' jitt True\njitt\n1 True\n", done.stderr


def test_the_table_of_names_is_right():
    from ingot import _MODULES, _PLACES, _SUBMODULES

    assert sorted(ingot.__all__) == sorted({*_PLACES, *_SUBMODULES, "prange"} - {"numpy"})
    assert sum(len(names.split()) for names in _MODULES.values()) == len(_PLACES)
    tree = ast.parse(Path(ingot.__file__).read_text())
    shown = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = {node.module: {alias.name for alias in node.names} for node in shown.body}
    assert imports == {module: set(names.split()) for module, names in _MODULES.items()} | {None: set(_SUBMODULES)}
    for name, module in _PLACES.items():
        assert getattr(ingot, name) is getattr(importlib.import_module(f"ingot.{module}"), name)


def test_a_first_use_by_several_threads():
    text = (
        "import threading, ingot\n"
        "found = []\n"
        "threads = [threading.Thread(target=lambda: found.append((ingot.vmap, ingot.float32, ingot.cuda.jit))) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(len(found), len({tuple(map(id, each)) for each in found}))\n"
    )
    assert run(text).stdout == "8 1\n"


FIRST_CALLS = """
import threading, ingot, numpy as np
@ingot.jit
def f(x): return x + 1
found, barrier = [], threading.Barrier(8)
def call():
    barrier.wait()
    found.append(f(np.ones(3)).tolist())
threads = [threading.Thread(target=call) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(found == [[2.0] * 3] * 8)
"""


@pytest.mark.rotated(3)
def test_first_calls_by_several_threads(tmp_path):
    """What they load, they load once, and none waits for another for ever: with an empty cache, and with a full one."""
    for _ in range(3):
        done = run(FIRST_CALLS, env=os.environ | {"INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(tmp_path)})
        assert done.stdout == "True\n", done.stderr


def test_the_installed_package_has_the_software_device():
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_PRELOAD")}
    text = """
import ingot, numpy as np
from ingot.cuda import blas
assert "site-packages" in ingot.__file__
with ingot.device("emulated"):
    x = ingot.device_put(np.arange(4.0))
    print((x * 2).to_host().tolist())
    try:
        blas.dot(x, x)
    except ingot.DeviceError as error:
        print(error)
"""
    done = run(text, env=environment)
    none = "emulated 0: there is no cuBLAS: the software device has none, but for its tests (INGOT_TESTS=ON)"
    assert done.stdout == f"[0.0, 2.0, 4.0, 6.0]\n{none}\n", done.stderr


@pytest.mark.rotated(4)
@pytest.mark.parametrize("order", ["ingot first", "ingot last"])
def test_lives_with_the_llvms_of_numba_and_jax(tmp_path, order):
    ours = "assert (f(x) == 2 * x + 1).all()\n"
    theirs = "assert (g(x) == x + 3).all()\nassert np.allclose(jax.jit(lambda a: a * 2.0)(x), 2 * x)\n"
    program = (
        "import numpy as np, numba, jax, ingot\n"
        "@ingot.jit\ndef f(x):\n    return 2 * x + 1\n"
        "@numba.njit\ndef g(x):\n    return x + 3\n"
        "x = np.arange(5.0)\n"
    )
    program += ours + theirs + ours if order == "ingot first" else theirs + ours + theirs
    done = subprocess.run([sys.executable, write(tmp_path, program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


PLAIN = """
import sys, types, numpy as np, ingot
@ingot.jit
def f(x):
    return [type(x).__name__, {1, x}, sys._getframe().f_code.co_name]
@ingot.jit("float64(float64)", fastmath=True)
def g(x):
    return x
@ingot.guvectorize("(float64[:], float64[:])", "(n)->(n)")
def twice(x, out):
    frames.append(sys._getframe().f_code.co_name)
    for i in ingot.prange(len(x)):
        out[i] = 2 * x[i]
frames = []
assert f(2) == ["int", {1, 2}, "f"] and g("text") == "text"
assert type(f) is type(g) is types.FunctionType and ingot.prange is range
assert (twice(np.ones((3, 2))) == 2).all() and frames == ["twice"] * 3
assert "ingot._core" not in sys.modules
print("plain")
"""


@pytest.mark.rotated(3)
def test_nothing_is_compiled_where_the_environment_disables_it():
    for value in ("1", "yes"):
        done = run(PLAIN, env={**os.environ, "INGOT_DISABLE": value})
        assert done.stdout == "plain\n", done.stderr
    for value in ("", "0"):
        done = run("import ingot; print(ingot.prange is range)", env={**os.environ, "INGOT_DISABLE": value})
        assert done.stdout == "False\n", done.stderr


@pytest.mark.alone
def test_ctrl_c_leaves_a_long_loop(tmp_path):
    program = (
        "import ingot, sys\n"
        "@ingot.jit\ndef spin(n):\n    s = 0\n    for i in range(n):\n        for j in range(n):\n"
        "            s = (s + i * j) % 1000003\n    return s\n"
        "spin(2)\nprint('ready', flush=True)\n"
        "try:\n    spin(2**30)\nexcept KeyboardInterrupt:\n    print('left')\n    sys.exit(7)\n"
    )
    assert interrupt(start(tmp_path / "program.py", program)) == (7, "left\n", "")


def test_many_threads_call_one_function():
    @ingot.jit
    def total(x):
        s = 0.0
        for v in x:
            s += v
        return s

    wrong = []

    def work(seed: int) -> None:
        for n in range(50):
            x = np.full(n + 1, float(seed))
            if total(x) != seed * (n + 1.0):
                wrong.append((seed, n))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.alone
def test_a_forked_child_can_compile_and_call():
    @ingot.jit
    def twice(x):
        return x + x

    assert twice(1.5) == 3.0
    child = os.fork()
    if child == 0:
        os._exit(0 if twice(2.0) == 4.0 and twice(3) == 6 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_results_own_their_memory_and_views_do_not():
    @ingot.jit
    def both(x):
        return x + 1, x[1:], x

    x = np.arange(4.0)
    fresh, view, same = both(x)
    assert fresh.base is None and fresh.flags.owndata
    assert np.shares_memory(view, x) and same is x


@pytest.mark.alone
def test_memory_does_not_grow_with_calls():
    @ingot.jit
    def work(x):
        y = x * 2
        for i in range(3):
            y = y + x
        return y

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    x = np.ones(100_000)
    for _ in range(20):
        work(x)
    before = resident()
    for _ in range(200):
        work(x)
    assert resident() - before < 20 << 20


def test_threads_are_asked_for_little_memory():
    """All libraries of a process share some 1.6 KB that threads have for those loaded after its start."""
    for module in ("_ingot", "_core"):
        (path,) = Path(ingot.__file__).parent.glob(f"{module}.*.so")
        binary = path.read_bytes()
        start, size, count = struct.unpack_from("<Q", binary, 32)[0], *struct.unpack_from("<HH", binary, 54)
        segments = [struct.unpack_from("<I36xQ", binary, start + i * size) for i in range(count)]
        assert sum(length for kind, length in segments if kind == PT_TLS) <= 192
