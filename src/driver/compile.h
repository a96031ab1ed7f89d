#pragma once

#include <atomic>
#include <span>
#include <string>

#include "codegen/compile.h"
#include "driver/phase_scope.h"
#include "ir/function.h"
#include "runtime/object.h"

/// The order of the phases.
namespace ingot::driver {

struct CompileOptions {
  codegen::Target target;
  codegen::Options codegen;
  bool run_passes = true;     ///< false: the module is at the loop stage, and is compiled as it is
  bool want_outside = false;  ///< list what is called of the embedding program, for standalone code
  const std::atomic<bool>* stop = nullptr;  ///< set once nobody waits for the code, see ir::Module::heed
};

/// A call that the embedding program makes for the code.
struct OutsideCall {
  std::string what;  ///< the routine's name; `host`
  int64_t number;    ///< of a call of the host's
  std::vector<base::Site> sites;
};

struct CompileResult {
  std::string bytes;                 ///< an object with its metadata, for runtime::Object::open
  runtime::ObjectInfo info;          ///< the metadata
  std::vector<OutsideCall> outside;  ///< on request: those that remain in the code
  codegen::Compiled code;
};

/// From the module's functions, at the array or the loop stage, to a sealed object whose entries are those of
/// `entries`. The module's functions are replaced by the passes' results. Adds its phases to `report`.
CompileResult compile(ir::Module& module, std::span<const ir::FunctionId> entries,
                      const CompileOptions& options, Report& report);

/// The object's description of an entry.
runtime::EntryInfo interface_of(const ir::Module& module, ir::FunctionId function);

}  // namespace ingot::driver
