#pragma once

#include <nanobind/nanobind.h>

namespace ingot::bindings {

namespace nb = nanobind;

/// Adds the type `Callable`, the base of `ingot._function.Function`, and `Arguments` to the extension.
///
/// A Callable is called without a detour through Python when it knows the description of the arguments and
/// has a specialisation for it whose guards hold; every other call is made by the method `_call(args,
/// kwargs)` of its class, which shows it by `remember` what such calls need in the future.
void bind_callable(nb::module_& m);

/// Whether an object is a Callable.
bool is_callable(PyObject* object);

}  // namespace ingot::bindings
