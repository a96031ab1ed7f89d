#pragma once

#include <nanobind/nanobind.h>

namespace ingot::bindings {

namespace nb = nanobind;

/// Adds to the extension what shows arrays on devices to other libraries, and theirs to Ingot, by DLPack.
void bind_exchange(nb::module_& m);

}  // namespace ingot::bindings
