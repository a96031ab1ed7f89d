"""The cache on disk: what one process compiles, the next one loads, without the compiler (docs/cache.md)."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from caching import environment, run

PROGRAMS = """
import collections, dataclasses, enum, functools
import numpy as np
import ingot

RATE = 2.5
TABLE = np.arange(10.0)
Pair = collections.namedtuple("Pair", "low high")

class Colour(enum.Enum):
    RED = 3
    BLUE = 4

class Scaled:
    factor = 3.0
    def __init__(self, by): self.by = by
    def times(self, x): return x * self.by * self.factor
    @staticmethod
    def double(x): return 2 * x
    @classmethod
    def named(cls, x): return x + cls.factor
    @property
    def half(self): return self.by / 2
    @ingot.jit
    def area(self, x): return self.times(x) + self.double(x) + self.named(x) + self.half

@dataclasses.dataclass
class Point:
    x: float
    y: float

def helper(x, add=1.0, *, scale=2.0): return x * scale + add
def outer(k):
    def inner(x): return x + k
    return inner

@ingot.jit
def plain(x): return helper(np.sin(x)) * RATE
@ingot.jit
def loop(x, n):
    total = 0.0
    for i in range(n): total += x[i % len(x)]
    return total
@ingot.jit
def of_table(x): return TABLE[: len(x)] + x
@ingot.jit
def of_point(p): return p.x * p.y
@ingot.jit
def made(x): return Point(x, 2 * x)
@ingot.jit
def of_pair(p): return Pair(p.high, p.low)
@ingot.jit
def of_colour(c): return c.value if c is Colour.RED else -1
@ingot.jit
def of_rest(*args, **kwargs): return args[0] + kwargs["y"]
@ingot.jit
def factorial(n): return 1 if n <= 1 else n * factorial(n - 1)
@ingot.jit
def generated(n):
    def squares():
        for i in range(n): yield i * i
    return [s for s in squares()]
@ingot.jit
def known_shape(n): return np.zeros((2,) * n)
@ingot.jit
def words(s): return s.upper() + "!"
@ingot.jit
def raising(x):
    if x[0] > 1: raise ValueError("no")
    return x[5]
@functools.partial(ingot.jit, static_argnums=1)
def static(x, how): return x.sum() if how == "sum" else x.max()
@ingot.jit
def slope(x): return ingot.grad(lambda y: y * y * RATE)(x)
@ingot.jit
def lanes(x): return ingot.vmap(lambda y: y + 1)(x)
@ingot.jit
def drawn(seed):
    g = np.random.default_rng(seed)
    return g.normal(size=3)
@ingot.host(result=float)
def outside(x): return x / 4
@ingot.jit
def hosting(x): return outside(x) + 1
@ingot.jit
def selecting(x): return x[x > 2].sum(axis=0)
@ingot.jit
def structure(d): return {"b": d["a"] + 1, "c": [d["a"], 2.0]}

bound = ingot.jit(outer(7.0))
nameless = ingot.jit(lambda x: x - 1)
x = np.arange(4.0)
CALLS = {
    "plain": lambda: plain(x), "float32": lambda: plain(x.astype("f4")), "loop": lambda: loop(x, 9), "of_table": lambda: of_table(x),
    "method": lambda: Scaled(2.0).area(x), "of_point": lambda: of_point(Point(2.0, 3.0)), "made": lambda: made(1.5),
    "of_pair": lambda: of_pair(Pair(1, x)), "of_colour": lambda: (of_colour(Colour.RED), of_colour(Colour.BLUE)),
    "of_rest": lambda: of_rest(1, y=2.0), "factorial": lambda: factorial(10), "generated": lambda: generated(5),
    "known_shape": lambda: (known_shape(2), known_shape(3)), "words": lambda: words("abc"), "raising": lambda: raising(x), "raised": lambda: raising(x + 2),
    "static": lambda: (static(x, "sum"), static(x, "max")), "slope": lambda: slope(3.0), "lanes": lambda: lanes(x),
    "drawn": lambda: drawn(5), "hosting": lambda: hosting(6.0), "selecting": lambda: selecting(x), "structure": lambda: structure({"a": x}),
    "bound": lambda: bound(x), "nameless": lambda: nameless(x),
}
"""
REPORT = """
import programs
def shown(call):
    try:
        return repr(call())
    except Exception as error:
        where = error.__traceback__
        while where.tb_next: where = where.tb_next
        return f"{type(error).__name__}: {error} in {where.tb_frame.f_code.co_filename} at {where.tb_lineno}"
