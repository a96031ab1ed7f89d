#pragma once

#include <nanobind/nanobind.h>

/// The tables of Python's sets, which decide the order of their elements.
namespace ingot::bindings {

namespace nb = nanobind;

/// Adds `table_of_set` and `fill_set` to the extension.
void bind_sets(nb::module_& m);

}  // namespace ingot::bindings
