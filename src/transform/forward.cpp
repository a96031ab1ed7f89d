#include "transform/forward.h"

#include <algorithm>

#include "transform/derive.h"
#include "transform/linear.h"
#include "transform/loop_writer.h"

namespace ingot::transform {

Forward::Forward(const Function& source, int64_t tag)
    : Rewriter(source), tag_(tag), activity_(source, tag), shadows_(source.node_count()) {}

void Forward::refuse(NodeId id) const {
  const ir::Module& module = source_.module();
  const Op op = source_.op(id);
  std::string what = "the derivative of `" + std::string(ir::name_of(op)) + "`";
  if (op == Op::library)
    what = "the derivative of NumPy's `" +
           module.text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 0)))) + "`";
  if (op == Op::host) what = "the derivative of a call of Python";
  if (op == Op::draw) what = "the derivative of a random number with respect to its distribution";
  if (op == Op::call) what = "the derivative of a recursive function";
  base::Unsupported refusal(module.place(source_[id].span), what,
                            "compute this part from what the derivative is not taken of");
  refusal.sites = module.sites(source_[id].span);
  throw refusal;
}

NodeId Forward::sum(NodeId a, NodeId b) {
  if (!a || !b) return a ? a : b;
  return make(Op::add, {a, b});
}

Nodes Forward::lengths_of(NodeId made) {
  Nodes lengths;
  for (int axis = 0; axis < b_.function().type(made).rank(); ++axis) lengths.push_back(b_.length(made, axis));
  return lengths;
}

NodeId Forward::spread(NodeId made, NodeId like) {
  if (!b_.function().type(made).is_scalar() || !b_.function().type(like).is_array()) return made;
  Nodes operands = lengths_of(like);
  operands.insert(operands.begin(), made);
  return b_.make(Op::broadcast, operands);
}

NodeId Forward::zeros_like(NodeId made) {
  const Type type = b_.function().type(made);
  if (type.is_view()) return shadow_of(made);
  return spread(b_.constant(type.element(), {}), made);
}

NodeId Forward::shadow_of(NodeId view) {
  const Type type = b_.function().type(view);
  const auto size = static_cast<int64_t>(base::size_of(type.dtype()));
  LoopWriter w(b_);
  NodeId low = w.index(0);
  NodeId span = w.index(size);
  Nodes strides;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const NodeId last = w.subtract(b_.length(view, axis), w.index(1));
    const NodeId stride = b_.make(Op::stride, {view}, {axis});
    const NodeId reach = b_.make(Op::maximum, {w.multiply(last, w.absolute(stride)), w.index(0)});
    low = w.add(low, w.select(w.less(stride, w.index(0)), reach, w.index(0)));
    span = w.add(span, reach);
    strides.push_back(stride);
  }
  const NodeId count = make(Op::floor_divide, {w.add(span, w.index(size - 1)), w.index(size)});
  const NodeId all = w.new_view({&count, 1}, type.dtype());
  b_.make(Op::write, {all, b_.constant(type.element(), {})});
  return w.view(b_.make(Op::buffer, {all}), low, lengths_of(view), strides, type);
}

NodeId Forward::some_tangent(NodeId old) {
  if (const NodeId known = tangent(old)) return known;
  const Type type = source_.type(old);
  if (type.has_dtype()) return zeros_like(use(old));
  refuse(old);
}

void Forward::enter_region(RegionId region) {
  if (region != source_.body()) return;
  for (const NodeId parameter : source_.region_parameters(region)) {
    if (!is_varied(parameter)) continue;
    if (!source_.type(parameter).is_view()) refuse(parameter);
    set_tangent(parameter, shadow_of(use(parameter)));
  }
}

void Forward::visit(NodeId id) {
  const Op op = source_.op(id);
  const ir::OpInfo& card = ir::info(op);
  if (op == Op::lift || op == Op::tangent || op == Op::primal) return visit_variable(id);
  if (card.regions > 0) return visit_control(id);
  clone(id);
  if (card.elementwise) return visit_elementwise(id);
  if (op == Op::select) return visit_select(id);
  if (op == Op::reduce) return visit_reduce(id);
  if (op == Op::scan) return visit_scan(id);
  if (op == Op::sort) return visit_sort(id);
  if (op == Op::concat) return visit_concat(id);
  if (op == Op::library) return visit_library(id);
  if (op == Op::dot) return visit_dot(id);
  if (op == Op::alloc || op == Op::view || op == Op::buffer) return visit_buffer(id);
  if (visit_linear(id)) return;
  if (card.effects.any(ir::effect::Write) && !card.effects.any(ir::effect::Host) && op != Op::call &&
      op != Op::library && op != Op::draw)
    return visit_memory(id);
  visit_other(id);
}

void Forward::visit_variable(NodeId id) {
  const Op op = source_.op(id);
  const NodeId x = source_.operand(id, 0);
  if (source_.attribute(id, 0) != tag_) return clone(id);  // of no derivative: a constant in all of them
  if (op == Op::tangent) return bind(id, some_tangent(x));
  bind(id, use(x));
  if (op == Op::lift) set_tangent(id, use(source_.operand(id, 1)));
}

