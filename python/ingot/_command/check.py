"""`python -m ingot check FILE`: which functions of a file compile, and why others do not.

The file is imported, as `import` would; none of its functions is called. Where the types of all parameters are known -
from signatures, annotations or defaults - the function is compiled for them. Of all others only what is refused
for any types is looked for: statements, and calls of functions that Ingot does not know.
`--args "f: np.ones(3), 2.0"` gives example arguments of a function, which it is then compiled for.
`--run SCRIPT ARGUMENTS` runs a program instead, and reports for each function of `ingot.jit` that it calls for which arguments
it was compiled, and for which it was refused and why.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import json
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import _errors
from .._calls.function import Function
from .._calls.specialisation import core
from .._code import scope, source
from .._errors import UnsupportedError
from .._refusals import advice as _advice
from .._signatures import DTYPES, Type, parse_signature
from .._signatures.parameters import bind, defaults_of, parameters_of
from .._signatures.static import Static
from . import script as _check_script

_REFUSED = {
    ast.ClassDef: ("a class that is defined inside a function", "define it at the top of the file"),
    ast.TryStar: ("`except*`", "use `except`"),
    ast.AsyncFor: ("`async`", "write it without"),
    ast.AsyncWith: ("`async`", "write it without"),
    ast.AsyncFunctionDef: ("`async`", "write it without"),
    ast.Await: ("`await`", "write it without"),
}


class Verdict(NamedTuple):
    """What is known of one function: `status` is "compiles" (for `types`), "refused" or "unknown"."""

    name: str
    line: int
    status: str
    types: str | None
    message: str


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("check", help="list which functions of a file compile, without calling them")
    parser.add_argument("file", type=Path, nargs="?", help="a Python file; it is imported")
    parser.add_argument("--args", action="append", default=[], metavar="'NAME: VALUES'", help="arguments to compile a function for: 'f: np.ones(3), 2.0'")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--run", dest="script", nargs=argparse.REMAINDER, metavar="SCRIPT", help="a program to run, with its arguments, instead of a file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if (options.file is None) == (not options.script):
        raise SystemExit("python -m ingot check takes a file, or --run and a script")
    status = 0
    if options.script:
        verdicts, status = check_script(*options.script)
    else:
        verdicts = check(options.file, [example(text) for text in options.args])
    if options.json:
        print(json.dumps([v._asdict() for v in verdicts], indent=2))
    else:
        nothing = f"{options.script[0]} calls no functions of ingot.jit" if options.script else f"{options.file} has no functions"
        print("\n".join(as_text(v) for v in verdicts) or nothing)
    return status or int(any(v.status == "refused" for v in verdicts))


def check_script(script: str, *arguments: str) -> tuple[list[Verdict], int]:
    """The verdicts on the calls of compiled functions that a program makes, by function, and its exit status."""
    outcomes, status = _check_script.run(script, list(arguments))
    order: list[Any] = list(dict.fromkeys(outcome.function for outcome in outcomes))
    verdicts = []
    for function, values, verdict, message in sorted(outcomes, key=lambda outcome: order.index(outcome.function)):
        line = function.__ingot_function__.__code__.co_firstlineno
        verdicts.append(Verdict(function.__qualname__, line, verdict, ", ".join(map(_type_name, values)), message))
    return verdicts, status


def as_text(verdict: Verdict) -> str:
    types = f" for ({verdict.types})" if verdict.types is not None else ""
    message = "".join(f"\n    {line}" for line in verdict.message.splitlines())
    return f"{verdict.name}, line {verdict.line}: {verdict.status}{types}{message}"


def example(text: str) -> tuple[str, str]:
    """Reads `f: np.ones(3), 2.0`: a function's name and the arguments of a call of it."""
    name, colon, arguments = text.partition(":")
    if not colon or not all(part.isidentifier() for part in name.strip().split(".")):
        raise SystemExit(f"--args takes a function's name, a colon and values, as 'f: np.ones(3), 2.0', not {text!r}")
    return name.strip(), arguments.strip()


