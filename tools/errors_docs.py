#!/usr/bin/env python3
"""Writes docs/errors.md: what Ingot refuses, found in its sources, each with an example of tests/python/refusals.py.

tools/errors_docs.py          rewrite it; needs ingot on the path
tools/errors_docs.py --check  exit status 1 if it is not current, or a refusal has no example
"""

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import ingot

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))
DOCUMENT = ROOT / "docs" / "errors.md"
HOLE = "…"

# The sections, and the sources whose refusals are in each.
SECTIONS = {
    "Statements": "statements exceptions imports patterns loops races core",
    "Variables and values": "tracer lower lowering parameters results expressions scalars known numbers optionals strings ranges joins foreign signature function source",
    "Functions and generators": "closures functions generators recursion _vectorize c_functions",
    "Lists, dicts and sets": "containers tuples sequences methods list_buffers callers_lists mappings rows pooled_values sets lists dicts",
    "Classes": "objects special_methods instances members kin",
    "Python's operators and functions": "operators percent compiling random_python builtins python_builtins mathematics heaps iterators",
    "Kernels": "kernels _kernel",
    "Records": "fields structured",
    "NumPy": "",
}

# What no example can show.
UNSEEN = {
    f"`np.random.{HOLE}` of NumPy {HOLE}, which gives other numbers than that of NumPy {HOLE}, with which Ingot was built,": (
        "`test_another_numpy_that_draws_otherwise_is_refused`"
    ),
    "`ingot.vjp` with arrays that share memory on a device": "`test_derivatives`",
    "code for AMD's GPUs, which this build of Ingot does not make,": "`test_a_first_day_with_the_wheel`",
    "`random` of another Python than CPython": "`test_streams_of_random`",
    f"'%' of a {HOLE} as a number": "`test_formats_with_percent`",
    f"{HOLE} in a kernel for an OpenCL device": "`test_what_opencl_cannot_do_is_refused`",
    f"{HOLE} on AMD's GPUs": "`test_what_amd_cannot_do_is_refused`",
    "a call of a function that is linked (`cuda.declare_device`) on AMD's GPUs": "`test_what_is_linked_is_refused`",
    "changing a container of the caller's in a graph": "`test_changes_of_the_callers_containers_are_refused`",
    "a field of records that is not aligned, on a device": "`test_what_devices_refuse`",
    "changing a list of the caller's in a call on a device": "`test_large_lists_on_a_device`",
    "a C function that is given an array on a device": "`test_c_functions_on_a_device`",
    f"recording `{HOLE}`, which calls C functions or SciPy's,": "`test_a_recording_is_refused`",
    f"the C function `{HOLE}` on a device": "`test_c_functions_on_a_device`",
    f"{HOLE} in a graph": "`test_calls_of_the_host_are_refused_with_their_line`",
}


class Refusal(NamedTuple):
    """What a source refuses: the headline and the advice, with a hole for each part that is computed."""

    source: str
    headline: str
    advice: str


_GROWS = "put numbers of one kind there, tuples of them, or instances of one class; or let all paths leave as many elements"

_LINKED = (
    "keep what is linked in arrays of values and of indices, or make the instances in the compiled function: those of a caller are "
    "distinguished when compiling"
)

