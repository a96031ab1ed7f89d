"""A source gives a function's AST only where it is the function's: not where it was edited, and with the options that Python compiled it with."""

import ast
import copy
import importlib
import linecache
import math
import random
import subprocess
import sys
import textwrap
import types

import ingot
import numpy as np
import pytest
from ingot._code import source
from ingot._code import same_code


def _function(text: str, optimize: int = -1, name: str = "f") -> types.FunctionType:
    """A function of a source of its own, which `linecache` knows."""
    text = textwrap.dedent(text)
    file = f"<text {abs(hash((text, optimize)))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict = {"np": np, "math": math, "ingot": ingot}
    exec(compile(text, file, "exec", dont_inherit=True, optimize=optimize), scope)
    return scope[name]


def _behaviour(function, *arguments):
    try:
        return repr(function(*copy.deepcopy(arguments)))
    except Exception as error:
        return type(error), str(error)


# ---- Edited sources

# What was compiled, and what is there now.
EDITED = [
    ("try:\n    a = x[0]\n    b = x[9]\nexcept IndexError:\n    b = x[1] * 5\nreturn b",
     "try:\n    a = x[0]\nexcept IndexError:\n    b = x[1] * 5\nelse:\n    b = x[9]\nreturn b"),
    ("return math.copysign(x[0], 0.0)", "return math.copysign(x[0], -0.0)"),
    ("return (1, x[0])", "return (True, x[0])"),
    ("return (x[0], 1)", "return (x[0], 1.0)"),
    ("def g(a, b): return a - b\nreturn g(b=1.0, a=x[0])", "def g(a, *, b): return a - b\nreturn g(b=1.0, a=x[0])"),
    ("def g(a, b): return a - b\nreturn g(b=1.0, a=x[0])", "def g(a, b, /): return a - b\nreturn g(b=1.0, a=x[0])"),
    ("g = lambda a: a + 1\nreturn g(x[0])", "def g(a): return a + 1\nreturn g(x[0])"),
    ("return math.copysign(1.0, 1e999 * 0)", "return math.copysign(1.0, -(1e999 * 0))"),
    ("n = 0\nfor i in range(3):\n    n += i\nreturn n", "n = 0\nfor i in range(3):\n    n += i\nreturn i"),
    ("return x[0] + 1", "return x[0] + 2"),
]


@pytest.mark.parametrize(("before", "after"), EDITED)
def test_edited_text_is_never_taken(tmp_path, monkeypatch, before, after):
    texts = [f"import math\ndef f(x):\n{textwrap.indent(body, '    ')}\n" for body in (before, after)]
    file = tmp_path / "edited_module.py"
    file.write_text(texts[0])
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("edited_module")
    sys.modules.pop("edited_module")
    file.write_text(texts[1])
    linecache.checkcache()
    with pytest.raises(ingot.UnsupportedError, match="has changed since it was defined"):
        ingot.jit(module.f)(np.ones(3))
    file.write_text(texts[0])
    linecache.checkcache()
    assert _behaviour(ingot.jit(module.f), np.ones(3)) == _behaviour(module.f, np.ones(3))


def test_texts_that_do_not_parse_any_more(tmp_path, monkeypatch):
    """What is next to a function does not matter; a source that does not parse is refused."""
    file = tmp_path / "broken_module.py"
    text = "def f(x):\n    return x + 1\n\nclass C:\n    def m(self, x): return x * 2\n"
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("broken_module")
    sys.modules.pop("broken_module")
    c = module.C()
    for after in ("\nthis is no Python\n", "\n\0\n"):
        file.write_text(text + after)
        linecache.checkcache()
        assert ingot.jit(module.f)(1) == 2
        with pytest.raises(ingot.UnsupportedError, match="does not parse any more"):
            ingot.jit(lambda x: c.m(x))(1)


