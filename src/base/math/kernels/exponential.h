#pragma once

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

/// exp(x) = 2**n * exp(r), n = rint(x / ln 2), r = x - n ln 2 in two steps, the first of them exact; then
/// exp(r) = 1 + (r + r*r*Q(r)). Arguments are clamped to where the result has become 0 or inf.
namespace ingot::base::math::kernels {

/// n, and r = high + low.
template <class V>
struct Exponent {
  Integer<V> n;
  V high;
  V low;
};
template <OfDouble V>
Exponent<V> reduce_by_ln2(V x) {
  const Integer<V> n = nearest_integer(x, kLog2E[0]);
  const V first = fma(n.real, V(-kLn2[0]), x);
  const V high = fma(n.real, V(-kLn2[1]), first);
  return {n, high, fma(n.real, V(-kLn2[1]), first - high)};
}

/// Below 0.8 ulp: half in the last sum, a quarter in r + r*r*Q where exp(r) < 1. For what `exp` clamps to.
template <OfDouble V>
V exp_in_range(V inside) {
  const Integer<V> n = nearest_integer(inside, kLog2E[0]);
  const V first = fma(n.real, V(-kLn2[0]), inside);
  const V low = n.real * -kLn2[1];
  const V r = first + low;
  return scale(first + fma(r * r, polynomial(r, kExp), low) + 1.0, n);
}
template <OfFloat V>
V exp_in_range(V inside) {
  const Integer<V> n = nearest_integer(inside, kLog2E[0]);
  const V r = fma(n.real, V(-kLn2Float[1]), fma(n.real, V(-kLn2Float[0]), inside));
  return scale(fma(r * r, polynomial(r, kExpFloat), r) + 1.0, n);
}
template <class V>
V exp(V x) {
  return exp_in_range(OfDouble<V> ? clamp(x, -746, 710) : clamp(x, -104, 89));
}

/// exp of the sum of a pair, |high| <= ln(2)/2: 1 + (high + (low + high**2 Q(high))), less the 1.
template <OfDouble V>
V exp_rest(V high, V low) {
  return high + fma(high * high, polynomial(high, kExp), low);
}

template <OfDouble V>
Pair<V> exp2_as_pair(V x) {
  const V inside = clamp(x, -1076, 1025);
  const Integer<V> n = nearest_integer(inside, 1);
  const V f = inside - n.real;
  const V r = f * kLn2[0];
  const Pair<V> sum = add_smaller(V(1.0), exp_rest(r, fma(f, V(kLn2[1]), fma(f, V(kLn2[0]), -r))));
  return {scale(sum.high, n), scale(sum.low, n)};
}
template <OfDouble V>
V exp2(V x) {
  return exp2_as_pair(x).high;
}
template <OfFloat V>
V exp2(V x) {
  const V inside = clamp(x, -151, 129);
  const Integer<V> n = nearest_integer(inside, 1);
  const V f = inside - n.real;
  return scale(fma(f, polynomial(f, kExp2Float), V(1.0)), n);
}

/// 2**n ((1 - 2**-n) + r + r*r/2 + r**3 ...): where these cancel, the first three are added as pairs.
template <OfDouble V>
V expm1(V x) {
  const V inside = clamp(x, -40, 710);
  const Exponent<V> e = reduce_by_ln2(inside);
  const V down = select(e.n.real < 64.0, from_bits((typename V::Bits(kBias<double>) - e.n.bits) << 52), 0.0);
  const Pair<V> less = add_smaller(V(1.0), -down);
  const Pair<V> sum = add_smaller(less.high, e.high);
  const Pair<V> square = multiply_exactly(e.high, e.high * 0.5);
  const V cube = e.high * (square.high + square.high);
  const V rest = fma(cube, polynomial(e.high, kExpCubic), square.low + (e.low + (less.low + sum.low)));
  const Pair<V> all = add_smaller(sum.high, square.high);
  return select(magnitude(x) < 0x1p-54, x, scale(all.high + (all.low + rest), e.n));
}
/// As float's value: computed in double.
template <OfDouble V>
V expm1_short(V x) {
  const V inside = clamp(x, -40, 90);
  const Integer<V> n = nearest_integer(inside, kLog2E[0]);
  const V r = fma(n.real, V(-kLn2[0]), inside);
  const V up = from_bits((n.bits + kBias<double>) << 52);
  return fma(up, fma(r * r, polynomial(r, kExpShort), r), up - 1.0);
}
template <OfFloat V>
V expm1(V x) {
  return select(magnitude(x) < 0x1p-25, x, narrow(expm1_short(widen(x))));
}

}  // namespace ingot::base::math::kernels
