"""The page's programs run, and so do the commands on what they have written."""

import re
import subprocess
import sys
from pathlib import Path

import ingot_toast


def test_the_programs_of_the_page_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(ingot_toast.__file__).parents[1] / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 6
    names: dict = {"__name__": "page"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README.md, block {number}", "exec"), names)
    shown = capsys.readouterr().out
    assert "(768, 3)" in shown and "Pipeline|PixelsHealpix|pixels_healpix python 1 " in shown
    (words,) = re.findall(r"^    python (-m ingot profile .*)$", text, re.MULTILINE)
    done = subprocess.run([sys.executable, *words.split()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    head, _, *lines = done.stdout.splitlines()
    assert head.split() == ["operation", "ingot", "python", "/ingot"]
    (line,) = (line.split() for line in lines if line.startswith("pixels_healpix "))
    assert line[3] == "ingot" and line[6] == "python" and float(line[7]) > 1
