#include "transform/derivatives/usefulness.h"

#include "ir/walk.h"
#include "transform/writers/linear.h"

namespace ingot::transform {

using ir::NodeId;
using ir::Op;

Usefulness::Usefulness(const ir::Function& function, const Activity& activity, NodeId pull)
    : f_(function), activity_(activity), pull_(pull), useful_(function.node_count()) {
  mark_all(f_.operands(pull).first(static_cast<size_t>(f_.attribute(pull, 1))));
  do {
    has_changed_ = false;
    for (uint32_t i = static_cast<uint32_t>(f_.node_count()); i-- > 0;) visit(NodeId(i));
  } while (has_changed_);
}

void Usefulness::mark(NodeId value) {
  if (!activity_.is_varied(value) || is_useful(value)) return;
  useful_[activity_.memory_of(value)] = true;
  has_changed_ = true;
}

void Usefulness::mark_all(std::span<const NodeId> values) {
  for (const NodeId value : values) mark(value);
}

/// What flows into something useful is useful.
void Usefulness::flow(std::span<const NodeId> from, std::span<const NodeId> to) {
  for (size_t i = 0; i < from.size(); ++i)
    if (is_useful(to[i])) mark(from[i]);
}

void Usefulness::visit(NodeId node) {
  const Op op = f_.op(node);
  const auto operands = f_.operands(node);
  const ir::Effects effects = ir::info(op).effects;
  if (op == Op::lift || op == Op::primal) {
    if (f_.attribute(node, 0) != f_.attribute(pull_, 0) && is_useful(node)) mark(operands[0]);
  } else if (op == Op::yield) {
    visit_yield(node);
  } else if (op == Op::back) {
    if (!is_asked(node)) return;
    ir::walk(f_, f_.region(node), [&](NodeId inside) {
      if (f_.op(inside) == Op::give && f_.attribute(inside, 0) == f_.attribute(node, 0))
        mark(f_.operand(inside, 0));
    });
  } else if (f_[node].region_count > 0) {
    visit_control(node);
  } else if (op == Op::tangent || op == Op::cotangent || op == Op::give || op == Op::pull) {
    return;
  } else if (effects.any(ir::effect::Write) && !operands.empty() && is_useful(operands[0])) {
    mark_all(operands.subspan(1));
  } else if (!f_.type(node).is_void() && is_useful(node)) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!ir::info(op).elementwise || has_slope(op, i)) mark(operands[i]);
  }
}

/// What a loop carries is as useful as what it gives: the sweep has a cotangent for both or for neither.
void Usefulness::visit_control(NodeId node) {
  const Op op = f_.op(node);
  const auto operands = f_.operands(node);
  if (f_.type(node).is_void()) return;
  const auto results = f_.results_of(node);
  if (op == Op::for_) {
    const auto carried = f_.region_parameters(f_.region(node)).subspan(1);
    flow(carried, results);
    flow(results, carried);
    flow(operands.subspan(1), carried);
  } else if (op == Op::while_) {
    const auto tested = f_.region_parameters(f_.region(node));
    flow(operands, tested);
  } else if (op == Op::parallel_for) {
    flow(operands.subspan(1), results);
  }
}

void Usefulness::visit_yield(NodeId node) {
  const ir::RegionId region = f_[node].parent;
  const NodeId owner = f_[region].owner;
  const auto operands = f_.operands(node);
  if (!owner || operands.empty()) return;
  const bool is_test = f_.op(owner) == Op::while_ && f_.region(owner) == region;
  if (is_test) {
    const auto values = operands.subspan(1);
    if (!f_.type(owner).is_void()) flow(values, f_.results_of(owner));
    flow(values, f_.region_parameters(f_.region(owner, 1)));
  } else if (f_.op(owner) == Op::while_) {
    flow(operands, f_.region_parameters(f_.region(owner)));
  } else if (!f_.type(owner).is_void()) {
    flow(operands, f_.results_of(owner));
  }
}

bool Usefulness::is_asked(NodeId back) const {
  if (f_.attribute(back, 0) != f_.attribute(pull_, 0)) return false;
  return !ir::walk(f_, f_.region(back), [&](NodeId inside) {
    // What it does is seen outside: it takes a cotangent from another process, or gives one to it.
    if (f_.op(inside) == Op::c_call) return ir::Walk::Stop;
    const bool is_own = f_.op(inside) == Op::cotangent && f_.attribute(inside, 0) == f_.attribute(pull_, 0);
    return is_own && is_useful(f_.operand(inside, 0)) ? ir::Walk::Stop : ir::Walk::Into;
  });
}

}  // namespace ingot::transform
