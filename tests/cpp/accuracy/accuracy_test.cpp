#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/math.h"
#include "base/math/kernels/plain.h"
#include "loops.h"
#include "measure.h"

namespace ingot::accuracy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kSamples = 1 << 16;

const Function& function(const std::string& name) {
  for (const Function& f : functions())
    if (f.name == name) return f;
  throw std::runtime_error(name);
}

class Accuracy : public testing::TestWithParam<std::string> {};

TEST_P(Accuracy, OfDoubleIsWithinOneUlp) {
  const Function& f = function(GetParam());
  const auto arguments = samples(f, kSamples, 7);
  std::vector<double> results;
  for (const auto& [x, y] : arguments) results.push_back(f.of_double(x, y));
  const Largest largest = measure(f, arguments, results);
  EXPECT_LE(largest.ulp, 1.0) << largest.x << ", " << largest.y;
  EXPECT_EQ(largest.wrong_specials, 0);
}

TEST_P(Accuracy, OfFloatIsWithinTwoUlp) {
  const Function& f = function(GetParam());
  Largest largest;
  for (const auto& [x, y] : samples(f, kSamples, 8)) {
    const auto a = static_cast<float>(x);
    const auto b = static_cast<float>(y);
    measure_float(f, a, b, f.of_float(a, b), largest);
  }
  EXPECT_LE(largest.ulp, 2.0) << largest.x << ", " << largest.y;
  EXPECT_EQ(largest.wrong_specials, 0);
}

template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

