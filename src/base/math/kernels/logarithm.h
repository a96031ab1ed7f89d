#pragma once

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

/// x = 2**k m, 3/4 <= m < 3/2, f = m - 1 exact; with s = f / (2 + f) and z = s*s,
///   log(m) = 2 atanh(s) = f - (h - s (h + R)),  h = f*f/2,  R = 2 z A(z),  A = (atanh(s)/s - 1) / z,
/// so that the largest term, f, has no error. 0, inf and NaN come out of `split`.
namespace ingot::base::math::kernels {

/// log(m) = f - (half_square - rest).
template <class V>
struct LogMantissa {
  V f;
  V half_square;
  V rest;
};
template <OfDouble V>
LogMantissa<V> log_mantissa(V m) {
  const V f = m - 1.0;
  const V s = f / (f + 2.0);
  const V z = s * s;
  const V h = f * 0.5 * f;
  return {f, h, s * fma(z + z, polynomial(z, kAtanh), h)};
}

/// log(m) = f + below, |below| < |f| / 4.
template <OfFloat V>
Pair<V> log_mantissa(V m) {
  const V f = m - 1.0;
  return {f, f * f * fma(f, polynomial(f, kLogFloat), V(-0.5))};
}

/// Below 0.8 ulp.
template <OfDouble V>
V log(V x) {
  const Split<V> parts = split(x);
  const LogMantissa<V> m = log_mantissa(parts.mantissa);
  const V low = fma(parts.exponent, V(kLn2[1]), m.rest);
  return fma(parts.exponent, V(kLn2[0]), m.f - (m.half_square - low));
}
template <OfFloat V>
V log(V x) {
  const Split<V> parts = split(x);
  const Pair<V> m = log_mantissa(parts.mantissa);
  const V low = fma(parts.exponent, V(kLn2Float[1]), m.low);
  return fma(parts.exponent, V(kLn2Float[0]), m.high + low);
}

/// k * unit + (high + low) * factor, unit and factor pairs, k * unit[0] exact; k may be infinite.
template <class V>
V log_in_base(V k, Pair<V> m, const double (&unit)[2], const double (&factor)[2]) {
  const Pair<V> product = multiply_exactly(m.high, V(factor[0]));
  const V low = fma(m.high, V(factor[1]), fma(m.low, V(factor[0]), product.low));
  const V whole = k * unit[0];
  const V sum = whole + product.high;
  const V lost = (whole - sum) + product.high;
  const V rest = lost + (unit[1] == 0 ? low : fma(k, V(unit[1]), low));
  return select(magnitude(k) < 0x1p20, sum + rest, sum);
}
template <OfDouble V>
Pair<V> log_as_pair(V mantissa) {
  const LogMantissa<V> m = log_mantissa(mantissa);
  const V high = m.f - m.half_square;
  const V square_low = fma(m.f * 0.5, m.f, -m.half_square);
  return {high, ((m.f - high) - m.half_square) + (m.rest - square_low)};
}
template <OfFloat V>
Pair<V> log_as_pair(V mantissa) {
  return log_mantissa(mantissa);
}
inline constexpr double kOne[] = {1, 0};

template <OfDouble V>
V log2(V x) {
  const Split<V> parts = split(x);
  return log_in_base(parts.exponent, log_as_pair(parts.mantissa), kOne, kLog2E);
}
template <OfFloat V>
V log2(V x) {
  const Split<V> parts = split(x);
  const Pair<V> m = log_mantissa(parts.mantissa);
  const V low = fma(m.low, V(kLog2EFloat[0]), m.high * kLog2EFloat[1]);
  return parts.exponent + fma(m.high, V(kLog2EFloat[0]), low);
}
template <class V>
V log10(V x) {
  const Split<V> parts = split(x);
  return log_in_base(parts.exponent, log_as_pair(parts.mantissa), OfDouble<V> ? kLog10Of2 : kLog10Of2Float,
                     OfDouble<V> ? kLog10E : kLog10EFloat);
}

/// log(1 + x): the rounding error c of u = 1 + x adds c/u, replaced by a quadratic in f: it is exact where f
/// is small and c large against f.
template <OfDouble V>
V log1p(V x) {
  const V u = x + 1.0;
  const V one = u - x;
  const V error = (1.0 - one) + (x - (u - one));
  const Split<V> parts = split(u);
  const LogMantissa<V> m = log_mantissa(parts.mantissa);
  // 2**-k, which is not used where it would be too small.
  const V down = select(x < 0x1p60, from_bits(bits(parts.mantissa) - bits(u) + bits(V(1.0))), 0.0);
  const V correction = error * down * fma(m.f, fma(m.f, V(0.7), V(-1.0)), V(1.0));
  const V low = fma(parts.exponent, V(kLn2[1]), m.rest + correction);
  const V result = fma(parts.exponent, V(kLn2[0]), m.f - (m.half_square - low));
  const V safe = select(magnitude(parts.exponent) < 0x1p20, result, parts.exponent * parts.mantissa);
  return select(magnitude(x) < 0x1p-54, x, safe);
}
template <OfFloat V>
V log1p(V x) {
  const V u = x + 1.0;
  const V one = u - x;
  const V error = (1.0 - one) + (x - (u - one));
  const Split<V> parts = split(u);
  const Pair<V> m = log_mantissa(parts.mantissa);
  const V down = select(x < 0x1p30, from_bits(bits(parts.mantissa) - bits(u) + bits(V(1.0))), 0.0);
  const V correction = error * down * fma(m.high, fma(m.high, V(0.7), V(-1.0)), V(1.0));
  const V low = fma(parts.exponent, V(kLn2Float[1]), m.low + correction);
  const V result = fma(parts.exponent, V(kLn2Float[0]), m.high + low);
  const V safe = select(magnitude(parts.exponent) < 0x1p20, result, parts.exponent * parts.mantissa);
  return select(magnitude(x) < 0x1p-25, x, safe);
}

}  // namespace ingot::base::math::kernels
