"""The module of a library for Fortran: types and interfaces by iso_c_binding."""

from __future__ import annotations

from collections.abc import Sequence

from .c_types import Types
from .header import arrays_of
from .lowering import Compiled, Value
from .names import FUNCTIONS, unlike

_NUMBERS = {
    "bool": "logical(c_bool)",
    "float16": "integer(c_int16_t)",
    "float32": "real(c_float)",
    "float64": "real(c_double)",
    "complex64": "complex(c_float_complex)",
    "complex128": "complex(c_double_complex)",
} | {f"{sign}int{bits}": f"integer(c_int{bits}_t)" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def module(library: str, functions: Sequence[Compiled]) -> str:
    types = Types(library)
    arrays = arrays_of(functions)
    texts = ["last_error", "last_error_kind", "last_error_message", "last_error_file"]
    declared = "".join(_type(types, v) for v in arrays)
    taken = {f"{library}_{name}".lower() for name in (*FUNCTIONS, "text")}
    interfaces = "".join(_interface(types, f, unlike(f"{library}_{f.export.name}", taken)) for f in functions)
    makers = "".join(_maker(types, v) for v in arrays if v.rank > 0)
    return f"""! {library}: functions compiled ahead of time by Ingot. {library}.h describes how they are called.
module {library}
  use, intrinsic :: iso_c_binding
  implicit none

{declared}  interface
{interfaces}    subroutine {library}_free(owner) bind(C, name="{library}_free")
      import
      type(c_ptr), value :: owner
    end subroutine
{"".join(_text(library, name) for name in texts)}    integer(c_int32_t) function {library}_last_error_line() bind(C, name="{library}_last_error_line")
      import
    end function
    integer(c_int32_t) function {library}_cpu_level() bind(C, name="{library}_cpu_level")
      import
    end function
    integer(c_int32_t) function {library}_num_threads() bind(C, name="{library}_num_threads")
      import
    end function
    subroutine {library}_set_num_threads(count) bind(C, name="{library}_set_num_threads")
      import
      integer(c_int32_t), value :: count
    end subroutine
    subroutine {library}_trim_memory() bind(C, name="{library}_trim_memory")
    end subroutine
  end interface

contains

{makers}  ! A string of C's, such as that of {library}_last_error().
  function {library}_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length
    call c_f_pointer(address, letters, [huge(0)])
    length = 0
    do while (letters(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate (character(length) :: text)
    text = transfer(letters(1:length), text)
  end function
end module
"""


def _text(library: str, name: str) -> str:
    return f"""    type(c_ptr) function {library}_{name}() bind(C, name="{library}_{name}")
      import
    end function
"""


def _type(types: Types, value: Value) -> str:
    name = types.array(value)
    lines = [f"  type, bind(C) :: {name}", "    type(c_ptr) :: data = c_null_ptr", "    type(c_ptr) :: owner = c_null_ptr"]
    if value.rank:
        lines += [f"    integer(c_int64_t) :: lengths({value.rank}) = 0", f"    integer(c_int64_t) :: strides({value.rank}) = 0"]
    return "\n".join([*lines, "  end type", "", ""])


def _maker(types: Types, value: Value) -> str:
    """`array(i, j)` of Fortran is `array[i - 1, j - 1]`."""
    name, rank = types.array(value), value.rank
    axes = ", ".join(":" * rank)
    lines = [f"    view%strides({i}) = view%strides({i - 1}) * size(array, {i - 1})" for i in range(2, rank + 1)]
    return "\n".join([
        "  ! All of an array of Fortran's, whose element at some indices is the one at the indices less 1.",
        f"  function {name}_of(array) result(view)",
        f"    {_NUMBERS[value.dtype]}, intent(in), target, contiguous :: array({axes})",
        f"    type({name}) :: view",
        "    view%data = c_loc(array)",
        "    view%lengths = shape(array, c_int64_t)",
        "    view%strides(1) = storage_size(array) / 8",
        *lines,
        "  end function",
        "",
        "",
    ])  # fmt: skip


def _interface(types: Types, function: Compiled, name: str) -> str:
    results = [r.value for r in function.results]
    names = [v.name for v in (*function.parameters, *results)]
    listed = ", &\n        ".join(names)
    bound = f"{types.library}_{function.export.name}"
    lines = [f"    integer(c_int32_t) function {name}( &", f"        {listed}) &", "        bind(C, name= &"]
    lines += [f'        "{bound[i : i + 100]}{chr(34) + " // &" if i + 100 < len(bound) else chr(34) + ")"}' for i in range(0, len(bound), 100)]
    lines.append("      import")
    for value in function.parameters:
        of_array = f"type({types.array(value)}), intent(in)"
        lines.append(f"      {of_array if value.rank >= 0 else _NUMBERS[value.dtype] + ', value'} :: {value.name}")
    for value in results:
        kind = f"type({types.array(value)})" if value.rank >= 0 else _NUMBERS[value.dtype]
        lines.append(f"      {kind}, intent(inout) :: {value.name}")
    return "\n".join([*lines, "    end function", ""])
