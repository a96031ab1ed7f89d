"""How many functions of installed packages are rebuilt from their bytecode: python tools/decompile_judge [--every N] [PATH...]"""

import argparse
import collections
import inspect
import sys
import sysconfig
import types
from pathlib import Path

from ingot._decompile import rebuild
from ingot._decompile._decode import Unstructured
from ingot._source import _codes, _same_code


def _paths() -> list[Path]:
    packages = Path(sysconfig.get_paths()["purelib"])
    return [Path(sysconfig.get_paths()["stdlib"]), *(packages / p for p in ("numpy", "scipy", "numba/tests"))]


def functions(paths: list[Path], every: int) -> list[types.CodeType]:
    """Every `every`-th function of the files under paths, class bodies, comprehensions and coroutines aside."""
    files = sorted(f for p in paths for f in ([p] if p.is_file() else p.rglob("*.py")) if p.is_file() or "site-packages" not in str(f.relative_to(p)))
    found: list[types.CodeType] = []
    for file in files[::every]:
        try:
            code = compile(file.read_text(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        left_out = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
        plain = (c for c in _codes(code) if c.co_flags & inspect.CO_NEWLOCALS and not any(d.co_flags & left_out for d in [c, *_codes(c)]))
        found += [c for c in plain if c.co_name == "<lambda>" or not c.co_name.startswith("<")]
    return found


def judge(codes: list[types.CodeType]) -> tuple[int, list[tuple[types.CodeType, str]]]:
    """How many are rebuilt, and the others with the reason."""
    failed = []
    for code in codes:
        try:
            rebuild(code, _same_code)
        except Unstructured as error:
            failed.append((code, str(error)))
    return len(codes) - len(failed), failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--failed", type=int, default=0, help="how many of those not rebuilt to show")
    options = parser.parse_args()
    codes = functions(options.paths or _paths(), options.every)
    good, failed = judge(codes)
    print(f"{good} of {len(codes)} functions rebuilt ({100 * good / max(len(codes), 1):.2f} %)")
    for reason, count in collections.Counter(r for _, r in failed).most_common(20):
        print(f"  {count:5} {reason}")
    for code, reason in failed[:: max(len(failed) // options.failed, 1)][: options.failed] if options.failed else []:
        print(f"{code.co_filename}:{code.co_firstlineno}: {code.co_qualname}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
