#include "transform/activity.h"

#include <algorithm>
#include <numeric>

#include "transform/linear.h"

namespace ingot::transform {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::Type;
using ir::TypeKind;

namespace {

/// What is one with all that it flows into.
bool is_shared(Type type) { return type.is_view() || type.is_buffer() || type.is(TypeKind::Optional); }

/// Whether a value of a type may vary with one of another type.
bool can_take(Type from, Type to) {
  if (is_shared(to)) return true;
  return may_be_number(from) ? may_be_number(to) : has_tangents(to) || (may_be_number(to) && is_shared(from));
}

/// Whether an op looks at memory without what is in it.
bool looks_only(Op op) {
  return op == Op::length || op == Op::stride || op == Op::offset || op == Op::tag || op == Op::same_object ||
         op == Op::argsort || op == Op::arg_reduce;
}

}  // namespace

bool clears_bytes(const Function& f, NodeId id) {
  if (f.op(id) != Op::write || f.type(f.operand(id, 0)).dtype() != base::DType::UInt8) return false;
  const NodeId value = f.operand(id, 1);
  return f.is_constant(value) && f.constant(value).bits[0] == 0;
}

Activity::Activity(const Function& function, std::optional<int64_t> tag)
    : f_(function),
      tag_(tag),
      parent_(function.node_count()),
      varied_(function.node_count()),
      holds_floats_(function.node_count()) {
  std::iota(parent_.begin(), parent_.end(), 0u);
  if (!tag_) unite_parameters();
  do {
    has_changed_ = false;
    for (uint32_t i = 0; i < f_.node_count(); ++i) visit(NodeId(i));
  } while (has_changed_);
  for (uint32_t i = 0; i < f_.node_count(); ++i) {
    if (f_.type(NodeId(i)).is_view() && has_tangents(f_.type(NodeId(i))))
      holds_floats_[root(NodeId(i))] = true;
  }
}

/// Arrays that the function is given may overlap.
void Activity::unite_parameters() {
  const auto parameters = f_.region_parameters(f_.body());
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (f_.parameters()[i].alias_set == f_.parameters()[k].alias_set && is_shared(f_.type(parameters[i])) &&
          is_shared(f_.type(parameters[k])))
        unite(parameters[i], parameters[k]);
    }
  }
}

uint32_t Activity::root(NodeId value) const {
  uint32_t at = value.index;
  while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
  return at;
}

void Activity::unite(NodeId a, NodeId b) {
  const uint32_t x = root(a);
  const uint32_t y = root(b);
  if (x == y) return;
  parent_[y] = x;
  varied_[x] = varied_[x] || varied_[y];
  has_changed_ = true;
}

void Activity::mark(NodeId value) {
  const uint32_t at = root(value);
  has_changed_ = has_changed_ || !varied_[at];
  varied_[at] = true;
}

void Activity::flow(NodeId from, NodeId to) {
  if (is_shared(f_.type(from)) && is_shared(f_.type(to))) unite(from, to);
  else if (is_varied(from) && can_take(f_.type(from), f_.type(to))) mark(to);
}

void Activity::flow_all(std::span<const NodeId> from, std::span<const NodeId> to) {
  for (size_t i = 0; i < from.size(); ++i) flow(from[i], to[i]);
}

void Activity::visit(NodeId node) {
  const Op op = f_.op(node);
  const auto operands = f_.operands(node);
  if (op == Op::lift && tag_ && f_.attribute(node, 0) == *tag_) return mark(node);
  if (op == Op::tangent || op == Op::cotangent || op == Op::give || op == Op::pull ||
      (op == Op::primal && tag_))
    return;
  if (op == Op::lift || op == Op::primal) return flow(operands[0], node);
  const ir::OpInfo& card = ir::info(op);
  if (card.elementwise) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (has_slope(op, i)) flow(operands[i], node);
  } else if (card.effects.any(ir::effect::Control | ir::effect::Exit) || card.terminator) {
    visit_control(node);
  } else if (card.effects.any(ir::effect::Host) || op == Op::call || op == Op::library || op == Op::kept) {
    visit_outside(node);
  } else if (card.effects.any(ir::effect::Write)) {
    visit_memory(node);
  } else if (!looks_only(op)) {
    for (const NodeId operand : operands) flow(operand, node);
  }
}

/// Stores: what goes into which memory.
void Activity::visit_memory(NodeId node) {
  const auto operands = f_.operands(node);
  if (operands.size() < 2) return;
  const Op op = f_.op(node);
  const NodeId value = op == Op::store ? operands.back() : operands[1];
  if (is_varied(value)) mark(operands[0]);
}

void Activity::visit_control(NodeId node) {
  const Op op = f_.op(node);
  const auto operands = f_.operands(node);
  if (op == Op::for_) {
    const auto carried = f_.region_parameters(f_.region(node)).subspan(1);
    flow_all(operands.subspan(1), carried);
    flow_all(carried, f_.results_of(node));
  } else if (op == Op::while_) {
    flow_all(operands, f_.region_parameters(f_.region(node)));
    flow_all(f_.region_parameters(f_.region(node, 1)), f_.results_of(node));
  } else if (op == Op::parallel_for) {
    flow_all(operands.subspan(1), f_.results_of(node));
  } else if (op == Op::exit_) {
    flow_all(operands.subspan(1), f_.results_of(f_[f_[operands[0]].parent].owner));
  } else if (op == Op::yield) {
    const ir::RegionId region = f_[node].parent;
    const NodeId owner = f_[region].owner;
    const bool is_test = f_.op(owner) == Op::while_ && f_.region(owner) == region;
    if (f_.op(owner) == Op::for_) flow_all(operands, f_.region_parameters(region).subspan(1));
    else if (is_test) flow_all(operands.subspan(1), f_.region_parameters(f_.region(owner, 1)));
    else if (f_.op(owner) == Op::while_) flow_all(operands, f_.region_parameters(f_.region(owner)));
    else flow_all(operands, f_.results_of(owner));
  }
}

/// The result of a routine varies with its operands. What is called may give back what it was given, and
/// buffers that have numbers are one memory.
void Activity::visit_outside(NodeId node) {
  std::vector<NodeId> all;
  for (const NodeId operand : f_.operands(node)) all.push_back(operand);
  if (f_.op(node) == Op::library)
    for (const NodeId operand : f_.operands(node)) flow(operand, node);
  if (!f_.type(node).is_void())
    for (const NodeId result : f_.results_of(node)) all.push_back(result);
  std::erase_if(all, [&](NodeId value) { return !is_shared(f_.type(value)); });
  if (all.empty()) return;
  if (f_.op(node) == Op::keep || f_.op(node) == Op::kept) {
    if (!kept_) kept_ = all[0];
    all.push_back(kept_);
  }
  if (f_.op(node) == Op::keep && is_varied(all[0])) mark(node);
  for (const NodeId value : all) unite(all[0], value);
}

}  // namespace ingot::transform
