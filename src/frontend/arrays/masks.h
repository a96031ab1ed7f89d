#pragma once

#include "ir/builder.h"

namespace ingot::frontend {

/// An array whose elements under `mask` are those of `value`, for values computed from scalars and elements
/// under the same mask by cheap operations that cannot fail. Invalid: there is none. The array has the mask's
/// rank; its other elements are arbitrary.
ir::NodeId before_mask(ir::Builder& builder, ir::NodeId value, ir::NodeId mask);

/// An array, or what its view was read as before in the same region, with nothing written between: what a
/// mask chooses has the same length each time then.
ir::NodeId as_first_read(const ir::Function& f, ir::NodeId array);

/// Whether it is known that no two elements of a view are at one location.
bool has_own_elements(const ir::Function& f, ir::NodeId view);
/// Whether none are, found when the code runs: each stride is at least what the axes of smaller strides span.
/// False for some views of which none are.
ir::NodeId asks_for_own_elements(ir::Builder& builder, ir::NodeId view);

}  // namespace ingot::frontend
