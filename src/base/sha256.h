#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace ingot::base {

/// SHA-256 (FIPS 180-4) of bytes: two texts of one digest are taken for one text.
std::array<std::byte, 32> sha256(std::span<const std::byte> bytes);

}  // namespace ingot::base
