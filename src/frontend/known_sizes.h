#pragma once

#include <string>

#include "frontend/value.h"

/// How large what is known when compiling may become: it is computed then, in the memory of the process and
/// in time that nobody has asked for. Each function says what is too large - "an int of more than a million
/// bits" - or nothing where it is not.
namespace ingot::frontend {

inline constexpr size_t kMostElements = 20'000;  ///< of a list or tuple that an operator makes
inline constexpr double kMostCharacters = 1e6;   ///< of a string or bytes
inline constexpr const char* kLargeText =
    "a string of more than a million characters that is known when compiling";

/// Of an operator, by the class of its AST node, on Python's ints, strings and bytes.
std::string too_large_by(const std::string& ast, nb::handle a, nb::handle b);
/// Of a string or bytes that a method makes.
std::string too_large_by_method(nb::handle self, const std::string& name, const nb::list& arguments);
/// Of what a format makes, as it stands behind a colon or in a string for `%` and `format`.
std::string too_large_by_format(nb::handle format);
/// Of a tuple or namedtuple outside, likewise.
std::string too_large_outside(nb::handle tuple);
/// Of a tuple: its parts count as often as it holds them, as all that looks at it sees them.
std::string too_large(const Value& tuple);

}  // namespace ingot::frontend
