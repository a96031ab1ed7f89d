#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "softgpu/machine/plan.h"

/// The float types of PTX as storage, and the numbers they are computed with.
namespace softgpu {

/// During its lifetime, the host rounds in this mode. Sources that use it are compiled with -frounding-math.
class RoundScope {
 public:
  explicit RoundScope(Round round) : is_other_(round != Round::Nearest) {
    static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    if (is_other_) std::fesetround(kModes[static_cast<size_t>(round)]);
  }
  ~RoundScope() {
    if (is_other_) std::fesetround(FE_TONEAREST);
  }
  RoundScope(const RoundScope&) = delete;
  RoundScope& operator=(const RoundScope&) = delete;

 private:
  bool is_other_;
};

/// The nearest number, by `round`, of a 16-bit float of this many bits of fraction; overflow gives infinity,
/// or where the mode rounds away from it the largest number.
inline uint16_t narrowed(double value, int fraction, Round round) {
  const int exponent_bits = 15 - fraction;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int infinity = ((1 << exponent_bits) - 1) << fraction;
  if (std::isnan(value)) return 0x7FFF;
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double scaled = std::ldexp(magnitude, fraction - exponent);  // exact: below 2^(fraction + 1)
  const double whole = std::floor(scaled);
  const double rest = scaled - whole;
  bool up = false;
  switch (round) {
    case Round::Nearest: up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0); break;
    case Round::Zero: break;
    case Round::Down: up = rest > 0 && sign != 0; break;
    case Round::Up: up = rest > 0 && sign == 0; break;
  }
  int bits = static_cast<int>(whole) + (up ? 1 : 0);
  bits += (exponent + bias - 1) << fraction;
  if (bits < infinity) return static_cast<uint16_t>(sign | bits);
  const bool to_infinity =
      round == Round::Nearest || (round == Round::Down && sign != 0) || (round == Round::Up && sign == 0);
  return static_cast<uint16_t>(sign | (to_infinity ? infinity : infinity - 1));
}

/// Storage types.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

/// The number of a storage type, and back, rounded by the host's mode (f32, f64) or to nearest.
inline double number(F16 a) {
  const uint32_t sign = static_cast<uint32_t>(a.bits & 0x8000) << 16;
  const uint32_t exponent = a.bits >> 10 & 0x1F;
  const uint32_t fraction = a.bits & 0x3FF;
  if (exponent == 0) return std::copysign(fraction * 0x1p-24, sign != 0 ? -1.0 : 1.0);
  const uint32_t wide = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return static_cast<double>(std::bit_cast<float>(sign | wide << 23 | fraction << 13));
}
inline double number(BF16 a) { return static_cast<double>(std::bit_cast<float>(uint32_t{a.bits} << 16)); }
inline float number(float a) { return a; }
inline double number(double a) { return a; }

template <class T, class C>
T stored(C value) {
  if constexpr (std::is_same_v<T, F16>) {
    return {narrowed(static_cast<double>(value), 10, Round::Nearest)};
  } else if constexpr (std::is_same_v<T, BF16>) {
    return {narrowed(static_cast<double>(value), 7, Round::Nearest)};
  } else {
    return static_cast<T>(value);
  }
}

/// A subnormal number becomes a zero of its sign.
template <class C>
C flushed(C value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(C{0}, value) : value;
}

/// Of [0, 1]; NaN gives 0.
template <class C>
C saturated_unit(C value) {
  return value > C{0} ? (value < C{1} ? value : C{1}) : C{0};
}

}  // namespace softgpu
