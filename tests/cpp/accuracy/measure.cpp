#include "measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "base/math.h"

namespace ingot::accuracy {

namespace {

namespace math = base::math;
using Ranges = std::vector<std::pair<double, double>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

#define UNARY(op, c, mpfr, reference_of, kernel, speed, ...)                     \
  {#op,                                                                          \
   #c,                                                                           \
   [](double x, double) { return math::op(x); },                                 \
   [](float x, float) { return math::op(x); },                                   \
   [](mpfr_t r, const mpfr_t x, const mpfr_t) { return mpfr(r, x, MPFR_RNDN); }, \
   [](double x, double) { return static_cast<double>(reference_of); },           \
   false,                                                                        \
   Ranges __VA_ARGS__,                                                           \
   kernel,                                                                       \
   ir::Op::op,                                                                   \
   [](double x, double) { return std::c(x); },                                   \
   [](float x, float) { return std::c(x); },                                     \
   speed}
#define BINARY(op, c, mpfr, kernel, speed, ...)                                       \
  {#op,                                                                               \
   #c,                                                                                \
   [](double x, double y) { return math::op(x, y); },                                 \
   [](float x, float y) { return math::op(x, y); },                                   \
   [](mpfr_t r, const mpfr_t x, const mpfr_t y) { return mpfr(r, x, y, MPFR_RNDN); }, \
   [](double x, double y) { return std::c(x, y); },                                   \
   true,                                                                              \
   Ranges __VA_ARGS__,                                                                \
   kernel,                                                                            \
   ir::Op::op,                                                                        \
   [](double x, double y) { return std::c(x, y); },                                   \
   [](float x, float y) { return std::c(x, y); },                                     \
   speed}
#define POWER(op, mpfr, n)                                                       \
  {#op,                                                                          \
   "pow",                                                                        \
   [](double x, double) { return math::op(x); },                                 \
   [](float x, float) { return math::op(x); },                                   \
   [](mpfr_t r, const mpfr_t x, const mpfr_t) { return mpfr(r, x, MPFR_RNDN); }, \
   [](double x, double) { return std::pow(x, n); },                              \
   false,                                                                        \
   Ranges{{-2, 2}, {-100, 100}, {0.99, 1.01}},                                   \
   true,                                                                         \
   ir::Op::op,                                                                   \
   [](double x, double) { return std::pow(x, n); },                              \
   [](float x, float) { return std::pow(x, float{n}); },                         \
   kAll}
constexpr std::pair<double, double> kAll{-8, 8};
constexpr std::pair<double, double> kPositive{0, 100};
constexpr std::pair<double, double> kUnit{-1, 1};

int log_gamma(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding) {
  int sign;
  return mpfr_lgamma(result, &sign, x, rounding);
}

int cube_of(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding) {
  return mpfr_pow_ui(result, x, 3, rounding);
}
int fourth_power_of(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding) {
  return mpfr_pow_ui(result, x, 4, rounding);
}

std::vector<Function> make_functions() {
  return {
      UNARY(exp, exp, mpfr_exp, std::exp(x), true, kAll, {{-1, 1}, {-20, 20}, {-750, 715}, {-0.36, 0.36}}),
      UNARY(exp2, exp2, mpfr_exp2, std::exp2(x), true, kAll, {{-1, 1}, {-20, 20}, {-1080, 1030}}),
      UNARY(expm1, expm1, mpfr_expm1, std::expm1(x), true, kAll,
            {{-1, 1}, {-45, 45}, {0, 715}, {-0.1, 0.1}, {-2, 2}}),
      UNARY(log, log, mpfr_log, std::log(x), true, kPositive, {{0.5, 2}, {0.99, 1.01}, {0, 100}, {0.7, 1.5}}),
      UNARY(log2, log2, mpfr_log2, std::log2(x), true, kPositive,
            {{0.5, 2}, {0.99, 1.01}, {0, 100}, {0.7, 1.5}}),
      UNARY(log10, log10, mpfr_log10, std::log10(x), true, kPositive,
            {{0.5, 2}, {0.99, 1.01}, {0, 100}, {0.7, 1.5}}),
      UNARY(log1p, log1p, mpfr_log1p, std::log1p(x), true, kPositive,
            {{-0.5, 1}, {-0.01, 0.01}, {-1, 100}, {-0.3, 0.5}, {1e-9, 1e-8}}),
      UNARY(sin, sin, mpfr_sin, std::sin(x), true, kAll,
            {{-0.8, 0.8}, {-4, 4}, {-100, 100}, {-1e6, 1e6}, {-1e13, 1e13}}),
      UNARY(cos, cos, mpfr_cos, std::cos(x), true, kAll,
            {{-0.8, 0.8}, {-4, 4}, {-100, 100}, {-1e6, 1e6}, {-1e13, 1e13}}),
      UNARY(tan, tan, mpfr_tan, std::tan(x), true, kAll,
            {{-0.8, 0.8}, {-4, 4}, {-100, 100}, {-1e6, 1e6}, {-1e13, 1e13}}),
      UNARY(arcsin, asin, mpfr_asin, std::asin(x), true, kUnit,
            {{-1, 1}, {-0.5, 0.5}, {0.49, 0.52}, {0.99, 1}}),
      UNARY(arccos, acos, mpfr_acos, std::acos(x), true, kUnit,
            {{-1, 1}, {-0.5, 0.5}, {0.49, 0.52}, {0.99, 1}, {-1, -0.99}}),
      UNARY(arctan, atan, mpfr_atan, std::atan(x), true, kAll,
            {{-1, 1}, {-0.5, 0.5}, {0.4, 0.42}, {0, 3}, {-100, 100}}),
      UNARY(sinh, sinh, mpfr_sinh, std::sinh(x), true, kAll,
            {{-1, 1}, {-20, 20}, {-712, 712}, {-0.36, 0.36}, {0.3, 2}}),
      UNARY(cosh, cosh, mpfr_cosh, std::cosh(x), true, kAll,
            {{-1, 1}, {-20, 20}, {-712, 712}, {-0.36, 0.36}, {0.3, 2}}),
      UNARY(tanh, tanh, mpfr_tanh, std::tanh(x), true, kAll, {{-1, 1}, {-20, 20}, {-0.36, 0.36}, {0.3, 2}}),
      UNARY(cbrt, cbrt, mpfr_cbrt, std::cbrt(x), true, kAll, {{1, 8}, {-100, 100}}),
      POWER(cube, cube_of, 3),
      POWER(fourth_power, fourth_power_of, 4),
      BINARY(power, pow, mpfr_pow, true, kPositive,
             {{0, 2}, {-20, 20}, {0.9, 1.1}, {0, 700}, {-700, 700}, {0.9999, 1.0001}}),
      BINARY(arctan2, atan2, mpfr_atan2, true, kAll, {{-1, 1}, {-10, 10}, {0, 1}}),
      BINARY(hypot, hypot, mpfr_hypot, true, kAll, {{-1, 1}, {-10, 10}, {0, 1}, {1, 2}}),
      UNARY(arcsinh, asinh, mpfr_asinh, std::asinh(x), true, kAll, {{-1, 1}, {-100, 100}, {-0.1, 0.1}}),
      UNARY(arccosh, acosh, mpfr_acosh, std::acosh(x), true, std::pair(1.0, 9.0),
            {{1, 2}, {1, 100}, {1, 1.01}}),
      UNARY(arctanh, atanh, mpfr_atanh, std::atanh(x), true, kUnit, {{-1, 1}, {-0.1, 0.1}}),
      UNARY(erf, erf, mpfr_erf, std::erf(x), true, kAll, {{-1, 1}, {-6, 6}, {0.8, 1.1}}),
      UNARY(erfc, erfc, mpfr_erfc, std::erfc(x), true, kAll, {{-1, 1}, {-6, 6}, {0, 28}, {0.8, 1.1}}),
      UNARY(gamma, tgamma, mpfr_gamma, std::tgamma(static_cast<long double>(x)), true, kPositive,
            {{0.5, 3}, {0, 1.1}, {2.9, 20}, {0, 172}, {-20, 0}}),
      UNARY(lgamma, lgamma, log_gamma, std::lgamma(static_cast<long double>(x)), true, kPositive,
            {{0.5, 3}, {0, 1.1}, {0.99, 1.01}, {1.99, 2.01}, {2.9, 20}, {0, 172}}),
  };
}

/// The distance of neighbours at a number's size; beyond the largest, of the last ones.
double ulp_of(double x, int digits, int least_exponent) {
  if (x == 0) return std::ldexp(1.0, least_exponent);
  return std::ldexp(1.0, std::max(std::ilogb(x) - digits + 1, least_exponent));
}

bool same_special(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

void note(Largest& largest, double ulp, double x, double y) {
  if (!(ulp > largest.ulp)) return;
  largest.ulp = ulp;
  largest.x = x;
  largest.y = y;
}

std::vector<double> lattice() {
  std::vector<double> values = {0.0,
                                0x1p-1074,
                                0x1p-1022,
                                0x1.fffffffffffffp-1023,
                                0x1.fffffffffffffp+1023,
                                1e300,
                                1e22,
                                1e16,
                                2.0,
                                3.0,
                                0.5,
                                1.5,
                                2.5,
                                1.0,
                                0x1.fffffffffffffp-1,
                                0x1.0000000000001p+0,
                                0.25,
                                709.782712893384,
                                709.7827128933841,
                                745.1332191019412,
                                745.1332191019413,
                                710.4758600739439,
                                710.475860073944,
                                1024,
                                1023.9999999999999,
                                1074,
                                1075,
                                3.141592653589793,
                                1.5707963267948966,
                                0.7853981633974483,
                                6381956970095103.0 * 0x1p797,
                                100.5,
                                0x1p52,
                                0x1p53,
                                0x1p53 + 2,
                                0x1p63,
                                0x1p40,
                                0x1.0000000000001p40,
                                0x1p-54,
                                0x1p-27,
                                0.1,
                                10,
                                100,
                                7,
                                88.72284,
                                0x1p-149,
                                0x1p-126,
                                0x1.fffffep127,
                                104,
                                kInfinity};
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  return values;
}

}  // namespace

const std::vector<Function>& functions() {
  static const std::vector<Function> all = make_functions();
  return all;
}

void Largest::merge(const Largest& other) {
  note(*this, other.ulp, other.x, other.y);
  count += other.count;
  wrong_specials += other.wrong_specials;
}

std::vector<std::pair<double, double>> samples(const Function& f, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<double, double>> result;
  const std::vector<double> edges = lattice();
  for (double x : edges) {
    if (!f.binary) result.emplace_back(x, 0);
    else
      for (double y : edges) result.emplace_back(x, y);
  }
  const auto any_bits = [&] { return std::bit_cast<double>(random()); };
  const auto in = [&](std::pair<double, double> range) {
    return std::uniform_real_distribution<double>(range.first, range.second)(random);
  };
  const auto of_any_size = [&] { return std::ldexp(in({-1, 1}), static_cast<int>(random() % 70) - 60); };
  for (uint64_t iteration = 0; static_cast<int64_t>(result.size()) < count; ++iteration) {
    const size_t kind = iteration % (f.ranges.size() + 2);
    const auto draw = [&](size_t which) {
      if (which == 0) return any_bits();
      return which == 1 ? of_any_size() : in(f.ranges[which - 2]);
    };
    result.emplace_back(draw(kind), f.binary ? draw(iteration / 7 % (f.ranges.size() + 2)) : 0);
  }
  return result;
}

Largest measure(const Function& f, std::span<const std::pair<double, double>> arguments,
                std::span<const double> results, bool reports) {
  Largest largest;
  mpfr_t x, y, exact, got;
  mpfr_inits2(53, x, y, got, nullptr);
  mpfr_init2(exact, 140);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto [a, b] = arguments[i];
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    f.exact(exact, x, y);
    const double rounded = mpfr_get_d(exact, MPFR_RNDN);
    ++largest.count;
    if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0 || !std::isfinite(results[i])) {
      // Next to the largest number one ulp is allowed.
      const bool at_the_edge = std::isfinite(rounded) != std::isfinite(results[i]) &&
                               std::fabs(rounded) > 1e308 && std::fabs(results[i]) > 1e308;
      const bool tiny = rounded == 0 && std::fabs(results[i]) <= 0x1p-1074 && mpfr_zero_p(exact) == 0;
      if (!same_special(rounded, results[i]) && !at_the_edge && !tiny) {
        if (largest.wrong_specials++ == 0 && reports)
          std::printf("%s(%a, %a) gave %a, not %a\n", f.name.c_str(), a, b, results[i], rounded);
      }
      continue;
    }
    mpfr_set_d(got, results[i], MPFR_RNDN);
    mpfr_sub(exact, exact, got, MPFR_RNDN);
    // Scaled in MPFR: of subnormal results the difference is no double.
    mpfr_mul_2si(exact, exact, -std::ilogb(ulp_of(rounded, 53, -1074)), MPFR_RNDN);
    note(largest, std::fabs(mpfr_get_d(exact, MPFR_RNDN)), a, b);
  }
  mpfr_clears(x, y, exact, got, nullptr);
  return largest;
}

