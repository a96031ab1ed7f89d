#pragma once

#include "base/math/kernels/logarithm.h"

/// arcsinh|x| = log(|x| + sqrt(x*x + 1)), arccosh x = log(x + sqrt(x*x - 1)), arctanh|x| = log((1 + |x|) / (1
/// - |x|)) / 2: the logarithm of a pair, the error of which is far below an ulp of the result: near 1 the
/// logarithm is the pair less 1, so that nothing is lost where the result is small.
namespace ingot::base::math::kernels {

/// The root of a pair, to twice the precision less a few bits; of 0, 0.
template <class V>
Pair<V> root_of_pair(Pair<V> a) {
  constexpr double kTiny = OfDouble<V> ? 0x1p-1000 : 0x1p-120;
  const V root = sqrt(a.high);
  return {root, (fma(-root, root, a.high) + a.low) * (0.5 / (root + kTiny))};
}

/// log(high + low) + ln(2) * twos, high >= 3/4, |low| at most an ulp of high: as log1p, low/high by a
/// quadratic.
template <class V>
V log_of_pair(Pair<V> x, V twos) {
  const Split<V> parts = split(x.high);
  const V down = select(x.high < (OfDouble<V> ? 0x1p60 : 0x1p30),
                        from_bits(bits(parts.mantissa) - bits(x.high) + bits(V(1.0))), 0.0);
  const V exponent = parts.exponent + twos;
  if constexpr (OfDouble<V>) {
    const LogMantissa<V> m = log_mantissa(parts.mantissa);
    const V correction = x.low * down * fma(m.f, fma(m.f, V(0.7), V(-1.0)), V(1.0));
    const V low = fma(exponent, V(kLn2[1]), m.rest + correction);
    return fma(exponent, V(kLn2[0]), m.f - (m.half_square - low));
  } else {
    const Pair<V> m = log_mantissa(parts.mantissa);
    const V correction = x.low * down * fma(m.high, fma(m.high, V(0.7), V(-1.0)), V(1.0));
    const V low = fma(exponent, V(kLn2Float[1]), m.low + correction);
    return fma(exponent, V(kLn2Float[0]), m.high + low);
  }
}

/// log(x + sqrt(x*x + one)), one being 1 or -1, for x >= 0; of large x, log(x) + ln(2).
template <class V>
V log_of_sum_with_root(V x, double one) {
  const auto large = x > (OfDouble<V> ? 0x1p30 : 0x1p14);
  const V inside = select(large, 2.0, x);
  const Pair<V> square = multiply_exactly(inside, inside);
  const Pair<V> sum = add_exactly(square.high, V(one));
  const Pair<V> root = root_of_pair(add_exactly(sum.high, sum.low + square.low));
  const Pair<V> whole = add_exactly(inside, root.high);
  const Pair<V> argument = add_smaller(whole.high, whole.low + root.low);
  return log_of_pair(Pair<V>{select(large, x, argument.high), select(large, 0.0, argument.low)},
                     select(large, V(1.0), 0.0));
}

/// Below this the odd functions are x: their next term is less than a quarter of an ulp.
template <class V>
inline constexpr double kLinear = OfDouble<V> ? 0x1p-27 : 0x1p-13;

/// At most 0.9 ulp, as the others: the pair's error and half an ulp in the last sum.
template <class V>
V arcsinh(V x) {
  const V size = magnitude(x);
  return with_sign_of(select(size < kLinear<V>, size, log_of_sum_with_root(size, 1)), x);
}
template <class V>
V arccosh(V x) {
  return select(x >= 1.0, log_of_sum_with_root(x, -1), V(std::numeric_limits<double>::quiet_NaN()));
}
template <class V>
V arctanh(V x) {
  const V size = magnitude(x);
  const Pair<V> quotient = divide_pairs(add_smaller(V(1.0), size), add_smaller(V(1.0), -size));
  const V value = log_of_pair(add_smaller(quotient.high, quotient.low), V(0.0)) * 0.5;
  const V edge = select(size == 1.0, V(std::numeric_limits<double>::infinity()),
                        std::numeric_limits<double>::quiet_NaN());
  const V inside = select(size < kLinear<V>, size, value);
  return with_sign_of(select(size < 1.0, inside, edge), x);
}

}  // namespace ingot::base::math::kernels
