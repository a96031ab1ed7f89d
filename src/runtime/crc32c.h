#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot::runtime {

/// CRC-32C (Castagnoli) of `bytes`: sees every single flipped bit and every burst of up to 32.
uint32_t crc32c(std::span<const std::byte> bytes);

/// The same without the instruction that x86-64 with SSE 4.2 has for it.
uint32_t crc32c_portable(std::span<const std::byte> bytes);

}  // namespace ingot::runtime
