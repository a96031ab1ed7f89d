#include "driver/pipeline.h"

#include <string>

#include "driver/loop_report.h"
#include "transform/passes.h"

namespace ingot::driver {

namespace {

/// What of a frontend's function neither the interpreter nor codegen has: marks of derivatives, and loops
/// over `prange` whose iterations are not shown to be independent.
constexpr std::string_view kFront[] = {"derive", "parallel"};

/// Passes for CPUs with vector registers.
constexpr std::string_view kLanes[] = {"inline",      "simplify",   "reuse",   "fuse",       "to_loops",
                                       "simplify",    "checks",     "dce",     "directives", "rematerialize",
                                       "interchange", "fuse_nests", "sweeps",  "contract",   "expand",
                                       "carry",       "schedule",   "threads", "jam",        "hoist_loads"};
/// Passes for CPUs without: no loop is chosen for lanes or changed for them.
constexpr std::string_view kOneByOne[] = {"inline",     "simplify", "reuse",   "fuse",       "to_loops",
                                          "simplify",   "checks",   "dce",     "directives", "rematerialize",
                                          "fuse_nests", "contract", "threads", "hoist_loads"};

/// Passes for hosts of a device: its kernels have lanes and threads of their own, and run all iterations of a
/// loop at once.
constexpr std::string_view kKernels[] = {
    "inline",   "simplify",     "reuse",  "fuse", "counters",   "tables", "independent", "to_loops",
    "simplify", "hoist_counts", "checks", "dce",  "fuse_nests", "spans",  "split",       "kernels"};

/// Passes that annotate loops and buffers for codegen.
constexpr std::string_view kDecisions[] = {"streams", "prefetch", "outline", "lanes", "lifetimes"};
constexpr std::string_view kDecisionsOfKernels[] = {"lifetimes"};

/// The pass after which loops are chosen for lanes and threads.
constexpr std::string_view kBeforeLoopsAreChosen = "contract";

}  // namespace

std::span<const std::string_view> front() { return kFront; }

std::span<const std::string_view> decisions_of(const base::Machine& machine) {
  if (machine.has_kernels()) return kDecisionsOfKernels;
  return kDecisions;
}

std::span<const std::string_view> pipeline_of(const base::Machine& machine) {
  if (machine.has_kernels()) return kKernels;
  if (machine.has_lanes()) return kLanes;
  return kOneByOne;
}

void run_passes(ir::Module& module, std::span<const ir::FunctionId> entries,
                std::span<const std::string_view> names, const base::Machine& machine, ir::Stage stage,
                Report& report) {
  for (const std::string_view name : names) {
    const transform::Pass* pass = transform::find_pass(name);
    INGOT_ASSERT(pass != nullptr, "driver: no such pass");
    if (pass->after != ir::Stage::Both) stage = pass->after;
    const PhaseScope scope(report, std::string(name), &module, stage);
    transform::run_on_all(module, *pass, machine);
    module.keep_reachable(entries);
    if (report.dump && name == kBeforeLoopsAreChosen) report.loops = report_loops(module);
  }
}

}  // namespace ingot::driver
