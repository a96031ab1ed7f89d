#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"
#include "ir/op.h"
#include "ir/walk.h"

namespace ingot::ir {

/// What the threads of one block of a launch, or of all its blocks, have in common. A value varies when it
/// depends on the thread index (or the block's), on memory of the thread's own or on an atomic access;
/// control flow is divergent where a varying value decided whether a thread comes there. What all threads
/// load from one location is the same, if there is no race. Threads that have ended are no part of this.
class Uniformity {
 public:
  /// Of a well-formed launch (verifier.h, invariants 1 to 8). `scope`: Block, or Device of all blocks.
  Uniformity(const Function& function, NodeId launch, Scope scope = Scope::Block);

  bool varies(NodeId value) const { return varying_[value.index]; }
  /// Whether all threads that have not ended run this node of the launch together, or none does.
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
  bool is_own(NodeId node) const;
  bool may_skip(NodeId exit, NodeId node) const;
  bool ends_thread(NodeId exit) const;

  const Function& function_;
  NodeId launch_;
  Scope scope_;
  NodeOrder order_;
  std::vector<bool> varying_;            ///< by node
  std::vector<bool> divergent_regions_;  ///< by region
  std::vector<NodeId> divergent_exits_;
  bool changed_ = false;
};

/// Whether an op is one where threads of a launch wait for each other or exchange values.
bool is_collective(Op op);
/// Of such a node: the threads that must come here together, those of the Block or of the whole launch
/// (Device); none: those of a mask, wherever they come.
std::optional<Scope> scope_of_collective(const Function& function, NodeId node);

}  // namespace ingot::ir
