#pragma once

#include <cstdint>
#include <span>

#include "ir/function.h"

namespace ingot::transform {

/// How many neighbouring iterations of a nest's last level a thread does best together, so that one access
/// loads or stores neighbouring elements: 1, 2 or 4. Of a nest with these levels, whose iterations are
/// independent.
int64_t iterations_together(const ir::Function& f, std::span<const ir::NodeId> levels);

/// Whether elements that are neighbours along an axis of a view are known to be neighbours in memory.
bool is_dense(const ir::Function& f, ir::NodeId view, size_t axis);

}  // namespace ingot::transform
