#pragma once

#include "frontend/tracer/tracer.h"

/// Items of lists and dicts, and how they are stored for the caller.
namespace ingot::frontend {

/// The position of an index or key in a container. None: the dict lacks the key, which is put into `key`.
std::optional<size_t> index_in(Tracer& t, const Reference& container, const Value& index, nb::object& key,
                               const char* missing, nb::handle node);
void put(Tracer& t, const Reference& container, const Value& index, Value value, nb::handle node);
/// Whether an index is a number that cannot be known when compiling; demands it if it can.
bool is_staged_index(Tracer& t, const Value& index, nb::handle node);
/// A staged index as a position from 0 on, checked.
NodeId staged_index_of(Tracer& t, const Value& index, NodeId length, const std::string& missing);
/// The member at a staged position: as a chain of `if` over all members.
Value pick_staged(Tracer& t, const std::vector<Value>& members, NodeId at_index, nb::handle node);
/// The value of a dict under a staged number; none: its keys do not allow that.
std::optional<Value> item_by_staged_key(Tracer& t, const HeapObject& dict, const Value& key, nb::handle node);
void append(Tracer& t, const Reference& container, Value element, nb::handle node);
/// Stores a value in the caller's own container, now or when the call ends, even by an exception.
void write_back(Tracer& t, const Reference& container, std::optional<size_t> at_index, const nb::object& key,
                const Value& value, nb::handle node);
/// The function's own lists and dicts in a value now belong to the caller.
void give_away(Tracer& t, const Value& value, nb::handle node);
/// Refuses the use of an object that belongs to the caller.
void need_own(Tracer& t, const HeapObject& object, nb::handle node);
bool holds(const Tracer& t, const Value& value, uint32_t object);
/// Adds the cells, hidden arguments for the numbers that are stored in the caller's containers: an element
/// of `tags` holds the kind, that of `ints`, `floats` or `complexes` the value.
void add_cells(Tracer& t);
NodeId cell_of(Tracer& t, int container, const char* what);

}  // namespace ingot::frontend
