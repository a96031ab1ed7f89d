#include "transform/analyses/accumulations.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/walk.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;
using ir::RegionId;

class Finder {
 public:
  Finder(const ir::Function& function, NodeId loop) : f_(function), body_(function.region(loop)) {
    ir::walk(f_, body_, [&](NodeId node) {
      for (const NodeId operand : f_.operands(node)) ++uses_[operand.index];
    });
  }

  std::vector<Accumulation> find() const {
    return find([&](NodeId node) { return at(node); });
  }
  std::vector<Accumulation> find_extremes() const {
    return find([&](NodeId node) { return extreme_at(node); });
  }

 private:
  template <class At>
  std::vector<Accumulation> find(At&& at) const {
    std::vector<Accumulation> found;
    ir::walk(f_, body_, [&](NodeId node) {
      if (f_.op(node) != Op::store && f_.op(node) != Op::write) return;
      if (const auto accumulation = at(node); accumulation && stands_alone(*accumulation))
        found.push_back(*accumulation);
    });
    return found;
  }
  /// Of users in the loop.
  size_t uses_of(NodeId value) const {
    const auto uses = uses_.find(value.index);
    return uses == uses_.end() ? 0 : uses->second;
  }
  bool is_used_once(NodeId value) const { return uses_of(value) == 1; }
  /// To another dtype, or another shape.
  bool is_converted(NodeId value) const {
    return (f_.op(value) == Op::cast || f_.op(value) == Op::broadcast) && is_used_once(value);
  }
  /// The load with the view and indices of a store, from which its value comes through casts.
  std::optional<NodeId> load_of(NodeId value, NodeId store) const {
    while (is_converted(value)) value = f_.operand(value, 0);
    const auto indices = f_.operands(store).first(f_.operands(store).size() - 1);
    const Op op = f_.op(store) == Op::store ? Op::load : Op::read;
    const bool fits = f_.op(value) == op && is_used_once(value) && f_[value].parent == f_[store].parent &&
                      std::ranges::equal(f_.operands(value), indices);
    return fits ? std::optional(value) : std::nullopt;
  }
  std::optional<Accumulation> at(NodeId store) const {
    const NodeId view = f_.operand(store, 0);
    const NodeId stored = f_.operands(store).back();
    NodeId value = stored;
    while (is_converted(value)) value = f_.operand(value, 0);
    const ir::OpInfo& card = ir::info(f_.op(value));
    const bool is_difference = f_.op(value) == Op::subtract;
    const bool is_part = f_.encloses(body_, view);
    if (f_.encloses(body_, whole_of(f_, view)) || !is_used_once(value) || !card.elementwise ||
        card.operands != 2 || !(card.laws.associative || is_difference))
      return std::nullopt;
    for (size_t i = 0; i < (is_difference ? 1 : 2); ++i) {
      const auto load = load_of(f_.operand(value, i), store);
      if (!load) continue;
      const base::DType dtype = f_.type(view).dtype();
      const Op op = is_difference ? Op::add : f_.op(value);
      const bool as_it_stands = value == stored && f_.operand(value, i) == *load;
      const bool is_exact = !ir::is_ordered(op, dtype) && ir::identity_of(op, dtype);
      const bool is_element = f_.op(store) == Op::store && !is_part;
      Accumulation made{*load, store, view, op, as_it_stands && is_exact && is_element};
      const bool is_extreme = base::is_int(dtype) && (op == Op::minimum || op == Op::maximum);
      if (is_extreme && as_it_stands && is_element) made.extreme = extreme_of(op, dtype);
      return made;
    }
    return std::nullopt;
  }

