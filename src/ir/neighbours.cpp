#include "ir/neighbours.h"

#include <algorithm>

namespace ingot::ir {

Neighbours::Neighbours(const Function& function, NodeId loop)
    : function_(function),
      body_(function.region(loop)),
      index_(function.region_parameters(body_)[0]),
      varies_(function.node_count()) {
  varies_[index_.index] = true;
  for (const NodeId node : function.region_body(body_))
    varies_[node.index] =
        std::ranges::any_of(function.operands(node), [&](NodeId operand) { return varies(operand); });
}

bool Neighbours::are_plain() const {
  return std::ranges::all_of(function_.region_body(body_), [&](NodeId node) {
    const Op op = function_.op(node);
    if (op == Op::yield || op == Op::load || op == Op::store) return true;
    return function_[node].region_count == 0 && info(op).effects.pure() && function_.result_count(node) <= 1;
  });
}

std::optional<size_t> Neighbours::axis_of(NodeId access) const {
  const auto rank = static_cast<size_t>(function_.type(function_.operand(access, 0)).rank());
  const auto indices = function_.operands(access).subspan(1, rank);
  if (varies(function_.operand(access, 0))) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t i = 0; i < rank; ++i) {
    if (!varies(indices[i])) continue;
    if (axis || !goes_on(indices[i])) return std::nullopt;
    axis = i;
  }
  return axis;
}

bool Neighbours::add_slice(NodeId value, std::vector<NodeId>& slice) const {
  if (value == index_ || function_[value].parent != body_ || std::ranges::count(slice, value) > 0)
    return true;
  if (!info(function_.op(value)).effects.pure()) return false;
  for (const NodeId operand : function_.operands(value))
    if (!add_slice(operand, slice)) return false;
  slice.push_back(value);
  return true;
}

/// Whether an index is the iteration's, and something that all iterations have in common.
bool Neighbours::goes_on(NodeId index) const {
  if (index == index_) return true;
  const Op op = function_.op(index);
  if (function_[index].parent != body_ || (op != Op::add && op != Op::subtract)) return false;
  const NodeId a = function_.operand(index, 0);
  const NodeId b = function_.operand(index, 1);
  if (!varies(b)) return goes_on(a);
  return op == Op::add && !varies(a) && goes_on(b);
}

}  // namespace ingot::ir
