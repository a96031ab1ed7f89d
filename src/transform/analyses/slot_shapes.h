#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// The stride of a view's axis. That of a new array is known here, but not to the frontend: where NumPy's
/// order is not known when compiling, programs that ask for the order in memory are refused.
NodeId stride_of(ir::Builder& builder, NodeId view, int64_t axis);

/// The lengths and strides of views and arrays that loops carry and branches give, found while a function is
/// built anew.
///
/// Of a loop it is assumed that a slot keeps the lengths and strides of what the loop starts with. Where an
/// iteration yields something else, the assumption is `refuted`: then what has been built is wrong, and is
/// built again without it. What all arms of a branch agree on holds of its result.
///
/// Where something is known of a slot, a view of the same memory that states it replaces the slot; of an
/// array, `sized`.
class SlotShapes {
 public:
  /// A slot, by the old parameter that an iteration finds it in, and a length or, after these, a stride.
  using Fact = std::pair<uint32_t, size_t>;

  SlotShapes(const Function& source, ir::Builder& builder, const std::set<Fact>& refuted);

  /// A loop is about to begin, with these new values of its slots.
  void expect(NodeId loop, std::span<const NodeId> inits);
  /// What stands for an old parameter or result that has become `made`.
  NodeId bound(NodeId old, NodeId made);
  /// What has become of a parameter itself; none: nothing else stands for it.
  NodeId itself(NodeId old) const;
  /// The current region is about to end by this old terminator, with these new values.
  void end(NodeId terminator, std::span<const NodeId> values);

  const std::set<Fact>& refuted() const { return refuted_; }

 private:
  /// Lengths, then strides; none: not known.
  using Shape = Nodes;
  using Slots = std::map<std::pair<uint32_t, size_t>, Shape>;

  static size_t rank_of(Type type) {
    return type.is_view() || type.is_array() ? static_cast<size_t>(type.rank()) : 0;
  }
  /// Lengths and, of views, strides.
  static size_t parts_of(Type type) { return (type.is_view() ? 2 : 1) * rank_of(type); }
  NodeId part(NodeId view, size_t i);
  NodeId seen(NodeId node) const;
  void agree(NodeId owner, size_t slot, NodeId value);
  bool asks_for_shape(NodeId user, NodeId operand) const;

  const Function& source_;
  ir::Builder& b_;
  std::set<Fact> refuted_;
  std::vector<bool> is_asked_;    ///< by old value: something depends on its shape
  std::map<uint32_t, Shape> of_;  ///< by old parameter
  Slots given_;                   ///< by old owner and result: what its ends so far agree on
  std::map<uint32_t, NodeId> itself_;
};

}  // namespace ingot::transform
