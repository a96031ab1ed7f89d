#pragma once

#include <iosfwd>

#include "tools/options.h"

namespace ingot::tools {

/// Where the actions write: standard output and error, or a test's strings.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

/// All of `ingot-opt`; its exit status. What is wrong with a module or a call has been reported on the error
/// stream. Throws base::UserError for what cannot be read, UsageError for a file that is not there.
int run(const Options& options, Streams& streams);

}  // namespace ingot::tools
