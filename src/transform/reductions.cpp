// Relaxations. `fastmath` is a set of names in the function's header (`relaxed(contract, reassoc)`): codegen
// puts them on arithmetic (`OpRule::relaxes`) but not on the kernels of elementary functions, whose bits rest
// on exact operations. `schedule` makes parallel loops of `for` loops that carry nothing but reductions
// (`reductions.h`), of floats where `reassoc` allows it, of integers always; their order is that of
// reductions over arrays.

#include "transform/reductions.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "ir/builder.h"
#include "ir/evaluate.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;

/// Follows one carried value through a turn.
class Chain {
 public:
  Chain(const ir::Function& function, NodeId loop, NodeId parameter, bool checked)
      : f_(function), body_(function.region(loop)), parameter_(parameter), checked_(checked) {
    find_dependents();
  }

  std::optional<Op> combiner(NodeId yielded) {
    if (!f_.type(parameter_).is_scalar() || !leads_to(yielded) || !op_) return std::nullopt;
    const bool has_identity = ir::identity_of(*op_, f_.type(parameter_).dtype()).has_value();
    if (!has_identity && (links_ > 1 || branches_)) return std::nullopt;
    return uses_of(parameter_) == ends_ ? op_ : std::nullopt;
  }

  /// What is combined with the carried value, and a check that was left out of account.
  const std::vector<NodeId>& terms() const { return terms_; }
  NodeId check() const { return check_; }
  bool differs() const { return differs_; }
  bool depends(NodeId value) const { return depends_[value.index]; }
  /// Uses in the turn.
  size_t uses_of(NodeId value) {
    size_t uses = 0;
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      const NodeId user(i);
      if (!is_inside(user) || (checked_ && is_overflow_check(user))) continue;
      uses += static_cast<size_t>(std::ranges::count(f_.operands(user), value));
    }
    return uses;
  }

 private:
  bool is_inside(NodeId node) const { return f_.encloses(body_, f_[node].parent); }
  /// Whether a node says that an int overflows, and nothing but checks asks.
  bool is_overflow_check(NodeId node) {
    const Op op = f_.op(node);
    if (op != Op::add_overflows && op != Op::subtract_overflows && op != Op::multiply_overflows) return false;
    return std::ranges::all_of(users_of(node), [&](NodeId user) {
      return f_.op(user) == Op::invert && std::ranges::all_of(users_of(user), [&](NodeId check) {
               if (f_.op(check) == Op::check) check_ = check;
               return f_.op(check) == Op::check;
             });
    });
  }
  std::vector<NodeId> users_of(NodeId value) const {
    std::vector<NodeId> users;
    for (uint32_t i = value.index; i < f_.node_count(); ++i)
      if (std::ranges::count(f_.operands(NodeId(i)), value) > 0) users.emplace_back(i);
    return users;
  }

  /// Whether a value is the carried one, with something combined or not, and has no use but that which led
  /// here.
  bool leads_to(NodeId value) {
    if (value == parameter_) {
      ++ends_;
      return true;
    }
    if (absorbs(value)) return true;
    if (!is_inside(value)) return false;
    if (f_.op(value) == Op::result) return leads_through_branches(value);
    if (f_.op(value) == Op::if_) return leads_through_arms(value, 0);
    if (f_.op(value) == Op::select) return leads_through_select(value);
    return leads_through_op(value);
  }
  /// `true` in a branch is what `or` with it gives, `false` what `and` gives.
  bool absorbs(NodeId value) {
    if (!branches_ || !f_.is_constant(value) || f_.type(value) != ir::kBool) return false;
    const Op op = f_.constant(value).bits[0] != 0 ? Op::bitwise_or : Op::bitwise_and;
    const bool fits = op_.value_or(op) == op;
    op_ = op;
    return fits;
  }
  bool leads_through_branches(NodeId result) {
    const NodeId branch = f_.operand(result, 0);
    return f_.op(branch) == Op::if_ && uses_of(result) == 1 &&
           leads_through_arms(branch, static_cast<size_t>(f_.attribute(result, 0)));
  }
  bool leads_through_arms(NodeId branch, size_t slot) {
    branches_ = true;
    if (f_.result_count(branch) == 1 && uses_of(f_.result(branch, 0)) != 1) return false;
    for (size_t arm = 0; arm < 2; ++arm) {
      const NodeId last = f_.terminator(f_.region(branch, arm));
      if (f_.op(last) != Op::yield || !leads_to(f_.operand(last, slot))) return false;
    }
    return true;
  }
  /// As through the arms of an `if`; a use in the condition is one too many.
  bool leads_through_select(NodeId value) {
    branches_ = true;
    return uses_of(value) == 1 && leads_to(f_.operand(value, 1)) && leads_to(f_.operand(value, 2));
  }
  bool leads_through_op(NodeId value) {
    const ir::OpInfo& card = ir::info(f_.op(value));
    const bool is_difference = f_.op(value) == Op::subtract;
    if (!card.elementwise || !(card.laws.associative || is_difference)) return false;
    const Op op = is_difference ? Op::add : f_.op(value);
    if (op_.value_or(op) != op || uses_of(value) != 1) return false;
    op_ = op;
    ++links_;
    const auto operands = f_.operands(value);
    const bool first = depends(operands[0]);
    if (first == depends(operands[1]) || (is_difference && !first)) return false;
    terms_.push_back(operands[first ? 1 : 0]);
    differs_ = differs_ || is_difference;
    return leads_to(operands[first ? 0 : 1]);
  }
  /// What is computed from the carried value, branches that do so included.
  void find_dependents() {
    depends_.assign(f_.node_count(), false);
    depends_[parameter_.index] = true;
    // The results of a branch stand before what is in it.
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = parameter_.index; i < f_.node_count(); ++i) {
        const NodeId id(i);
        if (depends_[i] || !is_inside(id)) continue;
        depends_[i] = std::ranges::any_of(f_.operands(id), [&](NodeId operand) { return depends(operand); });
        if (!depends_[i]) continue;
        changed = true;
        for (ir::RegionId at = f_[id].parent; at != body_; at = f_[f_[at].owner].parent)
          depends_[f_[at].owner.index] = true;
      }
    }
  }

  const ir::Function& f_;
  ir::RegionId body_;
  NodeId parameter_;
  bool checked_;
  NodeId check_;
  std::vector<NodeId> terms_;
  bool differs_ = false;
  std::vector<bool> depends_;
  std::optional<Op> op_;
  size_t links_ = 0;
  size_t ends_ = 0;
  bool branches_ = false;
};

