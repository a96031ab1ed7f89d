#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// The members that a slice selects.
std::vector<Value> part_of(Tracer& t, const std::vector<Value>& members, const Slice& slice, nb::handle node);
/// `start:`.
Slice slice_from(const Value& start);
/// The position of a known index; raises for others. `what`: "tuple" or "list", for messages; `missing`: the
/// message where there is no such element.
size_t known_index(Tracer& t, size_t size, const Value& index, const std::string& what,
                   const std::string& missing, nb::handle node);
/// Whether an index is a number that cannot be known when compiling; demands it if it can.
bool is_staged_index(Tracer& t, const Value& index, nb::handle node);
/// A staged index as a position from 0 on, checked.
NodeId staged_index_of(Tracer& t, const Value& index, NodeId length, const std::string& missing);
/// The member at a staged position: as a chain of `if` over all members.
Value pick_staged(Tracer& t, const std::vector<Value>& members, NodeId position, nb::handle node);
/// The members of a tuple; any other index by itself.
std::vector<Value> parts_of_index(const Value& index);
/// The member at an index, as tuples and lists take it; `what`: "tuple" or "list", for messages.
Value member_of(Tracer& t, const std::vector<Value>& members, const Value& index, const std::string& what,
                nb::handle node);
/// `value[::-1]` as `reversed` gives it; none: it is an array without axes.
std::optional<Value> reversed_slice(Tracer& t, const Value& value, nb::handle node);
/// Raises what Python's method raises, if the types and the number of its arguments decide it.
void raise_as_method(Tracer& t, const Value& self, const std::string& name, const Call& call);
/// `list *= count` (`ValueKind::in_place`).
std::optional<Value> repeat_in_place(Tracer& t, const Value& list, const Value& count, nb::handle node);
/// A list of objects of the values' types; invalid: one has none.
nb::object stand_ins(const Tracer& t, std::span<const Value> values);
/// The index of the first member that equals a value; -1: none does.
NodeId index_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node);
Value count_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node);
/// In the order that `call.keywords` (key, reverse) ask for.
std::vector<Value> sorted_values(Tracer& t, const std::vector<Value>& values, Call& call);
/// A list of the host: the numbers from `first` on.
nb::list counted(size_t first, size_t count);

Value bound_method(const Value& function, const Value& self);
Value bound_partial(std::vector<Value> parts);  ///< of the function, a tuple and a dict
Value by_ranges(Tracer& t, const char* name, std::vector<Value> arguments,
                nb::handle node);             ///< of `library.ranges`
Value eval_bound(Tracer& t, nb::handle e);    ///< of a slice: perhaps None
const Maybe* open_bound(const Value& index);  ///< a bound of a slice that may be None; null: none
/// Applies `use` to a slice on two paths: with the bound, and with None instead of it.
Value by_bound(Tracer& t, const Maybe& bound, const Value& index,
               const std::function<Value(const Value&)>& use);
std::optional<Value> binary_of_sequences(Tracer& t, Operator op, const Value& a, const Value& b,
                                         nb::handle node);
bool is_numpys(const Value& value);  ///< an array, or one of NumPy's numbers
/// The kind of a number that a sequence is repeated by; none: it is no int.
std::optional<Kind> repeats(const Value& count);
/// If one operand is NumPy's and the other a sequence: both, the sequence as an array; else none.
std::optional<std::pair<Value, Value>> as_arrays(Tracer& t, const Value& a, const Value& b, nb::handle node);

}  // namespace ingot::frontend
