#pragma once

#include "base/math.h"

/// The functions of `base::math` that compiled code calls, as it calls them: real numbers are passed and
/// returned by value, f16 as its bits (`uint16_t`), bool as a byte 0 or 1; complex operands by address, and a
/// complex result is written to an address passed after them.
namespace ingot::base::math::called {

/// How a number is passed.
template <class T>
struct Passed {
  using Type = T;
  static T take(Type value) { return value; }
  static Type give(T value) { return value; }
};
template <>
struct Passed<Half> {
  using Type = uint16_t;
  static Half take(Type bits) { return Half::from_bits(bits); }
  static Type give(Half value) { return value.bits; }
};
template <>
struct Passed<bool> {
  using Type = uint8_t;
  static Type give(bool value) { return value ? 1 : 0; }
};
template <class T>
struct Passed<std::complex<T>> {
  using Type = const std::complex<T>*;
  static std::complex<T> take(Type address) { return *address; }
};
template <class T>
using Given = typename Passed<T>::Type;
template <class T>
Given<T> give(T value) {
  return Passed<T>::give(value);
}

}  // namespace ingot::base::math::called

// clang-format off
#define INGOT_CALLED_I(X, op, n)                                                                \
  X(op, n, i8, int8_t) X(op, n, u8, uint8_t) X(op, n, i16, int16_t) X(op, n, u16, uint16_t)     \
  X(op, n, i32, int32_t) X(op, n, u32, uint32_t) X(op, n, i64, int64_t) X(op, n, u64, uint64_t)
#define INGOT_CALLED_F(X, op, n) X(op, n, f16, ::ingot::base::Half) X(op, n, f32, float) X(op, n, f64, double)
#define INGOT_CALLED_C(X, op, n) X(op, n, c64, std::complex<float>) X(op, n, c128, std::complex<double>)

/// The functions that give real numbers, and those that give complex ones: X(op, operands, the dtype's name,
/// its type). Kept equal to what codegen calls by a test that sees both.
#define INGOT_CALLED_REAL(X)                                                                    \
  INGOT_CALLED_F(X, floor_divide, 2) INGOT_CALLED_F(X, remainder, 2) INGOT_CALLED_F(X, fmod, 2) \
  INGOT_CALLED_I(X, power, 2) INGOT_CALLED_F(X, power, 2) INGOT_CALLED_I(X, power_overflows, 2) \
  INGOT_CALLED_C(X, absolute, 1)                                                                \
  INGOT_CALLED_F(X, nextafter, 2) INGOT_CALLED_F(X, spacing, 1)                                 \
  INGOT_CALLED_F(X, scale_by_power, 2)                                                          \
  INGOT_CALLED_F(X, cube, 1) INGOT_CALLED_F(X, fourth_power, 1)                                 \
  INGOT_CALLED_F(X, cbrt, 1) INGOT_CALLED_F(X, hypot, 2)                                        \
  INGOT_CALLED_F(X, exp, 1) INGOT_CALLED_F(X, exp2, 1) INGOT_CALLED_F(X, expm1, 1)              \
  INGOT_CALLED_F(X, log, 1) INGOT_CALLED_F(X, log2, 1) INGOT_CALLED_F(X, log10, 1)              \
  INGOT_CALLED_F(X, log1p, 1) INGOT_CALLED_F(X, logaddexp, 2) INGOT_CALLED_F(X, logaddexp2, 2)  \
  INGOT_CALLED_F(X, sin, 1) INGOT_CALLED_F(X, cos, 1) INGOT_CALLED_F(X, tan, 1)                 \
  INGOT_CALLED_F(X, arcsin, 1) INGOT_CALLED_F(X, arccos, 1) INGOT_CALLED_F(X, arctan, 1)        \
  INGOT_CALLED_F(X, arctan2, 2)                                                                 \
  INGOT_CALLED_F(X, sinh, 1) INGOT_CALLED_F(X, cosh, 1) INGOT_CALLED_F(X, tanh, 1)              \
  INGOT_CALLED_F(X, arcsinh, 1) INGOT_CALLED_F(X, arccosh, 1) INGOT_CALLED_F(X, arctanh, 1)     \
  INGOT_CALLED_F(X, erf, 1) INGOT_CALLED_F(X, erfc, 1)                                          \
  INGOT_CALLED_F(X, gamma, 1) INGOT_CALLED_F(X, lgamma, 1)
#define INGOT_CALLED_COMPLEX(X)                                                                 \
  INGOT_CALLED_C(X, power, 2) INGOT_CALLED_C(X, sign, 1) INGOT_CALLED_C(X, sqrt, 1)             \
  INGOT_CALLED_C(X, exp, 1) INGOT_CALLED_C(X, exp2, 1) INGOT_CALLED_C(X, expm1, 1)              \
  INGOT_CALLED_C(X, log, 1) INGOT_CALLED_C(X, log2, 1) INGOT_CALLED_C(X, log10, 1)              \
  INGOT_CALLED_C(X, log1p, 1)                                                                   \
  INGOT_CALLED_C(X, sin, 1) INGOT_CALLED_C(X, cos, 1) INGOT_CALLED_C(X, tan, 1)                 \
  INGOT_CALLED_C(X, arcsin, 1) INGOT_CALLED_C(X, arccos, 1) INGOT_CALLED_C(X, arctan, 1)        \
  INGOT_CALLED_C(X, sinh, 1) INGOT_CALLED_C(X, cosh, 1) INGOT_CALLED_C(X, tanh, 1)              \
  INGOT_CALLED_C(X, arcsinh, 1) INGOT_CALLED_C(X, arccosh, 1) INGOT_CALLED_C(X, arctanh, 1)

/// Defines one of them under its symbol: X of the lists above.
#define INGOT_DEFINE_CALLED_REAL(op, n, name, T) INGOT_DEFINE_CALLED_REAL_##n(op, ingot_v1_math_##op##_##name, T)
#define INGOT_DEFINE_CALLED_COMPLEX(op, n, name, T) INGOT_DEFINE_CALLED_COMPLEX_##n(op, ingot_v1_math_##op##_##name, T)
#define INGOT_DEFINE_CALLED_REAL_1(op, symbol, T)                                               \
  ::ingot::base::math::called::Given<decltype(::ingot::base::math::op(T{}))>                    \
  symbol(::ingot::base::math::called::Passed<T>::Type a) {                                      \
    using namespace ::ingot::base;                                                              \
    return math::called::give(math::op(math::called::Passed<T>::take(a)));                      \
  }
#define INGOT_DEFINE_CALLED_REAL_2(op, symbol, T)                                               \
  ::ingot::base::math::called::Given<decltype(::ingot::base::math::op(T{}, T{}))>               \
  symbol(::ingot::base::math::called::Passed<T>::Type a,                                        \
         ::ingot::base::math::called::Passed<T>::Type b) {                                      \
    using namespace ::ingot::base;                                                              \
    return math::called::give(math::op(math::called::Passed<T>::take(a), math::called::Passed<T>::take(b))); \
  }
#define INGOT_DEFINE_CALLED_COMPLEX_1(op, symbol, T)                                            \
  void symbol(const T* a, T* result) { *result = ::ingot::base::math::op(*a); }
#define INGOT_DEFINE_CALLED_COMPLEX_2(op, symbol, T)                                            \
  void symbol(const T* a, const T* b, T* result) { *result = ::ingot::base::math::op(*a, *b); }
// clang-format on
