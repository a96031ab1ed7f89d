#pragma once

#include "base/math/kernels/plain.h"

/// Numbers by their bits: those next to a number, and multiples by powers of two. Exact.
namespace ingot::base::math::kernels {

/// Where both are equal, the second.
template <class V>
V nextafter(V a, V b) {
  using Bits = typename V::Bits;
  const auto outwards = ((a < b) & (a > 0.0)) | ((b < a) & (a < 0.0));
  const V moved = from_bits(bits(a) + select(outwards, Bits(1), Bits(-1)));
  const V least =
      with_sign_of(V(static_cast<double>(std::numeric_limits<typename V::Element>::denorm_min())), b);
  const V next = select(a == b, b, select(a == 0.0, least, moved));
  const V sum = a + b;
  return select((a == a) & (b == b), next, sum);
}

/// Of NaN and infinities NaN, of both zeros the least number.
template <class V>
V spacing(V a) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V least = static_cast<double>(std::numeric_limits<typename V::Element>::denorm_min());
  const V gap = from_bits(bits(a) + 1) - a;
  const V finite = select(a == 0.0, least, gap);
  return select(magnitude(a) < kInfinity, finite, std::numeric_limits<double>::quiet_NaN());
}

/// `scale_anything` by bits: the number's own exponent is added to n first.
template <class V>
V scale_by_bits(V a, Integer<V> n) {
  using T = typename V::Element;
  using Bits = typename V::Bits;
  constexpr int kShift = kFractionBits<T>;
  constexpr int64_t kFraction = (int64_t{1} << kShift) - 1;
  constexpr int64_t kExponents = 2 * kBias<T> + 1;
  constexpr int64_t kMost = kBias<T> + 7;
  constexpr int64_t kLeast = -kBias<T> - kShift - 7;
  const auto tiny = magnitude(a) < static_cast<double>(std::numeric_limits<T>::min());
  const V normal = select(tiny, a * (kShift == 52 ? 0x1p52 : 0x1p23), a);
  const Bits word = bits(normal);
  const Bits own =
      ((word >> kShift) & Bits(kExponents)) - select(tiny, Bits(kBias<T> + kShift), Bits(kBias<T>));
  const Bits sum = own + n.bits;
  const Bits above = select(sum < Bits(kLeast), Bits(kLeast), sum);
  const Bits power = select(Bits(kMost) < above, Bits(kMost), above);
  const Bits sign =
      word & Bits(kShift == 52 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min());
  const V mantissa = from_bits((word & Bits(kFraction)) | Bits(int64_t{kBias<T>} << kShift) | sign);
  const V scaled = scale_in_halves(mantissa, Integer<V>{V(0.0), power});
  return select((a == 0.0) | !(magnitude(a) < std::numeric_limits<double>::infinity()), a, scaled);
}
/// a * 2**n, rounded once, of any number a.
template <class T>
Plain<T> scale_anything(Plain<T> a, Integer<Plain<T>> n) {
  return scale_by_bits(a, n);
}

/// a * 2**n, n truncated; NaN where n is.
template <class V>
V scale_by_power(V a, V n) {
  const double limit = OfDouble<V> ? 2200 : 320;
  const V scaled = scale_anything(a, nearest_integer(trunc(clamp(n, -limit, limit)), 1));
  return select(n == n, scaled, n);
}

}  // namespace ingot::base::math::kernels
