#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace ingot::tools {

/// What `ingot-opt` was asked to do. Actions run in the order of the fields, on one module.
struct Options {
  std::string input = "-";  ///< a path; `-`: standard input
  ir::Stage stage = ir::Stage::Array;
  std::vector<std::string> passes;  ///< run in this order, then the rest
  bool verify = false;
  bool print = false;
  bool spans = false;  ///< printed texts hold places
  bool help = false;
};

/// Reads the words behind the program's name. Throws UsageError.
Options read_options(std::span<const std::string_view> words);
/// What `--help` shows.
std::string_view usage();

/// The command line is wrong.
struct UsageError {
  std::string message;
};

}  // namespace ingot::tools
