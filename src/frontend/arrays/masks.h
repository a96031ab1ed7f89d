#pragma once

#include "ir/builder.h"

namespace ingot::frontend {

/// An array whose elements under `mask` are those of `value`, for values computed from scalars and elements
/// under the same mask by cheap operations that cannot fail. Invalid: there is none. The array has the mask's
/// rank; its other elements are arbitrary.
ir::NodeId before_mask(ir::Builder& builder, ir::NodeId value, ir::NodeId mask);

/// What a view is read as: what it has been read as before in the same region, with nothing written since,
/// or anew. What a mask chooses has the same length each time then.
ir::NodeId read_mask(ir::Builder& builder, ir::NodeId view);

}  // namespace ingot::frontend
