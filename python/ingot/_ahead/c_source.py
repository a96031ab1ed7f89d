"""The C source of a library: what its functions are, for the runtime in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .c_types import DTYPES, Types
from .header import prototype
from .lowering import Code, Compiled, Constant, Value


def source(library: str, functions: Sequence[Compiled], levels: Sequence[int]) -> str:
    types = Types(library)
    captured, tables_ = tables(library, functions, levels)
    parts = [f'#include "{library}.h"\n\n#include <math.h>\n#include "_ahead/library.h"\n\n', tables_]
    parts += [_definition(types, number, f, captured) for number, f in enumerate(functions)]
    parts.append(_own(library))
    return "".join(parts)


def tables(library: str, functions: Sequence[Compiled], levels: Sequence[int]) -> tuple[dict[int, str], str]:
    """What the runtime wants to know of a library and its functions, `ingot_function_0` and on. First the names of the arrays
    that the library has, by `id`.
    """
    features = [functions[0].versions[i].apart.features for i in range(len(levels))]
    table = ", ".join(f'{{{n}, "{f}"}}' for n, f in zip(levels, features))
    parts = [f"static const struct ingot_level ingot_levels[] = {{{table}}};\n"]
    parts.append(f'static const struct ingot_library ingot_this = {{"{library}", ingot_levels, {len(levels)}}};\n\n')
    arrays = {id(array): array for f in functions for _, array in f.captured}
    captured = {key: f"ingot_captured_{number}" for number, key in enumerate(arrays)}
    parts += [_captured(captured[key], np.asarray(array, order="C")) for key, array in arrays.items()]
    parts += [_function(number, f) for number, f in enumerate(functions)]
    return captured, "".join(parts)


def entry(function: int, level: int, is_together: bool) -> str:
    """The symbol of an entry, by the numbers of function and level."""
    return f"ingot_code_{function}_{level}_{'together' if is_together else 'apart'}"


def _bytes(data: bytes) -> str:
    lines = (", ".join(map(str, data[i : i + 32])) for i in range(0, len(data), 32))
    return ",\n  ".join(lines)


def values(name: str, listed: Sequence[Value]) -> str:
    rows = [f'{{"{v.name}", {DTYPES.index(v.dtype)}, {v.rank}, \'{v.order}\', {int(v.is_written)}}}' for v in listed]
    return f"static const struct ingot_value {name}[] = {{{', '.join(rows) or '{0, 0, 0, 0, 0}'}}};\n"


def _code(name: str, symbol: str, code: Code | None) -> tuple[str, str]:
    """The declarations of a function's code of one kind, and its initializer."""
    if code is None:
        return "", "{0, 0, 0}"
    declared = f"extern char {symbol}[];\nstatic const unsigned char {name}[] = {{\n  {_bytes(code.info)}}};\n"
    return declared, f"{{{symbol}, {name}, sizeof {name}}}"


def _function(number: int, function: Compiled) -> str:
    inputs = [*function.parameters, *(value for value, _ in function.captured)]
    parts = [values(f"ingot_parameters_{number}", inputs), values(f"ingot_results_{number}", [g.value for g in function.given])]
    versions = []
    for level, version in enumerate(function.versions):
        kinds = []
        for code, is_together in ((version.apart, False), (version.together, True)):
            symbol = entry(number, level, is_together)
            declared, row = _code(f"ingot_info_{number}_{level}_{int(is_together)}", symbol, code)
            parts.append(declared)
            kinds.append(row)
        versions.append(f"{{{', '.join(kinds)}}}")
    parts.append(f"static const struct ingot_version ingot_versions_{number}[] = {{{', '.join(versions)}}};\n")
    parts.append(
        f"static const struct ingot_function ingot_function_{number} = {{ingot_parameters_{number}, "
        f"ingot_results_{number}, {len(inputs)}, {len(function.given)}, ingot_versions_{number}}};\n"
    )
    return "".join(parts)


def _captured(name: str, array: np.ndarray) -> str:
    """An array of the library's own. It can be written to, as results may be views of it."""
    data = _bytes(array.tobytes()) or "0"
    axes = [*array.shape, *array.strides] or [0]
    return (
        f"static unsigned char {name}_data[] __attribute__((aligned(64))) = {{\n  {data}}};\n"
        f"static const struct {{\n  void *data;\n  void *owner;\n  int64_t axes[{len(axes)}];\n}} "
        f"{name} = {{{name}_data, 0, {{{', '.join(map(str, axes))}}}}};\n"
    )


def _definition(types: Types, number: int, function: Compiled, captured: dict[int, str]) -> str:
    slots = [f"(void *){v.name}" if v.rank >= 0 else f"&{v.name}" for v in function.parameters]
    slots += [f"(void *)&{captured[id(array)]}" for _, array in function.captured]
    hidden = 0
    for given in function.given:
        slots.append(f"&hidden[{hidden}]" if given.is_hidden else given.value.name)
        hidden += given.is_hidden
    ranks = [v.rank for v in (*function.parameters, *(value for value, _ in function.captured)) if v.rank >= 0]
    words = " + ".join(f"INGOT_ARRAY_WORDS({rank})" for rank in ranks) or "1"
    constants = [r for r in function.results if isinstance(r, Constant)]
    checks = [f'  if ({r.value.name} == 0) return ingot_standalone_null("{r.value.name}");\n' for r in constants]
    filled = [
        f"  if (status == 0) {{\n    static const {types.number(r.value.dtype)} number = {types.literal(r.value.dtype, r.number)};\n"
        f"    *{r.value.name} = number;\n  }}\n"
        for r in constants
    ]
    lines = [
        f"{prototype(types, function)} {{\n",
        *checks,
        f"  int64_t work[{words}];\n",
        f"  int64_t hidden[{hidden}];\n" if hidden else "",
        f"  void *slots[] = {{{', '.join(slots) or '0'}}};\n",
        f"  const int32_t status = ingot_standalone_call(&ingot_this, &ingot_function_{number}, slots, work);\n",
        *filled,
        "  return status;\n}\n\n",
    ]
    return "".join(lines)


def _own(library: str) -> str:
    return f"""void {library}_free(void *owner) {{ ingot_standalone_free(owner); }}
const char *{library}_last_error(void) {{ return ingot_standalone_error(); }}
const char *{library}_last_error_kind(void) {{ return ingot_standalone_error_kind(); }}
const char *{library}_last_error_message(void) {{ return ingot_standalone_error_message(); }}
const char *{library}_last_error_file(void) {{ return ingot_standalone_error_file(); }}
int32_t {library}_last_error_line(void) {{ return ingot_standalone_error_line(); }}
int32_t {library}_cpu_level(void) {{ return ingot_standalone_level(&ingot_this); }}
int32_t {library}_num_threads(void) {{ return ingot_standalone_threads(); }}
void {library}_set_num_threads(int32_t count) {{ ingot_standalone_set_threads(count); }}
void {library}_trim_memory(void) {{ ingot_standalone_trim(); }}
"""
