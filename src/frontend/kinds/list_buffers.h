#pragma once

#include "frontend/kinds/value_kind.h"

/// List buffers: lists whose length is not known when compiling, as columns of numbers.
namespace ingot::frontend {

bool is_range_to_demand(const Tracer& t, const Value& iterable);  ///< its bounds can be known when compiling
std::optional<Value> form_of(Tracer& t,
                             const Value& element);  ///< without nodes; none: list buffers cannot hold it
std::optional<Value> joined_form(Tracer& t, const Value& a, const Value& b);
NodeId leading(Tracer& t, NodeId view, NodeId count);
void store_element(Tracer& t, const HeapObject& list, NodeId at_index, const Value& element);
Value load_element(Tracer& t, const HeapObject& list, NodeId at_index);
const HeapObject* growing(const Tracer& t, const Value& value);  ///< null: not a list of unknown length
NodeId length_of(const HeapObject& list);
bool may_grow(Tracer& t, List list);  ///< it has elements, and a list buffer can hold them
std::vector<NodeId> list_buffer_lengths(const Tracer& t,
                                        const Value& iterable);  ///< of the lists that are iterated over
/// Refuses iterations that change the length of a list; if it is a dict's, raises as Python does.
void check_lengths(Tracer& t, const Value& iterable, std::span<const NodeId> before, nb::handle node);
Value widen(Tracer& t, List list, const Value& given,
            nb::handle node);  ///< the element as stored
void grow(Tracer& t, List list, const Value& given, nb::handle node);
Value list_buffer_item(Tracer& t, List list, const Value& index, nb::handle node);
void set_list_buffer_item(Tracer& t, List list, const Value& index, const Value& value, nb::handle node);
Value checked_index(Tracer& t, const Value& index);
Value list_buffer_method(Tracer& t, List list, const std::string& name, Call& call);
/// A function of `ingot.library.lists`.
Value by_library(Tracer& t, const char* name, std::vector<Value> arguments, nb::handle node,
                 std::vector<std::pair<std::string, Value>> keywords = {});
std::vector<Value> sorted_by_library(Tracer& t, const std::vector<Value>& values, Call& call);
bool has_open_length(const Tracer& t, const Value& iterable);  ///< whether its length is not known
NodeId array_of_list_buffer(Tracer& t, const HeapObject& list, nb::handle node,
                            std::optional<DType> wanted = {});
Description describe_list_buffer(Tracer& t, const HeapObject& list, Outward& outward);
Value listed(Tracer& t, const Value& iterable, nb::handle node);

}  // namespace ingot::frontend
