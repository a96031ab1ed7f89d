#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace ingot::base {

/// SHA-256 (FIPS 180-4) of bytes: byte strings with equal digests are taken to be equal. Uses the CPU's
/// instructions for it, where it has them.
std::array<std::byte, 32> sha256(std::span<const std::byte> bytes);

/// The same without these instructions.
std::array<std::byte, 32> sha256_of_any_cpu(std::span<const std::byte> bytes);

}  // namespace ingot::base
