#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Decides how many lanes each vector loop that is a `for` or carries nothing has, unless its width is known
/// already; those that the machine gives no lanes run one iteration at a time. At the loop stage, after all
/// passes that make or change loops.
///
/// As many lanes as fill a register with the widest numbers that come from memory, are computed from such, or
/// are stored; the others are indices. Several registers, where a loop inside makes every iteration wait for
/// the one before. Null: there is nothing to decide.
std::unique_ptr<ir::Function> lanes(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
