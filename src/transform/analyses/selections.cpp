// The carried values are followed together, from what an iteration yields back to what it is given: over each
// node that gives one of them, to the values before it. A branch that compares one of them must leave the
// others as they are, or give them values that depend on none. What depends on them is found by operands, and
// must be seen nowhere else.

#include "transform/analyses/selections.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/walk.h"
#include "transform/analyses/reductions.h"

namespace ingot::transform {

namespace {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::RegionId;
using Values = std::vector<NodeId>;  ///< by slot

class Selector {
 public:
  Selector(const Function& function, NodeId loop, std::span<const size_t> slots)
      : f_(function), loop_(loop), body_(function.region(loop)), slots_(slots.begin(), slots.end()) {
    const auto parameters = f_.region_parameters(body_);
    for (const size_t slot : slots_) parameters_.push_back(parameters[slot + 1]);
  }

  std::optional<Selections> find() {
    const NodeId last = f_.terminator(body_);
    const bool are_numbers =
        std::ranges::all_of(parameters_, [&](NodeId parameter) { return f_.type(parameter).is_scalar(); });
    if (f_.op(last) != Op::yield || !are_numbers) return std::nullopt;
    find_dependents();
    Values yielded;
    for (const size_t slot : slots_) yielded.push_back(f_.operand(last, slot));
    if (before(std::move(yielded), body_) != parameters_ || is_seen()) return std::nullopt;
    return made();
  }

 private:
  bool depends(NodeId value) const { return depends_[value.index]; }
  static NodeId giver_of(const Function& f, NodeId value) {
    return f.op(value) == Op::result ? f.operand(value, 0) : value;
  }
  size_t slot_of(NodeId value) const {
    return f_.op(value) == Op::result ? static_cast<size_t>(f_.attribute(value, 0)) : 0;
  }
  bool gives(NodeId node, NodeId value) const {
    return f_.op(value) != Op::param && giver_of(f_, value) == node;
  }

  /// @name What depends on the carried values
  void find_dependents() {
    depends_.assign(f_.node_count(), false);
    for (const NodeId parameter : parameters_) depends_[parameter.index] = true;
    // The results of a branch come before what is in it.
    for (bool changed = true; changed;) {
      changed = false;
      ir::walk(f_, body_, [&](NodeId node) {
        changed = mark(node) || changed;
        for (const NodeId result : f_.results_of(node)) changed = mark(result) || changed;
        for (size_t i = 0; i < f_[node].region_count; ++i)
          for (const NodeId parameter : f_.region_parameters(f_.region(node, i)))
            changed = mark(parameter) || changed;
      });
    }
  }
  bool mark(NodeId value) {
    if (depends(value) || !hangs(value)) return false;
    depends_[value.index] = true;
    return true;
  }
  bool hangs(NodeId value) const {
    const bool is_param = f_.op(value) == Op::param;
    const NodeId owner = is_param ? f_[f_[value].parent].owner : giver_of(f_, value);
    const auto any_of = [&](std::span<const NodeId> operands) {
      return std::ranges::any_of(operands, [&](NodeId operand) { return depends(operand); });
    };
    if (f_[owner].region_count == 0) return any_of(f_.operands(owner));
    const auto slot = is_param ? static_cast<size_t>(f_.attribute(value, 0)) - 1 : slot_of(value);
    const auto is_yielded = [&](size_t region) {
      const NodeId last = f_.terminator(f_.region(owner, region));
      return f_.op(last) == Op::yield && slot < f_.operands(last).size() && depends(f_.operand(last, slot));
    };
    switch (f_.op(owner)) {
      case Op::for_:
        if (is_param && f_.attribute(value, 0) == 0) return depends(f_.operand(owner, 0));
        return depends(f_.operand(owner, slot + 1)) || is_yielded(0) ||
               depends(f_.region_parameters(f_.region(owner))[slot + 1]);
      case Op::if_: return !is_param && (depends(f_.operand(owner, 0)) || is_yielded(0) || is_yielded(1));
      case Op::block: return !is_param && (is_yielded(0) || leaves_with_dependent(owner, slot));
      default: return any_of(f_.operands(owner));
    }
  }
  bool leaves_with_dependent(NodeId block, size_t slot) const {
    return ir::any_within(f_, f_.region(block), [&](NodeId node) {
      return is_exit_of(block, node) && depends(f_.operand(node, slot + 1));
    });
  }
  bool is_exit_of(NodeId block, NodeId node) const {
    return f_.op(node) == Op::exit_ && f_.operand(node, 0) == f_.region_parameters(f_.region(block))[0];
  }
  /// Whether something depends on them but what has been followed.
  bool is_seen() const {
    const bool is_hidden = ir::walk(f_, body_, [&](NodeId node) {
      const auto operands = f_.operands(node);
      const bool any = std::ranges::any_of(operands, [&](NodeId operand) { return depends(operand); });
      return any && !may_depend(node) ? ir::Walk::Stop : ir::Walk::Into;
    });
    if (!is_hidden) return true;
    const auto yielded = f_.operands(f_.terminator(body_));
    for (size_t slot = 0; slot < yielded.size(); ++slot)
      if (depends(yielded[slot]) && std::ranges::count(slots_, slot) == 0) return true;
    return false;
  }
  bool may_depend(NodeId node) const {
    switch (f_.op(node)) {
      case Op::yield:
      case Op::exit_: return true;
      case Op::if_: return compared_.contains(node);
      case Op::for_: return !depends(f_.operand(node, 0));
      default: return f_[node].region_count == 0 && ir::effects_of(f_, node).pure();
    }
  }

