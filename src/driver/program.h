#pragma once

#include <memory>
#include <span>

#include "driver/compile.h"
#include "ir/function.h"
#include "ir/interpreter.h"

namespace ingot::driver {

/// A function that a frontend has lowered, with all that it calls: all steps from there to an entry, or to a
/// run of the interpreter. Callers convert objects and decide nothing.
///
/// Invariant: each function is at the array stage and holds to the verifier; derivatives have been made;
/// iterations of loops over `prange` are shown to be independent, and those that carry values are parallel
/// loops.
class Program {
 public:
  /// Runs the passes of `front`, which adds them to the report. Throws base::Unsupported for what has no
  /// derivative and for a loop over `prange` whose iterations may depend on each other, and
  /// base::InternalError for what the verifier refuses.
  Program(std::unique_ptr<ir::Module> module, ir::FunctionId entry, Report& report);

  const ir::Module& module() const { return *module_; }
  ir::FunctionId entry() const { return entry_; }
  const ir::Module::Signature& signature() const { return module_->signature(entry_); }

  /// To an object with this one entry. Leaves the program as it is; `report` gets the IR after each phase.
  CompileResult compile(const CompileOptions& options, Report& report) const;

  /// Runs the array IR. Where an argument has two indices for one location, all is done in the order of the
  /// program.
  ir::Outcome interpret(std::span<const ir::Value> arguments, ir::Externals& externals, uint64_t seed) const;

 private:
  std::unique_ptr<ir::Module> module_;
  ir::FunctionId entry_;
};

}  // namespace ingot::driver
