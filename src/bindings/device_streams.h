#pragma once

#include <nanobind/nanobind.h>

/// Streams, events, pinned memory and what a device reports of kernels, for Python.
namespace ingot::bindings {

namespace nb = nanobind;

void bind_device_streams(nb::module_& m);

}  // namespace ingot::bindings