def test_what_linecache_still_holds(tmp_path, monkeypatch):
    """The source that was read before the file was edited is the function's; that of before it was imported again is not."""
    file = tmp_path / "held_module.py"
    file.write_text("def f(x):\n    return x + 1\n\ndef g(x):\n    return x * 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("held_module")
    linecache.getlines(str(file))
    old = module.f
    file.write_text("def f(x):\n    return x + 2000\n\ndef g(x):\n    return x * 3\n")
    assert ingot.jit(old)(1) == 2
    importlib.invalidate_caches()
    new = importlib.reload(module)
    assert ingot.jit(new.f)(1) == 2001
    with pytest.raises(ingot.UnsupportedError, match="has changed since it was defined"):
        ingot.jit(old)(1.5)
    sys.modules.pop("held_module")


def test_functions_that_have_moved_in_their_file(tmp_path, monkeypatch):
    file = tmp_path / "moved_module.py"
    body = "    y = x * 3\n    return y + 1\n"
    file.write_text(f"def f(x):\n{body}\nclass C:\n    def m(self, x):\n    {body.replace('    r', '        r')}")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("moved_module")
    sys.modules.pop("moved_module")
    text = file.read_text()
    file.write_text(f"import math\n\n# {'above' * 5}\n" + text.replace("x * 3", "(x\n           * 3)  # over two lines"))
    linecache.checkcache()
    assert ingot.jit(module.f)(2) == 7
    c = module.C()
    assert ingot.jit(lambda x: c.m(x))(2) == 7


def test_order_of_sets_is_that_of_the_code(tmp_path, monkeypatch):
    file = tmp_path / "set_module.py"
    body = "    n = 0\n    for i in {8, 0, 16}:\n        n = n * 100 + i\n    return x + n, list({24, 8, 0})\n"
    file.write_text(f"def f(x):\n{body}")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("set_module")
    sys.modules.pop("set_module")
    file.write_text(f"def f(x):\n{body}".replace("{8, 0, 16}", "{16, 8, 0}").replace("{24, 8, 0}", "{0, 8, 24}"))
    linecache.checkcache()
    assert ingot.jit(module.f)(1) == module.f(1)


# ---- The options that Python compiled with

OPTIMIZED = """
    def g(x):
        \"\"\"What it does.\"\"\"
        assert x > 0, "small"
        return x

    def f(x):
        assert x > 1
        x += 100 * __debug__
        for i in range(2):
            assert i < 1
            x += 1
        if x > 50:
            assert x < 0
            x -= 1
        return g(x - 500) if x > 900 else x
    """


@pytest.mark.parametrize("optimize", [0, 1, 2])
def test_asserts_are_those_of_the_code(optimize):
    f = _function(OPTIMIZED, optimize)
    for x in (0, 2, -7, 899, 950):
        assert _behaviour(ingot.jit(f), x) == _behaviour(f, x)
    without_text = types.FunctionType(f.__code__.replace(co_filename="<nowhere>"), f.__globals__)
    for x in (0, 2, -7, 899, 950):
        assert _behaviour(ingot.jit(without_text), x) == _behaviour(f, x)


def test_names_of_asserts_that_are_left_out():
    f = _function("y = 5\ndef f(x):\n    assert (y := x) > 1\n    return y\n", 1)
    with pytest.raises(UnboundLocalError):
        f(2)
    with pytest.raises(UnboundLocalError):
        ingot.jit(f)(2)


PROGRAM = """
import ingot, numpy as np
def f(x):
    "What it does."
    assert x.sum() > 100, "small"
    return x + 1 if __debug__ else x - 1
def made(optimize):
    scope = {}
    exec(compile("def h(x):\\n    assert x > 5\\n    return __debug__", "<made>", "exec", optimize=optimize), scope)
    return scope["h"]
def outcome(function, *arguments):
    try:
        return repr(function(*arguments))
    except Exception as error:
        return repr(error)
for function in (f, *map(made, (-1, 0, 1, 2))):
    x = np.ones(3) if function is f else 1
    print(outcome(function, x) == outcome(ingot.jit(function), x), outcome(function, x))
print(ingot.jit(f).__doc__)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("option", ["-O", "-OO"])
@pytest.mark.parametrize("in_file", [True, False])
def test_python_with_optimization(option, in_file, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    arguments = [str(file)] if in_file else ["-c", PROGRAM]
    done = subprocess.run([sys.executable, option, *arguments], check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "True array([0., 0., 0.])"
    assert lines[1:5] == ["True False", "True AssertionError()", "True False", "True False"]
    assert lines[5] == ("What it does." if option == "-O" else "None")


# ---- Names that Python's compiler changes


def test_private_names_of_classes():
    f = _function(
        """
        __k, _C__k = 5, 7
        def __g(x): return 1
        def _C__g(x): return 100
        def named(x, _C__w=1): return x * _C__w
        class Base:
            def __init__(self): self.__v = 3
            def base(self): return self.__v
        class C(Base):
            def __init__(self):
                super().__init__()
                self.__v = 4
            def own(self, x): return self.__v + x + __k + __g(x)
            def inner(self, __a):
                def __h(__b): return __a + __b
                return __h(2) + (lambda __z=1: __z)() + sum([__c for __c in range(3)])
            def keyword(self): return named(2) + named(2, _C__w=5)
            def __hidden(self): return 11
            def calls(self): return self.__hidden()
            class __:
                def m(self): return __k
        def f(x):
            c = C()
            return c.own(x), c.base(), c.inner(x), c.keyword(), c.calls()
        def g(c): return c.m()
        """
    )
    assert ingot.jit(f)(3) == f(3)
    g = f.__globals__["g"]
    assert ingot.jit(g)(getattr(f.__globals__["C"], "__")()) == 5


# ---- Random edits

SEEDS = 150
LINES = [
    "a = x + {n}",
    "b = a * {f}",
    "a, b = b, a",
    "a = -a if a > {n} else b",
    "b: float = a",
    "global_number = a",
    "if a > {n}:\n    b = a - {n}\nelse:\n    b += {f}",
    "if a > {n} and b < {f}:\n    a = b",
    "for i in range({n}):\n    a += i\n    if i > 2: break\nelse:\n    b -= 1",
    "for i in ({n}, {f}, 3):\n    a += i",
    "for i in [{n}, 8, 16]:\n    b = b * 2 + i",
    "for i in {{ {n}, 3, 5}}:\n    b = b * 2 + i",
    "while a > {n}:\n    a -= 3\n    b += 1",
    "try:\n    a = 1 / (a - {n})\n    b = values[int(a)]\nexcept ZeroDivisionError:\n    b = {f}\nfinally:\n    a += 1",
    "try:\n    b = values[int(a)]\nexcept IndexError:\n    a = {f}\nelse:\n    a = values[1]",
    "with_default = lambda p, q={n}: p + q\na = with_default(b)",
    "def g(p, q={f}):\n    'text'\n    assert p, 'none'\n    return p - q\nb = g(a)",
    "def g(p, q):\n    nonlocal a\n    a = a + q\n    return p - q\nb = g(q=a, p=b)",
    "a = sum([i * {n} for i in range(4) if i != {n}])",
    "a = (b, {n}, {f})[int(a) % 3]",
    "b = a in ({n}, {f}, 2.5)",
    "b = [{n}, a][0]",
    "b = math.copysign(2.0, {f})",
    "assert a != {n}, 'same'",
    "b = __debug__ + a",
    "return b",
    "'a text'",
    "pass",
    "del b\nb = a",
]


def _program(random: random.Random) -> ast.Module:
    number = lambda: random.choice(["0", "1", "2", "7"])
    real = lambda: random.choice(["0.0", "-0.0", "1.0", "2.5", "True", "1", "1e999 * 0", "-(1e999 * 0)"])
    chosen = [line.format(n=number(), f=real()) for line in random.choices(LINES, k=random.randint(2, 5))]
    body = "\n".join(["values = [1.5, 2.5, 3.5]", "a = b = x", *chosen, "return a, b"])
    return ast.parse(f"import math\ndef f(x):\n{textwrap.indent(body, '    ')}\n")


class _Edit(ast.NodeTransformer):
    """One small edit of a program, of those that may be compiled to the same bytecode."""

    def __init__(self, random: random.Random, place: int):
        self.random, self.place = random, place

    def visit(self, node):
        self.place -= 1
        return self.edited(node) if self.place == 0 else self.generic_visit(node)

    def edited(self, node):
        choose = self.random.choice
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            return ast.Constant(choose([0, 0.0, -0.0, 1, 1.0, True, False, 2]))
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and not isinstance(getattr(node, "ctx", None), ast.Store):
            elements = choose([node.elts, node.elts[::-1]])
            return choose([ast.List(elements, ast.Load()), ast.Tuple(elements, ast.Load()), ast.Set(elements)])
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return ast.Name(choose(["a", "b", "x"]), ast.Load())
        if isinstance(node, ast.arguments) and node.args:
            moved = node.args.pop()
            default = node.defaults.pop() if node.defaults else None
            if choose([True, False]):
                node.kwonlyargs.append(moved)
                node.kw_defaults.append(default)
            else:
                node.posonlyargs, node.args = [*node.args, moved], []
                node.defaults += [default] if default else []
            return node
        if isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.Try):
            if node.orelse:
                node.body, node.orelse = node.body + node.orelse, []
            elif len(node.body) > 1 and node.handlers:
                node.orelse = [node.body.pop()]
            return node
        if isinstance(node, (ast.For, ast.While, ast.If)) and choose([True, False]):
            node.body, node.orelse = node.body + node.orelse, []
            return node
        if isinstance(node, ast.BinOp):
            node.left, node.right = node.right, node.left
            return node
        if isinstance(node, ast.stmt):
            others = [ast.Global(["math"]), ast.Expr(ast.Constant("another text")), ast.If(ast.Constant(0), [copy.deepcopy(node)], [])]
            others += [ast.AnnAssign(ast.Name("unused", ast.Store()), ast.Name("int", ast.Load()), None, 1), ast.If(ast.Constant(1), [node], [])]
            return choose([[choose(others), node], [node, choose(others)], ast.Pass(), node])
        return self.generic_visit(node)


def _compiled(tree: ast.Module, optimize: int) -> types.FunctionType | None:
    scope: dict = {}
    try:
        exec(compile(ast.fix_missing_locations(tree), "<program>", "exec", dont_inherit=True, optimize=optimize), scope)
    except SyntaxError:
        return None
    return scope.get("f")


@pytest.mark.rotated(3)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_random_edits():
    """Where an edited source is accepted, it is the same program; and the same program is accepted."""
    accepted = refused = 0
    for seed in range(SEEDS):
        generator = random.Random(seed)
        tree, optimize = _program(generator), generator.choice([0, 0, 1])
        function = _compiled(tree, optimize)
        assert function is not None
        size = sum(1 for _ in ast.walk(tree))
        for _ in range(6):
            edited = _compiled(_Edit(generator, generator.randint(3, size)).visit(copy.deepcopy(tree)), optimize)
            if edited is None:
                continue
            same = same_code(function.__code__, edited.__code__)
            accepted, refused = accepted + same, refused + (not same)
            for x in (0, 1, 3.0, -2.5) if same else ():
                assert _behaviour(function, x) == _behaviour(edited, x), ast.unparse(tree)
        assert same_code(function.__code__, _compiled(ast.parse("\n\n" + ast.unparse(tree)), optimize).__code__)
    assert min(accepted, refused) > SEEDS / 4


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_as_they_were_compiled(seed):
    """The AST that is found is that of the function, at each level and with and without a source."""
    generator = random.Random(seed)
    text = ast.unparse(_program(generator)).replace("def f(x):\n", "def f(x):\n    # a comment\n")
    for optimize in (0, 1, 2):
        f = _function(text, optimize)
        node = source.find(f)[0]
        made = copy.deepcopy(node)
        module = ast.fix_missing_locations(ast.Module([ast.Import([ast.alias("math")]), made], []))
        scope: dict = {}
        exec(compile(module, "<made>", "exec", dont_inherit=True, optimize=0), scope)
        for x in (0, 1, 3.0, -2.5):
            assert _behaviour(scope["f"], x) == _behaviour(f, x)
