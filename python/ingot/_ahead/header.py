"""The header of a library: C99, for C and C++."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

from .. import _core
from .c_types import Types
from .lowering import Compiled, Value


def statuses(library: str) -> list[str]:
    """The names of the statuses, in order, from 1 on, after that of 0."""
    return [f"{library.upper()}_{_upper(name)}" for name in ("OK", *_core.EXCEPTIONS)]


def values_of(functions: Iterable[Compiled]) -> list[Value]:
    return [v for f in functions for v in (*f.parameters, *(r.value for r in f.results))]


def arrays_of(functions: Iterable[Compiled]) -> list[Value]:
    """One of each type of array, in order."""
    by_type = {(v.dtype, v.rank): v for v in values_of(functions) if v.rank >= 0}
    return [by_type[key] for key in sorted(by_type)]


def prototype(types: Types, function: Compiled) -> str:
    parts = []
    for value in function.parameters:
        parts.append(f"const {types.array(value)} *{value.name}" if value.rank >= 0 else f"{types.number(value.dtype)} {value.name}")
    for result in function.results:
        value = result.value
        parts.append(f"{types.array(value) if value.rank >= 0 else types.number(value.dtype)} *{value.name}")
    return f"int32_t {types.library}_{function.export.name}({', '.join(parts) or 'void'})"


def header(library: str, functions: Sequence[Compiled]) -> str:
    types = Types(library)
    arrays, upper = arrays_of(functions), library.upper()
    numbers = {v.dtype for v in values_of(functions)}
    complex_types = [_complex(types, d) for d in ("complex64", "complex128") if d in numbers]
    numbered = ",\n".join(f"  {name} = {i}" for i, name in enumerate(statuses(library)))
    return f"""/* {library}: functions compiled ahead of time by Ingot, for C99, C++ and, by iso_c_binding, Fortran.
 *
 * Each function returns 0, or the status of an exception, which {library}_last_error() describes; results are then as they
 * were. Numbers are passed by value, their results by pointer. Arrays are passed by pointers to structs of the address of
 * the element at index 0, lengths, and strides in bytes. An array that is a result is written into the caller's struct, one
 * for each; its memory is freed by {library}_free(result.owner), or is another's where owner is null: an argument's, or
 * the library's. `owner` of an argument is
 * not looked at. All functions may be called by several threads at once. */
#ifndef {upper}_H
#define {upper}_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* What a function returns that raises: by Python's name of the exception. */
enum {library}_status {{
{numbered}
}};

{"".join(complex_types)}{"".join(_array(types, v) for v in arrays)}{"".join(_function(types, f) for f in functions)}/* Gives back the memory of an array that is a result. Null is allowed. */
void {library}_free(void *owner);

/* The last error of the calling thread: all of it as one string, or its parts. Strings hold until the thread's next error. */
const char *{library}_last_error(void);
const char *{library}_last_error_kind(void);    /* "ZeroDivisionError" */
const char *{library}_last_error_message(void); /* "division by zero" */
const char *{library}_last_error_file(void);    /* of the Python source; empty where no location is known */
int32_t {library}_last_error_line(void);

/* The level of x86-64 whose code runs: 2, 3 (AVX2, FMA) or 4 (AVX-512); 0: there is none that this CPU can run, and calls
 * fail. INGOT_CPU_LEVEL in the environment asks for one. */
int32_t {library}_cpu_level(void);

/* How many threads a loop may use: INGOT_NUM_THREADS, or else the CPUs of the process. */
int32_t {library}_num_threads(void);
void {library}_set_num_threads(int32_t count);

/* Gives kept memory of freed arrays back to the system. */
void {library}_trim_memory(void);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _upper(name: str) -> str:
    return "".join(f"_{c}" if c.isupper() and i and not name[i - 1].isupper() else c for i, c in enumerate(name)).upper()


def _complex(types: Types, dtype: str) -> str:
    part = "float" if dtype == "complex64" else "double"
    return f"typedef struct {{\n  {part} real;\n  {part} imag;\n}} {types.number(dtype)};\n\n"


def _array(types: Types, value: Value) -> str:
    name, number, rank = types.array(value), types.number(value.dtype), value.rank
    if rank == 0:
        return f"typedef struct {{\n  {number} *data;\n  void *owner;\n}} {name};\n\n"
    lengths = [f"n{i}" for i in range(rank)]
    strides = [" * ".join(["(int64_t)sizeof *data", *lengths[i + 1 :]]) for i in range(rank)]
    lines = [f"  array.lengths[{i}] = {n};\n  array.strides[{i}] = {s};\n" for i, (n, s) in enumerate(zip(lengths, strides))]
    return f"""/* An array of {rank} {"axis" if rank == 1 else "axes"} of {value.dtype}. */
typedef struct {{
  {number} *data;
  void *owner;
  int64_t lengths[{rank}];
  int64_t strides[{rank}]; /* bytes */
}} {name};

/* Elements without gaps, in C order. */
static inline {name} {name}_of({number} *data, {", ".join(f"int64_t {n}" for n in lengths)}) {{
  {name} array;
  array.data = data;
  array.owner = 0;
{"".join(lines)}  return array;
}}

"""


def _function(types: Types, function: Compiled) -> str:
    python = function.export.function
    lines = [f"{python.__name__}({', '.join(_told(v) for v in function.parameters)})"]
    if document := inspect.getdoc(python):
        lines.append(document.split("\n")[0])
    lines += [f"{v.name} is written to." for v in function.parameters if v.is_written]
    comment = "\n * ".join(line.replace("*/", "* /").replace("/*", "/ *") for line in lines)
    return f"/* {comment} */\n{prototype(types, function)};\n\n"


def _told(value: Value) -> str:
    if value.rank < 0:
        return f"{value.name}: {value.dtype}"
    order = {"A": "", "C": ", C order without gaps", "F": ", Fortran order without gaps"}[value.order]
    return f"{value.name}: {value.dtype}[{', '.join(':' * value.rank)}]{order}"
