#include "transform/writers/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/interpreter.h"

namespace ingot::transform {
namespace {

using base::DType;
using base::Scalar;
using ir::NodeId;
using ir::Op;
using ir::Type;
using Complex = std::complex<double>;
using Numbers = std::vector<Complex>;

constexpr DType kDTypes[] = {DType::Float16, DType::Float32, DType::Float64, DType::Complex64,
                             DType::Complex128};
constexpr DType kRealDTypes[] = {DType::Float16, DType::Float32, DType::Float64};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The numbers of a float type.
struct Precision {
  double epsilon, smallest, largest;
};
Precision precision_of(DType dtype) {
  switch (base::component_of(dtype)) {
    case DType::Float16: return {0x1p-10, 0x1p-24, 65504.0};
    case DType::Float32: return {0x1p-23, 0x1p-149, 0x1.fffffep127};
    default: return {0x1p-52, 0x1p-1074, std::numeric_limits<double>::max()};
  }
}
DType wide(DType dtype) { return base::is_complex(dtype) ? DType::Complex128 : DType::Float64; }

Scalar to_scalar(DType dtype, Complex value) {
  return base::visit_dtype(dtype, [&]<class T>() {
    if constexpr (base::is_complex_v<T>) {
      using Part = typename T::value_type;
      return Scalar::of(T(static_cast<Part>(value.real()), static_cast<Part>(value.imag())));
    } else {
      return Scalar::of(static_cast<T>(value.real()));
    }
  });
}
Complex to_number(DType dtype, const Scalar& value) {
  return base::visit_dtype(dtype, [&]<class T>() {
    if constexpr (base::is_complex_v<T>) return Complex(value.as<T>());
    else return Complex(static_cast<double>(value.as<T>()));
  });
}
Complex rounded(DType dtype, Complex value) { return to_number(dtype, to_scalar(dtype, value)); }

ir::Value to_array(DType dtype, const Numbers& values) {
  auto array = std::make_shared<ir::ArrayValue>();
  const size_t size = base::size_of(dtype);
  *array = {dtype, {static_cast<int64_t>(values.size())}, std::vector<std::byte>(size * values.size())};
  for (size_t i = 0; i < values.size(); ++i)
    to_scalar(dtype, values[i]).store(dtype, array->data.data() + i * size);
  return std::shared_ptr<const ir::ArrayValue>(array);
}
/// The elements of an array, or a number as often as asked.
Numbers to_numbers(DType dtype, const ir::Value& value, size_t count) {
  if (const auto* number = std::get_if<Scalar>(&value)) return Numbers(count, to_number(dtype, *number));
  const auto& array = *std::get<std::shared_ptr<const ir::ArrayValue>>(value);
  Numbers all;
  for (size_t at = 0; at < array.data.size(); at += base::size_of(dtype))
    all.push_back(to_number(dtype, Scalar::load(dtype, array.data.data() + at)));
  return all;
}

/// One slope of the table.
struct Slope {
  Op op;
  DType dtype;
  size_t operand;