/// The number that no other one is below, or above.
base::Scalar limit_of(base::DType dtype, bool largest) {
  return base::visit_dtype(dtype, [&]<class T>() -> base::Scalar {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>) return base::Scalar::of(largest ? Limits::max() : Limits::lowest());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    base::Scalar limit;
    const double value = largest ? kInfinity : -kInfinity;
    ir::cast_loop(base::DType::Float64, dtype)(&value, 0, nullptr, 0, limit.bits.data(), 1);
    return limit;
  });
}

/// A value that becomes another one where a comparison with that says so.
class Comparison {
 public:
  Comparison(const ir::Function& function, NodeId parameter) : f_(function), parameter_(parameter) {}

  std::optional<Carried> extreme(NodeId yielded, const Chain& chain) const {
    const base::DType dtype = f_.type(parameter_).dtype();
    if (!base::is_int(dtype) && !base::is_float(dtype)) return std::nullopt;
    const auto choice = choice_of(yielded);
    if (!choice) return std::nullopt;
    const auto& [condition, taken, other] = *choice;
    const bool swapped = taken == parameter_;
    const NodeId candidate = swapped ? other : taken;
    if ((swapped ? taken : other) != parameter_) return std::nullopt;
    const bool first = f_.operand(condition, 0) != parameter_;
    const NodeId compared = f_.operand(condition, first ? 0 : 1);
    if (f_.operand(condition, first ? 1 : 0) != parameter_ || chain.depends(compared)) return std::nullopt;
    if (compared != candidate) return std::nullopt;
    return of_comparison(f_.op(condition), first, swapped, dtype);
  }

 private:
  struct Choice {
    NodeId condition;
    NodeId taken;
    NodeId other;
  };
  bool is_comparison(NodeId node) const {
    const Op op = f_.op(node);
    return op == Op::less || op == Op::less_equal || op == Op::greater || op == Op::greater_equal;
  }
  std::optional<Choice> choice_of(NodeId value) const {
    if (f_.op(value) == Op::select && is_comparison(f_.operand(value, 0)))
      return Choice{f_.operand(value, 0), f_.operand(value, 1), f_.operand(value, 2)};
    const bool is_branch = f_.op(value) == Op::if_ && f_.result_count(value) == 1;
    if (!is_branch || !is_comparison(f_.operand(value, 0))) return std::nullopt;
    NodeId arms[2];
    for (size_t arm = 0; arm < 2; ++arm) {
      const NodeId last = f_.terminator(f_.region(value, arm));
      if (f_.op(last) != Op::yield) return std::nullopt;
      arms[arm] = f_.operand(last, 0);
      // An arm may do nothing else.
      if (f_.region_body(f_.region(value, arm)).size() > 1) return std::nullopt;
    }
    return Choice{f_.operand(value, 0), arms[0], arms[1]};
  }
  /// `first`: the candidate is the first operand; `swapped`: it is taken where the comparison fails.
  static std::optional<Carried> of_comparison(Op op, bool first, bool swapped, base::DType dtype) {
    const bool greater = op == Op::greater || op == Op::greater_equal;
    const bool equal = op == Op::less_equal || op == Op::greater_equal;
    // Where it is taken because a comparison fails, NaN wins.
    if (swapped && base::is_float(dtype)) return std::nullopt;
    const bool largest = (greater == first) != swapped;
    return Carried{.way = Carried::Way::Extreme,
                   .combiner = largest ? Op::maximum : Op::minimum,
                   .neutral = limit_of(dtype, !largest),
                   .last_stands = equal != swapped};
  }

