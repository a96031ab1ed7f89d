#include "base/bits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

// A generator whose next state needs the one before is bound by the latency of that step, not by the number
// of instructions. So the states of a PCG64 are drawn in a few chains, each of which goes several steps at
// once: k steps of x -> a x + c are one step with a**k and c (1 + a + ... + a**(k - 1)). The blocks of a
// Philox are functions of a counter; those of a Mersenne Twister are vectors. A state of the SFC64 has no way
// around the one before: it is in registers.
//
// What states consist of in memory is NumPy's affair. `know_bits` compares words and states with NumPy's
// before a kind is used; what is not as it is here is drawn by NumPy's functions.

namespace ingot::base {

namespace {

using Wide = unsigned __int128;

struct Pcg {
  Wide state;
  Wide increment;
};

/// Half a word that was left over, for the next one who asks for half a word.
struct Half {
  int is_there;
  uint32_t bits;
};

struct PcgState {
  Pcg* pcg;
  Half half;
};

struct PhiloxState {
  uint64_t* counter;
  const uint64_t* key;
  int position;
  std::array<uint64_t, 4> buffer;
  Half half;
};

struct SfcState {
  std::array<uint64_t, 4> words;
  Half half;
};

struct TwisterState {
  static constexpr int kLength = 624;

  std::array<uint32_t, kLength> key;
  int position;
};

constexpr Wide kPcgFactor = Wide{2549297995355413924ULL} << 64 | 4865540595714422341ULL;
constexpr uint64_t kDxsmFactor = 0xda942042e4dd58b5ULL;

uint64_t high(Wide x) { return static_cast<uint64_t>(x >> 64); }
uint64_t low(Wide x) { return static_cast<uint64_t>(x); }

uint64_t xsl_rr(Wide x) { return std::rotr(high(x) ^ low(x), static_cast<int>(high(x) >> 58)); }

uint64_t dxsm(Wide x) {
  uint64_t bits = high(x);
  bits ^= bits >> 32;
  bits *= kDxsmFactor;
  bits ^= bits >> 48;
  return bits * (low(x) | 1);
}

/// So many steps at once: x -> factor * x + sum * increment.
template <Wide factor, size_t steps>
struct Jump {
  static constexpr Wide power() {
    Wide product = 1;
    for (size_t k = 0; k < steps; ++k) product *= factor;
    return product;
  }
  static constexpr Wide sum() {
    Wide total = 0;
    for (size_t k = 0; k < steps; ++k) total = total * factor + 1;
    return total;
  }
};

/// What is made of a word: itself, or a real.
template <class T>
T made_of(uint64_t word) {
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(static_cast<int64_t>(word >> 11)) * 0x1p-53;
  } else {
    return word;
  }
}

/// Numbers of states that follow each other, of the first after one step, by chains of `sizeof...(k)` steps.
/// Gives the last state.
template <Wide factor, uint64_t (*output)(Wide), class T, size_t... k>
Wide draw_in_chains(Wide state, Wide increment, T* numbers, size_t count, std::index_sequence<k...>) {
  constexpr size_t kChains = sizeof...(k);
  constexpr Wide kPower = Jump<factor, kChains>::power();
  const Wide far_increment = increment * Jump<factor, kChains>::sum();
  std::array<Wide, kChains> states{(static_cast<void>(k), state = state * factor + increment)...};
  T* const last = numbers + (count - 1) / kChains * kChains;
  for (; numbers != last; numbers += kChains) {
    ((numbers[k] = made_of<T>(output(std::get<k>(states)))), ...);
    ((std::get<k>(states) = std::get<k>(states) * kPower + far_increment), ...);
  }
  const size_t left = (count - 1) % kChains + 1;
  ((k < left ? static_cast<void>(numbers[k] = made_of<T>(output(state = std::get<k>(states)))) : void()),
   ...);
  return state;
}

template <class T>
void draw_pcg64(PcgState& state, T* numbers, size_t count) {
  Pcg& pcg = *state.pcg;
  pcg.state = draw_in_chains<kPcgFactor, xsl_rr>(pcg.state, pcg.increment, numbers, count,
                                                 std::make_index_sequence<4>{});
}

/// The words are those of the states before the steps.
template <class T>
void draw_pcg64dxsm(PcgState& state, T* numbers, size_t count) {
  Pcg& pcg = *state.pcg;
  const Wide increment = pcg.increment;
  Wide each = pcg.state;
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = made_of<T>(dxsm(each));
    each = each * kDxsmFactor + increment;
  }
  pcg.state = each;
}

void add_one(uint64_t* counter) {
  for (size_t i = 0; i < 4; ++i)
    if (++counter[i] != 0) break;
}

