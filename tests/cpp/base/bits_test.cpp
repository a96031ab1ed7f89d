#include "base/bits.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "base/fills.h"

namespace ingot::base {
namespace {

/// NumPy's state of an SFC64.
struct State {
  std::array<uint64_t, 4> words{1, 2, 3, 4};
  int has_half = 0;
  uint32_t half = 0;
};

template <int rotation>
uint64_t next_word(void* state) {
  auto& [a, b, c, counter] = static_cast<State*>(state)->words;
  const uint64_t word = a + b + counter++;
  a = b ^ (b >> 11);
  b = c + (c << 3);
  c = std::rotl(c, rotation) + word;
  return word;
}

template <int rotation>
uint32_t next_half(void* of) {
  auto& state = *static_cast<State*>(of);
  if (state.has_half != 0) {
    state.has_half = 0;
    return state.half;
  }
  const uint64_t word = next_word<rotation>(of);
  state.has_half = 1;
  state.half = static_cast<uint32_t>(word >> 32);
  return static_cast<uint32_t>(word);
}

template <int rotation>
Stream stream(State& state) {
  return {&state, &next_word<rotation>, &next_half<rotation>,
          [](void* of) { return static_cast<double>(next_word<rotation>(of) >> 11) * 0x1p-53; },
          &next_word<rotation>};
}

TEST(Bits, AKindIsKnownWhenItsWordsAreTheSame) {
  State one;
  State other;
  Stream first = stream<24>(one);
  Stream second = stream<24>(other);
  EXPECT_FALSE(kind_of_bits(first));
  EXPECT_TRUE(know_bits(BitKind::SFC64, first, second));
  EXPECT_EQ(one.words, other.words);
  EXPECT_EQ(kind_of_bits(first), BitKind::SFC64);
}

TEST(Bits, OtherWordsAreOfNoKind) {
  State one;
  State other;
  Stream first = stream<23>(one);
  Stream second = stream<23>(other);
  EXPECT_FALSE(know_bits(BitKind::SFC64, first, second));
  EXPECT_FALSE(kind_of_bits(first));
}

TEST(Bits, StreamsOfNoKindAreDrawnByTheirFunctions) {
  State one;
  State other;
  Stream first = stream<22>(one);
  Stream second = stream<22>(other);
  std::array<double, 1000> numbers;
  fill_normal(&first, numbers.data(), numbers.size());
  for (const double number : numbers) EXPECT_EQ(number, standard_normal(&second));
  EXPECT_EQ(one.words, other.words);
  std::array<float, 999> small;
  fill_exponential_f32(&first, small.data(), small.size());
  for (const float number : small) EXPECT_EQ(number, standard_exponential_f32(&second));
  EXPECT_EQ(one.words, other.words);
  EXPECT_EQ(one.has_half, other.has_half);
}

}  // namespace
}  // namespace ingot::base
