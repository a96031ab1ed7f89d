#include <bit>

#include "codegen/rules.h"

namespace ingot::codegen {

namespace {

using llvm::Value;

Value* any_lane(Builder& b, Value* condition) {
  const unsigned lanes = lanes_of(condition);
  if (lanes == 0) return condition;
  return b.CreateICmpNE(b.CreateBitCast(condition, b.getIntNTy(lanes)), b.getIntN(lanes, 0));
}

/// Shifted until it is odd; of 0 the result is not used.
Value* without_twos(Builder& b, Value* number) {
  Value* const twos = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, number, b.getTrue());
  return b.CreateLShr(number, twos);
}

/// The greatest common divisor of odd numbers: the smaller one is subtracted from the larger, and the
/// difference made odd, until all lanes have equal numbers.
Value* gcd_of_odd(Builder& b, Value* x, Value* y) {
  llvm::Type* const type = x->getType();
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::LLVMContext& context = before->getContext();
  auto* const iteration = llvm::BasicBlock::Create(context, "gcd", before->getParent());
  auto* const after = llvm::BasicBlock::Create(context, "gcd.end", before->getParent());
  b.CreateBr(iteration);
  b.SetInsertPoint(iteration);
  llvm::PHINode* const left = b.CreatePHI(type, 2);
  llvm::PHINode* const right = b.CreatePHI(type, 2);
  Value* const smaller = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, right);
  Value* const larger = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, left, right);
  Value* const difference = b.CreateSub(larger, smaller);
  Value* const differ = b.CreateICmpNE(difference, llvm::Constant::getNullValue(type));
  Value* const rest = b.CreateSelect(differ, without_twos(b, difference), smaller);
  left->addIncoming(x, before);
  left->addIncoming(smaller, iteration);
  right->addIncoming(y, before);
  right->addIncoming(rest, iteration);
  b.CreateCondBr(any_lane(b, differ), iteration, after);
  b.SetInsertPoint(after);
  return smaller;
}

/// Of numbers of 32 or 64 bits without a sign.
Value* gcd_of_sizes(Builder& b, Value* x, Value* y) {
  llvm::Type* const type = x->getType();
  Value* const zero = llvm::Constant::getNullValue(type);
  Value* const one = llvm::ConstantInt::get(type, 1);
  Value* const both = b.CreateOr(x, y);
  Value* const has_zero = b.CreateOr(b.CreateICmpEQ(x, zero), b.CreateICmpEQ(y, zero));
  Value* const safe = b.CreateSelect(has_zero, one, both);
  Value* const twos = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, safe, b.getTrue());
  const auto odd = [&](Value* number) { return without_twos(b, b.CreateSelect(has_zero, one, number)); };
  Value* const found = b.CreateShl(gcd_of_odd(b, odd(x), odd(y)), twos);
  return b.CreateSelect(has_zero, both, found);
}

}  // namespace

Parts emit_gcd(const RuleArguments& a) {
  Builder& b = a.b;
  llvm::Type* const type = a.type();
  const bool is_narrow = type->getScalarSizeInBits() < 32;
  llvm::Type* const wide = is_narrow ? like(type, b.getInt32Ty()) : type;
  const auto size = [&](int i) {
    const Parts operand[] = {a.operands[i]};
    return b.CreateZExt(emit_absolute({a.scalars, b, a.dtype, operand})[0], wide);
  };
  return {b.CreateTrunc(gcd_of_sizes(b, size(0), size(1)), type)};
}

Parts emit_lcm(const RuleArguments& a) {
  Builder& b = a.b;
  const auto size = [&](int i) {
    const Parts operand[] = {a.operands[i]};
    return emit_absolute({a.scalars, b, a.dtype, operand})[0];
  };
  // Of the most negative integer the size has no sign either.
  const DType dtypes[] = {DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64};
  const unsigned bits = a.type()->getScalarSizeInBits();
  const Parts operands[] = {{size(0)}, emit_gcd(a)};
  const DType dtype = dtypes[std::countr_zero(bits / 8)];
  return {b.CreateMul(emit_floor_divide({a.scalars, b, dtype, operands})[0], size(1))};
}

}  // namespace ingot::codegen
