#pragma once

#include <cmath>

#include "base/math/types.h"

namespace ingot::base::math {

/// Whether a number, or a component of it, is NaN.
template <Element T>
bool has_nan(T a) {
  if constexpr (Floating<T>) return computable(a) != computable(a);
  else if constexpr (Complex<T>) return a.real() != a.real() || a.imag() != a.imag();
  else return false;
}

/// NaN is unequal to everything, itself included.
template <Element T>
bool equal(T a, T b) {
  if constexpr (Floating<T>) return computable(a) == computable(b);
  else if constexpr (Complex<T>) return a.real() == b.real() && a.imag() == b.imag();
  else return a == b;
}
template <Element T>
bool not_equal(T a, T b) {
  return !equal(a, b);
}

/// NaN is in no order. Complex numbers compare by real part, then by imaginary part; unequal real parts do
/// not count where there is a NaN.
template <Element T>
bool less(T a, T b) {
  if constexpr (Floating<T>) {
    return computable(a) < computable(b);
  } else if constexpr (Complex<T>) {
    if (a.real() == b.real()) return a.imag() < b.imag();
    return a.real() < b.real() && a.imag() == a.imag() && b.imag() == b.imag();
  } else {
    return a < b;
  }
}
template <Element T>
bool less_equal(T a, T b) {
  return less(a, b) || equal(a, b);
}
template <Element T>
bool greater(T a, T b) {
  return less(b, a);
}
template <Element T>
bool greater_equal(T a, T b) {
  return less_equal(b, a);
}

/// The smaller and the larger; the first operand where both are equal, +0 and -0 included. A NaN wins, the
/// first of two.
template <Element T>
T minimum(T a, T b) {
  return has_nan(a) || less_equal(a, b) ? a : b;
}
template <Element T>
T maximum(T a, T b) {
  return has_nan(a) || greater_equal(a, b) ? a : b;
}

/// The same, but a NaN loses.
template <Element T>
T fmin(T a, T b) {
  return has_nan(b) || less_equal(a, b) ? a : b;
}
template <Element T>
T fmax(T a, T b) {
  return has_nan(b) || greater_equal(a, b) ? a : b;
}

}  // namespace ingot::base::math
