#pragma once

#include "frontend/tracer/tracer.h"

/// Classes, instances and their attributes.
namespace ingot::frontend {

/// The class of an instance, a namedtuple or a member of an Enum; invalid for all other values.
nb::object class_of_value(const Tracer& t, const Value& value);
bool has_class(const Tracer& t, const Value& value);  ///< whether it is one of these
/// Refuses instances among the arguments of a builtin; converts buffers to arrays where NumPy does.
void need_no_instances(Tracer& t, const Builtin& builtin, Call& call);
nb::object class_attribute(Tracer& t, const nb::object& type,
                           const std::string& name);  ///< guarded; see `lookup`
size_t index_of_attribute(Tracer& t, const HeapObject& instance, const std::string& name, nb::handle node);
Value object_attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node);
Value type_attribute(Tracer& t, const nb::object& type, const std::string& name, nb::handle node);
std::optional<Value> super_attribute(Tracer& t, nb::handle e);  ///< of `super()`; none: another expression
void set_attribute(Tracer& t, const Value& target, const std::string& name, Value value, nb::handle node);
/// As `object.__setattr__` does it.
void set_plain_attribute(Tracer& t, const Value& object, const std::string& name, Value value,
                         nb::handle node);
void delete_attribute(Tracer& t, const Value& target, const std::string& name, nb::handle node);
Value make_instance(Tracer& t, const nb::object& type, Call& call);
Object begin_instance(Tracer& t, const nb::object& type, nb::handle node);  ///< without attributes
Value call_wrapper(Tracer& t, const nb::object& wrapper, Call& call);       ///< of a slot of `object`
Value namedtuple_method(Tracer& t, const nb::object& function, Call& call);
/// The number or string of a member of an IntEnum, StrEnum and the like; other values as they are.
Value plain_number(Tracer& t, const Value& value);

}  // namespace ingot::frontend
