#pragma once

#include "codegen/scalars.h"

namespace ingot::codegen {

/// Runs `step` where a condition (i1) holds; gives its parts, elsewhere the others.
template <class Step>
Parts emit_when(Builder& b, llvm::Value* condition, const Parts& otherwise, Step step) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  llvm::BasicBlock* const taken = llvm::BasicBlock::Create(b.getContext(), "when", function);
  llvm::BasicBlock* const on = llvm::BasicBlock::Create(b.getContext(), "on", function);
  b.CreateCondBr(condition, taken, on);
  b.SetInsertPoint(taken);
  const Parts given = step();
  llvm::BasicBlock* const end = b.GetInsertBlock();
  b.CreateBr(on);
  b.SetInsertPoint(on);
  Parts merged;
  for (size_t i = 0; i < otherwise.size(); ++i) {
    llvm::PHINode* const phi = b.CreatePHI(otherwise[i]->getType(), 2);
    phi->addIncoming(otherwise[i], before);
    phi->addIncoming(given[i], end);
    merged.push_back(phi);
  }
  return merged;
}
/// Runs `step` where a condition holds.
template <class Step>
void emit_when(Builder& b, llvm::Value* condition, Step step) {
  emit_when(b, condition, {}, [&] {
    step();
    return Parts();
  });
}

/// `for (i = 0; i < count; ++i) body(i)`, count not 0.
template <class Body>
void emit_repeat(Builder& b, uint64_t count, Body body) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  llvm::BasicBlock* const iteration = llvm::BasicBlock::Create(b.getContext(), "each", function);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(b.getContext(), "each.end", function);
  b.CreateBr(iteration);
  b.SetInsertPoint(iteration);
  llvm::PHINode* const i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(b.getInt64(0), before);
  body(i);
  llvm::Value* const next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(count)), iteration, after);
  b.SetInsertPoint(after);
}

}  // namespace ingot::codegen
