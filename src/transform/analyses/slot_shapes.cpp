// Shapes that loops keep (`transform/analyses/slot_shapes`). `simplify` assumes that an array which a loop
// carries keeps the lengths and strides that it begins with. An iteration that yields others refutes that,
// and the function is built again without it; else a view that states the lengths and strides replaces the
// slot, for later passes too. What the arms of a branch agree on is known of its result. So `x = f(x)` in a
// loop has one nest, without versions. What a loop carries is of the memory it begins with, or of what its
// iterations yield (`alias`).

#include "transform/analyses/slot_shapes.h"

namespace ingot::transform {

NodeId stride_of(ir::Builder& builder, NodeId view, int64_t axis) {
  const NodeId made = builder.make(Op::stride, {view}, {axis});
  const Function& f = builder.function();
  if (f.op(made) != Op::stride || f.op(f.operand(made, 0)) != Op::materialize) return made;
  // In C order: all elements of the axes inside it.
  const NodeId fresh = f.operand(made, 0);
  const Type type = f.type(fresh);
  NodeId stride = builder.index(static_cast<int64_t>(base::size_of(type.dtype())));
  for (int64_t inside = type.rank() - 1; inside > f.attribute(made, 0); --inside)
    stride = builder.make(Op::multiply, {stride, builder.make(Op::length, {fresh}, {inside})});
  return stride;
}

SlotShapes::SlotShapes(const Function& source, ir::Builder& builder, const std::set<Fact>& refuted)
    : source_(source), b_(builder), refuted_(refuted), is_asked_(source.node_count()) {
  for (uint32_t i = 0; i < source.node_count(); ++i) {
    for (const NodeId operand : source.operands(NodeId(i)))
      if (asks_for_shape(NodeId(i), operand)) is_asked_[operand.index] = true;
  }
}

bool SlotShapes::asks_for_shape(NodeId user, NodeId operand) const {
  if (rank_of(source_.type(operand)) == 0) return false;
  switch (source_.op(user)) {
    case Op::buffer:
    case Op::offset: return false;
    case Op::load:
    case Op::store: return source_.operand(user, 0) != operand;
    default: return !ir::info(source_.op(user)).terminator;
  }
}

NodeId SlotShapes::part(NodeId view, size_t i) {
  const size_t rank = rank_of(b_.function().type(view));
  return i < rank ? b_.make(Op::length, {view}, {static_cast<int64_t>(i)})
                  : stride_of(b_, view, static_cast<int64_t>(i - rank));
}

/// A node, if it is visible at the builder's position; of a constant, a new one that is.
NodeId SlotShapes::seen(NodeId node) const {
  const Function& f = b_.function();
  if (f.is_constant(node)) return b_.constant(f.type(node), f.constant(node));
  return f.reaches(node, b_.current()) ? node : NodeId();
}

void SlotShapes::expect(NodeId loop, std::span<const NodeId> inits) {
  const auto parameters = source_.region_parameters(source_.region(loop));
  const size_t fixed = parameters.size() - inits.size();
  for (size_t slot = 0; slot < inits.size(); ++slot) {
    const NodeId parameter = parameters[fixed + slot];
    const size_t parts = parts_of(source_.type(parameter));
    if (parts == 0) continue;
    const bool asked = is_asked_[parameter.index] || (source_.op(loop) == Op::while_) ||
                       is_asked_[source_.result(loop, slot).index];
    if (!asked) continue;
    Shape shape(parts);
    for (size_t i = 0; i < parts; ++i)
      if (!refuted_.contains({parameter.index, i})) shape[i] = part(inits[slot], i);
    of_[parameter.index] = std::move(shape);
  }
}

NodeId SlotShapes::bound(NodeId old, NodeId made) {
  if (rank_of(source_.type(old)) == 0) return made;
  const Shape* shape = nullptr;
  if (source_.op(old) == Op::param) {
    const auto known = of_.find(old.index);
    if (known != of_.end()) shape = &known->second;
  } else {
    const bool several = source_.op(old) == Op::result;
    const NodeId owner = several ? source_.operand(old, 0) : old;
    const size_t slot = several ? static_cast<size_t>(source_.attribute(old, 0)) : 0;
    const auto known = given_.find({owner.index, slot});
    if (known != given_.end()) shape = &known->second;
  }
  if (shape == nullptr) return made;
  const bool is_array = b_.function().type(made).is_array();
  Nodes operands{made};
  if (!is_array) operands = {b_.make(Op::buffer, {made}), b_.make(Op::offset, {made})};
  bool any = false;
  for (size_t i = 0; i < shape->size(); ++i) {
    const NodeId node = (*shape)[i] ? seen((*shape)[i]) : NodeId();
    any = any || node;
    operands.push_back(node ? node : part(made, i));
  }
  if (!any) return made;
  itself_[old.index] = made;
  if (is_array) return b_.make(Op::sized, operands);
  return b_.make(Op::view, operands, {}, b_.function().type(made));
}

NodeId SlotShapes::itself(NodeId old) const {
  const auto known = itself_.find(old.index);
  return known == itself_.end() ? NodeId() : known->second;
}

/// One of the ends of a node gives this value as its result.
void SlotShapes::agree(NodeId owner, size_t slot, NodeId value) {
  const size_t parts = parts_of(b_.function().type(value));
  if (parts == 0 || !is_asked_[source_.result(owner, slot).index]) return;
  const auto [known, is_first] = given_.try_emplace({owner.index, slot}, Shape(parts));
  const Function& f = b_.function();
  for (size_t i = 0; i < parts; ++i) {
    NodeId& all = known->second[i];
    if (!is_first && !all) continue;
    const NodeId own = part(value, i);
    const bool same = all && (all == own || (f.is_constant(all) && f.is_constant(own) &&
                                             f.constant(all).bits == f.constant(own).bits));
    all = is_first || same ? own : NodeId();
  }
}

void SlotShapes::end(NodeId terminator, std::span<const NodeId> values) {
  const Op op = source_.op(terminator);
  if (op == Op::exit_) {
    const NodeId block = source_[source_[source_.operand(terminator, 0)].parent].owner;
    for (size_t slot = 1; slot < values.size(); ++slot) agree(block, slot - 1, values[slot]);
    return;
  }
  if (op != Op::yield) return;
  const RegionId region = source_[terminator].parent;
  const NodeId owner = source_[region].owner;
  const Op around = source_.op(owner);
  const bool is_test = around == Op::while_ && region == source_.region(owner, 0);
  if (around != Op::for_ && (around != Op::while_ || is_test)) {
    const size_t fixed = is_test ? 1 : 0;
    for (size_t slot = fixed; slot < values.size(); ++slot) agree(owner, slot - fixed, values[slot]);
    if (!is_test) return;
    const auto parameters = source_.region_parameters(source_.region(owner, 1));
    for (size_t slot = 0; slot < parameters.size(); ++slot) {
      const auto known = given_.find({owner.index, slot});
      if (known != given_.end()) of_[parameters[slot].index] = known->second;
    }
    return;
  }
  const auto parameters = source_.region_parameters(source_.region(owner));
  const size_t fixed = parameters.size() - values.size();
  for (size_t slot = 0; slot < values.size(); ++slot) {
    const NodeId parameter = parameters[fixed + slot];
    const auto expected = of_.find(parameter.index);
    if (expected == of_.end()) continue;
    for (size_t i = 0; i < expected->second.size(); ++i) {
      const NodeId wanted = expected->second[i];
      if (wanted && part(values[slot], i) != wanted) refuted_.insert({parameter.index, i});
    }
    if (around == Op::for_) given_[{owner.index, slot}] = expected->second;
  }
}

}  // namespace ingot::transform
