#pragma once

#include "frontend/tracer/tracer.h"

/// What `vmap` and `vectorize` ask about a function.
namespace ingot::frontend {

std::optional<Value> tried_iteration(Tracer& t,
                                     Call& call);  ///< the result of one iteration, to be rolled back
Value structure_of(Tracer& t, const nb::object& object);

}  // namespace ingot::frontend
