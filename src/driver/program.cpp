#include "driver/program.h"

#include <algorithm>

#include "base/disjoint.h"
#include "driver/pipeline.h"
#include "ir/verifier.h"

namespace ingot::driver {

namespace {

/// Whether different indices of an argument are different elements in memory.
bool is_disjoint(const ir::Value& argument) {
  const auto* const view = std::get_if<ir::ViewValue>(&argument);
  if (view == nullptr) return true;
  const auto element = static_cast<int64_t>(base::size_of(view->dtype));
  return base::is_disjoint(view->lengths, view->strides, element);
}

}  // namespace

Program::Program(std::unique_ptr<ir::Module> module, ir::FunctionId entry, Report& report)
    : module_(std::move(module)), entry_(entry) {
  module_->keep_reachable({&entry_, 1});
  for (uint32_t i = 0; i < module_->function_count(); ++i)
    if (const ir::Function* const function = module_->function(ir::FunctionId(i)))
      ir::verify_or_throw(*function, ir::Stage::Array, "frontend");
  run_passes(*module_, {&entry_, 1}, front(), {}, ir::Stage::Array, report);
}

CompileResult Program::compile(const CompileOptions& options, Report& report) const {
  const std::unique_ptr<ir::Module> copy = module_->clone();  // the passes replace functions
  copy->heed(options.stop);
  const ir::FunctionId entry = base::known(copy->find(signature().name));
  return driver::compile(*copy, {&entry, 1}, options, report);
}

ir::Outcome Program::interpret(std::span<const ir::Value> arguments, ir::Externals& externals,
                               uint64_t seed) const {
  const bool in_order = !std::ranges::all_of(arguments, is_disjoint);
  return ir::interpret(*module_, entry_, arguments,
                       {.seed = seed, .externals = &externals, .in_order = in_order});
}

}  // namespace ingot::driver
