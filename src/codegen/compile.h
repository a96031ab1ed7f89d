#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/exception.h"
#include "codegen/targets/target.h"
#include "ir/function.h"

/// Compiles loop-stage functions to an ELF x86-64 relocatable object. Values are those of `base::math`, bit
/// for bit: by the same formulas inline (rules.cpp), by the same kernels (vecmath.h), or by calls of the same
/// functions. The object names the outside only by the symbols that the runtime lists, and is
/// position-independent.

namespace ingot::codegen {

/// A location that raises, by its number in the error that an entry leaves.
struct ErrorSite {
  base::ExceptionKind kind = base::ExceptionKind::RuntimeError;
  std::string message;                 ///< with a hole `{}` for each argument
  std::vector<base::DType> arguments;  ///< none complex
  base::SourceLocation location;
  std::string function;
  std::vector<base::Site> callers{};  ///< the calls that are inlined there, the innermost first
  int64_t made = -1;                  ///< the attribute of `raise` and `check`; -1: there is none
};

/// How hard LLVM works on instructions and registers.
enum class Effort : uint8_t {
  Quick,   ///< least time: values live in memory between uses, LLVM's passes are left out (quick.h)
  Normal,  ///< registers, no costly search
  Full,
};

/// The floating-point states of the thread (base/float_state.h) that an object has code for, for entries
/// whose values depend on them otherwise than arithmetic does.
enum class States : uint8_t {
  Both,     ///< code for the default state, code for any, and a choice at the call
  Default,  ///< it must not be called in another state (`Compiled::wants_default_state`)
  Any,      ///< slower
};

struct Options {
  Effort effort = Effort::Normal;
  States states = States::Both;
  bool want_llvm_ir = false;  ///< the text before and after LLVM's passes
  bool want_assembly = false;
  bool verify = false;  ///< LLVM's own verifier before its passes
  /// How many threads may compile at the same time; one where text forms are asked for.
  unsigned threads = 1;
  /// What the device's own compiler makes of the text of one kernel, as it is loaded later; nothing: the text
  /// is loaded. Called in several threads. Empty: all kernels are one text.
  std::function<std::optional<std::string>(std::string_view)> assemble{};
};

/// CPU milliseconds of each phase.
struct Times {
  double emit = 0;
  double passes = 0;
  double select = 0;  ///< instruction selection to object bytes

  void add(const Times& other) {
    emit += other.emit;
    passes += other.passes;
    select += other.select;
  }
};

/// The symbol of what a launch of a function runs.
struct KernelName {
  std::string function;
  ir::NodeId launch;
  std::string name;
};

struct Compiled {
  std::string object;   ///< ELF
  std::string llvm_ir;  ///< on request, as emitted
  std::string llvm_ir_optimized;
  std::string assembly;         ///< on request
  std::string kernels_llvm_ir;  ///< on request, of what is launched, optimised
  std::string kernels;          ///< on request: the text that the driver loads
  std::vector<KernelName> kernel_names;
  std::vector<ErrorSite> sites;  ///< by `Error::site`
  /// Whether entries give correct values in the default floating-point state alone.
  bool wants_default_state = false;
  Times times;
};

/// The symbol of an entry: `runtime::Entry`. The prefix distinguishes functions named as C's from C's.
std::string entry_symbol(std::string_view function);

/// Compiles `entries` and all they call. Parameters and results of entries are scalars, views and buffers.
/// Throws InternalError for what is not at the loop stage and for ops that are not lowered.
Compiled compile(const ir::Module& module, std::span<const ir::FunctionId> entries, const Target& target,
                 const Options& options = {});

}  // namespace ingot::codegen
