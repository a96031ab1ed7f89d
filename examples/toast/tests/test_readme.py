"""The page's programs run, its picture is there, and sizes are those that it names."""

import re
from pathlib import Path

import ingot
import ingot_toast

FOLDER = Path(ingot_toast.__file__).parents[1]
TEXT = (FOLDER / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_programs_of_the_page_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) == 5
    ingot.profile.reset()
    names: dict = {"__name__": "page"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"README.md, block {number}", "exec"), names)
    shown = capsys.readouterr().out
    assert "(768, 3)" in shown and "Pipeline|PixelsHealpix|pixels_healpix ingot 1 " in shown


def test_an_operator_takes_thirty_lines():
    (block,) = (block for block in BLOCKS if "class Calibrate" in block)
    assert len(block.splitlines()) <= 30


def test_pictures_and_files_are_there():
    for name in re.findall(r"!\[.*?\]\((.*?)\)", TEXT):
        assert (FOLDER / name).stat().st_size <= 120_000
    for cell in re.findall(r"^\| (`\S+\.py`.*?) \|", TEXT, re.MULTILINE):
        assert all((FOLDER / "ingot_toast" / name).exists() for name in re.findall(r"`(\S+?)`", cell))


def test_support_is_small():
    """Data, operators and pipelines in fewer lines than the kernels and what is computed with them."""
    support = [FOLDER / "ingot_toast" / f"{name}.py" for name in ("data", "operator", "pipeline")]
    assert sum(len(path.read_text().splitlines()) for path in support) <= 900
