#include "codegen/math_loop.h"

#include "codegen/compile_module.h"
#include "codegen/vecmath.h"

namespace ingot::codegen {

using llvm::Value;

std::string MathLoop::symbol() const {
  return "ingot_loop_" + std::string(ir::name_of(op)) + "_" + std::string(base::info(dtype).name) + "x" +
         std::to_string(lanes);
}

namespace {

void emit_math_loop(Unit& unit, const MathLoop& loop) {
  llvm::Type* const element = unit.part_type(loop.dtype);
  llvm::Type* const type = loop.lanes == 1 ? element : llvm::FixedVectorType::get(element, loop.lanes);
  llvm::Type* const pointer = llvm::PointerType::getUnqual(unit.context);
  llvm::Type* const index = llvm::Type::getInt64Ty(unit.context);
  auto* const function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(unit.context), {pointer, pointer, pointer, index}, false),
      llvm::GlobalValue::ExternalLinkage, loop.symbol(), unit.module);
  function->setDoesNotThrow();
  for (unsigned i = 0; i < 3; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  auto* const entry = llvm::BasicBlock::Create(unit.context, "entry", function);
  auto* const iteration = llvm::BasicBlock::Create(unit.context, "iteration", function);
  auto* const end = llvm::BasicBlock::Create(unit.context, "end", function);
  Builder b(entry);
  b.CreateCondBr(b.CreateICmpSGT(function->getArg(3), b.getInt64(0)), iteration, end);
  b.SetInsertPoint(iteration);
  llvm::PHINode* const at = b.CreatePHI(index, 2);
  at->addIncoming(b.getInt64(0), entry);
  const llvm::Align align(base::size_of(loop.dtype));
  llvm::SmallVector<Value*, 2> operands;
  for (unsigned i = 0; i < ir::info(loop.op).operands; ++i)
    operands.push_back(b.CreateAlignedLoad(type, b.CreateGEP(element, function->getArg(i), at), align));
  Value* const result = emit_math(unit, b, loop.op, {operands.data(), operands.size()});
  INGOT_ASSERT(result != nullptr, "codegen: no kernel of " + std::string(ir::name_of(loop.op)));
  b.CreateAlignedStore(result, b.CreateGEP(element, function->getArg(2), at), align);
  Value* const next = b.CreateAdd(at, b.getInt64(loop.lanes));
  at->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, function->getArg(3)), iteration, end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
}

}  // namespace

Compiled compile_math_loops(std::span<const MathLoop> loops, const Target& target, const Options& options) {
  const ir::Module empty;
  return compile_module(empty, target, options, [&](Unit& unit) {
    for (const MathLoop& loop : loops) emit_math_loop(unit, loop);
  });
}

}  // namespace ingot::codegen
