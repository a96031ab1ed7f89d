#pragma once

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

namespace ingot::base::math::kernels {

/// x = 8**q 2**j m, j of -1, 0, 1, 1 <= m < 2, times `factor`. A polynomial gives y = m**(-1/3) to 17 bits, a
/// step of third order (float needs none) triples that: with h = 1 - m y**3, y (1 - h)**(-1/3) = y (1 + h/3 +
/// 2/9 h**2 +
/// ...). With a = 2**j m the root c = a (2**(-j/3) y)**2 is corrected by c**3 - a, which is taken exactly
/// (float: to one word).
template <class V>
V cube_root(V x, V factor) {
  using T = typename V::Element;
  constexpr int kShift = kFractionBits<T>;
  constexpr double kInteger = kShift == 52 ? 0x1p52 : 0x1p23;
  const auto word = bits(x);
  const V exponent = from_bits((word >> kShift) | bits(V(kInteger))) - (kInteger + kBias<T>);
  const Integer<V> third = nearest_integer(exponent, 1.0 / 3);
  const V j = fma(third.real, V(-3.0), exponent);
  const V m = from_bits((word & ((int64_t{1} << kShift) - 1)) | bits(V(1.0)));
  const V start = polynomial(m, kRootStart);
  V y = start;
  if constexpr (OfDouble<V>) {
    const V h = fma(-(start * start), start * m, V(1.0));
    y = fma(start * h, fma(h, fma(h, V(14.0 / 81), V(2.0 / 9)), V(1.0 / 3)), start);
  }
  const V inverse = y * select(j == 0.0, V(1.0), select(j < 0.0, V(kRootOfTwo[0]), kRootOfHalf[0]));
  const V a = m * select(j == 0.0, V(1.0), select(j < 0.0, V(0.5), 2.0));
  const V square = inverse * inverse;
  const V c = a * square;
  const V c2 = c * c;
  V error = fma(c2, c, -a);
  if constexpr (OfDouble<V>) error = fma(fma(c, c, -c2), c, error);
  const V root = fma(error, square * (-1.0 / 3), c);
  return root * from_bits((third.bits + kBias<T>) << kShift) * factor;
}
template <class V>
V cbrt(V x) {
  using T = typename V::Element;
  const V size = magnitude(x);
  const auto tiny = size < static_cast<double>(std::numeric_limits<T>::min());
  const V root = cube_root(select(tiny, size * 0x1p54, size), select(tiny, V(0x1p-18), 1.0));
  return select((size == 0.0) | !(size < std::numeric_limits<double>::infinity()), x, with_sign_of(root, x));
}

/// sqrt of the sum of squares, rounded twice: below 0.9 ulp; of float the squares are
/// rounded too, below 1.2 ulp. Scaled where squares overflow or lose bits.
template <class V>
V hypot(V x, V y) {
  constexpr bool kDouble = OfDouble<V>;
  constexpr double kHuge = kDouble ? 0x1p500 : 0x1p60;
  constexpr double kTiny = kDouble ? 0x1p-450 : 0x1p-40;
  constexpr double kUp = kDouble ? 0x1p600 : 0x1p80;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V width = magnitude(x);
  const V height = magnitude(y);
  const auto upper = height > width;
  const V large = select(upper, height, width);
  const V small = select(upper, width, height);
  const auto huge = large > kHuge;
  const auto tiny = large < kTiny;
  const V down = select(huge, V(1 / kUp), select(tiny, V(kUp), 1.0));
  const V up = select(huge, V(kUp), select(tiny, V(1 / kUp), 1.0));
  const V a = large * down;
  const V b = small * down;
  const V square = b * b;
  if constexpr (kDouble) {
    const Pair<V> larger = multiply_exactly(a, a);
    const Pair<V> sum = add_smaller(larger.high, square);
    const V root = sqrt(sum.high + (sum.low + larger.low + fma(b, b, -square))) * up;
    return select((width == kInfinity) | (height == kInfinity), kInfinity, root);
  } else {
    const V root = sqrt(fma(a, a, square)) * up;
    return select((width == kInfinity) | (height == kInfinity), kInfinity, root);
  }
}

}  // namespace ingot::base::math::kernels
