#pragma once

#include <nanobind/nanobind.h>

namespace ingot::bindings {

namespace nb = nanobind;

/// Adds the submodule `profile` to the extension: the switch, rows, and the types `Profiled`, a function
/// whose calls are regions, `Region`, what `with` opens, and `Steps`, a call that is left and gone on with.
void bind_profile(nb::module_& m);

/// Whether an object is a Profiled. Its attribute `__ingot_function__` is the function that is compiled for
/// it.
bool is_profiled_function(PyObject* object);

}  // namespace ingot::bindings
