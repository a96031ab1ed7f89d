#pragma once

#include "transform/kernel_writer.h"

namespace ingot::transform {

/// What the threads of one block do together, each at its place `thread` of `threads`, which is a power of
/// two of warps and at most `KernelWriter::block_threads`. All threads come to each of these.
class KernelTeam {
 public:
  KernelTeam(KernelWriter& kernels, LoopWriter& loops, NodeId thread, NodeId threads)
      : kernels_(kernels), loops_(loops), b_(loops.builder()), thread_(thread), threads_(threads) {}

  /// One thread does it; then all see what it has stored.
  void alone(const std::function<void()>& body);
  /// The turns of a loop, shared; then all see what has been stored.
  void share(NodeId count, const std::function<void(NodeId turn)>& body);
  /// The values of a parallel loop, which all get. `shared` are the places of `lanes`.
  Nodes reduce(LaneReduction& lanes, NodeId count, const Nodes& inits, const LaneReduction::Turn& turn,
               std::span<const NodeId> shared);

 private:
  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId thread_;
  NodeId threads_;
};

}  // namespace ingot::transform
