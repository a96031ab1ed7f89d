#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/half.h"

namespace ingot::base::math {

/// The four classes of element types, by their characters B, I, F, C in the op table.
template <class T>
concept Boolean = std::same_as<T, bool>;
template <class T>
concept Integer = std::same_as<T, int8_t> || std::same_as<T, uint8_t> || std::same_as<T, int16_t> ||
                  std::same_as<T, uint16_t> || std::same_as<T, int32_t> || std::same_as<T, uint32_t> ||
                  std::same_as<T, int64_t> || std::same_as<T, uint64_t>;
template <class T>
concept Floating = std::same_as<T, Half> || std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Complex = is_complex_v<T>;

template <class T>
concept Element = Boolean<T> || Integer<T> || Floating<T> || Complex<T>;
template <class T>
concept Number = Integer<T> || Floating<T> || Complex<T>;
template <class T>
concept Real = Integer<T> || Floating<T>;

/// The bits of an integer type.
template <Integer T>
inline constexpr int bits_of = static_cast<int>(8 * sizeof(T));

/// An integer's value modulo 2**64, and the inverse: wrapping arithmetic is done on these.
template <Integer T>
constexpr uint64_t to_word(T value) {
  return static_cast<uint64_t>(value);
}
template <Integer T>
constexpr T from_word(uint64_t word) {
  return static_cast<T>(word);
}

/// Half → float, to compute in; the others stay.
template <Floating T>
auto computable(T value) {
  if constexpr (std::same_as<T, Half>) return static_cast<float>(value);
  else return value;
}
template <Floating T>
using computable_t = std::conditional_t<std::same_as<T, Half>, float, T>;

/// The type of a complex number's components.
template <Complex T>
using component_t = typename T::value_type;

}  // namespace ingot::base::math
