#include "transform/analyses/intervals.h"

#include <algorithm>
#include <limits>

#include "transform/analyses/ranges.h"

namespace ingot::transform {

namespace {

/// The op that reports the overflow of arithmetic.
Op overflow_of(Op arithmetic) {
  return arithmetic == Op::add        ? Op::add_overflows
         : arithmetic == Op::subtract ? Op::subtract_overflows
                                      : Op::multiply_overflows;
}

/// One iteration a cycle takes 14 years to come here.
constexpr int64_t kMostIterations = int64_t{1} << 61;
/// The largest constant whose product with the number of iterations does not overflow.
constexpr int64_t kLargestStep = 2;

/// By how much an iteration moves a carried number.
struct Growth {
  int64_t least = 0;
  int64_t most = 0;
};

/// What an `if` or `block` may give as one of its results.
Nodes values_given(const Function& f, NodeId node, size_t index) {
  Nodes values;
  for (size_t i = 0; i < f[node].region_count; ++i) {
    const NodeId last = f.terminator(f.region(node, i));
    if (f.op(last) == Op::yield) values.push_back(f.operand(last, index));
  }
  if (f.op(node) != Op::block) return values;
  const NodeId label = f.region_parameters(f.region(node))[0];
  for (uint32_t i = node.index; i < f.node_count(); ++i)
    if (f.op(NodeId(i)) == Op::exit_ && f.operand(NodeId(i), 0) == label)
      values.push_back(f.operand(NodeId(i), index + 1));
  return values;
}

/// Finds how a value comes from a carried one, by additions of constants.
class GrowthFinder {
 public:
  GrowthFinder(const Function& function, NodeId from) : f_(function), from_(from) {}

  std::optional<Growth> find(NodeId value) const {
    if (value == from_) return Growth{};
    switch (f_.op(value)) {
      case Op::add: return moved(value, 1);
      case Op::subtract: return moved(value, -1);
      case Op::select: return either(find(f_.operand(value, 1)), find(f_.operand(value, 2)));
      case Op::if_:
      case Op::block: return of_results(value, 0);
      case Op::result: return of_results(f_.operand(value, 0), static_cast<size_t>(f_.attribute(value, 0)));
      case Op::param: return of_parameter(value);
      default: return std::nullopt;
    }
  }

 private:
  using Maybe = std::optional<Growth>;

  static Maybe either(Maybe a, Maybe b) {
    if (!a || !b) return std::nullopt;
    return Growth{std::min(a->least, b->least), std::max(a->most, b->most)};
  }
  Maybe moved(NodeId value, int64_t sign) const {
    NodeId base = f_.operand(value, 0);
    NodeId step = f_.operand(value, 1);
    if (sign > 0 && f_.is_constant(base)) std::swap(base, step);
    if (!f_.is_constant(step)) return std::nullopt;
    const int64_t by = f_.constant(step).as<int64_t>();
    const Maybe growth = find(base);
    if (!growth || by > kLargestStep || by < -kLargestStep) return std::nullopt;
    const Growth next{growth->least + sign * by, growth->most + sign * by};
    if (next.least < -kLargestStep || next.most > kLargestStep) return std::nullopt;
    return next;
  }
  /// What the body of a `while` gets is what the head gives.
  Maybe of_parameter(NodeId parameter) const {
    const RegionId region = f_[parameter].parent;
    const NodeId owner = f_[region].owner;
    if (!owner || f_.op(owner) != Op::while_ || region != f_.region(owner, 1)) return std::nullopt;
    const NodeId given = f_.terminator(f_.region(owner, 0));
    if (f_.op(given) != Op::yield) return std::nullopt;
    return find(f_.operand(given, static_cast<size_t>(f_.attribute(parameter, 0)) + 1));
  }
  Maybe of_results(NodeId node, size_t index) const {
    const Op op = f_.op(node);
    if (op != Op::if_ && op != Op::block) return std::nullopt;
    Maybe all;
    for (NodeId value : values_given(f_, node, index)) {
      const Maybe one = find(value);
      if (!one) return std::nullopt;
      all = all ? either(all, one) : one;
    }
    return all;
  }

