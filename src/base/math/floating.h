#pragma once

#include <cmath>
#include <limits>

#include "base/math/compare.h"
#include "base/math/types.h"

namespace ingot::base::math {

/// Of a complex number: whether a component is.
template <class T>
  requires Floating<T> || Complex<T>
bool isnan(T a) {
  return has_nan(a);
}
template <class T>
  requires Floating<T> || Complex<T>
bool isinf(T a) {
  if constexpr (Floating<T>) return std::isinf(computable(a));
  else return std::isinf(a.real()) || std::isinf(a.imag());
}
/// Of a complex number: whether both components are.
template <class T>
  requires Floating<T> || Complex<T>
bool isfinite(T a) {
  if constexpr (Floating<T>) return std::isfinite(computable(a));
  else return std::isfinite(a.real()) && std::isfinite(a.imag());
}

/// Also of zeros and NaN.
template <Floating T>
bool signbit(T a) {
  return std::signbit(computable(a));
}
template <Floating T>
T copysign(T a, T b) {
  return T(std::copysign(computable(a), computable(b)));
}

/// The next number of the type after a towards b; b where they are equal, but of two zeros a's sign is
/// NumPy's: b for float and double, a for Half.
template <Floating T>
T nextafter(T a, T b) {
  if constexpr (std::same_as<T, Half>) {
    const float from = computable(a);
    const float to = computable(b);
    if (has_nan(a) || has_nan(b)) return T(std::numeric_limits<float>::quiet_NaN());
    if (from == to) return a;
    if (from == 0) return T::from_bits(static_cast<uint16_t>((b.bits & 0x8000) | 1));
    const bool outwards = (from < to) == (from > 0);
    return T::from_bits(static_cast<uint16_t>(outwards ? a.bits + 1 : a.bits - 1));
  } else {
    return std::nextafter(a, b);
  }
}

/// The next number less a, infinite at the largest: for float and double the next of larger modulus (of both
/// zeros, above), for Half the next above. NaN of infinities.
template <Floating T>
T spacing(T a) {
  if (!isfinite(a)) return T(std::numeric_limits<computable_t<T>>::quiet_NaN());
  if constexpr (std::same_as<T, Half>) {
    const T next = nextafter(a, T(std::numeric_limits<float>::infinity()));
    return T(computable(next) - computable(a));
  } else {
    if (a == 0) return std::numeric_limits<T>::denorm_min();
    return std::nextafter(a, std::copysign(std::numeric_limits<T>::infinity(), a)) - a;
  }
}

/// a * 2**exponent for an integral exponent, rounded once. NaN if the exponent is NaN.
template <Floating T>
T scale_by_power(T a, T exponent) {
  const auto power = computable(exponent);
  if (power != power) return exponent;
  // Beyond this, every number of the type has become 0 or infinity.
  constexpr computable_t<T> kLimit = 5000;
  const auto clamped = power < -kLimit ? -kLimit : power > kLimit ? kLimit : power;
  return T(std::ldexp(computable(a), static_cast<int>(clamped)));
}

/// frexp's two results: a = mantissa * 2**exponent with 0.5 <= |mantissa| < 1; zeros, infinities and NaN are
/// their own mantissa, with exponent 0.
template <Floating T>
T mantissa(T a) {
  int ignored = 0;
  return isfinite(a) ? T(std::frexp(computable(a), &ignored)) : a;
}
template <Floating T>
int32_t exponent(T a) {
  int power = 0;
  if (isfinite(a)) std::frexp(computable(a), &power);
  return power;
}

template <Floating T>
T floor(T a) {
  return T(std::floor(computable(a)));
}
template <Floating T>
T ceil(T a) {
  return T(std::ceil(computable(a)));
}
template <Floating T>
T trunc(T a) {
  return T(std::trunc(computable(a)));
}
/// To the nearest integer, ties to even.
template <class T>
  requires Floating<T> || Complex<T>
T rint(T a) {
  if constexpr (Floating<T>) return T(std::nearbyint(computable(a)));
  else return T(std::nearbyint(a.real()), std::nearbyint(a.imag()));
}

}  // namespace ingot::base::math
