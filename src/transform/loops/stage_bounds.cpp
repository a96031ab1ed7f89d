#include "transform/loops/stage_bounds.h"

#include <algorithm>

#include "ir/loops.h"

namespace ingot::transform {

namespace {

constexpr int kMostDepth = 24;
/// Bounds have so many alternatives at most, and factors are at most this.
constexpr size_t kMostSums = 8;
constexpr int64_t kMostFactor = int64_t{1} << 20;
/// Numbers beyond are not computed with.
constexpr int64_t kMostNumber = int64_t{1} << 53;
/// Loops of more iterations do not end: those before one that leaves them are no more than this.
constexpr int64_t kMostCount = int64_t{1} << 40;

std::optional<int64_t> number_of(const Function& f, NodeId value) {
  if (!f.is_constant(value) || !f.type(value).is_scalar(DType::Int64)) return std::nullopt;
  return f.constant(value).as<int64_t>();
}

std::optional<int64_t> limited(std::optional<int64_t> number) {
  if (!number || *number > kMostNumber || *number < -kMostNumber) return std::nullopt;
  return number;
}

Linear expand(const Function& f, NodeId value, int depth) {
  Linear sum;
  if (const auto number = number_of(f, value)) {
    sum.constant = *number;
    return sum;
  }
  const Op op = f.op(value);
  if (depth > 0 && (op == Op::add || op == Op::subtract)) {
    sum = expand(f, f.operand(value, 0), depth - 1);
    sum.add(expand(f, f.operand(value, 1), depth - 1), op == Op::add ? 1 : -1);
    return sum;
  }
  if (depth > 0 && op == Op::negative) {
    sum.add(expand(f, f.operand(value, 0), depth - 1), -1);
    return sum;
  }
  for (size_t i = 0; depth > 0 && op == Op::multiply && i < 2; ++i) {
    const auto factor = number_of(f, f.operand(value, i));
    if (!factor || *factor > kMostFactor || *factor < -kMostFactor) continue;
    sum.add(expand(f, f.operand(value, 1 - i), depth - 1), *factor);
    return sum;
  }
  sum.terms[value] = 1;
  return sum;
}

/// The most (`sign` 1) or least (-1) that a value is, times `sign`.
std::optional<int64_t> extreme_of(const Function& f, NodeId value, int64_t sign, int depth);

std::optional<int64_t> extreme_of(const Function& f, const Linear& sum, int64_t sign, int depth) {
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
  if (const auto number = number_of(f, value)) return limited(sign * *number);
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
      const auto by = number_of(f, f.operand(value, 1));
      const auto own = of(0);
      if (!by || *by < 1 || !own) return std::nullopt;
      const int64_t whole = sign * *own;
      return sign * ((whole >= 0 ? whole : whole - *by + 1) / *by);
    }
    case Op::remainder: {
      const auto by = number_of(f, f.operand(value, 1));
      if (!by || *by < 1) return std::nullopt;
      return sign > 0 ? *by - 1 : 0;
    }
    case Op::add:
    case Op::subtract:
    case Op::negative:
    case Op::multiply: {
      const Linear sum = expand(f, value, 2);
      if (sum.terms.size() == 1 && sum.terms.begin()->first == value) return std::nullopt;
      return extreme_of(f, sum, sign, depth - 1);
    }
    default: return std::nullopt;
  }
}

/// Whether a value is known to be far from where integers wrap: lengths are of arrays in memory.
bool is_tame(const Function& f, NodeId value, int depth = kMostDepth) {
  if (const auto number = number_of(f, value)) return *number <= kMostCount && *number >= -kMostCount;
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
    case Op::remainder: return is_tame_operand(0) && number_of(f, f.operand(value, 1)).value_or(0) > 0;
    case Op::multiply:
      for (const size_t i : {size_t{0}, size_t{1}}) {
        const auto factor = number_of(f, f.operand(value, i));
        if (factor && *factor <= kMostFactor && *factor >= -kMostFactor) return is_tame_operand(1 - i);
      }
      return false;
    default: return false;
  }
}
bool is_tame(const Function& f, const Linear& sum) {
  if (sum.constant > kMostCount || sum.constant < -kMostCount) return false;
  return std::ranges::all_of(sum.terms, [&](const auto& term) {
    return term.second <= kMostFactor && term.second >= -kMostFactor && is_tame(f, term.first);
  });
}

}  // namespace

