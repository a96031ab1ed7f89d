#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/loop_report.h"
#include "ir/function.h"

namespace ingot::driver {

/// What compiling a function took and, on request, what the module was between its phases.
struct Report {
  struct Phase {
    std::string name;
    double cpu_ms = 0;
  };
  std::vector<Phase> phases;
  /// Called at the end of each phase that results in IR, with the phase's name and the module; may be empty.
  std::function<void(std::string_view phase, const ir::Module& module)> dump;
  std::vector<LoopReport> loops;  ///< filled where there is a `dump`
};

/// Encloses one phase: takes its CPU time, and at its end dumps the module and, in checked builds, holds
/// every function to the verifier, blaming the phase.
class PhaseScope {
 public:
  /// `module` null: the phase results in no IR.
  PhaseScope(Report& report, std::string name, const ir::Module* module = nullptr,
             ir::Stage stage = ir::Stage::Loop);
  ~PhaseScope() noexcept(false);
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Report& report_;
  std::string name_;
  const ir::Module* module_;
  ir::Stage stage_;
  double start_;
  int exceptions_;
};

}  // namespace ingot::driver
