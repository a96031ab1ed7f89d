#pragma once

#include <functional>

#include "transform/analyses/dependence.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// The numbers that the iterations of a loop find in a table, before the loop: what its iterations are
/// independent by is asked of these, by threads (`outline`) and by launches (`tables`) alike: whether no two
/// of them are the same. Larger ones than some are not looked at, and taken to be the same.
class TableNumbers {
 public:
  /// Of a loop of so many iterations; `use` gives what values from outside the loop have become.
  TableNumbers(LoopWriter& loops, const Table& table, NodeId iterations,
               const std::function<NodeId(NodeId)>& use);

  /// Whether the table has a number for each iteration.
  NodeId are_there();

  /// Whether they are there, natural and different: by loops that one thread runs, with a mark for each
  /// number up to the largest one.
  NodeId differ();
  /// Whether `holds` in each iteration, and its numbers are natural and within the axes that they name, and
  /// different: by loops whose iterations are in no order, with a mark for each row. Of numbers that are
  /// there, of one loop.
  static NodeId name_rows_apart(LoopWriter& loops, std::span<TableNumbers> numbers,
                                const std::function<NodeId(NodeId iteration)>& holds);

 private:
  /// The largest number that is looked at.
  static constexpr int64_t kMostMarks = int64_t{1} << 20;

  NodeId at(NodeId iteration);
  NodeId differ_up_to(NodeId largest);

  LoopWriter& loops_;
  NodeId view_;
  NodeId iterations_;
  NodeId first_;
  NodeId named_;
  size_t axis_;
};

}  // namespace ingot::transform
