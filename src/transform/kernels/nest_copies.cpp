#include "transform/kernels/nest_copies.h"

namespace ingot::transform {

void NestCopies::visit_region(Lane& lane, NodeId level, NodeId inner, bool after) {
  bool is_after = false;
  for (const NodeId node : source_.region_body(source_.region(level))) {
    if (source_.op(node) == Op::yield) continue;
    if (node == inner) is_after = true;
    else if (source_.op(node) != Op::result && is_after == after) visit(lane, node);
  }
}

void NestCopies::visit(Lane& lane, NodeId node) {
  if (lane[node.index]) return;
  if (source_[node].span) b_.set_span(source_[node].span);
  Nodes operands;
  for (const NodeId operand : source_.operands(node)) operands.push_back(value(lane, operand));
  const Op op = source_.op(node);
  lane[node.index] =
      b_.make(op, operands, source_.attributes(node), ir::info(op).typed ? source_.type(node) : Type());
}

NodeId NestCopies::value(const Lane& lane, NodeId old) const {
  const NodeId known = lane[old.index];
  return known ? known : use_(old);
}

NodeId NestCopies::rebuilt(Lane& lane, NodeId old) {
  const bool is_outside = !source_.encloses(nest_, old);
  if (is_outside) return use_(old);
  if (lane[old.index]) return lane[old.index];
  for (const NodeId operand : source_.operands(old)) rebuilt(lane, operand);
  visit(lane, old);
  return lane[old.index];
}

}  // namespace ingot::transform
