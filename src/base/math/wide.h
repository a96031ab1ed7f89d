#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/math/kernels/coefficients.h"
#include "base/math/kernels/plain.h"

/// Real functions of twice the precision, for what is to be rounded once: on CPUs and GPUs alike, where wider
/// types of the hardware are not. Relative errors are below 2^-75. All arguments are finite; zeros are
/// positive, but where they are stated to keep their sign.
///
/// What is compiled for other CPUs than the rest is in a namespace of its own, INGOT_WIDE_VARIANT.
#ifndef INGOT_WIDE_VARIANT
#define INGOT_WIDE_VARIANT of_any_cpu
#endif
namespace ingot::base::math::wide {
inline namespace INGOT_WIDE_VARIANT {

namespace kernels = base::math::kernels;

/// high + low, |low| <= ulp(high) / 2.
struct Wide {
  double high;
  double low;
  Wide(double number = 0) : high(number), low(0) {}
  Wide(double first, double second) : high(first), low(second) {}
  Wide(const double (&parts)[2]) : high(parts[0]), low(parts[1]) {}
};

/// a + b, exactly; the second for |a| >= |b|.
inline Wide exact_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
inline Wide ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
inline Wide exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline Wide operator-(Wide a) { return {-a.high, -a.low}; }
inline Wide operator+(Wide a, Wide b) {
  const Wide high = exact_sum(a.high, b.high);
  const Wide low = exact_sum(a.low, b.low);
  const Wide first = ordered_sum(high.high, high.low + low.high);
  return ordered_sum(first.high, first.low + low.low);
}
inline Wide operator-(Wide a, Wide b) { return a + -b; }
inline Wide operator*(Wide a, Wide b) {
  const Wide product = exact_product(a.high, b.high);
  return ordered_sum(product.high, product.low + std::fma(a.high, b.low, a.low * b.high));
}
inline Wide operator/(Wide a, Wide b) {
  const double quotient = a.high / b.high;
  const Wide rest = a - b * quotient;
  return ordered_sum(quotient, rest.high / b.high);
}
/// a + x b where that is not much less than a.
inline Wide multiply_add(Wide x, Wide b, Wide a) {
  const Wide product = x * b;
  const Wide sum = exact_sum(a.high, product.high);
  return ordered_sum(sum.high, sum.low + (a.low + product.low));
}
inline Wide magnitude(Wide a) { return std::signbit(a.high) ? -a : a; }
inline double rounded(Wide a) { return a.low == 0 ? a.high : a.high + a.low; }

/// 2**n, |n| <= 1022.
inline double power_of_two(int n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }
/// a 2**n, rounded once if a is about 1.
inline double scaled(double a, int n) {
  const int inside = std::clamp(n, -2000, 2000);
  return a * power_of_two(inside / 2) * power_of_two(inside - inside / 2);
}
inline Wide scaled(Wide a, int n) { return {scaled(a.high, n), scaled(a.low, n)}; }
/// The exponent of the largest power of 2 that is not above a normal number's size; of others -1023.
inline int exponent_of(double a) {
  return static_cast<int>(std::bit_cast<uint64_t>(std::fabs(a)) >> 52) - 1023;
}

inline Wide sqrt(Wide a) {
  if (a.high == 0) return a;
  const double root = std::sqrt(a.high);
  return ordered_sum(root, (std::fma(-root, root, a.high) + a.low) / (2 * root));
}

/// Sum of c[first + i * step].high x**i, i < count.
template <size_t N>
double tail(double x, const double (&c)[N][2], int first, int step, int count) {
  double sum = c[first + (count - 1) * step][0];
  for (int i = count - 2; i >= 0; --i) sum = std::fma(sum, x, c[first + i * step][0]);
  return sum;
}

/// exp(x) = 2**power (1 + less_one); for |x| < 0.34 the power is 0, and less_one has the precision.
struct Exponential {
  Wide less_one;
  int power;
};
/// x = n ln(2) + 8 t: exp(t) - 1 by Taylor, its first terms wide; squared thrice.
inline Exponential exponential(Wide x) {
  constexpr double kMost = 20000;
  constexpr double kLinear = 0x1p-100;
  if (std::fabs(x.high) < kLinear) return {x, 0};
  const Wide inside = x.high > kMost ? Wide(kMost) : x.high < -kMost ? Wide(-kMost) : x;
  const double n = std::nearbyint(inside.high * kernels::kLog2E[0]);
  Wide rest = inside - exact_product(n, kernels::kLn2Long[0]);
  rest = rest - exact_product(n, kernels::kLn2Long[1]) - Wide(n * kernels::kLn2Long[2]);
  const Wide t(rest.high / 8, rest.low / 8);
  Wide sum = multiply_add(t, tail(t.high, kernels::kFactorials, 5, 1, 8), kernels::kFactorials[4]);
  sum = multiply_add(t, sum, kernels::kFactorials[3]);
  sum = multiply_add(t, sum, kernels::kFactorials[2]);
  sum = multiply_add(t * t, sum, t);
  for (int i = 0; i < 3; ++i) sum = multiply_add(sum, sum, {2 * sum.high, 2 * sum.low});
  return {sum, static_cast<int>(n)};
}

/// sinh(x) and cosh(x) are 2**power times these; sinh keeps the sign of 0.
struct Hyperbolic {
  Wide sinh;
  Wide cosh;
  int power;
};
inline Hyperbolic hyperbolic(double x) {
  if (x == 0) return {x, 1.0, 0};
  const Exponential e = exponential(std::fabs(x));
  const Wide whole = Wide(1.0) + e.less_one;
  Hyperbolic h{0.0, 0.0, e.power};
  if (e.power == 0) {
    const Wide other = e.less_one / whole;
    h.sinh = (e.less_one + other) * 0.5;
    h.cosh = multiply_add(e.less_one * other, 0.5, 1.0);
  } else {
    const Wide inverse = e.power < 60 ? scaled(Wide(1.0) / whole, -2 * e.power) : Wide(0.0);
    h.sinh = (whole - inverse) * 0.5;
    h.cosh = (whole + inverse) * 0.5;
  }
  if (x < 0) h.sinh = -h.sinh;
  return h;
}

/// x = quadrant * pi/2 + rest, |rest| little above pi/4.
struct Turned {
  Wide rest;
  int64_t quadrant;
};
inline Turned reduce_by_digits(double x) {
  const kernels::Turns turns = kernels::turns_of(std::fabs(x));
  const auto upper = [](uint64_t word) { return static_cast<double>(static_cast<uint32_t>(word >> 32)); };
  const auto number = [](double high, uint64_t low, int power) {
    return scaled(exact_sum(high * 0x1p32, static_cast<double>(static_cast<uint32_t>(low))), power);
  };
  const auto first = static_cast<uint64_t>(turns.first);
  const Wide quarters = number(static_cast<double>(turns.first >> 32), first, -62) +
                        number(upper(turns.second), turns.second, -126) +
                        number(upper(turns.third), turns.third, -190);
  const Wide rest = quarters * Wide(kernels::kHalfPiLong[0], kernels::kHalfPiLong[1]);
  return x < 0 ? Turned{-rest, -turns.quadrant} : Turned{rest, turns.quadrant};
}
inline Turned reduce(double x) {
  constexpr double kFew = 0x1p24;
  if (std::fabs(x) < 0.75) return {x, 0};
  if (std::fabs(x) >= kFew) return reduce_by_digits(x);
  const double n = std::nearbyint(x * kernels::kTwoOverPi[0]);
  Wide rest = Wide(x) - exact_product(n, kernels::kHalfPiLong[0]);
  rest = rest - exact_product(n, kernels::kHalfPiLong[1]);
  rest = rest - exact_product(n, kernels::kHalfPiLong[2]) - Wide(n * kernels::kHalfPiLong[3]);
  return {rest, static_cast<int64_t>(n)};
}

/// The sine keeps the sign of 0.
struct Circular {
  Wide sin;
  Wide cos;
};
/// By Taylor, the first terms wide.
inline Circular circular(const Turned& turned) {
  using kernels::kFactorials;
  const Wide r = turned.rest;
  const Wide z = r * r;
  const Wide w = -z;
  Wide sine = multiply_add(w, tail(w.high, kFactorials, 11, 2, 8), kFactorials[9]);
  for (const int k : {7, 5, 3}) sine = multiply_add(w, sine, kFactorials[k]);
  sine = r.high == 0 ? r : multiply_add(r * w, sine, r);
  Wide cosine = multiply_add(w, tail(w.high, kFactorials, 12, 2, 7), kFactorials[10]);
  for (const int k : {8, 6, 4, 2}) cosine = multiply_add(w, cosine, kFactorials[k]);
  cosine = multiply_add(w, cosine, 1.0);
  switch (turned.quadrant & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}
inline Circular circular(double x) { return circular(reduce(x)); }
inline Circular circular(Wide x) {
  if (x.low == 0) return circular(x.high);
  Turned turned = reduce(x.high);
  const Turned more = reduce(x.low);
  turned.rest = turned.rest + more.rest;
  turned.quadrant += more.quadrant;
  // Where both have a rest, it may be up to pi/2.
  if (std::fabs(turned.rest.high) > 0.8) {
    const Wide quarter(kernels::kHalfPiLong[0], kernels::kHalfPiLong[1]);
    const bool up = turned.rest.high > 0;
    turned.rest = up ? turned.rest - quarter : turned.rest + quarter;
    turned.quadrant += up ? 1 : -1;
  }
  return circular(turned);
}

/// log(1 + f) = 2 atanh(s), s = f / (2 + f), for 1 + f between the roots of 1/2 and 2.
inline Wide log_near_one(Wide f) {
  using kernels::kOdds;
  const Wide s = f / (Wide(2.0) + f);
  const Wide z = s * s;
  Wide sum = multiply_add(z, tail(z.high, kOdds, 5, 1, 12), kOdds[4]);
  for (const int k : {3, 2, 1, 0}) sum = multiply_add(z, sum, kOdds[k]);
  return s * sum * 2.0;
}
inline bool is_near_one(Wide f) { return f.high > -0.29 && f.high < 0.41; }
inline Wide times_ln2(double n) {
  return exact_product(n, kernels::kLn2Long[0]) + exact_product(n, kernels::kLn2Long[1]);
}
/// Of normal x > 0.
inline Wide log(Wide x) {
  int n = exponent_of(x.high);
  Wide m = scaled(x, -n);
  if (m.high > 1.41) {
    m = m * 0.5;
    ++n;
  }
  return log_near_one(m - Wide(1.0)) + times_ln2(n);
}
inline Wide log1p(Wide f) { return is_near_one(f) ? log_near_one(f) : log(Wide(1.0) + f); }

/// x*x + y*y - 1, the errors small against it.
inline Wide square_less_one(Wide x, double y) {
  Wide larger = exact_product(x.high, x.high);
  Wide smaller = exact_product(y, y);
  if (larger.high < smaller.high) std::swap(larger, smaller);
  Wide sum = exact_sum(larger.high, -1.0) + smaller.high;
  sum = sum + larger.low + smaller.low;
  return x.low == 0 ? sum : sum + exact_product(2 * x.high, x.low) + Wide(x.low * x.low);
}
/// log of the size of x + iy, which is not 0.
inline Wide log_of_size(Wide x, double y) {
  int n = exponent_of(std::max(std::fabs(x.high), std::fabs(y)));
  if (n == -1 || n == 0) n = 0;
  else if (n == -1023) n = -1074;
  const Wide less_one = square_less_one(scaled(x, -n), scaled(y, -n));
  const Wide half = log1p(less_one) * 0.5;
  return n == 0 ? half : half + times_ln2(n);
}

/// log(v + sqrt(v*v + 1)), v >= 0.
inline Wide asinh(Wide v) {
  if (v.high > 0x1p100) return log(v) + times_ln2(1);
  const Wide square = v * v;
  return log1p(v + square / (Wide(1.0) + sqrt(Wide(1.0) + square)));
}

/// atan(small / large), 0 < small <= large, by that of a sixteenth nearby.
inline Wide arctan_of(Wide small, Wide large) {
  using kernels::kOdds;
  const auto k = static_cast<int>(small.high / large.high * 16 + 0.5);
  const Wide c(k * 0x1p-4);
  const Wide u = k == 0 ? small / large : (small - large * c) / (large + small * c);
  const Wide w = -(u * u);
  Wide sum = multiply_add(w, tail(w.high, kOdds, 3, 1, 5), kOdds[2]);
  for (const int i : {1, 0}) sum = multiply_add(w, sum, kOdds[i]);
  return k == 0 ? u * sum : Wide(kernels::kAtans[k]) + u * sum;
}

/// The angle of x + iy, which is not 0; zeros keep their signs.
inline Wide angle(Wide y, Wide x) {
  const Wide quarter(kernels::kHalfPiLong[0], kernels::kHalfPiLong[1]);
  const bool is_below = std::signbit(y.high);
  const bool is_left = std::signbit(x.high);
  const Wide width = magnitude(x);
  const Wide height = magnitude(y);
  Wide size(0.0);
  if (height.high < 0x1p-60 * width.high) {
    if (!is_left && height.high < 0x1p-960 * width.high) return y.high / x.high;
    const int n = exponent_of(width.high);
    size = scaled(height, -n) / scaled(width, -n);
  } else {
    const int n = std::max(exponent_of(std::max(width.high, height.high)), -1022);
    const bool is_steep = height.high > width.high;
    const Wide small = scaled(is_steep ? width : height, -n);
    size = small.high == 0 ? small : arctan_of(small, scaled(is_steep ? height : width, -n));
    if (is_steep) size = quarter - size;
  }
  if (is_left) size = quarter * 2.0 - size;
  return is_below ? -size : size;
}

}  // namespace INGOT_WIDE_VARIANT
}  // namespace ingot::base::math::wide
