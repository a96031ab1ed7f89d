"""Names that C, C++ and Fortran have: of parameters, functions and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .errors import BuildError

MOST_LETTERS = 63
"""Of a name in Fortran."""
_MOST_OF_PREFIX = 40

FUNCTIONS = (
    "free last_error last_error_kind last_error_message last_error_file last_error_line cpu_level num_threads set_num_threads trim_memory"
).split()
"""What each library has of its own, after its name."""

_TYPES = re.compile(r"complex\d+|(bool|u?int\d+|float\d+|complex\d+)_\d+d(_of)?")

_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
short signed sizeof static struct switch typedef union unsigned void volatile while
alignas alignof asm bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual
and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept consteval constinit
const_cast decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq operator or or_eq
private protected public reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t
xor xor_eq
"""
_MACROS = "EOF I INFINITY NAN NULL complex errno i386 imaginary linux main stderr stdin stdout unix"
"""What headers and compilers may define."""
_USED = "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t hidden number slots status work"
"""What is in headers, and in the functions of a library."""
RESERVED = frozenset(f"{_C} {_MACROS} {_USED}".split())
"""Names that no parameter has in C."""
RESERVED_IN_FORTRAN = frozenset(
    "c_bool c_double c_double_complex c_float c_float_complex c_int8_t c_int16_t c_int32_t c_int64_t c_ptr".split()
)

_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
stdckdint stdbit stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
dirent dlfcn fcntl features glob grp libgen malloc memory netdb nl_types poll pthread pwd regex sched search semaphore spawn
strings syslog termios ucontext unistd utime values
"""
_LIBRARIES = "asan atomic c crypt dl gcc gcc_s gfortran gomp ingot m pthread quadmath resolv rt ubsan util"
_TAKEN = frozenset(f"{_HEADERS} {_LIBRARIES}".split())


def c_name(name: str, taken: set[str]) -> str:
    """A name that C, C++ and Fortran have, like this one and unlike those taken, compared without regard to capitals."""
    plain = "".join(c if c.isascii() and c.isalnum() or c == "_" else "_" for c in name).lstrip("_") or "x"
    plain = f"x{plain}" if plain[0].isdigit() or plain.lower().startswith("ingot_") else plain
    plain += "_" if plain in RESERVED or plain.lower() in RESERVED_IN_FORTRAN else ""
    return unlike(plain, taken)


def unlike(name: str, taken: set[str]) -> str:
    """The name, or one that begins as it does, which is not taken in Fortran and short enough there; it is taken then."""
    found, number = name[:MOST_LETTERS], 1
    while found.lower() in taken:
        number += 1
        found = f"{name[: MOST_LETTERS - 4]}_{number}"
    taken.add(found.lower())
    return found


def check_library(library: str) -> None:
    """BuildError for what is no name of a library."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", library):
        raise BuildError(f"the library's name begins those of its functions: {library!r} is no identifier of C; --name gives another")
    if library.lower() in _TAKEN:
        raise BuildError(f"{library!r} is the name of a header or a library of the system's; --name gives the library another")
    if len(library) > _MOST_OF_PREFIX:
        raise BuildError(f"the library's name is longer than {_MOST_OF_PREFIX} characters; --name gives another")


def check_exports(library: str, exports: Iterable[str], statuses: Iterable[str]) -> None:
    """BuildError for an export whose name is one that a library has besides."""
    own = {f"{library}_{name}" for name in (*FUNCTIONS, "status", "text")} | {f"{library.upper()}_H", *statuses}
    for name in exports:
        if f"{library}_{name}" in own or _TYPES.fullmatch(name):
            raise BuildError(f"`{name}` is a name of each library's own: export it under another one")
