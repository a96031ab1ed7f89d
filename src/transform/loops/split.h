#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Independent loops that hold several independent loops become one loop for each (loop fission), for
/// machines with kernels: each is a launch with two axes. At the loop stage, after `fuse_nests`.
///
/// What an iteration does besides must be loads and arithmetic, of memory that no iteration writes: each loop
/// repeats what it needs of it. The first loop runs before the second one; as no iteration of the loop around
/// touches what another one does, each load gives what it gave. Loops that reduce stay together: there a team
/// of threads runs an iteration.
///
/// Of an independent loop, of fewer iterations than keep a device busy, whose iterations go through a loop
/// whose iterations have an order, as `for d in ...: for v in ...: for s in ...` does over intervals v that
/// may overlap, that loop comes to be the outer one (loop interchange).
std::unique_ptr<ir::Function> split(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
