#include "transform/analyses/activity.h"

#include <algorithm>
#include <numeric>

#include "transform/writers/linear.h"

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

/// Whether an op uses memory but not its contents.
bool looks_only(Op op) {
  return op == Op::length || op == Op::stride || op == Op::offset || op == Op::tag || op == Op::same_object ||
         op == Op::argsort || op == Op::arg_reduce;
}

/// Whether an op gives elements of an operand, not of indices and lengths.
bool has_elements_of(Op op, size_t operand) {
  if (op == Op::concat) return true;
  return op == Op::select ? operand > 0 : operand == 0;
}

bool is_mark(Op op) {
  return op == Op::lift || op == Op::tangent || op == Op::primal || op == Op::pull || op == Op::back;
}

}  // namespace

std::optional<int64_t> largest_tag(const Function& f) {
  std::optional<int64_t> largest;
  for (uint32_t i = 0; i < f.node_count(); ++i)
    if (is_mark(f.op(NodeId(i)))) largest = std::max(largest.value_or(0), f.attribute(NodeId(i), 0));
  return largest;
}

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
      holds_floats_(function.node_count()),
      numbers_(function.node_count()),
      stands_for_(function.node_count()) {
  std::iota(parent_.begin(), parent_.end(), 0u);
  std::iota(numbers_.begin(), numbers_.end(), 0u);
  if (!tag_) unite_parameters();
  find_outside();
  do {
    has_changed_ = false;
    for (uint32_t i = 0; i < f_.node_count(); ++i) visit(NodeId(i));
  } while (has_changed_);
  for (uint32_t i = 0; i < f_.node_count(); ++i) {
    if (f_.type(NodeId(i)).is_view() && has_tangents(f_.type(NodeId(i))))
      holds_floats_[root(NodeId(i))] = true;
  }
}

/// Numbers that are not made here may stand for the same memory.
void Activity::find_outside() {
  for (uint32_t i = 0; i < f_.node_count(); ++i) {
    const NodeId node(i);
    const Op op = f_.op(node);
    const bool is_parameter = op == Op::param && f_[node].parent == f_.body();
    if (op == Op::keep || op == Op::kept) continue;
    const bool is_called = op == Op::call || ir::info(op).effects.any(ir::effect::Host);
    std::vector<NodeId> all;
    if (is_parameter || is_called) all.push_back(node);
    if (is_called) {
      const auto operands = f_.operands(node);
      all.insert(all.end(), operands.begin(), operands.end());
      if (!f_.type(node).is_void())
        for (const NodeId result : f_.results_of(node)) all.push_back(result);
    }
    for (const NodeId one : all) {
      if (!is_number(one)) continue;
      if (outside_) unite_numbers(outside_, one);
      else outside_ = one;
    }
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

uint32_t Activity::root_in(std::vector<uint32_t>& parent, uint32_t at) {
  while (parent[at] != at) at = parent[at] = parent[parent[at]];
  return at;
}

void Activity::unite(NodeId a, NodeId b) {
  const uint32_t x = root(a);
  const uint32_t y = root(b);
  if (x == y) return;
  parent_[y] = x;
  varied_[x] = varied_[x] || varied_[y];
  has_changed_ = true;
  unite_numbers(a, b);
}

void Activity::unite_numbers(NodeId a, NodeId b) {
  const uint32_t x = root_in(numbers_, a.index);
  const uint32_t y = root_in(numbers_, b.index);
  if (x == y) return;
  numbers_[y] = x;
  has_changed_ = true;
  if (stands_for_[y]) stand_for(a, stands_for_[y]);
}

void Activity::stand_for(NodeId number, NodeId memory) {
  NodeId& known = stands_for_[root_in(numbers_, number.index)];
  if (known) return unite(known, memory);
  known = memory;
  has_changed_ = true;
}

void Activity::visit_kept(NodeId node) {
  const NodeId operand = f_.operand(node, 0);
  const bool is_keep = f_.op(node) == Op::keep;
  if (is_keep && is_varied(operand)) mark(node);
  stand_for(is_keep ? node : operand, is_keep ? operand : node);
}

void Activity::mark(NodeId value) {
  const uint32_t at = root(value);
  has_changed_ = has_changed_ || !varied_[at];
  varied_[at] = true;
}

/// `copies`: numbers, too, are passed on unchanged.
void Activity::flow(NodeId from, NodeId to, bool copies) {
  if (f_.op(from) == Op::none) return;  // one node may be where several variables begin
  if (is_shared(f_.type(from)) && is_shared(f_.type(to))) unite(from, to);
  else if (is_varied(from) && can_take(f_.type(from), f_.type(to))) mark(to);
  if (copies && is_number(from) && is_number(to)) unite_numbers(from, to);
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
  if (op == Op::keep || op == Op::kept) return visit_kept(node);
  const ir::OpInfo& card = ir::info(op);
  if (card.elementwise) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (has_slope(op, i)) flow(operands[i], node, false);
  } else if (card.effects.any(ir::effect::Control | ir::effect::Exit) || card.terminator) {
    visit_control(node);
  } else if (card.effects.any(ir::effect::Host) || op == Op::call || op == Op::library || op == Op::c_call) {
    visit_outside(node);
  } else if (card.effects.any(ir::effect::Write)) {
    visit_memory(node);
  } else if (!looks_only(op)) {
    for (size_t i = 0; i < operands.size(); ++i) flow(operands[i], node, has_elements_of(op, i));
  }
}

/// Stores: what goes into which memory.
void Activity::visit_memory(NodeId node) {
  const auto operands = f_.operands(node);
  if (operands.size() < 2) return;
  const Op op = f_.op(node);
  const NodeId value = op == Op::store ? operands.back() : operands[1];
  if (is_varied(value)) mark(operands[0]);
  if (is_number(value) && is_number(operands[0])) unite_numbers(value, operands[0]);
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

/// The result of a routine varies with its operands. What is called may give back what it was given.
void Activity::visit_outside(NodeId node) {
  std::vector<NodeId> all;
  for (const NodeId operand : f_.operands(node)) all.push_back(operand);
  if (f_.op(node) == Op::library || f_.op(node) == Op::c_call)
    for (const NodeId operand : f_.operands(node)) flow(operand, node);
  if (!f_.type(node).is_void())
    for (const NodeId result : f_.results_of(node)) all.push_back(result);
  std::erase_if(all, [&](NodeId value) { return !is_shared(f_.type(value)) || f_.op(value) == Op::none; });
  if (all.empty()) return;
  for (const NodeId value : all) unite(all[0], value);
}

}  // namespace ingot::transform
