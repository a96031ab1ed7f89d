#pragma once

#include <functional>

#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// Writes what is in a nest of loops anew, for one of its iterations or for several.
class NestCopies {
 public:
  /// What old values have become for one iteration, by node; none: nothing yet.
  using Lane = Nodes;

  /// `use`: what a value from outside of the nest has become.
  NestCopies(ir::Builder& builder, const Function& source, NodeId nest, std::function<NodeId(NodeId)> use)
      : b_(builder), source_(source), nest_(nest), use_(std::move(use)) {}

  Lane none() const { return Lane(source_.node_count(), NodeId()); }
  /// Makes a node that is not there yet, whose operands are there, or are outside.
  void visit(Lane& lane, NodeId node);
  /// The nodes of a level before the loop `inner`, or after it.
  void visit_region(Lane& lane, NodeId level, NodeId inner, bool after);
  NodeId value(const Lane& lane, NodeId old) const;
  /// A value of the nest, with what it is computed from.
  NodeId rebuilt(Lane& lane, NodeId old);

 private:
  ir::Builder& b_;
  const Function& source_;
  NodeId nest_;
  std::function<NodeId(NodeId)> use_;
};

}  // namespace ingot::transform
