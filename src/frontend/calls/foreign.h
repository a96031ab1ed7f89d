#pragma once

#include "frontend/tracer/tracer.h"

/// Values of unsupported types.
namespace ingot::frontend {

/// A part of a foreign array, for indices of integers and slices; none where only its type is known.
std::optional<Value> foreign_part(Tracer& t, const Foreign& array, const Value& index, nb::handle node);

}  // namespace ingot::frontend
