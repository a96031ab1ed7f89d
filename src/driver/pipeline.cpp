#include "driver/pipeline.h"

namespace ingot::driver {

namespace {

/// CPUs with vector registers.
constexpr std::string_view kLanes[] = {"inline",   "simplify", "reuse",   "fuse",        "to_loops",
                                       "simplify", "checks",   "dce",     "interchange", "fuse_nests",
                                       "contract", "schedule", "threads", "jam"};
/// CPUs that take one turn at a time: loops are not chosen for lanes, nor made for them.
constexpr std::string_view kOneByOne[] = {"inline",     "simplify", "reuse",  "fuse",
                                          "to_loops",   "simplify", "checks", "dce",
                                          "fuse_nests", "contract", "threads"};

/// Hosts of a device: its kernels have lanes and threads of their own, and do all turns of a loop at once.
constexpr std::string_view kKernels[] = {"inline", "simplify", "reuse", "fuse",       "to_loops", "simplify",
                                         "hoist",  "checks",   "dce",   "fuse_nests", "split",    "kernels"};

/// What codegen is told of loops and buffers.
constexpr std::string_view kDecisions[] = {"streams", "outline", "lanes", "lifetimes"};
constexpr std::string_view kDecisionsOfKernels[] = {"lifetimes"};

}  // namespace

std::span<const std::string_view> decisions_of(const base::Machine& machine) {
  if (machine.has_kernels()) return kDecisionsOfKernels;
  return kDecisions;
}

std::span<const std::string_view> pipeline_of(const base::Machine& machine) {
  if (machine.has_kernels()) return kKernels;
  if (machine.has_lanes()) return kLanes;
  return kOneByOne;
}

}  // namespace ingot::driver
