#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Replaces `lift`, `tangent` and `primal` by the nodes that compute tangents: each value that varies with a
/// lifted one gets a tangent, and each memory that such values are stored in gets shadow memory of the same
/// layout (`Forward`). Where there is a `pull`, a reverse sweep of the range from the first `lift` to it is
/// made instead (`reverse`). The derivative of the largest tag is made first, so that of nested derivatives
/// the inner is an ordinary part of the outer. At the array stage; calls are inlined first. Throws
/// Unsupported, with its location, where an op has no derivative. Null: nothing is lifted.
std::unique_ptr<ir::Function> derive(const ir::Function& function);

}  // namespace ingot::transform
