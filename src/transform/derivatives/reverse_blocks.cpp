#include <algorithm>
#include <array>

#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/reductions.h"
#include "transform/derivatives/reverse.h"
#include "transform/writers/loop_writer.h"

// Sweeps of loops whose iterations may go in any order. A block of iterations goes forwards and stores the
// contributions of each to numbers from outside, and to elements that other iterations contribute to as well;
// then these are added up. So no iteration waits for another one, and loops are vectors.

namespace ingot::transform {

namespace {

constexpr int64_t kIterationsOfBlock = 1024;
/// Loops of fewer iterations are swept iteration by iteration.
constexpr int64_t kFewestIterations = 32;

}  // namespace

/// Whether the iterations of a loop only add to what the sweep finds: they may go in any order, and go
/// forwards.
bool Reverse::takes_any_order(NodeId loop) const {
  if (source_.op(loop) == Op::parallel_for) return true;
  if (find_race(source_, loop)) return false;
  const auto carried = source_.region_parameters(source_.region(loop)).subspan(1);
  for (size_t i = 0; i < carried.size(); ++i) {
    if (!varies(carried[i])) continue;
    const auto way = carried_of(source_, loop, i);
    const bool adds = way && (way->way == Carried::Way::Passed ||
                              (way->way == Carried::Way::Combined && way->combiner == Op::add));
    if (!adds) return false;
  }
  return true;
}

/// The loads of a loop that cotangents go to, from views from outside, whose indices are known there or, if
/// `moves`, are the number of the iteration and something from outside.
Nodes Reverse::loads_of(NodeId loop, bool moves) const {
  const RegionId region = source_.region(loop);
  const auto is_outside = [&](NodeId value) {
    return source_.is_constant(value) || !source_.encloses(region, value);
  };
  const auto is_step = [&](NodeId index) {
    if (index == source_.region_parameters(region)[0]) return true;
    if (source_.op(index) != Op::add && source_.op(index) != Op::subtract) return false;
    const auto parts = source_.operands(index);
    return std::ranges::all_of(parts, [&](NodeId part) {
      const bool is_there = !recording_.is_inner(part) || recording_.is_restored(part);
      const bool is_known = source_.is_constant(part) || (is_outside(part) && is_there);
      return is_known || part == source_.region_parameters(region)[0];
    });
  };
  Nodes all;
  for (const NodeId node : source_.region_body(region)) {
    if (source_.op(node) != Op::load || !varies(node)) continue;
    const auto operands = source_.operands(node);
    if (!is_outside(operands[0]) || !shadowed_.shadows.contains(operands[0])) continue;
    const auto indices = operands.subspan(1);
    const bool is_fixed = std::ranges::all_of(indices, is_outside);
    const bool is_known = std::ranges::all_of(
        indices, [&](NodeId index) { return is_outside(index) || (moves && is_step(index)); });
    if (is_known && is_fixed != moves && !is_stored_to(loop, operands[0])) all.push_back(node);
  }
  return all;
}

/// Whether a loop writes to memory that a view from outside may be of.
bool Reverse::is_stored_to(NodeId loop, NodeId view) const {
  if (!recording_.is_written(view)) return false;
  const Root root = root_of(source_, view);
  return !ir::walk(source_, source_.region(loop), [&](NodeId node) {
    if (!ir::effects_of(source_, node).any(ir::effect::Write)) return ir::Walk::Into;
    const bool meets = std::ranges::any_of(source_.operands(node), [&](NodeId operand) {
      return is_memory(source_, operand) && may_overlap(source_, root, root_of(source_, operand));
    });
    return meets ? ir::Walk::Stop : ir::Walk::Into;
  });
}

/// Whether two loads from one view have different constants for an index.
bool Reverse::are_disjoint(NodeId a, NodeId b) const {
  const auto x = source_.operands(a);
  const auto y = source_.operands(b);
  if (x[0] != y[0]) return false;
  for (size_t i = 1; i < x.size(); ++i) {
    const bool are_known = source_.is_constant(x[i]) && source_.is_constant(y[i]);
    if (are_known && source_.constant(x[i]).bits != source_.constant(y[i]).bits) return true;
  }
  return false;
}

/// Of the loads of a loop, those whose elements are loaded in other iterations, too.
Nodes Reverse::meeting_loads(NodeId loop) const {
  const Nodes loads = loads_of(loop, true);
  Nodes all;
  for (const NodeId one : loads) {
    const Root root = root_of(source_, source_.operand(one, 0));
    const bool meets = std::ranges::any_of(loads, [&](NodeId other) {
      return !std::ranges::equal(source_.operands(one), source_.operands(other)) &&
             !are_disjoint(one, other) &&
             may_overlap(source_, root, root_of(source_, source_.operand(other, 0)));
    });
    if (meets) all.push_back(one);
  }
  return all;
}

/// None: the loop is swept iteration by iteration.
std::optional<Reverse::Blocks> Reverse::blocks_of(NodeId id) const {
  const RegionId region = source_.region(id);
  const NodeId count = source_.operand(id, 0);
  if (source_.is_constant(count) && source_.constant(count).as<int64_t>() < kFewestIterations)
    return std::nullopt;
  const bool is_innermost = ir::walk(source_, region, [&](NodeId node) {
    const Op op = source_.op(node);
    const bool goes_on = source_[node].region_count == 0 || op == Op::if_;
    return goes_on ? ir::Walk::Into : ir::Walk::Stop;
  });
  if (!is_innermost || !takes_any_order(id)) return std::nullopt;
  Blocks blocks{.sums = recording_.outside_of(id), .fixed = loads_of(id, false), .split = meeting_loads(id)};
  const auto is_number = [&](NodeId value) { return source_.type(value).is_scalar(); };
  if (!std::ranges::all_of(blocks.sums, is_number)) return std::nullopt;
  const auto is_asked = [&](NodeId parameter) {
    return !is_number(parameter) && (varies(parameter) || recording_.is_restored(parameter));
  };
  if (std::ranges::any_of(source_.region_parameters(region).subspan(1), is_asked)) return std::nullopt;
  if (blocks.sums.empty() && blocks.fixed.empty() && blocks.split.empty()) return std::nullopt;
  return blocks;
}

/// In two versions, by the number of iterations.
void Reverse::sweep_in_blocks(NodeId id, const Blocks& blocks) {
  const NodeId count = value(source_.operand(id, 0));
  if (b_.function().is_constant(count)) return sweep_all_blocks(id, blocks);
  Nodes changed = blocks.sums;
  for (const NodeId init : source_.operands(id).subspan(1))
    if (varies(init) && std::ranges::find(changed, init) == changed.end()) changed.push_back(init);
  const Nodes before = cotangents_of(changed);
  const ir::SpanId location = b_.span();
  const NodeId is_long = make(Op::greater_equal, {count, b_.index(kFewestIterations)});
  const NodeId made = b_.begin(Op::if_, std::array{is_long}, {}, types_of_cotangents(changed));
  for (const bool in_blocks : {true, false}) {
    b_.enter(made, in_blocks ? 0 : 1, {});
    set_cotangents(changed, before);
    if (in_blocks) sweep_all_blocks(id, blocks);
    else sweep_iterations(id);
    b_.yield(cotangents_of(changed));
  }
  b_.set_span(location);
  const Nodes after = b_.end(made);
  if (has_choice(id))
    for (const NodeId one : after) mask(one);
  set_cotangents(changed, after);
}

void Reverse::sweep_all_blocks(NodeId id, const Blocks& blocks) {
  const auto inits = source_.operands(id).subspan(1);
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  Nodes sums = blocks.sums;
  sums.insert(sums.end(), blocks.fixed.begin(), blocks.fixed.end());
  Nodes written = sums;
  written.insert(written.end(), blocks.split.begin(), blocks.split.end());

  LoopWriter w(b_);
  const NodeId count = value(source_.operand(id, 0));
  const NodeId size = w.index(kIterationsOfBlock);
  Nodes rooms;
  for (const NodeId one : written) rooms.push_back(w.new_view({&size, 1}, type_of_cotangent(one).dtype()));
  Nodes given(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (varies(results[i])) given[i] = some_cotangent(results[i]);
  const Nodes before = cotangents_of(blocks.sums);
  const int own = recording_.loop_at(id);
  if (starts_.contains(id)) back_[id.index] = get(starts_[id]);
  Nodes operands{w.ceiling(count, size)};
  std::vector<Type> types{ir::kInt64};
  for (const NodeId one : sums) {
    types.push_back(type_of_cotangent(one));
    operands.push_back(b_.constant(types.back(), {}));
  }
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(Op::for_, operands, std::array<int64_t, 2>{0, 0}, {});
  const Nodes entered = b_.enter(made, 0, types);
  const NodeId first = w.multiply(entered[0], size);
  const NodeId here = make(Op::minimum, {size, w.subtract(count, first)});
  w.nest({&here, 1}, [&](std::span<const NodeId> number) {
    const NodeId iteration = w.add(first, number[0]);
    back_[source_.region_parameters(source_.region(id))[0].index] = iteration;
    set_iteration(own, iteration);
    sweep_iteration(id, written, given);
    for (size_t i = 0; i < written.size(); ++i) w.store(rooms[i], number, some_cotangent(written[i]));
  });
  Nodes next;
  for (size_t i = 0; i < sums.size(); ++i) {
    const NodeId filled =
        w.c_view(make(Op::buffer, {rooms[i]}), w.index(0), {&here, 1}, types[i + 1].dtype());
    const std::array<int64_t, 2> over{static_cast<int64_t>(Op::add), 0};
    next.push_back(w.add(entered[i + 1], b_.make(Op::reduce, std::array{make(Op::read, {filled})}, over)));
  }
  for (size_t i = 0; i < blocks.split.size(); ++i) {
    const NodeId room = rooms[sums.size() + i];
    w.nest({&here, 1}, [&](std::span<const NodeId> number) {
      back_[source_.region_parameters(source_.region(id))[0].index] = w.add(first, number[0]);
      add_where_loaded(id, blocks.split[i], w.load(room, number));
    });
  }
  b_.yield(next);
  b_.set_span(location);
  const Nodes after = b_.end(made);
  if (has_choice(id))
    for (const NodeId one : after) mask(one);
  set_cotangents(blocks.sums, before);
  for (size_t i = 0; i < blocks.sums.size(); ++i) add(blocks.sums[i], after[i]);
  for (size_t i = 0; i < blocks.fixed.size(); ++i)
    add_where_loaded(id, blocks.fixed[i], after[blocks.sums.size() + i]);
  for (size_t i = 0; i < results.size(); ++i)
    if (given[i]) add(inits[i], given[i]);
}

/// One iteration of a loop. Its cotangents for values from outside, and for loads, are left to the caller.
void Reverse::sweep_iteration(NodeId id, const Nodes& standing, const Nodes& given) {
  const RegionId region = source_.region(id);
  const auto yields = source_.operands(source_.terminator(region));
  const std::set<NodeId> before = deferred_;  // loops around may have some of these, too
  clear(region);
  for (const NodeId one : standing) {
    cotangents_[one.index] = {};
    deferred_.insert(one);
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) add(yields[i], given[i]);
  sweep(region);
  deferred_ = before;
}

/// Adds to the shadow where a load of a loop has found its element; the number of the iteration is known.
void Reverse::add_where_loaded(NodeId loop, NodeId load, NodeId c) {
  for (const NodeId index : source_.operands(load)) {
    if (source_.is_constant(index))
      back_[index.index] = b_.constant(source_.type(index), source_.constant(index));
    const bool is_inside = source_.encloses(loop, index);
    if (!is_inside || source_.is_constant(index) || source_.op(index) == Op::param) continue;
    Nodes parts;
    for (const NodeId part : source_.operands(index)) {
      const bool is_constant = source_.is_constant(part);
      parts.push_back(is_constant ? b_.constant(source_.type(part), source_.constant(part)) : value(part));
    }
    back_[index.index] = b_.make(source_.op(index), parts, source_.attributes(index));
  }
  cotangents_[load.index] = c;
  Pullback(source_, b_, *this).visit(load);
}

}  // namespace ingot::transform
