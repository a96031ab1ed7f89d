#include "base/half.h"

namespace ingot::base {

namespace {

constexpr uint16_t kInfinity = 0x7c00;
constexpr uint16_t kQuietNaN = 0x7e00;

}  // namespace

uint16_t half_bits(float value) { return half_bits(static_cast<double>(value)); }

uint16_t half_bits(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 48) & 0x8000);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude > std::bit_cast<uint64_t>(__builtin_inf())) return sign | kQuietNaN;
  // Half-way between the largest finite number, 65504, and 65536.
  if (magnitude >= std::bit_cast<uint64_t>(65520.0)) return sign | kInfinity;

  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent < -25) return sign;
  // The significand counts units of 2**(exponent - 52); those of the result are 2**(exponent - 10), at least
  // 2**-24.
  const bool normal = exponent >= -14;
  const int dropped = normal ? 42 : 28 - exponent;
  const uint64_t significand = (magnitude & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  uint64_t rounded = significand >> dropped;
  const uint64_t rest = significand - (rounded << dropped);
  const uint64_t half_way = uint64_t{1} << (dropped - 1);
  if (rest > half_way || (rest == half_way && (rounded & 1) != 0)) ++rounded;
  // A carry out of the significand steps the exponent; the leading bit of a normal number adds the last 1.
  const uint64_t base = normal ? static_cast<uint64_t>(exponent + 14) << 10 : 0;
  return static_cast<uint16_t>(sign | (base + rounded));
}

float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t significand = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(significand) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | significand << 13);
}

}  // namespace ingot::base
