#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Loops whose iterations are independent and hold several loops whose iterations are so become one loop for
/// each (loop fission), for machines with kernels: each is a launch with two axes. At the loop stage, after
/// `fuse_nests`.
///
/// What an iteration does besides must be loads and arithmetic, of memory that no iteration writes: each loop
/// does again what it needs of it. All that the first loop does comes before what the second one does; as no
/// iteration of the loop around touches what another one does, each element sees what it saw. Loops that
/// reduce stay together: there a team of threads does an iteration.
std::unique_ptr<ir::Function> split(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
