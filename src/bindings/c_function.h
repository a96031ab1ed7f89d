#pragma once

#include <nanobind/nanobind.h>

namespace ingot::bindings {

/// Binds `CFunction`: a function of C's that calls a function of Python's.
void bind_c_functions(nanobind::module_& m);

}  // namespace ingot::bindings