  /// A value that is one of two; `node` is the op that chooses, which may be a branch that only stores.
  struct Choice {
    NodeId node;
    NodeId condition;
    NodeId taken;
    NodeId other;
  };
  bool is_empty(RegionId region) const {
    return f_.region_body(region).size() == 1 && f_.op(f_.terminator(region)) == Op::yield;
  }
  std::optional<Choice> choice_at(NodeId store) const {
    const NodeId value = f_.operands(store).back();
    if (f_.op(value) == Op::select && is_used_once(value))
      return Choice{value, f_.operand(value, 0), f_.operand(value, 1), f_.operand(value, 2)};
    const bool is_branch = f_.op(value) == Op::if_ && f_.result_count(value) == 1 && is_used_once(value);
    if (is_branch && is_empty(f_.region(value, 0)) && is_empty(f_.region(value, 1))) {
      const auto given = [&](size_t arm) { return f_.operand(f_.terminator(f_.region(value, arm)), 0); };
      return Choice{value, f_.operand(value, 0), given(0), given(1)};
    }
    const RegionId region = f_[store].parent;
    const NodeId branch = f_[region].owner;
    if (f_.op(branch) != Op::if_ || f_.result_count(branch) > 0 || region == body_) return std::nullopt;
    const bool is_first = f_.region(branch, 0) == region;
    const auto goes_on = f_.op(f_.terminator(region)) == Op::yield && f_.region_body(region).size() == 2;
    if (!goes_on || !is_empty(f_.region(branch, is_first ? 1 : 0))) return std::nullopt;
    return Choice{branch, f_.operand(branch, 0), is_first ? value : NodeId(), is_first ? NodeId() : value};
  }
  std::optional<Accumulation> extreme_at(NodeId store) const {
    const NodeId view = f_.operand(store, 0);
    const auto choice = f_.op(store) == Op::store ? choice_at(store) : std::nullopt;
    if (!choice || f_.encloses(body_, view) || !ir::is_ordering(f_.op(choice->condition)) ||
        !is_used_once(choice->condition))
      return std::nullopt;
    const auto indices = f_.operands(store).first(f_.operands(store).size() - 1);
    const bool is_value = choice->taken && choice->other;
    const base::DType dtype = f_.type(view).dtype();
    if (!base::is_int(dtype) && !base::is_float(dtype)) return std::nullopt;
    for (const size_t i : {0, 1}) {
      const NodeId load = f_.operand(choice->condition, i);
      const NodeId candidate = f_.operand(choice->condition, 1 - i);
      const NodeId anchor = is_value ? store : choice->node;
      const bool is_load = f_.op(load) == Op::load && std::ranges::equal(f_.operands(load), indices) &&
                           uses_of(load) == (is_value ? 2 : 1) && f_[load].parent == f_[anchor].parent;
      const bool swapped = choice->other == candidate;
      const bool fits = is_value ? (swapped ? choice->taken : choice->other) == load &&
                                       (swapped ? choice->other : choice->taken) == candidate
                                 : swapped || choice->taken == candidate;
      if (!is_load || !fits) continue;
      const Carried extreme = extreme_of(f_.op(choice->condition), i == 1, swapped, dtype);
      if (extreme.nan_stands) return std::nullopt;
      return Accumulation{load, store, view, extreme.combiner, true, extreme};
    }
    return std::nullopt;
  }

  /// Whether nothing is written between the load and the store, or the branch around the store.
  bool stands_alone(const Accumulation& accumulation) const {
    const RegionId region = f_[accumulation.load].parent;
    const auto body = f_.region_body(region);
    NodeId last = accumulation.store;
    while (f_[last].parent != region) last = f_[f_[last].parent].owner;
    const auto store = std::ranges::find(body, last);
    return std::all_of(std::find(body.begin(), store, accumulation.load), store, [&](NodeId node) {
      return !ir::effects_of(f_, node).any(ir::effect::Write | ir::effect::Host | ir::effect::Sync);
    });
  }

  const ir::Function& f_;
  RegionId body_;
  std::unordered_map<uint32_t, size_t> uses_;  ///< in the loop
};

}  // namespace

NodeId whole_of(const ir::Function& f, NodeId view) {
  const auto is_part = [&] {
    const Op op = f.op(view);
    return op == Op::slice || op == Op::squeeze || op == Op::expand || op == Op::transpose;
  };
  while (is_part()) view = f.operand(view, 0);
  return view;
}

Accumulating steps_of(const ir::Function& f, const Accumulation& accumulation) {
  const auto leads_to_load = [&](NodeId value) {
    while (f.op(value) == Op::cast) value = f.operand(value, 0);
    return value == accumulation.load;
  };
  Accumulating made;
  NodeId value = f.operands(accumulation.store).back();
  if (!accumulation.load) return {{}, value};
  while (value != accumulation.load) {
    made.steps.insert(made.steps.begin(), value);
    size_t next = 0;
    if (f.op(value) != Op::cast) {
      next = leads_to_load(f.operand(value, 0)) ? 0 : 1;
      made.summand = f.operand(value, 1 - next);
    }
    value = f.operand(value, next);
  }
  return made;
}

std::vector<Accumulation> accumulations_in(const ir::Function& function, NodeId loop) {
  return Finder(function, loop).find();
}

std::vector<Accumulation> extremes_in(const ir::Function& function, NodeId loop) {
  return Finder(function, loop).find_extremes();
}

}  // namespace ingot::transform
