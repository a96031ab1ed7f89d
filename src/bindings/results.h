#pragma once

#include <nanobind/nanobind.h>

#include "bindings/described.h"
#include "bindings/values.h"

/// Results as Python objects.
namespace ingot::bindings {

/// The object that the next values are described to be: what a function returns, what a host function is
/// given. `V` is `Values`, or what makes calls of it quick: `FrameValues`.
template <class V>
nb::object make_result(const Description& description, V& values);

}  // namespace ingot::bindings
