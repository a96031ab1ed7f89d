// The rules of folding. Laws for rule writers: a rule keeps the type and, bit for bit, the value (a NaN stays
// a NaN; its sign and payload are free); it never raises the cost; and it terminates, because it gives an
// operand, a constant, or a node closer to the canonical form: constants on the right, lengths taken from the
// oldest array that has them.

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/builder.h"

namespace ingot::ir {

/// One node that is to be made: the rules return a node to use instead, or none.
class Folder {
 public:
  Folder(Builder& builder, Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
         Type type)
      : b_(builder),
        f_(builder.function()),
        op_(op),
        operands_(operands),
        attributes_(attributes),
        type_(type) {}

  NodeId elementwise();
  NodeId cast();
  NodeId select();
  NodeId length();
  NodeId stride();
  NodeId buffer();
  NodeId offset();
  NodeId rearrangement();
  NodeId of_optional();
  NodeId same_object();

 private:
  using Extent = Builder::Extent;
  static constexpr int kFarAway = 8;  ///< a length this many ops from its origin is memoised

  NodeId at(size_t i) const { return operands_[i]; }
  bool all_constant() const {
    return std::ranges::all_of(operands_, [&](NodeId n) { return f_.is_constant(n); });
  }
  std::span<const int64_t> ints() const { return attributes_.subspan(info(op_).attribute_count - 1u); }
  DType dtype() const { return f_.type(at(0)).dtype(); }
  bool exact_class() const { return base::is_int(dtype()) || base::is_bool(dtype()); }

  /// `node` if it has the type that is requested.
  NodeId if_typed(NodeId node) const { return f_.type(node) == type_ ? node : NodeId(); }
  NodeId constant_of(DType t, base::Scalar bits) const {
    return type_.is_scalar() ? b_.constant(Type::scalar(t), bits) : NodeId();
  }
  NodeId number(int64_t value) const {
    return constant_of(type_.dtype(), evaluate_cast(DType::Int64, type_.dtype(), base::Scalar::of(value)));
  }
  bool is_number(NodeId node, double value) const;
  bool is_bits(NodeId node, base::Scalar bits) const {
    return f_.is_constant(node) && f_.constant(node) == bits;
  }

  NodeId evaluate_constants();
  NodeId of_repeated_numbers();
  NodeId with_equal_operands();
  NodeId with_number_on_the_right();
  NodeId sum_with_constants();
  NodeId sum_of_sums();
  bool is_natural(NodeId node) const;
  NodeId bits_with_constant();
  NodeId multiply_or_divide_by_constant();
  NodeId power_by_constant(NodeId exponent);
  NodeId of_same_op();
  NodeId inverted_comparison();
  NodeId narrowed_comparison();
  NodeId of_complex_parts();
  NodeId with_opposite();
  NodeId outside_of_range();
  struct Range {
    NodeId x;
    NodeId least;
    NodeId below;
  };
  Range range_around(NodeId condition) const;
  bool is_finite(NodeId number) const;
  bool is_above_least(NodeId number) const;
  bool is_no_number(NodeId condition, NodeId x) const;
  NodeId compared(Op comparison, NodeId argument, double bound);
  NodeId of_nan();
  NodeId of_infinity();
  NodeId extreme_of_compared();

  Extent extent(NodeId array, int64_t axis) const;
  Extent extent_of_result(NodeId node, int64_t axis) const;
  Extent follow(NodeId array, int64_t axis) const;
  bool has_length(NodeId node, NodeId array, int64_t axis) const;
  const ParameterInfo* parameter(NodeId node) const;
  NodeId length_against_one();
  NodeId stride_in_layout(const ParameterInfo& view, size_t axis);
  NodeId transposed();
  bool keeps_shape(size_t first, size_t step) const;

