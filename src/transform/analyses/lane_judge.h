#pragma once

#include <optional>
#include <vector>

#include "transform/analyses/distances.h"
#include "transform/analyses/obstacles.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// Whether the iterations of a loop (`for_`, `parallel_for`) can run in lanes: they are shown to be
/// independent (`find_race`), the loop carries nothing but cursors (ir/cursor.h), and lanes can do all that
/// is in it - operations on scalars, loads and stores, branches, loops, exits to labels inside; nothing that
/// may raise or leave the loop. Checks that are `gone`, by node, count for nothing. `reduces`: a `for`
/// carries reductions that take any order, and nothing else.
bool fits_lanes(const Function& function, NodeId loop, const std::vector<bool>& gone, bool reduces = false);

/// The pairs of accesses of a `for` that carries nothing, if its iterations can run in lanes provided that
/// these keep their order, which is checked before the loop (`keeps_order`); none: they cannot, or need more
/// than a few pairs.
std::optional<std::vector<AccessPair>> pairs_to_ask_for(const Function& function, NodeId loop);

/// Why the iterations of a loop do not run in lanes, be it that they give numbers that it carries; none: they
/// may.
std::optional<Obstacle> lane_obstacle(const Function& function, NodeId loop);

/// What the iterations of a loop load in a region, compared with those of another loop, `around`: a row is
/// contiguous along the iterations of the former and strided along those of the latter.
class RowLoads {
 public:
  RowLoads(const Function& function, NodeId around, NodeId loop, RegionId region);
  /// Whether all loads are of rows, or the same in all iterations.
  bool all() const { return all_; }
  bool any() const { return any_; }

 private:
  void look_at(std::span<const NodeId> indices);
  bool is_step(NodeId index) const;
  bool depends(NodeId value, NodeId iteration) const;

  const Function& f_;
  NodeId around_;  ///< the number of an iteration of that loop
  NodeId iteration_;
  bool all_ = true;
  bool any_ = false;
};

/// The combiners of the values that a `for` carries, if all are reductions that take any order; `checked` as
/// for `reduction_of`.
std::optional<std::vector<Op>> combiners_of(const Function& function, NodeId loop, bool checked = false);

}  // namespace ingot::transform
