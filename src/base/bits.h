#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// The words of NumPy's bit generators, many at once: what so many calls of a generator's own functions
/// would give, and leave as its state.
namespace ingot::base {

/// NumPy's `bitgen_t`.
struct Stream {
  void* state;
  uint64_t (*next_uint64)(void*);
  uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  uint64_t (*next_raw)(void*);
};

/// The bit generators that are known, by the names of NumPy's classes.
enum class BitKind : uint8_t { PCG64, PCG64DXSM, Philox, SFC64, MT19937 };
inline constexpr size_t kBitKinds = 5;

/// The kind of a stream, of those that `know_bits` has seen.
std::optional<BitKind> kind_of_bits(const Stream& stream) noexcept;

/// Compares what the generator's functions give with what is drawn here. `one` and `other` are streams of a
/// kind in the same state, which changes. Where words and states are the same, streams with these functions
/// are of that kind from now on.
bool know_bits(BitKind kind, Stream& one, Stream& other) noexcept;

/// What `count` calls of `next_uint64` give.
void draw_words(BitKind kind, void* state, uint64_t* words, size_t count) noexcept;

/// What `count` calls of `next_uint32` give.
void draw_halves(BitKind kind, void* state, uint32_t* halves, size_t count) noexcept;

/// What `count` calls of `next_double` give.
void draw_reals(BitKind kind, void* state, double* reals, size_t count) noexcept;

/// What `next_double` gives where `next_uint64` would have given this word.
double real_of_word(BitKind kind, uint64_t word) noexcept;

}  // namespace ingot::base
