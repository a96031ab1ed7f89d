#include "codegen/quick.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>

namespace ingot::codegen {

namespace {

using llvm::Value;

/// The same value by a comparison; null: it is no such call.
Value* compared(llvm::IntrinsicInst& call) {
  if (!call.getType()->isIntegerTy()) return nullptr;
  llvm::IRBuilder<> b(&call);
  Value* const x = call.getArgOperand(0);
  if (const auto* const pick = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&call)) {
    Value* const y = call.getArgOperand(1);
    return b.CreateSelect(b.CreateICmp(pick->getPredicate(), x, y), x, y);
  }
  if (call.getIntrinsicID() != llvm::Intrinsic::abs) return nullptr;
  Value* const zero = llvm::Constant::getNullValue(x->getType());
  return b.CreateSelect(b.CreateICmpSLT(x, zero), b.CreateSub(zero, x), x);
}

}  // namespace

void prepare_quickly(llvm::Module& module) {
  for (llvm::Function& function : module) {
    // From the last to the first, as most users stand behind what they use.
    for (llvm::BasicBlock& block : llvm::reverse(function)) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (!llvm::isInstructionTriviallyDead(&instruction)) {
          auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          Value* const other = call != nullptr ? compared(*call) : nullptr;
          if (other == nullptr) continue;
          instruction.replaceAllUsesWith(other);
        }
        instruction.eraseFromParent();
      }
    }
  }
}

}  // namespace ingot::codegen
