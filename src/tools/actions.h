#pragma once

#include <iosfwd>
#include <memory>

#include "ir/function.h"
#include "tools/options.h"

namespace ingot::tools {

/// Where the actions write: standard output and error, or a test's strings.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

/// Reads the options' input. Throws base::UserError, or UsageError of a file that cannot be read.
std::unique_ptr<ir::Module> read_input(const Options& options, Streams& streams);

/// @name Actions, one an option
/// Each gives false when the module is at fault, having said so on the error stream.
bool run_passes(ir::Module& module, const Options& options, Streams& streams);
bool verify(const ir::Module& module, const Options& options, Streams& streams);
bool print(const ir::Module& module, const Options& options, Streams& streams);

/// All of `ingot-opt`; its exit status.
int run(const Options& options, Streams& streams);

}  // namespace ingot::tools