  size_t operands() const { return ir::info(op).operands; }
  DType result() const { return ir::result_dtype(op, dtype); }
  std::string text() const {
    return std::string(ir::name_of(op)) + " of " + std::string(base::info(dtype).name) + ", operand " +
           std::to_string(operand);
  }
};

std::vector<Slope> all_slopes() {
  std::vector<Slope> all;
  for (int number = 0; number < ir::kOpCount; ++number) {
    const Op op = static_cast<Op>(number);
    if (!ir::info(op).elementwise) continue;
    for (const DType dtype : kDTypes)
      for (size_t i = 0; i < ir::info(op).operands; ++i)
        if (ir::accepts(op, dtype) && has_slope(op, i)) all.push_back({op, dtype, i});
  }
  return all;
}

/// The tangents and cotangents of some points.
struct Derivatives {
  bool is_zero = false;  ///< there are none
  Numbers pushed, pulled;
  bool is_number = false;  ///< `pushed` was one
};

/// Operands by element; those that are numbers have one.
using Points = std::vector<Numbers>;

/// Builds the op and both maps, and runs them. `tangents` as long as the operand, `cotangents` as the result.
Derivatives derivatives(const Slope& slope, const Points& points, const Numbers& tangents,
                        const Numbers& cotangents, const std::vector<bool>& is_number = {false, false}) {
  ir::Module module;
  ir::Builder builder(module, "f");
  const auto type = [](DType dtype, bool number) {
    return number ? Type::scalar(dtype) : Type::array(dtype, 1);
  };
  std::vector<NodeId> operands;
  std::vector<ir::Value> arguments;
  const auto add = [&](DType dtype, const Numbers& values, bool number) {
    if (number) arguments.emplace_back(to_scalar(dtype, values[0]));
    else arguments.push_back(to_array(dtype, values));
    return builder.add_parameter(type(dtype, number), {.name = "p" + std::to_string(arguments.size())});
  };
  for (size_t i = 0; i < slope.operands(); ++i) operands.push_back(add(slope.dtype, points[i], is_number[i]));
  const bool all_numbers = std::all_of(operands.begin(), operands.end(), [&](NodeId operand) {
    return builder.function().type(operand).is_scalar();
  });
  const NodeId t = add(slope.dtype, tangents, is_number[slope.operand]);
  const NodeId c = add(slope.result(), cotangents, all_numbers);
  const NodeId y = builder.make(slope.op, operands);
  const auto pushed = push_forward(builder, slope.op, operands, y, slope.operand, t);
  const auto pulled = pull_back(builder, slope.op, operands, y, slope.operand, c);
  EXPECT_EQ(pushed.has_value(), pulled.has_value()) << slope.text();
  if (!pushed || !pulled) return {.is_zero = true, .pushed = {}, .pulled = {}};
  const std::vector results = {builder.function().type(*pushed), builder.function().type(*pulled)};
  EXPECT_EQ(results[0].dtype(), slope.result()) << slope.text();
  EXPECT_EQ(results[1], type(slope.dtype, all_numbers)) << slope.text();
  builder.terminate(Op::return_, std::array{*pushed, *pulled});
  auto function = builder.finish(results);
  std::vector<Type> parameters;
  for (const NodeId p : function->region_parameters(function->body()))
    parameters.push_back(function->type(p));
  const ir::FunctionId id = module.declare("f", parameters, results);
  module.define(id, std::move(function));
  const ir::Outcome outcome = ir::interpret(module, id, arguments);
  EXPECT_FALSE(outcome.raised) << slope.text();
  const size_t count = cotangents.size();
  return {.pushed = to_numbers(slope.result(), outcome.results[0], count),
          .pulled = to_numbers(slope.dtype, outcome.results[1], count),
          .is_number = results[0].is_scalar()};
}

/// Numbers of many kinds: near 1, of all sizes, integers and halves, zeros, infinities, NaN.
class Draw {
 public:
  /// Of sizes up to 2 ** `size`, and down to its reciprocal; without: all of the dtype.
  explicit Draw(uint64_t seed, std::optional<double> size = std::nullopt) : random_(seed), size_(size) {}

  Complex number(DType dtype) {
    if (!base::is_complex(dtype)) return rounded(dtype, real(dtype));
    const double re = real(dtype);
    return rounded(dtype, {re, real(dtype)});
  }
  /// Between 1/2 and 2, of either sign; of complex numbers, both components.
  Complex direction(DType dtype) {
    const double re = unit();
    return rounded(dtype, base::is_complex(dtype) ? Complex(re, unit()) : re);
  }
  Numbers numbers(DType dtype, size_t count) {
    Numbers all(count);
    std::generate(all.begin(), all.end(), [&] { return number(dtype); });
    return all;
  }
  Numbers directions(DType dtype, size_t count) {
    Numbers all(count);
    std::generate(all.begin(), all.end(), [&] { return direction(dtype); });
    return all;
  }
  Points points(const Slope& slope, size_t count) {
    Points all = {numbers(slope.dtype, count)};
    if (slope.operands() == 2) all.push_back(numbers(slope.dtype, count));
    if (slope.op == Op::scale_by_power)
      for (Complex& power : all[1]) power = std::trunc(power.real());
    return all;
  }

