#include "base/fills.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>

// Each number needs one word at least. So as many words as there are numbers left are drawn at once, up to a
// block, and all of them are used: a stream never has to go back. A number whose words go beyond the block
// takes the others from the stream, which comes after the block.
//
// The fast path of the ziggurats - a number of one word, 99 of 100 - is here, without the branch on the sign
// of NumPy's, which no CPU predicts. All else is NumPy's function, called with a stream that gives the words
// of the block. The tables are those of NumPy's functions: asked for, not copied.

namespace ingot::base {

extern "C" {
void random_standard_uniform_fill(Stream*, intptr_t, double*);
void random_standard_uniform_fill_f(Stream*, intptr_t, float*);
double random_standard_normal(Stream*);
float random_standard_normal_f(Stream*);
void random_standard_normal_fill(Stream*, intptr_t, double*);
void random_standard_normal_fill_f(Stream*, intptr_t, float*);
double random_standard_exponential(Stream*);
float random_standard_exponential_f(Stream*);
void random_standard_exponential_fill(Stream*, intptr_t, double*);
void random_standard_exponential_fill_f(Stream*, intptr_t, float*);
uint64_t random_interval(Stream*, uint64_t);
void random_bounded_uint64_fill(Stream*, uint64_t, uint64_t, intptr_t, bool, uint64_t*);
void random_bounded_uint32_fill(Stream*, uint32_t, uint32_t, intptr_t, bool, uint32_t*);
}

namespace {

constexpr int64_t kBlock = 256;

void draw_block(BitKind kind, void* state, uint64_t* words, int64_t count) {
  draw_words(kind, state, words, static_cast<size_t>(count));
}

void draw_block(BitKind kind, void* state, uint32_t* halves, int64_t count) {
  draw_halves(kind, state, halves, static_cast<size_t>(count));
}

/// A stream of words that were drawn from another one, and then of its own. Distributions of float64 ask it
/// for whole words alone, those of float32 for halves alone.
template <class Word>
struct Ahead {
  Stream stream;
  Stream* source;
  BitKind kind;  ///< only of words
  const Word* next;
  const Word* end;

  Ahead(Stream* from, BitKind of, const Word* begin, const Word* limit)
      : stream{this, &word, &half, &real, nullptr}, source(from), kind(of), next(begin), end(limit) {}
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  static uint64_t word(void* self) {
    auto& ahead = *static_cast<Ahead*>(self);
    return ahead.next != ahead.end ? *ahead.next++ : ahead.source->next_uint64(ahead.source->state);
  }
  static uint32_t half(void* self) {
    auto& ahead = *static_cast<Ahead*>(self);
    return ahead.next != ahead.end ? static_cast<uint32_t>(*ahead.next++)
                                   : ahead.source->next_uint32(ahead.source->state);
  }
  static double real(void* self) {
    auto& ahead = *static_cast<Ahead*>(self);
    return ahead.next != ahead.end ? real_of_word(ahead.kind, *ahead.next++)
                                   : ahead.source->next_double(ahead.source->state);
  }
};

/// A distribution: `one` number of a stream, which NumPy draws by a ziggurat whose words have the index of a
/// layer, a sign (or none: -1) and a rest. A word whose rest is below the layer's limit is all it needs.
template <class Word, class Real, Real (*one)(Stream*), void (*fill)(Stream*, intptr_t, Real*), int index_at,
          int sign_at, int rest_at, int rest_bits>
class Ziggurat {
 public:
  static Real draw(Stream* stream) {
    Word word;
    if constexpr (sizeof(Word) == 8) {
      word = stream->next_uint64(stream->state);
    } else {
      word = stream->next_uint32(stream->state);
    }
    const Ziggurat& ziggurat = known();
    return ziggurat.is_fast(word) ? ziggurat.number(word) : of_more_words(stream, word);
  }

  static void fill_all(Stream* stream, Real* data, int64_t count) {
    const std::optional<BitKind> kind = kind_of_bits(*stream);
    if (!kind) return fill(stream, count, data);
    const Ziggurat& ziggurat = known();
    std::array<Word, kBlock> words;
    Real* const end = data + count;
    while (data != end) {
      const int64_t some = std::min<int64_t>(end - data, kBlock);
      draw_block(*kind, stream->state, words.data(), some);
      const Word* const limit = words.data() + some;
      for (const Word* word = words.data(); word != limit;) {
        if (ziggurat.is_fast(*word)) {
          *data++ = ziggurat.number(*word++);
        } else {
          Ahead<Word> ahead(stream, *kind, word, limit);
          *data++ = one(&ahead.stream);
          word = ahead.next;
        }
      }
    }
  }

 private:
  static constexpr Word kRest = (Word{1} << rest_bits) - 1;

  static const Ziggurat& known() {
    static const Ziggurat ziggurat;
    return ziggurat;
  }

