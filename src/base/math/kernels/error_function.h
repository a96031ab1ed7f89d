#pragma once

#include "base/math/kernels/exponential.h"

/// Near 0, erf(x) = x + x (c + x*x E(x*x)), c = 2/sqrt(pi) - 1, and erfc(x) = 1 - erf(x). Above, erf|x| =
/// 1 - exp(L(|x| - start) - x*x), and erfc|x| = exp(-x*x) w G(u), w = 1 / (|x| + shift), u = w - middle,
/// where the exponential, w and G are pairs. Both are computed.
namespace ingot::base::math::kernels {

inline constexpr double kErfEdge = 0.85;
inline constexpr double kLogErfcStart = 0.8125;
inline constexpr double kErfcEdge = 0.65;

/// erf(x)/x - 1.
template <class V>
V erf_rest(V x) {
  const V z = x * x;
  if constexpr (OfDouble<V>)
    return fma(z, polynomial(z, kErf), V(kTwoOverRootPiLessOne[1])) + kTwoOverRootPiLessOne[0];
  else
    return fma(z, polynomial(z, kErfFloat), V(kTwoOverRootPiLessOneFloat[1])) + kTwoOverRootPiLessOneFloat[0];
}

/// exp(more - x*x), |more| < 3, where that is not 0: 2**n (1 + (high + low)).
template <class V>
Exponent<V> exp_less_square(V x, V more) {
  const Pair<V> square = multiply_exactly(x, x);
  const auto& ln2 = OfDouble<V> ? kLn2 : kLn2Float;
  const Integer<V> n = nearest_integer(more - square.high, kLog2E[0]);
  const V first = fma(n.real, V(-ln2[0]), -square.high);
  const V rest = more + fma(n.real, V(-ln2[1]), -square.low);
  const V r = first + rest;
  V tail = 0.0;
  if constexpr (OfDouble<V>) tail = fma(r * r, polynomial(r, kExp), rest);
  else tail = fma(r * r, polynomial(r, kExpFloat), rest);
  const V high = first + tail;
  return {n, high, (first - high) + tail};
}

/// Below 0.9 ulp.
template <class V>
V erf(V x) {
  const V size = clamp(magnitude(x), 0, OfDouble<V> ? 5.95 : 4);
  V more = 0.0;
  if constexpr (OfDouble<V>) more = polynomial(size - kLogErfcStart, kLogErfc);
  else more = polynomial(size - kLogErfcStart, kLogErfcFloat);
  const Exponent<V> e = exp_less_square(size, more);
  const V up = from_bits((e.n.bits + kBias<typename V::Element>) << kFractionBits<typename V::Element>);
  const V large = fma(-up, e.high, 1.0 - up);
  return with_sign_of(select(size < kErfEdge, fma(size, erf_rest(size), size), large), x);
}

/// The first coefficient and the others.
template <size_t N>
struct Slope {
  double slope;
  double tail[N - 1];
  constexpr explicit Slope(const double (&c)[N]) : slope(c[0]), tail() {
    for (size_t i = 1; i < N; ++i) tail[i - 1] = c[i];
  }
};
template <class V>
inline constexpr Slope kErfcSlope{kErfc};
template <OfFloat V>
inline constexpr Slope kErfcSlope<V>{kErfcFloat};

/// erfc(x), 0.65 <= x.
template <class V>
V erfc_of_large(V x) {
  constexpr double kShift = OfDouble<V> ? 3 : 2.5;
  constexpr double kMiddle = OfDouble<V> ? 0.15625 : 0.1875;
  const auto& middle = OfDouble<V> ? kErfcMiddle : kErfcMiddleFloat;
  const auto& coefficients = kErfcSlope<V>;
  const V sum = x + kShift;
  const V sum_low = x - (sum - kShift);
  const V w = 1.0 / sum;
  const V w_low = fma(-w, sum_low, fma(-w, sum, V(1.0))) * w;
  const V u = w - kMiddle;
  const V bend = polynomial(u, coefficients.tail);
  const V slope = fma(u, bend, V(coefficients.slope));
  const V slope_low = fma(u, bend, coefficients.slope - slope);
  const V g = fma(u, slope, V(middle[0]));
  // The error of w times the derivative of G, by its first terms.
  const V derivative =
      fma(fma(u, V(3 * coefficients.tail[1]), V(2 * coefficients.tail[0])), u, V(coefficients.slope));
  const V more_g = fma(u, slope_low, fma(u, slope, V(middle[0]) - g));
  const V g_low = fma(w_low, derivative, more_g + middle[1]);
  const Pair<V> product = multiply_exactly(w, g);
  const V product_low = fma(w_low, g, fma(w, g_low, product.low));
  const Exponent<V> e = exp_less_square(x, V(0.0));
  const V low = fma(product.high, e.low, fma(product_low, e.high, product_low));
  const Pair<V> more = multiply_exactly(product.high, e.high);
  const Pair<V> all = add_smaller(product.high, more.high);
  return scale(all.high + (all.low + (more.low + low)), e.n);
}

/// Below 0.9 ulp; float below 1.3 ulp.
template <class V>
V erfc(V x) {
  const V size = clamp(magnitude(x), 0, OfDouble<V> ? 27.3 : 10.2);
  const V tail = erfc_of_large(size);
  const V large = select(x < 0.0, 2.0 - tail, tail);
  const Pair<V> less = add_smaller(V(1.0), -x);
  const V small = less.high + fma(-x, erf_rest(x), less.low);
  return select(size < kErfcEdge, small, large);
}

}  // namespace ingot::base::math::kernels
