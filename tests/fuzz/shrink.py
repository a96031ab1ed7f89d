"""Makes a program that shows a difference smaller while it shows the same one."""

import ast
import contextlib
import copy
import dataclasses
import faulthandler
import json
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator

from .arguments import build
from .examine import Verdict, examine
from .generate import Program

SECONDS = 8  # of CPU time for one program; more is a hang


def isolated(program: Program, compilers=None, seconds: int = 3, kind_of: Callable | None = None) -> str | None:
    """The kind of difference that a program shows, found in a process of its own: it may crash or hang."""
    kind_of = kind_of or kind_of_program
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(read)
            take_default_actions()
            limit(seconds)
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            os.write(write, json.dumps(kind_of(program, compilers)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    ended = os.waitstatus_to_exitcode(status)
    if ended < 0 or (ended > 0 and not text):
        return died(ended)
    return json.loads(text) if text else None


FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)


def take_default_actions() -> None:
    """Lets a fatal signal end this process, and its parent see which, also where such signals are handled here."""
    faulthandler.disable()
    for number in FATAL:
        signal.signal(number, signal.SIG_DFL)


def limit(seconds: int) -> None:
    """Ends this process after so many seconds of CPU time, or ten times as many of any; 0: not any more."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)


def died(code: int) -> str:
    """How a process ended, of its code: that of an exit, or a signal's, negative."""
    if code >= 0:
        return f"crash exit {code}"
    return "hang" if -code in (signal.SIGPROF, signal.SIGALRM) else f"crash {signal.Signals(-code).name}"


def kind_of_program(program: Program, compilers=None) -> str | None:
    verdict: Verdict = examine(program, compilers)
    return verdict.difference.kind if verdict.difference else None


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _without_statements(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Edits of the tree: a statement left out, or replaced by what is inside it."""

    def edit(block, i, replacement, field_empty):
        def apply():
            block[i : i + 1] = replacement or ([] if len(block) > 1 or field_empty else [ast.Pass()])

        return apply

    for block in _bodies(tree):
        top = block is tree.body
        is_else = any(block in (getattr(n, "orelse", None), getattr(n, "finalbody", None)) for n in ast.walk(tree))
        for i in reversed(range(len(block))):
            node = block[i]
            if top and isinstance(node, ast.FunctionDef) and node.name == "f" or isinstance(node, ast.Pass) and len(block) == 1:
                continue
            yield edit(block, i, [], is_else)
            if isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
                yield edit(block, i, node.body, False)
            for part in ("orelse", "finalbody"):
                if getattr(node, part, None):
                    yield edit(block, i, getattr(node, part), False)
            for part in ("handlers", "cases"):
                for j, case in enumerate(getattr(node, part, ())):
                    yield edit(getattr(node, part), j, [], True)
                    yield edit(block, i, case.body, False)


_CONSTANTS = (0, 1, 2, 1.0)


def _simpler_expressions(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Edits of the tree: an expression replaced by one inside it, or by a constant."""

    def edit(node, field, position, value):
        def apply():
            if position is None:
                setattr(node, field, value)
            else:
                getattr(node, field)[position] = value

        return apply

    for node in ast.walk(tree):
        if isinstance(node, (ast.arguments, ast.FunctionDef)):
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(node, ast.Attribute) or field in ("func", "ctx", "targets", "target", "keywords"):
                if field in ("targets", "target") or not isinstance(node, ast.Call):
                    continue
            children = value if isinstance(value, list) else [value]
            for position, child in enumerate(children):
                if not isinstance(child, ast.expr) or isinstance(child, (ast.Name, ast.Constant)) or field == "func":
                    continue
                at = position if isinstance(value, list) else None
                for inner in ast.iter_child_nodes(child):
                    parts = [inner]
                    if isinstance(inner, ast.Attribute) and isinstance(child, ast.Call):
                        parts = [inner.value]
                    for part in parts:
                        if isinstance(part, ast.expr) and not (isinstance(part, ast.Name) and part.id in ("np", "math")):
                            yield edit(node, field, at, part)
                if not isinstance(child, (ast.Slice, ast.Tuple)):
                    for constant in _CONSTANTS:
                        yield edit(node, field, at, ast.Constant(constant))


def _variants(source: str, edits) -> Iterator[str]:
    seen = {source}
    count = sum(1 for _ in edits(ast.parse(source)))
    for number in range(count):
        tree = ast.parse(source)
        for i, apply in enumerate(edits(tree)):
            if i == number:
                apply()
                break
        try:
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, "<variant>", "exec")
        except (SyntaxError, ValueError, AttributeError, TypeError):
            continue
        if text not in seen and len(text) <= len(source) + 2:
            seen.add(text)
            yield text


def _simpler_arguments(texts: list[str]) -> Iterator[list[str]]:
    """Simpler arguments in place of each: the plain layout, fewer elements, rounder numbers."""
    for i, text in enumerate(texts):
        candidates = []
        try:
            value = build(texts, True)[i]
        except Exception:
            continue
        if isinstance(value, (list, tuple, dict)):
            continue
        if getattr(value, "ndim", 0):
            name = value.dtype.name
            layout = text[text.index(", '") + 2 :] if ", '" in text else "'C', True)"
            for part in (value[:1], value[:-1], value[1:]):
                if 0 < part.size < value.size:
                    candidates += [f"array({name!r}, {part.tolist()}, {layout}", f"array({name!r}, {part.tolist()})"]
            if value.size:
                candidates += [f"array({name!r}, {value.tolist()})", f"array({name!r}, {(value * 0 + 1).tolist()}, {layout}"]
                candidates += [f"array({name!r}, {(value * 0 + 1).astype(name).tolist()})"]
            else:
                candidates += [f"empty({name!r}, {value.shape})"]
        elif text not in ("0", "1", "1.0", "True"):
            kind = f"np.{value.dtype.name}" if hasattr(value, "dtype") else type(value).__name__
            candidates += [f"{kind}({c})" if "." in kind else repr(type(value)(c)) for c in (0, 1, 2)]
        for candidate in candidates:
            if candidate != text and len(candidate) <= len(text) + 4:
                yield [*texts[:i], candidate, *texts[i + 1 :]]


def shrink(program: Program, kind: str, test=isolated, seconds: float = 30.0) -> Program:
    """The smallest program found within the time that shows a difference of this kind."""
    end = time.monotonic() + seconds
    best = copy.deepcopy(program)

    def keep(candidate: Program) -> bool:
        nonlocal best
        if time.monotonic() < end and test(candidate) == kind:
            best = candidate
            return True
        return False

    for texts in program.arguments:
        if keep(dataclasses.replace(best, arguments=[texts])):
            break
    else:
        for texts in program.arguments:  # the second call, say, may need an array at the other end
            if keep(dataclasses.replace(best, arguments=[texts, texts])):
                break
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for edits in (_without_statements, _simpler_expressions):
            again = True
            while again and time.monotonic() < end:
                again = any(keep(dataclasses.replace(best, source=text)) for text in _variants(best.source, edits))
                progress = progress or again
        again = True
        rounds = 0
        while again and rounds < 20 and time.monotonic() < end:
            rounds += 1
            again = any(
                keep(dataclasses.replace(best, arguments=[list(t) for t in [simpler] * len(best.arguments)]))
                for simpler in _simpler_arguments(best.arguments[0])
            )
    return best
