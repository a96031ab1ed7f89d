"""A fixed run of random programs, and the tool that makes them: it finds and shrinks what is wrong on purpose."""

import ast
import collections
import ctypes
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz import (  # noqa: E402
    arguments,
    campaign,
    derivative_mutants,
    derivatives,
    derivatives_campaign,
    generate,
    limits,
    mutants,
    oracle,
    shrink,
    smooth,
)
from fuzz.examine import examine  # noqa: E402
from fuzz.generate import Program  # noqa: E402

def test_a_program_is_given_by_its_seed_and_number():
    assert generate.program(3, 5) == generate.program(3, 5)
    assert generate.program(3, 5) != generate.program(3, 6)


PYTHON = (
    "Try ExceptHandler Raise Assert Match MatchValue MatchAs MatchOr MatchSequence MatchClass MatchSingleton ListComp DictComp "
    "GeneratorExp Lambda NamedExpr JoinedStr FormattedValue With Starred Nonlocal Delete AnnAssign In NotIn Is IsNot keyword "
    "List Tuple Dict reversed divmod pow round isinstance sum any all np.array np.errstate sorted str .append .insert .pop "
    ".extend .remove .reverse .index .count .get .items .values .update .setdefault ClassDef set super .sort .at "
    "np.take np.concatenate np.stack np.broadcast_to np.roll np.nonzero np.sort np.diff np.where"
).split()


@pytest.mark.slow
def test_programs_hold_what_language_md_says_compiles():
    seen: collections.Counter = collections.Counter()
    for number in range(1000):
        seen.update(campaign.constructs(generate.program(1, number).source))
        if all(seen[name] >= 2 for name in PYTHON):
            break
    assert [name for name in PYTHON if seen[name] < 2] == []


ARRAYS = {
    "overlap": r"(\w+)\[1:\] .?= \1\[:-1\]",
    "mask": r"\[\w+ [<>=!]+ [^\]]*\] .?=",
    "where": r"where=",
    "out": r"out=",
    "broadcast": r"\[:, None\]",
    "axis": r"keepdims=True",
    "stencil": r"(\w+)\[i\d+\] .?= \1\[i\d+ [-+]",
    "instances in lists": r"append\(C\d",
    "inheritance": r"class C\d+\(C",
    "records": r"namedtuple|dataclass",
    "recursion": r"= q\d+\(",
    "links": r"\.link",
    "dicts": r"\] = d\d+\.get",
    "many elements": r"many\(",
}


@pytest.mark.slow
def test_programs_hold_arrays_and_classes_in_all_their_uses():
    seen: collections.Counter = collections.Counter()
    for number in range(600):
        program = generate.program(1, number)
        text = program.source + str(program.arguments)
        seen.update(name for name, pattern in ARRAYS.items() if re.search(pattern, text))
        if all(seen[name] >= 2 for name in ARRAYS):
            break
    assert [name for name in ARRAYS if seen[name] < 2] == []


def test_every_mutant_occurs_once():
    assert len(mutants.MUTANTS) >= 40 and len(derivative_mutants.MUTANTS) >= 40
    both = mutants.MUTANTS + derivative_mutants.MUTANTS
    for mutant in both:
        assert mutants.text_of(mutant).count(mutant.place) == 1, mutant
        assert mutant.place.count(mutant.old) == 1 and mutant.old != mutant.new, mutant
    planted = mutants.planted(both)
    assert sum(text.count("planted_mutant() ==") for text in planted.values()) == len(both)


def test_instances_are_compared_by_what_they_hold():
    source = "class C:\n    def __init__(self, a):\n        self.a = a\ndef f(n0):\n    p = C(n0 // 2)\n    return p, [p]\n"
    program = Program(source, [["7"]])
    assert examine(program).difference is None
    assert examine(program, {"planted": _wrong_compiler(source)}).difference.kind == "planted value of tuple"


@pytest.mark.rotated(5)
def test_containers_are_arguments():
    found = [p for p in (generate.program(1, n) for n in range(100)) if {"list", "tuple", "dict"} & set(p.dtypes)]
    assert found
    for program in found:
        assert any(isinstance(a, (list, tuple, dict)) for a in arguments.build(program.arguments[0], True))


AROUND = (r"\bE\d+\.[ABC]\b.* [-+*<]|\bE\d+\.[ABC]\.value", r"@functools\.wraps", r"= u\d+\(|\(u\d+\(", r"\[P\d+\[", r"axis=P\d+\[", r"\bT\d+\[P\d+")


@pytest.mark.slow
def test_what_is_around_programs():
    """Members of Enums, wrappers of other signatures, captured lists whose elements are indices and axes."""
    sources = [generate.program(1, number).source for number in range(120)]
    assert [pattern for pattern in AROUND if not any(re.search(pattern, source) for source in sources)] == []


def test_a_program_is_stopped_though_it_catches_all():
    endless = Program("def f(n0):\n    while True:\n        try:\n            n0 = n0 + 1\n        except:\n            pass\n", [["2"]])
    assert examine(endless).endless


def test_the_text_that_a_program_raises_is_compared():
    program = Program("def f(n0):\n    raise ValueError(f'odd {n0 // 2}')\n", [["7"]])
    verdict = examine(program, {"planted": _wrong_compiler(program.source)})
    assert verdict.difference.kind == "planted text of an exception"


