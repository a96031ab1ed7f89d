#pragma once

#include <nanobind/nanobind.h>

/// The libraries of devices, for Python: what arrays they take is checked there (`ingot.cuda`).
namespace ingot::bindings {

namespace nb = nanobind;

void bind_device_libraries(nb::module_& m);

}  // namespace ingot::bindings
