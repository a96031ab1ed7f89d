#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Loops around whole nests go into them (strip mining and interchange): where the iterations of a loop each
/// go through the same arrays - a sum over shifted slices, steps in time of which each element needs its own
/// past alone - it is run for a strip of the arrays at a time, as much of them as the first cache holds. At
/// the loop stage, after `fuse_nests`.
///
/// A loop that carries nothing holds, besides operations and loads, a single loop, or more of them of one
/// count that is known outside; these may be loops around others in turn. The ones inside are run by strips
/// if no two of their iterations of different numbers touch the same memory in any iterations of the loops
/// around them (`find_conflict_between`), and if they write what other iterations around them write again.
/// Each element is computed from the same operands in the same order as before.
std::unique_ptr<ir::Function> interchange(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
