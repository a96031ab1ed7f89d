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

/// exp(x) / 2 for 0 <= x <= 90, without overflow before the result.
template <OfFloat V>
V half_exp(V x) {
  const Integer<V> n = nearest_integer(x, kLog2E[0]);
  const V r = fma(n.real, V(-kLn2Float[1]), fma(n.real, V(-kLn2Float[0]), x));
  return scale(fma(r * r, polynomial(r, kExpFloat), r) + 1.0, Integer<V>{n.real - 1.0, n.bits - 1});
}
/// With e = exp|x| / 2: sinh|x| = e - 1/(4e), below 1 a polynomial; cosh x = e + 1/(4e).
template <OfFloat V>
V sinh(V x) {
  const V size = clamp(magnitude(x), 0, 90);
  const V e = half_exp(size);
  const V z = size * size;
  const V small = fma(size * z, polynomial(z, kSinhFloat), size);
  return with_sign_of(select(size < 1.0, small, e - 0.25 / e), x);
}
template <OfFloat V>
V cosh(V x) {
  const V e = half_exp(clamp(magnitude(x), 0, 90));
  return e + 0.25 / e;
}
/// 1 - 2/(exp(2|x|) + 1), below 0.6 a polynomial.
template <OfFloat V>
V tanh(V x) {
  const V size = clamp(magnitude(x), 0, 40);
  const V e = half_exp(size + size);
  const V z = size * size;
  const V small = fma(size * z, polynomial(z, kTanhFloat), size);
  return with_sign_of(select(size < 0.6, small, 1.0 - 1.0 / (e + 0.5)), x);
}

}  // namespace ingot::base::math::kernels
