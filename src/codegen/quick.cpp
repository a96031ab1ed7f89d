#include "codegen/quick.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>

#include "codegen/analyses.h"
#include "codegen/glue.h"

namespace ingot::codegen {

namespace {

using llvm::Instruction;
using llvm::Value;

constexpr uint64_t kCacheLine = 64;

/// Whether it may be computed speculatively, and is worth a slot in memory.
bool may_move(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem: return false;
    case Instruction::GetElementPtr:  // with constant indices it is part of an access
      return !llvm::cast<llvm::GetElementPtrInst>(instruction).hasAllConstantIndices();
    default: return instruction.isBinaryOp() && !instruction.getType()->isVectorTy();
  }
}

void hoist(llvm::Function& function, const llvm::LoopInfo& loops) {
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function)) {
    for (Instruction& instruction : llvm::make_early_inc_range(*block)) {
      if (!may_move(instruction)) continue;
      llvm::BasicBlock* before = nullptr;
      for (llvm::Loop* loop = loops.getLoopFor(block); loop != nullptr; loop = loop->getParentLoop()) {
        if (!loop->hasLoopInvariantOperands(&instruction)) break;
        if (llvm::BasicBlock* const predecessor = loop->getLoopPredecessor()) before = predecessor;
      }
      if (before != nullptr) instruction.moveBefore(before->getTerminator());
    }
  }
}

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

/// The same value without branches; null: there are none.
Value* without_branches(llvm::SelectInst& select) {
  Value* const condition = select.getCondition();
  llvm::Type* const type = select.getType();
  if (condition->getType()->isVectorTy()) return nullptr;
  llvm::IRBuilder<> b(&select);
  if (const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    Value* const mask = b.CreateVectorSplat(vector->getNumElements(), condition);
    return b.CreateSelect(mask, select.getTrueValue(), select.getFalseValue());
  }
  if (!type->isFloatTy() && !type->isDoubleTy()) return nullptr;
  if (llvm::isa<llvm::FCmpInst>(condition) && condition->hasOneUse()) return nullptr;  // has a mask
  llvm::Type* const bits = type->isDoubleTy() ? b.getInt64Ty() : b.getInt32Ty();
  Value* const yes = b.CreateBitCast(select.getTrueValue(), bits);
  Value* const no = b.CreateBitCast(select.getFalseValue(), bits);
  return b.CreateBitCast(b.CreateSelect(condition, yes, no), type);
}

Value* replacement_of(Instruction& instruction) {
  if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return compared(*call);
  if (auto* const select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return without_branches(*select);
  return nullptr;
}

void simplify(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function); !loops.empty()) {
    llvm::EarlyCSEPass(/*UseMemorySSA=*/false).run(function, analyses);
    hoist(function, loops);
  }
  llvm::SimplifyCFGPass().run(function, analyses);
}

void select_quickly(llvm::Function& function) {
  uint64_t widest = 0;
  // From the last to the first, as most users come after what they use.
  for (llvm::BasicBlock& block : llvm::reverse(function)) {
    for (Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (!llvm::isInstructionTriviallyDead(&instruction)) {
        if (instruction.getType()->isVectorTy())
          widest = std::max(widest, instruction.getType()->getPrimitiveSizeInBits().getFixedValue() / 8);
        Value* const other = replacement_of(instruction);
        if (other == nullptr) continue;
        instruction.replaceAllUsesWith(other);
      }
      instruction.eraseFromParent();
    }
  }
  if (widest <= 16) return;
  const llvm::Align alignment(llvm::bit_ceil(std::min(widest, kCacheLine)));
  function.addFnAttr(llvm::Attribute::getWithStackAlignment(function.getContext(), alignment));
}

}  // namespace

void prepare_quickly(llvm::Module& module, llvm::TargetMachine& machine, const ir::Module& source) {
  Analyses analyses(machine);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    source.go_on();
    if (!is_glue(function)) simplify(function, analyses.functions);
    select_quickly(function);
  }
}

}  // namespace ingot::codegen
