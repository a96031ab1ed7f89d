#pragma once

#include "base/math/kernels/exponential.h"
#include "base/math/kernels/logarithm.h"

/// |x|**y = 2**(y log2|x|). The logarithm is a pair of 2**-67 relative: |x| = 2**k m, s = (m - 1)/(m + 1) as
/// a pair, log2(m) = 2/ln 2 (s + s T), T = z/3 + z*z A(z) as a pair, z = s*s. The product with y is a pair p;
/// its integer part scales, the rest goes to the exponential as a pair. An exponent of 2 gives x * x; those
/// of 3 and 4 are products to which their errors are added.
namespace ingot::base::math::kernels {

/// high + low; high where that is no number, as products that overflow have no errors.
template <OfDouble V>
V with_error(V high, V low) {
  const V whole = high + low;
  return select(whole == whole, whole, high);
}

template <OfDouble V>
V cube(V x) {
  const Pair<V> square = multiply_exactly(x, x);
  const Pair<V> whole = multiply_exactly(square.high, x);
  const V value = with_error(whole.high, fma(square.low, x, whole.low));
  // Of a zero, the errors have lost the sign.
  return from_bits(bits(value) | (bits(x) & typename V::Bits(std::numeric_limits<int64_t>::min())));
}
template <OfFloat V>
V cube(V x) {
  const auto wide = widen(x);
  return narrow(wide * wide * wide);
}

template <OfDouble V>
V fourth_power(V x) {
  const Pair<V> square = multiply_exactly(x, x);
  const Pair<V> whole = multiply_exactly(square.high, square.high);
  return with_error(whole.high, fma(square.high + square.high, square.low, whole.low));
}
template <OfFloat V>
V fourth_power(V x) {
  const auto wide = widen(x);
  const auto square = wide * wide;
  return narrow(square * square);
}

template <OfDouble V>
Pair<V> log2_as_pair(V size) {
  const Split<V> parts = split(size);
  const V f = parts.mantissa - 1.0;
  const V sum = parts.mantissa + 1.0;
  const V sum_low = parts.mantissa - (sum - 1.0);
  const V inverse = 1.0 / sum;
  const V s = f * inverse;
  const V s_low = fma(-s, sum_low, fma(-s, sum, f)) * inverse;
  const V z = s * s;
  const V z_low = fma(s + s, s_low, fma(s, s, -z));
  const V third = z * kThird[0];
  const V third_low = fma(z_low, V(kThird[0]), fma(z, V(kThird[1]), fma(z, V(kThird[0]), -third)));
  const V more = z * fma(z_low, V(2.0), z) * polynomial_in_two(z, kAtanhLong);
  const Pair<V> t = add_smaller(third, more);
  const Pair<V> unit = multiply_exactly(s, V(kTwoLog2E[0]));
  const V unit_low = fma(s_low, V(kTwoLog2E[0]), fma(s, V(kTwoLog2E[1]), unit.low));
  const Pair<V> first = add_smaller(parts.exponent, unit.high);
  const Pair<V> product = multiply_exactly(unit.high, t.high);
  const V product_low = fma(unit_low, t.high, fma(unit.high, t.low + third_low, product.low));
  const Pair<V> whole = add_smaller(first.high, product.high);
  return {whole.high, whole.low + (first.low + (unit_low + product_low))};
}

/// How x**y differs from |x|**y, as C's Annex F has it.
template <class V>
V power_with_sign(V x, V y, V result) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int64_t kSign =
      OfDouble<V> ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  const V half = y * 0.5;
  const auto whole = rint(y) == y;
  const auto odd = whole & !(rint(half) == half);
  const V with_sign = from_bits(bits(result) | (bits(x) & select(odd, typename V::Bits(kSign), 0)));
  const auto undefined = (x < 0.0) & (x > -kInfinity) & !whole;
  const V real = select(undefined, std::numeric_limits<double>::quiet_NaN(), with_sign);
  const V product = select(y == 2.0, x * x, select(y == 3.0, cube(x), fourth_power(x)));
  return select((y == 0.0) | (x == 1.0), 1.0, select((y == 2.0) | (y == 3.0) | (y == 4.0), product, real));
}

/// 2**(high + low), high in the range of scale, |low| < 2**-40.
template <OfDouble V>
V exp2_of_pair(V high, V low) {
  const Integer<V> n = nearest_integer(high, 1);
  // 2**f = 1 + f ln(2) + f**2 Q(f), the second term as a pair.
  const Pair<V> f = add_smaller(high - n.real, low);
  const Pair<V> r = multiply_exactly(f.high, V(kLn2[0]));
  const V r_low = fma(f.low, V(kLn2[0]), fma(f.high, V(kLn2[1]), r.low));
  const Pair<V> one = add_smaller(V(1.0), r.high);
  const V more = fma(f.high * f.high, polynomial_in_two(f.high, kExp2), r_low);
  return scale(one.high + (one.low + more), n);
}

template <OfDouble V>
V power(V x, V y) {
  const Pair<V> log = log2_as_pair(magnitude(x));
  const V exponent = clamp(y, -0x1p1000, 0x1p1000);
  const V exact = exponent * log.high;
  const V inside = clamp(exact, -1080, 1030);
  const V low = select(inside == exact, fma(exponent, log.low, fma(exponent, log.high, -exact)), 0.0);
  return power_with_sign(x, y, exp2_of_pair(inside, low));
}
/// In double, where one word is enough.
template <OfFloat V>
V power(V x, V y) {
  const Split<V> parts = split(magnitude(x));
  const auto f = widen(parts.mantissa - 1.0);
  using W = std::remove_const_t<decltype(f)>;
  const W s = f / (f + 2.0);
  const W z = s * s;
  const W log = fma(s * kTwoLog2E[0], fma(z, polynomial(z, kAtanhShort), W(1.0)), widen(parts.exponent));
  const W inside = clamp(widen(clamp(y, -0x1p100, 0x1p100)) * log, -160, 140);
  const Integer<W> n = nearest_integer(inside, 1);
  const W rest = inside - n.real;
  const W up = from_bits((n.bits + kBias<double>) << 52);
  return power_with_sign(x, y, narrow(fma(up * rest, polynomial(rest, kExp2Short), up)));
}

}  // namespace ingot::base::math::kernels
