#pragma once

#include <optional>

#include "transform/kernels/kernel_writer.h"

namespace ingot::transform {

/// Sums at elements of a view that iterations share, in the order of the iterations. In the launch of the
/// iterations each leaves, for each of its stores, which element it adds to, and what; these are sorted by
/// the element, and a thread adds what one element gets. Stores that differ in the last index alone are
/// sorted together, by the other indices, and a thread adds what each of their elements gets.
class KernelScatter {
 public:
  /// A store of an iteration: the dtype of what it adds, and what it makes of an element. `last`: the last
  /// index, of stores that differ in this alone, and of which an iteration makes all or none. `count`: how
  /// often an iteration makes the only store, if it does, once with each last index from 0 on.
  struct Store {
    DType summand;
    std::function<NodeId(NodeId element, NodeId summand)> add;
    std::optional<int64_t> last = {};
    NodeId count = {};
  };

  /// Of so many iterations, before their launch.
  KernelScatter(KernelWriter& kernels, LoopWriter& loops, NodeId view, std::vector<Store> stores,
                NodeId iterations);

  /// In an iteration, before its stores: it adds nothing yet.
  void begin(NodeId iteration);
  /// A store of an iteration, once at most, or once for each last index.
  void keep(size_t store, NodeId iteration, std::span<const NodeId> indices, NodeId summand);
  /// After the launch: those that sort, and one that adds.
  void add_up();

 private:
  NodeId index_of(NodeId iteration, size_t store);
  NodeId after(NodeId index, NodeId element, size_t store);
  bool is_row() const { return static_cast<bool>(stores_[0].count); }
  bool is_together() const { return stores_[0].last || is_row(); }
  Nodes all_after(NodeId iteration, std::span<const NodeId> elements, NodeId last);
  void add_element(NodeId first, NodeId last, const Nodes& sorted);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId view_;
  std::vector<Store> stores_;
  Nodes lengths_;  ///< of the axes that are sorted by
  NodeId elements_;
  NodeId size_;     ///< of the iterations' stores, or of the iterations
  NodeId digits_;   ///< of keys
  NodeId keys_;     ///< of each the number of the element, in C order; or how many there are
  Nodes summands_;  ///< by store, of each iteration
};

}  // namespace ingot::transform
