#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ingot::runtime {

/// A function in memory, as perf is to know it.
struct PerfSymbol {
  std::string_view name;
  const void* address;
  size_t size;
};

/// INGOT_PERF=1 is in the environment.
bool perf_map_enabled();

/// Appends the functions to /tmp/perf-PID.map, the file in which `perf report` looks up code that no file on
/// disk holds. Writes nothing if that name is a link, or a file of somebody else: who may write to /tmp
/// cannot lead the writing elsewhere. Failures are silent. Usable from any thread.
void append_to_perf_map(std::span<const PerfSymbol> functions);

}  // namespace ingot::runtime
