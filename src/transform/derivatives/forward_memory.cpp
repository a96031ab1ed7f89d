#include <algorithm>
#include <utility>

#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/derivatives/forward.h"
#include "transform/writers/loop_writer.h"

// Memory of tangents.

namespace ingot::transform {

namespace {

/// Whether there is a loop around `inner` that is not around `outer`.
bool has_loop_between(const Function& f, RegionId inner, RegionId outer) {
  for (RegionId at = inner; at != outer && f[at].owner; at = f[f[at].owner].parent)
    if (ir::is_loop(f.op(f[at].owner))) return true;
  return false;
}

}  // namespace

/// An array that a derivative changes may not be known by a name that does not vary with its variables: what
/// is read there would have lost its tangent.
void Forward::refuse_other_names() {
  const ir::NodeOrder order(source_);
  uint32_t begin = UINT32_MAX;
  uint32_t end = 0;
  for (uint32_t i = 0; i < source_.node_count(); ++i) {
    const Op op = source_.op(NodeId(i));
    const bool is_mark = op == Op::lift || op == Op::tangent || op == Op::primal || op == Op::pull;
    if (!is_mark || source_.attribute(NodeId(i), 0) != tag_) continue;
    begin = std::min(begin, order.begin[i]);
    end = std::max(end, order.begin[i]);
  }
  const Activity names(source_);
  std::vector<std::pair<NodeId, NodeId>> touched;  // one of each memory, and where
  std::vector<NodeId> changed;
  for (uint32_t i = 0; i < source_.node_count(); ++i) {
    const NodeId node(i);
    const ir::Effects effects = ir::info(source_.op(node)).effects;
    if (order.begin[i] < begin || order.begin[i] > end) continue;
    if (!effects.any(ir::effect::Read | ir::effect::Write)) continue;
    if (source_.op(node) == Op::give || source_.op(node) == Op::pull) continue;
    for (const NodeId operand : source_.operands(node)) {
      if (!source_.type(operand).is_view() && !source_.type(operand).is_buffer()) continue;
      const auto is_known = [&](NodeId other) { return activity_.is_same_memory(operand, other); };
      if (std::ranges::none_of(touched, is_known, &std::pair<NodeId, NodeId>::first))
        touched.emplace_back(operand, node);
      const bool changes = effects.any(ir::effect::Write) && is_varied(operand);
      if (changes && std::ranges::none_of(changed, is_known)) changed.push_back(operand);
    }
  }
  for (const NodeId one : changed) {
    refuse_overlap(one);
    for (const auto& [other, node] : touched) {
      if (!activity_.is_same_memory(one, other) && names.is_same_memory(one, other))
        refuse(node, "an array that is changed and known by two names, of which one is a variable,");
    }
  }
}

/// Nor may two arrays that may overlap flow into one variable: their tangents are disjoint.
void Forward::refuse_overlap(NodeId changed) {
  std::vector<std::pair<NodeId, NodeId>> given;  // an array that is given, and a name of it
  const auto is_given = [&](NodeId node) {
    return source_.op(node) == Op::param && source_[node].parent == source_.body();
  };
  for (uint32_t i = 0; i < source_.node_count(); ++i) {
    const NodeId node(i);
    const bool is_name =
        is_given(node) || (source_.op(node) == Op::lift && source_.attribute(node, 0) == tag_);
    if (!is_name || !source_.type(node).is_view() || !activity_.is_same_memory(node, changed)) continue;
    if (const NodeId memory = memory_of(source_, node); is_given(memory)) given.emplace_back(memory, node);
  }
  const auto alias_set = [&](NodeId node) {
    return source_.parameters()[static_cast<size_t>(source_.attribute(node, 0))].alias_set;
  };
  for (const auto& [a, name] : given) {
    for (const auto& [b, other] : given)
      if (a != b && alias_set(a) == alias_set(b))
        refuse(changed, "an array that is changed, and may overlap another in the same variable,");
  }
}

/// A derivative in a loop begins with no tangents in what it finds there.
void Forward::clear_shadows() {
  const Function& f = b_.function();
  for (const auto& [view, region] : memories_) {
    if (has_loop_between(f, b_.current(), region) && f.reaches(view, b_.current()))
      b_.make(Op::write, {view, b_.constant(f.type(view).element(), {})});
  }
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
  const NodeId count = w.ceiling(span, w.index(size));
  const NodeId all = w.new_view({&count, 1}, type.dtype());
  b_.make(Op::write, {all, b_.constant(type.element(), {})});
  return w.view(b_.make(Op::buffer, {all}), low, lengths_of(b_, view), strides, type);
}

/// All of a buffer: of floats, where it is made for an array of them, else of bytes.
NodeId Forward::whole_of(NodeId alloc, NodeId made) {
  LoopWriter w(b_);
  const NodeId bytes = use(source_.operand(alloc, 0));
  const NodeId view(alloc.index + 1);
  if (view.index < source_.node_count() && source_.op(view) == Op::view &&
      source_.operand(view, 0) == alloc) {
    const Type type = source_.type(view);
    const auto rank = static_cast<size_t>(type.rank());
    NodeId product = b_.index(static_cast<int64_t>(base::size_of(type.dtype())));
    Nodes lengths = use_all(source_.operands(view).subspan(2, rank));
    for (size_t i = rank; i-- > 0;) product = w.multiply(product, lengths[i]);
    if (has_tangents(type) && product == bytes) return w.c_view(made, b_.index(0), lengths, type.dtype());
  }
  return w.c_view(made, b_.index(0), {&bytes, 1}, base::DType::UInt8);
}

void Forward::visit_buffer(NodeId id) {
  if (!is_varied(id)) return;
  const Op op = source_.op(id);
  const auto old = source_.operands(id);
  if (op == Op::alloc) {
    const NodeId made = b_.make(op, use_all(old), source_.attributes(id), source_.type(id));
    shadows_[id.index] = {made, b_.index(0)};
    if (kind_ == Tangents::OfMemory) made_shadows_[use(id)] = made;
    const NodeId all = whole_of(id, made);
    memories_.emplace_back(all, b_.current());
    const NodeId zero = b_.constant(b_.function().type(all).element(), base::Scalar{});
    if (kind_ == Tangents::OfMemory) make(Op::write, {all, zero});
    return;
  }
  const Shadow own = shadows_[old[0].index];
  if (!own.node) refuse(id);
  if (op == Op::buffer) {
    const NodeId there = make(Op::offset, {own.node});
    const NodeId here = make(Op::offset, {use(old[0])});
    shadows_[id.index] = {make(Op::buffer, {own.node}), make(Op::subtract, {there, here})};
    if (kind_ == Tangents::OfMemory) made_shadows_[use(id)] = shadows_[id.index].node;
    return;
  }
  Nodes operands = use_all(old);
  operands[0] = own.node;
  operands[1] = make(Op::add, {operands[1], own.delta});
  set_tangent(id, b_.make(op, operands, source_.attributes(id), source_.type(id)));
}

/// The shadow's number is kept together with the buffer's. Offsets into the shadow of a kept buffer are those
/// into the buffer.
void Forward::visit_kept(NodeId id) {
  if (!is_varied(id)) return;
  const Shadow own = shadows_[source_.operand(id, 0).index];
  if (!own.node) refuse(id);
  if (source_.op(id) == Op::kept) {
    shadows_[id.index] = {make(Op::kept, {own.node}), b_.index(0)};
    if (kind_ == Tangents::OfMemory) made_shadows_[use(id)] = shadows_[id.index].node;
    return;
  }
  b_.check(make(Op::equal, {own.delta, b_.index(0)}), base::ExceptionKind::NotImplementedError,
           "the derivative of an array that is kept in a list and has negative strides");
  set_tangent(id, make(Op::keep, {own.node}));
}

/// `write`, `store`, `scatter` and `copy`: the tangents go where the values go.
void Forward::visit_memory(NodeId id) {
  const auto old = source_.operands(id);
  if (!is_varied(old[0])) return;
  const bool has_numbers = may_be_number(source_.type(old[0])) && !activity_.holds_floats(old[0]);
  if (!has_tangents(source_.type(old[0])) && !has_numbers && !clears_bytes(source_, id)) refuse(id);
  if (kind_ == Tangents::OfMemory && !has_numbers) return;
  const NodeId memory = tangent(old[0]);
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

}  // namespace ingot::transform
