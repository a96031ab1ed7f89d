#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Loops after each other become one (loop fusion), so that what one writes is still in the cache where the
/// next one reads it: statements that change an array in place, one after the other, go through it once. At
/// the loop stage, after `checks`.
///
/// Of two loops of one count that carry nothing, do nothing but read and write memory, some of it both, and
/// of which no iteration touches what another iteration of either one does (`find_conflict_between`), the
/// second moves into the first, iteration by iteration, up to 32 of them; so do loops in them. What is
/// between them must be free to be computed before.
std::unique_ptr<ir::Function> fuse_nests(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
