"""The package files of a library, by which CMake's find_package finds it."""

from __future__ import annotations

from .linking import SYSTEM_LIBRARIES


def config(library: str) -> str:
    """Imported targets: NAME::NAME, the shared library, and NAME::static. A shared library that the latter is linked into has
    threads that run its code until the process ends."""
    return f"""# {library}: the targets {library}::{library} (shared) and {library}::static.
get_filename_component(_{library}_root "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
if(NOT TARGET {library}::{library})
  add_library({library}::{library} SHARED IMPORTED)
  set_target_properties({library}::{library} PROPERTIES
    IMPORTED_LOCATION "${{_{library}_root}}/lib/lib{library}.so"
    IMPORTED_SONAME "lib{library}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{_{library}_root}}/include")
  add_library({library}::static STATIC IMPORTED)
  set_target_properties({library}::static PROPERTIES
    IMPORTED_LOCATION "${{_{library}_root}}/lib/lib{library}.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES "C"
    INTERFACE_LINK_OPTIONS "LINKER:-z,nodelete"
    INTERFACE_LINK_LIBRARIES "{";".join(SYSTEM_LIBRARIES)}"
    INTERFACE_INCLUDE_DIRECTORIES "${{_{library}_root}}/include")
endif()
set({library}_FORTRAN_SOURCE "${{_{library}_root}}/include/{library}.f90")
unset(_{library}_root)
"""


def version(number: str) -> str:
    major = number.split(".")[0]
    return f"""set(PACKAGE_VERSION "{number}")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT PACKAGE_FIND_VERSION_MAJOR STREQUAL "{major}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION STREQUAL "")
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(CMAKE_SIZEOF_VOID_P AND NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
"""
