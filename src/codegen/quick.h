#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "ir/function.h"

namespace ingot::codegen {

/// What quick code has done to it instead of most of LLVM's passes.
///
/// Its registers are chosen block by block, and all values that outlive a block are in memory. So there
/// should be few blocks: unnecessary ones are merged, and numbers are selected as integers, vectors by masks,
/// as the fast selection of instructions makes branches of such selections otherwise. That memory is aligned:
/// a vector that is read back from two lines of the cache takes ten times as long.
///
/// In functions with loops equal values are found, and arithmetic of numbers that a loop does not change goes
/// before it. Unused instructions go. The least and the greatest of two integers, and absolute values, become
/// comparisons, as the fast selection has no others.
void prepare_quickly(llvm::Module& module, llvm::TargetMachine& machine, const ir::Module& source);

}  // namespace ingot::codegen
