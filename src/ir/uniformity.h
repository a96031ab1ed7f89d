#pragma once

#include <vector>

#include "ir/function.h"
#include "ir/walk.h"

namespace ingot::ir {

/// What the threads of one block of a launch have in common. A value varies when it depends on the thread
/// index or on memory; control flow is divergent where a varying value decided that a thread comes there.
class Uniformity {
 public:
  /// Of a well-formed launch (verifier.h, invariants 1 to 8).
  Uniformity(const Function& function, NodeId launch);

  bool varies(NodeId value) const { return varying_[value.index]; }
  /// Whether all threads of the block run this node of the launch together, or none does.
  bool is_uniform(NodeId node) const;

 private:
  void walk(RegionId region, bool divergent);
  void walk_node(NodeId node, bool divergent);
  void walk_if(NodeId node, bool divergent);
  void walk_for(NodeId node, bool divergent);
  void walk_while(NodeId node, bool divergent);
  void walk_block(NodeId node, bool divergent);
  void walk_parallel(NodeId node);
  void leave(NodeId exit, bool divergent);

  void mark(NodeId value, bool varies);
  void mark_results(NodeId node, bool varies);
  bool any_operand_varies(NodeId node, size_t from = 0) const;
  /// The values that a region's `yield` gives; none when it leaves otherwise.
  std::span<const NodeId> yielded(RegionId region) const;
  bool may_skip(NodeId exit, NodeId node) const;

  const Function& function_;
  TextOrder order_;
  std::vector<bool> varying_;            ///< by node
  std::vector<bool> divergent_regions_;  ///< by region
  std::vector<NodeId> divergent_exits_;
  bool changed_ = false;
};

}  // namespace ingot::ir
