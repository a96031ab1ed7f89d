#include <algorithm>

#include "ir/walk.h"
#include "transform/derivatives/reverse.h"
#include "transform/writers/loop_writer.h"

// The sweep back through the recorded range. Each region first has what is asked of its values, in order, and
// then the transposes of its nodes, the last first.

namespace ingot::transform {

NodeId Reverse::value(NodeId old) {
  if (!recording_.is_inner(old)) return made(old);
  if (recording_.is_restored(old)) return back_[old.index];
  if (const NodeId known = back_[old.index]) return known;  // the number of an iteration
  // Of what no rule makes use of, rules know the dtype.
  INGOT_ASSERT(source_.type(old).has_dtype(), "transform: the sweep asks for what has not been kept");
  return b_.constant(source_.type(old).element(), {});
}

NodeId Reverse::length(NodeId old, int axis) {
  const auto known = shadowed_.lengths.find(old);
  if (known != shadowed_.lengths.end()) return value(known->second[static_cast<size_t>(axis)]);
  return b_.length(value(old), axis);
}

NodeId Reverse::shadow(NodeId old) {
  const auto known = shadowed_.shadows.find(old);
  return known == shadowed_.shadows.end() ? NodeId() : value(known->second);
}

void Reverse::add(NodeId old, NodeId c) {
  if (!varies(old)) return;
  NodeId& known = cotangents_[old.index];
  const bool is_either = is_masked(c) || (known && is_masked(known));
  known = known ? make(Op::add, {known, c}) : c;
  if (is_either) mask(known);
}

Type Reverse::type_of_cotangent(NodeId old) const {
  const Type type = source_.type(old);
  return type.is(ir::TypeKind::Optional) ? source_.module().types.members(type)[0] : type;
}

std::vector<Type> Reverse::types_of_cotangents(std::span<const NodeId> olds) const {
  std::vector<Type> types;
  for (const NodeId old : olds) types.push_back(type_of_cotangent(old));
  return types;
}

NodeId Reverse::some_cotangent(NodeId old) {
  if (const NodeId known = cotangent(old)) return known;
  const Type type = type_of_cotangent(old);
  const NodeId zero = b_.constant(type.element(), {});
  if (!type.is_array()) return zero;
  if (source_.type(old).is(ir::TypeKind::Optional))
    refuse_derivative(source_, old, "the derivative of a variable that may be None or an array");
  Nodes operands{zero};
  for (int axis = 0; axis < type.rank(); ++axis) operands.push_back(length(old, axis));
  return b_.make(Op::broadcast, operands);
}

Nodes Reverse::cotangents_of(std::span<const NodeId> olds) {
  Nodes all;
  for (const NodeId old : olds) all.push_back(some_cotangent(old));
  return all;
}

void Reverse::set_cotangents(std::span<const NodeId> olds, std::span<const NodeId> made) {
  for (size_t i = 0; i < olds.size(); ++i) cotangents_[olds[i].index] = made[i];
}

void Reverse::clear(RegionId region) {
  for (const NodeId parameter : source_.region_parameters(region)) cotangents_[parameter.index] = {};
  ir::walk(source_, region, [&](NodeId node) {
    cotangents_[node.index] = {};
    for (size_t i = 0; i < source_[node].region_count; ++i) {
      for (const NodeId parameter : source_.region_parameters(source_.region(node, i)))
        cotangents_[parameter.index] = {};
    }
  });
}

void Reverse::set_iteration(int number, NodeId iteration) {
  Nodes& indices = indices_[static_cast<size_t>(number)];
  const Recording::Loop& its = loop(number);
  if (!its.is_regular) {
    if (!its.has_tape) return;
    const NodeId start = starts_.contains(its.node) ? back_[its.node.index] : start_nodes_[its.node];
    indices = {make(Op::add, {start, iteration})};
    return;
  }
  indices.clear();
  if (its.outer != Recording::kNone) indices = indices_[static_cast<size_t>(its.outer)];
  indices.push_back(iteration);
}

NodeId Reverse::computed_again(NodeId old) {
  const Op op = source_.op(old);
  if (op == Op::primal || op == Op::lift) return value(source_.operand(old, 0));
  Nodes operands;
  for (const NodeId operand : source_.operands(old)) operands.push_back(value(operand));
  const Type asked = ir::info(op).typed ? source_.type(old) : Type();
  return b_.make(op, operands, source_.attributes(old), asked);
}

void Reverse::restore(RegionId region) {
  const auto again = [&](NodeId old) {
    if (recording_.is_restored(old))
      back_[old.index] = recording_.is_taped(old) ? kept_again(old) : computed_again(old);
  };
  for (const NodeId parameter : source_.region_parameters(region))
    if (recording_.is_taped(parameter)) again(parameter);
  for (const NodeId node : source_.region_body(region)) again(node);
}

/// The transposes of a region's nodes.
void Reverse::sweep(RegionId region) {
  if (!recording_.is_on_path(region)) restore(region);
  const auto body = source_.region_body(region);
  for (size_t i = body.size(); i-- > 0;) {
    const NodeId node = body[i];
    if (!recording_.is_recorded(node) || !recording_.is_active(node)) continue;
    if (ir::info(source_.op(node)).terminator || deferred_.contains(node)) continue;
    set_location(node);
    sweep_node(node);
  }
}

void Reverse::sweep_node(NodeId id) {
  switch (source_.op(id)) {
    case Op::if_: return sweep_if(id);
    case Op::for_:
    case Op::parallel_for: return sweep_counted(id);
    case Op::while_: return sweep_while(id);
    case Op::back: return sweep_back(id);
    default: Pullback(source_, b_, *this).visit(id);
  }
}

Nodes Reverse::varied_of(std::span<const NodeId> olds) const {
  Nodes all;
  for (const NodeId old : olds)
    if (recording_.varies(old)) all.push_back(old);
  return all;
}

/// Whether what varies in a loop goes through an arm that may not be taken.
bool Reverse::has_choice(NodeId id) const {
  return !ir::walk(source_, id, [&](NodeId node) {
    const bool chooses = source_.op(node) == Op::if_ || source_.op(node) == Op::select;
    return chooses && recording_.is_active(node) ? ir::Walk::Stop : ir::Walk::Into;
  });
}

void Reverse::sweep_if(NodeId id) {
  const Nodes outside = recording_.outside_of(id);
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  const auto arm = [&](size_t which) {
    const RegionId region = source_.region(id, which);
    clear(region);
    const auto yields = source_.operands(source_.terminator(region));
    for (size_t i = 0; i < results.size(); ++i)
      if (const NodeId c = cotangent(results[i])) add(yields[i], c);
    sweep(region);
  };
  // An arm that raises has not been taken.
  for (size_t which = 0; which < 2; ++which) {
    if (source_.op(source_.terminator(source_.region(id, which))) != Op::yield) {
      if (source_.op(source_.terminator(source_.region(id, 1 - which))) == Op::yield) arm(1 - which);
      return;
    }
  }
  const Nodes before = cotangents_of(outside);
  const std::vector<Type> types = types_of_cotangents(outside);
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(Op::if_, std::array{value(source_.operand(id, 0))}, {}, types);
  for (size_t which = 0; which < 2; ++which) {
    b_.enter(made, which, {});
    set_cotangents(outside, before);
    arm(which);
    b_.yield(cotangents_of(outside));
  }
  b_.set_span(location);
  const Nodes after = b_.end(made);
  for (const NodeId one : after) mask(one);
  set_cotangents(outside, after);
}

void Reverse::sweep_counted(NodeId id) {
  if (source_.op(source_.terminator(source_.region(id))) != Op::yield) return;  // it has had no iteration
  if (const auto blocks = blocks_of(id)) sweep_in_blocks(id, *blocks);
  else sweep_iterations(id);
}

void Reverse::sweep_iterations(NodeId id) {
  const RegionId region = source_.region(id);
  const bool carries = source_.op(id) == Op::for_;
  const NodeId count = value(source_.operand(id, 0));
  const auto inits = source_.operands(id).subspan(1);
  const auto carried = source_.region_parameters(region).subspan(1);
  const auto yields = source_.operands(source_.terminator(region));
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  Nodes outside = recording_.outside_of(id);
  const Nodes fixed = loads_of(id, false);
  for (const NodeId load : fixed) cotangents_[load.index] = {};
  outside.insert(outside.end(), fixed.begin(), fixed.end());

  std::vector<size_t> slots;
  Nodes operands{make(Op::maximum, {count, b_.index(0)})};
  Nodes given;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!varies(results[i])) continue;
    given.push_back(some_cotangent(results[i]));
    slots.push_back(i);
  }
  if (carries) operands.insert(operands.end(), given.begin(), given.end());
  const Nodes before = cotangents_of(outside);
  operands.insert(operands.end(), before.begin(), before.end());
  std::vector<Type> types{ir::kInt64};
  const Nodes swapped = recording_.swapped_in(id);
  for (const NodeId parameter : swapped)
    operands.push_back(value(results[static_cast<size_t>(source_.attribute(parameter, 0)) - 1]));
  for (size_t i = 1; i < operands.size(); ++i) types.push_back(b_.function().type(operands[i]));

  const int own = recording_.loop_at(id);
  if (starts_.contains(id)) back_[id.index] = get(starts_[id]);
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(Op::for_, operands, std::array<int64_t, 2>{0, 0}, {});
  const Nodes entered = b_.enter(made, 0, types);
  const NodeId last = make(Op::subtract, {operands[0], b_.index(1)});
  const NodeId iteration = takes_any_order(id) ? entered[0] : make(Op::subtract, {last, entered[0]});
  back_[source_.region_parameters(region)[0].index] = iteration;
  set_iteration(own, iteration);
  clear(region);
  const std::span<const NodeId> now = std::span(entered).subspan(1, entered.size() - 1 - swapped.size());
  for (size_t i = 0; i < swapped.size(); ++i)
    back_[yields[static_cast<size_t>(source_.attribute(swapped[i], 0)) - 1].index] =
        entered[1 + now.size() + i];
  const bool chooses = has_choice(id);
  if (chooses)
    for (const NodeId one : now) mask(one);
  set_cotangents(outside, now.last(outside.size()));
  for (size_t i = 0; i < slots.size(); ++i) add(yields[slots[i]], carries ? now[i] : given[i]);
  deferred_.insert(fixed.begin(), fixed.end());
  sweep(region);
  for (const NodeId load : fixed) deferred_.erase(load);
  Nodes next;
  if (carries)
    for (const size_t slot : slots) next.push_back(some_cotangent(carried[slot]));
  for (const NodeId one : cotangents_of(outside)) next.push_back(one);
  for (const NodeId parameter : swapped) next.push_back(back_[parameter.index]);
  b_.yield(next);
  b_.set_span(location);
  Nodes after = b_.end(made);
  after.resize(after.size() - swapped.size());
  if (chooses)
    for (const NodeId one : after) mask(one);
  set_cotangents(outside, std::span(after).last(outside.size()));
  for (size_t i = 0; i < slots.size(); ++i) add(inits[slots[i]], carries ? after[i] : given[i]);
  if (fixed.empty()) return;
  LoopWriter(b_).when(make(Op::greater, {operands[0], b_.index(0)}), [&] {
    for (const NodeId load : fixed) add_where_loaded(id, load, cotangent(load));
  });
}

