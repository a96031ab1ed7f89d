#include "transform/analyses/known_equal.h"

#include <algorithm>

namespace ingot::transform {

namespace {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::RegionId;

/// Whether a condition that holds implies that two values are equal.
bool says(const Function& f, NodeId condition, NodeId a, NodeId b) {
  const Op op = f.op(condition);
  if (op == Op::bitwise_and)
    return says(f, f.operand(condition, 0), a, b) || says(f, f.operand(condition, 1), a, b);
  if (op != Op::equal) return false;
  const NodeId x = f.operand(condition, 0);
  const NodeId y = f.operand(condition, 1);
  return (x == a && y == b) || (x == b && y == a);
}

bool compared(const Function& f, NodeId where, NodeId a, NodeId b) {
  for (NodeId node = where; node;) {
    const RegionId region = f[node].parent;
    for (const NodeId before : f.region_body(region)) {
      if (before == node) break;
      if (f.op(before) == Op::check && says(f, f.operand(before, 0), a, b)) return true;
    }
    const NodeId owner = f[region].owner;
    const bool holds = owner && f.op(owner) == Op::if_ && region == f.region(owner, 0);
    if (holds && says(f, f.operand(owner, 0), a, b)) return true;
    node = owner;
  }
  return false;
}

}  // namespace

bool known_equal(const Function& f, NodeId where, NodeId a, NodeId b) {
  if (a == b) return true;
  if (f.is_constant(a) || f.is_constant(b))
    if (f.is_constant(a) && f.is_constant(b)) return f.constant(a) == f.constant(b);
  if (compared(f, where, a, b)) return true;
  const ir::OpInfo& card = ir::info(f.op(a));
  if (f.op(a) != f.op(b) || !card.elementwise || !f.type(a).is_scalar()) return false;
  for (size_t i = 0; i < card.operands; ++i)
    if (!known_equal(f, where, f.operand(a, i), f.operand(b, i))) return false;
  return true;
}

}  // namespace ingot::transform
