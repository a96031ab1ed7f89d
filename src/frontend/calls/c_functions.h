#pragma once

#include "frontend/tracer/tracer.h"

/// Calls of functions of C, `ctypes` and SciPy.
namespace ingot::frontend {

/// Calls a function of C or SciPy; none: it is another one.
std::optional<Value> call_of_c(Tracer& t, const nb::object& function, Call& call);
/// An attribute of `x.ctypes`; none: `x.ctypes` has no such attribute, or `pointer` is something else.
std::optional<Value> pointer_attribute(Tracer& t, const Foreign& pointer, const std::string& name);
Value pointer_as(Tracer& t, const Foreign& pointer, const Call& call);
/// The description of a C function by `ingot._objects.c_functions`; invalid: it is not called by an address.
nb::object c_function(const nb::object& function);
/// The function of this name in a library that `ctypes` has opened; invalid: no such library or function.
nb::object function_of_library(const nb::object& library, const std::string& name);
/// Whether it is a library that `ctypes` has opened.
bool is_library_of_c(nb::handle object);
bool is_ufunc_of_scipy(const nb::object& function);
bool is_function_of_scipy(const nb::object& function);
inline bool is_of_scipy(const nb::object& function) {
  return is_ufunc_of_scipy(function) || is_function_of_scipy(function);
}

}  // namespace ingot::frontend
