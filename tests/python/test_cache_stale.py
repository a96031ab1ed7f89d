"""What has changed since another process stored code is seen: each case is a module of two versions (docs/cache.md).

A process runs all modules' first versions and stores; another runs the second ones, and must get what plain Python does.
"""

import os
import shutil
import time

import ingot
import pytest
from caching import run
from ingot._cache import identity
from ingot._ingot import digest

F = "import numpy as np\nimport ingot\n{}\n%ingot.jit\ndef f(x): return {}\ncall = lambda: f({})\n"


def _case(body, result, before, after, argument="np.arange(3.0)"):
    """Two versions of a module whose text differs where `body` or `result` has `@`."""
    text = F.format(body, result, argument)
    return text.replace("@", before), text.replace("@", after)


CASES = {
    "body": _case("", "x @ 2.0", "+", "*"),
    "constant": _case("", "x + @", "1.0", "2.0"),
    "constant's type": _case("", "x[0] * 0 + @", "1", "True"),
    "sign of zero": _case("", "x[:1] * @", "0.0", "-0.0", "np.array([1.0])"),
    "operator of a callee": _case("def g(x): return x @ 3.0", "g(x)", "+", "-"),
    "callee's callee": _case("def h(x): return x @ 3.0\ndef g(x): return h(x)", "g(x)", "+", "-"),
    "default": _case("def g(x, y=@): return x + y", "g(x)", "1.0", "2.0"),
    "default's type": _case("def g(x, y=@): return y", "g(x)", "1", "1.0"),
    "keyword default": _case("def g(x, *, y=@): return x + y", "g(x)", "1.0", "2.0"),
    "second default": _case("def g(x, y=1, z=@): return x + z", "g(x)", "1.0", "2.0"),
    "default function": _case("def a(x): return x + 1\ndef b(x): return x + 2\ndef g(x, y=@): return y(x)", "g(x)", "a", "b"),
    "global number": _case("K = @", "x * K", "2.0", "3.0"),
    "global's type": _case("K = @", "K + 0 * len(x)", "2", "2.0"),
    "global bool": _case("K = @", "x if K else -x", "True", "False"),
    "global text": _case("K = @", "K", "'a'", "'b'"),
    "global None": _case("K = @", "x if K is None else -x", "None", "0"),
    "global tuple": _case("K = @", "x * K[1]", "(1, 2.0)", "(1, 3.0)"),
    "length of a tuple": _case("K = @", "x * len(K)", "(1, 2)", "(1, 2, 3)"),
    "tuple of functions": _case("def a(x): return x + 1\ndef b(x): return x + 2\nK = (@,)", "K[0](x)", "a", "b"),
    "global NumPy number": _case("K = @", "x * K", "np.float64(2)", "np.float32(3)"),
    "global array's values": _case("K = np.array([@])", "x[:1] * K", "2.0", "3.0"),
    "global array's dtype": _case("K = np.array([2], @)", "x[:1] * K", "'i4'", "'c8'"),
    "global array's rank": _case("K = np.ones(@)", "x * K", "3", "(2, 3)"),
    "array in a tuple": _case("K = (np.array([@]), 2.0)", "x[:1] * K[0] * K[1]", "2.0", "3.0"),
    "dtype of an array in a tuple": _case("K = (np.array([2], @), 2.0)", "x[:1] * K[0]", "'i4'", "'c8'"),
    "number next to an array": _case("K = (np.ones(3), @)", "x * K[0] * K[1]", "2.0", "3"),
    "function next to an array": _case("def a(x): return x + 1\ndef b(x): return x + 2\nK = (np.ones(3), @)", "K[1](x * K[0])", "a", "b"),
    "default array": _case("def g(x, y=np.full(3, @)): return x + y", "g(x)", "1.0", "2"),
    "default list": _case("def g(x, y=[np.full(3, @)]): return x + y[0]", "g(x)", "1.0", "2"),
    "keyword default array": _case("def g(x, *, y=np.full(3, @)): return x + y", "g(x)", "1.0", "2"),
    "partial's array": _case("import functools\ng = functools.partial(lambda a, x: x + a, np.full(3, @))", "g(x)", "1.0", "2"),
    "partial's number": _case("import functools\ng = functools.partial(lambda a, x: x + a, @)", "g(x)", "1.0", "2"),
    "partial's keyword": _case("import functools\ng = functools.partial(lambda x, a: x + a, a=@)", "g(x)", "1.0", "2"),
    "partial's function": _case("import functools\ng = functools.partial(lambda a, x: x @ a, 2.0)", "g(x)", "+", "-"),
    "method's instance": _case("class A:\n    def __init__(self, k): self.k = k\n    def m(self, x): return x * self.k\ng = A(@).m", "g(x)", "2.0", "np.ones(3)"),
    "method's code": _case("class A:\n    def m(self, x): return x @ 3.0\ng = A().m", "g(x)", "+", "-"),
    "global list": _case("K = [@]", "x * K[0]", "2.0", "3.0"),
    "global dict": _case("K = {@: 2.0, 'b': 3.0}", "x * K['a'] if 'a' in K else x", "'a'", "'c'"),
    "global dtype": _case("K = @", "np.zeros(2, K)", "np.float32", "np.int8"),
    "global function": _case("def a(x): return x + 1\ndef b(x): return x + 2\ng = @", "g(x)", "a", "b"),
    "global builtin": _case("g = @", "g(x)", "np.sin", "np.cos"),
    "global method": _case("g = @", "g(x)", "np.ndarray.sum", "np.ndarray.mean"),
    "global lambda": _case("g = lambda x: x + @", "g(x)", "1.0", "2.0"),
    "a global that appears": _case("@", "abs(x)", "", "def abs(x): return x + 100.0"),
    "a global that goes": _case("@", "abs(x)", "def abs(x): return x + 100.0", ""),
    "shadowed len": _case("@", "len(x)", "", "len = lambda x: 77"),
    "module alias": _case("import math, cmath\nm = @", "m.sqrt(4.0)", "math", "cmath"),
    "name from a module": _case("from math import @ as g", "g(x[1])", "sin", "cos"),
    "dict order": _case("K = @", "[v * x[1] for v in K.values()]", "{'a': 1.0, 'b': 2.0}", "{'b': 2.0, 'a': 1.0}"),
    "jitted callee": _case("%ingot.jit\ndef g(x): return x @ 3.0", "g(x)", "+", "-"),
    "closure's cell": _case("def outer(k):\n    def g(x): return x * k\n    return g\ng = outer(@)", "g(x)", "2.0", "3.0"),
    "closure's function": _case("def a(x): return x + 1\ndef b(x): return x + 2\ndef outer(k):\n    def g(x): return k(x)\n    return g\ng = outer(@)", "g(x)", "a", "b"),
    "closure's array": _case("def outer(k):\n    def g(x): return x[:1] * k\n    return g\ng = outer(np.array([@]))", "g(x)", "2.0", "3.0"),
    "inner function": _case("def g(x):\n    def h(y): return y @ 2.0\n    return h(x)", "g(x)", "+", "*"),
    "inner lambda's default": _case("def g(x): return (lambda y, k=@: y * k)(x)", "g(x)", "2.0", "3.0"),
    "generator": _case("def g(x):\n    for v in x: yield v @ 2.0", "sum(list(g(x)))", "+", "*"),
    "recursion": _case("def g(n): return 1 if n <= 1 else n @ g(n - 1)", "g(5)", "*", "+"),
    "raised exception": _case("def g(x):\n    if x[0] == 0: raise @('no')\n    return x", "g(x)", "ValueError", "KeyError"),
    "message": _case("def g(x):\n    if x[0] == 0: raise ValueError(@)\n    return x", "g(x)", "'a'", "'b'"),
    "exception class": _case("class E(@): pass\ndef g(x):\n    try: raise E('a')\n    except ValueError: return 1\n    except KeyError: return 2", "g(x)", "ValueError", "KeyError"),
    "assertion": _case("def g(x):\n    assert x[0] == @\n    return x", "g(x)", "0.0", "1.0"),
    "method": _case("class A:\n    def m(self, x): return x @ 2.0\na = A()", "a.m(x)", "+", "*"),
    "method of a base": _case("class B:\n    def m(self, x): return x @ 2.0\nclass A(B): pass\na = A()", "a.m(x)", "+", "*"),
    "override": _case("class B:\n    def m(self, x): return x + 2.0\nclass A(B):\n    @\na = A()", "a.m(x)", "pass", "def m(self, x): return x * 5"),
    "base class": _case("class B:\n    def m(self, x): return x + 2.0\nclass C:\n    def m(self, x): return x * 2.0\nclass A(@): pass\na = A()", "a.m(x)", "B", "C"),
    "order of bases": _case("class B:\n    def m(self, x): return x + 2.0\nclass C:\n    def m(self, x): return x * 2.0\nclass A(@): pass\na = A()", "a.m(x)", "B, C", "C, B"),
    "class attribute": _case("class A:\n    k = @\na = A()", "x * a.k", "2.0", "3.0"),
    "attribute of the class": _case("class A:\n    k = @", "x * A.k", "2.0", "3.0"),
    "instance's attribute": _case("class A:\n    def __init__(self): self.k = @\na = A()", "x * a.k", "2.0", "3.0"),
    "attribute's type": _case("class A:\n    def __init__(self): self.k = @\na = A()", "a.k", "2", "2.0"),
    "attribute hides the class's": _case("class A:\n    k = 2.0\na = A()\n@", "x * a.k", "", "a.k = 7.0"),
    "property": _case("class A:\n    %property\n    def k(self): return @\na = A()", "x * a.k", "2.0", "3.0"),
    "attribute becomes property": _case("class A:\n    @\na = A()", "a.k * x", "k = 2.0", "k = property(lambda self: 3.0)"),
    "static method": _case("class A:\n    %staticmethod\n    def m(x): return x @ 2.0\na = A()", "a.m(x)", "+", "*"),
    "class method": _case("class A:\n    k = @\n    %classmethod\n    def m(cls, x): return x * cls.k\na = A()", "a.m(x)", "2.0", "3.0"),
    "static or class method": _case("class A:\n    k = 2.0\n    %@\n    def m(*r): return len(r)\na = A()", "a.m(x)", "staticmethod", "classmethod"),
    "special method": _case("class A:\n    def __add__(self, x): return x * @\na = A()", "a + x", "2.0", "3.0"),
    "special method appears": _case("class A:\n    @\na = A()", "1.0 if a else 2.0", "pass", "def __bool__(self): return False"),
    "isinstance": _case("class B: pass\nclass C: pass\nclass A(@): pass\na = A()", "x if isinstance(a, B) else -x", "B", "C"),
    "initialiser": _case("class A:\n    def __init__(self, v): self.v = v @ 2.0", "A(x).v", "+", "*"),
    "slots": _case("class A:\n    @\n    def __init__(self): self.v = 2.0\na = A()", "x * a.v", "pass", "__slots__ = ('v', 'w')"),
    "dataclass field": _case("import dataclasses\n%dataclasses.dataclass\nclass A:\n    v: float\n    w: float = @", "x * A(1.0).w", "2.0", "3.0"),
    "order of fields": _case("import dataclasses\n%dataclasses.dataclass\nclass A:\n    @", "A(2.0, 3.0).v * x", "v: float\n    w: float", "w: float\n    v: float"),
    "frozen dataclass": _case("import dataclasses\n%dataclasses.dataclass(frozen=@)\nclass A:\n    v: float\ndef g(x):\n    a = A(2.0)\n    a.v = 3.0\n    return a.v", "g(x)", "False", "True"),
    "named tuple": _case("import collections\nP = collections.namedtuple('P', '@')", "P(1.0, 2.0).a * x", "a b", "b a"),
    "enum's value": _case("import enum\nclass E(enum.Enum):\n    A = @\n    B = 9", "x * E.A.value", "2", "3"),
    "enum's member": _case("import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\nm = E.@", "x if m is E.A else -x", "A", "B"),
    "static argument's function": _case("import functools\ndef a(x): return x + @\n", "x + a(x)", "1.0", "2.0"),
    "fastmath of the callee's module": _case("def g(x): return (x + 1e30) - @", "g(x)", "1e30", "1e29"),
    "registration": _case("def g(x): return x + 1\n@", "g(x)", "", "import ingot as i\n%i.implements(g)\ndef h(x): return x + 1"),
    "host function": _case("%ingot.host(result=float)\ndef g(v): return v @ 2.0", "x * g(x[2])", "+", "*"),
    "host's result": _case("%ingot.host(result=@)\ndef g(v): return 3", "g(x[2])", "float", "int"),
    "derivative": _case("def g(v): return v * v * @", "ingot.grad(g)(x[2])", "2.0", "3.0"),
    "derivative's rule": _case(
        "%ingot.custom_jvp\ndef g(v): return v * v\n%g.defjvp\ndef rule(p, t): return g(p[0]), @ * t[0]", "ingot.grad(g)(x[2])", "2.0", "3.0"),
    "vmap's function": _case("def g(v): return v * @", "ingot.vmap(g)(x)", "2.0", "3.0"),
    "comprehension": _case("", "[v * @ for v in x]", "2.0", "3.0"),
    "slice": _case("", "x[@:]", "0", "1"),
    "keyword of NumPy's": _case("", "x.reshape(3, 1).sum(axis=@)", "0", "1"),
    "f-string": _case("def g(n): return f'{n}@'", "g(3)", "a", "b"),
    "match": _case("def g(v):\n    match v:\n        case @: return 1\n        case _: return 2", "g(2)", "2", "3"),
    "swapped globals": _case("K, L = @", "x * K - L", "2.0, 3.0", "3.0, 2.0"),
    "monkey patch of a class": _case("class A:\n    def m(self, x): return x + 1\na = A()\n@", "a.m(x)", "", "A.m = lambda self, x: x * 9"),
    "monkey patch of code": _case("def g(x): return x + 1\ndef h(x): return x * 9\n@", "g(x)", "", "g.__code__ = h.__code__"),
    "monkey patch of defaults": _case("def g(x, k=1.0): return x + k\n@", "g(x)", "", "g.__defaults__ = (5.0,)"),
    "lambda under another name": _case("g, h = lambda x: x + 1, lambda x: x * 7\ng = @", "g(x)", "g", "h"),
}
SCRIPT = """
import importlib, math, warnings
sys.path.insert(0, ".")
warnings.simplefilter("ignore")
def outcome(call):
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
wrong, loaded, stored = [], 0, 0
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    got = outcome(module.call)
    f, module.f = module.f, module.f.__ingot_function__
    expected = outcome(module.call)
    if got != expected and not got.startswith("UnsupportedError"):
        wrong.append([name, got, expected])
    loaded += any(s.why == "the cache" for s in f.specialisations)
    stored += any(s.not_stored == "" for s in f.specialisations)
print(json.dumps([wrong, loaded, stored]))
"""


