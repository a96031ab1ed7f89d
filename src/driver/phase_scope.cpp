#include "driver/phase_scope.h"

#include <ctime>
#include <exception>

#include "ir/verifier.h"

namespace ingot::driver {

namespace {

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

void verify_all([[maybe_unused]] const ir::Module& module, [[maybe_unused]] ir::Stage stage,
                [[maybe_unused]] const std::string& phase) {
#ifdef INGOT_CHECKED
  for (uint32_t i = 0; i < module.function_count(); ++i)
    if (const ir::Function* function = module.function(ir::FunctionId(i)))
      ir::verify_or_throw(*function, stage, phase);
#endif
}

}  // namespace

PhaseScope::PhaseScope(Report& report, std::string name, const ir::Module* module, ir::Stage stage)
    : report_(report),
      name_(std::move(name)),
      module_(module),
      stage_(stage),
      start_(cpu_ms()),
      exceptions_(std::uncaught_exceptions()) {}

PhaseScope::~PhaseScope() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) return;
  report_.phases.push_back({name_, cpu_ms() - start_});
  if (module_ == nullptr) return;
  if (report_.dump) report_.dump(name_, *module_);
  verify_all(*module_, stage_, name_);
}

}  // namespace ingot::driver
