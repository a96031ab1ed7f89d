#include "transform/passes.h"

#include "transform/checks.h"
#include "transform/contract.h"
#include "transform/fuse.h"
#include "transform/fuse_nests.h"
#include "transform/interchange.h"
#include "transform/jam.h"
#include "transform/parallel.h"
#include "transform/reuse.h"
#include "transform/schedule.h"
#include "transform/simplify.h"
#include "transform/threads.h"
#include "transform/to_loops.h"

namespace ingot::transform {

namespace {

constexpr Pass kPasses[] = {
    {"simplify", simplify, ir::Stage::Both},
    {"dce", dce, ir::Stage::Both},
    {"reuse", reuse, ir::Stage::Both},
    {"fuse", fuse, ir::Stage::Both},
    {"to_loops", to_loops, ir::Stage::Loop},
    {"checks", checks, ir::Stage::Loop},
    {"fuse_nests", fuse_nests, ir::Stage::Loop},
    {"contract", contract, ir::Stage::Loop},
    {"interchange", interchange, ir::Stage::Loop},
    {"schedule", schedule, ir::Stage::Loop},
    {"threads", threads, ir::Stage::Loop},
    {"jam", jam, ir::Stage::Loop},
    {"parallel", parallel, ir::Stage::Both},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  for (const Pass& pass : kPasses)
    if (pass.name == name) return &pass;
  return nullptr;
}

void run_on_all(ir::Module& module, const Pass& pass) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::FunctionId id(i);
    if (const ir::Function* function = module.function(id)) module.define(id, pass.run(*function));
  }
}

}  // namespace ingot::transform