def _write(folder, version):
    for number, case in enumerate(CASES.values()):
        (folder / f"case{number}.py").write_text(case[version].replace("%", "@"))
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)


@pytest.mark.rotated(5)
def test_changes_are_seen(tmp_path):
    assert len(CASES) >= 80
    names = [f"case{number}" for number in range(len(CASES))]
    cache = tmp_path / "cache"
    _write(tmp_path, 0)
    wrong, loaded, stored = run(cache, SCRIPT, *names, cwd=tmp_path)
    assert not wrong and stored >= len(CASES) - 10
    wrong, again, _ = run(cache, SCRIPT, *names, cwd=tmp_path)
    assert not wrong and again >= len(CASES) - 10
    _write(tmp_path, 1)
    wrong, _, _ = run(cache, SCRIPT, *names, cwd=tmp_path)
    assert not [[list(CASES)[int(name[4:])], *rest] for name, *rest in wrong]
    _write(tmp_path, 0)
    wrong, again, _ = run(cache, SCRIPT, *names, cwd=tmp_path)
    assert not wrong and again >= len(CASES) - 13


ONE = "import ingot\n@ingot.jit{}\ndef f(x): return x * 2 + 1\n"
SHOW = "import one\none.f(np.ones(3))\nprint(json.dumps(one.f.specialisations[0].why))"


