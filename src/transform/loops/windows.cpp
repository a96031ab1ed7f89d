#include "transform/loops/windows.h"

#include <algorithm>

#include "ir/loops.h"

namespace ingot::transform {

using ir::index_sum;
using ir::known_number;

namespace {

constexpr int kMostDepth = 24;
/// Bounds have so many alternatives at most, and factors are at most this.
constexpr size_t kMostSums = 8;
constexpr int64_t kMostFactor = int64_t{1} << 20;
/// Numbers beyond are not computed with.
constexpr int64_t kMostNumber = int64_t{1} << 53;
/// Loops of more iterations do not end: those before one that leaves them are no more than this.
constexpr int64_t kMostCount = int64_t{1} << 40;

std::optional<int64_t> limited(std::optional<int64_t> number) {
  if (!number || *number > kMostNumber || *number < -kMostNumber) return std::nullopt;
  return number;
}

/// The most (`sign` 1) or least (-1) that a value is, times `sign`.
std::optional<int64_t> extreme_of(const Function& f, NodeId value, int64_t sign, int depth);

std::optional<int64_t> extreme_of(const Function& f, const IndexSum& sum, int64_t sign, int depth) {
  std::optional<int64_t> all = limited(sign * sum.constant);
  for (const auto& [value, factor] : sum.terms) {
    const auto own = extreme_of(f, value, factor > 0 ? sign : -sign, depth);
    int64_t product = 0;
    if (!all || !own || __builtin_mul_overflow(*own, std::abs(factor), &product) || !limited(product))
      return std::nullopt;
    all = limited(*all + product);
  }
  return all;
}

std::optional<int64_t> extreme_of(const Function& f, NodeId value, int64_t sign, int depth) {
  if (const auto number = known_number(f, value)) return limited(sign * *number);
  if (depth == 0 || !f.type(value).is_scalar(DType::Int64)) return std::nullopt;
  const auto of = [&](size_t i) { return extreme_of(f, f.operand(value, i), sign, depth - 1); };
  switch (f.op(value)) {
    case Op::length: return sign < 0 ? std::optional<int64_t>(0) : std::nullopt;
    case Op::param: {
      const NodeId owner = f[f[value].parent].owner;
      if (!owner || !ir::is_counted_loop(f.op(owner)) || f.attribute(value, 0) != 0) return std::nullopt;
      if (sign < 0) return 0;
      const auto count = extreme_of(f, f.operand(owner, 0), 1, depth - 1);
      return count ? std::optional(*count - 1) : std::nullopt;
    }
    case Op::minimum:
    case Op::maximum: {
      const auto a = of(0), b = of(1);
      const bool is_tight = (f.op(value) == Op::minimum) == (sign > 0);
      if (a && b) return is_tight ? std::min(*a, *b) : std::max(*a, *b);
      return is_tight ? (a ? a : b) : std::nullopt;
    }
    case Op::select: {
      const auto a = of(1), b = of(2);
      return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
    }
    case Op::floor_divide: {
      const auto by = known_number(f, f.operand(value, 1));
      const auto own = of(0);
      if (!by || *by < 1 || !own) return std::nullopt;
      const int64_t whole = sign * *own;
      return sign * ((whole >= 0 ? whole : whole - *by + 1) / *by);
    }
    case Op::remainder: {
      const auto by = known_number(f, f.operand(value, 1));
      if (!by || *by < 1) return std::nullopt;
      return sign > 0 ? *by - 1 : 0;
    }
    case Op::add:
    case Op::subtract:
    case Op::negative:
    case Op::multiply: {
      const IndexSum sum = index_sum(f, value);
      if (sum.terms.size() == 1 && sum.terms.begin()->first == value) return std::nullopt;
      return extreme_of(f, sum, sign, depth - 1);
    }
    default: return std::nullopt;
  }
}

/// Whether a value is known to be far from where integers wrap: lengths are of arrays in memory.
bool is_tame(const Function& f, NodeId value, int depth = kMostDepth) {
  if (const auto number = known_number(f, value)) return *number <= kMostCount && *number >= -kMostCount;
  if (depth == 0 || !f.type(value).is_scalar(DType::Int64)) return false;
  const auto is_tame_operand = [&](size_t i) { return is_tame(f, f.operand(value, i), depth - 1); };
  switch (f.op(value)) {
    case Op::length: return true;
    case Op::param: {
      const NodeId owner = f[f[value].parent].owner;
      return owner && ir::is_counted_loop(f.op(owner)) && f.attribute(value, 0) == 0 &&
             is_tame(f, f.operand(owner, 0), depth - 1);
    }
    case Op::add:
    case Op::subtract:
    case Op::maximum: return is_tame_operand(0) && is_tame_operand(1);
    case Op::minimum: return is_tame_operand(0) || is_tame_operand(1);
    case Op::select: return is_tame_operand(1) && is_tame_operand(2);
    case Op::negative: return is_tame_operand(0);
    case Op::floor_divide:
    case Op::remainder: return is_tame_operand(0) && known_number(f, f.operand(value, 1)).value_or(0) > 0;
    case Op::multiply:
      for (const size_t i : {size_t{0}, size_t{1}}) {
        const auto factor = known_number(f, f.operand(value, i));
        if (factor && *factor <= kMostFactor && *factor >= -kMostFactor) return is_tame_operand(1 - i);
      }
      return false;
    default: return false;
  }
}
bool is_tame(const Function& f, const IndexSum& sum) {
  if (sum.constant > kMostCount || sum.constant < -kMostCount) return false;
  return std::ranges::all_of(sum.terms, [&](const auto& term) {
    return term.second <= kMostFactor && term.second >= -kMostFactor && is_tame(f, term.first);
  });
}

/// What is known not to be exceeded by a sum, or fallen below, by what makes the values; none: nothing.
std::optional<int64_t> most_of(const Function& function, const IndexSum& sum) {
  return extreme_of(function, sum, 1, kMostDepth);
}

std::optional<int64_t> least_of(const Function& function, const IndexSum& sum) {
  const auto least = extreme_of(function, sum, -1, kMostDepth);
  return least ? std::optional(-*least) : std::nullopt;
}

}  // namespace

BoundWriter::BoundWriter(const Function& source, ir::Builder& builder, RegionId scope,
                         std::function<NodeId(NodeId)> use)
    : f_(source),
      b_(builder),
      scope_(scope),
      use_(std::move(use)),
      is_known_(source, [&source, scope](NodeId value) {
        const bool is_own = source.op(value) == Op::param && source[value].parent == scope;
        return is_own || !source.encloses(scope, value) ? Origin::Outside : origin_inside(source, value);
      }) {}

void BoundWriter::replace(NodeId parameter, NodeId by) {
  made_[parameter] = by;
  found_.clear();
}

NodeId BoundWriter::known(NodeId value) {
  if (const auto found = made_.find(value); found != made_.end()) return found->second;
  if (!f_.encloses(scope_, value) || (f_.op(value) == Op::param && f_[value].parent == scope_))
    return use_(value);
  Nodes operands;
  for (const NodeId operand : f_.operands(value)) operands.push_back(known(operand));
  const Type type = ir::info(f_.op(value)).typed ? f_.type(value) : Type();
  return made_[value] = b_.make(f_.op(value), operands, f_.attributes(value), type);
}

NodeId BoundWriter::extreme(const std::vector<IndexSum>& sums, Op op) {
  NodeId all;
  for (const IndexSum& sum : sums) all = all ? b_.make(op, {all, write(b_, sum)}) : write(b_, sum);
  return all;
}

void BoundWriter::prune(Bounds& bounds) const {
  const auto drop = [&](std::vector<IndexSum>& sums, int64_t sign) {
    for (size_t i = sums.size(); i-- > 0;) {
      const bool is_inside = std::ranges::any_of(sums, [&](const IndexSum& other) {
        IndexSum ahead;
        ahead.add(other, sign);
        ahead.add(sums[i], -sign);
        return &other != &sums[i] && least_of(b_.function(), ahead).value_or(-1) >= 0;
      });
      if (is_inside) sums.erase(sums.begin() + static_cast<ptrdiff_t>(i));
    }
  };
  drop(bounds.high, 1);
  drop(bounds.low, -1);
}

auto BoundWriter::either(Bounds a, const Bounds& b) -> Bounds {
  a.low.insert(a.low.end(), b.low.begin(), b.low.end());
  a.high.insert(a.high.end(), b.high.begin(), b.high.end());
  prune(a);
  return a;
}

std::optional<int64_t> BoundWriter::most_values(const Bounds& bounds) const {
  int64_t all = 0;
  for (const IndexSum& low : bounds.low) {
    for (const IndexSum& high : bounds.high) {
      IndexSum span = high;
      span.add(low, -1);
      const auto most = most_of(b_.function(), span);
      if (!most) return std::nullopt;
      all = std::max(all, *most + 1);
    }
  }
  return all;
}

auto BoundWriter::of(const IndexSum& sum) -> std::optional<Bounds> {
  IndexSum constant;
  constant.constant = sum.constant;
  Bounds all{{constant}, {constant}};
  for (const auto& [value, factor] : sum.terms) {
    const auto own = of(value);
    if (!own || factor > kMostFactor || factor < -kMostFactor) return std::nullopt;
    const auto added = [&](const std::vector<IndexSum>& to, const std::vector<IndexSum>& sums) {
      std::vector<IndexSum> made;
      for (const IndexSum& a : to) {
        for (const IndexSum& b : sums) {
          made.push_back(a);
          made.back().add(b, factor);
        }
      }
      return made;
    };
    all.low = added(all.low, factor > 0 ? own->low : own->high);
    all.high = added(all.high, factor > 0 ? own->high : own->low);
    prune(all);
    if (all.low.size() > kMostSums || all.high.size() > kMostSums) return std::nullopt;
  }
  return all;
}

auto BoundWriter::of(NodeId value) -> std::optional<Bounds> {
  if (!f_.type(value).is_scalar(DType::Int64)) return std::nullopt;
  if (const auto found = found_.find(value.index); found != found_.end()) return found->second;
  auto bounds = find(value);
  if (bounds && (bounds->low.size() > kMostSums || bounds->high.size() > kMostSums)) bounds.reset();
  return found_[value.index] = std::move(bounds);
}

auto BoundWriter::find(NodeId value) -> std::optional<Bounds> {
  if (is_known_(value)) {
    const IndexSum own = index_sum(b_.function(), known(value));
    return Bounds{{own}, {own}};
  }
  switch (f_.op(value)) {
    case Op::param: return of_index(value);
    case Op::add:
    case Op::subtract:
    case Op::negative:
    case Op::multiply: {
      const IndexSum sum = ir::operand_sum(f_, value);
      return sum.terms.contains(value) ? of_product(value) : of(sum);
    }
    case Op::minimum:
    case Op::maximum: return of_extreme(value);
    case Op::select: {
      auto a = of(f_.operand(value, 1));
      const auto b = of(f_.operand(value, 2));
      return a && b ? std::optional(either(std::move(*a), *b)) : std::nullopt;
    }
    case Op::floor_divide:
    case Op::remainder: return of_quotient(value);
    default: return std::nullopt;
  }
}

auto BoundWriter::of_index(NodeId parameter) -> std::optional<Bounds> {
  const NodeId owner = f_[f_[parameter].parent].owner;
  if (!owner || !ir::is_counted_loop(f_.op(owner)) || f_.attribute(parameter, 0) != 0) return std::nullopt;
  auto count = of(f_.operand(owner, 0));
  if (!count) return std::nullopt;
  for (IndexSum& high : count->high) {
    if (!is_tame(b_.function(), high))
      high = index_sum(b_.function(), b_.make(Op::minimum, {write(b_, high), b_.index(kMostCount)}));
    high.constant -= 1;
  }
  return Bounds{{IndexSum()}, count->high};
}

/// Of a number times one that is known, of any sign.
auto BoundWriter::of_product(NodeId value) -> std::optional<Bounds> {
  for (size_t i = 0; i < 2; ++i) {
    if (!is_known_(f_.operand(value, i))) continue;
    const NodeId factor = known(f_.operand(value, i));
    const auto own = of(f_.operand(value, 1 - i));
    const IndexSum by = index_sum(b_.function(), factor);
    const auto most = most_of(b_.function(), by), least = least_of(b_.function(), by);
    if (!own || !most || !least || *most > kMostFactor || *least < -kMostFactor) return std::nullopt;
    Bounds all;
    for (const auto* const sums : {&own->low, &own->high}) {
      for (const IndexSum& sum : *sums) {
        const IndexSum product = index_sum(b_.function(), b_.make(Op::multiply, {write(b_, sum), factor}));
        if (sums == &own->low || *least < 0) all.low.push_back(product);
        if (sums == &own->high || *least < 0) all.high.push_back(product);
      }
    }
    return all;
  }
  return std::nullopt;
}

auto BoundWriter::of_quotient(NodeId value) -> std::optional<Bounds> {
  const auto by = known_number(f_, f_.operand(value, 1));
  if (!by || *by < 1 || *by > kMostFactor) return std::nullopt;
  if (f_.op(value) == Op::remainder) {
    Bounds all{{IndexSum()}, {IndexSum()}};
    all.high[0].constant = *by - 1;
    return all;
  }
  auto own = of(f_.operand(value, 0));
  const auto is_safe = [&](const IndexSum& sum) { return is_tame(b_.function(), sum); };
  if (!own || !std::ranges::all_of(own->low, is_safe) || !std::ranges::all_of(own->high, is_safe))
    return std::nullopt;
  for (auto* const sums : {&own->low, &own->high}) {
    for (IndexSum& sum : *sums) {
      // Whole multiples of the divisor are divided, and what is left is so once.
      IndexSum whole, rest;
      rest.constant = sum.constant;
      for (const auto& [term, factor] : sum.terms)
        (factor % *by == 0 ? whole : rest).terms[term] = factor % *by == 0 ? factor / *by : factor;
      whole.add(index_sum(b_.function(), b_.make(Op::floor_divide, {write(b_, rest), b_.index(*by)})));
      sum = std::move(whole);
    }
  }
  return own;
}

/// The value is one of the two. What is known is no sum that wraps in an iteration that does not run: it
/// bounds the least from above, the largest from below.
auto BoundWriter::of_extreme(NodeId value) -> std::optional<Bounds> {
  const auto a = of(f_.operand(value, 0)), b = of(f_.operand(value, 1));
  if (!a || !b) return std::nullopt;
  const bool is_least = f_.op(value) == Op::minimum;
  Bounds all = either(*a, *b);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!is_known_(f_.operand(value, i))) continue;
    const Bounds& known = i == 0 ? *a : *b;
    (is_least ? all.high : all.low) = is_least ? known.high : known.low;
    if (known_number(f_, f_.operand(value, i))) break;
  }
  return all;
}

std::optional<Window> BoundWriter::window(std::span<const IndexSum> indices, NodeId length) {
  std::optional<Bounds> all;
  for (const IndexSum& index : indices) {
    const auto own = of(index);
    if (!own) return std::nullopt;
    all = all ? either(std::move(*all), *own) : own;
  }
  LoopWriter loops(b_);
  const NodeId low = extreme(all->low, Op::minimum);
  const NodeId high = extreme(all->high, Op::maximum);
  Window window{low, {}, most_values(*all), index_sum(b_.function(), low)};
  if (least_of(b_.function(), window.start).value_or(-1) < 0) window.low = loops.maximum(low, b_.index(0));
  IndexSum count = index_sum(b_.function(), high);
  count.add(index_sum(b_.function(), window.low), -1);
  count.constant += 1;
  window.count = loops.minimum(write(b_, count), loops.subtract(length, window.low));
  limit(loops, window);
  return window;
}

void limit(LoopWriter& loops, Window& window) {
  if (window.most)
    window.count = loops.minimum(window.count, loops.index(std::max<int64_t>(*window.most, 0)));
}

}  // namespace ingot::transform
