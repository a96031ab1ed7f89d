#include "transform/analyses/recurrence.h"

#include <algorithm>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;
using ir::RegionId;

bool is_extreme(Op op) { return op == Op::minimum || op == Op::maximum; }

/// Which nodes of a loop depend on what it carries.
class Dependents {
 public:
  Dependents(const ir::Function& function, NodeId loop) : f_(function), hangs_(function.node_count()) {
    for (const NodeId carried : f_.region_parameters(f_.region(loop)).subspan(1))
      hangs_[carried.index] = true;
    mark(f_.region(loop), false);
  }
  bool hangs(NodeId node) const { return hangs_[node.index]; }
  /// Whether something is loaded, or runs again and again, that depends on it.
  bool decides() const { return decides_; }

 private:
  bool any_hangs(std::span<const NodeId> nodes) const {
    return std::ranges::any_of(nodes, [&](NodeId node) { return hangs(node); });
  }
  void mark(RegionId region, bool is_guarded) {
    for (const NodeId node : f_.region_body(region)) {
      const bool own = is_guarded || any_hangs(f_.operands(node));
      const bool writes = ir::info(f_.op(node)).effects.any(ir::effect::Write);
      hangs_[node.index] = own;
      if (own && !writes && f_[node].region_count == 0 && !ir::info(f_.op(node)).effects.pure() &&
          !ir::info(f_.op(node)).terminator)
        decides_ = true;
      if (f_[node].region_count == 0) continue;
      const bool is_branch = f_.op(node) == Op::if_;
      decides_ = decides_ || (own && !is_branch);
      for (size_t i = 0; i < f_[node].region_count; ++i) mark(f_.region(node, i), own);
      mark_results(node, own);
    }
  }
  void mark_results(NodeId node, bool own) {
    const auto results = f_.results_of(node);
    for (size_t at = 0; at < results.size(); ++at) {
      bool hangs = own;
      for (size_t i = 0; i < f_[node].region_count; ++i) {
        const NodeId last = f_.terminator(f_.region(node, i));
        const auto given = f_.operands(last);
        // Which of a loop's values is which is not looked at.
        hangs = hangs ||
                (f_.op(node) == Op::if_ && at < given.size() ? this->hangs(given[at]) : any_hangs(given));
      }
      hangs_[results[at].index] = hangs;
    }
  }

  const ir::Function& f_;
  std::vector<bool> hangs_;
  bool decides_ = false;
};

/// Follows a value from the yield of a loop back to the parameter that it comes from.
class Chain {
 public:
  Chain(const ir::Function& function, const Dependents& dependents, NodeId parameter)
      : f_(function), dependents_(dependents), parameter_(parameter) {}

  /// How often the parameter is combined up to the value, at most; none: it is not one chain.
  std::optional<int> follow(NodeId value) {
    if (value == parameter_) return 0;
    const auto known = known_.find(value.index);
    if (known != known_.end()) return known->second;
    const std::optional<int> steps = follow_anew(value);
    known_.emplace(value.index, steps);
    return steps;
  }
  std::optional<Op> combiner() const { return combiner_; }
  /// Whether the conditions along the chain, and what is combined, do not depend on what the loop carries.
  bool stands_alone() const {
    return std::ranges::none_of(others_, [&](NodeId node) { return dependents_.hangs(node); });
  }

 private:
  std::optional<int> follow_anew(NodeId value) {
    if (f_.op(value) == Op::select) {
      others_.push_back(f_.operand(value, 0));
      return longer(follow(f_.operand(value, 1)), follow(f_.operand(value, 2)));
    }
    const bool is_one_of_several = f_.op(value) == Op::result;
    const NodeId node = is_one_of_several ? f_.operand(value, 0) : value;
    const size_t index = is_one_of_several ? static_cast<size_t>(f_.attribute(value, 0)) : 0;
    return f_.op(node) == Op::if_ ? follow_arms(node, index) : follow_step(value);
  }
  static std::optional<int> longer(std::optional<int> a, std::optional<int> b) {
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  }
  std::optional<int> follow_arms(NodeId node, size_t index) {
    others_.push_back(f_.operand(node, 0));
    std::optional<int> all = 0;
    for (size_t arm = 0; arm < 2; ++arm) {
      const NodeId last = f_.terminator(f_.region(node, arm));
      if (f_.op(last) != Op::yield) return std::nullopt;
      all = longer(all, follow(f_.operand(last, index)));
    }
    return all;
  }
  std::optional<int> follow_step(NodeId value) {
    const ir::OpInfo& card = ir::info(f_.op(value));
    if (!card.elementwise || card.operands != 2) return std::nullopt;
    const bool is_difference = f_.op(value) == Op::subtract;
    const Op op = is_difference ? Op::add : f_.op(value);
    if (combiner_ && *combiner_ != op) return std::nullopt;
    combiner_ = op;
    // Of equal extremes the first operand is kept.
    const bool is_second =
        !is_difference && card.laws.commutative && !dependents_.hangs(f_.operand(value, 0));
    others_.push_back(f_.operand(value, is_second ? 0 : 1));
    const auto before = follow(f_.operand(value, is_second ? 1 : 0));
    return before ? std::optional(*before + 1) : std::nullopt;
  }