/// Emitted code of every width gives the bits of base::math.
template <class T>
void check_widths(const Function& f, const codegen::Target& target, codegen::Effort effort) {
  constexpr bool kDouble = sizeof(T) == 8;
  const base::DType dtype = kDouble ? base::DType::Float64 : base::DType::Float32;
  std::vector<codegen::MathLoop> widths;
  for (const unsigned lanes : {1u, 2u, 4u, 8u, 16u, 3u}) widths.push_back({f.op, dtype, lanes});
  const Loops loops(widths, target, {.effort = effort, .verify = true});
  auto arguments = samples(f, 3 * 4096, 9);
  arguments.resize(3 * 4096);
  std::vector<T> x, y, expected, results(arguments.size());
  for (const auto& [a, b] : arguments) {
    x.push_back(static_cast<T>(a));
    // Powers are integers.
    y.push_back(static_cast<T>(f.op == ir::Op::scale_by_power ? std::trunc(b) : b));
    if constexpr (kDouble) expected.push_back(f.of_double(x.back(), y.back()));
    else expected.push_back(f.of_float(x.back(), y.back()));
  }
  for (const codegen::MathLoop& loop : widths) {
    loops.get<T>(loop)(x.data(), y.data(), results.data(), static_cast<int64_t>(x.size()));
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same(results[i], expected[i]) && wrong++ == 0)
        ADD_FAILURE() << f.name << " of " << x[i] << ", " << y[i] << " at " << loop.lanes << " lanes gave "
                      << results[i] << ", not " << expected[i];
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(Accuracy, EmittedCodeOfEveryWidthHasTheSameBits) {
  const Function& f = function(GetParam());
  if (!f.kernel) return;
  for (const codegen::Target& target : {codegen::Target::host(), codegen::Target::generic(3)}) {
    check_widths<double>(f, target, codegen::Effort::Normal);
    check_widths<float>(f, target, codegen::Effort::Normal);
  }
}

#define EXACT(op_name, is_binary, ...)                                                                  \
  [] {                                                                                                  \
    Function f{};                                                                                       \
    f.name = #op_name;                                                                                  \
    f.of_double = [](double x, [[maybe_unused]] double y) { return base::math::op_name(__VA_ARGS__); }; \
    f.of_float = [](float x, [[maybe_unused]] float y) { return base::math::op_name(__VA_ARGS__); };    \
    f.binary = is_binary;                                                                               \
    f.ranges = {{-10, 10}, {-1e6, 1e6}, {0, 1}};                                                        \
    f.op = ir::Op::op_name;                                                                             \
    return f;                                                                                           \
  }()

/// Operations without error, which base::math defines otherwise than the kernels.
TEST(Exact, EmittedCodeOfEveryWidthHasTheSameBits) {
  const Function exact[] = {EXACT(fmod, true, x, y),         EXACT(remainder, true, x, y),
                            EXACT(floor_divide, true, x, y), EXACT(nextafter, true, x, y),
                            EXACT(spacing, false, x),        EXACT(scale_by_power, true, x, y)};
  for (const Function& f : exact) {
    for (const codegen::Target& target : {codegen::Target::host(), codegen::Target::generic(3)}) {
      check_widths<double>(f, target, codegen::Effort::Normal);
      check_widths<float>(f, target, codegen::Effort::Normal);
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Function& f : functions()) all.push_back(f.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Functions, Accuracy, testing::ValuesIn(names()),
                         [](const auto& parameter) { return parameter.param; });

/// The words of C's Annex F that the samples may miss.
struct Special {
  const char* name;
  double x, y, value;
};
constexpr Special kSpecials[] = {
    {"exp", -kInfinity, 0, 0.0},
    {"exp", kInfinity, 0, kInfinity},
    {"exp", -0.0, 0, 1},
    {"exp2", -kInfinity, 0, 0.0},
    {"expm1", -0.0, 0, -0.0},
    {"expm1", -kInfinity, 0, -1},
    {"log", 0.0, 0, -kInfinity},
    {"log", -0.0, 0, -kInfinity},
    {"log", 1, 0, 0.0},
    {"log", -1, 0, kNaN},
    {"log", kInfinity, 0, kInfinity},
    {"log2", -0.0, 0, -kInfinity},
    {"log2", 1, 0, 0.0},
    {"log2", 8, 0, 3},
    {"log10", 1000, 0, 3},
    {"log10", -kInfinity, 0, kNaN},
    {"log1p", -0.0, 0, -0.0},
    {"log1p", -1, 0, -kInfinity},
    {"log1p", -2, 0, kNaN},
    {"log1p", -kInfinity, 0, kNaN},
    {"log1p", kInfinity, 0, kInfinity},
    {"sin", -0.0, 0, -0.0},
    {"sin", kInfinity, 0, kNaN},
    {"cos", -0.0, 0, 1},
    {"cos", -kInfinity, 0, kNaN},
    {"tan", -0.0, 0, -0.0},
    {"tan", kInfinity, 0, kNaN},
    {"arcsin", -0.0, 0, -0.0},
    {"arcsin", 1.5, 0, kNaN},
    {"arccos", 1, 0, 0.0},
    {"arccos", -1.5, 0, kNaN},
    {"arctan", -0.0, 0, -0.0},
    {"arctan", kInfinity, 0, 1.5707963267948966},
    {"sinh", -0.0, 0, -0.0},
    {"sinh", -kInfinity, 0, -kInfinity},
    {"cosh", -kInfinity, 0, kInfinity},
    {"tanh", -0.0, 0, -0.0},
    {"tanh", -kInfinity, 0, -1},
    {"arcsinh", -0.0, 0, -0.0},
    {"arcsinh", -kInfinity, 0, -kInfinity},
    {"arcsinh", 5e-324, 0, 5e-324},
    {"arccosh", 1, 0, 0.0},
    {"arccosh", 0.5, 0, kNaN},
    {"arccosh", -2, 0, kNaN},
    {"arccosh", -kInfinity, 0, kNaN},
    {"arccosh", kInfinity, 0, kInfinity},
    {"arctanh", -0.0, 0, -0.0},
    {"arctanh", 1, 0, kInfinity},
    {"arctanh", -1, 0, -kInfinity},
    {"arctanh", 5e-324, 0, 5e-324},
    {"arctanh", 1.5, 0, kNaN},
    {"arctanh", -kInfinity, 0, kNaN},
    {"erf", -0.0, 0, -0.0},
    {"erf", 5e-324, 0, 5e-324},
    {"erf", kInfinity, 0, 1},
    {"erf", -kInfinity, 0, -1},
    {"erf", kNaN, 0, kNaN},
    {"erfc", 0.0, 0, 1},
    {"erfc", -0.0, 0, 1},
    {"erfc", kInfinity, 0, 0.0},
    {"erfc", -kInfinity, 0, 2},
    {"erfc", kNaN, 0, kNaN},
    {"cbrt", -0.0, 0, -0.0},
    {"cbrt", -kInfinity, 0, -kInfinity},
    {"cbrt", -27, 0, -3},
    {"power", -0.0, -3, -kInfinity},
    {"power", -0.0, -2, kInfinity},
    {"power", -0.0, -kInfinity, kInfinity},
    {"power", -0.0, 3, -0.0},
    {"power", -0.0, 2.5, 0.0},
    {"power", -1, kInfinity, 1},
    {"power", -1, -kInfinity, 1},
    {"power", 1, kNaN, 1},
    {"power", kNaN, 0, 1},
    {"power", kNaN, -0.0, 1},
    {"power", -2, 0.5, kNaN},
    {"power", 0.5, -kInfinity, kInfinity},
    {"power", 2, -kInfinity, 0.0},
    {"power", -kInfinity, -3, -0.0},
    {"power", -kInfinity, 3, -kInfinity},
    {"power", -kInfinity, 0.5, kInfinity},
    {"power", kInfinity, -0.5, 0.0},
    {"power", -8, 3, -512},
    {"arctan2", 0.0, -0.0, 3.141592653589793},
    {"arctan2", -0.0, -0.0, -3.141592653589793},
    {"arctan2", -0.0, 0.0, -0.0},
    {"arctan2", -0.0, -1, -3.141592653589793},
    {"arctan2", 1, -0.0, 1.5707963267948966},
    {"arctan2", kInfinity, -kInfinity, 2.356194490192345},
    {"arctan2", -kInfinity, kInfinity, -0.7853981633974483},
    {"arctan2", 1, -kInfinity, 3.141592653589793},
    {"arctan2", -1, kInfinity, -0.0},
    {"arctan2", kNaN, 1, kNaN},
    {"hypot", -kInfinity, kNaN, kInfinity},
    {"hypot", kNaN, kInfinity, kInfinity},
    {"hypot", 0x1.8p1023, 0x1p1022, 0x1.9495d2e5e5f3fp+1023},
    {"hypot", 0x3p-1074, 0x4p-1074, 0x5p-1074},
};

TEST(Specials, AreThoseOfAnnexF) {
  for (const Special& special : kSpecials) {
    const Function& f = function(special.name);
    const double result = f.of_double(special.x, special.y);
    if (std::string(special.name) == "hypot" && special.x > 1e300) {
      EXPECT_NEAR(result / special.value, 1, 1e-2) << "no overflow between";
      continue;
    }
    EXPECT_TRUE(same(result, special.value)) << special.name << " of " << special.x << ", " << special.y
                                             << " gave " << result << ", not " << special.value;
    if (std::fabs(special.x) < 1e-300 && special.x != 0) continue;
    const float narrow = f.of_float(static_cast<float>(special.x), static_cast<float>(special.y));
    const auto value = static_cast<float>(special.value);
    const bool exact = static_cast<double>(value) == special.value || std::isnan(value);
    EXPECT_TRUE(exact ? same(narrow, value) : std::fabs(narrow - value) <= 0x1p-22f * std::fabs(value))
        << special.name << " of " << special.x << ", " << special.y << " gave " << narrow << " in float";
  }
}

TEST(LargeAngles, NearMultiplesOfHalfPi) {
  // The double nearest to a multiple of pi/2, relative to its size, and others close to one.
  const Function& sine = function("sin");
  const Function& cosine = function("cos");
  const Function& tangent = function("tan");
  std::vector<std::pair<double, double>> arguments = {{6381956970095103.0 * 0x1p797, 0}};
  for (int k = 1; k < 20000; ++k) arguments.emplace_back(k * 1.5707963267948966, 0);
  for (int power = 0; power < 900; ++power) arguments.emplace_back(std::ldexp(3.141592653589793, power), 0);
  for (const Function* f : {&sine, &cosine, &tangent}) {
    std::vector<double> results;
    for (const auto& [x, y] : arguments) results.push_back(f->of_double(x, y));
    const Largest largest = measure(*f, arguments, results);
    EXPECT_LE(largest.ulp, 1.0) << f->name << " of " << largest.x;
  }
}

}  // namespace
}  // namespace ingot::accuracy
