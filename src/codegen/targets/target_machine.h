#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "codegen/targets/target.h"

namespace ingot::codegen {

/// Keeps a machine for the next compile.
struct KeepMachine {
  void operator()(llvm::TargetMachine* machine) const;
};
using HeldMachine = std::unique_ptr<llvm::TargetMachine, KeepMachine>;

/// LLVM's machine for a CPU, held by one thread at a time: one of an earlier compile, with all that LLVM has
/// derived for the CPU, or a new one.
HeldMachine target_machine(const Target& target, llvm::CodeGenOptLevel level);

/// Initialises LLVM's targets and the store of kept machines.
void prepare_machines();

}  // namespace ingot::codegen
