#pragma once

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

/// |x| = n pi/2 + r, |r| <= pi/4: n times the first word of pi/2 is subtracted without error, the rest gives
/// r as a pair. Then sin(r) = r + r z S(z) and cos(r) = 1 - z/2 + z z C(z), z = r*r; both
/// are computed, the quadrant chooses. Arguments above a limit go to reduce_by_half_pi.
namespace ingot::base::math::kernels {

inline constexpr double kLargeAngle = 0x1p40;
inline constexpr double kLargeAngleFloat = 0x1p17;

template <OfDouble V>
Angle<V> reduce_angle(V size) {
  const Integer<V> n = nearest_integer(size, kTwoOverPi[0]);
  const V first = fma(n.real, V(-kHalfPi[0]), size);
  const Pair<V> second = multiply_exactly(n.real, V(kHalfPi[1]));
  const V high = first - second.high;
  const V low = fma(n.real, V(-kHalfPi[2]), ((first - high) - second.high) - second.low);
  Angle<V> angle{high, low, n.bits};
  reduce_large(size, kLargeAngle, angle);
  return angle;
}
/// sin and cos of r, as sums high + low.
template <OfDouble V>
Pair<V> sin_of(const Angle<V>& r, V z, V near_cos) {
  return {r.high, fma(r.high * z, polynomial(z, kSin), r.low * near_cos)};
}
template <OfDouble V>
Pair<V> cos_of(const Angle<V>& r, V z) {
  const V half = z * 0.5;
  const V high = 1.0 - half;
  const V lost = fma(-r.high, r.low, (1.0 - high) - half);
  return {high, fma(z * z, polynomial(z, kCos), lost)};
}

/// sin of |x| with the quadrant moved on by `turn` and the sign of `sign`.
template <OfDouble V>
V sin_turned(V x, int turn, typename V::Bits sign) {
  const Angle<V> r = reduce_angle(magnitude(x));
  const V z = r.high * r.high;
  const Pair<V> cosine = cos_of(r, z);
  const Pair<V> sine = sin_of(r, z, cosine.high);
  const auto quadrant = r.quadrant + turn;
  const V value =
      select((quadrant & 1) == 0, sine.high, cosine.high) + select((quadrant & 1) == 0, sine.low, cosine.low);
  return from_bits(bits(value) ^ ((quadrant & 2) << 62) ^ sign);
}
/// For float by halves of the circle: |x| + turn pi/2 = n pi + r, |r| <= pi/2, one polynomial. The rounding
/// error of r*r is made good, with the slope of sin(r)/r near pi/2.
template <OfFloat V>
V sin_turned(V x, int turn, typename V::Bits sign) {
  constexpr double kAnchor = 0x1.8p23;
  const V size = magnitude(x);
  const V turns =
      turn == 0 ? fma(size, V(kOneOverPi[0]), V(kAnchor)) : fma(size, V(kOneOverPi[0]), V(0.5)) + kAnchor;
  const V n = turn == 0 ? turns - kAnchor : (turns - kAnchor) - 0.5;
  const V first = fma(n, V(-kPiFloat[1]), fma(n, V(-kPiFloat[0]), size));
  HalfTurns<V> angle{fma(n, V(-kPiFloat[2]), first), bits(turns)};
  reduce_large(size, kLargeAngleFloat, turn, angle);
  const V z = angle.rest * angle.rest;
  const V z_low = fma(angle.rest, angle.rest, -z);
  const V below = fma(z, polynomial(z, kSinHalfFloat), z_low * -0.135);
  const V value = fma(angle.rest, below, angle.rest);
  return from_bits(bits(value) ^ (angle.count << 31) ^ sign);
}

template <class V>
V sin(V x) {
  constexpr int64_t kSign =
      OfDouble<V> ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  return sin_turned(x, 0, bits(x) & kSign);
}
template <class V>
V cos(V x) {
  return sin_turned(x, 1, 0);
}

/// The quotient of the two pairs, inverted in odd quadrants.
template <OfDouble V>
V tan(V x) {
  const Angle<V> r = reduce_angle(magnitude(x));
  const V z = r.high * r.high;
  Pair<V> cosine = cos_of(r, z);
  Pair<V> sine = sin_of(r, z, cosine.high);
  cosine = add_smaller(cosine.high, cosine.low);
  sine = add_smaller(sine.high, sine.low);
  const auto even = (r.quadrant & 1) == 0;
  const Pair<V> above{select(even, sine.high, cosine.high), select(even, sine.low, cosine.low)};
  const Pair<V> below{select(even, cosine.high, sine.high), select(even, cosine.low, sine.low)};
  const Pair<V> quotient = divide_pairs(above, below);
  const auto sign = ((r.quadrant & 1) << 63) ^ (bits(x) & std::numeric_limits<int64_t>::min());
  return from_bits(bits(quotient.high + quotient.low) ^ sign);
}
template <OfFloat V>
V tan(V x) {
  const auto wide = widen(x);
  using W = std::remove_const_t<decltype(wide)>;
  const Angle<W> r = reduce_angle(magnitude(wide));
  const W z = r.high * r.high;
  const W sine = fma(r.high * z, polynomial(z, kSinShort), r.high);
  const W cosine = fma(z * z, polynomial(z, kCosShort), fma(z, W(-0.5), W(1.0)));
  const auto even = (r.quadrant & 1) == 0;
  const W quotient = select(even, sine, cosine) / select(even, cosine, sine);
  const auto sign = ((r.quadrant & 1) << 63) ^ (bits(wide) & std::numeric_limits<int64_t>::min());
  return narrow(from_bits(bits(quotient) ^ sign));
}

}  // namespace ingot::base::math::kernels
