#pragma once

#include <bit>
#include <cstdint>

namespace ingot::base {

/// Converts to binary16, rounding to nearest even; overflow gives infinity, a NaN stays a quiet NaN.
uint16_t half_bits(float value);
/// The same from binary64, rounded once.
uint16_t half_bits(double value);
/// The exact value of a binary16 number.
float half_value(uint16_t bits);

/// IEEE binary16, a storage type: arithmetic converts to float, computes, and rounds back, as NumPy's does.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(half_bits(value)) {}
  explicit Half(double value) : bits(half_bits(value)) {}
  static Half from_bits(uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
  explicit operator float() const { return half_value(bits); }
  explicit operator double() const { return static_cast<double>(half_value(bits)); }
};

}  // namespace ingot::base
