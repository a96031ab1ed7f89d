#pragma once

#include "frontend/tracer/tracer.h"

/// Items of arrays: `x[index]`, and assignments to them.
namespace ingot::frontend {

Value index_array(Tracer& t, const Array& array, const Value& index, nb::handle node);
void assign_index(Tracer& t, const Array& array, const Value& index, const Value& value, nb::handle node);
/// How many axes of the array a part of an index indexes; refuses more than there are.
int axes_of_part(const Value& part);
void need_axes(Tracer& t, int taken, int rank);
[[noreturn]] void raise_no_index(Tracer& t);  ///< a part is none
NodeId in_range(Tracer& t, NodeId index, NodeId length, int axis);
std::array<NodeId, 3> slice_of(Tracer& t, const Slice& slice, NodeId length);  ///< start, length, step

}  // namespace ingot::frontend
