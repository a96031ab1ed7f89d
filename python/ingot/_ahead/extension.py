"""`--kind extension`: a module for the Python that builds, which needs NumPy, and nothing of Ingot's."""

from __future__ import annotations

import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._ingot import Description
from .._signatures import Type
from .._signatures.parameters import defaults_of, parameters_of
from . import c_source, linking
from .errors import BuildError
from .files import put
from .lowering import Compiled, Constant, Value

OWN = {"cpu_level": "ingot_get_level", "num_threads": "ingot_get_threads", "set_num_threads": "ingot_set_threads", "trim_memory": "ingot_trim"}
"""Functions that each module has."""
_SIMPLER = {"LinAlgError": "ValueError", "TypeChangeError": "TypeError", "BrokenGroupError": "RuntimeError"}
"""Classes of NumPy's and Ingot's, and what they come from."""


def check(library: str, exports: Sequence[str]) -> None:
    """BuildError where something is missing, or a name is taken. Before anything is compiled."""
    linking.check_tools()
    if not library.isidentifier():
        raise BuildError(f"{library!r} is no name of a module: --name gives another")
    if taken := set(exports) & {*OWN, "__version__"}:
        raise BuildError(f"`{sorted(taken)[0]}` is a name of each module's own: export it under another one")
    for header in (Path(sysconfig.get_path("include")) / "Python.h", Path(np.get_include()) / "numpy" / "arrayobject.h"):
        if not header.exists():
            raise BuildError(f"{header} is not there: modules are compiled with the headers of Python and NumPy")


def write(folder: Path, library: str, version: str, functions: Sequence[Compiled], levels: Sequence[int]) -> list[Path]:
    """Writes the module. Returns its file."""
    with tempfile.TemporaryDirectory(prefix="ingot-build-") as temporary:
        scratch = Path(temporary)
        source = scratch / "module.c"
        source.write_text(_source(library, version, functions, levels), "utf-8")
        includes = [Path(sysconfig.get_path("include")), Path(np.get_include())]
        exported = [f"PyInit_{library}"]
        objects = [linking.compile_c(source, includes, scratch / "module.o"), *linking.objects_of(scratch, functions)]
        joined = linking.join(objects, exported, scratch / "joined.o")
        made = scratch / f"{library}{sysconfig.get_config_var('EXT_SUFFIX')}"
        linking.link_shared(joined, exported, made, is_complete=False)
        return [put(made, folder / made.name)]


def _source(library: str, version: str, functions: Sequence[Compiled], levels: Sequence[int]) -> str:
    captured, tables = c_source.tables(library, functions, levels)
    parts = ["#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n", '#include "_ahead/library.h"\n\n', tables, '#include "_ahead/module.h"\n\n']
    parts.append(_raised())
    parts += [_function(number, f, captured) for number, f in enumerate(functions)]
    methods = [_method(number, f) for number, f in enumerate(functions)]
    methods += [f'{{"{name}", {call}, {"METH_O" if name.startswith("set") else "METH_NOARGS"}, NULL}}' for name, call in OWN.items()]
    listed = ",\n  ".join([*methods, "{NULL, NULL, 0, NULL}"])
    parts.append(
        f"""static PyMethodDef ingot_methods[] = {{
  {listed}}};

static struct PyModuleDef ingot_module = {{
  PyModuleDef_HEAD_INIT, "{library}", "Functions compiled ahead of time by Ingot.", -1, ingot_methods, NULL, NULL, NULL, NULL}};

PyMODINIT_FUNC PyInit_{library}(void) {{
  import_array();
  PyObject *const module = PyModule_Create(&ingot_module);
  if (module != NULL && PyModule_AddStringConstant(module, "__version__", "{version}") == 0) return module;
  Py_XDECREF(module);
  return NULL;
}}
"""
    )
    return "".join(parts)


def _raised() -> str:
    cases = "".join(f"    case {1 + i}: return PyExc_{_SIMPLER.get(name, name)};\n" for i, name in enumerate(_core.EXCEPTIONS))
    return f"static PyObject *ingot_raised(int32_t status) {{\n  switch (status) {{\n{cases}    default: return PyExc_SystemError;\n  }}\n}}\n\n"


