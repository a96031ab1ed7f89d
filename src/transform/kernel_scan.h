#pragma once

#include "transform/kernel_writer.h"

namespace ingot::transform {

/// A loop whose turns carry counters alone, each growing by a number that does not hang on it: by three
/// launches. The first adds up how much each tile of turns grows, the second what stands before each tile,
/// the third runs the turns with the counters that they begin with.
class KernelScan {
 public:
  /// By how much the counters grow in a turn; and the turn, with the counters.
  using Growth = std::function<Nodes(NodeId turn)>;
  using Turn = std::function<void(NodeId turn, std::span<const NodeId> counters)>;
  using Inits = std::function<Nodes()>;

  KernelScan(KernelWriter& kernels, LoopWriter& loops, size_t counters);

  /// `prepare` is called at the top of each launch. Stores what the counters end with into `cells`.
  void write(NodeId count, const std::function<void()>& prepare, const Growth& growth, const Turn& turn,
             const Inits& inits, std::span<const NodeId> cells);

 private:
  void count_tiles(const std::function<void()>& prepare, const Growth& growth);
  void add_tiles(const std::function<void()>& prepare, const Inits& inits, std::span<const NodeId> cells);
  void run_tiles(const std::function<void()>& prepare, const Growth& growth, const Turn& turn);
  Nodes growth_at(NodeId turn, const Growth& growth);
  void sum_up(std::span<const NodeId> shared, NodeId thread);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  size_t counters_;
  NodeId count_;
  NodeId tiles_;
  Nodes before_;  ///< by counter: of each tile its growth, then what stands before it
};

}  // namespace ingot::transform