 private:
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  double unit() { return (random_() % 2 == 0 ? 1.0 : -1.0) * uniform(0.5, 2.0); }
  double real(DType dtype) {
    const Precision p = precision_of(dtype);
    const double special[] = {0.0, -0.0, kInfinity, -kInfinity, kNan, p.smallest, p.largest, -p.largest};
    const uint64_t kind = random_() % 20;
    if (kind < 2) return special[random_() % (size_ ? 2 : std::size(special))];
    if (kind < 5)
      return unit() * std::exp2(uniform(size_ ? -*size_ : std::log2(p.smallest),
                                        size_.value_or(std::log2(p.largest))));
    if (kind < 8) return std::trunc(uniform(-9.0, 9.0)) / 2;
    if (kind < 12) return uniform(-20.0, 20.0);
    return uniform(-2.0, 2.0);
  }

  std::mt19937_64 random_;
  std::optional<double> size_;
};

bool is_finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

std::vector<Complex> point(const Points& points, size_t k) {
  std::vector<Complex> all;
  for (const Numbers& operand : points) all.push_back(operand[k]);
  return all;
}
std::string text_of(const std::vector<Complex>& point) {
  std::string text;
  for (const Complex z : point) {
    std::array<char, 80> part{};
    std::snprintf(part.data(), part.size(), " %.17g%+.17gi", z.real(), z.imag());
    text += part.data();
  }
  return text;
}
constexpr size_t kMostFaults = 5;  ///< that are shown of a slope

/// Whether <c, pushed> = <pulled, t>, where <c, t> = Re(c * t). Where one is not finite, the other is
/// neither, or so large that the one may have overflown.
bool are_paired(const Precision& precision, Complex c, Complex pushed, Complex pulled, Complex t) {
  const auto pair = [](Complex x, Complex y) { return x.real() * y.real() - x.imag() * y.imag(); };
  const double limit = precision.largest / 64;
  const auto is_lost = [&](Complex z) { return !is_finite(z) || std::abs(z) > limit; };
  if (!is_finite(pushed) || !is_finite(pulled)) return is_lost(pushed) && is_lost(pulled);
  const double size = std::abs(c) * std::abs(pushed) + std::abs(pulled) * std::abs(t);
  const double off = std::abs(pair(c, pushed) - pair(pulled, t));
  return size > limit || off <= 4 * precision.epsilon * size + 16 * precision.smallest;
}

TEST(Linear, PullBackIsTheTransposeOfPushForward) {
  Draw draw(11);
  constexpr size_t kCount = 2000;
  for (const Slope& slope : all_slopes()) {
    const Points points = draw.points(slope, kCount);
    const Numbers tangents = draw.directions(slope.dtype, kCount);
    const Numbers cotangents = draw.directions(slope.result(), kCount);
    const Derivatives d = derivatives(slope, points, tangents, cotangents);
    if (d.is_zero) continue;
    const Precision precision = precision_of(slope.dtype);
    size_t faults = 0;
    for (size_t k = 0; k < kCount && faults < kMostFaults; ++k) {
      if (are_paired(precision, cotangents[k], d.pushed[k], d.pulled[k], tangents[k])) continue;
      ++faults;
      ADD_FAILURE() << slope.text() << " at" << text_of(point(points, k)) << ": " << tangents[k] << " to "
                    << d.pushed[k] << ", " << cotangents[k] << " to " << d.pulled[k];
    }
  }
}

/// Numbers with so few bits that small steps from them are exact.
Numbers shortened(Numbers numbers, int bits) {
  const auto of_part = [&](double x) {
    if (!std::isfinite(x)) return x;
    int power = 0;
    const double part = std::frexp(x, &power);
    return std::ldexp(std::rint(std::ldexp(part, bits)), power - bits);
  };
  for (Complex& z : numbers) z = {of_part(z.real()), of_part(z.imag())};
  return numbers;
}

/// A derivative and how far it may be off.
struct Difference {
  Complex value;
  double error = kInfinity;
};

/// A function of one real number at 0: central differences of ever smaller steps, extrapolated, of which
/// those are taken that agree best.
Difference extrapolated(const std::function<Complex(double)>& value, double step) {
  constexpr int kSteps = 10;
  Difference best;
  std::vector<Complex> last;
  for (int k = 0; k < kSteps; ++k, step /= 2) {
    std::vector<Complex> row = {(value(step) - value(-step)) / (2 * step)};
    const double noise = 0x1p-50 * std::abs(value(step)) / step;
    double factor = 1;
    for (size_t j = 0; j < last.size(); ++j) {
      factor *= 4;
      row.push_back(row[j] + (row[j] - last[j]) / (factor - 1));
      const double error = std::max(std::abs(row[j + 1] - row[j]), std::abs(row[j + 1] - last[j])) + noise;
      if (error < best.error) best = {row[j + 1], error};
    }
    last = row;
  }
  return best;
}

/// A step along a tangent; the sign of a zero stays where the tangent has one, too.
Complex moved(Complex z, double step, Complex tangent) {
  const auto part = [&](double x, double t) { return t == 0 ? x : x + step * t; };
  return {part(z.real(), tangent.real()), part(z.imag(), tangent.imag())};
}

/// The derivative of the op in the wide type along a tangent; none where it is not known.
std::optional<Difference> difference(const Slope& slope, const std::vector<Complex>& at, Complex tangent) {
  const DType dtype = wide(slope.dtype);
  const auto value = [&](double step) {
    std::vector<Scalar> operands;
    for (size_t i = 0; i < at.size(); ++i)
      operands.push_back(to_scalar(dtype, i == slope.operand ? moved(at[i], step, tangent) : at[i]));
    return to_number(ir::result_dtype(slope.op, dtype), ir::evaluate(slope.op, dtype, operands));
  };
  if (!is_finite(value(0))) return std::nullopt;
  std::optional<Difference> best;
  for (const double size : {1.0, std::abs(at[slope.operand])}) {
    if (size == 0) continue;
    const Difference found = extrapolated(value, std::exp2(std::floor(std::log2(size)) - 3));
    if (!(found.error <= 1e-7 * std::abs(found.value) || found.error <= 0x1p-44 * std::abs(value(0))))
      continue;
    if (best && !(std::abs(found.value - best->value) <= 10 * (found.error + best->error)))
      return std::nullopt;
    if (!best || found.error < best->error) best = found;
  }
  return best;
}

/// The size of the terms that a slope is the sum of, where it may be much less.
double size_of_terms(Op op, const std::vector<Complex>& at, Complex slope) {
  switch (op) {
    case Op::expm1:
    case Op::tanh:
    case Op::tan: return 1;
    case Op::lgamma: return 4;
    case Op::gamma: return 4 * std::abs(std::tgamma(at[0].real()));
    case Op::erf:
    case Op::erfc: return std::norm(at[0]) * std::abs(slope);
    default: return 0;
  }
}

/// Whether the value at a point has a derivative by the operand that differences can show.
bool is_smooth(const Slope& slope, const std::vector<Complex>& at) {
  if (!std::all_of(at.begin(), at.end(), is_finite)) return false;
  switch (slope.op) {
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:  // steps do not go over the point where both are the same
      return std::abs(at[0] - at[1]) > (std::abs(at[0]) + std::abs(at[1])) / 16;
    case Op::copysign: return at[0] != 0.0;
    case Op::remainder:
    case Op::fmod: return false;  // jumps wherever steps go
    case Op::gamma:
    case Op::lgamma:
      return at[0].real() > -10;  // beyond, poles are close to all numbers
    // Of a negative number only the integral powers are numbers.
    case Op::power: return slope.operand == 0 || base::is_complex(slope.dtype) || at[0].real() > 0;
    default: return true;
  }
}

/// Compares with differences; gives the number of points that could be.
size_t check_slope(const Slope& slope, const Points& points, const Numbers& tangents, Draw& draw) {
  const size_t count = tangents.size();
  const Numbers cotangents = draw.directions(slope.result(), count);
  const Derivatives d = derivatives(slope, points, tangents, cotangents);
  const Precision precision = precision_of(slope.dtype);
  const double tolerance = std::max(8 * precision.epsilon, 0x1p-34);
  // Subnormal numbers may be lost in between; f16 is computed in f32.
  const double slack = precision.smallest * (slope.dtype == DType::Float16 ? 32 : 1 / precision.epsilon);
  size_t checked = 0;
  size_t faults = 0;
  for (size_t k = 0; k < count && faults < kMostFaults; ++k) {
    const std::vector<Complex> at = point(points, k);
    if (!is_smooth(slope, at)) continue;
    const auto expected = difference(slope, at, tangents[k]);
    if (!expected || std::abs(expected->value) > precision.largest / 64) continue;
    ++checked;
    const Complex got = d.is_zero ? 0.0 : d.pushed[k];
    // Of a complex number, the slope in other directions may be larger.
    const double most = d.is_zero ? 0.0 : std::abs(d.pulled[k] / cotangents[k] * tangents[k]);
    const double size = std::max({std::abs(expected->value), most,
                                  size_of_terms(slope.op, at, expected->value) * std::abs(tangents[k])});
    if (std::abs(got - expected->value) <= tolerance * size + 10 * expected->error + slack) continue;
    ++faults;
    ADD_FAILURE() << slope.text() << " at" << text_of(at) << " along " << tangents[k] << ": " << got
                  << ", not " << expected->value;
  }
  return checked;
}

TEST(Linear, PushForwardIsTheDerivative) {
  constexpr size_t kCount = 400;
  Draw draw(12, 11.0);
  for (const Slope& slope : all_slopes()) {
    Points points = draw.points(slope, kCount);
    for (Numbers& operand : points) operand = shortened(operand, 20);
    const Numbers tangents = shortened(draw.directions(slope.dtype, kCount), 5);
    const size_t checked = check_slope(slope, points, tangents, draw);
    const bool has_jumps = slope.op == Op::fmod || slope.op == Op::remainder;
    EXPECT_GE(checked, has_jumps ? 0 : kCount / 5) << slope.text();
  }
}

TEST(Linear, SlopesOnBranchCutsAreThoseOfTheirSide) {
  constexpr Op kOps[] = {Op::sqrt,   Op::log,    Op::log2,    Op::log10,   Op::log1p,   Op::arcsin,
                         Op::arccos, Op::arctan, Op::arcsinh, Op::arccosh, Op::arctanh, Op::power};
  Points points(2);
  Numbers tangents;
  for (const double x : {-3.0, -1.5, -0.75, 0.75, 1.5, 3.0})
    for (const double zero : {0.0, -0.0}) {
      points[0].insert(points[0].end(), {Complex(x, zero), Complex(zero, x)});
      points[1].insert(points[1].end(), {Complex(0.75, -0.25), Complex(0.75, -0.25)});
      tangents.insert(tangents.end(), {Complex(1, 0), Complex(0, 1)});
    }
  Draw draw(13);
  for (const Op op : kOps)
    for (const DType dtype : {DType::Complex64, DType::Complex128}) {
      const Slope slope{op, dtype, 0};
      const Points some(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(slope.operands()));
      EXPECT_EQ(check_slope(slope, some, tangents, draw), tangents.size()) << slope.text();
    }
}

TEST(Linear, RemaindersCountTheirQuotients) {
  constexpr size_t kCount = 1000;
  Draw draw(14, 7.0);
  for (const Op op : {Op::fmod, Op::remainder})
    for (const DType dtype : kRealDTypes) {
      const Slope slope{op, dtype, 1};
      Points points = draw.points(slope, kCount);
      // Quotients that round to an integer, and are less.
      for (size_t k = 0; k < kCount; k += 4) {
        const double multiple = rounded(dtype, points[1][k] * std::rint(points[0][k].real())).real();
        const std::array below = {to_scalar(dtype, multiple), to_scalar(dtype, 0.0)};
        points[0][k] = to_number(dtype, ir::evaluate(Op::nextafter, dtype, below));
      }
      const Numbers ones(kCount, 1.0);
      const Derivatives d = derivatives(slope, points, ones, ones);
      size_t checked = 0;
      for (size_t k = 0; k < kCount; ++k) {
        const double a = points[0][k].real();
        const double b = points[1][k].real();
        const double count = -d.pushed[k].real();
        if (b == 0 || std::abs(a / b) > 0.5 / precision_of(dtype).epsilon) continue;
        const std::array both = {to_scalar(dtype, a), to_scalar(dtype, b)};
        const Complex rest = to_number(dtype, ir::evaluate(op, dtype, both));
        EXPECT_EQ(rounded(dtype, std::fma(-count, b, a)), rest) << slope.text() << text_of(point(points, k));
        EXPECT_EQ(d.pushed[k], d.pulled[k]);
        ++checked;
      }
      EXPECT_GE(checked, kCount / 2) << slope.text();
    }
}

/// By op and operands: the slopes. They are the same for all float types.
struct Convention {
  Op op;
  std::array<double, 2> at;
  std::vector<double> slopes;
};

std::vector<Convention> conventions() {
  constexpr double kInf = kInfinity;
  return {
      {Op::absolute, {0.0}, {1}},
      {Op::absolute, {-0.0}, {1}},
      {Op::absolute, {-kInf}, {-1}},
      {Op::minimum, {1, 1}, {0.5, 0.5}},
      {Op::minimum, {0.0, -0.0}, {0.5, 0.5}},
      {Op::minimum, {kNan, 1}, {0, 0}},
      {Op::maximum, {1, 1}, {0.5, 0.5}},
      {Op::maximum, {kInf, kInf}, {0.5, 0.5}},
      {Op::maximum, {1, 2}, {0, 1}},
      {Op::fmin, {1, 1}, {0, 1}},
      {Op::fmin, {kNan, 1}, {0, 1}},
      {Op::fmin, {1, kNan}, {1, 0}},
      {Op::fmax, {1, 1}, {0, 1}},
      {Op::fmax, {-0.0, 0.0}, {0, 1}},
      {Op::fmax, {kNan, 1}, {0, 1}},
      {Op::sqrt, {0}, {kInf}},
      {Op::cbrt, {0}, {kInf}},
      {Op::cbrt, {-0.0}, {kInf}},
      {Op::log, {0}, {kInf}},
      {Op::arcsin, {1}, {kInf}},
      {Op::arcsin, {-1}, {kInf}},
      {Op::arccos, {1}, {-kInf}},
      {Op::arccosh, {1}, {kInf}},
      {Op::arctanh, {-1}, {kInf}},
      {Op::power, {0, 0}, {0, 0}},
      {Op::power, {0, 1}, {1, 0}},
      {Op::power, {0, 2}, {0, 0}},
      {Op::power, {0, 0.5}, {kInf, 0}},
      {Op::power, {-3, 0}, {0, kNan}},
      {Op::power, {1, 0}, {0, 0}},
      {Op::power, {1, 7}, {7, 0}},
      {Op::hypot, {0, 0}, {0.5, 0.5}},
      {Op::hypot, {3, -4}, {0.6, -0.8}},
      {Op::arctan2, {0, 0}, {kNan, kNan}},
      {Op::arctan2, {0, -2}, {-0.5, 0}},
      {Op::logaddexp, {kInf, 1}, {1, 0}},
      {Op::logaddexp, {-kInf, 1}, {0, 1}},
      {Op::logaddexp, {kInf, -kInf}, {1, 0}},
      {Op::logaddexp, {-kInf, -kInf}, {0.5, 0.5}},
      {Op::logaddexp, {kInf, kInf}, {0.5, 0.5}},
      {Op::logaddexp, {kNan, 1}, {kNan, kNan}},
      {Op::logaddexp2, {1, -kInf}, {1, 0}},
      {Op::logaddexp2, {-kInf, -kInf}, {0.5, 0.5}},
      {Op::copysign, {2, -3}, {-1, 0}},
      {Op::copysign, {-2, -3}, {1, 0}},
      {Op::copysign, {0.0, -1}, {-1, 0}},
      {Op::copysign, {-0.0, -1}, {1, 0}},
      {Op::mantissa, {0}, {0}},
      {Op::mantissa, {8}, {0.0625}},
      {Op::scale_by_power, {3, 4}, {16, 0}},
      {Op::scale_by_power, {0, -2}, {0.25, 0}},
      {Op::tanh, {kInf}, {0}},
      {Op::arctan, {-kInf}, {0}},
      {Op::arcsinh, {kInf}, {0}},
      {Op::erf, {-kInf}, {0}},
      {Op::expm1, {-kInf}, {0}},
  };
}

TEST(Linear, PointsWithoutADerivative) {
  for (const Convention& c : conventions())
    for (const DType dtype : kRealDTypes)
      for (size_t i = 0; i < c.slopes.size(); ++i) {
        if (!has_slope(c.op, i)) {
          EXPECT_EQ(c.slopes[i], 0) << ir::name_of(c.op);
          continue;
        }
        const Slope slope{c.op, dtype, i};
        const Derivatives d = derivatives(slope, {{c.at[0]}, {c.at[1]}}, {1.0}, {1.0});
        const double expected = rounded(dtype, c.slopes[i]).real();
        for (const Complex got : {d.pushed[0], d.pulled[0]})
          EXPECT_TRUE(got.real() == expected || (std::isnan(expected) && std::isnan(got.real())))
              << slope.text() << " at " << c.at[0] << ", " << c.at[1] << ": " << got.real() << ", not "
              << expected;
      }
}

TEST(Linear, ComplexPointsWithoutADerivative) {
  constexpr Complex t(1, 2);
  for (const DType dtype : {DType::Complex64, DType::Complex128}) {
    const auto pushed = [&](Op op, size_t i, Complex a, Complex b = 0) {
      return derivatives({op, dtype, i}, {{a}, {b}}, {t}, {t}).pushed[0];
    };
    EXPECT_EQ(pushed(Op::absolute, 0, 0.0), 0.0);
    EXPECT_EQ(pushed(Op::sign, 0, 0.0), 0.0);
    EXPECT_EQ(pushed(Op::power, 0, 0.0, 0.0), 0.0);
    EXPECT_EQ(pushed(Op::power, 1, 0.0, 2.0), 0.0);
    EXPECT_EQ(pushed(Op::minimum, 0, {1, 2}, {1, 2}), 0.5 * t);
    EXPECT_EQ(pushed(Op::maximum, 1, {1, 2}, {1, 2}), 0.5 * t);
    EXPECT_EQ(pushed(Op::maximum, 1, {1, 2}, {1, 1}), 0.0);
    EXPECT_EQ(pushed(Op::fmax, 0, {1, 2}, {1, 2}), 0.0);
    EXPECT_EQ(pushed(Op::fmax, 1, {1, 2}, {1, 2}), t);
    EXPECT_FALSE(is_finite(pushed(Op::sqrt, 0, 0.0)));
  }
}

TEST(Linear, StepsHaveNoSlope) {
  for (const Op op : {Op::floor, Op::ceil, Op::trunc, Op::rint, Op::nextafter, Op::spacing, Op::floor_divide})
    EXPECT_FALSE(has_slope(op, 0)) << ir::name_of(op);
  for (const Op op : {Op::nextafter, Op::floor_divide, Op::copysign, Op::scale_by_power})
    EXPECT_FALSE(has_slope(op, 1)) << ir::name_of(op);
  for (const DType dtype : kRealDTypes)
    EXPECT_TRUE(derivatives({Op::sign, dtype, 0}, {{0.0}}, {1.0}, {1.0}).is_zero);
}

TEST(Linear, NothingOverflowsInBetween) {
  for (const DType dtype : kRealDTypes) {
    const double exponent = 0.75 * std::floor(std::log2(precision_of(dtype).largest) + 1);
    const double large = std::exp2(exponent);
    const auto expect = [&](Op op, size_t i, double a, double b, double t, double expected) {
      const Slope slope{op, dtype, i};
      const Derivatives d = derivatives(slope, {{a}, {b}}, {t}, {t});
      for (const Complex got : {d.pushed[0], d.pulled[0]})
        EXPECT_NEAR(got.real(), expected, 4 * precision_of(dtype).epsilon * std::abs(expected))
            << slope.text() << " at " << a << ", " << b;
    };
    expect(Op::arctan2, 0, large, large, 1, 0.5 / large);
    expect(Op::arctan2, 1, large, -large, 1, -0.5 / large);
    expect(Op::arctan2, 0, 1 / large, 1 / large, 1, 0.5 * large);
    expect(Op::hypot, 0, large, -large, 1, std::numbers::sqrt2 / 2);
    expect(Op::hypot, 1, 1 / large, 1 / large, 1, std::numbers::sqrt2 / 2);
    expect(Op::arcsinh, 0, large, 0, 1, 1 / large);
    expect(Op::arcsinh, 0, -1 / large, 0, 1, 1);
    expect(Op::logaddexp, 0, large, large, 1, 0.5);
    expect(Op::logaddexp, 1, 1024, 1023, 1, 1 / (1 + std::exp(1.0)));
    expect(Op::logaddexp2, 0, -1024, -1025, 1, 2.0 / 3);
    expect(Op::scale_by_power, 0, 1, std::rint(exponent * 5 / 3), 1 / large,
           std::exp2(std::rint(exponent * 5 / 3) - exponent));
    expect(Op::scale_by_power, 0, 1, -std::rint(exponent * 5 / 3), large,
           std::exp2(exponent - std::rint(exponent * 5 / 3)));
  }
}

bool same(const Numbers& a, const Numbers& b) {
  const auto same_part = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](Complex x, Complex y) {
    return same_part(x.real(), y.real()) && same_part(x.imag(), y.imag());
  });
}

