// Ranges (`transform/analyses/ranges`). `simplify` decides comparisons, minima, maxima and overflows of
// lengths and indices by the sign of differences: values are sums of others, as far as those do not wrap,
// bounded by what makes them and by the checks and branches that have been passed. So shapes that follow from
// each other - of a slice, of a padded or rolled array - are known to be equal, and their nests need no
// versions: maxima and minima of sums are compared as sets of sums, and those that are the same are one
// value. A loop of one iteration is its body.

#include "transform/analyses/ranges.h"

#include <algorithm>
#include <limits>

namespace ingot::transform {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::RegionId;

namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
/// Of a search for a proof: so many steps, so deep.
constexpr int kSteps = 24;
constexpr int kDepth = 4;
/// What is made by more steps than this is looked at no further.
constexpr int kMostNesting = 40;
/// Sums with more terms or larger factors are values of their own.
constexpr size_t kMostTerms = 6;
constexpr int64_t kLargestFactor = 1 << 20;
/// An extreme of more sums than this is a value of its own.
constexpr size_t kMostSums = 8;
/// So many conditions between several values are kept in mind, the first ones.
constexpr size_t kMostInequalities = 12;
/// What grids and blocks of a launch have at most along an axis (ir/ops.def).
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
constexpr int64_t kMostThreads = int64_t{1} << 16;

/// The counted loop that a value is the index of, or none.
NodeId loop_of_index(const Function& function, NodeId value) {
  if (function.op(value) != Op::param || function.attribute(value, 0) != 0) return {};
  const NodeId owner = function[function[value].parent].owner;
  if (!owner) return {};
  const Op op = function.op(owner);
  return ir::is_counted_loop(op) ? owner : NodeId();
}

/// The extent of a launch that bounds an index into its grid or a block; none: the value is no such index.
NodeId extent_of_place(const Function& function, NodeId value) {
  if (function.op(value) != Op::param || function.type(value) != ir::kInt64) return {};
  const NodeId owner = function[function[value].parent].owner;
  if (!owner || function.op(owner) != Op::launch) return {};
  return function.operand(owner, static_cast<size_t>(function.attribute(value, 0)));
}

/// The `if` that a value is a result of, and the result's number; none: the value is none.
std::pair<NodeId, size_t> branch_of(const Function& function, NodeId value) {
  if (function.op(value) == Op::if_) return {value, 0};
  if (function.op(value) != Op::result || function.op(function.operand(value, 0)) != Op::if_) return {};
  return {function.operand(value, 0), static_cast<size_t>(function.attribute(value, 0))};
}

/// The least and the largest number of a narrow integer dtype; none: it is another one.
std::optional<std::pair<int64_t, int64_t>> extremes_of(base::DType dtype) {
  if (base::is_bool(dtype)) return {{0, 1}};
  if (!base::is_int(dtype) || base::size_of(dtype) > 4) return std::nullopt;
  const int64_t count = int64_t{1} << (8 * base::size_of(dtype));
  const int64_t least = base::is_signed(dtype) ? -count / 2 : 0;
  return {{least, least + count - 1}};
}

}  // namespace

void Ranges::leave() {
  const Scope scope = scopes_.back();
  scopes_.pop_back();
  for (; linear_here_.size() > scope.linear; linear_here_.pop_back()) linear_.erase(linear_here_.back());
  for (; intervals_here_.size() > scope.intervals; intervals_here_.pop_back())
    intervals_.erase(intervals_here_.back());
  for (; bounds_before_.size() > scope.bounds; bounds_before_.pop_back())
    bounds_[bounds_before_.back().first] = bounds_before_.back().second;
  for (; extremes_here_.size() > scope.extremes; extremes_here_.pop_back())
    extremes_.erase(extremes_here_.back());
  inequalities_.resize(scope.inequalities);
}

