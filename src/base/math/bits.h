#pragma once

#include <bit>

#include "base/math/arithmetic.h"
#include "base/math/types.h"

namespace ingot::base::math {

template <class T>
  requires Boolean<T> || Integer<T>
T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
  requires Boolean<T> || Integer<T>
T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
  requires Boolean<T> || Integer<T>
T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}

/// All bits flipped; of bool, `not`.
template <class T>
  requires Boolean<T> || Integer<T>
T invert(T a) {
  if constexpr (Boolean<T>) return !a;
  else return static_cast<T>(~a);
}

/// A count outside 0 ... width - 1 shifts everything out: 0, or -1 from a negative number shifted right.
template <Integer T>
T left_shift(T a, T count) {
  return to_word(count) < uint64_t{bits_of<T>} ? from_word<T>(to_word(a) << count) : T(0);
}
template <Integer T>
T right_shift(T a, T count) {
  if (to_word(count) < uint64_t{bits_of<T>}) return static_cast<T>(a >> count);
  return a < T(0) ? from_word<T>(~uint64_t{0}) : T(0);
}

/// How many bits of |a| are set.
template <Integer T>
T bitwise_count(T a) {
  return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(absolute(a))));
}

}  // namespace ingot::base::math
