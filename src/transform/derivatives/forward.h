#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transform/analyses/activity.h"
#include "transform/derivatives/reduce_slopes.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// Which tangents are made.
enum class Tangents : uint8_t { All, OfMemory };

/// Builds a function anew with its values and their tangents of one derivative (`derive`). A tangent that is
/// zero has no node. A view's tangent is a view of shadow memory of the same layout, so that the same ops on
/// both give views of the same elements; a buffer's is a buffer, and the distance from an offset into the one
/// to that into the other.
///
/// Where only memory has shadows, those of views and buffers are zero and stay so: the reverse sweep adds to
/// them. The marks of the derivative stay.
class Forward : public Rewriter {
 public:
  Forward(const Function& source, int64_t tag, Tangents kind = Tangents::All);

  /// Of memory alone: by new id, the shadow of a view or buffer.
  const std::map<NodeId, NodeId>& shadows() const { return made_shadows_; }
  /// Of memory alone: by new id, the lengths of an array that varies.
  const std::map<NodeId, Nodes>& lengths() const { return made_lengths_; }

 private:
  struct Shadow {
    NodeId node;   ///< none: zero
    NodeId delta;  ///< of a buffer: what is added to offsets
  };

  void visit(NodeId id) override;
  void bind(NodeId old, NodeId made) override;
  void terminate(NodeId terminator) override;
  void enter_region(RegionId region) override;

  /// @name Ops (forward.cpp)
  void visit_variable(NodeId id);
  void visit_elementwise(NodeId id);
  bool visit_linear(NodeId id);
  void visit_select(NodeId id);
  void visit_other(NodeId id);
  void visit_shadow(NodeId id);
  /// Whether a routine is the product of matrices.
  bool is_product(NodeId id) const;
  [[noreturn]] void refuse(NodeId id, const std::string& what = {}) const;

  /// @name Memory (forward_memory.cpp)
  void visit_memory(NodeId id);
  void visit_buffer(NodeId id);
  void visit_kept(NodeId id);
  void refuse_other_names();
  void refuse_overlap(NodeId changed);
  void clear_shadows();

  /// @name Combinations (forward_arrays.cpp)
  void visit_reduce(NodeId id);
  void visit_scan(NodeId id);
  void visit_sort(NodeId id);
  void visit_concat(NodeId id);
  void visit_dot(NodeId id);
  void visit_library(NodeId id);

  /// @name Control (forward_control.cpp)
  void visit_control(NodeId id);
  void enter(NodeId id, size_t region, NodeId made);
  void add_tangents(std::span<const NodeId> values, std::span<const NodeId> slots, Nodes& to);
  void add_types(std::span<const NodeId> slots, std::vector<Type>& to);
  /// Binds slots to `nodes`: values, then tangents.
  void bind_all(std::span<const NodeId> slots, std::span<const NodeId> nodes);
  Nodes slots_of_entry(NodeId id, size_t region) const;
  Nodes slots_of_yield(NodeId terminator) const;

  bool is_varied(NodeId old) const { return activity_.is_varied(old); }
  /// Whether an old value that varies has a tangent of its own.
  bool has_own(NodeId old) const {
    return is_varied(old) && (kind_ == Tangents::All || is_memory(source_, old) || is_number(old));
  }
  /// Whether a value is the number of a buffer that varies, or several.
  bool is_number(NodeId old) const { return is_varied(old) && may_be_number(source_.type(old)); }
  /// The tangent of an old value; none: zero.
  NodeId tangent(NodeId old) const { return shadows_[old.index].node; }
  /// The same, made where it is zero.
  NodeId some_tangent(NodeId old);
  void set_tangent(NodeId old, NodeId made) {
    INGOT_ASSERT(is_varied(old), "what has a tangent is known to vary");
    shadows_[old.index] = {made, {}};
    if (source_.type(old).is_view()) memories_.emplace_back(made, b_.current());
    if (kind_ == Tangents::OfMemory) made_shadows_[use(old)] = made;
  }
  NodeId zeros_like(NodeId made);
  /// New memory of zeros laid out as a view is.
  NodeId shadow_of(NodeId view);
  NodeId whole_of(NodeId alloc, NodeId made);
  /// A number as an array of the lengths of another, which it stands for.
  NodeId spread(NodeId made, NodeId like);
  NodeId sum(NodeId a, NodeId b);
  NodeId make(Op op, std::initializer_list<NodeId> operands) { return b_.make(op, operands); }

  int64_t tag_;
  Tangents kind_;
  Activity activity_;
  std::vector<Shadow> shadows_;                        ///< by old id
  std::vector<std::pair<NodeId, RegionId>> memories_;  ///< views of tangents, and where they came up
  std::map<NodeId, NodeId> made_shadows_;
  std::map<NodeId, Nodes> made_lengths_;
  bool has_begun_ = false;  ///< whether something was lifted
};

}  // namespace ingot::transform
