#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explain/host_reader.h"

namespace ingot::explain {

/// One launch, or several of one kernel that are alike. `read` and `written` are bytes of device memory, each
/// array once a launch.
struct Launch {
  std::string function;
  size_t number;    ///< among the launches of the function, in the order of the text
  ir::NodeId node;  ///< in the function
  Line line;
  Count times;
  std::array<Count, 3> grid;
  std::array<Count, 3> block;
  Count read;
  Count written;
  Count dynamic_shared;
  bool waits;  ///< whether the host waits for it: it may raise
};

/// What the host does between the launches, with copies of arrays there and back, each `bytes` once; what is
/// alike is one.
struct OnHost {
  std::string what;
  Line line;
  Count times;
  Count bytes;
};

/// What becomes of a call on a device.
struct Launches {
  std::vector<Launch> launches;
  std::vector<OnHost> on_host;
  Count least;        ///< the bytes of what it is given and gives
  Count numbers = 0;  ///< how many numbers, or small arrays, the host reads from the device's memory
};

/// Of a module as codegen is given it, whose entry is called with these arguments; what other functions
/// launch runs an unknown number of times.
Launches launches_of(const ir::Module& module, ir::FunctionId entry, std::span<const Argument> arguments);

}  // namespace ingot::explain
