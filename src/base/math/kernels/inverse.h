#pragma once

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

namespace ingot::base::math::kernels {

/// asin(x) = s + s z P(z): s = |x|, z = x*x up to 1/2; above, asin(x) = pi/2 - 2 asin(s) with
/// z = (1 - |x|)/2 (exact), s = sqrt(z), a pair (float: one word).
template <class V>
struct Arcsine {
  typename V::Mask above_half;
  V s;
  V rest;  ///< asin(s) - s
};
template <class V>
Arcsine<V> arcsine(V size) {
  const auto above = size > 0.5;
  const V z = select(above, fma(size, V(-0.5), V(0.5)), size * size);
  const V root = sqrt(z);
  const V s = select(above, root, size);
  if constexpr (OfDouble<V>) {
    const V low = fma(-root, root, z) * (0.5 / (root + 0x1p-1000));
    return {above, s, fma(s * z, polynomial(z, kAsin), select(above, low, 0.0))};
  } else {
    return {above, s, s * z * polynomial(z, kAsinFloat)};
  }
}
template <class V>
V arcsin(V x) {
  constexpr const auto& kTurn = OfDouble<V> ? kHalfPi : kHalfPiFloat;
  const Arcsine<V> a = arcsine(magnitude(x));
  const Pair<V> sum = add_smaller(V(kTurn[0]), a.s * -2.0);
  const V above = sum.high + (sum.low + fma(a.rest, V(-2.0), V(kTurn[1])));
  return with_sign_of(select(a.above_half, above, a.s + a.rest), x);
}
/// Between -1/2 and 1/2: pi/2 - asin(x); below, pi - 2 asin(s); above, 2 asin(s).
template <class V>
V arccos(V x) {
  constexpr const auto& kTurn = OfDouble<V> ? kHalfPi : kHalfPiFloat;
  const Arcsine<V> a = arcsine(magnitude(x));
  const auto negative = x < 0.0;
  const V turn = select(a.above_half, select(negative, V(2 * kTurn[0]), 0.0), V(kTurn[0]));
  const V turn_low = select(a.above_half, select(negative, V(2 * kTurn[1]), 0.0), V(kTurn[1]));
  const V factor = select(a.above_half, select(negative, V(-2.0), 2.0), select(negative, V(1.0), -1.0));
  const Pair<V> sum = add_smaller(turn, a.s * factor);
  return sum.high + (sum.low + fma(a.rest, factor, turn_low));
}

/// The angle of a point of the first quadrant, small <= large: with t = small/large it is atan(t) for
/// t <= tan(pi/8), above pi/4 + atan((t - 1)/(t + 1)). `turns` quarters of pi are added, `flip` is -1 where
/// the angle counts backwards. The quotient is a pair u + low; atan(u) = u + u z A(z), z = u*u.
template <OfDouble V>
V angle_of(V small, V large, V turns, V flip) {
  const auto steep = small > large * kTanEighth[0];
  const Pair<V> difference = add_smaller(large, -small);
  const Pair<V> sum = add_smaller(large, small);
  const Pair<V> above{select(steep, -difference.high, small), select(steep, -difference.low, 0.0)};
  const Pair<V> below{select(steep, sum.high, large), select(steep, sum.low, 0.0)};
  const Pair<V> u = divide_pairs(above, below);
  const V z = u.high * u.high;
  const V rest = fma(u.high * z, polynomial(z, kAtan), u.low);
  const V count = select(steep, turns + flip, turns);
  const V offset = count * kQuarterPi[0];
  const V offset_low = fma(count, V(kQuarterPi[1]), fma(count, V(kQuarterPi[0]), -offset));
  const Pair<V> total = add_smaller(offset, u.high * flip);
  return total.high + (total.low + fma(rest, flip, offset_low));
}
/// Of float: quarters * pi/4 + flip * atan(small/large), one polynomial up to 1.
template <OfFloat V>
V angle_of(V small, V large, V quarters, V flip) {
  const V u = small / large;
  const V z = u * u;
  const V value = fma(u * z, polynomial(z, kAtanFloat), u);
  return fma(quarters, V(kQuarterPiFloat[0]), fma(quarters, V(kQuarterPiFloat[1]), value * flip));
}

template <class V>
V arctan(V x) {
  const V size = clamp(magnitude(x), 0, 0x1p100);
  const auto inside = size <= 1.0;
  const V angle = angle_of(select(inside, size, 1.0), select(inside, 1.0, size), select(inside, V(0.0), 2.0),
                           select(inside, V(1.0), -1.0));
  return with_sign_of(angle, x);
}

/// The point is scaled away from overflow and underflow (a quotient of floats needs no pair, hence no scale);
/// of two infinities one half turn is shared, of two zeros the angle is 0 or pi.
template <class V>
V arctan2(V y, V x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V width = magnitude(x);
  const V height = magnitude(y);
  const auto upper = height > width;
  V large = select(upper, height, width);
  V small = select(upper, width, height);
  if constexpr (OfDouble<V>) {
    const V factor = select(large > 0x1p900, V(0x1p-200), select(large < 0x1p-700, V(0x1p200), 1.0));
    large = large * factor;
    small = small * factor;
  }
  const auto endless = large == kInfinity;
  small = select(endless, select(small == kInfinity, V(1.0), 0.0), small);
  large = select(endless | (large == 0.0), 1.0, large);
  const auto is_left = bits(x) < 0;
  // Quarters of pi from which the angle counts: 0, 2 where the roles are changed, 4 minus that where x < 0.
  const V quarters = select(is_left, select(upper, V(2.0), 4.0), select(upper, V(2.0), 0.0));
  const V flip = select(is_left, select(upper, V(1.0), -1.0), select(upper, V(-1.0), 1.0));
  const V angle = with_sign_of(angle_of(small, large, quarters, flip), y);
  return select((x == x) & (y == y), angle, V(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace ingot::base::math::kernels
