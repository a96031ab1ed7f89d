#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/math/kernels/all.h"

// The C library's functions that `base::math` and LLVM call.

namespace {

namespace kernels = ingot::base::math::kernels;

/// Exact. The dividend's significand is shifted as far as a word has bits, and the rest taken, until its
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
T neighbour(T a, T b) {
  using V = kernels::Plain<T>;
  return kernels::nextafter(V::of(a), V::of(b)).value;
}

}  // namespace

extern "C" {

double fmod(double a, double b) noexcept { return remainder_of(a, b); }
float fmodf(float a, float b) noexcept { return remainder_of(a, b); }
double ldexp(double a, int power) noexcept { return scaled(a, power); }
float ldexpf(float a, int power) noexcept { return scaled(a, power); }
double nextafter(double a, double b) noexcept { return neighbour(a, b); }
float nextafterf(float a, float b) noexcept { return neighbour(a, b); }

}  // extern "C"
