"""Files of the cache that are damaged, planted or somebody else's: they are misses, and heal (docs/cache.md)."""

import os
import pickle
import random
import shutil
import textwrap

import numpy as np
import pytest
from caching import run

import ingot
from ingot import _cache, _ingot
from ingot._cache.folder import _HEADER, MAGIC, VERSION, Folder


def scaled(x, k):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * k
    return total


X = np.arange(5.0)


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A cache with one file, the file, what it holds, and whether a new function finds it."""
    monkeypatch.setenv("INGOT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_cache, "_cache", _cache.Cache())
    assert ingot.jit(scaled)(X, 2.0) == 20.0
    (file,) = (tmp_path / "cache" / f"v{VERSION}").glob("*.ingot")

    def finds():
        function = ingot.jit(scaled)
        arguments = function._describe([X, 2.0])
        return function._load(arguments, [X, 2.0])[0] is not None

    assert finds()
    return file, file.read_bytes(), finds


def _is_right_and_heals(file, whole):
    function = ingot.jit(scaled)
    assert function(X, 2.0) == 20.0
    assert function.specialisations[0].why == "the first call"
    assert file.read_bytes() == whole


@pytest.mark.rotated(4)
def test_no_damaged_byte_is_used(stored):
    file, whole, finds = stored
    draw = random.Random(1)
    places = [*range(_HEADER.size * 8), *(draw.randrange(len(whole) * 8) for _ in range(1200))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        file.write_bytes(damaged)
        assert not finds() or place // 8 in range(12, 16), place  # those between are not used
    file.write_bytes(bytes(damaged))
    _is_right_and_heals(file, whole)


@pytest.mark.rotated(3)
def test_no_part_of_a_file_is_used(stored):
    file, whole, finds = stored
    draw = random.Random(2)
    lengths = [*range(_HEADER.size + 1), *(draw.randrange(len(whole)) for _ in range(400))]
    for length in lengths:
        file.write_bytes(whole[:length])
        assert not finds(), length
    file.write_bytes(whole + b"x")
    assert not finds()
    _is_right_and_heals(file, whole)


def _signed(key, content):
    return _HEADER.pack(MAGIC, VERSION, key, len(content), _ingot.digest(content)) + content


@pytest.mark.rotated(4)
def test_damage_after_a_right_digest_ends_nothing(stored):
    file, whole, finds = stored
    key, content, draw = bytes.fromhex(file.stem), whole[_HEADER.size :], random.Random(3)
    for _ in range(1500):
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 1, 1, 8))):
            damaged[draw.randrange(min(len(damaged), 2000))] = draw.randrange(256)
        file.write_bytes(_signed(key, bytes(damaged[: draw.choice((len(damaged), draw.randrange(len(damaged))))])))
        finds()


def test_entries_of_other_keys_and_formats_are_not_used(stored):
    file, whole, finds = stored
    key, content = bytes.fromhex(file.stem), whole[_HEADER.size :]
    for other in (_signed(bytes(32), content), whole.replace(MAGIC, b"NUMBACCH"), _HEADER.pack(MAGIC, VERSION + 1, key, len(content), _ingot.digest(content)) + content,
                  pickle.dumps([key, content]), b"", bytes(1 << 20), _signed(key, b""), _signed(key, _ingot.encode((1, 2), repr)),
                  _signed(key, b"\x0a\xff\xff\xff\xff"), _signed(key, b"\x0a\x01\x00\x00\x00" * 100_000)):
        file.write_bytes(other)
        assert not finds()
    _is_right_and_heals(file, whole)


def test_what_is_no_file_of_ones_own_is_not_used(stored, tmp_path):
    file, whole, finds = stored
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(whole)

    def put(make):
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink()
        make()
        assert not finds()

    put(lambda: file.symlink_to(elsewhere))
    put(lambda: file.mkdir())
    put(lambda: os.mkfifo(file))
    put(lambda: (file.write_bytes(whole), file.chmod(0o666)))
    if os.geteuid() == 0:
        put(lambda: (file.write_bytes(whole), os.chown(file, 1234, 1234)))
        put(lambda: os.mknod(file, 0o020600, os.makedev(1, 5)))
    put(lambda: os.truncate(os.open(file, os.O_CREAT | os.O_RDWR, 0o600), 1 << 40))
    file.unlink()
    _is_right_and_heals(file, whole)


def test_folders_that_others_may_write_into_are_not_used(stored):
    file, whole, finds = stored
    folder = file.parent
    assert folder.stat().st_mode & 0o777 == 0o700 and file.stat().st_mode & 0o777 == 0o600
    folder.chmod(0o777)
    _cache._cache = _cache.Cache()
    assert not finds()
    with pytest.warns(RuntimeWarning, match="compiled code is not stored in .*: others may write into the folder"):
        assert ingot.jit(scaled)(X, 2.0) == 20.0
    assert ingot.jit(scaled)(X, 2.0) == 20.0  # with no second warning
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, 1234, 1234)
        _cache._cache = _cache.Cache()
        assert not finds()
        os.chown(folder, 0, 0)
    folder.rename(folder.parent / "moved")
    folder.symlink_to(folder.parent / "moved")
    _cache._cache = _cache.Cache()
    assert not finds() and ingot.jit(scaled)(X, 2.0) == 20.0


def test_a_folder_may_go_at_any_time(stored):
    file, whole, finds = stored
    shutil.rmtree(file.parent.parent)
    assert not finds()
    _is_right_and_heals(file, whole)
    assert finds()


@pytest.mark.rotated(5)
def test_failing_disks_are_reported_once(tmp_path):
    script = textwrap.dedent("""
        import errno, os, warnings
        from ingot._cache import folder
        calls = {"open": os.open, "read": os.read, "write": os.write, "rename": os.rename, "fstat": os.fstat, "listdir": os.listdir,
                 "stat": os.stat, "unlink": os.unlink, "mkdir": os.mkdir, "close": os.close, "utime": os.utime}
        left, failing = 0, 0
        def failing_call(call):
            def fails(*arguments, **keywords):
                global left
                left -= 1
                if left == 0:
                    raise OSError(failing, os.strerror(failing))
                return call(*arguments, **keywords)
            return fails
        class Failing:
            def __getattr__(self, name): return getattr(os, name)
        own = Failing()
        for name, call in calls.items(): setattr(own, name, failing_call(call))
        folder.os = own
        from ingot import _cache
        def f(x): return x * 3 + 1
        worst, runs = 0, 0
        warnings.simplefilter(sys.argv[1])
        for failing in (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES):
            for cold in (True, False):
                for n in range(1, 60):
                    if cold: os.system(f"rm -rf {os.environ['INGOT_CACHE_DIR']}")
                    _cache._cache = _cache.Cache()
                    left = n
                    with warnings.catch_warnings(record=sys.argv[1] == "always") as shown:
                        for _ in range(2): assert ingot.jit(f)(np.ones(2)).tolist() == [4.0, 4.0]
                    worst = max(worst, len(shown or ()))
                    runs += 1
                    if left > 0: break
                left = 0
                assert n < 59
        print(json.dumps([worst, runs]))
    """)
    worst, runs = run(tmp_path / "cache", script, "always")
    assert worst == 1 and runs > 80
    assert run(tmp_path / "cache", script, "error")[0] == 0


def test_nothing_larger_than_the_limit_is_written(tmp_path):
    assert Folder(tmp_path, 10).write(bytes(32), bytes(11)) is False
