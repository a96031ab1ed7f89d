"""python -m fuzz: random programs, and odd arguments, under Ingot, compared with CPython and NumPy."""

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

from . import campaign, derivatives, derivatives_campaign, generate, odd, odd_arguments, schedules, smooth
from .examine import DEVICE, EVERY_KIND
from .generate import Program


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/fuzz", description=__doc__)
    parser.add_argument("-n", "--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, help="start no batch after this time")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for shrunk programs")
    parser.add_argument("--shrink-seconds", type=float, default=20.0, help="for each program that differs; 0: none")
    parser.add_argument("--per-kind", type=int, default=3, help="programs of one kind of difference that are shrunk")
    parser.add_argument("--every-kind", action="store_true", help="also scalar code, AVX2, quick code, and loops shared among threads")
    parser.add_argument("--device", metavar="KIND", help="on a device of this kind, as `emulated`, instead of the host")
    parser.add_argument("--odd", action="store_true", help="odd argument lists for the programs of the tour instead")
    parser.add_argument("--derivatives", action="store_true", help="programs whose derivatives are judged instead")
    parser.add_argument("--schedules", action="store_true", help="programs under random schedules instead")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print one program (or argument list) of the seed, examined")
    parser.add_argument("--work", type=int, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--shrink", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.every_kind:
        os.environ[EVERY_KIND] = "1"
    if options.device:
        os.environ[DEVICE] = options.device
    if options.work:
        rows = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        chosen = schedules if options.schedules else odd if options.odd else derivatives_campaign if options.derivatives else campaign
        chosen.work(*options.work, rows)
        return 0
    if options.shrink:
        from .shrink import isolated, shrink

        given = json.load(sys.stdin)
        program = Program(**given["program"])
        if options.derivatives:
            best = derivatives_campaign.smaller(program, given["number"], given["kind"], given["seconds"])
        else:
            best = shrink(program, given["kind"], isolated, given["seconds"])
        print(json.dumps(dataclasses.asdict(best)))
        return 0
    if options.schedules:
        if options.show is not None:
            print(made := schedules.case(options.seed, options.show), schedules.examine(made), sep="\n")
            return 0
        ran = schedules.run(options.seed, options.programs, options.jobs, options.seconds)
        print(ran.report())
        return bool(ran.found)
    if options.odd and options.show is not None:
        call = odd_arguments.odd_call(options.seed, options.show)
        print(call, odd.examine(call, options.show % 2 == 0), sep="\n")
        return 0
    if options.odd:
        seen = odd.run(options.seed, options.programs, options.jobs, options.seconds)
        print(seen.report())
        return bool(seen.found)
    if options.show is not None:
        from .examine import examine

        made = smooth if options.derivatives else generate
        program = made.program(options.seed, options.show)
        print(program.source, *(f"# f({', '.join(t)})" for t in program.arguments), sep="\n", flush=True)
        print(derivatives.examine(program, options.show) if options.derivatives else examine(program))
        return 0
    runs = derivatives_campaign if options.derivatives else campaign
    result = runs.run(options.seed, options.programs, options.jobs, options.seconds)
    print(result.report(), flush=True)
    if result.found and options.shrink_seconds:
        mode = (derivatives_campaign.MODE,) if options.derivatives else ()
        for found, program in campaign.shrink_all(result, options.out, options.per_kind, options.shrink_seconds, options.jobs, *mode):
            print("\n" + campaign.write(found, program, options.seed))
    return bool(result.found)


if __name__ == "__main__":
    sys.exit(main())