void Linear::add(const Linear& other, int64_t factor) {
  const auto wrapped = [](int64_t a, int64_t b, int64_t c) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
  };
  constant = wrapped(constant, other.constant, factor);
  for (const auto& [value, own] : other.terms) {
    int64_t& now = terms[value];
    now = wrapped(now, own, factor);
    if (now == 0) terms.erase(value);
  }
}

Linear expand(const Function& function, NodeId value) { return expand(function, value, kMostDepth); }

std::optional<int64_t> most_of(const Function& function, const Linear& sum) {
  return extreme_of(function, sum, 1, kMostDepth);
}

std::optional<int64_t> least_of(const Function& function, const Linear& sum) {
  const auto least = extreme_of(function, sum, -1, kMostDepth);
  return least ? std::optional(-*least) : std::nullopt;
}

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

NodeId BoundWriter::emit(const Linear& sum) {
  NodeId all;
  for (const auto& [value, factor] : sum.terms) {
    const NodeId term = factor == 1 ? value : b_.make(Op::multiply, {value, b_.index(factor)});
    all = all ? b_.make(Op::add, {all, term}) : term;
  }
  const NodeId constant = b_.index(sum.constant);
  return !all ? constant : sum.constant == 0 ? all : b_.make(Op::add, {all, constant});
}

NodeId BoundWriter::extreme(const std::vector<Linear>& sums, Op op) {
  NodeId all;
  for (const Linear& sum : sums) all = all ? b_.make(op, {all, emit(sum)}) : emit(sum);
  return all;
}

