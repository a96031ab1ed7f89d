#pragma once

#include "base/math/kernels/plain.h"

/// Division with remainder, exact: of sizes the remainder is a - trunc(a/b) b, which the fused multiply-add
/// gives without error. The rounded quotient is at most one too large, as long as integers of its size are
/// numbers of the type; beyond that the C library is asked.
namespace ingot::base::math::kernels {

/// fmod of sizes, and the rounded quotient.
template <class V>
struct Remainder {
  V quotient;
  V rest;
};
template <class V>
Remainder<V> remainder_of_sizes(V a, V b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLimit = OfDouble<V> ? 0x1p53 : 0x1p24;
  const V quotient = a / b;
  const V first = fma(-trunc(quotient), b, a);
  V rest = select(a < b, a, select(first < 0.0, first + b, first));
  replace_remainders((quotient >= kLimit) & (b > 0.0) & (a < kInfinity), a, b, rest);
  return {quotient, rest};
}

/// The dividend's sign; NaN by zero and of infinities.
template <class V>
V fmod(V a, V b) {
  return with_sign_of(remainder_of_sizes(magnitude(a), magnitude(b)).rest, a);
}

template <class V>
typename V::Mask signs_differ(V rest, V b) {
  return ((rest < 0.0) & (b > 0.0)) | ((rest > 0.0) & (b < 0.0));
}

/// The divisor's sign.
template <class V>
V remainder(V a, V b) {
  const V rest = fmod(a, b);
  const V moved = select(signs_differ(rest, b), rest + b, rest);
  return select(rest == 0.0, with_sign_of(magnitude(rest), b), moved);
}

/// (a - rest) / b, which is within rounding of an integer, as that integer.
template <class V>
V floor_divide(V a, V b) {
  const Remainder<V> sizes = remainder_of_sizes(magnitude(a), magnitude(b));
  const V rest = with_sign_of(sizes.rest, a);
  const V sign = from_bits(bits(a) ^ bits(b));
  const V near = (a - rest) / b;
  const V quotient = select(signs_differ(rest, b), near - 1.0, near);
  const V whole = trunc(quotient);
  const V below = select(quotient < whole, whole - 1.0, whole);
  const V nearest = select(quotient - below > 0.5, below + 1.0, below);
  const V zero = with_sign_of(magnitude(quotient), sign);
  const V by_zero = with_sign_of(sizes.quotient, sign);
  return select(b == 0.0, by_zero, select(quotient == 0.0, zero, nearest));
}

}  // namespace ingot::base::math::kernels
