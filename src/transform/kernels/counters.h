#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Carried int64s to which each iteration of a `for` adds the same number, as `a += 1` does, are computed
/// from the number of the iteration (removal of induction variables): iterations that pass nothing else on
/// may run at once. Lengths of arrays are taken before loops, and those that are checked to be equal are one.
/// Of functions that run on a device, at the array stage.
std::unique_ptr<ir::Function> counters(const ir::Function& function);

}  // namespace ingot::transform
