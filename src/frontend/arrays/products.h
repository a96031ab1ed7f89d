#pragma once

#include "frontend/tracer/tracer.h"

/// Products of matrices.
namespace ingot::frontend {

Value matmul(Tracer& t, const Value& a, const Value& b, nb::handle node, bool is_dot = false);

}  // namespace ingot::frontend
