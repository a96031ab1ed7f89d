#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// The join of two numbers; none: they are none.
std::optional<Value> joined_numbers(const Tracer& t, const Value& a, const Value& b, const std::string& what);
/// What a number is as a part of an index.
IndexPart index_part_of_number(std::optional<Kind> kind);

/// What kinds of numbers and arrays have in common: operators of two of them (arithmetic.cpp).
class OperandKind : public ValueKind {
 public:
  Answer unary(Tracer& t, Operator op, const Value& value, nb::handle node) const override;
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;

 protected:
  ~OperandKind() = default;
};

/// An element of a number of NumPy's, which is an array without axes here.
Value item_of_numpy_number(Tracer& t, const Value& number, Kind kind, const Value& index, nb::handle node);
/// Calls a method of arrays and numbers of NumPy's; none: it is not known.
std::optional<Value> call_numpy_method(Tracer& t, const Value& self, const std::string& name, Call& call);
/// Calls a method of a number that NumPy's library does not implement.
Value call_own_method(Tracer& t, const Value& self, const std::string& name, Call& call);
/// Calls a method of a number, known or not.
Value call_number_method(Tracer& t, const Value& self, const std::string& name, Call& call);

}  // namespace ingot::frontend
