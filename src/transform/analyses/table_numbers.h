#pragma once

#include <functional>

#include "transform/analyses/dependence.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// The numbers that the iterations of a loop find in a table, before the loop: what its iterations are
/// independent by is asked of these, by threads (`outline`) and by launches (`tables`) alike.
class TableNumbers {
 public:
  /// The largest number of a table that is looked at for two that are the same.
  static constexpr int64_t kMostMarks = int64_t{1} << 20;

  /// Of a loop of so many iterations; `use` gives what values from outside the loop have become.
  TableNumbers(LoopWriter& loops, const Table& table, NodeId iterations,
               const std::function<NodeId(NodeId)>& use);

  /// Whether the table has a number for each iteration.
  NodeId are_there();
  /// That of an iteration, int64, where they are there.
  NodeId at(NodeId iteration);

 private:
  LoopWriter& loops_;
  NodeId view_;
  NodeId iterations_;
  NodeId first_;
};

}  // namespace ingot::transform
