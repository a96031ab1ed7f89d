#pragma once

#include "base/reduction.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// The values of a reduction's blocks, as base/reduction.h combines them: they wait as a binary counter
/// carries, level l for that of 2**l blocks. At every index of `at`, values of their own.
class BlockTree {
 public:
  BlockTree(LoopWriter& loops, Op combiner, DType dtype, NodeId blocks, std::span<const NodeId> at = {});
  /// Of any number of blocks, in a view of `kMostLevels` elements.
  static BlockTree in(LoopWriter& loops, Op combiner, NodeId blocks, NodeId levels);
  static constexpr int64_t kMostLevels = 54;

  /// Takes the value of the next block, `done` blocks being there.
  void push(NodeId done, NodeId value, std::span<const NodeId> at = {});
  /// The value of all blocks; of none the combiner's identity, if it has one.
  NodeId total(std::span<const NodeId> at = {});

 private:
  BlockTree(LoopWriter& loops, Op combiner, Type type, NodeId blocks, NodeId level_count, NodeId levels);
  NodeId load(NodeId level, std::span<const NodeId> at);
  NodeId count_bits_below(NodeId number);

  LoopWriter& loops_;
  ir::Builder& b_;
  Op combiner_;
  Type type_;
  NodeId blocks_;
  NodeId level_count_;
  NodeId levels_;
};

/// The binary digits of a number of at least 0 and below 2**53.
NodeId count_digits(LoopWriter& loops, NodeId number);
/// How many blocks a range has.
NodeId count_blocks(LoopWriter& loops, NodeId count, int64_t block = base::kReductionBlock);

}  // namespace ingot::transform
