#include "transform/derivatives/pullback.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transform/analyses/activity.h"
#include "transform/derivatives/reduce_slopes.h"
#include "transform/writers/linear.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// What is refused, where a node has no derivative.
std::string derivative_of(const Function& f, NodeId id) {
  switch (f.op(id)) {
    case Op::library:
      return "the derivative of NumPy's `" +
             f.module().text(ir::TextId(static_cast<uint32_t>(f.attribute(id, 0)))) + "`";
    case Op::host: return "the derivative of a call of Python";
    case Op::c_call:
    case Op::c_value:
      return "the derivative of the C function `" +
             f.module().text(ir::TextId(static_cast<uint32_t>(f.attribute(id, 1)))) + "`";
    case Op::draw: return "the derivative of a random number with respect to its distribution";
    case Op::call: return "the derivative of a recursive function";
    default: return "the derivative of `" + std::string(ir::name_of(f.op(id))) + "`";
  }
}

}  // namespace

void refuse_derivative(const Function& function, NodeId id, const std::string& what) {
  const ir::Module& module = function.module();
  base::Unsupported refusal(module.location(function[id].span),
                            what.empty() ? derivative_of(function, id) : what,
                            "compute this part from what the derivative is not taken of");
  refusal.sites = module.sites(function[id].span);
  throw base::Unsupported(std::move(refusal));
}

Nodes Pullback::lengths(NodeId old) {
  Nodes all;
  for (int axis = 0; axis < source_.type(old).rank(); ++axis) all.push_back(sweep_.length(old, axis));
  return all;
}

NodeId Pullback::zeros(NodeId like) {
  const Nodes all = lengths(like);
  const NodeId made = LoopWriter(b_).new_view(all, source_.type(like).dtype());
  b_.make(Op::write, {made, zero(source_.type(like))});
  return made;
}

NodeId Pullback::mirrored(NodeId made) {
  return base::is_complex(b_.function().type(made).dtype()) ? make(Op::conjugate, {made}) : made;
}

NodeId Pullback::sum_of(NodeId c) {
  const int rank = b_.function().type(c).rank();
  if (!b_.function().type(c).is_array()) return c;
  if (rank == 0) return make(Op::load, {make(Op::materialize, {c})});
  std::vector<int64_t> attributes{static_cast<int64_t>(Op::add)};
  for (int64_t axis = 0; axis < rank; ++axis) attributes.push_back(axis);
  return b_.make(Op::reduce, std::array{c}, attributes);
}

void Pullback::add_all(NodeId old, NodeId c) {
  const bool is_number = source_.type(old).is_scalar();
  sweep_.add(old, is_number ? sum_of(c) : c);
}

/// A cotangent whose elements are those of a masked one is masked.
NodeId Pullback::like(NodeId c, NodeId made) {
  if (sweep_.is_masked(c)) sweep_.mask(made);
  return made;
}

void Pullback::visit(NodeId id) {
  const Op op = source_.op(id);
  if (visit_memory(id)) return;
  if (source_.type(id).is_void() || source_.type(id).is(ir::TypeKind::Results) || is_memory(source_, id))
    return;
  const NodeId c = sweep_.cotangent(id);
  if (!c) return;
  if (ir::info(op).elementwise) return visit_elementwise(id, c);
  if (visit_rearrangement(id, c)) return;
  switch (op) {
    case Op::select: return visit_select(id, c);
    case Op::broadcast: return visit_broadcast(id, c);
    case Op::slice: return visit_slice(id, c);
    case Op::gather: return visit_gather(id, c);
    case Op::compress: return visit_compress(id, c);
    case Op::reduce: return visit_reduce(id, c);
    case Op::scan: return visit_scan(id, c);
    case Op::sort: return visit_sort(id, c);
    case Op::concat: return visit_concat(id, c);
    case Op::dot: return visit_dot(id, c);
    case Op::read:
    case Op::load: return visit_load(id, c);
    case Op::some:
    case Op::value: return visit_value(id, c);
    case Op::param:
    case Op::result:
    case Op::constant:
    case Op::lift:
    case Op::none:
    case Op::primal: return;
    case Op::library:
      if (source_.module().text(ir::TextId(static_cast<uint32_t>(source_.attribute(id, 0)))) == "matmul")
        return visit_dot(id, c);
      [[fallthrough]];
    default: refuse_derivative(source_, id);
  }
}

void Pullback::visit_elementwise(NodeId id, NodeId c) {
  const auto old = source_.operands(id);
  for (size_t i = 0; i < old.size(); ++i) {
    if (!has_slope(source_.op(id), i) || !sweep_.varies(old[i])) continue;
    Nodes operands;
    for (const NodeId operand : old) operands.push_back(sweep_.value(operand));
    auto part = pull_back(b_, source_.op(id), operands, sweep_.value(id), i, c);
    if (!part) continue;
    if (sweep_.is_masked(c)) part = where_not_zero(c, *part);
    add_all(old[i], *part);
  }
}

/// What has been made of a masked cotangent, zero where that is.
NodeId Pullback::where_not_zero(NodeId c, NodeId made) {
  if (made == c) return made;
  const NodeId is_zero = make(Op::equal, {c, zero(b_.function().type(c))});
  const NodeId masked = make(Op::select, {is_zero, zero(b_.function().type(made)), made});
  sweep_.mask(masked);
  return masked;
}

void Pullback::visit_select(NodeId id, NodeId c) {
  const auto old = source_.operands(id);
  const NodeId none = zero(source_.type(id));
  const NodeId condition = sweep_.value(old[0]);
  for (size_t arm = 1; arm <= 2; ++arm) {
    if (!sweep_.varies(old[arm])) continue;
    const NodeId masked = make(Op::select, {condition, arm == 1 ? c : none, arm == 1 ? none : c});
    sweep_.mask(masked);
    add_all(old[arm], masked);
  }
}

/// Ops that give each element of their operand once.
bool Pullback::visit_rearrangement(NodeId id, NodeId c) {
  const NodeId x = source_.operands(id).empty() ? id : source_.operand(id, 0);
  switch (source_.op(id)) {
    case Op::cast:
      if (has_tangents(source_.type(x))) sweep_.add(x, like(c, b_.cast(c, source_.type(x).dtype())));
      return true;
    case Op::transpose: {
      const auto axes = source_.ints(id);
      std::vector<int64_t> inverse(axes.size());
      for (size_t i = 0; i < axes.size(); ++i)
        inverse[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
      sweep_.add(x, like(c, b_.make(Op::transpose, std::array{c}, inverse)));
      return true;
    }
    case Op::squeeze:
      sweep_.add(x, like(c, b_.make(Op::expand, std::array{c}, source_.ints(id))));
      return true;
    case Op::expand:
      sweep_.add(x, like(c, b_.make(Op::squeeze, std::array{c}, source_.ints(id))));
      return true;
    case Op::sized: sweep_.add(x, c); return true;
    case Op::reshape: {
      Nodes operands = lengths(x);
      operands.insert(operands.begin(), c);
      sweep_.add(x, like(c, b_.make(Op::reshape, operands)));
      return true;
    }
    default: return false;
  }
}

/// An optional has the cotangent of its value.
void Pullback::visit_value(NodeId id, NodeId c) { sweep_.add(source_.operand(id, 0), c); }

}  // namespace ingot::transform
