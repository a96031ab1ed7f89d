"""A program in which allocations of the process fail: `missing_memory.py LIBRARY "warm solve" OWNERS MOST SEED LASTING`.

It prints a line of JSON for each attempt: the number of the allocation that failed, what came of the call, of the same call
afterwards, and how the process ended. The first attempt has all memory, the last all of it and no new thread; where `LASTING` is 1,
all allocations after that one fail, too, until the call has ended. Each attempt is a forked child, so that one that ends by a
signal, or never, is reported, too. The library, made of `missing_memory.c`, is preloaded.
"""

import ctypes
import json
import os
import pickle
import random
import select
import signal
import sys
import threading
import time

os.environ.update(INGOT_CACHE="off", INGOT_TIERS="off", OPENBLAS_NUM_THREADS="1")

import ingot
import numpy as np
from ingot import prange

INGOTS, OTHERS = 1, 2
"""Owners of allocations: Ingot's extensions with LLVM in them, and the C and C++ libraries called by them; CPython, NumPy, and the like."""
LONGEST = 30.0
"""Seconds for one attempt."""


def library_at(path):
    library = ctypes.CDLL(path)
    library.missing_range.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    library.missing_begin.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    library.missing_end.restype = ctypes.c_long
    seen_through = ("libstdc++", "libc.so", "libgcc", "ld-linux", os.path.basename(path))
    with open("/proc/self/maps") as file:
        for line in file:
            words = line.split()
            name = os.path.basename(words[-1])
            begin, end = (int(number, 16) for number in words[0].split("-"))
            if name.startswith(("_core.", "_ingot.")):
                library.missing_range(begin, end, INGOTS)
            elif name.startswith(seen_through):
                library.missing_range(begin, end, 0)
    return library


def arrays(a, n):
    rows = []
    for i in range(n):
        rows.append(a * i)
    b = np.concatenate((a, a + 1))
    d = {}
    for i in range(n):
        d[i] = a[i] * 2
    return rows, {"b": b, "c": np.sort(a)[::-1] + np.exp(a) @ a}, d, np.linalg.solve(np.eye(3) * 2 + n, a[:3])


def long_one(a, n):
    s = 0.0
    out = np.zeros((n, 4))
    for i in range(n):
        for j in range(4):
            out[i, j] = np.sin(a[i] * j) + s
            s += a[i] * j if out[i, j] > 0.5 else -np.sqrt(abs(a[i]))
    u = (np.cumsum(out, axis=0) * 2 + np.exp(out)).sum(axis=1)
    v = np.where(u > 1, u, -u)
    q = np.sort(v) * v + np.arctan2(u, v)
    return s, out, np.tanh(q) * np.cosh(v) + np.log1p(np.abs(q))


def large(x):
    if x > 1:
        raise ValueError(f"large: {x}")
    return x


def shared(a):
    b = np.zeros(len(a))
    for i in prange(len(a)):
        c = np.sqrt(a + i)
        b[i] = np.sort(c)[0] + c.sum()
    return b


def host(a):
    print(end="")
    return a.sum()


def told(d, xs):
    d["y"] = d["x"] + 1
    out = []
    for x in xs:
        out.append([x, x * 2.0])
    return d, out, (1, "a", {"s": xs[0]}), f"{xs[0]}"


