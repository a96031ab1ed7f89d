#pragma once

#include "transform/kernels/block_scan.h"

namespace ingot::transform {

/// A loop whose iterations carry values that are combined with something of each iteration
/// (`recurrences_of`).
class KernelScan {
 public:
  /// What the values are combined with in an iteration; and the iteration, with what they are before it.
  /// None: nothing is done with that.
  using Growth = std::function<Nodes(NodeId iteration)>;
  using Iteration = std::function<void(NodeId iteration, std::span<const NodeId> before)>;
  using Inits = std::function<Nodes()>;

  KernelScan(KernelWriter& kernels, LoopWriter& loops, std::vector<BlockScan::Slot> slots);

  /// @name For associative combiners
  /// Two launches: the first combines what the iterations of each tile give, the second what comes before
  /// each tile. Stores what the values end with into `cells`. `prepare` is called at the top of each launch.
  void add_up(NodeId count, const std::function<void()>& prepare, const Growth& growth, const Inits& inits,
              std::span<const NodeId> cells);
  /// After that, a launch that runs the iterations.
  void run(const std::function<void()>& prepare, const Growth& growth, const Iteration& iteration);

  /// One launch, of one block: all threads find what the iterations of a tile give, one thread combines it in
  /// the order of the iterations, and all threads run these. `iteration` may be none.
  void run_in_order(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                    const Iteration& iteration, const Inits& inits, std::span<const NodeId> cells);

 private:
  void add_tiles(const std::function<void()>& prepare, const Inits& inits, std::span<const NodeId> cells);
  Nodes growth_at(NodeId iteration, const Growth& growth);
  Nodes tile_value(const Nodes& shared, NodeId thread, NodeId first, const Growth& growth);
  Nodes chain(const Nodes& given, const Nodes& held, NodeId count, Nodes carried);
  NodeId first_of(NodeId tile, NodeId thread);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  BlockScan scan_;
  NodeId count_;
  NodeId tiles_;
  Nodes before_;  ///< by slot: of each tile what it gives, then what comes before it
};

}  // namespace ingot::transform
