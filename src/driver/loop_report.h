#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/function.h"

namespace ingot::driver {

/// Why the iterations of a loop do not run together, in words for users, with the locations that it is about.
struct Reason {
  std::string kind;  ///< the name of transform::ObstacleKind
  std::string what;
  base::SourceLocation first;
  base::SourceLocation second;  ///< may be `first`
};

/// A loop of the user's; no reason: nothing prevents lanes, or sharing among threads.
struct LoopReport {
  base::SourceLocation location;
  std::optional<Reason> lanes;
  std::optional<Reason> threads;
};

/// The loops of a module that have locations, before lanes and threads are chosen.
std::vector<LoopReport> report_loops(const ir::Module& module);

}  // namespace ingot::driver
