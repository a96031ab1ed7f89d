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

}  // namespace ingot::frontend