def check(file: Path, examples: Iterable[tuple[str, str]] = ()) -> list[Verdict]:
    """The verdicts on all functions of a file and methods of its classes, in their order.

    Functions that examples name, by name and arguments, have a verdict for each of these.
    """
    module = _imported(file)
    functions = list(_functions(module, file))
    given: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}
    for name, arguments in examples:
        if name not in dict(functions):
            raise SystemExit(f"{file} has no function {name}")
        given.setdefault(name, []).append(_arguments(name, arguments, module))
    return [
        verdict
        for name, member in functions
        for verdict in ([_verdict(name, member, call) for call in given[name]] if name in given else [_verdict(name, member)])
    ]


def _arguments(name: str, text: str, module: types.ModuleType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of an example, whose expressions see what the module sees, and `np`."""
    space = {"np": np, **vars(module), "arguments of the example": lambda *args, **kwargs: (args, kwargs)}
    try:
        tree = ast.parse(f"call({text}\n)", mode="eval")
        tree.body.func.id = "arguments of the example"  # type: ignore[attr-defined]
        return eval(compile(tree, "--args", "eval"), space)
    except Exception as error:
        raise SystemExit(f"--args of {name}: {type(error).__name__}: {error}") from None


def _imported(file: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise SystemExit(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _functions(module: types.ModuleType, file: Path) -> Iterator[tuple[str, Any]]:
    """The functions of the file: plain ones and those of `jit`."""
    found = []
    for name, value in vars(module).items():
        owners = [(f"{name}.", vars(value))] if isinstance(value, type) and value.__module__ == module.__name__ else []
        for prefix, space in [*owners, *([("", {name: value})] if not owners else [])]:
            for own, member in space.items():
                function = _plain(member)
                if function is not None and Path(function.__code__.co_filename) == Path(module.__file__ or file):
                    found.append((function.__code__.co_firstlineno, prefix + own, member))
    seen = set()
    for _, name, member in sorted(found, key=lambda f: f[:2]):
        if (code := _plain(member).__code__) not in seen:  # type: ignore[union-attr]
            seen.add(code)
            yield name, member


def _plain(member: Any) -> types.FunctionType | None:
    """The function of Python's in what a module or a class holds."""
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, Function):
        return member.__ingot_function__
    try:
        member = inspect.unwrap(member) if callable(member) else member
    except ValueError:  # it wraps itself
        return None
    return member if isinstance(member, types.FunctionType) else None


def _verdict(name: str, member: Any, call: tuple[tuple[Any, ...], dict[str, Any]] | None = None) -> Verdict:
    function = _plain(member)
    assert function is not None
    line = function.__code__.co_firstlineno
    try:
        node, file, _ = source.find(function)
    except UnsupportedError as error:
        return Verdict(name, line, "refused", None, str(error))
    refusals = list(_refusals(node, file, function))
    if refusals:
        return Verdict(name, line, "refused", None, "\n".join(map(str, refusals)))
    if scope.yields(node):
        return Verdict(name, line, "unknown", None, "a generator is compiled into the functions that iterate over it")
    if call is not None:
        try:
            bound = bind(function, *call)
        except TypeError as error:
            raise SystemExit(f"--args of {name}: {error}") from None
        return _compiled(name, line, member, function, bound, call)
    signatures = getattr(member, "_signatures", None) or [None]
    verdicts = [_compiled(name, line, member, function, _samples(function, s)) for s in signatures]
    return next((v for v in verdicts if v.status != "compiles"), verdicts[0])


def _compiled(
    name: str,
    line: int,
    member: Any,
    function: types.FunctionType,
    samples: dict[str, Any],
    call: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
) -> Verdict:
    parameters = parameters_of(function)
    missing = [p for p in parameters.names if p not in samples]
    if missing:
        which = ", ".join(f"`{p}`" for p in missing)
        return Verdict(name, line, "unknown", None, f"the {'type' if len(missing) == 1 else 'types'} of {which} decide{'s' * (len(missing) == 1)}")
    shown = ", ".join(_type_name(v) for v in samples.values())
    compiled: Function[..., Any] = Function(function, relaxed=getattr(member, "_relaxed", ()), static=getattr(member, "_static", Static()))
    compiled._in_order = getattr(member, "_in_order", False)
    compiled._directives = getattr(member, "_directives", ())
    try:
        by_position = tuple(samples[p] for p in parameters.by_position)
        by_name = {p: samples[p] for p in parameters.own[parameters.positional :]}
        specialisation, _ = compiled._prepare(*(call or (by_position, by_name)))
        specialisation.compile()
    except UnsupportedError as error:
        return Verdict(name, line, "refused", shown, str(error))
    known = [p for i, p in enumerate(parameters.names) if i in compiled._demanded()]
    note = f"for each value of {', '.join(f'`{p}`' for p in known)} anew" if known else ""
    return Verdict(name, line, "compiles", shown, note)


