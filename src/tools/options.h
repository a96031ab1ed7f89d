#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "ir/op.h"

namespace ingot::tools {

enum class Emit : uint8_t { Nothing, Llvm, Assembly, Object };

/// What `ingot-opt` was asked to do. Actions run in the order of the fields, on one module after the other.
struct Options {
  std::vector<std::string> inputs;  ///< paths; `-`: standard input
  ir::Stage stage = ir::Stage::Array;
  std::vector<std::string> passes;  ///< run in this order, then the rest
  base::Machine machine;            ///< that they are run for
  std::string device;  ///< the kind of device that compiled code's arrays are on; empty: the host
  bool verify = false;
  bool print = false;
  bool spans = false;  ///< printed texts hold locations
  bool interpret = false;
  Emit emit = Emit::Nothing;
  bool run = false;
  std::string
      call;  ///< the replay file of the call that `interpret` and `run` make; empty: without arguments
  std::string expect;   ///< the replay file of the outcome; empty: what it does is printed
  bool replay = false;  ///< the inputs are folders, and nothing else is asked
  bool help = false;
};

/// Reads the words after the program's name. Throws UsageError.
Options read_options(std::span<const std::string_view> words);
/// What `--help` shows.
std::string_view usage();

/// The command line is wrong.
struct UsageError {
  std::string message;
};

}  // namespace ingot::tools
