#pragma once

#include "base/math/kernels/exponential.h"
#include "base/math/kernels/logarithm.h"

/// log(exp(x) + exp(y)) = large + log(1 + e), e = exp(small - large), in any base. In double the difference
/// is a pair, whose low part adds to e, and the logarithm is one: of u = 1 + e, rounded, to which the error c
/// adds c/u. So what is left is half the error of e, which a factor of 1/ln(2) needs as a pair,
/// and that of the last sum.
namespace ingot::base::math::kernels {

/// large + log(1 + e + low), 0 <= e <= 1, where `unit` is the logarithm of 2 and `factor` that of Euler's
/// number.
template <OfDouble V>
V add_log_of_one_and(V large, Pair<V> e, const double (&unit)[2], const double (&factor)[2]) {
  const V u = e.high + 1.0;
  const V c = (e.high - (u - 1.0)) + e.low;
  const Split<V> parts = split(u);
  const Pair<V> m = log_as_pair(parts.mantissa);
  const Pair<V> product = multiply_exactly(m.high, V(factor[0]));
  const V low = fma(m.high, V(factor[1]), fma(m.low + c / u, V(factor[0]), product.low));
  const V whole = parts.exponent * unit[0];
  const V high = whole + product.high;
  const V rest = ((whole - high) + product.high) + fma(parts.exponent, V(unit[1]), low);
  const V sum = large + high;
  const V added = sum - large;
  const V lost = (large - (sum - added)) + (high - added);
  return select(magnitude(sum) < std::numeric_limits<double>::infinity(), sum + (lost + rest), sum);
}

/// A power of a pair that has been taken of its high part alone, `rate` the logarithm of its base.
template <OfDouble V>
Pair<V> with_low(V power, Pair<V> exponent, double rate) {
  return {power, select(power > 0.0, power * (exponent.low * rate), 0.0)};
}
template <OfDouble V>
Pair<V> subtract_as_pair(V a, V b) {
  const V difference = a - b;
  const V back = difference - a;
  return {difference, (a - (difference - back)) - (b + back)};
}

/// Equal operands, infinities of one sign among them, separately; NaN is that of the difference.
template <class V>
V with_equal_ones(V x, V y, V difference, V unit, V result) {
  return select(x == y, x + unit, select(difference == difference, result, difference));
}

template <OfDouble V>
V logaddexp(V x, V y) {
  const auto upper = y > x;
  const V large = select(upper, y, x);
  const Pair<V> difference = subtract_as_pair(select(upper, x, y), large);
  const Pair<V> e = with_low(exp(difference.high), difference, 1.0);
  return with_equal_ones(x, y, difference.high, V(kLn2[0]), add_log_of_one_and(large, e, kLn2, kOne));
}
template <OfDouble V>
V logaddexp2(V x, V y) {
  const auto upper = y > x;
  const V large = select(upper, y, x);
  const Pair<V> difference = subtract_as_pair(select(upper, x, y), large);
  const Pair<V> power = exp2_as_pair(difference.high);
  const V more = with_low(power.high, difference, kLn2[0]).low;
  const Pair<V> e = {power.high, more + power.low};
  return with_equal_ones(x, y, difference.high, V(1.0), add_log_of_one_and(large, e, kOne, kLog2E));
}
/// In double, where nothing need be kept separate.
template <OfFloat V>
V logaddexp(V x, V y) {
  return narrow(logaddexp(widen(x), widen(y)));
}
template <OfFloat V>
V logaddexp2(V x, V y) {
  return narrow(logaddexp2(widen(x), widen(y)));
}

}  // namespace ingot::base::math::kernels
