"""Notebooks: cells of a real kernel, whose functions IPython compiles statement by statement and keeps in no file."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import nbformat
import pytest
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

import ingot


class Kernel:
    """A kernel that runs cells, one after another."""

    def __init__(self, client: NotebookClient, notebook):
        self.client, self.notebook = client, notebook
        self.pid = int(self.run("import os, sys, time; import numpy as np, ingot; print(os.getpid())"))

    def run(self, text: str) -> str:
        """What a cell shows: its output, its last value, and the traceback of what it raises."""
        cell = nbformat.v4.new_code_cell(textwrap.dedent(text).strip("\n"))
        self.notebook.cells.append(cell)
        self.client.execute_cell(cell, len(self.notebook.cells) - 1)
        shown, before = [], None
        for output in cell.outputs:
            if output.output_type == "error":
                shown.append("\n".join(output.traceback))
            elif output.output_type != "stream":
                shown.append(output.data["text/plain"])
            elif before is not None and before.output_type == "stream":
                shown[-1] += output.text  # a line may come in two parts
            else:
                shown.append(output.text)
            before = output
        return re.sub("\x1b\\[[0-9;]*m", "", "\n".join(shown)).strip()

    def asked(self, what: str, *given, **options) -> dict:
        """What the kernel answers to an editor: `complete` or `inspect`."""

        async def answer() -> dict:
            sent = getattr(self.client.kc, what)(*given, **options)
            while True:
                reply = await self.client.kc.get_shell_msg(timeout=60)
                if reply["parent_header"].get("msg_id") == sent:
                    break
            for kind, text in reply["content"].get("data", {}).items():
                reply["content"]["data"][kind] = re.sub("\x1b\\[[0-9;]*m", "", text)
            return reply["content"]

        return run_sync(answer)()

    def interrupted(self, text: str, after: float) -> tuple[str, float]:
        """What a cell shows that the user interrupts after some time, and for how long it went on then."""
        sent = []

        def interrupt() -> None:
            sent.append(time.monotonic())
            os.kill(self.pid, signal.SIGINT)

        timer = threading.Timer(after, interrupt)
        timer.start()
        shown = self.run(text)
        timer.join()
        return shown, time.monotonic() - sent[0]


@pytest.fixture(scope="module")
def kernel():
    notebook = nbformat.v4.new_notebook()
    client = NotebookClient(notebook, timeout=60, allow_errors=True, kernel_name="python3")
    with client.setup_kernel(env=os.environ | {"INGOT_CACHE": "off", "JUPYTER_PLATFORM_DIRS": "1"}):
        yield Kernel(client, notebook)


@pytest.mark.rotated(3)
def test_one_cell(kernel):
    shown = kernel.run(
        """
        import math
        import numpy.linalg as la
        from datetime import datetime

        def helper(x):
            return math.sqrt(x) + np.cos(x)

        @ingot.jit
        def f(x):
            norm = lambda v: la.norm(v)
            def inner(v):
                return np.exp(v) + norm(np.ones(4))
            return np.sin(x) + helper(x) + inner(x)

        class Box:
            def __init__(self, k): self.__k = np.float64(k)
            def scaled(self, x): return np.floor(x) * self.__k
            @ingot.jit
            def compiled(self, x): return np.ceil(x) * self.__k

        b = Box(3)
        plain = f.__ingot_function__
        g = ingot.jit(lambda x: np.tan(x) + b.scaled(x))
        print(f(0.5) == plain(0.5), b.compiled(0.5), g(0.0))
        ingot.jit(lambda x: np.sqrt(x))(16.0)
        """
    )
    assert shown.split() == ["True", "3.0", "0.0", "np.float64(4.0)"]


def test_many_cells(kernel):
    kernel.run(
        """
        class Scale:
            def __init__(self, k): self.__k = np.float64(k)
            def scaled(self, x): return np.floor(x) * self.__k
        """
    )
    kernel.run("scale = Scale(3)")
    kernel.run("def part(x): return np.sin(x) * 2")
    kernel.run("def decorated(**options): return lambda f: f")
    kernel.run(
        """
        @decorated(a=1)
        @ingot.jit
        def whole(x):
            return [part(v) + scale.scaled(1.5) for v in x]
        """
    )
    assert kernel.run("whole(np.zeros(2))") == "[np.float64(3.0), np.float64(3.0)]"
    kernel.run("def part(x): return np.sin(x) + 7")  # the cell has run again, edited
    assert kernel.run("whole(np.zeros(2))") == "[np.float64(10.0), np.float64(10.0)]"
    kernel.run("from __future__ import annotations")
    shown = kernel.run(
        """
        import asyncio
        await asyncio.sleep(0)
        @ingot.jit
        def annotated(x: float) -> float:
            def inner(y: int) -> "int": return np.cos(y)
            return inner(x)
        print(annotated(0.0))
        """
    )
    assert shown == "1.0"
    shown = kernel.run("@ingot.jit\ndef ahead(x): return np.cos(x)\nprint(ahead(0.0))\nreturn ahead")
    assert shown.startswith("1.0") and "'return' outside function" in shown


@pytest.mark.parametrize("magic", ["time", "timeit -n1 -r1", "capture", "prun -q"])
def test_magics_of_cells(kernel, magic, tmp_path):
    file = tmp_path / "shown"
    kernel.run(
        f"""
        %%{magic}
        import numpy as np
        @ingot.jit
        def by_magic(x):
            total = 0.0
            for i in range(3):
                total += np.sin(x) + i
            return total
        open({str(file)!r}, "w").write(str(by_magic(0.0)))
        """
    )
    assert file.read_text() == "3.0"


def test_a_script_that_is_run(kernel, tmp_path):
    file = tmp_path / "script.py"
    file.write_text("import numpy as np, ingot\n@ingot.jit\ndef of_script(x):\n    return np.sin(x) + 2\nprint(of_script(0.0))\n")
    assert kernel.run(f"%run {file}\nof_script(0.0)").split() == ["2.0", "np.float64(2.0)"]


def test_tracebacks(kernel):
    text = """
        {decorator}
        def element{n}(x, i):
            y = x[i]
            return y + 1

        {decorator}
        def total{n}(x, n):
            # The sum.
            total = 0.0
            for i in range(n):
                total += element{n}(x, i)
            return total
        """
    kernel.run("def same(f): return f")
    shown = []
    for decorator, n in (("@same", 1), ("@ingot.jit", 2)):
        kernel.run(text.format(decorator=decorator, n=n))
        cell = kernel.run(f"total{n}(np.zeros(3), 4)")
        assert "IndexError: index 3 is out of bounds" in cell
        for name in (f"element{n}", f"total{n}", decorator):
            cell = cell.replace(name, "same")
        shown.append(re.sub(r"In\[\d+\]", "In[]", cell))
    assert shown[0] == shown[1]
    printed = "import traceback\ntry: total{}(np.zeros(3), 4)\nexcept IndexError: traceback.print_exc()"
    plain, own = (kernel.run(printed.format(n)) for n in (1, 2))
    assert re.sub(r"\d+", "", plain) == re.sub(r"\d+", "", own)


def test_refusals(kernel):
    kernel.run(
        """
        def refused(x):
            y = x + 1
            class A: pass
            return y
        """
    )
    kernel.run("@ingot.jit\ndef calls(x):\n    return refused(x)")
    shown = kernel.run("calls(1)")
    number = int(re.search(r"Cell In\[(\d+)\], line 1\n", shown)[1])
    assert (
        "UnsupportedError: a class that is defined inside a function is not supported\n"
        f"  Cell In[{number - 2}], line 3, in refused\n    class A: pass\n    ^^^^^^^^^^^^^\n"
        f"  called at Cell In[{number - 1}], line 3, in calls\n    return refused(x)\n  instead: "
    ) in shown
    assert "_calls" not in shown
    shown = kernel.run("calls()")
    assert "_calls" not in shown and "During handling" not in shown
    assert "TypeError: calls() missing 1 required positional argument: 'x'" in shown


@pytest.mark.parametrize("loop", ["range", "ingot.prange"])
def test_interrupts(kernel, loop):
    kernel.run(
        f"""
        @ingot.jit
        def long(n):
            total = 0.0
            for i in {loop}(n):
                total += np.sin(i) * np.cos(i * 0.5)
            return total
        print(long(10) != 0)
        """
    )
    shown, late = kernel.interrupted("long(10**12)", 0.4)
    assert "KeyboardInterrupt" in shown
    assert late < 5.0
    assert kernel.run("print(long(10) != 0)") == "True"


def test_modules_that_autoreload_loads_again(kernel, tmp_path):
    file = tmp_path / "reloaded_here.py"
    text = textwrap.dedent(
        """
        import ingot
        import numpy as np

        def helper(x):
            return np.cos(x) + 1

        @ingot.jit
        def f(x):
            return helper(x) * 2

        class Owner:
            def method(self, x):
                return np.cos(x) * 3
        """
    )

    def edited(old: str, new: str) -> None:
        nonlocal text
        assert old in text
        text = text.replace(old, new)
        file.write_text(text)
        os.utime(file, (time.time() + len(text), time.time() + len(text)))

    file.write_text(text)
    kernel.run(f"sys.path.insert(0, {str(tmp_path)!r})\nsys.dont_write_bytecode = True")
    kernel.run("%load_ext autoreload\n%autoreload 1\n%aimport reloaded_here")
    kernel.run(
        """
        from reloaded_here import f, helper, Owner
        @ingot.jit
        def mine(x): return helper(x) * 100
        owner = Owner()
        @ingot.jit
        def method(x): return owner.method(x)
        """
    )
    call = "print(f(0.0), reloaded_here.f(0.0), mine(0.0), method(0.0))"
    assert kernel.run(call) == "4.0 4.0 200.0 3.0"
    edited("np.cos(x) + 1", "np.cos(x) + 10")
    assert kernel.run(call) == "22.0 22.0 1100.0 3.0"
    edited("np.cos(x) * 3", "np.cos(x) * 4")
    assert kernel.run(call) == "22.0 22.0 1100.0 4.0"
    edited("helper(x) * 2", "helper(x) * 3")
    assert kernel.run(call) == "33.0 33.0 1100.0 4.0"
    edited("import ingot\n", "import ingot\n\n# above\n")
    assert kernel.run(call) == "33.0 33.0 1100.0 4.0"
    edited("def f(x)", "def f(x, y=0.0)")
    assert kernel.run("print(reloaded_here.f(0.0, 1.0), f(0.0, y=1.0))") == "33.0 33.0"
    kernel.run("%autoreload 0")


# ---- The extension


@pytest.fixture
def extension(kernel):
    kernel.run("%load_ext ingot")
    yield kernel
    kernel.run("%unload_ext ingot")


def test_a_cell_whose_functions_are_compiled(extension):
    shown = extension.run(
        """
        %%ingot
        import functools

        def area(r):
            return 3 * r * r

        def total(n):
            return sum([area(k) for k in range(n)])

        def numbers(n):
            yield n

        async def later(): return 1

        @functools.cache
        def kept(n): return n

        class Owner:
            def method(self): return 1

        print(type(area).__name__, type(total).__name__, type(numbers).__name__, type(later).__name__, type(kept).__name__)
        total(4)
        """
    )
    assert shown.split() == ["Function", "Function", "function", "function", "_lru_cache_wrapper", "42"]
    assert extension.run("%%ingot parallel=False, fastmath='reassoc'\ndef g(x): return x\ng._in_order, g._relaxed") == "(True, ('reassoc',))"
    assert extension.run("%%ingot 'float64(float64)'\ndef g(x): return x\ng(3)") == "np.float64(3.0)"
    assert extension.run("def g(x): return x\ntype(g).__name__") == "'function'"
    assert extension.run("get_ipython().run_cell_magic('ingot', '', 'def g(x):\\n    return x\\nprint(type(g).__name__)')") == "Function"


def test_errors_of_a_compiled_cell_are_at_its_lines(extension):
    shown = extension.run("%%ingot\n# The third.\ndef third(x):\n    return x[3]\n\nthird(np.ones(3))")
    assert "----> 6 third(np.ones(3))" in shown and "----> 4     return x[3]" in shown
    assert re.search(r"Cell In\[\d+\], line 4, in third\(x\)", shown) and "IndexError: index 3" in shown and ".py" not in shown
    shown = extension.run("%%ingot\ndef refused(x):\n    class A: pass\nrefused(1)")
    assert re.search(r"  Cell In\[\d+\], line 3, in refused\n    class A: pass\n    \^{13}\n", shown) and ".py" not in shown
    assert "SyntaxError: %%ingot takes what ingot.jit takes" in extension.run("%%ingot parallel=\ndef g(x): return x")
    assert "unexpected keyword argument 'parallell'" in extension.run("%%ingot parallell=1\ndef g(x): return x")


def test_a_line_that_explains_a_call(extension):
    extension.run("def plain(x): return x.sum() + 1\nclass Owner:\n    @ingot.jit\n    def method(self, x): return x + 1")
    assert extension.run("%ingot_explain plain(np.ones(3))").startswith("=== loops ===\nline 1")
    assert "=== array IR ===" in extension.run("shown = %ingot_explain Owner().method(1.0)\nprint(shown)")
    assert "%ingot_explain takes a call" in extension.run("%ingot_explain plain")
    extension.run("%unload_ext ingot")
    assert "not found" in extension.run("%%ingot\ndef g(x): return x")


def test_what_is_redefined_is_compiled_anew(extension):
    extension.run("%%ingot\nscale = 2.0\ndef inner(x): return x * scale\ndef outer(x): return inner(x) + 1")
    assert extension.run("outer(3.0)") == "7.0"
    extension.run("scale = 10.0")
    assert extension.run("outer(3.0)") == "31.0"
    extension.run("%%ingot\ndef inner(x): return x - scale")
    assert extension.run("outer(3.0)") == "-6.0"
    extension.run("def inner(x): return x")
    assert extension.run("outer(3.0)") == "4.0"


def test_functions_show_themselves(extension):
    extension.run("%%ingot\ndef shown(x, n=2):\n    y = np.sin(x) * n\n    return y + x.sum()\ndef refuses(x):\n    class A: pass")
    extension.run("shown")
    html = extension.notebook.cells[-1].outputs[0].data["text/html"]
    assert "shown(x, n=2)" in html and "Not compiled yet" in html
    extension.run("shown(np.ones(100)); shown(np.ones(100, np.float32)[::2])\ntry: refuses(1)\nexcept Exception: pass")
    text = extension.run("shown")
    assert re.search(r"x: float64\[:\], n: int: 1 call, \w+ code, [\d.]+ ms \(.*\); the first call", text)
    assert "; x: float64[:] before, float32[:] now" in text
    html = extension.notebook.cells[-1].outputs[0].data["text/html"]
    assert "What was fused, for x: float32[:]" in html and "data:image/svg+xml;base64," in html and "<style" not in html
    assert "x: int: refused: a class that is defined" in extension.run("refuses")
    html = extension.notebook.cells[-1].outputs[0].data["text/html"]
    assert "<details><summary>Refused for x: int: " in html and "    class A: pass\n    ^^^^^^^^" in html


def test_completion_and_help(extension):
    extension.run('%%ingot\ndef documented(x: float, n: int = 2) -> float:\n    """Multiplies."""\n    return x * n')
    assert extension.asked("complete", "documented.", 11)["matches"] == sorted(n for n in dir(ingot.jit(len_of)) if not n.startswith("_"))
    text = extension.asked("inspect", "documented(", 11)["data"]["text/plain"].replace("'", "")  # annotations are strings where an earlier cell made them so
    assert "documented(x: float, n: int = 2) -> float" in text and "Multiplies." in text
    assert "return x * n" in extension.asked("inspect", "documented", 10, detail_level=1)["data"]["text/plain"]
    shown = extension.run("help(documented)").replace("'", "")
    assert "documented(x: float, n: int = 2) -> float\n    Multiplies." in shown


def len_of(x):
    return len(x)


@pytest.mark.rotated(4)
def test_interrupts_of_the_compiler(kernel):
    """A function that takes long to compile, and no time to run."""
    lines = "".join(f"    y = np.sin(y) * {k}.0 + x[{k} % 3]\n" for k in range(3000))
    kernel.run(f"@ingot.jit(cache=False)\ndef big(x):\n    y = x\n{lines}    return y")
    shown, late = kernel.interrupted("big(np.ones(3))", 0.5)
    assert "KeyboardInterrupt" in shown and late < 5.0
    assert kernel.run("print(ingot.jit(lambda x: x + 1)(1))") == "2"


def test_modules_that_autoreload_2_loads_again(kernel, tmp_path):
    file = tmp_path / "reloaded_all.py"
    file.write_text("import ingot\nFACTOR = 2.0\n@ingot.jit\ndef scaled(x):\n    return x * FACTOR\n")
    kernel.run(f"sys.path.insert(0, {str(tmp_path)!r})\nsys.dont_write_bytecode = True\n%load_ext autoreload\n%autoreload 2")
    kernel.run("import reloaded_all\nfrom reloaded_all import scaled\n@ingot.jit\ndef around(x): return scaled(x) + 1")
    assert kernel.run("print(scaled(3.0), around(3.0))") == "6.0 7.0"
    file.write_text(file.read_text().replace("= 2.0", "= 5.0"))
    os.utime(file, (time.time() + 9, time.time() + 9))
    assert kernel.run("print(scaled(3.0), around(3.0))") == "15.0 16.0"
    file.write_text(file.read_text().replace("x * FACTOR", "x - FACTOR"))
    os.utime(file, (time.time() + 99, time.time() + 99))
    assert kernel.run("print(scaled(3.0), around(3.0), reloaded_all.scaled(1.0))") == "-2.0 -1.0 -4.0"
    kernel.run("%autoreload 0")


@pytest.mark.rotated(3)
def test_a_bar(kernel):
    kernel.run(
        """
        @ingot.jit
        def counted(n):
            total = 0.0
            for i in ingot.progress(range(n), "sum"):
                for j in range(100000):
                    total += np.sin(i * j)
            return total
        counted(1)
        """
    )
    kernel.run("counted(3000)")
    bar = kernel.notebook.cells[-1].outputs[0].data  # each update has replaced it
    assert bar["text/html"].startswith('<div>sum <progress value="3000" max="3000"') and "sum: 100% |" in bar["text/plain"]
    shown, late = kernel.interrupted("counted(10**9)", 0.6)
    assert "KeyboardInterrupt" in shown and late < 5.0


# ---- Other consoles

TYPED = """
import numpy as np, ingot
@ingot.jit
def f(x):
    return np.sin(x) + 1

