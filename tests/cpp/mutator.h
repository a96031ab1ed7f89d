#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Makes texts malformed: their readers may refuse them, and nothing else. A seed always gives the same.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  /// A text with one to four faults.
  std::string spoiled(std::string text) {
    for (size_t faults = 1 + below(4); faults > 0; --faults) spoil(text);
    return text;
  }

 private:
  std::mt19937_64 random_;

  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_number(std::string_view word) {
    return word.find_first_not_of("0123456789") == std::string_view::npos;
  }

  /// The begin and length of some word; a length of 0: there is none near.
  std::pair<size_t, size_t> word(const std::string& text) {
    size_t begin = below(text.size());
    while (begin < text.size() && !is_word(text[begin])) ++begin;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    size_t end = begin;
    while (end < text.size() && is_word(text[end])) ++end;
    return {begin, end - begin};
  }
  std::pair<size_t, size_t> number(const std::string& text) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto [begin, length] = word(text);
      if (is_number(std::string_view(text).substr(begin, length))) return {begin, length};
    }
    return {0, 0};
  }
  std::pair<size_t, size_t> line(const std::string& text) {
    const size_t at = below(text.size());
    const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    const size_t after = std::min(text.find('\n', at), text.size() - 1);
    return {begin, after + 1 - begin};
  }
  /// Some bytes of it.
  std::pair<size_t, size_t> part(const std::string& text) {
    const size_t begin = below(text.size());
    return {begin, std::min(1 + below(60), text.size() - begin)};
  }

  void spoil(std::string& text) {
    static constexpr std::string_view kNumbers[] = {"0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "7",
                                                    "16",
                                                    "31",
                                                    "32",
                                                    "33",
                                                    "63",
                                                    "64",
                                                    "65",
                                                    "127",
                                                    "255",
                                                    "1000",
                                                    "65535",
                                                    "65536",
                                                    "1000000",
                                                    "2147483647",
                                                    "2147483648",
                                                    "4294967295",
                                                    "4294967296",
                                                    "999999999999",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "18446744073709551615",
                                                    "99999999999999999999999999"};
    static constexpr std::string_view kOpening[] = {"{",  "(", "[", "<",  "{ ",       "((",
                                                    "[[", "%", "-", "\"", "optional<"};
    if (text.empty()) return;
    switch (below(12)) {
      case 0:
      case 1: text[below(text.size())] ^= static_cast<char>(1u << below(8)); break;
      case 2: text[below(text.size())] = static_cast<char>(below(256)); break;
      case 3: {
        const auto [begin, length] = part(text);
        text.erase(begin, length);
        break;
      }
      case 4: {
        const auto [begin, length] = part(text);
        text.insert(below(text.size()), text.substr(begin, length));
        break;
      }
      case 5: {
        const auto [begin, length] = line(text);
        text.erase(begin, length);
        break;
      }
      case 6: {
        const auto [begin, length] = line(text);
        const std::string copy = text.substr(begin, length);
        text.insert(line(text).first, copy);
        break;
      }
      case 7:
      case 8: {
        const auto [begin, length] = number(text);
        text.replace(begin, length, kNumbers[below(std::size(kNumbers))]);
        break;
      }
      case 9:
      case 10: {
        const auto [from, many] = word(text);
        const std::string other = text.substr(from, many);
        const auto [begin, length] = word(text);
        text.replace(begin, length, other);
        break;
      }
      default: {
        const std::string_view opening = kOpening[below(std::size(kOpening))];
        std::string deep;
        for (size_t k = below(2) == 0 ? 2 : 20'000; k > 0; --k) deep += opening;
        text.insert(below(text.size()), deep);
        break;
      }
    }
  }
};

/// How many spoiled texts a test tries: `usually`, or as many as INGOT_MUTATIONS gives.
inline size_t mutations(size_t usually) {
  const char* const asked = std::getenv("INGOT_MUTATIONS");
  return asked == nullptr ? usually : static_cast<size_t>(std::atoll(asked));
}

/// The first seed of a test, as INGOT_MUTATIONS_FROM gives it.
inline uint64_t first_mutation() {
  const char* const asked = std::getenv("INGOT_MUTATIONS_FROM");
  return asked == nullptr ? 0 : static_cast<uint64_t>(std::atoll(asked));
}

}  // namespace ingot
