#pragma once

#include <functional>
#include <optional>

#include "transform/kernels/kernel_writer.h"
#include "transform/kernels/nest_copies.h"

namespace ingot::transform {

/// A nest whose stores go on in memory along one of its levels, the *columns*, and some of whose loads along
/// another one, the *rows*: a copy with its axes in another order, and what is computed with one.
struct Transposition {
  std::vector<NodeId> levels;  ///< of the nest
  NodeId rows;
  NodeId columns;
  Nodes loads;  ///< those along the rows

  /// Of a nest with these levels, which is known to have independent iterations, for blocks that may have so
  /// much in shared memory; none: it is not so.
  static std::optional<Transposition> find(const Function& f, std::span<const NodeId> levels,
                                           int64_t shared_bytes);
};

/// Writes launches of such a nest. A block of threads has a square of rows and columns: its loads are put
/// into the block's memory by threads that are neighbours along the rows, and taken from there by threads
/// that are neighbours along the columns.
class KernelTransposes {
 public:
  /// `use`: what a value from outside of the nest has become.
  KernelTransposes(KernelWriter& kernels, LoopWriter& loops, const Function& source,
                   const Transposition& nest, const std::function<NodeId(NodeId)>& use);

  /// Launches in squares where there are enough rows and columns; `plain` writes what others do. `prepare`
  /// writes what is at the top of the launch.
  void write(const std::function<void()>& prepare, const std::function<void()>& plain);

 private:
  using Lane = NestCopies::Lane;
  struct Stage {
    NodeId load;
    NodeId view;
    int64_t stride;  ///< elements from one column to the next
  };

  void write_square(std::span<const NodeId> at, NodeId thread);
  void fill(const Lane& outside, NodeId first_row, NodeId first_column, NodeId thread);
  NodeId length(NodeId level) const { return use_(source_.operand(level, 0)); }
  NodeId parameter(NodeId level) const { return source_.region_parameters(source_.region(level))[0]; }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  const Function& source_;
  const Transposition& nest_;
  std::function<NodeId(NodeId)> use_;
  NestCopies copies_;
  int64_t edge_;  ///< rows and columns of a square
  int64_t down_;  ///< threads of a block across what a warp has
  std::vector<Stage> stages_;
};

}  // namespace ingot::transform
