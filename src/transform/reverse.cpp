#include "transform/reverse.h"

#include <algorithm>

#include "ir/walk.h"
#include "transform/forward.h"
#include "transform/fuse.h"
#include "transform/loop_writer.h"
#include "transform/lower_exits.h"
#include "transform/promote.h"
#include "transform/simplify.h"

namespace ingot::transform {

namespace {

/// Without calls that are blocks, exits, memory that names an array, and memory that is handed on as values.
std::unique_ptr<Function> without_exits(const Function& function) {
  std::unique_ptr<Function> plain = simplify(function);
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
  return recorded;  // it stood where nothing gets to
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
      is_inside = is_inside || source_.encloses(source_.region(id, k), source_[one.node].parent);
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
  if (op == Op::parallel_for && (!states.empty() || has_start)) {
    refuse_derivative(source_, id,
                      "the derivative of a parallel loop around one that runs not always as often");
  }
  LoopWriter w(b_);
  NodeId start;
  if (has_start) {
    start = start_nodes_[id] = state(own).top;
    if (starts_.contains(id)) put(starts_[id], start);
    if (op == Op::for_)
      reserve(own, w.add(start, b_.make(Op::maximum, {use(source_.operand(id, 0)), w.index(0)})));
  }
  Nodes operands = use_all(source_.operands(id));
  const bool is_loop = op == Op::for_ || op == Op::while_;
  if (is_loop) add_states(states, operands);
  Nodes around;
  add_states(states, around);
  const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
  std::vector<Type> types;
  if (ir::info(op).typed) {
    for (const NodeId result : results) types.push_back(source_.type(result));
    for (const NodeId one : around) types.push_back(b_.function().type(one));
  }
  const ir::SpanId place = b_.span();
  const NodeId made = b_.begin(op, operands, source_.attributes(id), types);
  for (size_t i = 0; i < ir::info(op).regions; ++i) {
    if (!is_loop) set_states(states, around);
    enter(id, i, made, states);
  }
  b_.set_span(place);
  const Nodes given = b_.end(made);
  set_states(states, std::span(given).subspan(results.size()));
  if (has_start && op == Op::for_)
    state(own).top = w.add(start, b_.make(Op::maximum, {use(source_.operand(id, 0)), w.index(0)}));
  if (has_start && op == Op::while_) {
    trip_nodes_[id] = w.subtract(state(own).top, start);
    if (trips_.contains(id)) put(trips_[id], trip_nodes_[id]);
    state(own).top = w.add(state(own).top, w.index(1));
  }
  for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
}

void Reverse::enter(NodeId id, size_t region, NodeId made, const std::vector<int>& states) {
  const Op op = source_.op(id);
  const RegionId old = source_.region(id, region);
  const auto parameters = source_.region_parameters(old);
  std::vector<Type> types;
  for (const NodeId parameter : parameters) types.push_back(source_.type(parameter));
  Nodes around;
  add_states(states, around);
  const bool is_loop = op == Op::for_ || op == Op::while_;
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
    } else if (loop(own).has_tape && op == Op::for_) {
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
  if (source_.op(owner) != Op::parallel_for) add_states(states_in(owner), operands);
  b_.terminate(Op::yield, operands, {});
}

}  // namespace ingot::transform
