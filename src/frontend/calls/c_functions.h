#pragma once

#include "frontend/tracer/tracer.h"

/// Calls of functions of C, `ctypes` and SciPy.
namespace ingot::frontend {

/// Calls a function of C or SciPy; none: it is another one.
std::optional<Value> call_of_c(Tracer& t, const nb::object& function, Call& call);
/// An attribute of `x.ctypes`; none: `x.ctypes` has no such attribute, or `pointer` is something else.
std::optional<Value> pointer_attribute(Tracer& t, const Foreign& pointer, const std::string& name);
Value pointer_as(Tracer& t, const Foreign& pointer, const Call& call);

}  // namespace ingot::frontend
