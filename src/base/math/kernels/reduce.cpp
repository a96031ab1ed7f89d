#include <bit>
#include <cmath>
#include <limits>

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

namespace ingot::base::math::kernels {

namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

uint64_t digits_from(size_t at) {
  const size_t word = at / 64;
  const size_t shift = at % 64;
  if (shift == 0) return kTwoOverPiDigits[word];
  return (kTwoOverPiDigits[word] << shift) | (kTwoOverPiDigits[word + 1] >> (64 - shift));
}

/// An integer's nearest number, and that as an integer. (Not all that this is compiled for converts 128
/// bits.)
struct Nearest {
  double number;
  SignedWide integer;
};
Nearest nearest(SignedWide integer) {
  const Wide size = integer < 0 ? -static_cast<Wide>(integer) : static_cast<Wide>(integer);
  const auto high = static_cast<uint64_t>(size >> 64);
  const int zeros =
      high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(size) | 1);
  constexpr int kDropped = 128 - 53;
  const Wide moved = size << zeros;
  const Wide rest = moved << 53;
  constexpr Wide kHalf = Wide{1} << 127;
  auto digits = static_cast<uint64_t>(moved >> kDropped);
  if (rest > kHalf || (rest == kHalf && (digits & 1) != 0)) ++digits;
  const int power = kDropped - zeros;
  const auto scale = std::bit_cast<double>(static_cast<uint64_t>(1023 + power) << 52);
  const double number = static_cast<double>(static_cast<int64_t>(digits)) * scale;
  const auto whole = static_cast<SignedWide>(power >= 0 ? Wide{digits} << power : Wide{digits} >> -power);
  return integer < 0 ? Nearest{-number, -whole} : Nearest{number, whole};
}

}  // namespace

Turns turns_of(double x) {
  const auto word = std::bit_cast<uint64_t>(x);
  const uint64_t m = (word & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  // x = m * 2**e. Digits of weight 2**(2 - e) and more make multiples of 4.
  const auto e = static_cast<int64_t>(word >> 52) - 1075;
  const auto at = static_cast<size_t>(62 + e);
  const Wide fourth = Wide{m} * digits_from(at + 192);
  const Wide third = Wide{m} * digits_from(at + 128) + static_cast<uint64_t>(fourth >> 64);
  const Wide second = Wide{m} * digits_from(at + 64) + static_cast<uint64_t>(third >> 64);
  const uint64_t first = m * digits_from(at) + static_cast<uint64_t>(second >> 64);
  const uint64_t quadrant = (first + (uint64_t{1} << 61)) >> 62;
  return {static_cast<int64_t>(quadrant), static_cast<int64_t>(first - (quadrant << 62)),
          static_cast<uint64_t>(second), static_cast<uint64_t>(third)};
}

Reduced reduce_by_half_pi(double x) {
  if (!std::isfinite(x)) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    return {kNaN, kNaN, 0};
  }
  const Turns turns = turns_of(x);
  const auto fixed = static_cast<SignedWide>(static_cast<Wide>(SignedWide{turns.first}) << 64 | turns.second);
  const auto [high, whole] = nearest(fixed);
  const double low = nearest(fixed - whole).number;
  const double product = high * kHalfPi[0];
  const double rest = std::fma(high, kHalfPi[0], -product) + std::fma(high, kHalfPi[1], low * kHalfPi[0]);
  const double sum = product + rest;
  return {sum * 0x1p-126, ((product - sum) + rest) * 0x1p-126, turns.quadrant};
}

HalfTurnsReduced reduce_by_pi(double x, int turn) {
  const Reduced reduced = reduce_by_half_pi(x);
  const int64_t quadrant = reduced.quadrant + turn;
  if ((quadrant & 1) == 0) return {reduced.high, quadrant >> 1};
  return {kHalfPi[0] - std::fabs(reduced.high), quadrant >> 1};
}

}  // namespace ingot::base::math::kernels