void Forward::visit_elementwise(NodeId id) {
  if (!has_tangents(source_.type(id))) return;
  const auto old = source_.operands(id);
  const Nodes operands = use_all(old);
  NodeId all;
  for (size_t i = 0; i < old.size(); ++i) {
    const NodeId own = tangent(old[i]);
    if (!own) continue;
    const auto part = push_forward(b_, source_.op(id), operands, use(id), i, own);
    if (part) all = sum(all, spread(*part, use(id)));
  }
  if (all) set_tangent(id, all);
}

void Forward::visit_select(NodeId id) {
  const auto old = source_.operands(id);
  if (!has_tangents(source_.type(id)) || (!tangent(old[1]) && !tangent(old[2]))) return;
  NodeId chosen = b_.make(Op::select, {use(old[0]), some_tangent(old[1]), some_tangent(old[2])});
  set_tangent(id, spread(chosen, use(id)));
}

/// Ops whose tangent is what they make of the tangent of their first operand.
bool Forward::visit_linear(NodeId id) {
  switch (source_.op(id)) {
    case Op::cast:
    case Op::broadcast:
    case Op::transpose:
    case Op::slice:
    case Op::squeeze:
    case Op::expand:
    case Op::reshape:
    case Op::gather:
    case Op::compress:
    case Op::materialize:
    case Op::read:
    case Op::load:
    case Op::some:
    case Op::value: break;
    default: return false;
  }
  const Type type = source_.type(id);
  if (type.has_dtype() && !has_tangents(type)) return true;
  const auto old = source_.operands(id);
  NodeId own = tangent(old[0]);
  const bool makes_memory = source_.op(id) == Op::materialize || source_.op(id) == Op::some;
  if (!own && makes_memory && is_varied(id)) own = some_tangent(old[0]);
  if (!own) return true;
  Nodes operands = use_all(old);
  operands[0] = own;
  const Type asked = ir::info(source_.op(id)).typed ? type : Type();
  set_tangent(id, b_.make(source_.op(id), operands, source_.attributes(id), asked));
  return true;
}

void Forward::visit_buffer(NodeId id) {
  if (!is_varied(id)) return;
  const Op op = source_.op(id);
  const auto old = source_.operands(id);
  if (op == Op::alloc) {
    const NodeId made = b_.make(op, use_all(old), source_.attributes(id), source_.type(id));
    if (source_.type(id).is_view()) return set_tangent(id, made);
    shadows_[id.index] = {made, b_.index(0)};
    return;
  }
  const Shadow own = shadows_[old[0].index];
  if (!own.node) refuse(id);
  if (op == Op::buffer) {
    const NodeId there = make(Op::offset, {own.node});
    const NodeId here = make(Op::offset, {use(old[0])});
    shadows_[id.index] = {make(Op::buffer, {own.node}), make(Op::subtract, {there, here})};
    return;
  }
  if (!has_tangents(source_.type(id))) return;
  Nodes operands = use_all(old);
  operands[0] = own.node;
  operands[1] = make(Op::add, {operands[1], own.delta});
  set_tangent(id, b_.make(op, operands, source_.attributes(id), source_.type(id)));
}

/// `write`, `store`, `scatter` and `copy`: the tangents go where the values go.
void Forward::visit_memory(NodeId id) {
  const auto old = source_.operands(id);
  const NodeId memory = tangent(old[0]);
  if (!memory) return;
  const Op op = source_.op(id);
  if (op == Op::scatter) {
    const Op combiner = source_.op_attribute(id, 0);
    if (combiner != Op::constant && combiner != Op::add && combiner != Op::subtract) refuse(id);
  }
  Nodes operands = use_all(old);
  operands[0] = memory;
  const size_t value = op == Op::store ? old.size() - 1 : 1;
  operands[value] = some_tangent(old[value]);
  b_.make(op, operands, source_.attributes(id));
}

/// What has no tangent of its own may not be given what has one, but to look at its shape or compare it.
void Forward::visit_other(NodeId id) {
  const Op op = source_.op(id);
  if (op == Op::none && is_varied(id)) return set_tangent(id, use(id));
  const ir::OpInfo& card = ir::info(op);
  const bool looks = card.effects.pure() && !has_tangents(source_.type(id));
  if (looks || op == Op::check || op == Op::none) return;
  for (const NodeId operand : source_.operands(id))
    if (is_varied(operand)) refuse(id);
}

namespace {

/// The derivative to make next; none: no node is left of any.
std::optional<int64_t> largest_tag(const Function& f) {
  std::optional<int64_t> largest;
  for (uint32_t i = 0; i < f.node_count(); ++i) {
    const Op op = f.op(NodeId(i));
    if (op == Op::lift || op == Op::tangent || op == Op::primal)
      largest = std::max(largest.value_or(0), f.attribute(NodeId(i), 0));
  }
  return largest;
}

}  // namespace

bool has_derivatives(const Function& function) { return largest_tag(function).has_value(); }

std::unique_ptr<Function> derive(const Function& function) {
  std::unique_ptr<Function> made;
  for (auto tag = largest_tag(function); tag; tag = largest_tag(*made))
    made = Forward(made == nullptr ? function : *made, *tag).run();
  return made;
}

}  // namespace ingot::transform
