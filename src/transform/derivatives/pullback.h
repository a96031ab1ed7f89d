#pragma once

#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// What the reverse sweep knows where it deals with a node: values as they were, where cotangents are, by the
/// nodes of the function that was recorded.
class Sweep {
 public:
  virtual ~Sweep() = default;
  virtual NodeId value(NodeId old) = 0;
  virtual NodeId length(NodeId old, int axis) = 0;
  /// The shadow of a view; none: it has none.
  virtual NodeId shadow(NodeId old) = 0;
  /// The cotangent of a number or an array; none: zero.
  virtual NodeId cotangent(NodeId old) = 0;
  virtual bool varies(NodeId old) const = 0;
  /// Adds to the cotangent of a number or an array; nothing where it does not vary.
  virtual void add(NodeId old, NodeId cotangent) = 0;
  /// Whether a cotangent is zero where an arm was not chosen. What is made of such zeros is zero, whatever
  /// the slope there.
  virtual bool is_masked(NodeId cotangent) const = 0;
  virtual void mask(NodeId cotangent) = 0;
};

/// The transposes of the ops: each gives the cotangents of what a node was made from, out of that of what it
/// gave. Numbers are paired by Re(c * t). Memory holds the cotangents of complex numbers conjugated, that is
/// the derivatives by their two parts, so that views of the parts are views of their derivatives.
class Pullback {
 public:
  Pullback(const Function& source, ir::Builder& builder, Sweep& sweep)
      : source_(source), b_(builder), sweep_(sweep) {}

  /// Of a node without regions. Throws Unsupported where its op has no transpose.
  void visit(NodeId id);
  /// Adds the cotangent of what a view shows to its shadow.
  void add_to(NodeId view, NodeId cotangent);

 private:
  void visit_elementwise(NodeId id, NodeId c);
  void visit_select(NodeId id, NodeId c);
  void visit_broadcast(NodeId id, NodeId c);
  void visit_slice(NodeId id, NodeId c);
  void visit_gather(NodeId id, NodeId c);
  void visit_compress(NodeId id, NodeId c);
  void visit_reduce(NodeId id, NodeId c);
  void visit_scan(NodeId id, NodeId c);
  void visit_product_along(NodeId id, NodeId c);
  void visit_sort(NodeId id, NodeId c);
  void visit_concat(NodeId id, NodeId c);
  void visit_dot(NodeId id, NodeId c);
  bool visit_rearrangement(NodeId id, NodeId c);
  void visit_value(NodeId id, NodeId c);
  bool visit_memory(NodeId id);
  void visit_write(NodeId id);
  void visit_store(NodeId id);
  void visit_scatter(NodeId id);
  void visit_load(NodeId id, NodeId c);
  /// Whether elements of a view may be the same memory: no, not known, yes.
  enum class Overlap : uint8_t { None, Unknown, Some };
  Overlap overlap_of(NodeId view) const;
  NodeId is_disjoint_from_others(NodeId view);
  NodeId element_of(NodeId view, std::span<const NodeId> indices);

  NodeId like(NodeId c, NodeId made);
  NodeId where_not_zero(NodeId c, NodeId made);
  /// Adds to a number's cotangent the elements of the cotangent of an array that it was broadcast to.
  void add_all(NodeId old, NodeId c);
  NodeId sum_of(NodeId c);
  Nodes lengths(NodeId old);
  NodeId zero(Type type) { return b_.constant(type.element(), {}); }
  NodeId zeros(NodeId like);
  /// In memory: the conjugate of a complex number.
  NodeId mirrored(NodeId made);
  /// Of the elements that index arrays choose, those that no later one at the same location overwrites.
  NodeId last_ones(NodeId view, std::span<const NodeId> indices, std::span<const int64_t> axes);
  NodeId make(Op op, std::initializer_list<NodeId> operands) { return b_.make(op, operands); }

  const Function& source_;
  ir::Builder& b_;
  Sweep& sweep_;
};

/// Throws the refusal of a node that has no derivative.
[[noreturn]] void refuse_derivative(const Function& function, NodeId id, const std::string& what = {});

}  // namespace ingot::transform
