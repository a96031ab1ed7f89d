#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "codegen/targets/target.h"

namespace ingot::codegen {

/// LLVM's machine for a CPU. Initialises what LLVM needs for it.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target, llvm::CodeGenOptLevel level);

}  // namespace ingot::codegen