  /// @name Back to the values before
  /// The values that those were before all that is in a region.
  std::optional<Values> before(Values values, RegionId region) {
    for (;;) {
      // Of what gives one of them, the last one.
      NodeId last;
      for (const NodeId value : values) {
        if (f_.op(value) == Op::param) continue;
        const NodeId giver = giver_of(f_, value);
        if (f_[giver].parent == region && (!last || last.index < giver.index)) last = giver;
      }
      if (!last) return values;
      const bool chooses = f_.op(last) == Op::select && !depends(f_.operand(last, 0));
      if (chooses) {
        std::optional<Values> joined;
        for (const size_t arm : {1, 2})
          if (!join(joined, before(with_arm(values, f_.operand(last, 0), arm), region))) return std::nullopt;
        return joined;
      }
      std::optional<Values> next = before(values, last);
      if (!next) return std::nullopt;
      values = std::move(*next);
    }
  }
  std::optional<Values> before(const Values& values, NodeId node) {
    switch (f_.op(node)) {
      case Op::if_:
        return depends(f_.operand(node, 0)) ? before_branch(values, node) : before_arms(values, node);
      case Op::for_: return before_loop(values, node);
      case Op::block: return before_block(values, node);
      case Op::select:
      case Op::minimum:
      case Op::maximum: return before_select(values, node);
      default: return std::nullopt;
    }
  }
  /// With the operands of a terminator, from `first` on, instead of what a node gives.
  Values with(const Values& values, NodeId node, NodeId terminator, size_t first = 0) const {
    Values made = values;
    for (NodeId& value : made)
      if (gives(node, value)) value = f_.operand(terminator, slot_of(value) + first);
    return made;
  }
  /// With an arm of what a condition selects.
  Values with_arm(const Values& values, NodeId condition, size_t arm) const {
    Values made = values;
    for (NodeId& value : made)
      if (f_.op(value) == Op::select && f_.operand(value, 0) == condition) value = f_.operand(value, arm);
    return made;
  }
  /// The values that all paths join to.
  static bool join(std::optional<Values>& joined, const std::optional<Values>& way) {
    if (!way || (joined && *joined != *way)) return false;
    joined = way;
    return true;
  }
  std::optional<Values> before_arms(const Values& values, NodeId branch) {
    std::optional<Values> joined;
    for (size_t arm = 0; arm < 2; ++arm) {
      const RegionId region = f_.region(branch, arm);
      const NodeId last = f_.terminator(region);
      if (f_.op(last) != Op::yield) continue;
      if (!join(joined, before(with(values, branch, last), region))) return std::nullopt;
    }
    return joined;
  }
  std::optional<Values> before_loop(const Values& values, NodeId loop) {
    const RegionId region = f_.region(loop);
    const NodeId last = f_.terminator(region);
    if (f_.op(last) != Op::yield) return std::nullopt;
    Values given = values;
    Values inits = values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!gives(loop, values[i])) continue;
      given[i] = f_.region_parameters(region)[slot_of(values[i]) + 1];
      inits[i] = f_.operand(loop, slot_of(values[i]) + 1);
    }
    if (before(with(values, loop, last), region) != given) return std::nullopt;
    return inits;
  }
  std::optional<Values> before_block(const Values& values, NodeId block) {
    const RegionId region = f_.region(block);
    const NodeId last = f_.terminator(region);
    std::optional<Values> joined;
    if (f_.op(last) == Op::yield && !join(joined, before(with(values, block, last), region)))
      return std::nullopt;
    const bool all = ir::walk(f_, region, [&](NodeId node) {
      if (!is_exit_of(block, node)) return ir::Walk::Into;
      return join(joined, before_exit(with(values, block, node, 1), node, block)) ? ir::Walk::Into
                                                                                  : ir::Walk::Stop;
    });
    return all ? joined : std::nullopt;
  }
  /// From an exit outwards, which is in branches alone.
  std::optional<Values> before_exit(Values values, NodeId exit, NodeId block) {
    for (NodeId at = exit; at != block; at = f_[f_[at].parent].owner) {
      if (at != exit && (f_.op(at) != Op::if_ || depends(f_.operand(at, 0)))) return std::nullopt;
      std::optional<Values> next = before(std::move(values), f_[at].parent);
      if (!next) return std::nullopt;
      values = std::move(*next);
    }
    return values;
  }