def _function(number: int, function: Compiled, captured: dict[int, str]) -> str:
    names = _names(function)
    defaults = _defaults(function)
    plan = _Plan(function)
    constants = [r for r in function.results if isinstance(r, Constant)]
    arrays = [f"(void *)&{captured[id(array)]}" for _, array in function.captured]
    inputs = [*function.parameters, *(value for value, _ in function.captured)]
    values = [*inputs, *(g.value for g in function.given)]
    words = sum(2 if v.rank < 0 else 2 + 2 * v.rank for v in values)
    work = "".join(f" + INGOT_ARRAY_WORDS({v.rank})" for v in inputs if v.rank >= 0)
    parts = [_literal(f"ingot_default_{number}_{i}", v, d) for i, (v, d) in enumerate(zip(function.parameters, defaults)) if d is not None]
    parts += [_literal(f"ingot_constant_{number}_{i}", c.value, c.number) for i, c in enumerate(constants)]
    parts.append(_texts(f"ingot_names_{number}", names))
    parts.append(_texts(f"ingot_keys_{number}", plan.keys))
    addresses = [f"&ingot_default_{number}_{i}" if d is not None else "NULL" for i, d in enumerate(defaults)]
    parts.append(_list(f"static const void *const ingot_defaults_{number}[]", addresses, "NULL"))
    parts.append(_list(f"static void *const ingot_arrays_{number}[]", arrays, "NULL"))
    parts.append(c_source.values(f"ingot_constants_{number}", [c.value for c in constants]))
    parts.append(_list(f"static const void *const ingot_numbers_{number}[]", [f"&ingot_constant_{number}_{i}" for i in range(len(constants))], "NULL"))
    parts.append(
        f"""static const struct ingot_called ingot_called_{number} = {{
  "{function.export.name}", &ingot_function_{number}, ingot_names_{number}, ingot_defaults_{number}, {len(names)}, ingot_arrays_{number},
  "{plan.kinds}", ingot_constants_{number}, ingot_numbers_{number}, {len(constants)}, "{plan.text}", ingot_keys_{number}}};

static PyObject *ingot_call_{number}(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords) {{
  PyObject *arguments[{len(names) or 1}];
  PyObject *values[{len(function.given) + len(constants) or 1}];
  void *slots[{len(values) or 1}];
  int64_t memory[{words or 1}{work}];
  return ingot_called_call(&ingot_called_{number}, module, ingot_raised, arguments, values, slots, memory, given, count, keywords);
}}

"""
    )
    return "".join(parts)


def _names(function: Compiled) -> tuple[str, ...]:
    return parameters_of(function.export.function).names


def _defaults(function: Compiled) -> list[Any]:
    """Those that are numbers of the parameters' types, else None: such arguments have to be given."""
    given = defaults_of(function.export.function)
    return [_number(t, given[n]) if n in given else None for n, t in zip(_names(function), function.export.signature.parameters)]


def _number(type_: Type, default: Any) -> Any:
    """A default as a number of the type; None where it is none, or the type is an array's."""
    converted = type_.convert(default) if type_.ndim is None else NotImplemented
    return None if converted is NotImplemented else converted


def _method(number: int, function: Compiled) -> str:
    shown = [n if d is None else f"{n}={_shown(d.item())}" for n, d in zip(_names(function), _defaults(function))]
    text = f"{function.export.name}($module{''.join(f', {each}' for each in shown)})\n--\n\n{function.export.function.__doc__ or ''}"
    cast = "(PyCFunction)(void (*)(void))"
    return f'{{"{function.export.name}", {cast}ingot_call_{number}, METH_FASTCALL | METH_KEYWORDS, {_text(text)}}}'


def _shown(number: Any) -> str:
    """As `inspect` reads it, which takes literals alone."""
    return "..." if isinstance(number, complex) or not np.isfinite(number) else repr(number)


def _text(text: str) -> str:
    """A literal of C's."""
    return "".join(f'"{part}"' for part in (_escaped(line) for line in text.splitlines(keepends=True))) or '""'


def _escaped(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "?": "\\?"}
    return "".join(escapes.get(c) or (c if c.isprintable() and c.isascii() else "".join(f"\\{b:03o}" for b in c.encode())) for c in text)


def _texts(name: str, texts: Sequence[str]) -> str:
    return _list(f"static const char *const {name}[]", [_text(t) for t in texts], "NULL")


def _list(declared: str, items: Sequence[str], empty: str) -> str:
    return f"{declared} = {{{', '.join(items) or empty}}};\n"


def _literal(name: str, value: Value, number: Any) -> str:
    """A number with all its bits, as bytes."""
    data = np.asarray(number, value.dtype).tobytes()
    return f"static const unsigned char {name}[] __attribute__((aligned(16))) = {{{', '.join(map(str, data))}}};\n"


class _Plan:
    """How objects are made of what the code gives: for `module.h`."""

    def __init__(self, function: Compiled) -> None:
        self.function = function
        self.keys: list[str] = []
        self._given: list[str] = []
        self._constants: list[str] = []
        self._count = len(function.given)
        self.text = self._of(function.description)
        self.kinds = "".join((*self._given, *self._constants))

    def _of(self, description: Description) -> str:
        match description.kind:
            case Description.SCALAR:
                return self._add("n" if description.number.startswith("numpy.") else "p")
            case Description.ARRAY:
                return self._of_array(description.is_writable, description.argument)
            case Description.STATIC:
                return self._of_static(description.object)
            case Description.TUPLE if description.type is not None:
                name, returned = self.function.export.function.__name__, description.type.__name__
                raise BuildError(f"`{name}` returns a {returned}: modules return tuples, lists and dicts")
            case Description.DICT:
                return "{" + "".join(self._under(key, part) for key, part in zip(description.keys, description.parts)) + "."
        opening = "(" if description.kind == Description.TUPLE else "["
        return opening + "".join(map(self._of, description.parts)) + "."

    def _under(self, key: str, part: Description) -> str:
        self.keys.append(key)
        return self._of(part)

    def _add(self, kind: str) -> str:
        self._given.append(kind)
        return f"v{len(self._given) - 1}"

    def _of_array(self, is_writable: bool, argument: int | None) -> str:
        kind = "a" if is_writable else "r"
        if argument is None:
            found = self._add(kind.upper())
            self._add("h")
            return found
        if 0 <= argument < len(self.function.parameters):
            self._add("h")
            return f"x{argument}"
        return self._add(kind)

    def _of_static(self, value: Any) -> str:
        if value is None:
            return "N"
        self._constants.append("n" if isinstance(value, np.generic) else "p")
        return f"v{self._count + len(self._constants) - 1}"
