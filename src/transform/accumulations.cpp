#include "transform/accumulations.h"

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
    std::vector<Accumulation> found;
    ir::walk(f_, body_, [&](NodeId node) {
      if (f_.op(node) != Op::store && f_.op(node) != Op::write) return;
      if (const auto accumulation = at(node); accumulation && stands_alone(*accumulation))
        found.push_back(*accumulation);
    });
    return found;
  }

 private:
  /// Of what stands in the loop.
  bool is_used_once(NodeId value) const {
    const auto uses = uses_.find(value.index);
    return uses != uses_.end() && uses->second == 1;
  }
  /// To another dtype, or another shape.
  bool is_converted(NodeId value) const {
    return (f_.op(value) == Op::cast || f_.op(value) == Op::broadcast) && is_used_once(value);
  }
  /// The load with the view and indices of a store, from which its value comes through casts.
  std::optional<NodeId> load_of(NodeId value, NodeId store) const {
    while (is_converted(value)) value = f_.operand(value, 0);
    const auto places = f_.operands(store).first(f_.operands(store).size() - 1);
    const Op op = f_.op(store) == Op::store ? Op::load : Op::read;
    const bool fits = f_.op(value) == op && is_used_once(value) && f_[value].parent == f_[store].parent &&
                      std::ranges::equal(f_.operands(value), places);
    return fits ? std::optional(value) : std::nullopt;
  }
  std::optional<Accumulation> at(NodeId store) const {
    const NodeId view = f_.operand(store, 0);
    const NodeId stored = f_.operands(store).back();
    NodeId value = stored;
    while (is_converted(value)) value = f_.operand(value, 0);
    const ir::OpInfo& card = ir::info(f_.op(value));
    const bool is_difference = f_.op(value) == Op::subtract;
    const bool is_part = f_.encloses(body_, f_[view].parent);
    if (f_.encloses(body_, f_[whole_of(f_, view)].parent) || !is_used_once(value) || !card.elementwise ||
        card.operands != 2 || !(card.laws.associative || is_difference))
      return std::nullopt;
    for (size_t i = 0; i < (is_difference ? 1 : 2); ++i) {
      const auto load = load_of(f_.operand(value, i), store);
      if (!load) continue;
      const base::DType dtype = f_.type(view).dtype();
      const Op op = is_difference ? Op::add : f_.op(value);
      const bool as_it_stands = value == stored && f_.operand(value, i) == *load;
      const bool is_exact =
          (base::is_int(dtype) || base::is_bool(dtype)) && ir::identity_of(op, dtype) && op != Op::lcm;
      const bool is_element = f_.op(store) == Op::store && !is_part;
      return Accumulation{*load, store, view, op, as_it_stands && is_exact && is_element};
    }
    return std::nullopt;
  }
  /// Whether nothing is written between the load and the store.
  bool stands_alone(const Accumulation& accumulation) const {
    const auto body = f_.region_body(f_[accumulation.store].parent);
    const auto store = std::ranges::find(body, accumulation.store);
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

}  // namespace ingot::transform
