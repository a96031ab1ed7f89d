#pragma once

#include "transform/kernels/block_scan.h"
#include "transform/kernels/look_back.h"

namespace ingot::transform {

/// A loop whose iterations carry values that are combined with something of each iteration
/// (`recurrences_of`).
class KernelScan {
 public:
  /// What the values are combined with in an iteration; and the iteration, with what they are before it, and
  /// after it, where that is known (else there is none of these). None: nothing is done with that.
  using Growth = std::function<Nodes(NodeId iteration)>;
  using Iteration =
      std::function<void(NodeId iteration, std::span<const NodeId> before, std::span<const NodeId> after)>;
  using Inits = std::function<Nodes()>;

  KernelScan(KernelWriter& kernels, LoopWriter& loops, const std::vector<BlockScan::Slot>& slots)
      : KernelScan(kernels, loops, slots, slots) {}
  /// `of_tile`: the same, of dtypes that hold what any iterations of a tile give together.
  KernelScan(KernelWriter& kernels, LoopWriter& loops, std::vector<BlockScan::Slot> slots,
             std::vector<BlockScan::Slot> of_tile);

  /// @name For associative combiners
  /// `prepare` is called at the top of each launch. What the values end with is stored into `cells`;
  /// `iteration` may be none.
  /// One launch where blocks look back; else those of `add_up` and `run_after`. In a fixed order values are
  /// the same each time, whatever the combiner.
  void run(NodeId count, const std::function<void()>& prepare, const Growth& growth,
           const Iteration& iteration, const Inits& inits, std::span<const NodeId> cells,
           LookBack::Order order = LookBack::Order::Any);
  /// What comes before each tile: one launch where blocks look back, else two, the first of which combines
  /// what the iterations of each tile give.
  void add_up(NodeId count, const std::function<void()>& prepare, const Growth& growth, const Inits& inits,
              std::span<const NodeId> cells);
  /// After that, a launch that runs the iterations.
  void run_after(const std::function<void()>& prepare, const Growth& growth, const Iteration& iteration);

  /// One launch, of one block: all threads find what the iterations of a tile give, one thread combines it in
  /// the order of the iterations, and all threads run these. `iteration` may be none.
  void run_in_order(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                    const Iteration& iteration, const Inits& inits, std::span<const NodeId> cells);

 private:
  /// In the block's memory, by slot of a tile: what each iteration gives, then what is before it - in the
  /// tile, where its dtypes are other ones - and after the last one; and what its threads exchange.
  struct Tile {
    Nodes values;
    Nodes exchanged;
  };
  Tile make_tile() { return {in_tile_.shared(tile_size() + 1), in_tile_.places()}; }
  int64_t tile_size() const { return kernels_.block_threads() * iterations_; }
  void begin(NodeId count);
  void look_back(const std::function<void()>& prepare, const Growth& growth, const Inits& inits,
                 std::span<const NodeId> cells, LookBack::Order order,
                 const std::function<void(const Tile& own, NodeId tile, NodeId thread, const Nodes& before,
                                          const BlockScan::Scanned& given)>& finish);
  void add_tiles(const std::function<void()>& prepare, const Inits& inits, std::span<const NodeId> cells);
  void each_of_tile(NodeId tile, NodeId thread, const std::function<void(NodeId iteration, NodeId k)>& body);
  void load_tile(const Tile& own, NodeId tile, NodeId thread, const Growth& growth);
  BlockScan::Scanned fill(const Tile& own, NodeId tile, NodeId thread, const Growth& growth);
  void spread(const Tile& own, NodeId tile, NodeId thread, const Nodes& before,
              const BlockScan::Scanned& given, const Iteration& iteration);
  Nodes narrowed(const Nodes& values);
  Nodes widened(const Nodes& values);
  Nodes growth_at(NodeId iteration, const Growth& growth);
  Nodes chain(const Nodes& given, const Nodes& held, NodeId count, Nodes carried);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  BlockScan scan_;
  BlockScan in_tile_;
  bool is_narrow_;      ///< the dtypes of a tile are other ones
  int64_t iterations_;  ///< of a thread
  NodeId count_;
  NodeId tiles_;
  Nodes before_;  ///< by slot: of each tile what it gives, then what comes before it
};

}  // namespace ingot::transform
