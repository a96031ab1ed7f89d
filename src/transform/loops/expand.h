#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Runs iterations in lanes that make arrays of their own (scalar expansion, of arrays): the columns of a
/// Jacobian, each of which has its tangents. At the loop stage, before `schedule`.
///
/// A loop is taken if its iterations are shown to be independent (`fits_lanes`), it carries nothing, all that
/// it allocates is of a size that is known before it and is stored and loaded by element alone, the loops
/// inside have counts that all iterations share, and all else that depends on the iteration is in memory
/// next to that of the next one. It becomes a loop over blocks of iterations that run in lanes; of each array
/// each block makes one for all its iterations, with their elements next to each other, so that threads may
/// share the blocks. Where a cache does not hold these, which is asked before the loop, it runs as before.
/// Each value is computed from the same operands in the same order as before.
std::unique_ptr<ir::Function> expand(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
