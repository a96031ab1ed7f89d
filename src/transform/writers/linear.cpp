#include "transform/writers/linear.h"

#include <array>
#include <numbers>
#include <utility>
#include <vector>

namespace ingot::transform {

namespace {

using base::DType;
using ir::Builder;
using ir::NodeId;
using ir::Op;

constexpr double kLog2 = std::numbers::ln2;
constexpr double kLog10 = std::numbers::ln10;
constexpr double kDegrees = 180.0 / std::numbers::pi;
constexpr double kRadians = std::numbers::pi / 180.0;

/// A value of which the column's expressions are made. A number takes the dtype of the other operand.
class Term {
 public:
  Term(Builder& builder, NodeId node) : builder_(&builder), node_(node) {}

  Builder& builder() const { return *builder_; }
  NodeId node() const { return node_; }
  DType dtype() const { return builder_->function().type(node_).dtype(); }
  bool is_complex() const { return base::is_complex(dtype()); }

  Term of(Op op) const { return {*builder_, builder_->make(op, {node_})}; }
  Term of(Op op, Term other) const { return {*builder_, builder_->make(op, {node_, other.node_})}; }
  Term number(double value) const { return {*builder_, builder_->cast(builder_->constant(value), dtype())}; }
  Term as(DType dtype) const { return {*builder_, builder_->cast(node_, dtype)}; }

 private:
  Builder* builder_;
  NodeId node_;
};

Term operator+(Term a, Term b) { return a.of(Op::add, b); }
Term operator-(Term a, Term b) { return a.of(Op::subtract, b); }
Term operator*(Term a, Term b) { return a.of(Op::multiply, b); }
Term operator/(Term a, Term b) { return a.of(Op::divide, b); }
Term operator-(Term a, double b) { return a - a.number(b); }
// The sign of an imaginary zero stays: it determines on which side of a branch cut a number is.
Term operator+(Term a, double b) { return a.is_complex() ? a - -b : a + a.number(b); }
Term operator-(double a, Term b) { return b.is_complex() ? (b - a).of(Op::negative) : b.number(a) - b; }
Term operator*(double a, Term b) { return b.number(a) * b; }
Term operator/(double a, Term b) { return b.number(a) / b; }

Term sin(Term a) { return a.of(Op::sin); }
Term cos(Term a) { return a.of(Op::cos); }
Term tan(Term a) { return a.of(Op::tan); }
Term sinh(Term a) { return a.of(Op::sinh); }
Term cosh(Term a) { return a.of(Op::cosh); }
Term exp(Term a) { return a.of(Op::exp); }
Term exp2(Term a) { return a.of(Op::exp2); }
Term log(Term a) { return a.of(Op::log); }
Term sqrt(Term a) { return a.of(Op::sqrt); }
Term cube(Term a) { return a.of(Op::cube); }
Term rint(Term a) { return a.of(Op::rint); }
Term hypot(Term a, Term b) { return a.of(Op::hypot, b); }
Term floor_divide(Term a, Term b) { return a.of(Op::floor_divide, b); }
Term copysign(Term a, Term b) { return a.of(Op::copysign, b); }
Term equal(Term a, Term b) { return a.of(Op::equal, b); }
Term not_equal(Term a, Term b) { return a.of(Op::not_equal, b); }
Term select(Term condition, Term a, Term b) {
  return {a.builder(), a.builder().make(Op::select, {condition.node(), a.node(), b.node()})};
}
Term one(Term like) { return like.number(1.0); }

/// a / b; another number where b is 0.
Term ratio(Term a, Term b, double of_zero = 0.0) {
  const Term is_zero = equal(b, b.number(0.0));
  return select(is_zero, a.number(of_zero), a / select(is_zero, b.number(1.0), b));
}

/// What of the length of two numbers is one of them; half where both are 0.
Term part_of(Term a, Term length) { return ratio(a, length, 0.5); }

/// b * a ** (b - 1), 0 where both are 0.
Term slope_of_power(Term a, Term b) {
  const Term are_zero = equal(a, a.number(0.0)).of(Op::bitwise_and, equal(b, b.number(0.0)));
  return b * a.of(Op::power, select(are_zero, b.number(1.0), b - 1.0));
}

/// a ** b * log(a), the logarithm 0 where a is 0.
Term growth_of_power(Term a, Term y) { return y * log(select(equal(a, a.number(0.0)), a.number(1.0), a)); }

/// What of the extreme y of a and b is a: 1, half where they tie, or nothing.
Term share_of(Term a, Term b, Term y) {
  const Term tied = select(equal(b, y), y.number(0.5), y.number(1.0));
  return select(equal(a, y), tied, y.number(0.0));
}

/// What e ** a (or 2 ** a) is of e ** a + e ** b; half where both are the same infinity.
Term weight_of(Term (*power)(Term), Term a, Term b) {
  const Term are_lost = equal(a, b).of(Op::bitwise_and, a.of(Op::isinf));
  const Term more = select(are_lost, a.number(0.0), b - a);
  const Term is_less = more.of(Op::greater, more.number(0.0));
  const Term quotient = power(select(is_less, more.of(Op::negative), more));
  return select(is_less, quotient, more.number(1.0)) / (quotient + 1.0);
}

/// b / (a ** 2 + b ** 2), without a power of two that overflows.
Term slope_of_angle(Term a, Term b) {
  const Term length = hypot(a, b);
  return b / length / length;
}

/// sqrt(a ** 2 + 1)
Term secant_of_arctan(Term a) { return a.is_complex() ? sqrt(a * a + 1.0) : hypot(a, one(a)); }
/// 1 - a ** 2, to the last digits where a is close to 1.
Term rest_of_square(Term a) { return (1.0 - a) * (a + 1.0); }

Term slope_of_erf(Term a) { return 2.0 * std::numbers::inv_sqrtpi * exp((a * a).of(Op::negative)); }

/// The logarithmic derivative of the gamma function: by recurrence to beyond 10, where its asymptotic series
/// has the precision of f64; below a half by reflection.
Term digamma(Term a) {
  constexpr std::array kSeries = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760, 1.0 / 12};
  constexpr int kSteps = 10;
  const Term is_low = a.of(Op::less, a.number(0.5));
  const Term x = select(is_low, 1.0 - a, a);
  Term below = 1.0 / x;
  for (int k = 1; k < kSteps; ++k) below = below + 1.0 / (x + k);
  const Term z = x + kSteps;
  const Term square = 1.0 / (z * z);
  Term series = square.number(0.0);
  for (size_t k = kSeries.size(); k > 0; --k) series = (series + kSeries[k - 1]) * square;
  const Term value = log(z) - 0.5 / z - series - below;
  const Term part = select(is_low, a - rint(a), a.number(0.25));
  return select(is_low, value - std::numbers::pi / tan(std::numbers::pi * part), value);
}

/// A real-linear map of tangents: steps, one after the other; or zero.
class Linear {
 public:
  static Linear none() {
    Linear zero;
    zero.is_zero_ = true;
    return zero;
  }