results = {name: shown(call) for name, call in programs.CALLS.items()}
print(json.dumps({"results": results, "core": "ingot._core" in sys.modules}))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with the programs, another for the cache, and what plain Python and the first process have given."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "programs.py").write_text(PROGRAMS)
    return folder, folder / "cache", run(folder / "cache", REPORT, cwd=folder)


@pytest.mark.rotated(4)
def test_the_next_process_compiles_nothing(shared):
    folder, cache, first = shared
    second = run(cache, REPORT, cwd=folder)
    assert first["core"] and not second["core"]
    assert second["results"] == first["results"]
    plain = run(cache, REPORT, cwd=folder, INGOT_DISABLE="1")
    assert {k: v for k, v in plain["results"].items() if k != "slope"} == {k: v for k, v in first["results"].items() if k != "slope"}


def test_places_are_those_of_now(shared):
    folder, cache, first = shared
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "programs.py").write_text("# one line\n# and another\n" + PROGRAMS)
    moved = run(cache, REPORT, cwd=elsewhere)
    assert not moved["core"]
    for name in ("raising", "raised"):
        before, line = first["results"][name].rsplit(" at ", 1)
        assert moved["results"][name] == f"{before.replace(str(folder), str(elsewhere))} at {int(line) + 2}"


def test_explaining_lowers_again(shared):
    folder, cache, _ = shared
    text = run(cache, "import programs\nprograms.plain(programs.x)\nprint(json.dumps(programs.plain.explain(programs.x)))", cwd=folder)
    assert "def plain" in text and "array IR" in text


ONE = """
import one
it = one.f(np.ones(3))
print(json.dumps([one.f.specialisations[0].why, one.f.specialisations[0].not_stored, "ingot._core" in sys.modules]))
"""


def _one(folder, options=""):
    (folder / "one.py").write_text(f"import ingot\n@ingot.jit{options}\ndef f(x): return x + 1\n")
    return run(folder / "cache", ONE, cwd=folder)


@pytest.mark.rotated(3)
def test_it_can_be_turned_off(tmp_path):
    assert _one(tmp_path, "(cache=False)")[0] == "the first call"
    assert _one(tmp_path, "(cache=False)")[0] == "the first call"
    assert run(tmp_path / "cache", ONE, cwd=tmp_path, INGOT_CACHE="off")[0] == "the first call"
    assert not (tmp_path / "cache").exists()
    assert _one(tmp_path)[1] == ""
    assert _one(tmp_path)[0] == "the cache"


def test_what_cannot_be_distinguished_is_not_stored(tmp_path):
    (tmp_path / "one.py").write_text("import ingot\n@ingot.jit\ndef f(x):\n    s = {1.0, 2.0}\n    return x + sum(s)\n")
    why = run(tmp_path / "cache", ONE, cwd=tmp_path)
    assert why == ["the first call", "sets in f", True]
    assert run(tmp_path / "cache", ONE, cwd=tmp_path)[0] == "the first call"


def test_what_depends_on_hashes_is_not_stored_under_any_name(tmp_path):
    (tmp_path / "one.py").write_text("import ingot\nS = set\n@ingot.jit\ndef f(x):\n    s = S([1.0, 2.0])\n    return x + sum(s)\n")
    assert run(tmp_path / "cache", ONE, cwd=tmp_path)[1] == "`set`, whose results depend on hashes"


@pytest.mark.rotated(3)
def test_modules_with_the_names_of_pythons_are_the_users(tmp_path):
    (tmp_path / "one.py").write_text("import this as t\nimport ingot\na = t.A()\n@ingot.jit\ndef f(x): return x * a.v + t.g(x)\n")
    for k in (2.0, 3.0):
        (tmp_path / "this.py").write_text(
            f"def g(x): return x * {k}\nclass A:\n    def __init__(self): self.w = 1.0\n    @property\n    def v(self): return {k}\n"
        )
        script = "import one\nprint(json.dumps([float(one.f(np.ones(1))[0]), one.f.specialisations[0].why]))"
        assert run(tmp_path / "cache", script, cwd=tmp_path, PYTHONDONTWRITEBYTECODE="1") == [2 * k, "the first call"]
        assert run(tmp_path / "cache", script, cwd=tmp_path, PYTHONDONTWRITEBYTECODE="1") == [2 * k, "the cache"]


