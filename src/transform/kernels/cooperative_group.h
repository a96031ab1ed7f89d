#pragma once

#include <map>

#include "transform/kernels/block_scan.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

/// Collectives of a group of threads, of which each is number `thread` of `threads`. All of them come to each
/// of these.
class CooperativeGroup {
 public:
  CooperativeGroup(const CooperativeGroup&) = delete;
  virtual ~CooperativeGroup() = default;

  /// All have come here, and see what the others have stored.
  virtual void wait() = 0;
  /// The values of a parallel loop, which all get.
  virtual Nodes reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
                       const LaneReduction::Iteration& iteration) = 0;
  /// What a loop carries in the end, which all get. `iteration` gives what an iteration carries on, and
  /// stores if it is to.
  using Step = std::function<Nodes(NodeId iteration, std::span<const NodeId> before, bool stores)>;
  virtual Nodes scan(const std::vector<BlockScan::Slot>& slots, bool in_order, NodeId count,
                     const Nodes& inits, const Step& iteration);
  /// One thread does it; then all see what it has stored.
  void alone(const std::function<void()>& body);
  /// The iterations of a loop, shared; then all see what has been stored.
  void share(NodeId count, const std::function<void(NodeId iteration)>& body);

 protected:
  CooperativeGroup(KernelWriter& kernels, LoopWriter& loops, NodeId thread, NodeId threads)
      : kernels_(kernels), loops_(loops), b_(loops.builder()), thread_(thread), threads_(threads) {}

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId thread_;
  NodeId threads_;
};

/// One thread: what it reduces stays in its registers, and has at most `kMostIterations` iterations.
class ThreadGroup final : public CooperativeGroup {
 public:
  static constexpr int64_t kMostIterations = 16;

  ThreadGroup(KernelWriter& kernels, LoopWriter& loops)
      : CooperativeGroup(kernels, loops, loops.index(0), loops.index(1)) {}
  void wait() override {}
  Nodes reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
               const LaneReduction::Iteration& iteration) override;

 private:
  Nodes half(LaneReduction& lanes, int64_t step, NodeId lane, const std::function<Nodes(NodeId)>& leaf);
};

/// A warp, whose threads shuffle: what it reduces stays in their registers, and has at most `kMostIterations`
/// iterations.
class WarpGroup final : public CooperativeGroup {
 public:
  static constexpr int64_t kMostIterations = 2 * base::kReductionBlock;

  WarpGroup(KernelWriter& kernels, LoopWriter& loops, NodeId lane)
      : CooperativeGroup(kernels, loops, lane, loops.index(KernelWriter::kWarp)) {}
  void wait() override { kernels_.warp_barrier(); }
  Nodes reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
               const LaneReduction::Iteration& iteration) override;
  Nodes scan(const std::vector<BlockScan::Slot>& slots, bool in_order, NodeId count, const Nodes& inits,
             const Step& iteration) override;

 private:
  /// What there is before this thread's iteration, and after those of all, the values of the iterations being
  /// given.
  struct Combined {
    Nodes before;
    Nodes after;
  };
  Combined combine_in_order(BlockScan& scan, const Nodes& given, const Nodes& carried);
};

/// A block, of a power of two of warps and at most `KernelWriter::block_threads` threads.
class BlockGroup final : public CooperativeGroup {
 public:
  /// What the block has in common for reductions, which come one after the other.
  class Slots {
   public:
    /// For a value: an element for each thread, and the levels of its tree.
    struct Memory {
      NodeId threads;
      NodeId levels;
    };
    /// At the top of a launch.
    void add(KernelWriter& kernels, const LaneReduction& lanes);
    std::vector<Memory> of(const LaneReduction& lanes) const;

   private:
    std::map<DType, std::vector<Memory>> known_;
  };

  BlockGroup(KernelWriter& kernels, LoopWriter& loops, NodeId thread, NodeId threads, const Slots& slots)
      : CooperativeGroup(kernels, loops, thread, threads), slots_(slots) {}
  void wait() override { kernels_.barrier(); }
  Nodes reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
               const LaneReduction::Iteration& iteration) override;

 private:
  const Slots& slots_;
};

}  // namespace ingot::transform
