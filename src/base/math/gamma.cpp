#include <limits>

#include "base/math/wide.h"

// The gamma function of negative numbers, by gamma(-y) = -pi / (y sin(pi y) gamma(y)), in twice the
// precision. gamma(y) = gamma(y + n) / (y (y + 1) ... (y + n - 1)), the former by Stirling's series.

namespace ingot::base::math::wide {

namespace {

/// y |sin(pi y)| / pi.
Wide reflection(double y) {
  const Wide pi(2 * kernels::kHalfPiLong[0], 2 * kernels::kHalfPiLong[1]);
  const double rest = std::fabs(y - std::nearbyint(y));
  const bool is_cosine = rest > 0.25;
  const Circular turn = circular(Turned{pi * (is_cosine ? 0.5 - rest : rest), 0});
  return (is_cosine ? turn.cos : turn.sin) * y / pi;
}

/// log(gamma(x)) + log(product), of moderate x.
struct LogGamma {
  Wide log;
  Wide product;
};
LogGamma log_gamma(double y) {
  constexpr double kFirst = 24;
  Wide x(y);
  Wide product(1.0);
  for (; x.high < kFirst; x = x + Wide(1.0)) product = product * x;
  const Wide inverse = Wide(1.0) / x;
  const Wide square = inverse * inverse;
  Wide series =
      multiply_add(square, tail(square.high, kernels::kStirlingTerms, 3, 1, 6), kernels::kStirlingTerms[2]);
  for (const int k : {1, 0}) series = multiply_add(square, series, kernels::kStirlingTerms[k]);
  const Wide value = (x - Wide(0.5)) * log(x) - x + Wide(kernels::kHalfLogOfCircle) + inverse * series;
  return {value, product};
}

}  // namespace

}  // namespace ingot::base::math::wide

namespace ingot::base::math::kernels {

namespace {
constexpr double kTinyNegative = 0x1p-60;
}  // namespace

double gamma_of_negative(double x) {
  const double y = -x;
  const double floor = std::floor(x);
  if (x == floor) return std::numeric_limits<double>::quiet_NaN();
  if (y < kTinyNegative) return 1 / x;
  const wide::LogGamma positive = wide::log_gamma(y);
  const wide::Exponential down = wide::exponential(-positive.log);
  const wide::Wide size = positive.product / wide::reflection(y) * (wide::Wide(1.0) + down.less_one);
  const double value = wide::scaled(wide::rounded(size), down.power);
  return std::floor(floor * 0.5) * 2 == floor ? value : -value;
}

double log_gamma_of_negative(double x) {
  const double y = -x;
  if (x == std::floor(x)) return std::numeric_limits<double>::infinity();
  if (y < kTinyNegative) return -wide::rounded(wide::log_of_size(y, 0.0));
  const wide::LogGamma positive = wide::log_gamma(y);
  return wide::rounded(wide::log(positive.product / wide::reflection(y)) - positive.log);
}

}  // namespace ingot::base::math::kernels
