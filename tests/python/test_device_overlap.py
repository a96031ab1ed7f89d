"""Copies that overlap kernels: the order is that of a program that knows one order only.

Each program runs on the software device, whose queues go on late and in an order drawn from a seed, and which reports what two
queues touch with nothing that orders them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot

HERE = Path(__file__).parent
COMMON = """
import gc, sys, threading
import numpy as np
import ingot
from ingot import cuda

D = ingot.device("emulated")
N = 1 << 14  # elements of 8 bytes: twice what overlaps kernels


@ingot.jit
def twice(x):
    return x * 2 + 1


@ingot.jit
def add(x, y):
    x += y


@ingot.jit
def long(x):
    s = x[0] * 0
    for k in range(500):
        s = s * 0.5 + k
    return x + s * 0


def put(value, n=N):
    return ingot.device_put(np.full(n, float(value)), D)


def is_done():
    with ingot.device(D):
        return cuda.default_stream().is_done()
"""


def run(text, seed, races=None, **variables):
    """Standard output of a program."""
    races = seed % 2 == 0 if races is None else races
    path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    env = {**os.environ, "INGOT_EMULATOR_SEED": str(seed), "INGOT_EMULATOR_RACES": str(int(races)), "PYTHONPATH": path, **variables}
    done = subprocess.run([sys.executable, "-c", COMMON + text], check=False, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (seed, done.stdout, done.stderr)
    return done.stdout


def some(texts):
    """Whether one of the seeds' outputs has the word, as long as it takes."""
    return any("yes" in text for text in texts)


def seeds(test):
    """Races are looked for with the even ones, which takes long."""
    return pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])(pytest.mark.sampled(3)(test))


# The host's memory.

CHANGED = """
sizes = [100, 8192, 8193, (5 << 20) // 8, (21 << 20) // 8 + 3]
for n in sizes:
    x = np.arange(float(n))
    a, b = ingot.device_put(x, D), put(0, n)
    b.copy_to_device(x)
    x[:] = -1
    assert (a.to_host() == np.arange(float(n))).all() and (b.to_host() == np.arange(float(n))).all(), n
# More than is staged, with nothing that waits between.
x, many = np.empty((4 << 20) // 8), []
for k in range(11):
    x[:] = k
    many.append(ingot.device_put(x, D))
x[:] = -1
for k, a in enumerate(many):
    assert (twice(a).to_host() == 2 * k + 1).all(), k
# Pinned memory is read before the call returns, too.
with ingot.device(D):
    y = cuda.pinned_array(N)
    z = cuda.pinned_array(N)
y[:] = 3
a = ingot.device_put(y, D)
y[:] = 4
b = twice(a)
a.copy_to_device(y)
y[:] = 5
b.copy_to_host(z)
assert (z == 7).all() and (a.to_host() == 4).all()
"""


@pytest.mark.rotated(3)
@seeds
def test_the_hosts_array_may_be_changed_when_the_copy_returns(seed):
    run(CHANGED, seed, races=False)


# Copies that end late, and copies of the same pinned memory after them, are in one stream.

PINNED = """
with ingot.device(D):
    s = cuda.default_stream()
    p = cuda.pinned_array(N)
    e = cuda.event()
for k in range(6):
    p[:] = 0
    x = put(k)
    D.synchronize()
    a = twice(long(x))
    a.copy_to_host(p, stream=s)
    b = put(0)
    if k % 2:
        e.record(s)
        e.wait()
    b.copy_to_device(p)
    assert (b.to_host() == 2 * k + 1).all(), k
    c = put(0)
    D.synchronize()
    add(c, long(x))
    p[:] = 100 + k
    c.copy_to_device(p, stream=s)
    x.copy_to_host(p)
    assert (p == k).all() and (c.to_host() == 100 + k).all(), k
"""


@pytest.mark.rotated(3)
@seeds
def test_copies_of_pinned_memory_keep_their_order(seed):
    run(PINNED, seed)


