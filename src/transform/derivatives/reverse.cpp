#include "transform/derivatives/reverse.h"

#include <algorithm>
#include <array>

#include "ir/walk.h"
#include "transform/analyses/dependence.h"
#include "transform/arrays/fuse.h"
#include "transform/arrays/parallel.h"
#include "transform/arrays/promote.h"
#include "transform/derivatives/forward.h"
#include "transform/functions/lower_exits.h"
#include "transform/functions/simplify.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Without calls that are blocks, exits, memory that names an array, and memory that is passed on as values.
std::unique_ptr<Function> without_exits(const Function& function) {
  std::unique_ptr<Function> plain = simplify(function);
  if (auto sums = parallel_sums(*plain)) plain = simplify(*sums);
  if (auto lowered = lower_exits(*plain)) plain = simplify(*lowered);
  if (auto promoted = promote(*plain)) plain = simplify(*promoted);
  return fuse(*plain);
}

}  // namespace

std::unique_ptr<Function> reverse(const Function& function, int64_t tag) {
  const std::unique_ptr<Function> plain = without_exits(function);
  Forward forward(*plain, tag, Tangents::OfMemory);
  std::unique_ptr<Function> recorded = forward.run();
  const Shadowed shadowed{*recorded, forward.shadows(), forward.lengths()};
  for (uint32_t i = 0; i < recorded->node_count(); ++i) {
    const NodeId node(i);
    if (recorded->op(node) == Op::pull && recorded->attribute(node, 0) == tag)
      return Reverse(shadowed, node).run();
  }
  return recorded;  // it was in unreachable code
}

Reverse::Reverse(const Shadowed& shadowed, NodeId pull)
    : Rewriter(shadowed.function),
      shadowed_(shadowed),
      pull_(pull),
      recording_(shadowed, pull),
      states_(recording_.loops().size()),
      dtypes_(recording_.loops().size()),
      indices_(recording_.loops().size()),
      back_(shadowed.function.node_count()),
      cotangents_(shadowed.function.node_count()) {}

void Reverse::visit(NodeId id) {
  const Op op = source_.op(id);
  const bool is_mark = op == Op::lift || op == Op::primal || op == Op::pull || op == Op::back;
  const bool is_own = is_mark && source_.attribute(id, 0) == source_.attribute(pull_, 0);
  if (is_own && op == Op::pull) return visit_pull(id);
  if (is_own && op == Op::back) return;
  if (is_own) return bind(id, use(source_.operand(id, 0)));
  if (ir::info(op).regions == 0 || !recording_.is_recorded(id)) return clone(id);
  if (!recording_.is_inner(id)) prepare(id);
  visit_control(id);
}

void Reverse::bind(NodeId old, NodeId made) {
  Rewriter::bind(old, made);
  if (recording_.is_taped(old)) keep(old, made);
}

/// The irregular loops with tapes whose state goes through a node.
std::vector<int> Reverse::states_in(NodeId id) const {
  std::vector<int> all;
  for (size_t i = 0; i < recording_.loops().size(); ++i) {
    const Recording::Loop& one = recording_.loops()[i];
    if (one.is_regular || !one.has_tape) continue;
    const bool is_own = one.node == id;
    if (is_own && source_.op(id) != Op::while_) continue;
    bool is_inside = is_own;
    for (size_t k = 0; k < source_[id].region_count; ++k)
      is_inside = is_inside || source_.encloses(source_.region(id, k), one.node);
    if (is_inside) all.push_back(static_cast<int>(i));
  }
  return all;
}

void Reverse::add_states(const std::vector<int>& states, Nodes& to) const {
  for (const int one : states) {
    const State& its = states_[static_cast<size_t>(one)];
    to.push_back(its.top);
    to.push_back(its.capacity);
    to.insert(to.end(), its.buffers.begin(), its.buffers.end());
  }
}

void Reverse::set_states(const std::vector<int>& states, std::span<const NodeId> nodes) {
  size_t next = 0;
  for (const int one : states) {
    State& its = state(one);
    its.top = nodes[next++];
    its.capacity = nodes[next++];
    for (NodeId& buffer : its.buffers) buffer = nodes[next++];
  }
}

void Reverse::visit_control(NodeId id) {
  const Op op = source_.op(id);
  const std::vector<int> states = states_in(id);
  const int own = recording_.loop_at(id);
  const bool has_start = own != Recording::kNone && loop(own).has_tape && !loop(own).is_regular;
  const bool in_order = runs_in_order(id);
  const bool is_sum = in_order && op == Op::parallel_for;
  LoopWriter w(b_);
  NodeId start;
  if (has_start) {
    start = start_nodes_[id] = state(own).top;
    if (starts_.contains(id)) put(starts_[id], start);
    if (op != Op::while_)
      reserve(own, w.add(start, b_.make(Op::maximum, {use(source_.operand(id, 0)), w.index(0)})));
  }
  Nodes operands = use_all(is_sum ? source_.operands(id).first(1) : source_.operands(id));
  const bool is_loop = op == Op::for_ || op == Op::while_ || is_sum;
  if (is_loop) add_states(states, operands);
  if (is_sum) hold_contributions(id);
  Nodes around;
  add_states(states, around);
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  std::vector<Type> types;
  if (ir::info(op).typed) {
    for (const NodeId result : results) types.push_back(source_.type(result));
    for (const NodeId one : around) types.push_back(b_.function().type(one));
  }
  const ir::SpanId location = b_.span();
  constexpr std::array<int64_t, 2> kSerial{static_cast<int64_t>(ir::Schedule::Serial), 0};
  const NodeId made = in_order ? b_.begin(Op::for_, operands, kSerial, types)
                               : b_.begin(op, operands, source_.attributes(id), types);
  for (size_t i = 0; i < ir::info(op).regions; ++i) {
    if (!is_loop) set_states(states, around);
    enter(id, i, made, states);
  }
  b_.set_span(location);
  const Nodes given = b_.end(made);
  set_states(states, std::span(given).last(around.size()));
  if (has_start && op != Op::while_)
    state(own).top = w.add(start, b_.make(Op::maximum, {use(source_.operand(id, 0)), w.index(0)}));
  if (has_start && op == Op::while_) {
    trip_nodes_[id] = w.subtract(state(own).top, start);
    if (trips_.contains(id)) put(trips_[id], trip_nodes_[id]);
    state(own).top = w.add(state(own).top, w.index(1));
  }
  if (is_sum) return combine_contributions(id);
  for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
}

