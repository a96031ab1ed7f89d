#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "base/math.h"
#include "base/math/complex_functions.h"

// The complex functions, and the gamma function of negative numbers, against the C library's of long double.

namespace ingot::base {
namespace {

using Double = std::complex<double>;
using Wide = std::complex<long double>;

std::vector<double> edges() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> values;
  for (const double size : {0.0,
                            5e-324,
                            2.3e-308,
                            1e-200,
                            1e-20,
                            1e-5,
                            0.1,
                            0.5,
                            0.70710678118654757,
                            0.99999999999999989,
                            1.0,
                            1.0000000000000002,
                            1.5707963267948966,
                            2.0,
                            3.5,
                            6.0,
                            100.0,
                            710.0,
                            745.0,
                            1e5,
                            1e20,
                            1e300,
                            1.7e308,
                            kInfinity})
    values.insert(values.end(), {size, -size});
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  return values;
}

/// The numbers between.
int64_t steps(double a, double b) {
  const auto ordinal = [](double x) {
    const auto word = std::bit_cast<int64_t>(x);
    return word < 0 ? std::numeric_limits<int64_t>::min() - word : word;
  };
  return std::abs(ordinal(a) - ordinal(b));
}

/// Equal, or at most so many ulp from each other; zeros are of one sign.
bool is_adjacent(double a, double b, int64_t most = 1) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == 0 && b == 0) return std::signbit(a) == std::signbit(b);
  return steps(a, b) <= most;
}

struct Function {
  const char* name;
  Double (*ours)(Double);
  Wide (*library)(const Wide&);
  int64_t most = 1;  ///< ulp
};
const Function kFunctions[] = {
    {"sqrt", math::sqrt, std::sqrt, 2},     {"exp", math::exp, std::exp, 2},
    {"log", math::log, std::log},           {"sin", math::sin, std::sin, 2},
    {"cos", math::cos, std::cos, 2},        {"tan", math::tan, std::tan},
    {"arcsin", math::arcsin, std::asin},    {"arccos", math::arccos, std::acos},
    {"arctan", math::arctan, std::atan},    {"sinh", math::sinh, std::sinh, 2},
    {"cosh", math::cosh, std::cosh, 2},     {"tanh", math::tanh, std::tanh},
    {"arcsinh", math::arcsinh, std::asinh}, {"arccosh", math::arccosh, std::acosh},
    {"arctanh", math::arctanh, std::atanh},
};

void expect_adjacent(const Function& f, Double z) {
  const Double ours = f.ours(z);
  const Wide wide = f.library(Wide(z));
  const Double library(static_cast<double>(wide.real()), static_cast<double>(wide.imag()));
  EXPECT_TRUE(is_adjacent(ours.real(), library.real(), f.most) &&
              is_adjacent(ours.imag(), library.imag(), f.most))
      << f.name << z << " is " << ours << ", the library's " << library;
}

TEST(Complex, FunctionsAreTheLibrarysAtEdges) {
  for (const Function& f : kFunctions)
    for (const double x : edges())
      for (const double y : edges()) expect_adjacent(f, {x, y});
}

TEST(Complex, FunctionsAreTheLibrarysBetween) {
  std::mt19937_64 random(1);
  const auto number = [&] {
    const double fraction = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
    return std::ldexp(fraction, static_cast<int>(random() % 40) - 20);
  };
  for (const Function& f : kFunctions)
    for (int i = 0; i < 2000; ++i) {
      const double x = number();
      expect_adjacent(f, {x, number()});
    }
}

TEST(Complex, EveryCpuHasTheSameBits) {
  namespace plain = math::elementary::of_any_cpu;
  const auto same = [](Double a, Double b) {
    const auto part = [](double x, double y) {
      return std::bit_cast<int64_t>(x) == std::bit_cast<int64_t>(y) || (std::isnan(x) && std::isnan(y));
    };
    return part(a.real(), b.real()) && part(a.imag(), b.imag());
  };
  for (const double x : edges())
    for (const double y : edges()) {
      const Double z(x, y);
#define X(name) EXPECT_TRUE(same(math::elementary::name(z), plain::name(z))) << #name << z;
      INGOT_COMPLEX_FUNCTIONS(X)
#undef X
    }
}

TEST(Complex, SmallPartsAreRight) {
  EXPECT_DOUBLE_EQ(math::log1p(Double(-2, 1e-20)).real(), 5e-41);
  EXPECT_DOUBLE_EQ(math::expm1(Double(1e-20, 1e-5)).real(), -4.9999999989583342e-11);
  EXPECT_TRUE(is_adjacent(math::power(Double(2, 0), Double(0.5, 0)).real(), std::sqrt(2.0)));
}

TEST(Complex, PowersOfInfinities) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Double base :
       {Double(kInfinity, 0), Double(-kInfinity, 1), Double(2, kInfinity), Double(0.5, 1)})
    for (const Double exponent :
         {Double(0.5, 0), Double(-1.5, 1), Double(kInfinity, 0), Double(-kInfinity, 0)}) {
      const Double ours = math::power(base, exponent);
      const Wide wide = std::pow(Wide(base), Wide(exponent));
      const Double library(static_cast<double>(wide.real()), static_cast<double>(wide.imag()));
      if (math::isfinite(base) && math::isfinite(exponent)) continue;
      EXPECT_TRUE(is_adjacent(ours.real(), library.real()) && is_adjacent(ours.imag(), library.imag()))
          << base << "**" << exponent << " is " << ours << ", the library's " << library;
    }
}

TEST(Gamma, OfNegativeNumbers) {
  std::mt19937_64 random(2);
  const auto check = [](double x) {
    int sign;
    EXPECT_TRUE(is_adjacent(math::gamma(x), static_cast<double>(std::tgamma(static_cast<long double>(x)))))
        << x;
    EXPECT_TRUE(is_adjacent(math::lgamma(x), static_cast<double>(::lgammal_r(x, &sign)))) << x;
  };
  for (const double x :
       {-0.5, -1.5, -2.5, -1e-300, -1e-10, -170.5, -183.25, -1e10 - 0.5, -4503599627370495.5})
    check(x);
  for (int i = 0; i < 2000; ++i)
    check(-std::ldexp(static_cast<double>(random() >> 11), -53 + i % 8) - 0x1p-60);
}

}  // namespace
}  // namespace ingot::base
