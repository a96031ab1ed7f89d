#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Gives loops over rows, whose iterations `find_race` shows to be independent, the schedule `independent`:
/// where arrays are parts of arrays, and not yet bytes of memory, that can be seen. At the array stage, after
/// `simplify`; for machines with kernels. Null: there is no such loop.
std::unique_ptr<ir::Function> independent(const ir::Function& function);

}  // namespace ingot::transform
