// The names are those of FIPS 180-4. Intel's instructions hold the state in two registers, (a, b, e, f) and
// (c, d, g, h), the first of them highest, and do two rounds each.

#include "base/sha256.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/cpu.h"

namespace ingot::base {

namespace {

using State = std::array<uint32_t, 8>;

constexpr size_t kBlock = 64;
constexpr size_t kLength = 8;

constexpr State kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr std::array<uint32_t, 64> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// Takes whole blocks into a state.
using Compress = void (*)(State&, const std::byte* blocks, size_t count);

uint32_t loaded(const std::byte* from) {
  uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap32(word);
}

void compress(State& state, const std::byte* blocks, size_t count) {
  using std::rotr;
  for (; count != 0; --count, blocks += kBlock) {
    std::array<uint32_t, 64> w{};
    for (size_t t = 0; t < 16; ++t) w[t] = loaded(blocks + 4 * t);
    for (size_t t = 16; t < 64; ++t) {
      const uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t t = 0; t < 64; ++t) {
      const uint32_t choice = (e & f) ^ (~e & g);
      const uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + kConstants[t] + w[t];
      const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
      const uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;
      h = g, g = f, f = e, e = d + t1;
      d = c, c = b, b = a, a = t1 + t2;
    }
    const State added = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i) state[i] += added[i];
  }
}

[[gnu::target("sha,sse4.1")]] void compress_by_instructions(State& state, const std::byte* blocks,
                                                            size_t count) {
  const __m128i swapped = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const words = reinterpret_cast<__m128i*>(state.data());
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count != 0; --count, blocks += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];  // the last 16 words of the schedule, four a register
    for (int i = 0; i < 16; ++i) {
      __m128i& next = w[i % 4];
      if (i < 4) {
        next = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i), swapped);
      } else {
        const __m128i w7 = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
        next = _mm_add_epi32(_mm_sha256msg1_epu32(next, w[(i + 1) % 4]), w7);
        next = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
      }
      const __m128i added =
          _mm_add_epi32(next, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kConstants.data()) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

void store(uint32_t word, std::byte* to) {
  word = __builtin_bswap32(word);
  std::memcpy(to, &word, sizeof word);
}

std::array<std::byte, 32> digest_of(std::span<const std::byte> bytes, Compress compressed) {
  State state = kInitial;
  const size_t whole = bytes.size() / kBlock;
  compressed(state, bytes.data(), whole);

  // The end, a bit, zeros, and the length in bits.
  std::array<std::byte, 2 * kBlock> last{};
  const std::span rest = bytes.subspan(whole * kBlock);
  std::ranges::copy(rest, last.begin());
  last[rest.size()] = std::byte{0x80};
  const size_t blocks = rest.size() + 1 + kLength > kBlock ? 2 : 1;
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  store(static_cast<uint32_t>(bits >> 32), last.data() + blocks * kBlock - 8);
  store(static_cast<uint32_t>(bits), last.data() + blocks * kBlock - 4);
  compressed(state, last.data(), blocks);

  std::array<std::byte, 32> digest{};
  for (size_t i = 0; i < state.size(); ++i) store(state[i], digest.data() + 4 * i);
  return digest;
}

}  // namespace

std::array<std::byte, 32> sha256(std::span<const std::byte> bytes) {
  static const bool has_instructions =
      has_feature(cpu_features(), "sha") && has_feature(cpu_features(), "sse4.1");
  return digest_of(bytes, has_instructions ? compress_by_instructions : compress);
}

std::array<std::byte, 32> sha256_of_any_cpu(std::span<const std::byte> bytes) {
  return digest_of(bytes, compress);
}

}  // namespace ingot::base
