#include "transform/alias.h"

namespace ingot::transform {

using ir::NodeId;

Root root_of(const ir::Function& function, NodeId node) {
  for (;;) {
    const ir::OpInfo& card = ir::info(function.op(node));
    const ir::Op op = function.op(node);
    if (op == ir::Op::param && function[node].parent == function.body()) {
      const auto index = static_cast<size_t>(function.attribute(node, 0));
      return {Root::Kind::Parameter, function.parameters()[index].alias_set};
    }
    const bool is_memory = function.type(node).is_view() || function.type(node).is_buffer();
    if (card.effects == ir::effect::Allocate && card.regions == 0 && is_memory)
      return {Root::Kind::Fresh, node.index};
    // A pure node that gives memory gives that of its first operand, if that is memory.
    if (!card.effects.pure() || function.operands(node).empty()) return {};
    const NodeId next = function.operand(node, 0);
    if (!function.type(next).is_view() && !function.type(next).is_buffer()) return {};
    node = next;
  }
}

bool may_overlap(const Root& a, const Root& b) {
  if (a.kind == Root::Kind::Unknown || b.kind == Root::Kind::Unknown) return true;
  return a == b;
}

}  // namespace ingot::transform
