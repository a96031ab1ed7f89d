#pragma once

#include "base/math/types.h"

namespace ingot::base::math {

/// Truncates towards zero; NaN and what leaves the type give INT32_MIN, x86-64's "integer indefinite" value.
int32_t truncate_to_int32(double value);
/// The same for 64 bits, INT64_MIN.
int64_t truncate_to_int64(double value);
/// As x86-64 compilers convert to uint64: below 2**63 as `truncate_to_int64` (so NaN and -inf give 2**63),
/// from there the value itself, 0 from 2**64 on.
uint64_t truncate_to_uint64(double value);

/// Converts between any two element types, as C does on x86-64 and NumPy's `astype` with it. Integers wrap. A
/// float goes to int8, uint8, int16, uint16 through int32 and to uint32 through int64, which then wrap.
/// Integers reach Half through float, and so round twice. Complex to real drops the imaginary part; real to
/// complex has the imaginary part +0. To bool: whether it is unequal to 0.
template <Element To, Element From>
To cast(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (Boolean<To>) {
    if constexpr (Boolean<From> || Integer<From>) return value != 0;
    else if constexpr (Floating<From>) return !(computable(value) == 0);
    else return !(value.real() == 0 && value.imag() == 0);
  } else if constexpr (Complex<To>) {
    using Part = component_t<To>;
    if constexpr (Complex<From>) return To(cast<Part>(value.real()), cast<Part>(value.imag()));
    else return To(cast<Part>(value), Part(0));
  } else if constexpr (Complex<From>) {
    return cast<To>(value.real());
  } else if constexpr (Boolean<From>) {
    return cast<To>(static_cast<int32_t>(value));
  } else if constexpr (Integer<From>) {
    if constexpr (Integer<To>) return from_word<To>(to_word(value));
    else if constexpr (std::same_as<To, Half>) return Half(static_cast<float>(value));
    else return static_cast<To>(value);
  } else if constexpr (Floating<To>) {
    return static_cast<To>(value);
  } else {
    const double real = static_cast<double>(value);
    if constexpr (std::same_as<To, uint64_t>) return truncate_to_uint64(real);
    else if constexpr (sizeof(To) == 8 || std::same_as<To, uint32_t>)
      return from_word<To>(to_word(truncate_to_int64(real)));
    else return from_word<To>(to_word(truncate_to_int32(real)));
  }
}

}  // namespace ingot::base::math
