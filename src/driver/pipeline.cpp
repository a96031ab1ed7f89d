#include "driver/pipeline.h"

namespace ingot::driver {

namespace {

/// Passes for CPUs with vector registers.
constexpr std::string_view kLanes[] = {"inline",   "simplify", "reuse",   "fuse",        "to_loops",
                                       "simplify", "checks",   "dce",     "interchange", "fuse_nests",
                                       "contract", "schedule", "threads", "jam"};
/// Passes for CPUs without: no loop is chosen for lanes or changed for them.
constexpr std::string_view kOneByOne[] = {"inline",     "simplify", "reuse",  "fuse",
                                          "to_loops",   "simplify", "checks", "dce",
                                          "fuse_nests", "contract", "threads"};

/// Passes for hosts of a device: its kernels have lanes and threads of their own, and run all iterations of a
/// loop at once.
constexpr std::string_view kKernels[] = {"inline", "simplify", "reuse", "fuse",       "to_loops", "simplify",
                                         "hoist",  "checks",   "dce",   "fuse_nests", "split",    "kernels"};

/// Passes that annotate loops and buffers for codegen.
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
