"""Processes that want the same code at once: one compiles, and whatever happens to it, the others do not hang (docs/cache.md)."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import ingot
import numpy as np
import pytest
from caching import HEAD, environment, run
from ingot import _cache
from ingot._cache.claims import Claims
from ingot._cache.folder import Folder

X = np.arange(5.0)
KEY = bytes(range(32))

MODULE = """
import ingot, numpy as np
@ingot.jit
def f(x, a):
    out = np.empty_like(x)
    for i in range(1, len(x) - 1):
        out[i] = a * (x[i - 1] + x[i + 1]) + np.sin(x[i])
    return out[1:-1].sum()
"""
AT_ONCE = """
import os, time
from ingot._calls.tiers import worker
from one import f
print(flush=True)
sys.stdin.readline()
first = f(np.arange(50.0), 0.25)
full, end = f.specialisations[0], time.monotonic() + 60
while "tiers" in sys.argv and not full.tier and time.monotonic() < end:
    f(np.arange(50.0), 0.25)
worker.wait()
print(json.dumps([first, full.why, list(full.phases), int(full.tier)]))
"""


def scaled(x, k):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * k
    return total


def _processes(folder, count, script, *arguments, **variables):
    """What processes print last that begin at once."""
    (folder / "one.py").write_text(MODULE)
    command = [sys.executable, "-c", HEAD + script, *arguments]
    started = [
        subprocess.Popen(command, env=environment(folder / "cache", **variables), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for each in started:
        each.stdout.readline()
    for each in started:
        each.stdin.write("\n")
        each.stdin.flush()
    return [json.loads(each.communicate(timeout=100)[0].splitlines()[-1]) for each in started]


@pytest.mark.alone
@pytest.mark.parametrize("tiers", ["on", "off"])
def test_processes_that_start_at_once_compile_once(tmp_path, tiers):
    # On a machine that does much else a wait may be in vain: a long one is not.
    all_of_them = _processes(tmp_path, 4, AT_ONCE, *["tiers"] * (tiers == "on"), INGOT_TIERS=tiers, INGOT_CACHE_WAIT="60")
    values, whys, phases, last = zip(*all_of_them)
    assert len(set(values)) == 1 and set(last) == {1}
    assert sorted(whys) == ["the cache"] * 3 + ["the first call"]
    made = [phase for each in phases for phase in each]
    assert sorted(made) == (["frontend", "full", "quick"] if tiers == "on" else ["frontend", "full"])


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A cache of this process alone."""
    monkeypatch.setenv("INGOT_CACHE_DIR", str(tmp_path / "cache"))
    cache = _cache.Cache()
    monkeypatch.setattr(_cache, "_cache", cache)
    return cache


HOLDS = """
import time
from ingot._cache.claims import Claims
from ingot._cache.folder import Folder
with Claims(Folder(sys.argv[1], 1 << 20), 10).first(bytes.fromhex(sys.argv[2])):
    print(flush=True)
    sys.stdin.readline()
"""


