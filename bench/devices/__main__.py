"""`python -m bench.devices GROUP --device DEVICE [--quick] [--after NAME]`: one group of measurements.

Prints a line of JSON where a measurement begins, a list of its name, and one where it ends, of its name and what it has given. One that
ends the process is passed over by the next one, which begins after it.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import ingot

from . import bits
from .clock import Clock
from .measure import GROUPS, Cases, Row

LOST = 3
"""The status where the device can do nothing more in this process, from the last measurement on."""


def device(name: str) -> Cases:
    """The properties that the device reports."""
    found = ingot.device(name)
    names = ("kind", "index", "name", "code", "capability", "memory", "processors", "block_threads", "block_memory")
    yield str(found), lambda: {name: getattr(found, name) for name in names} | {"ingot": ingot.__version__}


def after(cases: Cases, name: str | None) -> Cases:
    """Those after the one of that name."""
    if name is not None:
        for passed, _ in cases:
            if passed == name:
                break
    return cases


def show(cases: Iterator[tuple[str, Any]], there: Any) -> int:
    for name, measure in cases:
        print(json.dumps([name]), flush=True)
        lost = False
        try:
            row: Row = measure()
        except Exception as error:
            row = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
            lost = isinstance(error, ingot.DeviceError)
        print(json.dumps([name, row]), flush=True)
        if lost:
            return LOST
        ingot.release_memory(there)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.devices", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=(*GROUPS, "bits", "device"))
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--quick", action="store_true", help="small arrays and few samples, for tests")
    parser.add_argument("--after", metavar="NAME", help="only what comes after this one")
    options = parser.parse_args()
    if options.group == "bits":
        cases = bits.compare(options.device, options.quick)
    elif options.group == "device":
        cases = device(options.device)
    else:
        cases = GROUPS[options.group](Clock(options.device, options.quick))
    return show(after(cases, options.after), ingot.device(options.device))


if __name__ == "__main__":
    sys.exit(main())
