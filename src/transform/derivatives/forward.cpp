#include "transform/derivatives/forward.h"

#include <algorithm>
#include <utility>

#include "transform/derivatives/pullback.h"
#include "transform/writers/linear.h"

namespace ingot::transform {

Forward::Forward(const Function& source, int64_t tag, Tangents kind)
    : Rewriter(source), tag_(tag), kind_(kind), activity_(source, tag), shadows_(source.node_count()) {
  refuse_other_names();
}

void Forward::refuse(NodeId id, const std::string& what) const { refuse_derivative(source_, id, what); }

NodeId Forward::sum(NodeId a, NodeId b) {
  if (!a || !b) return a ? a : b;
  return make(Op::add, {a, b});
}

NodeId Forward::spread(NodeId made, NodeId like) {
  if (!b_.function().type(made).is_scalar() || !b_.function().type(like).is_array()) return made;
  Nodes operands = lengths_of(b_, like);
  operands.insert(operands.begin(), made);
  return b_.make(Op::broadcast, operands);
}

NodeId Forward::zeros_like(NodeId made) {
  const Type type = b_.function().type(made);
  if (type.is_view()) return shadow_of(made);
  return spread(b_.constant(type.element(), {}), made);
}

NodeId Forward::some_tangent(NodeId old) {
  if (const NodeId known = tangent(old)) return known;
  if (source_.op(old) == Op::none) return use(old);
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
  if (op == Op::cotangent || op == Op::give || op == Op::pull) return clone(id);
  if (card.regions > 0) return visit_control(id);
  clone(id);
  if (kind_ == Tangents::OfMemory) return visit_shadow(id);
  if (card.elementwise) return visit_elementwise(id);
  if (op == Op::select) return visit_select(id);
  if (op == Op::reduce) return visit_reduce(id);
  if (op == Op::scan) return visit_scan(id);
  if (op == Op::sort) return visit_sort(id);
  if (op == Op::concat) return visit_concat(id);
  if (op == Op::library) return visit_library(id);
  if (op == Op::dot) return visit_dot(id);
  if (op == Op::alloc || op == Op::view || op == Op::buffer) return visit_buffer(id);
  if (op == Op::keep || op == Op::kept) return visit_kept(id);
  if (visit_linear(id)) return;
  if (card.effects.any(ir::effect::Write) && !card.effects.any(ir::effect::Host) && op != Op::call &&
      op != Op::library && op != Op::draw && op != Op::c_call)
    return visit_memory(id);
  visit_other(id);
}

void Forward::visit_variable(NodeId id) {
  const Op op = source_.op(id);
  const NodeId x = source_.operand(id, 0);
  if (source_.attribute(id, 0) != tag_) return clone(id);  // of no derivative: a constant in all of them
  if (op == Op::tangent) return bind(id, some_tangent(x));
  if (kind_ == Tangents::OfMemory) clone(id);
  else bind(id, use(x));
  if (op != Op::lift) return;
  if (!std::exchange(has_begun_, true)) clear_shadows();
  if (has_own(id)) set_tangent(id, use(source_.operand(id, 1)));
}

/// Notes the lengths of arrays that vary for the reverse sweep.
void Forward::bind(NodeId old, NodeId made) {
  Rewriter::bind(old, made);
  if (kind_ == Tangents::OfMemory && source_.type(old).is_array() && is_varied(old) &&
      made_lengths_.count(made) == 0)
    made_lengths_[made] = lengths_of(b_, made);
  if (kind_ == Tangents::OfMemory && source_.op(old) == Op::sized && is_varied(old))
    made_lengths_[use(source_.operand(old, 0))] = lengths_of(b_, made);
}

void Forward::visit_shadow(NodeId id) {
  const Op op = source_.op(id);
  if (op == Op::alloc || op == Op::view || op == Op::buffer) return visit_buffer(id);
  if (op == Op::keep || op == Op::kept) return visit_kept(id);
  if (op == Op::store || op == Op::write || op == Op::scatter || op == Op::copy) return visit_memory(id);
  if (!source_.type(id).is_void() && !source_.type(id).is(ir::TypeKind::Results) && has_own(id)) {
    if (visit_linear(id)) return;
    refuse(id);
  }
  const bool is_call =
      op == Op::host || op == Op::call || op == Op::draw || op == Op::c_call || op == Op::c_value;
  if (is_call || (op == Op::library && !is_product(id))) visit_other(id);
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
  if (!is_varied(id) || (!tangent(old[1]) && !tangent(old[2]))) return;
  NodeId const chosen = b_.make(Op::select, {use(old[0]), some_tangent(old[1]), some_tangent(old[2])});
  set_tangent(id, spread(chosen, use(id)));
}

/// Ops whose tangent is the same op of the tangent of their first operand.
bool Forward::visit_linear(NodeId id) {
  switch (source_.op(id)) {
    case Op::cast:
    case Op::broadcast:
    case Op::transpose:
    case Op::slice:
    case Op::squeeze:
    case Op::expand:
    case Op::reshape:
    case Op::sized:
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
  if (type.has_dtype() && !has_tangents(type) && !is_number(id)) return true;
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

/// What has no tangent of its own may not be given what has one, but to look at its shape or compare it.
void Forward::visit_other(NodeId id) {
  const Op op = source_.op(id);
  const ir::OpInfo& card = ir::info(op);
  const bool looks = card.effects.pure() && !has_tangents(source_.type(id));
  if (looks || op == Op::check || op == Op::none) return;
  // A call of Python writes what it gives into memory.
  const bool is_called =
      op == Op::host &&
      source_.module().text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 1)))) == "call";
  for (const NodeId operand : source_.operands(id)) {
    // What is printed is looked at, too.
    const bool is_shown = op == Op::host && !is_called && !source_.type(operand).is_view();
    if (is_varied(operand) && (!is_shown || has_tangents(source_.type(id)))) refuse(id);
  }
}

}  // namespace ingot::transform