void measure_float(const Function& f, float x, float y, float result, Largest& largest, bool reports) {
  const double exact = f.reference(static_cast<double>(x), static_cast<double>(y));
  const auto rounded = static_cast<float>(exact);
  ++largest.count;
  if (!std::isfinite(rounded) || rounded == 0 || !std::isfinite(result)) {
    const bool at_the_edge = std::fabs(exact) > 3.4e38 && std::fabs(static_cast<double>(result)) > 3.4e38;
    const bool tiny = rounded == 0 && exact != 0 && std::fabs(result) <= 0x1p-149f;
    if (!same_special(static_cast<double>(rounded), static_cast<double>(result)) && !at_the_edge && !tiny) {
      if (largest.wrong_specials++ == 0 && reports)
        std::printf("%s(%a, %a) gave %a, not %a in float\n", f.name.c_str(), static_cast<double>(x),
                    static_cast<double>(y), static_cast<double>(result), exact);
    }
    return;
  }
  const double ulp = std::fabs(static_cast<double>(result) - exact) / ulp_of(exact, 24, -149);
  note(largest, ulp, static_cast<double>(x), static_cast<double>(y));
}

namespace {

// Which clone to take is asked before the thread sanitizer is ready.
#ifdef __SANITIZE_THREAD__
#define INGOT_CLONES
#else
#define INGOT_CLONES __attribute__((target_clones("avx2", "default")))
#endif

/// Errors in ulp; 0 of specials that agree, -1 of others.
__attribute__((optimize("O3,no-trapping-math"))) INGOT_CLONES void find_errors(const float* results,
                                                                               const double* exact,
                                                                               double* errors, size_t count) {
  constexpr uint64_t kExponent = 0x7ff0000000000000;
  for (size_t i = 0; i < count; ++i) {
    const double size = std::fabs(exact[i]);
    const auto result = static_cast<double>(results[i]);
    const double power = std::bit_cast<double>(std::bit_cast<uint64_t>(size) & kExponent) * 0x1p-23;
    const double ulp = power > 0x1p-149 ? power : 0x1p-149;
    const auto rounded = static_cast<float>(exact[i]);
    const bool same = (std::bit_cast<uint32_t>(rounded) == std::bit_cast<uint32_t>(results[i])) |
                      ((exact[i] != exact[i]) & (result != result));
    const bool ordinary = (size > 0x1p-149) & (size < 0x1.fffffep127) & (std::fabs(result) < 0x1p128);
    const double error = std::fabs(result - exact[i]) / ulp;
    errors[i] = ordinary ? error : same ? 0.0 : -1.0;
  }
}

}  // namespace

void measure_floats(const Function& f, std::span<const float> x, std::span<const float> results,
                    std::span<const double> exact, Largest& largest) {
  std::vector<double> errors(x.size());
  find_errors(results.data(), exact.data(), errors.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (errors[i] >= 0 && errors[i] <= largest.ulp) continue;
    if (errors[i] >= 0) note(largest, errors[i], static_cast<double>(x[i]), 0);
    else measure_float(f, x[i], 0, results[i], largest);
  }
  largest.count += static_cast<int64_t>(x.size() - static_cast<size_t>(std::ranges::count(errors, -1.0)));
}

}  // namespace ingot::accuracy
