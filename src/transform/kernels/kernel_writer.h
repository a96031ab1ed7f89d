#pragma once

#include <bit>
#include <functional>

#include "base/machine.h"
#include "base/reduction.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// The largest power of two that is no larger than a positive number.
inline int64_t power_of_two_below(int64_t number) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(number)));
}

/// Writes launches.
class KernelWriter {
 public:
  static constexpr int64_t kWarp = 32;

  KernelWriter(LoopWriter& loops, const base::Machine& machine)
      : loops_(loops), b_(loops.builder()), machine_(machine) {}

  int64_t block_threads() const { return machine_.block_threads; }
  int64_t shared_bytes() const { return machine_.shared_bytes; }
  bool has_warps() const { return machine_.warp_threads == kWarp; }

  /// Whether a warp of a block may wait for blocks that have taken lower numbers.
  bool may_look_back() const { return has_warps() && machine_.blocks_in_order; }

  /// A launch of one thread.
  void single(const std::function<void()>& thread);
  /// A thread for each index of up to three axes; neighbouring threads have neighbouring indices along the
  /// last one. With `goes_beyond`, threads whose index is beyond the end of the last axis run, too.
  void grid(std::span<const NodeId> lengths, const std::function<void(std::span<const NodeId>)>& thread,
            bool goes_beyond = false);
  /// So many blocks of `block_threads`.
  void blocks(NodeId count, const std::function<void(NodeId block, NodeId thread)>& thread);
  /// A block of `threads` threads for each index: a group. `prepare` writes what is at the top of the launch.
  void groups(NodeId count, NodeId threads, const std::function<void()>& prepare,
              const std::function<void(NodeId index, NodeId thread)>& thread);
  /// A warp for each index, where there are warps.
  void warps(NodeId count, const std::function<void()>& prepare,
             const std::function<void(NodeId index, NodeId lane)>& warp);
  /// `body(i)` for i = first, first + step, ... below the end.
  void strided(NodeId first, NodeId end, NodeId step, const std::function<void(NodeId)>& body);
  void when(NodeId condition, const std::function<void()>& body) { loops_.when(condition, body); }
  /// All threads of the block have come here, and see what the others have stored.
  void barrier();
  /// ... of the warp.
  void warp_barrier();
  /// The value of another thread of the warp, or of its own part of so many threads: `lane`, or so many lanes
  /// further. A collective of the warp.
  NodeId shuffle(ir::Source source, NodeId value, NodeId lane, int64_t part = kWarp);
  NodeId shuffle(ir::Source source, NodeId value, int32_t lane) {
    return shuffle(source, value, b_.constant(lane));
  }
  /// What a condition is for the threads of the warp. A collective of the warp.
  NodeId vote(ir::Question question, NodeId condition);
  /// The lanes of the warp whose numbers (u32) have the same lowest `bits`. A collective of the warp.
  NodeId peers(NodeId number, int64_t bits);
  /// An element of a view becomes `combiner` of it and a value, as one step: `operands` are the view, the
  /// indices and the value.
  void atomic(Op combiner, ir::Scope scope, const Nodes& operands);
  /// What all threads of a block have together: `length` elements. At the top of a launch.
  NodeId shared(int64_t length, DType dtype);

 private:
  struct Extent {
    NodeId blocks;
    NodeId threads;
  };
  void launch(std::span<const Extent> axes, const std::function<void(std::span<const NodeId>)>& region);
  NodeId blocks_of(NodeId length, NodeId threads, int64_t most);

  LoopWriter& loops_;
  ir::Builder& b_;
  const base::Machine& machine_;
};

/// What a block of threads makes of blocks of iterations, one for each warp, whose threads are the lanes of
/// base/reduction.h.
class LaneReduction {
 public:
  struct Slot {
    Op combiner;
    DType dtype;
  };
  using Iteration = std::function<Nodes(NodeId iteration)>;
  using Inits = std::function<Nodes()>;

  LaneReduction(KernelWriter& kernels, LoopWriter& loops, std::vector<Slot> slots);

  std::span<const Slot> slots() const { return slots_; }
  DType lane_of(size_t slot) const { return base::lane_dtype(slots_[slot].dtype); }
  /// In shared memory: an element for each thread, of one slot, and by slot. At the top of a launch.
  NodeId place(size_t slot) const { return kernels_.shared(kernels_.block_threads(), lane_of(slot)); }
  Nodes shared() const;
  /// How many blocks of iterations there are.
  NodeId blocks_of(NodeId count);
  /// Whether lanes hold first what the first iteration gives.
  bool starts_from_first() const;
  /// What lanes hold first, by slot.
  Nodes starts(const Iteration& iteration, const Inits& inits);
  /// The value of a block of `count` iterations, in lane 0 of a warp; other lanes have no value that means
  /// anything. All of the warp come here.
  Nodes fold_warp(NodeId lane, NodeId block, NodeId count, const Nodes& starts, const Iteration& iteration);
  /// Leaves the value of blocks `block` ... `block + warps - 1` of `count` iterations, as far as there are,
  /// in the element of thread 0. A collective of the block; barriers separate it from what comes before and
  /// after.
  void fold(std::span<const NodeId> shared, NodeId thread, NodeId block, NodeId warps, NodeId count,
            const Nodes& starts, const Iteration& iteration);
  /// The value of a warp's lanes, or of each part of so many, in the first of them; other lanes have no value
  /// that means anything.
  Nodes across_warp(Nodes lanes, int64_t part = KernelWriter::kWarp);
  NodeId combine(size_t slot, NodeId a, NodeId b);
  /// ... of each slot; `values` may be those of iterations.
  Nodes combine_all(std::span<const NodeId> lanes, std::span<const NodeId> values);
  /// ... but for iteration 0 of a loop, before which there was nothing.
  Nodes combine_after(NodeId iteration, std::span<const NodeId> before, std::span<const NodeId> values);
  Nodes zeros();
  std::vector<Type> lane_types() const;
  /// The loop's value, of that of its iterations; the init if there were none.
  NodeId finish(size_t slot, NodeId count, NodeId init, const std::function<NodeId()>& all);

 private:
  Nodes accumulate(NodeId first, NodeId count, const Nodes& starts, const Iteration& iteration);
  void combine_at(std::span<const NodeId> views, NodeId condition, NodeId at, NodeId other);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  std::vector<Slot> slots_;
};

/// The value of a parallel loop, by two launches.
class KernelReduction {
 public:
  using Iteration = LaneReduction::Iteration;
  using Inits = LaneReduction::Inits;

  KernelReduction(KernelWriter& kernels, LoopWriter& loops, std::vector<LaneReduction::Slot> slots);

  /// `prepare` is called at the top of each launch. Stores the values into `cells`, which are of one element.
  void write(NodeId count, const std::function<void()>& prepare, const Iteration& iteration,
             const Inits& inits, std::span<const NodeId> cells);

 private:
  void write_groups(const std::function<void()>& prepare, const Iteration& iteration, const Inits& inits);
  void write_tree(const std::function<void()>& prepare, const Inits& inits, std::span<const NodeId> cells);
  void walk_up(NodeId thread, NodeId step, std::span<const NodeId> at);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  LaneReduction lanes_;
  int64_t warps_;
  NodeId count_;
  NodeId groups_;   ///< of blocks of iterations, one for each block of threads
  Nodes partials_;  ///< two halves of so many groups each, by slot
};

}  // namespace ingot::transform
