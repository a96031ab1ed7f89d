#pragma once

#include <variant>

#include "transform/kernels/kernel_writer.h"

namespace ingot::transform {

/// Sums at elements of a view that iterations share, in the order of the iterations. In the launch of the
/// iterations each leaves, for each of its stores, which element it adds to, and what; these are sorted by
/// the element, and a thread adds what one element gets.
class KernelScatter {
 public:
  /// A store of an iteration: the dtype of what it adds, and what it makes of an element.
  struct Store {
    DType summand;
    std::function<NodeId(NodeId element, NodeId summand)> add;
  };
  /// Each store is at indices of its own.
  struct Apart {};
  /// Stores differ in the last index alone, by store one of `lasts`, and an iteration makes all or none: they
  /// are sorted together, by the other indices, and a thread adds what each of their elements gets.
  struct Together {
    std::vector<int64_t> lasts;
  };
  /// The only store is made so often in an iteration, once with each last index from 0 on, or never: it is
  /// sorted by the other indices.
  struct Row {
    NodeId count;
  };
  using Mode = std::variant<Apart, Together, Row>;
  struct Stores {
    std::vector<Store> all;
    Mode mode;
  };

  /// Of so many iterations, before their launch.
  KernelScatter(KernelWriter& kernels, LoopWriter& loops, NodeId view, Stores stores, NodeId iterations);

  /// In an iteration, before its stores: it adds nothing yet.
  void begin(NodeId iteration);
  /// A store of an iteration, once at most, or once for each last index.
  void keep(size_t store, NodeId iteration, std::span<const NodeId> indices, NodeId summand);
  /// After the launch: those that sort, and one that adds.
  void add_up();

 private:
  NodeId index_of_key(NodeId iteration, size_t store);
  NodeId after(NodeId index, NodeId element, size_t store);
  /// How many keys an iteration has: of each store one, or one of all.
  size_t keys() const { return sorts_each() ? stores_.size() : 1; }
  bool sorts_each() const { return std::holds_alternative<Apart>(mode_); }
  Nodes all_after(NodeId iteration, std::span<const NodeId> elements, std::span<const NodeId> row_index);
  void add_element(NodeId first, std::span<const NodeId> row_index, const Nodes& sorted);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId view_;
  std::vector<Store> stores_;
  Mode mode_;
  Nodes lengths_;  ///< of the axes that are sorted by
  NodeId elements_;
  NodeId size_;     ///< of the iterations' stores, or of the iterations
  NodeId digits_;   ///< of keys
  NodeId keys_;     ///< of each the number of the element, in C order; or how many there are
  Nodes summands_;  ///< by store, of each iteration
};

}  // namespace ingot::transform
