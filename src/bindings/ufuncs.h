#pragma once

#include <nanobind/nanobind.h>

/// Ufuncs of NumPy's whose loops are compiled code.
namespace ingot::bindings {

/// Adds `Ufunc`, which makes such a ufunc and adds loops to it, `UfuncLoop`, and `UfuncHolder`, which is
/// called as the ufunc that it holds, to the extension.
void bind_ufuncs(nanobind::module_& m);

/// Whether an object is a `UfuncHolder`.
bool holds_ufunc(PyObject* object);

}  // namespace ingot::bindings