std::array<uint64_t, 4> philox_block(const uint64_t* counter, const uint64_t* key) {
  uint64_t a = counter[0];
  uint64_t b = counter[1];
  uint64_t c = counter[2];
  uint64_t d = counter[3];
  uint64_t first = key[0];
  uint64_t second = key[1];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Wide left = Wide{0xD2E7470EE14C6C93ULL} * a;
    const Wide right = Wide{0xCA5A826395121157ULL} * c;
    a = high(right) ^ b ^ first;
    b = low(right);
    c = high(left) ^ d ^ second;
    d = low(left);
    first += 0x9E3779B97F4A7C15ULL;
    second += 0xBB67AE8584CAA73BULL;
  }
  return {a, b, c, d};
}

template <class T>
void draw_philox(PhiloxState& state, T* numbers, size_t count) {
  while (count > 0) {
    if (state.position >= 4) {
      add_one(state.counter);
      for (; count > 4; count -= 4, numbers += 4) {
        const std::array<uint64_t, 4> block = philox_block(state.counter, state.key);
        for (size_t i = 0; i < 4; ++i) numbers[i] = made_of<T>(block[i]);
        add_one(state.counter);
      }
      state.buffer = philox_block(state.counter, state.key);
      state.position = 0;
    }
    for (; count > 0 && state.position < 4; --count)
      *numbers++ = made_of<T>(state.buffer[static_cast<size_t>(state.position++)]);
  }
}

template <class T>
void draw_sfc64(SfcState& state, T* numbers, size_t count) {
  auto [a, b, c, counter] = state.words;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t word = a + b + counter++;
    a = b ^ (b >> 11);
    b = c + (c << 3);
    c = std::rotl(c, 24) + word;
    numbers[i] = made_of<T>(word);
  }
  state.words = {a, b, c, counter};
}

// A Mersenne Twister, inline: for the vectors of any CPU of x86-64, and for those of AVX2.

[[gnu::always_inline]] inline uint32_t twisted(uint32_t first, uint32_t second, uint32_t far) {
  const uint32_t bits = (first & 0x80000000U) | (second & 0x7fffffffU);
  return far ^ (bits >> 1) ^ (-(bits & 1) & 0x9908b0dfU);
}

[[gnu::always_inline]] inline void twist(std::array<uint32_t, TwisterState::kLength>& key) {
  constexpr size_t kLast = TwisterState::kLength - 1;
  constexpr size_t kFar = 397;
  constexpr size_t kNear = TwisterState::kLength - kFar;
  uint32_t* const x = key.data();
  for (size_t i = 0; i < kNear; ++i) x[i] = twisted(x[i], x[i + 1], x[i + kFar]);
  for (size_t i = kNear; i < kLast; ++i) x[i] = twisted(x[i], x[i + 1], x[i - kNear]);
  x[kLast] = twisted(x[kLast], x[0], x[kFar - 1]);
}

[[gnu::always_inline]] inline void temper(const uint32_t* key, uint32_t* halves, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = key[i];
    bits ^= bits >> 11;
    bits ^= (bits << 7) & 0x9d2c5680U;
    bits ^= (bits << 15) & 0xefc60000U;
    halves[i] = bits ^ (bits >> 18);
  }
}

[[gnu::always_inline]] inline void draw_halves_of(TwisterState& state, uint32_t* halves, size_t count) {
  while (count > 0) {
    if (state.position == TwisterState::kLength) {
      twist(state.key);
      state.position = 0;
    }
    const auto position = static_cast<size_t>(state.position);
    const size_t some = std::min(count, TwisterState::kLength - position);
    temper(state.key.data() + position, halves, some);
    state.position += static_cast<int>(some);
    halves += some;
    count -= some;
  }
}

/// An integer below 2**52.
[[gnu::always_inline]] inline double real_of(uint64_t bits) {
  return std::bit_cast<double>(bits | 0x4330000000000000U) - 0x1p52;
}

/// Words have the first half above the second one; reals have 27 bits of one and 26 of the other.
template <class T>
[[gnu::always_inline]] inline void pair(const uint32_t* halves, T* numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t both;
    std::memcpy(&both, halves + 2 * i, sizeof(both));
    if constexpr (std::is_same_v<T, double>) {
      numbers[i] = real_of(both << 32 >> 37) * 0x1p-27 + real_of(both >> 38) * 0x1p-53;
    } else {
      numbers[i] = both << 32 | both >> 32;
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void draw_pairs(TwisterState& state, T* numbers, size_t count) {
  std::array<uint32_t, 512> halves;
  while (count > 0) {
    const size_t some = std::min(count, halves.size() / 2);
    draw_halves_of(state, halves.data(), 2 * some);
    pair(halves.data(), numbers, some);
    numbers += some;
    count -= some;
  }
}

template <class T>
[[gnu::always_inline]] inline void draw_any(TwisterState& state, T* numbers, size_t count) {
  if constexpr (std::is_same_v<T, uint32_t>) {
    draw_halves_of(state, numbers, count);
  } else {
    draw_pairs(state, numbers, count);
  }
}

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2")]] void draw_twister_avx2(TwisterState& state, T* numbers, size_t count) {
  draw_any(state, numbers, count);
}
#endif

template <class T>
void draw_twister(TwisterState& state, T* numbers, size_t count) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return draw_twister_avx2(state, numbers, count);
#endif
  draw_any(state, numbers, count);
}