def _command(folder, action):
    return subprocess.run([sys.executable, "-m", "ingot", "cache", action], capture_output=True, text=True, env=environment(folder), timeout=60)


@pytest.mark.rotated(4)
def test_the_command_reports_checks_and_clears(tmp_path):
    cache = tmp_path / "cache"
    assert "nothing is stored" in _command(cache, "info").stdout
    _one(tmp_path)
    assert "files    1\n" in _command(cache, "info").stdout
    assert _command(cache, "verify").returncode == 0
    file = next((cache / "v1").glob("*.ingot"))
    file.write_bytes(file.read_bytes()[:-1])
    checked = _command(cache, "verify")
    assert checked.returncode == 1 and f"{file.name}: damaged, removed" in checked.stdout
    _one(tmp_path)
    assert "1 files removed" in _command(cache, "clear").stdout
    assert not list((cache / "v1").iterdir())


def test_the_least_recently_used_go_first(tmp_path):
    from ingot._cache.folder import Folder

    folder = Folder(tmp_path, 10_000)
    for number in range(8):
        assert folder.write(bytes([number]) * 32, bytes(1000))
        os.utime(tmp_path / "v1" / f"{(bytes([number]) * 32).hex()}.ingot", (number, number))
    folder.read(bytes([0]) * 32)  # is used again, and noted
    for number in range(8, 12):
        assert folder.write(bytes([number]) * 32, bytes(1000))
    left = {number for number in range(12) if folder.read(bytes([number]) * 32) is not None}
    assert {0, 11} <= left and 1 not in left and len(left) <= 9
    assert not folder.write(bytes(32), bytes(20_000))


@pytest.mark.rotated(3)
def test_cells_of_notebooks_are_found(tmp_path):
    script = textwrap.dedent("""
        import linecache
        source = "def f(x):\\n    if x[0] > 5:\\n        raise ValueError('large')\\n    return x * 2\\n"
        file = f"/tmp/ipykernel_{sys.argv[1]}/1.py"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        space = {"__name__": "__main__"}
        exec(compile(source, file, "exec"), space)
        f = ingot.jit(space["f"])
        f(np.ones(3))
        try:
            f(np.full(3, 9.0))
        except ValueError as error:
            where = error.__traceback__
            while where.tb_next: where = where.tb_next
        print(json.dumps([f.specialisations[0].why, where.tb_frame.f_code.co_filename, where.tb_lineno]))
    """)
    assert run(tmp_path, script, 11) == ["the first call", "/tmp/ipykernel_11/1.py", 3]
    assert run(tmp_path, script, 12) == ["the cache", "/tmp/ipykernel_12/1.py", 3]


@pytest.mark.rotated(3)
def test_threads_and_children_load(tmp_path):
    script = textwrap.dedent("""
        import os, threading
        import one
        results = []
        threads = [threading.Thread(target=lambda: results.append(one.f(np.ones(3)).tolist())) for _ in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        child = os.fork()
        if child == 0: os._exit(int(one.f(np.ones(3, "f4")).sum()))
        print(json.dumps([results, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))
    """)
    _one(tmp_path)
    assert run(tmp_path / "cache", script, cwd=tmp_path) == [[[2.0] * 3] * 8, 6]


@pytest.mark.rotated(4)
def test_quick_code_goes_on_to_full_code(tmp_path):
    (tmp_path / "one.py").write_text("import ingot\n@ingot.jit\ndef f(x): return x + 1\n")
    tier = "import one, time\nr = one.f(np.ones(3))\ns = one.f.specialisations[0]\n{}\nprint(json.dumps([s.why, int(s.tier)]))"
    assert run(tmp_path / "cache", tier.format(""), cwd=tmp_path, INGOT_TIERS="on") == ["the first call", 0]
    waits = "end = time.time() + 30\nwhile s.tier == 0 and time.time() < end: one.f(np.ones(3)); time.sleep(0.001)"
    assert run(tmp_path / "cache", tier.format(""), cwd=tmp_path, INGOT_TIERS="quick") == ["the cache", 0]
    shutil.copytree(tmp_path / "cache", tmp_path / "other")
    assert run(tmp_path / "other", tier.format(""), cwd=tmp_path, INGOT_TIERS="off") == ["the cache", 1]
    assert run(tmp_path / "cache", tier.format(waits), cwd=tmp_path, INGOT_TIERS="on") == ["the cache", 1]
    assert run(tmp_path / "cache", tier.format(""), cwd=tmp_path, INGOT_TIERS="on") == ["the cache", 1]