def raised(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


def in_thread(function, *arguments):
    got = []

    def run():
        try:
            got.append(function(*arguments))
        except MemoryError as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(got[0], MemoryError):
        raise got[0]
    return got[0]


A = np.arange(5.0)
LINE = np.cos(np.arange(100_000.0))
MATRIX = np.eye(5) * 2 + 1
LARGE = np.eye(300) * 2 + 1

WARM = {
    "arrays": (arrays, lambda f: f(A, 3)),
    "containers": (told, lambda f: f({"x": np.arange(3.0)}, [1.0, 2.0, 3.0])),
    "raised": (large, lambda f: raised(f, 2)),
    "host": (host, lambda f: f(A)),
    "solve": (lambda a, b: np.linalg.solve(a, b), lambda f: f(MATRIX, np.ones(5))),
    "large solve": (lambda a, b: np.linalg.solve(a, b), lambda f: f(LARGE, np.ones(300))),
    "linalg": (lambda a: (np.linalg.inv(a), np.linalg.svd(a), np.linalg.eigvalsh(a), np.linalg.qr(a), np.linalg.det(a)), lambda f: f(MATRIX)),
    "large product": (lambda a: a @ a, lambda f: f(np.ones((400, 400)))),
    "fft": (lambda a: (np.fft.fft(a), np.fft.rfft(a), np.fft.fft2(a.reshape(8, -1))), lambda f: f(LINE[:1024])),
    "large fft": (lambda a: np.fft.fft(a), lambda f: f(np.arange(2.0**18))),
    "large sort": (lambda a: (np.sort(a), np.argsort(a)), lambda f: f(LINE)),
    "threads": (shared, lambda f: f(np.arange(300.0))),
}
COLD = {
    "number": (lambda x: x * 3 + 1, lambda f: f(2.0)),
    "arrays": (arrays, lambda f: f(A, 3)),
    "several threads": (long_one, lambda f: f(np.linspace(0, 1, 20), 20)),
    "another thread": (lambda x: np.exp(x) * 3, lambda f: in_thread(f, 2.0)),
    "raised": (large, lambda f: raised(f, 2)),
}


def scenario(kind, rest):
    """A call, which compiles if it is a `cold` one."""
    function, call = (COLD if kind == "cold" else WARM)[rest]
    # What calls of the compiler import is there.
    ingot.jit(lambda a: a + 1)(1)
    ingot.jit(lambda a: np.sort(a) * 2)(A)
    compiled = ingot.jit(function, tier="full")
    if kind == "warm":
        call(compiled)
        call(compiled)
    return lambda: call(compiled)


def is_same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(is_same(a[k], b[k]) for k in a)
    return a == b


def outcome(call, expected, library):
    """In words: `value` and `memory` are as they should be, `lost` where nothing can be compiled any more."""
    try:
        try:
            got = call()
        finally:
            library.missing_end()
    except MemoryError as error:
        return "lost" if "no more" in str(error) else "memory"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "value" if is_same(got, expected) else "wrong value"


def attempt(library, call, expected, number, last, owners, threads):
    """The outcome, reported by a child."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        library.missing_begin(number, last, owners, threads)
        first = outcome(call, expected, library)
        counted = library.missing_end()
        os.write(ends[1], json.dumps([first, outcome(call, expected, library), counted]).encode())
        sys.exit(0)
    os.close(ends[1])
    is_over = bool(select.select([ends[0]], [], [], LONGEST)[0])
    text = os.read(ends[0], 1 << 12) if is_over else b""
    os.close(ends[0])
    end = time.monotonic() + LONGEST
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.001)
    if done[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(done[1]) if done[0] else "never ends"
    return {"number": number, "status": status, "came": json.loads(text) if text else [None, None, 0]}


def main():
    path, name, owners, most, seed, lasting = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6] == "1"
    ingot.set_num_threads(2)
    kind, rest = name.split(" ", 1)
    call = scenario(kind, rest)
    library = library_at(path)
    expected = in_child(call)
    never = 1 << 60
    first = attempt(library, call, expected, never, never, owners, 0)
    print(json.dumps(first))
    count = first["came"][2]
    draw = random.Random(f"{name} {seed}")
    numbers = range(1, count + 1)
    if count > most:
        numbers = [1 + int(count * (i + draw.random()) / most) for i in range(most)]
    for number in numbers:
        last = never if lasting else number
        print(json.dumps(attempt(library, call, expected, number, last, owners, 0)), flush=True)
    without_threads = 0 if rest == "another thread" else 1
    print(json.dumps(attempt(library, call, expected, never, never, owners, without_threads)))


def in_child(call):
    ends = os.pipe()
    if (child := os.fork()) == 0:
        with open(ends[1], "wb") as file:
            pickle.dump(call(), file)
        os._exit(0)
    os.close(ends[1])
    with open(ends[0], "rb") as file:
        got = pickle.load(file)
    os.waitpid(child, 0)
    return got


if __name__ == "__main__":
    main()
