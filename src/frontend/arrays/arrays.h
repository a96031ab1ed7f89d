#pragma once

#include "frontend/tracer/tracer.h"

/// Arrays: shapes, memory and views.
namespace ingot::frontend {

using Making = std::function<NodeId(const std::vector<NodeId>& operands)>;

Value array_attribute(Tracer& t, const Array& array, const std::string& name, nb::handle node);
/// If an argument is a memory map, refuses operations that distinguish one from other arrays: the frontend
/// does not know which arrays are of its class.
void need_no_memory_maps(Tracer& t, const std::string& what, nb::handle node);
void need_writable(Tracer& t, const Array& array, const char* complaint, nb::handle node);
/// Converts as an assignment to an array does; `among`: to elements that an index array or a mask selects,
/// for which NumPy casts its scalars unchecked.
NodeId value_for(Tracer& t, const Value& value, DType dtype, bool among = false);
/// Checks that the result of an operation can be stored in an array of these lengths.
void need_shape(Tracer& t, const Array& result, std::span<const NodeId> lengths);
std::vector<NodeId> broadcast_together(
    Tracer& t, std::vector<NodeId> operands, base::ExceptionKind kind = base::ExceptionKind::ValueError,
    const char* complaint = "operands could not be broadcast together with shapes ");
std::vector<NodeId> lengths_of(Tracer& t, NodeId shaped);
NodeId size_of(Tracer& t, NodeId shaped);
NodeId whole(Tracer& t, const Value& value);           ///< an array's value: reads a view
Array named(Tracer& t, const Value& value);            ///< an array as memory: materialises a value
Value from_node(Tracer& t, NodeId node);               ///< a NumPy scalar, or an array not yet named
Array owner(Tracer& t, NodeId view);                   ///< the array object of newly allocated memory
Array viewing(Tracer& t, NodeId view, Access access);  ///< a new object on the memory of another
NodeId materialized(Tracer& t, NodeId array);          ///< new memory, in memory_order
NodeId transposed(Tracer& t, NodeId array, std::span<const int64_t> axes);
/// The elementwise result of arrays of one rank and scalars, in memory_order.
NodeId by_element(Tracer& t, std::vector<NodeId> operands, const Making& make);
std::vector<int64_t> order_of(Tracer& t, std::span<const NodeId> operands);  ///< `memory_order`
/// If a number is the length of an argument's last axis, asks for facts about that axis.
void measure(Tracer& t, NodeId length);
/// A reduction along axes (ascending), in memory_order; over all axes.
NodeId reduce(Tracer& t, std::vector<NodeId> operands, ir::Op combiner, std::span<const int64_t> axes);
NodeId reduce_all(Tracer& t, const std::vector<NodeId>& operands, ir::Op combiner);
NodeId repeated(Tracer& t, NodeId value, std::span<const NodeId> lengths);  ///< a broadcast
/// An array broadcast to lengths; `gathered`: the lengths are those of index arrays (for messages).
NodeId fit(Tracer& t, NodeId value, std::span<const NodeId> lengths, bool gathered = false);
NodeId both(Tracer& t, NodeId a, NodeId b);
NodeId negate(Tracer& t, NodeId a);

}  // namespace ingot::frontend
