#pragma once

#include <span>

#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// The slopes of reductions, by element of what is reduced.

/// What a reduction along axes gave, along them again, in an array of these lengths.
NodeId over_axes(ir::Builder& builder, std::span<const int64_t> axes, NodeId reduced, const Nodes& lengths);

/// 1 for the one element that is the extreme y; elements that tie share it. `attributes` are the reduction's.
NodeId weights_of_extreme(ir::Builder& builder, std::span<const int64_t> attributes, NodeId x, NodeId y);

/// The product of all other elements.
NodeId product_of_others(ir::Builder& builder, std::span<const int64_t> axes, NodeId x);

/// The lengths of an array or view.
Nodes lengths_of(ir::Builder& builder, NodeId made);

/// A slice of all elements along all axes but one: there of `length` from `start` on.
NodeId slice_along(ir::Builder& builder, NodeId of, int axis, NodeId start, NodeId length, int64_t step = 1);

}  // namespace ingot::transform
