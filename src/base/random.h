#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.h"

/// The distributions of NumPy's random numbers: its own C functions (`libnpyrandom`, linked from the NumPy
/// that Ingot is built with), and those of its legacy streams.
namespace ingot::base {

/// A parameter of a routine besides its stream, or its result.
struct DrawType {
  DType dtype;
  bool is_array = false;  ///< elements without gaps; its address is passed, and how many there are
};

/// A routine that draws from a stream. The stream is an array of uint64: NumPy's `bitgen_t`, or for a legacy
/// routine the struct that holds a pointer to it, whether there is a second normal number, and that number.
struct DrawInfo {
  static constexpr size_t kMaxParameters = 6;

  std::string_view name;
  bool is_legacy;
  /// Whether the last parameter may be filled in pieces, one call each, with the same numbers.
  bool fills_in_pieces;
  std::optional<DrawType> result;
  std::array<DrawType, kMaxParameters> parameter_types;
  size_t parameter_count;
  /// The function that compiled code calls: the stream, then the parameters, an array as its address and
  /// (i64) its count.
  void* address;
  /// Calls it on words that hold the parameters, an array two of them; gives its result's bits.
  uint64_t (*invoke)(void* stream, const uint64_t* words);

  std::span<const DrawType> parameters() const { return {parameter_types.data(), parameter_count}; }
};

/// The routine of this name, or null.
const DrawInfo* find_draw(std::string_view name);
std::span<const DrawInfo> draws();

/// The words of a stream that the routine `settle_pcg64` has made.
inline constexpr size_t kOwnStreamWords = 12;
/// Makes a copy of such words, which point into themselves, a stream at its own address.
void move_own_stream(uint64_t* words) noexcept;

/// The version of the NumPy whose distributions these are.
std::string_view version_of_draws();

}  // namespace ingot::base
