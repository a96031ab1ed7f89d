#pragma once

#include <vector>

#include "transform/kernels/kernel_writer.h"

namespace ingot::transform {

/// What the threads of a block - all `block_threads` of it - give, combined in the order of the threads.
class BlockScan {
 public:
  struct Slot {
    Op combiner;  ///< associative
    DType dtype;
    base::Scalar identity;  ///< as the first operand it gives back the second one
  };
  struct Scanned {
    Nodes before;  ///< what the threads before this one give
    Nodes all;     ///< what all of them give
  };

  BlockScan(KernelWriter& kernels, LoopWriter& loops, std::vector<Slot> slots);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Type>& types() const { return types_; }
  /// What the block has in common for it. At the top of a launch.
  Nodes places() {
    return shared(kernels_.block_threads() / (kernels_.has_warps() ? KernelWriter::kWarp : 1));
  }
  /// ... by slot, of any length.
  Nodes shared(int64_t length);
  /// All threads come here.
  Scanned scan(const Nodes& places, NodeId thread, const Nodes& own);

  /// ... of the threads of a warp. All of the warp come here.
  Scanned scan_warp(NodeId lane, const Nodes& own);

  Nodes combine(std::span<const NodeId> a, std::span<const NodeId> b);
  Nodes identities();
  Nodes load_all(std::span<const NodeId> views, NodeId at);
  void store_all(std::span<const NodeId> views, NodeId at, std::span<const NodeId> values);

 private:
  Scanned scan_by_warps(const Nodes& places, NodeId thread, const Nodes& own);
  Nodes in_warp(NodeId lane, Nodes own);
  Nodes before_in_warp(NodeId lane, const Nodes& sums);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  std::vector<Slot> slots_;
  std::vector<Type> types_;
};

}  // namespace ingot::transform
