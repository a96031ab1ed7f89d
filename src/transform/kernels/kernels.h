#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Divides a function into host code and device code, for machines whose arrays are all in a device's memory.
/// Control flow, shapes, views and allocations stay on the host; loads and stores become `launch`es (which
/// ones: kernel_plan.h). At the loop stage.
///
/// A thread runs one iteration of a nest of loops, or a few neighbours (kernel_together.h); nests like
/// products of matrices are done in tiles (kernel_tiles.h). A parallel loop with values becomes two launches,
/// which combine in the order of base/reduction.h: warps take blocks of iterations, then one block of threads
/// combines these up the tree. All else runs in a launch of one thread, in its order.
///
/// Numbers that a launch gives are stored in memory, a *cell* each: later launches load them there; the host
/// loads those that it needs itself, and waits for them.
std::unique_ptr<ir::Function> kernels(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