template <class T>
void draw(BitKind kind, void* state, T* numbers, size_t count) {
  if (count == 0) return;
  switch (kind) {
    case BitKind::PCG64: return draw_pcg64(*static_cast<PcgState*>(state), numbers, count);
    case BitKind::PCG64DXSM: return draw_pcg64dxsm(*static_cast<PcgState*>(state), numbers, count);
    case BitKind::Philox: return draw_philox(*static_cast<PhiloxState*>(state), numbers, count);
    case BitKind::SFC64: return draw_sfc64(*static_cast<SfcState*>(state), numbers, count);
    case BitKind::MT19937: return draw_twister(*static_cast<TwisterState*>(state), numbers, count);
  }
}

Half& half_of(BitKind kind, void* state) {
  switch (kind) {
    case BitKind::Philox: return static_cast<PhiloxState*>(state)->half;
    case BitKind::SFC64: return static_cast<SfcState*>(state)->half;
    default: return static_cast<PcgState*>(state)->half;
  }
}

using NextWord = uint64_t (*)(void*);

/// The function of each kind that is known. Part of the closed list of process-wide state.
constinit std::array<std::atomic<NextWord>, kBitKinds> known_kinds{};

/// Whether blocks of one stream are what another one's functions give.
bool draws_the_same(BitKind kind, Stream& one, Stream& other) {
  std::array<uint64_t, 701> words;
  std::array<uint32_t, 701> halves;
  std::array<double, 9> reals;
  for (const size_t count : {size_t{1}, size_t{2}, size_t{7}, words.size(), size_t{4}}) {
    draw_halves(kind, one.state, halves.data(), count);
    for (size_t i = 0; i < count; ++i)
      if (other.next_uint32(other.state) != halves[i]) return false;
    draw_words(kind, one.state, words.data(), count);
    for (size_t i = 0; i < count; ++i)
      if (other.next_uint64(other.state) != words[i]) return false;
  }
  draw_words(kind, one.state, words.data(), reals.size());
  for (size_t i = 0; i < reals.size(); ++i)
    if (other.next_double(other.state) != real_of_word(kind, words[i])) return false;
  draw_reals(kind, one.state, reals.data(), reals.size());
  for (const double real : reals)
    if (other.next_double(other.state) != real) return false;
  for (int i = 0; i < 9; ++i) {
    if (one.next_uint32(one.state) != other.next_uint32(other.state)) return false;
    if (one.next_uint64(one.state) != other.next_uint64(other.state)) return false;
  }
  return true;
}

}  // namespace

std::optional<BitKind> kind_of_bits(const Stream& stream) noexcept {
  for (size_t kind = 0; kind < kBitKinds; ++kind) {
    if (known_kinds[kind].load(std::memory_order_relaxed) == stream.next_uint64)
      return static_cast<BitKind>(kind);
  }
  return std::nullopt;
}

bool know_bits(BitKind kind, Stream& one, Stream& other) noexcept {
  if (one.next_uint64 != other.next_uint64 || !draws_the_same(kind, one, other)) return false;
  known_kinds[static_cast<size_t>(kind)].store(one.next_uint64, std::memory_order_relaxed);
  return true;
}

void draw_words(BitKind kind, void* state, uint64_t* words, size_t count) noexcept {
  draw(kind, state, words, count);
}

void draw_reals(BitKind kind, void* state, double* reals, size_t count) noexcept {
  draw(kind, state, reals, count);
}

void draw_halves(BitKind kind, void* state, uint32_t* halves, size_t count) noexcept {
  if (kind == BitKind::MT19937) return draw_twister(*static_cast<TwisterState*>(state), halves, count);
  Half& half = half_of(kind, state);
  if (count > 0 && half.is_there != 0) {
    *halves++ = half.bits;
    half.is_there = 0;
    --count;
  }
  // The lower half of a word comes first, as in memory; the upper one stays where it was, also when it is
  // used.
  std::array<uint64_t, 128> words;
  while (count > 0) {
    const size_t some = std::min((count + 1) / 2, words.size());
    const size_t used = std::min(count, 2 * some);
    draw_words(kind, state, words.data(), some);
    std::memcpy(halves, words.data(), used * sizeof(uint32_t));
    half = {.is_there = used < 2 * some ? 1 : 0, .bits = static_cast<uint32_t>(words[some - 1] >> 32)};
    halves += used;
    count -= used;
  }
}

double real_of_word(BitKind kind, uint64_t word) noexcept {
  if (kind != BitKind::MT19937) return made_of<double>(word);
  return made_of<double>((word & ~uint64_t{0} << 37) | (word & 0xffffffffU) >> 6 << 11);
}

}  // namespace ingot::base
