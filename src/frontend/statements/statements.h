#pragma once

#include "frontend/tracer/tracer.h"

/// Statements (`ast.stmt`).
namespace ingot::frontend {

void run(Tracer& t, nb::handle statement);

}  // namespace ingot::frontend