  /// Asks NumPy's function what it makes of a word, and whether it wants another one.
  Ziggurat() {
    for (size_t index = 0; index < limits_.size(); ++index) {
      Word low = 0;
      Word high = kRest + 1;
      while (low < high) {
        const Word middle = low + (high - low) / 2;
        if (Answer(index, middle).is_fast) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      limits_[index] = low;
      widths_[index] = low > 1 ? Answer(index, 1).number : 0;
    }
  }

  struct Answer {
    bool is_fast;
    Real number;

    /// After the first word come words in the middle of a rectangle, for the fast path, and as reals.
    Answer(size_t index, Word rest) {
      std::array<Word, 2> words{word_of(index, rest), word_of(128, kRest / 2)};
      struct Asked {
        const Word* words;
        int count;
      } asked{words.data(), 0};
      const auto next = [](void* state) {
        auto& from = *static_cast<Asked*>(state);
        return from.words[from.count++ == 0 ? 0 : 1];
      };
      Stream stream{&asked, nullptr, nullptr,
                    [](void* state) {
                      ++static_cast<Asked*>(state)->count;
                      return 0.5;
                    },
                    nullptr};
      if constexpr (sizeof(Word) == 8) {
        stream.next_uint64 = next;
      } else {
        stream.next_uint32 = next;
      }
      number = one(&stream);
      is_fast = asked.count == 1;
    }
  };

  [[gnu::noinline]] static Real of_more_words(Stream* stream, Word word) {
    // The kind specifies how words become reals; no word that is left does.
    Ahead<Word> ahead(stream, BitKind::PCG64, &word, &word + 1);
    return one(&ahead.stream);
  }

  static Word word_of(size_t index, Word rest) {
    return static_cast<Word>(index << index_at) | rest << rest_at;
  }
  static size_t index_of(Word word) { return static_cast<size_t>(word >> index_at) & 255; }
  static Word rest_of(Word word) { return (word >> rest_at) & kRest; }

  bool is_fast(Word word) const { return rest_of(word) < limits_[index_of(word)]; }
  Real number(Word word) const {
    using Signed = std::make_signed_t<Word>;
    const Real size = static_cast<Real>(static_cast<Signed>(rest_of(word))) * widths_[index_of(word)];
    if constexpr (sign_at < 0) {
      return size;
    } else {
      constexpr int kTop = std::numeric_limits<Word>::digits - 1;
      return std::bit_cast<Real>(std::bit_cast<Word>(size) ^ (word >> sign_at << kTop));
    }
  }

  std::array<Word, 256> limits_;
  std::array<Real, 256> widths_;
};

using Normal = Ziggurat<uint64_t, double, random_standard_normal, random_standard_normal_fill, 0, 8, 9, 52>;
using NormalF32 =
    Ziggurat<uint32_t, float, random_standard_normal_f, random_standard_normal_fill_f, 0, 8, 9, 23>;
using Exponential =
    Ziggurat<uint64_t, double, random_standard_exponential, random_standard_exponential_fill, 3, -1, 11, 53>;
using ExponentialF32 = Ziggurat<uint32_t, float, random_standard_exponential_f,
                                random_standard_exponential_fill_f, 1, -1, 9, 23>;

template <class Word>
constexpr Word kAll = std::numeric_limits<Word>::max();

/// The smallest 2**k - 1 that is not below a number, which is not 0.
template <class Word>
Word mask_of(Word range) {
  return kAll<Word> >> std::countl_zero(range);
}

/// How often a word gives no number.
enum class Rejections : uint8_t { Rare, Often };

/// `count` numbers of words, of which some give none: `made(word, number)` returns whether one does.
template <Rejections rejections, class Word, class T, class Made>
void fill_by_rejection(Stream* stream, BitKind kind, T* data, int64_t count, Made made) {
  constexpr int64_t kGroup = 16;
  std::array<Word, kBlock> words;
  T* const end = data + count;
  const auto compact = [&](const Word* from, int64_t some) {
    for (int64_t i = 0; i < some; ++i) data += made(from[i], *data) ? 1 : 0;
  };
  while (data != end) {
    const int64_t some = std::min<int64_t>(end - data, kBlock);
    draw_block(kind, stream->state, words.data(), some);
    const Word* next = words.data();
    const Word* const limit = next + some;
    if constexpr (rejections == Rejections::Rare) {
      for (; limit - next >= kGroup; next += kGroup) {
        bool are_all = true;
        for (int64_t i = 0; i < kGroup; ++i) are_all &= made(next[i], data[i]);
        if (are_all) {
          data += kGroup;
        } else {
          compact(next, kGroup);
        }
      }
    }
    compact(next, limit - next);
  }
}

/// Integers from `low` to `low + range`, one of each word that is not rejected. `range` is not 0.
template <class Word, class T>
void fill_by_words(Stream* stream, BitKind kind, T low, Word range, bool is_masked, T* data, int64_t count) {
  using Product = std::conditional_t<sizeof(Word) == 8, unsigned __int128, uint64_t>;
  if (range == kAll<Word>) {
    fill_by_rejection<Rejections::Rare, Word>(stream, kind, data, count, [=](Word word, T& number) {
      number = low + word;
      return true;
    });
  } else if (is_masked) {
    const Word mask = mask_of(range);
    fill_by_rejection<Rejections::Often, Word>(stream, kind, data, count, [=](Word word, T& number) {
      number = low + (word & mask);
      return (word & mask) <= range;
    });
  } else {  // Lemire's method
    const Word span = range + 1;
    const Word threshold = (kAll<Word> - range) % span;
    const auto made = [=](Word word, T& number) {
      const Product product = static_cast<Product>(word) * span;
      number = low + static_cast<Word>(product >> std::numeric_limits<Word>::digits);
      return static_cast<Word>(product) >= threshold;
    };
    if (threshold < kAll<Word> / 256) {
      fill_by_rejection<Rejections::Rare, Word>(stream, kind, data, count, made);
    } else {
      fill_by_rejection<Rejections::Often, Word>(stream, kind, data, count, made);
    }
  }
}

}  // namespace

double standard_normal(Stream* stream) noexcept { return Normal::draw(stream); }
float standard_normal_f32(Stream* stream) noexcept { return NormalF32::draw(stream); }
double standard_exponential(Stream* stream) noexcept { return Exponential::draw(stream); }
float standard_exponential_f32(Stream* stream) noexcept { return ExponentialF32::draw(stream); }

void fill_uniform(Stream* stream, double* data, int64_t count) noexcept {
  const std::optional<BitKind> kind = kind_of_bits(*stream);
  if (!kind) return random_standard_uniform_fill(stream, count, data);
  draw_reals(*kind, stream->state, data, static_cast<size_t>(count));
}

void fill_uniform_f32(Stream* stream, float* data, int64_t count) noexcept {
  const std::optional<BitKind> kind = kind_of_bits(*stream);
  if (!kind) return random_standard_uniform_fill_f(stream, count, data);
  std::array<uint32_t, kBlock> halves;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t some = std::min(count - i, kBlock);
    draw_block(*kind, stream->state, halves.data(), some);
    for (int64_t k = 0; k < some; ++k)
      data[i + k] = static_cast<float>(static_cast<int32_t>(halves[static_cast<size_t>(k)] >> 8)) * 0x1p-24F;
  }
}

void fill_normal(Stream* stream, double* data, int64_t count) noexcept {
  Normal::fill_all(stream, data, count);
}

void fill_normal_f32(Stream* stream, float* data, int64_t count) noexcept {
  NormalF32::fill_all(stream, data, count);
}

void fill_exponential(Stream* stream, double* data, int64_t count) noexcept {
  Exponential::fill_all(stream, data, count);
}

void fill_exponential_f32(Stream* stream, float* data, int64_t count) noexcept {
  ExponentialF32::fill_all(stream, data, count);
}

void fill_bounded_64(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked, uint64_t* data,
                     int64_t count) noexcept {
  const std::optional<BitKind> kind = kind_of_bits(*stream);
  if (!kind || range == 0) return random_bounded_uint64_fill(stream, low, range, count, is_masked != 0, data);
  if (range <= kAll<uint32_t>) {
    const auto half = static_cast<uint32_t>(range);
    fill_by_words<uint32_t, uint64_t>(stream, *kind, low, half, is_masked != 0, data, count);
  } else {
    fill_by_words<uint64_t, uint64_t>(stream, *kind, low, range, is_masked != 0, data, count);
  }
}

void fill_bounded_32(Stream* stream, uint64_t low, uint64_t range, int64_t is_masked, uint32_t* data,
                     int64_t count) noexcept {
  const std::optional<BitKind> kind = kind_of_bits(*stream);
  const auto first = static_cast<uint32_t>(low);
  const auto span = static_cast<uint32_t>(range);
  if (!kind || span == 0) return random_bounded_uint32_fill(stream, first, span, count, is_masked != 0, data);
  fill_by_words<uint32_t, uint32_t>(stream, *kind, first, span, is_masked != 0, data, count);
}

void fill_intervals(Stream* stream, uint64_t last, uint64_t* data, int64_t count) noexcept {
  const std::optional<BitKind> kind = kind_of_bits(*stream);
  while (count > 0) {
    if (!kind || last == 0 || last > kAll<uint32_t>) {
      *data++ = random_interval(stream, last--);
      --count;
      continue;
    }
    // As long as the mask is the same.
    const auto mask = mask_of(static_cast<uint32_t>(last));
    const int64_t some = std::min(count, static_cast<int64_t>(last - mask / 2));
    const uint64_t* const begin = data;
    fill_by_rejection<Rejections::Often, uint32_t>(
        stream, *kind, data, some, [=](uint32_t half, uint64_t& number) {
          number = half & mask;
          return number <= last - static_cast<uint64_t>(&number - begin);
        });
    data += some;
    last -= static_cast<uint64_t>(some);
    count -= some;
  }
}

}  // namespace ingot::base
