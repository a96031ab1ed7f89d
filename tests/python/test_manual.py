"""The code of the manual's pages runs: cells in order, then the solutions of exercises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.read_text().startswith("---\nfile_format: mystnb"))
SAMPLE = ("start/index", "tutorial/1-loops", "tutorial/3-what-compiles", "concepts/calls")
"""Pages that each run of the tests looks at; the others are slow ones. `make docs` runs all."""

CELL = re.compile(r"^```(?:\{code-cell\}|python)[^\n]*\n(.*?)^```$", re.M | re.S)

RUN = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for text in sys.stdin.read().split("\\0"):
    may_raise = "raises-exception" in text.split("\\n")[0]
    ran = shell.run_cell("\\n".join(line for line in text.split("\\n") if not line.startswith(":tags:")), store_history=True)
    if not ran.success and not may_raise:
        sys.exit("this cell raised:\\n" + text)
    if ran.success and may_raise:
        sys.exit("this cell did not raise:\\n" + text)
"""


@pytest.mark.parametrize(
    "page",
    [pytest.param(path, id=name, marks=() if name in SAMPLE else pytest.mark.slow) for path in PAGES for name in [str(path.relative_to(DOCS))[:-3]]],
)
def test_code_of_pages_runs(page, tmp_path):
    cells = CELL.findall(page.read_text())
    assert cells
    ran = subprocess.run([sys.executable, "-c", RUN], input="\0".join(cells), text=True, capture_output=True, cwd=tmp_path, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:] + ran.stdout[-2000:]


@pytest.mark.slow
def test_programs_of_the_guide_to_shipping_run(tmp_path):
    page = (DOCS / "guides" / "ship.md").read_text()
    module, program = (re.search(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)[1] for kind in ("python", "c"))
    (tmp_path / "kernels.py").write_text(module)
    (tmp_path / "program.c").write_text(program)

    def run(*command):
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=True).stdout

    build = [sys.executable, "-m", "ingot", "build", "kernels.py"]
    run(*build, "--name", "signals", "-o", "built")
    run("cc", "program.c", "-Ibuilt/include", "built/lib/libsignals.a", "-lm")
    assert run("./a.out") in page
    run(*build, "--kind", "extension", "--name", "_fast", "-o", ".")
    assert run(sys.executable, "-c", "import numpy as np, _fast; print(_fast.moment(np.arange(5.0), 2))") == "2.0\n"


def test_pages_have_a_way_to_them():
    """Each page is in the table of contents of another one."""
    listed = {"index"}
    for path in DOCS.rglob("*.md"):
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text(), re.M | re.S):
            names = [line.strip() for line in block.split("\n") if line.strip() and not line.startswith(":")]
            folder = path.parent.relative_to(DOCS)
            listed |= {name[1:] if name.startswith("/") else str(folder / name) for name in names}
    assert {str(path.relative_to(DOCS))[:-3] for path in DOCS.rglob("*.md")} - listed == set()
