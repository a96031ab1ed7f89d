#pragma once

#include <llvm/IR/Module.h>

namespace ingot::codegen {

/// What quick code has done in place of LLVM's passes, in one walk: what nothing uses goes, and the least and
/// the greatest of two integers, and absolute values, become comparisons, as the fast selection of
/// instructions has no others.
void prepare_quickly(llvm::Module& module);

}  // namespace ingot::codegen
