#pragma once

#include "ir/function.h"

namespace ingot::transform {

/// Whether two scalars are certainly the same at a node: one value; equal constants; compared by a condition
/// that an `if` around the node has found to hold, or by a check on the path to it; or made by the same op of
/// the same operands.
bool known_equal(const ir::Function& function, ir::NodeId where, ir::NodeId a, ir::NodeId b);

}  // namespace ingot::transform
