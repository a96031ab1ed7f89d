#include "codegen/targets/instructions.h"

#include "base/error.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

llvm::Type* integers_like(llvm::Type* type, unsigned bits) {
  llvm::Type* const integer = llvm::Type::getIntNTy(type->getContext(), bits);
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? integer : llvm::FixedVectorType::get(integer, vector->getNumElements());
}

[[noreturn]] void fail_not_there(const char* what) {
  throw base::InternalError(std::string("codegen: the CPU has no instruction that ") + what);
}

}  // namespace

/// LLVM's own conversion has no value out of range.
Value* Instructions::truncated(Builder& b, Value* number, bool to_64_bits) const {
  const unsigned bits = to_64_bits ? 64 : 32;
  llvm::Type* const type = integers_like(number->getType(), bits);
  const double edge = to_64_bits ? 0x1p63 : 0x1p31;
  const bool least_is_exact = to_64_bits || number->getType()->getScalarType()->isFloatTy();
  const auto constant = [&](double value) { return llvm::ConstantFP::get(number->getType(), value); };
  Value* const above = least_is_exact ? b.CreateFCmpOGE(number, constant(-edge))
                                      : b.CreateFCmpOGT(number, constant(-edge - 1));
  Value* const in_range = b.CreateAnd(above, b.CreateFCmpOLT(number, constant(edge)));
  Value* const converted = b.CreateFPToSI(b.CreateSelect(in_range, number, constant(0)), type);
  return b.CreateSelect(in_range, converted,
                        llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits)));
}

Value* Instructions::scaled(Builder&, Value*, Value*) const { fail_not_there("scales by a power of 2"); }
Value* Instructions::exponent(Builder&, Value*) const { fail_not_there("gives an exponent"); }
Value* Instructions::mantissa(Builder&, Value*) const { fail_not_there("gives a mantissa"); }
Value* Instructions::compressed(Builder&, Value*, Value*) const { fail_not_there("compresses lanes"); }

void Instructions::fence_streams(Builder& b) const {
  b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

}  // namespace ingot::codegen
