#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/scalar.h"

namespace ingot::ir {

/// @name The words of the text form: docs/ir.md
/// Letters, digits, `_`, `.`, `$` and every byte above ASCII make a word.
bool is_word_character(char c);
/// Whether a name can follow `%` or `@` without quotes.
bool is_word(std::string_view name);
/// `"..."`, with escapes for quotes, backslashes and control characters.
std::string quoted(std::string_view text);
/// `@name`, or `@"..."` of a name that is not a word.
std::string symbol(std::string_view name);

/// @name Numbers of constants
/// A dtype's value as text: `true`, `-3`, the shortest decimal that reads back (`1.0`, `1e-05`), `inf`, `nan`
/// (the default NaN), `0x...` (the bits) of other NaNs, `(re, im)`.
std::string literal(base::DType dtype, base::Scalar value);
/// Reads one number: a dtype's value, of a complex dtype one component. None: not a number of this dtype, or
/// outside its range.
std::optional<base::Scalar> read_number(base::DType dtype, std::string_view text);

}  // namespace ingot::ir