void BoundWriter::prune(Bounds& bounds) const {
  const auto drop = [&](std::vector<Linear>& sums, int64_t sign) {
    for (size_t i = sums.size(); i-- > 0;) {
      const bool is_inside = std::ranges::any_of(sums, [&](const Linear& other) {
        Linear ahead;
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

Bounds BoundWriter::either(Bounds a, const Bounds& b) {
  a.low.insert(a.low.end(), b.low.begin(), b.low.end());
  a.high.insert(a.high.end(), b.high.begin(), b.high.end());
  prune(a);
  return a;
}

std::optional<int64_t> BoundWriter::most_values(const Bounds& bounds) const {
  int64_t all = 0;
  for (const Linear& low : bounds.low) {
    for (const Linear& high : bounds.high) {
      Linear span = high;
      span.add(low, -1);
      const auto most = most_of(b_.function(), span);
      if (!most) return std::nullopt;
      all = std::max(all, *most + 1);
    }
  }
  return all;
}

std::optional<int64_t> BoundWriter::number(NodeId value) const { return number_of(f_, value); }

std::optional<Bounds> BoundWriter::of(const Linear& sum) {
  Linear constant;
  constant.constant = sum.constant;
  Bounds all{{constant}, {constant}};
  for (const auto& [value, factor] : sum.terms) {
    const auto own = of(value);
    if (!own || factor > kMostFactor || factor < -kMostFactor) return std::nullopt;
    const auto added = [&](const std::vector<Linear>& to, const std::vector<Linear>& sums) {
      std::vector<Linear> made;
      for (const Linear& a : to) {
        for (const Linear& b : sums) {
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

std::optional<Bounds> BoundWriter::of(NodeId value) {
  if (!f_.type(value).is_scalar(DType::Int64)) return std::nullopt;
  if (const auto found = found_.find(value.index); found != found_.end()) return found->second;
  auto bounds = find(value);
  if (bounds && (bounds->low.size() > kMostSums || bounds->high.size() > kMostSums)) bounds.reset();
  return found_[value.index] = std::move(bounds);
}

std::optional<Bounds> BoundWriter::find(NodeId value) {
  if (is_known_(value)) {
    const Linear own = expand(b_.function(), known(value));
    return Bounds{{own}, {own}};
  }
  switch (f_.op(value)) {
    case Op::param: return of_index(value);
    case Op::add:
    case Op::subtract:
    case Op::negative:
    case Op::multiply: {
      const Linear sum = expand(f_, value, 1);
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

std::optional<Bounds> BoundWriter::of_index(NodeId parameter) {
  const NodeId owner = f_[f_[parameter].parent].owner;
  if (!owner || !ir::is_counted_loop(f_.op(owner)) || f_.attribute(parameter, 0) != 0) return std::nullopt;
  auto count = of(f_.operand(owner, 0));
  if (!count) return std::nullopt;
  for (Linear& high : count->high) {
    if (!is_tame(b_.function(), high))
      high = expand(b_.function(), b_.make(Op::minimum, {emit(high), b_.index(kMostCount)}));
    high.constant -= 1;
  }
  return Bounds{{Linear()}, count->high};
}

/// Of a number times one that is known, of any sign.
std::optional<Bounds> BoundWriter::of_product(NodeId value) {
  for (size_t i = 0; i < 2; ++i) {
    if (!is_known_(f_.operand(value, i))) continue;
    const NodeId factor = known(f_.operand(value, i));
    const auto own = of(f_.operand(value, 1 - i));
    const Linear by = expand(b_.function(), factor);
    const auto most = most_of(b_.function(), by), least = least_of(b_.function(), by);
    if (!own || !most || !least || *most > kMostFactor || *least < -kMostFactor) return std::nullopt;
    Bounds all;
    for (const auto* const sums : {&own->low, &own->high}) {
      for (const Linear& sum : *sums) {
        const Linear product = expand(b_.function(), b_.make(Op::multiply, {emit(sum), factor}));
        if (sums == &own->low || *least < 0) all.low.push_back(product);
        if (sums == &own->high || *least < 0) all.high.push_back(product);
      }
    }
    return all;
  }
  return std::nullopt;
}

std::optional<Bounds> BoundWriter::of_quotient(NodeId value) {
  const auto by = number(f_.operand(value, 1));
  if (!by || *by < 1 || *by > kMostFactor) return std::nullopt;
  if (f_.op(value) == Op::remainder) {
    Bounds all{{Linear()}, {Linear()}};
    all.high[0].constant = *by - 1;
    return all;
  }
  auto own = of(f_.operand(value, 0));
  const auto is_safe = [&](const Linear& sum) { return is_tame(b_.function(), sum); };
  if (!own || !std::ranges::all_of(own->low, is_safe) || !std::ranges::all_of(own->high, is_safe))
    return std::nullopt;
  for (auto* const sums : {&own->low, &own->high}) {
    for (Linear& sum : *sums) {
      // Whole multiples of the divisor are divided, and what is left is so once.
      Linear whole, rest;
      rest.constant = sum.constant;
      for (const auto& [term, factor] : sum.terms)
        (factor % *by == 0 ? whole : rest).terms[term] = factor % *by == 0 ? factor / *by : factor;
      whole.add(expand(b_.function(), b_.make(Op::floor_divide, {emit(rest), b_.index(*by)})));
      sum = std::move(whole);
    }
  }
  return own;
}

/// The value is one of the two. What is known is no sum that wraps in an iteration that does not run: it
/// bounds the least from above, the largest from below.
std::optional<Bounds> BoundWriter::of_extreme(NodeId value) {
  const auto a = of(f_.operand(value, 0)), b = of(f_.operand(value, 1));
  if (!a || !b) return std::nullopt;
  const bool is_least = f_.op(value) == Op::minimum;
  Bounds all = either(*a, *b);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!is_known_(f_.operand(value, i))) continue;
    const Bounds& known = i == 0 ? *a : *b;
    (is_least ? all.high : all.low) = is_least ? known.high : known.low;
    if (number(f_.operand(value, i))) break;
  }
  return all;
}

}  // namespace ingot::transform
