#pragma once

#include "base/math/complex.h"
#include "base/math/kernels/of_parts.h"
#include "base/math/wide.h"

/// The complex functions of `elementary`, which are calls of these: finite numbers in twice the precision
/// (wide.h), special ones as C's Annex G has them.
namespace ingot::base::math::elementary {
namespace INGOT_WIDE_VARIANT {

using Double = std::complex<double>;
using wide::Wide;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfTurn = std::numbers::pi;

/// What is smaller is scaled up where it is multiplied or divided, lest it is rounded twice.
constexpr double kTiny = 0x1p-500;
constexpr int kUp = 300;

/// A function that is odd: minus i times it, of i times z. So sin is made of sinh.
inline Double turned_back(Double z) { return {z.imag(), -z.real()}; }
inline Double turned(Double z) { return {-z.imag(), z.real()}; }

struct WideComplex {
  Wide re;
  Wide im;
};

inline Double rounded(const WideComplex& z) { return {wide::rounded(z.re), wide::rounded(z.im)}; }

/// 2**power a b; zeros keep their signs.
inline double product(Wide a, Wide b, int power) {
  const double zero = a.high * b.high;
  for (Wide* const factor : {&a, &b}) {
    if (std::fabs(factor->high) >= kTiny) continue;
    *factor = wide::scaled(*factor, kUp);
    power -= kUp;
  }
  const double value = wide::scaled(wide::rounded(a * b), power);
  return value == 0 ? std::copysign(0.0, zero) : value;
}

/// a/b, of which only a may be tiny.
inline double quotient(Wide a, Wide b) {
  const int up = std::fabs(a.high) < kTiny ? kUp : 0;
  return wide::scaled(wide::rounded(wide::scaled(a, up) / b), -up);
}

/// The square root of x + iy, its real part not negative.
inline WideComplex root_of(Wide x, double y) {
  const double size = std::max(std::fabs(x.high), std::fabs(y));
  if (size == 0) return {0.0, y};
  const int n = std::max(wide::exponent_of(size), -1022) & ~1;
  const Wide width = wide::magnitude(wide::scaled(x, -n));
  const double height = wide::scaled(y, -n);
  const Wide modulus = wide::sqrt(width * width + wide::exact_product(height, height));
  const Wide larger = wide::sqrt((width + modulus) * 0.5);
  const double part = std::fabs(wide::scaled(y, -n / 2));
  const Wide smaller = part < kTiny ? Wide(quotient(part, larger * 2.0)) : Wide(part) / (larger * 2.0);
  const Wide whole = wide::scaled(larger, n / 2);
  WideComplex root = x.high < 0 ? WideComplex{smaller, whole} : WideComplex{whole, smaller};
  if (std::signbit(y)) root.im = -root.im;
  return root;
}

inline Double exp_of_special(double x, double y) {
  if (std::isfinite(x)) return {kNaN, kNaN};
  if (std::isnan(x)) return {kNaN, y == 0 ? y : kNaN};
  const double size = x > 0 ? kInfinity : 0.0;
  if (!std::isfinite(y)) return x > 0 ? Double(kInfinity, kNaN) : Double(0.0, std::copysign(0.0, y));
  if (y == 0) return {size, y};
  const wide::Circular turn = wide::circular(y);
  return {std::copysign(size, turn.cos.high), std::copysign(size, turn.sin.high)};
}

inline Double exp_of(Wide x, Wide y) {
  const wide::Exponential e = wide::exponential(x);
  const Wide whole = Wide(1.0) + e.less_one;
  const wide::Circular turn = wide::circular(y);
  return {product(whole, turn.cos, e.power), product(whole, turn.sin, e.power)};
}

inline Double sinh_of_special(double x, double y) {
  if (std::isfinite(x)) return {x == 0 ? x : kNaN, kNaN};
  if (y == 0) return {x, y};
  if (std::isnan(x)) return {kNaN, kNaN};
  if (!std::isfinite(y)) return {kInfinity, kNaN};
  const wide::Circular turn = wide::circular(y);
  return {std::copysign(kInfinity, turn.cos.high * x), std::copysign(kInfinity, turn.sin.high)};
}

inline Double cosh_of_special(double x, double y) {
  if (std::isfinite(x)) return {kNaN, x == 0 ? 0.0 : kNaN};
  if (y == 0) return {std::fabs(x), std::isnan(x) ? y : std::copysign(0.0, x) * y};
  if (std::isnan(x)) return {kNaN, kNaN};
  if (!std::isfinite(y)) return {kInfinity, kNaN};
  const wide::Circular turn = wide::circular(y);
  return {std::copysign(kInfinity, turn.cos.high), std::copysign(kInfinity, turn.sin.high * x)};
}

inline Double tanh_of_special(double x, double y) {
  if (std::isinf(x)) {
    if (!std::isfinite(y)) return {std::copysign(1.0, x), std::copysign(0.0, y)};
    const wide::Circular turn = wide::circular(y);
    return {std::copysign(1.0, x), std::copysign(0.0, turn.sin.high * turn.cos.high)};
  }
  if (std::isnan(x)) return {kNaN, y == 0 ? y : kNaN};
  return {x == 0 ? x : kNaN, kNaN};
}

inline Double asinh_of_special(double x, double y) {
  if (std::isinf(x)) {
    if (std::isnan(y)) return {x, kNaN};
    return {x, std::copysign(std::isinf(y) ? kHalfTurn / 4 : 0.0, y)};
  }
  if (std::isinf(y))
    return std::isnan(x) ? Double(kInfinity, kNaN)
                         : Double(std::copysign(kInfinity, x), std::copysign(kHalfTurn / 2, y));
  return {kNaN, std::isnan(x) && y == 0 ? y : kNaN};
}

inline Double acos_of_special(double x, double y) {
  if (std::isinf(x)) {
    if (std::isnan(y)) return {kNaN, -kInfinity};
    const double angle = std::isinf(y) ? (x > 0 ? kHalfTurn / 4 : 3 * (kHalfTurn / 4))
                         : x > 0       ? 0.0
                                       : kHalfTurn;
    return {angle, -std::copysign(kInfinity, y)};
  }
  if (std::isinf(y)) return {std::isnan(x) ? kNaN : kHalfTurn / 2, -y};
  return {x == 0 ? kHalfTurn / 2 : kNaN, kNaN};
}

inline Double atanh_of_special(double x, double y) {
  if (std::isinf(y)) return {std::copysign(0.0, x), std::copysign(kHalfTurn / 2, y)};
  if (std::isinf(x)) return {std::copysign(0.0, x), std::isnan(y) ? kNaN : std::copysign(kHalfTurn / 2, y)};
  return {x == 0 ? x : kNaN, kNaN};
}

inline Double log_of_special(double x, double y) {
  if (std::isinf(x) || std::isinf(y)) {
    return {kInfinity, elementary::arctan2(y, x)};
  }
  if (x == 0 && y == 0) return {-kInfinity, elementary::arctan2(y, x)};
  return {kNaN, kNaN};
}

inline Double sqrt_of_special(double x, double y) {
  if (std::isinf(y)) return {kInfinity, y};
  if (!std::isinf(x)) return {kNaN, kNaN};
  if (std::isnan(y)) return x < 0 ? Double(kNaN, kInfinity) : Double(x, kNaN);
  return x < 0 ? Double(0.0, std::copysign(kInfinity, y)) : Double(kInfinity, std::copysign(0.0, y));
}

inline bool is_finite(Double z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

inline WideComplex log_of(Double z) {
  return {wide::log_of_size(z.real(), z.imag()), wide::angle(z.imag(), z.real())};
}
inline bool has_log(Double z) { return is_finite(z) && (z.real() != 0 || z.imag() != 0); }

/// What arcsin and arccos of x + iy, y >= 0, are made of (Kahan): a = sqrt(1 - z), b = sqrt(1 + z), and the
/// sizes of re(a) re(b) + im(a) im(b) and of re(a) im(b) + im(a) re(b), in which nothing cancels.
struct Arcs {
  Wide a;      ///< re(a)
  Wide b;      ///< re(b)
  Wide along;  ///< |x| / along is the tangent of arcsin's real part
  Wide above;  ///< the sinh of its imaginary part's size
};
inline Arcs arcs_of(double x, double y) {
  const WideComplex a = root_of(wide::exact_sum(1.0, -x), -y);
  const WideComplex b = root_of(wide::exact_sum(1.0, x), y);
  return {a.re, b.re, a.re * b.re + wide::magnitude(a.im) * wide::magnitude(b.im),
          a.re * wide::magnitude(b.im) + wide::magnitude(a.im) * b.re};
}

/// Sizes of the parts of arcsin(x + iy), or with `of_cosine` of arccos, of finite numbers.
struct ArcSine {
  double real;
  double imaginary;
};
inline ArcSine arc_sine(double x, double y, bool of_cosine) {
  constexpr double kHuge = 0x1p500;
  const double height = std::fabs(y);
  const double width = std::fabs(x);
  if (width > kHuge || height > kHuge) {
    const Wide size = wide::log_of_size(x, y) + wide::times_ln2(1);
    const Wide real = of_cosine ? wide::angle(height, x) : wide::angle(width, height);
    return {wide::rounded(real), wide::rounded(size)};
  }
  // Between the branch points, the imaginary part of tiny ones is in proportion.
  const bool is_tiny = height < kTiny && width < 1;
  const Arcs arcs = arcs_of(x, is_tiny ? wide::scaled(height, kUp) : height);
  const Wide real = of_cosine ? wide::angle(arcs.a, arcs.b) * 2.0 : wide::angle(width, arcs.along);
  return {wide::rounded(real), wide::scaled(wide::rounded(wide::asinh(arcs.above)), is_tiny ? -kUp : 0)};
}

inline Double asinh_of(double x, double y) {
  constexpr double kLinear = 0x1p-36;
  if (std::fabs(x) < kLinear && std::fabs(y) < kLinear) return {x, y};
  const ArcSine arc = arc_sine(y, x, false);
  return {std::copysign(arc.imaginary, x), std::copysign(arc.real, y)};
}

inline Double atanh_of(double x, double y) {
  constexpr double kHuge = 0x1p100;
  constexpr double kLinear = 0x1p-36;
  const double width = std::fabs(x);
  const double height = std::fabs(y);
  if (width < kLinear && height < kLinear) return {x, y};
  if (width > kHuge || height > kHuge) {
    // 1/z and half a turn.
    const int n = wide::exponent_of(std::max(width, height));
    const double across = wide::scaled(width, -n);
    const double up = wide::scaled(height, -n);
    const Wide square = wide::exact_product(across, across) + wide::exact_product(up, up);
    return {std::copysign(wide::scaled(wide::rounded(Wide(across) / square), -n), x),
            std::copysign(kHalfTurn / 2, y)};
  }
  const Wide rest = wide::exact_sum(1.0, -width);
  const Wide below = rest * rest + wide::exact_product(height, height);
  if (rest.high == 0 && height < 0x1p-100) {
    if (y == 0) return {std::copysign(kInfinity, x), y};
    const Wide size = wide::times_ln2(1) - wide::log_of_size(height, 0.0);
    return {std::copysign(wide::rounded(size * 0.5), x), std::copysign(kHalfTurn / 4, y)};
  }
  const Wide real = wide::log1p(Wide(4 * width) / below) * 0.25;
  const Wide angle = wide::angle(2 * height, -wide::square_less_one(width, height)) * 0.5;
  return {std::copysign(wide::rounded(real), x), std::copysign(wide::rounded(angle), y)};
}

inline Double tanh_of(double x, double y) {
  const wide::Hyperbolic h = wide::hyperbolic(x);
  const wide::Circular turn = wide::circular(y);
  if (h.power > 60) {
    const Wide down = wide::magnitude(h.cosh);
    return {std::copysign(1.0, x),
            y == 0 ? y : product(turn.sin * turn.cos, Wide(1.0) / (down * down), -2 * h.power)};
  }
  const Wide sinh = wide::scaled(h.sinh, h.power);
  const Wide below = sinh * sinh + turn.cos * turn.cos;
  return {x == 0 ? x : quotient(sinh * wide::scaled(h.cosh, h.power), below),
          y == 0 ? y : quotient(turn.sin * turn.cos, below)};
}

// These are functions of the parts, each part within 2 ulp, where nothing overflows or is lost on the way;
// elsewhere they are computed wider. Code in lanes does the same (codegen/complex_lanes.cpp).

inline bool is_of_parts(Double z) { return std::fabs(z.real()) <= kernels::kPlainExponent; }

inline Double sqrt(Double z) {
  const double size = elementary::hypot(z.real(), z.imag());
  if (!is_finite(z)) return sqrt_of_special(z.real(), z.imag());
  if (size < kernels::kPlainRoot[0] || size > kernels::kPlainRoot[1])
    return rounded(root_of(z.real(), z.imag()));
  const double larger = std::sqrt((std::fabs(z.real()) + size) * 0.5);
  const double smaller = std::fabs(z.imag()) / (larger * 2);
  const bool is_left = z.real() < 0;
  return {is_left ? smaller : larger, std::copysign(is_left ? larger : smaller, z.imag())};
}

inline Double exp(Double z) {
  if (!is_finite(z)) return exp_of_special(z.real(), z.imag());
  if (!is_of_parts(z)) return exp_of(z.real(), z.imag());
  const double size = elementary::exp(z.real());
  return {size * elementary::cos(z.imag()), size * elementary::sin(z.imag())};
}

inline Double exp2(Double z) {
  const Wide ln2(kernels::kLn2Long[0], kernels::kLn2Long[1]);
  if (!is_finite(z)) return exp_of_special(z.real(), z.imag() * ln2.high);
  // Beyond these, what matters overflows.
  const double x = std::clamp(z.real(), -20000.0, 20000.0);
  const Wide y = std::fabs(z.imag()) < 0x1p-900 ? Wide(z.imag() * ln2.high) : ln2 * z.imag();
  return exp_of(ln2 * x, y);
}

inline Double expm1(Double z) {
  const double x = z.real();
  const double y = z.imag();
  if (!is_finite(z)) {
    const double half_sine = elementary::sin(y / 2);
    return {elementary::expm1(x) * elementary::cos(y) - 2 * half_sine * half_sine,
            elementary::exp(x) * elementary::sin(y)};
  }
  if (x == 0 && y == 0) return z;
  const wide::Exponential e = wide::exponential(x);
  const Wide whole = Wide(1.0) + e.less_one;
  const wide::Circular turn = wide::circular(y);
  // As the formula has it, an infinite size makes NaN of a zero.
  const double imaginary =
      y == 0 ? wide::scaled(wide::rounded(whole), e.power) * y : product(whole, turn.sin, e.power);
  if (e.power > 60) return {product(whole, turn.cos, e.power), imaginary};
  if (e.power != 0) return {wide::rounded(wide::scaled(whole * turn.cos, e.power) - Wide(1.0)), imaginary};
  const Wide half_sine = wide::circular(y / 2).sin;
  const Wide less = -(half_sine * half_sine * 2.0);
  return {wide::rounded(x == 0 ? less : e.less_one * turn.cos + less), imaginary};
}

inline Double log(Double z) {
  if (!has_log(z)) return log_of_special(z.real(), z.imag());
  return rounded(log_of(z));
}

inline Double log_of_base(Double z, const double (&factor)[2]) {
  if (!has_log(z)) {
    const Double special = log_of_special(z.real(), z.imag());
    return {special.real(), special.imag() == 0 ? special.imag() : special.imag() * factor[0]};
  }
  const WideComplex natural = log_of(z);
  const auto in_base = [&](Wide part) {
    return std::fabs(part.high) < 0x1p-960 ? part.high * factor[0] : wide::rounded(part * Wide(factor));
  };
  return {in_base(natural.re), in_base(natural.im)};
}

inline Double log2(Double z) { return log_of_base(z, kernels::kLog2E); }
inline Double log10(Double z) { return log_of_base(z, kernels::kLog10E); }

inline Double log1p(Double z) {
  const double x = z.real();
  const double y = z.imag();
  const Wide moved = wide::exact_sum(x, 1.0);
  if (!is_finite(z) || (moved.high == 0 && y == 0)) {
    const double size = std::isinf(x) || std::isinf(y) ? kInfinity : is_finite(z) ? -kInfinity : kNaN;
    return {size, elementary::arctan2(y, moved.high)};
  }
  return {wide::rounded(wide::log_of_size(moved, y)), wide::rounded(wide::angle(y, moved))};
}

inline Double sinh(Double z) {
  if (!is_finite(z)) return sinh_of_special(z.real(), z.imag());
  if (is_of_parts(z))
    return {elementary::sinh(z.real()) * elementary::cos(z.imag()),
            elementary::cosh(z.real()) * elementary::sin(z.imag())};
  const wide::Hyperbolic h = wide::hyperbolic(z.real());
  const wide::Circular turn = wide::circular(z.imag());
  return {product(h.sinh, turn.cos, h.power), product(h.cosh, turn.sin, h.power)};
}
inline Double cosh(Double z) {
  if (!is_finite(z)) return cosh_of_special(z.real(), z.imag());
  if (is_of_parts(z))
    return {elementary::cosh(z.real()) * elementary::cos(z.imag()),
            elementary::sinh(z.real()) * elementary::sin(z.imag())};
  const wide::Hyperbolic h = wide::hyperbolic(z.real());
  const wide::Circular turn = wide::circular(z.imag());
  return {product(h.cosh, turn.cos, h.power), product(h.sinh, turn.sin, h.power)};
}
inline Double tanh(Double z) {
  return is_finite(z) ? tanh_of(z.real(), z.imag()) : tanh_of_special(z.real(), z.imag());
}
inline Double sin(Double z) {
  if (std::isinf(z.imag()) && !std::isfinite(z.real())) return {kNaN, kInfinity};
  return turned_back(sinh(turned(z)));
}
inline Double cos(Double z) { return cosh(turned(z)); }
inline Double tan(Double z) { return turned_back(tanh(turned(z))); }

inline Double arcsinh(Double z) {
  return is_finite(z) ? asinh_of(z.real(), z.imag()) : asinh_of_special(z.real(), z.imag());
}
inline Double arctanh(Double z) {
  return is_finite(z) ? atanh_of(z.real(), z.imag()) : atanh_of_special(z.real(), z.imag());
}
inline Double arcsin(Double z) {
  if (std::isinf(z.real()) && std::isnan(z.imag())) return {kNaN, kInfinity};
  return turned_back(arcsinh(turned(z)));
}
inline Double arctan(Double z) { return turned_back(arctanh(turned(z))); }

inline Double arccos(Double z) {
  if (!is_finite(z)) return acos_of_special(z.real(), z.imag());
  const ArcSine arc = arc_sine(z.real(), z.imag(), true);
  return {arc.real, std::copysign(arc.imaginary, std::signbit(z.imag()) ? 1.0 : -1.0)};
}
inline Double arccosh(Double z) {
  const Double arc = arccos(z);
  return {std::fabs(arc.imag()), std::copysign(arc.real(), z.imag())};
}

/// Of finite numbers. Exponents whose products overflow are scaled down for these.
inline Double power(Double base, Double exponent) {
  constexpr double kHuge = 0x1p900;
  const int down = std::max(std::fabs(exponent.real()), std::fabs(exponent.imag())) > kHuge ? 100 : 0;
  const double x = wide::scaled(exponent.real(), -down);
  const double y = wide::scaled(exponent.imag(), -down);
  const WideComplex log = log_of(base);
  const Wide real = log.re * x - log.im * y;
  const Wide imaginary = wide::scaled(log.im * x + log.re * y, down);
  if (!std::isfinite(imaginary.high)) return exp_of_special(wide::scaled(real.high, down), kInfinity);
  return exp_of(std::fabs(real.high) < 0x1p100 ? wide::scaled(real, down) : real, imaginary);
}

}  // namespace INGOT_WIDE_VARIANT
}  // namespace ingot::base::math::elementary

/// X(function): of one number.
#define INGOT_COMPLEX_FUNCTIONS(X) \
  X(sqrt)                          \
  X(exp)                           \
  X(exp2)                          \
  X(expm1)                         \
  X(log)                           \
  X(log2)                          \
  X(log10)                         \
  X(log1p)                         \
  X(sin)                           \
  X(cos)                           \
  X(tan)                           \
  X(arcsin)                        \
  X(arccos)                        \
  X(arctan)                        \
  X(sinh)                          \
  X(cosh)                          \
  X(tanh)                          \
  X(arcsinh)                       \
  X(arccosh)                       \
  X(arctanh)
