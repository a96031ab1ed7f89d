#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// Builds one function in program order. Every node is born in `make`, which infers the type, folds
/// constants, reuses an equal pure node that is already there, and otherwise appends a node.
///
/// The rules of folding (fold.cpp) keep the type, never raise the cost, and terminate: each replaces a node
/// by one of its operands, a constant, or a node closer to the canonical form.
class Builder {
 public:
  /// A builder of a function that `module` has declared or not; `finish` gives it back.
  Builder(Module& module, std::string name);

  Module& module() const { return *module_; }
  const Function& function() const { return *function_; }

  /// The relaxations of the function's float arithmetic. Folding makes no use of them.
  void relax(Relaxations relaxations) { function_->relaxations_ = relaxations; }
  /// Adds a parameter of the function. Before any node.
  NodeId add_parameter(Type type, ParameterInfo parameter);

  /// Folding off: nodes are appended as requested (by the parser, and tests of passes).
  void set_folding(bool on) { folding_ = on; }
  /// The source location of the nodes made from now on.
  void set_span(SpanId span) { span_ = span; }
  SpanId span() const { return span_; }

  /// Makes a node. `type` is needed exactly for ops with TYPED in their card. Attributes are words as
  /// `Function::attributes` gives them. Throws InternalError when operands do not fit the op. For ops without
  /// regions only; a node with several results is followed by its `result` nodes.
  NodeId make(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes = {},
              Type type = {});
  NodeId make(Op op, std::initializer_list<NodeId> operands, std::initializer_list<int64_t> attributes = {},
              Type type = {}) {
    return make(op, std::span(operands.begin(), operands.size()),
                std::span(attributes.begin(), attributes.size()), type);
  }

  /// @name Nodes with regions
  /// `begin` makes the node; `enter` opens its next region and gives its parameters; a terminator closes the
  /// region; `end` gives the results. The result types are those of `begin`, or for `for_` and `while_`
  /// (whose `begin` may leave them out) what inference gives.
  NodeId begin(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes = {},
               std::span<const Type> results = {});
  std::vector<NodeId> enter(NodeId node, size_t region, std::span<const Type> parameters);
  std::vector<NodeId> end(NodeId node);
  /// Sets the result types of a node with open regions, before `end`: for results known only when the arms
  /// are (`if_`).
  void set_results(NodeId node, std::span<const Type> results);
  /// Closes the current region: yield, return_, exit_ or raise.
  void terminate(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes = {});
  void yield(std::span<const NodeId> values) { terminate(Op::yield, values); }
  void yield(std::initializer_list<NodeId> values) { yield(std::span(values.begin(), values.size())); }
  /// The region that the next node is appended to.
  RegionId current() const { return current_; }
  /// Whether the current region already has its terminator.
  bool terminated() const;
  /// Leaves the current region without a terminator, to `resume` it when the values it has to carry are
  /// known: the join of two arms, or of all exits to a label. Only the tail - conversions and the terminator
  /// - is added then.
  RegionId suspend();
  /// Opens a suspended region again, from anywhere; its terminator leads back to where `resume` was called.
  void resume(RegionId region);

  /// @name Shorthands
  NodeId constant(Type type, base::Scalar bits);
  template <class T>
  NodeId constant(T value) {
    return constant(Type::scalar(base::dtype_for<T>()), base::Scalar::of(value));
  }
  NodeId index(int64_t value) { return constant<int64_t>(value); }
  NodeId cast(NodeId value, DType dtype);
  NodeId length(NodeId shaped, int axis) { return make(Op::length, {shaped}, {axis}); }
  /// Raises unless the condition holds. With folding, a condition that is the constant true makes no node.
  /// (`make` has to return a node, so a check whose condition becomes constant later goes when a pass makes
  /// it again by this.)
  void check(NodeId condition, base::ExceptionKind kind, std::string_view message,
             std::initializer_list<NodeId> values = {});

  /// The state of the arena, for `roll_back`.
  struct Mark {
    size_t nodes, operands, attributes, regions, open;
    RegionId region;
  };
  /// A mark may be rolled back to only while the same regions are open; nodes made since then are gone.
  Mark mark() const;
  void roll_back(const Mark& mark);

  /// The function with its result types (those of its `return_`). Every region must have been closed.
  std::unique_ptr<Function> finish(std::span<const Type> results);

 private:
  friend class Folder;
  NodeId append(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes, Type type);
  void append_results(NodeId node);
  NodeId find_equal(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
                    Type type) const;
  void remember(NodeId node);
  /// The first array of the elements that a mask chooses: all of them have its length. Indices, which are
  /// computed for few uses, are taken last. Null: there is none.
  NodeId first_chosen(NodeId mask) const;
  size_t key(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes, Type type) const;

  Module* module_;
  std::unique_ptr<Function> function_;
  RegionId current_{0};
  SpanId span_;
  bool folding_ = true;
  std::vector<RegionId>
      open_;  ///< the enclosing ones: each region that was left to enter another, current last
  std::unordered_multimap<size_t, NodeId> known_;  ///< pure nodes by key, for `find_equal`

  /// The length of an axis of an array: that of an axis of another array, or (axis -1) a number.
  struct Extent {
    NodeId node;
    int64_t axis;
    bool operator==(const Extent&) const = default;
  };
  /// By node and axis, for arrays that many ops separate from it.
  std::map<std::pair<uint32_t, int64_t>, Extent> extents_;
};

/// The type a node has, from its operands and attributes; for TYPED ops, `asked` after a check. Throws
/// InternalError, naming the op and what does not fit. Nodes with regions: from their operands alone.
Type infer(const Function& function, Op op, std::span<const NodeId> operands,
           std::span<const int64_t> attributes, Type asked);

/// The node that may replace this one, made of operands and constants, or none. Pure ops only.
NodeId fold(Builder& builder, Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
            Type type);

/// The value of an elementwise op on scalars of one dtype (without `cast` and `select`): `base::math`.
base::Scalar evaluate(Op op, DType dtype, std::span<const base::Scalar> operands);
base::Scalar evaluate_cast(DType from, DType to, base::Scalar value);

/// The effects of a node, its regions and the functions that it calls; an exit to a label inside does not
/// count.
Effects effects_of(const Function& function, NodeId node);
/// Whether a buffer that a node is given, or a function that it calls, may live on under a number (`keep`).
bool may_keep(const Function& function, NodeId node);
/// Whether the host alone runs a node, without those in its regions; of a call, whether it reaches such a
/// node, or a function without a body.
bool host_only(const Function& function, NodeId node);

}  // namespace ingot::ir