  const Function& f_;
  NodeId from_;
};

}  // namespace

bool Intervals::is_inside(NodeId node) const { return node == loop_ || f_.encloses(loop_, node); }

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
  auto& intervals = intervals_[by_time_ ? 1 : 0];
  if (const auto known = intervals.find(value.index); known != intervals.end()) return known->second;
  const auto found = find_interval(value);
  intervals[value.index] = found;
  return found;
}

std::optional<Intervals::Interval> Intervals::find_interval(NodeId value) {
  if (f_.type(value) != ir::kInt64) return std::nullopt;
  if (is_invariant(value)) {
    const NodeId same = before(value);
    return Interval{same, same, {}};
  }
  switch (f_.op(value)) {
    case Op::param: return of_parameter(value);
    case Op::if_:
    case Op::block:
    case Op::for_:
    case Op::while_: return of_result(value, 0);
    case Op::result: return of_result(f_.operand(value, 0), static_cast<size_t>(f_.attribute(value, 0)));
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

/// 0 ... count - 1. Where the loop has no iterations there is nothing to bound.
std::optional<Intervals::Interval> Intervals::of_index(NodeId parameter) {
  const NodeId owner = f_[f_[parameter].parent].owner;
  if (!owner || f_.attribute(parameter, 0) != 0) return std::nullopt;
  if (f_.op(owner) != Op::for_ && f_.op(owner) != Op::parallel_for) return std::nullopt;
  const auto count = interval(f_.operand(owner, 0));
  if (!count) return std::nullopt;
  NodeId iterations = count->high;
  if (!is_natural(b_.function(), iterations)) iterations = loops_.maximum(iterations, b_.index(0));
  return Interval{b_.index(0), loops_.subtract(iterations, b_.index(1)), count->holds};
}

std::optional<Intervals::Interval> Intervals::of_parameter(NodeId parameter) {
  const RegionId region = f_[parameter].parent;
  const NodeId owner = f_[region].owner;
  if (!owner) return std::nullopt;
  const auto index = static_cast<size_t>(f_.attribute(parameter, 0));
  if (f_.op(owner) == Op::while_)
    return region == f_.region(owner, 0) ? of_counter(owner, index, false) : of_result(owner, index);
  if (index == 0) return of_index(parameter);
  return f_.op(owner) == Op::for_ ? of_counter(owner, index - 1, false) : std::nullopt;
}

/// What a loop ends with; of a `while` that is what its head gives in any iteration.
std::optional<Intervals::Interval> Intervals::of_result(NodeId node, size_t index) {
  if (f_.op(node) == Op::for_) return of_counter(node, index, true);
  if (f_.op(node) == Op::if_ || f_.op(node) == Op::block) {
    std::optional<Interval> all;
    for (NodeId value : values_given(f_, node, index)) {
      const auto one = interval(value);
      if (!one) return std::nullopt;
      all = all ? hull(*all, *one) : *one;
    }
    return all;
  }
  if (f_.op(node) != Op::while_) return std::nullopt;
  const NodeId given = f_.terminator(f_.region(node, 0));
  return f_.op(given) == Op::yield ? interval(f_.operand(given, index + 1)) : std::nullopt;
}

/// What a loop carries in a slot at the begin of an iteration, or after the last one: its init, and a step an
/// iteration.
std::optional<Intervals::Interval> Intervals::of_counter(NodeId loop, size_t slot, bool after) {
  const bool is_for = f_.op(loop) == Op::for_;
  const NodeId parameter = f_.region_parameters(f_.region(loop))[slot + (is_for ? 1 : 0)];
  const NodeId last = f_.terminator(f_.region(loop, is_for ? 0 : 1));
  if (f_.type(parameter) != ir::kInt64 || f_.op(last) != Op::yield) return std::nullopt;
  const auto growth = GrowthFinder(f_, parameter).find(f_.operand(last, slot));
  const auto init = interval(f_.operand(loop, slot + (is_for ? 1 : 0)));
  if (!growth || !init) return std::nullopt;
  Interval made = *init;
  NodeId iterations = b_.index(kMostIterations);
  if (is_for && !by_time_) {
    const auto index = of_index(f_.region_parameters(f_.region(loop))[0]);
    if (!index) return std::nullopt;
    iterations = after ? loops_.add(index->high, b_.index(1)) : index->high;
    made.holds = both(made.holds, index->holds);
  }
  const auto move = [&](NodeId bound, int64_t step) {
    if (step == 0) return bound;
    const NodeId by = b_.index(step);
    const NodeId way = loops_.multiply(iterations, by);
    made.holds = both(made.holds, loops_.negate(b_.make(Op::multiply_overflows, {iterations, by})));
    made.holds = both(made.holds, loops_.negate(b_.make(Op::add_overflows, {bound, way})));
    return loops_.add(bound, way);
  };
  made.low = move(made.low, std::min<int64_t>(growth->least, 0));
  made.high = move(made.high, std::max<int64_t>(growth->most, 0));
  return made;
}

/// `start` and the index of a loop of `stop - start` iterations: at most the last index before `stop`.
std::optional<Intervals::Interval> Intervals::of_range(NodeId sum) {
  for (size_t side = 0; side < 2; ++side) {
    const NodeId start = f_.operand(sum, side);
    const NodeId index = f_.operand(sum, 1 - side);
    const NodeId owner = f_[f_[index].parent].owner;
    if (f_.op(index) != Op::param || !owner || f_.op(owner) != Op::for_ || f_.attribute(index, 0) != 0)
      continue;
    // greater(stop, start) ? stop - start : 0
    const NodeId count = f_.operand(owner, 0);
    if (f_.op(count) != Op::select || f_.op(f_.operand(count, 0)) != Op::greater ||
        f_.op(f_.operand(count, 1)) != Op::subtract)
      continue;
    const auto compared = f_.operands(f_.operand(count, 0));
    const NodeId none = f_.operand(count, 2);
    const bool fits = compared[1] == start &&
                      std::ranges::equal(compared, f_.operands(f_.operand(count, 1))) &&
                      f_.is_constant(none) && f_.constant(none).as<int64_t>() == 0;
    if (!fits) continue;
    const auto low = interval(start);
    const auto high = interval(compared[0]);
    if (!low || !high) continue;
    return Interval{low->low, loops_.subtract(high->high, b_.index(1)), both(low->holds, high->holds)};
  }
  return std::nullopt;
}

std::optional<Intervals::Interval> Intervals::of_arithmetic(NodeId value) {
  const Op op = f_.op(value);
  if (op == Op::add && !by_time_)
    if (const auto range = of_range(value)) return range;
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
      made.high = loops_.maximum(made.high, c);
    }
  }
  return made;
}

