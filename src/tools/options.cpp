#include "tools/options.h"

#include <algorithm>

namespace ingot::tools {

namespace {

ir::Stage read_stage(std::string_view name) {
  if (name == "array") return ir::Stage::Array;
  if (name == "loop") return ir::Stage::Loop;
  throw UsageError{"--stage is array or loop, not '" + std::string(name) + "'"};
}

/// The words between commas.
std::vector<std::string> read_list(std::string_view words) {
  std::vector<std::string> list;
  while (!words.empty()) {
    const size_t comma = std::min(words.find(','), words.size());
    list.emplace_back(words.substr(0, comma));
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  return list;
}

}  // namespace

std::string_view usage() {
  return "usage: ingot-opt [options] [file.ir]\n"
         "Reads functions as text from a file or standard input, and does what the options ask.\n"
         "  --passes a,b          run passes in this order: simplify, dce, to_loops\n"
         "  --verify              check every invariant of the IR\n"
         "  --print               print the functions in canonical form\n"
         "  --spans               ... with the places of their nodes\n"
         "  --stage array|loop    the stage the text is at (array)\n"
         "  --help                show this\n"
         "Exit status: 0; 1 the text or the IR is wrong; 2 the command is; 3 a fault of ingot-opt.\n";
}

Options read_options(std::span<const std::string_view> words) {
  Options options;
  bool has_input = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto argument = [&] {
      if (i + 1 == words.size()) throw UsageError{std::string(word) + " wants an argument"};
      return words[++i];
    };
    if (word == "--verify") {
      options.verify = true;
    } else if (word == "--passes") {
      options.passes = read_list(argument());
    } else if (word == "--print") {
      options.print = true;
    } else if (word == "--spans") {
      options.spans = true;
    } else if (word == "--stage") {
      options.stage = read_stage(argument());
    } else if (word == "--help") {
      options.help = true;
    } else if (word.size() > 1 && word[0] == '-') {
      throw UsageError{"no option " + std::string(word)};
    } else if (has_input) {
      throw UsageError{"more than one file"};
    } else {
      options.input = word;
      has_input = true;
    }
  }
  return options;
}

}  // namespace ingot::tools
