#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace ingot::base {

/// SHA-256 (FIPS 180-4) of bytes: byte strings with equal digests are taken to be equal.
std::array<std::byte, 32> sha256(std::span<const std::byte> bytes);

}  // namespace ingot::base
