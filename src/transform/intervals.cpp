#include "transform/intervals.h"

#include <algorithm>

#include "transform/ranges.h"

namespace ingot::transform {

namespace {

/// The comparison that holds exactly where `op` does not, of integers.
std::optional<Op> opposite(Op op) {
  switch (op) {
    case Op::less: return Op::greater_equal;
    case Op::less_equal: return Op::greater;
    case Op::greater: return Op::less_equal;
    case Op::greater_equal: return Op::less;
    default: return std::nullopt;
  }
}

/// The arithmetic whose overflow an op tells.
std::optional<Op> arithmetic_of(Op overflows) {
  switch (overflows) {
    case Op::add_overflows: return Op::add;
    case Op::subtract_overflows: return Op::subtract;
    case Op::multiply_overflows: return Op::multiply;
    default: return std::nullopt;
  }
}
Op overflow_of(Op arithmetic) {
  return arithmetic == Op::add        ? Op::add_overflows
         : arithmetic == Op::subtract ? Op::subtract_overflows
                                      : Op::multiply_overflows;
}

}  // namespace

bool Intervals::is_inside(NodeId node) const {
  for (size_t i = 0; i < f_[loop_].region_count; ++i)
    if (f_.encloses(f_.region(loop_, i), f_[node].parent)) return true;
  return node == loop_;
}

bool Intervals::is_invariant(NodeId value) {
  if (!is_inside(value)) return true;
  if (const auto known = invariant_.find(value.index); known != invariant_.end()) return known->second;
  const ir::OpInfo& card = ir::info(f_.op(value));
  const Op op = f_.op(value);
  bool invariant = card.effects.pure() && card.regions == 0 && !card.terminator && op != Op::param &&
                   op != Op::result && f_.type(value).is_scalar();
  if (invariant)
    for (NodeId operand : f_.operands(value)) invariant = invariant && is_invariant(operand);
  invariant_[value.index] = invariant;
  return invariant;
}

NodeId Intervals::before(NodeId value) {
  if (!is_inside(value)) return use_(value);
  if (const auto known = hoisted_.find(value.index); known != hoisted_.end()) return known->second;
  Nodes operands;
  for (NodeId operand : f_.operands(value)) operands.push_back(before(operand));
  const Type type = ir::info(f_.op(value)).typed ? f_.type(value) : Type();
  const NodeId made = b_.make(f_.op(value), operands, f_.attributes(value), type);
  hoisted_[value.index] = made;
  return made;
}

std::optional<Intervals::Interval> Intervals::interval(NodeId value) {
  if (const auto known = intervals_.find(value.index); known != intervals_.end()) return known->second;
  const auto found = find_interval(value);
  intervals_[value.index] = found;
  return found;
}

std::optional<Intervals::Interval> Intervals::find_interval(NodeId value) {
  if (f_.type(value) != ir::kInt64) return std::nullopt;
  if (is_invariant(value)) {
    const NodeId same = before(value);
    return Interval{same, same, {}};
  }
  switch (f_.op(value)) {
    case Op::param: return of_index(value);
    case Op::add:
    case Op::subtract:
    case Op::multiply: return of_arithmetic(value);
    case Op::minimum:
    case Op::maximum:
    case Op::select: return of_choice(value);
    case Op::floor_divide:
    case Op::remainder: return of_division(value);
    default: return std::nullopt;
  }
}

/// 0 ... count - 1. Where the loop has no turns there is nothing to bound.
std::optional<Intervals::Interval> Intervals::of_index(NodeId parameter) {
  const NodeId owner = f_[f_[parameter].parent].owner;
  if (!owner || f_.attribute(parameter, 0) != 0) return std::nullopt;
  if (f_.op(owner) != Op::for_ && f_.op(owner) != Op::parallel_for) return std::nullopt;
  const auto count = interval(f_.operand(owner, 0));
  if (!count) return std::nullopt;
  NodeId turns = count->high;
  if (!is_natural(b_.function(), turns)) turns = b_.make(Op::maximum, {turns, b_.index(0)});
  return Interval{b_.index(0), loops_.subtract(turns, b_.index(1)), count->holds};
}

std::optional<Intervals::Interval> Intervals::of_arithmetic(NodeId value) {
  const Op op = f_.op(value);
  const auto a = interval(f_.operand(value, 0));
  const auto b = interval(f_.operand(value, 1));
  if (!a || !b) return std::nullopt;
  Interval made{{}, {}, both(a->holds, b->holds)};
  const auto corner = [&](NodeId x, NodeId y) {
    made.holds = both(made.holds, loops_.negate(b_.make(overflow_of(op), {x, y})));
    return b_.make(op, {x, y});
  };
  if (op == Op::add) {
    made.low = corner(a->low, b->low);
    made.high = corner(a->high, b->high);
  } else if (op == Op::subtract) {
    made.low = corner(a->low, b->high);
    made.high = corner(a->high, b->low);
  } else {
    const NodeId corners[] = {corner(a->low, b->low), corner(a->low, b->high), corner(a->high, b->low),
                              corner(a->high, b->high)};
    made.low = made.high = corners[0];
    for (NodeId c : corners) {
      made.low = loops_.minimum(made.low, c);
      made.high = b_.make(Op::maximum, {made.high, c});
    }
  }
  return made;
}

std::optional<Intervals::Interval> Intervals::of_choice(NodeId value) {
  const size_t first = f_.op(value) == Op::select ? 1 : 0;
  if (std::ranges::find(last_, value) != last_.end()) return interval(f_.operand(value, 2));
  const auto a = interval(f_.operand(value, first));
  const auto b = interval(f_.operand(value, first + 1));
  if (!a || !b) return std::nullopt;
  const Op low = f_.op(value) == Op::maximum ? Op::maximum : Op::minimum;
  const Op high = f_.op(value) == Op::minimum ? Op::minimum : Op::maximum;
  return Interval{b_.make(low, {a->low, b->low}), b_.make(high, {a->high, b->high}),
                  both(a->holds, b->holds)};
}

/// By a positive number that is the same in all turns.
std::optional<Intervals::Interval> Intervals::of_division(NodeId value) {
  const NodeId divisor = f_.operand(value, 1);
  if (!is_invariant(divisor)) return std::nullopt;
  const NodeId by = before(divisor);
  const NodeId positive = loops_.less(b_.index(0), by);
  if (f_.op(value) == Op::remainder) return Interval{b_.index(0), loops_.subtract(by, b_.index(1)), positive};
  const auto a = interval(f_.operand(value, 0));
  if (!a) return std::nullopt;
  return Interval{b_.make(Op::floor_divide, {a->low, by}), b_.make(Op::floor_divide, {a->high, by}),
                  both(a->holds, positive)};
}

std::optional<NodeId> Intervals::always_in_order(Op op, NodeId a, NodeId b) {
  const auto x = interval(a);
  const auto y = interval(b);
  if (!x || !y) return std::nullopt;
  const bool rises = op == Op::less || op == Op::less_equal;
  const NodeId worst_a = rises ? x->high : x->low;
  const NodeId worst_b = rises ? y->low : y->high;
  // The largest index against a length, which is its loop's count more often than not.
  const auto known = known_comparison(b_.function(), op, worst_a, worst_b);
  const NodeId holds = known ? b_.constant(*known) : b_.make(op, {worst_a, worst_b});
  return both(holds, both(x->holds, y->holds));
}

std::optional<NodeId> Intervals::never_overflows(NodeId condition) {
  const Op op = *arithmetic_of(f_.op(condition));
  const auto a = interval(f_.operand(condition, 0));
  const auto b = interval(f_.operand(condition, 1));
  if (!a || !b) return std::nullopt;
  NodeId holds = both(a->holds, b->holds);
  const auto corner = [&](NodeId x, NodeId y) {
    holds = both(holds, loops_.negate(b_.make(f_.op(condition), {x, y})));
  };
  const bool turned = op == Op::subtract;
  corner(a->low, turned ? b->high : b->low);
  corner(a->high, turned ? b->low : b->high);
  if (op == Op::multiply) {
    corner(a->low, b->high);
    corner(a->high, b->low);
  }
  return holds;
}

std::optional<NodeId> Intervals::always(NodeId condition, bool wanted) {
  if (is_invariant(condition)) {
    const NodeId same = before(condition);
    return wanted ? same : loops_.negate(same);
  }
  const Op op = f_.op(condition);
  const auto operands = f_.operands(condition);
  if (op == Op::invert) return always(operands[0], !wanted);
  if (op == Op::bitwise_and || op == Op::bitwise_or) {
    const auto a = always(operands[0], wanted);
    const auto b = always(operands[1], wanted);
    if ((op == Op::bitwise_and) == wanted) return a && b ? Maybe(both(*a, *b)) : std::nullopt;
    return a && b ? Maybe(loops_.either(*a, *b)) : a ? a : b;
  }
  if (!wanted && arithmetic_of(op)) return never_overflows(condition);
  const auto against = opposite(op);
  if (!against) return std::nullopt;
  return always_in_order(wanted ? op : *against, operands[0], operands[1]);
}

}  // namespace ingot::transform
