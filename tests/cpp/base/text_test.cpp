#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/message.h"

namespace ingot::base {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Text, DoublesAsPython) {
  EXPECT_EQ(repr(0.0), "0.0");
  EXPECT_EQ(repr(-0.0), "-0.0");
  EXPECT_EQ(repr(0.1), "0.1");
  EXPECT_EQ(repr(100.0), "100.0");
  EXPECT_EQ(repr(1234.5), "1234.5");
  EXPECT_EQ(repr(0.0001), "0.0001");
  EXPECT_EQ(repr(0.00001), "1e-05");
  EXPECT_EQ(repr(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(repr(1e16), "1e+16");
  EXPECT_EQ(repr(1.25e100), "1.25e+100");
  EXPECT_EQ(repr(5e-324), "5e-324");
  EXPECT_EQ(repr(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(repr(-kInfinity), "-inf");
  EXPECT_EQ(repr(-kNaN), "nan");
}

TEST(Text, FloatsAsNumPy) {
  EXPECT_EQ(repr(0.1f), "0.1");
  EXPECT_EQ(repr(999999.94f), "999999.94");
  EXPECT_EQ(repr(1e6f), "1e+06");
  EXPECT_EQ(repr(1e-4f), "1e-04");
  EXPECT_EQ(repr(16777216.0f), "1.6777216e+07");
}

TEST(Text, ComplexNumbers) {
  EXPECT_EQ(repr(std::complex<double>(1, 2)), "(1+2j)");
  EXPECT_EQ(repr(std::complex<double>(0, -1.5)), "-1.5j");
  EXPECT_EQ(repr(std::complex<double>(-0.0, 1)), "(-0+1j)");
  EXPECT_EQ(repr(std::complex<double>(kNaN, -kInfinity)), "(nan-infj)");
  EXPECT_EQ(repr(std::complex<double>(1, -kNaN)), "(1+nanj)");
  EXPECT_EQ(repr(std::complex<float>(0.1f, 1e6f)), "(0.1+1e+06j)");
}

TEST(Text, BoolsAndIntegers) {
  EXPECT_EQ(repr(true), "True");
  EXPECT_EQ(repr(false), "False");
  EXPECT_EQ(repr(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(repr(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(Text, ReadsWhatItWrites) {
  for (double value = 5e-324; value < kInfinity; value *= 1.7) EXPECT_EQ(parse_float(repr(value)), value);
  EXPECT_TRUE(std::signbit(*parse_float("-0.0")));
  EXPECT_EQ(parse_float("-inf"), -kInfinity);
  EXPECT_TRUE(std::isnan(*parse_float("nan")));
}

TEST(Text, ReadsBeyondTheType) {
  EXPECT_EQ(parse_float("1e400"), kInfinity);
  EXPECT_EQ(parse_float("-1e999999999999999999999"), -kInfinity);
  EXPECT_EQ(parse_float("1e-400"), 0.0);
  EXPECT_EQ(parse_float("0." + std::string(400, '0') + "1e401"), 1.0);
}

TEST(Text, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "+", "-", ".", "e5", "1e", "1x", " 1", "1 ", "+-1", "nan(1)", "0x10", "1_0"})
    EXPECT_FALSE(parse_float(text).has_value()) << text;
}

}  // namespace
TEST(Text, HalvesHaveTheirOwnShortestDigits) {
  EXPECT_EQ(repr(Half(0.1)), "0.1");
  EXPECT_EQ(repr(Half(999.5)), "999.5");
  EXPECT_EQ(repr(Half(1000.0)), "1e+03");
  EXPECT_EQ(repr(Half(-65504.0)), "-6.55e+04");
  EXPECT_EQ(repr(Half(-0.0)), "-0.0");
  EXPECT_EQ(repr(Half(6e-8)), "6e-08");
  EXPECT_EQ(repr(Half(INFINITY)), "inf");
}

TEST(Message, HolesAreReplacedAndBracesStay) {
  EXPECT_EQ(replace_holes("a {} {{}} {{{}}}", "{!s}"), "a {!s} {{}} {{{!s}}}");
  EXPECT_EQ(replace_holes("", "x"), "");
}

}  // namespace ingot::base