Ranges::Linear Ranges::sum(const Linear& a, const Linear& b, int64_t factor) {
  Linear all = a;
  all.constant += b.constant * factor;
  for (const auto& [node, by] : b.terms) {
    const auto same = std::ranges::find_if(all.terms, [&](const auto& term) { return term.first == node; });
    if (same == all.terms.end()) all.terms.emplace_back(node, by * factor);
    else same->second += by * factor;
  }
  std::erase_if(all.terms, [](const auto& term) { return term.second == 0; });
  return all;
}

Ranges::Linear Ranges::linear(NodeId value) {
  if (const auto known = linear_.find(value.index); known != linear_.end()) return known->second;
  if (may_wrap_.contains(value.index)) return {{{value, 1}}, 0};
  ++nesting_;
  Linear found = find_linear(value);
  --nesting_;
  // A sum that may wrap may be known not to later.
  const bool is_itself = found.terms.size() == 1 && found.terms[0].first == value;
  if (is_itself) {
    if (nesting_ < kMostNesting) may_wrap_.insert(value.index);
    return found;
  }
  linear_here_.push_back(value.index);
  return linear_[value.index] = std::move(found);
}

Ranges::Linear Ranges::find_linear(NodeId value) {
  if (f_.is_constant(value)) return {{}, f_.constant(value).as<int64_t>()};
  const Linear itself{{{value, 1}}, 0};
  const Op op = f_.op(value);
  if (op == Op::cast && f_.op(f_.operand(value, 0)) == Op::cast && nesting_ <= kMostNesting) {
    // What fits a narrow dtype is what it is as one of it.
    const NodeId narrow = f_.operand(value, 0), wide = f_.operand(narrow, 0);
    const auto extremes = extremes_of(f_.type(narrow).dtype());
    if (!extremes || f_.type(wide) != ir::kInt64) return itself;
    const Linear own = linear(wide);
    const Interval range = interval(own);
    return range.low >= extremes->first && range.high <= extremes->second ? own : itself;
  }
  const bool is_sum = op == Op::add || op == Op::subtract || op == Op::multiply || op == Op::negative;
  if (!is_sum || nesting_ > kMostNesting) return itself;
  const Linear a = linear(f_.operand(value, 0));
  const Linear b = op == Op::negative ? Linear{{}, -1} : linear(f_.operand(value, 1));
  Linear made;
  if (op == Op::add || op == Op::subtract) {
    made = sum(a, b, op == Op::add ? 1 : -1);
  } else if (b.terms.empty() && b.constant >= -kLargestFactor && b.constant <= kLargestFactor) {
    made = sum({}, a, static_cast<int64_t>(b.constant));
  } else {
    return itself;
  }
  const bool is_small = made.terms.size() <= kMostTerms && std::ranges::all_of(made.terms, [](const auto& t) {
                          return t.second >= -kLargestFactor && t.second <= kLargestFactor;
                        });
  const Interval range = interval(made);
  return is_small && range.low >= kLowest && range.high <= kHighest ? made : itself;
}

Ranges::Linear Ranges::difference(NodeId a, NodeId b) { return sum(linear(a), linear(b), -1); }

Ranges::Interval Ranges::interval(const Linear& sum) {
  Interval all{sum.constant, sum.constant};
  for (const auto& [node, factor] : sum.terms) {
    const Interval own = interval(node);
    all.low += (factor > 0 ? own.low : own.high) * factor;
    all.high += (factor > 0 ? own.high : own.low) * factor;
  }
  return all;
}

Ranges::Interval Ranges::interval(NodeId atom) {
  const auto known = intervals_.find(atom.index);
  Interval range{};
  if (known != intervals_.end()) {
    range = known->second;
  } else {
    ++nesting_;
    range = own_interval(atom);
    --nesting_;
    intervals_here_.push_back(atom.index);
    intervals_[atom.index] = range;
  }
  const auto bounds = bounds_.find(atom.index);
  if (bounds == bounds_.end()) return range;
  return {std::max(range.low, bounds->second.low), std::min(range.high, bounds->second.high)};
}