/// Test, body, test, ..., test: the last test once, then a body and a test in each iteration.
void Reverse::sweep_while(NodeId id) {
  const RegionId test = source_.region(id, 0);
  const RegionId body = source_.region(id, 1);
  const auto inits = source_.operands(id);
  const auto tested = source_.region_parameters(test);
  const auto carried = source_.region_parameters(body);
  const auto values = source_.operands(source_.terminator(test)).subspan(1);
  const auto yields = source_.operands(source_.terminator(body));
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  const Nodes outside = recording_.outside_of(id);
  const int own = recording_.loop_at(id);
  if (source_.op(source_.terminator(test)) != Op::yield) return;

  if (starts_.contains(id)) back_[id.index] = get(starts_[id]);
  const NodeId trips = trips_.contains(id) ? get(trips_[id]) : trip_nodes_[id];
  Nodes given(results.size());
  for (size_t i = 0; i < results.size(); ++i) given[i] = cotangent(results[i]);
  const auto sweep_test = [&](NodeId iteration, const Nodes& cs) {
    clear(test);
    set_iteration(own, iteration);
    for (size_t i = 0; i < values.size(); ++i)
      if (cs[i]) add(values[i], cs[i]);
    sweep(test);
  };
  sweep_test(trips, given);
  std::vector<size_t> slots;
  Nodes operands{trips};
  for (size_t i = 0; i < tested.size(); ++i) {
    if (!varies(tested[i])) continue;
    slots.push_back(i);
    operands.push_back(some_cotangent(tested[i]));
  }
  const Nodes before = cotangents_of(outside);
  operands.insert(operands.end(), before.begin(), before.end());
  std::vector<Type> types{ir::kInt64};
  for (size_t i = 1; i < operands.size(); ++i) types.push_back(b_.function().type(operands[i]));

  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(Op::for_, operands, std::array<int64_t, 2>{0, 0}, {});
  const Nodes entered = b_.enter(made, 0, types);
  const NodeId iteration = make(Op::subtract, {make(Op::subtract, {trips, b_.index(1)}), entered[0]});
  const std::span<const NodeId> now = std::span(entered).subspan(1);
  const bool chooses = has_choice(id);
  if (chooses)
    for (const NodeId one : now) mask(one);
  set_cotangents(outside, now.last(outside.size()));
  if (source_.op(source_.terminator(body)) == Op::yield) {
    clear(body);
    set_iteration(own, iteration);
    for (size_t i = 0; i < slots.size(); ++i) add(yields[slots[i]], now[i]);
    sweep(body);
    Nodes of_body(results.size());
    for (size_t i = 0; i < carried.size(); ++i) of_body[i] = cotangent(carried[i]);
    sweep_test(iteration, of_body);
  }
  Nodes next;
  for (const size_t slot : slots) next.push_back(some_cotangent(tested[slot]));
  for (const NodeId one : cotangents_of(outside)) next.push_back(one);
  b_.yield(next);
  b_.set_span(location);
  const Nodes after = b_.end(made);
  if (chooses)
    for (const NodeId one : after) mask(one);
  set_cotangents(outside, std::span(after).last(outside.size()));
  for (size_t i = 0; i < slots.size(); ++i) add(inits[slots[i]], after[i]);
}

