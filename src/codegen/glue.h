#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>

/// The part of an entry that is run once or a few times a call: shapes, checks, allocations, calls of nests.
/// It is a large part of the code of array programs and a small part of their time, so it is compiled with
/// the least effort.
namespace ingot::codegen {

/// Makes functions of an entry's loops that may run often, and marks the rest as glue if there is much of it.
/// Loops are in the form of LCSSA with exits of their own.
void separate_glue(llvm::Function& entry, const llvm::LoopInfo& loops);

/// Whether a function is marked so.
bool is_glue(const llvm::Function& function);

}  // namespace ingot::codegen
