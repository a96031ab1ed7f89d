#pragma once

#include "frontend/tracer/tracer.h"

/// Special methods of users' classes (`__add__`), and what Python does by them.
namespace ingot::frontend {

/// Calls a special method (`__add__`) of the user's class or of a dataclass; none: the class has none.
std::optional<Value> call_special(Tracer& t, const Value& self, const std::string& method,
                                  std::vector<Value> arguments, nb::handle node);
std::optional<Value> binary_of_objects(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node);
std::optional<Value> in_place_of_object(Tracer& t, Operator op, const Value& a, const Value& b,
                                        nb::handle node);
std::optional<Value> compare_objects(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
/// None: neither an instance nor a tuple, nor of a class with such a method.
std::optional<Value> unary_of_object(Tracer& t, Operator op, const Value& a, nb::handle node);
Value truth_of_object(Tracer& t, const Value& value, nb::handle node);
bool has_truth(Tracer& t, const nb::object& type);  ///< a `__bool__` or `__len__` of the user's
/// `len`, `abs` and the like; none: not for such arguments.
std::optional<Value> builtin_of_object(Tracer& t, const Builtin& builtin, Call& call);
bool has_own_equality(Tracer& t, const nb::object& type);  ///< an `__eq__` or `__hash__` of the user's
bool has_text(Tracer& t, const nb::object& type);  ///< a `__str__`, `__repr__` or `__format__` of the user's
Value text_of_object(Tracer& t, const Value& value, const std::string& form, nb::handle node);

}  // namespace ingot::frontend
