#include "transform/derivatives/forward.h"

// Control: each slot whose values vary has another for their tangents, and of a buffer one for the distance
// of offsets. They come after all the original slots, in the same order.

namespace ingot::transform {

void Forward::add_tangents(std::span<const NodeId> values, std::span<const NodeId> slots, Nodes& to) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!has_own(slots[i])) continue;
    to.push_back(some_tangent(values[i]));
    if (source_.type(values[i]).is_buffer()) to.push_back(shadows_[values[i].index].delta);
  }
}

void Forward::add_types(std::span<const NodeId> slots, std::vector<Type>& to) {
  for (const NodeId slot : slots) {
    if (!has_own(slot)) continue;
    to.push_back(source_.type(slot));
    if (source_.type(slot).is_buffer()) to.push_back(ir::kInt64);
  }
}

void Forward::bind_all(std::span<const NodeId> slots, std::span<const NodeId> nodes) {
  size_t next = slots.size();
  for (size_t i = 0; i < slots.size(); ++i) {
    bind(slots[i], nodes[i]);
    if (!has_own(slots[i])) continue;
    const NodeId own = nodes[next++];
    const bool is_buffer = source_.type(slots[i]).is_buffer();
    if (!is_buffer) set_tangent(slots[i], own);
    else shadows_[slots[i].index] = {own, nodes[next++]};
  }
}

/// The parameters of a region that have values of the program: not an iteration's number, nor a label.
Nodes Forward::slots_of_entry(NodeId id, size_t region) const {
  const Op op = source_.op(id);
  const auto all = source_.region_parameters(source_.region(id, region));
  const size_t fixed = op == Op::for_ || op == Op::parallel_for || op == Op::block ? 1 : 0;
  return {all.begin() + static_cast<ptrdiff_t>(fixed), all.end()};
}

/// The slots that the last values of a terminator go to.
Nodes Forward::slots_of_yield(NodeId terminator) const {
  const RegionId region = source_[terminator].parent;
  const NodeId owner = source_[region].owner;
  const Op op = source_.op(owner);
  if (op == Op::for_) return slots_of_entry(owner, 0);
  if (op != Op::while_) return source_.results_of(owner);
  return slots_of_entry(owner, source_.region(owner) == region ? 1 : 0);
}

void Forward::enter(NodeId id, size_t region, NodeId made) {
  const RegionId old = source_.region(id, region);
  const Nodes slots = slots_of_entry(id, region);
  const auto parameters = source_.region_parameters(old);
  const size_t fixed = parameters.size() - slots.size();
  std::vector<Type> types;
  for (const NodeId parameter : parameters) types.push_back(source_.type(parameter));
  add_types(slots, types);
  const Nodes entered = b_.enter(made, region, types);
  for (size_t i = 0; i < fixed; ++i) bind(parameters[i], entered[i]);
  bind_all(slots, std::span(entered).subspan(fixed));
  clone_body(old);
}

void Forward::visit_control(NodeId id) {
  const Op op = source_.op(id);
  const auto old = source_.operands(id);
  // Nothing goes back where nothing is pulled.
  const bool is_own = op == Op::back && source_.attribute(id, 0) == tag_;
  if (is_own && kind_ == Tangents::All) return;
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  Nodes operands = use_all(old);
  std::vector<int64_t> attributes(source_.attributes(id).begin(), source_.attributes(id).end());
  if (op == Op::for_) add_tangents(old.subspan(1), slots_of_entry(id, 0), operands);
  if (op == Op::while_) add_tangents(old, slots_of_entry(id, 0), operands);
  if (op == Op::parallel_for) {
    const auto combiners = source_.ints(id);
    for (size_t i = 0; i < combiners.size(); ++i) {
      if (!is_varied(results[i])) continue;
      if (static_cast<Op>(combiners[i]) != Op::add) refuse(id);
      if (has_own(results[i])) attributes.push_back(combiners[i]);
    }
    add_tangents(old.subspan(1), results, operands);
  }
  std::vector<Type> types;
  if (ir::info(op).typed) {
    for (const NodeId result : results) types.push_back(source_.type(result));
    add_types(results, types);
  }
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(op, operands, attributes, types);
  for (size_t i = 0; i < ir::info(op).regions; ++i) enter(id, i, made);
  b_.set_span(location);
  const Nodes given = b_.end(made);
  bind_all(results, given);
}

void Forward::terminate(NodeId terminator) {
  const Op op = source_.op(terminator);
  const auto old = source_.operands(terminator);
  Nodes operands = use_all(old);
  if (op == Op::yield) {
    const Nodes slots = slots_of_yield(terminator);
    add_tangents(old.last(slots.size()), slots, operands);
  } else if (op == Op::exit_) {
    add_tangents(old.subspan(1), source_.results_of(source_[source_[old[0]].parent].owner), operands);
  }
  b_.terminate(op, operands, source_.attributes(terminator));
}

}  // namespace ingot::transform
