#include "codegen/targets/device_instructions.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/targets/instructions.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

class NvidiaInstructions final : public DeviceInstructions {
 public:
  Value* truncated(Builder& b, Value* number, bool to_64_bits) const override;
};

/// The instruction gives the nearest integer there is, so the least one below all; of NaN it has no one value
/// on all widths.
Value* NvidiaInstructions::truncated(Builder& b, Value* number, bool to_64_bits) const {
  if (number->getType()->isVectorTy()) return Instructions::truncated(b, number, to_64_bits);
  const bool is_double = number->getType()->isDoubleTy();
  const llvm::Intrinsic::ID id =
      to_64_bits  ? is_double ? llvm::Intrinsic::nvvm_d2ll_rz : llvm::Intrinsic::nvvm_f2ll_rz
      : is_double ? llvm::Intrinsic::nvvm_d2i_rz
                  : llvm::Intrinsic::nvvm_f2i_rz;
  Value* const converted = b.CreateIntrinsic(id, {}, {number});
  Value* const edge = llvm::ConstantFP::get(number->getType(), to_64_bits ? 0x1p63 : 0x1p31);
  const unsigned bits = to_64_bits ? 64 : 32;
  return b.CreateSelect(b.CreateFCmpOLT(number, edge), converted,
                        b.getInt(llvm::APInt::getSignedMinValue(bits)));
}

}  // namespace

const Instructions& device_instructions() {
  static const NvidiaInstructions all;
  return all;
}

}  // namespace ingot::codegen