  bool is_zero() const { return is_zero_; }

  enum class Step : uint8_t {
    Negate,
    Multiply,
    Divide,
    Scale,
    Where,
    Conjugate,
    Real,
    Imaginary,
    AsReal,
    AsImaginary
  };
  Linear then(Step step, std::optional<Term> by = std::nullopt) const {
    Linear longer = *this;
    if (!is_zero_) longer.steps_.push_back({step, by});
    return longer;
  }

  Term push(Term t) const {
    for (const auto& [step, by] : steps_) t = applied(step, by, t);
    return t;
  }
  Term pull(Term c) const {
    for (auto it = steps_.rbegin(); it != steps_.rend(); ++it) c = transposed(it->first, it->second, c);
    return c;
  }

 private:
  static Term component(Op op, Term t) { return t.of(op); }
  static Term pair(Term re, Term im) { return re.of(Op::make_complex, im); }

  static Term applied(Step step, const std::optional<Term>& by, Term t) {
    switch (step) {
      case Step::Negate: return t.of(Op::negative);
      case Step::Multiply: return t * *by;
      case Step::Divide: return t / *by;
      case Step::Scale: return t.of(Op::scale_by_power, *by);
      case Step::Where: return select(*by, t, t.number(0.0));
      case Step::Conjugate: return t.of(Op::conjugate);
      case Step::Real: return t.of(Op::real);
      case Step::Imaginary: return t.of(Op::imaginary);
      case Step::AsReal: return pair(t, t.number(0.0));
      case Step::AsImaginary: return pair(t.number(0.0), t);
    }
    __builtin_unreachable();
  }
  static Term transposed(Step step, const std::optional<Term>& by, Term c) {
    switch (step) {
      case Step::Real: return applied(Step::AsReal, by, c);
      case Step::Imaginary: return applied(Step::AsImaginary, by, c.of(Op::negative));
      case Step::AsReal: return applied(Step::Real, by, c);
      case Step::AsImaginary: return applied(Step::Imaginary, by, c).of(Op::negative);
      default: return applied(step, by, c);
    }
  }