/// Builds the region of a `back` where the sweep is.
class Reverse::Back : public Rewriter {
 public:
  Back(Reverse& sweep, RegionId region) : Rewriter(sweep.source_, sweep.b_), sweep_(sweep), region_(region) {
    visit_body(region);
  }

 private:
  NodeId use(NodeId old) override {
    const bool is_inside = source_.encloses(region_, old);
    return is_inside ? Rewriter::use(old) : sweep_.value(old);
  }
  void visit(NodeId id) override {
    const bool is_mark = source_.op(id) == Op::cotangent || source_.op(id) == Op::give;
    if (!is_mark || source_.attribute(id, 0) != sweep_.source_.attribute(sweep_.pull_, 0)) return clone(id);
    const NodeId of = source_.operand(id, 0);
    const bool is_view = source_.type(of).is_view();
    if (source_.op(id) == Op::cotangent)
      return bind(id, is_view ? sweep_.shadow(of) : sweep_.some_cotangent(of));
    const NodeId c = use(source_.operand(id, 1));
    if (!is_view) return sweep_.add(of, c);
    Pullback(source_, b_, sweep_).add_to(of, b_.make(Op::read, {c}));
  }

  Reverse& sweep_;
  RegionId region_;
};

void Reverse::sweep_back(NodeId id) { Back(*this, source_.region(id)); }

void Reverse::visit_pull(NodeId id) {
  const auto operands = source_.operands(id);
  const auto outputs = static_cast<size_t>(source_.attribute(id, 1));
  Pullback pullback(source_, b_, *this);
  for (size_t i = 0; i < outputs; ++i) {
    const NodeId y = operands[i];
    const NodeId c = use(operands[outputs + i]);
    if (!source_.type(y).is_view()) add(y, c);
    else pullback.add_to(y, make(Op::read, {c}));
  }
  for (const RegionId region : recording_.path()) sweep(region);
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  for (size_t i = 0; i < results.size(); ++i) bind(results[i], some_cotangent(operands[2 * outputs + i]));
}

}  // namespace ingot::transform
