#pragma once

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

namespace ingot::base::math::kernels {

/// x = 8**q 2**j m, j of -1, 0, 1, 1 <= m < 2, times `factor`. A polynomial gives y = m**(-1/3) to 17 bits, a
/// step of third order doubles that thrice: with h = 1 - m y**3, y (1 - h)**(-1/3) = y (1 + h/3 + 2/9 h**2 +
/// ...). With a = 2**j m the root c = a (2**(-j/3) y)**2 is corrected by c**3 - a, which is taken exactly.
template <OfDouble V>
V cube_root(V x, V factor) {
  const auto word = bits(x);
  const V exponent = from_bits((word >> 52) | bits(V(0x1p52))) - (0x1p52 + kBias<double>);
  const Integer<V> third = nearest_integer(exponent, 1.0 / 3);
  const V j = fma(third.real, V(-3.0), exponent);
  const V m = from_bits((word & ((int64_t{1} << 52) - 1)) | bits(V(1.0)));
  const V start = polynomial(m, kRootStart);
  const V h = fma(-(start * start), start * m, V(1.0));
  const V y = fma(start * h, fma(h, fma(h, V(14.0 / 81), V(2.0 / 9)), V(1.0 / 3)), start);
  const V inverse = y * select(j == 0.0, V(1.0), select(j < 0.0, V(kRootOfTwo[0]), kRootOfHalf[0]));
  const V a = m * select(j == 0.0, V(1.0), select(j < 0.0, V(0.5), 2.0));
  const V square = inverse * inverse;
  const V c = a * square;
  const Pair<V> c2 = multiply_exactly(c, c);
  const V error = fma(c2.low, c, fma(c2.high, c, -a));
  const V root = fma(error, square * (-1.0 / 3), c);
  return root * from_bits((third.bits + kBias<double>) << 52) * factor;
}
template <OfDouble V>
V cbrt(V x) {
  const V size = magnitude(x);
  const auto tiny = size < std::numeric_limits<double>::min();
  const V root = cube_root(select(tiny, size * 0x1p54, size), select(tiny, V(0x1p-18), 1.0));
  return select((size == 0.0) | !(size < std::numeric_limits<double>::infinity()), x, with_sign_of(root, x));
}
template <OfFloat V>
V cbrt(V x) {
  const V size = magnitude(x);
  const auto wide = widen(size);
  using W = std::remove_const_t<decltype(wide)>;
  const V root = narrow(cube_root(wide, W(1.0)));
  return select((size == 0.0) | !(size < std::numeric_limits<double>::infinity()), x, with_sign_of(root, x));
}

/// sqrt of the sum of squares, rounded twice: below 0.9 ulp. Scaled where squares overflow or lose bits.
template <OfDouble V>
V hypot(V x, V y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V width = magnitude(x);
  const V height = magnitude(y);
  const auto upper = height > width;
  const V large = select(upper, height, width);
  const V small = select(upper, width, height);
  const auto huge = large > 0x1p500;
  const auto tiny = large < 0x1p-450;
  const V down = select(huge, V(0x1p-600), select(tiny, V(0x1p600), 1.0));
  const V up = select(huge, V(0x1p600), select(tiny, V(0x1p-600), 1.0));
  const Pair<V> a = multiply_exactly(large * down, large * down);
  const Pair<V> b = multiply_exactly(small * down, small * down);
  const Pair<V> sum = add_smaller(a.high, b.high);
  const V root = sqrt(sum.high + (sum.low + a.low + b.low)) * up;
  return select((width == kInfinity) | (height == kInfinity), kInfinity, root);
}
template <OfFloat V>
V hypot(V x, V y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto a = widen(x);
  const auto b = widen(y);
  const V root = narrow(sqrt(fma(a, a, b * b)));
  return select((magnitude(x) == kInfinity) | (magnitude(y) == kInfinity), kInfinity, root);
}

}  // namespace ingot::base::math::kernels
