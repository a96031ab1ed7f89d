#!/usr/bin/env python3
"""Writes the tables of docs/scipy.md: the ufuncs of scipy.special, those with derivatives, and the twins of SciPy's functions.

    tools/scipy_docs.py          rewrite them; needs ingot on the path
    tools/scipy_docs.py --check  exit status 1 if they are not current
"""

import sys
import textwrap
from pathlib import Path

import numpy as np
import scipy.special

from ingot._objects.scipy import TWINS
from ingot.library.rules.special import PARTIALS, UNKNOWN

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "scipy.md"


def names(all_names: list[str]) -> str:
    return "\n".join(textwrap.wrap(", ".join(f"`{name}`" for name in all_names) + ".", 140))


def tables() -> dict[str, str]:
    ufuncs = sorted(name for name in scipy.special.__all__ if isinstance(getattr(scipy.special, name), np.ufunc))
    unknown = [f"{name} ({', '.join(str(place + 1) for place in places)})" for name, places in sorted(UNKNOWN.items())]
    twins = [f"scipy.{module}.{name}" for module, all_names in TWINS.items() for name in all_names]
    return {"ufuncs": names(ufuncs), "derivatives": names(sorted(PARTIALS)), "unknown": names(unknown), "twins": names(twins)}


def written(text: str) -> str:
    for name, content in tables().items():
        head, _, rest = text.partition(f"<!-- generated: {name} -->\n")
        _, _, tail = rest.partition("<!-- end -->")
        text = f"{head}<!-- generated: {name} -->\n{content}\n<!-- end -->{tail}"
    return text


def main() -> int:
    now = DOCUMENT.read_text()
    made = written(now)
    if "--check" in sys.argv[1:]:
        return int(now != made)
    DOCUMENT.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