  Builder& b_;
  const Function& f_;
  Op op_;
  std::span<const NodeId> operands_;
  std::span<const int64_t> attributes_;
  Type type_;
};

/// A constant of exactly this value, sign of zero included.
bool Folder::is_number(NodeId node, double value) const {
  if (!f_.is_constant(node)) return false;
  const DType t = f_.type(node).dtype();
  return f_.constant(node) == evaluate_cast(DType::Float64, t, base::Scalar::of(value));
}

NodeId Folder::evaluate_constants() {
  base::Scalar values[2];
  for (size_t i = 0; i < operands_.size(); ++i) values[i] = f_.constant(at(i));
  return b_.constant(type_, evaluate(op_, dtype(), std::span(values).first(operands_.size())));
}

NodeId Folder::elementwise() {
  if (all_constant()) return evaluate_constants();
  if (const NodeId node = of_repeated_numbers()) return node;
  if (operands_.size() == 1) {
    if (const NodeId node = of_same_op()) return node;
    if (const NodeId node = inverted_comparison()) return node;
    if (op_ == Op::isnan) return of_nan();
    if (op_ == Op::isinf) return of_infinity();
    return of_complex_parts();
  }
  // a op c = c op a: constants go to the right.
  if (info(op_).laws.commutative && f_.is_constant(at(0))) return b_.make(op_, {at(1), at(0)});
  if (const NodeId node = of_complex_parts()) return node;
  if (at(0) == at(1)) return with_equal_operands();
  if (const NodeId node = with_opposite()) return node;
  if (const NodeId node = outside_of_range()) return node;
  if (const NodeId node = sum_of_sums()) return node;
  if (!f_.is_constant(at(1))) return {};
  if (const NodeId node = sum_with_constants()) return node;
  if (const NodeId node = length_against_one()) return node;
  if (const NodeId node = narrowed_comparison()) return node;
  if (const NodeId node = multiply_or_divide_by_constant()) return node;
  if (const NodeId node = with_number_on_the_right()) return node;
  return bits_with_constant();
}

NodeId Folder::of_repeated_numbers() {
  // op(broadcast(a, n...), b) = broadcast(op(a, b), n...), of numbers
  if (!type_.is_array() || type_.rank() == 0) return {};
  std::vector<NodeId> numbers;
  std::vector<NodeId> made;
  for (const NodeId x : operands_) {
    const bool is_number = f_.type(x).is_scalar();
    if (!is_number && (f_.op(x) != Op::broadcast || !f_.type(f_.operand(x, 0)).is_scalar())) return {};
    numbers.push_back(is_number ? x : f_.operand(x, 0));
    if (is_number) continue;
    const auto lengths = f_.operands(x).subspan(1);
    if (made.empty()) made.assign(lengths.begin(), lengths.end());
    else if (!std::ranges::equal(made, lengths)) return {};
  }
  made.insert(made.begin(), b_.make(op_, numbers, attributes_, info(op_).typed ? type_.element() : Type()));
  return b_.make(Op::broadcast, made);
}

NodeId Folder::with_equal_operands() {
  // op(x, x) = x
  if (info(op_).laws.idempotent) return at(0);
  if (!exact_class()) return {};
  switch (op_) {
    // x - x = 0, x ^ x = 0 (integers)
    case Op::subtract:
    case Op::bitwise_xor:
    // x != x, x < x, x > x: false (no NaN among integers and bool)
    case Op::not_equal:
    case Op::less:
    case Op::greater: return number(0);
    // x == x, x <= x, x >= x: true (integers, bool)
    case Op::equal:
    case Op::less_equal:
    case Op::greater_equal: return number(1);
    // x or x = x, x and x = x (bool)
    case Op::add:
    case Op::multiply: return base::is_bool(dtype()) ? at(0) : NodeId();
    default: return {};
  }
}

/// x ** 1 = x (integers), x ** 2 = x * x and so on, as the op defines it.
NodeId Folder::power_by_constant(NodeId exponent) {
  const NodeId x = at(0);
  if (base::is_complex(dtype())) {
    if (!is_number(exponent, 2)) return {};
    const NodeId zero = b_.constant(Type::scalar(dtype()), base::Scalar{});
    const NodeId square = b_.make(Op::multiply, {x, x});
    return b_.make(Op::select, {b_.make(Op::equal, {x, zero}), zero, square});
  }
  if (exact_class() && is_number(exponent, 1)) return if_typed(x);
  if (is_number(exponent, 2)) return b_.make(Op::square, {x});
  if (is_number(exponent, 3))
    return exact_class() ? b_.make(Op::multiply, {b_.make(Op::square, {x}), x}) : b_.make(Op::cube, {x});
  if (!is_number(exponent, 4)) return {};
  return exact_class() ? b_.make(Op::square, {b_.make(Op::square, {x})}) : b_.make(Op::fourth_power, {x});
}

NodeId Folder::multiply_or_divide_by_constant() {
  const NodeId c = at(1);
  const bool is_complex = base::is_complex(dtype());
  switch (op_) {
    case Op::multiply:
      // x * 1 = x; not of complex numbers, where inf * (1+0j) has a NaN
      if (!is_complex && is_number(c, 1)) return if_typed(at(0));
      // x * 0 = 0 (integers, bool)
      return exact_class() && is_number(c, 0) ? number(0) : NodeId();
    // x / 1 = x
    case Op::divide: return !is_complex && is_number(c, 1) ? if_typed(at(0)) : NodeId();
    // x // 1 = x (integers)
    case Op::floor_divide: return exact_class() && is_number(c, 1) ? if_typed(at(0)) : NodeId();
    // x % 1 = 0 (integers)
    case Op::remainder:
    case Op::fmod: return exact_class() && is_number(c, 1) ? number(0) : NodeId();
    case Op::power: return power_by_constant(c);
    default: return {};
  }
}

NodeId Folder::with_number_on_the_right() {
  const NodeId c = at(1);
  const bool is_complex = base::is_complex(dtype());
  const auto zero = [&](double real) {
    if (exact_class()) return is_number(c, 0);
    if (!is_complex) return is_number(c, real);
    const DType part = base::component_of(dtype());
    const base::Scalar r = evaluate_cast(DType::Float64, part, base::Scalar::of(real));
    const base::Scalar bits[] = {r, r};
    return is_bits(c, evaluate(Op::make_complex, part, bits));
  };
  switch (op_) {
    case Op::add:
      // x or true = true (bool)
      if (base::is_bool(dtype()) && is_number(c, 1)) return number(1);
      // x + (-0.0) = x (x + 0.0 is not: -0.0 + 0.0 = 0.0); x + 0 = x (integers), x or false = x
      if (f_.relaxations().has(Relaxation::nsz) && zero(0.0)) return if_typed(at(0));
      return zero(-0.0) ? if_typed(at(0)) : NodeId();
    // x - 0.0 = x; x - 0 = x
    case Op::subtract: return zero(0.0) ? if_typed(at(0)) : NodeId();
    // x << 0 = x, x >> 0 = x
    case Op::left_shift:
    case Op::right_shift: return is_number(c, 0) ? if_typed(at(0)) : NodeId();
    // x + 0 and x - 0 do not overflow, nor does x * 0 or x * 1, x ** 0 or x ** 1
    case Op::add_overflows:
    case Op::subtract_overflows: return is_number(c, 0) ? number(0) : NodeId();
    case Op::multiply_overflows:
    case Op::power_overflows: return is_number(c, 0) || is_number(c, 1) ? number(0) : NodeId();
    default: return {};
  }
}

/// Integers known to be at least 0 by the op that makes them.
bool Folder::is_natural(NodeId node) const {
  return f_.op(node) == Op::length || (f_.op(node) == Op::maximum && base::is_int(f_.type(node).dtype()) &&
                                       is_number(f_.operand(node, 1), 0));
}

NodeId Folder::sum_with_constants() {
  if (!base::is_int(dtype())) return {};
  // max(x, 0) = x of a natural x
  if (op_ == Op::maximum && is_number(at(1), 0) && is_natural(at(0))) return if_typed(at(0));
  // (x + a) + b = x + (a + b), and so on (integers wrap)
  const auto is_sum = [](Op op) { return op == Op::add || op == Op::subtract; };
  const Op inner = f_.op(at(0));
  if (!is_sum(op_) || !is_sum(inner) || !f_.is_constant(f_.operand(at(0), 1))) return {};
  const NodeId x = f_.operand(at(0), 0);
  const base::Scalar own[] = {base::Scalar{}, f_.constant(f_.operand(at(0), 1))};
  const base::Scalar both[] = {evaluate(inner, dtype(), own), f_.constant(at(1))};
  const base::Scalar total = evaluate(op_, dtype(), both);
  if (f_.type(x) != type_) return {};
  if (total == base::Scalar{}) return x;
  return b_.make(Op::add, {x, b_.constant(Type::scalar(dtype()), total)});
}

/// Numbers that are added and subtracted again (integers wrap).
NodeId Folder::sum_of_sums() {
  if (!base::is_int(dtype()) || (op_ != Op::add && op_ != Op::subtract)) return {};
  const auto is = [&](size_t side, Op op) { return f_.op(at(side)) == op && f_.type(at(side)) == type_; };
  const auto part = [&](size_t side, size_t i) { return f_.operand(at(side), i); };
  // (x - y) + y = x, y + (x - y) = x
  for (size_t side = 0; op_ == Op::add && side < 2; ++side)
    if (is(side, Op::subtract) && part(side, 1) == at(1 - side)) return if_typed(part(side, 0));
  if (op_ == Op::add) return {};
  // x - (x - y) = y
  if (is(1, Op::subtract) && part(1, 0) == at(0)) return if_typed(part(1, 1));
  // (x + y) - y = x, (x + y) - x = y
  for (size_t i = 0; is(0, Op::add) && i < 2; ++i)
    if (part(0, i) == at(1)) return if_typed(part(0, 1 - i));
  return {};
}

NodeId Folder::bits_with_constant() {
  if (!exact_class()) return {};
  const base::Scalar none{};
  const base::Scalar all = evaluate(Op::invert, dtype(), {&none, 1});
  const NodeId c = at(1);
  switch (op_) {
    // x & 0 = 0, x & ~0 = x
    case Op::bitwise_and: return is_bits(c, none) ? number(0) : is_bits(c, all) ? if_typed(at(0)) : NodeId();
    // x | 0 = x, x | ~0 = ~0
    case Op::bitwise_or: return is_bits(c, none) ? if_typed(at(0)) : is_bits(c, all) ? if_typed(c) : NodeId();
    // x ^ 0 = x, x ^ ~0 = ~x
    case Op::bitwise_xor:
      if (is_bits(c, none)) return if_typed(at(0));
      return is_bits(c, all) ? b_.make(Op::invert, {at(0)}) : NodeId();
    // (b == true) = b, (b == false) = ~b (bool)
    case Op::equal:
      if (!base::is_bool(dtype())) return {};
      return is_bits(c, all) ? if_typed(at(0)) : b_.make(Op::invert, {at(0)});
    // (b != false) = b, (b != true) = ~b (bool)
    case Op::not_equal:
      if (!base::is_bool(dtype())) return {};
      return is_bits(c, none) ? if_typed(at(0)) : b_.make(Op::invert, {at(0)});
    default: return {};
  }
}

NodeId Folder::of_same_op() {
  const NodeId inner = at(0);
  switch (op_) {
    // -(-x) = x, ~~x = x, conj(conj(x)) = x
    case Op::negative:
    case Op::invert:
    case Op::conjugate:
      if (op_ == Op::conjugate && !base::is_complex(dtype())) return inner;
      return f_.op(inner) == op_ ? f_.operand(inner, 0) : NodeId();
    // ||x|| = |x|, floor(floor(x)) = floor(x) and so on, where the inner op has kept the dtype
    case Op::absolute:
      if (base::is_bool(dtype())) return inner;
      return f_.op(inner) == op_ ? if_typed(inner) : NodeId();
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::rint:
      for (const Op whole : {Op::floor, Op::ceil, Op::trunc, Op::rint})
        if (f_.op(inner) == whole) return inner;
      return {};
    default: return {};
  }
}

NodeId Folder::inverted_comparison() {
  if (op_ != Op::invert || !base::is_bool(dtype())) return {};
  const Op comparison = f_.op(at(0));
  const std::optional<Op> opposite = info(comparison).opposite;
  if (!opposite) return {};
  // not (a == b) = (a != b), NaN or not; not (a < b) = (a >= b) and so on (integers, bool)
  const DType compared = f_.type(f_.operand(at(0), 0)).dtype();
  if (is_ordering(comparison) && !base::is_int(compared) && !base::is_bool(compared)) return {};
  return b_.make(*opposite, {f_.operand(at(0), 0), f_.operand(at(0), 1)});
}

NodeId Folder::with_opposite() {
  if (op_ != Op::bitwise_and && op_ != Op::bitwise_or) return {};
  const auto inverts = [&](NodeId a, NodeId b) { return f_.op(a) == Op::invert && f_.operand(a, 0) == b; };
  if (!inverts(at(0), at(1)) && !inverts(at(1), at(0))) return {};
  // x and not x = false, x or not x = true; of integers 0 and ~0
  return number(op_ == Op::bitwise_and ? 0 : base::is_bool(dtype()) ? 1 : -1);
}

/// not (x < a and x >= b), a and b finite, holds of NaN and infinite x: to ask for these adds nothing. Nor
/// does it to ask whether x is out of the range of i64, if it is so in a narrower one as an i64: the least
/// one then.
NodeId Folder::outside_of_range() {
  if (op_ != Op::bitwise_or || !base::is_bool(dtype())) return {};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Range range = range_around(at(i));
    if (!range.x) continue;
    const bool is_real = base::is_float(f_.type(range.x).dtype());
    if (is_real && is_finite(range.least) && is_finite(range.below) && is_no_number(at(1 - i), range.x))
      return at(i);
    if (f_.type(range.x) != kInt64 || f_.op(range.x) != Op::cast || !is_above_least(range.least)) continue;
    const Range of_words = range_around(at(1 - i));
    if (of_words.x == f_.operand(range.x, 0) && is_number(of_words.below, 0x1p63) &&
        is_number(of_words.least, -0x1p63))
      return at(i);
  }
  return {};
}

