#include "runtime/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace ingot::runtime {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  constexpr uint32_t polynomial = 0x82f63b78;  // 0x1edc6f41, reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ (remainder & 1 ? polynomial : 0);
    table[i] = remainder;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

[[gnu::target("sse4.2")]] uint32_t crc32c_sse42(std::span<const std::byte> bytes) {
  uint64_t crc = 0xffffffff;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (const std::byte byte : bytes) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(byte));
  return ~rest;
}

}  // namespace

uint32_t crc32c_portable(std::span<const std::byte> bytes) {
  uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

uint32_t crc32c(std::span<const std::byte> bytes) {
  return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(bytes) : crc32c_portable(bytes);
}

}  // namespace ingot::runtime
