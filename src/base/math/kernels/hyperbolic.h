#pragma once

#include "base/math/kernels/exponential.h"

/// With |x| = n ln 2 + r, C = cosh(r), S = sinh(r), t = 2**(-2n-1):
///   sinh|x| = 2**n ((1/2 - t) C + (1/2 + t) S),  cosh x = 2**n ((1/2 + t) C + (1/2 - t) S).
/// For n = 0 nothing cancels; otherwise the largest terms are added without error.
namespace ingot::base::math::kernels {

template <class V>
struct Hyperbolic {
  Integer<V> n;
  Pair<V> sinh;  ///< of 2**-n sinh|x|
  Pair<V> cosh;
};

/// (1/2 + t) (1 + c) + (1/2 - t) (high + low).
template <class V>
Pair<V> hyperbolic_sum(V t, V c, V high, V low) {
  const Pair<V> outer = add_smaller(V(0.5), t);
  const Pair<V> inner = add_smaller(V(0.5), -t);
  const Pair<V> product = multiply_exactly(inner.high, high);
  const Pair<V> sum = add_smaller(outer.high, product.high);
  return {sum.high,
          sum.low + (outer.low + fma(inner.low, high, product.low)) + fma(outer.high, c, inner.high * low)};
}

template <OfDouble V>
Hyperbolic<V> hyperbolic(V size) {
  const Exponent<V> e = reduce_by_ln2(size);
  const V z = e.high * e.high;
  const V c = z * polynomial(z, kCosh);
  const V s = fma(e.high * z, polynomial(z, kSinh), e.low);
  const V t =
      select(e.n.real < 40.0, from_bits((typename V::Bits(kBias<double> - 1) - (e.n.bits << 1)) << 52), 0.0);
  return {e.n, hyperbolic_sum(-t, c, e.high, s), hyperbolic_sum(t, c, e.high, s)};
}

template <OfDouble V>
V sinh(V x) {
  const Hyperbolic<V> h = hyperbolic(clamp(magnitude(x), 0, 712));
  return with_sign_of(scale(h.sinh.high + h.sinh.low, h.n), x);
}
template <OfDouble V>
V cosh(V x) {
  const Hyperbolic<V> h = hyperbolic(clamp(magnitude(x), 0, 712));
  return scale(h.cosh.high + h.cosh.low, h.n);
}
template <OfDouble V>
V tanh(V x) {
  const Hyperbolic<V> h = hyperbolic(clamp(magnitude(x), 0, 40));
  const Pair<V> quotient =
      divide_pairs(add_smaller(h.sinh.high, h.sinh.low), add_smaller(h.cosh.high, h.cosh.low));
  return with_sign_of(quotient.high + quotient.low, x);
}

/// The same for float, in double.
template <class V>
struct HyperbolicShort {
  V sinh;
  V cosh;
};
template <OfDouble V>
HyperbolicShort<V> hyperbolic_short(V size) {
  const Integer<V> n = nearest_integer(size, kLog2E[0]);
  const V r = fma(n.real, V(-kLn2[0]), size);
  const V z = r * r;
  const V c = fma(z, polynomial(z, kCoshShort), V(1.0));
  const V s = fma(r * z, polynomial(z, kSinhShort), r);
  const V up = from_bits((n.bits + (kBias<double> - 1)) << 52);
  const V down = from_bits((typename V::Bits(kBias<double> - 1) - n.bits) << 52);
  return {fma(up - down, c, (up + down) * s), fma(up + down, c, (up - down) * s)};
}
template <OfFloat V>
V sinh(V x) {
  return with_sign_of(narrow(hyperbolic_short(widen(clamp(magnitude(x), 0, 90))).sinh), x);
}
template <OfFloat V>
V cosh(V x) {
  return narrow(hyperbolic_short(widen(clamp(magnitude(x), 0, 90))).cosh);
}
template <OfFloat V>
V tanh(V x) {
  const auto h = hyperbolic_short(widen(clamp(magnitude(x), 0, 40)));
  return with_sign_of(narrow(h.sinh / h.cosh), x);
}

}  // namespace ingot::base::math::kernels