TEST(Linear, NumbersWithArrays) {
  constexpr size_t kCount = 6;
  Draw draw(15);
  for (const Slope& slope : all_slopes())
    for (int round = 0; round < 20; ++round)
      for (size_t number = 0; number < slope.operands(); ++number) {
        Points points = draw.points(slope, kCount);
        points[number] = Numbers(kCount, points[number][0]);
        Numbers tangents = draw.directions(slope.dtype, kCount);
        if (number == slope.operand) tangents = Numbers(kCount, tangents[0]);
        const Numbers cotangents = draw.directions(slope.result(), kCount);
        std::vector<bool> is_number(slope.operands(), false);
        is_number[number] = true;
        const Derivatives arrays = derivatives(slope, points, tangents, cotangents);
        const Derivatives mixed = derivatives(slope, points, tangents, cotangents, is_number);
        EXPECT_EQ(arrays.is_zero, mixed.is_zero) << slope.text();
        const bool pulls_number = slope.operands() == 1;
        EXPECT_TRUE(same(arrays.pushed, mixed.pushed)) << slope.text();
        EXPECT_TRUE(pulls_number || same(arrays.pulled, mixed.pulled)) << slope.text();
        EXPECT_TRUE(!mixed.is_number || number == slope.operand) << slope.text();
      }
}

}  // namespace
}  // namespace ingot::transform
