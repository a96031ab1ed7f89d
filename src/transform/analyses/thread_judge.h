#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/obstacles.h"

namespace ingot::transform {

/// A loop of so few iterations, known while compiling, is left for the loops inside it.
inline constexpr int64_t kFewToShare = 8;

/// Whether the iterations of a loop may run at the same time; of one that carries nothing, or of a
/// `parallel_for`. `tables`, if given, receives the tables whose numbers have to be natural and different for
/// that.
bool can_share(const ir::Function& function, ir::NodeId loop, std::vector<Table>* tables = nullptr);

/// Why threads do not share a loop; none: they may.
std::optional<Obstacle> thread_obstacle(const ir::Function& function, ir::NodeId loop);

/// Whether all that the iterations of a `for`, which holds no loop, may do is raise: they may run at the same
/// time if the exception that is seen is that of the first of them.
bool only_checks(const ir::Function& function, ir::NodeId loop);

}  // namespace ingot::transform
