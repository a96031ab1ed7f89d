#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/math/kernels/all.h"

// The C library's functions that `base::math` and LLVM ask for.

namespace {

namespace kernels = ingot::base::math::kernels;

/// Exact. The dividend's significand is shifted as far as a word has room, and the rest taken, until its
/// exponent is the divisor's.
template <class T>
T remainder_of(T a, T b) {
  using Word = typename kernels::PlainBits<T>::Word;
  constexpr int kFraction = kernels::kFractionBits<T>;
  constexpr int kRoom = 63 - kFraction;
  constexpr Word kImplicit = Word{1} << kFraction;
  const T x = std::fabs(a);
  const T y = std::fabs(b);
  if (!(x < std::numeric_limits<T>::infinity()) || y == 0 || y != y)
    return std::numeric_limits<T>::quiet_NaN();
  if (x < y) return a;
  const auto exponent = [](Word word) { return std::max(static_cast<int>(word >> kFraction), 1); };
  const auto digits = [](Word word) {
    const Word fraction = word & (kImplicit - 1);
    return uint64_t{word >= kImplicit ? fraction | kImplicit : fraction};
  };
  const auto dividend = std::bit_cast<Word>(x);
  const auto divisor = std::bit_cast<Word>(y);
  const int power = exponent(divisor);
  const uint64_t by = digits(divisor);
  uint64_t rest = digits(dividend) % by;
  for (int more = exponent(dividend) - power; more > 0 && rest != 0; more -= kRoom)
    rest = (rest << std::min(more, kRoom)) % by;
  // Of double the factor may be below all normal numbers.
  const int scale = power - kernels::kBias<T> - kFraction;
  const uint64_t factor =
      scale < -1022 ? uint64_t{1} << (scale + 1074) : static_cast<uint64_t>(scale + 1023) << 52;
  const double size = static_cast<double>(static_cast<int64_t>(rest)) * std::bit_cast<double>(factor);
  return std::copysign(static_cast<T>(size), a);
}

template <class T>
T scaled(T a, int power) {
  using V = kernels::Plain<T>;
  return kernels::scale_by_power(V::of(a), V::of(static_cast<T>(power))).value;
}

template <class T>
T beside(T a, T b) {
  using V = kernels::Plain<T>;
  return kernels::nextafter(V::of(a), V::of(b)).value;
}

}  // namespace

extern "C" {

double fmod(double a, double b) noexcept { return remainder_of(a, b); }
float fmodf(float a, float b) noexcept { return remainder_of(a, b); }
double ldexp(double a, int power) noexcept { return scaled(a, power); }
float ldexpf(float a, int power) noexcept { return scaled(a, power); }
double nextafter(double a, double b) noexcept { return beside(a, b); }
float nextafterf(float a, float b) noexcept { return beside(a, b); }

}  // extern "C"

namespace ingot::base::math::kernels {

/// y |sin(pi y)| / pi of y > 0.
inline double reflection(double y) {
  const double rest = std::fabs(y - std::nearbyint(y));
  return y * sin(Plain<double>::of(rest * (2 * kHalfPi[0]))).value / (2 * kHalfPi[0]);
}

/// Of x < 0, by gamma(-y) = -pi / (y sin(pi y) gamma(y)): within 4 ulp. The C library of CPUs rounds better.
double library_gamma(double x) {
  constexpr double kTiny = 0x1p-60;
  constexpr double kLarge = 160;
  const double y = -x;
  const double floor = std::floor(x);
  if (x == floor) return std::numeric_limits<double>::quiet_NaN();
  if (y < kTiny) return 1 / x;
  const bool is_negative = std::floor(floor * 0.5) * 2 != floor;
  // Of large y, gamma(y) overflows before the result underflows.
  constexpr int kSteps = 20;
  double less = std::min(y, 2 * kLarge);
  double product = 1;
  if (y > kLarge)
    for (int i = 0; i < kSteps; ++i) product *= less -= 1;
  const double size = 1 / reflection(y) / gamma(Plain<double>::of(less)).value / product;
  return is_negative ? -size : size;
}

/// Of x < 0; near the zeros the error is small beside 1.
double library_log_gamma(double x) {
  constexpr double kTiny = 0x1p-60;
  const double y = -x;
  if (x == std::floor(x)) return std::numeric_limits<double>::infinity();
  if (y < kTiny) return -log(Plain<double>::of(y)).value;
  return -log(Plain<double>::of(reflection(y))).value - lgamma(Plain<double>::of(y)).value;
}

}  // namespace ingot::base::math::kernels
