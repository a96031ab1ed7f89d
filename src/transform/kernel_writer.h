#pragma once

#include <functional>

#include "base/machine.h"
#include "transform/loop_writer.h"

namespace ingot::transform {

/// Writes launches.
class KernelWriter {
 public:
  static constexpr int64_t kWarp = 32;

  KernelWriter(LoopWriter& loops, const base::Machine& machine)
      : loops_(loops), b_(loops.builder()), machine_(machine) {}

  int64_t block_threads() const { return machine_.block_threads; }

  /// A launch of one thread.
  void single(const std::function<void()>& thread);
  /// A thread for each index of up to three axes, the last of which neighbouring threads walk.
  void grid(std::span<const NodeId> lengths, const std::function<void(std::span<const NodeId>)>& thread);
  /// So many blocks of `block_threads`.
  void blocks(NodeId count, const std::function<void(NodeId block, NodeId thread)>& thread);
  /// `body(i)` for i = first, first + step, ... below the end.
  void strided(NodeId first, NodeId end, NodeId step, const std::function<void(NodeId)>& body);
  /// All threads of the block have come here, and see what the others have stored.
  void barrier();
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

/// Combines what the turns of a parallel loop give, in the order of base/reduction.h, by two launches.
class KernelReduction {
 public:
  struct Slot {
    Op combiner;
    DType dtype;
  };
  /// Values on the device that a thread asks for: each gives what to put into its place of a launch.
  using Turn = std::function<Nodes(NodeId turn)>;
  using Inits = std::function<Nodes()>;

  KernelReduction(KernelWriter& kernels, LoopWriter& loops, std::vector<Slot> slots);

  /// `prepare` is called at the top of each launch. Stores the values into `cells`, which are of one element.
  void write(NodeId count, const std::function<void()>& prepare, const Turn& turn, const Inits& inits,
             std::span<const NodeId> cells);

 private:
  void write_groups(const std::function<void()>& prepare, const Turn& turn, const Inits& inits);
  void write_tree(const std::function<void()>& prepare, const Inits& inits, std::span<const NodeId> cells);
  Nodes starts(const Turn& turn, const Inits& inits);
  Nodes accumulate(NodeId first, const Nodes& starts, const Turn& turn);
  void fold_block(std::span<const NodeId> shared, NodeId thread, NodeId block);
  void combine_at(std::span<const NodeId> views, NodeId condition, NodeId at, NodeId other);
  NodeId combine(size_t slot, NodeId a, NodeId b);
  bool is_ordered(size_t slot) const;

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  std::vector<Slot> slots_;
  int64_t warps_;
  NodeId count_;
  NodeId blocks_;   ///< of turns
  NodeId groups_;   ///< of blocks, one for each block of threads
  Nodes partials_;  ///< two halves of so many groups each, by slot
};

}  // namespace ingot::transform
