#pragma once

#include "frontend/tracer/tracer.h"

/// The functions of `math` and `cmath`.
namespace ingot::frontend {

NodeId real_number(Tracer& t, const Value& value);  ///< as the functions of `math` take it: a float64

}  // namespace ingot::frontend