  /// What one of the values is compared with, and how: that with it.
  struct Compared {
    NodeId candidate;
    NodeId current;
    Op comparison;
    bool operator==(const Compared&) const = default;
  };
  /// `x < m`, or that and what depends on none.
  std::optional<Compared> compared(NodeId condition) const {
    if (f_.op(condition) == Op::bitwise_and) {
      const bool first = depends(f_.operand(condition, 0));
      if (depends(f_.operand(condition, first ? 1 : 0))) return std::nullopt;
      return compared(f_.operand(condition, first ? 0 : 1));
    }
    if (f_.op(condition) == Op::if_ && f_.result_count(condition) == 1) {
      // `p and x < m`
      const NodeId guard = f_.operand(condition, 0);
      const NodeId lasts[] = {f_.terminator(f_.region(condition, 0)), f_.terminator(f_.region(condition, 1))};
      if (depends(guard) || f_.op(lasts[0]) != Op::yield || f_.op(lasts[1]) != Op::yield) return std::nullopt;
      const NodeId otherwise = f_.operand(lasts[1], 0);
      const bool is_false = f_.is_constant(otherwise) && f_.constant(otherwise).bits[0] == 0;
      return is_false || otherwise == guard ? compared(f_.operand(lasts[0], 0)) : std::nullopt;
    }
    if (f_.op(condition) != Op::less && f_.op(condition) != Op::greater) return std::nullopt;
    const bool swapped = depends(f_.operand(condition, 0));
    const NodeId candidate = f_.operand(condition, swapped ? 1 : 0);
    if (depends(candidate)) return std::nullopt;
    const Op comparison = (f_.op(condition) == Op::less) != swapped ? Op::less : Op::greater;
    return Compared{candidate, f_.operand(condition, swapped ? 0 : 1), comparison};
  }
  /// The comparison that decides which of two numbers a value is.
  std::optional<Compared> compared_for(NodeId value) const {
    const Op op = f_.op(value);
    if (op == Op::select) return compared(f_.operand(value, 0));
    const bool is_extreme = (op == Op::minimum || op == Op::maximum) && base::is_int(f_.type(value).dtype());
    if (!is_extreme) return std::nullopt;
    const bool first = depends(f_.operand(value, 0));
    const NodeId candidate = f_.operand(value, first ? 1 : 0);
    if (depends(candidate)) return std::nullopt;
    return Compared{candidate, f_.operand(value, first ? 0 : 1), op == Op::minimum ? Op::less : Op::greater};
  }
  std::optional<Values> before_select(const Values& values, NodeId node) {
    const auto found = compared_for(node);
    if (!found) return std::nullopt;
    Values taken = values;
    Values other = values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (f_[values[i]].parent != f_[node].parent || compared_for(values[i]) != found) continue;
      const bool is_select = f_.op(values[i]) == Op::select;
      taken[i] = is_select ? f_.operand(values[i], 1) : found->candidate;
      other[i] = is_select ? f_.operand(values[i], 2) : found->current;
    }
    return before_choice(*found, taken, [&]() -> std::optional<Values> {
      NodeId behind;
      for (size_t i = 0; i < values.size(); ++i) {
        const bool is_other = other[i] != taken[i] && compared_for(other[i]);
        if (is_other && (!behind || behind.index < other[i].index)) behind = other[i];
      }
      return behind ? before_select(other, behind) : other;
    });
  }
  /// A branch on a comparison of one of the values with what depends on none.
  std::optional<Values> before_branch(const Values& values, NodeId branch) {
    const NodeId lasts[] = {f_.terminator(f_.region(branch, 0)), f_.terminator(f_.region(branch, 1))};
    const auto found = compared(f_.operand(branch, 0));
    const bool goes_on = f_.op(lasts[0]) == Op::yield && f_.op(lasts[1]) == Op::yield;
    if (!found || !goes_on || (ir::effects_of(f_, branch).bits & ~ir::effect::Read.bits) != 0)
      return std::nullopt;
    compared_.insert(branch);
    return before_choice(*found, with(values, branch, lasts[0]),
                         [&] { return before(with(values, branch, lasts[1]), f_.region(branch, 1)); });
  }
  /// `otherwise` goes back from the values if the candidate is not taken.
  template <class Otherwise>
  std::optional<Values> before_choice(const Compared& found, const Values& taken, Otherwise&& otherwise) {
    const auto [candidate, current, comparison] = found;
    // After another one, only where that one decides nothing about it.
    if (around_ &&
        (around_->is_behind || around_->candidate != candidate || around_->comparison == comparison))
      return std::nullopt;
    const auto outer = std::exchange(around_, Around{candidate, comparison, around_.has_value(), {}});
    const std::optional<Values> other = otherwise();
    const auto own = std::exchange(around_, outer);
    if (!other) return std::nullopt;
    const auto extreme = std::ranges::find(*other, current);
    if (extreme == other->end()) return std::nullopt;
    const auto leader = static_cast<size_t>(extreme - other->begin());
    if (!lead(leader, comparison)) return std::nullopt;
    for (const size_t behind : own->leaders)
      pairs_.insert(comparison == Op::less ? std::pair(leader, behind) : std::pair(behind, leader));
    if (around_) around_->leaders.push_back(leader);
    std::set<size_t> followers;
    for (size_t i = 0; i < taken.size(); ++i) {
      if (i == leader && !are_alike(taken[i], candidate)) return std::nullopt;
      if (i == leader || taken[i] == (*other)[i]) continue;
      if (!follow(i, leader, taken[i])) return std::nullopt;
      followers.insert(i);
    }
    // All follow, wherever the extreme becomes another one.
    if (groups_.try_emplace(leader, followers).first->second != followers) return std::nullopt;
    return other;
  }
  /// Whether two values are one number, maybe computed twice; in a loop that writes nothing, loads are, too.
  bool are_alike(NodeId a, NodeId b, int steps = 6) const {
    if (a == b) return true;
    if (f_.op(a) != f_.op(b) || f_.type(a) != f_.type(b) || steps == 0) return false;
    if (f_.is_constant(a)) return f_.is_constant(b) && f_.constant(a) == f_.constant(b);
    const bool is_load = f_.op(a) == Op::load && !ir::effects_of(f_, loop_).any(ir::effect::Write);
    if (!ir::info(f_.op(a)).elementwise && f_.op(a) != Op::cast && !is_load) return false;
    return std::ranges::equal(f_.attributes(a), f_.attributes(b)) &&
           std::ranges::equal(f_.operands(a), f_.operands(b),
                              [&](NodeId x, NodeId y) { return are_alike(x, y, steps - 1); });
  }
  bool lead(size_t leader, Op comparison) {
    return leaders_.try_emplace(leader, comparison).first->second == comparison && !follows_.contains(leader);
  }
  bool follow(size_t follower, size_t leader, NodeId value) {
    return !depends(value) && !leaders_.contains(follower) &&
           follows_.try_emplace(follower, leader).first->second == leader;
  }
  std::optional<Selections> made() const {
    Selections made;
    for (const auto& [leader, comparison] : leaders_) {
      const base::DType dtype = f_.type(parameters_[leader]).dtype();
      if (follows_.contains(leader) || (!base::is_int(dtype) && !base::is_float(dtype))) return std::nullopt;
      made.all.push_back({slots_[leader], comparison, {}});
      for (const auto& [follower, of] : follows_)
        if (of == leader) made.all.back().followers.push_back(slots_[follower]);
    }
    if (leaders_.size() + follows_.size() != slots_.size()) return std::nullopt;
    for (const auto& [low, high] : pairs_) made.pairs.emplace_back(slots_[low], slots_[high]);
    return made;
  }

  struct Around {
    NodeId candidate;
    Op comparison;
    bool is_behind;               ///< another one
    std::vector<size_t> leaders;  ///< of branches inside
  };

  const Function& f_;
  NodeId loop_;
  RegionId body_;
  std::vector<size_t> slots_;
  Values parameters_;
  std::vector<bool> depends_;
  std::optional<Around> around_;  ///< the branch in whose other arm this is
  std::set<NodeId> compared_;
  std::map<size_t, Op> leaders_;
  std::map<size_t, size_t> follows_;           ///< leaders, by followers
  std::map<size_t, std::set<size_t>> groups_;  ///< followers, by leaders
  std::set<std::pair<size_t, size_t>> pairs_;
};

}  // namespace

std::optional<Selections> selections_of(const Function& function, NodeId loop) {
  std::vector<size_t> unknown;
  std::vector<size_t> extremes;
  for (size_t i = 0; i < function.result_count(loop); ++i) {
    const auto carried = carried_of(function, loop, i);
    if (!carried) unknown.push_back(i);
    if (!carried || carried->way == Carried::Way::Extreme) extremes.push_back(i);
  }
  if (unknown.empty()) return Selections();
  if (auto found = Selector(function, loop, unknown).find()) return found;
  // An extreme may depend on another one.
  return extremes.size() > unknown.size() ? Selector(function, loop, extremes).find() : std::nullopt;
}

}  // namespace ingot::transform