# Headlines that functions of the sources compute.
COMPUTED = [
    Refusal("expressions", f"`{HOLE}`, {HOLE} from outside the function,", "use what compiled code has instead, or `ingot.host`"),
    Refusal("expressions", f"`{HOLE}`, a function that Ingot does not know,", "use NumPy, math, a function written in Python, or ingot.host"),
    Refusal("foreign", f"`{HOLE}`, {HOLE},", "pass numbers, NumPy arrays of their dtypes, or containers of at most 16 elements"),
    Refusal("expressions", f"a call of `{HOLE}`", "use NumPy, math, a function written in Python, or ingot.host"),
    Refusal("containers", "a list of the caller that grows or shrinks on one path only", "make a new list, and return it"),
    Refusal("containers", "a list of several kinds of elements that grows or shrinks on one path only", _GROWS),
    Refusal("containers", f"a list of which each element is {HOLE}, that grows or shrinks on one path only", _GROWS),
    Refusal("containers", "a dict that gets or loses keys on one path only", "let all paths leave the same keys"),
    Refusal("containers", "changing a dict that is another one on another path", "make a copy of it before, as by `p = dict(p)`"),
    Refusal("containers", "changing a list that is another one on another path", "make a copy of it before, as by `p = list(p)`"),
    Refusal("objects", "changing an instance that is another one on another path", "make a new instance before"),
    Refusal("containers", f"{HOLE} that may be one that has been changed under another name", "read it before that one is changed, or change a copy of that one"),
    Refusal(
        "kernels",
        "a barrier that not all threads of a block may come to",
        "let all of them come to it: put it outside of what depends on the thread, or let all threads decide alike, by `cuda.syncthreads_or(condition)`",
    ),
    Refusal(
        "kernels",
        "a barrier of the grid that not all threads may come to",
        "let all of them come to it: put it outside of what depends on the thread or its block",
    ),
    Refusal("kernels", f"{HOLE} in a kernel", "do it outside of the kernel"),
    Refusal("kernels", "a kernel that changes a list, dict or instance that it is given", "write into arrays"),
    Refusal("_kernel", f"interpreting `{HOLE}`, which calls `{HOLE}`, a function that is linked,", "compile it"),
    Refusal("c_functions", f"more arguments of the C function `{HOLE}` than its `argtypes` have", "pass what it declares"),
    Refusal("expressions", f"`{HOLE}`, a function of SciPy's,", "call it in a function of `ingot.host`"),
    Refusal("scalars", f"{HOLE}, which is {HOLE} on one path and {HOLE} on another,", "use two names, or make both of one type"),
    Refusal("scalars", f"{HOLE}, which is one thing on one path and another one on another,", _LINKED),
]


def outside(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """The positions and characters of C++ from `start` on that are in no literal and no parentheses opened there."""
    depth, quoted = 0, False
    for at in range(start, len(text)):
        c = text[at]
        if quoted:
            quoted = c != '"' or text[at - 1] == "\\"
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif not depth:
            yield at, c


def closing(text: str, start: int) -> list[str]:
    """The arguments of the C++ call whose parenthesis has been opened before `start`."""
    parts, last = [], start
    for at, c in outside(text, start):
        if c in ")]},":
            parts.append(text[last:at].strip())
            last = at + 1
            if c != ",":
                return parts
    raise ValueError("an open parenthesis")


def split_sum(text: str) -> list[str]:
    """The operands of `+` in a C++ expression."""
    parts, last = [], 0
    for at, c in outside(text):
        if c == "+":
            parts.append(text[last:at])
            last = at + 1
    return [*parts, text[last:]]


def words_in_cpp(text: str) -> str:
    """The literals of a C++ expression that makes a message, with holes."""
    words = ""
    for part in split_sum(text):
        literal = re.fullmatch(r'\s*(?:std::string\()?((?:"(?:[^"\\]|\\.)*"\s*)+)\)?\s*', part)
        words += "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal[1])).replace('\\"', '"') if literal else HOLE
    return re.sub(f"{HOLE}+", HOLE, words)


def in_cpp(path: Path) -> Iterator[Refusal]:
    text = path.read_text()
    for match in re.finditer(r"\bunsupported\((?:\s*t_?,)?|\bUnsupported(?: refusal)?\(", text):
        parts = closing(text, match.end())
        if len(parts) == 3:
            yield Refusal(path.stem, words_in_cpp(parts[1]), words_in_cpp(parts[2]))
    for match in re.finditer(r"(?:\.refusal|\.conflict) = (\"[^;]*);", text):
        yield Refusal(path.stem, words_in_cpp(match[1]), "")


def words_in_python(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else HOLE for v in node.values)
    return HOLE


def in_python(path: Path) -> Iterator[Refusal]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("refuse", "_refusal", "unsupported"):
            if len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args):
                reason, advice = node.args[-2:]
                stem = path.parent.name if path.stem == "__init__" else path.stem
                yield Refusal(stem, words_in_python(reason), words_in_python(advice))


