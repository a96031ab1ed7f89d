"""`python -m bench.devices GROUP --device DEVICE [--quick]`: prints one group of measurements as JSON."""

import argparse
import json
import sys

from . import bits
from .clock import Clock
from .measure import GROUPS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.devices", description=__doc__)
    parser.add_argument("group", choices=(*GROUPS, "bits", "device"))
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--quick", action="store_true", help="small arrays and few samples, for tests")
    options = parser.parse_args()
    if options.group == "bits":
        found = bits.compare(options.device, options.quick)
    elif options.group == "device":
        import ingot

        device = ingot.device(options.device)
        names = ("kind", "index", "name", "code", "capability", "memory", "processors", "block_threads", "block_memory")
        found = {name: getattr(device, name) for name in names} | {"ingot": ingot.__version__}
    else:
        found = GROUPS[options.group](Clock(options.device, options.quick))
    json.dump(found, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
