#pragma once

#include "ir/op.h"

namespace ingot::transform {

/// The time that an elementwise op takes for an element, in additions, about.
int cost_of(ir::Op op, base::DType dtype);

}  // namespace ingot::transform
