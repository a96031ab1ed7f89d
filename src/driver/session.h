#pragma once

#include <memory>
#include <string>

#include "driver/compile.h"
#include "ir/function.h"
#include "runtime/object.h"

namespace ingot::driver {

/// A function as machine code in memory. Copies share the code, which lives as long as the last of them.
struct CompiledFunction {
  std::shared_ptr<const runtime::Object> object;
  runtime::Entry entry = nullptr;
  runtime::EntryInfo interface;
  std::string bytes;  ///< the sealed object, for a file
};

/// Compiles functions with one set of options. Sessions share nothing; one may be used by one thread at a
/// time.
class Session {
 public:
  Session() : Session(CompileOptions{codegen::Target::host(), {}}) {}
  explicit Session(CompileOptions options) : options_(std::move(options)) {}

  /// `function` and what it calls; at the array or the loop stage. The module is then at the loop stage.
  CompiledFunction compile(ir::Module& module, ir::FunctionId function);

  const CompileOptions& options() const { return options_; }
  /// Of the last `compile`.
  const Report& report() const { return report_; }
  const codegen::Compiled& code() const { return code_; }
  /// Sets the function that is called with the IR between phases.
  void set_dump(decltype(Report::dump) dump) { report_.dump = std::move(dump); }

 private:
  CompileOptions options_;
  Report report_;
  codegen::Compiled code_;
};

}  // namespace ingot::driver
