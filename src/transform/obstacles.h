#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// What keeps the iterations of a loop from running together, in words for users, and the nodes that it is
/// about.
struct Obstacle {
  std::string what;
  ir::NodeId node;
  ir::NodeId other;  ///< may be `node`
};

/// A loop, and what keeps it from lanes and from being shared among threads; none: nothing does.
struct LoopObstacles {
  ir::NodeId loop;
  std::optional<Obstacle> lanes;
  std::optional<Obstacle> threads;
};

/// Those of all loops of a function that run for each of their own iterations, in its order. At the loop
/// stage, before `schedule`; it decides nothing, and reports what `schedule` and `threads` will find.
std::vector<LoopObstacles> obstacles_of(const ir::Function& function);

/// The obstacle that effects are, if a node has such that no two iterations can have at once. `may_raise`:
/// exceptions are none.
std::optional<Obstacle> obstacle_in(const ir::Function& function, ir::RegionId region,
                                    bool may_raise = false);

}  // namespace ingot::transform
