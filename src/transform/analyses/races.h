#pragma once

#include "ir/function.h"

namespace ingot::transform {

/// Throws Unsupported, with its location, for a loop over `prange` whose iterations `find_race` does not show
/// to be independent. After `simplify`, where calls are inlined.
void refuse_races(const ir::Function& function);

}  // namespace ingot::transform