def in_sources() -> dict[str, Refusal]:
    """All refusals, by headline."""
    found = {refusal.headline: refusal for refusal in COMPUTED}
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        for refusal in in_cpp(path):
            found.setdefault(refusal.headline, refusal)
    for path in sorted((ROOT / "python" / "ingot").rglob("*.py")):
        if "tour" not in path.parts and path.name != "_errors.py":
            for refusal in in_python(path):
                found.setdefault(refusal.headline, refusal)
    return {headline: refusal for headline, refusal in found.items() if headline not in (HOLE, "")}


def alike(text: str) -> str:
    """A message without the difference between `a` and `an`, which depends on what is in holes."""
    return re.sub(r"\ban\b", "a", text)


def pattern(headline: str) -> re.Pattern:
    return re.compile(".+".join(map(re.escape, alike(headline).split(HOLE))), re.DOTALL)


def which(headline: str, known: dict[str, Refusal]) -> str | None:
    """The refusal that a message's headline is of: the one with the most words in common."""
    fitting = [h for h in known if pattern(h).fullmatch(alike(headline))]
    return max(fitting, key=lambda h: len(h.replace(HOLE, "")), default=None)


def message_of(function: object, arguments: tuple) -> str | None:
    """The message of the refusal of a call; None: it is not refused."""
    try:
        if isinstance(function, ingot.cuda.Kernel):
            with mock.patch.dict(os.environ, {"INGOT_KERNELS": "interpreted"}):
                function[1, 4](*arguments)
        else:
            ingot.jit(function)(*arguments)
    except ingot.UnsupportedError as error:
        return str(error)
    except Exception:
        return None
    return None


def example_in(message: str) -> str:
    """What is above the carets of a message."""
    lines = message.splitlines()
    if len(lines) < 4 or set(lines[3].strip()) != {"^"}:
        return ""
    first = len(lines[3]) - len(lines[3].lstrip())
    shown = lines[2][first : len(lines[3])] if len(lines[3].strip()) > 1 else lines[2].strip()
    return shown.rstrip(",")


def examples() -> tuple[dict[str, str], list[str]]:
    """What is refused in an example of each refusal, and the functions that are not refused as any."""
    from refusals import EXAMPLES

    known = in_sources()
    found: dict[str, str] = {}
    wrong = []
    for function, *arguments in EXAMPLES:
        message = message_of(function, tuple(arguments))
        headline = message and which(message.splitlines()[0].removesuffix(" is not supported"), known)
        if headline is None:
            code = getattr(function, "py_func", function).__code__
            wrong.append(f"{Path(code.co_filename).name}:{code.co_firstlineno}: {message or 'not refused'}")
        else:
            found.setdefault(headline, example_in(message))
    return found, wrong


def section_of(refusal: Refusal) -> str:
    return next((name for name, sources in SECTIONS.items() if refusal.source in sources.split()), "NumPy")


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def tables() -> tuple[str, list[str]]:
    """The tables, and what is wrong."""
    from refusals import WITHOUT_EXAMPLE

    known = in_sources()
    found, wrong = examples()
    without = {headline for headline in known if headline not in found and headline not in UNSEEN}
    wrong += [f"no example of: {headline}" for headline in sorted(without - set(WITHOUT_EXAMPLE))]
    wrong += [f"not without an example: {headline}" for headline in sorted(set(WITHOUT_EXAMPLE) - without)]
    text = ""
    for name in SECTIONS:
        rows = sorted((r for r in known.values() if section_of(r) == name), key=lambda r: r.headline.strip("`'").lower())
        text += f"\n## {name}\n\n| refused | instead | example |\n|---|---|---|\n"
        for refusal in rows:
            example = f"`{found[refusal.headline]}`" if found.get(refusal.headline) else UNSEEN.get(refusal.headline, "")
            text += f"| {cell(refusal.headline)} | {cell(refusal.advice)} | {cell(example)} |\n"
    return text, wrong


def main() -> int:
    old = DOCUMENT.read_text()
    head, mark, _ = old.partition("<!-- generated: errors -->\n")
    made, wrong = tables()
    new = head + mark + made
    if "--check" in sys.argv:
        for line in wrong:
            print(line, file=sys.stderr)
        if new != old:
            print("docs/errors.md is not current; run tools/errors_docs.py", file=sys.stderr)
        return int(new != old or bool(wrong))
    for line in wrong:
        print(line)
    DOCUMENT.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
