#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Makes of `lift`, `tangent` and `primal` the nodes that compute tangents: each value that varies with what
/// is lifted has its tangent beside it, and each memory that such values are stored in has memory of the same
/// layout for tangents (`Forward`). Where there is a `pull`, the range from the first `lift` to it is gone
/// through backwards instead (`reverse`). The derivative of the largest tag is made first, so that of
/// derivatives in each other the inner is an ordinary part of the outer. At the array stage, where calls are
/// inlined. Throws Unsupported, with its place, where an op has no derivative. Null: nothing is lifted.
std::unique_ptr<ir::Function> derive(const ir::Function& function);

/// Whether `derive` has something to do.
bool has_derivatives(const ir::Function& function);

}  // namespace ingot::transform
