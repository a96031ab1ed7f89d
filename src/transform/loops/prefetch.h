#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Has loops fetch early what they find by a table: `x[table[k]]`. A CPU waits for memory once for each of
/// the few iterations that it has begun at a time; where the lines are asked for some iterations before,
/// these waits are at once.
///
/// A loop that runs one iteration after the other gets a `prefetch` before each load and store of an element
/// whose index is computed from elements of tables that iterations load one after the other: for the element
/// that comes some iterations later, at the end of a table for the last one. It is done where the array is
/// larger than the caches of a core, which is asked before the loop. At the loop stage, before `outline`.
/// Null where the function has no such loop.
std::unique_ptr<ir::Function> prefetch(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
