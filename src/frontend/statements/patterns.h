#pragma once

#include "frontend/tracer/tracer.h"

/// `match`.
namespace ingot::frontend {

void run_match(Tracer& t, nb::handle s);

}  // namespace ingot::frontend