  const ir::Function& f_;
  NodeId parameter_;
};

/// Of sums of Python ints whose checks were left out of account: small constants of one sign are counted.
Carried of_checked(const ir::Function& f, const Chain& chain, Op combiner) {
  constexpr int64_t kSmall = 2;
  int64_t sum = 0;
  int64_t size = 0;
  bool known = combiner == Op::add && !chain.differs();
  for (NodeId term : chain.terms()) {
    known = known && f.is_constant(term);
    if (!known) break;
    const auto value = f.constant(term).as<int64_t>();
    known = value >= -kSmall && value <= kSmall;
    sum += value;
    size += std::abs(value);
  }
  if (!known || size > kSmall || std::abs(sum) != size) return {.way = Carried::Way::InOrder};
  return {.way = Carried::Way::Counted, .neutral = base::Scalar{}, .check = chain.check()};
}

/// `if v: v else: x`, or the other way round, as `or` and `and` have it.
std::optional<Op> short_circuit(const ir::Function& f, NodeId parameter, NodeId yielded) {
  const bool is_branch = f.op(yielded) == Op::if_ && f.result_count(yielded) == 1;
  if (!is_branch || f.operand(yielded, 0) != parameter || f.type(parameter) != ir::kBool) return std::nullopt;
  for (size_t arm = 0; arm < 2; ++arm) {
    const ir::RegionId region = f.region(yielded, arm);
    const NodeId last = f.terminator(region);
    // What Python would not have evaluated is not seen.
    const auto is_silent = [&](NodeId node) {
      return node == last || (ir::effects_of(f, node).bits & ~ir::effect::Read.bits) == 0;
    };
    if (f.op(last) != Op::yield || !std::ranges::all_of(f.region_body(region), is_silent))
      return std::nullopt;
  }
  const auto given = [&](size_t arm) { return f.operand(f.terminator(f.region(yielded, arm)), 0); };
  if (given(0) == parameter) return Op::bitwise_or;
  if (given(1) == parameter) return Op::bitwise_and;
  return std::nullopt;
}

/// The loop in a turn whose result this is, and which of its values; none of others.
std::optional<std::pair<NodeId, size_t>> loop_of(const ir::Function& f, NodeId value) {
  const bool is_result = f.op(value) == Op::result;
  const NodeId loop = is_result ? f.operand(value, 0) : value;
  if (f.op(loop) != Op::for_) return std::nullopt;
  return std::pair(loop, is_result ? static_cast<size_t>(f.attribute(value, 0)) : 0);
}

}  // namespace

std::optional<Op> reduction_of(const ir::Function& function, NodeId loop, size_t i, bool checked) {
  const ir::RegionId body = function.region(loop);
  const NodeId last = function.terminator(body);
  if (function.op(last) != Op::yield) return std::nullopt;
  const NodeId parameter = function.region_parameters(body)[i + 1];
  return Chain(function, loop, parameter, checked).combiner(function.operand(last, i));
}

std::optional<Carried> carried_of(const ir::Function& function, NodeId loop, size_t i) {
  const ir::RegionId body = function.region(loop);
  const NodeId last = function.terminator(body);
  if (function.op(last) != Op::yield) return std::nullopt;
  const NodeId parameter = function.region_parameters(body)[i + 1];
  const NodeId yielded = function.operand(last, i);
  if (yielded == parameter) return Carried{};
  if (!function.type(parameter).is_scalar()) return std::nullopt;
  const auto combined = [&](Op op) {
    const auto identity = ir::identity_of(op, function.type(parameter).dtype());
    return Carried{.way = Carried::Way::Combined, .combiner = op, .neutral = identity};
  };
  if (const auto op = reduction_of(function, loop, i)) return combined(*op);
  Chain chain(function, loop, parameter, true);
  if (const auto op = chain.combiner(yielded)) return of_checked(function, chain, *op);
  Chain depends(function, loop, parameter, false);
  if (const auto inner = loop_of(function, yielded)) {
    const auto [inside, slot] = *inner;
    const bool goes_through = function.encloses(body, function[inside].parent) &&
                              function.operand(inside, slot + 1) == parameter &&
                              depends.uses_of(parameter) == 1 && depends.uses_of(yielded) == 1;
    auto carried = goes_through ? carried_of(function, inside, slot) : std::nullopt;
    const bool is_known = carried && (carried->neutral || carried->way == Carried::Way::InOrder);
    return is_known ? carried : std::nullopt;
  }
  // To decide and to stay; what it becomes is for the next turn alone.
  if (depends.uses_of(parameter) != 2 || depends.uses_of(yielded) != 1) return std::nullopt;
  if (const auto op = short_circuit(function, parameter, yielded)) return combined(*op);
  return Comparison(function, parameter).extreme(yielded, depends);
}

}  // namespace ingot::transform
