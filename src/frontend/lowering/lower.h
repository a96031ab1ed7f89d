#pragma once

#include "frontend/tracer/tracer.h"

/// The evaluation of a function, from its arguments to its results.
namespace ingot::frontend {

/// Evaluates a Python function into the module. Throws base::Unsupported, or NeedsFact.
Lowered lower(Tracer& t, const nb::object& function);
Description returned(Tracer& t, const Value& value, Outward& outward);

}  // namespace ingot::frontend