# Threads that share an array: each sees it before a copy or after it.

SHARED = """
M = (12 << 20) // 8
x = ingot.device_put(np.zeros(M), D)
ends = ingot.jit(lambda x: x[:: x.size - 1] * 1)
is_over = False


def write():
    for k in range(6):
        x.copy_to_device(np.full(M, float(k)))
    global is_over
    is_over = True


def increase():
    for _ in range(20):
        add(x, ones)


ones = ingot.device_put(np.ones(M), D)
threads = [threading.Thread(target=write), threading.Thread(target=increase)]
for t in threads:
    t.start()
while not is_over:
    first, last = ends(x).to_host()
    assert first == last, (first, last)
    host = x.to_host()
    assert host[0] == host[-1], (host[0], host[-1])
for t in threads:
    t.join()
"""


@pytest.mark.rotated(4)
@seeds
def test_threads_see_an_array_before_a_copy_or_after_it(seed):
    run(SHARED, seed, races=False)


# Kernels, uploads and downloads of one array.

ORDERS = """
a = put(1)
b = twice(a)                      # after the upload
add(a, b)                         # in place, what has been uploaded
a.copy_to_device(np.full(N, 5.0)) # after both kernels
c = twice(a)
add(b, a)                         # after the download of a is asked for, below
assert (a.to_host() == 5).all() and (b.to_host() == 8).all() and (c.to_host() == 11).all()
for k in range(8):
    a.copy_to_device(np.full(N, float(k)))
    add(b, a)
    add(a, b)
    assert a.to_host()[3] == 8 + k * (k + 1) / 2 + k, k
# Views, and parts of an array.
a, h = put(0), np.zeros(N)
for k in range(6):
    a[::2].copy_to_device(np.full(N // 2, float(k)))
    add(a[1::2], a[::2])
    a[N // 2 :].copy_to_device(np.full(N // 2, float(-k)))
    h[::2] = k
    h[1::2] += k
    h[N // 2 :] = -k
    assert (a.to_host() == h).all() and (a[::3].to_host() == h[::3]).all(), k
# What waits to be computed.
a = put(3)
b = a * 2 + 1
a.copy_to_device(np.full(N, 9.0))
assert (b.to_host() == 7).all() and ((a + b).to_host() == 16).all()
# Arrays of NumPy's among the arguments, in containers and from outside.
x = np.full(N, 2.0)
b = ingot.jit(lambda x, y: x * y, device="emulated")(put(3), x)
x[:] = 0
assert (np.asarray(b.to_host()) == 6).all()
held = {"a": put(4)}
assert (ingot.jit(lambda h, x: h["a"] + x)(held, put(1)).to_host() == 5).all()
outside = put(6)
assert (ingot.jit(lambda x: x + outside)(put(1)).to_host() == 7).all()
add(put(1), x)
add(y := put(1), np.full(N, 5.0))
assert (y.to_host() == 6).all()
"""


@pytest.mark.rotated(4)
@seeds
def test_the_order_is_that_of_the_program(seed):
    run(ORDERS, seed)


# Memory that is freed.

FREED = """
results = []
for k in range(30):
    a = put(k)            # the memory of what was freed, or new
    b = twice(a)
    if k % 3 == 0:
        del a
    if k % 4 == 0:
        put(-k)           # uploaded, and never used
    c = twice(b)
    if k % 5 == 0:
        results.append((k, c.to_host()))
    else:
        results.append((k, c))
    del b, c
for k, c in results:
    c = c if isinstance(c, np.ndarray) else c.to_host()
    assert (c == 4 * k + 3).all(), k
"""


@pytest.mark.rotated(4)
@seeds
def test_freed_memory_is_not_used_while_a_queue_uses_it(seed):
    run(FREED, seed)


