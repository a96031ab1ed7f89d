#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

namespace ingot::codegen {

/// Of numbered cases those that a test runs: `first`, and every `step`-th after it.
struct Sample {
  size_t first = 0;
  size_t step = 1;

  /// In release builds one case in `share`, drawn by the test's name and by INGOT_SAMPLE, for which
  /// tools/check has the word of tests/sample.txt; in builds with assertions all cases.
  static Sample one_in(size_t share, std::string_view test) {
#ifdef NDEBUG
    const char* const word = std::getenv("INGOT_SAMPLE");
    const std::string drawn_by = std::string(word == nullptr ? "0" : word) + " " + std::string(test);
    return {std::hash<std::string>()(drawn_by) % share, share};
#else
    static_cast<void>(share), static_cast<void>(test);
    return {};
#endif
  }
};

}  // namespace ingot::codegen