@pytest.mark.rotated(2)
@pytest.mark.parametrize(
    "before",
    ["np.__version__ = '99.0'", "import ingot._ingot as i; i.cpu_features = lambda: 'sse2'", "import os; os.environ['INGOT_VECTORS'] = 'sse'"],
    ids=["NumPy", "CPU", "environment"],
)
@pytest.mark.sampled(4)
def test_other_environments_are_stored_next_to_each_other(tmp_path, before):
    (tmp_path / "one.py").write_text(ONE.format(""))
    other = before + ("\nfrom ingot._cache import Environment\nimport ingot._cache as c\nc.cache()._environment = Environment()\n") + SHOW
    cache = tmp_path / "cache"
    assert run(cache, SHOW, cwd=tmp_path) == "the first call"
    assert run(cache, other, cwd=tmp_path) == "the first call"
    assert run(cache, SHOW, cwd=tmp_path) == "the cache"
    assert run(cache, other, cwd=tmp_path) == "the cache"


@pytest.mark.rotated(4)
def test_options_are_independent(tmp_path):
    for options in ("", "(fastmath=True)", "('float64[:](float64[:])')"):
        (tmp_path / "one.py").write_text(ONE.format(options))
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        assert run(tmp_path / "cache", SHOW, cwd=tmp_path) == "the first call"
        assert run(tmp_path / "cache", SHOW, cwd=tmp_path) == "the cache"


