#pragma once

#include "ir/function.h"

namespace ingot::transform {

/// Whether two scalars are certainly the same where a node stands: one value; equal constants; compared by a
/// condition that an `if` around the node has found to hold, or by a check on the way to it; or made by the
/// same op of what is the same.
bool known_equal(const ir::Function& function, ir::NodeId where, ir::NodeId a, ir::NodeId b);

}  // namespace ingot::transform
