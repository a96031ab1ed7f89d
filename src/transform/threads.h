#pragma once

#include <memory>

#include "ir/function.h"
#include "transform/dependence.h"
#include "transform/obstacles.h"

namespace ingot::transform {

/// Chooses the loops whose iterations threads may share: schedule `threads` or `threads_vector`. At the loop
/// stage, after `schedule`. Whether a loop has enough work for that is decided when it is entered.
///
/// A `for` can, if its iterations are shown to be independent (`find_race`) and it carries nothing; a
/// `parallel_for` can, if it only reads memory. Where iterations write at indices from tables, which are not
/// shown to be different (`Table`), `outline` has them compared when the loop is entered. A loop that may
/// raise is taken only if it is marked already (`prange`); other loops keep the order of their effects. Of
/// nested loops the outermost is taken; the others lose the mark if they have it.
std::unique_ptr<ir::Function> threads(const ir::Function& function);

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