def _tells(folder, package):
    """Why a call is made with a package that is in another folder."""
    return run(folder / "cache", SHOW, cwd=folder, PYTHONPATH=f"{package.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def _touch(file):
    os.utime(file, (time.time() + 1000, time.time() + 1000))


@pytest.mark.rotated(4)
def test_another_build_of_the_package_has_its_own(tmp_path):
    package = tmp_path / "other" / "ingot"
    shutil.copytree(os.path.dirname(ingot.__file__), package)
    (tmp_path / "one.py").write_text(ONE.format(""))
    assert [_tells(tmp_path, package), _tells(tmp_path, package)] == ["the first call", "the cache"]
    _touch(package / "library" / "sorting.py")
    assert _tells(tmp_path, package) == "the cache"
    (package / "_cache" / "build").write_text("12" * 32)
    assert _tells(tmp_path, package) == "the first call"


@pytest.mark.rotated(4)
def test_a_tree_of_links_is_what_its_files_are_now(tmp_path):
    package, own = tmp_path / "other" / "ingot", os.path.dirname(ingot.__file__)
    shutil.copytree(own, package, copy_function=lambda source, place: os.symlink(os.path.realpath(source), place))
    (tmp_path / "one.py").write_text(ONE.format(""))
    assert [_tells(tmp_path, package), _tells(tmp_path, package)] == ["the first call", "the cache"]
    edited = package / "library" / "sorting.py"
    text = edited.read_text()
    edited.unlink()
    edited.write_text(text)
    assert _tells(tmp_path, package) == "the cache"
    edited.write_text(text.replace("a", "b", 1))
    assert _tells(tmp_path, package) == "the first call"
    edited.write_text(text)
    assert _tells(tmp_path, package) == "the cache"


def test_the_identity_is_that_of_the_contents(tmp_path):
    (tmp_path / "inner").mkdir()
    for name, text in (("a.py", "1"), ("inner/b.so", "2"), ("c.txt", "3")):
        (tmp_path / name).write_text(text)
    files = identity.files_of(str(tmp_path), {}, digest)
    assert set(files) == {"a.py", "inner/b.so"}
    assert identity.from_text(identity.as_text(files)) == files
    before = identity.digest_of(files, digest)
    _touch(tmp_path / "a.py")
    (tmp_path / "c.txt").write_text("4")
    again = identity.files_of(str(tmp_path), files, digest)
    assert again != files and identity.digest_of(again, digest) == before
    (tmp_path / "inner" / "b.so").write_text("5")
    assert identity.digest_of(identity.files_of(str(tmp_path), again, digest), digest) != before
    (tmp_path / "inner" / "b.so").write_text("2")
    os.rename(tmp_path / "a.py", tmp_path / "b.py")
    assert identity.digest_of(identity.files_of(str(tmp_path), again, digest), digest) != before


@pytest.mark.rotated(3)
def test_a_patched_function_of_numpys_is_not_the_stored_one(tmp_path):
    (tmp_path / "one.py").write_text("import numpy as np\nimport ingot\n@ingot.jit\ndef f(x): return np.sin(x)\n")
    script = "import one\n{}\nprint(json.dumps(float(one.f(np.ones(1))[0])))"
    plain = run(tmp_path / "cache", script.format(""), cwd=tmp_path)
    assert run(tmp_path / "cache", script.format("np.sin = np.cos"), cwd=tmp_path) != plain
    assert run(tmp_path / "cache", script.format(""), cwd=tmp_path) == plain


@pytest.mark.rotated(4)
def test_hashes_of_a_process_are_its_own(tmp_path):
    (tmp_path / "one.py").write_text("import ingot\n@ingot.jit\ndef f():\n    return [s for s in {'a', 'b', 'c', 'd', 'e'}]\n")
    for seed in range(6):
        given = [run(tmp_path / "cache", "import one\nprint(json.dumps(one.f()))", cwd=tmp_path, PYTHONHASHSEED=str(seed), INGOT_CACHE=c) for c in ("on", "off")]
        assert given[0] == given[1]
