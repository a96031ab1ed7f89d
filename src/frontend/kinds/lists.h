#pragma once

#include "frontend/tracer/tracer.h"

/// Lists of the shadow heap: of known length, or list buffers (`list_buffers.h`).
namespace ingot::frontend {

List new_list(Tracer& t, std::vector<Value> values);
/// A value of an object; a list of the host becomes one of the shadow heap.
Value static_value(Tracer& t, const nb::object& object);
void append(Tracer& t, List list, Value element, nb::handle node);
/// Applies a method that changes a list of known length to it, and to the caller's own. `added`: the elements
/// that it gets, `arguments` what is known besides. The result: what the method returns.
Value change_list(Tracer& t, List list, const char* method, std::vector<Value> arguments,
                  std::vector<Value> added, nb::handle node);
Value list_method(Tracer& t, List list, const std::string& name, Call& call);

}  // namespace ingot::frontend
