"""The page's programs run."""

import re
from pathlib import Path

import ingot_toast


def test_the_programs_of_the_page_run(capsys):
    text = (Path(ingot_toast.__file__).parents[1] / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 6
    names: dict = {"__name__": "page"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README.md, block {number}", "exec"), names)
    assert "(768, 3)" in capsys.readouterr().out
