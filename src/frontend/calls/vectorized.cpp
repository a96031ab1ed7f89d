#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/scalars.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

// A function of numbers, applied to whole arrays. It is evaluated for numbers that represent the elements,
// inside of a loop that is then discarded. If all of its operations are elementwise - arithmetic,
// comparisons, branches between such - the same nodes are made for the arrays, with `select` for branches, so
// that they fuse with the surrounding code.

namespace ingot::frontend {

using ir::NodeId;
using ir::Op;

namespace {

/// A node to be made again, for arrays.
struct Step {
  NodeId id;
  Op op;
  std::vector<NodeId> operands;
  std::vector<int64_t> attributes;
  ir::Type type;
  ir::SpanId span;
  NodeId label;  ///< of a block
  std::vector<std::vector<Step>> regions;
};

using Steps = std::vector<Step>;

/// The nodes of a region; none: one of them is not elementwise.
std::optional<Steps> recorded(const ir::Function& f, ir::RegionId region) {
  Steps steps;
  for (const NodeId id : f.region_body(region)) {
    const Op op = f.op(id);
    const bool has_regions = op == Op::if_ || op == Op::block;
    const bool is_plain = ir::info(op).elementwise || op == Op::cast || op == Op::select ||
                          op == Op::constant || op == Op::result || op == Op::yield || op == Op::exit_;
    if (!is_plain && !has_regions) return std::nullopt;
    const auto operands = f.operands(id);
    const auto attributes = f.attributes(id);
    Step step{.id = id,
              .op = op,
              .operands = {operands.begin(), operands.end()},
              .attributes = {attributes.begin(), attributes.end()},
              .type = f.type(id),
              .span = f[id].span,
              .label = {},
              .regions = {}};
    if (op == Op::block) step.label = f.region_parameters(f.region(id))[0];
    for (size_t i = 0; has_regions && i < f[id].region_count; ++i) {
      std::optional<Steps> inner = recorded(f, f.region(id, i));
      if (!inner) return std::nullopt;
      step.regions.push_back(std::move(*inner));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

/// Makes the nodes again for arrays.
class Replay {
 public:
  Replay(ir::Builder& builder, std::map<NodeId, NodeId> values)
      : builder_(builder), values_(std::move(values)) {}

  /// Whether it is possible: all paths through the steps join at their end.
  bool run(const Steps& steps) {
    const std::optional<Outcome> outcome = follow(steps);
    return outcome && !outcome->leaves();
  }
  NodeId operator[](NodeId id) const {
    const auto it = values_.find(id);
    return it == values_.end() ? id : it->second;
  }

 private:
  /// How the paths through a region end: some exit to a label, others reach its end.
  struct Outcome {
    NodeId label = {};
    NodeId leaving = {};               ///< whether a path exits; none: all do, if there is a label
    std::vector<NodeId> brought = {};  ///< to the label
    bool ends = false;
    std::vector<NodeId> yielded = {};
    bool leaves() const { return static_cast<bool>(label); }
  };

  NodeId select(NodeId condition, NodeId a, NodeId b) { return builder_.make(Op::select, {condition, a, b}); }
  std::vector<NodeId> select(NodeId condition, const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
    std::vector<NodeId> all;
    for (size_t i = 0; i < a.size(); ++i) all.push_back(select(condition, a[i], b[i]));
    return all;
  }
  std::vector<NodeId> all_of(std::span<const NodeId> ids) const {
    std::vector<NodeId> all;
    for (const NodeId id : ids) all.push_back((*this)[id]);
    return all;
  }
  NodeId truth_of_leaving(const Outcome& outcome) {
    if (!outcome.leaves()) return builder_.constant(false);
    return outcome.leaving ? outcome.leaving : builder_.constant(true);
  }

  /// The outcome of a branch.
  std::optional<Outcome> joined(NodeId condition, const Outcome& a, const Outcome& b) {
    if (a.leaves() && b.leaves() && a.label != b.label) return std::nullopt;
    Outcome both;
    both.ends = a.ends || b.ends;
    if (a.ends && b.ends) both.yielded = select(condition, a.yielded, b.yielded);
    else both.yielded = a.ends ? a.yielded : b.yielded;
    if (!a.leaves() && !b.leaves()) return both;
    both.label = a.leaves() ? a.label : b.label;
    if (both.ends) both.leaving = select(condition, truth_of_leaving(a), truth_of_leaving(b));
    if (a.leaves() && b.leaves()) both.brought = select(condition, a.brought, b.brought);
    else both.brought = a.leaves() ? a.brought : b.brought;
    return both;
  }
  /// The outcome of a region in which some paths have exited and the others continue with `then`.
  std::optional<Outcome> after(const Outcome& before, Outcome then) {
    if (!before.leaves()) return then;
    if (then.leaves() && then.label != before.label) return std::nullopt;
    if (then.leaves()) then.brought = select(before.leaving, before.brought, then.brought);
    else then.brought = before.brought;
    if (then.ends) then.leaving = builder_.make(Op::bitwise_or, {before.leaving, truth_of_leaving(then)});
    then.label = before.label;
    return then;
  }

  void give(const Step& step, const std::vector<NodeId>& results) {
    results_[step.id] = results;
    if (results.size() == 1) values_[step.id] = results[0];
  }

  std::optional<Outcome> follow(const Steps& steps) {
    Outcome pending;
    for (const Step& step : steps) {
      builder_.set_span(step.span);
      if (step.op == Op::yield) return after(pending, {.ends = true, .yielded = all_of(step.operands)});
      if (step.op == Op::exit_) {
        Outcome out{.label = step.operands[0]};
        out.brought = all_of(std::span(step.operands).subspan(1));
        return after(pending, std::move(out));
      }
      if (step.op == Op::block) {
        const std::optional<Outcome> inside = follow(step.regions[0]);
        if (!inside || inside->ends || inside->label != step.label) return std::nullopt;
        give(step, inside->brought);
      } else if (step.op == Op::if_) {
        const std::optional<Outcome> a = follow(step.regions[0]);
        const std::optional<Outcome> b = follow(step.regions[1]);
        std::optional<Outcome> both;
        if (a && b) both = joined((*this)[step.operands[0]], *a, *b);
        if (both) both = after(pending, std::move(*both));
        if (!both || !both->ends) return both;
        give(step, both->yielded);
        pending = std::move(*both);
      } else if (step.op == Op::result) {
        values_[step.id] = results_.at(step.operands[0]).at(static_cast<size_t>(step.attributes[0]));
      } else if (!make(step)) {
        return std::nullopt;
      }
    }
    return after(pending, {.ends = true});
  }

  bool make(const Step& step) {
    const std::vector<NodeId> operands = all_of(step.operands);
    if (!step.type.is_scalar()) return false;
    if (step.op == Op::cast) values_[step.id] = builder_.cast(operands[0], step.type.dtype());
    else
      values_[step.id] =
          builder_.make(step.op, operands, step.attributes, ir::info(step.op).typed ? step.type : ir::Type());
    return true;
  }

  ir::Builder& builder_;
  std::map<NodeId, NodeId> values_;
  std::map<NodeId, std::vector<NodeId>> results_;
};

}  // namespace

/// Applies a function to each element of arrays by elementwise nodes; None if its code is not elementwise.
Value primitive_each(Tracer& t, Call& call) {
  const Value function = call.positional.at(0);
  const std::vector<Value> given = parts_of(call.positional.at(1));
  std::vector<NodeId> arrays;
  for (const Value& value : given)
    if (array_type_of(value)) arrays.push_back(whole(t, value));
  arrays = broadcast_together(t, std::move(arrays));
  // Constants that the function may use, too, are made before the point of the roll-back.
  std::vector<NodeId> operands{t.builder->index(1)};
  std::vector<ir::Type> types{ir::kInt64};
  for (const NodeId array : arrays) {
    types.push_back(ir::Type::scalar(t.builder->function().type(array).dtype()));
    operands.push_back(t.builder->cast(t.builder->index(0), types.back().dtype()));
  }
  const Checkpoint before = checkpoint(t);
  const int64_t schedule[] = {static_cast<int64_t>(ir::Schedule::Serial), 0};
  const std::vector<NodeId> elements =
      t.builder->enter(t.builder->begin(Op::for_, operands, schedule), 0, types);
  const ir::RegionId region = t.builder->current();
  std::vector<NodeId> results;
  std::optional<Steps> steps;
  bool is_tuple = false;
  try {
    Call inner{.positional = {}, .name = call.name, .node = call.node};
    size_t next = 1;
    for (const Value& value : given) {
      if (!array_type_of(value)) inner.positional.push_back(value);
      else inner.positional.push_back(Scalar{Kind(types[next].dtype()), elements[next]}), ++next;
    }
    const Value result = call_value(t, function, inner);
    is_tuple = result.is<Tuple>();
    const std::vector<Value> parts = is_tuple ? parts_of(result) : std::vector{result};
    for (const Value& part : parts)
      if (const std::optional<Kind> kind = number_kind(part)) results.push_back(stage(t, part, *kind));
    if (results.size() == parts.size()) steps = recorded(t.builder->function(), region);
  } catch (const Diverged&) {
  }
  go_back(t, before);
  if (!steps) return Static{nb::none()};
  const ir::SpanId span = t.builder->span();
  std::vector<Value> made;
  bool is_done = true;
  for (const NodeId result : results) {
    const NodeId node = by_element(t, arrays, [&](const std::vector<NodeId>& each) {
      std::map<NodeId, NodeId> values;
      for (size_t i = 0; i < each.size(); ++i) values[elements[i + 1]] = each[i];
      Replay replay(*t.builder, std::move(values));
      is_done = replay.run(*steps) && !t.builder->function().type(replay[result]).is_scalar();
      t.builder->set_span(span);
      return is_done ? replay[result] : each[0];
    });
    if (!is_done) break;
    made.push_back(from_node(t, node));
  }
  if (!is_done) {
    go_back(t, before);
    return Static{nb::none()};
  }
  return is_tuple ? Value(Tuple{.members = std::move(made)}) : made[0];
}

}  // namespace ingot::frontend
