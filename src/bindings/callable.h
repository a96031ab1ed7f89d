#pragma once

#include <nanobind/nanobind.h>

namespace ingot::bindings {

namespace nb = nanobind;

/// Adds the type `Callable`, the base of `ingot._calls.function.Function`, and `Arguments` to the extension.
///
/// A Callable is called without a detour through Python when it knows the description of the arguments and
/// has a specialisation for it whose guards hold; every other call is made by the method `_call(args,
/// kwargs)` of its class, which shows it by `remember` what such calls need in the future.
void bind_callable(nb::module_& m);

/// Whether an object is a Callable.
bool is_compiled_function(PyObject* object);

/// Whether an object is a Callable, or a function of `ingot.profile`: known by identity where it is an
/// argument.
bool is_callable(PyObject* object);

/// A call of a Callable that has no row of its own in profiles.
PyObject* call_unrecorded(PyObject* self, PyObject* const* arguments, size_t flagged, PyObject* keywords);

}  // namespace ingot::bindings
