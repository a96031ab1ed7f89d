#pragma once

#include "frontend/tracer/tracer.h"

/// New arrays.
namespace ingot::frontend {

using NewArray = std::function<Array(std::span<const NodeId> lengths)>;

/// Raises if an array is too large for NumPy.
void check_size(Tracer& t, std::span<const NodeId> lengths, DType dtype);
/// New arrays: with uninitialised elements, and filled with one value.
Array empty(Tracer& t, std::span<const NodeId> lengths, DType dtype);
Array new_memory(Tracer& t, std::span<const NodeId> lengths,
                 DType dtype);  ///< as `empty`, its size checked before
Array filled(Tracer& t, std::span<const NodeId> lengths, NodeId value);

}  // namespace ingot::frontend
