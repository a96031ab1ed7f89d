#include "transform/reductions.h"

#include <algorithm>

#include "ir/evaluate.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;

/// Follows one carried value through a turn.
class Chain {
 public:
  Chain(const ir::Function& function, NodeId loop, NodeId parameter)
      : f_(function), body_(function.region(loop)), parameter_(parameter) {
    find_dependents();
  }

  std::optional<Op> combiner(NodeId yielded) {
    if (!f_.type(parameter_).is_scalar() || !leads_to(yielded) || !op_) return std::nullopt;
    const bool has_identity = ir::identity_of(*op_, f_.type(parameter_).dtype()).has_value();
    if (!has_identity && (links_ > 1 || branches_)) return std::nullopt;
    return uses_of(parameter_) == ends_ ? op_ : std::nullopt;
  }

 private:
  bool is_inside(NodeId node) const { return f_.encloses(body_, f_[node].parent); }
  size_t uses_of(NodeId value) const {
    size_t uses = 0;
    for (uint32_t i = 0; i < f_.node_count(); ++i)
      if (is_inside(NodeId(i)))
        uses += static_cast<size_t>(std::ranges::count(f_.operands(NodeId(i)), value));
    return uses;
  }

  /// Whether a value is the carried one, with something combined or not, and has no use but that which led
  /// here.
  bool leads_to(NodeId value) {
    if (value == parameter_) {
      ++ends_;
      return true;
    }
    if (!is_inside(value)) return false;
    if (f_.op(value) == Op::result) return leads_through_branches(value);
    if (f_.op(value) == Op::if_) return leads_through_arms(value, 0);
    if (f_.op(value) == Op::select) return leads_through_select(value);
    return leads_through_op(value);
  }
  bool leads_through_branches(NodeId result) {
    const NodeId branch = f_.operand(result, 0);
    return f_.op(branch) == Op::if_ && uses_of(result) == 1 &&
           leads_through_arms(branch, static_cast<size_t>(f_.attribute(result, 0)));
  }
  bool leads_through_arms(NodeId branch, size_t slot) {
    branches_ = true;
    if (f_.result_count(branch) == 1 && uses_of(f_.result(branch, 0)) != 1) return false;
    for (size_t arm = 0; arm < 2; ++arm) {
      const NodeId last = f_.terminator(f_.region(branch, arm));
      if (f_.op(last) != Op::yield || !leads_to(f_.operand(last, slot))) return false;
    }
    return true;
  }
  /// As through the arms of an `if`; a use in the condition is one too many.
  bool leads_through_select(NodeId value) {
    branches_ = true;
    return uses_of(value) == 1 && leads_to(f_.operand(value, 1)) && leads_to(f_.operand(value, 2));
  }
  bool leads_through_op(NodeId value) {
    const ir::OpInfo& card = ir::info(f_.op(value));
    const bool is_difference = f_.op(value) == Op::subtract;
    if (!card.elementwise || !(card.laws.associative || is_difference)) return false;
    const Op op = is_difference ? Op::add : f_.op(value);
    if (op_.value_or(op) != op || uses_of(value) != 1) return false;
    op_ = op;
    ++links_;
    const auto operands = f_.operands(value);
    const bool first = depends(operands[0]);
    if (first == depends(operands[1]) || (is_difference && !first)) return false;
    return leads_to(operands[first ? 0 : 1]);
  }
  bool depends(NodeId value) const { return depends_[value.index]; }
  /// What is computed from the carried value, branches that do so included.
  void find_dependents() {
    depends_.assign(f_.node_count(), false);
    depends_[parameter_.index] = true;
    // The results of a branch stand before what is in it.
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = parameter_.index; i < f_.node_count(); ++i) {
        const NodeId id(i);
        if (depends_[i] || !is_inside(id)) continue;
        depends_[i] = std::ranges::any_of(f_.operands(id), [&](NodeId operand) { return depends(operand); });
        if (!depends_[i]) continue;
        changed = true;
        for (ir::RegionId at = f_[id].parent; at != body_; at = f_[f_[at].owner].parent)
          depends_[f_[at].owner.index] = true;
      }
    }
  }

  const ir::Function& f_;
  ir::RegionId body_;
  NodeId parameter_;
  std::vector<bool> depends_;
  std::optional<Op> op_;
  size_t links_ = 0;
  size_t ends_ = 0;
  bool branches_ = false;
};

}  // namespace

std::optional<Op> reduction_of(const ir::Function& function, NodeId loop, size_t i) {
  const ir::RegionId body = function.region(loop);
  const NodeId last = function.terminator(body);
  if (function.op(last) != Op::yield) return std::nullopt;
  const NodeId parameter = function.region_parameters(body)[i + 1];
  return Chain(function, loop, parameter).combiner(function.operand(last, i));
}

}  // namespace ingot::transform
