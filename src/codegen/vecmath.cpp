#include "codegen/vecmath.h"

#include <llvm/IR/MDBuilder.h>

#include "base/math/kernels/all.h"
#include "codegen/emitted.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// So many uses of one function in a module are emitted inline.
constexpr int kInlineUses = 3;

llvm::AllocaInst* entry_slot(Builder& b, llvm::Type* type) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type);
}

}  // namespace

unsigned Emission::lanes(llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr ? vector->getNumElements() : 1;
}

llvm::Type* Emission::with_lanes_of(llvm::Type* element, llvm::Type* like) {
  return like->isVectorTy() ? llvm::FixedVectorType::get(element, lanes(like)) : element;
}

void Emission::replace_large(Value* x, double limit, llvm::StringRef function, std::span<Value** const> parts,
                             std::span<Value* const> extra) {
  llvm::Type* const type = x->getType();
  llvm::Value* const large = b.CreateFCmpOGT(x, llvm::ConstantFP::get(type, limit));
  llvm::SmallVector<Value*, 3> more = {llvm::ConstantFP::get(type->getScalarType(), limit),
                                       b.getInt64(lanes(type))};
  more.append(extra.begin(), extra.end());
  replace_if_any(large, function, {&x, 1}, parts, more);
}

void Emission::replace_if_any(Value* mask, llvm::StringRef function, std::span<Value* const> inputs,
                              std::span<Value** const> parts, std::span<Value* const> extra) {
  const unsigned count = lanes(mask->getType());
  Value* const any = mask->getType()->isVectorTy()
                         ? b.CreateICmpNE(b.CreateBitCast(mask, b.getIntNTy(count)), b.getIntN(count, 0))
                         : mask;
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::LLVMContext& context = before->getContext();
  auto* const rare = llvm::BasicBlock::Create(context, "rare", before->getParent());
  auto* const after = llvm::BasicBlock::Create(context, "replaced", before->getParent());
  b.CreateCondBr(any, rare, after, llvm::MDBuilder(context).createUnlikelyBranchWeights());

  b.SetInsertPoint(rare);
  llvm::SmallVector<Value*, 8> arguments;
  const auto pass = [&](Value* value) {
    llvm::AllocaInst* const slot = entry_slot(b, value->getType());
    b.CreateStore(value, slot);
    arguments.push_back(slot);
  };
  for (Value* input : inputs) pass(input);
  for (Value** part : parts) pass(*part);
  arguments.append(extra.begin(), extra.end());
  Types types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* const signature = llvm::FunctionType::get(b.getVoidTy(), types, false);
  b.CreateCall(unit.outside({function.data(), function.size()}, signature, true), arguments);
  llvm::SmallVector<Value*, 3> replaced;
  for (size_t i = 0; i < parts.size(); ++i)
    replaced.push_back(b.CreateLoad((*parts[i])->getType(), arguments[inputs.size() + i]));
  b.CreateBr(after);

  b.SetInsertPoint(after);
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::PHINode* const phi = b.CreatePHI(replaced[i]->getType(), 2);
    phi->addIncoming(*parts[i], before);
    phi->addIncoming(replaced[i], rare);
    *parts[i] = phi;
  }
}

namespace {

template <class V>
Value* emit_kernel(Emission& at, ir::Op op, std::span<Value* const> operands) {
  const V x(&at, operands[0]);
  switch (op) {
#define X(name) \
  case ir::Op::name: return kernels::name(x).value;
    INGOT_UNARY_KERNELS(X)
    INGOT_EXACT_UNARY_KERNELS(X)
#undef X
#define X(name) \
  case ir::Op::name: return kernels::name(x, V(&at, operands[1])).value;
    INGOT_BINARY_KERNELS(X)
    INGOT_EXACT_BINARY_KERNELS(X)
#undef X
    default: return nullptr;
  }
}

Value* emit_here(Unit& unit, Builder& b, ir::Op op, std::span<Value* const> operands) {
  Emission at{unit, b};
  if (operands[0]->getType()->getScalarType()->isDoubleTy())
    return emit_kernel<Emitted<double>>(at, op, operands);
  return emit_kernel<Emitted<float>>(at, op, operands);
}

llvm::Function* outlined(Unit& unit, const std::string& name, ir::Op op, std::span<Value* const> operands) {
  if (llvm::Function* known = unit.find(name)) return known;
  llvm::Type* const type = operands[0]->getType();
  const Types types(operands.size(), type);
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(type, types, false),
                                                llvm::GlobalValue::InternalLinkage, name, unit.module);
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setDoesNotAccessMemory();
  function->setCallingConv(llvm::CallingConv::Fast);
  Builder body(llvm::BasicBlock::Create(unit.context, "", function));
  llvm::SmallVector<Value*, 2> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  Value* const result = emit_here(unit, body, op, arguments);
  body.CreateRet(result);
  return function;
}

}  // namespace

bool has_math(const Target& target, ir::Op op, DType dtype) {
  if (!target.instructions->has_fma() || base::is_int(dtype)) return false;
  // Their neighbours are not those of float.
  if ((op == ir::Op::nextafter || op == ir::Op::spacing) && dtype == DType::Float16) return false;
  switch (op) {
#define X(name) case ir::Op::name:
    INGOT_UNARY_KERNELS(X)
    INGOT_BINARY_KERNELS(X)
    INGOT_EXACT_UNARY_KERNELS(X)
    INGOT_EXACT_BINARY_KERNELS(X)
#undef X
    return true;
    default: return false;
  }
}

Value* emit_math(Unit& unit, Builder& b, ir::Op op, std::span<Value* const> operands) {
  llvm::Type* const type = operands[0]->getType();
  if (!has_math(unit.target, op, type->getScalarType()->isDoubleTy() ? DType::Float64 : DType::Float32))
    return nullptr;
  const std::string name = "ingot_math_" + std::string(ir::name_of(op)) +
                           (type->getScalarType()->isDoubleTy() ? "_f64x" : "_f32x") +
                           std::to_string(Emission::lanes(type));
  if (++unit.math_uses[name] <= kInlineUses) return emit_here(unit, b, op, operands);
  llvm::CallInst* const call =
      b.CreateCall(outlined(unit, name, op, operands), llvm::ArrayRef(operands.data(), operands.size()));
  call->setCallingConv(llvm::CallingConv::Fast);
  return call;
}

}  // namespace ingot::codegen
