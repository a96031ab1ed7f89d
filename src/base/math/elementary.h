#pragma once

#include <cmath>
#include <numbers>

#include "base/math/arithmetic.h"
#include "base/math/types.h"

namespace ingot::base::math {

/// The definitions: special values as C's Annex F, errors below 1 ulp (float: 2). The same argument gives the
/// same bits at every call. Those for float and double are the kernels of base/math/kernels, which codegen
/// emits as well; of the others float computes in double and rounds once. Half rounds float's result.
namespace elementary {

#define INGOT_KERNEL(name) \
  double name(double x);   \
  float name(float x);
INGOT_KERNEL(cube)
INGOT_KERNEL(fourth_power)
INGOT_KERNEL(cbrt)
INGOT_KERNEL(exp)
INGOT_KERNEL(exp2)
INGOT_KERNEL(expm1)
INGOT_KERNEL(log)
INGOT_KERNEL(log2)
INGOT_KERNEL(log10)
INGOT_KERNEL(log1p)
INGOT_KERNEL(sin)
INGOT_KERNEL(cos)
INGOT_KERNEL(tan)
INGOT_KERNEL(arcsin)
INGOT_KERNEL(arccos)
INGOT_KERNEL(arctan)
INGOT_KERNEL(sinh)
INGOT_KERNEL(cosh)
INGOT_KERNEL(tanh)
INGOT_KERNEL(arcsinh)
INGOT_KERNEL(arccosh)
INGOT_KERNEL(arctanh)
INGOT_KERNEL(erf)
INGOT_KERNEL(erfc)
INGOT_KERNEL(gamma)
INGOT_KERNEL(lgamma)
#undef INGOT_KERNEL
#define INGOT_KERNEL(name)         \
  double name(double x, double y); \
  float name(float x, float y);
INGOT_KERNEL(hypot)
INGOT_KERNEL(arctan2)
INGOT_KERNEL(logaddexp)
INGOT_KERNEL(logaddexp2)
INGOT_KERNEL(power)
#undef INGOT_KERNEL

/// A function of T by the definition for T, or for double where that is the only one.
template <Floating T, class Function, class... Rest>
T apply(Function fn, T x, Rest... rest) {
  if constexpr (std::same_as<T, Half>) return Half(fn(static_cast<float>(x), static_cast<float>(rest)...));
  else return fn(x, rest...);
}

}  // namespace elementary

/// Correctly rounded; NaN below -0.
template <Floating T>
T sqrt(T x) {
  return T(std::sqrt(computable(x)));
}

#define INGOT_UNARY(name)                                                                              \
  template <Floating T>                                                                                \
  T name(T x) {                                                                                        \
    return elementary::apply([](auto a) { return static_cast<decltype(a)>(elementary::name(a)); }, x); \
  }
INGOT_UNARY(cube)
INGOT_UNARY(fourth_power)
INGOT_UNARY(cbrt)
INGOT_UNARY(exp)
INGOT_UNARY(exp2)
INGOT_UNARY(expm1)
INGOT_UNARY(log)
INGOT_UNARY(log2)
INGOT_UNARY(log10)
INGOT_UNARY(log1p)
INGOT_UNARY(sin)
INGOT_UNARY(cos)
INGOT_UNARY(tan)
INGOT_UNARY(arcsin)
INGOT_UNARY(arccos)
INGOT_UNARY(arctan)
INGOT_UNARY(sinh)
INGOT_UNARY(cosh)
INGOT_UNARY(tanh)
INGOT_UNARY(arcsinh)
INGOT_UNARY(arccosh)
INGOT_UNARY(arctanh)
INGOT_UNARY(erf)
INGOT_UNARY(erfc)
/// The gamma function: NaN of negative integers and -inf, an infinity of the zero's sign of zeros.
INGOT_UNARY(gamma)
/// log(|gamma(x)|): +inf of 0, negative integers and both infinities.
INGOT_UNARY(lgamma)
#undef INGOT_UNARY

/// sqrt(x*x + y*y) without overflow between; an infinity wins over NaN.
template <Floating T>
T hypot(T x, T y) {
  return elementary::apply([](auto a, auto b) { return static_cast<decltype(a)>(elementary::hypot(a, b)); },
                           x, y);
}
/// The angle of the point (x, y), in [-pi, pi].
template <Floating T>
T arctan2(T y, T x) {
  return elementary::apply([](auto a, auto b) { return static_cast<decltype(a)>(elementary::arctan2(a, b)); },
                           y, x);
}
/// log(exp(x) + exp(y)) and log2(exp2(x) + exp2(y)). Where x, y and the result do not have one sign, the
/// error is below 1 ulp of the largest of the three.
template <Floating T>
T logaddexp(T x, T y) {
  return elementary::apply(
      [](auto a, auto b) { return static_cast<decltype(a)>(elementary::logaddexp(a, b)); }, x, y);
}
template <Floating T>
T logaddexp2(T x, T y) {
  return elementary::apply(
      [](auto a, auto b) { return static_cast<decltype(a)>(elementary::logaddexp2(a, b)); }, x, y);
}

/// Integers by repeated squaring, wrapping; a negative exponent gives the real value, truncated, and 0 from
/// base 0. Floats as C's pow, but exponents of exactly 2, 3 and 4 give a * a, cube(a) and
/// fourth_power(a). Complex numbers: see complex.h.
template <Real T>
T power(T a, T b) {
  if constexpr (Floating<T>) {
    return elementary::apply([](auto x, auto y) { return elementary::power(x, y); }, a, b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b < T(0)) {
        if (a == T(1)) return a;
        return a != T(-1) ? T(0) : (b & 1) != 0 ? T(-1) : T(1);
      }
    }
    uint64_t result = 1;
    uint64_t factor = to_word(a);
    for (uint64_t rest = to_word(b); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) result *= factor;
      factor *= factor;
    }
    return from_word<T>(result);
  }
}

/// x * (180 / pi) and x * (pi / 180), the factor rounded first.
template <Floating T>
T degrees(T x) {
  using Wide = computable_t<T>;
  return T(computable(x) * (Wide(180) / std::numbers::pi_v<Wide>));
}
template <Floating T>
T radians(T x) {
  using Wide = computable_t<T>;
  return T(computable(x) * (std::numbers::pi_v<Wide> / Wide(180)));
}

}  // namespace ingot::base::math
