"""`python -m bench.devices GROUP --device DEVICE [--quick]`: prints one group of measurements, a line of JSON for each row."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from . import bits
from .clock import Clock
from .measure import GROUPS


def device(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The properties that the device reports."""
    import ingot

    found = ingot.device(name)
    names = ("kind", "index", "name", "code", "capability", "memory", "processors", "block_threads", "block_memory")
    yield str(found), {name: getattr(found, name) for name in names} | {"ingot": ingot.__version__}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.devices", description=__doc__)
    parser.add_argument("group", choices=(*GROUPS, "bits", "device"))
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--quick", action="store_true", help="small arrays and few samples, for tests")
    options = parser.parse_args()
    if options.group == "bits":
        rows = bits.compare(options.device, options.quick)
    elif options.group == "device":
        rows = device(options.device)
    else:
        rows = GROUPS[options.group](Clock(options.device, options.quick))
    for row in rows:
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