def _samples(function: types.FunctionType, signature: Any) -> dict[str, Any]:
    """Values of the parameters whose types are known, by name."""
    parameters, defaults = parameters_of(function), defaults_of(function)
    if signature is not None:
        return {name: _sample(t) for name, t in zip(parameters.names, signature.parameters)}
    found = {}
    for name in parameters.own:
        value = _sample(_evaluated(function.__annotations__.get(name), function))
        if value is None and type(defaults.get(name)) in _NUMBERS:
            value = defaults[name]
        if value is not None:
            found[name] = value
    return found


_NUMBERS = {bool: True, int: 2, float: 1.5, complex: 1.5j}


def _evaluated(annotation: Any, function: types.FunctionType) -> Any:
    """An annotation that is written as a string, as an object."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)
    except Exception:
        pass
    try:
        (parameter,) = parse_signature(f"({annotation.strip(chr(39) + chr(34))},)").parameters
        return parameter
    except (TypeError, ValueError):
        return None


def _sample(kind: Any) -> Any:
    """A value of a type; None: the type is not known well enough."""
    if isinstance(kind, Type):
        number = np.dtype(kind.dtype).type(1)
        if kind.ndim is None:
            return number
        return np.full((2,) * kind.ndim, number, order="F" if kind.layout == "F" else "C")
    if isinstance(kind, type) and kind in _NUMBERS:
        return _NUMBERS[kind]
    if isinstance(kind, type) and issubclass(kind, np.generic) and np.dtype(kind) in DTYPES:
        return kind(1)
    return None


def _type_name(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(':' * value.ndim)}]"
    return type(value).__name__


def _refusals(node: Any, file: str, function: types.FunctionType) -> Iterator[UnsupportedError]:
    """What is refused in a function for any arguments, where it is reached."""
    part: Any
    for part in ast.walk(node):
        refusal = _REFUSED.get(type(part))
        if isinstance(part, ast.Call):
            refusal = _refused_call(part, node, function)
        if refusal is None or part is node:
            continue
        end = part.end_col_offset if part.end_lineno == part.lineno else part.col_offset + 1
        yield _errors.unsupported(((file, part.lineno, part.col_offset, end, function.__name__),), *refusal)


def _refused_call(call: ast.Call, node: Any, function: types.FunctionType) -> tuple[str, str] | None:
    """The refusal of a call of a function that is named by globals and attributes of modules."""
    value = _value_of(call.func, node, function)
    known = value is None or isinstance(value, (type, types.FunctionType, types.MethodType)) or hasattr(value, "__ingot_function__")
    if known or type(value).__module__.startswith(("ingot", "functools")) or not isinstance(value, types.BuiltinFunctionType):
        return None
    _, registry = core()
    if registry.knows(value):
        return None
    name, advice = _advice.of_call(value)
    return f"a call of `{name}`", advice


def _value_of(e: ast.expr, node: Any, function: types.FunctionType) -> Any:
    """What a name of the module, or an attribute of a module, stands for; None: not known."""
    if isinstance(e, ast.Name):
        if e.id in scope.names(node) or e.id in function.__code__.co_freevars:
            return None
        builtins = function.__globals__.get("__builtins__", {})
        inside = builtins if isinstance(builtins, dict) else vars(builtins)
        return function.__globals__.get(e.id, inside.get(e.id))
    if isinstance(e, ast.Attribute):
        owner = _value_of(e.value, node, function)
        return getattr(owner, e.attr, None) if isinstance(owner, types.ModuleType) else None
    return None
