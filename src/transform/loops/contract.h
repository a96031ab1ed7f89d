#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Arrays of which each iteration of a loop uses a part of its own become as small as a few iterations need
/// (array contraction): of the intermediate values of `n * n` pairs, a row stays in the cache where all of
/// them went through memory. At the loop stage, after `fuse_nests`.
///
/// It contracts an array that is made in the loop's region and that only loads and stores in that loop use,
/// all of them at the loop's index along one of its axes, where the loop carries nothing and is not
/// `prange`'s. The loop is then run in blocks of iterations, and each block has an array with as many indices
/// along the axis as iterations: as many as the first cache holds, one at least. Each element is computed as
/// before, in the same order.
std::unique_ptr<ir::Function> contract(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