Intervals::Interval Intervals::hull(const Interval& a, const Interval& b) {
  return {loops_.minimum(a.low, b.low), loops_.maximum(a.high, b.high), both(a.holds, b.holds)};
}

std::optional<Intervals::Interval> Intervals::of_choice(NodeId value) {
  const size_t first = f_.op(value) == Op::select ? 1 : 0;
  if (std::ranges::find(last_, value) != last_.end()) return interval(f_.operand(value, 2));
  auto a = interval(f_.operand(value, first));
  auto b = interval(f_.operand(value, first + 1));
  if (first == 0 && (a || b)) {
    // One bound of an extreme is that of the operand of which more is known.
    const Interval any{
        b_.index(std::numeric_limits<int64_t>::min()), b_.index(std::numeric_limits<int64_t>::max()), {}};
    if (!a) a = any;
    if (!b) b = any;
  }
  if (!a || !b) return std::nullopt;
  const Op low = f_.op(value) == Op::maximum ? Op::maximum : Op::minimum;
  const Op high = f_.op(value) == Op::minimum ? Op::minimum : Op::maximum;
  return Interval{b_.make(low, {a->low, b->low}), b_.make(high, {a->high, b->high}),
                  both(a->holds, b->holds)};
}

/// By a positive number that is the same in all iterations.
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
  by_time_ = true;
  const auto in_time = bounded_overflow(condition);
  by_time_ = false;
  const bool certain =
      in_time && b_.function().is_constant(*in_time) && b_.function().constant(*in_time).bits[0] != 0;
  return certain ? in_time : bounded_overflow(condition);
}

std::optional<NodeId> Intervals::bounded_overflow(NodeId condition) {
  const Op op = *ir::info(f_.op(condition)).overflow_of;
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
  if (!wanted && ir::info(op).overflow_of) return never_overflows(condition);
  if (!ir::is_ordering(op)) return std::nullopt;
  return always_in_order(wanted ? op : *ir::info(op).opposite, operands[0], operands[1]);
}

}  // namespace ingot::transform