BOUNDED = """
# Each chunk waits for memory of the chunks before.
for k in range(40):
    d = put(k, 1 << 16)
    r = twice(d)
peak = ingot.memory(D)["peak"] + ingot.memory(D)["kept"]
assert peak <= 10 * (1 << 19), peak
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_uploads_do_not_run_ahead_of_memory(seed):
    run(BOUNDED, seed, races=False)


# What overlaps what.

FETCHED = """
x = put(1)
a = twice(x)
b = long(a)
h = a.to_host()
g = x.to_host()
assert (h == 3).all() and (g == 1).all()
print("no" if is_done() else "yes")
assert (b.to_host() == 3).all()
"""


@pytest.mark.rotated(5)
def test_a_fetch_waits_for_that_array_alone():
    assert some(run(FETCHED, seed, races=False) for seed in range(1, 9))
    assert not some(run(FETCHED, seed, races=False, INGOT_OVERLAP="0") for seed in range(1, 9))


OVERLAPPED = """
x = put(1)
b = long(x)
d = put(2).block_until_ready()
print("no" if is_done() else "yes")
assert (twice(d).to_host() == 5).all() and (b.to_host() == 1).all()
"""


@pytest.mark.rotated(5)
def test_uploads_overlap_kernels():
    assert some(run(OVERLAPPED, seed, races=False) for seed in range(1, 9))
    assert not some(run(OVERLAPPED, seed, races=False, INGOT_OVERLAP="0") for seed in range(1, 9))


PIPELINE = """
chunks = [np.full(N, float(k)) for k in range(9)]
done, before = [], None
for chunk in chunks:
    now = twice(ingot.device_put(chunk, D))
    if before is not None:
        done.append(before.to_host())
    before = now
done.append(before.to_host())
late = [twice(ingot.device_put(chunk, D)) for chunk in chunks]
for k, (one, other) in enumerate(zip(done, late, strict=True)):
    assert (one == 2 * k + 1).all() and (other.to_host() == one).all()
print(np.concatenate(done).tobytes().hex()[:4000])
"""


@pytest.mark.rotated(4)
@seeds
def test_a_pipeline_has_the_same_bits(seed):
    assert run(PIPELINE, seed) == run(PIPELINE, 0, races=False, INGOT_OVERLAP="0")


# Errors, graphs, kernels, streams, devices, threads.

OTHERS = """
@ingot.jit
def checked(x, k):
    return x[k] + x

# What a kernel raises.
a = put(1)
try:
    checked(a, N + 5)
except IndexError as error:
    assert "out of bounds" in str(error), error
else:
    raise AssertionError
assert (checked(a, 3).to_host() == 2).all()

# Graphs: captured and replayed with arrays that are being uploaded.
step = ingot.graph(twice, put(1))
for k in range(4):
    a = put(k)
    r = step(a)
    a.copy_to_device(np.full(N, -1.0))
    assert (r.to_host() == 2 * k + 1).all()
into = put(0)
def body(x, y):
    add(x, y)
    add(x, y)
both = ingot.graph(body, into, put(1))
for k in range(3):
    both(into, put(k))
assert (into.to_host() == 6).all()
with_outside = put(2)
g = ingot.graph(lambda x: twice(x) + with_outside, put(1))
with_outside.copy_to_device(np.full(N, 7.0))
assert (g(put(1)).to_host() == 10).all()

# Kernels of ingot.cuda.
@cuda.jit
def scale(x, f):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * f