Ranges::Interval Ranges::own_interval(NodeId atom) {
  const Interval any{kLowest, kHighest};
  const Interval natural{0, kHighest};
  const NodeId loop = loop_of_index(f_, atom);
  if (nesting_ > kMostNesting) return loop || f_.op(atom) == Op::length ? natural : any;
  if (loop) return {0, std::max<Wide>(interval(linear(f_.operand(loop, 0))).high - 1, 0)};
  if (const NodeId extent = extent_of_place(f_, atom)) {
    const Wide most = f_.attribute(atom, 0) < 3 ? kMostBlocks : kMostThreads;
    return {0, std::max<Wide>(std::min(interval(linear(extent)).high, most) - 1, 0)};
  }
  if (const auto given = interval_of_arms(atom)) return *given;
  switch (f_.op(atom)) {
    case Op::length: {
      // So many elements would have a number of bytes; the caller sees to it.
      const ir::Type type = f_.type(f_.operand(atom, 0));
      const bool has_elements = type.is_array() || type.is_view();
      return {0, has_elements ? kHighest / static_cast<int64_t>(base::size_of(type.dtype())) : kHighest};
    }
    case Op::multiply: {
      const Interval made = product(f_.operand(atom, 0), f_.operand(atom, 1));
      return made.low >= kLowest && made.high <= kHighest ? made : any;
    }
    case Op::remainder: {
      const Interval by = interval(linear(f_.operand(atom, 1)));
      return by.low > 0 ? Interval{0, by.high - 1} : any;
    }
    case Op::floor_divide: {
      const Interval of = interval(linear(f_.operand(atom, 0)));
      const Interval by = interval(linear(f_.operand(atom, 1)));
      return of.low >= 0 && by.low > 0 ? Interval{0, of.high} : any;
    }
    case Op::minimum:
    case Op::maximum: {
      const Interval a = interval(linear(f_.operand(atom, 0)));
      const Interval b = interval(linear(f_.operand(atom, 1)));
      if (f_.op(atom) == Op::minimum) return {std::min(a.low, b.low), std::min(a.high, b.high)};
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    case Op::select: {
      const Interval a = interval(linear(f_.operand(atom, 1)));
      const Interval b = interval(linear(f_.operand(atom, 2)));
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    case Op::cast: {
      const auto extremes = extremes_of(f_.type(f_.operand(atom, 0)).dtype());
      return extremes ? Interval{extremes->first, extremes->second} : any;
    }
    default: return any;
  }
}

/// Of a result of an `if`: in each arm, where its condition holds. Not of nested branches.
std::optional<Ranges::Interval> Ranges::interval_of_arms(NodeId atom) {
  const auto [branch, number] = branch_of(f_, atom);
  if (!branch || in_arm_) return std::nullopt;
  in_arm_ = true;
  std::optional<Interval> all;
  for (size_t arm = 0; arm < 2; ++arm) {
    const NodeId last = f_.terminator(f_.region(branch, arm));
    if (f_.op(last) != Op::yield) continue;
    enter();
    assume(f_.operand(branch, 0), arm == 0);
    const Interval own = interval(linear(f_.operand(last, number)));
    leave();
    all = all ? Interval{std::min(all->low, own.low), std::max(all->high, own.high)} : own;
  }
  in_arm_ = false;
  may_wrap_.clear();  // branches in the arms have not been looked into
  return all;
}

/// Sums that a value is at most (`upper`) or at least.
Ranges::Bounds Ranges::bounds(NodeId atom, bool upper) {
  const auto less_one = [&](NodeId node) { return sum(linear(node), {{}, 1}, -1); };
  if (const NodeId loop = loop_of_index(f_, atom); loop && upper)
    return {{less_one(f_.operand(loop, 0))}, false};
  if (const NodeId extent = extent_of_place(f_, atom); extent && upper) return {{less_one(extent)}, false};
  switch (f_.op(atom)) {
    case Op::minimum:
    case Op::maximum:
      return {{linear(f_.operand(atom, 0)), linear(f_.operand(atom, 1))},
              (f_.op(atom) == Op::minimum) == upper};
    case Op::select: return {{linear(f_.operand(atom, 1)), linear(f_.operand(atom, 2))}, false};
    case Op::remainder:
      if (upper && interval(linear(f_.operand(atom, 1))).low > 0)
        return {{less_one(f_.operand(atom, 1))}, false};
      return {};
    case Op::floor_divide:
      if (upper && own_interval(atom).low >= 0) return {{linear(f_.operand(atom, 0))}, false};
      return {};
    default: return {};
  }
}

bool Ranges::is_natural(const Linear& sum) {
  steps_ = kSteps;
  return prove(sum, kDepth);
}

/// Whether a sum is at least 0: by the ranges of its terms; with a term replaced by what bounds it; or as it
/// is another such sum and what is at least 0.
bool Ranges::prove(const Linear& sum, int depth) {
  const auto is_large = [](const auto& term) {
    return term.second < -kLargestFactor || term.second > kLargestFactor;
  };
  if (std::ranges::any_of(sum.terms, is_large)) return false;
  if (interval(sum).low >= 0) return true;
  if (depth == 0 || steps_ <= 0) return false;
  --steps_;
  for (const auto& term : sum.terms) {
    const auto [node, factor] = term;
    const Bounds known = bounds(node, factor < 0);
    const auto proves = [&](const Linear& bound) {
      return prove(this->sum(this->sum(sum, {{{node, 1}}, 0}, -factor), bound, factor), depth - 1);
    };
    if (known.any ? std::ranges::any_of(known.sums, proves)
                  : !known.sums.empty() && std::ranges::all_of(known.sums, proves))
      return true;
    if (prove_of_arms(sum, term, depth)) return true;
  }
  for (size_t i = inequalities_.size(); i-- > 0;) {
    const Linear& other = inequalities_[i];
    const bool helps = std::ranges::any_of(other.terms, [&](const auto& term) {
      return std::ranges::any_of(sum.terms, [&](const auto& own) {
        return own.first == term.first && own.second * term.second > 0;
      });
    });
    if (helps && prove(this->sum(sum, Linear(other), -1), depth - 1)) return true;
  }
  return false;
}

/// With a term that is what an `if` gives: for each of the arms.
bool Ranges::prove_of_arms(const Linear& sum, std::pair<NodeId, int64_t> term, int depth) {
  const auto [branch, number] = branch_of(f_, term.first);
  if (!branch || in_arm_) return false;
  in_arm_ = true;
  const Linear rest = this->sum(sum, {{{term.first, 1}}, 0}, -term.second);
  bool proved = true;
  for (size_t arm = 0; arm < 2 && proved; ++arm) {
    const NodeId last = f_.terminator(f_.region(branch, arm));
    if (f_.op(last) != Op::yield) continue;
    enter();
    assume(f_.operand(branch, 0), arm == 0);
    proved = prove(this->sum(rest, linear(f_.operand(last, number)), term.second), depth - 1);
    leave();
  }
  in_arm_ = false;
  return proved;
}

std::optional<bool> Ranges::compare(Op op, NodeId a, NodeId b) {
  if (f_.type(a) != ir::kInt64 || f_.type(b) != ir::kInt64) return std::nullopt;
  const auto less = [&](NodeId x, NodeId y, int64_t by) {
    return is_natural(sum(difference(y, x), {{}, by}, -1));
  };
  switch (op) {
    case Op::less:
      return less(a, b, 1) ? std::optional(true) : less(b, a, 0) ? std::optional(false) : std::nullopt;
    case Op::greater_equal: {
      const auto opposite = compare(Op::less, a, b);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
    case Op::greater: return compare(Op::less, b, a);
    case Op::less_equal: return compare(Op::greater_equal, b, a);
    case Op::equal:
      if (less(a, b, 1) || less(b, a, 1)) return false;
      return less(a, b, 0) && less(b, a, 0) ? std::optional(true) : std::nullopt;
    case Op::not_equal: {
      const auto opposite = compare(Op::equal, a, b);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

NodeId Ranges::extreme(Op op, NodeId a, NodeId b) {
  const auto first = compare(op == Op::minimum ? Op::less_equal : Op::greater_equal, a, b);
  if (first && *first) return a;
  const auto second = first ? first : compare(op == Op::minimum ? Op::less_equal : Op::greater_equal, b, a);
  return second && (first || *second) ? b : NodeId();
}

/// Sums whose largest is `sum`, in which maxima are added or minima taken away: a single one where there are
/// none, or too many.
std::vector<Ranges::Linear> Ranges::largest_of(Linear sum) {
  std::vector<Linear> open{std::move(sum)};
  std::vector<Linear> found;
  while (!open.empty() && open.size() + found.size() <= kMostSums) {
    const Linear each = std::move(open.back());
    open.pop_back();
    const auto term = std::ranges::find_if(each.terms, [&](const auto& t) {
      return f_.op(t.first) == (t.second > 0 ? Op::maximum : Op::minimum);
    });
    if (term == each.terms.end()) {
      found.push_back(each);
      continue;
    }
    const auto [node, factor] = *term;
    const Linear rest = this->sum(each, {{{node, 1}}, 0}, -factor);
    for (NodeId operand : f_.operands(node)) open.push_back(this->sum(rest, linear(operand), factor));
  }
  found.insert(found.end(), open.begin(), open.end());
  for (size_t i = found.size(); i-- > 0;) {
    const bool is_less = std::ranges::any_of(found, [&](const Linear& other) {
      return &other != &found[i] && interval(this->sum(other, found[i], -1)).low >= 0;
    });
    if (is_less) found.erase(found.begin() + static_cast<ptrdiff_t>(i));
  }
  return found;
}

Ranges::Key Ranges::key_of(std::vector<Linear> sums) {
  std::vector<Key> keys;
  for (Linear& each : sums) {
    std::ranges::sort(each.terms);
    Key& key = keys.emplace_back();
    key.push_back(static_cast<int64_t>(each.constant >> 64));
    key.push_back(static_cast<int64_t>(each.constant));
    for (const auto& [node, factor] : each.terms) key.insert(key.end(), {int64_t{node.index}, factor});
  }
  std::ranges::sort(keys);
  Key all;
  for (const Key& key : keys) {
    all.push_back(static_cast<int64_t>(key.size()));
    all.insert(all.end(), key.begin(), key.end());
  }
  return all;
}

NodeId Ranges::first_same(NodeId value) {
  if (f_.type(value) != ir::kInt64) return value;
  const Linear own = linear(value);
  if (own.terms.empty()) return value;
  const auto [node, factor] = own.terms[0];
  const bool is_node = own.terms.size() == 1 && factor == 1 && own.constant == 0;
  if (is_node && node != value) return node;
  const bool has_extremes = std::ranges::any_of(own.terms, [&](const auto& term) {
    return f_.op(term.first) == Op::minimum || f_.op(term.first) == Op::maximum;
  });
  if (is_node && !has_extremes) return value;
  for (const int64_t sign : {1, -1}) {
    if (sign < 0 && !has_extremes) break;
    Key key = key_of(largest_of(sum({}, own, sign)));
    key.push_back(sign);
    const auto [known, is_new] = extremes_.try_emplace(key, value);
    if (!is_new) return known->second;
    extremes_here_.push_back(std::move(key));
  }
  return value;
}

/// Of the exact product.
Ranges::Interval Ranges::product(NodeId a, NodeId b) {
  const Interval x = interval(linear(a));
  const Interval y = interval(linear(b));
  const auto [low, high] = std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
  return {low, high};
}

bool Ranges::is_exact(Op op, NodeId a, NodeId b) {
  if (f_.type(a) != ir::kInt64 || f_.type(b) != ir::kInt64) return false;
  Interval range{};
  if (op == Op::multiply) {
    range = product(a, b);
  } else {
    range = interval(sum(linear(a), linear(b), op == Op::add ? 1 : -1));
  }
  return range.low >= kLowest && range.high <= kHighest;
}

/// Keeps in mind that a sum is at least 0.
void Ranges::hold(Linear natural) {
  if (natural.terms.empty()) return;
  if (natural.terms.size() > 1) {
    if (inequalities_.size() < kMostInequalities) inequalities_.push_back(std::move(natural));
    return;
  }
  const auto [node, factor] = natural.terms[0];
  if (factor != 1 && factor != -1) return;
  may_wrap_.clear();
  Interval& range = bounds_.try_emplace(node.index, Interval{kLowest, kHighest}).first->second;
  bounds_before_.emplace_back(node.index, range);
  // factor * node + constant >= 0
  if (factor == 1) range.low = std::max(range.low, -natural.constant);
  else range.high = std::min(range.high, natural.constant);
}

void Ranges::assume_extents(std::span<const NodeId> extents) {
  for (size_t i = 0; i < 6; ++i) {
    const Linear extent = linear(extents[i]);
    hold(sum(extent, {{}, -1}, 1));
    hold(sum({{}, i < 3 ? kMostBlocks : kMostThreads}, extent, -1));
  }
}

void Ranges::assume(NodeId condition, bool holds) {
  const Op op = f_.op(condition);
  if (op == Op::invert) return assume(f_.operand(condition, 0), !holds);
  if (op == (holds ? Op::bitwise_and : Op::bitwise_or)) {
    for (size_t i = 0; i < 2; ++i) assume(f_.operand(condition, i), holds);
    return;
  }
  if (f_.operands(condition).size() != 2) return;
  const NodeId a = f_.operand(condition, 0);
  const NodeId b = f_.operand(condition, 1);
  if (f_.type(a) != ir::kInt64 || f_.type(b) != ir::kInt64) return;
  const auto at_most = [&](NodeId x, NodeId y, int64_t less) { hold(sum(difference(y, x), {{}, less}, -1)); };
  switch (op) {
    case Op::less: return holds ? at_most(a, b, 1) : at_most(b, a, 0);
    case Op::less_equal: return holds ? at_most(a, b, 0) : at_most(b, a, 1);
    case Op::greater: return holds ? at_most(b, a, 1) : at_most(a, b, 0);
    case Op::greater_equal: return holds ? at_most(b, a, 0) : at_most(a, b, 1);
    case Op::equal:
    case Op::not_equal:
      if (holds != (op == Op::equal)) return;
      at_most(a, b, 0);
      return at_most(b, a, 0);
    case Op::add_overflows:
    case Op::subtract_overflows: {
      if (holds) return;
      const Linear exact = sum(linear(a), linear(b), op == Op::add_overflows ? 1 : -1);
      hold(sum({{}, kHighest}, exact, -1));
      return hold(sum(exact, {{}, kLowest}, -1));
    }
    default: return;
  }
}

void Ranges::assume_positive(NodeId count) {
  const Linear own = linear(count);
  if (own.terms.size() == 1) hold(sum(own, {{}, 1}, -1));
  const Op op = f_.op(count);
  const bool is_extreme = op == Op::minimum || op == Op::maximum;
  if (!is_extreme && op != Op::select) return;
  const size_t first = is_extreme ? 0 : 1;
  for (size_t i = 0; i < 2; ++i) {
    const NodeId here = f_.operand(count, first + i);
    const NodeId other = f_.operand(count, first + 1 - i);
    if (op != Op::minimum && interval(linear(other)).high > 0) continue;
    if (op == Op::select) assume(f_.operand(count, 0), i == 0);
    assume_positive(here);
  }
}

bool is_natural(const Function& function, NodeId value) {
  if (function.type(value) != ir::kInt64) return false;
  if (function.is_constant(value)) return function.constant(value).as<int64_t>() >= 0;
  return function.op(value) == Op::length || loop_of_index(function, value);
}

std::optional<bool> known_comparison(const Function& function, Op op, NodeId a, NodeId b) {
  return Ranges(function).compare(op, a, b);
}

}  // namespace ingot::transform