/// Of a condition not (x >= least and x < below); else none.
Folder::Range Folder::range_around(NodeId condition) const {
  if (f_.op(condition) != Op::invert || f_.op(f_.operand(condition, 0)) != Op::bitwise_and) return {};
  Range range;
  for (const NodeId comparison : f_.operands(f_.operand(condition, 0))) {
    const bool is_below = f_.op(comparison) == Op::less;
    if (!is_below && f_.op(comparison) != Op::greater_equal) return {};
    if (range.x && f_.operand(comparison, 0) != range.x) return {};
    range.x = f_.operand(comparison, 0);
    (is_below ? range.below : range.least) = f_.operand(comparison, 1);
  }
  return range.below && range.least ? range : Range{};
}

bool Folder::is_finite(NodeId number) const {
  if (!f_.is_constant(number)) return false;
  const DType own = f_.type(number).dtype();
  return std::isfinite(evaluate_cast(own, DType::Float64, f_.constant(number)).as<double>());
}

/// Whether a number is known to be above the least i64.
bool Folder::is_above_least(NodeId number) const {
  if (f_.is_constant(number)) return f_.constant(number).as<int64_t>() > std::numeric_limits<int64_t>::min();
  return f_.op(number) == Op::negative && f_.op(f_.operand(number, 0)) == Op::length;
}

