#pragma once

#include <cmath>
#include <limits>

#include "base/math/cast.h"
#include "base/math/types.h"

namespace ingot::base::math {

/// Integers wrap; Half computes in float and rounds once; on bool this is `or`.
template <Element T>
T add(T a, T b) {
  if constexpr (Boolean<T>) return a || b;
  else if constexpr (Integer<T>) return from_word<T>(to_word(a) + to_word(b));
  else if constexpr (Floating<T>) return T(computable(a) + computable(b));
  else return T(a.real() + b.real(), a.imag() + b.imag());
}

template <Number T>
T subtract(T a, T b) {
  if constexpr (Integer<T>) return from_word<T>(to_word(a) - to_word(b));
  else if constexpr (Floating<T>) return T(computable(a) - computable(b));
  else return T(a.real() - b.real(), a.imag() - b.imag());
}

/// On bool this is `and`; complex numbers by the textbook formula, each product and sum rounded.
template <Element T>
T multiply(T a, T b) {
  if constexpr (Boolean<T>) return a && b;
  else if constexpr (Integer<T>) return from_word<T>(to_word(a) * to_word(b));
  else if constexpr (Floating<T>) return T(computable(a) * computable(b));
  else return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

/// Complex numbers by Smith's algorithm; by zero, each component is divided by +0.
template <class T>
  requires Floating<T> || Complex<T>
T divide(T a, T b) {
  if constexpr (Floating<T>) {
    return T(computable(a) / computable(b));
  } else {
    using Part = component_t<T>;
    const Part size_real = std::fabs(b.real());
    const Part size_imag = std::fabs(b.imag());
    if (size_real >= size_imag) {
      if (size_real == 0 && size_imag == 0) return T(a.real() / size_real, a.imag() / size_real);
      const Part ratio = b.imag() / b.real();
      const Part scale = Part(1) / (b.real() + b.imag() * ratio);
      return T((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale);
    }
    const Part ratio = b.real() / b.imag();
    const Part scale = Part(1) / (b.imag() + b.real() * ratio);
    return T((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
  }
}

/// The two results of Python's `divmod`.
template <class T>
struct Divided {
  T quotient;
  T remainder;
};

/// The quotient rounded down and the remainder, of the divisor's sign. By zero: for integers 0 and 0, for
/// floats IEEE division and NaN. The most negative integer by -1: itself and 0. An infinite dividend gives
/// NaN twice.
template <Real T>
Divided<T> divide_with_remainder(T a, T b) {
  if constexpr (Integer<T>) {
    if (b == 0) return {T(0), T(0)};
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return {from_word<T>(uint64_t{0} - to_word(a)), T(0)};
      auto quotient = static_cast<T>(a / b);
      auto rest = static_cast<T>(a % b);
      if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient = static_cast<T>(quotient - 1);
        rest = static_cast<T>(rest + b);
      }
      return {quotient, rest};
    } else {
      return {static_cast<T>(a / b), static_cast<T>(a % b)};
    }
  } else if constexpr (std::same_as<T, Half>) {
    const auto wide = divide_with_remainder(computable(a), computable(b));
    return {Half(wide.quotient), Half(wide.remainder)};
  } else {
    T rest = std::fmod(a, b);
    if (b == 0) return {a / b, rest};
    T quotient = (a - rest) / b;
    if (rest == 0) {
      rest = std::copysign(T(0), b);
    } else if (std::isless(b, T(0)) != std::isless(rest, T(0))) {
      rest += b;
      quotient -= T(1);
    }
    // The quotient is within rounding of an integer.
    if (quotient == 0) return {std::copysign(T(0), a / b), rest};
    const T below = std::floor(quotient);
    return {quotient - below > T(0.5) ? below + T(1) : below, rest};
  }
}

template <Real T>
T floor_divide(T a, T b) {
  return divide_with_remainder(a, b).quotient;
}

template <Real T>
T remainder(T a, T b) {
  return divide_with_remainder(a, b).remainder;
}

/// The remainder of division rounded towards zero, of the dividend's sign. By zero: integers 0, floats NaN.
template <Real T>
T fmod(T a, T b) {
  if constexpr (Integer<T>) {
    if (b == 0) return T(0);
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);
    }
    return static_cast<T>(a % b);
  } else {
    return T(std::fmod(computable(a), computable(b)));
  }
}

template <Number T>
T negative(T a) {
  if constexpr (Integer<T>) return from_word<T>(uint64_t{0} - to_word(a));
  else if constexpr (std::same_as<T, Half>) return Half::from_bits(a.bits ^ 0x8000);
  else return -a;
}

/// The most negative integer is its own absolute value. Complex numbers: see elementary.h.
template <class T>
  requires Boolean<T> || Real<T>
T absolute(T a) {
  if constexpr (Boolean<T>) return a;
  else if constexpr (Integer<T>) return std::is_signed_v<T> && a < T(0) ? negative(a) : a;
  else if constexpr (std::same_as<T, Half>) return Half::from_bits(a.bits & 0x7fff);
  else return std::fabs(a);
}

/// -1, 0 or 1, of a zero +0; NaN of NaN. Complex numbers: see elementary.h.
template <Real T>
T sign(T a) {
  if constexpr (Integer<T>) {
    return a > T(0) ? T(1) : from_word<T>(uint64_t{0} - uint64_t{a < T(0)});
  } else {
    const auto value = computable(a);
    if (value > 0) return T(1.0f);
    if (value < 0) return T(-1.0f);
    return value == 0 ? T(0.0f) : a;
  }
}

/// Of an integer: 1/a in double, converted back; so 0 gives what `cast` makes of infinity.
template <Number T>
T reciprocal(T a) {
  if constexpr (Integer<T>) {
    if (a == 0) return cast<T>(std::numeric_limits<double>::infinity());
    return cast<T>(1.0 / static_cast<double>(a));
  } else if constexpr (Floating<T>) {
    return T(computable_t<T>(1) / computable(a));
  } else {
    using Part = component_t<T>;
    if (std::fabs(a.imag()) <= std::fabs(a.real())) {
      const Part ratio = a.imag() / a.real();
      const Part size = a.real() + a.imag() * ratio;
      return T(Part(1) / size, -ratio / size);
    }
    const Part ratio = a.real() / a.imag();
    const Part size = a.real() * ratio + a.imag();
    return T(ratio / size, Part(-1) / size);
  }
}

template <Number T>
T square(T a) {
  return multiply(a, a);
}

/// A real number stays.
template <Number T>
T conjugate(T a) {
  if constexpr (Complex<T>) return T(a.real(), -a.imag());
  else return a;
}

/// Not negative, but for the most negative integer, which represents its absolute value.
template <Integer T>
T gcd(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  auto x = static_cast<Unsigned>(absolute(a));
  auto y = static_cast<Unsigned>(absolute(b));
  while (x != 0) {
    const auto rest = static_cast<Unsigned>(y % x);
    y = x;
    x = rest;
  }
  return static_cast<T>(y);
}

/// |a| / gcd * |b|, wrapping; 0 if either is 0.
template <Integer T>
T lcm(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto divisor = static_cast<Unsigned>(gcd(a, b));
  if (divisor == 0) return T(0);
  const auto x = static_cast<Unsigned>(static_cast<Unsigned>(absolute(a)) / divisor);
  return from_word<T>(to_word(x) * to_word(static_cast<Unsigned>(absolute(b))));
}

/// The number after a in the circle of 0 ... b.
template <Integer T>
T count_up(T a, T b) {
  return a >= b ? T(0) : static_cast<T>(a + 1);
}
/// The number before it.
template <Integer T>
T count_down(T a, T b) {
  return a == 0 || a > b ? b : from_word<T>(to_word(a) - 1);
}

/// Whether the exact sum leaves the type.
template <Integer T>
bool add_overflows(T a, T b) {
  T ignored;
  return __builtin_add_overflow(a, b, &ignored);
}
template <Integer T>
bool subtract_overflows(T a, T b) {
  T ignored;
  return __builtin_sub_overflow(a, b, &ignored);
}
template <Integer T>
bool multiply_overflows(T a, T b) {
  T ignored;
  return __builtin_mul_overflow(a, b, &ignored);
}

/// Whether a**b, exactly, leaves the type; a negative exponent gives no integer, and false.
template <Integer T>
bool power_overflows(T a, T b) {
  if (b <= T(1) || a == T(0) || a == T(1)) return false;
  if constexpr (std::is_signed_v<T>) {
    if (a == T(-1)) return false;
  }
  if (b > T(bits_of<T> - 1)) return true;
  T result = a;
  for (T i = 1; i < b; i = static_cast<T>(i + 1))
    if (__builtin_mul_overflow(result, a, &result)) return true;
  return false;
}

}  // namespace ingot::base::math
