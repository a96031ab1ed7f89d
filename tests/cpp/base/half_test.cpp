#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ingot::base {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Half, EveryNumberSurvivesFloatAndDouble) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = half_value(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_value(half_bits(value)))) << i;
      continue;
    }
    EXPECT_EQ(half_bits(value), bits);
    EXPECT_EQ(half_bits(static_cast<double>(value)), bits);
  }
}

TEST(Half, ValuesAreThoseOfBinary16) {
  EXPECT_EQ(half_value(0x3c00), 1.0f);
  EXPECT_EQ(half_value(0xc000), -2.0f);
  EXPECT_EQ(half_value(0x7bff), 65504.0f);
  EXPECT_EQ(half_value(0x0001), 0x1p-24f);
  EXPECT_EQ(half_value(0x03ff), 1023 * 0x1p-24f);
  EXPECT_EQ(half_value(0x0400), 0x1p-14f);
  EXPECT_EQ(half_value(0xfc00), -static_cast<float>(kInfinity));
  EXPECT_TRUE(std::signbit(half_value(0x8000)));
}

TEST(Half, RoundsToNearestEvenBetweenAllNeighbours) {
  for (uint16_t low = 0; low < 0x7bff; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const double middle = (static_cast<double>(half_value(low)) + static_cast<double>(half_value(high))) / 2;
    const uint16_t even = (low & 1) == 0 ? low : high;
    EXPECT_EQ(half_bits(middle), even);
    EXPECT_EQ(half_bits(-middle), even | 0x8000);
    EXPECT_EQ(half_bits(std::nextafter(middle, 0.0)), low);
    EXPECT_EQ(half_bits(std::nextafter(middle, kInfinity)), high);
  }
}

TEST(Half, OverflowsAndUnderflows) {
  EXPECT_EQ(half_bits(std::nextafter(65520.0, 0.0)), 0x7bff);
  EXPECT_EQ(half_bits(65520.0), 0x7c00);
  EXPECT_EQ(half_bits(-1e300), 0xfc00);
  EXPECT_EQ(half_bits(kInfinity), 0x7c00);
  EXPECT_EQ(half_bits(0x1p-25), 0);
  EXPECT_EQ(half_bits(std::nextafter(0x1p-25, 1.0)), 1);
  EXPECT_EQ(half_bits(-std::numeric_limits<double>::denorm_min()), 0x8000);
  EXPECT_GT(half_bits(std::numeric_limits<double>::quiet_NaN()) & 0x7fff, 0x7c00);
}

TEST(Half, RoundsDoublesOnce) {
  // Through float this would become a tie, and then 1.
  EXPECT_EQ(half_bits(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
}

}  // namespace
}  // namespace ingot::base
