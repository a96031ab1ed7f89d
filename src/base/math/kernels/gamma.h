#pragma once

#include "base/math/kernels/logarithm.h"
#include "base/math/kernels/power.h"

/// For x >= 3, log gamma(x) = (x - 1/2) log(x) - x + log(2 pi)/2 + S(1/x), the first terms as pairs, and
/// gamma(x) its exponential. Below that gamma(1 + f) = 1 + f Q(f), f the fraction of x, and the recurrence;
/// and lgamma(x) = (x - 1) (x - 2) R(u), u = 1/(x + 3/2) less a constant, for 1 <= x, lgamma(x + 1) - log(x)
/// below. Both are computed. For x < 0, see math/gamma.cpp.
namespace ingot::base::math::kernels {

inline constexpr double kFirstOfStirling = 3;

/// S(1/x).
template <OfDouble V>
V stirling(V x) {
  const V w = 1.0 / x;
  return w * polynomial(w * w, kStirling);
}

/// (x - 1/2) log - x + log(2 pi)/2 in units of 1/unit, log and unit being pairs; without S.
template <OfDouble V>
Pair<V> log_gamma_as_pair(V x, Pair<V> log, const double (&unit)[2], const double (&constant)[2]) {
  const V a = x - 0.5;
  const V a_low = (x - a) - 0.5;
  const Pair<V> product = multiply_exactly(a, log.high);
  const Pair<V> linear = multiply_exactly(x, V(-unit[0]));
  const Pair<V> difference = add_exactly(product.high, linear.high);
  const Pair<V> sum = add_exactly(difference.high, V(constant[0]));
  const V product_low = fma(a, log.low, fma(a_low, log.high, product.low));
  const V linear_low = fma(x, V(-unit[1]), linear.low);
  return {sum.high, ((product_low + linear_low) + (difference.low + constant[1])) + sum.low};
}

/// gamma(x), 0 <= x < 3: a base and what times Q is added to it.
template <OfDouble V>
V gamma_of_small(V x) {
  const auto below = x < 1.0;
  const auto above = x >= 2.0;
  const V f = x - select(below, V(0.0), select(above, V(2.0), 1.0));
  const V q = polynomial(f - 0.5, kGamma);
  const V inverse = 1.0 / x;
  const V low = fma(-inverse, x, V(1.0)) * inverse;
  const V before = x - 1.0;
  const V base = select(below, inverse, select(above, before, 1.0));
  const V product = select(below, q + low, select(above, before * f, f) * q);
  return select(magnitude(inverse) < std::numeric_limits<double>::infinity(), base + product, inverse);
}

/// Below 0.9 ulp for x >= 0.
template <OfDouble V>
V gamma(V x) {
  const V size = clamp(x, -1, 172);
  const V large = select(size < kFirstOfStirling, kFirstOfStirling, size);
  const Pair<V> log = log_gamma_as_pair(large, log2_as_pair(large), kLog2E, kHalfLog2OfCircle);
  const Pair<V> all = add_smaller(log.high, fma(stirling(large), V(kLog2E[0]), log.low));
  V result = select(size < kFirstOfStirling, gamma_of_small(size), exp2_of_pair(all.high, all.low));
  replace_gammas(x < 0.0, x, result);
  return result;
}

/// (x - 1) (x - 2) R as a pair, 1 <= x <= 3, of x + 3/2 and the factors.
template <OfDouble V>
Pair<V> log_gamma_near_zeros(Pair<V> moved, V less_one, V less_two) {
  const V w = 1.0 / moved.high;
  const V w_low = fma(-w, moved.low, fma(-w, moved.high, V(1.0))) * w;
  const V u = w - 0.3125;
  const V slope = polynomial(u, kLogGamma);
  const V ratio = fma(u, slope, V(kLogGammaMiddle[0]));
  // The error of w times the derivative of R, by its first terms.
  const V derivative = fma(fma(u, V(3 * kLogGamma[2]), V(2 * kLogGamma[1])), u, V(kLogGamma[0]));
  const V ratio_low =
      fma(w_low, derivative, fma(u, slope, V(kLogGammaMiddle[0]) - ratio) + kLogGammaMiddle[1]);
  const Pair<V> factors = multiply_exactly(less_one, less_two);
  const Pair<V> product = multiply_exactly(factors.high, ratio);
  return {product.high, fma(factors.high, ratio_low, fma(factors.low, ratio, product.low))};
}

/// Below 0.9 ulp for x >= 0.
template <OfDouble V>
V lgamma(V x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V size = magnitude(x);
  const Pair<V> binary = log2_as_pair(size);
  const Pair<V> product = multiply_exactly(binary.high, V(kLn2[0]));
  const Pair<V> log = {product.high, fma(binary.high, V(kLn2[1]), fma(binary.low, V(kLn2[0]), product.low))};

  const Pair<V> large = log_gamma_as_pair(size, log, kOne, kHalfLogOfCircle);
  const V of_large = large.high + (large.low + stirling(size));

  const auto below = size < 1.0;
  const V less_one = select(below, size, size - 1.0);
  const Pair<V> moved = add_exactly(size, select(below, V(2.5), 1.5));
  const Pair<V> near = log_gamma_near_zeros(moved, less_one, less_one - 1.0);
  const Pair<V> whole = add_exactly(near.high, select(below, -log.high, 0.0));
  const V of_small = whole.high + (whole.low + (near.low + select(below, -log.low, 0.0)));

  const V value = select(size < kFirstOfStirling, of_small, of_large);
  const V finite = select(magnitude(large.high) < kInfinity, value, kInfinity);
  V result = select((size == 0.0) | (size == kInfinity), kInfinity, select(x == x, finite, x));
  replace_log_gammas(x < 0.0, x, result);
  return result;
}

/// In double.
template <OfFloat V>
V gamma(V x) {
  return narrow(gamma(widen(x)));
}
template <OfFloat V>
V lgamma(V x) {
  return narrow(lgamma(widen(x)));
}

}  // namespace ingot::base::math::kernels
