#pragma once

#include <string>

#include "frontend/operator.h"
#include "frontend/value.h"

/// Limits of known values, because computing them takes time and memory of the compiling process. Each
/// function returns a description of a value that is too large - "an int of more than a million bits" - or an
/// empty string.
namespace ingot::frontend {

inline constexpr size_t kMostElements = 20'000;  ///< of a list or tuple that an operator makes
inline constexpr double kMostCharacters = 1e6;   ///< of a string or bytes
inline constexpr const char* kLargeText =
    "a string of more than a million characters that is known when compiling";

/// Of an operator on Python's ints, strings and bytes.
std::string too_large_by(Operator op, nb::handle a, nb::handle b);
/// Of a string or bytes that a method makes.
std::string too_large_by_method(nb::handle self, const std::string& name, const nb::list& arguments);
/// Of the result of a format, the part after a colon or in a string for `%` and `format`.
std::string too_large_by_format(nb::handle format);
/// Of a tuple or namedtuple from outside the function, likewise.
std::string too_large_outside(nb::handle tuple);
/// Of a tuple: a part counts as often as the tuple holds it, because reading the tuple visits it so often.
std::string too_large(const Value& tuple);

}  // namespace ingot::frontend