print(f(0.0))
"""


@pytest.mark.rotated(3)
def test_ipython_in_a_terminal(tmp_path):
    options = ["--colors=NoColor", "--no-banner", f"--ipython-dir={tmp_path}"]
    command = [sys.executable, "-m", "IPython", *options, "-c", TYPED + "f(np.zeros(2), 1)"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert "1.0" in done.stdout.split()
    assert "takes 1 positional argument but 2 were given" in done.stdout + done.stderr


OTHERS = '''
import code, doctest, linecache, sys, types
def example():
    """
    >>> import numpy as np, ingot
    >>> @ingot.jit
    ... def f(x):
    ...     return np.sin(x) + (lambda v: np.cos(v))(x)
    >>> f(0.0)
    np.float64(1.0)
    >>> f(np.zeros(2), 1)
    Traceback (most recent call last):
    TypeError: f() takes 1 positional argument but 2 were given
    """
print(doctest.testmod())
console = code.InteractiveConsole()
for line in TYPED.splitlines():
    console.push(line)
text = TYPED.replace("+ 1", "+ 2")
linecache.cache["<registered>"] = (len(text), None, text.splitlines(keepends=True), "<registered>")
exec(compile(text, "<registered>", "exec"), {})
'''


@pytest.mark.rotated(4)
def test_doctests_consoles_and_registered_texts(tmp_path):
    file = tmp_path / "others.py"
    file.write_text(f"TYPED = {TYPED!r}\n{OTHERS}")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["TestResults(failed=0, attempted=4)", "1.0", "2.0"]