/// Whether a condition is that a number is NaN or infinite, or one of these.
bool Folder::is_no_number(NodeId condition, NodeId x) const {
  const Op op = f_.op(condition);
  if (op == Op::isnan || op == Op::isinf) return f_.operand(condition, 0) == x;
  return op == Op::bitwise_or && is_no_number(f_.operand(condition, 0), x) &&
         is_no_number(f_.operand(condition, 1), x);
}

NodeId Folder::compared(Op comparison, NodeId argument, double bound) {
  const base::Scalar bits = evaluate_cast(DType::Float64, dtype(), base::Scalar::of(bound));
  return b_.make(comparison, {argument, b_.constant(Type::scalar(dtype()), bits)});
}

/// Whether a function is NaN, by its argument; of functions that are so costly that a caller who asks only
/// that need not compute them.
NodeId Folder::of_nan() {
  const Op function = f_.op(at(0));
  if (!info(function).elementwise || base::is_complex(f_.type(f_.operand(at(0), 0)).dtype())) return {};
  const NodeId x = f_.operand(at(0), 0);
  const auto outside = [&](Op inside, NodeId argument, double bound) {
    return b_.make(Op::invert, {compared(inside, argument, bound)});
  };
  switch (function) {
    // sin x and so on: x is infinite or NaN
    case Op::sin:
    case Op::cos:
    case Op::tan: return b_.make(Op::invert, {b_.make(Op::isfinite, {x})});
    // sqrt x, log x and so on: not x >= 0; log1p x: not x >= -1; arccosh x: not x >= 1
    case Op::sqrt:
    case Op::log:
    case Op::log2:
    case Op::log10: return outside(Op::greater_equal, x, 0);
    case Op::log1p: return outside(Op::greater_equal, x, -1);
    case Op::arccosh: return outside(Op::greater_equal, x, 1);
    // arcsin x and so on: not |x| <= 1
    case Op::arcsin:
    case Op::arccos:
    case Op::arctanh: return outside(Op::less_equal, b_.make(Op::absolute, {x}), 1);
    // defined everywhere: x is NaN
    case Op::absolute:
    case Op::negative:
    case Op::cbrt:
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::arctan:
    case Op::arcsinh:
    case Op::erf:
    case Op::erfc: return b_.make(Op::isnan, {x});
    default: return {};
  }
}

