#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Decides how long buffers live (`ir::Life`): those that do not escape the region that allocates them end
/// with it, and small ones that only loads and stores use are on the stack. At the loop stage. Null: it
/// allocates none.
std::unique_ptr<ir::Function> lifetimes(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
