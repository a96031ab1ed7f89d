#include "transform/passes.h"

#include "transform/checks.h"
#include "transform/contract.h"
#include "transform/derive.h"
#include "transform/fuse.h"
#include "transform/fuse_nests.h"
#include "transform/hoist.h"
#include "transform/inline.h"
#include "transform/interchange.h"
#include "transform/jam.h"
#include "transform/kernels.h"
#include "transform/lanes.h"
#include "transform/lifetimes.h"
#include "transform/lower_exits.h"
#include "transform/outline.h"
#include "transform/parallel.h"
#include "transform/promote.h"
#include "transform/reuse.h"
#include "transform/schedule.h"
#include "transform/simplify.h"
#include "transform/split.h"
#include "transform/streams.h"
#include "transform/threads.h"
#include "transform/to_loops.h"

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
    {"reuse", for_any<reuse>, ir::Stage::Both},
    {"fuse", for_any<fuse>, ir::Stage::Both},
    {"to_loops", to_loops, ir::Stage::Loop},
    {"hoist", hoist, ir::Stage::Loop},
    {"checks", checks, ir::Stage::Loop},
    {"fuse_nests", fuse_nests, ir::Stage::Loop},
    {"split", split, ir::Stage::Loop},
    {"contract", contract, ir::Stage::Loop},
    {"interchange", interchange, ir::Stage::Loop},
    {"schedule", for_any<schedule>, ir::Stage::Loop},
    {"threads", for_any<threads>, ir::Stage::Loop},
    {"kernels", kernels, ir::Stage::Loop},
    {"jam", jam, ir::Stage::Loop},
    {"streams", streams, ir::Stage::Loop},
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
