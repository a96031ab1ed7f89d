#include "tools/options.h"

#include <algorithm>
#include <charconv>

namespace ingot::tools {

namespace {

ir::Stage read_stage(std::string_view name) {
  if (name == "array") return ir::Stage::Array;
  if (name == "loop") return ir::Stage::Loop;
  throw UsageError{"--stage is array or loop, not '" + std::string(name) + "'"};
}

Emit read_emit(std::string_view name) {
  if (name == "llvm") return Emit::Llvm;
  if (name == "asm") return Emit::Assembly;
  if (name == "object") return Emit::Object;
  throw UsageError{"--emit is llvm, asm or object, not '" + std::string(name) + "'"};
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

/// A power of two of warps.
int64_t read_threads(std::string_view word) {
  int64_t threads = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), threads);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  if (!is_number || threads < 32 || threads > 1024 || (threads & (threads - 1)) != 0)
    throw UsageError{"--block-threads wants a power of two from 32 to 1024"};
  return threads;
}

/// Throws UsageError for options that do not go together.
void check(const Options& options) {
  const bool makes_call = options.interpret || options.run;
  const bool asks = makes_call || options.verify || options.print || !options.passes.empty() ||
                    options.emit != Emit::Nothing;
  if (options.replay && asks) throw UsageError{"--replay combines with no other option"};
  if (!makes_call && !(options.call.empty() && options.expect.empty()))
    throw UsageError{"--call and --expect want --interpret or --run"};
}

}  // namespace

std::string_view usage() {
  return "usage: ingot-opt [options] [file.ir ...]\n"
         "Reads functions as text from files or standard input, and does what the options ask.\n"
         "  --passes a,b          run passes in this order: simplify, dce, to_loops\n"
         "  --block-threads N     ... for arrays on a device, whose launches have blocks of so many threads\n"
         "  --device-products     ... and whose libraries multiply matrices\n"
         "  --warps               ... and threads whose warps of 32 shuffle\n"
         "  --blocks-in-order     ... and blocks that may wait for those that have taken lower numbers\n"
         "  --verify              check every invariant of the IR\n"
         "  --print               print the functions in canonical form\n"
         "  --spans               ... with the locations of their nodes\n"
         "  --stage array|loop    the stage the text is taken to be at (array)\n"
         "  --interpret           call the function in the interpreter, print what it does\n"
         "  --emit llvm|asm|object  print what the compiler makes of it\n"
         "  --run                 call the function in machine code, print what it does\n"
         "  --device KIND         ... compiled for a device of a kind (emulated, gpu), where the arrays are\n"
         "  --call FILE           ... with the arguments of this replay file (docs/replay.md)\n"
         "  --expect FILE         ... and compare with this replay file instead of printing\n"
         "  --replay              the files are folders that f.record(...) wrote: make the call of each "
         "again\n"
         "                        from each of its texts, interpreted and compiled, and compare\n"
         "  --help                show this\n"
         "Exit status: 0; 1 the text, the IR or a result is wrong; 2 the command is; 3 a fault of "
         "ingot-opt.\n";
}

Options read_options(std::span<const std::string_view> words) {
  using Products = base::Machine::Products;
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto argument = [&] {
      if (i + 1 == words.size()) throw UsageError{std::string(word) + " wants an argument"};
      return words[++i];
    };
    const auto is_flag = [&](std::string_view name, bool Options::* flag) {
      if (word == name) options.*flag = true;
      return word == name;
    };
    if (is_flag("--verify", &Options::verify) || is_flag("--print", &Options::print) ||
        is_flag("--spans", &Options::spans) || is_flag("--interpret", &Options::interpret) ||
        is_flag("--run", &Options::run) || is_flag("--replay", &Options::replay) ||
        is_flag("--help", &Options::help))
      continue;
    if (word == "--passes") {
      options.passes = read_list(argument());
    } else if (word == "--block-threads") {
      options.machine.vector_bits = 0;
      options.machine.block_threads = read_threads(argument());
      if (options.machine.products == Products::Program) options.machine.products = Products::Loops;
    } else if (word == "--device-products") {
      options.machine.products = Products::Device;
    } else if (word == "--warps") {
      options.machine.warp_threads = 32;
    } else if (word == "--blocks-in-order") {
      options.machine.blocks_in_order = true;
    } else if (word == "--device") {
      options.device = argument();
    } else if (word == "--stage") {
      options.stage = read_stage(argument());
    } else if (word == "--emit") {
      options.emit = read_emit(argument());
    } else if (word == "--call") {
      options.call = argument();
    } else if (word == "--expect") {
      options.expect = argument();
    } else if (word.size() > 1 && word[0] == '-') {
      throw UsageError{"no option " + std::string(word)};
    } else {
      options.inputs.emplace_back(word);
    }
  }
  if (options.help) return options;
  check(options);
  if (options.inputs.empty()) {
    if (options.replay) throw UsageError{"--replay wants a folder"};
    options.inputs.emplace_back("-");
  }
  return options;
}

}  // namespace ingot::tools