/// The same for infinite values.
NodeId Folder::of_infinity() {
  const Op function = f_.op(at(0));
  if (!info(function).elementwise || base::is_complex(f_.type(f_.operand(at(0), 0)).dtype())) return {};
  const NodeId x = f_.operand(at(0), 0);
  const auto above = [&](NodeId argument, double bound) {
    return dtype() == DType::Float64 ? compared(Op::greater, argument, bound) : NodeId();
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto either = [&](NodeId a, NodeId b) { return b_.make(Op::bitwise_or, {a, b}); };
  switch (function) {
    case Op::absolute:
    case Op::negative:
    case Op::cbrt: return b_.make(Op::isinf, {x});
    case Op::sqrt: return compared(Op::equal, x, kInfinity);
    // log x and so on: x is 0 or inf; log1p x: -1 or inf; arctanh x: 1 or -1
    case Op::log:
    case Op::log2:
    case Op::log10: return either(compared(Op::equal, x, 0), compared(Op::equal, x, kInfinity));
    case Op::log1p: return either(compared(Op::equal, x, -1), compared(Op::equal, x, kInfinity));
    case Op::arctanh: return compared(Op::equal, b_.make(Op::absolute, {x}), 1);
    // exp x and so on: x above the last number that overflows nothing
    case Op::exp:
    case Op::expm1: return above(x, 0x1.62e42fefa39efp+9);
    case Op::exp2: return above(x, 0x1.fffffffffffffp+9);
    case Op::sinh:
    case Op::cosh:
      return dtype() == DType::Float64 ? above(b_.make(Op::absolute, {x}), 0x1.633ce8fb9f87dp+9) : NodeId();
    // bounded: never
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::arcsin:
    case Op::arccos:
    case Op::arctan:
    case Op::tanh:
    case Op::erf:
    case Op::erfc: return number(0);
    default: return {};
  }
}

NodeId Folder::of_complex_parts() {
  const NodeId a = at(0);
  // real(make_complex(x, y)) = x, imaginary(make_complex(x, y)) = y
  if (op_ == Op::real && f_.op(a) == Op::make_complex) return if_typed(f_.operand(a, 0));
  if (op_ == Op::imaginary && f_.op(a) == Op::make_complex) return if_typed(f_.operand(a, 1));
  // make_complex(real(z), imaginary(z)) = z
  if (op_ == Op::make_complex && f_.op(a) == Op::real && f_.op(at(1)) == Op::imaginary &&
      f_.operand(a, 0) == f_.operand(at(1), 0))
    return f_.operand(a, 0);
  return {};
}

namespace {

/// Whether `to` holds every value of `from`.
bool lossless(DType from, DType to) {
  const bool wide_int = base::is_int(from) && base::size_of(from) == 8;
  return base::can_cast_safely(from, to) && (!wide_int || base::is_int(to));
}

/// Whether from → through → to is from → to. Between integers and floats, C goes through different types for
/// different sources, so that only the round trip is safe.
bool may_skip(DType from, DType through, DType to) {
  if (!lossless(from, through)) return false;
  if (to == from || base::is_bool(from)) return true;
  return base::is_int(from) == base::is_int(through);
}

}  // namespace

/// cast(x) < c = x < c, where x is of fewer bits, none of which the cast loses; of values that x cannot have,
/// c decides.
NodeId Folder::narrowed_comparison() {
  if (f_.op(at(0)) != Op::cast || type_.dtype() != DType::Bool) return {};
  const bool is_less = op_ == Op::less || op_ == Op::less_equal;
  const bool is_greater = op_ == Op::greater || op_ == Op::greater_equal;
  if (!is_less && !is_greater && op_ != Op::equal && op_ != Op::not_equal) return {};
  const NodeId x = f_.operand(at(0), 0);
  const DType narrow = f_.type(x).dtype();
  if (base::is_bool(narrow) || base::is_complex(dtype()) || !lossless(narrow, dtype())) return {};
  const base::Scalar c = f_.constant(at(1));
  const base::Scalar narrowed = evaluate_cast(dtype(), narrow, c);
  if (evaluate_cast(narrow, dtype(), narrowed) == c)
    return b_.make(op_, {x, b_.constant(Type::scalar(narrow), narrowed)});
  if (!base::is_int(dtype())) return {};
  const base::Scalar with_zero[] = {c, base::Scalar{}};
  const bool is_below = evaluate(Op::less, dtype(), with_zero).bits[0] != 0;
  return number(op_ == Op::not_equal || (is_below ? is_greater : is_less) ? 1 : 0);
}

NodeId Folder::cast() {
  const NodeId x = at(0);
  const DType to = type_.dtype();
  if (f_.is_constant(x)) return b_.constant(type_, evaluate_cast(dtype(), to, f_.constant(x)));
  // cast<T>(x: T) = x
  if (dtype() == to) return x;
  // cast<C>(cast<B>(x: A)) = cast<C>(x), when B holds every A
  if (f_.op(x) == Op::cast && may_skip(f_.type(f_.operand(x, 0)).dtype(), dtype(), to))
    return b_.cast(f_.operand(x, 0), to);
  return {};
}

NodeId Folder::select() {
  // select(true, x, y) = x, select(false, x, y) = y
  if (f_.is_constant(at(0))) return if_typed(f_.constant(at(0)).bits[0] != 0 ? at(1) : at(2));
  // select(c, x, x) = x
  if (at(1) == at(2)) return if_typed(at(1));
  // select(c, true, false) = c
  if (type_.dtype() == DType::Bool && is_number(at(1), 1) && is_number(at(2), 0)) return if_typed(at(0));
  if (const NodeId extreme = extreme_of_compared()) return extreme;
  const NodeId c = at(0);
  // select(x == y, x, y) = y, select(x == y, y, x) = x (integers)
  if (f_.op(c) == Op::equal && base::is_int(type_.dtype())) {
    const NodeId x = f_.operand(c, 0);
    const NodeId y = f_.operand(c, 1);
    if ((x == at(1) && y == at(2)) || (x == at(2) && y == at(1))) return if_typed(at(2));
  }
  // select(not c, x, y) = select(c, y, x)
  if (f_.op(at(0)) == Op::invert) return b_.make(Op::select, {f_.operand(at(0), 0), at(2), at(1)});
  return {};
}

// select(x > y, x, y) = max(x, y), select(x > y, y, x) = min(x, y), and so on (integers; floats where neither
// NaN nor the sign of zero matter)
NodeId Folder::extreme_of_compared() {
  const NodeId c = at(0);
  const bool greater = f_.op(c) == Op::greater || f_.op(c) == Op::greater_equal;
  if (!greater && f_.op(c) != Op::less && f_.op(c) != Op::less_equal) return {};
  const Relaxations relaxed = f_.relaxations();
  const bool close = relaxed.has(Relaxation::nnan) && relaxed.has(Relaxation::nsz);
  if (!base::is_int(type_.dtype()) && !(base::is_float(type_.dtype()) && close)) return {};
  const NodeId x = f_.operand(c, 0);
  const NodeId y = f_.operand(c, 1);
  const bool in_order = x == at(1) && y == at(2);
  if (!in_order && !(x == at(2) && y == at(1))) return {};
  return if_typed(b_.make(in_order == greater ? Op::maximum : Op::minimum, {x, y}));
}

// Shape forwarding: lengths are those of the operands, so that they do not keep an array alive.

Folder::Extent Folder::extent(NodeId array, int64_t axis) const {
  const auto operand = [&](size_t i) { return f_.operand(array, i); };
  const auto a = static_cast<size_t>(axis);
  const auto rank = static_cast<size_t>(f_.type(array).rank());
  switch (f_.op(array)) {
    // length(broadcast(x, n...), i) = n[i]; so of reshape and sized
    case Op::broadcast:
    case Op::sized:
    case Op::reshape: return {operand(1 + a), -1};
    // length(transpose(x, axes), i) = length(x, axes[i])
    case Op::transpose: return {operand(0), f_.ints(array)[a]};
    // length(slice(x, (start, n, step)...), i) = n[i]
    case Op::slice: return {operand(2 + 3 * a), -1};
    // length(iota(n...), i) = n[i]
    case Op::iota: return {operand(a), -1};
    // length(view(buffer, offset, n..., strides...), i) = n[i]
    case Op::view: return {operand(2 + a), -1};
    // length(x + y, i) = length(x, i), and so on
    case Op::cast:
    case Op::scan:
    case Op::sort:
    case Op::argsort:
    case Op::read:
    case Op::materialize: return {operand(0), axis};
    // length(concat(xs..., axis j), i) = length(xs[0], i), i != j
    case Op::concat: return axis == f_.attribute(array, 0) ? Extent{array, axis} : Extent{operand(0), axis};
    // length(compress(x, mask), i) = length(x, i + rank(mask) - 1), i > 0; length(compress(x, mask), 0) =
    // length(compress(y, mask), 0), of the first y that is known
    case Op::compress: {
      if (axis > 0) return {operand(0), axis + f_.type(operand(1)).rank() - 1};
      const NodeId first = b_.first_chosen(operand(1));
      return {first ? first : array, 0};
    }
    // length(matmul(x, y), i): x's but for the last axis, y's there
    case Op::dot: {
      const auto rank_of = [&](size_t i) { return static_cast<size_t>(f_.type(operand(i)).rank()); };
      if (rank_of(0) == 1) return {operand(1), static_cast<int64_t>(rank_of(1) - 1)};
      if (rank_of(1) == 1 || a + 1 < rank) return {operand(0), axis};
      return {operand(1), axis};
    }
    default: return extent_of_result(array, axis);
  }
}

Folder::Extent Folder::extent_of_result(NodeId array, int64_t axis) const {
  const Op op = f_.op(array);
  const auto axes = [&] { return f_.ints(array); };
  // The axis of x that is the i-th not listed.
  const auto kept = [&](std::span<const int64_t> dropped, int64_t i) {
    for (const int64_t axis_dropped : dropped) i += axis_dropped <= i ? 1 : 0;
    return i;
  };
  if (info(op).elementwise || op == Op::select) {
    // length(op(x, y), i) = length of the first that is an array
    for (const NodeId x : f_.operands(array))
      if (f_.type(x).is_array()) return {x, axis};
  }
  // length(reduce(x, axes), i) = length(x, the i-th kept axis); so of squeeze
  if (op == Op::reduce || op == Op::squeeze) return {f_.operand(array, 0), kept(axes(), axis)};
  if (op == Op::arg_reduce) {
    const int64_t dropped[] = {f_.attribute(array, 1)};
    return {f_.operand(array, 0), kept(dropped, axis)};
  }
  if (op == Op::expand) {
    // length(expand(x, axes), i) = 1 if i is one of axes
    if (std::ranges::find(axes(), axis) != axes().end()) return {array, axis};
    return {f_.operand(array, 0), axis - std::ranges::count_if(axes(), [&](int64_t e) { return e < axis; })};
  }
  if (op == Op::gather) {
    // length(gather(x, at...), i) = length(at[0], i), then those of x that are not indexed
    const NodeId index = f_.operand(array, 1);
    const int64_t index_rank = f_.type(index).rank();
    if (axis < index_rank) return {index, axis};
    return {f_.operand(array, 0), kept(axes(), axis - index_rank)};
  }
  return {array, axis};
}

Folder::Extent Folder::follow(NodeId array, int64_t axis) const {
  Extent here{array, axis};
  int steps = 0;
  for (; here.axis >= 0; ++steps) {
    const auto known = steps < kFarAway ? b_.extents_.end() : b_.extents_.find({here.node.index, here.axis});
    const bool is_known = known != b_.extents_.end() && f_.reaches(known->second.node, b_.current_);
    const Extent next = is_known ? known->second : extent(here.node, here.axis);
    if (next == here) break;
    here = next;
  }
  if (steps > kFarAway) b_.extents_.insert_or_assign(std::pair(array.index, axis), here);
  return here;
}

/// The facts about a node that is one of the function's parameters; null for others.
const ParameterInfo* Folder::parameter(NodeId node) const {
  if (f_.op(node) != Op::param || f_[node].parent != f_.body()) return nullptr;
  return &f_.parameters()[static_cast<size_t>(f_.attribute(node, 0))];
}

/// length(x, i) == 1 = false, of a parameter whose axis is known to be of another length; and so on
NodeId Folder::length_against_one() {
  if ((op_ != Op::equal && op_ != Op::not_equal) || f_.op(at(0)) != Op::length || !is_number(at(1), 1))
    return {};
  const ParameterInfo* const known = parameter(f_.operand(at(0), 0));
  return known != nullptr && known->ones ? number(op_ == Op::not_equal ? 1 : 0) : NodeId();
}

NodeId Folder::length() {
  const Extent found = follow(at(0), attributes_[0]);
  if (found.axis < 0) return found.node;
  if (f_.op(found.node) == Op::expand) return b_.index(1);
  const ParameterInfo* const known = parameter(found.node);
  if (known != nullptr && known->ones && (*known->ones >> found.axis & 1) != 0) return b_.index(1);
  if (known != nullptr && known->last > 0 && found.axis + 1 == f_.type(found.node).rank())
    return b_.index(known->last);
  return found.node == at(0) ? NodeId() : b_.make(Op::length, {found.node}, {found.axis});
}

/// The stride of an array without gaps: the lengths of the axes inside it make up all of it.
NodeId Folder::stride_in_layout(const ParameterInfo& view, size_t axis) {
  const NodeId x = at(0);
  const Type type = f_.type(x);
  const bool is_c = view.layout == Layout::C;
  if (axis == (is_c ? static_cast<size_t>(type.rank()) - 1 : 0))
    return b_.index(static_cast<int64_t>(base::size_of(type.dtype())));
  const int inside = static_cast<int>(axis) + (is_c ? 1 : -1);
  return b_.make(Op::multiply, {b_.make(Op::stride, {x}, {inside}), b_.length(x, inside)});
}

NodeId Folder::stride() {
  const NodeId x = at(0);
  const auto a = static_cast<size_t>(attributes_[0]);
  if (const ParameterInfo* const known = parameter(x); known != nullptr && known->layout != Layout::Any)
    return stride_in_layout(*known, a);
  // stride(view(buffer, offset, n..., s...), i) = s[i]
  if (f_.op(x) == Op::view) return f_.operand(x, 2 + static_cast<size_t>(f_.type(x).rank()) + a);
  // stride(transpose(v, axes), i) = stride(v, axes[i])
  if (f_.op(x) == Op::transpose) return b_.make(Op::stride, {f_.operand(x, 0)}, {f_.ints(x)[a]});
  return {};
}

NodeId Folder::buffer() {
  // buffer(view(b, ...)) = b; buffer(rearrangement of v) = buffer(v)
  switch (f_.op(at(0))) {
    case Op::view: return f_.operand(at(0), 0);
    case Op::broadcast:
    case Op::transpose:
    case Op::slice:
    case Op::squeeze:
    case Op::expand:
    case Op::reshape: return b_.make(Op::buffer, {f_.operand(at(0), 0)});
    default: return {};
  }
}

NodeId Folder::offset() {
  // offset(view(b, offset, ...)) = offset; all rearrangements but slice keep it
  switch (f_.op(at(0))) {
    case Op::view: return f_.operand(at(0), 1);
    case Op::broadcast:
    case Op::transpose:
    case Op::squeeze:
    case Op::expand:
    case Op::reshape: return b_.make(Op::offset, {f_.operand(at(0), 0)});
    default: return {};
  }
}

bool Folder::has_length(NodeId node, NodeId array, int64_t axis) const {
  const Extent wanted = follow(array, axis);
  if (wanted.axis < 0) return node == wanted.node;
  return f_.op(node) == Op::length && f_.operand(node, 0) == wanted.node &&
         f_.attribute(node, 0) == wanted.axis;
}

/// Whether the lengths among the operands - `first`, then every `step` - are those of operand 0.
bool Folder::keeps_shape(size_t first, size_t step) const {
  if (f_.type(at(0)) != type_) return false;
  for (int64_t i = 0; i < type_.rank(); ++i)
    if (!has_length(at(first + step * static_cast<size_t>(i)), at(0), i)) return false;
  return true;
}

NodeId Folder::transposed() {
  const NodeId x = at(0);
  const auto axes = ints();
  // transpose(x, (0, 1, ...)) = x
  if (std::ranges::is_sorted(axes)) return x;
  if (f_.op(x) != Op::transpose) return {};
  // transpose(transpose(x, p), q) = transpose(x, p[q])
  std::vector<int64_t> both;
  for (const int64_t axis : axes) both.push_back(f_.ints(x)[static_cast<size_t>(axis)]);
  const NodeId inner = f_.operand(x, 0);
  return b_.make(Op::transpose, {&inner, 1}, both);
}

NodeId Folder::rearrangement() {
  const NodeId x = at(0);
  switch (op_) {
    case Op::transpose: return transposed();
    // squeeze(x, ()) = x, expand(x, ()) = x
    case Op::squeeze:
    case Op::expand: return ints().empty() ? x : NodeId();
    // broadcast(x, lengths of x) = x
    case Op::broadcast: return type_.rank() > 0 && keeps_shape(1, 1) ? x : NodeId();
    // reshape(x, lengths of x) = x; so of sized
    case Op::sized:
    case Op::reshape: return keeps_shape(1, 1) ? x : NodeId();
    // slice(x, (0, length, 1)...) = x
    case Op::slice:
      for (size_t i = 1; i < operands_.size(); i += 3)
        if (!is_number(at(i), 0) || !is_number(at(i + 2), 1)) return {};
      return keeps_shape(2, 3) ? x : NodeId();
    default: return {};
  }
}

NodeId Folder::of_optional() {
  const NodeId x = at(0);
  // value(some(x)) = x; tag(some(x)) = 0; tag(none k) = k
  if (op_ == Op::value && f_.op(x) == Op::some) return f_.operand(x, 0);
  if (op_ == Op::tag && f_.op(x) == Op::some) return number(0);
  if (op_ == Op::tag && f_.op(x) == Op::none) return number(f_.attribute(x, 0));
  return {};
}

NodeId Folder::same_object() {
  // x is x
  return at(0) == at(1) ? number(1) : NodeId();
}

NodeId fold(Builder& builder, Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
            Type type) {
  Folder folder(builder, op, operands, attributes, type);
  if (info(op).elementwise) return folder.elementwise();
  switch (op) {
    case Op::cast: return folder.cast();
    case Op::select: return folder.select();
    case Op::length: return folder.length();
    case Op::stride: return folder.stride();
    case Op::buffer: return folder.buffer();
    case Op::offset: return folder.offset();
    case Op::broadcast:
    case Op::transpose:
    case Op::slice:
    case Op::squeeze:
    case Op::expand:
    case Op::reshape:
    case Op::sized: return folder.rearrangement();
    case Op::value:
    case Op::tag: return folder.of_optional();
    case Op::same_object: return folder.same_object();
    default: return {};
  }
}

}  // namespace ingot::ir
