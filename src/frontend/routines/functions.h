#pragma once

#include "frontend/tracer/tracer.h"

/// Calls of Python functions: inlined, or of routines.
namespace ingot::frontend {

std::string module_of(const Frame& frame);
/// Makes a frame the next activation, called at a node, without entering it.
void prepare(Tracer& t, Frame& frame, nb::handle node);
/// Evaluates the body of a function in an activation.
Value activate(Tracer& t, Frame& frame, std::map<std::string, Value> locals, nb::handle node);
Value run_function(Tracer& t, nb::object function, std::map<std::string, Value> locals, nb::handle node);
[[noreturn]] void refuse_recursion(Tracer& t, const Frame& frame, nb::handle node);
/// How many `return` statements these statements hold, without those of inner functions.
int count_returns(nb::handle statements);

}  // namespace ingot::frontend
