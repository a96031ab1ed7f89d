#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// The members that a slice selects.
std::vector<Value> part_of(Evaluator& e, const std::vector<Value>& members, const Slice& slice,
                           nb::handle node);
/// `start:`.
Slice slice_from(const Value& start);
/// The member at an index, as tuples and lists take it; `what`: "tuple" or "list", for messages.
Value member_of(Evaluator& e, const std::vector<Value>& members, const Value& index, const std::string& what,
                nb::handle node);
/// `value[::-1]` as `reversed` gives it; none: it is an array without axes.
std::optional<Value> reversed_slice(Evaluator& e, const Value& value, nb::handle node);
/// Raises what Python's method raises, if the types and the number of its arguments decide it.
void raise_as_method(Evaluator& e, const Value& self, const std::string& name, const Evaluator::Call& call);
/// `list *= count` (`ValueKind::in_place`).
std::optional<Value> repeat_in_place(Evaluator& e, const Value& list, const Value& count, nb::handle node);
/// A list of objects of the values' types; invalid: one has none.
nb::object stand_ins(const Evaluator& e, std::span<const Value> values);

}  // namespace ingot::frontend
