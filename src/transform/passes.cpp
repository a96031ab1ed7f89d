#include "transform/passes.h"

#include "transform/arrays/fuse.h"
#include "transform/arrays/independent.h"
#include "transform/arrays/parallel.h"
#include "transform/arrays/promote.h"
#include "transform/arrays/reuse.h"
#include "transform/arrays/to_loops.h"
#include "transform/derivatives/derive.h"
#include "transform/functions/inline.h"
#include "transform/functions/lower_exits.h"
#include "transform/functions/simplify.h"
#include "transform/kernels/counters.h"
#include "transform/kernels/kernels.h"
#include "transform/kernels/spans.h"
#include "transform/kernels/tables.h"
#include "transform/loops/carry.h"
#include "transform/loops/checks.h"
#include "transform/loops/contract.h"
#include "transform/loops/directives.h"
#include "transform/loops/expand.h"
#include "transform/loops/fuse_nests.h"
#include "transform/loops/hoist.h"
#include "transform/loops/interchange.h"
#include "transform/loops/jam.h"
#include "transform/loops/lanes.h"
#include "transform/loops/lifetimes.h"
#include "transform/loops/outline.h"
#include "transform/loops/prefetch.h"
#include "transform/loops/rematerialize.h"
#include "transform/loops/schedule.h"
#include "transform/loops/split.h"
#include "transform/loops/streams.h"
#include "transform/loops/sweeps.h"
#include "transform/loops/threads.h"

namespace ingot::transform {

namespace {

/// A pass that is the same for each machine.
template <std::unique_ptr<ir::Function> (*pass)(const ir::Function&)>
std::unique_ptr<ir::Function> for_any(const ir::Function& function, const base::Machine&) {
  return pass(function);
}

constexpr Pass kPasses[] = {
    {"inline", for_any<inline_calls>, ir::Stage::Both},
    {"derive", for_any<derive>, ir::Stage::Array},
    {"lower_exits", for_any<lower_exits>, ir::Stage::Array},
    {"simplify", for_any<simplify>, ir::Stage::Both},
    {"dce", for_any<dce>, ir::Stage::Both},
    {"promote", for_any<promote>, ir::Stage::Array},
    {"independent", for_any<independent>, ir::Stage::Array},
    {"reuse", for_any<reuse>, ir::Stage::Both},
    {"fuse", for_any<fuse>, ir::Stage::Both},
    {"counters", for_any<counters>, ir::Stage::Array},
    {"tables", tables, ir::Stage::Array},
    {"to_loops", to_loops, ir::Stage::Loop},
    {"hoist_counts", for_any<hoist_counts>, ir::Stage::Loop},
    {"hoist_loads", for_any<hoist_loads>, ir::Stage::Loop},
    {"checks", checks, ir::Stage::Loop},
    {"rematerialize", rematerialize, ir::Stage::Loop},
    {"fuse_nests", fuse_nests, ir::Stage::Loop},
    {"spans", for_any<spans>, ir::Stage::Loop},
    {"split", split, ir::Stage::Loop},
    {"contract", contract, ir::Stage::Loop},
    {"expand", expand, ir::Stage::Loop},
    {"directives", for_any<follow_directives>, ir::Stage::Loop},
    {"carry", for_any<carry>, ir::Stage::Loop},
    {"sweeps", for_any<sweeps>, ir::Stage::Loop},
    {"interchange", interchange, ir::Stage::Loop},
    {"schedule", for_any<schedule>, ir::Stage::Loop},
    {"threads", for_any<threads>, ir::Stage::Loop},
    {"kernels", kernels, ir::Stage::Loop},
    {"jam", jam, ir::Stage::Loop},
    {"streams", streams, ir::Stage::Loop},
    {"prefetch", prefetch, ir::Stage::Loop},
    {"outline", outline, ir::Stage::Loop},
    {"lanes", lanes, ir::Stage::Loop},
    {"lifetimes", lifetimes, ir::Stage::Loop},
    {"parallel", for_any<parallel>, ir::Stage::Both},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  for (const Pass& pass : kPasses)
    if (pass.name == name) return &pass;
  return nullptr;
}

void run_on_all(ir::Module& module, const Pass& pass, const base::Machine& machine) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::FunctionId id(i);
    const ir::Function* const function = module.function(id);
    if (function == nullptr) continue;
    module.go_on();
    if (auto made = pass.run(*function, machine)) module.define(id, std::move(made));
  }
}

}  // namespace ingot::transform