def _held(cache, key):
    """A process that has a claim, until its input ends, or it is killed."""
    folder = os.path.dirname(cache.folder.path)
    process = subprocess.Popen([sys.executable, "-c", HEAD + HOLDS, folder, key.hex()], env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def _key(cache, function):
    return cache.keys(function, function._describe([X, 2.0]), [X, 2.0]).own.digest


def _compiles_in(function):
    start = time.monotonic()
    assert function(X, 2.0) == 20.0
    assert function.specialisations[0].why == "the first call"
    return time.monotonic() - start


def test_nobody_waits_for_ever(cached):
    function = ingot.jit(scaled)
    process = _held(cached, _key(cached, function))
    try:
        cached.claims.most = 0.5
        assert 0.5 <= _compiles_in(function) < 20
        assert function.specialisations[0].not_stored == ""  # and others are spared
    finally:
        process.kill()
        process.communicate()


def test_nobody_waits_for_a_process_that_was_killed(cached):
    function = ingot.jit(scaled)
    process = _held(cached, _key(cached, function))
    cached.claims.most = 100
    threading.Timer(0.3, process.kill).start()
    assert _compiles_in(function) < 50
    process.communicate()
    _cache._cache.folder.clear()
    assert _compiles_in(ingot.jit(scaled)) < 50


def test_what_the_first_one_does_not_store_all_others_compile_at_once(cached):
    process = _held(cached, KEY)
    cached.claims.most = 100
    threading.Timer(0.3, lambda: process.communicate(b"\n")).start()
    with cached.claims.first(KEY):
        other = _held(cached, KEY)  # has it at once, as this one has waited and so has it not
        other.communicate(b"\n", timeout=50)
    process.wait(50)


def test_who_has_a_claim_waits_for_nobody(cached):
    other = bytes(reversed(KEY))
    process = _held(cached, other)
    cached.claims.most = 100
    start = time.monotonic()
    with cached.claims.first(KEY), cached.claims.first(KEY), cached.claims.first(other):
        assert time.monotonic() - start < 50
    process.communicate(b"\n")


def test_full_code_waits_for_nobody(cached):
    with cached.claims.full(KEY) as is_others, cached.claims.full(KEY) as again, cached.claims.first(KEY):
        assert not is_others and not again
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + HOLDS.replace(".first", ".full"), os.path.dirname(cached.folder.path), KEY.hex()],
        env=environment("x"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.readline()
    with cached.claims.full(KEY) as is_others:
        assert is_others
    process.communicate(b"\n")
    with cached.claims.full(KEY) as is_others:
        assert not is_others


def test_who_makes_full_code_waits_for_others(cached):
    process = _held(cached, KEY)
    cached.claims.most = 100
    threading.Timer(0.3, lambda: process.communicate(b"\n")).start()
    with cached.claims.full(bytes(32)), cached.claims.first(KEY):
        assert process.wait(50) == 0


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO, errno.EBADF, errno.ESTALE])
def test_without_locks_one_compiles_for_oneself(cached, monkeypatch, number):
    def none(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", none)
    cached.claims.most = 100
    function = ingot.jit(scaled)
    assert _compiles_in(function) < 50 and function.specialisations[0].not_stored == ""


def test_a_folder_that_cannot_be_written_into_has_no_claims(cached, monkeypatch):
    was = os.open

    def read_only(path, flags, *rest, **more):
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return was(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.warns(RuntimeWarning, match="compiled code is not stored"):
        assert _compiles_in(ingot.jit(scaled)) < 50


def test_what_is_no_file_of_ones_own_is_not_locked(cached, tmp_path):
    assert _compiles_in(ingot.jit(scaled)) < 50
    file = tmp_path / "cache" / "v1" / ".claims"
    assert file.read_bytes() == b"" and file.stat().st_mode & 0o777 == 0o600
    for make in (lambda: file.symlink_to(tmp_path / "elsewhere"), file.mkdir, lambda: os.mkfifo(file)):
        shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
        cached.folder.clear()
        make()
        function = ingot.jit(scaled)
        assert _compiles_in(function) < 50 and function.specialisations[0].not_stored == ""
        assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_removed_is_made_again(cached, tmp_path):
    with cached.claims.first(KEY):
        shutil.rmtree(tmp_path / "cache")
    assert _compiles_in(ingot.jit(scaled)) < 50
    shutil.rmtree(tmp_path / "cache")
    cached.folder._close()
    with cached.claims.first(KEY):
        assert (tmp_path / "cache" / "v1" / ".claims").exists()


def test_no_claims_are_made_where_nobody_waits(cached, tmp_path):
    cached.claims.most = 0
    assert _compiles_in(ingot.jit(scaled)) < 50
    assert not (tmp_path / "cache" / "v1" / ".claims").exists()


def test_a_claim_is_given_back_after_an_exception(cached):
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), cached.claims.first(KEY):
            raise error
    with pytest.raises(ingot.UnsupportedError):
        ingot.jit(lambda x: open("x"))(X)  # noqa: SIM115
    assert not cached.claims._held


def test_ufuncs_are_claimed(cached, monkeypatch):
    claimed = []
    first = Claims.first
    monkeypatch.setattr(Claims, "first", lambda self, key: claimed.append(key) or first(self, key))
    limited = ingot.vectorize(lambda a, b: a if a < b else b)
    spread = ingot.guvectorize(["void(float64[:], float64[:])"], "(n)->()")(_spread)
    assert limited(X, 2.0).tolist() == [0, 1, 2, 2, 2] and len(claimed) == 1
    assert spread(X) == 4.0 and len(claimed) == 2


def _spread(row, out):
    out[0] = row.max() - row.min()


def test_a_forked_child_has_no_claims(cached, tmp_path):
    script = """
import os
from ingot import _cache
claims = _cache.cache().claims
with claims.first(bytes(32)):
    child = os.fork()
    if child == 0:
        claims.most = 0.1
        with claims.first(bytes(32)):
            os._exit(3 if claims._held else 4)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([status, len(claims._held)]))
"""
    assert run(tmp_path / "cache", script) == [4, 0]


def test_threads_of_a_process_do_not_wait_for_each_other(tmp_path):
    claims = Claims(Folder(tmp_path, 1 << 20), 100)
    inside = threading.Barrier(4, timeout=50)

    def enter():
        with claims.first(KEY):
            inside.wait()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not inside.broken and not claims._held


def test_a_descriptor_that_was_closed_and_is_anothers_is_left_alone(tmp_path):
    text = """
import os, tempfile
import numpy as np
import ingot

f, g = ingot.jit(lambda x: x + 1), ingot.jit(lambda x: x * 2)
f(np.ones(3))
os.closerange(3, 256)
others = [tempfile.TemporaryFile() for _ in range(4)]
g(np.ones(4))
print([os.fstat(each.fileno()).st_nlink for each in others])
"""
    file = tmp_path / "program.py"
    file.write_text(text)
    given = {**os.environ, "INGOT_CACHE": "on", "INGOT_CACHE_DIR": str(tmp_path / "cache"), "INGOT_CACHE_WAIT": "10"}
    done = subprocess.run([sys.executable, file], env=given, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[0, 0, 0, 0]\n", done.stderr
