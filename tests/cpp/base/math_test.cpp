#include "base/math.h"

#include <gtest/gtest.h>

#include <limits>

namespace ingot::base {
namespace {

using Complex = std::complex<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int8_t kMin8 = std::numeric_limits<int8_t>::min();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

bool same_bits(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Calls fn with all pairs of int8, as int and as int8.
template <class Function>
void for_all_pairs(Function&& fn) {
  for (int a = -128; a < 128; ++a)
    for (int b = -128; b < 128; ++b) fn(a, b, static_cast<int8_t>(a), static_cast<int8_t>(b));
}

TEST(Arithmetic, IntegersWrap) {
  EXPECT_EQ(math::add<int8_t>(127, 1), kMin8);
  EXPECT_EQ(math::subtract<uint16_t>(0, 1), 65535);
  EXPECT_EQ(math::multiply<uint16_t>(65535, 65535), 1);
  EXPECT_EQ(math::multiply<int64_t>(kMin64, -1), kMin64);
  EXPECT_EQ(math::negative(kMin64), kMin64);
  EXPECT_EQ(math::absolute(kMin8), kMin8);
  EXPECT_EQ(math::power<int32_t>(3, 40), static_cast<int32_t>(12157665459056928801u));
}

TEST(Arithmetic, IntegerDivisionRoundsDown) {
  for_all_pairs([](int a, int b, int8_t x, int8_t y) {
    const auto [quotient, rest] = math::divide_with_remainder(x, y);
    if (b == 0) {
      EXPECT_EQ(quotient, 0);
      EXPECT_EQ(rest, 0);
      EXPECT_EQ(math::fmod(x, y), 0);
      return;
    }
    EXPECT_EQ(rest, ((a % b) + b) % b);
    EXPECT_EQ(quotient, static_cast<int8_t>((a - rest) / b));
    EXPECT_EQ(math::fmod(x, y), a % b);
  });
  EXPECT_EQ(math::floor_divide<int64_t>(kMin64, -1), kMin64);
  EXPECT_EQ(math::remainder<int64_t>(kMin64, -1), 0);
}

TEST(Arithmetic, OverflowIsThatOfTheExactResult) {
  for_all_pairs([](int a, int b, int8_t x, int8_t y) {
    const auto leaves = [](int exact) { return exact < -128 || exact > 127; };
    EXPECT_EQ(math::add_overflows(x, y), leaves(a + b));
    EXPECT_EQ(math::subtract_overflows(x, y), leaves(a - b));
    EXPECT_EQ(math::multiply_overflows(x, y), leaves(a * b));
    int exact = 1;
    for (int i = 0; i < b && exact != 0 && !leaves(exact) && (a * a > 1 || i < b % 2); ++i) exact *= a;
    EXPECT_EQ(math::power_overflows(x, y), leaves(exact)) << a << " ** " << b;
    if (b >= 0 && a != 0 && !leaves(exact)) {
      EXPECT_EQ(math::power(x, y), exact) << a << " ** " << b;
    }
  });
  EXPECT_FALSE(math::power_overflows<int64_t>(2, 62));
  EXPECT_TRUE(math::power_overflows<int64_t>(2, 63));
  EXPECT_FALSE(math::power_overflows<int64_t>(-2, 63));
  EXPECT_FALSE(math::power_overflows<uint64_t>(2, 63));
  EXPECT_FALSE(math::power_overflows<int64_t>(-1, kMax64));
  EXPECT_FALSE(math::power_overflows<int64_t>(7, -3));
}

TEST(Arithmetic, NegativeExponentsGiveTheTruncatedValue) {
  EXPECT_EQ(math::power<int32_t>(1, -5), 1);
  EXPECT_EQ(math::power<int32_t>(-1, -5), -1);
  EXPECT_EQ(math::power<int32_t>(-1, -4), 1);
  EXPECT_EQ(math::power<int32_t>(2, -1), 0);
  EXPECT_EQ(math::power<int32_t>(0, -1), 0);
}

TEST(Arithmetic, FloatDivisionAsPython) {
  EXPECT_TRUE(same_bits(math::floor_divide(-1.0, kInfinity), -1.0));
  EXPECT_TRUE(same_bits(math::remainder(-1.0, kInfinity), kInfinity));
  EXPECT_TRUE(same_bits(math::remainder(4.0, -2.0), -0.0));
  EXPECT_TRUE(same_bits(math::floor_divide(0.0, -2.0), -0.0));
  EXPECT_TRUE(same_bits(math::floor_divide(1.0, 0.0), kInfinity));
  EXPECT_TRUE(same_bits(math::remainder(1.0, 0.0), kNaN));
  EXPECT_TRUE(same_bits(math::floor_divide(kInfinity, 1.0), kNaN));
  EXPECT_EQ(math::floor_divide(1.0, 0.1), 9.0);
  EXPECT_TRUE(same_bits(math::fmod(-4.0, 2.0), -0.0));
}

TEST(Arithmetic, HalfRoundsOnce) {
  const Half tiny = Half::from_bits(1);
  EXPECT_EQ(math::add(tiny, tiny).bits, 2);
  EXPECT_EQ(math::multiply(Half(65504.0f), Half(2.0f)).bits, 0x7c00);
  EXPECT_EQ(math::divide(Half(1.0f), Half(3.0f)).bits, 0x3555);
}

TEST(Arithmetic, OtherIntegerFunctions) {
  EXPECT_EQ(math::sign<uint8_t>(200), 1);
  EXPECT_EQ(math::sign<int8_t>(kMin8), -1);
  EXPECT_EQ(math::gcd<int8_t>(kMin8, 0), kMin8);
  EXPECT_EQ(math::gcd<int32_t>(-12, 18), 6);
  EXPECT_EQ(math::lcm<int32_t>(-4, 6), 12);
  EXPECT_EQ(math::lcm<int32_t>(0, 6), 0);
  EXPECT_EQ(math::reciprocal<int32_t>(0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(math::reciprocal<uint64_t>(0), 0u);
  EXPECT_EQ(math::reciprocal<int8_t>(-1), -1);
}

TEST(Bits, ShiftsByAnyCount) {
  EXPECT_EQ(math::left_shift<int8_t>(1, 7), kMin8);
  EXPECT_EQ(math::left_shift<int8_t>(1, 8), 0);
  EXPECT_EQ(math::left_shift<int64_t>(-1, 63), kMin64);
  EXPECT_EQ(math::left_shift<int64_t>(1, -1), 0);
  EXPECT_EQ(math::right_shift<int8_t>(-3, 1), -2);
  EXPECT_EQ(math::right_shift<int8_t>(-3, 100), -1);
  EXPECT_EQ(math::right_shift<int8_t>(-3, -1), -1);
  EXPECT_EQ(math::right_shift<uint64_t>(8, 64), 0u);
  EXPECT_EQ(math::invert(true), false);
  EXPECT_EQ(math::bitwise_count(kMin8), 1);
  EXPECT_EQ(math::bitwise_count<int8_t>(-1), 1);
}

TEST(Compare, NaNAndZeros) {
  EXPECT_FALSE(math::equal(kNaN, kNaN));
  EXPECT_TRUE(math::not_equal(kNaN, kNaN));
  EXPECT_FALSE(math::greater_equal(kNaN, 1.0));
  EXPECT_TRUE(std::isnan(math::minimum(1.0, kNaN)));
  EXPECT_TRUE(std::isnan(math::maximum(kNaN, 1.0)));
  EXPECT_EQ(math::fmin(kNaN, 1.0), 1.0);
  EXPECT_EQ(math::fmax(1.0, kNaN), 1.0);
  EXPECT_TRUE(same_bits(math::maximum(-0.0, 0.0), -0.0));
  EXPECT_TRUE(same_bits(math::minimum(0.0, -0.0), 0.0));
}

TEST(Compare, ComplexNumbersByRealThenImaginaryPart) {
  EXPECT_TRUE(math::less(Complex(1, 9), Complex(2, 0)));
  EXPECT_TRUE(math::less(Complex(1, 1), Complex(1, 2)));
  EXPECT_FALSE(math::less(Complex(1, kNaN), Complex(2, 0)));
  EXPECT_TRUE(math::greater_equal(Complex(1, 1), Complex(1, 1)));
  EXPECT_EQ(math::maximum(Complex(1, 5), Complex(1, 4)), Complex(1, 5));
  EXPECT_TRUE(math::isnan(math::maximum(Complex(3, 0), Complex(0, kNaN))));
  EXPECT_EQ(math::fmax(Complex(0, kNaN), Complex(-3, 0)), Complex(-3, 0));
}

TEST(Floating, NeighboursOfEveryHalf) {
  const Half infinity(std::numeric_limits<float>::infinity());
  for (uint16_t bits = 0; bits < 0x7c00; ++bits) {
    const Half value = Half::from_bits(bits);
    const Half above = math::nextafter(value, infinity);
    EXPECT_EQ(above.bits, bits + 1);
    const Half back = math::nextafter(above, math::negative(infinity));
    EXPECT_EQ(static_cast<float>(back), static_cast<float>(value));
    EXPECT_EQ(static_cast<float>(math::spacing(value)),
              static_cast<float>(above) - static_cast<float>(value));
  }
}

TEST(Floating, Parts) {
  EXPECT_EQ(math::mantissa(-12.0), -0.75);
  EXPECT_EQ(math::exponent(-12.0), 4);
  EXPECT_EQ(math::exponent(5e-324), -1073);
  EXPECT_EQ(math::exponent(kInfinity), 0);
  EXPECT_EQ(math::exponent(kNaN), 0);
  EXPECT_EQ(math::scale_by_power(0.75, 4.0), 12.0);
  EXPECT_EQ(math::scale_by_power(5e-324, 1e300), kInfinity);
  EXPECT_TRUE(same_bits(math::scale_by_power(-1.0, -kInfinity), -0.0));
  EXPECT_EQ(math::scale_by_power(3.0, -1075.0), 2 * 5e-324);
  EXPECT_TRUE(same_bits(math::rint(-0.5), -0.0));
  EXPECT_EQ(math::rint(2.5), 2.0);
  EXPECT_EQ(math::spacing(-1.0), -0x1p-52);
}

TEST(Elementary, SmallPowers) {
  for (const double x :
       {0.0, -0.0, 1.5, -3.0, kInfinity, -kInfinity, 1e103, -1e200, 1e-108, -1e-120, -5e-324, 0.1}) {
    EXPECT_TRUE(same_bits(math::cube(x), std::pow(x, 3))) << x;
    EXPECT_TRUE(same_bits(math::fourth_power(x), std::pow(x, 4))) << x;
    EXPECT_TRUE(same_bits(math::power(x, 3.0), math::cube(x))) << x;
    EXPECT_TRUE(same_bits(math::power(x, 4.0), math::fourth_power(x))) << x;
    const auto narrow = static_cast<float>(x);
    EXPECT_TRUE(same_bits(math::power(narrow, 3.0F), math::cube(narrow))) << x;
    EXPECT_TRUE(same_bits(math::power(narrow, 4.0F), math::fourth_power(narrow))) << x;
  }
  EXPECT_TRUE(std::isnan(math::cube(kNaN)) && std::isnan(math::fourth_power(kNaN)));
}

TEST(Elementary, SpecialValues) {
  EXPECT_TRUE(same_bits(math::sqrt(-0.0), -0.0));
  EXPECT_TRUE(std::isnan(math::sqrt(-1.0)));
  EXPECT_EQ(math::log(0.0), -kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0.0);
  EXPECT_EQ(math::hypot(kInfinity, kNaN), kInfinity);
  EXPECT_EQ(math::power(1.0, kNaN), 1.0);
  EXPECT_EQ(math::power(kNaN, 0.0), 1.0);
  EXPECT_EQ(math::power(1.1, 2.0), 1.1 * 1.1);
  EXPECT_EQ(math::logaddexp(-kInfinity, -kInfinity), -kInfinity);
  EXPECT_EQ(math::logaddexp2(kInfinity, -kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::gamma(-1.0)));
  EXPECT_EQ(math::gamma(-0.0), -kInfinity);
  EXPECT_EQ(math::gamma(171.0), 7.257415615307999e306);
  EXPECT_EQ(math::lgamma(-kInfinity), kInfinity);
  EXPECT_EQ(math::lgamma(2.0), 0.0);
  EXPECT_EQ(math::erfc(27.0), 5.23704643935236e-319);
}

TEST(Elementary, ComplexNumbers) {
  EXPECT_EQ(math::multiply(Complex(1, 2), Complex(3, 4)), Complex(-5, 10));
  EXPECT_EQ(math::divide(Complex(1e300, 1e300), Complex(1e300, 1e300)), Complex(1, 0));
  EXPECT_TRUE(std::isinf(math::divide(Complex(1, 1), Complex(0, 0)).real()));
  EXPECT_EQ(math::absolute(Complex(3, -4)), 5.0);
  EXPECT_EQ(math::sign(Complex(3, -4)), Complex(0.6, -0.8));
  EXPECT_EQ(math::sign(Complex(-kInfinity, 1)), Complex(-1, 0));
  EXPECT_EQ(math::sqrt(Complex(-4, -0.0)), Complex(0, -2));
  EXPECT_EQ(math::log1p(Complex(1e-20, 1e-20)), Complex(1e-20, 1e-20));
  EXPECT_EQ(math::power(Complex(0, 0), Complex(0, 0)), Complex(1, 0));
  EXPECT_EQ(math::power(Complex(0, 0), Complex(2, 1)), Complex(0, 0));
  EXPECT_TRUE(math::isnan(math::power(Complex(0, 0), Complex(-1, 0))));
  EXPECT_EQ(math::power(Complex(0, 1), Complex(3, 0)), Complex(0, -1));
  EXPECT_EQ(math::power(Complex(0, 2), Complex(-2, 0)), Complex(-0.25, 0));
}

TEST(Cast, FloatsOutOfRange) {
  EXPECT_EQ(math::cast<int64_t>(kNaN), kMin64);
  EXPECT_EQ(math::cast<int64_t>(1e19), kMin64);
  EXPECT_EQ(math::cast<int32_t>(2147483648.0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(math::cast<int32_t>(-2147483648.5), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(math::cast<int8_t>(300.9), 44);
  EXPECT_EQ(math::cast<uint8_t>(-1.9), 255);
  EXPECT_EQ(math::cast<int8_t>(kInfinity), 0);
  EXPECT_EQ(math::cast<uint32_t>(-1.0), 0xffffffffu);
  EXPECT_EQ(math::cast<uint32_t>(5e9), 705032704u);
  EXPECT_EQ(math::cast<uint64_t>(-1.0), ~uint64_t{0});
  EXPECT_EQ(math::cast<uint64_t>(0x1.8p63), uint64_t{3} << 62);
  EXPECT_EQ(math::cast<uint64_t>(kInfinity), 0u);
  EXPECT_EQ(math::cast<uint64_t>(kNaN), uint64_t{1} << 63);
}

TEST(Cast, OtherPairs) {
  EXPECT_EQ(math::cast<int8_t>(int64_t{384}), -128);
  EXPECT_EQ(math::cast<uint64_t>(int8_t{-1}), ~uint64_t{0});
  EXPECT_TRUE(math::cast<bool>(kNaN));
  EXPECT_FALSE(math::cast<bool>(Half(-0.0f)));
  EXPECT_TRUE(math::cast<bool>(Complex(0, 1)));
  EXPECT_EQ(math::cast<float>(int64_t{16777217}), 16777216.0f);
  EXPECT_EQ(math::cast<Half>(int32_t{65520}).bits, 0x7c00);
  EXPECT_EQ(math::cast<Half>(true).bits, 0x3c00);
  EXPECT_EQ(math::cast<int32_t>(Complex(2.9, 7)), 2);
  EXPECT_EQ(math::cast<std::complex<float>>(uint8_t{3}), std::complex<float>(3, 0));
}

}  // namespace
}  // namespace ingot::base
