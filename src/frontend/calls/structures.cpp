// Primitives of `ingot.tree`: instances as structures that their classes describe, or made without
// `__init__`.

#include "frontend/arrays/scalars.h"
#include "frontend/calls/batching.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

Value primitive_rules_of(Tracer& t, Call& call) {
  const nb::object type = require_static(t, call.positional.at(0), "a class", call.node);
  const nb::module_ structures = imported("ingot.library.structures");
  if ((reinterpret_cast<PyTypeObject*>(type.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) {
    t.guards.push_back({structures.attr("__dict__"), "changed", structures.attr("changed")});
    for (const char* name : {"__dataclass_fields__", "_fields"}) class_attribute(t, type, name);
  }
  return structure_of(t, structures.attr("rules_of")(type));
}

Value primitive_instance(Tracer& t, Call& call) {
  const nb::object type = require_static(t, call.positional.at(0), "a class", call.node);
  const Object made = begin_instance(t, type, call.node);
  const std::vector<Value> names = parts_of(call.positional.at(1));
  const std::vector<Value> values = parts_of(call.positional.at(2));
  for (size_t i = 0; i < names.size(); ++i) {
    const nb::object name = require_static(t, names[i], "the name of an attribute", call.node);
    set_plain_attribute(t, made, text_of(name), stored(t, values.at(i)), call.node);
  }
  return PooledValues(t).made(made, call.node);
}

}  // namespace ingot::frontend
