#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/half.h"

namespace ingot::base {

/// As Python's `repr`: the shortest digits that read back as the same number, `1e+16`, `1e-05`, `inf`, `nan`,
/// `-0.0`, `(1+2j)`, `True`. Half, float and complex<float> as NumPy's `str` of such a scalar, which goes
/// over to `1e+03` at a thousand, to `1e+06` at a million.
std::string repr(double value);
std::string repr(float value);
std::string repr(Half value);
std::string repr(std::complex<double> value);
std::string repr(std::complex<float> value);
std::string repr(bool value);
std::string repr(int64_t value);
std::string repr(uint64_t value);

/// Reads what `repr(double)` writes, and any other decimal number, `inf`, `infinity` or `nan` (in any case)
/// with an optional sign; correctly rounded, to infinity or zero beyond the type. None if anything else is
/// there.
std::optional<double> parse_float(std::string_view text);

}  // namespace ingot::base
