#pragma once

#include "frontend/tracer/tracer.h"

/// Loops: unrolled, or of the IR.
namespace ingot::frontend {

void run_for(Tracer& t, nb::handle s);
void run_while(Tracer& t, nb::handle s);
/// The elements of an iterable that was known when iterating began; refuses it if it is not any more.
std::vector<Value> still_known(Tracer& t, const Value& iterable, nb::handle node);

}  // namespace ingot::frontend
