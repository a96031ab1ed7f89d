#include "transform/forward.h"

#include <algorithm>
#include <utility>

#include "transform/derive.h"
#include "transform/linear.h"

namespace ingot::transform {

namespace {

/// What is refused, where a node has no derivative.
std::string derivative_of(const Function& f, NodeId id) {
  switch (f.op(id)) {
    case Op::library:
      return "the derivative of NumPy's `" +
             f.module().text(ir::TextId(static_cast<uint32_t>(f.attribute(id, 0)))) + "`";
    case Op::host: return "the derivative of a call of Python";
    case Op::draw: return "the derivative of a random number with respect to its distribution";
    case Op::call: return "the derivative of a recursive function";
    default: return "the derivative of `" + std::string(ir::name_of(f.op(id))) + "`";
  }
}

}  // namespace

Forward::Forward(const Function& source, int64_t tag)
    : Rewriter(source), tag_(tag), activity_(source, tag), shadows_(source.node_count()) {
  refuse_other_names();
}

void Forward::refuse(NodeId id, std::string what) const {
  const ir::Module& module = source_.module();
  base::Unsupported refusal(module.place(source_[id].span), what.empty() ? derivative_of(source_, id) : what,
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
  if (op != Op::lift) return;
  if (!std::exchange(has_begun_, true)) clear_shadows();
  set_tangent(id, use(source_.operand(id, 1)));
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

/// What has no tangent of its own may not be given what has one, but to look at its shape or compare it.
void Forward::visit_other(NodeId id) {
  const Op op = source_.op(id);
  if (op == Op::none && is_varied(id)) return set_tangent(id, use(id));
  const ir::OpInfo& card = ir::info(op);
  const bool looks = card.effects.pure() && !has_tangents(source_.type(id));
  if (looks || op == Op::check || op == Op::none) return;
  for (const NodeId operand : source_.operands(id)) {
    // What is printed is looked at, too.
    const bool is_shown = op == Op::host && !source_.type(operand).is_view();
    if (is_varied(operand) && (!is_shown || has_tangents(source_.type(id)))) refuse(id);
  }
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
