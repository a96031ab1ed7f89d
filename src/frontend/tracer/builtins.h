#pragma once

#include "frontend/tracer/tracer.h"

namespace ingot::frontend {

// What the registry's entries call: one function for each handler of builtins.def.
using Handler = Value (*)(Tracer& t, Call& call);
#define INGOT_BUILTIN(handler, ...) Value handler(Tracer& t, Call& call);
#include "frontend/builtins.def"

}  // namespace ingot::frontend