  std::vector<std::pair<Step, std::optional<Term>>> steps_;
  bool is_zero_ = false;
};

Linear operator-(const Linear& g) { return g.then(Linear::Step::Negate); }
Linear operator*(const Linear& g, Term by) { return g.then(Linear::Step::Multiply, by); }
Linear operator/(const Linear& g, Term by) { return g.then(Linear::Step::Divide, by); }
/// g * 2 ** power, rounded once.
Linear scaled(const Linear& g, Term power) { return g.then(Linear::Step::Scale, power); }
Linear where(Term condition, const Linear& g) { return g.then(Linear::Step::Where, condition); }
Linear real(const Linear& g) { return g.then(Linear::Step::Real); }
Linear imaginary(const Linear& g) { return g.then(Linear::Step::Imaginary); }
Linear as_real(const Linear& g) { return g.then(Linear::Step::AsReal); }
Linear as_imaginary(const Linear& g) { return g.then(Linear::Step::AsImaginary); }

Linear mirrored(const Linear& g, Term a) { return a.is_complex() ? g.then(Linear::Step::Conjugate) : g; }
/// The part of g in the direction of a; the direction of a real 0 is up.
Linear along(const Linear& g, Term a) {
  if (a.is_complex()) return real(g * a.of(Op::sign).of(Op::conjugate));
  return g * select(a.of(Op::greater_equal, a.number(0.0)), a.number(1.0), a.number(-1.0));
}
/// How a step g turns the direction y of a.
Linear turned(const Linear& g, Term a, Term y) {
  if (!a.is_complex()) return Linear::none();
  const Term length = a.of(Op::absolute).as(a.dtype());
  return as_imaginary(imaginary(g * y.of(Op::conjugate))) * ratio(y, length);
}

/// The derivative of an op with respect to operand `i`, where it has one.
Linear derivative_of(Op op, size_t i, Term a, Term b, Term y) {
  const Linear g;
  Linear zero = Linear::none();
  switch (op) {
#define INGOT_CHOSEN(one, two, which, ...) which
#define INGOT_ALONE(expression) return expression;
#define INGOT_EITHER(first, second) \
  if (i == 0) return first;         \
  return second;
#define OP(name, ...) \
  break;              \
  case Op::name:
#define STRUCT(name, ...) \
  break;                  \
  case Op::name:
#define GRAD(...) INGOT_CHOSEN(__VA_ARGS__, INGOT_EITHER, INGOT_ALONE)(__VA_ARGS__)
#include "ir/ops.def"
    break;
  }
  return zero;
}

enum class Direction : uint8_t { Forward, Back };

/// The map applied to a tangent, or its transpose to a cotangent. Of f16 it computes in f32, as ops do.
std::optional<NodeId> mapped(Builder& builder, Op op, std::span<const NodeId> operands, NodeId result,
                             size_t i, NodeId value, Direction direction) {
  if (!has_slope(op, i)) return std::nullopt;
  const auto computable = [&](NodeId node) {
    const Term term(builder, node);
    return term.dtype() == DType::Float16 ? term.as(DType::Float32) : term;
  };
  const Linear map =
      derivative_of(op, i, computable(operands.front()), computable(operands.back()), computable(result));
  if (map.is_zero()) return std::nullopt;
  const Term given = computable(value);
  const Term made = direction == Direction::Forward ? map.push(given) : map.pull(given);
  const bool is_half = Term(builder, value).dtype() == DType::Float16;
  return (is_half ? made.as(DType::Float16) : made).node();
}

}  // namespace

bool has_slope(Op op, size_t operand) { return ir::info(op).slopes[operand]; }

std::optional<NodeId> push_forward(Builder& builder, Op op, std::span<const NodeId> operands, NodeId result,
                                   size_t i, NodeId tangent) {
  return mapped(builder, op, operands, result, i, tangent, Direction::Forward);
}

std::optional<NodeId> pull_back(Builder& builder, Op op, std::span<const NodeId> operands, NodeId result,
                                size_t i, NodeId cotangent) {
  return mapped(builder, op, operands, result, i, cotangent, Direction::Back);
}

}  // namespace ingot::transform