a = put(3)
scale[N // 128, 128](a, 2.0)
a.copy_to_device(a.to_host() + 1)
scale[N // 128, 128](a, 10.0)
assert (a.to_host() == 70).all()

# Streams and events of the program's own.
with ingot.device(D):
    s = cuda.stream()
    pinned = cuda.pinned_array(N)
    for k in range(4):
        a = put(k)
        with s:
            b = twice(a)
            c = put(k + 1)
        add(b, c)
        a.copy_to_device(np.full(N, -1.0))
        assert (b.to_host() == 3 * k + 2).all()
        b.copy_to_host(pinned, stream=s)
        add(b, c)
        event = cuda.event()
        event.record(s)
        event.synchronize()
        assert (pinned == 3 * k + 2).all()
        c.copy_to_device(b.to_host())
        with s:
            add(c, b)
        assert (c.to_host() == 2 * (4 * k + 3)).all()
    event = cuda.event()
    a = put(8)
    event.record()
    event.synchronize()
    cuda.default_stream().synchronize()
    assert cuda.default_stream().is_done()

# Threads.
def work(number):
    for k in range(6):
        a = put(number + k)
        b = twice(a)
        add(b, a)
        a.copy_to_device(np.zeros(N))
        if (b.to_host() != 3 * (number + k) + 1).any() or a.to_host().any():
            wrong.append((number, k))
wrong = []
threads = [threading.Thread(target=work, args=(10 * k,)) for k in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
D.synchronize()
"""


@pytest.mark.rotated(5)
@seeds
def test_everything_else_keeps_its_meaning(seed):
    run(OTHERS, seed)


DEVICES = """
first, second = ingot.devices("emulated")
for k in range(6):
    a = ingot.device_put(np.full(N, float(k)), first)
    b = ingot.device_put(a, second)
    a.copy_to_device(np.full(N, -1.0))
    c = twice(b)
    add(c, b)
    d = ingot.device_put(c, first)
    add(d, a)
    assert (d.to_host() == 3 * k).all() and (c.to_host() == 3 * k + 1).all()
"""


@pytest.mark.rotated(3)
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_several_devices(seed):
    run(DEVICES, seed, INGOT_EMULATOR_DEVICES="2")


# Programs of random steps.

RANDOM = """
N = 1 << 13
random = np.random.default_rng(SEED)
host, there = [], []
for step in range(100):
    kind = random.integers(12) if len(host) > 2 else 0
    i = int(random.integers(len(host))) if host else 0
    j = int(random.integers(len(host))) if host else 0
    if kind <= 1:
        x = random.integers(-99, 99, N).astype(float)
        host.append(x.copy())
        there.append(ingot.device_put(x, D))
        x[:] = np.nan
    elif kind == 2:
        x = random.integers(-99, 99, N).astype(float)
        host[i][:] = x
        there[i].copy_to_device(x)
        x[:] = np.nan
    elif kind == 3:
        host.append(host[i] * 2 + 1)
        there.append(twice(there[i]))
    elif kind in (4, 5) and i != j:
        host[i] += host[j]
        add(there[i], there[j])
    elif kind == 6:
        host.append(host[i] - host[j])
        there.append(there[i] - there[j])
    elif kind == 7:
        assert (there[i].to_host() == host[i]).all(), step
    elif kind == 8:
        del host[i], there[i]
    elif kind == 9:
        x = random.integers(-9, 9, N // 2).astype(float)
        host[i][N // 4 : N // 4 + N // 2] = x
        there[i][N // 4 : N // 4 + N // 2].copy_to_device(x)
        x[:] = np.nan
    elif kind == 10:
        with ingot.device(D), cuda.stream():
            host[i] *= 1
            there[i] *= 1
    else:
        x = random.integers(-9, 9, N).astype(float)
        host[i] += x
        add(there[i], x)
        x[:] = np.nan
    assert len(host) < 60
    if len(host) > 12:
        del host[0], there[0]
for k, (x, a) in enumerate(zip(host, there, strict=True)):
    assert (a.to_host() == x).all(), k
"""


@pytest.mark.parametrize("seed", range(1, 13))
@pytest.mark.sampled(6)
def test_random_programs(seed):
    run(RANDOM.replace("SEED", str(seed)), seed)


# The documentation.


def test_the_pipeline_of_the_manual():
    page = (HERE.parents[1] / "docs" / "gpu.md").read_text()
    text = re.search(r"```python\n(chunks = .*?)```", page, re.DOTALL).group(1)
    space = {"np": np, "ingot": ingot}
    exec(text.replace('"gpu"', '"emulated"'), space)
    np.testing.assert_array_equal(space["sums"], [(chunk * chunk).sum() for chunk in space["chunks"]])
