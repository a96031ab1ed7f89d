#pragma once

#include "frontend/tracer/tracer.h"

/// Imports inside functions.
namespace ingot::frontend {

void run_import(Tracer& t, nb::handle s);
void run_import_from(Tracer& t, nb::handle s);

}  // namespace ingot::frontend