  const ir::Function& f_;
  const Dependents& dependents_;
  NodeId parameter_;
  std::optional<Op> combiner_;
  std::unordered_map<uint32_t, std::optional<int>> known_;
  std::vector<NodeId> others_;
};

/// Whether other iterations' loads, of which an iteration does all twice, may see what it stores; or whether
/// it changes memory by more than stores.
bool overtakes_loads(const ir::Function& f, NodeId loop, std::span<const ir::Cursor> cursors) {
  std::vector<Root> stored;
  std::vector<Root> loaded;
  const bool only_stores = ir::walk(f, f.region(loop), [&](NodeId node) {
    const bool is_store = f.op(node) == Op::store;
    if (f.op(node) == Op::load) loaded.push_back(root_of(f, f.operand(node, 0)));
    if (is_store && std::ranges::any_of(cursors, [&](auto& c) { return ir::stores_at(f, node, c); }))
      stored.push_back(root_of(f, f.operand(node, 0)));
    const bool writes = ir::info(f.op(node)).effects.any(ir::effect::Write);
    return writes && !is_store ? ir::Walk::Stop : ir::Walk::Into;
  });
  return !only_stores || std::ranges::any_of(stored, [&](const Root& to) {
    return std::ranges::any_of(loaded, [&](const Root& from) { return may_overlap(f, from, to); });
  });
}

/// Whether an iteration loads what it may have stored itself: iterations are done without their stores first.
bool loads_own(const ir::Function& f, NodeId loop) {
  std::vector<Root> stored;
  const auto add = [&](NodeId node) {
    if (f.op(node) == Op::store) stored.push_back(root_of(f, f.operand(node, 0)));
  };
  bool found = false;
  ir::walk(f, f.region(loop), [&](NodeId node) {
    // Iterations of a loop inside come after those that have stored.
    if (ir::is_loop(f.op(node))) ir::walk(f, node, add);
    add(node);
    if (f.op(node) != Op::load) return;
    const Root from = root_of(f, f.operand(node, 0));
    found = found || std::ranges::any_of(stored, [&](const Root& to) { return may_overlap(f, from, to); });
  });
  return found;
}

}  // namespace

std::optional<base::Scalar> left_identity_of(Op combiner, base::DType dtype) {
  if (base::is_complex(dtype) && combiner != Op::add) return std::nullopt;
  if (!is_extreme(combiner)) {
    // +0 + -0 is +0, but -0 + x is x.
    if (base::is_complex(dtype)) return ir::evaluate(Op::negative, dtype, {{base::Scalar{}}});
    return combiner == Op::subtract ? std::nullopt : ir::neutral_of(combiner, dtype);
  }
  return ir::limit_of(dtype, combiner == Op::minimum);
}

std::optional<std::vector<Recurrence>> recurrences_of(const ir::Function& f, NodeId loop) {
  const RegionId body = f.region(loop);
  const NodeId last = f.terminator(body);
  if (f.op(loop) != Op::for_ || f.op(last) != Op::yield) return std::nullopt;
  const Dependents dependents(f, loop);
  if (dependents.decides()) return std::nullopt;
  std::vector<Recurrence> all;
  for (size_t i = 0; i < f.result_count(loop); ++i) {
    const NodeId parameter = f.region_parameters(body)[i + 1];
    if (!f.type(parameter).is_scalar()) return std::nullopt;
    Chain chain(f, dependents, parameter);
    const auto steps = chain.follow(f.operand(last, i));
    if (!steps || *steps == 0 || !chain.stands_alone()) return std::nullopt;
    const base::DType dtype = f.type(parameter).dtype();
    const auto identity = left_identity_of(*chain.combiner(), dtype);
    if (!identity) return std::nullopt;
    const bool ordered = !is_extreme(*chain.combiner()) && (base::is_float(dtype) || base::is_complex(dtype));
    if (ordered && *steps > 1) return std::nullopt;
    all.push_back({*chain.combiner(), dtype, *identity, ordered});
  }
  return all;
}

bool combines(const ir::Function& f, NodeId loop) {
  const ir::Effects bad = ir::effect::Exit | ir::effect::Host | ir::effect::Random | ir::effect::Sync;
  if (f.op(loop) != Op::for_ || ir::effects_of(f, loop).any(bad) || !recurrences_of(f, loop)) return false;
  std::vector<ir::Cursor> cursors;
  for (size_t slot = 0; slot < f.result_count(loop); ++slot)
    if (const auto cursor = ir::cursor_of(f, loop, slot)) cursors.push_back(*cursor);
  return !find_race(f, loop, cursors, Carries::Ignored) && !overtakes_loads(f, loop, cursors) &&
         !loads_own(f, loop);
}

}  // namespace ingot::transform
