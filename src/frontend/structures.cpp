#include "frontend/evaluator_parts.h"
#include "frontend/kinds/pooled_values.h"

// Primitives of `ingot.tree`: instances as structures that their classes describe, or made without
// `__init__`.

namespace ingot::frontend {

Value Evaluator::primitive_rules_of(Call& call) {
  const nb::object type = require_static(call.positional.at(0), "a class", call.node);
  const nb::module_ structures = imported("ingot.library.structures");
  if ((reinterpret_cast<PyTypeObject*>(type.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) {
    guards_.push_back({structures.attr("__dict__"), "changed", structures.attr("changed")});
    for (const char* name : {"__dataclass_fields__", "_fields"}) class_attribute(type, name);
  }
  return structure_of(structures.attr("rules_of")(type));
}

Value Evaluator::primitive_instance(Call& call) {
  const nb::object type = require_static(call.positional.at(0), "a class", call.node);
  const Object made = begin_instance(type, call.node);
  const std::vector<Value> names = parts_of(call.positional.at(1));
  const std::vector<Value> values = parts_of(call.positional.at(2));
  for (size_t i = 0; i < names.size(); ++i) {
    const nb::object name = require_static(names[i], "the name of an attribute", call.node);
    set_plain_attribute(made, text_of(name), stored(values.at(i)), call.node);
  }
  return PooledValues(*this).made(made, call.node);
}

}  // namespace ingot::frontend
