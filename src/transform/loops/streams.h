#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Decides which stores of vector loops go past the caches, and when: they become `stream`, whose condition
/// is computed before the loop. Otherwise what a loop writes and does not read is fetched into the cache
/// first, line by line, only to be written back: of large arrays a third of the memory traffic. So stores
/// bypass the caches where all that a nest writes through a view has more bytes than caches keep, in long
/// rows. At the loop stage, before `outline`. Null where the machine has no such stores or the function no
/// vector loop.
std::unique_ptr<ir::Function> streams(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
