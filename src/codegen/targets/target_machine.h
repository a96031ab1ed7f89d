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

/// LLVM's machine for a CPU, held by one thread at a time: one that an earlier compile has left, with all
/// that LLVM has worked out of the CPU, or a new one.
HeldMachine target_machine(const Target& target, llvm::CodeGenOptLevel level);

/// Initialises what LLVM needs for machines, and what keeps them.
void prepare_machines();

}  // namespace ingot::codegen
