"""What somebody does first who has installed Ingot's wheel: runs in an environment with the wheel and NumPy alone, without a compiler or a network.

    python wheel_user.py PAGE

PAGE is the tutorial's first page. The last lines of the output are times, in seconds.
"""

import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

START = time.perf_counter()

import numpy as np  # noqa: E402

BEFORE = time.perf_counter()
import ingot  # noqa: E402

IMPORT = time.perf_counter() - BEFORE


@ingot.jit
def energy(x):
    s = 0.0
    for i in range(1, len(x)):
        s += (x[i] - x[i - 1]) ** 2 + 0.1 * x[i] ** 4
    return s


@ingot.jit
def row(x, w):
    return np.tanh(x @ w).sum()


@ingot.jit
def sums(x):
    out = np.empty(len(x))
    for i in ingot.prange(len(x)):
        out[i] = np.sqrt(x[i]).sum()
    return out


@ingot.jit
def draws(rng, n):
    return rng.normal(size=n)


CELL = re.compile(r"^```(?:\{code-cell\}|python)[^\n]*\n(.*?)^```$", re.M | re.S)


def tutorial(page: str) -> None:
    """The cells of the page, and the solution of its exercise."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, text in enumerate(CELL.findall(Path(page).read_text())):
        file = Path(f"cell_{number}.py")
        file.write_text("\n".join(line for line in text.split("\n") if not line.startswith(":tags:")))
        try:
            exec(compile(file.read_text(), str(file.resolve()), "exec"), names)
        except (IndexError, OverflowError):
            assert "raises-exception" in text
        else:
            assert "raises-exception" not in text


def derivatives() -> None:
    x = np.linspace(0, 1, 50)
    slope = ingot.grad(energy)(x)
    steps = np.array([(energy(x + e) - energy(x - e)) / 2e-6 for e in 1e-6 * np.eye(50)])
    assert np.allclose(slope, steps, atol=1e-6)
    batch, w = np.linspace(-1, 1, 60).reshape(20, 3), np.ones((3, 3))
    assert np.allclose(ingot.vmap(row, in_axes=(0, None))(batch, w), [row.__wrapped__(each, w) for each in batch], rtol=1e-14)


def threads() -> None:
    x = np.linspace(0, 9, 4_000_000).reshape(4000, 1000)
    ingot.set_num_threads(2)
    assert np.allclose(sums(x), np.sqrt(x).sum(axis=1), rtol=1e-13)


def random_numbers() -> None:
    """The numbers of NumPy of the build, or a refusal that names both versions."""
    try:
        assert (draws(np.random.default_rng(1), 5) == np.random.default_rng(1).normal(size=5)).all()
    except ingot.UnsupportedError as error:
        assert np.__version__ in str(error), error


def pickles() -> None:
    assert pickle.loads(pickle.dumps(energy)) is energy
    one, other = pickle.dumps(ingot.jit), pickle.dumps(ingot.UnsupportedError)
    assert pickle.loads(one) is ingot.jit and pickle.loads(other) is ingot.UnsupportedError


def devices() -> None:
    """The tutorial's seventh page begins so."""
    (device,) = ingot.devices("emulated")[:1]
    x = np.linspace(0, 1, 500)
    on_device = ingot.device_put(x, device)
    assert (np.asarray((on_device * 2).to_host()) == 2 * x).all()
    assert np.isclose(energy(on_device), energy(x))
    try:
        energy.explain(x, device="gfx942")
        raise AssertionError("there is code for AMD's GPUs")
    except ingot.UnsupportedError as error:
        assert "AMD's GPUs" in str(error) and "INGOT_AMDGPU=ON" in str(error), error


SECOND = """
import sys, time, numpy as np
sys.path.insert(0, ".")
from cached import f
start = time.perf_counter()
assert f(np.arange(10.0)) == 90.0
print("ingot._core" in sys.modules, time.perf_counter() - start)
"""


def cache() -> None:
    Path("cached.py").write_text("import ingot\n@ingot.jit\ndef f(x):\n    s = 0.0\n    for v in x:\n        s += 2 * v\n    return s\n")
    first, second = (run("-c", SECOND).split() for _ in range(2))
    assert first[0] == "True" and second[0] == "False", (first, second)
    print("cached call", second[1])


def run(*arguments: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def commands() -> None:
    about = run("-m", "ingot", "info")
    assert ingot.__version__ in about and np.__version__ in about, about
    run("-m", "ingot", "cache", "info")
    Path("library.py").write_text("import ingot\n@ingot.export('float64(float64)')\ndef f(x):\n    return 2 * x\n")
    told = run("-m", "ingot", "build", "library.py", "-o", "built", code=1)
    assert "is not found: libraries are linked with the system's C compiler" in told and "Traceback" not in told, told
    run("-m", "ingot", "cache", "clear")


def main(page: str) -> None:
    assert "site-packages" in ingot.__file__
    os.environ["INGOT_CACHE_DIR"] = str(Path("cache").resolve())
    tutorial(page)
    print("tutorial", time.perf_counter() - START)
    for each in (derivatives, threads, random_numbers, pickles, devices, cache, commands):
        start = time.perf_counter()
        each()
        print(each.__name__, time.perf_counter() - start)
    print("import", IMPORT)
    print("all", time.perf_counter() - START)


if __name__ == "__main__":
    main(sys.argv[1])