class _Wrong(ast.NodeTransformer):
    def visit_FloorDiv(self, node):
        return ast.Mult()


def _wrong_compiler(source):
    """A "compiler" that multiplies where it should divide."""

    def compiler(function):
        tree = ast.fix_missing_locations(_Wrong().visit(ast.parse(source)))
        return oracle.define(ast.unparse(tree), "f", {"np": np, "__name__": limits.MODULE})

    return compiler


PLANTED = Program(
    """def f(x0, n1):
    r = 0
    v1 = n1 + 2
    for i1 in range(3):
        if v1 > i1:
            v1 += 1
            r += (v1 * 2) // 2
        else:
            v1 -= 1
    return r, v1
""",
    [["array('float64', [1.0, 2.0])", "4"], ["array('float64', [3.0])", "5"]],
)


@pytest.mark.slow
def test_a_planted_fault_is_found_and_shrunk():
    kinds = lambda p: shrink.isolated(p, {"planted": _wrong_compiler(p.source)})  # noqa: E731
    kind = kinds(PLANTED)
    assert kind == "planted value of tuple"
    small = shrink.shrink(PLANTED, kind, kinds)
    assert kinds(small) == kind
    assert "//" in small.source and len(small.source.splitlines()) <= 5, small.source
    assert len(small.arguments) == 1


def test_a_planted_crash_is_survived():
    crash = {"planted": lambda f: lambda *_: os.kill(os.getpid(), signal.SIGSEGV)}
    assert shrink.isolated(PLANTED, crash) == "crash SIGSEGV"


def test_a_crash_is_seen_though_the_process_handles_its_signal():
    """As the address sanitizer does: its handler exits with 1."""
    libc = ctypes.CDLL(None)
    libc.signal.restype = ctypes.c_void_p
    libc.signal.argtypes = ctypes.c_int, ctypes.c_void_p
    exits = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: os._exit(1))
    before = libc.signal(signal.SIGSEGV, ctypes.cast(exits, ctypes.c_void_p))
    try:
        crash = {"planted": lambda f: lambda *_: os.kill(os.getpid(), signal.SIGSEGV)}
        assert shrink.isolated(PLANTED, crash) == "crash SIGSEGV"
    finally:
        libc.signal(signal.SIGSEGV, before)


def test_an_exit_is_a_crash():
    assert shrink.isolated(PLANTED, {"planted": lambda f: lambda *_: os._exit(3)}) == "crash exit 3"


@pytest.mark.parametrize("layout", ["C", "strided", "reversed"])
@pytest.mark.parametrize("at_end", [False, True])
def test_arrays_touch_a_page_that_cannot_be_read(layout, at_end):
    (array,) = arguments.build([f"array('int16', [1, 2, 3], {layout!r}, False)"], at_end)
    assert array.tolist() == [1, 2, 3] and not array.flags.writeable
    step = (1 if at_end else -1) * abs(array.strides[0])
    outside = np.lib.stride_tricks.as_strided(array, (4,), array.strides) if array.strides[0] * step > 0 else None
    if outside is None:
        outside = np.lib.stride_tricks.as_strided(array[::-1], (4,), (-array.strides[0],))
    assert shrink.isolated(PLANTED, {"planted": lambda f: lambda *_: int(outside[3])}) == "crash SIGSEGV"


def test_allowed_differences_are_explained_by_number():
    beyond = Program("def f(n0):\n    return (n0 * n0) * n0\n", [["4611686018427387904"]])
    verdict = examine(beyond)
    assert verdict.difference is None and set(verdict.explained) == {3}


def test_a_refusal_is_counted_with_its_reason():
    verdict = examine(Program("def f(n0):\n    return eval('n0')\n", [["2"]]))
    assert verdict.difference is None and "not supported" in verdict.refused


@pytest.mark.rotated(2)
def test_derivatives_of_random_programs():
    checks: collections.Counter = collections.Counter()
    for number in range(3):
        verdict = derivatives.examine(smooth.program(1, number), number)
        assert verdict.difference is None, (number, verdict.difference)
        checks.update(verdict.checks)
    assert checks["transpose"] > 2 and checks["differences"] > 1


@pytest.mark.slow
def test_a_planted_derivative_is_found_and_shrunk():
    source = """def f(v0, n1):
    s = 0.5
    if n1 > 1:
        s = s + ingot.stop_gradient(np.sin(v0[0]))
    return s
"""
    program = Program(source, [["array('float64', [0.3])", "3"]], ["float64", "vec", "int"])
    kind = derivatives.kind_of(program)
    assert kind == "forward: not the difference"
    small = derivatives_campaign.smaller(program, 0, kind, 20.0)
    assert derivatives.kind_of(small) == kind
    assert "stop_gradient" in small.source and len(small.source.splitlines()) < 5, small.source


def test_a_program_that_raises_has_no_derivative():
    program = Program("def f(v0):\n    return v0[1]\n", [["array('float64', [0.3])"]], ["float64", "vec"])
    verdict = derivatives.examine(program)
    assert verdict.difference is None and verdict.checks == ["raised"]