/// Whether the iterations of a loop over `prange` have to share tapes: those of irregular loops, or the
/// numbers of buffers.
bool Reverse::runs_in_order(NodeId id) const {
  const Op op = source_.op(id);
  const bool is_for = is_over_prange(source_, id);
  if (!is_for && op != Op::parallel_for) return false;
  if (is_for && source_.result_count(id) > 0)
    return true;  // of what is combined, tapes want each iteration's
  const int own = recording_.loop_at(id);
  if (!states_in(id).empty() || (loop(own).has_tape && !loop(own).is_regular)) return true;
  return std::ranges::any_of(kept_, [&](const auto& one) {
    const bool is_number = source_.type(one.first).is_scalar() || one.second.elements;
    return !is_number && source_.encloses(source_.region(id), one.first);
  });
}

/// The contributions of iterations in order are stored in arrays, whose reductions have the order of the
/// parallel loop's.
void Reverse::hold_contributions(NodeId id) {
  const NodeId count = make(Op::maximum, {use(source_.operand(id, 0)), b_.index(0)});
  Nodes& all = contributions_[id];
  all.clear();
  if (source_.type(id).is_void()) return;
  for (const NodeId result : source_.results_of(id))
    all.push_back(LoopWriter(b_).new_view({&count, 1}, source_.type(result).dtype()));
}

void Reverse::combine_contributions(NodeId id) {
  if (source_.type(id).is_void()) return;
  LoopWriter w(b_);
  const auto combiners = source_.ints(id);
  const Nodes results = source_.results_of(id);
  const NodeId has_iterations = w.less(w.index(0), use(source_.operand(id, 0)));
  for (size_t i = 0; i < results.size(); ++i) {
    const NodeId before = use(source_.operand(id, i + 1));
    const auto combined = [&] {
      const NodeId all = make(Op::read, {contributions_[id][i]});
      return Nodes{
          make(static_cast<Op>(combiners[i]), {before, b_.make(Op::reduce, {all}, {combiners[i], 0})})};
    };
    const std::vector<Type> types{source_.type(results[i])};
    bind(results[i], w.branch(has_iterations, types, combined, [&] { return Nodes{before}; })[0]);
  }
}

void Reverse::enter(NodeId id, size_t region, NodeId made, const std::vector<int>& states) {
  const Op op = source_.op(id);
  const RegionId old = source_.region(id, region);
  const auto parameters = source_.region_parameters(old);
  std::vector<Type> types;
  for (const NodeId parameter : parameters) types.push_back(source_.type(parameter));
  Nodes around;
  add_states(states, around);
  const bool is_loop = op == Op::for_ || op == Op::while_ || runs_in_order(id);
  if (is_loop)
    for (const NodeId one : around) types.push_back(b_.function().type(one));
  const Nodes entered = b_.enter(made, region, types);
  if (is_loop) set_states(states, std::span(entered).subspan(parameters.size()));
  const int own = recording_.loop_at(id);
  LoopWriter w(b_);
  if (own != Recording::kNone) {
    Nodes& indices = indices_[static_cast<size_t>(own)];
    if (loop(own).is_regular) {
      indices.clear();
      if (loop(own).outer != Recording::kNone) indices = indices_[static_cast<size_t>(loop(own).outer)];
      indices.push_back(entered[0]);
    } else if (loop(own).has_tape && op != Op::while_) {
      indices = {w.add(start_nodes_[id], entered[0])};
    } else if (loop(own).has_tape) {
      if (region == 0) reserve(own, w.add(state(own).top, w.index(1)));
      indices = {state(own).top};
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) bind(parameters[i], entered[i]);
  clone_body(old);
}

void Reverse::terminate(NodeId terminator) {
  const RegionId region = source_[terminator].parent;
  const NodeId owner = source_[region].owner;
  if (source_.op(terminator) != Op::yield || !owner || !recording_.is_recorded(owner))
    return Rewriter::terminate(terminator);
  const int own = recording_.loop_at(owner);
  const bool is_body = source_.op(owner) == Op::while_ && source_.region(owner, 1) == region;
  if (is_body && loop(own).has_tape) state(own).top = make(Op::add, {state(own).top, b_.index(1)});
  Nodes operands = use_all(source_.operands(terminator));
  if (const auto sums = contributions_.find(owner); sums != contributions_.end()) {
    const NodeId iteration = use(source_.region_parameters(region)[0]);
    for (size_t i = 0; i < operands.size(); ++i)
      LoopWriter(b_).store(sums->second[i], {&iteration, 1}, operands[i]);
    operands.clear();
  }
  add_states(states_in(owner), operands);
  b_.terminate(Op::yield, operands, {});
}

}  // namespace ingot::transform
