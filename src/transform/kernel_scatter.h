#pragma once

#include "transform/kernel_writer.h"

namespace ingot::transform {

/// Sums at elements of a view that turns share, in the order of the turns. In the launch of the turns each
/// leaves, for each of its stores, which element it adds to, and what; these are sorted by the element, and a
/// thread adds what one element gets.
class KernelScatter {
 public:
  /// A store of a turn: the dtype of what it adds, and what it makes of an element.
  struct Store {
    DType summand;
    std::function<NodeId(NodeId element, NodeId summand)> add;
  };

  /// Of so many turns, before their launch.
  KernelScatter(KernelWriter& kernels, LoopWriter& loops, NodeId view, std::vector<Store> stores,
                NodeId turns);

  /// In a turn, before its stores: it adds nothing yet.
  void begin(NodeId turn);
  /// A store of a turn, once at most.
  void keep(size_t store, NodeId turn, std::span<const NodeId> indices, NodeId summand);
  /// After the launch: those that sort, and one that adds.
  void add_up();

 private:
  NodeId place_of(NodeId turn, size_t store);
  NodeId after(NodeId place, NodeId element, size_t store);
  void add_element(NodeId first, const Nodes& sorted);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId view_;
  std::vector<Store> stores_;
  Nodes lengths_;
  NodeId elements_;
  NodeId size_;     ///< of the turns' stores
  NodeId keys_;     ///< of each the number of the element, in C order; or how many there are
  NodeId places_;   ///< ... its own number
  Nodes summands_;  ///< by store, of each turn
};

}  // namespace ingot::transform
