#include "transform/ranges.h"

namespace ingot::transform {

using ir::Function;
using ir::NodeId;
using ir::Op;

namespace {

/// The counted loop whose index this is, or none.
NodeId loop_of_index(const Function& function, NodeId value) {
  if (function.op(value) != Op::param || function.attribute(value, 0) != 0) return {};
  const NodeId owner = function[function[value].parent].owner;
  if (!owner) return {};
  const Op op = function.op(owner);
  return op == Op::for_ || op == Op::parallel_for ? owner : NodeId();
}

bool is_at_most_zero(const Function& function, NodeId value) {
  if (function.is_constant(value)) return function.constant(value).as<int64_t>() <= 0;
  return function.op(value) == Op::negative && is_natural(function, function.operand(value, 0));
}

}  // namespace

bool is_natural(const Function& function, NodeId value) {
  if (function.type(value) != ir::kInt64) return false;
  if (function.is_constant(value)) return function.constant(value).as<int64_t>() >= 0;
  return function.op(value) == Op::length || loop_of_index(function, value);
}

std::optional<bool> known_comparison(const Function& function, Op op, NodeId a, NodeId b) {
  if (op != Op::less && op != Op::greater_equal) return std::nullopt;
  if (function.type(a) != ir::kInt64 || function.type(b) != ir::kInt64) return std::nullopt;
  if (is_natural(function, a) && is_at_most_zero(function, b)) return op == Op::greater_equal;
  const NodeId loop = loop_of_index(function, a);
  if (loop && function.operand(loop, 0) == b) return op == Op::less;
  return std::nullopt;
}

}  // namespace ingot::transform
